"""Gradient estimators: how a scheme learns the gradient of its objective. Each module registers what it holds.

An estimator has three functions of one signature, so that any scheme takes any of them:
``function(P, counts, point, out, lower, t, k)`` with

* the gradient: ``out`` <- the estimate (and the inner results in ``y``, ``z``, ``v``). It returns ``OK``, or
  ``OUT_OF_BUDGET`` before it has asked anything. ``k`` is the index of the iteration, or ``START`` (an epoch begins at
  this point) or ``LAST`` (a point of an output rule);
* the function value: ``out[0]`` <- the value, inner solutions by the estimator's own inner solver from its current warm
  start, which stays as it is;
* the exact gradient: ``out`` <- it, inner solutions by Newton to the precision of the arithmetic; it serves stopping
  tests and counts under ``stop_*``.

A module that lies here is found; nothing else names it.
"""

from __future__ import annotations

from bilevel_verify.methods.registry import import_all

import_all(__name__, __path__)

"""Outer schemes: what is done with the gradients of an estimator. Each module registers what it holds.

A scheme is one file: its letters and its state by name (``methods.kernels.state`` says how they are handed over), the
loop, and the registration with the sequences that it records. A module that lies here is found; nothing else names it.

A loop is ``scheme(ask, m) -> reason``: it asks through ``ask``, keeps everything that has to survive a pause in the
memory ``m``, runs until its block of the trace is full, and called again goes on where it was.
"""

from __future__ import annotations

from bilevel_verify.methods.registry import import_all

import_all(__name__, __path__)

"""Feasible sets of simple bilevel problems, as data; projections live with the methods that need them."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class FeasibleSet:
    """A closed convex set in R^n. ``dimension`` is taken from the problem; sets do not store it."""

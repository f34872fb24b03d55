"""Outward-rounded arithmetic: interval batches, ranges of atoms, derivative tensors over boxes, verified linear algebra."""

from bilevel_verify.intervals.batch import Interval
from bilevel_verify.intervals.elementary import ball_ends
from bilevel_verify.intervals.rounding import ball, enclose, floats_of

__all__ = ["Interval", "ball", "ball_ends", "enclose", "floats_of"]

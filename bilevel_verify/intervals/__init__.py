"""Outward-rounded arithmetic: interval batches, ranges of atoms, derivative tensors, verified linear algebra."""

from bilevel_verify.intervals.arithmetics import INTERVALS, IntervalArithmetic
from bilevel_verify.intervals.batch import Interval
from bilevel_verify.intervals.elementary import ball_ends
from bilevel_verify.numbers.rounding import enclose, floats_of

__all__ = [
    "INTERVALS",
    "Interval",
    "IntervalArithmetic",
    "ball_ends",
    "enclose",
    "floats_of",
]

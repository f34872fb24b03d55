"""Outward-rounded arithmetic: interval batches, ranges of atoms, derivative tensors, verified linear algebra."""

from bilevel_verify.intervals.arithmetics import BALLS, INTERVALS, ArbArithmetic, IntervalArithmetic
from bilevel_verify.intervals.batch import Interval
from bilevel_verify.intervals.elementary import ball_ends
from bilevel_verify.intervals.rounding import ball, enclose, floats_of

__all__ = [
    "BALLS",
    "INTERVALS",
    "ArbArithmetic",
    "Interval",
    "IntervalArithmetic",
    "ball",
    "ball_ends",
    "enclose",
    "floats_of",
]

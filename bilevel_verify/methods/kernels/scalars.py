"""Scalar functions that need a form of their own in each arithmetic: floats, mpmath and binary numbers, compiled."""

from __future__ import annotations

import math
import operator
from typing import Any, TypeAlias

from bilevel_verify.numbers import binary
from bilevel_verify.oracles.jit import compiled_as

Real: TypeAlias = float
"""A number of the arithmetic of the run (``state.Real``)."""


@compiled_as(math.sqrt)
def square_root(a: Any) -> Any:
    """sqrt(a), correctly rounded for floats; NaN below zero."""
    if isinstance(a, (int, float)):
        return math.sqrt(a) if a >= 0 else math.nan
    if not hasattr(a, "context"):
        return binary.root(a)
    return a.context.sqrt(a) if a >= 0 else a * math.nan


@compiled_as(operator.pow)
def power(a: Any, exponent: Any) -> Any:
    """``a ** exponent`` for ``a >= 0``."""
    return binary.power(a, exponent) if hasattr(a, "man_exp") else a**exponent


def exponential(a: Real) -> Real:
    """exp(a)."""
    if isinstance(a, float):
        return math.exp(a)
    return a.context.exp(a) if hasattr(a, "context") else binary.function("exp")(a)

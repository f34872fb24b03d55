"""Vector arithmetic of the solver loops, in the order of the index."""

from __future__ import annotations

from bilevel_verify.oracles.convention import Vector
from bilevel_verify.oracles.jit import loop


@loop
def copy_into(source: Vector, target: Vector) -> None:
    """target <- source."""
    for i in range(len(target)):
        target[i] = source[i]


@loop
def set_zero(target: Vector) -> None:
    """target <- 0."""
    for i in range(len(target)):
        target[i] = 0.0


@loop
def add_to(target: Vector, source: Vector) -> None:
    """target <- target + source."""
    for i in range(len(target)):
        target[i] = target[i] + source[i]


@loop
def dot(a: Vector, b: Vector) -> float:
    """<a, b>."""
    total = 0.0
    for i in range(len(a)):
        total = total + a[i] * b[i]
    return total


@loop
def squared_norm(a: Vector) -> float:
    """||a||^2."""
    return dot(a, a)


@loop
def squared_distance(a: Vector, b: Vector) -> float:
    """||a - b||^2."""
    total = 0.0
    for i in range(len(a)):
        total = total + (a[i] - b[i]) * (a[i] - b[i])
    return total


@loop
def is_finite(a: float) -> bool:
    """True for numbers that are neither infinite nor NaN."""
    return bool(a - a == 0)

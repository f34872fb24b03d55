"""What the function names of the card language mean on values: sums, ranges, elementary functions, spectra."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from math import comb, factorial
from typing import Any

from bilevel_verify.checks.claims import linear
from bilevel_verify.checks.claims import values as v
from bilevel_verify.checks.claims.tensors import mode, tensor_norm
from bilevel_verify.checks.claims.values import EvaluationError, Value
from bilevel_verify.language.elementary import ELEMENTARY
from bilevel_verify.numbers import exact


def product(values: list[Value]) -> Value:
    """A product from left to right."""
    result = values[0]
    for value in values[1:]:
        result = v.multiply(result, value)
    return result


def signed_sum(values: list[Value], signs: list[bool]) -> Value:
    """A signed sum; one object added and subtracted cancels exactly, and exact zeros leave the others as they are."""
    kept: list[tuple[Value, bool]] = []
    for value, negative in zip(values, signs):
        twin = next((n for n, (other, sign) in enumerate(kept) if other is value and sign != negative), None)
        if twin is not None and not isinstance(value, Fraction):
            zero = v.multiply(Fraction(0), value)
            kept[twin] = (zero, False)
        elif kept and v.is_zero(value):
            continue
        elif len(kept) == 1 and v.is_zero(kept[0][0]):
            kept[0] = (value, negative)
        else:
            kept.append((value, negative))
    total: Value = None
    for value, negative in kept:
        part = v.negate(value) if negative else value
        total = part if total is None else v.add(total, part)
    return total


def empty_range(name: str) -> Value:
    """Sum, product ... over no index at all."""
    if name == "sum":
        return Fraction(0)
    if name == "prod":
        return Fraction(1)
    raise EvaluationError(f"an empty {name}")


def join(name: str, before: Any, term: Value, place: int) -> Any:
    """The running value of a range with one more term."""
    match name:
        case "sum":
            return v.add(before, term)
        case "prod":
            return v.multiply(before, term)
        case "max" | "min":
            return v.extreme([before, term], largest=name == "max")
    better = v.compare(term, "<" if name == "argmin" else ">", before[1])
    if better is None:
        raise EvaluationError("tie: the smallest of several cannot be told")
    return (place, term) if better else before


def _elementary(name: str) -> Callable[[Value], Value]:
    """A function of one number, from the exact arithmetic of the theorems room."""
    apply = exact.UNARY[name]
    return lambda value: apply(value if isinstance(value, Fraction) else v.scalar_ball(value))


def _whole(function: Callable[..., int]) -> Callable[..., Value]:
    def apply(*arguments: Value) -> Value:
        numbers = [v.integer(a, "an argument") for a in arguments]
        if any(number < 0 for number in numbers):
            raise EvaluationError("a factorial or binomial of a negative number")
        if any(number > 2000 for number in numbers):
            raise EvaluationError("budget: a factorial or binomial of a large number")
        return Fraction(function(*numbers))

    return apply


_SPECTRA: dict[int, tuple[v.Matrix, linear.Spectrum]] = {}


def _eigen(matrix: Value) -> linear.Spectrum:
    """The spectrum of a matrix, computed once while the matrix lives."""
    if not isinstance(matrix, v.Matrix):
        raise EvaluationError("eigenvalues need a matrix")
    found = _SPECTRA.get(id(matrix))
    if found is None or found[0] is not matrix:
        if len(_SPECTRA) > 64:
            _SPECTRA.clear()
        found = _SPECTRA[id(matrix)] = (matrix, linear.Spectrum(matrix))
    return found[1]


def _eigenvalue(matrix: Value, j: Value) -> Value:
    return _eigen(matrix).value(v.integer(j, "an index"))


def _coordinate(matrix: Value, vector: Value, j: Value) -> Value:
    return _eigen(matrix).component(vector, v.integer(j, "an index"))


def _norm(value: Value) -> Value:
    """Euclidean, spectral, or that of a three-way tensor."""
    return tensor_norm(value) if isinstance(value, v.Tensor) else linear.norm(value)


FUNCTIONS: dict[str, Callable[..., Value]] = {
    "sqrt": v.square_root,
    "abs": linear.norm,
    "max": lambda *values: v.extreme(values, largest=True),
    "min": lambda *values: v.extreme(values, largest=False),
    "binomial": _whole(comb),
    "factorial": _whole(factorial),
    "norm": _norm,
    "mode": mode,
    "frobenius": linear.frobenius,
    "dot": linear.dot,
    "T": linear.transpose,
    "inv": linear.inverse,
    "lambda_min": linear.lambda_min,
    "lambda_max": linear.lambda_max,
    "eigenvalue": _eigenvalue,
    "coordinate": _coordinate,
    "dim": lambda value: Fraction(len(value) if isinstance(value, v.Vector) else 1),
    **{name: _elementary(name) for name in (*ELEMENTARY, "plus") if name != "sqrt"},
}

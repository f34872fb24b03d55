"""What the function names of the card language mean on values: sums, ranges, elementary functions, spectra."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction

from bilevel_verify.checks.claims import linear
from bilevel_verify.checks.claims import values as v
from bilevel_verify.checks.claims.tensors import mode, tensor_norm
from bilevel_verify.checks.claims.values import EvaluationError, Value
from bilevel_verify.numbers import exact


def signed_sum(values: Sequence[Value], signs: Sequence[bool]) -> Value:
    """A signed sum; one object added and subtracted cancels exactly, and exact zeros leave the others as they are."""
    kept: list[tuple[Value, bool]] = []
    for value, negative in zip(values, signs):
        same = None
        if type(value) is not Fraction:
            same = next((n for n, (other, sign) in enumerate(kept) if other is value and sign != negative), None)
        if same is not None:
            zero = v.multiply(Fraction(0), value)
            kept[same] = (zero, False)
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


def _scalars(function: Callable[..., Value]) -> Callable[..., Value]:
    """A function of numbers, from the exact arithmetic."""
    return lambda *values: function(*map(v.as_scalar, values))


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
    **{name: _scalars(function) for name, function in exact.FUNCTIONS.items()},
    "sqrt": v.square_root,
    "abs": linear.norm,
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
}

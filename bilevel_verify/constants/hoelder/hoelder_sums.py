"""Sums of moduli of continuity with different exponents, at one exponent: distance by distance."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from sympy import Expr, Integer

from bilevel_verify.constants.bound.bounds import Bound
from bilevel_verify.constants.bound.constant import Reason
from bilevel_verify.numbers.rounding import enclose


@dataclass(frozen=True, slots=True)
class Modulus:
    """``|F(z) - F(z')| <= min(constant |z - z'|^nu, oscillation)``; ``closed`` is an exact form of the constant."""

    nu: Expr
    constant: float
    oscillation: float
    text: str
    closed: Expr | None = None
    sharp: bool = False
    ridges: tuple[int, ...] = ()


def combine(group: list[Modulus], nu: Expr, diameter: float) -> Bound:
    """Constant of the sum of several moduli at one exponent, on a set of the given diameter.

    ``H = max_d d^(-nu) sum_i min(H_i d^nu_i, omega_i)`` over the distances where a minimum changes sides and the
    diameter: between them the expression is convex in ``log d``.
    """
    if not group:
        return Bound(0.0, 0.0, True, "calculus", Reason("Hoelder rules", "constant derivative"), Integer(0), True)
    single = _single(group, nu, diameter)
    if single is not None:
        return single
    target = float(nu)
    distances = [d for m in group if math.isfinite(d := _break(m)) and 0 < d <= diameter]
    if math.isfinite(diameter):
        distances.append(diameter)
    best = 0.0
    for d in distances:
        total = math.fsum(min(m.constant * d ** float(m.nu), m.oscillation) for m in group)
        best = max(best, total / d**target)
    if target == 0 and math.isinf(diameter):
        best = math.fsum(m.constant if m.nu == 0 else m.oscillation for m in group)
    # towards 0 only the parts of exactly this exponent remain; towards infinity every part must be bounded
    best = max(best, math.fsum(m.constant for m in group if m.nu == nu))
    if math.isinf(diameter) and any(math.isinf(m.oscillation) and m.nu != nu for m in group):
        best = math.inf
    # without a constant a part is only known to be bounded: nothing at small distances
    if target > 0 and any(math.isinf(m.constant) for m in group):
        best = math.inf
    value = float(np.nextafter(best * (1 + 1e-12), math.inf)) if best else 0.0
    why = Reason(
        "Hoelder sum over distances", f"H <= {value:.9g} at nu = {nu}", tuple(Reason("part", m.text) for m in group)
    )
    return Bound(value, 0.0, True, "calculus", why)


def _break(m: Modulus) -> float:
    """The distance at which the minimum changes sides: infinite if it never does (or lies beyond all floats)."""
    if m.nu == 0 or m.constant == 0:
        return math.inf
    with np.errstate(over="ignore", invalid="ignore"):
        return float(np.float64(m.oscillation / m.constant) ** (1 / float(m.nu)))


def _single(group: list[Modulus], nu: Expr, diameter: float) -> Bound | None:
    if len(group) != 1:
        return None
    m = group[0]
    if m.nu == nu or math.isinf(m.constant):
        why = Reason(
            "Hoelder rule",
            f"H = {m.closed if m.closed is not None else f'{m.constant:.9g}'} at nu = {nu}",
            (Reason("part", m.text),),
        )
        lower = enclose(m.closed)[0] if m.closed is not None and m.sharp else 0.0
        route = "exact" if m.closed is not None else "calculus"
        return Bound(m.constant, lower, True, route, why, m.closed, m.sharp and m.closed is not None)  # type: ignore[arg-type]
    return None

"""Where a formula loses smoothness: the first derivative that jumps or blows up, and where."""

from __future__ import annotations

import math
from dataclasses import dataclass, field

import numpy as np
import sympy

from bilevel_verify.constants.domain import Domain
from bilevel_verify.constants.structure import Ridge, Structure
from bilevel_verify.intervals.batch import Interval
from bilevel_verify.intervals.scalar import Derived, Huber, Power, Psi, Scalar


@dataclass(frozen=True, slots=True)
class Jump:
    """The derivative of order ``order`` is the first that is not continuous (it jumps, or does not exist)."""

    order: int
    text: str
    where: dict[str, float] = field(default_factory=dict)


def first_jump(structure: Structure, domain: Domain) -> Jump | None:
    """The worst loss of smoothness on the domain, None if everything in use is smooth.

    Ridges are judged by their atoms. ``Max``, ``Min``, ``Abs``, ``sign``, ``floor`` and ``Piecewise`` in the rest are
    judged as merely continuous unless intervals decide the branch on the whole domain.
    """
    jumps = [j for r in structure.ridges if (j := _ridge_jump(r, structure, domain)) is not None]
    return min(jumps, key=lambda j: j.order) if jumps else None


def kinks(function: Scalar) -> tuple[float, list[float] | None]:
    """Number of continuous derivatives and the places of the kinks (None: every odd integer, for psi_0 ...)."""
    if isinstance(function, Derived):
        smooth, places = kinks(function.base)
        return smooth - function.order, places
    if isinstance(function, Power):
        return function.smooth, [0.0]
    if isinstance(function, Huber):
        return 1, [-float(function.delta), float(function.delta)]
    if isinstance(function, Psi):
        return (2, None) if function.nu == 0 else (3, None)
    return math.inf, []


def _ridge_jump(ridge: Ridge, structure: Structure, domain: Domain) -> Jump | None:
    smooth, places = kinks(ridge.function)
    if math.isinf(smooth):
        return None
    low, high = _argument(ridge, structure, domain)
    if places is not None:
        hit = [p for p in places if low <= p <= high]
        if not hit:
            return None
        place = f"argument {hit[0]:g}"
    else:
        place = "integer arguments"
    text = f"derivative {int(smooth) + 1} of {ridge.function.name} is not continuous at {place} of {_row_text(ridge, structure)}"
    if smooth < 0:
        text = f"{ridge.function.name} itself jumps at {place} of {_row_text(ridge, structure)}"
    return Jump(int(smooth) + 1, text)


def _argument(ridge: Ridge, structure: Structure, domain: Domain) -> tuple[float, float]:
    from bilevel_verify.intervals.rounding import enclose

    total = Interval(*(np.asarray(v) for v in enclose(ridge.shift)))
    for i, c in ridge.row:
        a, b = enclose(c)
        total = total + Interval(np.asarray(domain.lo[i]), np.asarray(domain.hi[i])) * Interval(np.asarray(a), np.asarray(b))
    return float(total.lo), float(total.hi)


def _row_text(ridge: Ridge, structure: Structure) -> str:
    row = sum((c * structure.variables[i] for i, c in ridge.row), ridge.shift)
    return str(sympy.sympify(row))

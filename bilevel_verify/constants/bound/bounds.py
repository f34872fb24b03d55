"""What is known about one supremum, and how bounds of separate groups of variables combine."""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace

import numpy as np
import sympy
from sympy import Expr

from bilevel_verify.constants.bound.constant import Reason, Route
from bilevel_verify.constants.formula import smoothness
from bilevel_verify.numbers.rounding import enclose


@dataclass(frozen=True, slots=True)
class Bound:
    """What is known about one supremum (or, for strong convexity, infimum)."""

    upper: float
    lower: float
    certified: bool
    route: Route
    why: Reason
    exact: Expr | None = None
    attained: bool = False
    witness: dict[str, float] = field(default_factory=dict)


def combine(bounds: list[Bound], slots: str) -> Bound:
    """Variables that do not interact: the largest (for a gradient: root of the sum of squares)."""
    if not bounds:
        return Bound(
            0.0, 0.0, True, "exact", Reason("structure", f"{slots}: vanishes identically"), sympy.Integer(0), True
        )
    if len(bounds) == 1:
        return bounds[0]
    if len(slots) == 1:
        return _gradient_combination(bounds)
    best = max(bounds, key=lambda b: b.upper)
    shown = tuple(b.why for b in sorted(bounds, key=lambda b: -b.upper)[:3])
    why = Reason("blocks", f"largest over {len(bounds)} groups of variables that do not interact", shown)
    return replace(best, lower=max(b.lower for b in bounds), certified=all(b.certified for b in bounds), why=why)


def _gradient_combination(bounds: list[Bound]) -> Bound:
    total = sum((sympy.Integer(0) if b.exact is None else b.exact**2 for b in bounds), sympy.Integer(0))
    closed = sympy.sqrt(total) if all(b.exact is not None and b.exact.is_finite for b in bounds) else None
    if closed is not None:
        upper = enclose(closed)[1]
    else:
        upper = float(np.nextafter(math.hypot(*(b.upper for b in bounds)) * (1 + 1e-15), math.inf))
    lower = math.hypot(*(b.lower for b in bounds))
    worst = max(bounds, key=lambda b: b.upper)
    why = Reason(
        "blocks",
        "root of the sum of squares over groups of variables that do not interact",
        tuple(b.why for b in bounds[:4]),
    )
    return Bound(
        upper,
        lower,
        all(b.certified for b in bounds),
        worst.route,
        why,
        closed,
        all(b.attained for b in bounds),
        worst.witness,
    )


def jump_bound(lost: smoothness.Jump, order: int) -> Bound:
    statement = (
        f"{lost.text}; no Lipschitz constant of the derivative of order {order - 1}; "
        "a domain on one side of that place, away from it, helps"
    )
    why = Reason("lost smoothness", statement)
    lower = math.inf if lost.sure else 0.0
    return Bound(math.inf, lower, True, "calculus", why, sympy.oo if lost.sure else None, lost.sure, lost.where)

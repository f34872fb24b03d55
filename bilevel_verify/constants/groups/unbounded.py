"""Who is to blame for a missing finite bound: the terms with an unbounded derivative, and a domain that would help."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import sympy

from bilevel_verify.constants.bound.constant import Reason
from bilevel_verify.constants.formula.model import Model
from bilevel_verify.constants.formula.structure import ridge_text
from bilevel_verify.constants.groups.group import Group
from bilevel_verify.intervals.rounding import Array


def all_finite(model: Model, k: int, lo: Array, hi: Array) -> bool:
    """Whether every coefficient of the k-th derivative is bounded on the boxes."""
    pieces = model.evaluate(k, lo, hi)
    return bool(np.isfinite(pieces.ridges.magnitude()).all() and np.isfinite(pieces.entries.magnitude()).all())


def unbounded_term(part: Group, k: int) -> Reason:
    """Which terms have an unbounded k-th derivative, and a box that makes all of them finite."""
    if part.effort <= 0:
        return Reason("blows up", f"derivative {k} is unbounded on this domain")
    terms = "; ".join(guilty(part, k)[:4]) or "the sum"
    return Reason("blows up", f"derivative {k} of {terms} has no finite bound on this domain{advice(part, k)}")


def guilty(part: Group, k: int) -> list[str]:
    """The terms whose k-th derivative has no finite bound on the domain."""
    found = []
    lo, hi = part.whole()
    slopes = part.model.ridge_ranges(k, part.model.arguments(lo, hi))
    for number, ridge in enumerate(part.structure.ridges):
        if not np.isfinite(slopes.magnitude()[0, number]):
            found.append(ridge_text(ridge, part.structure))
    if k == 1 and part.domain.unbounded and part.structure.quadratic:
        found.append("the quadratic part")
    plain_rest = None if part.only_specials else part.structure.rest
    for term in sympy.Add.make_args(plain_rest) if plain_rest is not None else ():
        alone = Model(replace(part.structure, rest=term, ridges=(), quadratic={}, linear={}), part.is_x)
        if not np.isfinite(alone.evaluate(k, lo, hi).entries.magnitude()).all():
            found.append(str(term))
    return found


def advice(part: Group, k: int) -> str:
    """A bounded box on which the derivative is finite, if a simple one is found."""
    if part.effort <= 0 or part.only_specials:
        return ""
    for size in (10.0, 1.0):
        lo = np.where(np.isneginf(part.domain.lo), -size, part.domain.lo)
        hi = np.where(np.isposinf(part.domain.hi), size, part.domain.hi)
        if (lo > hi).any() or not part.domain.unbounded:
            continue
        if all_finite(part.model, k, lo[None], hi[None]):
            names = [
                v.name for v, a, b in zip(part.structure.variables, part.domain.lo, part.domain.hi) if math.isinf(b - a)
            ]
            return f"; it is finite for {', '.join(names[:6])} in [-{size:g}, {size:g}]"
    return _away(part, k)


def _away(part: Group, k: int) -> str:
    """A box on one side of the singularity, if a simple one is found."""
    base_lo = np.where(np.isneginf(part.domain.lo), -10.0, part.domain.lo)
    base_hi = np.where(np.isposinf(part.domain.hi), 10.0, part.domain.hi)
    for i, variable in enumerate(part.structure.variables):
        for low, high in ((0.01, base_hi[i]), (base_lo[i], -0.01), (0.01 * base_hi[i], base_hi[i])):
            if not base_lo[i] <= low < high <= base_hi[i]:
                continue
            lo, hi = base_lo.copy(), base_hi.copy()
            lo[i], hi[i] = low, high
            if all_finite(part.model, k, lo[None], hi[None]):
                rest = " (the others in [-10, 10])" if part.n > 1 and part.domain.unbounded else ""
                return f"; it is finite away from the singularity, say for {variable} in [{low:g}, {high:g}]{rest}"
    return "; a smaller box that keeps away from the singularity makes it finite"

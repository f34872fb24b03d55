"""Who is to blame for a missing finite bound: the terms with an unbounded derivative, and a domain that would help."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import sympy

from bilevel_verify.constants.bound.constant import Ranges, Reason
from bilevel_verify.constants.formula.domain import Domain
from bilevel_verify.constants.formula.model import Model
from bilevel_verify.constants.formula.structure import ridge_text
from bilevel_verify.constants.groups.group import Group
from bilevel_verify.numbers.rounding import Array


def all_finite(model: Model, k: int, lo: Array, hi: Array) -> bool:
    """Whether every coefficient of the k-th derivative is bounded on the boxes."""
    pieces = model.evaluate(k, lo, hi)
    return bool(np.isfinite(pieces.ridges.magnitude()).all() and np.isfinite(pieces.entries.magnitude()).all())


def unbounded_term(part: Group, k: int) -> Reason:
    """Which terms have an unbounded k-th derivative, and a box that makes all of them finite."""
    if part.effort <= 0:
        return Reason("blows up", f"derivative {k} is unbounded on this domain")
    terms = "; ".join(unbounded_terms(part, k)[:4]) or "the sum"
    return with_remedy("blows up", f"derivative {k} of {terms} has no finite bound on this domain", part, k)


def with_remedy(rule: str, statement: str, part: Group, k: int) -> Reason:
    """A reason with the ranges on which the k-th derivative is finite; without them it says what kind would help."""
    ranges = remedy(part, k)
    if not ranges and part.effort > 0 and not part.only_specials:
        statement += "; a smaller box that keeps away from the singularity makes it finite"
    return Reason(rule, statement, remedy=ranges)


def unbounded_terms(part: Group, k: int) -> list[str]:
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


def remedy(part: Group, k: int) -> Ranges:
    """A bounded box on which the derivative is finite, if a simple one is found: the ranges that are to be added."""
    if part.effort <= 0 or part.only_specials:
        return {}
    for size in (10.0, 1.0):
        box = bounded(part.domain, size)
        if box is not None and all_finite(part.model, k, box.lo[None], box.hi[None]):
            return added(part, box.lo, box.hi)
    return _away(part, k)


def bounded(domain: Domain, size: float) -> Domain | None:
    """The domain with ends at ``size`` where they are infinite; None where none is, or where that leaves nothing."""
    lo = np.where(np.isneginf(domain.lo), -size, domain.lo)
    hi = np.where(np.isposinf(domain.hi), size, domain.hi)
    return None if (lo > hi).any() or not domain.unbounded else replace(domain, lo=lo, hi=hi)


def _away(part: Group, k: int) -> Ranges:
    """A box on one side of the singularity, if a simple one is found."""
    base_lo = np.where(np.isneginf(part.domain.lo), -10.0, part.domain.lo)
    base_hi = np.where(np.isposinf(part.domain.hi), 10.0, part.domain.hi)
    for i in range(part.n):
        for low, high in ((0.01, base_hi[i]), (base_lo[i], -0.01), (0.01 * base_hi[i], base_hi[i])):
            if not base_lo[i] <= low < high <= base_hi[i]:
                continue
            lo, hi = base_lo.copy(), base_hi.copy()
            lo[i], hi[i] = low, high
            if all_finite(part.model, k, lo[None], hi[None]):
                return added(part, lo, hi)
    return {}


def added(part: Group, lo: Array, hi: Array) -> Ranges:
    """The variables whose range is another one than in the domain."""
    ends = zip(part.structure.variables, lo, hi, part.domain.lo, part.domain.hi)
    return {v.name: (float(a), float(b)) for v, a, b, low, high in ends if (a, b) != (low, high)}

"""Norms of ridges with independent rows on the whole space: closed forms in SymPy."""

from __future__ import annotations

import sympy
from sympy import Expr

from bilevel_verify.constants.calculus import exact
from bilevel_verify.constants.formula.structure import Ridge
from bilevel_verify.constants.groups.group import Group


def closed_form(part: Group, slots: str) -> Expr | None:
    """Closed form on the whole space, independent rows: eigenvalues (order 2), orthogonal ridges (order >= 3)."""
    k = len(slots)
    ridges = part.structure.ridges
    ranges = [exact.exact_range(r.function, k) for r in ridges]
    if any(r is None for r in ranges):
        return None
    scaled = [exact.scale(r.weight, bounds) for r, bounds in zip(ridges, ranges) if bounds is not None]
    if k == 1:
        return exact.gradient_vertex(part.structure, scaled, part.model.slots(slots))
    if k == 2 and len(set(slots)) == 1:
        members = part.model.slots(slots[0])
        low = exact.exact_matrix(part.structure, [s[0] for s in scaled], members)
        high = exact.exact_matrix(part.structure, [s[1] for s in scaled], members)
        top = exact.extreme_eigenvalue(exact.frozen(high), True)
        bottom = exact.extreme_eigenvalue(exact.frozen(low), False)
        if top is None or bottom is None:
            return None
        largest = exact.larger(top, -bottom)
        end = 1 if largest == top else 0
        return None if any(exact.safe_ends(r, 2)[end] for r in ridges) else largest
    if k >= 3 and exact.orthogonal(ridges) and (len(ridges) == 1 or len(set(slots)) == 1):
        values = [exact.larger(-s[0], s[1]) * length_of(part, r, slots) for r, s in zip(ridges, scaled)]
        best = values[0]
        for value in values[1:]:
            best = exact.larger(best, value)
        return sympy.sqrtdenest(sympy.expand(best)) if not best.is_Rational else best
    return None


def length_of(part: Group, ridge: Ridge, slots: str) -> Expr:
    """Product of the lengths of a row within the blocks of the slots."""
    product: Expr = sympy.Integer(1)
    for s in slots:
        members = set(part.model.slots(s))
        square = sum((v**2 for i, v in ridge.row if i in members), sympy.Integer(0))
        product = product * square
    return sympy.sqrt(sympy.expand(product))

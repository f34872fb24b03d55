"""Terms over one denominator put together: what cancels between them is seen over boxes, and divided once."""

from __future__ import annotations

import sympy
from sympy import Expr


def over_denominators(rest: Expr | None) -> Expr | None:
    """The same sum with all terms of equal denominators (up to rational factors) as one quotient."""
    if rest is None or not isinstance(rest, sympy.Add):
        return rest
    groups: dict[Expr, list[tuple[Expr, Expr]]] = {}
    for term in rest.args:
        top, bottom = _divided(term)
        groups.setdefault(bottom, []).append((term, top))
    parts = []
    for bottom, members in groups.items():
        if bottom == 1 or len(members) == 1:
            parts += [term for term, _ in members]
        else:
            parts.append(bottom * sympy.Add(*(top for _, top in members)))
    return sympy.Add(*parts)


def _divided(term: Expr) -> tuple[Expr, Expr]:
    """``(a, b)`` with the term ``a b``: b is all its negative powers, of bases without a common rational factor."""
    top, bottom = [], []
    for factor in sympy.Mul.make_args(term):
        base, exponent = factor.as_base_exp()
        if not (exponent.is_Integer and exponent < 0 and isinstance(base, sympy.Add)):
            top.append(factor)
            continue
        content, primitive = base.primitive()
        top.append(content**exponent)
        bottom.append(primitive**exponent)
    return sympy.Mul(*top), sympy.Mul(*bottom)

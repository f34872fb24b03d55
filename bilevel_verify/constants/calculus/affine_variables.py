"""Variables that enter affinely: extreme derivatives sit at the two ends of their ranges.

If every entry of ``D^k h`` is affine in a variable v, its norm is convex and the smallest eigenvalue concave in v: the
supremum (infimum) over an interval of v is attained at an end, for every value of the other variables.
"""

from __future__ import annotations

import itertools

import numpy as np
import sympy
from sympy import Symbol

from bilevel_verify.constants.formula.domain import Domain
from bilevel_verify.constants.formula.structure import Structure
from bilevel_verify.numbers.rounding import Array

MOST = 6
"""At most this many variables are put at their ends (64 boxes to start with)."""


def affine_variables(structure: Structure, order: int) -> tuple[int, ...]:
    """Numbers of the variables in which the derivative of that order is affine.

    Such a variable occurs in no ridge, and in every term of the rest either to the first power at most or alone, as a
    polynomial of degree at most ``order + 1``. (Linear and quadratic parts always do.)
    """
    in_ridges = {i for ridge in structure.ridges for i, _ in ridge.row}
    terms = [] if structure.rest is None else list(sympy.Add.make_args(structure.rest))
    return tuple(
        i
        for i, v in enumerate(structure.variables)
        if i not in in_ridges and all(_affine_in(term, v, order) for term in terms)
    )


def _affine_in(term: sympy.Expr, v: Symbol, order: int) -> bool:
    if v not in term.free_symbols:
        return True
    if term.free_symbols & {v} == term.free_symbols and term.is_polynomial(v):
        return bool(sympy.degree(term, v) <= order + 1)
    factors = [factor for factor in sympy.Mul.make_args(term) if v in factor.free_symbols]
    return len(factors) == 1 and factors[0].is_polynomial(v) and bool(sympy.degree(factors[0], v) == 1)


def faces(domain: Domain, structure: Structure, order: int) -> tuple[Array, Array]:
    """Boxes that carry the extremes: affine variables with finite ranges at both ends, shape (boxes, n)."""
    lo, hi = domain.lo, domain.hi
    ended = [i for i in affine_variables(structure, order) if np.isfinite(lo[i]) and np.isfinite(hi[i])][:MOST]
    low, high = [], []
    for ends in itertools.product((0, 1), repeat=len(ended)):
        left, right = lo.copy(), hi.copy()
        for i, end in zip(ended, ends):
            left[i] = right[i] = hi[i] if end else lo[i]
        low.append(left)
        high.append(right)
    return np.array(low), np.array(high)

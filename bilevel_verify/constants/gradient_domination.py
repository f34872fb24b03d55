"""The Polyak-Lojasiewicz constant: the largest m with ``|grad h|^2 / 2 >= m (h - inf h)`` along a block of variables.

Strong convexity implies it. It also holds for ``h(y) = s(Q'y)`` with s strongly convex and Q orthonormal columns: h is
constant along the orthogonal complement, and ``grad h = Q grad s`` has the length of ``grad s``. So: find the constant
directions c with ``c . grad h = 0`` identically, and certify the curvature of h on what is orthogonal to them. What is
found is a lower bound; the best constant may be larger, unless the curvature is constant.

Source: Karimi, Nutini, Schmidt (2016), Appendix B, for strongly convex functions of a linear map.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np
import sympy

from bilevel_verify.constants.bound.bounds import Bound
from bilevel_verify.constants.bound.constant import Reason
from bilevel_verify.constants.formula.domain import Domain
from bilevel_verify.constants.formula.rewriting import normalise
from bilevel_verify.constants.formula.smoothness import may_jump
from bilevel_verify.constants.formula.structure import structure_of
from bilevel_verify.constants.groups.engine import Analysis
from bilevel_verify.numbers.rounding import enclose


@dataclass(frozen=True)
class Along:
    """A function, all of its variables with their box, and the places of those along which the gradient is taken."""

    expression: sympy.Expr
    variables: tuple[sympy.Symbol, ...]
    domain: Domain
    block: tuple[int, ...]
    name: str
    effort: float


def gradient_domination(along: Along) -> Bound:
    """A certified lower bound of the constant; 0 where none is shown.

    The inequality is shown for points of the box if the solution lies in it, too: over all of space where the block is
    not restricted.
    """
    block = [along.variables[i] for i in along.block]
    if may_jump(along.expression):
        why = Reason("lost smoothness", f"{along.name} may jump where its derivatives vanish: nothing is shown")
        return Bound(math.inf, 0.0, True, "calculus", why)
    flat = flat_directions(along.expression, block)
    curvature = _reduced(along, flat).convexity() if len(flat) < len(block) else None
    if curvature is None:
        why = Reason("constant", f"{along.name} does not depend on the block: gradient and gap are both 0")
        return Bound(math.inf, math.inf, True, "exact", why, sympy.oo)
    where = (
        f"on the orthogonal complement of {len(flat)} directions along which it is constant" if flat else "everywhere"
    )
    if not curvature.lower > 0:
        why = Reason("not shown", f"{along.name} is not certified to be strongly convex {where}", (curvature.why,))
        return Bound(math.inf, 0.0, curvature.certified, curvature.route, why, None, False, curvature.witness)
    why = Reason("strong convexity", f"m >= {curvature.lower:.9g}: curvature of {along.name} {where}", (curvature.why,))
    if all(along.expression.diff(v, w).is_number for v in block for w in block):
        return replace(curvature, why=why)  # a quadratic attains it, along the eigenvector of its smallest curvature
    return Bound(math.inf, curvature.lower, curvature.certified, curvature.route, why)


def flat_directions(expression: sympy.Expr, block: list[sympy.Symbol]) -> list[sympy.Matrix]:
    """Rational vectors c with ``c . grad h = 0`` identically, a basis of those that cancel term by term."""
    columns = [_terms(expression.diff(v)) for v in block]
    rows = sorted({term for column in columns for term in column}, key=sympy.default_sort_key)
    if not rows:
        return [sympy.Matrix([int(i == j) for j in range(len(block))]) for i in range(len(block))]
    return list(sympy.Matrix([[column.get(term, 0) for column in columns] for term in rows]).nullspace())


def _terms(derivative: sympy.Expr) -> dict[sympy.Expr, sympy.Rational]:
    """Monomials of the expanded derivative with their rational factors."""
    found: dict[sympy.Expr, sympy.Rational] = {}
    for term in sympy.Add.make_args(sympy.expand(derivative)):
        factor, rest = term.as_coeff_Mul(rational=True)
        found[rest] = found.get(rest, sympy.S.Zero) + factor
    return {rest: factor for rest, factor in found.items() if factor != 0}


def _reduced(along: Along, flat: list[sympy.Matrix]) -> Analysis:
    """The function in orthonormal coordinates of the complement of ``flat``, over the box that they fill."""
    if not flat:
        fixed = tuple(i not in along.block for i in range(len(along.variables)))
        return _analysis(along, along.expression, along.variables, fixed, along.domain)
    complement = sympy.Matrix([list(c) for c in flat]).nullspace()
    basis = [v.applyfunc(sympy.radsimp) for v in sympy.GramSchmidt(complement, orthonormal=True)]
    new = tuple(sympy.Symbol(f"along{k}", real=True) for k in range(len(basis)))
    put = {along.variables[i]: sum(v[j] * w for v, w in zip(basis, new)) for j, i in enumerate(along.block)}
    kept = [i for i in range(len(along.variables)) if i not in along.block]
    ends = [_range(along.domain, along.block, v) for v in basis]
    domain = Domain(
        np.array([*along.domain.lo[kept], *(low for low, _ in ends)], dtype=float),
        np.array([*along.domain.hi[kept], *(high for _, high in ends)], dtype=float),
        along.domain.text,
        along.domain.whole_space,
    )
    expression = sympy.expand(along.expression.subs(put, simultaneous=True))
    variables = (*(along.variables[i] for i in kept), *new)
    return _analysis(along, expression, variables, (True,) * len(kept) + (False,) * len(new), domain)


def _analysis(
    along: Along, expression: sympy.Expr, variables: tuple[sympy.Symbol, ...], fixed: tuple[bool, ...], domain: Domain
) -> Analysis:
    return Analysis(structure_of(normalise(expression), variables), fixed, domain, along.name, along.effort)


def _range(domain: Domain, block: tuple[int, ...], direction: sympy.Matrix) -> tuple[float, float]:
    """Interval of ``direction . y`` over the box, rounded outwards; infinite ends only where a factor meets one."""
    low = high = 0.0
    for j, i in enumerate(block):
        if direction[j] == 0:
            continue
        ends = [a * b for a in enclose(direction[j]) for b in (float(domain.lo[i]), float(domain.hi[i]))]
        low = np.nextafter(low + np.nextafter(min(ends), -np.inf), -np.inf)
        high = np.nextafter(high + np.nextafter(max(ends), np.inf), np.inf)
    return float(low), float(high)

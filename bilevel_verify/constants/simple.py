"""Constants of simple bilevel problems: diameter of the feasible set, error bound, gradient over the solutions."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
import sympy
from sympy import Expr, Integer

from bilevel_verify.constants import error_bounds
from bilevel_verify.constants.bound.bounds import Bound
from bilevel_verify.constants.bound.constant import Reason
from bilevel_verify.constants.calculus import exact
from bilevel_verify.constants.formula.domain import Domain
from bilevel_verify.constants.formula.structure import Ridge, Structure
from bilevel_verify.constants.groups.engine import Analysis
from bilevel_verify.constants.papers import Letter
from bilevel_verify.intervals.batch import Interval
from bilevel_verify.intervals.rounding import Array, enclose
from bilevel_verify.intervals.scalar import Power
from bilevel_verify.problems import feasible as sets
from bilevel_verify.problems.problem import Problem


@dataclass(frozen=True, slots=True)
class ErrorBound:
    """``(alpha / r) dist(x, X_g*)^r <= g(x) - g*`` on Z; ``solutions`` is a box around X_g* where one is known."""

    alpha: Expr
    r: Expr
    text: str
    solutions: tuple[Array, Array] | None = None


def simple_bound(letter: Letter, problem: Problem, analysis: Callable[[str], Analysis], effort: float) -> Bound:
    """The bound behind ``D``, ``alpha``, ``r`` or ``M`` of a simple bilevel problem.

    ``analysis`` : of ``f`` and of ``g``, by name.
    """
    if letter.measure == "diameter":
        return diameter(problem.feasible, problem.dx)
    found = error_bound(analysis("g"), problem.feasible)
    if letter.measure == "gradient":
        return _gradient_over_solutions(analysis("f"), effort, found)
    if found is None:
        why = Reason("not derived", "no certified error bound is known for this lower level and feasible set")
        return Bound(math.inf, 0.0, False, "calculus", why)
    value = found.alpha if letter.name == "alpha" else found.r
    low, high = enclose(value)
    return Bound(high, low, True, "exact", Reason("error bound", found.text), value, letter.name == "r")


def _gradient_over_solutions(upper_level: Analysis, effort: float, found: ErrorBound | None) -> Bound:
    where = "X_g* lies in Z"
    if found is not None and found.solutions is not None:
        lo, hi = found.solutions
        domain = Domain(lo, hi, "box around X_g*", False)
        upper_level = Analysis(upper_level.structure, upper_level.is_x, domain, "f", effort)
        where = "X_g* lies in a box"
    bound = upper_level.norm("z")
    why = Reason(where, f"M <= sup |nabla f| there <= {bound.upper:.9g}", (bound.why,))
    return Bound(bound.upper, 0.0, bound.certified, bound.route, why, None, False, bound.witness)


# -- error bounds


def error_bound(analysis: Analysis, feasible: sets.FeasibleSet | None) -> ErrorBound | None:
    """A certified Hoelderian error bound for the lower levels that the rules below cover, else None."""
    structure, domain = analysis.structure, analysis.domain
    if structure.rest is not None:
        return None
    boxed = feasible is None or isinstance(feasible, sets.Box | sets.Orthant | sets.WholeSpace)
    return (
        _strongly_convex(structure)
        or (_weak_sharpness(structure, domain) if boxed else None)
        or (_single_row(structure, domain) if boxed else None)
        or (_degenerate_quadratic(structure) if boxed and domain.free else None)
        or (_on_ball(structure, feasible) if isinstance(feasible, sets.Ball) else None)
        or (_on_simplex(structure, feasible) if isinstance(feasible, sets.Simplex) else None)
    )


def _on_ball(structure: Structure, ball: sets.Ball) -> ErrorBound | None:
    """A convex quadratic on a ball; a single solution is its own box."""
    found = error_bounds.quadratic_on_ball(structure, ball)
    if found is None:
        return None
    alpha, r, text, point = found
    ends = None if point is None else [enclose(v) for v in point]
    box = None if ends is None else (np.array([e[0] for e in ends]), np.array([e[1] for e in ends]))
    return ErrorBound(alpha, r, text, box)


def _on_simplex(structure: Structure, simplex: sets.Simplex) -> ErrorBound | None:
    """A power of one affine form on a simplex."""
    found = _power_of_row(structure)
    if found is None or (structure.ridges and structure.ridges[0].function.kind == "plus"):  # type: ignore[attr-defined]
        return None
    bound = error_bounds.single_row_on_simplex(*found, len(structure.variables), float(simplex.total))
    return None if bound is None else ErrorBound(*bound)


def _quadratic_rows(structure: Structure) -> tuple[tuple[Expr, ...], ...]:
    members = tuple(range(len(structure.variables)))
    plain = Structure(structure.variables, {}, structure.quadratic, (), None)
    return tuple(tuple(row) for row in exact.exact_matrix(plain, [], members))


def _strongly_convex(structure: Structure) -> ErrorBound | None:
    """``r = 2`` with the least eigenvalue of a positive definite quadratic, any convex Z (convex ridges only add)."""
    for ridge in structure.ridges:
        if not _convex(ridge):
            return None
    least = error_bounds.least_root(sympy.Matrix(_quadratic_rows(structure)))
    if least is None or enclose(least)[0] <= 0:
        return None
    return ErrorBound(least, Integer(2), f"g is {least}-strongly convex: r = 2, alpha = {least}")


def _convex(ridge: Ridge) -> bool:
    curvature = ridge.function.range(2, Interval.of(-math.inf, math.inf)) if ridge.function.smooth >= 2 else None
    positive = enclose(ridge.weight)[0] >= 0
    return curvature is not None and positive and float(curvature.lo) >= -1e-300


def _degenerate_quadratic(structure: Structure) -> ErrorBound | None:
    """On the whole space a convex quadratic grows by its smallest positive eigenvalue."""
    if structure.ridges or structure.linear:
        return None
    least = exact.smallest_positive_eigenvalue(_quadratic_rows(structure))
    if least is None:
        return None
    return ErrorBound(least, Integer(2), f"quadratic on the whole space: smallest positive eigenvalue {least}")


def _weak_sharpness(structure: Structure, domain: Domain) -> ErrorBound | None:
    """One active variable along which g increases (or decreases) all over the box: a face is the solution set."""
    active = {i for pair in structure.quadratic for i in pair} | set(structure.linear)
    active |= {i for ridge in structure.ridges for i, _ in ridge.row}
    if len(active) != 1:
        return None
    (i,) = active
    lo, hi = domain.lo, domain.hi
    slope = _slope_at(structure, i, lo), _slope_at(structure, i, hi)
    if not _convex_everywhere(structure):
        return None
    box_lo, box_hi = lo.copy(), hi.copy()
    if slope[0] is not None and enclose(slope[0])[0] > 0:
        box_hi[i] = lo[i]
        return ErrorBound(slope[0], Integer(1), f"g increases with slope at least {slope[0]}: r = 1", (box_lo, box_hi))
    if slope[1] is not None and enclose(slope[1])[1] < 0:
        box_lo[i] = hi[i]
        return ErrorBound(
            -slope[1], Integer(1), f"g decreases with slope at least {-slope[1]}: r = 1", (box_lo, box_hi)
        )
    return None


def _convex_everywhere(structure: Structure) -> bool:
    return all(_convex(r) for r in structure.ridges) and all(
        i == j and enclose(v)[0] >= 0 for (i, j), v in structure.quadratic.items()
    )


def _slope_at(structure: Structure, i: int, corner: Array) -> Expr | None:
    """Exact slope at an end of the range of one variable (no ridges: those have no exact slopes here)."""
    if structure.ridges or not math.isfinite(corner[i]):
        return None
    where = sympy.Rational(Fraction(float(corner[i])).numerator, Fraction(float(corner[i])).denominator)
    return structure.linear.get(i, Integer(0)) + structure.quadratic.get((i, i), Integer(0)) * where


def _single_row(structure: Structure, domain: Domain) -> ErrorBound | None:
    """``g = w |a.x - c|^p`` on a box: dist <= |a.x - c| / min |a_i| if the hyperplane meets the box.

    (Towards any point z of the box on the hyperplane, moving only the coordinates that reduce the residual suffices,
    and each unit of residual costs at most 1 / min |a_i|.)
    """
    found = _power_of_row(structure)
    if found is None:
        return None
    weight, power, row, shift = found
    total = Interval(*(np.asarray(v) for v in enclose(shift)))
    for i, a in row.items():
        factor = Interval(*(np.asarray(v) for v in enclose(a)))
        total = total + Interval(np.asarray(domain.lo[i]), np.asarray(domain.hi[i])) * factor
    one_sided = bool(structure.ridges) and structure.ridges[0].function.name.startswith("max(t,0)")
    if not (float(total.lo) <= 0 and (one_sided or float(total.hi) >= 0)) or enclose(weight)[0] <= 0:
        return None
    whole = domain.free
    size = (
        sympy.sqrt(sum(a**2 for a in row.values()))
        if whole
        else min((abs(a) for a in row.values()), key=lambda v: enclose(v)[0])
    )
    alpha = sympy.expand(power * weight * size**power)
    text = f"g = {weight}*|row|^{power}: r = {power}, alpha = {alpha} (distance at most |row| / {size})"
    return ErrorBound(alpha, power, text, (domain.lo, domain.hi) if one_sided else _contract(row, shift, domain))


def _power_of_row(structure: Structure) -> tuple[Expr, Expr, dict[int, Expr], Expr] | None:
    if len(structure.ridges) == 1 and not structure.quadratic and not structure.linear:
        ridge = structure.ridges[0]
        if isinstance(ridge.function, Power) and ridge.function.kind in ("plain", "abs", "plus"):
            p = ridge.function.exponent
            if p >= 1 and (ridge.function.kind != "plain" or p % 2 == 0):
                return ridge.weight, sympy.Rational(p.numerator, p.denominator), dict(ridge.row), ridge.shift
        return None
    if structure.ridges or not structure.quadratic:
        return None
    return _square_of_row(structure)


def _square_of_row(structure: Structure) -> tuple[Expr, Expr, dict[int, Expr], Expr] | None:
    """``x'Qx/2 + b.x`` with ``Q = q a a'`` of rank one and ``b`` parallel to ``a``: a square up to a constant."""
    q = structure.quadratic
    pivot = next((i for i in range(len(structure.variables)) if (i, i) in q), None)
    if pivot is None:
        return None
    lead = q[pivot, pivot]
    row = {
        j: q[min(pivot, j), max(pivot, j)] / lead
        for j in range(len(structure.variables))
        if (min(pivot, j), max(pivot, j)) in q
    }
    for i in row:
        for j in row:
            if i <= j and sympy.simplify(q.get((i, j), Integer(0)) - lead * row[i] * row[j]) != 0:
                return None
    if any(i not in row or j not in row for i, j in q):
        return None
    slope = structure.linear.get(pivot, Integer(0))
    if any(sympy.simplify(structure.linear.get(j, Integer(0)) - slope * a) != 0 for j, a in row.items()):
        return None
    if any(j not in row for j in structure.linear):
        return None
    return lead / 2, Integer(2), row, slope / lead


def _contract(row: dict[int, Expr], shift: Expr, domain: Domain) -> tuple[Array, Array]:
    """Box around ``{a.x + s = 0}`` within the domain: each coordinate from the ranges of the others."""
    lo, hi = domain.lo.copy(), domain.hi.copy()
    for i, a in row.items():
        total = Interval(*(np.asarray(v) for v in enclose(shift)))
        for j, b in row.items():
            if j != i:
                factor = Interval(*(np.asarray(v) for v in enclose(b)))
                total = total + Interval(np.asarray(lo[j]), np.asarray(hi[j])) * factor
        own = -(total / Interval(*(np.asarray(v) for v in enclose(a))))
        lo[i], hi[i] = max(lo[i], float(own.lo)), min(hi[i], float(own.hi))
    return lo, hi


# -- diameters


def diameter(feasible: sets.FeasibleSet | None, n: int) -> Bound:
    """Euclidean diameter of a feasible set, exact for the sets of the language."""
    value: Expr | None = None
    match feasible:
        case sets.Ball(radius=radius):
            value = 2 * sympy.Rational(radius)
        case sets.Box(lo=lo, hi=hi) if feasible.bounded:
            value = sympy.sqrt(sum((sympy.Rational(b) - sympy.Rational(a)) ** 2 for a, b in zip(lo, hi)))
        case sets.Simplex(total=total):
            value = sympy.sqrt(2) * sympy.Rational(total) if n > 1 else Integer(0)
        case sets.L1Ball(radius=radius):
            value = 2 * sympy.Rational(radius)
        case sets.Intersection(sets=parts):
            return _smallest([diameter(part, n) for part in parts])
    if value is None:
        why = Reason("unbounded set", "the feasible set is unbounded: its diameter is infinite")
        return Bound(math.inf, math.inf, True, "exact", why, sympy.oo, True)
    top = enclose(value)[1]
    return Bound(top, top, True, "exact", Reason("diameter", f"D = {value}"), value, True)


def _smallest(bounds: list[Bound]) -> Bound:
    best = min(bounds, key=lambda b: b.upper)
    why = Reason("intersection", f"D <= {best.upper:.9g}: smallest diameter of the sets", tuple(b.why for b in bounds))
    return Bound(best.upper, 0.0, True, "calculus", why, None, False)

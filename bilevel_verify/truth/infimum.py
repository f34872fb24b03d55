"""inf phi with everything that is known: bounded and unbounded ranges, unattained infima, unbounded problems."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import cache
from typing import TYPE_CHECKING

import numpy as np
import sympy
from numpy.typing import NDArray

from bilevel_verify.errors import BilevelVerifyError, SolverFailure
from bilevel_verify.intervals.elementary import ball_ends
from bilevel_verify.numbers.rounding import down, enclose, float_below, inward, outward
from bilevel_verify.problems.problem import Problem
from bilevel_verify.truth.arithmetic.enclosure import Enclosure, is_witness
from bilevel_verify.truth.functions.limits import limit_at_infinity
from bilevel_verify.truth.functions.model import Model, model_of
from bilevel_verify.truth.functions.quadratics import quadratic_of
from bilevel_verify.truth.lower_level.points import DEFAULT_BITS, Points
from bilevel_verify.truth.lower_level.pointwise import Pointwise
from bilevel_verify.truth.minimum.attainment import attains, on_unbounded_range
from bilevel_verify.truth.minimum.closed_form import closed_form
from bilevel_verify.truth.minimum.convex_minimum import convex_minimum, is_convex, only_minimiser
from bilevel_verify.truth.minimum.descent import descend
from bilevel_verify.truth.minimum.minimum import PATIENCE_UNBOUNDED, Minimum, attained_value, minimise_phi
from bilevel_verify.truth.minimum.objective import Objective, PenaltyObjective, PhiObjective
from bilevel_verify.truth.minimum.periods import one_period
from bilevel_verify.truth.minimum.separable import combined, parts_of
from bilevel_verify.truth.minimum.term_bounds import sum_of_term_bounds
from bilevel_verify.truth.sets.ranges import ranges_over
from bilevel_verify.truth.sets.squares import complete_squares
from bilevel_verify.truth.witness.cvxpy_bridge import ConicAnswer, box_of, solve_convex
from bilevel_verify.truth.witness.disciplined import NotRepresentable

if TYPE_CHECKING:
    import flint

    from bilevel_verify.constants.papers import LetterSet

FloatArray = NDArray[np.float64]
LIMIT_SIZE = 120
"""Largest expression (in operations) whose limits are asked of SymPy."""


@np.errstate(all="ignore")
def infimum(problem: Problem, points: Points, low: FloatArray, high: FloatArray) -> Minimum:
    """Enclose ``inf phi`` on the declared range of x, ``[low, high]`` with ends that are no floats rounded outward."""
    parts = parts_of(problem)
    if len(parts) > 1:
        return _sum_of_blocks(problem, parts)
    return _with_value(points, _attained_inside(problem, PhiObjective(points), _on_box(problem, points, low, high)))


def _with_value(points: Points, found: Minimum) -> Minimum:
    """An explicit phi may have values where f or g has none: no infimum is attained there."""
    if not np.isfinite(found.upper) or points.has_value(found.x):
        return found
    return replace(found, upper=np.inf)


def _attained_inside(problem: Problem, objective: Objective, found: Minimum) -> Minimum:
    """Where an end is no float, the search went beyond it: the upper bound is taken again at a point of the range."""
    inner = np.array([inward(*problem.range_of(s)) for s in problem.x]).T
    if np.array_equal(inner, np.array(range_of_x(problem))) or not np.isfinite(found.upper):
        return found
    if np.any(inner[0] > inner[1]):
        return replace(found, certified=False)
    x = np.clip(found.x, *inner)
    with ball_ends():
        upper = float(objective.at(x[None]).value.hi[0])
    upper = np.inf if np.isnan(upper) else upper
    attained = found.attained if found.attained is not True or attains(objective, inner[0], inner[1], upper) else None
    return replace(found, x=x, upper=upper, attained=attained)


def _on_box(problem: Problem, points: Points, low: FloatArray, high: FloatArray) -> Minimum:
    """Enclose ``inf phi`` on a box of floats."""
    objective: Objective = PhiObjective(points)
    floor = calculus_floor(problem)
    bounded = bool(np.all(np.isfinite(low)) and np.all(np.isfinite(high)))
    explicit = closed_form(problem, points) if problem.dx > 2 or not bounded or not objective.smooth else None
    convex = "" if explicit is None else _convex(problem, explicit, low, high)
    if (
        isinstance(convex, Minimum)
        and convex.upper == -np.inf
        and attained_value(objective, low, high, 32)[1] == np.inf
    ):
        convex = ""  # the explicit phi goes on where a formula of the problem has no value
    if isinstance(convex, Minimum):
        seen = convex.upper == -np.inf and falls_without_end(problem, explicit, points)
        return _without_end(problem, f"not bounded below: {seen}", True) if seen else _raised(convex, floor)
    if bounded:
        found = _noted(_searched(objective, low, high), convex)
        return _best_floor(problem, points, _raised(found, floor), low, high)
    period = one_period(problem, points, low, high)
    if period is not None:
        start = np.where(np.isfinite(low) & np.isfinite(high), low, 0.0)
        found = _searched(objective, start, period[0])
        return _raised(replace(found, method=f"{found.method}; phi has the period {period[1]} (identity)"), floor)
    if explicit is not None:
        objective = PhiObjective(Points(explicit_model(problem, explicit), lambda: None))
    ray = falls_without_end(problem, explicit, points)
    if ray:
        return _without_end(problem, f"not bounded below: {ray}", True)
    found = _noted(minimise_phi(objective, low, high), convex)
    found = _far_probes(objective, found, low, high)
    return on_unbounded_range(objective, _raised(found, floor), low, high, explicit)


def _searched(
    objective: Objective,
    low: FloatArray,
    high: FloatArray,
    near: FloatArray | None = None,
    patience: int = PATIENCE_UNBOUNDED,
) -> Minimum:
    """By branch and bound; on a bounded box with what is known of attainment."""
    found = minimise_phi(objective, low, high, near=near, patience=patience)
    return replace(found, attained=True if attains(objective, low, high, found.upper) else None)


def _convex(problem: Problem, phi: sympy.Expr, low: FloatArray, high: FloatArray) -> Minimum | str:
    """A convex explicit phi: optimality conditions in balls, else the dual bound of a conic solver.

    A text where neither is to be had: empty for a phi outside the fragment, else how the solver failed.
    """
    through = Points(explicit_model(problem, phi), lambda: None)
    objective = PhiObjective(through)
    exactly = objective.smooth and is_convex(phi, problem.x, ranges_over(box_of(low, high)))
    try:
        answer = None if exactly else solve_convex(phi, problem.x, box_of(low, high))
        start = None if answer is None else np.clip(answer.point, low, high)
        found = convex_minimum(through, objective, low, high, start) if objective.smooth else None
        if found is not None and found.complete:
            return found if exactly else replace(found, method=found.method.replace("exact structure", DISCIPLINED))
        answer = answer or solve_convex(phi, problem.x, box_of(low, high))
    except NotRepresentable:
        return ""
    except SolverFailure as failure:
        if "'unbounded'" not in str(failure):
            return str(failure)
        return _without_end(problem, f"not bounded below, as far as can be seen: {failure} (phi is convex)", False)
    return _by_dual(objective, answer, low, high) or ""


def minimiser_of(problem: Problem, near: FloatArray, low: FloatArray, high: FloatArray) -> list[flint.arb] | None:
    """Balls around the only minimiser of a problem of one level, where f is convex (exactly) and smooth; else None.

    ``near`` is the best point known.
    """
    points = Points(explicit_model(problem, problem.f), lambda: None)
    if not PhiObjective(points).smooth or not is_convex(problem.f, problem.x, ranges_over(box_of(low, high))):
        return None
    return only_minimiser(points, near, low, high)


def _without_end(problem: Problem, why: str, symbolic: bool) -> Minimum:
    """No infimum: by a symbolic limit, or as a solver in floats says."""
    return Minimum(-np.inf, -np.inf, np.zeros(problem.dx), False, 0, True, why, attained=False, certified=symbolic)


def _noted(found: Minimum, note: str) -> Minimum:
    return replace(found, method=f"{found.method} ({note})") if note else found


DISCIPLINED = "rules of disciplined programming"


def _by_dual(objective: Objective, answer: ConicAnswer, low: FloatArray, high: FloatArray) -> Minimum | None:
    """Dual value of the conic solver below, proved value at its point above: computed, never certified."""
    x = np.clip(answer.point, low, high)[None]
    x = descend(objective, x, low, high, 30) if objective.smooth else x
    upper = float(objective.at(x).value.hi[0])
    if not np.isfinite(upper):
        return None
    slack = answer.gap + 1e-9 * (1 + abs(answer.dual)) * (1 + float(np.linalg.norm(x)))  # the solver's tolerances
    lower = min(answer.dual - slack, upper)
    why = f"{answer.solver}: dual bound (gap {answer.gap:.2g}), attained value by Newton from its point"
    found = Minimum(lower, upper, x[0], True, 0, upper - lower < 1e-6 * (1 + abs(upper)), why)
    if np.isfinite(low).all() and np.isfinite(high).all():
        return replace(found, attained=True if attains(objective, low, high, upper) else None)
    return on_unbounded_range(objective, found, low, high, None)


def _best_floor(problem: Problem, points: Points, found: Minimum, low: FloatArray, high: FloatArray) -> Minimum:
    """Where the budget ended the search: the sum of bounds of the single terms, if that is better."""
    if found.complete or not np.isfinite(found.upper):
        return found
    floor = sum_of_term_bounds(problem, points, low, high)
    if not floor > found.lower:
        return found
    return replace(
        found, lower=min(floor, found.upper), method="sum of the least values of the terms of f; " + found.method
    )


def _sum_of_blocks(problem: Problem, parts: list[Problem]) -> Minimum:
    """Every independent block by its own search."""
    minima = []
    for part in parts:
        if not part.f.free_symbols & set(part.variables):
            minima.append(_constant(part))
        else:
            minima.append(infimum(part, Pointwise(part, DEFAULT_BITS).points, *range_of_x(part)))
        if minima[-1].upper == -np.inf:
            break
    return combined(problem, parts, minima)


def _constant(part: Problem) -> Minimum:
    low, high = enclose(part.f)
    ends = [part.range_of(s) for s in part.x]
    x = np.array([float(np.clip(0.0, float(a), float(b))) for a, b in ends])
    return Minimum(low, high, x, True, 0, True, "constant", attained=True, certified=True)


def calculus_floor(problem: Problem) -> float:
    """A lower bound of f over all (x, y) where f is a convex quadratic (exact completion of squares); else -inf."""
    quadratic = quadratic_of(problem.f, problem.variables)
    if quadratic is None or problem.kind == "minimax":
        return -np.inf
    squares = complete_squares(quadratic)
    return -np.inf if squares is None else float_below(squares[1])


def _raised(found: Minimum, floor: float) -> Minimum:
    if not floor > found.lower:
        return found
    return replace(
        found, lower=min(floor, found.upper), method=found.method + "; f is a convex quadratic, squares completed"
    )


@np.errstate(all="ignore")
def range_of_x(problem: Problem) -> tuple[FloatArray, FloatArray]:
    """Declared ends of x as floats, shape (dx,) each; ends that are no floats are rounded outward."""
    low, high = np.array([outward(*problem.range_of(s)) for s in problem.x]).T
    return low, high


PATIENCE_BESIDE = 6
"""Waves of a search of an unbounded range that may fail, since the infimum of phi bounds that of L*_lam."""


def penalty_infimum(
    problem: Problem,
    points: Points,
    lam: float,
    phi_min: Callable[[], Enclosure],
    near: Callable[[], FloatArray | None] = lambda: None,
) -> Minimum:
    """``inf L*_lam`` on the declared range of x, by the same search as for phi.

    ``phi_min`` : the infimum of phi, asked for only where the search finds no lower bound. ``near`` : its minimiser,
    asked for where the infimum of phi bounds that of L*_lam: then the search need not succeed.
    """
    objective, drop = PenaltyObjective(points, lam), _gap_to_phi(problem, lam)
    start = None if drop is None else near()
    patience = PATIENCE_UNBOUNDED if start is None else PATIENCE_BESIDE
    found = _attained_inside(problem, objective, _searched(objective, *range_of_x(problem), start, patience))
    if not np.isfinite(found.lower):
        least = phi_min()
        if drop is not None and (lower := float(down(least.lower - drop))) > found.lower:
            certified = found.certified and is_witness(least.certainty)
            why = "inf phi minus C_f^2 / (2 mu lam) (ragd-gs 9.1 (i))"
            found = replace(found, lower=lower, method=why, certified=certified)
    return found


@cache
def _gap_letters() -> LetterSet:
    """What the distance of the penalty function from phi is made of."""
    from bilevel_verify.constants.papers import read_letters

    letters = {
        "C_f": {"of": ["f:y"], "norm": "in y"},
        "mu": {"measure": "strong convexity", "of": ["g:yy"], "norm": "in y"},
        "L_f": {"of": ["f:zz"]},
    }
    return read_letters("penalty gap", {"kinds": ["bilevel", "minimax"], "letters": letters}, "penalty gap")


def _gap_to_phi(problem: Problem, lam: float) -> float | None:
    """Certified ``D_0 / lam = C_f^2 / (2 mu lam)``, an upper bound of ``phi - L*_lam``; None where it is not known."""
    from bilevel_verify.constants import constants

    try:
        found = constants(problem, paper=_gap_letters())
    except BilevelVerifyError:
        return None
    C_f, mu, L_f = (found.get(name) for name in ("C_f", "mu", "L_f"))
    if C_f is None or mu is None or L_f is None or not (C_f.certified and mu.certified and L_f.certified):
        return None
    if not (mu.value > 0 and np.isfinite(C_f.value) and lam * mu.value > L_f.value):
        return None
    return float(np.nextafter(C_f.value**2 / (2 * mu.value * lam) * (1 + 1e-15), np.inf))


def explicit_model(problem: Problem, phi: sympy.Expr) -> Model:
    """The single-level problem of an explicit phi."""
    return model_of(Problem(kind="single_level", f=phi, x=problem.x, domain=problem.domain))


FAR = 1e6
"""Where on a ray the formulas must have values, for a limit along it to be one of phi."""


def falls_without_end(problem: Problem, phi: sympy.Expr | None, points: Points) -> str:
    """A coordinate ray along which an explicit phi tends to minus infinity (SymPy's limit), else an empty string."""
    if phi is None or phi.count_ops() > LIMIT_SIZE or phi.has(sympy.sin, sympy.cos, sympy.tan, sympy.Piecewise):
        return ""
    t = sympy.Symbol("t", positive=True)
    for symbol in problem.x:
        low, high = problem.range_of(symbol)
        for sign, end in ((1, high), (-1, low)):
            if end not in (sympy.oo, -sympy.oo):
                continue
            base = {s: _inside(problem, s) for s in problem.x}
            far = np.array([sign * FAR if s == symbol else float(v) for s, v in base.items()])
            if limit_at_infinity(phi.subs({**base, symbol: sign * t}), t) == -sympy.oo and points.has_value(far):
                others = ", ".join(f"{s.name} = {v}" for s, v in base.items() if s != symbol)
                return f"phi tends to -oo as {symbol.name} tends to {'' if sign > 0 else '-'}oo" + (
                    f" at {others}" if others else ""
                )
    return ""


def _inside(problem: Problem, symbol: sympy.Symbol) -> sympy.Expr:
    low, high = problem.range_of(symbol)
    if low <= 0 <= high:
        return sympy.Integer(0)
    return low if low > 0 else high


def _far_probes(objective: Objective, found: Minimum, low: FloatArray, high: FloatArray) -> Minimum:
    """Values far out along the coordinate rays: an infimum that is only approached shows itself there."""
    reach = np.minimum(10.0 ** np.arange(1, 150, 4), objective.far)
    probes = []
    for i in range(low.size):
        for sign, end in ((1, high[i]), (-1, low[i])):
            if np.isinf(end):
                block = np.tile(found.x, (len(reach), 1))
                block[:, i] = sign * reach
                probes.append(block)
    X = np.clip(np.vstack(probes), low, high)
    with np.errstate(all="ignore"):
        values = objective.float_values(X)
    best = int(np.argmin(values))
    if not values[best] < found.upper:
        return found
    upper = float(objective.at(X[best][None]).value.hi[0])
    return replace(found, x=X[best], upper=upper) if upper < found.upper else found

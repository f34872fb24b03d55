"""SymPy to CVXPY for the disciplined fragment: an independent witness with primal value, dual value and gap.

The translation is :mod:`bilevel_verify.truth.witness.disciplined`; the solver is Clarabel, by name. Anything but the
status "optimal" is an error that says what is known.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import sympy
from numpy.typing import NDArray

from bilevel_verify.errors import SolverFailure
from bilevel_verify.problems.feasible import Box, FeasibleSet, WholeSpace
from bilevel_verify.truth.functions.quadratics import affine_form
from bilevel_verify.truth.sets.polyhedra import Reduced, describe
from bilevel_verify.truth.sets.ranges import ranges_over
from bilevel_verify.truth.witness.disciplined import NotRepresentable, Translator

if TYPE_CHECKING:
    import cvxpy as cp

FloatArray = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class ConicAnswer:
    """What the conic solver returned.

    Attributes
    ----------
    value : primal objective value at the point returned.
    dual : dual objective value as reported by the solver (NaN is never stored: -inf where there is none).
    gap : ``|value - dual|``.
    point : shape (n,).
    status : CVXPY's status; "optimal" is the only one that is not an error.
    solver : name and version.
    """

    value: float
    dual: float
    gap: float
    point: FloatArray
    status: str
    solver: str


def constraints_of(translator: Translator, feasible: FeasibleSet | None) -> list[object]:
    """A feasible set as CVXPY constraints."""
    cp, z = translator.cp, translator.variable
    description = describe(feasible or WholeSpace(), z.size)
    n, m = description.T.shape
    out: list[Any] = []
    w = z
    if n != m:
        w = cp.Variable(m)
        out.append(z == description.T @ w)
    if len(description.h):
        out.append(description.G @ w <= description.h)
    if len(description.e):
        out.append(description.E @ w == description.e)
    out += [cp.norm(z - c) <= r for c, r in description.balls]
    return out


def solve_convex(
    expression: sympy.Expr,
    symbols: Sequence[sympy.Symbol],
    feasible: FeasibleSet | None = None,
    tolerance: float = 1e-9,
    more: Sequence[tuple[FloatArray, float]] = (),
    within: Reduced | None = None,
) -> ConicAnswer:
    """Minimise a convex expression over a feasible set with Clarabel.

    Parameters
    ----------
    expression, symbols : objective and its variables.
    feasible : None for the whole space.
    tolerance : gap and feasibility tolerances.
    more : further equations ``row . z = value``.
    within : a reduced set that takes the place of the feasible set.

    Raises
    ------
    NotRepresentable : the objective is not in the disciplined fragment.
    SolverFailure : infeasible, unbounded, ``optimal_inaccurate`` or a numerical failure: the status and what is known.
    """
    translator = Translator(symbols)
    cp = translator.cp
    objective = translator.convex(expression)
    constraints = constraints_of(translator, feasible) if within is None else _reduced_constraints(translator, within)
    constraints += [row @ translator.variable == value for row, value in more]
    _check_domains(translator, constraints, feasible if within is None and not more else None)
    problem = cp.Problem(cp.Minimize(objective), constraints)
    value, dual, status = _clarabel(problem, tolerance, expression)
    point = np.asarray(translator.variable.value, dtype=float)
    return ConicAnswer(value, dual, abs(value - dual), point, status, _solver_name())


def _reduced_constraints(translator: Translator, within: Reduced) -> list[object]:
    cp, z = translator.cp, translator.variable
    u = cp.Variable(within.dimension) if within.dimension else None
    out: list[Any] = [z == within.z0 + (within.B @ u if u is not None else 0)]
    if u is not None and len(within.b):
        out.append(within.A @ u <= within.b)
    out += [cp.norm(z - c) <= r for c, r in within.balls]
    return out


def _check_domains(translator: Translator, constraints: list[object], box: FeasibleSet | None) -> None:
    """CVXPY cuts some terms off where their base is negative: the feasible set must not reach there.

    On a box, or without constraints, that is decided exactly for an affine base; elsewhere by the solver, to its
    tolerance.

    Raises
    ------
    NotRepresentable : it does, or that could not be excluded.
    """
    exactly = isinstance(box, Box) or not constraints
    for inner, base, term in translator.nonnegative:
        if not inner.is_convex():
            raise NotRepresentable(f"the term {term} is convex only where its base is >= 0, which was not verified")
        if exactly:
            form, over = affine_form(base, translator.symbols), ranges_over(box)
            least = -np.inf if form is None or over is None else over(*form)[0]
            inside = least >= 0
        else:
            least = _least_by_solver(translator, inner, constraints)
            inside = -np.inf < least and least >= -1e-7 * (1 + abs(least))
        if not inside:
            raise NotRepresentable(
                f"the term {term} is convex only where its base is >= 0, and the feasible set reaches further "
                f"(least value of the base {least:.6g})"
            )


def _least_by_solver(translator: Translator, inner: object, constraints: list[object]) -> float:
    try:
        return _clarabel(translator.cp.Problem(translator.cp.Minimize(inner), constraints), 1e-9, None)[0]
    except SolverFailure as failure:
        if "infeasible" in str(failure) and "unbounded" not in str(failure):
            raise
        return -np.inf


def _clarabel(problem: cp.Problem, tolerance: float, expression: sympy.Expr | None) -> tuple[float, float, str]:
    """Primal value, dual value and status "optimal" of a CVXPY problem solved by Clarabel.

    Raises
    ------
    SolverFailure : any other status. NotRepresentable : the problem breaks the disciplined rules.
    """
    import cvxpy as cp

    options = {"tol_gap_abs": tolerance, "tol_gap_rel": tolerance, "tol_feas": tolerance, "tol_ktratio": 1e-9}
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            data, chain, inverse = problem.get_problem_data(cp.CLARABEL, solver_opts=options)
            raw = chain.solve_via_data(problem, data, solver_opts=options)
            problem.unpack_results(raw, chain, inverse)
    except cp.error.SolverError as error:
        raise SolverFailure(f"Clarabel failed: {str(error).splitlines()[0]}") from None
    except cp.error.DCPError:
        raise NotRepresentable(f"{str(expression)[:80]} breaks the rules of disciplined convex programming") from None
    if problem.status != "optimal":
        known = (
            "" if problem.value is None or not np.isfinite(problem.value) else f"; best value seen {problem.value:.10g}"
        )
        raise SolverFailure(f"Clarabel ended with the status {problem.status!r}{known}")
    value = float(problem.value)
    dual = float(raw.obj_val_dual) + (value - float(raw.obj_val))  # constants that the canonical form leaves out
    return value, dual, str(problem.status)


def lower_value(
    g: sympy.Expr, y: Sequence[sympy.Symbol], at: Mapping[sympy.Symbol, float], feasible: FeasibleSet | None = None
) -> ConicAnswer:
    """``g*(x) = min_y g(x, y)`` at one x, as an independent check of the lower level."""
    put = {symbol: sympy.Rational(float(value)) for symbol, value in at.items()}
    return solve_convex(g.subs(put), y, feasible)


def _solver_name() -> str:
    import clarabel

    return f"Clarabel {clarabel.__version__}"


def box_of(low: FloatArray, high: FloatArray) -> FeasibleSet:
    """A box with possibly infinite ends as a feasible set."""
    if not np.any(np.isfinite(low)) and not np.any(np.isfinite(high)):
        return WholeSpace()
    return Box(tuple(float(v) for v in low), tuple(float(v) for v in high))

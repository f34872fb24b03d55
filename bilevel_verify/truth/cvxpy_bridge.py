"""SymPy to CVXPY for the disciplined fragment: an independent witness with primal value, dual value and gap.

Convex quadratics and sums of squares are recognised by an exact LDL'; other terms are translated rule by rule. A term
outside the fragment is named together with the reason. The solver is Clarabel, by name.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import sympy
from numpy.typing import NDArray

from bilevel_verify.errors import BilevelVerifyError, SolverFailure
from bilevel_verify.problems.feasible import FeasibleSet, WholeSpace
from bilevel_verify.truth.polyhedra import describe
from bilevel_verify.truth.structure import affine_form, ldl, quadratic_of

FloatArray = NDArray[np.float64]


class NotRepresentable(BilevelVerifyError, ValueError):
    """A term outside the disciplined convex fragment; the message names it and says why."""


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


class Translator:
    """Translate expressions over fixed symbols into CVXPY, with DCP rules checked by CVXPY itself.

    Parameters
    ----------
    symbols : the variables, in order.
    """

    def __init__(self, symbols: Sequence[sympy.Symbol]) -> None:
        import cvxpy

        self.cp: Any = cvxpy
        self.symbols = list(symbols)
        self.variable = cvxpy.Variable(len(self.symbols))

    def convex(self, expression: sympy.Expr) -> Any:
        """The expression as a convex CVXPY expression.

        Raises
        ------
        NotRepresentable : some term is not in the fragment, or not recognised as convex.
        """
        whole = self._quadratic(expression)
        if whole is not None:
            return whole
        flat: list[sympy.Expr] = []
        others: list[sympy.Expr] = []
        for term in sympy.Add.make_args(expression):
            (flat if quadratic_of(term, self.symbols) is not None else others).append(term)
        parts: list[Any] = [] if not flat else [self._quadratic(sympy.Add(*flat))]
        for term in others:
            part = self.term(term)
            if not part.is_convex():
                raise NotRepresentable(
                    f"the term {_short(term)} is {part.curvature.lower()} by the rules of disciplined programming"
                )
            parts.append(part)
        return sum(parts[1:], parts[0])

    def _quadratic(self, expression: sympy.Expr) -> Any | None:
        """A quadratic as a sum of squares (exact LDL'); None if it is not quadratic.

        Raises
        ------
        NotRepresentable : it is not convex.
        """
        found = quadratic_of(expression, self.symbols)
        if found is None:
            return None
        factor = ldl(found.Q)
        if factor.sign != 1:
            raise NotRepresentable(
                f"the quadratic part of {_short(expression)} is not convex: its LDL' has a negative pivot"
            )
        _, q, c = found.floats()
        total = q @ self.variable + c
        if factor.squares:
            rows = np.array([[float(np.sqrt(float(w))) * float(v) for v in normal] for w, normal in factor.squares])
            total = total + 0.5 * self.cp.sum_squares(rows @ self.variable)
        return total

    def term(self, expression: sympy.Expr) -> Any:
        """One term of any curvature."""
        affine = affine_form(expression, self.symbols)
        if affine is not None:
            return np.array([float(v) for v in affine[0]]) @ self.variable + float(affine[1])
        if expression.is_number:
            return float(expression)
        match expression:
            case sympy.Add():
                return sum((self.term(a) for a in expression.args[1:]), self.term(expression.args[0]))
            case sympy.Mul():
                return self._product(expression)
            case sympy.Pow():
                return self._power(expression)
            case sympy.Abs():
                return self.cp.abs(self.term(expression.args[0]))
            case sympy.Max():
                return self.cp.maximum(*(self.term(a) for a in expression.args))
            case sympy.Min():
                return self.cp.minimum(*(self.term(a) for a in expression.args))
        return self._function(expression)

    def _product(self, expression: sympy.Mul) -> Any:
        factor, core = expression.as_independent(*self.symbols, as_Add=False)
        if factor != 1 and factor.is_number:
            return float(factor) * self.term(core)
        logs = [a for a in expression.args if isinstance(a, sympy.log)]
        if len(expression.args) == 2 and len(logs) == 1:
            other = next(a for a in expression.args if a is not logs[0])
            if sympy.simplify(other - logs[0].args[0]) == 0:
                return -self.cp.entr(self.term(other))
        raise NotRepresentable(
            f"the product {_short(expression)} of two non-constant factors is not in the disciplined fragment"
        )

    def _power(self, expression: sympy.Pow) -> Any:
        base, exponent = expression.base, expression.exp
        if base == sympy.E:
            return self.cp.exp(self.term(exponent))
        if not exponent.is_Rational:
            raise NotRepresentable(f"the exponent of {_short(expression)} is not rational")
        norm = self._norm(base) if exponent == sympy.Rational(1, 2) else None
        if norm is not None:
            return norm
        if exponent == -1:
            return self.cp.inv_pos(self.term(base))
        inner = self.term(base)
        if exponent.is_Integer and exponent > 0 and int(exponent) % 2 == 0 and inner.is_affine():
            return self.cp.power(self.cp.abs(inner), int(exponent))
        return self.cp.power(inner, float(exponent))

    def _norm(self, base: sympy.Expr) -> Any | None:
        """``sqrt`` of a convex quadratic as a norm, if the quadratic is a pure sum of squares plus a constant >= 0."""
        found = quadratic_of(base, self.symbols)
        if found is None:
            return None
        factor = ldl(found.Q)
        if factor.sign != 1 or not factor.squares:
            return None
        Q, q, c = found.floats()
        centre = np.linalg.lstsq(Q, -q, rcond=None)[0]
        rest = c + 0.5 * float(q @ centre)
        if float(np.linalg.norm(Q @ centre + q)) > 1e-12 * (1 + float(np.linalg.norm(q))) or rest < -1e-12:
            return None
        rows = np.array([[float(np.sqrt(float(w) / 2)) * float(v) for v in normal] for w, normal in factor.squares])
        parts = rows @ (self.variable - centre)
        return self.cp.norm(self.cp.hstack([parts, float(np.sqrt(max(rest, 0.0)))]), 2)

    def _function(self, expression: sympy.Expr) -> Any:
        cp, name = self.cp, type(expression).__name__
        args = expression.args
        match name:
            case "exp":
                return cp.exp(self.term(args[0]))
            case "log":
                return self._logarithm(args[0])
            case "softplus":
                return cp.logistic(self.term(args[0]))
            case "logsumexp":
                return cp.log_sum_exp(cp.hstack([self.term(a) for a in args]))
            case "logcosh":
                inner = self.term(args[0])
                return cp.log_sum_exp(cp.hstack([inner, -inner])) - float(np.log(2))
            case "cosh":
                inner = self.term(args[0])
                return 0.5 * (cp.exp(inner) + cp.exp(-inner))
            case "plus":
                return cp.pos(self.term(args[0]))
            case "pluspow":
                return cp.power(cp.pos(self.term(args[1])), float(args[0]))
            case "abspow":
                return cp.power(cp.abs(self.term(args[1])), float(args[0]))
            case "huber":
                return 0.5 * cp.huber(self.term(args[1]), float(args[0]))
        raise NotRepresentable(
            f"the function {name} in {_short(expression)} has no counterpart in the disciplined fragment"
        )

    def _logarithm(self, inside: sympy.Expr) -> Any:
        """``log`` of an affine form (concave), or of ``c + sum exp(affine)`` (log-sum-exp, convex)."""
        exponents = []
        for part in sympy.Add.make_args(inside):
            factor, core = part.as_independent(*self.symbols, as_Add=False)
            if part.is_number and part.is_positive:
                exponents.append(sympy.log(part))
            elif factor.is_positive and isinstance(core, sympy.exp):
                exponents.append(core.args[0] + sympy.log(factor))
            else:
                return self.cp.log(self.term(inside))
        return self.cp.log_sum_exp(self.cp.hstack([self.term(e) if e.free_symbols else float(e) for e in exponents]))


def constraints_of(translator: Translator, feasible: FeasibleSet | None) -> list[Any]:
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
) -> ConicAnswer:
    """Minimise a convex expression over a feasible set with Clarabel.

    Parameters
    ----------
    expression, symbols : objective and its variables.
    feasible : None for the whole space.
    tolerance : gap and feasibility tolerances.
    more : further equations ``row . z = value``.

    Raises
    ------
    NotRepresentable : the objective is not in the disciplined fragment.
    SolverFailure : infeasible, unbounded, ``optimal_inaccurate`` or a numerical failure: the status and what is known.
    """
    translator = Translator(symbols)
    cp = translator.cp
    objective = translator.convex(expression)
    constraints = constraints_of(translator, feasible)
    constraints += [row @ translator.variable == value for row, value in more]
    problem = cp.Problem(cp.Minimize(objective), constraints)
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
        raise NotRepresentable(f"{_short(expression)} breaks the rules of disciplined convex programming") from None
    if problem.status != "optimal":
        known = (
            "" if problem.value is None or not np.isfinite(problem.value) else f"; best value seen {problem.value:.10g}"
        )
        raise SolverFailure(f"Clarabel ended with the status {problem.status!r}{known}")
    value = float(problem.value)
    dual = float(raw.obj_val_dual) + (value - float(raw.obj_val))  # constants that the canonical form leaves out
    point = np.asarray(translator.variable.value, dtype=float)
    return ConicAnswer(value, dual, abs(value - dual), point, problem.status, _solver_name())


def lower_value(
    g: sympy.Expr, y: Sequence[sympy.Symbol], at: Mapping[sympy.Symbol, float], feasible: FeasibleSet | None = None
) -> ConicAnswer:
    """``g*(x) = min_y g(x, y)`` at one x, as an independent check of the lower level."""
    put = {symbol: sympy.Rational(float(value)) for symbol, value in at.items()}
    return solve_convex(g.subs(put), y, feasible)


def _solver_name() -> str:
    import clarabel

    return f"Clarabel {clarabel.__version__}"


def _short(expression: sympy.Expr) -> str:
    return str(expression)[:80]

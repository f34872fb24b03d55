"""Why a lower level has no (unique, nondegenerate) minimiser: said plainly, with what is known.

Looked at only where strong convexity is not certified: variables that do not matter or enter linearly, rays along which
g falls without end (proved by leading coefficients or limits where SymPy can), and points of negative curvature.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import sympy
from numpy.typing import NDArray

from bilevel_verify.truth.functions.limits import limit_at_infinity
from bilevel_verify.truth.functions.model import Model
from bilevel_verify.truth.lower_level.newton import columns, evaluate

FloatArray = NDArray[np.float64]
LIMIT_SIZE = 60
"""Largest expression (in operations) whose limits are asked of SymPy."""


@dataclass(frozen=True, slots=True)
class Fall:
    """A ray ``y_j -> +-oo`` along which the lower level falls without end.

    ``proved`` says whether that is exact (a leading coefficient, a limit) or read off values far out.
    """

    text: str
    proved: bool


def expression_of(model: Model) -> sympy.Expr:
    """The function that y minimises."""
    expression = model.problem.lower
    assert expression is not None
    return expression


def falls(model: Model, x: FloatArray) -> Fall | None:
    """A ray of the lower level at x along which it is not bounded below, or None."""
    problem = model.problem
    put = {s: sympy.Rational(float(v)) for s, v in zip(problem.x, x)}
    for j, symbol in enumerate(problem.y):
        for sign in (1, -1):
            if problem.range_of(symbol)[1 if sign > 0 else 0] not in (sympy.oo, -sympy.oo):
                continue
            if not _falls_far_out(model, x, j, sign):
                continue
            where = f"as {symbol.name} tends to {'' if sign > 0 else '-'}oo"
            proof = _proof(expression_of(model).subs(put), problem.y, j, sign)
            if proof:
                return Fall(f"it is not bounded below: it falls to -oo {where} ({proof})", True)
            if proof is None:
                return Fall(f"it seems not to be bounded below: it still falls at 1e8 {where}", False)
    return None


def _falls_far_out(model: Model, x: FloatArray, j: int, sign: int) -> bool:
    reach = 10.0 ** np.arange(2, 9)
    Y = np.zeros((len(reach), model.dy))
    Y[:, j] = sign * reach
    assert model.lower is not None
    values = evaluate(model.lower.program, columns(np.tile(x, (len(reach), 1)), Y), len(reach))[:, 0]
    with np.errstate(invalid="ignore", over="ignore"):
        steps = np.diff(values)
        infinite = values[-1] == -np.inf
        slow = bool(np.all(steps < 0) and values[-1] < -10)
    return bool(infinite or (np.all(np.isfinite(values)) and slow))


def _proof(expression: sympy.Expr, y: Sequence[sympy.Symbol], j: int, sign: int) -> str | None:
    """A leading coefficient or limit that proves the fall at y_i = 0 for i != j; "" if refuted; None if open."""
    t = sympy.Symbol("t", positive=True)
    along = expression.subs({s: (sign * t if i == j else sympy.Integer(0)) for i, s in enumerate(y)})
    if not along.has(t):
        return ""
    if along.is_polynomial(t):
        polynomial = sympy.Poly(along, t)
        leading = polynomial.LC()
        return f"leading term {leading}*|{y[j].name}|^{polynomial.degree()}" if leading.is_negative else ""
    if along.count_ops() > LIMIT_SIZE:
        return None
    limit = limit_at_infinity(along, t)
    if limit is None:
        return None
    if limit == -sympy.oo:
        return "a limit"
    return "" if limit.is_number and limit.is_comparable else None


def explain(model: Model, x: FloatArray, y: FloatArray, convexity: str) -> str:
    """Everything known about why no nondegenerate minimiser was proved near y at x, in one sentence."""
    problem = model.problem
    put = {s: sympy.Rational(float(v)) for s, v in zip(problem.x, x)}
    expression = expression_of(model).subs(put)
    free = [s.name for s in problem.y if s not in expression.free_symbols]
    if free:
        return f"it does not depend on {', '.join(free)} there, so its minimisers are not unique"
    fall = falls(model, x)
    if fall is not None:
        return fall.text
    drift = _drift(model, x, y)
    return drift or _curvature(model, x, y, convexity)


def _drift(model: Model, x: FloatArray, y: FloatArray) -> str:
    """An infimum that is approached at infinity: the gradient fades out along the way Newton went."""
    assert model.lower is not None
    size = float(np.linalg.norm(y))
    if not size > 20:
        return ""
    way = y / size
    Y = np.outer(size * 2.0 ** np.arange(0, 8), way)
    table = evaluate(model.lower.value_and_gradient, columns(np.tile(x, (len(Y), 1)), Y), len(Y))
    values, slopes = table[:, 0], np.linalg.norm(table[:, 1 + model.dx :], axis=1)
    if np.all(np.isfinite(table)) and np.all(np.diff(values) <= 0) and slopes[-1] <= slopes[0]:
        return (
            f"as far as can be seen its infimum (about {values[-1]:.6g}) is not attained: it falls ever more slowly "
            f"along {np.round(way, 6).tolist()}"
        )
    return ""


def _curvature(model: Model, x: FloatArray, y: FloatArray, convexity: str) -> str:
    assert model.lower is not None
    d = model.dy
    table = evaluate(model.lower.second_order_y, columns(x[None], y[None]), 1)[0]
    matrix, slope = table[1 + d :].reshape(d, d), float(np.linalg.norm(table[1 : 1 + d]))
    if not np.all(np.isfinite(table)):
        return f"it could not be evaluated at y = {y.tolist()}"
    lowest = float(np.linalg.eigvalsh(0.5 * (matrix + matrix.T))[0])
    place = f"at y = {y.tolist()} (gradient norm {slope:.3g}) the smallest eigenvalue of nabla^2_yy g is {lowest:.3g}"
    return f"{place}; {convexity}" if convexity else place

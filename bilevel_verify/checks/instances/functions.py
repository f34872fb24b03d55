"""The functions of a problem as a claim sees them: f, g, y*, phi, L* and their derivatives, in ball arithmetic.

Arguments are balls (iterates are exact ones); every value is an enclosure at the working precision. Formulas and the
proof of ``y*`` (Krawczyk's test in balls) are those of the truth room; what is kept here is which symbol of a card
means which of them, and values that were already computed at the same place.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np
from flint import arb

from bilevel_verify.checks.claims import values as v
from bilevel_verify.checks.claims.tensors import stacked
from bilevel_verify.checks.claims.values import EvaluationError, Matrix, Value, Vector
from bilevel_verify.checks.instances.tabulate import Table, key_of
from bilevel_verify.errors import MathematicalError
from bilevel_verify.numbers.rounding import inward
from bilevel_verify.problems.problem import Problem
from bilevel_verify.truth.arithmetic.algebra import Balls
from bilevel_verify.truth.arithmetic.enclosure import Certainty, weakest
from bilevel_verify.truth.functions.formulas import BallHyper, BallPenalty, Hyper, Penalty, unit_weights
from bilevel_verify.truth.functions.model import Function, weighted_third
from bilevel_verify.truth.infimum import minimiser_of
from bilevel_verify.truth.truth import Truth

if TYPE_CHECKING:
    import flint


class ProblemFunctions:
    """Function symbols of a card on one problem.

    Parameters
    ----------
    problem : bilevel, minimax or single level.
    truth : its truth; where that cannot certify the lower level to be strongly convex, whatever rests on y* is
        ``computed``, not ``certified``.
    lam : the penalty parameter in force, a ball or an exact number; None where no claim needs it.
    table : truths that are already enclosed (see :mod:`bilevel_verify.checks.instances.tabulate`).
    """

    def __init__(self, problem: Problem, truth: Truth, lam: Value = None, table: Table | None = None) -> None:
        self.table = table or {}
        self.problem, self.truth, self.model = problem, truth, truth.model
        self.lam = None if lam is None else v.scalar_ball(lam)
        self._algebra = Balls()
        self._memory: dict[Any, tuple[Any, Any]] = {}
        self._guess: dict[str, list[float]] = {}
        ends = [problem.range_of(symbol) for symbol in (*problem.x, *problem.y)]
        self._ranges = [tuple(map(arb, inward(low, high))) for low, high in ends]

    def forget(self) -> None:
        """Drop remembered values (called between epochs)."""
        self._memory.clear()

    @property
    def names(self) -> tuple[str, ...]:
        """Functions that a claim may name on this problem, sorted."""
        if self.problem.kind == "single_level":
            return ("f", "f_star", "grad_f", "hess_f", "x_star")
        parts = [("grad_", part) for part in _GRADIENTS] + [("hess_", part) for part in _HESSIANS]
        derivatives = [f"{kind}{part}{'_' * bool(part)}{of}" for kind, part in parts for of in "fg"]
        return tuple(sorted(["f", "g", "phi_star", *_TRUTH, *derivatives]))

    # --- dispatch -----------------------------------------------------------------------------------------------------

    def call(self, name: str, arguments: list[Value]) -> tuple[Value, Certainty]:
        """Value and certainty of a function symbol.

        Raises
        ------
        KeyError : a symbol that this problem does not have.
        EvaluationError : it has no value there, or not with so many arguments.
        """
        points = [_point(argument) for argument in arguments]
        if name == "phi_star" or (name == "f_star" and self.problem.kind == "single_level"):
            return self._once(name, points, lambda: self._infimum(name, points))
        if name == "x_star" and self.problem.kind == "single_level":
            return self._once(name, points, lambda: self._only_minimiser(points))
        if name in ("f", "g"):
            return self._once(name, points, lambda: self._value(name, points))
        prefix = name[:5]
        if prefix in ("grad_", "hess_") and name[-2:] in ("_f", "_g", "_L"):
            parts = _GRADIENTS if prefix == "grad_" else _HESSIANS
            return self._once(name, points, lambda: self._derivative(name, prefix, parts, points))
        method = _TRUTH[name]
        if len(points) not in _POINTS.get(name, (1,)) and not name.startswith("third_"):
            raise EvaluationError(f"{name} has no meaning with {len(points)} arguments")
        return self._once(name, points, lambda: self._tabulated(name, points) or method(self, points))

    def _infimum(self, name: str, points: list[Vector]) -> tuple[Value, Certainty]:
        """``inf phi`` on the declared range of x."""
        if points:
            raise EvaluationError(f"{name} has no meaning with {len(points)} arguments; write {name}()")
        found = self.truth.phi_min()
        if not np.isfinite(float(found.value)) or not np.isfinite(found.error):
            raise EvaluationError(f"precision: {name}() is infinite or not known ({found.method})")
        return v.enclose(float(found.value), found.error), found.certainty

    def _only_minimiser(self, points: list[Vector]) -> tuple[Value, Certainty]:
        """The only minimiser of a convex f, on the declared range of x."""
        if points:
            raise EvaluationError(f"x_star has no meaning with {len(points)} arguments; write x_star()")
        found = minimiser_of(self.problem, self.truth.phi_argmin(), *self.truth.range_of_x)
        if found is None:
            raise EvaluationError("precision: x_star() is known where f is proved convex, with one minimiser inside")
        return Vector(tuple(found)), self.truth.certainty

    def _tabulated(self, name: str, points: list[Vector]) -> tuple[Value, Certainty] | None:
        """The value from the table of this run, if it is there."""
        column = self.table.get(name)
        if not column or len(points) != 1:
            return None
        key = key_of(points[0])
        return None if key is None else column.get(key)

    def _once(
        self, name: str, points: list[Vector], compute: Callable[[], tuple[Value, Certainty]]
    ) -> tuple[Value, Certainty]:
        key = (name, *(id(point) for point in points))
        found = self._memory.get(key)
        if found is None:
            found = self._memory[key] = (points, compute())
        return found[1]

    # --- f, g and their derivatives -----------------------------------------------------------------------------------

    def _function(self, letter: str) -> Function:
        if letter == "f":
            return self.model.upper
        if self.model.lower is None:
            raise KeyError(letter)
        return self.model.lower

    def _inputs(self, points: list[Vector]) -> list[arb]:
        flat = [entry for point in points for entry in point.entries]
        if len(flat) != len(self.problem.variables):
            raise EvaluationError(f"{len(flat)} numbers for {len(self.problem.variables)} variables")
        return flat

    def _value(self, letter: str, points: list[Vector]) -> tuple[Value, Certainty]:
        out = self._function(letter).program.run(self._algebra.arithmetic, self._inputs(points))
        return _clean(out[0]), "certified"

    def _derivative(
        self, name: str, prefix: str, parts: Mapping[str, None], points: list[Vector]
    ) -> tuple[Value, Certainty]:
        middle, letter = name[len(prefix) : -2], name[-1]
        if middle not in parts:
            raise KeyError(name)
        if letter == "L":
            return self._penalty_derivative(prefix, middle, points)
        function = self._function(letter)
        z, dx = self._inputs(points), self.problem.dx
        blocks = {"x": slice(0, dx), "y": slice(dx, None), "": slice(0, None)}
        self._require_derivatives(function, z, 1 if prefix == "grad_" else 2)
        if prefix == "grad_":
            out = where_defined(function.value_and_gradient.run(self._algebra.arithmetic, z))
            return Vector(tuple(_clean(a) for a in out[blocks[middle]])), "certified"
        out = where_defined(function.second_order.run(self._algebra.arithmetic, z))[len(z) :]
        rows = [[_clean(a) for a in out[i * len(z) : (i + 1) * len(z)]] for i in range(len(z))]
        first, second = middle[:1], middle[1:]
        return Matrix(tuple(tuple(row[blocks[second]]) for row in rows[blocks[first]])), "certified"

    def _require_derivatives(self, function: Function, z: list[arb], order: int) -> None:
        """Refuse a point at which a derivative may jump: the program would give that of one side."""
        apart = function.apart(order)
        if apart is not None and not v.ball(apart.run(self._algebra.arithmetic, z)[0]).is_finite():
            raise EvaluationError("precision: a derivative may jump there")

    def _penalty_derivative(self, prefix: str, middle: str, points: list[Vector]) -> tuple[Value, Certainty]:
        """Derivatives of ``L_lam(x, y) = f + lam (g - g*)``: the y-blocks are those of ``f + lam g``."""
        if "y" not in middle:
            raise KeyError(f"{prefix}{middle}_L")
        upper, _ = self.call(f"{prefix}{middle}_f", list(points))
        lower, _ = self.call(f"{prefix}{middle}_g", list(points))
        return v.add(upper, v.multiply(self._lam(), lower)), "certified"

    def _lam(self) -> arb:
        if self.lam is None:
            raise EvaluationError("the penalty parameter has no value")
        return self.lam

    # --- y* and y*_lam ------------------------------------------------------------------------------------------------

    def y_star(self, points: list[Vector]) -> tuple[Value, Certainty]:
        """``y*(x)``, shape (dy,)."""
        self._function("g")
        return self._minimiser("y_star", points[0], None)

    def y_star_lam(self, points: list[Vector]) -> tuple[Value, Certainty]:
        """``y*_lam(x)``, shape (dy,)."""
        self._function("g")
        lam = v.scalar_ball(points[1]) if len(points) > 1 else self._lam()
        return self._minimiser("y_star_lam", points[0], lam)

    def _minimiser(self, name: str, x: Vector, lam: arb | None) -> tuple[Value, Certainty]:
        """Proved ball of a minimiser: from the last one found, else from the float solution of the truth room."""
        try:
            found = self._from_last(name, x, lam)
            if found is None:
                near = np.array([float(a) for a in x.entries])
                start = self.truth.points.float_y(near, None if lam is None else float(lam))
                found = self.truth.points.level.ball(list(x.entries), start.tolist(), lam)
        except MathematicalError as error:
            raise EvaluationError(f"precision: {error}") from None
        self._guess[name] = [float(a) for a in found]
        # convexity of the lower level, which makes a stationary point the minimiser, is certified on declared ranges
        pairs = zip(self._ranges, (*x.entries, *found), strict=True)
        inside = all(bool(low <= a) and bool(a <= high) for (low, high), a in pairs)
        certainty = self.truth.certainty if lam is None else self.truth.penalty_certainty(lam)
        return Vector(tuple(found)), certainty if inside else "computed"

    def _from_last(self, name: str, x: Vector, lam: arb | None) -> list[arb] | None:
        guess = self._guess.get(name)
        if guess is None:
            return None
        try:
            return list(self.truth.points.level.ball(list(x.entries), guess, lam))
        except MathematicalError:
            return None

    # --- phi and L* ---------------------------------------------------------------------------------------------------

    def _hyper(self, x: Vector) -> tuple[BallHyper, Certainty]:
        key = ("hyper", id(x))
        found = self._memory.get(key)
        if found is None:
            certainty: Certainty = "certified"
            y: tuple[arb, ...] = ()
            if self.model.lower is not None:
                ball, certainty = self._once("y_star", [x], lambda: self.y_star([x]))
                assert isinstance(ball, Vector)
                y = ball.entries
            found = self._memory[key] = (x, (Hyper(self._algebra, self.model, x.entries, y), certainty))
        return found[1]

    def _penalty(self, x: Vector) -> tuple[BallPenalty, Certainty]:
        key = ("penalty", id(x))
        found = self._memory.get(key)
        if found is None:
            y, first = self._once("y_star", [x], lambda: self.y_star([x]))
            y_lam, second = self._once("y_star_lam", [x], lambda: self.y_star_lam([x]))
            assert isinstance(y, Vector)
            assert isinstance(y_lam, Vector)
            penalty = Penalty(self._algebra, self.model, self._lam(), x.entries, y.entries, y_lam.entries)
            found = self._memory[key] = (x, (penalty, weakest(first, second)))
        return found[1]

    def hyper_value(self, points: list[Vector], what: str) -> tuple[Value, Certainty]:
        """phi, grad_phi, hess_phi, grad_y_star at x."""
        hyper, certainty = self._hyper(points[0])
        return _from_algebra(getattr(hyper, what), column=what == "gradient"), certainty

    def penalty_value(self, points: list[Vector], what: str) -> tuple[Value, Certainty]:
        """L_star, grad_L_star, hess_L_star, grad_y_star_lam at x."""
        penalty, certainty = self._penalty(points[0])
        return _from_algebra(getattr(penalty, what), column=what == "gradient"), certainty

    def second_derivative(self, points: list[Vector], penalised: bool) -> tuple[Value, Certainty]:
        """hess_y_star, hess_y_star_lam at x: shape (dx, dx, dy)."""
        found, certainty = self._penalty(points[0]) if penalised else self._hyper(points[0])
        return stacked([_matrix(part) for part in found.second_derivative]), certainty

    def third(self, points: list[Vector], rows: str, columns: str, penalised: bool) -> tuple[Value, Certainty]:
        """Third derivatives of g (or of L_lam) whose last index belongs to y."""
        z = self._inputs(points)
        for letter in "fg" if penalised else "g":
            where_defined([v.scalar_ball(self._value(letter, points)[0])])
            self._require_derivatives(self._function(letter), z, 3)
        parts = []
        for k in range(self.problem.dy):
            weights = unit_weights(self._algebra, self.problem.dy, k, z)
            found = weighted_third(self._algebra, self._function("g"), z, weights)
            if penalised:
                found = weighted_third(self._algebra, self.model.upper, z, weights) + found * self._lam()
            parts.append(_block(_matrix(found), rows, columns, self.problem.dx))
        return stacked(parts), "certified"

    def v_star(self, points: list[Vector]) -> tuple[Value, Certainty]:
        """``[g_yy]^{-1} f_y`` at (x, y)."""
        x, y = points
        return _from_algebra(Hyper(self._algebra, self.model, x.entries, y.entries).v, column=True), "certified"

    def L_lam(self, points: list[Vector]) -> tuple[Value, Certainty]:
        """``f(x, y) + lam (g(x, y) - g(x, y*(x)))``."""
        x, y = points
        y_star, certainty = self._once("y_star", [x], lambda: self.y_star([x]))
        assert isinstance(y_star, Vector)
        gap = v.add(self._value("g", [x, y])[0], v.negate(self._value("g", [x, y_star])[0]))
        return v.add(self._value("f", [x, y])[0], v.multiply(self._lam(), gap)), certainty


_POINTS = {"y_star_lam": (1, 2), "v_star": (2,), "L_lam": (2,)}
"""Arguments of truths that do not take the point x alone; the second one of ``y_star_lam`` is a penalty parameter."""
_GRADIENTS = {"": None, "x": None, "y": None}
_HESSIANS = {"": None, "xx": None, "xy": None, "yx": None, "yy": None}


def _hyper_entry(what: str) -> Callable[[ProblemFunctions, list[Vector]], tuple[Value, Certainty]]:
    return lambda functions, points: functions.hyper_value(points, what)


def _penalty_entry(what: str) -> Callable[[ProblemFunctions, list[Vector]], tuple[Value, Certainty]]:
    return lambda functions, points: functions.penalty_value(points, what)


def _second_entry(penalised: bool) -> Callable[[ProblemFunctions, list[Vector]], tuple[Value, Certainty]]:
    return lambda functions, points: functions.second_derivative(points, penalised)


def _third_entry(
    rows: str, columns: str, penalised: bool
) -> Callable[[ProblemFunctions, list[Vector]], tuple[Value, Certainty]]:
    return lambda functions, points: functions.third(points, rows, columns, penalised)


def _matrix(found: Any) -> Matrix:
    return Matrix(tuple(tuple(_clean(found[i, j]) for j in range(found.ncols())) for i in range(found.nrows())))


def _block(matrix: Matrix, rows: str, columns: str, dx: int) -> Matrix:
    """The block of a (dx + dy)-matrix in these rows and columns."""
    part = {"x": slice(0, dx), "y": slice(dx, None)}
    return Matrix(tuple(row[part[columns]] for row in matrix.rows[part[rows]]))


_TRUTH: dict[str, Callable[[ProblemFunctions, list[Vector]], tuple[Value, Certainty]]] = {
    "y_star": ProblemFunctions.y_star,
    "y_star_lam": ProblemFunctions.y_star_lam,
    "v_star": ProblemFunctions.v_star,
    "L_lam": ProblemFunctions.L_lam,
    "phi": _hyper_entry("value"),
    "grad_phi": _hyper_entry("gradient"),
    "hess_phi": _hyper_entry("hessian"),
    "grad_y_star": _hyper_entry("jacobian"),
    "L_star": _penalty_entry("value"),
    "grad_L_star": _penalty_entry("gradient"),
    "hess_L_star": _penalty_entry("hessian"),
    "grad_y_star_lam": _penalty_entry("jacobian"),
    "hess_y_star": _second_entry(penalised=False),
    "hess_y_star_lam": _second_entry(penalised=True),
    **{
        f"third_{rows}{columns}y_{letter}": _third_entry(rows, columns, letter == "L")
        for rows in "xy"
        for columns in "xy"
        for letter in "gL"
    },
}


def _point(argument: Value) -> Vector:
    if isinstance(argument, Vector):
        return argument
    if isinstance(argument, Fraction | arb):
        return Vector((v.scalar_ball(argument),))
    raise EvaluationError("a point was expected")


def where_defined(out: Sequence[flint.arb]) -> Sequence[flint.arb]:
    """Derivatives of a function, behind its value: it must have one itself (1/t has a value at -1, log has none)."""
    if not v.ball(out[0]).is_finite():
        raise EvaluationError("precision: a function has no value there")
    return out[1:]


def _clean(number: flint.arb) -> arb:
    """A finite or infinite ball; NaN is a lack of precision or a point outside the domain of an atom."""
    if not isinstance(number, arb):
        return v.ball(number)
    if number.is_nan():
        raise EvaluationError("precision: a function has no value there")
    return number


def _from_algebra(value: Any, column: bool = False) -> Value:
    """A number, a column or a matrix of the ball algebra as a value of an expression."""
    if hasattr(value, "nrows"):
        if column:
            return Vector(tuple(_clean(value[i, 0]) for i in range(value.nrows())))
        rows = range(value.nrows())
        return Matrix(tuple(tuple(_clean(value[i, j]) for j in range(value.ncols())) for i in rows))
    return _clean(value)

"""The functions of a problem as straight-line programs, in the form in which truth needs them.

Everything is derived once per problem and evaluated in whatever arithmetic the caller brings: NumPy arrays for
batches, intervals for certificates, balls of any precision for single points. Long sums over data stay sums
(:mod:`.sums`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Generic

import numpy as np
import sympy

from bilevel_verify.atoms.datasum import DataSum, split_data_sums
from bilevel_verify.errors import InputError, MathematicalError
from bilevel_verify.problems.problem import Problem
from bilevel_verify.symbolic.differentiate import adjoints, hessian, tangents
from bilevel_verify.symbolic.graph import Graph
from bilevel_verify.symbolic.program import Program, finish, program_of
from bilevel_verify.truth.arithmetic.algebra import NO_VALUE, Algebra, Boxes, M, N
from bilevel_verify.truth.functions.joints import apart_from_joints, jumps
from bilevel_verify.truth.functions.sums import WRITTEN_OUT, GroupSum, Runs, WithSums
from bilevel_verify.truth.functions.written import gathered

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from bilevel_verify.intervals.batch import Interval


BOXES = Boxes()


class Function:
    """One scalar function of z = (x, y) with its derivatives as programs, built on first use.

    Parameters
    ----------
    expression : SymPy expression.
    variables : symbols of z, x first.
    dx : how many of them belong to x.
    """

    def __init__(self, expression: sympy.Expr, variables: Sequence[sympy.Symbol], dx: int) -> None:
        self.expression = sympy.sympify(expression)
        self.closed, self.sums = _split(self.expression, variables)
        self.dx, self.dz = dx, len(variables)
        self.dy = self.dz - dx

    @cached_property
    def rough(self) -> bool:
        """Whether value or gradient may jump: then derivatives over a box say nothing about values in it."""
        from bilevel_verify.constants.formula.smoothness import slope_may_jump

        return slope_may_jump(self.expression)

    @property
    def numbers(self) -> int:
        """How many numbers of data one evaluation reads, those that a formula writes out apart."""
        return sum(group.numbers for group in self.sums if not group.written)

    def _with_sums(self, closed: Program, order: int, wanted: range, lone: bool = False) -> Runs:
        return WithSums(closed, self.sums, order, wanted, self.dz, lone) if self.sums else closed

    @cached_property
    def program(self) -> Runs:
        """Shape ``()``: the value."""
        return self._with_sums(self.closed, 0, range(0))

    @cached_property
    def value_and_gradient(self) -> Runs:
        """Shape ``(1 + dz,)``: value, then gradient."""
        graph = self.closed.graph()
        root, wanted = self.closed.outputs[0], range(self.dz)
        return self._with_sums(finish(graph, [root, *adjoints(graph, root, wanted)], (1 + self.dz,)), 1, wanted)

    def continuous(self, z: Sequence[Interval]) -> NDArray[np.bool_]:
        """Boxes of z (n,) on which it is proved to have a value everywhere, and to be continuous.

        No step of the program jumps, and all that it meets on its way is bounded: a pole, the edge of an open domain
        (log at 0) or a value that is only approached would show. Sums over data show it in their gradients.
        """
        kernels = [group.program(0, False) for group in self.sums]
        if any(jumps(step) for program in (self.closed, *kernels) for step in program.instructions):
            return np.zeros(z[0].lo.shape, dtype=bool)
        met = self._every_step.run(BOXES.arithmetic, z)
        met += self.value_and_gradient.run(BOXES.arithmetic, z) if self.sums else []
        ends = [np.isfinite(one.lo) & np.isfinite(one.hi) for one in (BOXES.number(step, z) for step in met)]
        return np.asarray(np.logical_and.reduce(ends))

    def where_differentiable(self, algebra: Algebra[N, M], z: Sequence[N], order: int, matrix: M, x: Sequence[N]) -> M:
        """A matrix that rests on derivatives of some order, or none at points x where they may jump at z.

        Over boxes of x it stays: there it is the hull of both sides, which Taylor's and Newton's rules ask for.
        """
        apart = self.apart(order)
        if apart is None:
            return matrix
        return algebra.where_differentiable(algebra.number(apart.run(algebra.arithmetic, z)[0], z), matrix, x)

    def apart(self, order: int) -> Runs | None:
        """See :func:`apart_from_joints`; of sums over data the total of all samples."""
        if order not in self._apart:
            closed = apart_from_joints(self.closed, self.expression, order)
            bodies = [(g, apart_from_joints(g.body, self.expression, order)) for g in self.sums]
            groups = tuple(replace(g, body=body, scale=1, programs={}) for g, body in bodies if body is not None)
            nothing = Graph(self.closed.inputs)
            closed = finish(nothing, [nothing.const(0)], ()) if groups and closed is None else closed
            self._apart[order] = WithSums(closed, groups, 0, range(0), self.dz) if groups and closed else closed
        return self._apart[order]

    @cached_property
    def _apart(self) -> dict[int, Runs | None]:
        """Order of a derivative -> what is finite where it cannot jump."""
        return {}

    @cached_property
    def _every_step(self) -> Program:
        return self.closed.restrict(range(len(self.closed.instructions)))

    @cached_property
    def gradient_y(self) -> Runs:
        """Gradient with respect to y alone; shape ``(dy,)``."""
        graph, wanted = self.closed.graph(), range(self.dx, self.dz)
        closed = finish(graph, adjoints(graph, self.closed.outputs[0], wanted), (self.dy,))
        return self._with_sums(closed, 1, wanted, lone=True)

    @cached_property
    def second_order(self) -> Runs:
        """Shape ``(1 + dz + dz * dz,)``: value, gradient, Hessian in C order."""
        return self._second_order(range(self.dz))

    @cached_property
    def second_order_y(self) -> Runs:
        """Shape ``(1 + dy + dy * dy,)``: value, gradient and Hessian with respect to y alone."""
        return self._second_order(range(self.dx, self.dz))

    @cached_property
    def hessian_y(self) -> Runs:
        """Hessian with respect to y alone in C order; shape ``(dy * dy,)``."""
        wanted = range(self.dx, self.dz)
        closed = self._closed_second_order(wanted)
        closed = closed.restrict(closed.outputs[1 + self.dy :])
        return self._with_sums(closed, 2, wanted, lone=True)

    def _second_order(self, wanted: range) -> Runs:
        return self._with_sums(self._closed_second_order(wanted), 2, wanted)

    def _closed_second_order(self, wanted: range) -> Program:
        graph = self.closed.graph()
        root, n = self.closed.outputs[0], len(wanted)
        first = adjoints(graph, root, wanted)
        entries: dict[tuple[int, int], int] = {}
        for j, variable in enumerate(wanted):
            seed = {variable: graph.const(1)}
            for i, entry in enumerate(tangents(graph, first[: j + 1], seed)):
                entries[i, j] = entries[j, i] = entry
        flat = [entries[i, j] for i in range(n) for j in range(n)]
        return finish(graph, [root, *first, *flat], (1 + n + n * n,))

    @cached_property
    def weighted_third(self) -> Runs:
        """Hessian over z of ``v . grad_y``; inputs z, then v (dy of them); shape ``(dz, dz)``."""
        graph = self.closed.graph()
        first = adjoints(graph, self.closed.outputs[0], range(self.dx, self.dz))
        weights = [graph.input(f"weight{i}") for i in range(self.dy)]
        total = graph.add(graph.mul((w, entry)) for w, entry in zip(weights, first, strict=True))
        closed = hessian(finish(graph, [total], ()), list(range(self.dz)))
        return self._with_sums(closed, 3, range(self.dz))


def _split(expression: sympy.Expr, variables: Sequence[sympy.Symbol]) -> tuple[Program, tuple[GroupSum, ...]]:
    """The closed form as a program, and the sums that are too long to be a part of it."""
    rest, sums = split_data_sums(expression) if expression.has(DataSum) else (expression, [])
    long = [(factor, data) for factor, data in sums if data.count * data.width > WRITTEN_OUT]
    short = sympy.Add(rest, *(factor * data for factor, data in sums if data.count * data.width <= WRITTEN_OUT))
    places = {symbol: place for place, symbol in enumerate(variables)}
    closed, written = gathered(program_of(short if sums else expression, list(variables)), variables)
    return closed, (*(GroupSum.of(factor, data, places) for factor, data in long), *written)


@dataclass(frozen=True)
class Model:
    """Programs of a problem: ``upper`` is f, ``lower`` the function that y minimises (None for one level).

    ``negated`` says that the lower function is ``-f`` (minimax).
    """

    problem: Problem
    upper: Function
    lower: Function | None
    negated: bool = False

    def minimised(self, penalised: bool) -> tuple[Function, ...]:
        """The functions of which y minimises a sum: g, with a penalty f too."""
        lower = () if self.lower is None else (self.lower,)
        return (*lower, self.upper) if penalised else lower

    @property
    def dx(self) -> int:
        return self.problem.dx

    @property
    def dy(self) -> int:
        return self.problem.dy

    def dz_size(self) -> int:
        """Rough cost of one second-order evaluation, in instructions."""
        return self.upper.second_order.size + (0 if self.lower is None else self.lower.second_order.size)

    @property
    def numbers(self) -> int:
        """How many numbers of data one evaluation of both functions reads."""
        return self.upper.numbers + (0 if self.lower is None else self.lower.numbers)


def model_of(problem: Problem) -> Model:
    """Programs of a bilevel, minimax or single-level problem.

    Raises
    ------
    InputError : simple bilevel problems, which have a truth of their own.
    """
    if problem.kind == "simple_bilevel":
        raise InputError("a simple bilevel problem has no lower-level map y*(x); ask for f_star, g_star, x_star")
    z = problem.variables
    lower = problem.lower
    return Model(
        problem,
        Function(problem.f, z, problem.dx),
        None if lower is None or not problem.y else Function(lower, z, problem.dx),
        problem.kind == "minimax",
    )


@dataclass(frozen=True, slots=True)
class Blocks(Generic[N, M]):
    """Value and derivatives of one function at one point (or batch), as matrices of one algebra.

    ``gx`` (dx, 1), ``gy`` (dy, 1), ``xx``, ``xy`` (dx, dy), ``yy``; scalars are numbers of the algebra.
    """

    value: N
    gx: M
    gy: M
    xx: M
    xy: M
    yy: M
    full: M


def blocks(algebra: Algebra[N, M], function: Function, z: Sequence[N]) -> Blocks[N, M]:
    """Evaluate a function with its first two derivatives in an algebra; they are defined where it is itself."""
    first, *rest = function.second_order.run(algebra.arithmetic, z)
    value = algebra.number(first, z)
    out = [value, *algebra.where_defined(value, rest, z)]
    dx, dz = function.dx, function.dz
    gradient, rows = out[1 : 1 + dz], [out[1 + dz + i * dz : 1 + dz + (i + 1) * dz] for i in range(dz)]

    def pick(a: int, b: int, c: int, d: int) -> M:
        return algebra.matrix([row[c:d] for row in rows[a:b]], z)

    return Blocks(
        value=value,
        gx=algebra.matrix([[v] for v in gradient[:dx]], z),
        gy=algebra.matrix([[v] for v in gradient[dx:]], z),
        xx=pick(0, dx, 0, dx),
        xy=pick(0, dx, dx, dz),
        yy=pick(dx, dz, dx, dz),
        full=pick(0, dz, 0, dz),
    )


def where_valued(algebra: Algebra[N, M], functions: Sequence[Function], z: Sequence[N], numbers: list[N]) -> list[N]:
    """The same numbers, or none, where one of the functions has no value at z: their derivatives do not see that.

    Raises
    ------
    MathematicalError : so in balls; intervals lose what they knew.
    """
    for function in functions:
        value = algebra.number(function.program.run(algebra.arithmetic, z)[0], z)
        numbers = algebra.where_defined(value, numbers, z)
    if any(hasattr(number, "is_nan") and number.is_nan() for number in numbers):
        raise MathematicalError(NO_VALUE)
    return numbers


def weighted_third(algebra: Algebra[N, M], function: Function, z: Sequence[N], weights: Sequence[N]) -> M:
    """Hessian over z of ``weights . grad_y function`` at z, a (dz, dz) matrix of the algebra."""
    out = function.weighted_third.run(algebra.arithmetic, [*z, *weights])
    dz = function.dz
    return algebra.matrix([out[i * dz : (i + 1) * dz] for i in range(dz)], z)

"""Ridges over boxes, all of one function at once: against fractions, and against every ridge for itself."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
import sympy

from bilevel_verify.constants.formula import scalars
from bilevel_verify.constants.formula.model import Model
from bilevel_verify.constants.formula.scalars import MOST_PIECES, CompositeScalar
from bilevel_verify.constants.formula.structure import structure_of
from bilevel_verify.intervals.batch import Interval
from bilevel_verify.intervals.elementary import ball_ends

pytestmark = pytest.mark.fast
X, Y, Z = V = sympy.symbols("x y z", real=True)
T = sympy.Symbol("t", real=True)
THIRD = sympy.Rational(1, 3)
TEXT = (
    sympy.sin(X + 2 * Y - THIRD * Z) + 9 * sympy.sin(THIRD * X) / 7 + sympy.sin(Y - Z + THIRD)
    + sympy.exp(X) - 2 * sympy.exp(-Y / 3 + Z) + sympy.tanh(X + Y) ** 2 + THIRD * sympy.tanh(2 * Z - X + 1) ** 2
)  # fmt: skip


def boxes(count: int, widest: float = 1.0) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(3)
    lo = rng.uniform(-1, 1, (count, 3))
    return lo, lo + widest * rng.random((count, 3))


def test_arguments_are_those_of_fractions_to_the_last_digits() -> None:
    model = Model(structure_of(TEXT, V), (False,) * 3)
    lo, hi = boxes(400)
    found = model.arguments(lo, hi)
    for number, ridge in enumerate(model.structure.ridges):
        shift = Fraction(int(ridge.shift.p), int(ridge.shift.q))
        for box in range(400):
            ends = [shift, shift]
            for i, c in ridge.row:
                products = sorted(Fraction(int(c.p), int(c.q)) * Fraction(e[box, i]) for e in (lo, hi))
                ends = [end + product for end, product in zip(ends, products)]
            below, above = found.lo[box, number], found.hi[box, number]
            assert Fraction(below) <= ends[0]
            assert ends[1] <= Fraction(above)
            assert float(ends[0]) - below <= 4e-15
            assert above - float(ends[1]) <= 4e-15


def test_a_single_variable_is_its_own_argument_unrounded() -> None:
    model = Model(structure_of(sympy.exp(X) + sympy.exp(Y + Z), V), (False,) * 3)
    lo, hi = boxes(5)
    found = model.arguments(lo, hi)
    place = next(i for i, ridge in enumerate(model.structure.ridges) if len(ridge.row) == 1)
    assert (found.lo[:, place] == lo[:, 0]).all()
    assert (found.hi[:, place] == hi[:, 0]).all()


@pytest.mark.parametrize("count", [1, 7])
@pytest.mark.parametrize("order", [0, 2, 3])
def test_every_ridge_has_the_range_that_it_has_alone(order: int, count: int) -> None:
    model = Model(structure_of(TEXT, V), (False,) * 3)
    assert len(model.families) < len(model.structure.ridges)
    arguments = model.arguments(*boxes(count))
    found = model.ridge_ranges(order, arguments)
    for number, ridge in enumerate(model.structure.ridges):
        low, high = model.weights.lo[number], model.weights.hi[number]
        alone = ridge.function.range(order, arguments[:, number])
        if not low == 1 == high:
            alone = alone * Interval(np.asarray(low), np.asarray(high))
        assert found.lo[:, number].tolist() == alone.lo.tolist()
        assert found.hi[:, number].tolist() == alone.hi.tolist()
        assert low == 1 or low <= float(ridge.weight) <= high


@pytest.mark.slow
@pytest.mark.parametrize("order", [0, 2])
def test_many_intervals_of_one_box_are_as_tight_as_each_alone(order: int) -> None:
    expression = sympy.tanh(T) ** 2 * sympy.exp(-T / 2)
    ends = [(-1.0, 2.0), (0.5, 0.5), (-3.0, -1.0), (0.0, 4.0), (-1.0, 2.0)]
    lo, hi = (np.array([side]) for side in zip(*ends))
    together = CompositeScalar(expression, T).range(order, Interval(lo, hi))
    exact = sympy.lambdify(T, sympy.diff(expression, T, order) if order else expression)
    for number, (a, b) in enumerate(ends):
        alone = CompositeScalar(expression, T).range(order, Interval(np.array([a]), np.array([b])))
        assert (together.lo[0, number], together.hi[0, number]) == (alone.lo[0], alone.hi[0])
        values = exact(np.linspace(a, b, 2001))
        low, high = np.min(values), np.max(values)
        room = 1e-3 * max(high - low, abs(high), abs(low))
        assert low - room <= together.lo[0, number] <= low
        assert high <= together.hi[0, number] <= high + room


def test_ranges_of_balls_are_not_those_of_floats() -> None:
    scalar = CompositeScalar(sympy.tanh(T) ** 2, T)
    span = Interval(np.array([[-1.0, 0.3]]), np.array([[0.5, 0.7]]))
    fast = scalar.range(0, span)
    with ball_ends():
        sure = scalar.range(0, span)
    assert (sure.hi < fast.hi).all()  # floats are rounded by more than a step
    assert scalar.range(0, span).hi.tolist() == fast.hi.tolist()


def test_an_interval_that_is_hard_is_cut_no_further_than_so_many_pieces() -> None:
    scalar = CompositeScalar(sympy.exp(T) - sympy.exp(T) * sympy.exp(-T) - sympy.exp(T), T)  # -1, term by term
    ends = [(0.0, 3.0), (0.0, 1.0)]
    cuts = scalar._partition(0, ends)
    assert len(cuts) == 2
    for (a, b), (left, right) in zip(ends, cuts):
        assert len(left) <= 2 * MOST_PIECES
        order = np.argsort(left)
        assert left[order][0] == a
        assert right[order][-1] == b
        assert (left[order][1:] == right[order][:-1]).all()  # nothing is left out


@pytest.mark.slow
def test_a_function_forgets_before_it_grows_large(monkeypatch: pytest.MonkeyPatch) -> None:
    """One object serves every ridge of the process; what it remembers is bounded, and forgetting changes no value."""
    monkeypatch.setattr(scalars, "MOST_KEPT", 5)
    function, fresh = CompositeScalar(sympy.tanh(T) ** 2, T), CompositeScalar(sympy.tanh(T) ** 2, T)
    for place in range(12):
        ends = np.array([[place - 6.0, place - 5.0]]), np.array([[place - 5.5, place - 4.5]])
        one, other = function.range(1, Interval(*ends)), fresh.range(1, Interval(*ends))
        assert len(function.partitions) <= 5
        assert (one.lo.tolist(), one.hi.tolist()) == (other.lo.tolist(), other.hi.tolist())
        fresh = CompositeScalar(sympy.tanh(T) ** 2, T)

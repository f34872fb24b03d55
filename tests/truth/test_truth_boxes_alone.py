"""Boxes of branch and bound: their enclosures, splits, expansion points, and the parabolas that bound from below."""

from __future__ import annotations

import itertools
from fractions import Fraction
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from truth_slope import Slope

import bilevel_verify as bv
from bilevel_verify.intervals.batch import Interval
from bilevel_verify.truth.minimum import minimum
from bilevel_verify.truth.minimum.minimum import Minimum

pytestmark = pytest.mark.fast
INF = np.inf


@pytest.mark.parametrize(
    ("lower", "upper"),
    [
        (0.0, 3.0), (-3.0, 0.0), (1.0, 1.0 + 2**-52), (1 + 2**-52, 1 + 2**-51), (-1.0 - 2**-52, -1.0),
        (-1 - 2**-51, -1 - 2**-52),
        (-1e308, 1e308), (0.1, 0.7), (5e-324, 1e-323),
    ],
)  # fmt: skip
def test_enclosures_hold_both_ends(lower: float, upper: float) -> None:
    found = Minimum(lower, upper, np.zeros(1), True, 1, True, "m", None, True).enclosure("certified")
    value, error = Fraction(float(found.value)), Fraction(found.error)
    assert value - error <= Fraction(lower)
    assert value + error >= Fraction(upper)
    assert found.error <= 0.5 * (upper - lower) * (1 + 1e-15) + 2 * np.spacing(max(abs(lower), abs(upper)))
    same = Minimum(lower, lower, np.zeros(1), True, 1, True, "m", None, True).enclosure("certified")
    assert (same.value, same.error) == (lower, 0.0)


def test_both_ends_unknown_is_said_first() -> None:
    for lower, upper, says in (
        (-INF, INF, "could not be evaluated"),
        (0.0, np.nan, "could not be evaluated"),
        (np.nan, 0.0, "only known"),
    ):
        with pytest.raises(bv.MathematicalError, match=says):
            Minimum(lower, upper, np.zeros(1), True, 1, True, "m", None, True).enclosure("certified")


SIDES = [(0.0, 1.0), (-5.0, 3.0), (-INF, INF), (0.0, INF), (5.0, INF), (-9.0, INF), (-INF, 0.0), (-INF, -4.0),
(-INF, 6.0), (2.0, 2.5)]  # fmt: skip


def cut(a: float, b: float) -> float:
    if a > -INF and b < INF:
        return 0.5 * a + 0.5 * b
    if a > -INF:
        return 2 * a + 1 if a >= 0 else a / 2 if a < -1 else 0.0
    if b < INF:
        return 2 * b - 1 if b <= 0 else b / 2 if b > 1 else 0.0
    return 0.0


def width(a: float, b: float) -> float:
    if a > -INF and b < INF:
        return b - a
    return INF if a == -INF and b == INF else 1e200 / (1 + (abs(a) if b == INF else abs(b)))


def test_every_pair_of_sides_is_split_where_it_should() -> None:
    boxes = [*itertools.product(SIDES, repeat=2), *itertools.product(SIDES[::2], SIDES[1::2])]
    low, high = (np.array([[side[k] for side in box] for box in boxes]) for k in (0, 1))
    new_low, new_high, stuck = minimum.split(low, high)
    assert not stuck.any()
    assert new_low.shape == new_high.shape == (2 * len(boxes), 2)
    for k, box in enumerate(boxes):
        side = 0 if width(*box[0]) >= width(*box[1]) else 1
        middle = cut(*box[side])
        left, right = [list(map(list, zip(*box))) for _ in range(2)]
        left[1][side], right[0][side] = middle, middle
        assert [new_low[2 * k].tolist(), new_high[2 * k].tolist()] == left
        assert [new_low[2 * k + 1].tolist(), new_high[2 * k + 1].tolist()] == right


def test_boxes_get_stuck_at_their_limits() -> None:
    one, two = 1.0, np.nextafter(1.0, 2)
    three = np.nextafter(two, 2)
    low, high = np.array([[one], [two], [one], [3.0], [3.1]]), np.array([[two], [three], [three], [INF], [INF]])
    assert minimum.split(low, high, far=7.0)[2].tolist() == [True, True, False, False, True]
    negative = minimum.split(np.array([[-INF], [-INF]]), np.array([[-3.0], [-3.1]]), far=7.0)[2]
    assert negative.tolist() == [False, True]
    assert minimum.split(np.array([[4e149], [6e149]]), np.full((2, 1), INF))[2].tolist() == [False, True]
    assert minimum.split(np.array([[-1e308]]), np.array([[1e308]]), far=1e308)[0][:, 0].tolist() == [-1e308, 0.0]


def test_expansion_points_are_the_best_point_or_the_middle_inside_the_box() -> None:
    best = np.array([1.0, -2.0])
    low = np.array(
        [[0.0, -3.0], [0.0, -1.0], [1.0, -2.0], [-1.0, -4.0], [2.0, -3.0], [-INF, -3.0], [5.0, -INF], [-INF, -INF]]
    )
    high = np.array(
        [[2.0, 0.0], [2.0, 5.0], [3.0, 7.0], [1.0, -2.0], [6.0, 1.0], [0.5, 1.0], [INF, -50.0], [-20.0, INF]]
    )
    found = minimum._expansion_points(low, high, best, 10.0)
    expected = [[1, -2], [1, 2], [1, -2], [1, -2], [4, -1], [0, -1], [5, -50], [-20, 0]]
    inside = [k for k in range(len(low)) if (np.abs(found[k]) <= 10).all()]
    assert found[inside].tolist() == np.array(expected, dtype=float)[inside].tolist()
    assert {0, 1, 2, 3, 4, 5} <= set(inside)


def test_only_bounded_boxes_are_expanded() -> None:
    """Nothing is asked at points of unbounded boxes, nor of no boxes at all."""
    low = np.array([[-INF, 0.0], [0.0, 0.0], [0.0, -1.0], [2.0, 2.0], [-INF, -INF]])
    high = np.array([[1.0, 1.0], [2.0, 4.0], [1.0, INF], [4.0, 3.0], [INF, INF]])
    objective = Slope(dx=2)
    minimum.lower_bounds(objective, low, high, np.array([9.0, 9.0]))
    assert [(what, x.tolist()) for what, x in objective.asked if what == "at"] == [("at", [[1.0, 2.0], [3.0, 2.5]])]
    half = Slope(dx=2)
    minimum.lower_bounds(half, low[:1], high[:1], np.array([9.0, 9.0]))
    assert [what for what, _ in half.asked] == ["over"]
    none = Slope(dx=2)
    bounds, centre = minimum.lower_bounds(none, low[:0], high[:0], np.array([9.0, 9.0]))
    assert (bounds.shape, centre.shape, none.asked) == ((0,), (0, 2), [])


def test_taylor_bounds_are_sums_of_parabolas() -> None:
    """For every variable its own slope and sides, from the lower end of the value at the centre."""
    rng = np.random.default_rng(4)
    n, d = 40, 3
    low, high = -rng.random((n, d)), rng.random((n, d))
    centre = np.zeros((n, d))
    slope, value = rng.normal(size=(n, d, 1)), rng.normal(size=n)
    at = SimpleNamespace(value=Interval(value, value + 1.0), gradient=Interval(slope - 0.25, slope + 0.25))
    hessian = rng.normal(size=(n, d, d))
    hessian = hessian + np.swapaxes(hessian, 1, 2)
    objective: Any = SimpleNamespace(at=lambda _: at)
    found = minimum._taylor(objective, Interval(hessian, hessian), low, high, centre)
    for k in range(n):
        bend = Fraction(float(np.linalg.eigvalsh(hessian[k])[0]))
        exact = Fraction(float(value[k]))
        for i in range(d):
            ends = [Fraction(float(slope[k, i, 0])) + sign * Fraction(1, 4) for sign in (-1, 1)]
            sides = [Fraction(float(low[k, i])), Fraction(float(high[k, i])), Fraction(0)]
            spots = [(s, t) for s in ends for t in sides]
            spots += [(s, -s / bend) for s in ends if bend > 0 and sides[0] < -s / bend < sides[1]]
            exact += min(s * t + bend * t * t / 2 for s, t in spots)
        assert float(found[k]) <= float(exact)
        assert float(found[k]) >= float(exact) - 1e-12


def test_the_ends_of_a_taylor_box_are_rounded_outward() -> None:
    """``high - centre`` is rounded up and ``low - centre`` down, the sum down."""
    asked: list[Any] = []
    low, high, centre = np.array([[0.1]]), np.array([[0.7]]), np.array([[0.3]])
    at = SimpleNamespace(
        value=Interval(np.zeros(1), np.zeros(1)), gradient=Interval(np.zeros((1, 1, 1)), np.zeros((1, 1, 1)))
    )
    objective: Any = SimpleNamespace(at=lambda _: at)
    real = minimum._parabola

    def noted(slope: Any, bend: Any, left: Any, right: Any) -> Any:
        asked.append((float(left[0]), float(right[0]), slope.lo.shape))
        return real(slope, bend, left, right)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(minimum, "_parabola", noted)
        minimum._taylor(objective, Interval(np.ones((1, 1, 1)), np.ones((1, 1, 1))), low, high, centre)
        patch.setattr(minimum, "_parabola", lambda *_: np.array([-1.0]))
        total = minimum._taylor(objective, Interval(np.ones((1, 1, 1)), np.ones((1, 1, 1))), low, high, centre)
    left, right, shape = asked[0]
    assert Fraction(left) < Fraction(0.1) - Fraction(0.3)
    assert Fraction(right) > Fraction(0.7) - Fraction(0.3)
    assert shape == (1,)
    assert total[0] == np.nextafter(-1.0, -INF)


@pytest.mark.slow
@pytest.mark.parametrize("bend", [-3.0, -1e-3, 0.0, 1e-3, 0.5, 2.0, 40.0])
def test_parabolas_over_a_grid_of_slopes_and_sides(bend: float) -> None:
    """Against fractions: below, by the margin said and (vertices of wide slopes apart) not by more."""
    values = [-2.0, -1.0, -0.3, 0.0, 0.3, 1.0, 2.0]
    sides = [*itertools.product((0.0, -0.5, -1.0, -3.0), (0.0, 0.5, 1.0, 3.0)), (0.5, 3.0), (-3.0, -1.0)]
    cases = [(a, b, *side) for a, b in itertools.combinations_with_replacement(values, 2) for side in sides]
    a, b, left, right = (np.array(column) for column in zip(*cases))
    found = minimum._parabola(Interval(a, b), np.full(len(a), bend), left, right)
    m = Fraction(bend)
    for k, case in enumerate(cases):
        lo, hi, p, q = map(Fraction, case)
        ends = min([Fraction(0), *(s * t + m * t * t / 2 for s in (lo, hi) for t in (p, q))])
        inside = m > 0 and -lo > m * p and -hi < m * q
        least = min(ends, -(max(abs(lo), abs(hi)) ** 2) / (2 * m)) if inside else ends
        reach, size = max(abs(p), abs(q)), max(abs(lo), abs(hi))
        margin = Fraction(1, 10**15) * (size * reach + abs(m) * reach * reach) + Fraction(1, 10**300)
        slack = Fraction(1, 2**51) * (abs(least) + size * reach + abs(m) * reach * reach)
        turns = [-s * s / (2 * m) for s in (lo, hi) if m > 0 and m * p <= -s <= m * q]
        assert Fraction(float(found[k])) < min([ends, *turns]), case
        assert abs(Fraction(float(found[k])) - (least - margin)) <= slack + Fraction(1, 10**310), case
    assert minimum._parabola(Interval(np.zeros(1), np.zeros(1)), np.zeros(1), np.zeros(1), np.zeros(1))[0] == -1e-300

"""Branch and bound: what is certified is the whole covering, in balls, whatever the search did on the way."""

from __future__ import annotations

import math

import numpy as np
import pytest

from bilevel_verify.constants.search import branch
from bilevel_verify.constants.search.branch import Cuts, Known, middle_of, supremum
from bilevel_verify.intervals.elementary import balls_in_use
from bilevel_verify.intervals.rounding import Array

pytestmark = pytest.mark.fast


def nothing(points: Array) -> Array:
    return np.full(len(points), -np.inf)


def column(values: list[float]) -> Array:
    return np.array(values, dtype=float)[:, None]


@pytest.mark.parametrize("worst", [0, 4095, 4096, 8192, 9999])
def test_every_box_of_a_large_covering_is_certified(worst: int) -> None:
    """More boxes than one piece of the certification: the largest bound counts wherever it sits."""
    lo = np.arange(10000.0)[:, None]

    def bound(low: Array, high: Array) -> Array:
        return np.where(low[:, 0] == worst, 7.0, 1.0 + low[:, 0] / 1e5) + (0.5 if balls_in_use() else 0.0)

    found = supremum(bound, nothing, lo, lo + 1.0, 1e-3, 0)
    assert found.upper == 7.5
    assert found.worst == (lo[worst], lo[worst] + 1.0)


def test_the_final_covering_is_bounded_in_balls_and_covers_the_domain() -> None:
    calls: list[tuple[bool, Array, Array]] = []

    def bound(lo: Array, hi: Array) -> Array:
        calls.append((balls_in_use(), lo.copy(), hi.copy()))
        return np.abs(lo).max(axis=1) + np.abs(hi).max(axis=1)

    found = supremum(bound, nothing, np.array([-1.0, 0.0]), np.array([2.0, 5.0]), 1e-3, 3000)
    last = [(lo, hi) for balls, lo, hi in calls if balls]
    assert not calls[0][0]
    assert [balls for balls, _, _ in calls[-len(last) :]] == [True] * len(last)
    lo, hi = (np.concatenate([pair[side] for pair in last]) for side in (0, 1))
    assert np.prod(hi - lo, axis=1).sum() == pytest.approx(15.0)
    points = np.random.default_rng(0).uniform([-1.0, 0.0], [2.0, 5.0], size=(500, 2))
    inside = (lo[None] <= points[:, None]) & (points[:, None] <= hi[None])
    assert inside.all(axis=2).any(axis=1).all()
    assert found.boxes == sum(len(low) for balls, low, _ in calls if not balls)
    assert not balls_in_use()


def test_a_bound_that_is_not_a_number_is_no_bound() -> None:
    assert branch._checked(np.array([np.nan, 1.0, -np.inf])).tolist() == [np.inf, 1.0, -np.inf]

    def bound(lo: Array, hi: Array) -> Array:
        return np.where((lo[:, 0] <= 0.3) & (hi[:, 0] >= 0.3), np.nan, 1.0)

    found = supremum(bound, nothing, np.zeros(1), np.ones(1), 1e-3, 500)
    assert found.upper == math.inf
    assert found.worst[0][0] <= 0.3 <= found.worst[1][0]


def test_a_bound_that_is_not_a_number_in_balls_is_no_bound() -> None:
    def bound(lo: Array, hi: Array) -> Array:
        return np.full(len(lo), np.nan if balls_in_use() else 1.0)

    assert supremum(bound, nothing, np.zeros(1), np.ones(1), 1e-3, 50).upper == math.inf


def test_a_child_never_lends_its_box_a_bound_that_balls_do_not_confirm() -> None:
    """The search keeps the smaller bound of parent and child; the certificate rests on the child alone."""

    def bound(lo: Array, hi: Array) -> Array:
        return np.where(hi[:, 0] - lo[:, 0] >= 1.0, 1.0, 2.0)

    def sample(points: Array) -> Array:
        return np.full(len(points), 0.5)

    assert supremum(bound, sample, np.zeros(1), np.ones(1), 1e-3, 500).upper == 2.0


def test_an_attained_value_is_never_above_the_bound() -> None:
    found = supremum(lambda lo, hi: np.ones(len(lo)), lambda p: np.full(len(p), 3.0), np.zeros(1), np.ones(1), 1e-3, 9)
    assert 3.0 * (1 - 2e-12) <= found.upper <= 3.0
    assert found.lower == 3.0


@pytest.mark.parametrize("floor", [-math.inf, -5.0, 0.0, 0.9])
def test_the_supremum_is_found_and_the_floor_is_kept(floor: float) -> None:
    def bound(lo: Array, hi: Array) -> Array:  # of t (1 - t) * 4 - 0.5 on [0, 1]
        inside = (lo[:, 0] <= 0.5) & (hi[:, 0] >= 0.5)
        ends = np.maximum(4 * lo * (1 - lo), 4 * hi * (1 - hi))[:, 0]
        return np.where(inside, 1.0, ends) - 0.5

    def sample(points: Array) -> Array:
        return (4 * points * (1 - points))[:, 0] - 0.5

    found = supremum(bound, sample, np.zeros(1), np.ones(1), 1e-3, 2000, Known(floor))
    assert found.lower == max(floor, 0.5)
    assert found.upper == max(0.5, floor * (1 - 1e-12))
    assert found.certified
    if floor < 0.5:
        assert found.where[0] == 0.5


def test_boxes_below_what_was_reached_are_not_split() -> None:
    split: list[Array] = []

    def bound(lo: Array, hi: Array) -> Array:
        split.append(hi[:, 0])
        return np.where(lo[:, 0] >= 0.5, 1.0 + (hi[:, 0] - lo[:, 0]), 0.25)

    supremum(bound, nothing, column([0.0, 0.5]), column([0.5, 1.0]), 1e-6, 400, Known(0.5))
    assert min(hi.min() for hi in split[1:-1]) > 0.5


def test_a_negative_supremum_is_approached_from_above() -> None:
    """The tolerance is relative to the size of what was reached, whatever its sign."""
    found = supremum(
        lambda lo, hi: hi[:, 0] - 3.0, lambda p: p[:, 0] - 3.0, np.zeros(1), np.ones(1), 1e-2, 5000, Known(-9.0)
    )
    assert -2.0 <= found.upper < -1.95
    assert found.lower <= -2.0 + 1e-12


@pytest.mark.parametrize("budget", [0, 1, 100, 1000])
def test_the_budget_is_kept_up_to_one_step(budget: int) -> None:
    count = [0]

    def bound(lo: Array, hi: Array) -> Array:
        count[0] += 0 if balls_in_use() else len(lo)
        return hi[:, 0] - lo[:, 0] + 1.0

    found = supremum(bound, nothing, np.zeros(1), np.ones(1), 1e-9, budget)
    assert found.boxes == count[0] <= budget + 2 * max(64, branch.LEAST_BATCH) + 1
    assert found.boxes >= min(budget, 1000)
    assert (found.boxes == 1) == (budget in (0, 1))


def test_a_search_ends_at_its_tolerance() -> None:
    def search(tolerance: float) -> branch.Supremum:
        return supremum(lambda lo, hi: hi[:, 0], lambda p: p[:, 0], np.zeros(1), np.ones(1), tolerance, 10**5)

    assert search(0.5).boxes < search(1e-3).boxes < 3000
    assert 1.0 <= search(1e-3).upper <= 1.0 + 1e-3


def test_a_search_that_stays_above_its_ceiling_gives_up() -> None:
    def boxes(ceiling: float) -> int:
        return supremum(
            lambda lo, hi: np.full(len(lo), 2.0), nothing, np.zeros(1), np.ones(1), 1e-3, 10000, Known(ceiling=ceiling)
        ).boxes

    assert 2500 < boxes(2.0) < 6000
    assert boxes(2.1) >= 10000


def test_only_the_variables_named_are_split_and_the_widest_relative_to_the_domain() -> None:
    sides: list[Array] = []

    def bound(lo: Array, hi: Array) -> Array:
        sides.append(hi - lo)
        return np.ones(len(lo))

    supremum(bound, nothing, np.zeros(2), np.array([1.0, 100.0]), 1e-3, 300, cuts=Cuts(np.array([True, False])))
    assert {float(s) for part in sides for s in part[:, 1]} == {100.0}
    sides.clear()
    supremum(bound, nothing, np.zeros(2), np.array([1.0, 100.0]), 1e-3, 300)
    ratio = np.concatenate(sides[1:])
    assert set(np.unique(ratio[:, 1] / ratio[:, 0] / 100)) <= {0.5, 1.0, 2.0}


def test_slopes_choose_the_cuts_but_no_side_is_starved() -> None:
    sides: list[Array] = []

    def bound(lo: Array, hi: Array) -> Array:
        sides.append(hi - lo)
        return np.ones(len(lo))

    def slopes(points: Array) -> Array:
        return np.tile([1.0, 0.0, 0.0, 0.0], (len(points), 1))

    supremum(bound, nothing, np.zeros(4), np.ones(4), 1e-3, 2000, cuts=Cuts(slopes=slopes))
    last = sides[-1]
    assert last[:, 0].min() < last[:, 1].min()
    assert (last.max(axis=1) / last.min(axis=1)).max() <= 2 * branch.ASPECT


def test_unbounded_ranges_are_cut_at_powers_and_their_far_tails_are_left() -> None:
    inf = math.inf
    lo = np.array([[-inf], [2.0], [-inf], [-inf], [0.0], [-1e305], [1e299]])
    hi = np.array([[inf], [inf], [-3.0], [5.0], [1.0], [1e305], [inf]])
    assert middle_of(lo, hi)[:, 0].tolist() == [0.0, 16.0, -24.0, -8.0, 0.5, 0.0, 8e299]
    assert middle_of(column([1e300]), column([inf]))[0, 0] == 1e300
    assert middle_of(column([-5.0]), column([inf]))[0, 0] == 8.0

    def bound(low: Array, high: Array) -> Array:
        return np.where(np.isposinf(high[:, 0]), 5.0, 0.0)

    found = supremum(bound, nothing, np.zeros(1), np.array([inf]), 1e-3, 5000)
    assert found.upper == 5.0  # the tail counts although it is not split for ever
    assert found.boxes < 2000


def test_values_that_are_not_finite_are_not_attained() -> None:
    def sample(points: Array) -> Array:
        return np.where(points[:, 0] > 0.5, np.nan, np.where(points[:, 0] > 0.25, np.inf, points[:, 0]))

    found = supremum(lambda lo, hi: hi[:, 0], sample, np.zeros(1), np.ones(1), 1e-3, 2000, Known(-1.0))
    assert found.lower <= 0.25
    assert found.where[0] <= 0.25


def test_several_boxes_carry_the_supremum_together() -> None:
    found = supremum(lambda lo, hi: hi[:, 0], lambda p: p[:, 0], column([0.0, 4.0]), column([1.0, 4.0]), 1e-3, 1000)
    assert (found.lower, found.upper) == (4.0, 4.0)


@pytest.mark.parametrize(("count", "least"), [(3, 0.25), (4, 0.125)])
def test_slopes_are_asked_at_once_with_many_variables_and_later_with_few(count: int, least: float) -> None:
    sides: list[Array] = []

    def bound(lo: Array, hi: Array) -> Array:
        sides.append(hi - lo)
        return np.ones(len(lo))

    def slopes(points: Array) -> Array:
        return np.tile(np.arange(count) == count - 1, (len(points), 1)).astype(float)

    supremum(bound, nothing, np.zeros(count), np.ones(count), 1e-3, 2, cuts=Cuts(slopes=slopes))
    assert sides[1][:, -1].max() <= least
    assert (sides[1][:, -1].min() == sides[1][:, 0].min()) == (count == 3)


def test_the_boxes_with_the_largest_bounds_are_probed() -> None:
    def sample(points: Array) -> Array:  # only the middle of a first half is defined
        return np.where(points[:, 0] % 1.0 == 0.25, points[:, 0], -np.inf)

    lo = np.arange(1000.0)[:, None]
    found = supremum(lambda low, high: high[:, 0], sample, lo, lo + 1.0, 1e-9, 2001)
    assert found.lower == 999.25

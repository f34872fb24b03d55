"""Branch and bound against a plain list of boxes: what is asked, what is kept, what is given up."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from truth_slope import Slope, state

from bilevel_verify.intervals.batch import Interval
from bilevel_verify.truth.minimum import minimum
from bilevel_verify.truth.minimum.minimum import Minimum, Search

pytestmark = pytest.mark.fast
INF = np.inf


# ---- the search as a list -----------------------------------------------------------------------------------------


def plain_run(search: Search, budget: int) -> dict[str, Any]:
    """Branch and bound as anyone would write it, box by box."""
    f = search.objective
    boxes = [(tuple(a), tuple(b), float(v)) for a, b, v in zip(search.low, search.high, search.bounds)]
    floor, upper, best, count, leaves = search.floor, search.upper, search.best, search.count, []
    bounded = bool(np.isfinite(search.low).all() and np.isfinite(search.high).all())

    def lower() -> float:
        return min([floor, upper, *(v for _, _, v in boxes)])

    reached, since = lower(), 0
    while count < budget and boxes and since < (60 if bounded else 20):
        cutoff = upper - search.tolerance * (1 + abs(upper))
        for box in [box for box in boxes if not box[2] < cutoff]:
            floor = min(floor, box[2])
            leaves.append(box[:2])
            boxes.remove(box)
        order = sorted(boxes, key=lambda box: box[2])[: min(1024, max(1, (budget - count) // 2))]
        middles = []
        for box in order:
            boxes.remove(box)
            a, b, stuck = minimum.split(np.array([box[0]]), np.array([box[1]]), f.far)
            if stuck[0]:
                floor = min(floor, box[2])
                leaves.append(box[:2])
                continue
            values, centres = minimum.lower_bounds(f, a, b, best)
            boxes += [(tuple(p), tuple(q), max(float(v), box[2])) for p, q, v in zip(a, b, values)]
            count += 2
            middles += list(centres)
        if middles:
            first = min(middles, key=lambda x: float(f.float_values(x[None])[0]))
            phi = float(f.at(first[None]).value.hi[0])
            if f.float_values(first[None])[0] < upper and phi < upper:
                best, upper = first, phi
        reached, since = (lower(), 0) if lower() > reached else (reached, since + 1)
    return {"boxes": sorted(boxes), "leaves": sorted(leaves), "floor": floor, "upper": upper, "best": tuple(best),
            "count": count, "lower": lower()}  # fmt: skip


def after(search: Search) -> dict[str, Any]:
    boxes = [(tuple(a), tuple(b), float(v)) for a, b, v in zip(search.low, search.high, search.bounds, strict=True)]
    leaves = [(tuple(a), tuple(b)) for lows, highs in search.leaves for a, b in zip(lows, highs, strict=True)]
    return {"boxes": sorted(boxes), "leaves": sorted(leaves), "floor": search.floor, "upper": search.upper,
            "best": tuple(search.best), "count": search.count, "lower": search.lower}  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize("budget", [1, 2, 3, 4, 7, 12, 29, 60, 150, 400])
@pytest.mark.parametrize(
    ("settings", "low", "high"),
    [
        ({}, [-2.0], [3.1]), ({"room": 0.05}, [-2.0], [3.1]), ({"smooth": False}, [-2.3], [3.1]),
        ({"far": 0.4}, [-2.0], [3.1]),
        ({}, [-INF], [3.1]), ({}, [-INF], [INF]), ({"dx": 2}, [-2.0, -1.7], [3.1, 2.6]),
        ({"dx": 2, "floor": -5.0}, [-2.0, -INF], [3.1, 2.6]),
    ],
)  # fmt: skip
def test_the_search_is_that_of_a_list_of_boxes(settings: Any, low: Any, high: Any, budget: int) -> None:
    first = minimum.lower_bounds(Slope(**settings), np.array([low]), np.array([high]), np.full(len(low), 3.0))[0]
    one, two = (state(Slope(**settings), low, high, first) for _ in range(2))
    expected = plain_run(two, budget)
    minimum._run(one, budget)
    assert after(one) == expected


def test_boxes_at_hand_are_kept_given_up_or_split_each_by_its_own_bound() -> None:
    """Five boxes, among them one at the cutoff, one above it, one that cannot be split; the lowest goes first."""
    lows, highs = [0.0, 1.0, 2.0, 3.0, 4.0], [1.0, 2.0, 3.0, 3.0, 4.5]
    for budget in (6, 7, 8, 9, 10, 11, 13):
        for bounds in ([-1.0, 5.0, 17.981, -3.0, 18.5], [0.1, -0.2, 0.3, -0.4, 0.5], [19.0, 18.0, 17.981, 20.0, 30.0]):
            pair = []
            for _ in range(2):
                found = state(Slope(), np.array(lows)[:, None], np.array(highs)[:, None], bounds)
                found.tolerance = 0.001
                pair.append(found)
            expected = plain_run(pair[1], budget)
            minimum._run(pair[0], budget)
            assert after(pair[0]) == expected


def test_a_bound_at_the_cutoff_is_given_up() -> None:
    at = state(Slope(), [[0.0], [2.0]], [[1.0], [3.0]], [0.0, -1.0], upper=1.0, tolerance=0.5)
    minimum._run(at, 4)
    assert at.floor == 0.0
    assert at.leaves[0][0].tolist() == [[0.0]]
    assert at.leaves[0][1].tolist() == [[1.0]]


class Zero(Slope):
    """Nothing is known of boxes that hold 0 and are wider than ``until``; all others are too high to be kept."""

    until = 0.0

    def over(self, low: Any, high: Any, centre: Any) -> Any:
        self.asked.append(("over", len(low)))
        value = np.where((high - low > self.until)[:, 0], -5.0, -4.0)
        value = np.where(((low <= 0) & (high >= 0))[:, 0], value, 99.0)
        return SimpleNamespace(value=Interval(value, value + 9), hessian=None)


@pytest.mark.parametrize(
    ("low", "high", "waves"), [(0.0, 8.0, 60), (0.0, INF, 20), (-INF, 0.0, 20), (-INF, INF, 20), (-3.0, 5.0, 60)]
)
def test_waves_without_progress_end_the_search(low: float, high: float, waves: int) -> None:
    """Sixty, or twenty where a side is unbounded, after the last better lower bound."""
    objective = Zero(smooth=False)
    search = state(objective, [low], [high], [-5.0])
    minimum._run(search, 4000)
    assert len(objective.waves()) == waves
    assert search.lower == -5


def test_progress_begins_the_count_anew() -> None:
    late = Zero(smooth=False)
    late.until = 1.0
    search = state(late, [0.0], [8.0], [-5.0])
    minimum._run(search, 4000)
    assert len(late.waves()) == 3 + 60, "widths 4, 2, 1, and then nothing better"
    assert search.lower == -4


def test_at_most_a_thousand_boxes_are_split_at_a_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(minimum, "PATIENCE", 1)
    for boxes, asked in ((1500, 2048), (1024, 2048), (1000, 2000)):
        objective = Zero(smooth=False)
        minimum._run(state(objective, -np.ones((boxes, 1)), np.ones((boxes, 1)), [-5.0] * boxes), 90_000)
        assert objective.waves() == [asked]


def test_a_better_point_needs_a_better_value_and_a_better_proof() -> None:
    objective = Slope(room=0.5)
    found = state(objective, [0.0], [2.0], [-9.0], upper=-0.25, floor=-9.0)
    minimum._improve(found, np.array([[1.0]]))
    assert (found.upper, found.best.tolist()) == (-0.25, [3.0]), "an equal proof is no better"
    level = state(Slope(), [0.0], [2.0], [-9.0], upper=-0.75, floor=-9.0)
    minimum._improve(level, np.array([[1.0]]))
    assert level.objective.asked == [], "an equal value is not even looked at"  # type: ignore[attr-defined]
    far = state(Slope(), [0.0], [2.0], [-9.0], upper=7.0, floor=-9.0)
    minimum._improve(far, np.array([[0.0], [1.0], [3.0]]))
    assert (far.upper, far.best.tolist()) == (-0.75, [1.0])


# ---- the whole ----------------------------------------------------------------------------------------------------


def captured(monkeypatch: pytest.MonkeyPatch, low: Any, high: Any, change: Any = None, **options: Any) -> Any:
    """The result of a search whose waves are replaced by ``change``, with the search and the budget it was given."""
    seen: dict[str, Any] = {}

    def run(search: Search, budget: int) -> None:
        seen.update(search=search, budget=budget, bounds=search.bounds.copy(), low=search.low, high=search.high,
                    count=search.count)  # fmt: skip
        if change is not None:
            change(search)

    monkeypatch.setattr(minimum, "_run", run)
    monkeypatch.setattr(
        minimum, "attained_value", lambda f, a, b, *_: (seen.update(box=(a, b)) or np.array([1.5]), 0.25)
    )
    monkeypatch.setattr(minimum, "_with_proved_functions", lambda search: (-0.5, 0.125, seen.get("sure", True)))
    found = minimum.minimise_phi(Slope(cost=1000), np.array(low), np.array(high), **options)
    return found, seen


def test_the_first_box_is_the_range_and_the_search_knows_its_numbers(monkeypatch: pytest.MonkeyPatch) -> None:
    found, seen = captured(monkeypatch, [-2.0], [3.0])
    assert (seen["low"].tolist(), seen["high"].tolist(), seen["count"]) == ([[-2.0]], [[3.0]], 1)
    assert (
        seen["bounds"].tolist()
        == minimum.lower_bounds(Slope(), np.array([[-2.0]]), np.array([[3.0]]), np.array([1.5]))[0].tolist()
    )
    assert (seen["search"].upper, seen["search"].tolerance, seen["search"].best.tolist()) == (0.25, 1e-12, [1.5])
    assert [end.tolist() for end in seen["box"]] == [[-2.0], [3.0]]
    assert seen["budget"] == 4000
    assert (found.lower, found.upper, found.x.tolist(), found.boxes, found.certified) == (-0.5, 0.125, [1.5], 1, True)
    assert captured(monkeypatch, [-2.0], [3.0], budget=77)[1]["budget"] == 77
    assert captured(monkeypatch, [-2.0], [3.0], tolerance=0.5)[1]["search"].tolerance == 0.5


@pytest.mark.parametrize("sure", [True, False])
def test_certainty_comes_from_the_last_covering(monkeypatch: pytest.MonkeyPatch, sure: bool) -> None:
    monkeypatch.setattr(minimum, "_with_proved_functions", lambda _: (-0.5, 0.125, sure))
    monkeypatch.setattr(minimum, "_run", lambda *_: None)
    monkeypatch.setattr(minimum, "attained_value", lambda *_: (np.array([1.5]), 0.25))
    assert minimum.minimise_phi(Slope(), np.array([-2.0]), np.array([3.0])).certified == sure
    assert not Minimum(0.0, 1.0, np.zeros(1), True, 1, True, "m").certified


@pytest.mark.parametrize(
    ("low", "high", "bounded"),
    [([-1.0, 0.0], [1.0, 2.0], True), ([-INF, 0.0], [1.0, 2.0], False), ([-1.0, 0.0], [1.0, INF], False),
    ([-INF, -INF], [INF, INF], False)],
)  # fmt: skip
def test_the_search_itself_says_nothing_of_attainment(
    monkeypatch: pytest.MonkeyPatch, low: Any, high: Any, bounded: bool
) -> None:
    monkeypatch.setattr(minimum, "_run", lambda *_: None)
    monkeypatch.setattr(minimum, "attained_value", lambda *_: (np.array([0.5, 0.5]), 0.25))
    found = minimum.minimise_phi(Slope(dx=2), np.array(low), np.array(high))
    assert (found.bounded_part, found.attained) == (bounded, None)


def test_complete_means_that_the_gap_is_closed(monkeypatch: pytest.MonkeyPatch) -> None:
    cutoff = 0.25 - 0.5 * 1.25
    for floor, complete in ((cutoff, True), (np.nextafter(cutoff, -1), False), (0.0, True), (-9.0, False)):

        def change(search: Search, floor: float = floor) -> None:
            search.floor, search.bounds = floor, np.empty(0)

        assert captured(monkeypatch, [-2.0], [3.0], change, tolerance=0.5)[0].complete == complete


def test_a_search_begins_with_nothing() -> None:
    bare = Search(Slope(), np.array([1.0]), 2.0, 0.1)
    assert (bare.floor, bare.count, bare.leaves, bare.lower) == (INF, 0, [], 2.0)
    assert (bare.low.shape, bare.high.shape, bare.bounds.shape) == ((0, 0), (0, 0), (0,))


def test_cutoffs_and_budgets() -> None:
    for upper, tolerance, cutoff in ((0.0, 0.5, -0.5), (3.0, 0.25, 2.0), (-3.0, 0.25, -4.0)):
        assert state(Slope(), [0.0], [1.0], [0.0], upper=upper, tolerance=tolerance).cutoff == cutoff
        assert state(Slope(), [0.0], [1.0], [-99.0], upper=upper, tolerance=tolerance).cutoff == cutoff
    for cost in (99, 100, 101, 400, 4000, 19_999, 20_000, 20_001, 100_000):
        assert minimum._default_budget(Slope(cost=cost)) == min(40_000, max(200, 4_000_000 // cost))
    assert minimum._default_budget(Slope(cost=53)) == 40_000


def test_the_covering_is_every_box_and_every_leaf() -> None:
    objective = Slope()
    search = state(objective, [[0.0], [1.0]], [[1.0], [2.0]], [-1.0, -2.0], upper=5.0)
    search.leaves = [(np.array([[2.0], [3.0]]), np.array([[3.0], [4.0]])), (np.array([[-1.0]]), np.array([[0.0]]))]
    lower, upper, certified = minimum._with_proved_functions(search)
    low, high, _ = objective.waves()[0]
    assert (low[:, 0].tolist(), high[:, 0].tolist()) == ([0, 1, 2, 3, -1], [1, 2, 3, 4, 0])
    bounds, _ = minimum.lower_bounds(Slope(), low, high, search.best)
    assert (lower, upper, certified) == (min(bounds), 81 / 4 - 3, True)


def test_coverings_up_to_the_limit_are_proved_again() -> None:
    for cost, sure in ((900_000, True), (900_001, False)):
        search = state(Slope(cost=cost), [2.0], [3.0], [-4.0], upper=17.5, floor=-6.0)
        found = minimum._with_proved_functions(search)
        assert found[2] == sure
        assert sure or found == (-6.0, 17.5, False)
    two = state(Slope(cost=450_001), [[2.0], [4.0]], [[3.0], [5.0]], [-4.0, 0.0])
    assert minimum._with_proved_functions(two)[2] is False
    for upper in (INF, -INF, np.nan):
        assert minimum._with_proved_functions(state(Slope(), [2.0], [3.0], [-4.0], upper=upper))[2] is False


def test_starts_of_the_descent(monkeypatch: pytest.MonkeyPatch) -> None:
    """How many points, which of them go down, and that their values are proved at the upper end."""
    asked: list[Any] = []

    def points(low: Any, high: Any, count: int) -> Any:
        asked.append((low.tolist(), high.tolist(), count))
        return np.linspace(-2, 3, 40)[::-1, None] * np.ones((1, len(low)))

    def down(objective: Any, starts: Any, low: Any, high: Any, steps: int) -> Any:
        asked.append((starts.copy(), low.tolist(), high.tolist(), steps))
        return starts + 0.125

    monkeypatch.setattr(minimum, "start_points", points)
    monkeypatch.setattr(minimum, "descend", down)
    for dx, cost, count, kept in ((1, 20_000, 256, 24), (1, 20_001, 16, 24), (4, 10, 256, 24), (5, 10, 256, 8)):
        asked.clear()
        objective = Slope(dx=dx, cost=cost, room=0.25)
        best, upper = minimum.attained_value(objective, np.full(dx, -2.0), np.full(dx, 3.0))
        assert asked[0] == ([-2.0] * dx, [3.0] * dx, count)
        starts, low, high, steps = asked[1]
        assert (low, high, steps) == ([-2.0] * dx, [3.0] * dx, 40)
        grid = np.linspace(-2, 3, 40)
        nearest = sorted(grid, key=lambda t: t**4 / 4 - t)[:kept]
        assert sorted(starts[:, 0]) == sorted(nearest)
        candidates = [*nearest, *(t + 0.125 for t in nearest)]
        top = min(candidates, key=lambda t: t**4 / 4 - t)
        assert best.tolist() == [top] * dx
        assert upper == pytest.approx(dx * (top**4 / 4 - top) + 0.25, rel=1e-14)
        assert len(objective.asked) == 1
        assert objective.asked[0][1].shape == (2 * kept, dx)
    asked.clear()
    rough = Slope(smooth=False)
    best, _ = minimum.attained_value(rough, np.array([-2.0]), np.array([3.0]))
    assert len(asked) == 1, "no descent without derivatives"
    assert best[0] == min(np.linspace(-2, 3, 40), key=lambda t: t**4 / 4 - t)
    assert rough.asked[0][1].shape == (48, 1)


def test_what_is_proved_nowhere_is_no_value(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(minimum, "start_points", lambda *_: np.linspace(-3, 3, 9)[:, None])

    class Unproved(Slope):
        def at(self, X: Any) -> Any:
            return SimpleNamespace(value=Interval(np.full(len(X), -INF), np.full(len(X), np.nan)))

    assert minimum.attained_value(Unproved(), np.array([-3.0]), np.array([3.0]))[1] == INF

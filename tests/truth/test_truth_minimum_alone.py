"""Branch and bound against a plain list of boxes, and every number of it: what is asked, what is kept, what is given up."""

from __future__ import annotations

import itertools
from dataclasses import dataclass, field
from fractions import Fraction
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from bilevel_verify.intervals.batch import Interval
from bilevel_verify.truth import minimum
from bilevel_verify.truth.minimum import Minimum, Search

pytestmark = pytest.mark.fast
INF = np.inf


@dataclass
class Slope:
    """``sum of x_i^4 / 4 - x_i`` (least -3/4 at 1 for each i) with enclosures wide by ``room``; notes what it is asked."""

    dx: int = 1
    room: float = 0.0
    smooth: bool = True
    cost: int = 10
    far: float = 1e150
    floor: float = -1e3
    asked: list[tuple[str, Any]] = field(default_factory=list)

    def float_values(self, X: Any) -> Any:
        with np.errstate(all="ignore"):
            return (X**4 / 4 - X).sum(axis=1)

    def floats(self, X: Any) -> Any:
        bend = np.zeros((len(X), self.dx, self.dx))
        bend[:, range(self.dx), range(self.dx)] = 3 * X**2
        return self.float_values(X), X**3 - 1, bend

    def at(self, X: Any) -> Any:
        self.asked.append(("at", X.copy()))
        value, slope = self.float_values(X), X**3 - 1
        r = self.room
        return SimpleNamespace(
            value=Interval(value - r, value + r),
            gradient=Interval(slope[:, :, None] - r, slope[:, :, None] + r),
        )

    def over(self, low: Any, high: Any, centre: Any) -> Any:
        self.asked.append(("over", (low.copy(), high.copy(), centre.copy())))
        with np.errstate(all="ignore"):
            near = np.where((low <= 0) & (high >= 0), 0.0, np.minimum(low**2, high**2))
            value = np.maximum((near**2 / 4 - high).sum(axis=1), self.floor)
        bend = np.zeros((len(low), self.dx, self.dx))
        bend[:, range(self.dx), range(self.dx)] = 3 * near
        return SimpleNamespace(value=Interval(value - self.room, value + 1e9), hessian=Interval(bend, bend + 1e9))

    def waves(self) -> list[Any]:
        return [boxes for what, boxes in self.asked if what == "over"]


def state(objective: Any, low: Any, high: Any, bounds: Any, **changes: Any) -> Search:
    found = Search(objective, np.array(changes.pop("best", [3.0] * objective.dx)), changes.pop("upper", 18.0), 1e-3)
    found.low, found.high = np.atleast_2d(np.array(low, dtype=float)), np.atleast_2d(np.array(high, dtype=float))
    found.bounds, found.count = np.array(bounds, dtype=float), len(bounds)
    for name, value in changes.items():
        setattr(found, name, value)
    return found


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


@pytest.mark.parametrize("budget", [1, 2, 3, 4, 7, 12, 29, 60, 150, 400])
@pytest.mark.parametrize(
    ("settings", "low", "high"),
    [
        ({}, [-2.0], [3.1]), ({"room": 0.05}, [-2.0], [3.1]), ({"smooth": False}, [-2.3], [3.1]), ({"far": 0.4}, [-2.0], [3.1]),
        ({}, [-INF], [3.1]), ({}, [-INF], [INF]), ({"dx": 2}, [-2.0, -1.7], [3.1, 2.6]), ({"dx": 2, "floor": -5.0}, [-2.0, -INF], [3.1, 2.6]),
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
    monkeypatch.setattr(minimum, "attained_value", lambda f, a, b: (seen.update(box=(a, b)) or np.array([1.5]), 0.25))
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
    [([-1.0, 0.0], [1.0, 2.0], True), ([-INF, 0.0], [1.0, 2.0], False), ([-1.0, 0.0], [1.0, INF], False), ([-INF, -INF], [INF, INF], False)],
)  # fmt: skip
def test_only_bounded_ranges_attain_their_minimum(
    monkeypatch: pytest.MonkeyPatch, low: Any, high: Any, bounded: bool
) -> None:
    monkeypatch.setattr(minimum, "_run", lambda *_: None)
    monkeypatch.setattr(minimum, "attained_value", lambda *_: (np.array([0.5, 0.5]), 0.25))
    found = minimum.minimise_phi(Slope(dx=2), np.array(low), np.array(high))
    assert (found.bounded_part, found.attained) == (bounded, True if bounded else None)


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


# ---- enclosures, boxes, parabolas ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("lower", "upper"),
    [
        (0.0, 3.0), (-3.0, 0.0), (1.0, 1.0 + 2**-52), (1 + 2**-52, 1 + 2**-51), (-1.0 - 2**-52, -1.0), (-1 - 2**-51, -1 - 2**-52),
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
    import bilevel_verify as bv

    for lower, upper, says in (
        (-INF, INF, "could not be evaluated"),
        (0.0, np.nan, "could not be evaluated"),
        (np.nan, 0.0, "only known"),
    ):
        with pytest.raises(bv.MathematicalError, match=says):
            Minimum(lower, upper, np.zeros(1), True, 1, True, "m", None, True).enclosure("certified")


SIDES = [(0.0, 1.0), (-5.0, 3.0), (-INF, INF), (0.0, INF), (5.0, INF), (-9.0, INF), (-INF, 0.0), (-INF, -4.0), (-INF, 6.0), (2.0, 2.5)]  # fmt: skip


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

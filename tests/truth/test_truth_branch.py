"""Branch and bound over phi, piece by piece: which end of which enclosure, boxes that get stuck, rounding downwards."""

from __future__ import annotations

from dataclasses import dataclass, field
from fractions import Fraction
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import bilevel_verify as bv
from bilevel_verify.intervals.batch import Interval
from bilevel_verify.intervals.elementary import ball_ends, balls_in_use
from bilevel_verify.truth.minimum import minimum
from bilevel_verify.truth.minimum.minimum import Minimum, Search

pytestmark = pytest.mark.fast


@dataclass
class Double:
    """``sum (x_i^2 - 1)^2`` with enclosures that are ``room`` wide, and a record of what was asked with proved ends."""

    dx: int = 1
    room: float = 0.0
    smooth: bool = True
    cost: int = 10
    far: float = 1e150
    asked: list[tuple[str, bool]] = field(default_factory=list)

    def float_values(self, X: Any) -> Any:
        return ((X**2 - 1) ** 2).sum(axis=1)

    def floats(self, X: Any) -> Any:
        hessian = np.zeros((len(X), self.dx, self.dx))
        hessian[:, range(self.dx), range(self.dx)] = 12 * X**2 - 4
        return self.float_values(X), 4 * X * (X**2 - 1), hessian

    def _note(self, what: str) -> None:
        self.asked.append((what, balls_in_use()))

    def at(self, X: Any) -> Any:
        self._note("at")
        value, gradient, hessian = self.floats(X)
        r = self.room + 1e-13
        return SimpleNamespace(
            value=Interval(value - r, value + r),
            gradient=Interval(gradient[:, :, None] - r, gradient[:, :, None] + r),
            hessian=Interval(hessian - r, hessian + r),
        )

    def over(self, low: Any, high: Any, centre: Any) -> Any:
        self._note("over")
        square = Interval(
            np.where((low <= 0) & (high >= 0), 0.0, np.minimum(low**2, high**2)), np.maximum(low**2, high**2)
        )
        a, b = square.lo - 1, square.hi - 1
        least = np.where((a <= 0) & (b >= 0), 0.0, np.minimum(a**2, b**2)).sum(axis=1)
        most = np.maximum(a**2, b**2).sum(axis=1)
        bend_low, bend_high = np.zeros((len(low), self.dx, self.dx)), np.zeros((len(low), self.dx, self.dx))
        bend_low[:, range(self.dx), range(self.dx)] = 12 * square.lo - 4
        bend_high[:, range(self.dx), range(self.dx)] = 12 * square.hi - 4
        return SimpleNamespace(
            value=Interval(least - self.room - np.minimum((high - low).max(axis=1), 1.0), most),
            gradient=None,
            hessian=Interval(bend_low, bend_high),
        )


def search(objective: Any = None, **changes: Any) -> Search:
    """A search over three boxes of one variable."""
    found = Search(objective or Double(), np.array([1.0]), 1.0, 1e-12)
    for name, value in changes.items():
        setattr(found, name, value)
    return found


# ---- what is known ------------------------------------------------------------------------------------------------


def test_boxes_that_were_given_up_still_count() -> None:
    assert search(floor=-1.0, bounds=np.array([0.0])).lower == -1
    assert search(floor=0.5, bounds=np.array([0.0, -2.0])).lower == -2
    assert search(floor=np.inf, bounds=np.empty(0), upper=3.0).lower == 3
    assert search(floor=np.inf, bounds=np.array([5.0]), upper=3.0).lower == 3


def test_cutoff_is_below_the_best_value_by_the_tolerance() -> None:
    assert search(upper=3.0, tolerance=0.1).cutoff == pytest.approx(3 - 0.4)
    assert search(upper=-3.0, tolerance=0.1).cutoff == pytest.approx(-3 - 0.4)


def known(lower: float, upper: float, certified: bool = True, attained: Any = None) -> Minimum:
    return Minimum(lower, upper, np.array([0.5]), True, 1, True, "m", attained, certified)


def test_enclosures_of_minima() -> None:
    found = known(0.1, 0.3, attained=True).enclosure("certified")
    assert Fraction(float(found.value)) - Fraction(found.error) <= Fraction(0.1)
    assert Fraction(float(found.value)) + Fraction(found.error) >= Fraction(0.3)
    assert found.error < 0.11
    assert (found.certainty, found.method, found.attained) == ("certified", "m", True)
    assert known(0.1, 0.1).enclosure("proved").error == 0.0
    below = known(-np.inf, -np.inf).enclosure("certified")
    assert (below.value, below.error, below.attained, below.certainty) == (-np.inf, 0.0, False, "certified")


@pytest.mark.parametrize("certainty", ["proved", "certified", "computed", "sampled"])
def test_without_proved_functions_a_minimum_is_computed_at_best(certainty: Any) -> None:
    assert known(0.0, 1.0, certified=True).enclosure(certainty).certainty == certainty
    weak = "sampled" if certainty == "sampled" else "computed"
    assert known(0.0, 1.0, certified=False).enclosure(certainty).certainty == weak
    assert known(-np.inf, -np.inf, certified=False).enclosure(certainty).certainty == weak


@pytest.mark.parametrize(("lower", "upper", "says"), [(-np.inf, 1.0, "only known to lie"), (0.0, np.inf, "evaluated")])
def test_an_open_side_is_an_error(lower: float, upper: float, says: str) -> None:
    with pytest.raises(bv.MathematicalError, match=says):
        known(lower, upper).enclosure("certified")


# ---- bounds on one box --------------------------------------------------------------------------------------------


def exact_least(g: tuple[float, float], m: float, left: float, right: float) -> Fraction:
    """The least ``s d + m d^2 / 2`` over s in g and d in [left, right], in fractions."""
    values = []
    for s in map(Fraction, g):
        bend = Fraction(m)
        spots = [Fraction(left), Fraction(right), Fraction(0)]
        if bend > 0 and Fraction(left) <= -s / bend <= Fraction(right):
            spots.append(-s / bend)
        values += [s * d + bend * d * d / 2 for d in spots]
    return min(values)


def test_parabolas_are_bounded_from_below_and_tightly() -> None:
    rng = np.random.default_rng(5)
    n = 3000
    a, b = np.sort(rng.normal(size=(2, n)) * 10.0 ** rng.integers(-3, 3, size=n), axis=0)
    thin = rng.random(n) < 0.3
    b = np.where(thin, a, b)
    bend = rng.normal(size=n) * 10.0 ** rng.integers(-3, 3, size=n) * (rng.random(n) < 0.9)
    left, right = -np.abs(rng.normal(size=n)), np.abs(rng.normal(size=n))
    right = np.where(rng.random(n) < 0.1, 0.0, right)
    found = minimum._parabola(Interval(a, b), bend, left, right)
    for i in range(n):
        exact = exact_least((float(a[i]), float(b[i])), float(bend[i]), float(left[i]), float(right[i]))
        reach = max(abs(left[i]), abs(right[i]))
        size = max(abs(a[i]), abs(b[i])) * reach + abs(bend[i]) * reach**2
        assert Fraction(float(found[i])) < exact
        slack = 0.0
        if bend[i] > 0 and a[i] < b[i]:
            slack = 0.5 * max(abs(a[i]), abs(b[i])) ** 2 / bend[i]  # the vertex of the steepest slope is always allowed
        assert float(found[i]) >= float(exact) - 1e-14 * size - slack - 1e-299


def test_the_vertex_of_a_wide_slope_counts() -> None:
    found = minimum._parabola(
        Interval(np.array([-1.0]), np.array([1.0])), np.array([1.0]), np.array([-4.0]), np.array([4.0])
    )
    assert -0.5 - 1e-13 < found[0] < -0.5
    thin = minimum._parabola(
        Interval(np.array([2.0]), np.array([2.0])), np.array([1.0]), np.array([-4.0]), np.array([4.0])
    )
    assert -2 - 1e-13 < thin[0] < -2
    outside = minimum._parabola(
        Interval(np.array([9.0]), np.array([9.0])), np.array([1.0]), np.array([-4.0]), np.array([4.0])
    )
    assert -28 - 1e-12 < outside[0] < -28


@pytest.mark.parametrize("dx", [1, 2])
def test_lower_bounds_hold_on_random_boxes(dx: int) -> None:
    rng = np.random.default_rng(7)
    low = rng.uniform(-2, 2, size=(300, dx))
    high = low + 10.0 ** rng.uniform(-4, 0.5, size=(300, dx))
    best = np.ones(dx)
    objective = Double(dx)
    bounds, centre = minimum.lower_bounds(objective, low, high, best)
    assert ((low <= centre) & (centre <= high)).all()
    holds = ((low <= 1) & (high >= 1)).all(axis=1)
    assert (centre[holds] == 1).all()
    assert not (centre[~holds] == 1).all(axis=1).any()
    spots = np.stack([low, high, np.clip(1.0, low, high), np.clip(-1.0, low, high)])
    least = ((spots**2 - 1) ** 2).min(axis=0).sum(axis=1)
    assert (bounds <= least + 1e-12).all()
    narrow = (high - low).max(axis=1) < 1e-3
    assert narrow.sum() > 10
    reach = (high - low).max(axis=1)[narrow]
    assert ((least - bounds)[narrow] < 0.3 * reach).all(), "the natural bound is off by the width"


def test_unbounded_boxes_and_rough_functions_use_natural_bounds_alone() -> None:
    low, high = np.array([[-np.inf], [2.0], [0.9]]), np.array([[-2.0], [np.inf], [1.3]])
    bounds, centre = minimum.lower_bounds(Double(), low, high, np.array([1.0]))
    assert bounds[:2] == pytest.approx([8, 8])
    assert np.isfinite(centre).all()
    assert centre[:, 0] == pytest.approx([-2, 2, 1])
    rough = Double(smooth=False)
    assert minimum.lower_bounds(rough, low, high, np.array([1.0]))[0] == pytest.approx([8, 8, -0.4])
    assert ("at", False) not in rough.asked
    assert minimum.lower_bounds(Double(), np.empty((0, 1)), np.empty((0, 1)), np.array([1.0]))[0].shape == (0,)


def test_a_taylor_bound_that_is_no_number_bounds_nothing() -> None:
    class Lost(Double):
        def at(self, X: Any) -> Any:
            found = super().at(X)
            found.gradient = Interval(np.full((len(X), 1, 1), -np.inf), np.full((len(X), 1, 1), np.inf))
            return found

    bounds, _ = minimum.lower_bounds(Lost(), np.array([[0.5]]), np.array([[2.0]]), np.array([1.0]))
    assert bounds[0] == -1.0


def test_expansion_points() -> None:
    low, high = np.array([[0.0], [-np.inf], [3.0], [-np.inf]]), np.array([[1.0], [-3.0], [np.inf], [np.inf]])
    points = minimum._expansion_points(low, high, np.array([7.5]), 1e3)
    assert points[:, 0] == pytest.approx([0.5, -3, 7.5, 7.5])
    ends = minimum._expansion_points(np.array([[1.0], [0.0]]), np.array([[2.0], [1.0]]), np.array([1.0]), 1e3)
    assert ends[:, 0].tolist() == [1.0, 1.0], "a box that ends at the best point holds it"
    corner = minimum._expansion_points(np.array([[0.0, 0.0]]), np.array([[2.0, 2.0]]), np.array([1.0, 5.0]), 1e3)
    assert corner[0].tolist() == [1.0, 1.0]
    far = minimum._expansion_points(np.array([[1e9]]), np.array([[np.inf]]), np.array([0.0]), 1e3)
    assert far[0, 0] == pytest.approx(1e3)


# ---- splitting ----------------------------------------------------------------------------------------------------


def test_split_halves_the_widest_side_and_loses_nothing() -> None:
    low, high = np.array([[0.0, 0.0], [-1.0, -5.0]]), np.array([[4.0, 1.0], [1.0, 5.0]])
    new_low, new_high, stuck = minimum.split(low, high)
    assert not stuck.any()
    assert new_low.tolist() == [[0, 0], [2, 0], [-1, -5], [-1, 0]]
    assert new_high.tolist() == [[2, 1], [4, 1], [1, 0], [1, 5]]


@pytest.mark.parametrize(
    ("low", "high", "middle"),
    [
        (-np.inf, np.inf, 0.0), (0.0, np.inf, 1.0), (3.0, np.inf, 7.0), (-8.0, np.inf, -4.0), (-0.5, np.inf, 0.0),
        (-1.0, np.inf, 0.0), (-np.inf, 0.0, -1.0), (-np.inf, -3.0, -7.0), (-np.inf, 8.0, 4.0), (-np.inf, 0.5, 0.0),
        (-np.inf, 1.0, 0.0), (-3.0, 1.0, -1.0),
    ],
)  # fmt: skip
def test_half_lines_are_split_at_a_point_that_doubles(low: float, high: float, middle: float) -> None:
    new_low, new_high, stuck = minimum.split(np.array([[low]]), np.array([[high]]))
    assert not stuck[0]
    assert (new_low[:, 0].tolist(), new_high[:, 0].tolist()) == ([low, middle], [middle, high])


def test_unbounded_sides_go_first_the_one_nearer_to_zero_before_the_other() -> None:
    _, new_high, _ = minimum.split(np.array([[0.0, 5.0, -9.0]]), np.array([[np.inf, np.inf, 1e9]]))
    assert new_high[0].tolist() == [1.0, np.inf, 1e9]
    whole_low, whole_high, _ = minimum.split(np.array([[0.0, -np.inf]]), np.array([[np.inf, np.inf]]))
    assert whole_high[0].tolist() == [np.inf, 0.0]
    assert whole_low[1].tolist() == [0.0, 0.0]


def test_tiny_and_far_boxes_are_stuck() -> None:
    one = np.nextafter(1.0, 2)
    low, high = np.array([[1.0], [0.0], [1.0], [200.0]]), np.array([[one], [2.0], [1.0], [np.inf]])
    new_low, _, stuck = minimum.split(low, high, far=100.0)
    assert stuck.tolist() == [True, False, True, True]
    assert new_low[:, 0].tolist() == [0.0, 1.0]
    assert not minimum.split(np.array([[200.0]]), np.array([[np.inf]]))[2][0]
    negative = minimum.split(np.array([[-np.inf]]), np.array([[-200.0]]), far=100.0)
    assert negative[2][0]


# ---- the search ---------------------------------------------------------------------------------------------------


def test_a_better_centre_counts_with_the_upper_end_of_its_enclosure() -> None:
    found = search(Double(room=0.25), best=np.array([3.0]), upper=64.0)
    minimum._improve(found, np.array([[2.0], [1.5], [0.5]]))
    assert found.best.tolist() == [0.5]
    assert found.upper == pytest.approx(0.75**2 + 0.25)
    minimum._improve(found, np.array([[0.6]]))
    assert found.upper == pytest.approx(0.64**2 + 0.25)
    before = found.upper
    minimum._improve(found, np.array([[0.61]]))
    assert found.upper <= before
    at_hand = search(Double(room=9.0), best=np.array([3.0]), upper=1.0)
    minimum._improve(at_hand, np.array([[1.0]]))
    assert (at_hand.upper, at_hand.best.tolist()) == (1.0, [3.0]), "its proved value is no better"
    minimum._improve(at_hand, np.empty((0, 1)))
    assert at_hand.upper == 1.0


def test_the_attained_value_is_the_upper_end_at_the_best_point() -> None:
    best, upper = minimum.attained_value(Double(room=0.125), np.array([-3.0]), np.array([3.0]))
    assert abs(best[0]) == pytest.approx(1)
    assert upper == pytest.approx(0.125, abs=1e-9)
    assert upper >= 0.125

    class Unproved(Double):
        def at(self, X: Any) -> Any:
            found = super().at(X)
            found.value = Interval(np.full(len(X), -np.inf), np.where(X[:, 0] > 0, np.nan, 7.0))
            return found

    best, upper = minimum.attained_value(Unproved(), np.array([-3.0]), np.array([3.0]))
    assert upper == 7.0
    assert best[0] < 0


def test_both_ends_are_proved_once_more_on_all_leaves() -> None:
    objective = Double(room=0.5)
    found = search(objective, low=np.array([[2.0]]), high=np.array([[3.0]]), bounds=np.array([8.0]), upper=0.75)
    found.leaves = [(np.array([[-3.0]]), np.array([[-2.0]])), (np.array([[1.5]]), np.array([[2.0]]))]
    lower, upper, certified = minimum._with_proved_functions(found)
    assert certified
    assert all(proved for _, proved in objective.asked)
    assert {what for what, _ in objective.asked} == {"at", "over"}
    assert upper == pytest.approx(0.5)
    assert lower == pytest.approx(0.5), "no bound of the covering is below the upper end"
    found.leaves.append((np.array([[0.0]]), np.array([[0.5]])))
    assert minimum._with_proved_functions(found)[0] < 0.5
    found.leaves.append((np.array([[-1.5]]), np.array([[-0.5]])))
    assert minimum._with_proved_functions(found)[0] <= -0.5


def test_without_proof_the_ends_of_the_search_stay(monkeypatch: pytest.MonkeyPatch) -> None:
    found = search(low=np.array([[2.0]]), high=np.array([[3.0]]), bounds=np.array([8.0]), upper=0.75, floor=-2.0)
    monkeypatch.setattr(minimum, "MOST_LEAVES", 0)
    assert minimum._with_proved_functions(found) == (-2.0, 0.75, False)
    monkeypatch.undo()
    found.upper = np.inf
    assert minimum._with_proved_functions(found) == (-2.0, np.inf, False)


@pytest.mark.parametrize("dx", [1, 2])
def test_the_whole_search_encloses_and_completes(dx: int) -> None:
    found = minimum.minimise_phi(Double(dx), np.full(dx, -2.0), np.full(dx, 3.0))
    assert found.lower <= 0 <= found.upper < 1e-12
    assert found.lower > -1e-9
    assert (found.bounded_part, found.complete, found.attained, found.certified) == (True, True, None, True)
    assert np.abs(found.x) == pytest.approx(np.ones(dx))
    assert found.boxes > 1
    line = minimum.minimise_phi(Double(dx), np.full(dx, -np.inf), np.full(dx, 3.0))
    assert line.lower <= 0 <= line.upper
    assert line.lower > -1e-9
    assert (line.bounded_part, line.attained) == (False, None)


def test_a_budget_or_wide_enclosures_leave_the_search_incomplete() -> None:
    cut = minimum.minimise_phi(Double(), np.array([-2.0]), np.array([3.0]), budget=3)
    assert cut.boxes <= 5
    assert not cut.complete
    assert cut.lower <= 0
    wide = minimum.minimise_phi(Double(room=0.5), np.array([-2.0]), np.array([3.0]))
    assert not wide.complete
    assert wide.lower <= -0.5 + 1e-9
    assert wide.upper == pytest.approx(0.5)


def test_boxes_that_cannot_be_split_hold_the_lower_bound_down(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(minimum, "MOST_LEAVES", 0)

    class Stuck(Double):
        def over(self, low: Any, high: Any, centre: Any) -> Any:
            found = super().over(low, high, centre)
            found.value = Interval(np.full(len(low), -5.0), found.value.hi)
            return found

    found = minimum.minimise_phi(Stuck(far=0.01, smooth=False), np.array([-2.0]), np.array([3.0]))
    assert found.lower == -5
    assert not found.complete


def test_budgets_follow_the_cost() -> None:
    assert minimum._default_budget(Double(cost=1)) == 40_000
    assert minimum._default_budget(Double(cost=1000)) == 4000
    assert minimum._default_budget(Double(cost=10**9)) == 200


def test_control_the_double_knows_when_ends_are_proved() -> None:
    assert not balls_in_use()
    with ball_ends():
        assert balls_in_use()

"""Branch and bound, step by step against a naive transcription: which boxes are bounded, probed and cut, and when."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from constants_search import INF, Box, Naive, Point, middle

from bilevel_verify.constants.search.branch import Cuts, Known, Supremum, _Search, middle_of, supremum
from bilevel_verify.intervals.elementary import balls_in_use
from bilevel_verify.numbers.rounding import Array

pytestmark = pytest.mark.fast


def compared(**given: Any) -> Naive:
    """Run both on the same questions; every question must be the same, and the answer."""
    naive = Naive(**given)
    said: list[tuple[str, set[Any]]] = []

    def rows(points: Array) -> list[Point]:
        return [tuple(row) for row in points.tolist()]

    def bound(lo: Array, hi: Array) -> Array:
        boxes = list(zip(rows(lo), rows(hi)))
        said.append(("bound in balls" if balls_in_use() else "bound", set(boxes)))
        return np.array([naive.bound(box) for box in boxes]) + (0.5 if balls_in_use() else 0.0)

    def sample(points: Array) -> Array:
        said.append(("sample", set(rows(points))))
        return np.array([naive.sample(p) for p in rows(points)])

    def slopes(points: Array) -> Array:
        assert naive.slopes is not None
        said.append(("slopes", set(rows(points))))
        return np.array([naive.slopes(p) for p in rows(points)])

    lo, hi = (np.array([box[end] for box in naive.boxes]) for end in (0, 1))
    split = None if naive.split is None else np.array(naive.split)
    steepness = None if naive.slopes is None else slopes
    with np.errstate(all="ignore"):
        found = supremum(
            bound,
            sample,
            lo,
            hi,
            naive.tolerance,
            naive.budget,
            Known(naive.floor, naive.ceiling),
            Cuts(split, steepness),
        )
    upper, lower, where, worst, boxes = naive.search()
    assert [(kind, len(what)) for kind, what in said] == [(kind, len(what)) for kind, what in naive.said]
    for mine, theirs in zip(said, naive.said):
        assert mine == theirs or mine[0] == "bound in balls"  # in pieces: which box is in which is no matter
    covered = [set().union(*(w for kind, w in one if kind == "bound in balls")) for one in (said, naive.said)]
    assert covered[0] == covered[1]
    assert (found.upper, found.lower, tuple(found.where), found.boxes) == (upper, lower, where, boxes)
    assert (tuple(found.worst[0]), tuple(found.worst[1])) == worst
    assert found.certified
    return naive


# ---- functions whose values on different boxes differ ----------------------------------------------------------------


def noise(*numbers: float) -> float:
    """Something in [0, 1) that is hardly twice the same."""
    total = sum(math.sin(3.7 + 2.3 * k) * math.atan(v) for k, v in enumerate(numbers))
    return math.sin(1e4 * total) * 5e3 % 1.0


def shrinking(box: Box) -> float:
    """Falls with the size of the box (or as an end goes to infinity), by different amounts everywhere."""
    total = 1.0 + 1e-5 * noise(*box[0], *box[1])
    for a, b in zip(*box):
        far = max(a, -b, 0.0)
        line = 41.0 if math.isinf(a) and math.isinf(b) else 40.0 - math.atan(math.log1p(far))
        total += math.log1p(b - a) if math.isfinite(b - a) else line
    return total


def wobbling(box: Box) -> float:
    """May be larger on a child than on its parent."""
    return 1.0 + noise(*box[0], *box[1])


def low(point: Point) -> float:
    return 0.5 * noise(*point)


def nowhere(point: Point) -> float:
    return -INF


def row(count: int, first: int = 0) -> list[Box]:
    """Unit intervals side by side."""
    return [((float(k),), (float(k + 1),)) for k in range(first, first + count)]


def cube(*ranges: tuple[float, float]) -> list[Box]:
    return [(tuple(float(a) for a, _ in ranges), tuple(float(b) for _, b in ranges))]


# ---- the comparisons -------------------------------------------------------------------------------------------------

SQUARE, WIDE = cube((0, 1), (0, 1)), cube((-1, 2), (0, 100))
MIXED = cube((0, INF), (-3, 5))
LINES = cube((-INF, INF), (-INF, 2))


@pytest.mark.slow
@pytest.mark.parametrize("tolerance", [1e-3, 0.5])
@pytest.mark.parametrize("boxes", [cube((0, 1)), SQUARE, WIDE, MIXED, LINES, cube((2, 2), (0, 3))])
@pytest.mark.parametrize("bound", [shrinking, wobbling])
def test_every_question_of_a_short_search_is_that_of_the_transcription(
    boxes: list[Box], tolerance: float, bound: Callable[[Box], float]
) -> None:
    budget = 500 if bound is shrinking else 100  # among equal bounds any may come first
    compared(bound=bound, sample=low, boxes=boxes, tolerance=tolerance, budget=budget)


@pytest.mark.parametrize("budget", [0, 1, 2, 64, 65, 66, 193, 300, 700, 2500])
def test_every_budget_is_that_of_the_transcription(budget: int) -> None:
    compared(bound=shrinking, sample=low, boxes=WIDE, tolerance=1e-3, budget=budget)


@pytest.mark.parametrize("count", [2, 3, 5, 20, 79, 80, 81, 100, 160, 161])
def test_many_boxes_to_begin_with(count: int) -> None:
    compared(bound=shrinking, sample=low, boxes=row(count), tolerance=1e-3, budget=count + 1)


def test_a_step_cuts_at_most_so_many_boxes_and_probes_the_most_promising() -> None:
    naive = compared(bound=shrinking, sample=low, boxes=row(2100), tolerance=1e-3, budget=5000)
    kinds = [(kind, len(what)) for kind, what in naive.said]
    assert kinds[:4] == [("bound", 2100), ("sample", 2100), ("bound", 4096), ("sample", 512)]
    compared(bound=shrinking, sample=low, boxes=row(100), tolerance=1e-3, budget=110)


@pytest.mark.parametrize("place", [0.3, 0.0, 1.0])
def test_a_peak_is_cut_down_to_a_least_width(place: float) -> None:
    def peak(box: Box) -> float:
        return 9.0 if box[0][0] <= place <= box[1][0] else 0.25

    naive = compared(bound=peak, sample=lambda p: 0.5, boxes=cube((0, 1)), tolerance=1e-3, budget=4000)
    assert min(box[1][0] - box[0][0] for box in naive.boxes) == 2.0**-42
    square = cube((0, 1), (0, 1))
    compared(bound=peak, sample=lambda p: 0.5, boxes=square, tolerance=1e-3, budget=4000, split=(True, False))


@pytest.mark.parametrize("width", [1e-11, 1.5e-11, 2e-11])
def test_a_box_of_the_least_width_is_not_cut(width: float) -> None:
    boxes = [((0.0,), (1.0,)), ((0.0,), (width,))]

    def bound(box: Box) -> float:
        return 5.0 + noise(*box[0], *box[1]) if box[1][0] <= width else 0.25

    naive = compared(bound=bound, sample=lambda p: 0.5, boxes=boxes, tolerance=1e-3, budget=70)
    assert naive.evaluated == (2 if width == 1e-11 else 66)


@pytest.mark.parametrize(
    "boxes",
    [
        cube((1e12, INF)),
        cube((0.999e12, INF)),
        cube((-INF, -1e12)),
        cube((-INF, -0.999e12)),
        cube((-INF, -1.5e12)),
        cube((-INF, 1e12)),
        cube((-1e13, INF)),
        cube((0, 1), (1e12, INF)),
        cube((0, 1), (-INF, -2e12)),
        cube((1e13, 2e13), (0, 1)),
    ],
)
def test_far_tails_are_left_and_nothing_else(boxes: list[Box]) -> None:
    compared(bound=wobbling, sample=nowhere, boxes=boxes, tolerance=1e-3, budget=100, floor=0.0)


@pytest.mark.parametrize("box", [cube((0, INF)), cube((-INF, 0)), cube((-INF, INF))])
def test_a_tail_is_chased_until_it_is_far(box: list[Box]) -> None:
    def bound(box: Box) -> float:
        return 5.0 if math.isinf(box[0][0]) or math.isinf(box[1][0]) else 0.25

    naive = compared(bound=bound, sample=lambda p: 0.5, boxes=box, tolerance=1e-3, budget=3000)
    assert max(abs(v) for b in naive.boxes for end in b for v in end if math.isfinite(v)) > 1e12
    assert naive.evaluated < 700


@pytest.mark.parametrize("split", [(True, False), (False, True), (True, True), (False, False)])
def test_only_what_may_be_cut_is_cut(split: tuple[bool, ...]) -> None:
    compared(bound=shrinking, sample=low, boxes=WIDE, tolerance=1e-3, budget=400, split=split)


@pytest.mark.slow
@pytest.mark.parametrize("floor", [-INF, -3.0, 0.0, 1.05, 4.0])
@pytest.mark.parametrize("sample", [low, nowhere, lambda p: -2.0, lambda p: math.nan, lambda p: INF])
def test_what_is_known_beforehand_and_what_is_reached(floor: float, sample: Callable[[Point], float]) -> None:
    compared(bound=shrinking, sample=sample, boxes=SQUARE, tolerance=1e-2, budget=1500, floor=floor)


@pytest.mark.parametrize("value", [0.0, 1e-305, 1e-302])
def test_next_to_zero_the_gap_is_absolute(value: float) -> None:
    compared(bound=lambda box: value, sample=lambda p: 0.0, boxes=cube((0, 1)), tolerance=1e-3, budget=100)


@pytest.mark.parametrize("reached", [-2.0, 2.0])
@pytest.mark.parametrize("above", [0.019, 0.021])
def test_the_gap_is_relative_to_the_size_of_what_was_reached(reached: float, above: float) -> None:
    naive = compared(bound=lambda box: reached + above, sample=lambda p: reached, boxes=cube((0, 1)),
                     tolerance=1e-2, budget=100, floor=-INF)  # fmt: skip
    assert (naive.evaluated > 1) == (above > 0.02)


@pytest.mark.slow
@pytest.mark.parametrize("before", [1845, 1851, 1856, 1857, 1861, 1870, 3400, 3936, 3937, 5000])
@pytest.mark.parametrize("budget", [7000, 16000])
@pytest.mark.parametrize("ceiling", [6.0, 6.5, INF])
def test_a_search_above_its_ceiling_ends_after_a_quarter_of_its_budget(
    before: int, budget: int, ceiling: float
) -> None:
    """One box of many is active: 64 pieces a step."""

    def bound(box: Box) -> float:
        return 6.0 if box == ((0.0,), (1.0,)) or box[1][0] == 1.0 else 0.25

    if before > 3000 and budget == 7000:
        return
    compared(bound=bound, sample=lambda p: 0.5, boxes=row(before), tolerance=1e-3, budget=budget, ceiling=ceiling)


@pytest.mark.slow
@pytest.mark.parametrize("before", [530, 560, 736, 737, 800, 900])
def test_few_variables_get_slopes_after_a_fifth_of_the_budget(before: int) -> None:
    boxes = [((float(k), 0.0), (float(k + 1), 1.0)) for k in range(before)]

    def bound(box: Box) -> float:
        return shrinking(box) if box[1][0] <= 1.0 else 0.25

    naive = compared(bound=bound, sample=lambda p: 0.5, boxes=boxes, tolerance=1e-9, budget=4000,
                     slopes=lambda p: (1.0 + p[0], 3.0))  # fmt: skip
    assert any(kind == "slopes" for kind, _ in naive.said)


def steep(point: Point) -> Point:
    return tuple(1.0 + 3.0 * noise(v, k) for k, v in enumerate(point))


SLOPES: dict[str, Callable[[Point], Point]] = {
    "different": steep,
    "zero": lambda p: (0.0,) * len(p),
    "one": lambda p: (0.0,) * (len(p) - 1) + (1.0,),
    "negative": lambda p: (-1.0,) * len(p),
    "not a number": lambda p: (math.nan,) + (2.0,) * (len(p) - 1),
    "infinite somewhere": lambda p: (INF if p[0] > 0.5 else 1.0,) + (2.0,) * (len(p) - 1),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", SLOPES)
@pytest.mark.parametrize("count", [2, 3, 4, 5])
def test_slopes_choose_the_cuts_as_in_the_transcription(name: str, count: int) -> None:
    boxes = cube(*[(0, k + 1) for k in range(count)])
    compared(bound=shrinking, sample=low, boxes=boxes, tolerance=1e-3, budget=700, slopes=SLOPES[name])


def test_a_side_that_is_cut_already_waits_for_the_longest_one() -> None:
    boxes = cube((0, 1), (0, 1), (0, 1), (0, 1))
    naive = compared(bound=shrinking, sample=low, boxes=boxes, tolerance=1e-3, budget=3000, slopes=SLOPES["one"])
    sides = [[b - a for a, b in zip(*box)] for box in naive.boxes]
    assert max(max(s) / min(s) for s in sides) <= 16.0
    compared(bound=shrinking, sample=low, boxes=boxes, tolerance=1e-3, budget=900, slopes=steep,
             split=(True, False, True, True))  # fmt: skip


@pytest.mark.parametrize("boxes", [cube((0, INF), (0, 1), (0, 1), (-3, 5)), cube((-INF, 2), (0, 1), (0, 1), (0, 1))])
def test_slopes_are_not_asked_at_infinity(boxes: list[Box]) -> None:
    compared(bound=shrinking, sample=low, boxes=boxes, tolerance=1e-3, budget=500, slopes=steep)


def test_a_large_covering_is_certified_in_pieces() -> None:
    naive = compared(bound=shrinking, sample=low, boxes=row(9000), tolerance=1e-3, budget=1)
    assert [len(what) for kind, what in naive.said if kind == "bound in balls"] == [4096, 4096, 808]
    naive = compared(bound=lambda box: INF, sample=low, boxes=row(3), tolerance=1e-3, budget=1)
    assert [kind for kind, _ in naive.said] == ["bound", "sample"]


def test_the_floor_is_zero_and_no_ceiling_is_set_if_nobody_says_so() -> None:
    found = supremum(lambda lo, hi: hi[:, 0], lambda p: np.full(len(p), -1.0), np.zeros(1), np.ones(1), 1e-3, 1)
    assert isinstance(found, Supremum)
    assert (found.lower, tuple(found.where)) == (0.0, (0.5,))


def test_middles_are_those_of_the_transcription() -> None:
    ends = [-INF, -1e305, -1e299, -3.0, -0.0, 0.0, 1e-300, 2.0, 1e299, 1.7e308, INF]
    pairs = [(a, b) for a in ends for b in ends if a <= b and (a, b) not in ((INF, INF), (-INF, -INF))]
    lo, hi = (np.array([[p[k]] for p in pairs]) for k in (0, 1))
    assert middle_of(lo, hi)[:, 0].tolist() == [middle(a, b) for a, b in pairs]


def test_a_width_that_is_no_number_is_none() -> None:
    search = _Search(
        lambda lo, hi: np.ones(len(lo)), lambda p: np.zeros(len(p)), np.zeros(2), np.ones(2), 1e-3, 0.0, None
    )
    widths = search._widths(np.array([[INF, 0.0]]), np.array([[INF, 0.5]]))
    assert widths.tolist() == [[0.0, 0.5]]

"""Boxes of matrices, each rule alone, against fractions: what a product rounds away, radii, systems, slopes, ranges."""

from __future__ import annotations

import itertools
import random
from fractions import Fraction
from math import inf

import numpy as np
import pytest

import bilevel_verify as bv
from bilevel_verify.intervals.batch import Interval
from bilevel_verify.truth.arithmetic.algebra import Boxes, middle_radius
from bilevel_verify.truth.lower_level.brackets import by_slopes
from bilevel_verify.truth.lower_level.pointwise import Pointwise
from tests.seeds import SEED

pytestmark = pytest.mark.fast
F = Fraction
PLACES = Pointwise(
    bv.bilevel(f="x1 + y1", g="y1**2 - x1*y1 + x2*y1", x="x1 x2", y="y1", domain={"x1": (-1, 1), "x2": (-1, 1)}), 120
)
BOXES = Boxes()


def box(low: object, high: object | None = None) -> Interval:
    """One matrix, or two ends of one."""
    ends = [np.array(end, dtype=float)[None] for end in (low, low if high is None else high)]
    return Interval(*ends)


# --- radii


@pytest.mark.parametrize(
    ("low", "high"),
    [(1.0, 1.0 + 2**-52), (1.0 + 2**-52, 1.0 + 2**-51), (-1.0 - 2**-52, -1.0), (0.1, 0.3), (0.0, 5e-324),
     (-1e308, 1e308), (-3.0, 7.0)],
)  # fmt: skip
def test_a_radius_reaches_both_ends_and_little_more(low: float, high: float) -> None:
    """Between neighbouring floats the middle is one of them: the radius is the distance to the other."""
    middle, radius = middle_radius(Interval(np.array([low]), np.array([high])))
    far = max(F(high) - F(middle[0]), F(middle[0]) - F(low))
    assert far <= F(radius[0]) <= far * (1 + F(1, 2**50)) + F(1, 10**323)


def test_points_have_no_radius_and_unbounded_intervals_have_all() -> None:
    middle, radius = middle_radius(Interval(np.array([0.1, -inf, 2.0]), np.array([0.1, 1.0, inf])))
    assert radius.tolist() == [0.0, inf, inf]
    assert middle.tolist() == [0.1, 0.0, 0.0]


# --- products


def exact(a: list[list[float]], b: list[list[float]]) -> list[list[Fraction]]:
    return [[sum((F(x) * F(y) for x, y in zip(row, column)), F(0)) for column in zip(*b)] for row in a]


@pytest.mark.parametrize("k", [2, 3, 4, 7, 20])
def test_a_product_of_points_holds_what_the_floats_cancel(k: int) -> None:
    """1e16 + 1 - 1e16 is 0 or 2 in floats, in whatever order; the room for it is that of the sizes."""
    chance = random.Random(SEED + k)
    for _ in range(20):
        big = [chance.choice((1e16, 3e15, 7e16)) * chance.choice((1, -1)) for _ in range(k // 2)]
        row = [*big, *(chance.uniform(-1, 1) for _ in range(k % 2)), *(-v for v in big)]
        chance.shuffle(row)
        column = [[1.0 + chance.random()] for _ in row]
        found = BOXES.product(box([row]), box(column))
        wanted = exact([row], column)[0][0]
        size = sum(abs(F(a) * F(b[0])) for a, b in zip(row, column))
        assert F(found.lo[0, 0, 0]) <= wanted <= F(found.hi[0, 0, 0])
        assert F(found.hi[0, 0, 0]) - F(found.lo[0, 0, 0]) <= size * (8 * k + 32) * F(1, 2**53)


def test_a_sum_that_vanishes_in_floats_is_enclosed() -> None:
    for row in itertools.permutations((1e16, 1.0, -1e16)):
        found = BOXES.product(box([list(row)]), box([[1.0], [1.0], [1.0]]))
        assert found.lo[0, 0, 0] <= 1.0 <= found.hi[0, 0, 0]


def test_a_product_of_boxes_holds_every_product_of_corners() -> None:
    chance = random.Random(SEED)
    for _ in range(20):
        ends = [[sorted((chance.uniform(-2, 2), chance.uniform(-2, 2))) for _ in range(4)] for _ in range(2)]
        one, two = (box([[e[0] for e in pair[:2]], [e[0] for e in pair[2:]]],
                        [[e[1] for e in pair[:2]], [e[1] for e in pair[2:]]]) for pair in ends)  # fmt: skip
        found = BOXES.product(one, two)
        for _ in range(30):
            a, b = ([[chance.choice(e) for e in pair[:2]], [chance.choice(e) for e in pair[2:]]] for pair in ends)
            for i, j in itertools.product(range(2), repeat=2):
                assert F(found.lo[0, i, j]) <= exact(a, b)[i][j] <= F(found.hi[0, i, j])


def test_a_product_that_overflows_is_the_whole_line() -> None:
    found = BOXES.product(box([[1e200, 1e200]]), box([[1e200], [-1e200]]))
    assert (found.lo[0, 0, 0], found.hi[0, 0, 0]) == (-inf, inf)
    small = BOXES.product(box([[1e-200]]), box([[1e-200]]))
    assert small.lo[0, 0, 0] <= 0 < small.hi[0, 0, 0]
    assert F(1, 10**400) <= F(small.hi[0, 0, 0])


# --- systems


@pytest.mark.parametrize(
    ("low", "high"),
    [(-0.2, 2.2), (0.0, 2.0), (-0.5, 2.5), (-1.0, 1.0), (-0.9, 3.1), (0.0, 0.0), (-inf, inf), (1.0, inf)],
)
def test_a_system_that_may_be_singular_has_the_whole_line(low: float, high: float) -> None:
    found = BOXES.solve(box([[low]], [[high]]), box([[1.0]]))
    assert (found.lo[0, 0, 0], found.hi[0, 0, 0]) == (-inf, inf)
    both = BOXES.solve(box([[low, 0], [0, 1]], [[high, 0], [0, 1]]), box([[1.0], [1.0]]))
    assert both.lo[0, 0, 0] == -inf
    assert both.hi[0, 0, 0] == inf


@pytest.mark.parametrize(("low", "high"), [(0.5, 1.5), (1.0, 1.0), (2.0, 4.0), (-3.0, -1.0), (0.25, 1.75)])
def test_a_regular_system_holds_the_solutions_of_its_ends(low: float, high: float) -> None:
    found = BOXES.solve(box([[low]], [[high]]), box([[1.0]], [[2.0]]))
    for a, b in itertools.product((low, high), (1.0, 2.0)):
        assert F(found.lo[0, 0, 0]) <= F(b) / F(a) <= F(found.hi[0, 0, 0])


def test_two_unknowns_hold_the_solutions_of_every_corner() -> None:
    low, high = [[2.0, -0.25], [0.125, 1.0]], [[2.5, 0.25], [0.375, 1.25]]
    found = BOXES.solve(box(low, high), box([[1.0], [-1.0]]))
    for pick in itertools.product((0, 1), repeat=4):
        a, b, c, d = (F((low, high)[k][i][j]) for k, (i, j) in zip(pick, itertools.product((0, 1), repeat=2)))
        determinant = a * d - b * c
        for i, value in enumerate(((d + b) / determinant, (-a - c) / determinant)):
            assert F(found.lo[0, i, 0]) <= value <= F(found.hi[0, i, 0])


# --- slopes


@pytest.mark.parametrize("centre", [2.0, 0.0, -1.0])
def test_a_minimiser_by_its_slope_is_taken_from_the_centre(centre: float) -> None:
    """``y* = x/2`` of ``y^2 - x y``, from a point that need not be 0."""
    low, high = centre - 1.0, centre + 3.0
    (found,) = by_slopes(
        box([[2.0]]), box([[-1.0]]), [Interval(np.array([low]), np.array([high]))], np.array([[centre]]),
        [Interval(np.array([centre / 2]), np.array([centre / 2]))],
    )  # fmt: skip
    assert found.lo[0] <= low / 2 <= found.lo[0] + 1e-9
    assert found.hi[0] - 1e-9 <= high / 2 <= found.hi[0]


# --- certainty at a point


@pytest.mark.parametrize("x", list(itertools.product((-1.0, 0.0, 1.0, 1.5, -2.0), repeat=2)))
def test_convexity_is_certified_where_every_coordinate_is_in_its_range(x: tuple[float, float]) -> None:
    inside = all(abs(v) <= 1 for v in x)
    assert PLACES.certainty_at(x) == ("certified" if inside else "computed")

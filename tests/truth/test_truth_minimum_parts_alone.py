"""What a minimum is made of, each step alone: a proved box, its signs, the gradient inequality, terms, blocks."""

from __future__ import annotations

from itertools import product
from math import inf
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import sympy
from flint import arb, arb_mat

import bilevel_verify as bv
from bilevel_verify.problems.problem import Problem
from bilevel_verify.truth.functions.model import model_of
from bilevel_verify.truth.lower_level.points import Points
from bilevel_verify.truth.minimum.convex_minimum import _by_gradient, _krawczyk, _signs_hold
from bilevel_verify.truth.minimum.minimum import Minimum
from bilevel_verify.truth.minimum.objective import PhiObjective
from bilevel_verify.truth.minimum.separable import combined, parts_of
from bilevel_verify.truth.minimum.term_bounds import sum_of_term_bounds

pytestmark = pytest.mark.fast


class Known:
    """Gradient and Hessian of a function that falls apart into functions of one variable."""

    def __init__(self, slopes: Any, curvatures: Any) -> None:
        self.slopes, self.curvatures = slopes, curvatures

    def ball_hyper(self, x: list[Any], near: Any) -> Any:
        n = len(x)
        gradient = arb_mat(n, 1, [slope(v) for slope, v in zip(self.slopes, x)])
        entries = [self.curvatures[i](x[i]) if i == j else arb(0) for i in range(n) for j in range(n)]
        return SimpleNamespace(gradient=gradient, hessian=arb_mat(n, n, entries))


def ones(*values: float) -> np.ndarray:
    return np.array(values, dtype=float)


# --- a proved box


def square(centre: float) -> tuple[Any, Any]:
    return lambda v: 2 * (v - arb(centre)), lambda v: arb(2) + 0 * v


def kinked(centre: float) -> tuple[Any, Any]:
    """``t + 2 |t|`` has a slope anywhere in [-1, 3] on every interval around its zero: no box is mapped into itself."""
    return lambda v: v - centre + 2 * abs(v - centre), lambda v: 1 + 2 * (v - centre).sgn()


@pytest.mark.parametrize("kinds", list(product([square, kinked], repeat=2)))
def test_a_box_is_proved_only_if_every_coordinate_is_mapped_into_it(kinds: Any) -> None:
    slopes, curvatures = zip(*(kind(centre) for kind, centre in zip(kinds, (0.25, -0.5))))
    points: Any = Known(slopes, curvatures)
    start = [arb(0.25), arb(-0.5)]
    far = ones(9, 9)
    found = _krawczyk(points, start, ones(0.25, -0.5), [], [0, 1], -far, far)
    assert (found is not None) is (kinds == (square, square))
    if found is not None:
        assert all(entry.contains(arb(centre)) for entry, centre in zip(found, (0.25, -0.5)))


@pytest.mark.parametrize(
    ("at", "slope", "holds"),
    [("low", 1, True), ("low", 0, True), ("low", -1, False), ("high", -1, True), ("high", 0, True), ("high", 1, False)],
)
@pytest.mark.parametrize(("free", "inside"), [(0.5, True), (0.0, True), (1.0, True), (1.25, False), (-0.25, False)])
def test_slopes_point_outward_and_free_coordinates_lie_inside(
    at: str, slope: int, holds: bool, free: float, inside: bool
) -> None:
    """Both are asked: one without the other is no minimiser."""
    points: Any = Known((lambda v: arb(slope), lambda v: arb(0)), (lambda v: arb(1), lambda v: arb(1)))
    end = 0.0 if at == "low" else 1.0
    box = [arb(end), arb(free)]
    found = _signs_hold(points, box, ones(end, free), [0], [1], ones(0, 0), ones(1, 1))
    assert found is (holds and inside)


def test_one_free_coordinate_outside_or_one_slope_inward_is_enough() -> None:
    flat = tuple(lambda v: arb(0) for _ in range(2))
    points: Any = Known(flat, flat)
    for second in (0.5, 2.0):
        box = [arb(0.5), arb(second)]
        assert _signs_hold(points, box, ones(0.5, second), [], [0, 1], ones(0, 0), ones(1, 1)) is (second < 1)
    for slope in (1, -1):
        points = Known((lambda v: arb(1), lambda v, s=slope: arb(s)), flat)
        box = [arb(0), arb(0)]
        assert _signs_hold(points, box, ones(0, 0), [0, 1], [], ones(0, 0), ones(1, 1)) is (slope > 0)


# --- the gradient inequality


def lower_of(text: str, best: tuple[float, ...], low: float, high: float) -> Minimum | None:
    x = sympy.symbols("x1 x2", real=True)
    problem = Problem(kind="single_level", f=sympy.sympify(text, locals={s.name: s for s in x}), x=x)
    objective = PhiObjective(Points(model_of(problem), lambda: None))  # type: ignore[arg-type,return-value]
    return _by_gradient(objective, ones(*best), ones(low, low), ones(high, high))


@pytest.mark.parametrize(
    ("text", "best", "low", "high", "least", "room"),
    [
        ("x1 + x2", (1, 1), 0, 1, 0, 1e-9),  # what falls falls in every coordinate
        ("x1 + 3*x2", (1, 1), 0, 1, 0, 1e-9),
        ("-3*x1 - x2", (0, 0), 0, 1, -4, 1e-9),
        ("x1**2 + x2**2", (1, 1), -inf, inf, 0, 1e-9),  # |grad|^2 / (2 mu) below the value, and no less
        ("x1**2 + x2**2", (1, 1), -3, 3, 0, 1e-9),
        ("x1**2 + 4*x2**2", (1, 0), -inf, inf, 0, 1e-9),
        ("x1**2/2 + 2*x2**2", (0, 1), -inf, inf, 0, 6.1),  # 2 - 16/2
        ("x1**2 + x2", (0, 0), -1, 1, -1, 1e-9),
    ],
)
def test_the_gradient_inequality_bounds_from_below(
    text: str, best: Any, low: float, high: float, least: float, room: float
) -> None:
    found = lower_of(text, best, low, high)
    assert found is not None
    assert least - room <= found.lower <= least
    assert found.certified


def test_without_an_end_and_without_curvature_nothing_is_bounded() -> None:
    assert lower_of("x1 + x2", (0, 0), -inf, 1) is None
    assert lower_of("x1 + x2", (0, 0), 0, inf) is not None  # it rises there


# --- sums of terms


@pytest.mark.parametrize(
    ("f", "box", "least"),
    [
        ("x1 + x2", ((1, 3), (2, 4)), 4),
        ("x1 - x2", ((1, 3), (2, 4)), -3),
        ("-x1 - x2 + 1", ((1, 3), (2, 4)), -5),
        ("x1**2 + x2**2", ((-1, 1), (2, 3)), 1),
        ("x1*x2 + x3", ((1, 1, -2), (2, 2, -1)), -1),
    ],
)
def test_terms_are_bounded_one_by_one_and_added(f: str, box: Any, least: float) -> None:
    names = " ".join(f"x{i + 1}" for i in range(len(box[0])))
    problem = bv.single_level(f=f, x=names)
    points = Points(model_of(problem), lambda: None)  # type: ignore[arg-type,return-value]
    found = sum_of_term_bounds(problem, points, ones(*box[0]), ones(*box[1]))
    assert least - 1e-5 <= found <= least


# --- independent blocks


def minimum(lower: float, upper: float, x: float, **more: Any) -> Minimum:
    given = {"bounded_part": True, "boxes": 1, "complete": True, "method": "told", "attained": True, "certified": True}
    return Minimum(lower, upper, ones(x), **{**given, **more})


PROBLEM = bv.single_level(f="(x1 - 1)**2 + x2**2 + x3**4", x="x1 x2 x3")


def whole(*minima: Minimum) -> Minimum:
    parts = parts_of(PROBLEM)
    assert [part.x for part in parts] == [(s,) for s in PROBLEM.x]
    return combined(PROBLEM, parts, list(minima))


def test_ends_of_blocks_are_added_each_to_its_own_and_rounded_outward() -> None:
    found = whole(minimum(0.1, 0.2, 5), minimum(1.0, 3.0, 6), minimum(-0.7, -0.5, 7, boxes=3))
    assert found.lower < 0.4 < found.lower + 1e-15
    assert found.upper - 1e-14 < 2.7 < found.upper
    assert found.x.tolist() == [5, 6, 7]
    assert found.boxes == 5


@pytest.mark.parametrize("name", ["certified", "complete", "bounded_part"])
@pytest.mark.parametrize("weak", [None, 0, 1, 2])
def test_a_sum_claims_what_every_block_claims(name: str, weak: int | None) -> None:
    found = whole(*(minimum(0, 1, 0, **{name: k != weak}) for k in range(3)))
    assert getattr(found, name) is (weak is None)


@pytest.mark.parametrize("attained", list(product([True, False, None], repeat=3)))
def test_a_sum_is_attained_where_every_block_is(attained: Any) -> None:
    found = whole(*(minimum(0, 1, 0, attained=a) for a in attained))
    wanted = True if set(attained) == {True} else False if False in attained else None
    assert found.attained is wanted


@pytest.mark.parametrize("place", range(3))
def test_a_block_without_bound_has_the_last_word(place: int) -> None:
    minima = [minimum(-inf, -inf, 0, certified=False) if k == place else minimum(0, 1, 0) for k in range(3)]
    found = whole(*minima)
    assert found.upper == -inf
    assert not found.certified
    assert found.x.shape == (3,)

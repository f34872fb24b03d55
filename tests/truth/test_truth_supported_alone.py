"""Error bars that follow from facts about the lower level, number by number."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from types import SimpleNamespace
from typing import Any

import flint
import numpy as np
import pytest
import sympy
from truth_facts import arbs, close, end, facts, level, vectors

import bilevel_verify as bv
from bilevel_verify.truth.functions.model import Function
from bilevel_verify.truth.lower_level.points import precision
from bilevel_verify.truth.simple_bilevel import supported as room
from bilevel_verify.truth.simple_bilevel.facts import Row
from bilevel_verify.truth.simple_bilevel.path_following import Region
from bilevel_verify.truth.simple_bilevel.supported import Supported

pytestmark = pytest.mark.fast
F = Fraction
INF = np.inf
T = sympy.Symbol("t", real=True)
LIFT = np.array([[1.0, 0, -1, 0], [0, 1, 0, -1]])


# ---- the upper level ----------------------------------------------------------------------------------------------


def test_one_point_or_a_set(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(room, "_at_one_point", lambda *_: "one point")
    monkeypatch.setattr(room, "_over_the_set", lambda *_: "a set")
    assert room.supported(level(), facts(single=0.0)) == "one point"
    assert room.supported(level(), facts()) == "a set"

    def refuses(*_: Any) -> Any:
        raise bv.MathematicalError("no value")

    monkeypatch.setattr(room, "_over_the_set", refuses)
    assert room.supported(level(), facts()) == "no value"


def test_at_one_point_the_slope_carries_the_radius(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(room, "_value", lambda f, z: flint.arb(2) if f == "f" else None)
    monkeypatch.setattr(room, "_norm", lambda f, z: 8.0 if f == "f" else None)
    for single in (0.0, 1e-9, 1e-6):
        found = room._at_one_point(level(), facts(single=single))
        assert isinstance(found, Supported)
        assert found.f == 2.0
        assert 16 * single <= found.f_error <= 16 * single * (1 + 1e-14)
        assert found.x.tolist() == [3.0, 4.0]
        assert found.x_error == single + 4 * 2.0**-52 * 6
    for single in (1.5e-6, INF):
        assert isinstance(room._at_one_point(level(), facts(single=single)), str)


def over(
    monkeypatch: pytest.MonkeyPatch, last: Any, gap: Any = 0, rooms: Any = (), width: float = 0.0, spread: float = 0.5
) -> Any:
    """The answer over a set with given last iterate, value of g there and rooms of the equations."""
    seen: dict[str, Any] = {}
    region: Any = SimpleNamespace(room=width)
    monkeypatch.setattr(room, "_described", lambda *_: (region, list(rooms), [0]))
    monkeypatch.setattr(room, "follow", lambda f, where, start: seen.update(follow=(f, where, start)) or last)
    monkeypatch.setattr(room, "_value", lambda f, z: 7 + gap if f == "g" else None)
    monkeypatch.setattr(room, "_spread", lambda simple, where, one, error, owners: seen.update(error=error) or spread)
    with precision(1280):
        found = room._over_the_set(level(), facts())
    assert seen["follow"] == ("f", region, [5.0, 6.0])
    return found, seen.get("error")


def test_every_source_of_error_counts(monkeypatch: pytest.MonkeyPatch) -> None:
    bare = {"weights": arbs(0, 0), "free": arbs()}
    found, error = over(monkeypatch, end(**bare, value=flint.arb(2)))
    assert (found.f, found.f_error, found.x.tolist(), found.x_error, error) == (2.0, 0.0, [3.0, 4.0], 0.5, 0.0)
    _, error = over(monkeypatch, end(**bare, below=3e-20))
    assert error == 3e-20
    _, error = over(monkeypatch, end(weights=arbs(0), free=arbs(-2, 3)), rooms=(1e-10, 1e-12))
    assert error == close(2e-10 + 3e-12, rel=1e-14)
    _, error = over(monkeypatch, end(weights=arbs(2, 0.5), free=arbs()), width=1e-20)
    assert error == close(4e-20 * 2.5, rel=1e-14)
    for off in (0.5e-24, -0.5e-24):
        found, error = over(monkeypatch, end(**bare, below=1e-24), flint.arb(off))
        assert error == close(1e-24 + 0.5e-21, rel=1e-9)
        assert found.f_error >= error
    _, error = over(monkeypatch, end(weights=arbs(1), free=arbs(1), below=1e-12), rooms=(2e-12,), width=1e-12)
    assert error == close(7e-12, rel=1e-14)


def test_the_point_has_to_be_a_solution_of_the_lower_level(monkeypatch: pytest.MonkeyPatch) -> None:
    """``g - g*`` up to 1e-24, on either side, and at the worse end of its ball."""
    for gap, fine in ((1e-24, True), (1.5e-24, False), (-1.5e-24, False), (-0.9e-24, True), (float("nan"), False)):
        found, _ = over(monkeypatch, end(), flint.arb(gap))
        assert isinstance(found, Supported if fine else str), gap
    wide, _ = over(monkeypatch, end(), flint.arb(0, 1e-20))
    assert isinstance(wide, str)
    below, _ = over(monkeypatch, end(), flint.arb(-1e-20, 1e-20))
    assert isinstance(below, str), "its upper end alone says nothing"
    assert isinstance(over(monkeypatch, None)[0], str)


def test_the_set_of_the_facts() -> None:
    """Equations, then supporting rows, then forms: independent ones with rooms; other rows stay inequalities."""
    simple = level()
    simple.feasible.G = np.array([[1.0, 2.0], [3.0, 0.5], [1.0, 1.0], [0.0, 1.0]])
    simple.feasible.h = np.array([4.0, 5.0, 3.0, 9.0])
    row = Row([F(1), F(0)], flint.arb(6), 3e-30)
    known = facts(supporting={2: 1e-30, 0: 2e-30}, rows=[row], halves=[([F(0), F(1)], F(1, 2**20))])
    region, rooms, left = room._described(simple, known)
    assert vectors((1, 1), (1, 2)) == region.E, (
        "the supporting row 2 is the equation again, and the form depends on both"
    )
    assert [float(v) for v in region.e] == [3.0, 4.0]
    assert (rooms, left) == ([0.0, 2e-30], [1, 3])
    assert vectors((3, F(1, 2)), (0, 1), (0, 1)) == region.G
    assert [float(v) for v in region.h] == [5.0, 9.0, 2.0**-20]
    assert (region.T, region.n, len(region.balls)) == (None, 2, 1)
    assert region.room == close(3e-26)
    alone = level()
    alone.feasible.E, alone.feasible.e = np.empty((0, 2)), np.empty(0)
    region, rooms, left = room._described(alone, facts(rows=[row]))
    assert (region.E, [float(v) for v in region.e], rooms, left) == (vectors((1, 0)), [6.0], [3e-30], [0, 1])


@pytest.mark.parametrize(
    ("halves", "known", "width"),
    [
        ((), 0.0, 1e-30), ((F(1),), 0.0, 1e-30), ((F(1, 2**20),), 0.0, 1e-30), ((F(1, 2**20 + 1),), 0.0, 1e-14),
        ((F(1, 3),), 0.0, 1e-30),
        ((F(1), F(1, 2**21)), 0.0, 1e-14), ((), 1e-20, 1e-16), ((F(1, 2**21),), 1e-20, 1e-14), ((F(1, 2**21),),
        1e-9, 1e-5),
    ],
)  # fmt: skip
def test_sets_are_widened_by_what_is_not_known(halves: Any, known: float, width: float) -> None:
    ends = [([F(1), F(0)], value) for value in halves]
    assert room._described(level(), facts(halves=ends, supporting={0: known}))[0].room == close(width, rel=1e-12)


def spread(
    bend: Any,
    error: float = 0.0,
    weights: Any = (),
    G: Any = (),
    E: Any = (),
    lift: Any = None,
    width: float = 0.0,
    z: Any = (3, 4),
) -> float:
    matrix = np.array(bend, dtype=float)
    n = len(matrix)
    region = Region(None if lift is None else vectors(*lift), vectors(*G), [], vectors(*E), [], [], width, n)
    simple = level(smooth=lambda f: lambda x: (0.0, x, matrix))
    return room._spread(simple, region, end(z=arbs(*z), weights=arbs(*weights)), error, [])


ROUNDING = 4 * 2.0**-52 * 6
"""At (3, 4)."""


def test_curvature_alone() -> None:
    bend = [[2, 1], [1, 5]]
    low, high = np.linalg.eigvalsh(bend)
    assert spread(bend) == ROUNDING
    assert spread(bend, 1e-16) == close(2 * np.sqrt(2e-16 / low) + ROUNDING + 4e-16 * (1 + high / low), rel=1e-12)
    assert spread(bend, 0.0, width=1e-10) == close(ROUNDING + 4e-10 * (1 + high / low), rel=1e-12)
    assert spread(bend, 0.0, width=1e-10, z=(0, 0)) == close(4 * 2.0**-52 + 4e-10 * (1 + high / low), rel=1e-12)
    for flat in ([[0, 0], [0, 1]], [[1e-9, 0], [0, 1]], [[-1, 0], [0, 1]], [[1e-3, 0], [0, -1e9]]):
        assert spread(flat, 1e-20) == INF
    assert spread([[1.1e-9, 0], [0, 1]], 1e-20) < 1


def test_constraints_with_a_multiplier_hold_their_directions() -> None:
    """Multipliers above 1e-9 of the largest, with an error up to 1e-15 of them."""
    rows = ((5, 0), (0, 0.25))
    held = ROUNDING + 4 * (1e-20 / 0.5 + 1e-12)
    assert spread([[1, 0], [0, 0]], 1e-20, (2.0, 0.5), rows, width=1e-12) == close(held, rel=1e-12)
    flat = [[0, 0], [0, 1]]
    for weights, error, holds in (
        ((1.0, 1.0), 1e-20, True), ((1.1e-9, 1.0), 1e-30, True), ((1e-9, 1.0), 1e-30, False), ((0.9e-9, 1.0),
        1e-30, False),
        ((1.0, 1e-12), 1e-30, True), ((1.0, 1.0), 1e-15, True), ((1.0, 1.0), 1.5e-15, False), ((0.0, 1.0), 0.0, False),
    ):  # fmt: skip
        assert (spread(flat, error, weights, rows) < INF) == holds, (weights, error)
    assert spread([[1, 0], [0, 0]], 1e-30, (1.0, 1e-12), rows) == INF, "the light row does not hold its direction"


def test_one_direction_is_held_by_an_equation_and_one_by_curvature() -> None:
    found = spread([[-9, 0], [0, 4]], 1e-16, E=((3, 0),), width=1e-10)
    assert found == close(ROUNDING + 2 * np.sqrt(2e-16 / 4) + 4 * (1e-16 + 1e-10) * (1 + 9 / 4), rel=1e-9)
    tilted = spread(np.eye(2), 0.0, (1.0, 1.0), ((1, 0), (3, 4)), width=1e-3)
    grip = np.linalg.svd([[1, 0], [0.6, 0.8]], compute_uv=False)[1]
    assert tilted == close(ROUNDING + 4e-3 / grip, rel=1e-9)
    assert spread([[1e-3, 0], [0, -1e9]], 1e-20, E=((0, 1),)) == INF, "beside a curvature of 1e9"
    assert spread([[2, 0], [0, 8]], 1e-20, (1.0, 1.0), ((0, 0), (0, 7))) < INF, "a row of zeros holds nothing"
    assert spread([[0, 0], [0, 8]], 1e-20, (1.0, 1.0), ((0, 0), (0, 7))) == INF


def test_balls_bend_and_lifted_variables_count_once() -> None:
    found = spread([[0, 0], [0, 3]], 1e-16, (9.0, 1.5, 0.5), ((0, 1),))
    bent = 2 * np.sqrt(2e-16 / 2) + 4 * (1e-16 / 9) * (1 + 5 / 2)
    assert found == close(ROUNDING + bent, rel=1e-9)
    lifted = spread([[2]], 1e-16, (1.0,), ((0, 1),), lift=((1, -1),), z=(3,))
    assert lifted == close(4 * 2.0**-52 * 4 + 2 * np.sqrt(1e-16) + 4e-16 * 2, rel=1e-6)
    assert spread([[2]], 1e-16, (1.0, 1.0), ((0, 1), (1, 0)), lift=((1, -1),), z=(3,)) < 1e-14


# ---- linear algebra and numbers -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("rows", "dimension", "grip"),
    [
        ((), 2, 1.0), (((3, 4),), 1, 5.0), (((1, 0), (2, 0)), 1, np.sqrt(5)), (((1, 0), (0, 1.5e-10)), 0, 1.5e-10),
        (((1, 0), (0, 1e-10)), 1, 1.0),
        (((1e-3, 0), (0, 1e-8)), 0, 1e-8), (((2, 0), (0, 7), (0, 0)), 0, 2.0), (((5, 0), (0, 1)), 0, 1.0),
    ],
)  # fmt: skip
def test_kernels(rows: Any, dimension: int, grip: float) -> None:
    matrix = np.array(rows, dtype=float).reshape(-1, 2)
    basis, least = room._kernel(matrix)
    assert basis.shape == (2, dimension)
    assert least == close(grip, rel=1e-5)
    assert np.abs(matrix @ basis).max(initial=0.0) < 1e-9
    assert basis.T @ basis == pytest.approx(np.eye(dimension))


@pytest.mark.parametrize(
    ("matrix", "rank"),
    [
        (np.empty((2, 0)), 0), (((1, 0), (0, 1.5e-10)), 2), (((1, 0), (0, 1e-10)), 1), (((1, 2), (2, 4)), 1), (((0,),
        (0,)), 0),
        (((3, 1, 0), (0, 1, 1)), 2),
    ],
)  # fmt: skip
def test_column_spaces(matrix: Any, rank: int) -> None:
    found = room._column_space(np.array(matrix, dtype=float))
    assert found.shape == (2, rank)
    assert found.T @ found == pytest.approx(np.eye(rank))
    if rank == 1:
        assert np.linalg.norm(found[:, 0] @ np.array(matrix, dtype=float)) == close(np.linalg.norm(matrix, 2))


def test_values_and_slopes_at_a_point() -> None:
    names = sympy.symbols("x1 x2", real=True)
    function = Function(names[0] ** 2 * names[1] + 5, names, 2)
    with precision(300):
        assert float(room._value(function, arbs(2, 3))) == 17.0
        assert room._norm(function, arbs(2, 3)) == close(np.hypot(12, 4), rel=1e-14)


@pytest.mark.parametrize("error", [0.0, 1e-300, 0.5, 1.0, 3.0, 1e10])
def test_floats_cover_their_rounding_and_their_error(error: float) -> None:
    with precision(300):
        third = flint.arb(1) / 3
        near, off = room.float_value(third, error)
        assert near == 1 / 3
        assert F(off) > abs(F(1, 3) - F(near)) + F(error)
        assert off <= (float(abs(F(1, 3) - F(near))) + error) * (1 + 1e-14)
        near, off = room.float_value(2 * third, error)
        assert (near, near > F(2, 3)) == (2 / 3, False)
        near, off = room.float_value(flint.arb(1) / 10, error)
        assert F(near) > F(1, 10), "rounded up"
        assert F(off) > F(near) - F(1, 10) + F(error)
        near, off = room.float_value(flint.arb(2), error)
        assert (near, off > error) == (2.0, error > 0)
        assert off == 0.0 or off <= error * (1 + 1e-14)
        near, off = room.float_value(flint.arb(2, 0.25), error)
        assert near == 2.0
        assert 0.25 + error < off <= (0.25 + error) * (1 + 1e-8)


def test_the_widest_fact_is_the_room() -> None:
    row = Row([F(1)], flint.arb(0), 2.0)
    assert facts().room == 0.0
    assert facts(supporting={0: 3.0, 4: 1.0}, rows=[row], single=0.5).room == 3.0
    assert facts(supporting={0: 1.0}, rows=[row, replace(row, room=7.0)], single=0.5).room == 7.0
    assert facts(supporting={0: 1.0}, rows=[row], single=9.0).room == 9.0
    assert facts(rows=[row]).room == 2.0

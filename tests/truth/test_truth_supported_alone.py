"""Facts about lower-level solutions, and error bars from them, number by number."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from types import SimpleNamespace
from typing import Any

import flint
import numpy as np
import pytest
import sympy

import bilevel_verify as bv
from bilevel_verify.truth import supported as room
from bilevel_verify.truth.model import Function
from bilevel_verify.truth.path_following import End, Region
from bilevel_verify.truth.points import precision
from bilevel_verify.truth.quadratics import Quadratic
from bilevel_verify.truth.structure import Ridge
from bilevel_verify.truth.supported import Facts, Row, Supported

pytestmark = pytest.mark.fast
F = Fraction
INF = np.inf
T = sympy.Symbol("t", real=True)
LIFT = np.array([[1.0, 0, -1, 0], [0, 1, 0, -1]])


def close(value: float, rel: float = 1e-6) -> Any:
    """Relatively, also for tiny numbers."""
    return pytest.approx(value, rel=rel, abs=0.0)


def arbs(*values: float) -> list[Any]:
    return [flint.arb(v) for v in values]


def vectors(*rows: Any) -> list[list[Fraction]]:
    return [[F(v) for v in row] for row in rows]


def level(**changes: Any) -> Any:
    """Two variables, two inequalities, one ball; a structure without terms."""
    zero = Quadratic(vectors((0, 0), (0, 0)), [F(0), F(0)], F(0))
    known: dict[str, Any] = {
        "n": 2, "_f": "f", "_g": "g", "structure": SimpleNamespace(quadratic=zero, ridges=(), missing=""),
        "feasible": SimpleNamespace(
            T=np.eye(2), G=np.array([[1.0, 2.0], [3.0, 0.5]]), h=np.array([4.0, 5.0]),
            E=np.array([[1.0, 1.0], [2.0, 2.0]]),
            e=np.array([3.0, 6.0]), balls=[((1.0, 0.0), 2.0)],
        ),
    }  # fmt: skip
    known.update(changes)
    return SimpleNamespace(**known)


def end(**changes: Any) -> End:
    known: dict[str, Any] = {
        "z": arbs(3, 4), "w": arbs(5, 6), "value": flint.arb(7), "weights": arbs(1, 1, 1), "free": arbs(),
        "below": 0.0, "violation": 0.0,
    }  # fmt: skip
    known.update(changes)
    return End(**known)


def facts(**changes: Any) -> Facts:
    known: dict[str, Any] = {
        "z": arbs(3, 4), "w": arbs(5, 6), "value": flint.arb(7), "error": 0.0, "pressed": {}, "weights": (0.0, 0.0),
        "rows": [], "halves": [],
        "single": None,
    }  # fmt: skip
    known.update(changes)
    return Facts(**known)


# ---- the set ------------------------------------------------------------------------------------------------------


def test_regions_are_the_set_in_rationals() -> None:
    found = room.region_of(level(), 0.25)
    assert found.T is None
    assert (vectors((1, 2), (3, F(1, 2))), vectors((1, 1))) == (found.G, found.E), "of dependent equations a basis"
    assert [float(v) for v in [*found.h, *found.e]] == [4.0, 5.0, 3.0]
    assert (found.balls, found.room, found.n) == ([([F(1), F(0)], F(2))], 0.25, 2)
    lifted = level()
    lifted.feasible.T = LIFT
    assert vectors(*LIFT) == room.region_of(lifted, 0.0).T


def test_lifted_points_have_a_positive_and_a_negative_part() -> None:
    lifted = level()
    assert room.lifted_start(lifted, np.array([-1.5, 2.0])) == [-1.5, 2.0]
    lifted.feasible.T = LIFT
    assert room.lifted_start(lifted, np.array([-1.5, 2.0])) == [0.0, 2.0, 1.5, 0.0]
    assert room.lifted_start(lifted, np.array([0.0, -0.5])) == [0.0, 0.0, 0.0, 0.5]


def test_normals_are_lifted_exactly() -> None:
    region = Region(vectors((1, 2, 3), (0, F(1, 3), 5)), [], [], [], [], [], 0.0, 2)
    assert room._lift(region, [F(2), F(3)]) == [F(2), F(5), F(21)]
    assert room._lift(Region(vectors((1, -1)), [], [], [], [], [], 0.0, 1), [F(4)]) == [F(4), F(-4)]
    assert room._lift(Region(None, [], [], [], [], [], 0.0, 2), [F(2), F(3)]) == [F(2), F(3)]


# ---- facts --------------------------------------------------------------------------------------------------------


def test_lower_facts_are_those_of_the_end(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[Any] = []
    last: list[Any] = [None]

    def follow(function: Any, region: Region, start: Any) -> Any:
        asked.append((function, region.room, list(start)))
        return last[0]

    monkeypatch.setattr(room, "follow", follow)
    monkeypatch.setattr(room, "_facts", lambda simple, found: ("facts", found.value))
    assert room.lower_facts(level(), np.array([1.0, 2.0])) is None
    last[0] = end(value=11)
    found: Any = room.lower_facts(level(), np.array([1.0, 2.0]))
    assert found == ("facts", 11)
    assert asked == [("g", 1e-80, [1.0, 2.0])] * 2


def test_exact_facts_have_no_error(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[Any] = []
    answer: list[Any] = [([], [])]
    monkeypatch.setattr(room, "_fixed", lambda simple, z, error: asked.append(error) or answer[0])
    found = room.exact_facts(level(), [F(-3, 2), F(2)], F(5, 4))
    assert found is not None
    assert [float(v) for v in found.z] == [float(v) for v in found.w] == [-1.5, 2.0]
    assert (float(found.value), found.error, found.pressed, found.weights, found.single) == (
        1.25,
        0.0,
        {},
        (0.0,) * 3,
        None,
    )
    assert asked == [0.0]
    lifted = level()
    lifted.feasible.T = LIFT
    found = room.exact_facts(lifted, [F(-3, 2), F(2)], F(5, 4))
    assert found is not None
    assert [float(v) for v in found.w] == [0.0, 2.0, 1.5, 0.0]
    answer[0] = None
    assert room.exact_facts(level(), [F(0), F(0)], F(0)) is None


def facts_of(
    monkeypatch: pytest.MonkeyPatch, last: End, fixed: Any = ([], []), bowl: float | None = None
) -> Facts | None:
    monkeypatch.setattr(room, "_fixed", lambda *_: fixed)
    monkeypatch.setattr(room, "_bowl", lambda *_: bowl)
    return room._facts(level(), last)


def test_the_error_counts_multipliers_of_all_signs(monkeypatch: pytest.MonkeyPatch) -> None:
    found = facts_of(monkeypatch, end(weights=arbs(1, 2, 0), free=arbs(-4)))
    assert found is not None
    assert found.error == close(1e12 * 1e-80 * 8, rel=1e-12)
    found = facts_of(monkeypatch, end(weights=arbs(0, 0, 0), below=3e-30, violation=2e-50))
    assert found is not None
    assert found.error == close(3e-30 + 2e-38, rel=1e-15)
    found = facts_of(monkeypatch, end(weights=arbs(0, 0, 0), violation=2e-50))
    assert found is not None
    assert found.error == close(2e-38, rel=1e-15)


def test_constraints_press_where_the_slack_is_tiny(monkeypatch: pytest.MonkeyPatch) -> None:
    """error / multiplier below 1e-18; of balls the root of twice that, and the smallest radius of all."""
    for weight, pressed in ((0.5e-12, True), (0.99e-12, False), (1.01e-12, True), (-1.0, False), (0.0, False)):
        found = facts_of(monkeypatch, end(weights=arbs(0, weight, 0), below=1e-30))
        assert found is not None
        small = weight > 0 and 1e-30 / weight < 1e-18
        assert list(found.pressed) == ([1] if small else [])
        assert not small or found.pressed[1] == found.error / weight
        assert small == (pressed and weight > 1e-12)
    ball = level()
    ball.feasible.balls = [((0.0, 0.0), 1.0)] * 3
    monkeypatch.setattr(room, "_fixed", lambda *_: ([], []))
    monkeypatch.setattr(room, "_bowl", lambda *_: 77.0)
    found = room._facts(ball, end(weights=arbs(0, 0, 0.5, 2.0, 0.0), below=1e-30))
    assert found is not None
    assert found.single == float(np.sqrt(2 * found.error / 2.0))
    alone = room._facts(ball, end(weights=arbs(0, 0, 0.5, -3.0, 0.0), below=1e-30))
    assert alone is not None
    assert alone.single == float(np.sqrt(2 * alone.error / 0.5))
    light = room._facts(ball, end(weights=arbs(0, 0, 0.8e-12, 0.0, 0.0), below=1e-30))
    assert light is not None
    assert light.single == 77.0


def test_multipliers_that_cannot_be_told_from_zero_are_zero(monkeypatch: pytest.MonkeyPatch) -> None:
    found = facts_of(monkeypatch, end(weights=arbs(1.0, 2e-25, 2.1e-25)))
    assert found is not None
    assert found.weights == (1.0, 0.0, 2.1e-25)
    found = facts_of(monkeypatch, end(weights=arbs(3.0, 3.9e-25, -2.0)))
    assert found is not None
    assert found.weights == (3.0, 0.0, 0.0)


def test_facts_need_a_decomposition_or_a_radius(monkeypatch: pytest.MonkeyPatch) -> None:
    light = end(weights=arbs(0, 0, 0), below=1e-30)
    assert facts_of(monkeypatch, light, None, None) is None
    bowl = facts_of(monkeypatch, light, None, 0.25)
    assert bowl is not None
    assert (bowl.rows, bowl.halves, bowl.single) == ([], [], 0.25)
    row = Row([F(1), F(0)], flint.arb(1), 0.5)
    plain = facts_of(monkeypatch, light, ([row], [([F(1)], F(2))]), None)
    assert plain is not None
    assert (plain.rows, plain.halves, plain.single) == ([row], [([F(1)], F(2))], None)
    assert (plain.z, plain.w, plain.value) == (light.z, light.w, light.value)


def bowl(hessian: Any, B: Any = None, error: float = 2e-30, missing: str = "a term") -> float | None:
    matrix = np.array(hessian, dtype=float)
    basis = np.eye(len(matrix)) if B is None else np.array(B, dtype=float)
    simple = level(
        structure=SimpleNamespace(missing=missing),
        _reduced=SimpleNamespace(B=basis),
        smooth=lambda g: lambda z: (1.0, z, matrix),
    )
    return room._bowl(simple, end(z=arbs(*([0] * len(matrix)))), error)


def test_the_curvature_of_a_bowl_leaves_a_radius() -> None:
    assert bowl([[2, 0], [0, 8]]) == close(np.sqrt(8 * 2e-30 / 2))
    assert bowl([[5, 4], [4, 5]]) == close(np.sqrt(8 * 2e-30 / 1))
    assert bowl([[2, 0], [0, 8]], [[0], [1]]) == close(np.sqrt(8 * 2e-30 / 8)), "in the reduced variables"
    assert bowl([[2, 0], [0, 8]], np.empty((2, 0))) == close(np.sqrt(8 * 2e-30))
    assert bowl([[2, 0], [0, 8]], missing="") is None
    assert bowl([[1e-9, 0], [0, 1]]) is None
    assert bowl([[1.9e-8, 0], [0, 1]]) is None
    assert bowl([[2.1e-8, 0], [0, 1]]) == close(np.sqrt(8 * 2e-30 / 2.1e-8))
    assert bowl([[-1, 0], [0, 5]]) is None


def ridge(kind: str = "strict", pieces: Any = (), normal: Any = (1, 2), shift: Any = 0, profile: Any = T**4) -> Ridge:
    return Ridge(profile, T, tuple(F(v) for v in normal), F(shift), kind, pieces)


def fixed(ridges: Any = (), Q: Any = ((0, 0), (0, 0)), error: float = 2e-30, missing: str = "") -> Any:
    """At z = (3, 4)."""
    quadratic = Quadratic(vectors(*Q), [F(0), F(0)], F(0))
    simple = level(structure=SimpleNamespace(quadratic=quadratic, ridges=ridges, missing=missing))
    return room._fixed(simple, arbs(3, 4), error)


def test_squares_and_strict_terms_fix_their_forms(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[Any] = []
    monkeypatch.setattr(room, "_reach", lambda one, t, error: asked.append((float(t), error)) or 1e-6)
    rows, halves = fixed([ridge(shift=F(1, 2))], ((8, 4), (4, 2)))
    assert halves == []
    assert [(row.normal, float(row.value)) for row in rows] == [([F(1), F(1, 2)], 5.0), ([F(1), F(2)], 11.0)]
    assert rows[0].room == close(np.sqrt(2 * 2e-30 / 8))
    assert rows[1].room == 1e-6
    assert asked == [(11.5, 2e-30)]
    exact, _ = fixed([ridge()], ((8, 4), (4, 2)), error=0.0)
    assert [row.room for row in exact] == [0.0, 0.0]
    assert len(asked) == 1, "without an error nothing moves"
    assert fixed(missing="a term") is None
    assert fixed([], ((8, 4), (4, 2))) is not None


def test_forms_that_are_hardly_known_are_no_facts(monkeypatch: pytest.MonkeyPatch) -> None:
    for reach, known in ((1e-6, True), (1.5e-6, False), (INF, False)):
        monkeypatch.setattr(room, "_reach", lambda *_, reach=reach: reach)
        assert (fixed([ridge()]) is not None) == known
        assert (fixed([ridge()], ((1, 0), (0, 1))) is not None) == known, "one of three is enough"


def test_pieces_of_kinked_terms_bound_their_forms(monkeypatch: pytest.MonkeyPatch) -> None:
    """t = 3 + 8 + 1/2 = 23/2."""
    monkeypatch.setattr(room, "_reach", lambda *_: 1e-9)
    normal, turned = [F(1), F(2)], [F(-1), F(-2)]
    for piece, expected in (
        ((10.0, 12.0), [(normal, F(23, 2)), (turned, F(-19, 2))]),
        ((-INF, 12.0), [(normal, F(23, 2))]),
        ((11.5, INF), [(turned, F(-11))]),
        ((-INF, INF), []),
    ):
        rows, halves = fixed([ridge("kinked", ((-3.0, -2.0), piece), shift=F(1, 2))])
        assert (rows, halves) == ([], expected)
    rows, halves = fixed([ridge("kinked", ((-3.0, 11.0),), shift=F(1, 2)), ridge("kinked", ((10.0, INF),))])
    assert [(row.normal, float(row.value), row.room) for row in rows] == [(normal, 11.0, 1e-9)], "beside its pieces"
    assert halves == [(turned, F(-10))]


@pytest.mark.parametrize(
    ("t", "found"),
    [
        (0.5, (0.0, 1.0)), (1 + 1.5e-14, (0.0, 1.0)), (1 + 2.6e-14, None), (-0.9e-14, (0.0, 1.0)), (-1.5e-14, None),
        (3.0, (3.0, 4.0)),
        (3 - 3.5e-14, (3.0, 4.0)), (3 - 4.9e-14, None), (2.0, None), (-5.0, (-INF, -5.0)), (-5 + 5e-14, (-INF, -5.0)),
        (-5 + 7e-14, None),
    ],
)  # fmt: skip
def test_the_piece_of_an_argument(t: float, found: Any) -> None:
    assert room._piece(ridge("kinked", ((-INF, -5.0), (0.0, 1.0), (3.0, 4.0))), t) == found


def test_an_end_counts_with_its_rounding() -> None:
    assert room._piece(ridge("kinked", ((-1.0, -1e-14),)), 0.0) == (-1.0, -1e-14)
    assert room._piece(ridge("kinked", ((1e-14, 1.0),)), 0.0) == (1e-14, 1.0)
    assert room._piece(ridge("kinked", ((-INF, 0.0), (0.0, INF))), 0.0) == (-INF, 0.0), "the first of two"


@pytest.mark.parametrize(
    ("error", "reach"),
    [
        (1e-130, 1e-60), (0.9e-120, 1e-60), (1.1e-120, 1e-59), (0.9e-20, 1e-10), (1.1e-20, 1e-9), (2e-20, 1e-9),
        (9e-19, 1e-9), (5e-15, 1e-7),
        (2e-14, INF),
    ],
)  # fmt: skip
def test_the_reach_is_the_first_power_of_ten_that_is_far_enough(error: float, reach: float) -> None:
    """Of ``t^2`` at any point: the square of the step is what it leaves its tangent by."""
    with precision(1280):
        for t in (0, 3):
            assert room._reach(ridge(profile=T**2), flint.arb(t), error) == close(reach, rel=1e-12)


def test_the_reach_needs_both_sides() -> None:
    from bilevel_verify.atoms import pluspow

    with precision(1280):
        assert room._reach(ridge(profile=pluspow(2, T)), flint.arb(0), 1e-30) == INF
        assert room._reach(ridge(profile=pluspow(2, T)), flint.arb(1), 1e-30) < 2e-14


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
    """Equations, then pressed rows, then forms: independent ones with their rooms; the other rows stay inequalities."""
    simple = level()
    simple.feasible.G = np.array([[1.0, 2.0], [3.0, 0.5], [1.0, 1.0], [0.0, 1.0]])
    simple.feasible.h = np.array([4.0, 5.0, 3.0, 9.0])
    row = Row([F(1), F(0)], flint.arb(6), 3e-30)
    known = facts(pressed={2: 1e-30, 0: 2e-30}, rows=[row], halves=[([F(0), F(1)], F(1, 2**20))])
    region, rooms, left = room._described(simple, known)
    assert vectors((1, 1), (1, 2)) == region.E, "the pressed row 2 is the equation again, and the form depends on both"
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
    assert room._described(level(), facts(halves=ends, pressed={0: known}))[0].room == close(width, rel=1e-12)


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
    assert facts(pressed={0: 3.0, 4: 1.0}, rows=[row], single=0.5).room == 3.0
    assert facts(pressed={0: 1.0}, rows=[row, replace(row, room=7.0)], single=0.5).room == 7.0
    assert facts(pressed={0: 1.0}, rows=[row], single=9.0).room == 9.0
    assert facts(rows=[row]).room == 2.0

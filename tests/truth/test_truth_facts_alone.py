"""Facts about lower-level solutions, number by number: what presses, what is fixed, how well it is known."""

from __future__ import annotations

from fractions import Fraction
from types import SimpleNamespace
from typing import Any

import flint
import numpy as np
import pytest
import sympy
from truth_facts import arbs, close, end, level, vectors

from bilevel_verify.truth.functions.quadratics import Quadratic
from bilevel_verify.truth.functions.structure import Ridge
from bilevel_verify.truth.lower_level.points import precision
from bilevel_verify.truth.simple_bilevel import supported as room
from bilevel_verify.truth.simple_bilevel.facts import Facts, Row
from bilevel_verify.truth.simple_bilevel.path_following import End, Region

pytestmark = pytest.mark.fast
F = Fraction
INF = np.inf
T = sympy.Symbol("t", real=True)
LIFT = np.array([[1.0, 0, -1, 0], [0, 1, 0, -1]])


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
    assert (float(found.value), found.error, found.supporting, found.weights, found.single) == (
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
    for weight, supporting in ((0.5e-12, True), (0.99e-12, False), (1.01e-12, True), (-1.0, False), (0.0, False)):
        found = facts_of(monkeypatch, end(weights=arbs(0, weight, 0), below=1e-30))
        assert found is not None
        small = weight > 0 and 1e-30 / weight < 1e-18
        assert list(found.supporting) == ([1] if small else [])
        assert not small or found.supporting[1] == found.error / weight
        assert small == (supporting and weight > 1e-12)
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

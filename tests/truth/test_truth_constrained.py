"""Constrained lower levels: y* against Clarabel and closed forms, derivatives against differences, kinks refused."""

from __future__ import annotations

import importlib
from fractions import Fraction
from math import inf
from typing import Any

import numpy as np
import pytest
from later import Later
from seeds import SEED

import bilevel_verify as bv
from bilevel_verify.errors import InputError, MathematicalError, ParameterError, ProblemError
from bilevel_verify.truth.constrained.constrained_truth import ConstrainedTruth
from bilevel_verify.truth.constrained.faces import Face

cp = Later("cvxpy")
UPPER = "(y1 - 2)**2 + sin(y2 + x1) + y3*x2 + x1**2/10"


def _quadratic(draw: np.random.Generator) -> tuple[np.ndarray, np.ndarray, str]:
    """H, B and g = y'Hy/2 - y'Bx with small rationals."""
    root = draw.integers(-4, 5, (3, 3)) / 4
    H = np.round((root @ root.T + np.eye(3)) * 16) / 16
    B = draw.integers(-8, 9, (3, 2)) / 4
    g = " + ".join(f"({Fraction(H[i, j])})*y{i + 1}*y{j + 1}/2" for i in range(3) for j in range(3))
    g += "".join(f" - ({Fraction(B[i, j])})*y{i + 1}*x{j + 1}" for i in range(3) for j in range(2))
    return H, B, g


SETS: dict[str, tuple[Any, Any]] = {
    "box": (bv.Box([0, -0.5, 0], [1, 0.5, 0.25]), lambda y: [y >= [0, -0.5, 0], y <= [1, 0.5, 0.25]]),
    "half open box": (bv.Box([0, -inf, 0], [1, 0.5, inf]), lambda y: [y[0] >= 0, y[2] >= 0, y[0] <= 1, y[1] <= 0.5]),
    "orthant": (bv.Orthant(), lambda y: [y >= 0]),
    "simplex": (bv.Simplex(total=1.5), lambda y: [y >= 0, cp.sum(y) == 1.5]),
}  # fmt: skip


@pytest.mark.parametrize("name", SETS)
def test_solutions_against_a_conic_solver(name: str) -> None:
    draw = np.random.default_rng(SEED)
    feasible, constraints = SETS[name]
    faces = set()
    for _ in range(4):
        H, B, g = _quadratic(draw)
        p = bv.bilevel(f=UPPER, g=g, x="x1 x2", y="y1 y2 y3", feasible=feasible, domain={"x": (-3, 3)})
        t = bv.truth(p)
        assert isinstance(t, ConstrainedTruth)
        for _ in range(3):
            x = np.round(draw.uniform(-2, 2, 2), 3)
            y = cp.Variable(3)
            problem = cp.Problem(cp.Minimize(cp.quad_form(y, H) / 2 - y @ (B @ x)), constraints(y))
            problem.solve(solver="CLARABEL")
            found = t.y_star(x)
            assert found.certainty == "certified"
            assert found.error < 1e-12
            np.testing.assert_allclose(found.value, y.value, atol=2e-4)
            value = float(t.g_min(x).value)
            assert value == pytest.approx(float(problem.value), abs=1e-6)
            assert value <= float(problem.value) + 1e-6
            np.testing.assert_allclose(t.conic_g(x).value, value, atol=1e-5)
            face = t.face(x)
            faces.add(None if face is None else face.held)
    assert len(faces) > 2  # several faces were met


@pytest.mark.parametrize("name", SETS)
def test_derivatives_against_differences(name: str) -> None:
    draw = np.random.default_rng(SEED + 1)
    _, _, g = _quadratic(draw)
    p = bv.bilevel(f=UPPER, g=g + " + y1**4/8", x="x1 x2", y="y1 y2 y3", feasible=SETS[name][0], domain={"x": (-3, 3)})
    t, step, met = bv.truth(p), 1e-4, 0
    for _ in range(6):
        x = np.round(draw.uniform(-2, 2, 2), 3)
        try:
            gradient = t.grad_phi(x)
        except MathematicalError:
            continue
        near = [x + s * step * e for e in np.eye(2) for s in (1, -1)]
        if len({getattr(t.face(z), "held", None) for z in (x, *near)}) > 1:
            continue
        met += 1
        differences = [(t.phi(a).value - t.phi(b).value) / (2 * step) for a, b in (near[:2], near[2:])]
        np.testing.assert_allclose(gradient.value, differences, atol=1e-6)
        second = [(np.array(t.grad_phi(a).value) - t.grad_phi(b).value) / (2 * step) for a, b in (near[:2], near[2:])]
        np.testing.assert_allclose(t.hess_phi(x).value, second, atol=1e-6)
        moved = [(np.array(t.y_star(a).value) - t.y_star(b).value) / (2 * step) for a, b in (near[:2], near[2:])]
        np.testing.assert_allclose(t.grad_y_star(x).value, moved, atol=1e-6)
    assert met >= 2


@pytest.fixture
def clipped() -> bv.Problem:
    """y* = (clip(x, 0, 1), clip(-x, 0, 5))."""
    return bv.bilevel(
        f="(y1-2)**2 + x1**2/10 + y2",
        g="(y1-x1)**2/2 + (y2+x1)**2/2",
        x="x1",
        y="y1 y2",
        feasible=bv.Box([0, 0], [1, 5]),
        domain={"x1": (-3, 3)},
    )


@pytest.mark.fast
@pytest.mark.parametrize("x", [-2.0, -0.5, 0.25, 0.999999, 1.000001, 2.5])
def test_a_clipped_solution_is_exact_and_smooth_off_the_kinks(clipped: bv.Problem, x: float) -> None:
    t = bv.truth(clipped)
    np.testing.assert_allclose(t.y_star([x]).value, [min(max(x, 0), 1), min(max(-x, 0), 5)], rtol=0, atol=1e-15)
    slope = 2 * (min(max(x, 0), 1) - 2) * (0 < x < 1) + x / 5 - (x < 0)
    assert float(t.grad_phi([x]).value[0]) == pytest.approx(slope, rel=1e-14)


@pytest.mark.fast
@pytest.mark.parametrize("x", [0.0, 1.0])
def test_no_derivative_is_given_at_a_kink_but_the_value_is(clipped: bv.Problem, x: float) -> None:
    t = bv.truth(clipped)
    assert t.face([x]) is None
    found = t.y_star([x])
    assert found.certainty == "certified"
    np.testing.assert_allclose(found.value, [x, 0], atol=1e-12)
    assert found.error < 1e-12
    assert float(t.phi([x]).value) == pytest.approx((x - 2) ** 2 + x**2 / 10, rel=1e-12)
    for name in ("grad_phi", "hess_phi", "grad_y_star"):
        with pytest.raises(MathematicalError, match="strict complementarity is not certain"):
            getattr(t, name)([x])


@pytest.mark.fast
def test_the_residual_bounds_the_error_of_any_feasible_point(
    clipped: bv.Problem, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without faces and with a bad guess the bar must still cover the solution, and it is not infinite."""
    room = importlib.import_module("bilevel_verify.truth.constrained.constrained_truth")
    draw = np.random.default_rng(SEED)
    t = bv.truth(clipped)
    monkeypatch.setattr(ConstrainedTruth, "_certified", lambda *_: False)
    for _ in range(40):
        x = float(draw.uniform(-3, 3))
        off = np.clip(
            [min(max(x, 0), 1), min(max(-x, 0), 5)] + draw.normal(size=2) * draw.choice([0, 1e-3, 1]), 0, [1, 5]
        )
        monkeypatch.setattr(room, "guess", lambda *_, at=off: np.asarray(at))
        found = t.y_star([x])
        distance = float(np.linalg.norm(np.asarray(found.value) - [min(max(x, 0), 1), min(max(-x, 0), 5)]))
        assert distance <= found.error + 1e-15
        assert found.error < 12


@pytest.mark.fast
def test_a_wrong_face_is_not_certified(clipped: bv.Problem) -> None:
    """Every wrong choice of held entries fails a sign or leaves the set."""
    t = bv.truth(clipped)
    assert isinstance(t, ConstrainedTruth)
    point = np.array([0.5])  # y* = (1/2, 0): y2 at its lower end, y1 free
    from bilevel_verify.numbers.rounding import precision

    for held in [(), ((0, -1),), ((0, 1),), ((1, 1),), ((0, -1), (1, -1)), ((0, 1), (1, -1)), ((1, -1),)]:
        face = Face(clipped, t.polyhedron, held)
        with precision(160):
            certified = t._certified(face, point, t._level(face).hyper(point))
        assert certified == (held == ((1, -1),)), held


@pytest.mark.fast
def test_a_free_entry_beyond_its_upper_end_is_no_solution(clipped: bv.Problem) -> None:
    """At x = 2 the stationary point of the face with y2 held is y1 = 2, outside of [0, 1]."""
    from bilevel_verify.numbers.rounding import precision

    t = bv.truth(clipped)
    assert isinstance(t, ConstrainedTruth)
    face = Face(clipped, t.polyhedron, ((1, -1),))
    with precision(160):
        assert not t._certified(face, np.array([2.0]), t._level(face).hyper(np.array([2.0])))


@pytest.mark.fast
@pytest.mark.parametrize(("held", "right"), [(((0, -1),), True), (((1, -1),), False)])
def test_multipliers_of_a_simplex_are_relative_to_the_entry_that_makes_up_the_total(held: Any, right: bool) -> None:
    """At x = 0 the slopes of g at (0, 1) are -7 and -16: y* = (0, 1), for only their difference counts."""
    from bilevel_verify.numbers.rounding import precision

    g = "(y1 - 0.5)**2 + (y2 - 6)**2 - 2*x1*y2 - 6*(y1 + y2)"
    p = bv.bilevel(f="y1 + y2", g=g, x="x1", y="y1 y2", feasible=bv.Simplex(total=1), domain={"x1": (-4, 4)})
    t = bv.truth(p)
    assert isinstance(t, ConstrainedTruth)
    face = Face(p, t.polyhedron, held, 1 - held[0][0])
    with precision(160):
        assert t._certified(face, np.array([0.0]), t._level(face).hyper(np.array([0.0]))) == right


@pytest.mark.fast
def test_what_a_constrained_lower_level_has_and_has_not(clipped: bv.Problem) -> None:
    assert clipped.kind == "constrained_bilevel"
    t = bv.truth(clipped)
    for call in (
        t.phi_min,
        t.stationary_points,
        lambda: t.delta([0.0]),
        lambda: t.L_star([0.0], 1.0),
        lambda: t.v_star([0.0]),
    ):
        with pytest.raises(InputError, match="the lower level is constrained"):
            call()
    assert bv.derive(clipped).y_star is None  # one formula would be that of one face
    with pytest.raises(InputError, match="the lower level is constrained"):
        _ = bv.derive(clipped).hypergradient
    with pytest.raises(ParameterError, match="ragd-gs is for bilevel"):
        bv.solve(clipped, "ragd-gs", eps=0.1, x0=[0.0])
    rows = bv.verify(clipped, "ragd-gs/lemma-1").claims
    assert [row.verdict for row in rows] == ["not applicable"]
    c = bv.constants(clipped)
    assert (c["mu"].value, c["L_gyx"].lower <= 2**0.5 <= c["L_gyx"].value) == (1, True)
    assert c["C_f"].lower <= 17**0.5 <= c["C_f"].value  # |(2 (y1 - 2), 1)| at y1 = 0: on the set, not beyond
    assert c["C_f"].value < 4.1232


@pytest.mark.fast
@pytest.mark.parametrize(
    ("feasible", "domain", "message"),
    [
        (bv.Ball(radius=1), {}, "a Box, an Orthant or a Simplex, not Ball"),
        (bv.Box([0], [1]), {}, "dimension|entries"),
        (bv.Simplex(total=1), {"y1": (0, 0.5)}, "cuts the Simplex"),
        (bv.Box([0, 0], [1, 1]), {"y1": (2, 3)}, "meet in no interval"),
        (bv.Box([0, 1], [1, 1]), {}, "meet in no interval"),
    ],
)
def test_sets_that_do_not_fit_are_named(feasible: Any, domain: Any, message: str) -> None:
    with pytest.raises(ProblemError, match=message):
        bv.bilevel(f="y1", g="y1**2 + y2**2 - x1*y1", x="x1", y="y1 y2", feasible=feasible, domain=domain)


@pytest.mark.fast
def test_a_file_states_the_set_of_y() -> None:
    from bilevel_verify.problems import loads

    text = (
        'kind = "bilevel"\nf = "y1"\ng = "y1**2 - x1*y1"\nx = "x1"\ny = "y1"\n[feasible]\nset = "Box"\nlo = 0\nhi = 1\n'
    )
    p = loads(text)
    assert isinstance(p, bv.Problem)
    assert p.kind == "constrained_bilevel"
    again = loads(bv.dump(p))
    assert isinstance(again, bv.Problem)
    assert again.content_hash() == p.content_hash()
    assert float(bv.truth(p).y_star([3.0]).value[0]) == 1


@pytest.mark.fast
def test_a_lower_level_that_is_not_convex_is_only_computed() -> None:
    p = bv.bilevel(f="y1", g="-y1**2/2 + x1*y1", x="x1", y="y1", feasible=bv.Box([-1], [2]), domain={"x1": (-3, 3)})
    found = bv.truth(p).y_star([0.1])
    assert found.certainty == "computed"

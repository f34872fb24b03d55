"""Simple bilevel truth: published answers, random problems with independent answers, honest failures."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import truth_generator as generator
import truth_simple_cases as cases

import bilevel_verify as bv
from bilevel_verify.truth.witness.cvxpy_bridge import solve_convex


def _names(n: int) -> str:
    return " ".join(f"x{i + 1}" for i in range(n))


def _chain(n: int) -> str:
    return "(x1**2 + " + " + ".join(f"(x{i}-x{i + 1})**2" for i in range(1, n)) + f" + x{n}**2)/8 - x1/4"


S = bv.simple_bilevel
HALF = 2**-0.5
KNOWN: list[tuple[str, Callable[[], Any], float | None, float, list[float]]] = [
    (
        "linear inverse 3",
        lambda: S(f="(x1**2+x2**2+x3**2)/2", g="(x1+x2+x3-1)**2/2", x="x1 x2 x3", feasible=bv.Orthant()),
        1 / 6,
        0,
        [1 / 3] * 3,
    ),
    (
        "weak sharp",
        lambda: S(f="((x1-1)**2+(x2-1/2)**2)/2", g="x1+3*x1**2/2", x="x1 x2", feasible=bv.Box((0, 0), (1, 1))),
        0.5,
        0,
        [0, 0.5],
    ),
    (
        "power 4",
        lambda: S(f="((x1-1)**2+(x2-1/2)**2)/2", g="x1**4/4", x="x1 x2", feasible=bv.Box((0, 0), (1, 1))),
        0.5,
        0,
        [0, 0.5],
    ),
    ("disc", lambda: S(f="(x1**2+(x2-1)**2)/2", g="(x1-1)**2/2", x="x1 x2", feasible=bv.Ball(1)), 1, 0, [1, 0]),
    (
        "half-space vertex",
        lambda: S(f="((x1-2)**2+(x2-1)**2)/2", g="max(0, x1+x2-1)**2/2", x="x1 x2", feasible=bv.Box((0, 0), (2, 2))),
        1,
        0,
        [1, 0],
    ),
    (
        "half-space interior",
        lambda: S(
            f="((x1-1/4)**2+(x2-1/4)**2)/2", g="max(0, x1+x2-1)**2/2", x="x1 x2", feasible=bv.Box((0, 0), (2, 2))
        ),
        0,
        0,
        [0.25, 0.25],
    ),
    (
        "simplex",
        lambda: S(f="((x1-1)**2+x2**2+x3**2)/2", g="(x1-x2)**2/2", x="x1 x2 x3", feasible=bv.Simplex(1)),
        0.25,
        0,
        [0.5, 0.5, 0],
    ),
    (
        "chord end",
        lambda: S(f="((x1-2)**2+x2**2)/2", g="(x1+x2-1)**2/2", x="x1 x2", feasible=bv.Ball(1)),
        0.5,
        0,
        [1, 0],
    ),
    (
        "chord inside",
        lambda: S(f="((x1-1)**2+(x2-1/5)**2)/2", g="(x1+x2-1)**2/2", x="x1 x2", feasible=bv.Ball(1)),
        0.01,
        0,
        [0.9, 0.1],
    ),
    (
        "ball boundary",
        lambda: S(f="x1", g="(x1+x2-2)**2/2", x="x1 x2", feasible=bv.Ball(1)),
        HALF,
        (2 - 2**0.5) ** 2 / 2,
        [HALF, HALF],
    ),
    (
        "ill-conditioned",
        lambda: S(
            f="(x1**2+x2**2+(x3-1)**2)/2", g="((x1-1/2)**2+(x2-1/2)**2/10000)/2", x="x1 x2 x3", feasible=bv.Ball(1)
        ),
        0.25 + (1 - HALF) ** 2 / 2,
        0,
        [0.5, 0.5, HALF],
    ),
    (
        "chain 20",
        lambda: S(
            f="(" + "+".join(f"x{i + 1}**2" for i in range(20)) + ")/2",
            g=_chain(20),
            x=_names(20),
            feasible=bv.Box((0,) * 20, (1,) * 20),
        ),
        20 * 41 / (12 * 21),
        -20 / (8 * 21),
        [1 - i / 21 for i in range(1, 21)],
    ),
    (
        "l1 ball",
        lambda: S(f="(x1-1)**2+(x2-3/10)**2+x3**2", g="(x1+x2+x3-2)**2", x="x1 x2 x3", feasible=bv.L1Ball(1)),
        0.045,
        1,
        [0.85, 0.15, 0],
    ),
    (
        "intersection",
        lambda: S(
            f="(x1-2)**2/2+x2**2/2", g="(x1-x2)**2/2", x="x1 x2", feasible=bv.Intersection((bv.Ball(1), bv.Orthant()))
        ),
        (2 - HALF) ** 2 / 2 + 0.25,
        0,
        [HALF, HALF],
    ),
]


@pytest.mark.parametrize(("make", "f_star", "g_star", "x_star"), [k[1:] for k in KNOWN], ids=[k[0] for k in KNOWN])
def test_published_answers(make: Any, f_star: float, g_star: float, x_star: list[float]) -> None:
    t = bv.truth(make())
    assert abs(float(t.f_star.value) - f_star) <= t.f_star.error + 1e-15
    assert abs(float(t.f_star.value) - f_star) < 1e-10
    assert abs(float(t.g_star.value) - g_star) <= t.g_star.error + 1e-15
    assert np.linalg.norm(np.asarray(t.x_star.value) - x_star) <= t.x_star.error + 1e-15
    assert t.x_star.error < 1e-6
    assert t.f_star.certainty in ("proved", "certified") or "l1" in str(t.problem.feasible).lower()


def test_flat_quartic() -> None:
    t = bv.truth(S(f="(x1-1)**2+(x2+2)**2+(x3-1)**2", g="x1**4+(x1+x2-1)**4", x="x1 x2 x3", feasible=bv.WholeSpace()))
    assert abs(float(t.f_star.value) - 10) <= min(1e-6, t.f_star.error)


@pytest.mark.parametrize("family", cases.FAMILIES, ids=lambda f: f.__name__)
def test_random_problems_with_closed_forms(family: Any) -> None:
    start = generator.seed()
    rng = np.random.default_rng([start, len(family.__name__)])
    for number in range(12):
        bad = cases.misses(family(rng), 1e-10)
        assert not bad, f"seed {start}, {family.__name__} number {number}: {bad}"


def test_logistic_of_deficient_rank() -> None:
    rng = np.random.default_rng([generator.seed(), 3])
    for _ in range(3):
        bad = cases.misses(cases.logistic(rng), 1e-10)
        assert not bad, bad


def test_control_shifted_answer_is_seen() -> None:
    case = cases.simplex_of_sums(np.random.default_rng(5))
    wrong = cases.SimpleCase(case.problem, case.f_star + 1e-9, case.g_star, case.x_star)
    assert cases.misses(wrong, 1e-10)


def test_conic_solver_agrees_through_the_image_constraint() -> None:
    """f* by Clarabel over ``A x = A x^`` (not over ``g <= g*``, which has no Slater point)."""
    rng = np.random.default_rng(generator.seed())
    A, t = np.round(rng.normal(size=(2, 4)) * 16) / 16, np.round(rng.normal(size=4) * 16) / 16
    rows = [" + ".join(f"({float(v)!r})*x{i + 1}" for i, v in enumerate(row)) for row in A]
    p = S(
        f="(" + "+".join(f"(x{i + 1}-({float(v)!r}))**2" for i, v in enumerate(t)) + ")/2",
        g=" + ".join(f"exp({row}) + exp(-({row}))" for row in rows),
        x=_names(4),
        feasible=bv.Box((-1,) * 4, (2,) * 4),
    )
    truth = bv.truth(p)
    point = truth.simple.lower.z
    answer = solve_convex(p.f, p.x, p.feasible, more=[(row, float(row @ point)) for row in A])
    assert abs(answer.value - float(truth.f_star.value)) <= 1e-8 + truth.f_star.error


def test_distance_to_solutions() -> None:
    t = bv.truth(S(f="x1", g="(x1+x2+x3-1)**2/2", x="x1 x2 x3", feasible=bv.Orthant()))
    found = t.distance_to_solutions([2.0, 0, 0])
    assert abs(float(found.value) - 1.0) <= found.error
    values, errors = t.simple.distance_batch([[1 / 3] * 3, [0, 0, 0]])
    assert values[0] <= errors[0]
    assert values[1] == pytest.approx(3**-0.5, abs=1e-12)


def test_error_bounds_are_derived_and_claims_are_checked() -> None:
    inverse = bv.truth(S(f="x1", g="(x1+x2+x3-1)**2/2", x="x1 x2 x3", feasible=bv.Orthant()))
    assert (inverse.error_bound().alpha, inverse.error_bound().r) == (pytest.approx(1), 2)
    sharp = bv.truth(S(f="x1", g="x1+3*x1**2/2", x="x1 x2", feasible=bv.Box((0, 0), (1, 1))))
    assert (sharp.error_bound().alpha, sharp.error_bound().r) == (pytest.approx(1), 1)
    disc = bv.truth(S(f="x1", g="(x1-1)**2/2", x="x1 x2", feasible=bv.Ball(1)))
    assert (disc.error_bound().alpha, disc.error_bound().r) == (pytest.approx(0.5), 4)
    assert disc.check_error_bound(0.5, 4, count=60).holds
    refuted = disc.check_error_bound(0.6, 4, count=60)
    assert not refuted.holds
    assert refuted.witness is not None
    flat = bv.truth(S(f="x1", g="(x1-x2)**2/2", x="x1 x2 x3", feasible=bv.Simplex(1)))
    derived = flat.error_bound()
    assert derived.alpha is not None
    assert flat.check_error_bound(derived.alpha, 2, count=60).holds
    assert not flat.check_error_bound(2.2, 2, count=60).holds


def test_without_structure_nothing_is_said() -> None:
    """``min g + eps f`` shows f = 0 for every eps above the slope of g: no value has an error bar that it supports."""
    g = "sqrt((x1-1)**2 + (x2-1)**2 + 1)/10**9 + sqrt((x1-1)**2 + x2**2 + 1)/10**9"
    t = bv.truth(S(f="(x1-2)**2 + (x2-2)**2", g=g, x="x1 x2", feasible=bv.Box((1, 1), (2, 2))))
    for ask in (lambda: t.f_star, lambda: t.x_star, lambda: t.distance_to_solutions([0, 0])):
        with pytest.raises(bv.MathematicalError, match=r"is not known|no exact description"):
            ask()


@pytest.mark.parametrize(
    ("g", "feasible", "says"),
    [
        ("exp(-x1)", bv.Orthant(), "not attained"),
        ("x1 - x1", bv.Intersection((bv.HalfSpace((1.0,), -1.0), bv.Orthant())), "empty"),
        ("-x1", bv.Orthant(), "not bounded below"),
        ("x1**2*(x1-1)**2", bv.Box((0,), (1,)), "not convex"),
        ("softplus(x1)", bv.WholeSpace(), "not attained"),
        ("-x1**2", bv.Box((0,), (1,)), "not convex"),
    ],
)
def test_failures_are_named(g: str, feasible: Any, says: str) -> None:
    p = S(f="x1**2", g=g, x="x1", feasible=feasible)
    with pytest.raises(bv.BilevelVerifyError, match=says):
        _ = bv.truth(p).f_star


def test_quadratic_problems_are_proved_in_rational_arithmetic() -> None:
    rng = np.random.default_rng([generator.seed(), 7])
    for family in (cases.simplex_of_sums, cases.weakly_sharp_box, cases.rank_deficient_least_squares):
        proved = 0
        for _ in range(6):
            case = family(rng)
            t = bv.truth(case.problem)
            assert t.f_star.error <= 1e-15 * (1 + abs(case.f_star)) or t.f_star.certainty == "computed"
            assert abs(float(t.f_star.value) - case.f_star) <= 1e-14 * (1 + abs(case.f_star))
            proved += t.f_star.certainty == "proved"
        assert proved >= 5, family.__name__


def test_control_the_exact_check_rejects_wrong_binding_rows() -> None:
    from bilevel_verify.truth.simple_bilevel import exact_quadratic

    p = S(f="((x1-1)**2+(x2-1/2)**2)/2", g="x1+3*x1**2/2", x="x1 x2", feasible=bv.Box((0, 0), (1, 1)))
    simple = bv.truth(p).simple
    assert exact_quadratic.exact_answer(simple) is not None
    f, g = (exact_quadratic.quadratic_of(e, p.x) for e in (p.f, p.g))
    assert f is not None
    assert g is not None
    rows = [[-1, 0], [1, 0], [0, -1], [0, 1]]
    G = [[exact_quadratic.Fraction(v) for v in row] for row in rows]
    h = [exact_quadratic.Fraction(v) for v in (0, 1, 0, 1)]
    box = exact_quadratic._Polyhedron(G, h, [], [])
    assert exact_quadratic._solve(f, g, box, [0], [0])[0] is not None
    assert exact_quadratic._solve(f, g, box, [1], [1])[0] is None, "x1 = 1 does not solve the lower level"
    assert exact_quadratic._solve(f, g, box, [0, 3], [0])[0] is None, "x2 = 1 has a multiplier of the wrong sign"

"""inf phi and stationary points against the published answers of the zoo (numbers transcribed)."""

from __future__ import annotations

import sys
from contextlib import suppress
from typing import Any

import numpy as np
import pytest
import sympy

import bilevel_verify as bv
from bilevel_verify.truth.functions.quadratics import quadratic_of
from bilevel_verify.truth.sets.squares import complete_squares

BOX3 = {"x1": (-3, 3), "y1": (-3, 3)}
MINIMA: list[tuple[str, Any, float]] = [
    (
        "cosh-lower",
        lambda: bv.bilevel(
            f="cos(x1) + y1**2/2", g="2*cosh(y1) - x1*y1", x="x1", y="y1", domain={"x1": (-4, 4), "y1": (-2, 2)}
        ),
        -0.2947303738,
    ),
    (
        "cardano",
        lambda: bv.bilevel(
            f="sin(2*y1) + x1**2/10",
            g="y1**4/4 + y1**2/2 - x1*y1",
            x="x1",
            y="y1",
            domain={"x1": (-4, 4), "y1": (-1.5, 1.5)},
        ),
        -0.8792467699,
    ),
    (
        "asinh-minimax",
        lambda: bv.minimax(f="x1*y1 - 2*cosh(y1) + cos(2*x1)", x="x1", y="y1", domain={"x1": (-3, 3), "y1": (-2, 2)}),
        -2.469836094,
    ),
    (
        "quad-minimax, whole plane",
        lambda: bv.minimax(f="cos(x1) - cos(x2) + x1*y1 + x2*y1 - x2*y2 - y1**2 - y2**2/4", x="x1 x2", y="y1 y2"),
        -0.5608945730,
    ),
    (
        "robust-average",
        lambda: bv.minimax(
            f="y1*log(1+(x1-1)**2) + y2*log(1+(x1+2)**2) - 2*((y1-1/2)**2+(y2-1/2)**2)",
            x="x1",
            y="y1 y2",
            domain={"x1": (-4, 4)},
        ),
        1.5259618964,
    ),
    (
        "double-well",
        lambda: bv.single_level(f="x1**2/2 - x2**2/20 + x2**4/4", x="x1 x2", domain={"x1": (-2, 2), "x2": (-2, 2)}),
        -0.0025,
    ),
    (
        "Bard 1998",
        lambda: bv.bilevel(f="(x1-1)**2 + (y1-1)**2", g="500*y1 - 50*x1*y1 + y1**2/2", x="x1", y="y1"),
        451**2 / 2501,
    ),
    (
        "DeSilva",
        lambda: bv.bilevel(
            f="(x1-1)**2 + (x2-1)**2 + y1**2 + y2**2 - 2", g="(x1-y1)**2 + (x2-y2)**2", x="x1 x2", y="y1 y2"
        ),
        -1.0,
    ),
    (
        "FalkLiu",
        lambda: bv.bilevel(
            f="(x1-3/2)**2 + (x2-3/2)**2 + y1**2 + y2**2 - 9/2", g="(x1-y1)**2 + (x2-y2)**2", x="x1 x2", y="y1 y2"
        ),
        -2.25,
    ),
]


@pytest.mark.parametrize(("make", "known"), [m[1:] for m in MINIMA], ids=[m[0] for m in MINIMA])
def test_known_minima(make: Any, known: float) -> None:
    t = bv.truth(make())
    least = t.phi_min()
    assert abs(float(least.value) - known) <= 1e-9 + least.error
    assert least.error < 1e-9
    assert least.attained is True
    assert abs(float(t.phi(t.phi_argmin()).value) - known) < 1e-8


def test_delta_is_an_enclosure() -> None:
    t = bv.truth(
        bv.bilevel(f="cos(x1) + y1**2/2", g="2*cosh(y1) - x1*y1", x="x1", y="y1", domain={"x1": (-4, 4), "y1": (-2, 2)})
    )
    gap = t.delta([0.0])
    assert gap.lower <= 1 + 0.2947303737379 <= gap.upper + 1e-12
    assert gap.error < 1e-10


def test_infimum_not_attained() -> None:
    for p in (1.5, 2, 3):
        least = bv.truth(bv.single_level(f=f"(1 + x1**2)**(-({p}-1)/2)/({p}-1)", x="x1")).phi_min()
        assert least.attained is False
        assert least.lower <= 0 <= least.upper < 1e-12


def test_unbounded_below_is_said() -> None:
    for f in ("-log(1 + x1**2)", "-x1"):
        t = bv.truth(bv.single_level(f=f, x="x1"))
        assert t.phi_min().value == -np.inf
        assert "not bounded below" in t.phi_min().method
        assert t.delta([1.0]).value == np.inf


def test_whole_line_gives_at_least_the_calculus_bound() -> None:
    p = bv.bilevel(f="sin(x1) + y1**2/2 + cos(x1 - y1)", g="y1**2 + cos(y1)/2 - x1*y1", x="x1", y="y1")
    least = bv.truth(p).phi_min()
    assert least.lower <= 0.27794764501354 <= least.upper + 1e-12
    assert least.lower >= -2 - 1e-9


def test_penalty_minimum_approaches_phi_from_below() -> None:
    t = bv.truth(
        bv.bilevel(f="sin(x1) + y1**2/2 + cos(x1 - y1)", g="y1**2 + cos(y1)/2 - x1*y1", x="x1", y="y1", domain=BOX3)
    )
    low, high = t.L_star_min(10.0), t.L_star_min(100.0)
    assert low.upper < high.lower < high.upper < t.phi_min().lower


def test_stationary_points_are_listed_and_proved() -> None:
    p = bv.minimax(
        f="cos(x1) - cos(x2) + x1*y1 + x2*y1 - x2*y2 - y1**2 - y2**2/4",
        x="x1 x2",
        y="y1 y2",
        domain={"x1": (-5, 5), "x2": (-5, 5)},
    )
    found = bv.truth(p).stationary_points()
    assert found.complete
    assert [point.kind for point in found.points] == ["minimum", "saddle", "minimum"]
    np.testing.assert_allclose(found.points[2].x.value, [2.060515, -0.295584], atol=1e-6)
    monkey = bv.single_level(
        f="x1**3 - 3*x1*x2**2 + (x1**2+x2**2)**2/4", x="x1 x2", domain={"x1": (-4, 4), "x2": (-4, 4)}
    )
    degenerate = bv.truth(monkey).stationary_points(budget=3000)
    assert sum(point.kind == "minimum" for point in degenerate.points) == 3
    assert not degenerate.complete, "the monkey saddle at 0 is degenerate and must stay undecided"
    assert any(np.all(low <= 0) and np.all(high >= 0) for low, high in degenerate.undecided)


def test_stationary_points_of_a_waved_valley_match_a_sign_scan() -> None:
    t = bv.truth(bv.single_level(f="cos(3*x1) + x1**2/10", x="x1", domain={"x1": (-5, 5)}))
    grid = np.linspace(-5, 5, 20001)
    signs = np.sign(-3 * np.sin(3 * grid) + grid / 5)
    assert len(t.stationary_points().points) == int(
        np.count_nonzero(signs[:-1] * signs[1:] < 0) + np.count_nonzero(signs == 0)
    )


def test_no_lower_level_solution_is_said() -> None:
    with pytest.raises(bv.MathematicalError, match="no nondegenerate minimiser"):
        bv.truth(bv.bilevel(f="y1**2 + y2", g="(y1-x1)**2/2", x="x1", y="y1 y2", domain={"x1": (-1, 1)})).phi_min()


@pytest.mark.parametrize("f", ["3 + 0*x1", "y1**4", "-y1**2"])
def test_a_gradient_that_is_zero_on_the_whole_line(f):
    """At the best point of these the slope is exactly zero in a direction without bounds."""
    problem = bv.bilevel(f=f, g="(y1 - x1)**2/2", x="x1", y="y1")
    least = bv.truth(problem).phi_min()
    if f == "-y1**2":
        assert least.value == -np.inf
    else:
        assert float(least.value) == pytest.approx(3.0 if f.startswith("3") else 0.0, abs=1e-6)
        assert least.lower <= float(least.value) <= least.upper


def test_the_penalty_minimum_is_searched_once_for_each_lambda(monkeypatch: pytest.MonkeyPatch) -> None:
    module = sys.modules["bilevel_verify.truth.truth"]
    asked = []
    search = module.penalty_infimum

    def counted(problem: bv.Problem, points: Any, lam: float, *phi: Any) -> Any:
        asked.append(lam)
        return search(problem, points, lam, *phi)

    monkeypatch.setattr(module, "penalty_infimum", counted)
    t = bv.truth(bv.bilevel(f="cos(x1) + y1", g="y1**2 - x1*y1", x="x1", y="y1", domain={"x1": (-1, 1)}))
    first, other, again = t.L_star_min(4.0), t.L_star_min(8.0), t.L_star_min(4.0)
    assert asked == [4.0, 8.0]
    assert (first.value, first.error) == (again.value, again.error)
    assert first.value < other.value


@pytest.mark.parametrize("f", ["x1*x2", "2*x1*x2", "x1*x2 + x3**2", "x1*x2 + x2*x3", "x1*x2 - x3", "x1*x2 + 3"])
def test_products_without_squares_are_not_convex(f: str) -> None:
    names = "x1 x2 x3" if "x3" in f else "x1 x2"
    with suppress(bv.MathematicalError):
        assert bv.truth(bv.single_level(f=f, x=names)).phi_min().value == -np.inf
    ends = {"x1": (-1, 1), "x2": (-2, 3), "x3": (0, 1)}
    boxed = bv.truth(bv.single_level(f=f, x=names, domain={n: ends[n] for n in names.split()})).phi_min()
    exact = {"2*x1*x2": -6, "x1*x2 + 3": 0, "x1*x2 + x2*x3": -4, "x1*x2 - x3": -4}.get(f, -3)
    assert boxed.value - boxed.error - 1e-15 <= exact <= boxed.value + boxed.error + 1e-15
    assert complete_squares(quadratic_of(sympy.sympify(f), sympy.symbols(names))) is None  # type: ignore[arg-type]

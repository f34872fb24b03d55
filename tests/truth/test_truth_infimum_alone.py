"""inf phi, each side condition alone: which end, how certain, what an unbounded range lets be said."""

from __future__ import annotations

import itertools
import math
import sys
from dataclasses import replace
from fractions import Fraction
from importlib import import_module
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import sympy

import bilevel_verify as bv
from bilevel_verify.truth.arithmetic.enclosure import Enclosure
from bilevel_verify.truth.infimum import (
    _best_floor,
    _constant,
    _gap_to_phi,
    _inside,
    _raised,
    calculus_floor,
    falls_without_end,
    penalty_infimum,
)
from bilevel_verify.truth.lower_level.pointwise import Pointwise
from bilevel_verify.truth.minimum.attainment import _outside
from bilevel_verify.truth.minimum.closed_form import _affine_solution, _linear_solution, _not_zero, closed_form
from bilevel_verify.truth.minimum.minimum import Minimum
from bilevel_verify.truth.truth import Truth

pytestmark = pytest.mark.fast
MODULE = sys.modules[penalty_infimum.__module__]
INF = math.inf
F = Fraction
FOUND = Minimum(-INF, 1.0, np.array([0.5]), False, 7, False, "boxes", certified=True)
P = bv.bilevel(f="sqrt(1 + y1**2)", g="(y1 - x1)**2", x="x1", y="y1")


def single(f: str, x: str = "x1", **domain: tuple[float, float]) -> Any:
    return bv.single_level(f=f, x=x, domain=domain)


# --- the penalty function through inf phi


def penalty(monkeypatch: pytest.MonkeyPatch, found: Minimum, least: Any, drop: float | None) -> Minimum:
    monkeypatch.setattr(MODULE, "PenaltyObjective", lambda points, lam: None)
    monkeypatch.setattr(MODULE, "minimise_phi", lambda objective, low, high, **options: found)
    monkeypatch.setattr(MODULE, "_gap_to_phi", lambda problem, lam: drop)
    return penalty_infimum(P, None, 2.0, least)  # type: ignore[arg-type]


@pytest.mark.parametrize("searched", [True, False])
@pytest.mark.parametrize("certainty", ["proved", "certified", "computed", "sampled"])
def test_a_lower_end_taken_from_phi_is_no_surer_than_phi(
    searched: bool, certainty: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    least = Enclosure(0.3, 0.0, certainty)
    found = penalty(monkeypatch, replace(FOUND, certified=searched), lambda: least, 0.1)
    assert found.certified == (searched and certainty in ("proved", "certified"))
    assert (found.upper, found.method[:7]) == (1.0, "inf phi")


@pytest.mark.parametrize(("least", "drop"), [(0.3, 0.1), (1.0, 1e-20), (-1e16, 1.0), (0.7, 0.1), (5.0, 3.3)])
def test_a_difference_of_two_bounds_is_below_both(least: float, drop: float, monkeypatch: pytest.MonkeyPatch) -> None:
    found = penalty(monkeypatch, FOUND, lambda: Enclosure(least, 0.0, "proved"), drop)
    assert F(found.lower) <= F(least) - F(drop)
    assert found.lower >= math.nextafter(math.nextafter(least - drop, -INF), -INF)
    wide = penalty(monkeypatch, FOUND, lambda: Enclosure(least, 0.25, "proved"), drop)
    assert F(wide.lower) <= F(least) - F(1, 4) - F(drop)


def test_inf_phi_is_asked_only_where_the_search_has_no_lower_end(monkeypatch: pytest.MonkeyPatch) -> None:
    def never() -> Enclosure:
        raise AssertionError("asked")

    known = replace(FOUND, lower=0.25)
    assert penalty(monkeypatch, known, never, 0.1) == known
    least = Enclosure(0.3, 0.0, "proved")
    assert penalty(monkeypatch, FOUND, lambda: least, None) == FOUND
    lost = Enclosure(-INF, 0.0, "certified")
    assert penalty(monkeypatch, FOUND, lambda: lost, 0.1) == FOUND


LETTERS = {"C_f": (3.0, True), "mu": (0.5, True), "L_f": (2.0, True)}


@pytest.mark.parametrize(
    ("changed", "lam", "known"),
    [
        ({}, 5.0, True),
        ({}, 4.0, False),  # lam mu = L_f: the penalty function need not be convex in y
        ({}, 4.001, True),
        ({"C_f": (3.0, False)}, 5.0, False),
        ({"mu": (0.5, False)}, 5.0, False),
        ({"L_f": (2.0, False)}, 5.0, False),
        ({"mu": (0.0, True)}, 5.0, False),
        ({"mu": (-0.5, True), "L_f": (-9.0, True)}, 5.0, False),
        ({"C_f": (INF, True)}, 5.0, False),
        ({"L_f": (INF, True)}, 5.0, False),
        ({"C_f": None}, 5.0, False),
        ({"mu": None}, 5.0, False),
        ({"L_f": None}, 5.0, False),
        ({"C_f": (0.1, True), "mu": (0.7, True)}, 7.0, True),
    ],
)
def test_the_distance_from_phi_needs_every_constant(
    changed: dict[str, Any], lam: float, known: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    given = {**LETTERS, **changed}
    table = {n: SimpleNamespace(value=v[0], certified=v[1]) for n, v in given.items() if v is not None}
    monkeypatch.setattr(import_module("bilevel_verify.constants"), "constants", lambda problem, paper: table)
    found = _gap_to_phi(P, lam)
    if not known:
        assert found is None
    else:
        exact = F(given["C_f"][0]) ** 2 / (2 * F(given["mu"][0]) * F(lam))
        assert found is not None
        assert exact <= F(found) <= exact * (1 + F(1, 10**14))


def test_the_distance_from_phi_of_a_problem() -> None:
    """|f_y| < 1, g_yy = 2, |D^2 f| <= 1: phi - L* <= 1/(4 lam)."""
    assert _gap_to_phi(P, 10.0) == pytest.approx(1 / 40, rel=1e-9)
    assert _gap_to_phi(P, 0.5) is None


# --- the gap of a start


@pytest.mark.parametrize(("x0", "certainty"), [(0.5, "certified"), (1.0, "certified"), (1.5, "computed")])
def test_a_gap_is_no_surer_than_phi_at_its_start(x0: float, certainty: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Beyond |x| = sqrt(2) the lower level is not convex: what was found there may be another stationary point."""
    g = "(2 - x1**2)*y1**2/2 - x1*y1 + y1**4/100"
    truth = bv.truth(bv.bilevel(f="x1 + y1**2", g=g, x="x1", y="y1", domain={"x1": (-1, 1)}))
    monkeypatch.setattr(type(truth), "phi_min", lambda self: Enclosure(-2.0, 0.0, "certified"))
    assert truth.phi([x0]).certainty == certainty
    assert truth.delta([x0]).certainty == certainty


def test_a_gap_is_between_the_far_ends_and_never_negative(monkeypatch: pytest.MonkeyPatch) -> None:
    truth = bv.truth(single("x1**2", x1=(-1, 1)))
    for start, least, certainty in (
        (Enclosure(2.0, 0.5, "certified"), Enclosure(0.5, 0.25, "computed"), "computed"),
        (Enclosure(0.0, 0.5, "sampled"), Enclosure(0.0, 0.25, "certified"), "sampled"),
    ):
        monkeypatch.setattr(type(truth), "phi", lambda self, x, start=start: start)
        monkeypatch.setattr(type(truth), "phi_min", lambda self, least=least: least)
        found = truth.delta([1.0])
        low = max(F(0), F(float(start.value)) - F(float(least.value)) - F(3, 4))
        high = F(float(start.value)) - F(float(least.value)) + F(3, 4)
        assert F(found.lower) <= low
        assert found.lower >= -1e-15
        assert high <= F(found.upper) <= high + F(1, 10**14)
        assert found.certainty == certainty
    monkeypatch.setattr(type(truth), "phi_min", lambda self: Enclosure(-INF, 0.0, "computed"))
    assert (truth.delta([1.0]).value, truth.delta([1.0]).certainty) == (INF, "computed")


# --- floors


@pytest.mark.parametrize(
    ("floor", "lower"), [(-INF, -2.0), (-2.0, -2.0), (-1.5, -1.5), (0.5, 0.5), (3.0, 1.0), (math.nan, -2.0)]
)
def test_a_floor_raises_the_lower_end_up_to_the_upper(floor: float, lower: float) -> None:
    found = replace(FOUND, lower=-2.0)
    raised = _raised(found, floor)
    assert (raised.lower, raised.upper) == (lower, 1.0)
    assert ("squares" in raised.method) == (lower > -2.0)


@pytest.mark.parametrize(
    ("complete", "upper", "floor"), list(itertools.product([True, False], [1.0, INF], [-3.0, 0.5, 4.0]))
)
def test_bounds_of_terms_help_where_the_budget_ended(
    complete: bool, upper: float, floor: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(MODULE, "sum_of_term_bounds", lambda *_: floor)
    found = replace(FOUND, lower=-2.0, complete=complete, upper=upper)
    better = _best_floor(P, None, found, np.zeros(1), np.ones(1))  # type: ignore[arg-type]
    helps = not complete and upper == 1.0 and floor > -2.0
    assert better.lower == (min(floor, 1.0) if helps else -2.0)
    assert better.method.startswith("sum of") == helps


@pytest.mark.parametrize(
    ("f", "least"),
    [
        ("(x1 - 1)**2 + (x1 + y1)**2/3 + 1/3", F(1, 3)),
        ("x1**2 + x1*y1 + y1**2 + x1", F(-1, 3)),
        ("x1**2 - y1**2", None),
        ("x1**2 + y1", None),
        ("x1**4", None),
        ("x1**2 + 7", F(7)),
    ],
)
def test_completed_squares_are_a_floor_of_convex_quadratics(f: str, least: Fraction | None) -> None:
    found = calculus_floor(bv.bilevel(f=f, g="(y1 - x1)**2", x="x1", y="y1"))
    if least is None:
        assert found == -INF
    else:
        assert F(found) <= least
        assert found == pytest.approx(float(least), rel=1e-15)
    assert calculus_floor(bv.minimax(f="x1**2 - y1**2", x="x1", y="y1")) == -INF


def test_a_block_of_constants() -> None:
    for f, low, high in (("1/3", F(1, 3), F(1, 3)), ("sqrt(2)", F(1414213562, 10**9), F(1414213563, 10**9))):
        found = _constant(single(f, "x1 x2", x1=(2, 5), x2=(-7, -3)))
        assert F(found.lower) <= high
        assert low <= F(found.upper)
        assert F(found.upper) - F(found.lower) < F(1, 10**15)
        assert (found.x.tolist(), found.attained, found.certified, found.complete) == ([2.0, -3.0], True, True, True)
    assert _constant(single("2", "x1")).x.tolist() == [0.0]


# --- explicit phi


@pytest.mark.parametrize(
    ("g", "solution"),
    [
        ("(y1 - x1)**2 + (y2 - y1)**2", ["x1", "x1"]),
        ("(1 + x1**2)*y1**2 - 2*x1*y1 + (y2 + 3)**2", ["x1/(1 + x1**2)", "-3"]),
        ("y1**2 + y1*y2 + y2**2 - x1*y2", ["-x1/3", "2*x1/3"]),
        ("y1**2 + y2**2 + cos(y1)", None),
        ("y1**4 + y2**2", None),
    ],
)
def test_linear_lower_levels_are_solved(g: str, solution: list[str] | None) -> None:
    problem = bv.bilevel(f="y1 + y2", g=g, x="x1", y="y1 y2")
    found = _linear_solution(problem)
    if solution is None:
        assert found is None
    else:
        assert found is not None
        wanted = [sympy.sympify(s, {"x1": problem.x[0]}) for s in solution]
        assert [sympy.simplify(a - b) for a, b in zip(found, wanted, strict=True)] == [0, 0]
        assert sympy.simplify(closed_form(problem) - wanted[0] - wanted[1]) == 0


@pytest.mark.parametrize(
    ("g", "affine"),
    [
        ("logcosh(y1 - 2*x1 - x2/3) + (y1 - 2*x1 - x2/3)**2", "2*x1 + x2/3"),
        ("logcosh(y1 - x1**2) + (y1 - x1**2)**2", None),  # solutions at -1, 0, 1 do not lie on a line
        ("logcosh(y1 - x1**3) + (y1 - x1**3)**2", None),  # they do, and the gradient does not vanish on it
    ],
)
def test_an_affine_solution_is_guessed_and_proved(g: str, affine: str | None) -> None:
    problem = bv.bilevel(f="y1", g=g, x="x1 x2", y="y1")
    found = _affine_solution(problem, Pointwise(problem, 53).points)
    if affine is None:
        assert found is None
    else:
        assert found == [sympy.sympify(affine, {s.name: s for s in problem.x})]


def test_what_a_value_shows_not_to_be_an_affine_solution_is_not_simplified(monkeypatch: pytest.MonkeyPatch) -> None:
    """Odd in y, so that y* looks affine at the points that are tried: SymPy took 2.3 s of a problem of its kind."""

    def asked(*_: object) -> None:
        raise AssertionError("simplified")

    problem = bv.bilevel(f="y1", g="y1**2 - x1*y1 + cos(y1)/2", x="x1", y="y1")
    points = Pointwise(problem, 53).points
    monkeypatch.setattr(sympy, "simplify", asked)
    assert _affine_solution(problem, points) is None
    x = problem.x[0]
    assert not _not_zero(sympy.sin(x) ** 2 + sympy.cos(x) ** 2 - 1, [x])
    assert not _not_zero(sympy.Integer(0), [x])
    assert _not_zero(sympy.sin(x) ** 2 + sympy.cos(x) ** 2 - 1 - sympy.Rational(1, 10**9), [x])
    assert not _not_zero(sympy.Symbol("free") * x, [x])


@pytest.mark.parametrize(
    ("f", "domain", "said"),
    [
        ("-x1", {}, "x1 tends to oo"),
        ("x1", {}, "x1 tends to -oo"),
        ("x1", {"x1": (0, INF)}, ""),
        ("x1", {"x1": (-INF, 0)}, "x1 tends to -oo"),
        ("-x1", {"x1": (-INF, 0)}, ""),
        ("x1**2", {}, ""),
        ("x1*x2", {"x2": (3, 5)}, "phi tends to -oo as x1 tends to -oo at x2 = 3"),
        ("x1*x2", {"x2": (-5, -3)}, "phi tends to -oo as x1 tends to oo at x2 = -3"),
        ("x1**2 - exp(x2)", {}, "x2 tends to oo at x1 = 0"),
        ("sin(x1) - x1", {}, ""),  # limits of waves are not asked for
    ],
)
def test_a_ray_along_which_phi_falls(f: str, domain: dict[str, Any], said: str) -> None:
    problem = single(f, "x1 x2" if "x2" in f else "x1", **domain)
    points = Truth(problem).points
    found = falls_without_end(problem, problem.f, points)
    assert said in found
    assert bool(found) == bool(said)
    assert falls_without_end(problem, None, points) == ""


@pytest.mark.parametrize(("ends", "inside"), [((-1, 2), 0), ((0, 2), 0), ((1, 2), 1), ((-3, -2), -2), ((-3, 0), 0)])
def test_a_value_inside_of_a_range(ends: tuple[int, int], inside: int) -> None:
    problem = single("x1**2", x1=ends)
    assert _inside(problem, problem.x[0]) == inside


@pytest.mark.parametrize("ends", [(-INF, INF), (-1.0, INF), (-INF, 3.0), (5.0, INF), (-INF, -4.0), (-1.0, 1.0)])
@pytest.mark.parametrize("other", [(-INF, INF), (-5.0, 1.0)])
def test_outer_boxes_cover_what_lies_beyond_a_cube(ends: tuple[float, float], other: tuple[float, float]) -> None:
    low, high = np.array([ends[0], other[0]]), np.array([ends[1], other[1]])
    a, b = _outside(low, high, 2.0)
    assert (a <= b).all()
    grid = [-1e9, -5.0, -4.0, -2.5, -2.0, -1.0, 0.0, 1.0, 2.0, 2.5, 3.0, 5.0, 1e9]
    for point in itertools.product(grid, grid):
        within = bool(((low <= point) & (point <= high)).all())
        covered = bool(((a <= point) & (point <= b)).all(axis=1).any())
        assert not covered or within
        if within and max(map(abs, point)) > 2:
            assert covered
        if max(map(abs, point)) < 2:
            assert not covered

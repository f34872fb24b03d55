"""Lower levels that are no convex function known to the tool: no value outside its bar, whatever its certainty."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
import pytest
import sympy
import truth_flat_cases as flat
import truth_hidden_cases as hidden

import bilevel_verify as bv
from bilevel_verify.truth.functions.profiles import profile_kind
from bilevel_verify.truth.sets.ranges import ranges_over
from bilevel_verify.truth.simple_bilevel.rescaled import layers_of

S = bv.simple_bilevel
SQUARE = bv.Box((0, 0), (1, 1))
BALL = bv.Ball(1)


@pytest.mark.parametrize(
    ("f", "g", "feasible", "f_star"),
    [
        ("(x1-2)**2 + x2**2", "sqrt(1 + x1**2/10**16)", BALL, 4),
        ("x1", "-log(1+x1+x2)/10**6", SQUARE, 1),
        ("(x1-2)**2 + x2**2", "norm(x)/10**8", BALL, 4),
        ("x1**2 + x2**2", "sqrt(1 + x1**2) - log(2 + x2)/10**9", BALL, 1),
        ("x1**2 + x2**2", "1/(3 + x1)/10**9", BALL, 1),
        ("x1**2 + x2**2", "-sqrt(1 + x1 + x2)/10**9", SQUARE, 2),
        ("x1**2 + x2**2", "exp(exp(-x1/10**9))", bv.Box((-1, -1), (3, 1)), 9),
        ("(x1-2)**2 + x2**2", "softplus(softplus(x1/10**9))", bv.L1Ball(1), 9),
        ("x1**2 + x2**2", "-log(4 - (x1-1)**2)/10**7", bv.Box((0, 0), (2, 2)), 1),
    ],
)
def test_flat_functions_of_flat_functions(f: str, g: str, feasible: Any, f_star: float) -> None:
    t = bv.truth(S(f=f, g=g, x="x1 x2", feasible=feasible))
    assert abs(float(t.f_star.value) - f_star) <= t.f_star.error < 1e-12


@pytest.mark.parametrize("number", range(20))
def test_random_hidden_problems(number: int) -> None:
    bad, _ = flat.contradictions(hidden.draw(number, key=6))
    assert not bad


def test_a_kink_on_the_way_is_an_error_of_ours() -> None:
    with pytest.raises(bv.BilevelVerifyError):
        _ = bv.truth(S(f="(x1-2)**2 + x2**2", g="norm(x)/10**8 + x1/10**9", x="x1 x2", feasible=BALL)).f_star


@pytest.mark.parametrize("g", ["log(x1)", "sqrt(x1)", "log(x1 + x2)/10**9", "log(sqrt(x1 - 2))"])
def test_a_lower_level_that_is_not_defined_has_no_values(g: str) -> None:
    t = bv.truth(S(f="x1**2 + x2**2", g=g, x="x1 x2", feasible=bv.Box((-1, -1), (1, 1))))
    for ask in (lambda: t.f_star, lambda: t.g_star, lambda: t.x_star):
        with pytest.raises(bv.MathematicalError, match="not defined"):
            ask()


def test_a_slow_power_outgrows_a_line() -> None:
    assert not bv.truth(
        S(f="x1**2", g="abspow(1.01, x1) - 2*x1", x="x1", feasible=bv.WholeSpace())
    ).simple.recession.verdict


@pytest.mark.parametrize(
    "g",
    ["(1 + x1)**(-2)", "1/(x1 + 1/2)", "(x1 + x2)**2", "tanh(x1)*x2", "(exp(x1) + exp(x2) - 2)**4", "x1**2*exp(x2)"],
)
def test_layers_that_do_not_increase_are_not_taken_off(g: str) -> None:
    p = S(f="x1", g=g, x="x1 x2", feasible=bv.Box((-2, -2), (2, 2)))
    assert layers_of(p) is None


@pytest.mark.parametrize(
    "g",
    ["sqrt(1 + x1**2/10**16)", "-3*log(2 + x1) ", "exp(1 - sqrt(1 + x1))", "(3 + x1)**(-1/2)", "5 - 2*sqrt(1+x1)",
     "log(1 + exp(x1 + x2)*2)", "-1/(1 + exp(x1))", "(1 + (x1+x2)**2)**3"],
)  # fmt: skip
def test_what_is_taken_off_increases_and_gives_g_again(g: str) -> None:
    p = S(f="x1", g=g, x="x1 x2", feasible=bv.WholeSpace())
    found = layers_of(p)
    if found is None:  # known as it stands
        assert not bv.truth(p).simple.structure.missing
        return
    rng = np.random.default_rng(0)
    seen = []
    for point in rng.uniform(-0.9, 3, size=(40, 2)):
        at = dict(zip(p.x, map(sympy.Float, point)))
        h, value = float(found.h.xreplace(at)), float(p.g.xreplace(at))
        assert abs(float(found.rise.xreplace({found.symbol: sympy.Float(h)})) - value) <= 1e-9 * (1 + abs(value))
        seen.append((h, value))
    seen.sort()
    assert all(a <= b + 1e-12 for (_, a), (_, b) in pairwise(seen))


@pytest.mark.parametrize(
    ("feasible", "least", "most"),
    [
        (bv.Box((-1, 0), (1, 2)), -3, 11),
        (bv.Ball(5), -25, 25),
        (bv.Simplex(2), 6, 8),
        (bv.L1Ball(2), -8, 8),
        (bv.Orthant(), 0, np.inf),
        (bv.HalfSpace((6.0, 8.0), 10.0), -np.inf, 5),
        (bv.Intersection((bv.HalfSpace((-6.0, -8.0), 1.0), bv.Ball(5), bv.HalfSpace((1.0, 0.0), 1.0))), -0.5, 25),
    ],
)  # of 3 x1 + 4 x2
def test_ranges_of_affine_forms(feasible: Any, least: float, most: float) -> None:
    find = ranges_over(feasible)
    assert find is not None
    low, high = find((flat.Fraction(3), flat.Fraction(4)), flat.Fraction(1))
    for found, exact in ((low, least + 1), (high, most + 1)):
        assert found == exact or abs(found - exact) < 1e-12
    assert low <= least + 1
    assert high >= most + 1


@pytest.mark.parametrize(
    ("profile", "low", "high", "convex"),
    [
        ("sin(t)", -3.0, -0.1, True),
        ("sin(t)", -3.0, 0.1, False),
        ("sin(t)", 0.0, 1.0, False),
        ("t**3", 0.0, 1.0, True),
        ("t**3", -1e-3, 1.0, False),
        ("t**3/10**30", 1.0, 2.0, True),
        ("-log(t)", 1e-3, 2.0, True),
        ("-log(t)", -1.0, 2.0, False),
        ("1/t", -2.0, -1.0, False),
        ("1/t", 1.0, 2.0, True),
        ("1/t", -1.0, 2.0, False),
        ("sqrt(t)", 1.0, 2.0, False),
        ("tanh(t)", -2.0, -1.0, True),
        ("tanh(t)", -2.0, 1e-9, False),
        ("exp(-t**2)", 1.0, 2.0, True),
        ("exp(-t**2)", 0.5, 2.0, False),
        ("t", -1.0, 1.0, False),
        ("Abs(t) + t**2", -1.0, 1.0, False),
        ("sin(t)", -np.inf, 0.0, False),
        ("t**3", 1.0, 1.0, False),
    ],
)
def test_convexity_on_a_range(profile: str, low: float, high: float, convex: bool) -> None:
    t = sympy.Symbol("t", real=True)
    found = profile_kind(sympy.sympify(profile, locals={"t": t}), t, (low, high))
    assert (found == ("strict", ())) is convex
    if profile.startswith("Abs") or profile == "t":
        assert found is None or found[0] == "kinked"

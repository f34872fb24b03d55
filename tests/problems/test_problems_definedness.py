"""A text that has no value somewhere is not read as a formula that has one there: it is refused with a point."""

from __future__ import annotations

import math
import random

import pytest
import sympy

import bilevel_verify as bv
from bilevel_verify.errors import ExpressionError
from bilevel_verify.problems.definedness import Need, points, sign_of_base, unshown

x1, x2 = sympy.symbols("x1 x2", real=True)
WHOLE = (-sympy.oo, sympy.oo)
SIMPLIFIED = [
    ("exp(log(x1)) + x2**2", "x1 = 0"),
    ("sqrt(x1)**2 + x2**2", "x1 = -1"),
    ("x1/x1 + x2**2", "x1 = 0"),
    ("x1**2/x1 + x2", "x1 = 0"),
    ("log(x1) - log(x1) + x2**2", "x1 = 0"),
    ("(x1 - 2)/(x1 - 2) + x2**2", "x1 = 2"),
    ("0*log(x1) + x2**2", "x1 = 0"),
    ("0/x1 + x2**2", "x1 = 0"),
    ("x1*x2/x2", "x2 = 0"),
    ("1/(1/x1) + x2", "x1 = 0"),
    ("(x1**(1/4))**4 + x2", "x1 = -1"),
    ("exp(2*log(x1)) + x2", "x1 = 0"),
    ("x1**x2*x1**(-x2)", "x1 = 0"),
]
KEPT = [
    "log(x1**2) + x2**2",
    "sqrt(x1**2 + x2**2)**2",
    "norm(x)**2",
    "exp(log(1 + x1**2)) + x2",
    "log(exp(x1)) + x2",
    "1/(1 + exp(-x1)) + x2**2",
    "sqrt(x1**2)**3 + x2",
    "log(x1/x2) + log(x2)",
    "1/(2*x1*x2) + 1/x1",
    "(x1**2 + x1*x2)/x1",
    "Piecewise((x1/x1, x1 > 0), (x2, True))",
    "abs(x1)**1.5 + x2**2",
    "max(x1, x2) + 1/x1",
]


def problem(f: str, **more: object) -> bv.Problem:
    return bv.single_level(f=f, x=["x1", "x2"], **more)


@pytest.mark.fast
@pytest.mark.parametrize(("text", "point"), SIMPLIFIED)
def test_what_is_simplified_away_is_refused_with_a_point(text: str, point: str) -> None:
    with pytest.raises(ExpressionError, match="has no value at") as caught:
        problem(text)
    assert point in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.fast
@pytest.mark.parametrize("text", KEPT)
def test_what_has_the_same_values_is_read(text: str) -> None:
    problem(text)


@pytest.mark.fast
def test_a_domain_or_a_feasible_set_may_keep_such_points_out() -> None:
    assert problem("exp(log(x1)) + x2", domain={"x1": [1, 2]}).f == x1 + x2
    with pytest.raises(ExpressionError, match="x1 = 0"):
        problem("exp(log(x1)) + x2", domain={"x1": [0, 2]})
    with pytest.raises(ExpressionError, match="x1 = -1/7"):  # an end of the range that no fixed coordinate is
        problem("sqrt(x1)**2 + x2", domain={"x1": ["-1/7", "-1/8"]})
    simplex = {"feasible": bv.Box([1.0, -1.0], [2.0, 1.0])}
    assert bv.simple_bilevel(f="x1/x1 + x2", g="x2**2", x=["x1", "x2"], **simplex).f == 1 + x2
    with pytest.raises(ExpressionError, match="g: has no value at x1 = 0"):
        bv.simple_bilevel(f="x2", g="x1/x1 + x2**2", x=["x1", "x2"], feasible=bv.Ball(radius=3))


@pytest.mark.fast
def test_an_abbreviation_is_named_by_its_own_text() -> None:
    with pytest.raises(ExpressionError) as caught:
        problem("u + x2", define={"u": "x1**2/x1"})
    assert caught.value.text == "x1**2/x1"


@pytest.mark.fast
def test_branches_that_may_not_be_taken_need_nothing_and_what_follows_does() -> None:
    problem("x2 + (x1/x1 if x1 > 0 else 1)")
    with pytest.raises(ExpressionError, match="x1 = 0"):
        problem("(x2 if x1 > 0 else 1) + x1/x1")
    with pytest.raises(ExpressionError, match="x1 = 0"):
        problem("Piecewise((x2, x1 > 0), (1, True)) + x1/x1")


@pytest.mark.fast
@pytest.mark.parametrize(
    ("base", "exponent", "sign"),
    [
        (x1, sympy.Integer(2), None),
        (x1, sympy.Integer(0), None),
        (x1, sympy.Integer(-1), "nonzero"),
        (x1, sympy.Rational(1, 2), "nonnegative"),
        (x1, sympy.Rational(-1, 2), "positive"),
        (x1, x2, "positive"),
        (sympy.Integer(2), x2, None),
    ],
)
def test_what_a_power_needs(base: sympy.Expr, exponent: sympy.Expr, sign: str | None) -> None:
    assert sign_of_base(base, exponent) == sign


@pytest.mark.fast
def test_needs_are_broken_by_certain_signs_alone() -> None:
    signs = {"positive": (True, True, False), "nonnegative": (True, False, False), "nonzero": (False, True, False)}
    for sign, expected in signs.items():
        need = Need(x1, sign, "", 0)
        assert tuple(need.broken(sympy.Integer(v)) for v in (-1, 0, 1)) == expected
        assert not need.broken(sympy.Symbol("t", real=True))


@pytest.mark.fast
def test_a_need_is_shown_by_all_of_its_factors() -> None:
    need = Need(x1 * x2, "nonzero", "", 0)
    assert unshown([need], 1 / x1 + 1 / x2) == []
    assert unshown([need, need], 1 / x1) == [need]
    assert unshown([Need(x1, "positive", "", 0)], sympy.log(x1)) == []


@pytest.mark.fast
def test_points_lie_in_the_ranges() -> None:
    spans = {x1: (sympy.Rational(1, 3), sympy.Rational(2, 3)), x2: (sympy.Integer(-1), sympy.oo)}
    found = list(points([x1, x2], spans))
    assert len(found) > 40
    assert all(spans[x1][0] <= p[x1] <= spans[x1][1] and p[x2] >= -1 for p in found)


def test_a_refusal_has_always_a_witness() -> None:
    """Random texts: where a refusal names a point, Python's own arithmetic on the text fails there."""
    draw, refused = random.Random(20261124), 0
    pieces = ["x1", "x2", "(x1 - 1)", "log(x1)", "exp(x2)", "sqrt(x2)", "(1 + x1**2)", "2"]
    for _ in range(300):
        a, b, c = (draw.choice(pieces) for _ in range(3))
        text = draw.choice(["{a}*{b}/{a} + {c}", "exp(log({a})) + {b}*{c}", "sqrt({a})**2 + {b}", "{a}/{b}*{b} + {c}"])
        text = text.format(a=a, b=b, c=c)
        try:
            problem(text)
        except ExpressionError as error:
            if "has no value at" not in str(error):
                continue
            refused += 1
            where = str(error).partition(" at ")[2].partition(" as typed")[0]
            point = {k: float(sympy.Rational(v)) for k, v in (p.split(" = ") for p in where.split(", "))}
            values = {"x1": 0.3, "x2": 0.7, **point, "log": math.log, "exp": math.exp, "sqrt": math.sqrt}
            with pytest.raises((ValueError, ZeroDivisionError)):
                eval(text, {"__builtins__": {}}, values)
    assert refused > 50

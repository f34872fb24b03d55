"""Enclosures on boxes against exact ranges, tight and never too small; cutting, splitting, ends that decide."""

from __future__ import annotations

from fractions import Fraction
from itertools import product
from typing import Any

import mpmath
import pytest
from audit_pieces import ranges
from flint import arb

from bilevel_verify.audit.scalar.boxes import (
    NoEnclosure,
    _Boxed,
    _interval,
    enclose,
    nonnegative,
    truth,
)
from bilevel_verify.language import parse
from bilevel_verify.numbers.logic import conjunction, disjunction

pytestmark = pytest.mark.fast

Ends = tuple[str, str]
MP = {name: getattr(mpmath, name) for name in ("pi", "e", "exp", "log", "sqrt", "sin", "cos", "tanh", "sinh", "cosh",
"atan",
                                               "asinh", "inf")}  # fmt: skip


def ball(ends: Ends) -> Any:
    return _interval(Fraction(ends[0]), Fraction(ends[1]))


def enclosed(text: str, box: dict[str, Ends], domains: str = "") -> Any:
    return enclose(parse(text), ranges(domains))({name: ball(ends) for name, ends in box.items()})


SHARP = [
    # text, box, least, largest
    ("3/7", {}, "3/7", "3/7"),
    ("x", {"x": ("1", "2")}, "1", "2"),
    ("x", {"x": ("1/3", "1/3")}, "1/3", "1/3"),
    ("pi", {}, "pi", "pi"),
    ("E", {}, "e", "e"),
    ("x + y", {"x": ("1", "2"), "y": ("-3", "5")}, "-2", "7"),
    ("x + y + z", {"x": ("1", "2"), "y": ("-3", "5"), "z": ("10", "20")}, "8", "27"),
    ("x - y", {"x": ("1", "2"), "y": ("-3", "5")}, "-4", "5"),
    ("-x", {"x": ("1", "2")}, "-2", "-1"),
    ("x*y", {"x": ("1", "2"), "y": ("-3", "5")}, "-6", "10"),
    ("x*y*z", {"x": ("1", "2"), "y": ("3", "5"), "z": ("7", "8")}, "21", "80"),
    ("x*x", {"x": ("-1", "2")}, "0", "4"),
    ("x*x*x", {"x": ("-1", "2")}, "-1", "8"),
    ("x*y*x", {"x": ("-1", "2"), "y": ("2", "3")}, "0", "12"),
    ("x/y", {"x": ("1", "2"), "y": ("4", "5")}, "1/5", "1/2"),
    ("1/x", {"x": ("1/3", "5")}, "1/5", "3"),
    # powers with whole exponents
    ("x**2", {"x": ("-3", "2")}, "0", "9"),
    ("x**2", {"x": ("-2", "3")}, "0", "9"),
    ("x**2", {"x": ("-3", "-2")}, "4", "9"),
    ("x**2", {"x": ("2", "3")}, "4", "9"),
    ("x**4", {"x": ("-1/2", "1")}, "0", "1"),
    ("x**3", {"x": ("-3", "2")}, "-27", "8"),
    ("x**3", {"x": ("-3", "-2")}, "-27", "-8"),
    ("x**6", {"x": ("-2", "1")}, "0", "64"),
    ("x**1", {"x": ("-3", "2")}, "-3", "2"),
    ("x**0", {"x": ("-3", "2")}, "1", "1"),
    ("x**(-1)", {"x": ("2", "4")}, "1/4", "1/2"),
    ("x**(-2)", {"x": ("2", "4")}, "1/16", "1/4"),
    ("x**(-3)", {"x": ("-4", "-2")}, "-1/8", "-1/64"),
    ("x**(-2)", {"x": ("-4", "-2")}, "1/16", "1/4"),
    # real powers: monotone in each argument, so the corners decide
    ("x**0.5", {"x": ("4", "9")}, "2", "3"),
    ("x**0.5", {"x": ("0", "9")}, "0", "3"),
    ("x**(-0.5)", {"x": ("4", "9")}, "1/3", "1/2"),
    ("x**y", {"x": ("2", "3"), "y": ("2", "4")}, "4", "81"),
    ("x**y", {"x": ("2", "3"), "y": ("-2", "4")}, "1/9", "81"),
    ("x**y", {"x": ("2", "3"), "y": ("-4", "-2")}, "1/81", "1/4"),
    ("x**y", {"x": ("1/3", "1/2"), "y": ("2", "4")}, "1/81", "1/4"),
    ("x**y", {"x": ("1/3", "1/2"), "y": ("-4", "-2")}, "4", "81"),
    ("x**y", {"x": ("1/2", "3"), "y": ("-4", "2")}, "1/81", "16"),
    ("x**y", {"x": ("1/2", "3"), "y": ("-1", "4")}, "1/16", "81"),
    # functions
    ("exp(x)", {"x": ("-1", "2")}, "exp(-1)", "exp(2)"),
    ("log(x)", {"x": ("1/3", "2")}, "log(1/3)", "log(2)"),
    ("log(x)", {"x": ("1/3", "1/2")}, "log(1/3)", "log(1/2)"),
    ("sqrt(x)", {"x": ("4", "9")}, "2", "3"),
    ("sqrt(x)", {"x": ("0", "9")}, "0", "3"),
    ("sqrt(x)", {"x": ("1/9", "1/4")}, "1/3", "1/2"),
    ("tanh(x)", {"x": ("-1", "2")}, "tanh(-1)", "tanh(2)"),
    ("sinh(x)", {"x": ("-1", "2")}, "sinh(-1)", "sinh(2)"),
    ("atan(x)", {"x": ("-1", "2")}, "atan(-1)", "atan(2)"),
    ("asinh(x)", {"x": ("-1", "2")}, "asinh(-1)", "asinh(2)"),
    ("cosh(x)", {"x": ("1", "1")}, "cosh(1)", "cosh(1)"),
    ("sin(x)", {"x": ("1", "1")}, "sin(1)", "sin(1)"),
    ("cos(x)", {"x": ("1", "1")}, "cos(1)", "cos(1)"),
    ("abs(x)", {"x": ("-5", "-2")}, "2", "5"),
    ("abs(x)", {"x": ("2", "5")}, "2", "5"),
    ("plus(x)", {"x": ("-1", "2")}, "0", "2"),
    ("plus(x)", {"x": ("-3", "-2")}, "0", "0"),
    ("plus(x)", {"x": ("1/2", "2/3")}, "1/2", "2/3"),
    ("floor(x)", {"x": ("1/2", "5/2")}, "0", "2"),
    ("ceil(x)", {"x": ("1/2", "5/2")}, "1", "3"),
    ("floor(x)", {"x": ("5/4", "7/4")}, "1", "1"),
    ("ceil(x)", {"x": ("5/4", "7/4")}, "2", "2"),
    ("max(x, y)", {"x": ("1", "4"), "y": ("2", "3")}, "2", "4"),
    ("min(x, y)", {"x": ("1", "4"), "y": ("2", "3")}, "1", "3"),
    ("max(x, y, z)", {"x": ("1", "4"), "y": ("2", "3"), "z": ("3", "7")}, "3", "7"),
    # conditions
    ("(x if x > 0 else -x)", {"x": ("1", "2")}, "1", "2"),
    ("(x if x > 0 else 5)", {"x": ("-2", "-1")}, "5", "5"),
    ("(x if x > 0 else 5)", {"x": ("-1", "2")}, "-1", "5"),
]


@pytest.mark.parametrize(("text", "box", "least", "largest"), SHARP)
def test_ranges_are_sharp_and_never_too_small(text: str, box: dict[str, Ends], least: str, largest: str) -> None:
    found = enclosed(text, box)
    with mpmath.workdps(40):
        low, high = (_exact(end) for end in (least, largest))
        loose = Fraction(2, 5) if any(sign in text for sign in "*/") else 0  # products of balls are a little wider
        slack = mpmath.mpf(10) ** -7 * (1 + max(abs(low), abs(high))) + (high - low) * float(loose)
        lower, upper = _end(found.lower()), _end(found.upper())
        assert low - slack <= lower <= low + mpmath.mpf(10) ** -25 * abs(low), (lower, low)
        assert high + slack >= upper >= high - mpmath.mpf(10) ** -25 * abs(high), (upper, high)


def _exact(text: str) -> Any:
    if text.lstrip("-").replace("/", "").isdigit():
        value = Fraction(text)
        return mpmath.mpf(value.numerator) / value.denominator
    return eval(text, {"__builtins__": {}}, {**MP, "pi": mpmath.pi(), "e": mpmath.e()})


def _end(value: Any) -> Any:
    mid, exponent = value.mid().man_exp()
    return mpmath.mpf(int(mid)) * mpmath.mpf(2) ** int(exponent)


INSIDE = [
    ("x**y", {"x": ("0", "1/2"), "y": ("0", "3")}, "y = [0, 3]"),
    ("x**y", {"x": ("0", "3"), "y": ("0", "2")}, "y = [0, 2]"),
    ("x**y", {"x": ("0", "3"), "y": ("1", "2")}, "y = [1, 2]"),
    ("x**(y + 1)", {"x": ("0", "3"), "y": ("0", "2")}, "y = [0, 2]"),
    ("x**k", {"x": ("-2", "1/2"), "k": ("0", "3")}, "k = integers 0.."), ("x**k", {"x": ("-3", "-2"), "k": ("0", "3")},
     "k = integers 0.."), ("x**k", {"x": ("-3", "-1/2"), "k": ("-2", "3")}, "k = integers .."),
     ("x**k", {"x": ("-1/2", "3"),
     "k": ("1", "4")}, "k = integers 1.."), ("x**k", {"x": ("1/2", "3"), "k": ("-2", "2")}, "k = integers .."),
    ("sin(x)", {"x": ("-1", "7")}, ""), ("cos(x)", {"x": ("-1", "7")}, ""), ("cosh(x)", {"x": ("-1", "2")}, ""),
    ("abs(x)", {"x": ("-1", "2")}, ""), ("x*x - x", {"x": ("-1", "2")}, ""), ("(x + y)**3/(2 + x)", {"x": ("-1", "2"),
     "y": ("-1", "1")}, ""), ("(x if y > x else y*y)", {"x": ("-1", "2"), "y": ("-1", "1")}, ""),
]  # fmt: skip


@pytest.mark.parametrize(("text", "box", "domains"), INSIDE)
def test_every_value_is_enclosed(text: str, box: dict[str, Ends], domains: str) -> None:
    node = parse(text)
    found = enclosed(text, box, domains)
    whole = [name for name in box if f"{name} = integers" in domains]
    axes = []
    for name, (a, b) in box.items():
        low, high = Fraction(a), Fraction(b)
        axes.append([Fraction(k) for k in range(int(low), int(high) + 1)] if name in whole
                    else [low + (high - low) * Fraction(k, 8) for k in range(9)])  # fmt: skip
    values = [
        enclose(node, ranges(domains))({n: _interval(v, v) for n, v in zip(box, point)}) for point in product(*axes)
    ]
    assert sum(v is not None for v in values) > 4
    assert all(found.contains(v.mid()) or found.overlaps(v) for v in values if v is not None)
    assert found.is_finite()


NOWHERE = [
    ("1/x", {"x": ("-1", "2")}, ""), ("1/x", {"x": ("0", "1")}, ""), ("x**(-1)", {"x": ("-1", "1")}, ""),
    ("x**(-2)", {"x": ("-1", "1")}, ""), ("log(x)", {"x": ("0", "1")}, ""), ("log(x)", {"x": ("-1", "1")}, ""),
    ("sqrt(x)", {"x": ("-1", "4")}, ""), ("sqrt(x)", {"x": ("-4", "-1")}, ""), ("x**0.5", {"x": ("-1", "4")}, ""),
    ("x**0.5", {"x": ("-4", "-1")}, ""), ("x**(-0.5)", {"x": ("0", "4")}, ""),
    ("x**y", {"x": ("-1", "4"), "y": ("1", "2")}, ""),
    ("x**y", {"x": ("0", "4"), "y": ("-1", "2")}, "y = [-1, 2]"), ("x**y", {"x": ("0", "1"), "y": ("0", "2")}, ""),
    ("x**y", {"x": ("0", "1/4"), "y": ("-1/1000000000", "0")}, "y = [-1/1000000000, 0]"),
    ("x**y", {"x": ("-1", "1"), "y": ("1", "2")}, "y = [1, 2]"),
    ("x**k", {"x": ("-1", "1"), "k": ("-1", "2")}, "k = integers .."),
    ("x + 1/y", {"x": ("0", "1"), "y": ("0", "1")}, ""), ("1/y + x", {"x": ("0", "1"), "y": ("0", "1")}, ""),
    ("1 - 1/y*x", {"x": ("0", "1"), "y": ("0", "1")}, ""), ("(1/y)/x", {"x": ("1", "2"), "y": ("0", "1")}, ""),
    ("x/(1/y)", {"x": ("1", "2"), "y": ("0", "1")}, ""), ("-(1/y)", {"y": ("0", "1")}, ""),
    ("exp(1/y)", {"y": ("0", "1")}, ""),
    ("(1/y)**2", {"y": ("0", "1")}, ""), ("(1/y)**2.5", {"y": ("0", "1")}, ""),
    ("max(x, 1/y)", {"x": ("1", "2"), "y": ("0", "1")}, ""),
    ("(x if x > 1 else 1/y)", {"x": ("0", "2"), "y": ("0", "1")}, ""),
    ("(1/y if x > 1 else x)", {"x": ("0", "2"), "y": ("0", "1")}, ""),
    ("(x if 1/y > 1 else 1/y)", {"x": ("0", "2"), "y": ("0", "1")}, ""),
    ("exp(exp(exp(exp(x))))", {"x": ("9", "9")}, ""),
    ("exp(exp(exp(exp(x)))) - 1", {"x": ("9", "9")}, ""), ("x/0", {"x": ("1", "1")}, ""),
]  # fmt: skip


@pytest.mark.parametrize(("text", "box", "domains"), NOWHERE)
def test_no_enclosure_where_something_may_be_undefined(text: str, box: dict[str, Ends], domains: str) -> None:
    assert enclosed(text, box, domains) is None


@pytest.mark.parametrize("text", ["oo", "x + oo", "gamma(x)", "tan(x)", "sum(x, (i, 1, 3))", "max(x, (i, 1, 3))",
"x[1]", "x > 1",
                                  "sqrt(x, x)", "x % 2", "x @ x", "(x if x else 1)", "binomial(x, x)"])  # fmt: skip
def test_what_is_outside_the_table(text: str) -> None:
    with pytest.raises(NoEnclosure):
        enclose(parse(text))


def test_a_base_below_zero_by_the_rounding_of_its_ball_is_cut() -> None:
    assert enclosed("sqrt(x)", {"x": ("-1/1000000000", "1")}) is not None
    assert enclosed("sqrt(x)", {"x": ("-1/10000000", "1")}) is None
    assert enclosed("sqrt(x)", {"x": ("-1/70000000", "4")}) is not None
    assert enclosed("x**0.5", {"x": ("-1/1000000000", "1")}) is not None
    assert enclosed("x**0.5", {"x": ("-1/10000000", "1")}) is None
    found = enclosed("x**0.5", {"x": ("-1/1000000000", "1/4")})
    assert found.contains(0)
    assert found.contains(arb(0.5))


def test_zero_to_powers() -> None:
    assert enclosed("x**y", {"x": ("0", "1/4"), "y": ("1/2", "1")}, "y = [1/2, 1]").upper() >= arb(0.5)
    found = enclosed("x**y", {"x": ("0", "0"), "y": ("0", "2")}, "y = [0, 2]")
    assert found.contains(0)
    assert found.contains(1)
    assert found.upper() < arb(1.01)
    found = enclosed("x**y", {"x": ("0", "2"), "y": ("1", "3")}, "y = [1, 3]")
    assert found.contains(8)
    assert found.upper() < arb(8.01)
    found = enclosed("x**y", {"x": ("0", "1/2"), "y": ("2", "3")}, "y = [2, 3]")
    assert found.contains(arb(0.25))


# --- conditions

TRUTHS = [
    ("x < y", "1", "2", True), ("x < y", "3", "4", None), ("x < y", "5", "6", False), ("x <= y", "1", "2", True),
    ("x <= y", "5", "6", False), ("x > y", "5", "6", True), ("x > y", "1", "2", False), ("x >= y", "5", "6", True),
    ("x >= y", "1", "2", False), ("x == y", "1", "2", False), ("x == y", "5", "6", False), ("x == y", "3", "4", None),
    ("not x < y", "1", "2", False), ("not x < y", "5", "6", True), ("not x < y", "3", "4", None),
    ("x < y and x > 0", "1", "2", True), ("x < y and x > 0", "5", "6", False), ("x < y and x > 7", "1", "2", False),
    ("x < y and x > 0", "3", "4", None), ("x < y and x > 7", "3", "4", False), ("x < y or x > 7", "5", "6", False),
    ("x < y or x > 0", "5", "6", True), ("x < y or x > 7", "3", "4", None), ("x < y or x > 0", "3", "4", True),
    ("x < y < 8", "1", "2", True), ("x < y < 2", "1", "2", False), ("x < y < 2", "3", "4", False),
    ("x < y < 8", "5", "6", False),
    ("x < y < 9/2", "1", "2", None), ("0 < x < y", "3", "4", None), ("1/(x - 3/2) > 0", "1", "2", None),
    ("0 < 1/(x - 3/2)", "1", "2", None),
]  # fmt: skip


@pytest.mark.parametrize(("text", "low", "high", "answer"), TRUTHS)
def test_conditions_on_a_box(text: str, low: str, high: str, answer: bool | None) -> None:
    """With y in [3, 4.9]: true on the whole box, false on the whole box, or neither."""
    box = {"x": ball((low, high)), "y": ball(("3", "49/10"))}
    if high == "4":
        box["y"] = ball(("7/2", "49/10"))
    assert truth(parse(text))(box) is answer


@pytest.mark.parametrize(
    ("a", "op", "b", "answer"),
    [("2", "<=", "2", True), ("2", ">=", "2", True), ("2", "<", "2", None), ("2", ">", "2", None),
    ("2", "==", "2", None),
     ("1", "<", "2", True), ("2", "<", "1", False), ("1", ">", "2", False), ("2", ">", "1", True),
     ("1", ">=", "2", False),
     ("2", ">=", "1", True), ("2", "<=", "1", False), ("1", "==", "2", False), ("2", "==", "1", False)],
)  # fmt: skip
def test_relations_of_thin_balls(a: str, op: str, b: str, answer: bool | None) -> None:
    assert truth(parse(f"a {op} b"))({"a": ball((a, a)), "b": ball((b, b))}) is answer


@pytest.mark.parametrize("values", list(product([True, False, None], repeat=3)))
def test_three_valued_logic(values: tuple[bool | None, ...]) -> None:
    everything = False if False in values else None if None in values else True
    anything = True if True in values else None if None in values else False
    assert conjunction(values) is everything
    assert disjunction(values) is anything


@pytest.mark.parametrize("text", ["x", "x + 1", "True if x > 1 else x > 2"])
def test_what_is_no_condition(text: str) -> None:
    with pytest.raises(NoEnclosure):
        truth(parse(text))


def test_a_bound_is_not_strict_unless_it_is_asked_to_be() -> None:
    box = {"x": (Fraction(0), Fraction(1))}
    assert nonnegative(parse("0*x"), box).proved
    assert not nonnegative(parse("0*x"), box, strict=True).proved


def test_a_power_or_a_range_of_balls_alone_is_refused() -> None:
    """What is known of an exponent decides how a power is enclosed: nothing may go on without it."""
    with pytest.raises(NotImplementedError):
        _Boxed().raised(arb(2), arb(3))
    with pytest.raises(NotImplementedError):
        _Boxed().integer(arb(2), "a limit")
    with pytest.raises(KeyError):
        _Boxed().named("pi")

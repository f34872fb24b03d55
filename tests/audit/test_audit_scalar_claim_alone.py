"""A claim by itself: its letters, its ends as conditions, letters put in, hypotheses solved for a letter."""

from __future__ import annotations

from fractions import Fraction
from itertools import product
from typing import get_args

import pytest
from audit_pieces import claim_of, plain, ranges, shown

from bilevel_verify.audit.scalar.claim import (
    POSITIVE,
    Decision,
    Outcome,
    ScalarClaim,
    completed,
    eliminated,
    end_conditions,
    mentions,
    prepared,
)
from bilevel_verify.language import parse, to_text, tree
from bilevel_verify.theorems.card_parts import Domain, Expression
from bilevel_verify.theorems.exact import Formula

pytestmark = pytest.mark.fast


def test_the_words_of_a_decision() -> None:
    assert get_args(Outcome) == ("proved", "refuted", "undecided", "vacuous")
    assert Decision("undecided", "none").attacks == 0
    assert not Decision("undecided", "none").point


def test_a_letter_without_a_range_is_positive() -> None:
    assert [to_text(c) for c in end_conditions("a", POSITIVE)] == ["a > 0"]
    assert not POSITIVE.upper_closed


def test_letters_are_those_that_occur_and_those_of_their_ends() -> None:
    domains = ranges("e = (0, oo); d = [e, oo); c = [0, d]; b = integers 1..; a = (0, oo); z = (0, oo); y = (0, z]")
    claim = ScalarClaim(parse("c + pi"), "<=", parse("b"), domains, (parse("a <= 1"),))
    assert claim.letters == ("e", "d", "c", "b", "a")
    assert claim.integers == {"b"}
    assert [to_text(c) for c in claim.conditions()] == [
        "a <= 1",
        "e > 0",
        "d >= e",
        "c >= 0",
        "c <= d",
        "b >= 1",
        "a > 0",
    ]
    assert ScalarClaim(parse("y"), "<=", parse("1"), domains).letters == ("z", "y")
    assert ScalarClaim(parse("1"), "<=", parse("a"), domains).letters == ("a",)
    assert ScalarClaim(parse("stranger"), "<=", parse("a"), domains).letters == ("a",)


@pytest.mark.parametrize(
    ("text", "conditions"),
    [
        ("(0, 1]", ["a > 0", "a <= 1"]),
        ("[0, 1)", ["a >= 0", "a < 1"]),
        ("(0, 1)", ["a > 0", "a < 1"]),
        ("[0, oo)", ["a >= 0"]),
        ("(-oo, 2]", ["a <= 2"]),
        ("(-oo, oo)", []),
        ("integers 1..", ["a >= 1"]),
        ("integers ..4", ["a <= 4"]),
        ("integers 1..b", ["a >= 1", "a <= b"]),
        ("integers ..", []),
        ("[-b, b]", ["a >= -b", "a <= b"]),
    ],
)
def test_ends_as_conditions(text: str, conditions: list[str]) -> None:
    assert [to_text(c) for c in end_conditions("a", ranges(f"a = {text}", "b")["a"])] == conditions


def test_ends_of_integers_belong_to_them() -> None:
    one, two = (Expression(parse(str(n)), str(n)) for n in (1, 2))
    domain = Domain("", "integers", one, two, False, False)
    assert [to_text(c) for c in end_conditions("k", domain)] == ["k >= 1", "k <= 2"]


def test_what_an_end_mentions() -> None:
    domains = ranges("a = [b, c); d = integers ..b; e = integers c..", "b", "c")
    assert mentions(domains["a"], "b")
    assert mentions(domains["a"], "c")
    assert not mentions(domains["a"], "a")
    assert mentions(domains["d"], "b")
    assert not mentions(domains["d"], "c")
    assert mentions(domains["e"], "c")


def test_tied_letters() -> None:
    claim = claim_of(
        "a + b <= c", "c = [d, oo); d = (0, 1]; k = integers 1..k_end; k_end = integers 1..", "a <= 1; b <= b"
    )
    assert claim.tied("a")
    assert claim.tied("b")
    assert claim.tied("d")
    assert claim.tied("k_end")
    assert not claim.tied("c")
    assert not claim.tied("k")
    assert not claim_of("a <= b").tied("a")
    own = {"a": Domain("", "interval", Expression(parse("a"), "a"), None)}
    assert not ScalarClaim(parse("a"), "<=", parse("1"), own).tied("a")
    assert claim_of("a <= b", "b = [a, oo)").tied("a")


def test_values_are_put_in_everywhere_and_ranges_become_conditions() -> None:
    claim = claim_of("a + 1 <= a*b", "a = (0, 2]; b = [a, 3*a]; c = [0, a]; d = [0, 1]", "a <= b; d <= 1; c <= 1")
    moved = claim.with_values({"a": parse("e**2"), "stranger": parse("1")})
    assert shown(moved) == "e**2 + 1 <= e**2*b; e**2 <= b; d <= 1; c <= 1; e**2 > 0; e**2 <= 2"
    assert list(moved.domains) == ["b", "c", "d"]
    texts = {n: [to_text(c) for c in end_conditions(n, moved.domains[n])] for n in "bcd"}
    assert texts == {"b": ["b >= e**2", "b <= 3*e**2"], "c": ["c >= 0", "c <= e**2"], "d": ["d >= 0", "d <= 1"]}
    assert moved.domains["d"] == claim.domains["d"]


@pytest.mark.parametrize(
    ("formula", "extra"),
    [("m + 1", ""), ("m*m", ""), ("m/2", "; floor(m/2) == m/2"), ("x", "; floor(x) == x"), ("floor(x)", "")],
)
def test_an_integer_letter_stays_one(formula: str, extra: str) -> None:
    claim = ScalarClaim(parse("k"), "<=", parse("x"), ranges("k = integers ..; m = integers 1..", "x"))
    assert shown(claim.with_values({"k": parse(formula)})) == f"{plain(formula)} <= x{extra}"
    assert shown(claim.with_values({"x": parse("m/2")})) == "k <= m/2; m/2 > 0"
    assert shown(claim.with_values({"stranger": parse("m/2")})) == "k <= x"


def test_a_number_for_a_letter_whether_or_not_its_range_has_it() -> None:
    claim = claim_of("a + b <= a*b", "a = (0, 1); b = (0, oo)", "b <= 1")
    there = claim.at("a", Fraction(-3))
    assert shown(there) == "-3 + b <= -3*b; b <= 1"
    assert list(there.domains) == ["b"]


@pytest.mark.parametrize(
    ("where", "left", "right", "rest"),
    [
        # a letter and its formula, as it stands
        ("a == b + 1", "b + 1", "b", ["b + 1 > 0"]),
        ("a == b; b == c", "c", "c", ["c > 0", "c > 0"]),
        ("b == c; a == b", "c", "c", ["c > 0", "c > 0"]),
        ("c <= 1; a == 2; c >= 1/2", "2", "b", ["c <= 1", "c >= 1/2", "2 > 0"]),
        ("a == k/2", "k/2", "b", ["k/2 > 0"]),
        # solved for a letter that occurs once, with a number before it
        ("a + b == 1", "-b + 1", "b", ["-b + 1 > 0"]),
        ("1 == a + b", "-b + 1", "b", ["-b + 1 > 0"]),
        ("2*a + b == 1", "-(1/2*b) + 1/2", "b", ["-(1/2*b) + 1/2 > 0"]),
        ("a/2 - b == c", "2*b + 2*c", "b", ["2*b + 2*c > 0"]),
        ("b*c - 3*a == 0", "1/3*(b*c)", "b", ["1/3*(b*c) > 0"]),
        ("-a + b*c == 0", "b*c", "b", ["b*c > 0"]),
        ("a - 2 == 3", "5", "b", ["5 > 0"]),
        ("2*a == a + b", "a", "2*a - a", ["2*a - a > 0"]),
        ("a + b*a == c", "a", "b", ["a + b*a > 0"]),
        ("a + b == a*c", "a", "-a + a*c", ["-a + a*c > 0"]),
        ("0*a + c == 1", "a", "b", ["-(0*a) + 1 > 0"]),
        # nothing to solve
        ("a*b == 1", "a", "b", ["a*b == 1"]),
        ("a <= b + 1", "a", "b", ["a <= b + 1"]),
        ("a == a*b", "a", "b", ["a == a*b"]),
        ("a == b == c", "a", "b", ["a == b == c"]),
        ("2*k == 3", "a", "b", ["2*k == 3"]),
        ("stranger == a*a", "a", "b", ["stranger == a*a"]),
        ("sqrt(a) == 2", "a", "b", ["sqrt(a) == 2"]),
    ],
)
def test_hypotheses_are_solved_for_a_letter(where: str, left: str, right: str, rest: list[str]) -> None:
    domains = dict(ranges("k = integers 1..", "a", "b", "c").items())
    claim = ScalarClaim(parse("a"), "<=", parse("b"), domains, tuple(parse(c) for c in where.split(";")))
    found = prepared(claim)
    assert [_value(found.left), _value(found.right)] == [_value(parse(left)), _value(parse(right))]
    assert [_truth(c) for c in found.where] == [_truth(parse(c)) for c in rest]


POINTS = [dict(zip("abc", map(Fraction, v))) | {"k": Fraction(2), "stranger": Fraction(7)}
          for v in product(("1/3", "2", "5"), ("1/2", "3"), ("1", "7/4"))]  # fmt: skip


def _value(node: tree.Node) -> list[object]:
    return [Formula(p).value(node) for p in POINTS]


def _truth(node: tree.Node) -> tuple[object, ...]:
    assert isinstance(node, tree.Compare)
    if any(part.function == "sqrt" for part in node.walk() if isinstance(part, tree.Call)):
        return (to_text(node),)
    return (node.operators, [_value(o) for o in node.operands])


def test_one_term_is_no_sum() -> None:
    found = prepared(claim_of("a <= b", "", "2*a - b*c == 0"))
    assert isinstance(found.left, tree.Multiply)


def test_a_division_by_zero_is_not_solved_through() -> None:
    claim = claim_of("a <= b", "", "a/0 + b == 1")
    assert shown(prepared(claim)) == "a <= -(a/0) + 1; -(a/0) + 1 > 0"


def test_letters_that_go_are_told_in_order_and_come_back_in_a_point() -> None:
    claim = claim_of("a <= 5*c", "", "a == b + 1; b == 2*c; c <= 1")
    found, gone = eliminated(claim)
    assert shown(found) == "2*c + 1 <= 5*c; c <= 1; 2*c + 1 > 0; 2*c > 0"
    assert [(name, to_text(formula)) for name, formula in gone] == [("a", "b + 1"), ("b", "2*c")]
    assert completed({"c": Fraction(1, 2)}, gone) == {"a": Fraction(2), "b": Fraction(1), "c": Fraction(1, 2)}
    assert eliminated(claim_of("a <= b"))[1] == []


def test_a_letter_that_is_nothing_goes_as_0() -> None:
    for hypothesis in ("a == 0", "0 == 2*a", "a + 0 == 0"):
        found, gone = eliminated(claim_of("a <= b", "", hypothesis))
        assert [(name, to_text(formula)) for name, formula in gone] == [("a", "0")], hypothesis
        assert shown(found) == "0 <= b; 0 > 0"  # the range of the letter stays a hypothesis


@pytest.mark.parametrize(
    ("formula", "value"),
    [("2*c", Fraction(6)), ("c + 2", Fraction(5)), ("7", Fraction(7)), ("pi", None), ("c*pi", None), ("sqrt(c)", None),
     ("1/(c - 3)", None), ("c + d", None), ("c - e", Fraction(2))],
)  # fmt: skip
def test_only_rational_values_come_back(formula: str, value: Fraction | None) -> None:
    point = {"c": Fraction(3), "e": Fraction(1)}
    assert completed(point, [("a", parse(formula))]) == (point | ({} if value is None else {"a": value}))


@pytest.mark.parametrize(
    ("text", "outside"),
    [("[0, oo)", False), ("(-oo, 0]", False), ("[n, oo)", True), ("[-n, oo)", True), ("(0, n)", True)],
)
def test_infinite_ends_are_no_letters(text: str, outside: bool) -> None:
    claim = claim_of("a <= 1", f"a = {text}; n = (0, oo)")
    assert claim.letters == (("a", "n") if outside else ("a",))

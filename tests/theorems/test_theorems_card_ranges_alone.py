"""Numbers that a card gives a letter: each place where one may stand, both ends, whole numbers, what is left alone."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from bilevel_verify.errors import CardError
from bilevel_verify.language import parse
from bilevel_verify.theorems.card import Card, Claim, Statement
from bilevel_verify.theorems.card_parts import Definition, Domain, Expression, LetterSpec, Settings
from bilevel_verify.theorems.reading.fields import Place
from bilevel_verify.theorems.reading.ranges import check_ranges

pytestmark = pytest.mark.fast


def expression(text: str) -> Expression:
    return Expression(parse(text), text)


def span(low: str | None, high: str | None, closed: str = "[]", kind: Any = "interval") -> Domain:
    ends = [None if end is None else expression(end) for end in (low, high)]
    return Domain("its range", kind, ends[0], ends[1], closed[0] == "[", closed[1] == "]")


UNIT = span("0", "1")
ANY = span(None, None)


def complaint(domain: Domain | None = UNIT, entry: dict[str, Any] | None = None, **parts: Any) -> str:
    """What is said about a card; '' if nothing."""
    letters = {name: LetterSpec(name, source="settings", domain=domain) for name in ("a", "b")}
    statement = Statement(kind="theorem", id="t", **(entry or {}))
    card = Card("c", "A card", Path("c.toml"), letters=letters, entries={"t": statement}, **parts)
    try:
        check_ranges(card, Place("c.toml"))
    except CardError as error:
        return str(error)
    return ""


def formulas(**texts: str) -> dict[str, Definition]:
    return {name: Definition(name, expression(text)) for name, text in texts.items()}


def plain(**texts: str) -> dict[str, Expression]:
    return {name: expression(text) for name, text in texts.items()}


def claim(name: str, **texts: str) -> Claim:
    return Claim(id=name, over="run", chain=(), define=plain(**texts))


PLACES = [
    ("[definitions], b", lambda t: {"definitions": formulas(a="1/2", b=t)}),
    ("[settings.s], b", lambda t: {"settings": {"s": Settings("s", formulas(a="1/2", b=t))}}),
    ("t, define, b", lambda t: {"entry": {"define": plain(a="1/2", b=t)}}),
    ("t, define, b", lambda t: {"entry": {"parameters": formulas(a="1/2", b=t)}}),
    ('t, claim "two", define, b', lambda t: {"entry": {"claims": (claim("one", a="1"), claim("two", b=t))}}),
]


@pytest.mark.parametrize(("place", "make"), PLACES)
def test_a_number_outside_is_seen_wherever_it_stands(place: str, make: Any) -> None:
    assert complaint(**make("2")) == f"c.toml: {place}: 2 is not in the range its range of b"
    for well in ("1", "b + 7", "2*a", "1/2", "0"):
        assert complaint(**make(well)) == "", well


@pytest.mark.parametrize(
    ("domain", "inside", "outside"),
    [
        (span("0", "1", "[]"), ["0", "1", "1/3"], ["-1/1000", "1001/1000"]),
        (span("0", "1", "(]"), ["1", "1/3"], ["0", "2"]),
        (span("0", "1", "[)"), ["0", "1/3"], ["1", "-1"]),
        (span(None, "1"), ["-5", "1"], ["2"]),
        (span("1", None), ["5", "1"], ["0"]),
        (span("1", "oo", "[)"), ["1", "10**9"], ["0"]),
        (span("0", "2*pi"), ["pi", "2*pi", "6"], ["7", "-pi"]),
        (span("E", "pi"), ["3", "E"], ["2", "4"]),
        (span("1", None, kind="integers"), ["1", "7", "4/2"], ["0", "3/2", "pi", "-1"]),
        (span("1", "3", kind="integers"), ["1", "3"], ["4", "0", "5/2"]),
        (span("a", "1"), ["-7", "1"], ["2"]),
        (span("0", "b"), ["7"], ["-1"]),
    ],
)
def test_ends_and_whole_numbers(domain: Domain, inside: list[str], outside: list[str]) -> None:
    for text in inside:
        assert complaint(domain, definitions=formulas(b=text)) == "", text
    for text in outside:
        assert complaint(domain, definitions=formulas(b=text)) != "", text


def test_what_is_no_range_or_no_number_is_left_alone() -> None:
    for domain in (None, Domain("domain", "domain"), span("0", "1", kind="weights")):
        assert complaint(domain, definitions=formulas(b="2")) == ""
    for text in ("1/0", "log(0)", "oo"):
        assert complaint(UNIT, definitions=formulas(b=text)) == ""
    assert complaint(UNIT, definitions=formulas(nobody="2")) == ""


def test_a_letter_that_the_entry_quantifies_has_the_range_of_the_entry() -> None:
    assert complaint(entry={"for_": {"b": ANY}, "define": plain(b="2")}) == ""
    assert complaint(entry={"for_": {"a": ANY}, "define": plain(b="2")}) != ""
    assert complaint(entry={"for_": {"b": ANY}, "define": plain(b="2", a="2")}) != ""

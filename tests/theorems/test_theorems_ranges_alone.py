"""Hypotheses of a statement on an instance: lines in their order, ranges of chosen letters, margins, reasons."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

from bilevel_verify.language import parse
from bilevel_verify.theorems import exact
from bilevel_verify.theorems.card import Card, Statement
from bilevel_verify.theorems.card_parts import Condition, Definition, Domain, Expression, LetterSpec, Reading, Settings
from bilevel_verify.theorems.letters.resolve import _margin, resolve
from bilevel_verify.theorems.letters.resolved import Hypothesis, Resolved

pytestmark = pytest.mark.fast

F = Fraction


def expression(text: str) -> Expression:
    return Expression(parse(text), text)


def formulas(**texts: str) -> dict[str, Definition]:
    return {name: Definition(name, expression(text)) for name, text in texts.items()}


def conditions(*texts: str) -> tuple[Condition, ...]:
    return tuple(Condition(parse(text), text) for text in texts)


def card_of(*names: str, entry: dict[str, Any] | None = None, **parts: Any) -> Card:
    """A card with letters of the user and the given parts; ``specs`` are letters with more to them."""
    letters = {name: LetterSpec(name, source="user") for name in names} | parts.pop("specs", {})
    statement = Statement(kind="theorem", id="t", **(entry or {}))
    return Card("c", "A card", Path("c.toml"), letters=letters, entries={"t": statement}, **parts)


def resolved(card: Card, values: Any = None, **more: Any) -> Resolved:
    return resolve(card, "t", {} if values is None else values, **more)


def setting(name: str, includes: tuple[str, ...] = (), **texts: str) -> Settings:
    return Settings(name, formulas(**texts), includes=includes)


def reading(name: str, literal: bool = False, **texts: str) -> Reading:
    return Reading(name, f"the {name}", literal=literal, parameters=formulas(**texts))


# --- hypotheses


def test_lines_of_the_settings_come_before_those_of_the_statement() -> None:
    s = Settings("s", {}, where=conditions("a < 1"), includes=("u",))
    u = Settings("u", {}, where=conditions("a > 3"))
    card = card_of("a", settings={"s": s, "u": u}, entry={"settings": ("s",), "where": conditions("a == 2", "b < 1")})
    assert resolved(card, {"a": 2}).hypotheses == (
        Hypothesis("a > 3", "settings u", False, "", pytest.approx(-1 / 3)),
        Hypothesis("a < 1", "settings s", False, "", pytest.approx(-1 / 2)),
        Hypothesis("a == 2", "t", True, "", None),
        Hypothesis("b < 1", "t", None, "no value for b: b: no formula, no value"),
    )


def test_a_line_that_cannot_be_decided_says_why() -> None:
    card = card_of("a", "b", entry={"where": conditions("a < 2", "1/(a - a) < 1", "pi < 4", "E > oo")})
    wide, lost, pi, infinite = resolved(card, {"a": (1, 3), "b": 1}).hypotheses
    assert (wide.answer, wide.reason, wide.margin) == (None, "", 0.0)
    assert (lost.answer, lost.reason, lost.margin) == (None, "division by a number that may be 0", None)
    assert pi.answer is True
    assert infinite.answer is None
    assert infinite.reason.startswith("no value for oo")


def span(low: str | None, high: str | None, closed: str = "[]", kind: Any = "interval") -> Domain:
    ends = [None if end is None else expression(end) for end in (low, high)]
    return Domain("range", kind, ends[0], ends[1], closed[0] == "[", closed[1] == "]")


def ranged(domain: Domain | None, value: Any = 2, **values: Any) -> list[tuple[str, bool | None]]:
    specs = {"a": LetterSpec("a", source="user", domain=domain)}
    found = resolved(card_of("b", specs=specs), {"a": value, "b": 2, **values}, targets=["a", "b"]).hypotheses
    assert all(line.source == "range of the letter" for line in found)
    return [(line.text, line.answer) for line in found]


@pytest.mark.parametrize(
    ("domain", "lines"),
    [
        (None, []),
        (span("1", "3"), [("a >= 1", True), ("a <= 3", True)]),
        (span("2", "3"), [("a >= 2", True), ("a <= 3", True)]),
        (span("2", "3", "(]"), [("a > 2", False), ("a <= 3", True)]),
        (span("1", "2", "[)"), [("a >= 1", True), ("a < 2", False)]),
        (span("1", "2", "()"), [("a > 1", True), ("a < 2", False)]),
        (span("3", "4"), [("a >= 3", False), ("a <= 4", True)]),
        (span("0", "oo", "()"), [("a > 0", True)]),
        (span("-oo", "oo", "()"), []),
        (span("-oo", "1", "(]"), [("a <= 1", False)]),
        (span("1", None, kind="integers"), [("a >= 1", True)]),
        (span(None, "1", kind="integers"), [("a <= 1", False)]),
        (span("b", "2*b", "()"), [("a > b", False), ("a < 2*b", True)]),
        (span("1", "nobody"), [("a >= 1", True), ("a <= nobody", None)]),
        (span("1", "1", kind="weights"), []),
        (Domain("domain", "domain"), []),
        (Domain("vectors y", "vectors", space="y"), []),
    ],
)
def test_ranges_of_letters_that_were_chosen(domain: Domain | None, lines: Any) -> None:
    assert ranged(domain) == lines


def test_only_chosen_letters_must_keep_their_ranges() -> None:
    domain = span("10", "20")
    specs = {
        name: LetterSpec(name, domain=domain, source=source)  # type: ignore[arg-type]
        for name, source in {"user": "user", "explicit": "settings", "prescribed": "settings", "read": "settings",
                             "formula": "settings", "default": "settings", "constant": "constants"}.items()
    }  # fmt: skip
    specs["default"] = replace(specs["default"], default=expression("1"))
    card = card_of(
        specs=specs,
        definitions=formulas(formula="1", read="O(1)"),
        settings={"s": setting("s", prescribed="1")},
        readings={"r": reading("r", read="1")},
        entry={"settings": ("s",), "readings": ("r",)},
    )
    found = resolved(card, {"user": 1, "constant": 1}, explicit={"explicit": 1, "unknown": 1})
    assert set(found.letters) == {*specs, "unknown"}
    assert {line.text.partition(" ")[0] for line in found.hypotheses} == {"user", "explicit", "prescribed", "read"}
    assert all(line.answer is (line.text.endswith("20")) for line in found.hypotheses)


@pytest.mark.parametrize(
    ("text", "margin"),
    [
        ("a < 4", 0.5),
        ("a <= 4", 0.5),
        ("a > 4", -0.5),
        ("a >= 4", -0.5),
        ("4 < a", -0.5),
        ("4 >= a", 0.5),
        ("a < 1", -0.5),
        ("a > 1", 0.5),
        ("-a < 1", 1.5),
        ("1 > -a", 1.5),
        ("-a > -4", 0.5),
        ("a/8 < 1/2", 0.5),
        ("a - a < 0", 0.0),
        ("a == 2", None),
        ("1 < a < 4", None),
        ("a < 4 and a > 1", None),
        ("a < (10**60)**6", 0.0),
    ],
)
def test_margins_of_simple_comparisons(text: str, margin: float | None) -> None:
    with exact.precision():
        assert _margin(exact.Formula({"a": F(2)}), parse(text)) == margin
    (line,) = resolved(card_of("a", entry={"where": conditions(text)}), {"a": 2}).hypotheses
    assert line.margin == margin

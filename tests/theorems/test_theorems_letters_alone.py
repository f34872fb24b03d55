"""Letters without a number and why, defaults of a card, and the number that a run gets."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

from bilevel_verify.errors import MathematicalError, ParameterError
from bilevel_verify.language import parse
from bilevel_verify.theorems.card import Card, Statement
from bilevel_verify.theorems.card_parts import Condition, Definition, Domain, Expression, LetterSpec, Root
from bilevel_verify.theorems.letters.resolve import resolve
from bilevel_verify.theorems.letters.resolved import Resolved, ResolvedLetter

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


# --- what is missing, and why


def test_reasons_of_missing_letters() -> None:
    card = card_of(
        "a", "b", "c", "d", "e",
        specs={
            "run": LetterSpec("run", source="run"), "free": LetterSpec("free"),
            "K": LetterSpec("K"), "truth": LetterSpec("truth", source="truth", needs=("a", "b")),
            "L": LetterSpec("L", source="constants"), "M": LetterSpec("M", source="constants"),
            "N": LetterSpec("N", source="constants"),
        },
        definitions=formulas(c="a + b", d="1/(b - b)", e="b + oo/2", K="O(1/a)"),
    )  # fmt: skip

    def provider(spec: LetterSpec, known: Any) -> Any:
        if spec.name == "b":
            return 2
        if spec.name == "L":
            raise ParameterError("not smooth")
        if spec.name == "N":
            raise MathematicalError("no minimiser")
        if spec.name == "M":
            return None
        raise KeyError(spec.name)

    found = resolve(card, "t", provider, targets=[*card.letters, "stranger"])
    assert set(found.letters) == {"b"}
    assert found.missing == {
        "a": "no value from user",
        "c": "needs a (no value from user)",
        "d": "1/(b - b): division by zero",
        "e": "b + oo/2: oo is no number",
        "run": "no formula, no value",
        "free": "no formula, no value",
        "K": "the print has an order symbol; no reading gives a number",
        "truth": "needs a",
        "L": "not smooth",
        "M": "no value from constants",
        "N": "no minimiser",
        "stranger": "no formula, no value",
    }
    several = resolve(card, "t", {}, targets=["c", "truth"]).missing
    assert several["c"] == "needs a (no value from user); needs b (no value from user)"
    assert several["truth"] == "needs a, b"


def test_defaults_of_a_card() -> None:
    specs = {
        "u": LetterSpec("u", source="user", default=expression("2*a")),
        "s": LetterSpec("s", source="settings", default=expression("a + pi")),
        "lost": LetterSpec("lost", source="user", default=expression("a + nobody")),
        "bad": LetterSpec("bad", source="settings", default=expression("1/(a - a)")),
        "c": LetterSpec("c", source="constants", default=expression("E")),
    }
    found = resolved(card_of("a", specs=specs), {"a": 3})
    assert {n: (x.source, x.chosen) for n, x in found.letters.items()} == {
        "a": ("user", False),
        "u": ("default", True),
        "s": ("default", True),
        "c": ("default", True),
    }
    assert found.letters["u"].scalar == 6
    assert found.missing["lost"] == "needs nobody"
    assert found.missing["bad"] == "1/(a - a): division by zero"
    # a value that somebody gives comes first, but not for what only the card may set
    given = resolved(card_of("a", specs=specs), {"a": 3, "u": 5, "s": 5, "c": 5})
    assert (given.letters["u"].scalar, given.letters["c"].scalar) == (5, 5)
    assert given.letters["s"].source == "default"
    late = resolved(card_of("a", specs=specs), {"a": 3}, targets=["u"])
    assert set(late.letters) == {"a", "u"}  # a default brings what it rests on
    needy = LetterSpec("n", source="truth", needs=("a",), default=expression("2*b"))
    assert set(resolved(card_of("a", "b", specs={"n": needy}), {"a": 1, "b": 2}, targets=["n"]).letters) == set("abn")


LARGE = "(10**60)**6"


@pytest.mark.parametrize(
    ("text", "finite"),
    [("exp(exp(10))", False), ("-exp(exp(10))", False), ("(10**60)**5", True), (LARGE, False), (f"-{LARGE}", False)],
)
def test_what_is_beyond_all_floats_is_no_number(text: str, finite: bool) -> None:
    found = resolved(card_of("a", definitions=formulas(a=text)))
    assert ("a" in found.letters) is finite
    assert found.missing == ({} if finite else {"a": "not finite"})


# --- the number of a run


def sided(side: Any, text: str = "sqrt(a)", printed: str = "") -> Card:
    return card_of("a", "b", definitions={"b": Definition("b", expression(text), printed=printed, side=side)})


def test_the_safe_end_is_what_is_run() -> None:
    values = {"a": (4, 9)}
    ends = resolved(sided("middle"), values).letters["b"]
    assert (ends.lower, ends.upper) == (pytest.approx(2), pytest.approx(3))
    assert ends.lower <= 2
    assert ends.upper >= 3
    assert ends.value == ends.run == pytest.approx(2.5)
    assert resolved(sided("upper"), values).letters["b"].value == ends.upper
    assert resolved(sided("lower"), values).letters["b"].value == ends.lower
    assert resolved(sided("lower"), values).letters["a"].value == 6.5


def test_a_letter_carries_its_formula_and_its_print() -> None:
    letter = resolved(sided("middle", "2*a", r"2\alpha"), {"a": 2}).letters["b"]
    assert letter == ResolvedLetter(
        "b", 4.0, 4.0, 4.0, 4.0, F(4), "definition", "proved", (), "2*a", r"2\alpha", False, ""
    )
    leaf = resolved(sided("middle"), {"a": 2}).letters["a"]
    assert (leaf.formula, leaf.printed, leaf.note, leaf.source, leaf.chosen) == ("", "", "", "user", False)


WHOLE = Domain("integers 0..", "integers", expression("0"))


@pytest.mark.parametrize(
    ("value", "run", "note"),
    [
        (3, 3, ""),
        (1, 1, ""),
        (0, 0, ""),
        (-1, 0, "N = -1: no iteration is needed"),
        (-7, 0, "N = -7: no iteration is needed"),
    ],
)
def test_a_negative_number_of_iterations_is_none(value: int, run: int, note: str) -> None:
    card = card_of("a", specs={"N": LetterSpec("N", domain=WHOLE)}, definitions=formulas(N="a"))
    letter = resolved(card, {"a": value}).letters["N"]
    assert (letter.run, letter.note, letter.value) == (run, note, float(value))
    assert type(letter.run) is int
    explicit = resolved(card, explicit={"N": value}).letters["N"]
    assert (explicit.run, explicit.note) == (value, "")
    # a real number may be negative
    real = resolved(card_of("N", "a", definitions=formulas(N="a")), {"a": value}).letters["N"]
    assert (real.run, type(real.run)) == (float(value), float)


def test_a_root_is_enclosed() -> None:
    root = Root(expression("x**2 - c"), (expression("0"), expression("a + 1")), {"c": expression("2*a")})
    card = card_of("a", "x", definitions={"x": Definition("x", root)})
    letter = resolved(card, {"a": 4}).letters["x"]
    assert letter.lower**2 <= 8 <= letter.upper**2
    assert letter.upper - letter.lower < 1e-14
    assert letter.formula == "x**2 - c"
    assert resolved(card, {}).missing["x"] == "needs a (no value from user)"

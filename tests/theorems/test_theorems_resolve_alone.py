"""Letters of small cards made by hand: precedence, order, certainty, ends, ranges and reasons, one at a time."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

from bilevel_verify.errors import CardError
from bilevel_verify.language import parse
from bilevel_verify.theorems.card import Card, Inequality, Statement
from bilevel_verify.theorems.card_parts import Condition, Definition, Expression, LetterSpec, Reading, Root, Settings
from bilevel_verify.theorems.letters.resolve import leaves_of, resolve
from bilevel_verify.theorems.letters.resolved import Resolved
from bilevel_verify.theorems.prescribed import formulas_of, included, is_order
from bilevel_verify.truth.arithmetic.enclosure import Enclosure

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


# --- which formula is in force


def setting(name: str, includes: tuple[str, ...] = (), **texts: str) -> Settings:
    return Settings(name, formulas(**texts), includes=includes)


def reading(name: str, literal: bool = False, **texts: str) -> Reading:
    return Reading(name, f"the {name}", literal=literal, parameters=formulas(**texts))


LAYERS = card_of(
    *"abcde",
    definitions=formulas(a="1", b="1", c="1", d="1"),
    settings={"s": setting("s", ("u",), b="2", c="2"), "u": setting("u", b="5", d="5", e="5")},
    readings={"r": reading("r", a="8", e="8"), "q": reading("q", True, c="9"), "o": reading("o", e="7", x="7")},
    entry={"settings": ("s",), "parameters": formulas(c="3", e="O(1)"), "readings": ("r",)},
)


def in_force(card: Card, **more: Any) -> dict[str, tuple[str, str, bool]]:
    found = formulas_of(card, card.entries["t"], **more)
    return {name: (one.expression.text, label, chosen) for name, (one, label, chosen) in found.items()}


def test_the_statement_before_its_settings_before_the_card() -> None:
    base = {"a": ("1", "", False), "b": ("2", "", True), "c": ("3", "", True), "d": ("5", "", True)}
    assert in_force(LAYERS, readings=()) == {**base, "e": ("O(1)", "", True)}
    # a reading takes the place of an order symbol only, a literal one that of any formula
    assert in_force(LAYERS) == {**base, "e": ("8", "the r", True)}
    assert in_force(LAYERS, readings=("q",)) == {**base, "c": ("9", "the q", True), "e": ("O(1)", "", True)}
    both = in_force(LAYERS, readings=("o", "r"))
    assert (both["e"], both["x"]) == (("7", "the o", True), ("7", "the o", False))


def test_only_a_statement_has_readings_of_its_own() -> None:
    entry = Inequality(kind="inequality", id="i", parameters=formulas(e="O(1)"))
    assert formulas_of(LAYERS, entry)["e"][1] == ""
    assert formulas_of(LAYERS, entry, ("r",))["e"][1] == "the r"


def test_included_settings_come_first_and_once() -> None:
    card = card_of(settings={"a": setting("a", ("b", "c")), "b": setting("b", ("c",)), "c": setting("c")})
    assert included(card, ["a"]) == ["c", "b", "a"]
    assert included(card, ["b", "a"]) == ["c", "b", "a"]
    assert included(card, ["c", "a", "c"]) == ["c", "b", "a"]
    assert included(card, []) == []


def test_orders_are_no_formulas() -> None:
    assert is_order(Definition("a", expression("2*O(1/eps)")))
    assert not is_order(Definition("a", expression("1/eps")))
    root = Root(expression("x - O(1)"), (expression("0"), expression("1")))
    assert is_order(Definition("x", root))


# --- what must come from the problem


NEEDY = LetterSpec("truth", source="truth", needs=("lam", "x0"))
GRAPH = card_of(
    "L", "mu", "eps", "lam", "x0", "n",
    specs={"truth": NEEDY},
    definitions=formulas(kappa="L/mu", eta="1/kappa + 1/L", both="eta*kappa", K="O(1/eps)", t="truth*pi"),
)  # fmt: skip


@pytest.mark.parametrize(
    ("targets", "explicit", "leaves"),
    [
        (["eta"], (), {"L", "mu"}),
        (["both", "eta"], (), {"L", "mu"}),
        (["both"], ("kappa",), {"L"}),
        (["eta"], ("kappa", "L"), set()),
        (["eta"], ("eta",), set()),
        (["L"], (), {"L"}),
        (["L"], ("L",), set()),
        (["t"], (), {"truth", "lam", "x0"}),
        (["t"], ("lam",), {"truth", "x0"}),
        (["nobody"], (), set()),
        ([], (), set()),
    ],
)
def test_leaves(targets: list[str], explicit: Any, leaves: set[str]) -> None:
    assert leaves_of(GRAPH, GRAPH.entries["t"], targets, explicit) == leaves


def test_an_order_is_a_leaf_until_it_is_read() -> None:
    card = card_of("eps", "K", definitions=formulas(K="O(1/eps)"), readings={"r": reading("r", K="3/eps")})
    assert leaves_of(card, card.entries["t"], ["K"]) == {"K"}
    assert leaves_of(card, card.entries["t"], ["K"], readings=("r",)) == {"eps"}


def test_circles_end() -> None:
    card = card_of("a", "b", definitions=formulas(a="b + 1", b="a + 1"))
    assert leaves_of(card, card.entries["t"], ["a"]) == set()
    with pytest.raises(CardError, match="depend on each other in a circle: b -> a -> b"):
        resolved(card)


# --- numbers


def test_formulas_in_dependency_order() -> None:
    found = resolved(GRAPH, {"L": 6, "mu": 2, "eps": "1/10", "lam": 1, "x0": 1, "n": 1, "truth": 2})
    scalars = {name: letter.scalar for name, letter in found.letters.items() if name != "t"}
    given = {"L": 6, "mu": 2, "eps": F(1, 10), "lam": 1, "x0": 1, "n": 1, "truth": 2}
    assert scalars == given
    assert found.missing == {}
    whole = resolved(GRAPH, given, targets=["both", "t"])
    assert whole.letters["kappa"].scalar == 3
    assert whole.letters["eta"].scalar == F(1, 2)
    assert whole.letters["both"].scalar == F(3, 2)
    assert set(whole.letters) == {"both", "eta", "kappa", "L", "mu", "t", "truth", "lam", "x0"}
    assert whole.letters["t"].lower < 6.2831854
    assert whole.letters["t"].upper > 6.2831853


def test_all_letters_of_the_card_are_wanted_by_default() -> None:
    card = card_of("a", "b", "c", definitions=formulas(c="a + b"))
    assert set(resolved(card, {"a": 1, "b": 2}).letters) == {"a", "b", "c"}
    assert set(resolved(card, {"a": 1, "b": 2}, targets=["a"]).letters) == {"a"}
    assert resolved(card, {"a": 1, "b": 2}, targets=[]).letters == {}


def test_explicit_letters_win_over_everything() -> None:
    card = card_of("a", "b", "c", definitions=formulas(b="2*a", c="b + 1"))
    found = resolved(card, {"a": 1, "b": 50}, explicit={"b": 7})
    assert {name: letter.scalar for name, letter in found.letters.items()} == {"a": 1, "b": 7, "c": 8}
    assert [(n, x.source, x.chosen) for n, x in sorted(found.letters.items())] == [
        ("a", "user", False),
        ("b", "explicit", True),
        ("c", "definition", False),
    ]
    alone = resolved(card, {}, explicit={"b": 7})
    assert (set(alone.letters), set(alone.missing)) == ({"b", "c"}, {"a"})


def test_a_provider_is_asked_with_what_is_known() -> None:
    card = card_of("lam", specs={"truth": LetterSpec("truth", source="truth", needs=("lam",))})
    asked: list[Any] = []

    def provider(spec: LetterSpec, known: Any) -> Any:
        asked.append((spec.name, dict(known)))
        return 3 if spec.name == "lam" else 4

    found = resolve(card, card.entries["t"], provider)
    assert [name for name, _ in asked] == ["lam", "truth"]
    assert asked[1][1]["lam"].scalar == 3
    assert found.letters["truth"].scalar == 4


# --- sources, readings, certainty


def test_sources_and_readings_travel() -> None:
    card = card_of(
        "a", "b", "c", "d", "e",
        definitions=formulas(b="O(1)", c="2*b", d="c + a", e="3"),
        settings={"s": setting("s", a="5")},
        readings={"r": reading("r", b="7"), "q": reading("q", True, e="b")},
        entry={"settings": ("s",), "readings": ("r", "q")},
    )  # fmt: skip
    found = resolved(card).letters
    assert {name: x.source for name, x in found.items()} == {
        "a": "settings",
        "b": "reading",
        "c": "definition",
        "d": "definition",
        "e": "reading",
    }
    assert {name: x.readings for name, x in found.items()} == {
        "a": (),
        "b": ("the r",),
        "c": ("the r",),
        "d": ("the r",),
        "e": ("the r", "the q"),
    }
    assert [name for name, x in found.items() if x.chosen] == ["a"]
    assert resolved(card).readings == ("the r", "the q")


def enclosure(certainty: Any) -> Enclosure:
    return Enclosure(2.0, 0.0, certainty, "how")


@pytest.mark.parametrize(
    ("a", "b", "formula", "certainty"),
    [
        ("proved", "proved", "a + b", "proved"),
        ("proved", "proved", "sqrt(a) + b", "certified"),
        ("certified", "proved", "a + b", "certified"),
        ("proved", "computed", "a + b", "computed"),
        ("computed", "sampled", "a + b", "sampled"),
        ("sampled", "proved", "sqrt(a) + b", "sampled"),
        ("computed", "sampled", "1/3", "proved"),
        ("computed", "proved", "a/a", "computed"),
    ],
)
@pytest.mark.parametrize("way", ["definition", "default"])
def test_a_formula_is_as_certain_as_its_weakest_letter(a: Any, b: Any, formula: str, certainty: str, way: str) -> None:
    values = {"a": enclosure(a), "b": enclosure(b)}
    if way == "definition":
        card = card_of("a", "b", "c", definitions=formulas(c=formula))
    else:
        card = card_of("a", "b", specs={"c": LetterSpec("c", default=expression(formula))})
    letter = resolved(card, values).letters["c"]
    assert (letter.certainty, letter.source) == (certainty, way)
    assert letter.chosen is (way == "default")


@pytest.mark.parametrize(
    ("value", "certainty"), [(3, "proved"), ("1/3", "proved"), ("sqrt(2)", "certified"), ((1, 2), "certified")]
)
def test_numbers_that_were_given(value: Any, certainty: str) -> None:
    for letter in (
        resolved(card_of("a"), {"a": value}).letters["a"],
        resolved(card_of("a"), explicit={"a": value}).letters["a"],
    ):
        assert letter.certainty == certainty
    assert letter.chosen


@pytest.mark.parametrize(
    ("a", "b", "text", "certainty"),
    [
        ("proved", "proved", "a + b >= 1", "certified"),
        ("proved", "computed", "a + b >= 1", "computed"),
        ("sampled", "computed", "a >= b", "sampled"),
        ("certified", "sampled", "a >= 1", "certified"),  # b is not in it
        ("computed", "proved", "a*pi >= 1", "computed"),
    ],
)
def test_a_hypothesis_is_as_certain_as_its_weakest_letter(a: Any, b: Any, text: str, certainty: str) -> None:
    card = card_of("a", "b", entry={"where": conditions(text)})
    (found,) = resolved(card, {"a": enclosure(a), "b": enclosure(b)}).hypotheses
    assert (found.answer, found.certainty) == (True, certainty)

"""Declarations of a card, function by function: names of a scope, local definitions, formulas of letters."""

from __future__ import annotations

from typing import Any

import pytest

from bilevel_verify.errors import CardError
from bilevel_verify.language import parse, to_text
from bilevel_verify.theorems.card_parts import Condition, Definition, Expression, FunctionSpec, LetterSpec, Root
from bilevel_verify.theorems.reading.declarations import Context, Declarations, context_of, letters_of, read_definitions
from bilevel_verify.theorems.reading.fields import Place, Table

pytestmark = pytest.mark.fast

PLACE = Place("card.toml")
LETTERS = {name: LetterSpec(name) for name in ("a", "b", "c", "d")} | {"s": LetterSpec("s", source="run")}
DECLARED = Declarations(PLACE, LETTERS, {"own": FunctionSpec("own")}, {}, {}, {}, {})
NAMES = DECLARED.names("parameters")
STEP = DECLARED.names("step")


def expression(text: str) -> Expression:
    return Expression(parse(text), text)


def table(**data: Any) -> Table:
    return Table(data, PLACE)


def texts(found: Any) -> dict[str, str]:
    return {name: to_text(one.tree) for name, one in found.items()}


# --- names


def test_names_of_a_scope() -> None:
    assert {"a", "b", "c", "d"} <= NAMES.letters
    assert "s" not in NAMES.letters | NAMES.sequences  # a sequence of the run is no parameter
    assert "own" not in NAMES.functions
    assert {"a", "s", "k"} <= STEP.letters
    assert "s" in STEP.sequences
    assert "a" not in STEP.sequences
    assert "own" in STEP.functions
    assert "own" in DECLARED.names("point").functions


def test_conditions_of_a_list() -> None:
    for key, added in (("where", False), ("added", True)):
        found = DECLARED.conditions(
            table(**{key: ["a < b", "b < 3"], f"{key}_from": ["page 1", ""]}), key, "parameters"
        )
        assert found == (Condition(parse("a < b"), "a < b"), Condition(parse("b < 3"), "b < 3"))
        assert [(c.text, c.origin, c.added) for c in found] == [("a < b", "page 1", added), ("b < 3", "", added)]
    assert DECLARED.conditions(table(), "where", "parameters") == ()
    with pytest.raises(CardError, match=r"card.toml: where: unknown letter 'e'"):
        DECLARED.conditions(table(where=["a < e"]), "where", "parameters")
    with pytest.raises(CardError, match="unknown letter 'e'"):
        DECLARED.conditions(table(where=["a < e"]), "where", "parameters", extra=False)
    (regime,) = DECLARED.conditions(table(where=["a < e"]), "where", "parameters", extra=True)
    assert regime.text == "a < e"
    with pytest.raises(CardError, match="is a quantity of scope"):
        DECLARED.conditions(table(where=["k < 3"]), "where", "parameters")
    assert DECLARED.conditions(table(where=["k < 3"]), "where", "step")[0].text == "k < 3"


# --- local definitions and functions


def context(names: Any = NAMES, parent: Context | None = None, **data: Any) -> Context:
    return context_of(table(**data), names, parent)


def test_an_empty_context() -> None:
    found = context()
    assert (found.for_, found.define, found.local, found.narrowed) == ({}, {}, {}, {})


def test_ranges() -> None:
    found = context(**{"for": {"i": "integers 1..", "j": "integers 1..i"}, "for_from": "page 2"})
    assert {n: (d.text, d.origin, d.added) for n, d in found.for_.items()} == {
        "i": ("integers 1..", "page 2", False),
        "j": ("integers 1..i", "page 2", False),
    }
    with pytest.raises(CardError, match=r"for, i: unknown letter 'n'"):
        context(**{"for": {"i": "integers 1..n"}})


def test_narrowed_ranges_are_our_own() -> None:
    found = context(**{"for": {"i": "integers 1.."}, "narrowed": {"i": "integers 2..", "a": "(0, b)"}})
    assert {n: (d.text, d.origin, d.added) for n, d in found.narrowed.items()} == {
        "i": ("integers 2..", "", True),
        "a": ("(0, b)", "", True),
    }
    assert found.for_["i"].text == "integers 1.."
    with pytest.raises(CardError, match=r"narrowed, e: unknown letter 'e'"):
        context(narrowed={"e": "(0, 1)"})
    with pytest.raises(CardError, match=r"narrowed, a: unknown letter 'e'"):
        context(narrowed={"a": "(0, e)"})


def test_definitions_see_each_other_and_the_ranges() -> None:
    found = context(**{"for": {"i": "integers 1.."}, "define": {"u": "a + v", "v": "2*i"}})
    assert texts(found.define) == {"u": "a + v", "v": "2*i"}
    with pytest.raises(CardError, match=r"define, u: unknown letter 'w'"):
        context(define={"u": "w + 1"})


def test_local_functions_are_written_out() -> None:
    found = context(
        **{"for": {"i": "integers 1.."}, "define": {"h(p, q,)": "p - q*a", "one()": "i", "u": "h(b, 2) + one()"}}
    )
    assert {name: (parameters, to_text(body)) for name, (parameters, body) in found.local.items()} == {
        "h": (("p", "q"), "p - q*a"),
        "one": ((), "i"),
    }
    assert texts(found.define) == {"u": "(b - 2*a) + i"}
    assert to_text(found.expression("h(u, i)**2", PLACE, NAMES).tree) == "(u - i*a)**2"
    with pytest.raises(CardError, match="h takes 2 arguments, not 1"):
        found.expression("h(b)", PLACE, NAMES)
    with pytest.raises(CardError, match="unknown letter 'p'"):
        found.expression("p", PLACE, NAMES)
    with pytest.raises(CardError, match="unknown function 'gg'"):
        context(define={"h(p)": "gg(p)"})
    with pytest.raises(CardError, match="unknown letter 'q'"):
        context(define={"h(p)": "p + q"})


def test_functions_that_call_each_other_in_a_circle() -> None:
    with pytest.raises(CardError, match=r"card.toml: .*circle"):
        context(define={"h(p)": "g(p)", "g(p)": "h(p)", "u": "h(a)"})


def test_a_context_on_top_of_another() -> None:
    parent = context(
        **{"for": {"i": "integers 1.."}, "define": {"u": "2*a", "h(p)": "p + a"}, "narrowed": {"a": "(0, 1)"}}
    )
    found = context(parent=parent, **{"for": {"j": "integers 1..i*u"}, "define": {"w": "h(u) + j", "g(p)": "h(p)*i"}})
    assert list(found.for_) == ["i", "j"]
    assert texts(found.define) == {"u": "2*a", "w": "(u + a) + j"}
    assert list(found.local) == ["h", "g"]
    assert to_text(found.expression("g(b)", PLACE, NAMES).tree) == "(b + a)*i"
    assert found.narrowed == {}
    assert (list(parent.for_), list(parent.define), list(parent.local)) == (["i"], ["u"], ["h"])
    newer = context(parent=parent, **{"for": {"i": "integers 5.."}, "define": {"u": "3*a"}})
    assert (newer.for_["i"].text, texts(newer.define)) == ("integers 5..", {"u": "3*a"})


def test_what_needs_no_writing_out_is_handed_on() -> None:
    one = expression("a + b")
    assert context().write_out(one, PLACE) is one
    local = context(define={"h(p)": "p"})
    assert local.write_out(expression("h(a) + b"), PLACE) == one


def test_conditions_and_chains_in_a_context() -> None:
    found = context(**{"for": {"i": "integers 1.."}, "define": {"h(p)": "p + a", "u": "2*a"}})
    for key, added in (("where", False), ("added", True)):
        data = table(**{key: ["h(i) < u", "a < b"], f"{key}_from": "page 3"})
        lines = found.conditions(data, key, NAMES)
        assert [(to_text(c.tree), c.text, c.origin, c.added) for c in lines] == [
            ("i + a < u", "h(i) < u", "page 3", added),
            ("a < b", "a < b", "page 3", added),
        ]
    links = found.chain(("h(i)", "<= u*h(b)", "< h(u)"), PLACE, NAMES)
    assert [(to_text(x.left.tree), x.op, to_text(x.right.tree)) for x in links] == [
        ("i + a", "<=", "u*(b + a)"),
        ("u*(b + a)", "<", "u + a"),
    ]
    with pytest.raises(CardError, match="h takes 1 arguments, not 2"):
        found.chain(("h(i, i)", "<= u"), PLACE, NAMES)
    plain = context().chain(("a", "<= b"), PLACE, NAMES)
    assert [(to_text(x.left.tree), x.op, to_text(x.right.tree)) for x in plain] == [("a", "<=", "b")]


# --- formulas of letters


def definitions(**data: Any) -> dict[str, Definition]:
    return read_definitions(data, DECLARED, PLACE)


def test_a_formula_and_all_that_stands_beside_it() -> None:
    found = definitions(
        a="b + 1",
        b={
            "value": "2*c",
            "printed": "2c",
            "stated": "as read",
            "source": "page 4",
            "side": "upper",
            "where": ["c < 1"],
        },
        c=3,
    )
    assert found["a"] == Definition("a", expression("b + 1"))
    assert found["b"] == Definition(
        "b", expression("2*c"), "2c", "as read", "page 4", "upper", (Condition(parse("c < 1"), "c < 1"),)
    )
    assert found["c"] == Definition("c", expression("3"))
    assert [one.side for one in found.values()] == ["middle", "upper", "middle"]


@pytest.mark.parametrize("side", ["upper", "lower", "middle"])
def test_sides(side: str) -> None:
    assert definitions(a={"value": "b", "side": side})["a"].side == side
    with pytest.raises(CardError, match=r"a, side: 'safe' is not upper, lower or middle"):
        definitions(a={"value": "b", "side": "safe"})


@pytest.mark.parametrize(
    ("data", "words"),
    [
        ({"e": "b"}, r"card.toml: letter 'e' is defined but not declared; add e = {} under \[letters\]"),
        ({"a": "e"}, "a: unknown letter 'e'"),
        ({"a": {"value": "e"}}, "a, value: unknown letter 'e'"),
        ({"a": {"value": "own(b)"}}, "'own'"),
        ({"a": {"value": "b", "where": ["e < 1"]}}, "a, where: unknown letter 'e'"),
        ({"a": {"value": "b", "colour": "red"}}, "a: unknown field 'colour'"),
        ({"a": {}}, "expected an expression"),
        ({"a": {"root": "a - u", "between": ["0", "1"]}}, "a, root: unknown letter 'u'"),
        ({"a": {"root": "a", "between": ["0"]}}, "a, between: a root needs a bracket of two ends"),
        ({"a": {"root": "a", "between": ["0", "1", "2"]}}, "a, between: a root needs a bracket of two ends"),
        ({"a": {"root": "a"}}, "a, between: a root needs a bracket of two ends"),
        ({"a": {"root": "a", "between": ["0", "u"], "define": {"u": "1"}}}, "unknown letter 'u'"),
        ({"a": {"root": "a", "between": ["0", "1"], "define": {"u": "e"}}}, "a, define, u: unknown letter 'e'"),
    ],
)
def test_formulas_that_cannot_be_read(data: dict[str, Any], words: str) -> None:
    with pytest.raises(CardError, match=words):
        definitions(**data)


ROOT = {"root": "a**2 - u*b", "between": ["c", "c + d"], "define": {"u": "v + 1", "v": "2*s0"}}


def test_a_root() -> None:
    letters = {**LETTERS, "s0": LetterSpec("s0")}
    declared = Declarations(PLACE, letters, {}, {}, {}, {}, {})
    found = read_definitions({"a": {**ROOT, "side": "lower"}}, declared, PLACE)["a"]
    assert found.value == Root(
        expression("a**2 - u*b"),
        (expression("c"), expression("c + d")),
        {"u": expression("v + 1"), "v": expression("2*s0")},
    )
    assert (found.side, found.expression.text) == ("lower", "a**2 - u*b")
    # its own letter and its local ones are no letters that it needs
    assert letters_of(found) == {"b", "c", "d", "s0"}


def test_letters_of_a_formula() -> None:
    assert letters_of(Definition("a", expression("b + sum(i, (i, 1, c))"))) == {"b", "c"}
    assert letters_of(Definition("a", expression("a + b"))) == {"a", "b"}
    bare = Root(expression("a - b"), (expression("0"), expression("1")))
    assert letters_of(Definition("a", bare)) == {"b"}

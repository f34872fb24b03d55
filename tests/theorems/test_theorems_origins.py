"""Whose hypotheses these are: origins, what is added, marks, and the judgements that follow."""

from __future__ import annotations

from pathlib import Path

import pytest

from bilevel_verify.audit import audit
from bilevel_verify.errors import CardError
from bilevel_verify.theorems.card import Card, Derivation, Inequality, Step
from bilevel_verify.theorems.origins import (
    as_judged,
    as_printed,
    conditions_of,
    ours_of,
    unread_claims,
    unread_of,
    with_conditions,
    with_ours,
)
from bilevel_verify.theorems.reading.reader import read_card

HEAD = """
[paper]
key = "mine"
{standing}
[letters]
a = {{ domain = "[0, 1]" }}
b = {{ domain = "(-oo, oo)" }}
c = {{ domain = "(0, oo)", domain_from = "Assumption 1" }}
[regime]
default = ["c >= 1"]
default_from = "Section 3"
"""


def card_of(tmp_path: Path, text: str, standing: str = "") -> Card:
    path = tmp_path / "mine.toml"
    path.write_text(HEAD.format(standing=standing) + text, encoding="utf-8")
    return read_card(path)


def entry_of(tmp_path: Path, fields: str, table: str = "inequality") -> Inequality:
    found = card_of(tmp_path, f'[[{table}]]\nid = "one"\n{fields}\n').entries["one"]
    assert isinstance(found, Inequality | Step | Derivation)
    return found  # type: ignore[return-value]


CHAIN = 'chain = ["a", "<= c"]\n'


@pytest.mark.parametrize(
    ("fields", "origins"),
    [
        ('where = ["a <= c", "c >= 1"]\nwhere_from = "Lemma 6"', ["Lemma 6", "Lemma 6"]),
        ('where = ["a <= c", "c >= 1"]\nwhere_from = ["(5)", ""]', ["(5)", ""]),
        ('where = [{ is = "a <= c", from = "(5)" }, "c >= 1"]', ["(5)", ""]),
        ('where = [{ is = "a <= c", from = "(5)" }, { is = "c >= 1" }]\nwhere_from = "(6)"', ["(5)", "(6)"]),
        ('where = "a <= c"', [""]),
    ],
)
def test_origins_of_conditions(tmp_path: Path, fields: str, origins: list[str]) -> None:
    entry = entry_of(tmp_path, CHAIN + fields)
    assert [condition.origin for condition in entry.where] == origins
    assert [condition.unread for condition in entry.where] == [not origin for origin in origins]
    assert not any(condition.added for condition in entry.where)


@pytest.mark.parametrize(
    ("fields", "origins"),
    [
        ('for = { a = "[0, 2]", c = "(1, oo)" }\nfor_from = "Lemma 6"', ["Lemma 6", "Lemma 6"]),
        ('for = { a = "[0, 2]", c = "(1, oo)" }\nfor_from = { c = "(5)" }', ["", "(5)"]),
        ('for = { a = { is = "[0, 2]", from = "(5)" }, c = "(1, oo)" }', ["(5)", ""]),
    ],
)
def test_origins_of_ranges(tmp_path: Path, fields: str, origins: list[str]) -> None:
    entry = entry_of(tmp_path, CHAIN + fields)
    assert [domain.origin for domain in entry.for_.values()] == origins
    assert [domain.unread for domain in entry.for_.values()] == [not origin for origin in origins]


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        (
            'where = ["a <= c"]\nwhere_from = ["(1)", "(2)"]',
            "one, where_from: 2 places for 1 of where; give one for each",
        ),
        ('where = ["a <= c"]\nwhere_from = 3', "one, where_from: expected a string or a list of strings"),
        ('where = ["a <= c"]\nwhere_from = [3]', "one, where_from: expected a string or a list of strings"),
        ("where = [3]", "one, where: expected a string or a list of strings"),
        ('where = [{ is = "a <= c", form = "(5)" }]', "one, where: unknown field 'form'; did you mean 'from'?"),
        ('where = [{ from = "(5)" }]', "one, where: the field 'is' is missing"),
        ('where_from = "(5)"', "one, where_from: an origin of nothing: there is no 'where' here"),
        ('for_from = "(5)"', "one, for_from: an origin of nothing: there is no 'for' here"),
        ('for = { a = "[0, 2]" }\nfor_from = 3', "one, for_from: expected a string or a table"),
        ('for = { a = "[0, 2]" }\nfor_from = { k = "(5)" }', "one, for_from: 'k' has no range here"),
        ('for = { a = "[0, 2]" }\nfor_from = { a = 3 }', "one, for_from, a: expected a string"),
        ('narrowed = { e = "[0, 1]" }', "one, narrowed, e: unknown letter 'e'"),
        ('special = " "', "one, special: give the reason in words"),
        ('special = ["k = 2"]', "one, special: expected a string, found list"),
        ('link = { 2 = { part = "x" } }', "one, link, 2: the links are numbered 1 to 1"),
        ('link = { 0 = { part = "x" } }', "one, link, 0: the links are numbered 1 to 1"),
        ('link = { first = { part = "x" } }', "one, link, first: the links are numbered 1 to 1"),
        ('link = { 1 = { parts = "x" } }', "one, link, 1: unknown field 'parts'; did you mean 'part'?"),
        ('refuted = { why = "x", eps = "small" }', "one, refuted, eps: expected a number or a list of numbers"),
        ('refuted = { why = "x", x0 = [true] }', "one, refuted, x0: expected a number or a list of numbers"),
        ('refuted = { why = "x", set = { e = 1 } }', "one, refuted, set: unknown letter 'e'"),
        ('refuted = { why = "x", set = { a = true } }', "one, refuted, set, a: expected a number"),
    ],
)
def test_bad_origins_and_marks_are_said(tmp_path: Path, fields: str, message: str) -> None:
    with pytest.raises(CardError) as error:
        entry_of(tmp_path, CHAIN + fields)
    assert message in str(error.value)


def test_domains_of_letters_take_their_own_place_before_the_standing_one(tmp_path: Path) -> None:
    unread = card_of(tmp_path, "").letters
    assert [unread[name].domain.unread for name in "abc"] == [True, False, False]  # type: ignore[union-attr]
    standing = card_of(tmp_path, "", 'standing = "Section 1"').letters
    assert [standing[name].domain.origin for name in "ac"] == ["Section 1", "Assumption 1"]  # type: ignore[union-attr]


@pytest.mark.parametrize(
    ("text", "unread"),
    [("(-oo, oo)", False), ("[0, oo)", True), ("(-oo, 1]", True), ("integers 1..", True), ("domain", False)],
)
def test_only_a_range_that_restricts_a_number_needs_an_origin(tmp_path: Path, text: str, unread: bool) -> None:
    assert entry_of(tmp_path, CHAIN + f'for = {{ a = "{text}" }}').for_["a"].unread is unread


def test_what_is_added_is_neither_printed_nor_unread(tmp_path: Path) -> None:
    fields = 'where = ["a <= c"]\nwhere_from = "(1)"\nadded = ["c >= 2"]\nnarrowed = { a = "(0, 1]" }\n'
    entry = entry_of(tmp_path, CHAIN + fields)
    assert [c.text for c in entry.where] == ["a <= c"]
    assert [(c.text, c.added, c.unread) for c in entry.added] == [("c >= 2", True, False)]
    assert "a" not in entry.for_
    assert ours_of(entry) == ("c >= 2", "a in (0, 1]")
    whole = with_ours(entry)
    assert [c.text for c in whole.where] == ["a <= c", "c >= 2"]
    assert whole.for_["a"].added
    assert (whole.added, dict(whole.narrowed)) == ((), {})
    assert unread_of(whole.where, whole.for_) == ()


def test_what_is_added_to_a_derivation_is_a_condition_of_its_regime(tmp_path: Path) -> None:
    fields = 'result = "a"\ngives = "O(c)"\nadded = ["c >= 2"]'
    whole = with_ours(entry_of(tmp_path, fields, "derivation"))
    assert isinstance(whole, Derivation)
    assert [(c.text, c.origin) for c in whole.regime] == [("c >= 1", "Section 3"), ("c >= 2", "")]
    assert whole.where == ()


def test_marks_of_entries_and_links(tmp_path: Path) -> None:
    fields = 'special = "k = 2"\nby_hand = "summed"\nreading = "mine"\nlink = { 2 = { part = "one term" } }\n'
    entry = entry_of(tmp_path, 'chain = ["a", "<= c", "<= 2*c"]\n' + fields)
    assert [str(mark) for mark in entry.marks] == ["special: k = 2", "by hand: summed", "reading: mine"]
    assert [[str(mark) for mark in link.marks] for link in entry.chain] == [[], ["part: one term"]]


def test_a_repaired_form_does_not_inherit_origins_of_what_it_replaces(tmp_path: Path) -> None:
    fields = (
        'where = ["a <= c"]\nwhere_from = ["(1)"]\nfor = { c = "(1, oo)" }\nfor_from = "(2)"\nspecial = "k = 2"\n'
        '[inequality.repaired]\nwhere = ["a <= c", "c >= 2"]\nchange = "more"\n'
    )
    repaired = entry_of(tmp_path, CHAIN + fields).repaired
    assert repaired is not None
    assert [c.origin for c in repaired.where] == ["", ""]
    assert repaired.for_["c"].origin == "(2)"
    assert [mark.name for mark in repaired.marks] == ["special", "repaired"]


def test_displays_of_a_chain_belong_to_their_links(tmp_path: Path) -> None:
    entry = entry_of(tmp_path, "chain = ['a', '<= c', '<= 2*c']\nprinted = ['a\\le c', '']\nstated = ['', 'c\\le 2c']")
    assert [(link.printed, link.stated) for link in entry.chain] == [("a\\le c", ""), ("", "c\\le 2c")]
    whole = entry_of(tmp_path, "chain = ['a', '<= c', '<= 2*c']\nprinted = 'a\\le c\\le 2c'")
    assert [link.printed for link in whole.chain] == ["", ""]


THEOREM = """
[settings.small]
parameters = {{ b = "1" }}
where = ["a <= c"]
{settings}
[[theorem]]
id = "one"
settings = ["small"]
{theorem}
  [[theorem.claim]]
  id = "first"
  over = "parameters"
  left = "a"
  right = "c"
  {claim}
    [theorem.claim.repaired]
    change = "doubled"
    right = "2*c"
"""


def judged(tmp_path: Path, **fields: str) -> list[tuple[tuple[str, ...], list[str], bool]]:
    """(marks, conditions, has a repaired form) of the claims that a check judges."""
    text = THEOREM.format(**{"settings": 'where_from = "(1)"', "theorem": "", "claim": ""} | fields)
    card = card_of(tmp_path, text, 'standing = "Section 1"')
    found = as_judged(card, card.statement("one")).claims
    assert all(claim.as_printed is not bool(claim.marks) for claim in found)
    return [(tuple(map(str, c.marks)), [w.text for w in c.where], c.repaired is not None) for c in found]


def test_a_claim_of_the_print_stands_once(tmp_path: Path) -> None:
    assert judged(tmp_path) == [((), [], True)]
    assert judged(tmp_path, claim='part = "one term"') == [(("part: one term",), [], True)]


@pytest.mark.parametrize("place", ["settings", "theorem", "claim"])
def test_what_is_added_makes_a_second_claim(tmp_path: Path, place: str) -> None:
    origin = 'where_from = "(1)"\n' if place == "settings" else ""
    assert judged(tmp_path, **{place: origin + 'added = ["c >= 2"]'}) == [
        ((), [], True),
        (("added: c >= 2",), ["c >= 2"], False),
    ]


def test_a_marked_claim_is_not_judged_as_printed_beside_its_addition(tmp_path: Path) -> None:
    found = judged(tmp_path, claim='part = "one term"\n  added = ["c >= 2"]')
    assert [marks for marks, _, _ in found] == [("part: one term", "added: c >= 2")]


@pytest.mark.parametrize(
    ("fields", "text"),
    [
        ({"settings": ""}, "a <= c"),
        ({"theorem": 'where = ["b <= 1"]'}, "b <= 1"),
        ({"claim": 'where = ["b <= 1"]'}, "b <= 1"),
        ({"claim": 'for = { k = "integers 1..3" }'}, "k in integers 1..3"),
    ],
)
def test_an_unread_hypothesis_leaves_the_marked_judgement_only(
    tmp_path: Path, fields: dict[str, str], text: str
) -> None:
    ((marks, _, repaired),) = judged(tmp_path, **fields)
    assert marks == (f"added: {text}",)
    assert repaired
    card = card_of(tmp_path, THEOREM.format(**{"settings": 'where_from = "(1)"', "theorem": "", "claim": ""} | fields))
    assert unread_claims(card, card.statement("one")) == {"first": (text,)}


def test_a_narrowed_letter_keeps_its_range_where_it_is_quantified(tmp_path: Path) -> None:
    words = 'for = { a = "[0, 1]" }\n  for_from = "(2)"\n  narrowed = { a = "(1/2, 1]", b = "[0, oo)" }'
    text = THEOREM.format(settings="", theorem="", claim=words)
    (claim,) = [c for c in card_of(tmp_path, text).statement("one").claims if c.narrowed]
    found = with_conditions(claim, ["mine"])
    assert [c.text for c in found.where] == ["b >= 0"]
    assert found.for_["a"].lower is not None
    assert not found.for_["a"].lower_closed
    assert not found.as_printed


def test_a_narrowed_letter_that_is_not_quantified_becomes_a_condition(tmp_path: Path) -> None:
    found = judged(tmp_path, theorem='narrowed = { a = "(1/2, 1]" }')
    assert found[1][0] == ("added: a in (1/2, 1]",)
    assert found[1][1] == ["a > 1/2", "a <= 1"]
    quantified = judged(tmp_path, claim='for = { a = "[0, 1]" }\n  for_from = "(2)"\n  narrowed = { a = "(1/2, 1]" }')
    assert quantified[1][1] == []


@pytest.mark.parametrize(
    ("text", "conditions"),
    [("[0, oo)", ["a >= 0"]), ("(0, 1)", ["a > 0", "a < 1"]), ("(-oo, 1]", ["a <= 1"]), ("integers 2..", ["a >= 2"])],
)
def test_the_ends_of_a_range_as_conditions(tmp_path: Path, text: str, conditions: list[str]) -> None:
    domain = entry_of(tmp_path, CHAIN + f'for = {{ a = "{text}" }}').for_["a"]
    found = conditions_of("a", domain)
    assert [c.text for c in found] == conditions
    assert all(c.added for c in found)


@pytest.mark.parametrize("origin", [" ", "-", "?", "--", "(...)", "\\t"])
@pytest.mark.parametrize(
    "fields",
    [
        'where = ["a <= c"]\nwhere_from = "{}"',
        'where = ["a <= c", "c >= 1"]\nwhere_from = ["(5)", "{}"]',
        'where = [{{ is = "a <= c", from = "{}" }}]',
        'for = {{ a = "[0, 2]" }}\nfor_from = "{}"',
        'for = {{ a = "[0, 2]" }}\nfor_from = {{ a = "{}" }}',
        'define = {{ a = "1/2" }}\ndefine_from = "{}"',
        'define = {{ a = "1/2" }}\ndefine_from = {{ a = "{}" }}',
    ],
)
def test_an_origin_names_a_place(tmp_path: Path, fields: str, origin: str) -> None:
    with pytest.raises(CardError) as error:
        entry_of(tmp_path, CHAIN + fields.format(origin))
    assert "names no place of the paper; write it as in 'Lemma 2, (5)', or leave it out" in str(error.value)
    assert "\n" not in str(error.value)


def test_the_origins_of_a_head_name_places_too(tmp_path: Path) -> None:
    for standing in ('standing = "?"', 'standing = " - "'):
        with pytest.raises(CardError, match="names no place of the paper"):
            card_of(tmp_path, "", standing)


@pytest.mark.parametrize(
    ("fields", "marks"),
    [
        ('define = { a = "1/2" }', ("a = 1/2",)),
        ('define = { a = "1/2" }\ndefine_from = "Theorem 3, (12)"', ()),
        ('define = { a = { is = "1/2", from = "(12)" } }', ()),
        ('define = { a = "1/2", b = "2" }\ndefine_from = { b = "(12)" }', ("a = 1/2",)),
    ],
)
def test_a_definition_without_an_origin_is_added(tmp_path: Path, fields: str, marks: tuple[str, ...]) -> None:
    entry = entry_of(tmp_path, CHAIN + fields)
    assert tuple((mark.name, mark.why) for mark in entry.marks) == tuple(("added", why) for why in marks)


def test_a_function_without_an_origin_is_added_where_it_is_called(tmp_path: Path) -> None:
    text = '[[theorem]]\nid = "one"\ndefine = { "twice(t)" = "2*t" }\n' + "".join(
        f'[[theorem.claim]]\nid = "{name}"\nover = "parameters"\nleft = "{left}"\nright = "c"\n'
        for name, left in (("called", "twice(a)"), ("not-called", "a"))
    )
    claims = card_of(tmp_path, text).entries["one"].claims  # type: ignore[attr-defined]
    assert [tuple(mark.why for mark in claim.marks) for claim in claims] == [("twice(t) = 2*t",), ()]
    assert [claim.as_printed for claim in claims] == [False, True]


def test_what_the_print_says_is_judged_without_the_definition(tmp_path: Path) -> None:
    card = card_of(tmp_path, '[[inequality]]\nid = "one"\nchain = ["c", "<= 1/2"]\ndefine = { c = "1/2" }\n')
    plain = as_printed(card, card.entries["one"])
    assert plain is not None
    assert (dict(plain.define), plain.marks) == ({}, ())
    rows = [f.row for f in audit(card, quick=True) if f.row.kind == "inequality"]
    assert [(row.verdict, row.as_printed, row.marks) for row in rows] == [
        ("refuted", True, ()),
        ("holds", False, ("added: c = 1/2",)),
    ]


def test_a_name_without_another_meaning_is_judged_with_its_definition_only(tmp_path: Path) -> None:
    card = card_of(tmp_path, '[[inequality]]\nid = "one"\nchain = ["b", "<= z"]\ndefine = { z = "2*(1 + abs(b))" }\n')
    assert as_printed(card, card.entries["one"]) is None
    rows = [f.row for f in audit(card, quick=True) if f.row.kind == "inequality"]
    assert [(row.verdict, row.as_printed) for row in rows] == [("holds", False)]
    assert rows[0].marks == ("added: z = 2*(1 + abs(b))",)


def test_a_claim_with_a_definition_of_our_own_stands_twice(tmp_path: Path) -> None:
    text = '[[theorem]]\nid = "one"\ndefine = { c = "1" }\n[[theorem.claim]]\nid = "x"\nover = "parameters"\n'
    card = card_of(tmp_path, text + 'for = { c = "[1, oo)" }\nfor_from = "(1)"\nleft = "c"\nright = "1"\n')
    first, second = as_judged(card, card.statement("one")).claims
    assert (first.as_printed, dict(first.define), first.marks) == (True, {}, ())
    assert (second.as_printed, [mark.why for mark in second.marks]) == (False, ["c = 1"])

"""The short form of a card: what it leaves out is what the full form writes, and nothing else."""

from __future__ import annotations

import dataclasses
import tomllib
from pathlib import Path
from typing import Any

import pytest

from bilevel_verify.errors import CardError
from bilevel_verify.language import parse
from bilevel_verify.theorems import Card, Expression, Inequality
from bilevel_verify.theorems.reading.fields import Names, Place
from bilevel_verify.theorems.reading.from_print import read_links, read_value
from bilevel_verify.theorems.reading.reader import KINDS, read_card
from bilevel_verify.theorems.reading.short import lines_of_ids, source_of, written_out

HEAD = """
[paper]
key = "mine"
[letters]
L = { from = "constants", domain = "(0, oo)", domain_from = "Assumption 1" }
a = { domain = "(0, oo)", domain_from = "(1)" }
k = { domain = "integers 0..", domain_from = "(1)" }
eta = { display = '\\eta' }
theta = { display = '\\theta' }
"""
FULL = (
    HEAD
    + """
[settings.main]
where = ["a <= 1", "L >= a"]
where_from = ["Lemma 1", "(5)"]
[settings.main.parameters]
eta = { value = "1/(4*L)", printed = '\\eta=\\frac1{4L}' }
[[lemma]]
id = "lemma-a-2"
source = "Lemma A.2"
method = "gradient-descent"
settings = ["main"]
  [[lemma.claim]]
  id = "equation-3"
  source = "(3)"
  over = "step"
  where = ["k >= 1"]
  where_from = "(2)"
  left = "f(x[k+1])"
  op = "<"
  right = "f(x[k]) + a"
  printed = 'f(x_{k+1})<f(x_k)+a'
    [lemma.claim.repaired]
    change = "twice"
    right = "f(x[k]) + 2*a"
  [[lemma.claim]]
  id = "whole"
  over = "run"
  left = "a"
  right = "2*a"
[[inequality]]
id = "square"
source = "proof of Lemma A.2"
letters = "a for a norm"
for = { a = "(0, 1]", k = "integers 1.." }
for_from = { a = "(7)", k = "Lemma 1" }
chain = ["a**2", "<= a", "< 2"]
printed = ['a^2\\le a', '<2']
[[step]]
id = "sum"
source = "proof of Lemma A.2"
letters = "its own"
vectors = ["u"]
chain = ["norm(u)**2", "<= a"]
[[inequality]]
id = "equation-5"
source = "(5), its own"
chain = ["a", "<= a + L"]
stated = 'a\\overset{(b)}\\le a+L'
[[proposition]]
id = "other"
source = "Proposition 1"
method = "gradient-descent"
settings = ["main"]
[[derivation]]
id = "order"
source = "(6)"
result = "L*a**2"
gives = "O(a**2)"
regime = ["a >= 1", "L >= 1"]
regime_from = ["(1)", "(1)"]
printed = 'La^2=\\mathcal O(a^2)'
"""
)
SHORT = (
    HEAD
    + """
[settings.main]
given = { "Lemma 1" = "a <= 1", "(5)" = "L >= a" }
[settings.main.parameters]
eta = { printed = '\\eta=\\frac1{4L}' }
[[lemma]]
id = "lemma-a-2"
source = "Lemma A.2"
method = "gradient-descent"
settings = ["main"]
over = "step"
  [lemma.claim.equation-3]
  given = { "(2)" = "k >= 1" }
  chain = ["f(x[k+1])", "< f(x[k]) + a"]
  printed = 'f(x_{k+1})<f(x_k)+a'
  repaired = { change = "twice", right = "f(x[k]) + 2*a" }
  [lemma.claim.whole]
  over = "run"
  chain = ["a", "<= 2*a"]
[[shared]]
source = "proof of Lemma A.2"
letters = "a for a norm"
  [shared.inequality.square]
  given = { "(7)" = "a in (0, 1]", "Lemma 1" = "k in integers 1.." }
  printed = ['a^2\\le a', '<2']
  [shared.step.sum]
  letters = "its own"
  vectors = ["u"]
  chain = ["norm(u)**2", "<= a"]
[inequality.equation-5]
source = "(5), its own"
stated = 'a\\overset{(b)}\\le a+L'
[[proposition]]
id = "other"
source = "Proposition 1"
setting_of = "lemma-a-2"
[derivation.order]
source = "(6)"
result = "L*a**2"
regime = { "(1)" = ["a >= 1", "L >= 1"] }
printed = 'La^2=\\mathcal O(a^2)'
"""
)


def card_of(text: str, tmp_path: Path) -> Card:
    path = tmp_path / "mine.toml"
    path.write_text(text, encoding="utf-8")
    return read_card(path, "mine.toml")


def everything(one: Any) -> Any:
    """All fields, those that are not compared included; an expression is its tree."""
    if isinstance(one, Expression) and type(one) is Expression:
        return one.tree
    if dataclasses.is_dataclass(one) and not isinstance(one, type) and not hasattr(one, "walk"):
        names = [f.name for f in dataclasses.fields(one) if f.name not in ("digest", "notation")]
        return type(one), {name: everything(getattr(one, name)) for name in names}
    if isinstance(one, tuple | list):
        return [everything(part) for part in one]
    return {k: everything(v) for k, v in one.items()} if hasattr(one, "items") else one


@pytest.mark.fast
def test_the_short_form_is_the_full_form(tmp_path: Path) -> None:
    full, short = card_of(FULL, tmp_path), card_of(SHORT, tmp_path)
    assert list(short.entries) == list(full.entries)
    for name, entry in full.entries.items():
        assert everything(short.entries[name]) == everything(entry), name
        assert list(short.entries[name].for_) == list(entry.for_)
    assert everything(short.settings) == everything(full.settings)
    first = short.statement("lemma-a-2").claim("equation-3")
    assert first.repaired is not None
    assert str(first.repaired.chain[0]) == "f(x[k+1]) < f(x[k]) + 2*a"


@pytest.mark.fast
def test_the_full_form_is_left_as_it_is() -> None:
    data = tomllib.loads(FULL)
    assert written_out(data, KINDS, Place("mine.toml")) == data == tomllib.loads(FULL)


@pytest.mark.fast
@pytest.mark.parametrize(
    ("identity", "source"),
    [
        ("equation-22", "(22)"),
        ("equation-b-3", "(B.3)"),
        ("lemma-a-1", "Lemma A.1"),
        ("theorem-4-1", "Theorem 4.1"),
        ("algorithm-2", "Algorithm 2"),
        ("algorithm-2-real-k", ""),
        ("theorem", ""),
        ("sub-lemma-1", ""),
        ("lemma-ab-1", ""),
    ],
)
def test_the_source_that_an_id_tells(identity: str, source: str) -> None:
    assert source_of(identity) == source


@pytest.mark.fast
def test_order_in_the_file_is_the_order_of_the_card(tmp_path: Path) -> None:
    text = HEAD + "".join(
        f'[{"shared." * (kind == "step")}{kind}.{name}]\nsource = "x"\n{extra}chain = ["a", "<= 2*a"]\n'
        for kind, name, extra in (
            ("inequality", "one", ""),
            ("step", "two", 'vectors = ["u"]\n'),
            ("inequality", "three", ""),
        )
    )
    assert list(card_of(text, tmp_path).entries) == ["one", "two", "three"]
    assert lines_of_ids("[step.'x y']\n[lemma.claim.z]\n[[shared.lemma]]\nid = 'w'\n", KINDS) == {"x y": [1], "w": [4]}


BAD = [
    ("[inequality.b]\nid = 'c'\nchain = ['a', '<= a']", "mine.toml: inequality, b: the header gives its id"),
    ("[[shared]]\nsource = 'x'", "mine.toml: shared: it holds no entries"),
    ("[inequality.b]\ngiven = ['a <= 1']\nchain = ['a', '<= a']", "mine.toml: inequality, b, given: write {"),
    (
        "[inequality.b]\ngiven = { p = 3 }\nchain = ['a', '<= a']",
        "mine.toml: inequality, b, given, p: expected",
    ),
    (
        "[inequality.b]\ngiven = { p = 'a <= 1' }\nwhere = ['a <= 2']\nchain = ['a', '<= a']",
        "mine.toml: inequality, b, given: 'given' and 'where' both say it",
    ),
    (
        "[inequality.b]\ngiven = { p = 'q in (0, 1)' }\nchain = ['a', '<= zz']",
        "mine.toml: b, chain, member 2: unk",
    ),
    ("[[lemma]]\nid = 'b'\nsetting_of = 'c'", "mine.toml: lemma, b, setting_of: unknown statement 'c'"),
    ("[inequality.b]\nprinted = 'a\\le\\frac{a'", "mine.toml: b, printed: not read (column "),
    ("[inequality.b]\nprinted = 'a\\le b_3'", "mine.toml: b, printed: not read (column 6): letter: b_{3} is not"),
    ("[inequality.b]\nprinted = 'a+1'", "mine.toml: b, printed: no relation is printed there; write the expression"),
    ("[inequality.b]\nprinted = 'a\\in[0,1]'", "mine.toml: b, printed: the relation 'in' (column 2) is none"),
    ("[inequality.b]\nprinted = 'a\\le2,\\ L\\le3'", "mine.toml: b, printed: more stands there than one chain"),
    ("[inequality.b]\nprinted = 'a\\le2\\quad\\text{for all }a\\le1'", "mine.toml: b, printed: more stands there than"),
    ("[inequality.b]\nprinted = '\\le a'", "mine.toml: b, printed: a chain in several texts"),
    ("[inequality.b]\nprinted = ['a\\le L', 'a\\le 2']", "mine.toml: b, printed, text 2: a chain in several texts"),
    ("[inequality.b]\nsource = 'x'", "mine.toml: b: the field 'left' is missing"),
    ("[inequality.b]\nleft = 'a'\nprinted = 'a\\le L'", "mine.toml: b: the field 'right' is missing"),
    ("[definitions]\na = { printed = 'L=2' }", "mine.toml: [definitions], a, printed: it does not say what 'a'"),
    ("[definitions]\na = { printed = 'a\\le2' }", "mine.toml: [definitions], a, printed: it does not say what 'a'"),
    (
        "[derivation.b]\nresult = 'a'\nprinted = 'a\\ge L'",
        "mine.toml: b, printed: its last member is no bound from above",
    ),
]


@pytest.mark.fast
@pytest.mark.parametrize(("text", "message"), BAD)
def test_what_is_wrong_is_one_line_that_names_it(text: str, message: str, tmp_path: Path) -> None:
    with pytest.raises(CardError) as raised:
        card_of(HEAD + text + "\n", tmp_path)
    assert str(raised.value).startswith(message)
    assert "\n" not in str(raised.value)


@pytest.mark.fast
def test_a_relation_of_the_print_is_the_one_that_is_written() -> None:
    names = Names(frozenset("ab"), frozenset({"sqrt"}))
    (one, two) = read_links("printed", (r"\frac{a+b}2\ge\sqrt{ab}\overset{(c)}=b",), Place("x"), names)
    assert (one.left.tree, one.op, one.right.tree) == (parse("(a + b)/2"), ">=", parse("sqrt(a*b)"))
    assert (two.left.tree, two.op, two.right.tree) == (parse("sqrt(a*b)"), "==", parse("b"))
    assert read_value("printed", "a:=2b", Place("x"), names, "a").tree == parse("2*b")


def test_marks_stand_as_for_a_written_relation(tmp_path: Path) -> None:
    text = HEAD + "[inequality.b]\nprinted = 'a\\le L'\npart = 'one half'\nlink = { 1 = { step = 'last' } }\n"
    entry = card_of(text, tmp_path).entries["b"]
    assert isinstance(entry, Inequality)
    assert [str(m) for m in (*entry.marks, *entry.chain[0].marks)] == ["part: one half", "step: last"]
    assert entry.chain[0].printed == r"a\le L"

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
from bilevel_verify.theorems.reading.variants import numbered

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
[[inequality]]
id = "prescribed"
source = "Theorem 1, last link"
define = { eta = "1/(4*L)", a = "theta/2" }
define_from = { eta = "Lemma 1", a = "(8)" }
where = ["k >= 1"]
where_from = "(8)"
chain = ["eta", "<= a", "<= 2*a", "<= 3*a"]
printed = ['\\eta\\le\\frac\\theta2', '\\le a 2', '']
link = { 2 = { step = "b" }, 3 = { step = "b" } }
[[step]]
id = "plain"
source = "(9)"
letters = "its own"
vectors = ["u"]
chain = ["norm(u)**2", "<= a"]
[[algorithm]]
id = "algorithm-1"
source = "Algorithm 1"
inputs = ["x_int", "eta"]
steps = \"\"\"
x[0] = x_int    # 1
for k in range(0, 3):    # 2
    x[k+1] = x[k] - eta*grad_f(x[k])    # 3
    # a remark
return x[3]    # 5
\"\"\"
[[algorithm]]
id = "other-loop"
source = "Remark 1"
variant_of = "algorithm-1"
inputs = ["x_int", "eta"]
steps = \"\"\"
x[0] = x_int    # 1
for k in range(0, 3):    # 2
    y[k] = x[k]    # 3
    x[k+1] = y[k] - 2*eta*grad_f(y[k])
return x[3]    # 5
\"\"\"
"""
)
SHORT = (
    HEAD
    + """
[settings.main]
given = { "Lemma 1" = "a <= 1", "(5)" = "L >= a" }
eta = { printed = '\\eta=\\frac1{4L}' }
[every.step]
letters = "its own"
[[lemma]]
id = "lemma-a-2"
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
printed."(6)" = '''
  La^2
  =\\mathcal O(a^2)'''
result = "L*a**2"
regime = { "(1)" = ["a >= 1", "L >= 1"] }
[inequality.prescribed]
printed."Theorem 1, last link" = ['''\\eta
  \\le\\frac\\theta2''', '''\\le a
  2''', '']
given = { "Lemma 1" = "eta of main", "(8)" = ["a = theta/2", "k >= 1"] }
chain = ["eta", "<= a", "<= 2*a", "<= 3*a"]
link = { "2, 3" = { step = "b" } }
[step.plain]
source = "(9)"
vectors = ["u"]
chain = ["norm(u)**2", "<= a"]
[algorithm.algorithm-1]
inputs = ["x_int", "eta"]
steps = \"\"\"
x[0] = x_int    # 1
for k in range(0, 3):    # 2
    x[k+1] = x[k] - eta*grad_f(x[k])    # 3
    # a remark
return x[3]    # 5
\"\"\"
[algorithm.other-loop]
source = "Remark 1"
variant_of = "algorithm-1"
lines = \"\"\"
    y[k] = x[k]    # 3
    x[k+1] = y[k] - 2*eta*grad_f(y[k])
\"\"\"
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
    (
        "[inequality.b]\ngiven = { p = 'a = 1' }\ndefine = { L = '2' }\nchain = ['a', '<= a']",
        "mine.toml: inequality, b, given: 'given' and 'define' both say it",
    ),
    (
        "[inequality.b]\ngiven = { p = 'a of c' }\nchain = ['a', '<= a']",
        "mine.toml: inequality, b, given: unknown settings 'c'",
    ),
    (
        "[settings.c]\na = { printed = 'a=L=2' }\n[inequality.b]\ngiven = { p = 'a of c' }\nchain = ['a', '<= a']",
        "mine.toml: inequality, b, given: the settings 'c' give no formula for 'a'",
    ),
    (
        "[inequality.b]\nsource = 'x'\nprinted = { p = 'a\\le L' }",
        "mine.toml: inequality, b, printed: write one place of the paper",
    ),
    (
        "[inequality.b]\nprinted = { p = 'a\\le L', q = '\\le 2' }",
        "mine.toml: inequality, b, printed: write one place of the paper",
    ),
    (
        "[inequality.b]\nchain = ['a', '<= a', '<= a']\nlink = { 2 = { step = 'x' }, '1, 2' = { part = 'x' } }",
        "mine.toml: b, link, 2: its marks stand there twice",
    ),
    ("[every.steps]\nletters = 'x'", "mine.toml: every, steps: 'steps' is no table of a kind of entries"),
    ("[algorithm.b]\nvariant_of = 'c'\nlines = 'x[0] = a # 1'", "mine.toml: algorithm, b, lines: they replace lines"),
    (
        "[algorithm.c]\nsteps = 'x[0] = a # 1'\n[algorithm.b]\nvariant_of = 'c'\nlines = 'x[0] = L # 2'",
        "mine.toml: algorithm, b, lines: there is no line 2 to replace",
    ),
    (
        "[algorithm.c]\nsteps = 'x[0] = a # 1'\n[algorithm.b]\nvariant_of = 'c'\nlines = 'x[0] = L'",
        "mine.toml: algorithm, b, lines: there is no line without a number to replace",
    ),
    (
        "[algorithm.c]\nsteps = 'x[0] = a # 1'\n[algorithm.b]\nvariant_of = 'c'\nlines = 'x[0] = L # 1'\nsteps = ''",
        "mine.toml: algorithm, b, lines: write the lines that differ as a text",
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


@pytest.mark.fast
def test_a_display_in_several_lines_is_the_display() -> None:
    data = {"inequality": {"b": {"printed": "  a\\le\n  b\\\\\n  \\alpha\n  c\n =2", "note": "a\n b"}}}
    (one,) = written_out(data, KINDS, Place("mine.toml"))["inequality"]
    assert (one["printed"], one["note"]) == ("a\\le b\\\\\\alpha c=2", "a\n b")


@pytest.mark.fast
def test_a_place_beside_a_display_stands_before_the_shared_source() -> None:
    text = "[[shared]]\nsource = 'x'\n[shared.inequality.b]\nstated.'(3)' = 'a'\n[shared.inequality.c]\nstated = 'a'\n"
    found = written_out(tomllib.loads(text), KINDS, Place("mine.toml"))["inequality"]
    assert [(one["source"], one["stated"]) for one in found] == [("(3)", "a"), ("x", "a")]


@pytest.mark.fast
def test_lines_before_the_first_number_are_of_that_number() -> None:
    assert numbered("\na = 1\nb = 2  # 1\nc = 3\nd = 4  # 1\ne = 5  # 2\n") == {
        "1": ["a = 1", "b = 2  # 1", "c = 3", "d = 4  # 1"],
        "2": ["e = 5  # 2"],
    }
    assert numbered("a = 1\n") == {"": ["a = 1"]}

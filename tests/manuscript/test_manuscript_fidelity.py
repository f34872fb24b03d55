"""The five cards beside the prints of their papers: every quotation is found, and is what is judged or is marked."""

from __future__ import annotations

import json
from dataclasses import replace
from functools import lru_cache
from pathlib import Path

import pytest

import bilevel_verify as bv
from bilevel_verify.cli import main
from bilevel_verify.cli.commands.auditing import _write
from bilevel_verify.errors import InputError
from bilevel_verify.installation import theory_directory
from bilevel_verify.language import parse
from bilevel_verify.manuscript import BAD, OUTCOMES, counts, fidelity, load_print, read_print
from bilevel_verify.manuscript.comparing import Relation, same, same_relation
from bilevel_verify.manuscript.fidelity import Paper
from bilevel_verify.manuscript.formulas import PROOF
from bilevel_verify.manuscript.quotation import canonical, quoted
from bilevel_verify.manuscript.relations import combined
from bilevel_verify.reporting.schema import problems_with
from bilevel_verify.theorems.card import Card, Inequality
from bilevel_verify.theorems.library import load_card

KEYS = ("agm-bio", "fsba", "ragd-gs", "rahgd", "restarted-agd-hb")
FORMULAS = {"agm-bio": 269, "fsba": 492, "ragd-gs": 298, "rahgd": 490, "restarted-agd-hb": 344}


@pytest.mark.parametrize("key", KEYS)
def test_a_shipped_card_is_faithful_to_its_print(key: str) -> None:
    source = load_print(key)
    assert (source.paper, len(source)) == (key, FORMULAS[key])
    rows = fidelity(bv.card(key), source)
    assert [(r.outcome, r.statement, r.part, r.latex, r.text) for r in rows if r.outcome in BAD] == []
    found = counts(rows)
    assert set(found) <= set(OUTCOMES)
    assert found["same tree"] + found["same values"] >= 40
    assert all(r.marks for r in rows if r.outcome == "marked")
    unread = {r.statement: r.reason.partition(":")[0] for r in rows if r.outcome == "not read"}
    assert unread == ({"cost-lfsba-from-counts": "words", "equation-16": "words"} if key == "fsba" else {})


def test_the_displays_of_the_prints_are_all_there() -> None:
    displays = [f for key in KEYS for f in load_print(key).displays()]
    assert len(displays) == 646
    assert sum(f.in_proof for f in displays) > 300
    assert {f.statement for f in displays if f.in_proof} == {
        f.within.removeprefix(PROOF) for f in displays if f.within.startswith(PROOF)
    }


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (r"\tfrac12 x_k^2", r"\frac{1}{2}x^{2}_{k}"),
        (r"\left\|\mathbf x\right\|\leq\mathcal D", r"\|\mathbf{x}\| \le \mathcal{D}"),
        (r"w_{t',-1}", r"w_{t^{\prime},-1}"),
        (r"\begin{aligned}a&\overset{(a)}{\le}b\\&=c\end{aligned}", r"a\le b=c"),
        (r"{\bf x}", r"{\mathbf{x}}"),
        (r"x:=\big(y\big),", r"x\triangleq(y)"),
        (r"{\mathcal{O}}(\epsilon)", r"\mathcal O(\epsilon)"),
    ],
)
def test_one_spelling(one: str, other: str) -> None:
    assert quoted(one) == quoted(other) != "  "


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (r"a+b", r"b+a"),
        (r"x_{k+1}", r"x_k+1"),
        (r"\frac{a+b}{c}", r"\frac{a}{b+c}"),
        (r"\mathbf x", r"x"),
        (r"\mathcal O(a)", r"\tilde{\mathcal O}(a)"),
        (r"a\le b", r"a<b"),
        (r"K^2", r"\mathcal K^2"),
        (r"a^{bc}", r"a^bc"),
        (r"\sqrt{ab}", r"\sqrt a b"),
    ],
)
def test_no_quotation(one: str, other: str) -> None:
    assert quoted(one) != quoted(other)


def test_braces_that_do_not_close_are_no_quotation() -> None:
    assert canonical(r"\frac{a") == canonical("a}") == canonical("{" * 5000) == ()


@lru_cache
def paper(key: str = "ragd-gs") -> Paper:
    return Paper(bv.card(key), load_print(key))


SAME = [
    ("a*b/c", "b/c*a", "same values"),
    ("(a + b)**2", "a**2 + 2*a*b + b**2", "same values"),
    ("1/2*L", "L/2", "same values"),
    ("a - b", "a + (-b)", "same tree"),
    ("sum(a*i, (i, 1, 4))", "10*a", "same values"),
    ("dot(x, y)", "dot(y, x)", "same values"),
    ("norm(x - y)", "norm(y - x)", "same values"),
    ("a*b/c", "a*c/b", ""),
    ("x[k+1]", "x[k]", ""),
    ("W @ W_2", "W_2 @ W", ""),
    ("hess_xy_g(x, y) @ hess_yy_g(x, y)", "hess_yy_g(x, y) @ hess_xy_g(x, y)", ""),
    ("hess_xy_g(x, y)", "T(hess_xy_g(x, y))", ""),
    ("hess_xy_g(x, y)", "hess_xy_g(y, x)", ""),
    ("norm(x)**2", "norm(x)", ""),
    ("a + 1/100000000000*b", "a", ""),
    ("a", "a*(1 + 1e-7)", ""),
    ("argmin(a*i, (i, 1, 3))", "argmin(i*a, (i, 1, 3))", ""),
    ("O(a)", "softO(a)", ""),
    ("log(1 - a - 9)", "log(1 - 9 - a)", ""),
]


@pytest.mark.parametrize(("one", "other", "word"), SAME)
def test_trees_and_values(one: str, other: str, word: str) -> None:
    assert same(parse(one), parse(other), paper().usual) == word
    assert same(parse(other), parse(one), paper().usual) == word


def test_relations_and_their_directions() -> None:
    def relation(left: str, op: str, right: str) -> Relation:
        return Relation(parse(left), op, parse(right))

    setting, one = paper().usual, relation("a", "<=", "b + c")
    assert same_relation(one, relation("b + c", ">=", "a"), setting) == "same tree"
    assert same_relation(one, relation("a - c", "<=", "b"), setting) == "same values"
    assert same_relation(one, relation("a", ">=", "b + c"), setting) == ""
    assert same_relation(one, relation("a", "<", "b + c"), setting) == ""
    assert same_relation(one, relation("2*a", "<=", "2*b + 2*c"), setting) == ""
    assert same_relation(relation("L", "<=", "O(a)"), relation("L", "==", "O(a)"), setting) == "same tree"
    assert same_relation(relation("L", "<=", "a"), relation("L", "==", "a"), setting) == ""
    assert combined(["<=", "==", "<"]) == "<"
    assert combined(["<=", ">="]) == combined(["<=", "in"]) == ""


def changed(card: Card, name: str, text: str) -> Card:
    """The card with another right side in the first link of an entry."""
    entry = card.entries[name]
    assert isinstance(entry, Inequality)
    first = entry.chain[0]
    right = replace(first.right, tree=parse(text), text=text)
    link = replace(first, right=right)
    return replace(card, entries={**card.entries, name: replace(entry, chain=(link, *entry.chain[1:]))})


def test_a_changed_expression_and_an_invented_quotation_are_found() -> None:
    card = bv.card("ragd-gs")
    sound = fidelity(card, load_print("ragd-gs"), "equation-33")
    assert {r.outcome for r in sound} <= {"same tree", "same values"}
    broken = changed(card, "equation-33", "eps**2*k**2/((c + 1/64)**2*L**2)")
    assert [r.outcome for r in fidelity(broken, load_print("ragd-gs"), "equation-33")] == ["differs"]
    entry = card.entries["equation-33"]
    assert isinstance(entry, Inequality)
    link = replace(entry.chain[0], printed=r"S_k\ge\epsilon^2")
    other = replace(card, entries={"equation-33": replace(entry, chain=(link,), printed=(r"S_k\ge\epsilon^2",))})
    assert [r.outcome for r in fidelity(other, load_print("ragd-gs"), "equation-33")] == ["not in the print"]


@pytest.mark.parametrize(
    ("data", "message"),
    [
        ({"formula": [{"n": 1}]}, "'latex' is missing"),
        ({"formula": [{"n": 1, "latex": "a", "words": "b"}]}, "unknown field 'words'"),
        ({"formula": [{"n": 2, "latex": "a"}, {"n": 2, "latex": "b"}]}, "the numbers must rise"),
        ({"formula": [{"n": "1", "latex": "a"}]}, "expected a whole number"),
        ({"formula": [{"n": 1, "latex": "a", "kind": "picture"}]}, "is not one of"),
        ({"formula": [{"n": 1, "latex": "a" * 50_000}]}, "more than 40000 characters"),
        ({"formulas": []}, "unknown field 'formulas'"),
        ({"formula": {}}, "arrays of tables"),
    ],
)
def test_a_print_that_is_ill_formed_names_the_place(data: dict[str, object], message: str) -> None:
    with pytest.raises(InputError, match=message) as caught:
        read_print(data, "mine.toml")
    assert "mine.toml" in str(caught.value)


MINE = r"""
[paper]
key = "mine"
title = "A draft"
[units]
F = "values"
[letters]
a = { unit = "F", domain = "(0, oo)", domain_from = "Section 1", meaning = "a" }
b = { unit = "F", domain = "(0, oo)", domain_from = "Section 1", meaning = "b" }
[[inequality]]
id = "square"
source = "(1)"
chain = ["2*a*b", "<= a**2 + b**2"]
printed = '2ab\le a^2+b^2'
[[inequality]]
id = "lost"
source = "(2)"
chain = ["a*b", "<= a**2 + 2*b**2"]
printed = 'ab\le a^2+b^2'
"""
PRINT = r"""
paper = "mine"
[[formula]]
n = 1
number = "1"
latex = '2ab \leq a^{2}+b^{2}'
[[formula]]
n = 2
number = "2"
latex = 'ab \le a^2 + b^2 \le c'
"""


def test_the_command_with_a_card_and_a_print_of_ones_own(
    tmp_path: object, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(str(tmp_path))
    with open("mine.toml", "w", encoding="utf8") as stream:
        stream.write(MINE)
    with open("print.toml", "w", encoding="utf8") as stream:
        stream.write(PRINT)
    assert main(["fidelity", "mine.toml", "--print", "print.toml"]) == 1
    out = capsys.readouterr().out
    assert "differs" in out
    assert "mine: 1 same tree, 1 differs" in out
    assert main(["fidelity", "mine.toml"]) == 2
    assert "give a file with --print" in capsys.readouterr().err


@pytest.mark.slow
def test_a_quotation_that_no_page_prints_is_told_wherever_quotations_are(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    text = (theory_directory() / "agm-bio.toml").read_text("utf8")
    printed = r"g_k-g^*\le\frac{2L_g\|\mathbf x_0-\mathbf x^*\|^2}{(k+1)^2}"
    assert printed in text
    path = tmp_path / "agm-bio.toml"
    path.write_text(text.replace(printed, printed.replace("2L_g", "3L_g"), 1), encoding="utf8")
    notation = tmp_path / "notation"
    notation.mkdir()
    (notation / "agm-bio.toml").write_bytes((theory_directory() / "notation" / "agm-bio.toml").read_bytes())
    told = "not in the print"
    assert main(["fidelity", str(path), "--print", str(theory_directory() / "print" / "agm-bio.toml")]) == 1
    assert f"1 {told}" in capsys.readouterr().out
    main(["list", "--show", f"{path}/condition-8", "--fidelity"])
    assert f"outcome: {told}" in capsys.readouterr().out
    _write([], [], [load_card(str(path))], tmp_path / "out", {})
    assert f"{told}: condition-8 below" in (tmp_path / "out" / "report.md").read_text("utf8")
    for name in ("index.html", "errata-agm-bio.html"):
        assert told in (tmp_path / "out" / name).read_text("utf8")
    assert problems_with(json.loads((tmp_path / "out" / "report.json").read_text("utf8"))) == []

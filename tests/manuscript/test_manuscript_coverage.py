"""Coverage by the print: a card and a print of one's own with one relation for each kind of line."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from pathlib import Path

import pytest

import bilevel_verify as bv
from bilevel_verify.audit import audit
from bilevel_verify.cli import main
from bilevel_verify.errors import InputError
from bilevel_verify.language import parse, to_text
from bilevel_verify.manuscript import load_print
from bilevel_verify.manuscript.comparing import Relation
from bilevel_verify.manuscript.coverage import BY, REASONS, Walk, coverage_by_print
from bilevel_verify.manuscript.facts import facts_about
from bilevel_verify.manuscript.kept import kept_text, read_kept
from bilevel_verify.manuscript.naming import Said
from bilevel_verify.manuscript.table import coverage_table
from bilevel_verify.reporting.manuscript import manuscript_page
from bilevel_verify.theorems.library import load_card

ROOT = Path(__file__).parents[2]

CARD = r"""
[paper]
key = "mine"
title = "A draft"
[units]
F = "values"
X = "lengths"
[letters]
M = { unit = "1", domain = "(0, oo)", domain_from = "Section 1", meaning = "M" }
a = { unit = "1", domain = "(0, oo)", domain_from = "Section 1", meaning = "a" }
b = { unit = "1", domain = "(0, oo)", domain_from = "Section 1", meaning = "b" }
r = { unit = "1", domain = "[0, oo)", domain_from = "a norm", meaning = "a length" }
s = { unit = "1", domain = "[0, oo)", domain_from = "a norm", meaning = "a length" }
[functions]
f = { arguments = ["X"], value = "F" }
[notation]
letters = 'M a b c'
indices = 'k'
vector_sequences = 'x y'
sets = '\mathcal{S}=S_cal'
functions = 'f'
[[lemma]]
id = "lemma-1"
source = "Lemma 1"
where = ["a <= 1"]
where_from = "Lemma 1"
[[inequality]]
id = "square"
source = "(1)"
chain = ["2*a*b", "<= a**2 + b**2"]
printed = '2ab\le a^2+b^2'
[[inequality]]
id = "false"
source = "(2)"
chain = ["a**2 + b**2", "<= a*b"]
printed = 'a^2+b^2\le ab'
[[inequality]]
id = "lengths"
source = "(3)"
letters = "r and s for the norms"
chain = ["M*(r + s)**2", "<= 2*M*(r**2 + s**2)"]
stated = 'M(r+s)^2\le 2M(r^2+s^2)'
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
latex = 'a^2+b^2 \le ab'
[[formula]]
n = 3
number = "3"
latex = 'M(\|x_k\|+\|y_k\|)^2\le 2M(\|x_k\|^2+\|y_k\|^2)'
[[formula]]
n = 4
latex = '\|x_k-y_k\|^2 \le 2\|x_k\|^2+2\|y_k\|^2'
[[formula]]
n = 5
latex = 'M\|x_{k+1}-y_k\|\le M\|x_{k+1}-x_k\|+M\|x_k-y_k\|'
[[formula]]
n = 6
latex = 'a^3 \le a^2'
within = "proof of lemma-1"
[[formula]]
n = 7
latex = 'a^3 \le a^2'
within = "proof of lemma-2"
[[formula]]
n = 8
latex = 'x_k\in\mathcal S'
[[formula]]
n = 9
latex = 'c:=a+b'
[[formula]]
n = 10
latex = 'a \le \unknown{b}'
[[formula]]
n = 11
latex = 'f(x_k)'
[[formula]]
n = 12
latex = 'a^2\le b,\quad a > 0'
within = "assumption-1"
[[formula]]
n = 13
latex = 'f(x_k)\le f(y_k)'
[[formula]]
n = 14
latex = 'a \geq 0'
[[formula]]
n = 15
latex = 'x_{k+1} = y_k'
[[formula]]
n = 16
kind = "inline"
latex = 'a \le b'
"""
WANTED = {
    "1.1": ("card", "holds", ""),
    "2.1": ("card", "refuted", ""),
    "3.1": ("card, marked", "holds", ""),
    "4.1": ("print layer", "holds", ""),
    "5.1": ("print layer", "holds", ""),
    "6.1": ("print layer", "holds", ""),
    "7.1": ("print layer", "undecided", "does not follow from the hypotheses of the statement alone"),
    "8.1": ("reason", "", "set or operator statement"),
    "9.1": ("reason", "", "definition"),
    "10.1": ("reason", "", "not read: macro"),
    "11.1": ("reason", "", "no relation"),
    "12.1": ("reason", "", "assumption"),
    "12.2": ("reason", "", "assumption"),
    "13.1": ("print layer", "undecided", "does not follow"),
    "14.1": ("reason", "", "range or hypothesis"),
    "15.1": ("print layer", "undecided", "no identity by itself"),
}


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "mine.toml").write_text(CARD, encoding="utf8")
    (tmp_path / "print.toml").write_text(PRINT, encoding="utf8")
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def walk(folder: Path) -> Walk:
    card = bv.card(folder / "mine.toml")
    rows = [f.row for f in audit(card, quick=True)]
    return coverage_by_print(card, load_print(folder / "print.toml"), rows)


def test_every_relation_has_a_judgement_or_a_reason(walk: Walk) -> None:
    assert {line.name for line in walk.lines} == WANTED.keys()
    for line in walk.lines:
        by, verdict, reason = WANTED[line.name]
        assert (line.by, line.verdict) == (by, verdict), line
        assert line.reason.startswith(reason), line
        assert line.by in BY
        assert line.by != "reason" or line.reason.partition(":")[0] in REASONS
        assert bool(line.marks) == (line.by == "card, marked")
    assert sum(walk.counts().values()) == len(WANTED) - 1 == len(walk.relations)
    assert sum(walk.reasons().values()) == walk.counts()["reason"] + 1
    assert "11.1" not in {line.name for line in walk.relations}  # a display without a relation


def test_the_page_shows_every_formula_with_its_verdict(walk: Walk, folder: Path) -> None:
    page = manuscript_page(bv.card(folder / "mine.toml"), walk)
    assert page.count('class="f ') == 15
    assert [page.count(f'class="f {c}"') for c in ("holds", "refuted", "marked", "undecided", "reason")] == [
        4,
        1,
        1,
        3,
        6,
    ]
    assert "<script" not in page
    assert "http" not in page.replace("http-equiv", "").replace("http://www.w3.org", "")
    assert page.count("<math") >= 14


def test_the_command(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = ["coverage", "mine.toml", "--print", "print.toml", "--jobs", "1", "--out", "pages", "--json"]
    assert main(words) == 0
    paper = json.loads(capsys.readouterr().out)["papers"][0]
    assert paper["counts"] == {"card": 2, "card, marked": 1, "print layer": 6, "reason": 6}
    assert (folder / "pages" / "manuscript-mine.html").is_file()
    table = (folder / "pages" / "coverage.md").read_text(encoding="utf8")
    assert re.search(r"^\| mine \| 15 \| 2 \| 1 \| 0 \| 6 \| 6 \| 9 \(60\.0%\) \| 6 \| \d+ s \|$", table, re.MULTILINE)


def test_kept_verdicts_make_the_same_page_and_never_stand_beside_another_formula(walk: Walk, folder: Path) -> None:
    card, source = bv.card(folder / "mine.toml"), load_print("print.toml")
    path = folder / "mine.json"
    path.write_text(kept_text(card, source, walk, "1.2.3"), encoding="utf8")
    kept = read_kept(path, card, source)
    assert kept.walk == walk
    assert manuscript_page(card, kept.walk) == manuscript_page(card, walk)
    assert (kept.current, kept.version) == (True, "1.2.3")
    assert not read_kept(path, replace(card, digest="another"), source).current
    first, *rest = source.formulas
    other = replace(source, formulas=(replace(first, latex=first.latex + "+1"), *rest))
    with pytest.raises(InputError, match=r"formulas of mine have changed since; write it anew: .*coverage mine --out"):
        read_kept(path, card, other)
    with pytest.raises(InputError, match="print: the formulas of other"):
        read_kept(path, replace(card, key="other"), source)
    path.write_text("[1]", encoding="utf8")
    with pytest.raises(InputError, match="no kept verdicts"):
        read_kept(path, card, source)


@pytest.mark.parametrize("path", sorted((ROOT / "docs" / "manuscripts").glob("*.json")), ids=lambda path: path.stem)
def test_the_manuscripts_of_the_site_are_those_of_the_prints(path: Path) -> None:
    card, source = load_card(path.stem), load_print(path.stem)
    walk = read_kept(path, card, source).walk
    names = {line.name for line in walk.lines}
    assert {f.n for f in source.formulas if f.kind == "display"} == {int(name.partition(".")[0]) for name in names}
    assert all(line.by in BY for line in walk.lines)


def test_the_table_counts_every_line_once(walk: Walk) -> None:
    table = coverage_table([walk, replace(walk, paper="other")], {"mine": 1.4, "other": 2.0})
    first, reasons, undecided = table.split("\n## ")
    assert "| together | 30 | 4 | 2 | 0 | 12 | 12 | 18 (60.0%) | 12 | 3 s |" in first
    counts = [[int(c) for c in re.findall(r"\d+", row)] for row in reasons.splitlines() if row.startswith("| ")][1:]
    assert all(one == other for one, other in counts)
    assert sum(one for one, _ in counts) == walk.counts()["reason"] + 1  # a display without a relation
    assert "| false for some numbers in the place of its objects; no derivation found | 2 | 2 |" in undecided


def test_what_relations_of_a_print_are_about() -> None:
    one = Said.of(Relation(parse("x[t, k] + a"), "<=", parse("sum(b[i], (i, 0, n))")))
    assert one.letters >= {"t", "k", "a", "n"}
    assert "i" not in one.letters
    assert one.sequences == {"x", "b"}
    assert one.epoch
    other = Said.of(Relation(parse("y[k]"), "<=", parse("a")))
    assert not other.epoch
    both = Said.joined([one, other])
    assert both.epoch
    assert both.sequences == {"x", "b", "y"}
    assert both.letters == one.letters | other.letters
    assert len(both.points) == len(set(both.points))
    assert Said.joined([]) == Said()


def test_facts_about_norms() -> None:
    made = {parse(t): n for t, n in (("norm(u - w)", "p"), ("norm(u - v)", "q"), ("norm(w - v)", "r"))}
    found = {to_text(fact) for fact in facts_about(made)}
    assert found == {"p <= q + r", "q <= p + r", "r <= p + q"}
    assert facts_about({parse("norm(u - w)"): "p", parse("norm(u)"): "q", parse("norm(2*w)"): "r"}) == []
    made = {parse("dot(u, -w)"): "d", parse("norm(u)"): "p", parse("norm(w)"): "q"}
    assert {to_text(fact) for fact in facts_about(made)} == {"d <= p*q", "d >= -(p*q)"}

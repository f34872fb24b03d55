"""One defect, one entry: what is put together, how grave it is, what an entry shows, HTML and Markdown alike."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from bilevel_verify.audit import audit
from bilevel_verify.audit.findings.finding import Finding
from bilevel_verify.cli import main
from bilevel_verify.language import parse
from bilevel_verify.manuscript.fidelity import Row as QuotedRow
from bilevel_verify.problems.files import loads
from bilevel_verify.proofreading.defect import Defect
from bilevel_verify.proofreading.errata.collecting import _short, errata
from bilevel_verify.proofreading.errata.erratum import Erratum
from bilevel_verify.proofreading.errata.places import title_of, without_ids, words_of
from bilevel_verify.proofreading.errata.repairing import marked_latex
from bilevel_verify.proofreading.report import Report
from bilevel_verify.reporting.errata import write_errata
from bilevel_verify.reporting.errata.errata_markdown import errata_markdown
from bilevel_verify.reporting.typesetting.prose import capital
from bilevel_verify.theorems.card import Card
from bilevel_verify.theorems.library import load_card
from bilevel_verify.theorems.reading.reader import read_card

CARD = r"""
[paper]
key = "mine"
title = "Mine"
standing = "Section 1"
[units]
F = "values"
[letters]
a = { unit = "F", domain = "(0, oo)", meaning = "first gap", display = "\\alpha" }
b = { unit = "F", domain = "(0, oo)", meaning = "second gap" }
eps = { unit = "1", domain = "(0, oo)", meaning = "accuracy" }
n = { unit = "1", domain = "[1, oo)", domain_from = "Section 2" }

[[inequality]]
id = "slip"
source = "proof of Lemma 1, last link"
chain = ["a + b", "<= a"]
printed = '\alpha+b\le\alpha'
refuted = { since = "1", why = "the second gap is lost" }
  [inequality.repaired]
  change = "term"
  chain = ["a + b", "<= a + b"]
  why = "nothing is dropped"

[[inequality]]
id = "again"
source = "(7), last link"
chain = ["2*b", "<= b"]
printed = '2b\le b'
refuted = { since = "1", why = "as in slip: it is lost here too" }

[[inequality]]
id = "third"
source = "(8)"
chain = ["4*b", "<= b"]
printed = '4b\le b'
refuted = { since = "1", why = "three of them are lost (see slip)" }

[[inequality]]
id = "other"
source = "(9)"
chain = ["3*a", "<= 2*a"]
printed = '3\alpha\le2\alpha'

[[inequality]]
id = "defined"
source = "(10)"
by_hand = "written out"
define = { h = "2*b/b" }
where = ["eps == 1"]
chain = ["h*eps", "<= eps"]
stated = 'h\epsilon\le\epsilon'
refuted = { since = "1", why = "theta is lost" }

[[derivation]]
id = "rate"
source = "Theorem 1 from (9)"
result = "a*n**2"
gives = "O(a*n)"
refuted = { since = "1", why = "one power of n is lost" }

[[lemma]]
id = "lemma-1"
source = "Lemma 1"
[[theorem]]
id = "theorem-1"
source = "Theorem 1"
uses = ["lemma-1"]
"""

DRAFT = r"""\documentclass{article}\newtheorem{lemma}{Lemma}
\begin{document}
\section{Setting}
Let $a>0$ and $b>0$.
\begin{lemma}For all $a>0$ and $b>0$ it holds that
\begin{equation}(a+b)^2\le a^2+b^2 .\end{equation}
\end{lemma}
\begin{proof}
Since $a>0$ and $b>0$,
\begin{equation}a+b\le a .\end{equation}
\end{proof}
\end{document}
"""


@pytest.fixture(scope="module")
def card(tmp_path_factory: pytest.TempPathFactory) -> Card:
    path = tmp_path_factory.mktemp("card") / "mine.toml"
    path.write_text(CARD, encoding="utf-8")
    return read_card(path)


@pytest.fixture(scope="module")
def findings(card: Card) -> list[Finding]:
    return audit(card, quick=True)


@pytest.fixture(scope="module")
def entries(card: Card, findings: list[Finding]) -> tuple[Erratum, ...]:
    return errata(card, findings)


def test_one_cause_is_one_entry_with_all_places(entries: tuple[Erratum, ...]) -> None:
    (slip,) = [e for e in entries if any(row.startswith("slip/") for row in e.rows)]
    assert any(row.startswith("again/") for row in slip.rows)
    assert any(row.startswith("third/") for row in slip.rows)
    assert slip.places == ("proof of Lemma 1, last link", "(7), last link", "(8)")
    assert [spot.latex for spot in slip.spots] == [r"\alpha+b\le\alpha", r"2b\le b", r"4b\le b"]
    assert not any(row.startswith("other/") for row in slip.rows), "another slip is another entry"


def test_the_gravest_comes_first_and_titles_have_no_ids(entries: tuple[Erratum, ...]) -> None:
    assert [e.grade for e in entries] == ["changes a constant or a rate", *["local slip"] * 3]
    assert entries[0].title == "Theorem 1 from (9): one power of n is lost"
    assert not any("slip:" in e.title or "other" in e.title for e in entries)


def test_sentences_name_places_and_no_ids() -> None:
    fsba = load_card("fsba")
    assert without_ids(fsba, "the factor is lost (see c-1-c-1), a second-order method") == (
        f"the factor is lost (see {fsba.entries['c-1-c-1'].source}), a second-order method"
    )


def test_an_entry_shows_point_sides_letters_and_what_matters(entries: tuple[Erratum, ...]) -> None:
    rate = entries[0].witness
    assert rate is not None
    assert "no constant will do" in rate.problem, "a ray is said to be one"
    (other,) = [e for e in entries if e.place == "(9)"]
    assert other.witness is not None
    assert other.witness.sides is not None
    assert other.witness.sides[0] > other.witness.sides[1]
    assert other.witness.letters == ((r"\alpha", "first gap"),)
    (marked,) = [e for e in entries if e.place == "(10)"]
    assert marked.witness is not None
    assert marked.witness.sides == (2.0, 1.0), "a recorded row that is refuted in a marked form shows its sides"
    assert (r"h = \frac{2\,b}{b}", "") in marked.witness.letters, "the definition of a letter that the point has not"
    assert [name for name, _ in marked.witness.values] == ["b", r"\epsilon"], "eps is a letter of scalars, too"
    (slip,) = [e for e in entries if e.recorded and "slip" in e.rows[0]]
    assert slip.matters == ("Lemma 1", "Theorem 1"), "a slip in a proof: the statement, and who uses it"


def test_the_repaired_form_underlines_what_changed(entries: tuple[Erratum, ...]) -> None:
    (slip,) = [e for e in entries if e.recorded and "slip" in e.rows[0]]
    assert slip.repair is not None
    assert slip.repair.latex == r"\alpha + b \le \underline{\alpha + b}"
    assert slip.repair.why == "nothing is dropped"
    assert slip.repair.verdict.startswith("holds")


@pytest.mark.parametrize(
    ("printed", "repaired", "marked"),
    [
        ("a**(-2) <= b", "a**2 <= b", r"a^{\underline{2}} \le b"),
        ("a <= b*c", "a <= 2*b*c", r"a \le \underline{2}\,b\,c"),
        ("a <= b + c", "a <= b", r"a \le \underline{b}"),
        ("a <= b", "a < b", r"\underline{a < b}"),
        ("sum(x[i], (i, 0, k)) <= b", "sum(x[i+1], (i, 0, k)) <= b", r"\sum_{i=0}^{k} x_{\underline{i + 1}} \le b"),
        ("a <= b", "a <= b", r"a \le b"),
        ("a <= b*c/d", "a <= (-2)*b*c/d", r"a \le \underline{-\frac{2\,b\,c}{d}}"),
        ("a**(1/n) <= b", "a**((-1)/n) <= b", r"a^{\underline{-\frac{1}{n}}} \le b"),
    ],
)
def test_marks(printed: str, repaired: str, marked: str) -> None:
    assert marked_latex(parse(printed), parse(repaired), {}) == marked


def test_a_changed_hypothesis_is_shown() -> None:
    card = load_card("ragd-gs")
    row = next(f.row for f in audit(card, statement="theorem-1-epochs", quick=True) if f.row.verdict == "refuted")
    (entry,) = errata(card, [Finding(row)])
    assert entry.repair is not None
    assert any(line.startswith("hypothesis added:") and r"\kappa" in line for line in entry.repair.hypotheses)


def test_a_slip_that_the_proofreader_sees_too_is_one_entry(card: Card, findings: list[Finding]) -> None:
    same = Defect("shape", "(9)", "terms do not fit", "local slip", r"3 \alpha \le 2 \alpha + \beta")
    far = Defect("letter", "(12)", "nobody introduces q", "wording", "q")
    found = errata(card, findings, Report("mine", (replace(same, latex=r"x + 3\alpha\le 2\alpha"), far), 2))
    both = [e for e in found if "(9)" in e.places and len(e.rows) > 1]
    assert len(both) == 1, "the printed formula is part of what the proofreader read"
    assert found[-1].title == "(12): nobody introduces q"
    assert len(found) == len(errata(card, findings)) + 1


def test_one_formula_in_several_statements_is_one_display_with_all_places(card: Card, findings: list[Finding]) -> None:
    (one,) = [f for f in findings if f.row.statement == "slip" and f.row.kind == "inequality" and f.row.as_printed][:1]
    twice = [one, replace(one, row=replace(one.row, claim="link-2", source="Theorem 1"))]
    (entry,) = errata(card, twice)
    assert entry.places == ("proof of Lemma 1, last link", "Theorem 1")
    assert len(entry.spots) == 1


def test_nothing_is_accused_for_a_special_case_of_ours(card: Card, findings: list[Finding]) -> None:
    (row,) = [f.row for f in findings if f.row.statement == "other" and f.row.kind == "inequality"]
    ours = Finding(replace(row, marks=("special: k = 2",), as_printed=False, known_refuted=False))
    assert errata(card, [ours]) == ()


def test_bounds_on_counts_change_a_constant_and_promises_break(card: Card, findings: list[Finding]) -> None:
    (row,) = [f.row for f in findings if f.row.statement == "other" and f.row.kind == "inequality"]
    for left, source, grade in (
        ("epochs - 1", "Theorem 1", "changes a constant or a rate"),
        ("k_end*norm(x)", "Theorem 1", "breaks the statement"),
        ("norm(x)", "proof of Theorem 1", "local slip"),
    ):
        (entry,) = errata(card, [Finding(replace(row, statement="theorem-1", left=left, source=source))])
        assert entry.grade == grade, left


def test_a_false_lemma_of_a_draft_breaks_the_statement(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "draft.tex"
    path.write_text(DRAFT, encoding="utf-8")
    main(["audit", str(path), "--quick", "--jobs", "1", "--json", "--out", str(tmp_path / "page")])
    found = json.loads(capsys.readouterr().out)["errata"]
    assert [e["grade"] for e in found] == ["breaks the statement", "local slip"]
    assert found[0]["witness"]["sides"][0] > found[0]["witness"]["sides"][1]


def test_pages_open_with_the_gravest_and_end_with_statistics(
    card: Card, findings: list[Finding], tmp_path: Path
) -> None:
    (page,) = write_errata(findings, (), [card], tmp_path)
    html, markdown = page.read_text(encoding="utf-8"), page.with_suffix(".md").read_text(encoding="utf-8")
    assert "The gravest: Theorem 1 from (9)" in html
    assert html.index("Contents") < html.index("<section") < html.index("What was judged")
    assert markdown.index("1. Theorem 1 from (9)") < markdown.index("## 1.") < markdown.index("## What was judged")
    targets = set(re.findall(r'href="#([^"]+)"', html))
    assert targets
    assert targets <= set(re.findall(r'id="([^"]+)"', html))
    for name in re.findall(r'href="(counterexamples/[^"]+)"', html):
        assert subprocess.run([sys.executable, "-I", str(tmp_path / name)], check=False).returncode == 0
    assert r"\underline" in markdown
    assert "built-in" not in html
    assert "<mi>α</mi><mo>=</mo><mn>" in html.replace(' stretchy="false"', ""), "the point itself"
    assert "first gap" in html
    assert "first gap" in markdown


def test_an_instance_is_named_with_its_formulas_and_written_as_a_file() -> None:
    card = load_card("rahgd")
    found = [f for f in audit(card, statement="corollary-3-6", quick=True) if f.row.verdict == "refuted"]
    (entry,) = errata(card, [f for f in found if f.row.claim == "output"])
    assert entry.witness is not None
    assert "zoo:toy-a" in entry.witness.problem
    assert "$f=" in entry.witness.problem
    assert entry.witness.relation.endswith(r"\le \epsilon")
    assert entry.witness.sides is not None
    assert entry.witness.sides[0] > entry.witness.sides[1]
    (file,) = [text for name, text in entry.files.items() if name.startswith("instances/")]
    assert loads(file).kind == "bilevel"
    assert file.startswith("# bilevel-verify verify rahgd/corollary-3-6 --problem instances/")


def test_places_are_the_papers_own() -> None:
    assert title_of("proof of lemma-c-2") == "proof of Lemma C.2"
    fsba = load_card("fsba")
    assert words_of(fsba, "formula 104, algorithm-1") == "line 4, Algorithm 1"
    assert words_of(fsba, "(6), theorem-2-1") == "(6), Theorem 2.1"


@pytest.mark.parametrize(
    ("place", "heading"),
    [
        ("proof of Lemma 1, last link", "proof of Lemma 1, last link"),
        ("C.3: the logarithm, with lambda = ellbar", "C.3"),
        ("(3), Assumption 1; (2), (3)", "(3), Assumption 1"),
        ("E.5, gradient, both distances at eps-tilde = C_g eps/(2 lam ell)", "E.5, gradient"),
    ],
)
def test_a_heading_is_a_place_and_no_sentence(entries: tuple[Erratum, ...], place: str, heading: str) -> None:
    one = replace(entries[0], place=place, sentence="a sign")
    assert one.heading == heading
    assert one.title == f"{heading}: a sign"


def test_the_markdown_tells_which_quotations_are_not_what_is_judged():
    card = load_card("fsba")
    row = QuotedRow("fsba", "lemma-1", "bound", "same tree", "a", "a")
    rows = [
        row,
        replace(row, part="rate", outcome="differs", reason="the factor 2 is missing"),
        replace(row, part="start", outcome="not in the print"),
    ]
    text = errata_markdown(card, (), "Nothing", rows)
    assert "1 same tree, 1 differs, 1 not in the print." in text
    assert "- differs: lemma-1 rate (the factor 2 is missing)\n- not in the print: lemma-1 start\n" in text
    assert "bound" not in text
    assert "Quotations" not in errata_markdown(card, (), "Nothing")


def test_a_formula_at_the_beginning_of_a_sentence_keeps_its_letter() -> None:
    assert capital("theta_i < 1 is strict") == "theta_i < 1 is strict"
    assert capital("nu_j is printed") == "nu_j is printed"
    assert capital("line 3 sets k = 0") == "Line 3 sets k = 0"


def test_a_title_is_cut_before_a_remark_that_it_would_leave_open() -> None:
    start = "the term outweighs the decrease of every epoch that ends by a restart of its own"
    assert _short(f"{start} (theta < 1 is taken from Algorithm 3; {'and so on ' * 20})") == start
    assert _short(f"{start}; {'and so on ' * 20}") == start
    assert _short("short (a; b)") == "short (a; b)"
    long = f"the error is the exact minus the inexact gradient{' of the lower level' * 3}: {'and so on ' * 20}"
    assert _short(long) == long.partition(": ")[0]


def test_an_algorithm_that_stops_has_a_script_that_stops_at_its_line(tmp_path: Path) -> None:
    for key, name, line in (("ragd-gs", "algorithm-1-literal", "# 15"), ("fsba", "algorithm-2", "# 11")):
        found = [f for f in audit(load_card(key), statement=name, quick=True) if f.row.kind == "executability"]
        (script,) = [f.script for f in found if f.script]
        (tmp_path / "run.py").write_text(script, encoding="utf-8")
        done = subprocess.run(
            [sys.executable, "-I", str(tmp_path / "run.py")], check=False, capture_output=True, text=True
        )
        assert done.returncode == 0
        assert line in done.stdout

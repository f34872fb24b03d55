"""Drafted cards: they load, are judged at once, and never refute what the text may still save."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from bilevel_verify.audit import audit
from bilevel_verify.drafting import Answers, draft, writing
from bilevel_verify.drafting.answers import answers_of
from bilevel_verify.errors import InputError
from bilevel_verify.theorems.library import load_card
from bilevel_verify.theorems.reading.toml_text import table

DRAFTS = Path(__file__).resolve().parents[2] / "docs" / "drafts"


def rows(tmp_path: Path, text: str, answers: Answers | None = None, name: str = "paper.tex") -> dict[str, str]:
    """Relation -> verdict (and ``+`` and the verdict with letters taken positive) of the links of a paper."""
    path = tmp_path / name
    path.write_text(text, encoding="utf-8")
    card = tmp_path / "card.toml"
    card.write_text(draft(path, answers).text(), encoding="utf-8")
    found: dict[str, str] = {}
    for finding in audit(load_card(card), quick=True):
        row = finding.row
        if row.kind in ("inequality", "step-algebra", "derivation"):
            relation = f"{row.left} {row.details['op']} {row.right}"
            found[relation] = f"{found[relation]}+{row.verdict}" if relation in found else row.verdict
    return found


def lemma(hypotheses: str, display: str) -> str:
    return f"\\begin{{lemma}} {hypotheses} Then \\[ {display} \\] \\end{{lemma}}"


@pytest.mark.parametrize(
    ("hypotheses", "display", "wanted"),
    [
        ("", r"a + b \le b + a", {"a + b <= b + a": "holds"}),
        ("", r"2\sqrt{ab}\le a+b", {"2*sqrt(a*b) <= a + b": "undecided+holds"}),
        ("Let $a>0$.", r"a \le 2a", {"a <= 2*a": "holds"}),
        ("", r"a \le 2a", {"a <= 2*a": "undecided+holds"}),
        ("", r"a \ge 2a", {"a >= 2*a": "undecided"}),  # no range is printed: false for a > 0, and not refuted
        ("Let $a>0$.", r"a \ge 2a", {"a >= 2*a": "refuted"}),  # false at every point of the printed range
        ("Let $a\\ge0$.", r"a \ge 2a", {"a >= 2*a": "undecided"}),  # true at a = 0
        ("Let $a>0$.", r"a \ge a^2", {"a >= a**2": "undecided"}),  # true where a <= 1: the text may say so in words
        ("", r"a^2 \ge a^2 + 1", {"a**2 >= a**2 + 1": "undecided"}),
        ("", r"\frac12 \le \frac13", {"1/2 <= 1/3": "refuted"}),
        (
            "Let $L>0$ and let $\\eta=\\frac1L$.",
            r"-\eta+\frac{L\eta^2}{2}\le-\eta",
            {"-eta + L*eta**2/2 <= -eta": "refuted"},
        ),
        ("", r"k^2 \le k^3/2, \quad \text{for all } k\ge 1", {"k**2 <= k**3/2": "refuted"}),
        ("", r"k \le k^2, \quad \forall k\ge 1", {"k <= k**2": "holds"}),
    ],
)
def test_a_letter_without_a_printed_range_carries_no_refutation(
    tmp_path: Path, hypotheses: str, display: str, wanted: dict[str, str]
) -> None:
    assert rows(tmp_path, lemma(hypotheses, display)) == wanted


@pytest.mark.parametrize("operator", [r"\mathbb{E}", r"\mathbb{E}_t", "E", r"\mathbb{P}"])
def test_an_expectation_is_no_factor(tmp_path: Path, operator: str) -> None:
    """``E[X^2] = E[X] X`` is no identity: an expectation is a number of its own, of which nothing is known."""
    text = lemma("Let $X>0$.", rf"{operator}[X^2]={operator}[X]X, \quad {operator}[X+1]={operator}[X]+1, \quad X\le 2X")
    found = rows(tmp_path, text)
    assert found.pop("X <= 2*X", "holds") == "holds"
    assert set(found.values()) <= {"undecided"}


def test_the_authors_range_counts_as_printed(tmp_path: Path) -> None:
    text = lemma("", r"a \ge 2a")
    assert rows(tmp_path, text) == {"a >= 2*a": "undecided"}
    assert rows(tmp_path, text, answers_of({"ranges": {"a": "(0, oo)"}}, "answers")) == {"a >= 2*a": "refuted"}


def test_taking_the_mark_away_lets_a_point_refute(tmp_path: Path) -> None:
    path = tmp_path / "paper.tex"
    path.write_text(lemma("Let $a>0$.", r"a \ge a^2"), encoding="utf-8")
    text = draft(path).text()
    verdicts = []
    for number, body in enumerate((text, text.replace("drafted = true\n", "drafted = false\n"))):
        card = tmp_path / f"card{number}.toml"
        card.write_text(body, encoding="utf-8")
        verdicts.append([f.verdict for f in audit(load_card(card), quick=True) if f.row.kind == "inequality"])
    assert verdicts[0] == ["undecided"]
    assert verdicts[1][0] == "refuted"


def test_values_of_functions_and_vectors_hold_only_for_all_and_never_refute(tmp_path: Path) -> None:
    text = (
        r"\begin{proof} We have \begin{align} \|u+v\|^2 &= \|u\|^2+2\langle u,v\rangle+\|v\|^2, \\"
        r"\|u+v\|^2 &\le \|u\|^2+\|v\|^2, \\ f(u)-f(v)+f(v) &= f(u), \\ f(u) &\le f(u)+\|v\|, \\ f(u)+1 &\le f(u) ."
        r"\end{align} with the gradient $\nabla f(u)$ \end{proof}"
    )
    found = list(rows(tmp_path, text).values())
    assert found == ["holds", "undecided", "holds", "holds", "undecided"]


def test_hypotheses_of_a_case_are_not_in_force(tmp_path: Path) -> None:
    text = lemma("Let $a>0$. If $a<1$ then the first case holds; if $a\\ge1$ the second.", r"a^2 \ge a")
    assert rows(tmp_path, text) == {"a**2 >= a": "undecided"}


def test_marginal_notes_are_rows_that_make_nothing_hold(tmp_path: Path) -> None:
    path = tmp_path / "paper.tex"
    path.write_text(
        r"\begin{proof} We have \[ \sum_{i=1}^n\sum_{i=1}^m a_i \le 1 . \] and \[ \sum_{j=1}^n b_j \le \gamma \] "
        r"with $\zeta>0$. \end{proof}", encoding="utf-8",
    )  # fmt: skip
    card = tmp_path / "card.toml"
    card.write_text(draft(path).text(), encoding="utf-8")
    notes = [f for f in audit(load_card(card), quick=True) if f.row.kind == "bookkeeping"]
    told = " | ".join(f.row.reason or "" for f in notes)
    assert "the index i is bound twice" in told
    assert r"$\gamma$ is used and introduced nowhere" in told
    assert r"$\zeta$ is introduced and never used" in told
    assert {f.verdict for f in notes} == {"undecided"}


def test_units_of_the_author_are_checked_where_all_letters_have_one(tmp_path: Path) -> None:
    path = tmp_path / "paper.tex"
    path.write_text(lemma("Let $L>0$, $\\eta>0$ and $c>0$.", r"\eta \le L, \quad c \le L"), encoding="utf-8")
    answers = answers_of({"base": {"F": "values", "X": "length"}, "units": {"L": "F/X**2", "eta": "X**2/F"}}, "answers")
    card = tmp_path / "card.toml"
    card.write_text(draft(path, answers).text(), encoding="utf-8")
    units = [f for f in audit(load_card(card), quick=True) if f.row.judges == "units"]
    assert [f.verdict for f in units] == ["refuted"]


def test_the_short_form_of_a_draft_is_the_card_that_the_long_form_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("gradient-descent", "polyak-lojasiewicz"):
        drafted = draft(DRAFTS / f"{name}.tex")
        path = tmp_path / f"{name}.toml"
        texts = [drafted.text()]
        with monkeypatch.context() as patch:
            patch.setattr(writing, "entry_text", lambda kind, fields, every: table(f"[[{kind}]]", fields))
            patch.setattr(writing, "_said_by_print", lambda card: frozenset())
            texts.append(drafted.text())
        cards = []
        for text in texts:
            path.write_text(text, encoding="utf-8")
            cards.append(load_card(path))
        short, full = cards
        assert texts[0].count("\n") < 0.75 * texts[1].count("\n")
        assert list(short.entries) == list(full.entries)
        assert (short.letters, short.draft) == (full.letters, full.draft)
        for one, other in zip(short.entries.values(), full.entries.values(), strict=True):
            assert repr_without_columns(one) == repr_without_columns(other)


def repr_without_columns(entry: object) -> str:
    return re.sub(r"column=\d+|text='[^']*'", "", repr(entry))


@pytest.mark.parametrize(
    ("name", "refuted", "holds"),
    [("gradient-descent", ["lemma-1-proof-eq-4", "theorem-2-proof-eq-7"], 6), ("polyak-lojasiewicz", [], 7)],
)
def test_the_examples_of_the_documentation_are_what_a_draft_makes(name: str, refuted: list[str], holds: int) -> None:
    text = draft(DRAFTS / f"{name}.tex").text()
    assert text == (DRAFTS / f"{name}.draft.toml").read_text(encoding="utf-8")
    found = [f for f in audit(load_card(DRAFTS / f"{name}.draft.toml"), quick=True) if f.row.judges == "relation"]
    assert [f.row.statement for f in found if f.verdict == "refuted"] == refuted
    assert sum(f.verdict == "holds" for f in found) == holds


@pytest.mark.parametrize(
    ("table", "text"),
    [
        ({"ranges": {"a": "positive"}}, "range of a"),
        ({"kinds": {"a": "thing"}}, "not one of number"),
        ({"units": {"a": "F"}}, "base"),
        ({"rages": {}}, "did you mean 'ranges'"),
        ({"ranges": {"a": 3}}, "a string is expected"),
    ],
)
def test_answers_that_are_none_are_one_line(table: dict[str, dict[str, str]], text: str) -> None:
    with pytest.raises(InputError, match=text):
        answers_of(table, "answers.toml")


def test_an_answer_about_a_kind_is_kept_and_used(tmp_path: Path) -> None:
    path = tmp_path / "paper.tex"
    path.write_text(r"\begin{proof} We have \[ AB = BA . \] \end{proof}", encoding="utf-8")
    asked = draft(path)
    assert asked.composer.links == 0  # two letters of which nobody knows whether they are matrices
    assert {q.about for q in asked.questions if q.sort == "kind"} == set() or asked.counts.left == {"doubt": 1}
    said = draft(path, answers_of({"kinds": {"A": "number", "B": "number"}}, "answers"))
    assert said.composer.links == 1
    assert "[draft.answers.kinds]" in said.text()


def test_a_step_whose_constant_part_is_negative_is_no_error() -> None:
    from bilevel_verify.audit.entries.steps import decide_step
    from bilevel_verify.audit.scalar.claim import POSITIVE, ScalarClaim
    from bilevel_verify.language import parse

    left, right = parse("norm(v)**2 + a"), parse("norm(v)**2")
    found = decide_step(ScalarClaim(left, "<=", right, {"a": POSITIVE}), ("v",))
    assert found.outcome == "refuted"
    assert "all vectors are 0" in found.certificate

"""A letter that a number is compared with is a number, whatever else it looked like."""

from __future__ import annotations

from pathlib import Path

import pytest

from bilevel_verify.audit import audit
from bilevel_verify.drafting import draft
from bilevel_verify.drafting.answers import answers_of
from bilevel_verify.theorems.library import load_card

MATRIX = r"Let $A$ be a matrix and $A\succeq 0$. "
SET = r"Let $C$ be a set and $x\in C$. "


def kinds(tmp_path: Path, words: str, display: str, answers: dict[str, object] | None = None) -> dict[str, str]:
    path = tmp_path / "paper.tex"
    path.write_text(f"{words}\\begin{{lemma}} We have \\[ {display} \\] \\end{{lemma}}", encoding="utf-8")
    found = draft(path, answers_of(answers or {}, "answers"))
    return {entry.display: entry.kind for entry in found.notation.entries if entry.role == "letter"}


@pytest.mark.parametrize(
    ("words", "display", "letter", "kind"),
    [
        (MATRIX, r"\|u\|\le A", "A", "scalar"),
        (MATRIX, r"A+b\ge 2\|u\|^2+c", "A", "scalar"),
        (MATRIX, r"|b|<\frac{b A^2}{2}", "A", "scalar"),
        (SET, r"\|u\|\le C", "C", "scalar"),
        (r"Let $r\in\mathbb{R}^d$ and $\|r\|\le 1$. ", r"\|u\|\le r+b", "r", "scalar"),
        (r"Let $r\in\mathbb{R}^d$ and $\|r\|\le 1$. ", r"\|u\|\le\|r\|", "r", "vector"),
        (MATRIX, r"b\le A", "A", "matrix"),  # a paper may write \le between matrices
        (MATRIX, r"\|u\|=A", "A", "matrix"),  # no inequality
        (MATRIX, r"\|u\|\preceq A", "A", "matrix"),
        (MATRIX, r"\|u\|\le\|A\|", "A", "matrix"),
        (MATRIX, r"0\le A", "A", "matrix"),
        (MATRIX, r"\frac{b}{\|u\|}I\le A", "A", "matrix"),
    ],
)
def test_a_letter_that_is_compared_with_a_norm_is_a_number(
    tmp_path: Path, words: str, display: str, letter: str, kind: str
) -> None:
    assert kinds(tmp_path, words, display)[letter] == kind


def test_the_answer_of_the_author_wins(tmp_path: Path) -> None:
    assert kinds(tmp_path, MATRIX, r"\|u\|\le A", {"kinds": {"A": "matrix"}})["A"] == "matrix"


@pytest.mark.parametrize(
    ("display", "verdict"),
    [
        ("A+2B=2(B+A)-A", "holds"),
        (r"\nabla^2 f(x)+A=A+\nabla^2 f(x)", "holds"),
        ("AB+A=A+AB", "holds"),
        ("A-A=0", "holds"),
        ("AB+A=A+BA", "undecided"),  # matrices do not commute
        ("A-B=A", "undecided"),
    ],
)
def test_an_identity_between_matrices_is_one_of_linear_algebra(tmp_path: Path, display: str, verdict: str) -> None:
    words = MATRIX + r"Let $B$ be a matrix and $B\succeq 0$, and let $f(x)\ge0$. "
    path = tmp_path / "paper.tex"
    path.write_text(f"{words}\\begin{{lemma}} We have \\[ {display} \\] \\end{{lemma}}", encoding="utf-8")
    found = draft(path)
    assert [made.table for made in found.composer.made] == ["step"]
    card = tmp_path / "card.toml"
    card.write_text(found.text(), encoding="utf-8")
    assert [f.verdict for f in audit(load_card(card), quick=True) if f.row.kind == "step-algebra"] == [verdict]


def test_kinds_are_not_mixed(tmp_path: Path) -> None:
    path = tmp_path / "paper.tex"
    path.write_text(MATRIX + r"\begin{lemma} We have \[ A+A = 1 \] \end{lemma}", encoding="utf-8")
    found = draft(path)
    assert [one.why for one in found.composer.left] == ["kind"]

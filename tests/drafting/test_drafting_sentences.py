"""Ranges that a sentence gives, hypotheses after "fix" and "as soon as", Euler's number, papers without links."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import bilevel_verify as bv
from bilevel_verify.drafting.drafted import Counts

FRAME = r"""\newtheorem{lemma}{Lemma}
\begin{lemma} %s \end{lemma}
\begin{proof} %s \end{proof}
"""


def links(tmp_path: Path, statement: str, proof: str) -> list[dict[str, Any]]:
    """The fields of the entries of a small paper."""
    paper = tmp_path / "paper.tex"
    paper.write_text(FRAME % (statement, proof))
    return [made.fields for made in bv.draft(paper).composer.made]


@pytest.mark.parametrize(
    ("sentence", "expected"),
    [
        (r"For every integer $n\ge1$ we have $2n-1\le n^2$.", {"n": "integers 1.."}),
        (r"We have $1-t\le 2$ for all $t\ge0$.", {"t": "[0, oo)"}),
        (r"For $t\in[0,1]$ it holds that $t^2\le t+1$.", {"t": "[0, 1]"}),
        (r"We have $1-t\le2$, and for all $t\ge0$ also $t+1\ge-t$.", None),  # the first one is not quantified
        (r"For all $t\ge0$ the first. We have $1-t\le2$.", None),  # another sentence
        (r"We have $1-t\le2$ for $t\ge0$ and some other.", None),
    ],
)
def test_a_sentence_quantifies_what_follows_and_what_it_stands_behind(
    tmp_path: Path, sentence: str, expected: dict[str, str] | None
) -> None:
    first = links(tmp_path, "Something.", sentence)[0]
    assert first.get("for") == expected
    assert expected is None or set(first["for_from"].values()) == {"its own sentence"}


def test_a_range_of_one_sentence_is_not_that_of_the_next(tmp_path: Path) -> None:
    """Neither as a range nor as a hypothesis; "For t = 0" is no range at all."""
    ranges = r"For $t\in[0,1]$ we have $t^2\le t$. For $t\ge1$ we have $t\le t^2$. "
    text = ranges + r"We have $t-1\le t$. For $t=0$ we have $t\le s$."
    first, second, third, fourth = links(tmp_path, text, "Clear.")
    assert (first["for"], second["for"]) == ({"t": "[0, 1]"}, {"t": "[1, oo)"})
    assert not any("where" in entry for entry in (first, second, third, fourth))
    assert "for" not in third
    assert "for" not in fourth


def test_fixed_letters_have_the_ranges_that_are_printed(tmp_path: Path) -> None:
    [entry] = links(tmp_path, r"Fix $\theta\in(0,1)$ and $a,b\ge0$.", r"We get $\theta ab\le a^2+b^2$.")
    assert entry["for"] == {"theta": "(0, 1)", "a": "[0, oo)", "b": "[0, oo)"}
    assert not [note.text for note in bv.draft(tmp_path / "paper.tex").notes]


def test_what_stands_behind_as_soon_as_is_no_promise(tmp_path: Path) -> None:
    found = links(tmp_path, r"Let $a>0$. Then $\frac{1}{n}\le a$ as soon as \[ n\ge\frac{1}{a}+1. \]", "Clear.")
    assert [entry["chain"] for entry in found] == [["1/n", "<= a"]]


@pytest.mark.parametrize(
    ("formula", "euler"),
    [
        (r"$e^{-\alpha}\le e^{\alpha}+1$", True),
        (r"$e^{-k}\le1$", True),
        (r"$e^{k}\le e^{-s}+1$", False),  # k may be an index of a sequence of errors
        (r"$e^{2}\le e^{-s}+1$", False),  # a square of an error
        (r"$e^{-s}\le e+1$", False),
        (r"$e^{s}\le 1$", False),
    ],
)
def test_e_is_eulers_number_where_it_cannot_be_a_letter(tmp_path: Path, formula: str, euler: bool) -> None:
    paper = tmp_path / "paper.tex"
    paper.write_text(FRAME % ("Something.", f"We have {formula}."))
    made = bv.draft(paper)
    assert any("exp(" in part for one in made.composer.made for part in one.fields["chain"]) is euler
    assert any(question.about == "e" for question in made.questions) != euler


def test_counts_say_why_nothing_is_judged() -> None:
    text = str(Counts(5, 0, 3, 0, 0, {}, 0))
    assert text.endswith("nothing to judge: a link stands in a statement, in a proof or in a display of the text")
    assert str(Counts(5, 0, 3, 2, 1, {"doubt": 1}, 0)).endswith("1 can be judged (50 %); not judged: doubt (1)")


SETUP = r"""\newtheorem{theorem}{Theorem}
\section{Setup}
%s
\begin{theorem} For every $k\ge1$ we have
\[ (1-\mu\eta)^k\le1-\frac{\mu}{4L}. \]
\end{theorem}
"""


@pytest.mark.parametrize(
    ("setup", "define", "where"),
    [
        (r"We run gradient descent with $\eta=1/(2L)$, where $0<\mu\le L$.", "1/(2*L)", True),
        (r"Let $0<\mu\le L$.", None, True),
        (r"Let $\mu>0$ and $L>0$. Compare with $\eta=1/(2L)$.", None, False),  # a comparison is no choice
        (r"We run it with $\eta=1/(2L)$ and $0<\mu\le L$. We run it with $\eta=1/L$.", None, True),  # two choices
        (r"If $0<\mu\le L$ then all is well; else $L>0$.", None, False),  # a case
    ],
)
def test_a_set_up_defines_what_runs_and_orders_what_it_gives_a_range(
    tmp_path: Path, setup: str, define: str | None, where: bool
) -> None:
    paper = tmp_path / "paper.tex"
    paper.write_text(SETUP % setup)
    [made] = [one for one in bv.draft(paper).composer.made if "chain" in one.fields]
    assert made.fields.get("define", {}).get("eta") == define
    assert ("mu <= L" in made.fields.get("where", [])) == where


def test_the_dimension_of_a_space_is_no_letter_that_nobody_uses(tmp_path: Path) -> None:
    paper = tmp_path / "paper.tex"
    paper.write_text(SETUP % r"Let $x\in\mathbb{R}^d$, $0<\mu\le L$, and let $q>0$.")
    said = " ".join(note.text for note in bv.draft(paper).notes)
    assert "$q$ is introduced and never used" in said
    assert "$d$" not in said


@pytest.mark.parametrize(
    ("proof", "printed"),
    [
        (r"Since $2t\le2$, we have $t^2\le t$.", [r"2t\le2", r"t^2\le t"]),
        (r"We have $t^2\le t$ because $2t\le2$.", [r"t^2\le t", r"2t\le2"]),
        (r"By $2t\le2$ we have $t^2\le t$.", [r"t^2\le t"]),
        (r"Thus $t^2\le t$, while $t^3\le t$.", [r"t^2\le t", r"t^3\le t"]),
        (r"While $2t\le2$, we have $t^2\le t$.", [r"t^2\le t"]),
    ],
)
def test_what_a_proof_rests_on_and_what_it_sets_beside_are_steps(
    tmp_path: Path, proof: str, printed: list[str]
) -> None:
    found = links(tmp_path, r"Fix $t\in[0,1]$.", proof)
    texts = [[entry["printed"]] if isinstance(entry["printed"], str) else entry["printed"] for entry in found]
    assert [text for one in texts for text in one] == printed
    assert not any("t**3" in str(entry.get("where")) for entry in found)  # set beside, it is no hypothesis


def test_a_reason_in_a_statement_is_no_promise_of_it(tmp_path: Path) -> None:
    assert len(links(tmp_path, r"Fix $t\in[0,1]$. Since $t\le1$, we have $t^2\le t$.", "Clear.")) == 1

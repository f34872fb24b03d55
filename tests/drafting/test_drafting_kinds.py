"""What a draft takes symbols for: matrices by their value, maps before points, words that are no names."""

from __future__ import annotations

from pathlib import Path

import pytest

from bilevel_verify.drafting.draft import draft
from bilevel_verify.language import to_text
from bilevel_verify.proofreading.source import paper_of_draft

MATRICES = {
    r"B=A^\top A+cI": "matrix",
    r"B=I-\eta A": "matrix",
    r"B=\frac1c(I+cA)^{-1}": "matrix",
    r"B=\frac1n\sum_{i=1}^na_ia_i^\top": "matrix",
    r"B=I_n-A": "matrix",
    r"B=A^\top u": "scalar",
    r"B=\frac1c(1+c)^{-1}": "scalar",
}


def kinds(text: str, folder: Path) -> dict[tuple[str, str], str]:
    path = folder / "paper.md"
    path.write_text(text, encoding="utf-8")
    return {(e.display, e.role): e.kind for e in draft(path).notation.entries}


def formulas(text: str, folder: Path) -> list[str]:
    path = folder / "paper.md"
    path.write_text(text, encoding="utf-8")
    return [to_text(node) for sentence in paper_of_draft(draft(path)).sentences for node in sentence.nodes()]


@pytest.mark.parametrize("value", MATRICES)
def test_what_is_equal_to_a_sum_with_a_matrix_is_one(value: str, tmp_path: Path) -> None:
    assert kinds(f"Let $c>0$ and ${value}$, and consider $B$.\n", tmp_path)["B", "letter"] == MATRICES[value]


def test_a_map_stands_before_its_point(tmp_path: Path) -> None:
    text = r"Let $T:H\to H$ and $\|Tx-Ty\|\le\|x-y\|$, and let $S,P:H\to H$ with $Sx+Px=0$."
    found = formulas(text, tmp_path)
    assert "norm(T_v(x) - T_v(y))" in found
    assert "S(x) + P(x)" in found


def test_a_linear_map_is_a_matrix(tmp_path: Path) -> None:
    text = r"Let the linear map $T:H\to H$ satisfy $\|Tx-Ty\|\le\|x-y\|$."
    assert ("T", "function") not in kinds(text, tmp_path)


@pytest.mark.parametrize(("why", "left"), [("by convexity", 4), ("since $a>0$", 4), ("under the condition above", 0)])
def test_words_at_the_end_of_a_line_say_why(why: str, left: int, tmp_path: Path) -> None:
    display = rf"\begin{{align}} (a+b)^2&\le2a^2+2b^2&&\text{{{why}}},\\ 2ab&\le a^2+b^2&&\text{{{why}}}. \end{{align}}"
    found = formulas(f"Let $a,b>0$. Then\n\n$$ {display} $$\n", tmp_path)
    assert sum("**2" in formula or "2*a*b" in formula for formula in found) == left


def test_a_subroutine_is_one_name(tmp_path: Path) -> None:
    text = r"We set $y=\textsc{LowerStep}(x,K)$ and $\|x\|\le1$."
    assert any("LowerStep" in formula for formula in formulas(text, tmp_path))

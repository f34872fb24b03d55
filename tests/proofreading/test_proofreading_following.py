"""Steps derived from what they cite: wrong citations, bounds that say too much, hypotheses, branches, expectations."""

from __future__ import annotations

from pathlib import Path

import pytest
from incremental import told_of
from proofreading_mutants import LATER, papers

from bilevel_verify.drafting.draft import draft
from bilevel_verify.language import to_text
from bilevel_verify.latex import Notation, read_latex
from bilevel_verify.proofreading import proofread_draft
from bilevel_verify.proofreading.following.asking import follows
from bilevel_verify.proofreading.following.expected import spread
from bilevel_verify.proofreading.following.premises import premise_of, relations_in
from bilevel_verify.proofreading.instances.scenes import scenes
from bilevel_verify.proofreading.source import paper_of_draft

SLIPS = {
    "a citation of which no step makes use": (
        "proximal-gradient.tex",
        r"with $x=x_{k+1}$ and \eqref{eq:distance},",
        r"with $x=x_{k+1}$ and \eqref{eq:monotone},",
        "(10) is cited for this, which does not follow with it; with (11) in its place it does",
    ),
    "a bound that says more than its citations": (
        "proximal-gradient.tex",
        r"F(x^+)\le F(u)+\frac1{2\gamma}\|x^+-x\|^2+\frac1\gamma",
        r"F(x^+)\le F(u)+\frac1{4\gamma}\|x^+-x\|^2+\frac1\gamma",
        "does not give this as it is printed",
    ),
    "a radius that is too large": (
        "trust-region.md",
        r"$\delta_k\le\frac{3\epsilon}{8L}$, then iteration",
        r"$\delta_k\le\frac{3\epsilon}{4L}$, then iteration",
        "which its hypotheses do not give",
    ),
    "an amount that stands alone": (
        "trust-region.md",
        r"\frac{256L\Delta}{3\epsilon^2}+\log_2\frac{16L\delta_0}{3\epsilon} \tag{17}",
        r"\frac{128L\Delta}{3\epsilon^2}+\log_2\frac{16L\delta_0}{3\epsilon} \tag{17}",
        "promises more than its proof ends with",
    ),
    "both branches do the same": (
        "trust-region.md",
        r"10. $\delta_{k+1}=\frac12\delta_k$",
        r"10. $\delta_{k+1}=2\delta_k$",
        "both branches of the test",
    ),
    "a sum in a later member": (
        "proximal-gradient.tex",
        r"Summing \eqref{eq:distance} over",
        r"Summing \eqref{eq:monotone} over",
        "is said to be summed",
    ),
}


@pytest.mark.parametrize("case", SLIPS)
def test_a_slip_is_told_and_the_right_paper_is_not(case: str) -> None:
    assert told_of(SLIPS[case], papers(LATER)) == (False, True)


def _derived(tmp_path: Path, file: str, number: str, *cited: str) -> list[tuple[str, ...] | None]:
    path = tmp_path / file
    path.write_text(papers(LATER)[file], encoding="utf-8")
    made = draft(path)
    paper = paper_of_draft(made)
    home = paper.numbered[number]
    scene = next(scene for passage, scene in scenes(paper, made) if home in passage.formulas)
    rules = [rule for n in cited for rule in premise_of(paper, scene, paper.numbered[n], n).rules]
    return [follows(scene, step, [], rules) for step in relations_in(home, paper)]


def test_a_sum_follows_from_what_is_summed_and_from_nothing_less(tmp_path: Path) -> None:
    first = _derived(tmp_path, "nested-ascent.md", "15", "12", "9")[0]
    assert first is not None
    assert {"9", "12"} <= {*first}
    assert _derived(tmp_path, "nested-ascent.md", "15", "12")[0] is None
    assert _derived(tmp_path, "nested-ascent.md", "15", "9")[0] is None


def test_an_expectation_of_a_sum_is_read_and_spread(tmp_path: Path) -> None:
    path = tmp_path / "minibatches.tex"
    path.write_text(papers(LATER)["minibatches.tex"], encoding="utf-8")
    paper = paper_of_draft(draft(path))
    assert not [s for s in paper.unread if "mathbb{E}" in s.latex]
    node = read_latex(r"\mathbb{E}_k[2f(x_k)-L+f(x_0)]", paper.notation).statements[0].members[0]
    assert to_text(spread(node)) == "2*expectation(f(x[k])) - L + f(x[0])"
    assert to_text(node) == "expectation(k, 2*f(x[k]) - L + f(x[0]))"


def test_a_space_e_is_no_expectation(tmp_path: Path) -> None:
    path = tmp_path / "paper.md"
    path.write_text("# P\n\nLet $x\\in\\mathbb{E}$ and $y\\in\\mathbb{E}$ with $\\|x\\|\\le 1$.\n", encoding="utf-8")
    notation: Notation = draft(path).notation
    assert "expectation" not in {e.name for e in notation.entries}


def test_a_new_point_has_a_name_of_its_own(tmp_path: Path) -> None:
    path = tmp_path / "paper.md"
    path.write_text("# P\n\nLet $x,x^+\\in\\mathbb{R}^d$ with $\\|x^+-x\\|\\le 1$.\n", encoding="utf-8")
    assert "x_plus" in {e.name for e in draft(path).notation.entries}


@pytest.mark.parametrize(("factor", "told_there"), [(r"\frac\eta2", False), (r"\eta", True)])
def test_a_factor_of_the_side_that_is_bounded(factor: str, told_there: bool, tmp_path: Path) -> None:
    path = tmp_path / "paper.md"
    path.write_text(SUMMED.replace("FACTOR", factor), encoding="utf-8")
    titles = [g.first.title for g in proofread_draft(draft(path)).groups]
    assert [t.partition(";")[0] for t in titles] == ["(1) does not give this as it is printed"] * told_there


SUMMED = r"""# Descent

Let $L>0$ and $\eta>0$, and $x_{k+1}=x_k-\eta\nabla f(x_k)$ for all $k\ge 0$.

**Lemma 1.** Let $0<\eta\le\frac1L$. Then for all $k\ge 0$
$$
f(x_{k+1})\le f(x_k)-\frac\eta2\|\nabla f(x_k)\|^2. \tag{1}
$$

*Proof.* This is the descent lemma.

**Lemma 2.** Let $0<\eta\le\frac1L$ and $N\ge1$. Then
$$
FACTOR\sum_{k=0}^{N-1}\|\nabla f(x_k)\|^2\le f(x_0)-f(x_N). \tag{2}
$$

*Proof.* Summing (1) over $k=0,\dots,N-1$ gives (2).
"""

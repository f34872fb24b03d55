"""Citations, promises of inductions and numbers of terms: what is told of a slip, and nothing of the right text."""

from __future__ import annotations

from pathlib import Path

import pytest
from incremental import told_of
from proofreading_mutants import papers

from bilevel_verify.drafting.draft import draft
from bilevel_verify.language import to_text, tree
from bilevel_verify.manuscript.comparing import Relation
from bilevel_verify.proofreading import proofread_draft
from bilevel_verify.proofreading.following.expected import falling, iterated
from bilevel_verify.proofreading.following.premises import premise_of
from bilevel_verify.proofreading.instances.scenes import scenes
from bilevel_verify.proofreading.source import paper_of_draft
from bilevel_verify.proofreading.words.worked import worked_joints

FITS = "is cited for this, which does not follow with it; with {} in its place it does"
SLIPS = {
    "the goal is put into itself": (
        "extragradient.tex",
        r"\eqref{eq:monotone} into \eqref{eq:identity}", r"\eqref{eq:monotone} into \eqref{eq:fejer}",
        "(3) is a premise in the proof of Theorem 1, which states it",
    ),
    "the goal is a premise and comes out at the end": (
        "frank-wolfe.md", "With (1),\n", "With (3),\n", "(3) is a premise in the proof of Lemma 2, which states it",
    ),
    "the goal is read as the step": (
        "polyak-step.tex", r"and \eqref{eq:distance} reads", r"and \eqref{eq:mean} reads",
        "(8) is a premise in the proof of Theorem 3, which states it",
    ),
    "a bound that stands behind gives the step": (
        "polyak-step.tex", r"the bound \eqref{eq:smooth} gives", r"the bound \eqref{eq:faster} gives",
        "(9) is used for a step, and it stands behind the step in the same proof",
    ),
    "an induction assumes what it derives": (
        "stochastic-gradient.tex", r"suppose that \eqref{eq:sgd} holds", r"suppose that \eqref{eq:late} holds",
        "the induction assumes (6), and Theorem 1 states (4)",
    ),
    "the display of the sentence is cited for it": (
        "mirror-descent.tex", r"With \eqref{eq:strong} and \eqref{eq:young} this",
        r"With \eqref{eq:strong} and \eqref{eq:chain} this", "(8) is the display that this sentence is about",
    ),
    "a later proof derives the premise from the goal": (
        "stochastic-gradient.tex", r"by \eqref{eq:monotone} and", r"by \eqref{eq:start} and",
        "(5) is used in the proof of Lemma 2, and it is derived from Lemma 2",
    ),
    "a lemma of the other case": (
        "hoelder.tex", r"By Lemma~\ref{lem:bound} with $\eta", r"By Lemma~\ref{lem:small} with $\eta",
        "Lemma 2 supposes the opposite of what Lemma 3 supposes",
    ),
    "a relation of a later statement": (
        "gradient-descent.tex", r"With \eqref{eq:distance},", r"With \eqref{eq:linear},", FITS.format("(5)"),
    ),
    "a citation of which nothing stands in the open steps": (
        "mirror-descent.tex",
        r"and \eqref{eq:step} with $x=x^*$", r"and \eqref{eq:strong} with $x=x^*$", FITS.format("(4)"),
    ),
    "a citation for the step that has its own": (
        "accelerated-gradient.md", "With (1) and convexity", "With (3) and convexity", FITS.format("(1)"),
    ),
    "a value that goes on": (
        "accelerated-gradient.md", "By (4) and $A_0=0$", "By (6) and $A_0=0$", FITS.format("(4)"),
    ),
    "a promise at the next index": (
        "frank-wolfe.md", "\\delta_n\\le\\frac{2\\beta R^2}{n+2}.", "\\delta_n\\le\\frac{\\beta R^2}{n+2}.",
        "Theorem 1 promises more than its proof ends with",
    ),
    "a step of a later proof": (
        "cubic-newton.tex", r"By \eqref{eq:optimal} we have", r"By \eqref{eq:steps} we have",
        "is used here, and is printed only later, in the proof of",
    ),
    "a proof with the name of another statement": (
        "gradient-descent.tex", r"[Proof of Lemma~\ref{lem:distance}]", r"[Proof of Lemma~\ref{lem:descent}]",
        "a proof of Lemma 1 stands behind Lemma 2, which has none; Lemma 1 has two",
    ),
    "a step of one case": (
        "stochastic-gradient.tex", r"&=\frac{4\sigma^2}{\mu^2}\left(", r"&=\frac{8\sigma^2}{\mu^2}\left(",
        "with 4 in the place of 8 it does",
    ),
}  # fmt: skip
STILL_TRUE = {
    "a chain that ends with what was cited": ("frank-wolfe.md", "We add (11) for", "We add (13) for"),
    "the relation with a term moved": ("two-functions.md", r"\nabla f(x)$ in (2).", r"\nabla f(x)$ in (4)."),
}


@pytest.mark.parametrize("case", SLIPS)
def test_a_slip_is_told_and_the_right_paper_is_not(case: str) -> None:
    assert told_of(SLIPS[case], papers()) == (False, True)


@pytest.mark.parametrize("case", STILL_TRUE)
def test_a_citation_that_says_the_same_is_not_told(case: str) -> None:
    assert told_of((*STILL_TRUE[case], ""), papers()) == (False, False)


@pytest.mark.parametrize(
    ("before", "told"),
    [("Let $\\eta$ satisfy", False), ("For all of them the step", False), ("For all steps we have", True)],
)
def test_a_statement_may_suppose_or_name_its_display(tmp_path: Path, before: str, told: bool) -> None:
    path = tmp_path / "paper.md"
    path.write_text(
        "# P\n\nLet $f$ be a function, $L>0$ and $\\eta>0$.\n\n"
        f"**Lemma 1.** {before}\n$$\n\\eta\\le\\frac1L.\n\\tag{{1}}\n$$\nThen the values do not rise.\n\n"
        "*Proof.* Putting the step into (1), we have $L\\eta\\le 1$.\n",
        encoding="utf-8",
    )
    assert told == any("premise" in d.title for d in proofread_draft(draft(path)).defects)


@pytest.mark.parametrize(
    ("number", "factor", "extra", "told"),
    [("1", "2", "", False), ("2", "2", "", True), ("1", "1", "", True), ("1", "1", ", as $a\\ge 1$", False)],
)
def test_a_multiple_of_a_relation(tmp_path: Path, number: str, factor: str, extra: str, told: bool) -> None:
    path = tmp_path / "paper.md"
    path.write_text(
        "# P\n\nLet $a>0$, $b>0$, $c>0$ and $d>0$ with\n$$\na\\le b+d,\n\\tag{1}\n$$\n$$\nc\\le d.\n\\tag{2}\n$$\n"
        f"Multiplying ({number}) by $2$ gives\n$$\n2a\\le {factor}b+{factor}d\n\\tag{{3}}\n$$\n{extra}.\n",
        encoding="utf-8",
    )
    paper = paper_of_draft(draft(path))
    assert told == any(j.verdict == "refuted" for j in worked_joints(paper))


def test_a_gradient_in_a_memory_is_no_step_up(tmp_path: Path) -> None:
    path = tmp_path / "paper.md"
    line = "# P\n\nWe minimise $f$ with steps $x_{k+1}=x_k-p_k$ and $p_k=%s_k+\\gamma\\nabla f(x_k)$ for $k\\ge 0$.\n"
    found = []
    for name in ("m", "x"):
        path.write_text(line % name, encoding="utf-8")
        found.append([d for d in proofread_draft(draft(path)).defects if "along the gradient" in d.title])
    assert not found[0]
    assert found[1]


def test_values_that_go_on() -> None:
    def at(index: tree.Node) -> tree.Node:
        return tree.Index("a", (index,))

    k, one = tree.Letter("k"), tree.Number(1)  # type: ignore[arg-type]
    later = at(tree.Add((k, one)))
    falls, shifts = Relation(later, "<=", at(k)), Relation(later, "<=", at(tree.Add((k, tree.Negate(one)))))
    span = "k", tree.Number(0), tree.Add((tree.Letter("K"), tree.Negate(one)))  # type: ignore[arg-type]
    assert [to_text(r.left) + r.op + to_text(r.right) for r in iterated(falls, "k", tree.Letter("K"))] == ["a[K]<=a[0]"]
    assert len(falling(falls, "k", span)) == 2
    assert not iterated(shifts, "k", tree.Letter("K"))
    assert not falling(Relation(later, ">=", at(k)), "k", span)


def test_the_end_of_a_step_is_a_point(tmp_path: Path) -> None:
    path = tmp_path / "cubic-newton.tex"
    path.write_text(papers()["cubic-newton.tex"], encoding="utf-8")
    made = draft(path)
    paper = paper_of_draft(made)
    home = paper.numbered["1"]
    scene = next(scene for passage, scene in scenes(paper, made) if home in passage.formulas)
    lefts = [to_text(rule.relation.left) for rule in premise_of(paper, scene, home, "(1)").rules]
    assert lefts == ["f(x + s)", "f(point_c)"]

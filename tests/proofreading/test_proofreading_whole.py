"""Whole parts of a paper against each other: each rule tells its slip, and nothing in the right text.

Each rule is asked alone, so that a slip takes no longer than its draft.
"""

from __future__ import annotations

import tomllib
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from kind_mutants import mutants
from proofreading_mutants import LATER, papers
from whole_mutants import OPERATORS

from bilevel_verify.drafting.draft import Draft, draft
from bilevel_verify.proofreading.algorithms.counting import count_defects
from bilevel_verify.proofreading.algorithms.reading import algorithm_defects, algorithms_of
from bilevel_verify.proofreading.counted.contraries import contrary_joints
from bilevel_verify.proofreading.counted.counts import count_joints
from bilevel_verify.proofreading.counted.inductions import induction_joints
from bilevel_verify.proofreading.counted.tables import table_joints
from bilevel_verify.proofreading.joints.distinctions import distinction_joints
from bilevel_verify.proofreading.promises.introduced import introduction_defects
from bilevel_verify.proofreading.promises.loose import loose_joints
from bilevel_verify.proofreading.promises.put_in import put_in_joints
from bilevel_verify.proofreading.promises.special import special_joints
from bilevel_verify.proofreading.promises.supposed import supposed_joints
from bilevel_verify.proofreading.source import Paper, paper_of_draft

Rule = Callable[[Paper, Draft], Iterator[str]]


def _of_paper(joints: Callable[[Paper], Iterator[object]]) -> Rule:
    return lambda paper, _: _titles(joints(paper))


def _of_draft(joints: Callable[[Paper, Draft], Iterator[object]]) -> Rule:
    return lambda paper, source: _titles(joints(paper, source))


def _titles(found: Iterator[object]) -> Iterator[str]:
    for one in found:
        defect = getattr(one, "defect", one)
        if defect is not None:
            yield defect.title


def _calls(paper: Paper, _: Draft) -> Iterator[str]:
    return _titles(count_defects(paper, algorithms_of(paper.listings, paper.notation, paper.given)[0]))


def _lines(paper: Paper, _: Draft) -> Iterator[str]:
    for algorithm in algorithms_of(paper.listings, paper.notation, paper.given)[0]:
        yield from _titles(algorithm_defects(algorithm))


SUPPOSED, LOOSE, SPECIAL = _of_draft(supposed_joints), _of_draft(loose_joints), _of_draft(special_joints)
TABLE, COUNT, CASES, CONTRARY = map(_of_paper, (table_joints, count_joints, distinction_joints, contrary_joints))
INDUCTION, PUT_IN, INTRODUCED = map(_of_paper, (induction_joints, put_in_joints, introduction_defects))
SLIPS: dict[str, tuple[Rule, str, str, str, str]] = {
    "a bound that the proof uses": (
        SUPPOSED, "gradient-descent.tex", r"holds and $0<\eta\le\frac1L$", "holds", "uses 1 - L*eta/2 >= 1/2",
    ),
    "a value that the proof puts in": (
        SUPPOSED, "online.md", r" and $\eta=\frac{D}{G\sqrt T}$. Then", ". Then", "uses eta == D/(G*sqrt(T_v))",
    ),
    "a number of steps that is too small": (
        SUPPOSED, "accelerated-gradient.md", r"\sqrt{8\kappa}", r"\sqrt{4\kappa}", "uses K**2 >= 8*kappa",
    ),
    "a hypothesis of what is cited": (
        SUPPOSED, "proximal-gradient.tex", "holds and $0<\\gamma\\le\\frac1\\beta$. Then", "holds. Then",
        "Lemma 3, which supposes gamma <= 1/beta",
    ),
    "a special case that is cited": (
        SUPPOSED, "hoelder.tex", r"Let $\nu=1$ and $\eta=\frac{1}{4M}$", r"Let $\eta=\frac{1}{4M}$",
        "which supposes nu == 1",
    ),
    "a first entry": (
        SUPPOSED, "trust-region.md", r"hold and $\delta_0\ge\frac{3\epsilon}{16L}$. Then, as", "hold. Then, as",
        "uses delta[0] >= 3*eps/(16*L)",
    ),
    "an amount that a relation does not give": (
        SUPPOSED, "epochs.md", "there are at most $50", "there are at most $25", "nothing that is said gives",
    ),
    "a factor that nothing bounds": (
        SUPPOSED, "nested-ascent.md",
        " and\n$I=\\left\\lceil 2\\kappa\\log\\frac{2\\ell R}{\\epsilon}\\right\\rceil$", "", "bounds I",
    ),
    "a constant that is tied to nothing": (
        LOOSE, "epochs.md", r" and $\|x_k-x^*\|\le R$", "", "bounds by R, of which nothing is said",
    ),
    "a constant of a cited lemma": (
        LOOSE, "nested-ascent.md", ", $\\|u-y^*(x_t)\\|\\le R$ for all $t$ and\n$I", " and\n$I", "bounds by R",
    ),
    "a letter that nothing introduces": (
        INTRODUCED, "conjugate-gradients.tex", r"Let $\kappa=\frac L\mu$. Then", "Then", "speaks of kappa",
    ),
    "two cases of which one is none": (
        CASES, "epochs.md", r"If $\|\nabla f(x_k)\|>\epsilon$, then", "Then", "as two cases, and has none",
    ),
    "a number that no case has": (CONTRARY, "stochastic-gradient.tex", r"For $k\le 2$", "For $k<2$", "leave out k = 2"),
    "a case that is lost": (
        CONTRARY, "stochastic-gradient.tex",
        r"For $k\le 2$ the factor is negative, and the second term alone is at most $\frac{4\sigma^2}{\mu^2(k+1)}$.",
        "", "leave out k = 1",
    ),
    "a lemma turned round": (
        CONTRARY, "trust-region.md", r"$\delta_k\le\frac{3\epsilon}{8L}$", r"$\delta_k<\frac{3\epsilon}{8L}$",
        "Lemma 2 turned round gives",
    ),
    "a name for one side of a test": (
        CONTRARY, "trust-region.md", r"An iteration with $r_k\ge", "An iteration with $r_k>", "the algorithm tests",
    ),
    "an induction without a beginning": (
        INDUCTION, "frank-wolfe.md",
        r"By (3) with $\gamma_0=1$ we have $\delta_1\le\frac{\beta R^2}{2}\le\frac{2\beta R^2}{3}$. ", "",
        "has no beginning",
    ),
    "a step alone": (
        INDUCTION, "conjugate-gradients.tex", "For $t=0$ this is line 1. ", "", "proved for t + 1 alone",
    ),
    "one of two cases": (
        INDUCTION, "trust-region.md", r"If iteration $k$ is successful, then $\delta_{k+1}\ge\delta_k$.", "",
        "in one of two cases",
    ),
    "a letter left out of a cell": (
        TABLE, "two-functions.md", r"(ours) | $\mathcal{O}(\kappa\epsilon^{-1})$",
        r"(ours) | $\mathcal{O}(\epsilon^{-1})$",
        "kappa is left out",
    ),
    "a cell of another column": (
        TABLE, "minibatches.tex", r"(ours) & $\mathcal{O}(L\Delta\epsilon^{-2})$",
        r"(ours) & $\mathcal{O}(L\Delta\sigma^2\epsilon^{-4})$", "the number of something else",
    ),
    "the value of a parameter in a cell": (
        TABLE, "online.md", r"$\frac{D}{GT^{1/2}}$", r"$\frac{G}{DT^{1/2}}$", "none of the values",
    ),
    "a number that the proof does not count": (
        COUNT, "restarts.md", "algorithm makes at most $\\frac{\\Delta\\sqrt{\\rho}}{\\epsilon^{3/2}}$",
        "algorithm makes at most $\\frac{\\Delta\\sqrt{\\rho}}{\\epsilon^{7/4}}$",
        "another number than its proof counts",
    ),
    "an order of another theorem": (
        COUNT, "epochs.md", r"needs $\mathcal{O}(\Delta L\epsilon^{-2})$",
        r"needs $\mathcal{O}(\Delta L\epsilon^{-3})$",
        "another order than Theorem 1",
    ),
    "a bound solved for its steps": (
        COUNT, "extragradient.tex", r"L^2R^2\epsilon^{-2}", r"L^2R^2\epsilon^{-3}", "gives another number of steps",
    ),
    "calls of an operator": (_calls, "extragradient.tex", "evaluates $2J$", "evaluates $J$", "make 2*J"),
    "calls of all gradients": (_calls, "nested-ascent.md", "$T(I+1)$ gradients", "$TI$ gradients", "of these calls"),
    "two counters that are one": (
        _lines, "cubic-newton.tex", "\\State $j=0$\n\\Else", "\\Else", "one of them is never set back",
    ),
    "a value of another point": (
        PUT_IN, "proximal-gradient.tex", r"\eqref{eq:growth} with $x=x_{k+1}$", r"\eqref{eq:growth} with $x=x_k$",
        "is used with x = x[k]",
    ),
    "an entry of a line": (PUT_IN, "frank-wolfe.md", r"with $\gamma_0=1$", r"with $\gamma_0=2$", "has another value"),
    "a value set against itself": (
        SPECIAL, "hoelder.tex", "and for\n$\\nu=\\frac12$", "and for\n$\\nu=1$", "set against itself",
    ),
    "a function that is 0": (SPECIAL, "proximal-gradient.tex", "When $h=0$", "When $f=0$", "is 0 here"),
}  # fmt: skip
EVERY = (
    SUPPOSED, LOOSE, SPECIAL, TABLE, COUNT, CASES, CONTRARY, INDUCTION, PUT_IN, INTRODUCED, _calls, _lines,
)  # fmt: skip


def read(text: str, name: str) -> tuple[Paper, Draft]:
    with TemporaryDirectory() as folder:
        path = Path(folder) / name
        path.write_text(text, encoding="utf-8")
        source = draft(path)
    return paper_of_draft(source), source


@cache
def texts() -> dict[str, str]:
    return {**papers(), **papers(LATER)}


@pytest.mark.parametrize("case", SLIPS)
def test_a_slip_between_whole_parts_is_told(case: str) -> None:
    rule, file, old, new, words = SLIPS[case]
    assert old in texts()[file]
    found = list(rule(*read(texts()[file].replace(old, new, 1), file)))
    assert any(words in title for title in found), found


@pytest.mark.parametrize("file", sorted({*papers(), *papers(LATER)}))
def test_a_right_text_is_told_by_none_of_these_rules(file: str) -> None:
    paper, source = read(texts()[file], file)
    assert [title for rule in EVERY for title in rule(paper, source)] == []


def test_an_order_between_constants_need_not_be_printed() -> None:
    """``mu <= L`` follows from what the two are: a relation that it gives is left alone."""
    text = texts()["gradient-descent.tex"].replace(
        "By the step and convexity,", r"As $\eta=\frac1L$, we have $\eta\mu\le 1$. By the step and convexity,"
    ).replace(r"bounded from below by $f^*$.", r"bounded from below by $f^*$, and $\mu>0$.")  # fmt: skip
    assert list(SUPPOSED(*read(text, "gradient-descent.tex"))) == []


def test_what_stays_true_are_mutants_with_reasons() -> None:
    listed = tomllib.loads((Path(__file__).parent / "stays_true.toml").read_text(encoding="utf-8"))["mutant"]
    drawn = [(o.name, m) for o, m in mutants(texts(), OPERATORS)]
    for one in (entry for entry in listed if entry["operator"] in {o.name for o in OPERATORS}):
        found = [m for name, m in drawn if is_listed(one, m.file, name, m.change)]
        assert one["reason"]
        assert len(found) == 1, one


def is_listed(one: dict[str, str], file: str, operator: str, change: str) -> bool:
    """Whether a mutant is the one of an entry."""
    return (
        (file, operator) == (one["file"], one["operator"])
        and one["change"] in change
        and one.get("within", "") in change
    )

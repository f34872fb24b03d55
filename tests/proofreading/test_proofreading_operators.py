"""Operators of each kind: the rules that they led to, one slip each, and that remembering changes no finding."""

from __future__ import annotations

import pytest
from incremental import REMEMBERED, told, told_of
from kind_mutants import OPERATORS, mutants
from proofreading_mutants import papers
from whole_mutants import OPERATORS as WHOLE

from bilevel_verify.manuscript.proofs.deriving import _DERIVED

SLIPS = {
    "a base that another relation is meant for": (
        "epochs.md", r"Substituting $\eta=\frac1L$ into (6)", r"Substituting $\eta=\frac1L$ into (1)",
        "with (6) it gives what is printed",
    ),
    "a premise that stands behind the step": (
        "epochs.md", "Plugging (12) into (13), we have", "Plugging (14) into (13), we have",
        "it is what the step gives",
    ),
    "a statement in its own proof": (
        "epochs.md", "By Lemma 1, we have $f", "By Lemma 2, we have $f", "in its own proof",
    ),
    "one lemma twice": ("epochs.md", "By Lemma 2 and Lemma 3", "By Lemma 3 and Lemma 3", "named twice"),
    "a special case of another relation": (
        "two-functions.md", r"Setting $\nu=\frac12$ in (13)", r"Setting $\nu=\frac12$ in (11)", "none of the letters",
    ),
    "the same way as something else": (
        "two-functions.md", "In the same way as (7)", "In the same way as (5)", "it is as (7)",
    ),
    "another relation summed": ("epochs.md", "We sum (4) over", "We sum (2) over", "which (4) has"),
    "a step longer than the proof allows": (
        "epochs.md", r"**Lemma 1.** Let $0<\eta\le\frac1L$", r"**Lemma 1.** Let $0<\eta\le\frac4L$",
        "Lemma 1 assumes eta",
    ),
    "a loop that ends far from its accuracy": (
        "accelerated-gradient.md", r"\|\nabla f(x_{t,0})\|>\epsilon", r"\|\nabla f(x_{t,0})\|<\epsilon",
        "is large beside eps",
    ),
    "a restart while the steps are short": (
        "restarts.md", r"\|x_{t,i+1}-x_{t,i}\|^2>B^2$ then", r"\|x_{t,i+1}-x_{t,i}\|^2<B^2$ then",
        "the restart comes if",
    ),
    "a step along the gradient": (
        "accelerated-gradient.md", r"7. $z_{k+1}=z_k-a", r"7. $z_{k+1}=z_k+a", "goes along the gradient",
    ),
    "a constant that may be 0": ("implicit-function.md", r"$\mu>0$", r"$\mu\ge 0$", "takes in mu = 0"),
    "a letter beside vectors": (
        "frank-wolfe.md", r"&=h(u_n)+\gamma_n\langle", r"&=h(u_n)-\gamma_n\langle", "the step does not hold",
    ),
    "an inner product put in": (
        "cubic-newton.tex", r"&=f(x_t)-\frac12\langle s_t", r"&=f(x_t)+\frac12\langle s_t", "the step does not hold",
    ),
    "the index of a value": (
        "cubic-newton.tex", r"&=f(x_t)-\frac12\langle s_t", r"&=f(x_{t+1})-\frac12\langle s_t",
        "with x[t] in the place",
    ),
    "momentum back to the point before": (
        "restarts.md", r"x_{t,k}+(1-\theta)(x_{t,k}-x_{t,k-1})$", r"x_{t,k}-(1-\theta)(x_{t,k}-x_{t,k-1})$", "momentum",
    ),
    "an entry that is read as a letter": (
        "frank-wolfe.md", r"\|s_n-u_n\|^2\\", r"\|s_{n+1}-u_n\|^2\\", "with s[n] in the place of s[n + 1]",
    ),
    "a value that telescopes": (
        "gradient-descent.tex", r"=f(x_0)-f(x_K)\le", r"=f(x_0)+f(x_K)\le", "in the place of f(x[K])",
    ),
    "an inner product that the text gives": (
        "conjugate-gradients.tex", r"=-\|r_t\|^2+\|r_t\|^2=0", r"=-\|r_t\|^2-\|r_t\|^2=0", "the step does not hold",
    ),
    "an operator named T": (
        "proximal-point.tex", r"&=(1-\alpha)\|w_j-z\|^2+\alpha\|T", r"&=(1-\alpha)\|w_j-z\|^2-\alpha\|T",
        "does not hold",
    ),
    "a summand twice": (
        "accelerated-gradient.md", "The sum of (5), (6) and (7)", "The sum of (7), (6) and (7)", "twice in one sum",
    ),
    "a sum of which it is a term": (
        "accelerated-gradient.md", "(6) and (7) is (4)", "(6) and (7) is (6)", "a sum of which it is a term",
    ),
    "what a proof is said to give": (
        "frank-wolfe.md", r"Subtracting $h(\bar{u})$ gives (3)", r"Subtracting $h(\bar{u})$ gives (5)",
        "is said to give (5)",
    ),
    "the statement as its own premise": (
        "accelerated-gradient.md", "*Proof.* By (8) and strong", "*Proof.* By (10) and strong",
        "is a premise in the proof",
    ),
    "an induction on something else": (
        "frank-wolfe.md", "If (5) holds for", "If (7) holds for", "the induction assumes",
    ),
    "a letter that gets a value": (
        "frank-wolfe.md", r"By (3) with $\gamma_0=1$", r"By (5) with $\gamma_0=1$", "which has no gamma",
    ),
    "a relation of another lemma": (
        "gradient-descent.tex", r"from Lemma~\ref{lem:descent} over", r"from Lemma~\ref{lem:distance} over",
        "is said to be of Lemma 2",
    ),
    "a step of itself": (
        "frank-wolfe.md", "the last step uses (2)", "the last step uses (4)", "for a step of (4) itself",
    ),
    "a circle of numbers": (
        "proximal-point.tex", r"By \eqref{eq:identity},", r"By \eqref{eq:mean},", "in a circle",
    ),
    "a step that is another relation": (
        "conjugate-gradients.tex", r"By \eqref{eq:energy} and", r"By \eqref{eq:second} and",
        "in which nothing of it stands",
    ),
    "what gives the theorem": (
        "cubic-newton.tex", r"\eqref{eq:next} gives the theorem", r"\eqref{eq:progress} gives the theorem",
        "has nothing of what it is about",
    ),
    "an amount of another relation": ("epochs.md", "By (16) there are", "By (14) there are", "which it does not have"),
    "a lemma without a case": (
        "epochs.md", "By Lemma 2 and Lemma 3 every", "By Lemma 2 and Lemma 4 every", "as two cases, and has none",
    ),
    "a step away from a minimiser": (
        "frank-wolfe.md", r"u_{n+1}=u_n+\gamma_n(s_n", r"u_{n+1}=u_n-\gamma_n(s_n", "which is a minimiser",
    ),
    "a residual that is not kept": (
        "conjugate-gradients.tex", r"q_{t+1}\gets q_t-\alpha_t r_t", r"q_{t+1}\gets q_t+\alpha_t r_t", "does not keep",
    ),
    "an only step along the gradient": (
        "restarts.md", r"y_{t,k}-\eta\nabla", r"y_{t,k}+\eta\nabla", "goes along the gradient",
    ),
    "a relation that needs a smaller step": (
        "gradient-descent.tex", r"$0<\eta\le\frac1L$", r"$0<\eta\le\frac4L$", "which its hypotheses do not give",
    ),
    "a value that another statement assumes": (
        "epochs.md", r"**Theorem 2.** Let $\eta=\frac1L$. Then", "**Theorem 2.** Then", "and it does not",
    ),
    "an output that nobody assigns": (
        "gradient-descent.tex", r"\Return $x_K$", r"\Return $\hat{v}$", "is put out, and no line assigns it",
    ),
    "what is supposed to hold beside an assumption": (
        "gradient-descent.tex", r"holds and $\eta=\frac1L$. Then for all $K\ge 1$",
        r"holds and $\eta=\frac{4}{L}$. Then for all $K\ge 1$", "its hypothesis eta <= 1/L is not met",
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", SLIPS)
def test_a_slip_is_told_and_the_right_paper_is_not(case: str) -> None:
    assert told_of(SLIPS[case], papers()) == (False, True)


def test_a_mean_over_another_number_of_terms() -> None:
    text = papers()["restarts.md"].replace(
        r"14. Output: $x_{t,k}$", "14. $\\hat{y}=\\frac{1}{K}\\sum_{i=0}^{K}y_{t,i}$\n15. Output: $\\hat{y}$"
    )
    assert any("the mean divides by K" in title for _, title, _ in told(text, "restarts.md"))
    right = text.replace(r"\sum_{i=0}^{K}y", r"\sum_{i=0}^{K-1}y")
    assert not any("the mean divides" in title for _, title, _ in told(right, "restarts.md"))


def test_operators_between_whole_parts_damage() -> None:
    texts = papers()
    found = list(mutants(operators=WHOLE))
    assert {operator.name for operator, _ in found} == {o.name for o in WHOLE}
    assert all(mutant.text != texts[mutant.file] for _, mutant in found)


def test_operators_damage_and_are_of_every_item() -> None:
    texts = papers()
    found = list(mutants())
    assert {operator.item for operator, _ in found} == {1, 2, 3, 4, 5, 6}
    assert {operator.name for operator, _ in found} >= {o.name for o in OPERATORS if o.name != "a mark in a step"}
    assert all(mutant.text != texts[mutant.file] for _, mutant in found)


def test_remembering_changes_no_finding() -> None:
    drawn = [m for _, m in mutants() if m.file in ("two-functions.md", "hoelder.tex", "epochs.md")][::9]
    warm = [set(told(m.text, m.file)) for m in drawn]
    cold, before = [], dict(REMEMBERED)
    for mutant in drawn:
        REMEMBERED.clear()
        _DERIVED.clear()
        cold.append(set(told(mutant.text, mutant.file)))
    REMEMBERED.update(before)
    assert warm == cold
    assert any(warm)


def test_a_citation_right_behind_another_one_is_looked_up() -> None:
    """``By Lemma 2 and Lemma 10``: the words behind a number are looked at, and are not used up."""
    text = papers()["epochs.md"]
    damaged = text.replace("By Lemma 2 and Lemma 3 every", "By Lemma 2 and Lemma 10 every")
    assert damaged != text
    assert [title for _, title, _ in told(damaged, "epochs.md")] == ["Lemma 10 is cited, and the paper has no Lemma 10"]

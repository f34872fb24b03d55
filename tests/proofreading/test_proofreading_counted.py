"""What is counted, listed or ranged in words: rules tell their slip, and leave right texts alone that look alike."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from test_proofreading_whole import read

from bilevel_verify.drafting.draft import Draft
from bilevel_verify.proofreading.algorithms.reading import algorithms_of
from bilevel_verify.proofreading.counted.columns import column_joints
from bilevel_verify.proofreading.counted.counts import count_joints
from bilevel_verify.proofreading.counted.enumerated import enumerated_joints
from bilevel_verify.proofreading.counted.lines import line_joints
from bilevel_verify.proofreading.counted.parts import part_joints
from bilevel_verify.proofreading.counted.per_pass import pass_defects
from bilevel_verify.proofreading.counted.ranges import ranged_joints
from bilevel_verify.proofreading.counted.recurrences import recurrence_joints
from bilevel_verify.proofreading.counted.samples import sampled_joints
from bilevel_verify.proofreading.names.closed_forms import closed_form_defects
from bilevel_verify.proofreading.names.ends import end_defects
from bilevel_verify.proofreading.promises.in_place import in_place_joints
from bilevel_verify.proofreading.promises.introduced import introduction_defects
from bilevel_verify.proofreading.promises.put_in import put_in_joints
from bilevel_verify.proofreading.promises.supposed import supposed_joints
from bilevel_verify.proofreading.source import Paper
from bilevel_verify.proofreading.words.cited import item_joints

HERE = Path(__file__).parent
Rule = Callable[[Paper, Draft], Iterator[object]]


def _calls(paper: Paper, _: Draft) -> Iterator[object]:
    yield from pass_defects(paper, algorithms_of(paper.listings, paper.notation, paper.given, paper.below)[0])


def _alone(rule: Callable[[Paper], Iterator[object]]) -> Rule:
    return lambda paper, _: rule(paper)


PARTS, CASES, RANGES, COLUMNS = map(_alone, (part_joints, enumerated_joints, ranged_joints, column_joints))
SAMPLES, PLACES, ENDS, CLOSED = map(_alone, (sampled_joints, item_joints, end_defects, closed_form_defects))
COUNTS, PUT_IN, INTRODUCED = map(_alone, (count_joints, put_in_joints, introduction_defects))
RECURRENCES, LINES, IN_PLACE = map(_alone, (recurrence_joints, line_joints, in_place_joints))


def titles(rule: Rule, text: str, name: str = "text.md") -> list[str]:
    found = [getattr(one, "defect", one) for one in rule(*read(text, name))]
    return [defect.title for defect in found if defect is not None]  # type: ignore[union-attr]


SLIPS: dict[str, tuple[Rule, str, str, str, str]] = {
    "namely": (PARTS, "strangers/02_penalty.md", "and $2T+2$ gradients", "and $2T+1$ gradients", "2*T_v + 2 together"),
    "a colon": (PARTS, "strangers/11_svrg.tex", "costs $n+2m$", "costs $n+m$", "2*m + n together"),
    "in total": (PARTS, "strangers/13_sarah.md", "v_0$ and two for", "v_0$ and one for", "m + n + -1 together"),
    "under a value": (PARTS, "strangers/13_sarah.md", "= 3n-2$. $", "= 3n-1$. $", "3*n + -2 and 3*n + -1"),
    "of a list": (PARTS, "strangers/24_halpern.md", "is, $k+1$ times", "is, $k$ times", "k + 1 together"),
    "of all passes": (PARTS, "strangers/18_zo.tex", "is, $2K$ times", "is, $K$ times", "2*K together"),
    "of the run": (PARTS, "strangers/12_storm.tex", "is $b+2T$.", "is $b+T$.", "iterations use 2*T_v of them"),
    "calls of a pass": (_calls, "strangers/14_eg.tex", "and two projections", "and one projection",
        "calls P_Z 2 times"),
    "values of a pass": (_calls, "strangers/14_eg.tex", "costs two evalu", "costs three evalu", "calls F 2 times"),
    "a case of three": (
        CASES, "strangers/16_afw.tex",
        r"\emph{Case 3: away step with $\gamma_t=\bar\gamma_t<\frac{\langle "
        r"r_t,d_t\rangle}{L\|d_t\|^2}$.} Then \eqref{sm} "
        r"gives", "Moreover, by \\eqref{sm}", "says 3 cases, and has 2",
    ),
    "a named case": (
        CASES, "strangers/10_cd.md", " In case (S), $p_i/L_i = 1/S$.", "", "has no case (S), of which Lemma 2 speaks",
    ),
    "a range in words": (
        RANGES, "strangers/03_gt.tex", "over $k$ from $0$ to $K-1$", "over $k$ from $1$ to $K$", "k = 0, ..., K - 1",
    ),
    "a longer sum": (
        RANGES, "strangers/04_cubic.tex", r"\frac{M}{12}\sum_{k=0}^{K-2} r_k^3", r"\frac{M}{12}\sum_{k=0}^{K-1} r_k^3",
        "the sum is over k = 0, ..., K - 2",
    ),
    "a term of an inner sum": (
        RANGES, "strangers/13_sarah.md", r"(m-1)\sum_{j=0}^{m-1}\mathbb{E}\|v_j\|^2. \tag{6}",
        r"(m-1)\sum_{j=1}^{m-1}\mathbb{E}\|v_j\|^2. \tag{6}", "begins with j = 1",
    ),
    "a sum with roots": (
        CLOSED, "strangers/23_online.tex", r"DG\sum_{m=0}^M2^{m/2}", r"DG\sum_{m=0}^{M-1}2^{m/2}", "is not what it is",
    ),
    "a range behind a formula": (
        ENDS, "strangers/05_agd.tex", r"for $k\ge1$, while $t_0^2-t_0=0$.", r"for $k\ge0$.", "where t[k - 1] is t[-1]",
    ),
    "a row of another number of passes": (COLUMNS, "strangers/01_aid.tex", "$N$ & $KN$", "$N$ & $KT$", "not K*T_v"),
    "the length of a list": (
        PARTS, "strangers/23_online.tex", r"rounds $2^m,\dots,2^{m+1}-1$", r"rounds $2^m,\dots,2^{m+1}$",
        "9 and 8 where",
    ),
    "a recurrence of functions": (
        RECURRENCES, "strangers/06_cheb.tex", r"2s\,T_k(s)-T_{k-1}(s)", r"2s\,T_k(s)+T_{k-1}(s)",
        "do not give T_part(k, sigma)",
    ),
    "two lines": (
        LINES, "strangers/15_md.tex", r"\KL(x,x_{t+1})-\KL(x_{t+1},x_t).", r"\KL(x,x_{t+1})+\KL(x_{t+1},x_t).",
        "and -1 is printed",
    ),
    "another value of a letter": (
        IN_PLACE, "strangers/19_hp.md", r"2\ln(m/\delta)", r"2\ln(1/(m\delta))", "with delta/m in place of delta",
    ),
    "a list that is drawn from": (
        SAMPLES, "strangers/11_svrg.tex", r"uniformly from $\{x_0,\dots,x_{m-1}\}$",
        r"uniformly from $\{x_1,\dots,x_m\}$",
        "is said to be drawn from",
    ),
    "an item": (PLACES, "strangers/18_zo.tex", r"By Lemma \ref{l1}(ii)", r"By Lemma \ref{l1}(i)", "(ii) has grad_f"),
    "an equation between numbers": (
        supposed_joints, "corpus/extragradient.tex", r"\eta=\frac{1}{2L}", r"\eta=\frac{4}{2L}",
        "1 - eta**2*L**2 == 3/4",
    ),
    "steps for an accuracy": (
        supposed_joints, "later/compressed.tex", r" and $K\ge\frac{10L(f(x_0)-f^*)}{\delta\epsilon^2}$", "",
        "<= eps**2",
    ),
    "a sequence that nothing introduces": (
        INTRODUCED, "later/compressed.tex", r" and $\Phi_k:=f(x_k)-f^*+\frac\gamma\delta e_k$", "", "speaks of Phi",
    ),
    "a function that nothing introduces": (INTRODUCED, "later/online.md", ", $h_t=h$ for all $t$", "", "speaks of h,"),
    "values that change places": (
        PUT_IN, "later/proximal-gradient.tex", r"with $u=x^\star$ and $x=x_k$", r"with $u=x_k$ and $x=x^\star$",
        "the one in the place of the other",
    ),
    "values of a function of the text": (
        PUT_IN, "later/nested-ascent.md", "$y=y^*(x)$ and $y'=y^*(x')$", "$y=y^*(x')$ and $y'=y^*(x)$",
        "the one in the place of the other",
    ),
    "an accuracy in words": (
        COUNTS, "later/compressed.tex", r"$\mathcal{O}(L\delta^{-1}\epsilon^{-2})$",
        r"$\mathcal{O}(L\delta^{-1}\epsilon^{-3})$",
        "another number of steps",
    ),
    "the value of a number of steps": (
        COUNTS, "later/minibatches.tex", r"$\mathcal{O}(L\Delta\epsilon^{-2})$ steps.",
        r"$\mathcal{O}(L\Delta\epsilon^{-3})$ steps.",
        "the number of steps that it gives",
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", SLIPS)
def test_a_slip_is_told_and_nothing_in_the_right_text(case: str) -> None:
    rule, file, old, new, words = SLIPS[case]
    text = (HERE / file).read_text(encoding="utf-8")
    assert old in text
    assert titles(rule, text, Path(file).name) == []
    found = titles(rule, text.replace(old, new, 1), Path(file).name)
    assert any(words in title for title in found), found


LOOP = r"""**Algorithm 1** A method

1. Input: $x_0$, $w_{-1}$, $\eta > 0$, $K$.
2. For $k = 0, 1, \dots, K-1$:
   1. $w_k = x_k - \eta F(w_{k-1})$
   2. $x_{k+1} = x_k - \eta F(w_k)$
3. Return $x_K$.

"""
F = r"Let $F:\mathbb{R}^d\to\mathbb{R}^d$ satisfy $\|F(u)-F(v)\|\le L\|u-v\|$ for all $u,v$. "
MEAN = r"""**Lemma 1.** For all $k\ge0$
$$
f(x_{k+1})-f^*\le\|x_k-x^*\|^2-\|x_{k+1}-x^*\|^2. \tag{1}
$$

**Theorem 1.** For all $K\ge1$ we have SAID.

*Proof.* PLACE
"""
RIGHT: dict[str, tuple[Rule, str]] = {
    "a total of all passes": (PARTS, LOOP + "Each iteration computes two products, in total $2K$ products."),
    "a total of other things": (PARTS, LOOP + "The method computes two products, that is, $8d$ operations."),
    "a total that is a bound": (PARTS, LOOP + "It evaluates $F$ twice in each iteration, that is, at most $2K$ times."),
    "parts that are not understood": (PARTS,
        LOOP + "It evaluates $3K$ values (namely two per pass and $K$ at the end)."),
    "a call that is kept": (_calls, LOOP + F + "Each iteration costs one evaluation of $F$."),
    "a call in other words": (_calls, LOOP + F + "Each iteration costs at most three values of $F$."),
    "some of the cases": (
        CASES, MEAN.replace("PLACE", "Case 1: $K=1$. Trivial. Case 2: $K=2$. Easy. Case 3: $K\\ge3$. "
                            "In the other two cases use (1)."),
    ),
    "the other case": (
        CASES, "**Lemma 1.** We have $a\\le 2$ in case (U) and $a\\le 3$ in case (S).\n\n*Proof.* In case (U) $a=1$. "
        "The other case is clear.\n",
    ),
    "a shifted index": (
        RANGES, MEAN.replace("PLACE", r"Summing (1) over $k=0,\dots,K-1$ we have $$\sum_{k=1}^{K}(f(x_k)-f^*)\le"
                             r"\|x_0-x^*\|^2.\tag{2}$$"),
    ),
    "a term that is added": (
        RANGES, MEAN.replace("PLACE", r"Summing (1) over $k=0,\dots,K-1$ and adding $f(x_0)-f^*$ we have "
                             r"$$\sum_{k=0}^{K}(f(x_k)-f^*)\le\|x_0-x^*\|^2+f(x_0)-f^*.\tag{2}$$"),
    ),
    "a longer sum above": (
        RANGES, MEAN.replace("PLACE", r"Summing (1) over $k=0,\dots,K-1$ we have $$\sum_{k=0}^{K-1}(f(x_{k+1})-f^*)\le"
                             r"\sum_{k=0}^{K}\|x_k-x^*\|^2.\tag{2}$$"),
    ),
    "a product that is summed": (
        RANGES,
        "**Theorem 1.** For all $M\\ge1$ we have $R\\le9D2^M$.\n\n*Proof.* We have $$r_m\\le D\\sqrt{2^m}.\\tag{1}$$ "
        "Summing (1) over $m=0,\\dots,M$ gives $$R\\le D\\sum_{m=0}^{M}2^{m/2}.\\tag{2}$$\n",
    ),
    "an entry before the first": (ENDS, r"Let $a_0=1$ and $a_{-1}=0$. Then $a_k=a_{k-1}+1$ for $k\ge0$."),
    "rows with something more": (
        COLUMNS, "| calls | per iteration | in total |\n|---|---|---|\n| $f$ | $1$ | $K$ |\n| $g$ | $2$ | $2K+1$ |\n"
        "| $h$ | $3$ | $3K$ |\n",
    ),
    "another point that is drawn": (
        SAMPLES,
        "**Algorithm 1** A method\n\n1. Input: $x_0$, $K$.\n2. Draw $z$ uniformly from $\\{x_0,\\dots,x_K\\}$.\n"
        "3. Return $z$.\n\nHere $y$ is uniform on $\\{x_1,\\dots,x_K\\}$.\n",
    ),
    "names for one number": (PARTS, r"Let $m=T$. We add up the $m$ rounds $1,\dots,T$."),
    "points of a list": (PARTS, r"Consider the $n+1$ numbers $0,\dots,n$."),
    "another sequence of functions": (
        RECURRENCES, r"Let $U_0(s)=1$, $U_1(s)=2s$ and $U_{k+1}(s)=2sU_k(s)-U_{k-1}(s)$ for $k\ge1$. Let "
        r"$\sigma=\frac12(q+q^{-1})$. Then $U_k(\sigma)=\frac{q^{k+1}-q^{-k-1}}{q-q^{-1}}$ for $k\ge0$.",
    ),
    "lines the other way round": (
        LINES, "**Lemma 1.** We have\n$$\nb-d=a-c. \\tag{1}\n$$\n\n*Proof.* We have\n$$\n\\begin{aligned}\na&=b,\\\\\n"
        "c&=d.\n\\end{aligned}\n$$\nSubtracting the second line from the first gives (1).\n",
    ),
    "less than is given": (
        IN_PLACE,
        "**Theorem 1.** We have for all $m\\ge1$\n$$\nf(x)\\le\\frac{D}{m}. "
        "\\tag{1}\n$$\n\n**Corollary 1.** We have for all "
        "$m\\ge1$\n$$\nf(x)\\le\\frac{D}{m}. \\tag{2}\n$$\n\n*Proof.* Use Theorem 1 with $2m$ in place of $m$.\n",
    ),
    "what is solved for": (
        supposed_joints,
        "**Algorithm 1** A method\n\n1. Input: $x_0$, $\\eta>0$, $L>0$.\n2. $x_1=x_0-\\eta g$\n3. Return "
        "$x_1$.\n\n**Lemma 1.** Let $0<\\eta\\le\\frac1L$. Then $f(x_1)\\le f(x_0)$.\n\n*Proof.* "
        "Solving $1-\\eta L=\\frac12$ "
        "gives the best step.\n",
    ),
    "a sequence that is defined behind": (
        INTRODUCED, "**Lemma 1.** Let $k\\ge0$. Then $$\\Phi_{k+1}\\le\\Phi_k+\\|x_k\\|,\\tag{1}$$ where "
        "$\\Phi_k=f(x_k)-f^*$.\n\n*Proof.* Clear.\n",
    ),
    "a value that is squared": (
        COUNTS,
        "**Theorem 1.** We have $\\|g_K\\|^2\\le\\frac{LR}{K}$ for all $K\\ge1$.\n\n*Proof.* Clear.\n\nBy Theorem 1, "
        "$\\mathcal{O}(LR\\epsilon^{-2})$ steps are enough for an accuracy of $\\epsilon$.\n",
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", RIGHT)
def test_a_right_text_that_looks_alike_is_left_alone(case: str) -> None:
    rule, text = RIGHT[case]
    assert titles(rule, text.replace("SAID", r"$f(x_K)\le f^*+1$")) == []


def test_the_right_texts_are_understood() -> None:
    """What looks alike is no right text of a rule that reads nothing: with one number changed it is told."""
    told = {
        "a call that is kept": ("one evaluation", "three evaluations"),
        "a shifted index": (r"\sum_{k=1}^{K}(", r"\sum_{k=0}^{K}("),
        "some of the cases": ("other two", "four"),
        "a product that is summed": ("_{m=0}^{M}", "_{m=0}^{M-1}"),
        "an entry before the first": ("$a_0=1$ and $a_{-1}=0$", "$a_0=1$"),
        "rows with something more": ("$2$ | $2K+1$", "$2$ | $3K$"),
        "points of a list": ("$0,", "$1,"),
        "another sequence of functions": ("U_1(s)=2s", "U_1(s)=s"),
        "lines the other way round": ("b-d=a-c", "b+d=a-c"),
        "less than is given": (
            r"\\le\\frac{D}{m}. \\tag{2}".replace("\\\\", "\\"),
            r"\\le\\frac{D}{3m}. \\tag{2}".replace("\\\\", "\\"),
        ),
        "what is solved for": ("Solving $", "Since $"),
        "a value that is squared": ("epsilon^{-2}", "epsilon^{-3}"),
        "a sequence that is defined behind": ("where $\\Phi_k=f(x_k)-f^*$", "and so on"),
    }
    for case, (old, new) in told.items():
        rule, text = RIGHT[case]
        text = text.replace("SAID", r"$f(x_K)\le f^*+1$")
        assert old in text, case
        assert titles(rule, text.replace(old, new)), case


def test_a_number_of_steps_may_stand_in_the_promise() -> None:
    (path,) = (HERE / "strangers").glob("*_ragd.tex")
    text = path.read_text(encoding="utf-8")
    assert titles(supposed_joints, text, path.name) == []
    fewer = text.replace(r"$S=\lceil\log_2\frac{f(z_0)-f^\star}\varepsilon\rceil$ epochs", "$S$ epochs")
    assert fewer != text
    assert any("uses 2**-S*" in title for title in titles(supposed_joints, fewer, path.name))

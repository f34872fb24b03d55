"""Right texts with the habits of authors: what a stranger wrote, and what was told of it once; nothing is.

Beside each of the later ones stands a slip that looks like it, and that is told.
"""

from __future__ import annotations

from pathlib import Path

import pytest
from incremental import told, told_of

HABITS = {path.name: path for path in sorted((Path(__file__).parent / "habits").iterdir())}
TEXTS = {name: path.read_text(encoding="utf-8") for name, path in HABITS.items()}
CALLS, ONE_VARIABLE, MADE = "calls-of-components.tex", "calls-in-one-variable.tex", "made-in-words.tex"
NUMBERS, BLOCKS, TWO_STEPS = "numbers-of-things.tex", "components-and-blocks.tex", "gradients-of-two-steps.tex"
SIGN, GIVES, LISTS, SUMMED = "standing-sign.tex", "gives-which-is.tex", "given-in-lists.tex", "summed-up.tex"
CALLED, ONE_KIND = "what-relations-are-called.md", "statements-of-one-kind.md"
HYPOTHESIS, SECOND = "one-hypothesis.tex", "Let ${}$. Then\n\\begin{{equation}}\\label{{two}}"
LEAST, TERM = "minimum-of-a-quadratic.tex", "term-throughout.tex"
SLIPS = [
    (CALLED, "solution of (1)", "solution of (3)", "(3) is called a problem, and is none"),
    (CALLED, "update rule in (3)", "update rule in (1)", "(1) is called an update, and is none"),
    (CALLED, "claim in (7)", "claim in (10)", "(10) is called a claim in the proof of Lemma 1"),
    (CALLED, "uses the stopping condition (4)", "uses the stopping condition (6)", "the stopping condition here"),
    (CALLED, "Phi_k$ in (5)", "Phi_k$ in (4)", "(4) is named as what defines Phi, and has no Phi"),
    (CALLED, "we use (2) in", "we use (3) in", "(3) is cited for a step about L, which it does not have"),
    (CALLED, r"(3) in $\overset{(b)}", r"(2) in $\overset{(b)}", "(2) is cited for a step about eta"),
    (CALLED, "Multiplying (6) by", "Multiplying (8) by", "(8) does not give this with the factors that are named"),
    (CALLED, "Adding (6) and", "Adding (12) and", "(12) is used here, and is printed only later"),
    (CALLED, "From Lemma 3 we", "From Lemma 1 we", "which it does not have; Lemma 3 has"),
    (ONE_KIND, r"x_k-\eta\nabla f(x_k)$", r"x_k+\eta\nabla f(x_k)$", "the step goes along the gradient"),
    (
        HYPOTHESIS,
        SECOND.format(r"0<\eta\le\frac1L"),
        SECOND.format(r"\eta>0"),
        "which Lemma 1 supposes",
    ),
    ("weaker-promise.tex", r"\le2\sigma^2\Bigl(", r"\le\frac12\sigma^2\Bigl(", "is 1 and 1/2 is printed"),
    ("three-cases.tex", r"If $p=\frac12$,", "If $p=1$,", "p may be equal to 1/2"),
    ("contraction.tex", r"\le(1-\beta\mu)a_k", r"\le(1-\beta\mu)^3a_k", "the step does not hold as printed"),
    ("defined-in-a-range.tex", r"1-q^2\ge1-q", r"1-q^2\ge1+q", "uses 1 - q**2 >= 1 + q, which nothing"),
    ("short-names.tex", "=Mr^2 .", "=2Mr^2 .", "with 1 in the place of 2 it does"),
    ("short-names.tex", r"=\frac M2r\|h\|+", r"=\frac M2r\|h\|^2+", "with norm(h) in the place of norm(h)**2"),
    ("at-one-half.tex", r"\le 2\|x^0-z\|", r"\le \|x^0-z\|", "is 2 and 1 is printed"),
    ("at-one-half.tex", r"\alpha=\tfrac12$ gives", r"\alpha=\tfrac32$ gives", "its hypothesis alpha < 1 excludes"),
    (LEAST, r"=f(x)-\frac{1}{2\mu}", r"=f(x)+\frac{1}{2\mu}", "with -(1/(2*mu)*norm(grad_f(x))**2)"),
    (LEAST, r"=f(x)-\frac{1}{2\mu}", r"=f(x)-\frac{1}{\mu}", "the step does not hold as printed"),
    (LEAST, r"x_{k+1}\rangle+\mu", r"x_{k+1}\rangle-\mu", "the step does not hold as printed"),
    (LEAST, r"\frac L2\|x-y", r"\frac L4\|x-y", "the factor is 1/4, and it is 1/2 by its order"),
    (
        TERM,
        r"&\le\sigma\sum_{i=1}^{k-1}z_i^2+a_1\sqrt{k-1}",
        r"&\le\sigma\sum_{i=1}^kz_i^2+a_1\sqrt{k-1}",
        "of one line is",
    ),
    (TERM, r"\le\sigma\sum_{i=1}^{k-1}z_i^2+a_1\sum", r"\le-\sigma\sum_{i=1}^{k-1}z_i^2+a_1\sum", "of one line is"),
    (TERM, r"\le\sigma\sum_{i=1}^{k-1}z_i^2+a_1\sum", r"\le\sigma\sum_{i=1}^{k-1}z_{i+1}^2+a_1\sum", "of one line is"),
    ("named-sum-of-steps.tex", "S_k>B^2", "S_k<B^2", "as long as the steps add up to little"),
    ("summed-with-a-range.md", r"k=0,1,\dots,K-1", r"k=0,1,\dots,K+1", "and every one that comes out over k = 0"),
    (LEAST, r"$s_k=\arg", r"$s_{k+1}=\arg", "s[k] is read where k = 0"),
    (MADE, r"and the value $h_j$", "", "h[j] is read, and no line assigns"),
    (MADE, r"find $\tau_j>0$ with", r"find $\sigma_j>0$ with", "tau[j] is read, and no line assigns"),
    (MADE, r"least eigenvalue $\omega_j$", "least eigenvalue", "omega[j] is read, and no line assigns"),
    (MADE, r"for the multipliers $\mu_j$ and", r"with the multipliers $\mu$ for", "mu[j] is read"),
    (MADE, r"determine the step size $\theta_j$", "determine the step size", "theta[j] is read"),
    (CALLS, "computes $E(m+2N)$", "computes $E(m+N)$", "make 2*E_v*N + E_v*m of these calls"),
    (CALLS, "computes $qT$", "computes $T$", "make T_v*q of these calls, and not T_v"),
    (CALLS, r"\RETURN $\tilde u_E$", r"\RETURN $\tilde w_E$", "w_tilde_E is put out"),
    (ONE_VARIABLE, "computes $2M$", "computes $M$", "make 2*M of these calls, and not M"),
    (ONE_VARIABLE, "uses $M$", "uses $2M$", "make M of these calls, and not 2*M"),
    (ONE_VARIABLE, "evaluates $2M+2$", "evaluates $2M$", "make 2*M + 2 of these calls"),
    (NUMBERS, r"\frac{\sigma^2}{h}+L^2 .", r"\sigma^2+L^2 .", "with sigma**2/h in the place of sigma**2 it does"),
    (NUMBERS, r"+\frac{1}{n}\|v\|^2", r"+n\|v\|^2", "with n*norm(v)**2 in the place of norm(v)**2 it does"),
    (BLOCKS, r"w_{k+1}=w_k-\eta\nabla_vg", r"w_{k+1}=w_k-\eta\nabla_ug", "one side has v entries, the other u"),
    (BLOCKS, r"$\|w_k\|\le2$", r"$w_k\le2$", "a vector is compared with a number"),
    (TWO_STEPS, r"-2\eta\nabla h(u_t)+", r"+2\eta\nabla h(u_t)-", "the step goes along the gradient"),
    (LISTS, r"have rows $b_1,\dots,b_m\ne0$, let", "be a matrix, let", "b[i_k] is read, and no line assigns"),
    (LISTS, r"let $\zeta_0,\zeta_1,\dots$ be independent", "let the samples be independent", "zeta[k] is read"),
    (LISTS, "solve $H_kp_k=-g_k$", "solve $H_kd_k=-g_k$", "p[k] is read, and no line assigns"),
    (LISTS, r"\langle g_l,x-x_l\rangle", r"\langle g_i,x-x_l\rangle", "the index i stands here once"),
    (LISTS, r"$v_{1,i}\gets1$ for", r"$v_{2,i}\gets1$ for", "no line on the way there assigned v[1,1]"),
    (SUMMED, r"\sum_{j=0}^{K-1}\epsilon_j .", r"\sum_{j=0}^{N-1}\epsilon_j .", "Lemma 2 speaks of K"),
    (SUMMED, r"In the last epoch $ns\le B^2$", r"In the last epoch $s\le B$", "uses s <= B, which nothing"),
    (SIGN, r"For $\tau>0$ let", "Let", "its hypothesis tau > 0 is not met"),
    (GIVES, r"By \eqref{rate}, $d(", r"By \eqref{step}, $d(", "(1) is cited for what (2) says"),
    (
        "macros-before-letters.tex",
        r"=2\nrm{u}^2+2\nrm{v}^2 .",
        r"=2\nrm{u}^2+\nrm{v}^2 .",
        "with 2*norm(v)**2 in the place",
    ),
    ("partial-derivatives.md", r"\arg\max", r"\max", "arg max is meant"),
    ("input-below-a-quotient.md", r"0<h\le\frac1L", r"0<h\le\frac2L", "uses 1 - L*h/2 >= 1/2, which nothing"),
    ("named-in-another-section.md", r"\le L\kappa\|", r"\le\frac L2\kappa\|", "with 1 in the place of 2 it does"),
    ("point-for-all.md", r" for all $x\in X$. If", ". If", "the term f(x) of one line is f(x_star)"),
    ("implicit-step.md", "The implicit step", "The step", "z[k + 1] has z[k + 1] here, and z[k] in"),
    ("blocks-on-the-line.md", "Let $p=q=1$ and", "Let", "one side has x entries, the other y"),
    ("given-by-entries.tex", r" with $c_t=g_{t,i}^2$", "", "its hypothesis c_T >= 0 is not met"),
    ("product-of-sums.md", r"\sum_{i=1}^np_i\sum", r"\sum_{i=1}^n\sum", "the index i is bound twice"),
    (
        "list-with-an-end.md",
        r"$M_0,M_1,\dots,M_K$ be a martingale with $|M_k-M_{k-1}|\le c_k$ for $k=1,\dots,K$, where",
        r"$M$ be a martingale with $|M_k-M_{k-1}|\le c_k$ for all $k$, where",
        "speaks of K, and nothing introduces it",
    ),
    (TWO_STEPS, r"w_t-\eta\nabla\ell(z_t)", r"w_t+\eta\nabla\ell(z_t)", "the step goes along the gradient"),
]
LINES = r"""
find $0<a_k\le1$ such that $\|x_k+a_kx_k\|\le\|x_k\|$
choose a step size $a_k\ge\frac12$ by backtracking
compute an eigenvector $b_k$ of $H$ with eigenvalue $a_k$
compute the least eigenvalue $a_k$ of $H$ and a corresponding unit eigenvector $b_k$
call the oracle at $x_k$ and receive $a_k$, $b_k$
a line search from $x_k$ gives the step size $a_k$
solve the subproblem at $x_k$; denote its solution by $b_k$ and its value by $a_k$
$a_k$ is determined by a line search, $b_k$ is chosen as before
let $b_k$ be a subgradient at $x_k$ and $a_k$ the value there
run conjugate gradients on $H$ from $x_k$ to obtain the direction $b_k$ and the residual $a_k$
ask the oracle for a subgradient $b_k$ and the value $a_k$
draw $b_k\subset\{1,\dots,n\}$ with $|b_k|=n$, $a_k\subseteq\{1,\dots,n\}$
minimise over the line through $x_k$ and call the minimiser $b_k$
exact line search: $a_k$ minimises $\|x_k-tx_k\|$ over $t\ge0$
compute a factorisation of $H$ and from it the direction $b_k$ and the multiplier $a_k$
store the gradient at $x_k$ in $b_k$ and its norm in $a_k$
"""
OTHER_LINES = r"""
find $c_k>0$ with $\|x_k+a_kx_k\|\le\|b_k\|$
compute a unit eigenvector $c_k$ of $H$ for its least eigenvalue $d_k$
move from $x_k$ along the direction $a_k$
get the value $c_k$ at $b_k$
"""
FRAME = r"""\begin{algorithm}\begin{algorithmic}[1]
\REQUIRE $x_0$, $K\ge1$, $H$, $n$
\FOR{$k=0,\dots,K-1$}
\STATE LINE
\STATE $x_{k+1}\gets x_k-USE$
\ENDFOR
\RETURN $x_K$
\end{algorithmic}\end{algorithm}
"""


def test_the_texts_are_there() -> None:
    assert len(HABITS) == 111


@pytest.mark.parametrize("name", HABITS)
def test_nothing_is_found_in_a_right_text(name: str) -> None:
    assert told(TEXTS[name], name) == {}


@pytest.mark.parametrize("slip", SLIPS, ids=lambda slip: f"{slip[0]} {slip[2]}")
def test_a_slip_that_looks_like_it_is_told(slip: tuple[str, str, str, str]) -> None:
    assert told_of(slip, TEXTS) == (False, True)


@pytest.mark.parametrize("line", LINES.strip().splitlines())
def test_a_line_makes_what_its_words_say(line: str) -> None:
    used = "+".join(name for name in ("a_k", "b_k") if name in line)
    assert not told(FRAME.replace("LINE", line).replace("USE", used), "paper.tex")


@pytest.mark.parametrize("line", OTHER_LINES.strip().splitlines())
def test_a_line_makes_no_more(line: str) -> None:
    found = told(FRAME.replace("LINE", line).replace("USE", "a_k-b_k"), "paper.tex")
    assert [title.partition(",")[0] for _, title, _ in found] == ["a[k] is read", "b[k] is read"]

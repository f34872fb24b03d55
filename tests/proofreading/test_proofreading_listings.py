"""Algorithms whose lines no grammar of formulas reads, and whose blocks are not closed: right ones with a slip beside.

Of the right text nothing is told, of the slip the words beside it; formulas that are read for what they name alone
are refused where a card is to be written.
"""

from __future__ import annotations

from pathlib import Path

import pytest
from incremental import told

from bilevel_verify.drafting.draft import draft
from bilevel_verify.drafting.listings.blocks import understood
from bilevel_verify.drafting.listings.lines import NotUnderstood
from bilevel_verify.language import to_text
from bilevel_verify.proofreading.source import paper_of_draft
from bilevel_verify.theorems import algorithm as script

TEX = r"""\begin{algorithm}\begin{algorithmic}[1]
\REQUIRE $x_0\in\mathbb R^d$, $K\ge1$, $\sigma>0$, $\eta>0$, $H\in\mathbb R^{d\times d}$, $b\in\mathbb R^d$
%s
\end{algorithmic}\end{algorithm}
\section{Notes} The set $\mathcal S$ is the sphere, $h\colon\mathbb R^d\to\mathbb R$ a function, $f$ its part: we have
$f(x)\le h(x)$, $\nabla f(x)\in\mathbb R^d$, $\mathcal S\subset\mathbb R^d$, $H\succ0$ and $v_{k+1}=v_k$,
and $x\in\mathcal S$ for all $x\in\mathcal S\cap\mathcal S$.
"""
LOOP = r"""\FOR{$k=0,\dots,K-1$}
%s
\ENDFOR
\RETURN $x_K$"""
STEP = r"\STATE $x_{k+1}\gets x_k-\eta g_k$"
DRAWN = (
    r"\STATE $g_k\gets\nabla f(x_k)+\sigma u_k,\ \text{where}\ u_k\sim\operatorname{Uniform}(\mathcal S^{d-1})$" + STEP
)
PROX = r"\STATE $g_k\gets\nabla f(x_k)$ \STATE $x_{k+1}\gets\operatorname{Prox}_{\eta(f+h)}(x_k-\eta(f+h)g_k)$"
CASES = (
    r"""\STATE $g_k\gets\left\{\begin{array}{ll}\nabla f(x_k),&\text{if Noise (off)}\\
\nabla f(x_k)+b,&\text{if Noise (on)}\end{array}\right.$"""
    + STEP
)
SIDES = (
    r"""\STATE $f_k^+\gets f(x_k+\sigma b)$, $f_k^-\gets f(x_k-\sigma b)$
\STATE $g_k\gets\frac{1}{2\sigma}(f_k^+-f_k^-)b$"""
    + STEP
)
SOLVER = r"""\STATE $p_k\gets$ the second iterate of conjugate gradients for $Hp=b$, started at $x_k$
\STATE $x_{k+1}\gets x_k-\eta p_k$"""
BEST = r"""\STATE $y_0\gets x_0$
\FOR{$k=0,\dots,K-1$}
\STATE $x_{k+1}\gets x_k-\eta\nabla f(x_k)$
\ENDFOR
\STATE $\hat y\gets\frac1K\sum_{k=0}^{K-1}x_k$
\RETURN $x_{\mathrm{best}}=\operatorname{argmin}_{x_K,\hat y}\{\|\nabla f(x_K)\|,\|\nabla f(\hat y)\|\}$"""
LOOSE = {
    "a power of a set": (LOOP % DRAWN, r"\sigma u_k", r"\sigma u_{k+1}", "u[k + 1] is read"),
    "a sum of functions": (LOOP % PROX, r"\eta(f+h)g_k", r"\eta(f+h)g_{k+1}", "g[k + 1] is read"),
    "conditions in words": (LOOP % CASES, r"x_{k+1}\gets x_k", r"x_k\gets x_k", "is read"),
    "a sign above": (LOOP % SIDES, r"(f_k^+-f_k^-)b", r"(f_k^+-f_{k+1}^-)b", "minus[k + 1] is read"),
    "the value in words": (LOOP % SOLVER, r"x_k-\eta p_k", r"x_k-\eta p_{k+1}", "p[k + 1] is read"),
    "the best of a list": (BEST, r"$\hat y\gets", r"$\hat z\gets", "y_hat is read"),
}
MD = """**Algorithm 1** Lazy steps

1. Input: $x_0$, $H_0$, $K$, $m$, $\\eta$, $\\epsilon$
2. for $k=0,1\\cdots,K-1$ do
3. \u2003$g_k=\\nabla f(x_k)$
4. \u2003if $k\\%m=0$
5. \u2003\u2003Set $z=x_k$
6. \u2003\u2003$G=g_k$
7. \u2003$s_k=g_k+G+x_k-z$
8. \u2003$x_{k+1}=x_k-\\eta s_k$ If $\\epsilon\\geq\\|s_k\\|$
9. \u2003then break
10. end for
11. Ouput: $\\hat x=x_{k+1}$
"""
LOOPS = r"""\STATE $k\gets0$
\LOOP
\STATE $z_k\gets Hx_k$
\IF{$\|z_k\|\le\sigma$}
\RETURN $x_k$
\ENDIF
\STATE $x_{k+1}\gets z_k/\|z_k\|$
\STATE $k\gets k+1$
\ENDLOOP"""
WHILE = r"""\STATE $r_0\gets b$, $k\gets0$
\WHILE{$r_k\ne0$}
\STATE $x_{k+1}\gets x_k+\eta r_k$, $r_{k+1}\gets r_k-\eta Hr_k$
\STATE $k\gets k+1$
\ENDWHILE
\RETURN $x_k$"""
PARTS = r"""\STATE $v_{0,i}\gets1$ for $i=1,\dots,d$
\FOR{$k=0,\dots,K-1$}
\STATE choose $g_k\in\partial f(v_k)$
\FOR{$i=1,\dots,d$}
\STATE $v_{k+1,i}\gets v_{k,i}-\eta g_{k,i}$
\ENDFOR
\ENDFOR
\RETURN $v_K$"""
BOUNDED = r"""\STATE Initialize $B_0, c>1$
\FOR{$k=0,\dots,K-1$}
\STATE $x_{k+1}\gets x_k-B_0\nabla f(x_k)$, $B_0\gets B_0/c$
\ENDFOR
\RETURN $x_K$"""
PLAIN = LOOP % (r"\STATE $g_k\gets\nabla f(x_k)$" + STEP)
BLOCKS = {
    "dots with one comma": ("paper.md", MD, "0,1\\cdots,K-1", "1,2\\cdots,K-1", "is read"),
    "a block without its end": ("paper.md", MD, "6. \u2003\u2003", "6. \u2003\u2003If $k>m$ then ", "'G' is read"),
    "a test behind a step": (
        "paper.md", MD, "$x_{k+1}=x_k-\\eta s_k$ If $\\epsilon\\geq\\|s_k\\|$\n9. \u2003then break",
        "If $\\epsilon\\geq\\|s_k\\|$\n9. \u2003then break\n9. \u2003$x_{k+1}=x_k-\\eta s_k$", "x[k + 1] is read",
    ),
    "a keyword misspelt": ("paper.md", MD, "\\hat x=x_{k+1}", "\\hat x=x_{k+2}", "x[k + 2] is read"),
    "a loop": ("paper.tex", TEX % LOOPS, r"\STATE $k\gets k+1$", "", "no line of it moves k"),
    "a test of being unlike": ("paper.tex", TEX % WHILE, r"r_{k+1}\gets", r"r_k\gets", "r[k"),
    "components": ("paper.tex", TEX % PARTS, r"v_{k+1,i}\gets", r"v_{k,i}\gets", "v[k"),
    "given with a range": ("paper.tex", TEX % BOUNDED, r"B_0, c>1", "c>1", "'B_0' is read"),
    "an output": ("paper.tex", TEX % PLAIN, r"\RETURN $x_K$", r"\RETURN $\hat w$", "w_hat is put out, and no line"),
}  # fmt: skip


def titles(text: str, name: str) -> list[str]:
    return [title for _, title, _ in told(text, name)]


def read(text: str, tmp_path: Path, *, loose: bool) -> script.Program:
    (tmp_path / "paper.tex").write_text(text, encoding="utf-8")
    paper = paper_of_draft(draft(tmp_path / "paper.tex"))
    return understood(paper.listings[0], paper.notation, loose=loose).program


@pytest.mark.parametrize("case", LOOSE)
def test_a_formula_is_read_for_what_it_names(case: str, tmp_path: Path) -> None:
    lines, old, new, words = LOOSE[case]
    text = TEX % lines
    assert old in text
    assert titles(text, "paper.tex") == []
    assert any(words in title for title in titles(text.replace(old, new, 1), "paper.tex"))
    with pytest.raises(NotUnderstood):
        read(text, tmp_path, loose=False)


@pytest.mark.parametrize("case", BLOCKS)
def test_lines_and_blocks(case: str) -> None:
    name, text, old, new, words = BLOCKS[case]
    assert old in text
    assert titles(text, name) == []
    assert any(words in title for title in titles(text.replace(old, new, 1), name))


def test_an_output_that_the_text_or_its_words_give() -> None:
    out = r"\RETURN $\hat w$"
    text = TEX % PLAIN.replace(r"\RETURN $x_K$", out)
    assert titles(text + r"Here $\hat w=\frac1K\sum_{k=1}^Kx_k$.", "paper.tex") == []
    assert titles(text + r"Here $\hat w=\bigl(\frac1K\sum_{k=1}^Kx_k$.", "paper.tex") == []
    assert titles(text.replace(out, out + " drawn uniformly from the iterates"), "paper.tex") == []


def test_what_is_read_of_a_refused_formula(tmp_path: Path) -> None:
    values = [s.value for s in read(TEX % BEST, tmp_path, loose=True).walk() if isinstance(s, script.Assign)]
    assert to_text(values[-1]) == "argmin(made_of(0, (x[K], y_hat, set(norm(grad_f(x[K])), norm(grad_f(y_hat))))))"


def test_what_is_assigned_has_to_be_read(tmp_path: Path) -> None:
    with pytest.raises(NotUnderstood):
        read(TEX % (LOOP % (r"\STATE $\mathcal S^kx_{k+1}\gets x_k$" + STEP)), tmp_path, loose=True)

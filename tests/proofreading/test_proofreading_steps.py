"""Steps, closed forms, promises and paths: each kind of slip alone, and the same paper without it."""

from __future__ import annotations

from pathlib import Path

import pytest
from incremental import right
from test_proofreading_kinds import LOOP

from bilevel_verify.drafting.draft import draft
from bilevel_verify.proofreading import proofread_draft

CORPUS = Path(__file__).parent / "corpus"
HEAD = r"""# A paper

Let $L>0$, $M>0$ and $K\ge 1$ be constants, let $f$ be a function with a gradient $\nabla f$ and an estimate
$\hat{\nabla} f$ and $\bar{\nabla} f$ of it, let $x_0, x_1, \dots$ be vectors in $\mathbb{R}^d$ and
$\hat{x}_0, \hat{x}_1, \dots$ others. Let $\kappa:=\frac{L}{M}$.

"""


def told(tmp_path: Path, text: str, name: str = "paper.md") -> set[tuple[str, str]]:
    path = tmp_path / name
    path.write_text(text, encoding="utf-8")
    return {(d.kind, d.title) for d in proofread_draft(draft(path)).defects}


def display(formula: str) -> str:
    return f"{HEAD}**Lemma 1.** We have\n$$\n{formula}.\n$$\n"


STEPS = {
    "inserted": (
        "decoration",
        r"\|\nabla f(x_1)-\hat{\nabla}f(x_1)\|"
        r"=\|\nabla f(x_1)-\hat{\nabla}f(x_0)+\bar{\nabla}f(x_0)-\hat{\nabla}f(x_1)\|",
        r"\|\nabla f(x_1)-\hat{\nabla}f(x_1)\|"
        r"=\|\nabla f(x_1)-\bar{\nabla}f(x_0)+\bar{\nabla}f(x_0)-\hat{\nabla}f(x_1)\|",
    ),
    "through two points": (
        "decoration",
        r"\|x_3-x_0\|\le\|x_3-x_2\|+\|\hat{x}_2-x_0\|",
        r"\|x_3-x_0\|\le\|x_3-x_2\|+\|x_2-x_0\|",
    ),
    "range under a norm": (
        "index",
        r"\left\|\sum_{k=0}^{K}(x_k-x_0)\right\|\le\sum_{k=0}^{K-1}\|x_k-x_0\|",
        r"\left\|\sum_{k=0}^{K}(x_k-x_0)\right\|\le\sum_{k=0}^{K+1}\|x_k-x_0\|",
    ),
    "mean": (
        "shape",
        r"\max_{0\le k\le K-1}\|x_k\|\le\frac1K\sum_{k=0}^{K-1}\|x_k\|",
        r"\min_{0\le k\le K-1}\|x_k\|\le\frac1K\sum_{k=0}^{K-1}\|x_k\|",
    ),
    "sum": (
        "total",
        r"\|x_1\|=\sum_{i=1}^{K-1}\frac{i}{L}=\frac{K(K+1)}{2L}",
        r"\|x_1\|=\sum_{i=1}^{K}\frac{i}{L}=\frac{K(K+1)}{2L}",
    ),
    "defined": ("citation", r"\|x_1\|\le\frac{L}{M}=\kappa^2", r"\|x_1\|\le\frac{L}{M}=\kappa"),
    "cases": (
        "total",
        r"\|x_k\|=\begin{cases}L & k=0,\\ M & k\ge 2\end{cases}",
        r"\|x_k\|=\begin{cases}L & k=0,\\ M & k\ge 1\end{cases}",
    ),
    "idle letter": (
        "index",
        r"\|x_1\|\le\sum_{q=1}^{K}q_i",
        r"\|x_1\|\le\sum_{i=1}^{K}q_i",
    ),
}


@pytest.mark.parametrize("case", STEPS)
def test_a_step_is_told_and_the_right_one_is_not(case: str, tmp_path: Path) -> None:
    kind, wrong, right = STEPS[case]
    assert kind in {k for k, _ in told(tmp_path, display(wrong))}
    assert told(tmp_path, display(right)) == set()


def test_a_decrease_is_no_insertion(tmp_path: Path) -> None:
    assert told(tmp_path, display(r"\|x_{k+1}-x_0\|\le\|x_k-x_0\|")) == set()


def test_entries_that_the_paper_equates_may_be_inserted(tmp_path: Path) -> None:
    text = display(r"\|x_3-x_1\|\le\|x_3-x_0\|+\|\hat{x}_0-x_1\|")
    assert told(tmp_path, text) != set()
    assert told(tmp_path, text.replace("Let $\\kappa", "Let $\\hat{x}_0=x_0$. Let $\\kappa")) == set()


ALGORITHMS = {
    "entry of the next step": ("unassigned", "4. $y_k=x_k+v_k$", "4. $y_k=x_k+v_{k+1}$"),
    "restart without the counter": ("stale", "11. $k=0$\n12. end if", "11. end if"),
    "counter that never moves": ("endless", "7. $k=k+1$\n", ""),
    "output behind the last pass": ("unassigned", "14. Output: $x_k$", r"14. Output: $\sum_{j=0}^{K}y_j$"),
}


@pytest.mark.parametrize("case", ALGORITHMS)
def test_paths_of_an_algorithm(case: str, tmp_path: Path) -> None:
    kind, old, new = ALGORITHMS[case]
    text = "# A paper\n\nLet $f$ have a gradient.\n\n" + LOOP
    assert old in text
    assert kind in {k for k, _ in told(tmp_path, text.replace(old, new))}
    assert told(tmp_path, text) == set()


MUTANTS = {
    "rate against its proof": (
        "gradient-descent.tex",
        "\\le\\frac{2L(f(x_0)-f^*)}{K} .\n\\end{equation}",
        "\\le\\frac{L(f(x_0)-f^*)}{K} .\n\\end{equation}",
    ),
    "doubling of the old guess": ("gradient-descent.tex", r"\State $M_{k+1}=2M_{k+1}$", r"\State $M_{k+1}=2M_{k}$"),
    "rate for no step": (
        "gradient-descent.tex",
        "Then for all $K\\ge 1$\n\\begin{equation}\\label{eq:rate}",
        "Then for all $K\\ge 0$\n\\begin{equation}\\label{eq:rate}",
    ),
    "wrong place of a quotation": (
        "gradient-descent.tex",
        r"step is \eqref{eq:descent}, that",
        r"step is \eqref{eq:sum}, that",
    ),
    "branch without a matrix": ("cubic-newton.tex", "\\Else\n\\State $H_{k+1}=H_k$\n", ""),
    "hypothesis that the proof uses": (
        "epochs.md",
        "**Lemma 1.** Let $0<\\eta\\le\\frac1L$. Then for",
        "**Lemma 1.** For",
    ),
    "average of one term more": ("restarts.md", r"\left\|\frac1K\sum_{k=0}^{K-1}(y", r"\left\|\frac1K\sum_{k=0}^{K}(y"),
    "test of an entry that is to come": (
        "accelerated-gradient.md",
        r"3. while $\|\nabla f(x_{t,0})",
        r"3. while $\|\nabla f(x_{t,K})",
    ),
}


@pytest.mark.parametrize("case", MUTANTS)
def test_slips_in_right_papers(case: str, tmp_path: Path) -> None:
    file, old, new = MUTANTS[case]
    text = (CORPUS / file).read_text(encoding="utf-8")
    assert old in text
    right(file, text)
    assert told(tmp_path, text.replace(old, new), file) != set()


PROMISED = r"""# A paper

Let $\ell>0$, $\kappa\ge 1$, $\epsilon>0$ and $\Delta>0$ be constants, and let $T\ge 1$ be the
number of epochs, and $a_0,a_1,\dots$ and $A_0,A_1,\dots$ sequences with
$$
A_{k+1}=A_k+a_k.
\tag{1}
$$

**Lemma 1.** For all $k\ge 1$ the norm is at most $c$, where $c=2+\ell$.

**Theorem 1.** The method ends within
$$
\mathcal{O}(\Delta\ell\kappa^2\epsilon^{-2})
$$
epochs. Let $c=2+\ell$ as defined in Lemma 1, with $A_k$ defined in (1).

*Proof.* With $a_k=\frac{k+1}{\ell}$ and $A_k=\frac{k(k+1)}{2\ell}$ we have
$$
T\le\mathcal{O}(\Delta\ell\kappa^2\epsilon^{-2}).
\tag{2}
$$
"""
SLIPS = {
    "order": (
        "total",
        r"\mathcal{O}(\Delta\ell\kappa^2\epsilon^{-2})" + "\n$$",
        r"\mathcal{O}(\Delta\ell\kappa^3\epsilon^{-2})" + "\n$$",
    ),
    "value": ("citation", "Let $c=2+\\ell$ as", "Let $c=3+\\ell$ as"),
    "place": ("citation", "defined in (1)", "defined in (2)"),
    "recurrence": ("total", r"\frac{k(k+1)}{2\ell}", r"\frac{k(k+1)}{\ell}"),
}


@pytest.mark.parametrize("case", SLIPS)
def test_promises_values_and_places(case: str, tmp_path: Path) -> None:
    kind, old, new = SLIPS[case]
    assert PROMISED.count(old) == 1
    assert kind in {k for k, _ in told(tmp_path, PROMISED.replace(old, new))}
    assert told(tmp_path, PROMISED) == set()

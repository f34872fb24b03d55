"""One changed index, factor, member, end or citation in a small paper: told, and nothing where the paper is right."""

from __future__ import annotations

from pathlib import Path

import pytest

from bilevel_verify.drafting.draft import draft
from bilevel_verify.proofreading import proofread_draft

PAPER = r"""# A paper

Let $L>0$, $\eta>0$, $\epsilon>0$, $B>0$ and $0<\mu\le L$ be constants, let $\kappa:=\frac{L}{\mu}$, and let $f$ be a
function on $\mathbb{R}^d$ with $f(x)\ge f^*$. The steps are
$$
x_{k+1}=x_k-\eta\nabla f(x_k)
\tag{1}
$$
for all $k\ge 0$.

**Algorithm 1** Descent

1. Input: start $x_0\in\mathbb{R}^d$, $\eta>0$, $K\ge 1$
2. for $k=0,1,\dots,K-1$ do
3. $x_{k+1}=x_k-\eta\nabla f(x_k)$
4. end for
5. Output: $x_K$

**Lemma 1.** For all $k\ge 0$
$$
f(x_{k+1})-f(x_k)\le-\frac{\eta}{2}\|\nabla f(x_k)\|^2.
\tag{2}
$$

*Proof.* We have
$$
\begin{aligned}
f(x_{k+1})&\le f(x_k)+\langle\nabla f(x_k),x_{k+1}-x_k\rangle+\frac{L}{2}\|x_{k+1}-x_k\|^2\\
&=f(x_k)-\eta\|\nabla f(x_k)\|^2+\frac{L\eta^2}{2}\|\nabla f(x_k)\|^2.
\end{aligned}
\tag{3}
$$
Squaring both sides of (1), we have
$$
\|x_{k+1}\|^2=\|x_k-\eta\nabla f(x_k)\|^2.
\tag{4}
$$
The sum of the steps is
$$
\sum_{i=0}^{K-1}\|x_{i+1}-x_i\|^2\le B^2.
\tag{5}
$$
It follows that
$$
\frac{3L}{4}\|x_1-x_0\|^2-\frac{L}{2}\|x_1-x_0\|^2=\frac{L}{4}\|x_1-x_0\|^2
$$
and
$$
\frac{1}{K}\sum_{k=0}^{K-1}\|x_{k+1}-x_k\|^2\le\frac{B^2}{K},
$$
where we use (5) in the last inequality.

**Theorem 1.** Let $r>1$. Then $f(x_K)-f^*\le\epsilon^{\frac{r}{r-1}}$ for $\lambda=\max\{\kappa^2,\epsilon^{-1},B\}$.

*Proof.* Let $\lambda=\max\{\kappa^2,\epsilon^{-1},B\}$. From the bounds
$$
f(x_K)-f^*\le\epsilon B,
\tag{6}
$$
$$
f(x_K)-f^*\le L\kappa^2,
\tag{7}
$$
combining (6) and (7), we have
$$
f(x_K)-f^*\le\max\{\epsilon B,L\kappa^2\}.
\tag{8}
$$
Also
$$
\sum_{t=1}^{K}r_t^3+\sum_{t=1}^{K}r_t\le B,\qquad r_i\le B\quad\text{and}\quad r_i\ge 0.
$$
"""
CHANGES = {
    "an index in an identity": (
        r"\frac{L}{2}\|x_{k+1}-x_k\|^2\\", r"\frac{L}{2}\|x_{k+1}-x_{k-1}\|^2\\", "x[k] in the place",
    ),
    "the number before a term": (r"=\frac{L}{4}\|x_1-x_0\|^2", r"=-\frac{L}{4}\|x_1-x_0\|^2", "on the left and"),
    "a line against the text": (
        r"3. $x_{k+1}=x_k-\eta\nabla f(x_k)$", r"3. $x_{k+1}=x_{k-1}-\eta\nabla f(x_k)$", "has x[k - 1] here",
    ),
    "min for max": (r"Let $\lambda=\max", r"Let $\lambda=\min", "has min("),
    "a member lost": (
        r"Let $\lambda=\max\{\kappa^2,\epsilon^{-1},B\}", r"Let $\lambda=\max\{\kappa^2,B\}", "has max(kappa",
    ),
    "the end of a range": (r"Let $r>1$", r"Let $r\ge 1$", "takes in r = 1"),
    "a constant that may be 0": (r"$0<\mu\le L$", r"$0\le\mu\le L$", "takes in mu = 0"),
    "a thing less itself": (r"\frac{3L}{4}\|x_1-x_0\|^2", r"\frac{3L}{4}\|x_1-x_1\|^2", "both terms are one thing"),
    "a sum that stands still": (r"\sum_{t=1}^{K}r_t^3", r"\sum_{t=1}^{K}r_i^3", "do not run with it"),
    "another relation squared": ("Squaring both sides of (1)", "Squaring both sides of (2)", "(2) is named"),
    "a member of a maximum": (
        r"\max\{\epsilon B,L\kappa^2\}.", r"\max\{\epsilon B,L\kappa\}.", "is not the bound of (7)",
    ),
    "a bound from the other side": (r"\le B^2.", r"> B^2.", "the step needs an upper bound"),
}  # fmt: skip


def told(text: str, folder: Path) -> list[str]:
    path = folder / "paper.md"
    path.write_text(text, encoding="utf-8")
    return [defect.title for defect in proofread_draft(draft(path)).defects]


def test_the_right_paper_has_none(tmp_path: Path) -> None:
    assert told(PAPER, tmp_path) == []


@pytest.mark.parametrize("name", CHANGES)
def test_one_change_is_told(name: str, tmp_path: Path) -> None:
    old, new, words = CHANGES[name]
    assert PAPER.count(old) == 1
    found = told(PAPER.replace(old, new), tmp_path)
    assert any(words in title for title in found), found


def test_first_entries_of_two_sequences_may_be_one_point(tmp_path: Path) -> None:
    """``x_0 = z_0`` is a start and no slip: nothing is said of a letter at a fixed entry."""
    text = PAPER.replace(r"=\frac{L}{4}\|x_1-x_0\|^2", r"=\frac{L}{4}\|x_1-z_0\|^2")
    assert not any("in the place" in title for title in told(text, tmp_path))

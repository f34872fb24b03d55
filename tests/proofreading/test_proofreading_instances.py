"""Steps on drawn instances, remainders, rescalings, what a paper says twice: right as printed, told when changed."""

from __future__ import annotations

from functools import partial
from pathlib import Path

import numpy as np
import pytest
from incremental import right
from test_proofreading_steps import CORPUS, told

from bilevel_verify.drafting.draft import draft
from bilevel_verify.language import parse, tree
from bilevel_verify.latex import Notation
from bilevel_verify.manuscript.opaque import kind_in
from bilevel_verify.proofreading.instances import scales
from bilevel_verify.proofreading.instances.drawing import Instance, Unknown
from bilevel_verify.proofreading.instances.edits import edits
from bilevel_verify.proofreading.source import paper_of_draft

CHANGED = {
    "a sign in an equation": (
        "proximal-point.tex",
        r"&=\frac{1}{2c}\left(\|w_j-v\|^2-\|w_{j+1}-v\|^2-\|w_j-w_{j+1}\|^2\right)",
        r"&=\frac{1}{2c}\left(\|w_j-v\|^2-\|w_{j+1}-v\|^2+\|w_j-w_{j+1}\|^2\right)",
        "does not hold as printed",
    ),
    "a factor in an inequality that a hypothesis makes sharp": (
        "gradient-descent.tex",
        r"&\le f(x_k)-\frac{\eta}{2}\|\nabla f(x_k)\|^2,\label",
        r"&\le f(x_k)-\frac{3\eta}{4}\|\nabla f(x_k)\|^2,\label",
        "does not hold as printed",
    ),
    "an exponent in an equation of numbers": (
        "frank-wolfe.md",
        r"=\frac{2\beta R^2(n+1)}{(n+2)^2}",
        r"=\frac{2\beta R^2(n+1)}{n+2}",
        "does not hold as printed",
    ),
    "a product of the weights": (
        "proximal-point.tex",
        r"+2\alpha(1-\alpha)\langle v,w\rangle+\alpha^2\|w\|^2",
        r"+\alpha(1-\alpha)\langle v,w\rangle+\alpha^2\|w\|^2",
        "does not hold as printed",
    ),
    "the power of a remainder": (
        "cubic-newton.tex",
        r"+\frac12\langle s,\nabla^2f(x)s\rangle+\frac M6\|s\|^3",
        r"+\frac12\langle s,\nabla^2f(x)s\rangle+\frac M6\|s\|^2",
        "the power is 2, and it is 3 by its order",
    ),
    "the factor of a remainder": (
        "cubic-newton.tex",
        r"-\nabla^2f(x)s\|\le\frac M2\|s\|^2",
        r"-\nabla^2f(x)s\|\le\frac M6\|s\|^2",
        "the factor is 1/6, and it is 1/2 by its order",
    ),
    "the half of the second order": (
        "cubic-newton.tex",
        r"+\frac12\langle s,\nabla^2f(x)s\rangle+\frac M6\|s\|^3",
        r"+\langle s,\nabla^2f(x)s\rangle+\frac M6\|s\|^3",
        "the term of order 2 has the factor 1",
    ),
    "another direction in a remainder": (
        "gradient-descent.tex",
        r"+\langle\nabla f(x_k),x_{k+1}-x_k\rangle+\frac L2\|x_{k+1}-x_k\|^2\nonumber",
        r"+\langle\nabla f(x_k),x_{k+1}-x_k\rangle+\frac L2\|x_{k+1}-x_0\|^2\nonumber",
        "its size is that of",
    ),
}


@pytest.mark.parametrize("name", CHANGED)
def test_what_was_changed_is_told(name: str, tmp_path: Path) -> None:
    file, old, new, words = CHANGED[name]
    text = (CORPUS / file).read_text(encoding="utf-8")
    assert text.count(old) == 1
    right(file, text)
    assert any(words in title for _, title in told(tmp_path, text.replace(old, new), file))


PAPER = r"""# A paper

Let $L>0$, $B>0$, $\rho>0$, $\sigma>0$ and $\theta\in(0,1)$ be constants, let $h$ and $g$ be functions
on $\mathbb{R}^d$, and let
$x_0, x_1, \dots$ be vectors in $\mathbb{R}^d$ and $e_0, e_1, \dots$ the errors. Let $\eta=\frac1L$.

**Algorithm 1** Steps with restarts

1. Input: start $x_0\in\mathbb{R}^d$, $K\ge 1$
2. $x_{-1}=x_0$, $k=0$
3. while $k<K$ do
4. $y_k=x_k+(1-\theta)(x_k-x_{k-1})$
5. $x_{k+1}=y_k-\eta\nabla h(y_k)$
6. $k=k+1$
7. if $k\sum_{t=0}^{k-1}\|x_{t+1}-x_t\|^2>B^2$ then
8. $x_{-1}=x_k$, $x_0=x_k$, $k=0$
9. end if
10. end while
11. Output: $x_k$

The steps of the method are
$$
y_k=x_k+(1-\theta)(x_k-x_{k-1}),\qquad x_{k+1}=y_k-\eta\nabla h(y_k),
\tag{1}
$$
and an epoch ends as soon as
$$
k\sum_{t=0}^{k-1}\|x_{t+1}-x_t\|^2>B^2.
\tag{2}
$$

**Lemma 1.** The map $p(x)$ is $\frac{L}{2}$-Lipschitz, that is
$\|p(x)-p(y)\|\le\frac{L}{2}\|x-y\|$ for all $x,y\in\mathbb{R}^d$.

**Lemma 2.** For all $k\ge 0$ we have
$$
g(x_{k+1})-g(x_k)\le\frac{\sigma}{2}\|e_k\|.
\tag{3}
$$
Further
$$
\|e_k\|\le 2\rho B^2,
\tag{4}
$$
and
$$
h(x_{k+1})-h(x_k)\le\sigma.
\tag{5}
$$

**Lemma 3.** For all $k\ge 1$ we have
$$
g(x_k)-g(x_0)\le k\sigma\rho B^2.
\tag{6}
$$

*Proof.* By summing (3) we have
$$
g(x_k)-g(x_0)\le\frac{\sigma}{2}\sum_{i=0}^{k-1}\|e_i\|\stackrel{a}{\le}k\sigma\rho B^2,
\tag{7}
$$
where we use (4) in $\stackrel{a}{\le}$.

**Lemma 4.** For all $a,b\in\mathbb{R}^d$ we have
$$
\begin{aligned}
\langle a-b,b\rangle&\le 0\\
\Leftrightarrow\quad 2\langle a,b\rangle&\le 2\|b\|^2\\
\Leftrightarrow\quad 2\langle a,b\rangle&\le\|a\|^2+\|b\|^2-\|a-b\|^2+2\|b\|^2-2\langle a,b\rangle.
\end{aligned}
$$
"""
TWICE = {
    "a test of an algorithm": (r"$k\sum_{t=0}^{k-1}\|x_{t+1}-x_t\|^2>B^2$", r"$k\sum_{t=0}^{k-1}\|x_{t+1}-x_t\|^2>B^3$",
                               "the test has 3 here"),
    "a sign in a line": (r"$x_{k+1}=y_k-\eta\nabla h(y_k)$", r"$x_{k+1}=y_k+\eta\nabla h(y_k)$", "x[k + 1] has"),
    "a constant in words": (r"is $\frac{L}{2}$-Lipschitz", r"is $2L$-Lipschitz", "-lipschitz"),
    "what is summed": (r"By summing (3)", r"By summing (5)", "(5) is said to give a relation about g"),
    "what a step uses": (r"where we use (4) in", r"where we use (3) in", "(3) is cited for a step about"),
}  # fmt: skip


@pytest.mark.parametrize("name", TWICE)
def test_what_a_paper_says_twice(name: str, tmp_path: Path) -> None:
    old, new, words = TWICE[name]
    assert PAPER.count(old) == 1
    before, after = told(tmp_path, PAPER), told(tmp_path, PAPER.replace(old, new))
    assert not any(words in title for _, title in before)
    assert any(words in title for _, title in after - before)


def test_a_rescaling_that_nearly_all_formulas_keep(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(scales, "LEAST_KEPT", 8)
    text = (CORPUS / "gradient-descent.tex").read_text(encoding="utf-8")
    old, new = r"\le\frac{L\|x_0-x^*\|^2}{2K} .", r"\le\frac{\|x_0-x^*\|^2}{2K} ."
    assert text.count(old) == 1
    path = tmp_path / "paper.tex"
    found = []
    for one in (text, text.replace(old, new)):
        path.write_text(one, encoding="utf-8")
        found.append(list(scales.scale_defects(paper_of_draft(draft(path)))))
    assert found[0] == []
    assert [d.unit for d in found[1]] == ["theorem-2"]


def instance(seed: int = 0) -> Instance:
    return Instance(seed, partial(kind_in, Notation(())))


def test_a_function_has_one_value_at_one_point() -> None:
    one = instance()
    assert one.scalar(parse("psi(2*a)")) == one.scalar(parse("psi(a + a)"))
    assert one.scalar(parse("psi(a)")) != one.scalar(parse("psi(2*a)"))


def test_numbers_follow_the_formula() -> None:
    one = instance(1)
    a, b = (one.scalar(tree.Letter(name)) for name in "ab")
    assert np.isclose(one.scalar(parse("(a + b)**2 - a/b")), (a + b) ** 2 - a / b)
    assert one.scalar(parse("sum(i**2, (i, 1, 3))")) == 14
    assert one.scalar(parse("max(i, (i, 1, 3))")) == 3


@pytest.mark.parametrize("text", ["sqrt(-a)", "a/(b - b)", "O(a)", "sum(i, (i, 1, a))"])
def test_what_has_no_value_is_told_so(text: str) -> None:
    with pytest.raises(Unknown):
        instance(2).scalar(parse(text))


def test_edits_undo_a_slip() -> None:
    found = list(edits(parse("a - 2*b"), ("a", "b"), (), names=False))
    assert parse("a - 1*b") in [one.whole for one in found]
    assert {one.sort for one in found} == {"number", "sign", "letter"}
    assert "names" in {one.sort for one in edits(parse("a - 2*b"), ("a", "b"), (), names=True)}


def test_a_line_computes_what_its_relation_defines(tmp_path: Path) -> None:
    text = PAPER.replace(
        "8. $x_{-1}=x_k$", "8. Compute $v_k=q(x_k)$ according to (9)\n9. $x_{-1}=x_k$"
    ) + (
        "\nLet\n$$\np(x)=\\|x\\|^2+L\n\\tag{8}\n$$\nand\n$$\nq(x)=2\\|x\\|^2+L.\n\\tag{9}\n$$\n"
    )  # fmt: skip
    before, after = told(tmp_path, text), told(tmp_path, text.replace("according to (9)", "according to (8)"))
    assert not any("(9) is cited for" in title for _, title in before)
    assert any("(8) is cited for q" in title for _, title in after - before)

"""Each kind of defect alone: a small paper with it, and the same paper without it."""

from __future__ import annotations

from pathlib import Path

import pytest

from bilevel_verify.drafting.draft import draft
from bilevel_verify.proofreading import GRADES, KINDS, Defect, grouped, proofread, proofread_draft
from bilevel_verify.theorems.library import load_card

HEAD = """# A paper

Let $f$ be a function with a gradient, let $L>0$ and $K\\ge 1$, and let $x_0, x_1, \\dots$ be its iterates in
$\\mathbb{R}^d$, with steps $x_{k+1}=x_k-\\frac1L\\nabla f(x_k)$ for all $k\\ge 0$, and
$\\sum_{j=0}^{K}\\|x_j\\|\\le L$.

**Lemma 1.** For all $k\\ge 0$ we have $f(x_{k+1})\\le f(x_k)$ and $\\|\\nabla f(x_k)\\|\\le L\\|x_k\\|$.

"""
LOOP = """**Algorithm 1** A method

1. Input: start $x_0$, length $K$, bound $B$
2. $k=0$, $v_0=x_0$
3. while $k<K$ do
4. $y_k=x_k+v_k$
5. $x_{k+1}=y_k-\\nabla f(y_k)$
6. $v_{k+1}=x_{k+1}-x_k$
7. $k=k+1$
8. if $\\|v_k\\|>B$ then
9. $x_0=x_k$
10. $v_0=v_k$
11. $k=0$
12. end if
13. end while
14. Output: $x_k$
"""


def kinds(tmp_path: Path, body: str, name: str = "paper.md") -> set[str]:
    path = tmp_path / name
    path.write_text(body, encoding="utf-8")
    return {defect.kind for defect in proofread_draft(draft(path)).defects}


CASES = {
    "bound twice": (
        "index",
        r"\sum_{k=0}^{K}\sum_{k=0}^{K}\|x_k\|\le L",
        r"\sum_{k=0}^{K}\sum_{j=0}^{K}\|x_k-x_j\|\le L",
    ),
    "own end": ("index", r"\sum_{k=0}^{k}\|x_k\|\le L", r"\sum_{k=0}^{K}\|x_k\|\le L"),
    "idle": ("index", r"\sum_{i=0}^{K}\|x_j\|\le L", r"\sum_{i=0}^{K}\|x_i\|\le L"),
    "below": ("outside", r"\sum_{k=0}^{K}\|x_k-x_{k-1}\|\le L", r"\sum_{k=1}^{K}\|x_k-x_{k-1}\|\le L"),
    "denominator": ("outside", r"\sum_{k=0}^{K}\frac{1}{k}\le L", r"\sum_{k=1}^{K}\frac{1}{k}\le L"),
    "other end": ("outside", r"\sum_{k=0}^{K}\frac{1}{K-k}\le L", r"\sum_{k=0}^{K-1}\frac{1}{K-k}\le L"),
    "number and vector": ("shape", r"x_1=x_0+\|\nabla f(x_0)\|^2", r"x_1=x_0+\nabla f(x_0)"),
    "compared": ("shape", r"\nabla f(x_1)\le L\|x_1\|", r"\|\nabla f(x_1)\|\le L\|x_1\|"),
    "named after": (
        "shape",
        r"x_1=\min_{x\in\mathbb{R}^d}\{f(x)+L\|x\|^2\}",
        r"x_1=\arg\min_{x\in\mathbb{R}^d}\{f(x)+L\|x\|^2\}",
    ),
    "an index for a value": (
        "shape",
        r"\arg\min_{0\le k\le 5}\|\nabla f(x_k)\|\le L^2",
        r"\min_{0\le k\le 5}\|\nabla f(x_k)\|\le L^2",
    ),
    "a point that is a set": ("shape", r"x_0=\{x: \nabla f(x)=0\}", r"x_0\in\{x: \nabla f(x)=0\}"),
    "unknown letter": ("letter", r"f(x_1)\le\frac{Q}{2}\|x_0\|^2", r"f(x_1)\le\frac{L}{2}\|x_0\|^2"),
}


@pytest.mark.parametrize("case", CASES)
def test_a_display_with_and_without_a_slip(case: str, tmp_path: Path) -> None:
    kind, wrong, right = CASES[case]
    assert kinds(tmp_path, HEAD + f"Then\n$$\n{right}.\n$$\n") == set()
    assert kinds(tmp_path, HEAD + f"Then\n$$\n{wrong}.\n$$\n") == {kind}


LINES = {
    "no step": ("endless", "7. $k=k+1$\n", "7. $j=k+1$\n"),
    "no start": ("unassigned", "2. $k=0$, $v_0=x_0$\n", "2. $k=0$\n"),
    "stale": ("stale", "10. $v_0=v_k$\n", ""),
    "never": ("test", r"8. if $\|v_k\|>B$ then", "8. if $k<1$ then"),
    "always": ("test", r"8. if $\|v_k\|>B$ then", r"8. if $k\ge 1$ then"),
    "before": (
        "unassigned",
        "4. $y_k=x_k+v_k$\n5. $x_{k+1}=y_k-\\nabla f(y_k)$\n",
        "4. $x_{k+1}=y_k-\\nabla f(y_k)$\n5. $y_k=x_k+v_k$\n",
    ),
}


@pytest.mark.parametrize("case", LINES)
def test_an_algorithm_with_and_without_a_slip(case: str, tmp_path: Path) -> None:
    kind, right, wrong = LINES[case]
    assert kinds(tmp_path, HEAD + LOOP) == set()
    assert right in LOOP
    assert kind in kinds(tmp_path, HEAD + LOOP.replace(right, wrong))


COUNTED = """**Algorithm 1** Two loops

1. Input: start $x_0$, lengths $K\\ge 1$, $T\\ge 1$
2. $k=0$
3. while $k<K$ do
4. for $t=0,\\dots,T-1$ do
5. $z_t=x_k-\\nabla f(x_k)$
6. end for
7. $x_{k+1}=x_k-\\nabla f(x_k)$
8. $k=k+1$
9. end while
10. Output: $x_K$
"""
SAID = {
    "evaluates $KT+K$": True, "evaluates $KT$": False, "uses at most $2KT$": True, "uses at most $KT$": False,
    "needs at most $(K+1)(T+1)$": True, "makes $K(T+1)$": True, "makes $(K+1)T$": False,
}  # fmt: skip


@pytest.mark.parametrize("said", SAID)
def test_the_number_of_calls_that_a_sentence_gives(said: str, tmp_path: Path) -> None:
    """ "at most 2 KT" for KT + K is no contradiction for all lengths, nor is it proved: nothing is said."""
    found = kinds(tmp_path, f"{HEAD}{COUNTED}\nAlgorithm 1 {said} gradients of $f$.\n")
    assert ("total" in found) is not SAID[said]


@pytest.mark.parametrize("line", ["if $k>1$ then break", "if $k>1$ then $x_{k+1}=\\nabla f(x_1)$"])
def test_no_count_where_a_loop_may_be_left(line: str, tmp_path: Path) -> None:
    body = COUNTED.replace("8. $k=k+1$\n", f"8. $k=k+1$\n9. {line}\n").replace("9. end while", "10. end while")
    found = kinds(tmp_path, f"{HEAD}{body}\nAlgorithm 1 evaluates $K$ gradients of $f$.\n")
    assert "total" not in found


EPOCHS = """**Algorithm 1** Epochs

1. Input: start $x_{0,0}$, length $K$, number of epochs $T$
2. $t=0$, $k=0$, $A_0=0$
3. while $t<T$ do
4. $a_{k+1}=k+1$
5. $A_{k+1}=A_k+a_{k+1}$
6. $y_{t,k}=x_{t,k}+\\frac{1}{A_{k+1}}x_{t,k}$
7. $x_{t,k+1}=y_{t,k}-\\nabla f(y_{t,k})$
8. $k=k+1$
9. if $k\\ge K$ then
10. $x_{t+1,0}=x_{t,k}$
11. $t=t+1$, $k=0$
12. end if
13. end while
14. Output: $x_{t,0}$
"""
MISSING = {
    "never assigned": ("4. $a_{k+1}=k+1$\n", ""),
    "read too early": (
        "5. $A_{k+1}=A_k+a_{k+1}$\n6. $y_{t,k}=x_{t,k}+\\frac{1}{A_{k+1}}x_{t,k}$\n",
        "5. $y_{t,k}=x_{t,k}+\\frac{1}{A_{k+1}}x_{t,k}$\n6. $A_{k+1}=A_k+a_{k+1}$\n",
    ),
    "next epoch": ("10. $x_{t+1,0}=x_{t,k}$\n", "10. $z_{t+1,0}=x_{t+1,0}$\n"),
}


@pytest.mark.parametrize("case", MISSING)
def test_an_entry_without_a_value(case: str, tmp_path: Path) -> None:
    right, wrong = MISSING[case]
    assert right in EPOCHS
    assert kinds(tmp_path, HEAD + EPOCHS) == set()
    assert "unassigned" in kinds(tmp_path, HEAD + EPOCHS.replace(right, wrong))


def test_a_sequence_that_the_text_gives_is_no_defect(tmp_path: Path) -> None:
    words = "\nThe steps are $a_k=k$ for all $k\\ge 1$.\n"
    assert kinds(tmp_path, HEAD + EPOCHS.replace("4. $a_{k+1}=k+1$\n", "") + words) == set()


def test_an_index_that_stands_once_beside_letters_with_scripts(tmp_path: Path) -> None:
    body = (
        HEAD
        + "Let $s\\in\\mathbb{R}^d$ be a vector.\n"
        + "".join(f"\n$$\n{n}\\|s_k\\|\\le L.\n$$\n" for n in (2, 3, 4, 5))
    )
    assert kinds(tmp_path, body) == set()
    assert kinds(tmp_path, body.replace("5\\|s_k", "5\\|s_n")) == {"index"}


def test_a_statement_that_is_not_there_and_one_of_another_paper(tmp_path: Path) -> None:
    assert kinds(tmp_path, HEAD + "*Proof.* By Lemma 7 we have $f(x_1)\\le f(x_0)$.\n") == {"citation"}
    assert kinds(tmp_path, HEAD + "*Proof.* By [12, Lemma 7] we have $f(x_1)\\le f(x_0)$.\n") == set()
    assert kinds(tmp_path, HEAD + "*Proof.* By (Lemma 7 in in Luo et al. (2022)) we have $f(x_1)\\le 1$.\n") == set()
    assert kinds(tmp_path, HEAD + "*Proof.* By Lemma 7 of [12] we have $f(x_1)\\le f(x_0)$.\n") == set()
    assert kinds(tmp_path, HEAD + "## 2 Next\n\nBy Lemma 1 we have $f(x_1)\\le f(x_0)$.\n") == set()
    assert kinds(tmp_path, HEAD + "*Proof.* By Lemma 1 we have $f(x_1)\\le f(x_0)$.\n") == {"citation"}, "its own proof"


TEX = r"""\documentclass{article}\newcommand{\made}[1]{\label{eq:#1}}
\begin{document}
\begin{lemma}\label{first}For all $k\ge 0$ we have $f(x_{k+1})\le f(x_k)$.\end{lemma}
\begin{equation}f(x_1)\le f(x_0)\made{start}\end{equation}
\begin{proof}By Lemma~\ref{PLACE} and \eqref{eq:start}.\end{proof}
\end{document}
"""


AVERAGE = """# A paper

Let $f$ be a function with a gradient.

**Algorithm 1** A method

1. Input: $x_0$, $K\\ge1$
2. for $k=0,\\dots,K-1$ do
3. $x_{k+1}=x_k-\\nabla f(x_k)$
4. end for
5. Output: $\\bar x_K=\\frac1K\\sum_{k=FROM}x_k$

**Theorem 1.** The output satisfies $f(\\bar x_K)\\le 1$.

*Proof.* Let $\\bar x_K=\\frac1K\\sum_{k=0}^{K-1}x_k$. Then this is clear.
"""


@pytest.mark.parametrize(("span", "told"), [("0}^{K-1}", False), ("1}^{K}", True)])
def test_an_output_that_is_another_average(span: str, told: bool, tmp_path: Path) -> None:
    assert ("meaning" in kinds(tmp_path, AVERAGE.replace("FROM}", span))) is told


@pytest.mark.parametrize(("label", "told"), [("first", False), ("other", True)])
def test_a_label_that_is_set_nowhere(label: str, told: bool, tmp_path: Path) -> None:
    """One that a macro of the paper makes stands in braces elsewhere and is left alone."""
    assert ("citation" in kinds(tmp_path, TEX.replace("PLACE", label), "paper.tex")) is told


def test_a_circle_of_proofs(tmp_path: Path) -> None:
    body = (
        "*Proof of Lemma 1.* CITEDwe have $f(x_1)\\le f(x_0)$.\n\n**Lemma 2.** We have $f(x_2)\\le f(x_0)$.\n\n"
        "*Proof of Lemma 2.* By Lemma 1 we have $f(x_2)\\le f(x_1)$.\n"
    )
    assert kinds(tmp_path, HEAD + body.replace("CITED", "")) == set()
    assert kinds(tmp_path, HEAD + body.replace("CITED", "By Lemma 2 ")) == {"citation"}


def test_groups_are_graded_and_ordered() -> None:
    slips = [Defect("index", f"line {n}", "a slip", GRADES[2], cause="one") for n in (1, 2)]
    grave = Defect("endless", "line 3", "no end", GRADES[0])
    groups = grouped([*slips, grave])
    assert [g.first.title for g in groups] == ["no end", "a slip"]
    assert groups[1].places == ("line 1", "line 2")
    with pytest.raises(ValueError, match="no list"):
        Defect("nonsense", "", "", GRADES[0])
    assert set(KINDS) >= {"index", "endless"}


CARD = """
[paper]
key = "draft"
standing = "Section 1"
title = "A draft"
[letters]
a = { domain = "(0, oo)" }
b = { domain = "(0, oo)" }
[[lemma]]
id = "one"
source = "Lemma 1"
where = ["a >= 2*b", "CONDITION"]
where_from = "Lemma 1"
text = "words"
"""


@pytest.mark.parametrize(("condition", "void"), [("b >= 1", False), ("b >= a", True)])
def test_hypotheses_have_a_witness_or_are_void(condition: str, void: bool, tmp_path: Path) -> None:
    path = tmp_path / "card.toml"
    path.write_text(CARD.replace("CONDITION", condition), encoding="utf-8")
    report = proofread(load_card(path))
    assert [d.kind for d in report.defects] == (["hypothesis"] if void else [])
    assert set(report.witnesses) == (set() if void else {"one"})

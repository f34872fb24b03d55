"""What a stranger's papers taught: how they are read, and slips in them; all of them are in the thorough run."""

from __future__ import annotations

from pathlib import Path

import pytest
from incremental import told

from bilevel_verify.drafting import draft
from bilevel_verify.drafting.listings.blocks import understood
from bilevel_verify.language import to_text
from bilevel_verify.proofreading.source import paper_of_draft

STRANGERS = Path(__file__).parent / "strangers"
QUICK = ("22_holder.tex", "28_bisect_secant.tex", "40_newton_cg.tex", "58_dualavg.tex", "60_switch.md")
"""Few of them; the thorough run reads all."""
CG = r"""**Algorithm 1** A method

1. Input: $b$, $x_0$, $K$.
2. Set $r_0 = b - x_0$.
3. For $k = 0, 1, \dots, K-1$:
   1. $x_{k+1} = x_k + r_k$
   2. If $\|r_k\| \le 1$, stop and return $x_k$.
   3. $r_{k+1} = r_k - PLACE$
4. Return $x_K$.
"""
STAGES = r"""\begin{algorithm}\begin{algorithmic}[1]
\REQUIRE $z_0$, $\eta$, $S$
\FOR{$s=0,\dots,S-1$}
\STATE $y_s\gets PLACE-\eta\nabla f(PLACE)$
\STATE $z_{s+1}\gets\frac12(y_s+y_0)$
\ENDFOR
\RETURN $z_S$
\end{algorithmic}\end{algorithm}
"""
CHOSEN = r"""\begin{algorithm}\begin{algorithmic}[1]
\REQUIRE $x_0$, $K$
\FOR{$k=0,\dots,K-1$}
\STATE $s_k\in\PLACE_{v\in S}\langle\nabla f(x_k),v\rangle$
\STATE $x_{k+1}=x_k+\frac1{k+1}(s_k-x_k)$
\ENDFOR
\RETURN $x_K$
\end{algorithmic}\end{algorithm}
"""
PROOF = """**Lemma 1.** We have $f(x_{k+1})\\le f(x_k)$ for all $k\\ge 0$.

*Proof.* The gradient at $x_k$ is orthogonal to the last step by PLACE. Hence $f(x_{k+1})\\le f(x_k)$. $\\square$

**Lemma 2.** We have $f(x_k)\\le f(x_0)$ for all $k\\ge 0$.

*Proof.* Sum the bound of Lemma 1. $\\square$
"""
TWO = r"""**Algorithm 1** A method

1. Input: $x_0$, $K$.
2. For $k = 0, 1, \dots, K-1$:
   1. $y_k = x_k - \nabla f(x_k)$
   2. $x_{k+1} = y_k - \nabla f(y_k)$
3. Return $x_K$.

## 2 Cost

Each iteration evaluates $PLACE$ gradients of $f$.
"""
CASES = {
    "an identity": (
        "paper.md",
        "Let $k\\ge 0$. Because $2(k+1)^2-(k+1)(k+2)=PLACE$, the sum grows.\n",
        "k(k+2)",
        "k(k+1)",
        "is not k*(k + 2): 6 and 8 at k = 2",
    ),
    "numbers": ("paper.md", "Then $1-\\frac1{16}-\\frac12=PLACE$ holds.\n", "\\frac38", "\\frac7{16}", "is not 3/8"),
    "an entry before the first": ("paper.md", CG, "r_{k-1}", "x_{k+1}", "r[k - 1] is read in the first pass"),
    "a start that stands": ("paper.tex", STAGES, "z_0", "z_s", "none goes on from the last"),
    "a value and no set": ("paper.tex", CHOSEN, "max", "argmax", "arg max is meant"),
    "calls of one pass": ("paper.md", TWO, "3", "2", "make 2 of these calls, and not 3"),
    "a statement in its own proof": ("paper.md", PROOF, "Lemma 1", "the line search", "used in its own proof"),
}


@pytest.mark.parametrize("case", CASES)
def test_a_slip_is_told_and_the_right_text_is_not(case: str) -> None:
    name, text, wrong, right, words = CASES[case]
    assert any(words in title for _, title, _ in told(text.replace("PLACE", wrong), name))
    assert not told(text.replace("PLACE", right), name)


@pytest.mark.parametrize(
    "said",
    [
        "if $2(k+1)=k(k+2)$",
        "let $k$ solve $2(k+1)=k(k+2)$",
        "we stop when $2(k+1)=k(k+2)$",
        "we have $(k+1)n=k(n+2)$",
        "then $2k+1=9$",
        "the square $(1+i)^2=2i$",
    ],
)
def test_what_is_supposed_or_holds_somewhere_is_no_identity(said: str) -> None:
    assert not told(f"For all $k\\ge 0$ and $n\\ge 1$ consider this: {said} and go on.\n", "paper.md")


@pytest.mark.parametrize(
    "said",
    [
        "Restarted twice, it costs $3$ gradients of $f$.",
        "Each pass in a run of Algorithm 1 makes $3$ gradients of $f$ small.",
    ],
)
def test_counts_of_something_else_are_left_alone(said: str) -> None:
    assert not told(TWO.replace("Each iteration evaluates $PLACE$ gradients of $f$.", said), "paper.md")


def test_an_entry_before_the_first_may_be_given() -> None:
    text = CG.replace("PLACE", "r_{k-1}")
    assert not told(f"We set $r_{{-1}}=x_0$ by convention.\n\n{text}", "paper.md")
    assert not told(text.replace("2. Set $r_0", "2. Set $r_{-1}=x_0$, $r_0"), "paper.md")
    assert not told(text.replace("$K$.\n2. Set $r_0 = b - x_0$.", "$r_0 = r_{-1}$, $K$.\n2. Set $s = 1$."), "paper.md")


def test_a_nested_list_has_the_blocks_that_it_shows(tmp_path: Path) -> None:
    path = tmp_path / "paper.md"
    path.write_text(CG.replace("PLACE", "x_{k+1}"), encoding="utf-8")
    paper = paper_of_draft(draft(path))
    statements = [(s.label, type(s).__name__) for s in understood(paper.listings[0], paper.notation).program.walk()]
    assert statements == [
        ("2", "Assign"),
        ("3", "For"),
        ("3.1", "Assign"),
        ("3.2", "If"),
        ("3.2", "Return"),
        ("3.3", "Assign"),
        ("4", "Return"),
    ]


def test_a_block_on_one_line(tmp_path: Path) -> None:
    path = tmp_path / "paper.md"
    line = "2. For $t=1,\\dots,T$: observe $g_t$ and set $x_{t+1}=x_t-\\eta g_t$."
    path.write_text(f"**Algorithm 1** Steps\n\n1. Input: $x_1$, $\\eta$, $T$.\n{line}\n3. Return $x_T$.\n", "utf-8")
    paper = paper_of_draft(draft(path))
    printed = understood(paper.listings[0], paper.notation)
    assert [type(s).__name__ for s in printed.program.walk()] == ["For", "Assign", "Assign", "Return"]
    assert printed.passed == ()


READ = {
    "E of a term": (r"\mathbb{E}\|x_{k+1}\|^2\le\frac12\mathbb{E}\|x_k\|^2+1", "expectation(norm(x[k + 1])**2)"),
    "E of a product": (r"\mathbb{E} f(x_{k+1})-f(x_0)\le\mathbb{E} f(x_k)", "expectation(f(x[k + 1])) - f(x[0])"),
    "E given": (r"\mathbb{E}[f(x_{k+1})\mid x_k]\le f(x_k)", "expectation(x[k], f(x[k + 1]))"),
    "E given, in a fence": (r"\mathbb{E}\left[f(x_{k+1})\mid x_k\right]\le f(x_k)", "expectation(x[k], f(x[k + 1]))"),
    "a subdifferential": (r"g_k\in\partial f(x_k)", "subdifferential(f(x[k]))"),
    "an entry of the gradient": (r"|\partial_i f(x_k)|\le1", "abs(component(grad_f(x[k]), i))"),
    "the infimum of a function": (r"f(x_k)\ge\inf f", "inf(f(_), (_,))"),
    "an interval": (r"[0,1]\cup[2,3]\ne\emptyset", "union(interval_closed(0, 1), interval_closed(2, 3))"),
    "a probability": (r"\Pr[f(x_k)\ge1]\le1", "probability(f(x[k]) >= 1)"),
    "two running letters": (r"\sum_{i=1}^n\sum_{j=1}^nh_{ij}\le1", "sum(sum(h[i,j], (j, 1, n)), (i, 1, n))"),
    "letters behind an index": (r"p_kBc_k\le1", "p[k]*B*c[k]"),
    "a map": (r"f:\mathbb R^n\times\mathbb R\to\mathbb R", "maps(f, times(reals(n), reals()), reals())"),
    "a derivative by time": (r"\frac{d}{dt}f(x_k)\le0", "derivative(f(x[k]), t)"),
    "the vector of ones": (r"\mathbf{1}^\top x_k=\mathbf{1}^\top x_0", "T(n1_bf) @ x[k]"),
}


@pytest.mark.parametrize("case", READ)
def test_formulas_of_strangers_are_read(case: str, tmp_path: Path) -> None:
    latex, expected = READ[case]
    path = tmp_path / "paper.md"
    words = "Let $f(x_k)\\le1$, and let $x_0,x_1,\\dots$ be points with $\\|x_{k+1}\\|\\le\\|x_k\\|+\\|g_k\\|$."
    path.write_text(f"{words} Then\n\n$$ {latex} $$\n\nand $\\mathbb{{E}}\\|x_k\\|\\le1$.\n", encoding="utf-8")
    paper = paper_of_draft(draft(path))
    shown = next(s for s in paper.sentences if s.read.formula.kind == "display")
    assert expected in [to_text(node) for node in shown.nodes()], shown.read.message


@pytest.mark.parametrize("name", QUICK)
def test_nothing_is_found_in_a_right_text(name: str) -> None:
    assert told((STRANGERS / name).read_text(encoding="utf-8"), name) == {}

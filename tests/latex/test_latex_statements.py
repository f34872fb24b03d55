"""Displays: chains over several lines, labels, several statements, conditions, programmes."""

from __future__ import annotations

import pytest

from bilevel_verify.language import to_text
from bilevel_verify.latex import Notation, Reading, read_latex
from tests.latex.evaluation import NOTATION

pytestmark = pytest.mark.fast


def read(latex: str) -> Reading:
    return read_latex(latex, NOTATION)


TEXTS = {
    r"\begin{split} a &\le b \\ &\overset{(a)}{\le} c+r \\ &\quad - \mu=\nu. \end{split}": "a <= b <= c + r - mu == nu",
    r"a & =b \\ \leq c": "a == b <= c",
    r"a \stackrel{a}{\leq} b": "a <= b",
    r"a := b \triangleq c": "a := b := c",
    r"a=b,\quad c=r": "a == b; c == r",
    r"a=b\qquad\text{and}\qquad c=r": "a == b; and c == r",
    r"\begin{aligned} x_k &= y, \\ y &= z^k, \end{aligned}": "x[k] == y; y == zu[k]",
    r"a\le b,\quad\forall k\ge 1": "a <= b, for k >= 1",
    r"a\le b,\quad\text{for all } k\ge 1": "a <= b, for k >= 1",
    r"a\le b\quad\text{for each $k=0,1,2,\dots$}": "a <= b, for k == list(0, 1, 2, dots)",
    r"a\le b,\ \text{for }i=1,2,3": "a <= b, for i == list(1, 2, 3)",
    r"\|x_k\|\le a,\ \|y_k\|\le b,\ \forall k\le K": "norm(x[k]) <= a, for k <= K; norm(y[k]) <= b, for k <= K",
    r"\|x_k\|\le a,\ \forall k\le K, \\ \|y_k\|\le b": "norm(x[k]) <= a, for k <= K; norm(y[k]) <= b",
    r"\|x_k\|\le a,\ \forall a\in[0,1],b\in[1,2]": (
        "norm(x[k]) <= a, for a in interval_closed(0, 1), for b in interval_closed(1, 2)"
    ),
    r"a,b>0": "list(a, b) > 0",
    r"k=0,1,\dots,K-1": "k == list(0, 1, dots, K - 1)",
    r"\nu\in[0,1]": "nu in interval_closed(0, 1)",
    r"\theta\in(0,1]": "theta in interval_open_closed(0, 1)",
    r"x\in\mathbb{R}^{d}": None,
    r"\mathbf{A}\succeq-\mu\mathbf{I}": "A psd>= -(mu*I)",
    r"a\leftarrow b": "a <- b",
    r"\leq a+b": "<= a + b",
    r"a\ge 0 \\ \Leftrightarrow b\ge 0": "a >= 0; iff b >= 0",
    r"\min_x\varphi(x):=f(x,y)": "min (x,): phi(x) := f(x, y)",
    r"y^*(x):=\arg\min_{y}g(x,y)": "y_star(x) := argmin(g(x, y), (y,))",
    r"y^*(x)=\arg\min_y g(x,y):=\varphi(y)+a": "y_star(x) == argmin(g(x, y), (y,)); where g(x, y) := phi(y) + a",
    r"\arg\min_{y}\varphi(y)+a\|y\|^2": "argmin(phi(y) + a*norm(y)**2, (y,))",
    r"\min_x f(x,y)\quad\text{s.t. }g(x,y)\le 0": "min(f(x, y), (x,)); s.t. g(x, y) <= 0",
    r"\underbrace{a+b}_{c}\le r": "a + b <= r; label c == a + b",
    r"\underbrace{a+b}_{\text{small}}\le r": "a + b <= r",
    r"\left[a\right. \\ \left.+b\right]c": "(a + b)*c",
    r"\phantom{{}\le{}}a\vspace{-1mm}": "a",
    r"a\le\|x\|\ .": "a <= norm(x)",
    r"\begin{cases}a=b\\ c\ge 0\end{cases}": "a == b; c >= 0",
    r"$a^2$": "a**2",
    "a % a remark\n+b^1": "a + b**1",
}


@pytest.mark.parametrize(
    ("latex", "text"), [(k, v) for k, v in TEXTS.items() if v], ids=[k for k, v in TEXTS.items() if v]
)
def test_statements(latex: str, text: str) -> None:
    reading = read(latex)
    assert reading.text == text
    kept = tuple(s for s in reading.statements if s.word != "label")
    assert read(reading.latex()).statements == kept, reading.latex()


def test_labels_spans_and_columns() -> None:
    statement = read(r"a \overset{({\rm b})}{\leq} b, c=r").statements[0]
    assert [(r.word, r.label) for r in statement.relations] == [("<=", "(b)")]
    assert (statement.start, statement.relations[0].column) == (0, 3)
    assert [m.column for m in statement.members] == [1, 29]


def test_a_line_with_its_own_left_side_after_a_minus_is_asked() -> None:
    from bilevel_verify.errors import LatexError

    with pytest.raises(LatexError, match="begins with a minus"):
        read("a &= b \\\\ -c &= r")
    assert read("a &= b \\\\ & - c \\le r").text == "a == b - c <= r"


def test_one_statement_has_a_tree_several_have_not() -> None:
    from bilevel_verify.errors import LatexError

    assert read("a\\le b").tree == read("a\\leq b").statements[0].tree
    with pytest.raises(LatexError, match="several statements"):
        _ = read("a=b, c=r").tree
    with pytest.raises(LatexError, match="a relation that cards do not have"):
        _ = read(r"\theta\in[0,1]").tree


@pytest.mark.parametrize("latex", ["a<b=c", "<a<b=c"])
def test_links_are_between_neighbours_whether_or_not_the_chain_begins_before(latex: str) -> None:
    (chain,) = read(latex).statements
    assert chain.continues is latex.startswith("<")
    found = [(to_text(one), relation.word, to_text(other)) for one, relation, other in chain.links()]
    assert found == [("a", "<", "b"), ("b", "==", "c")]


def test_free_letters_name_themselves() -> None:
    reading = read_latex(r"\bar\rho\lambda_1+\mathcal{D}x_{k+1}-\sum_{i=1}^n y_i\le\alpha'\varepsilon^2\pi")
    assert (
        reading.text
        == "rho_bar*lambda_1 + D_cal*x[k + 1] - sum(y[i], (i, 1, n)) <= alpha_p*varepsilon**2*pi".replace(
            "lambda_1", "lam_1"
        )
    )
    assert read_latex(reading.latex()).statements == reading.statements


def test_known_names_are_preferred() -> None:
    assert read_latex(r"x_1+\epsilon^2", Notation().with_names(["x1", "epsilon"])).text == "x1 + epsilon**2"


def test_macros_of_a_document() -> None:
    macros = {"R": r"\mathbb{R}", "norm": r"\left\|#1\right\|", "eps": r"\epsilon"}
    assert read_latex(r"\norm{x-y}\le\eps", NOTATION, macros=macros).text == "norm(x - y) <= eps"
    assert read_latex(r"\norm{\norm{x}y}^2", NOTATION, macros=macros).text == "norm(norm(x)*y)**2"


@pytest.mark.parametrize("macros", [{"a": r"\a\a"}, {"a": r"\b", "b": r"\a"}, {"a": r"x\a x"}, {"a": "#1"}])
def test_macros_without_end_or_argument(macros: dict[str, str]) -> None:
    from bilevel_verify.errors import LatexError

    with pytest.raises(LatexError) as caught:
        read_latex(r"\a", NOTATION, macros=macros)
    assert caught.value.reason in ("too large", "missing")

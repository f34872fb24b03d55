"""What is not read says where and why, from the closed list; both readings of an ambiguity are printed."""

from __future__ import annotations

import pytest

from bilevel_verify.errors import LatexError
from bilevel_verify.language import to_text
from bilevel_verify.latex import REASONS, Notation, read_formula, read_latex
from tests.latex.evaluation import NOTATION

pytestmark = pytest.mark.fast

CASES = [
    ("unbalanced", r"\frac{a}{b", 9),
    ("unbalanced", r"a}", 2),
    ("unbalanced", r"(a+b", 1),
    ("unbalanced", r"a+b)", 4),
    ("unbalanced", r"\left(a+b\right]", 1),
    ("unbalanced", r"\|a", 1),
    ("unbalanced", r"\begin{aligned}a", 1),
    ("unbalanced", r"\begin{aligned}a\end{split}", 17),
    ("unbalanced", r"\text{where a", 1),
    ("macro", r"a+\foo b", 3),
    ("macro", r"a\pound b", 2),
    ("macro", r"(a\foo b)", 3),
    ("letter", r"a+q", 3),
    ("letter", r"\bar{a}", 1),
    ("letter", r"L_h", 1),
    ("letter", r"\mathbf{x}", 9),
    ("words", r"a \text{ increases }", 9),
    ("words", r"\text{cost} = a", 7),
    ("missing", "", 1),
    ("missing", r"a+", 2),
    ("missing", r"a\le", 2),
    ("missing", r"\frac{a}", 1),
    ("missing", r"\sum_{i=1}^k", 11),
    ("missing", r"a^", 2),
    ("script", r"(a+b)_c", 6),
    ("script", r"a^b^c", 4),
    ("script", r"\|x\|_\infty", 6),
    ("script", r"\sin_2 a", 5),
    ("script", r"\nabla^4\varphi(x)", 1),
    ("script", r"(a+b)'", 6),
    ("arguments", r"\varphi a", 9),
    ("arguments", r"\nabla a", 8),
    ("arguments", r"\lambda_{\min}(\mathbf A,\mathbf B)", 1),
    ("arguments", r"\langle x\rangle", 1),
    ("range", r"\sum_{i}^{k}a", 5),
    ("range", r"\sum_{i<k}a", 9),
    ("range", r"\max_{a\le b\le c}a", 17),
    ("range", r"\int a", 1),
    ("kind", r"xy", 2),
    ("kind", r"x^2", 1),
    ("kind", r"a/x", 2),
    ("kind", r"\mathbf{B}(a+\mathbf{A})^{-1}\mathbf{B}", 38),
    ("kind", r"\log x", 1),
    ("kind", r"\mathbf{A}x\mathbf{A}x", 22),
    ("syntax", r"a\$b", 2),
    ("syntax", "a@b", 2),
    ("syntax", r"a:b", 2),
    ("too large", "a^{99}", 1),
    ("too large", "2^{3^{4}}", 2),
    ("too large", "1" * 61, 1),
    ("too large", "{" * 40 + "a" + "}" * 40, 31),
    ("too large", "a+" * 30_000 + "a", 1),
    ("picture", r"\includegraphics{a.png}", 1),
    ("picture", r"\begin{tikzpicture}\end{tikzpicture}", 1),
]
OPEN = [
    ("a/b c", "quotient", "denominator"),
    (r"\log ab", "first factor", "product"),
    (r"\log(a)^2", "power of", "of the power"),
    (r"\sum_{i=1}^k Z_i-Z_{i-1}", "ends before the sign", "goes on"),
    (r"\min_x\varphi(x)-\|x\|", "ends before the sign", "goes on"),
    (r"f(x,y)\\ g(x,y)", "product", "new formula"),
    ("Z_{ij}", "two indices", "product"),
    (r"a\pm b", "+", "-"),
    (r"{ab}^2", "last factor", "all of it"),
    ("a2", r"\cdot", "name"),
    ("1,000", "one number", "two numbers"),
    (r"\frac{da}{da}", "derivative", "quotient"),
    ("(a+b)!!", "double", "factorial of"),
    ("a(b)", "applied", "times"),
    (r"\sum_{i<j\le k}Z_iZ_j", "runs, too", "is given"),
    (r"50\%a", "hundredths", "remainder"),
    ("Z_{(k)}", "an index", "order statistic"),
    ("x(t+1)", "applied", "times"),
    ("Z_k(a)", "applied", "times"),
    (r"\mathbf{A}(x)^T", "", ""),
]


@pytest.mark.parametrize(("reason", "latex", "column"), CASES, ids=[f"{r}: {x[:30]}" for r, x, _ in CASES])
def test_reason_and_column(reason: str, latex: str, column: int) -> None:
    with pytest.raises(LatexError) as caught:
        read_latex(latex, NOTATION)
    assert (caught.value.reason, caught.value.column, caught.value.line) == (reason, column, 1)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(("latex", "one", "other"), OPEN[:-1], ids=[x for x, _, _ in OPEN[:-1]])
def test_an_ambiguity_prints_both_readings(latex: str, one: str, other: str) -> None:
    with pytest.raises(LatexError) as caught:
        read_latex(latex, NOTATION)
    assert caught.value.reason == "ambiguous"
    first, second = caught.value.readings
    assert one in first
    assert other in second
    assert first in str(caught.value)
    assert second in str(caught.value)


def test_every_reason_of_the_list_is_met() -> None:
    assert {reason for reason, _, _ in CASES} | {"ambiguous"} == set(REASONS)


def test_the_line_is_named() -> None:
    with pytest.raises(LatexError) as caught:
        read_latex("a &\\le b \\\\\n  &\\le q", NOTATION)
    assert (caught.value.line, caught.value.column) == (2, 8)


FREE = [
    "f(x)^2",
    "f(x+1)^2",
    r"x'(a)^2",
    "lam^2",
    "sqrt(x+1)^2",
    "x1^2",
    "e^x",
    r"f(x,y)\le 1",
    "E[X^2]",
    r"\mathbb{E}(X+1)^2",
    r"\mathbb{E}\|X\|^2",
    r"X\,\mathbb{E}_t X",
    r"P(1-x)",
    r"O(n\log n)",
    r"\mathcal{O}(n+1)",
    "x^Ty",
]


@pytest.mark.parametrize("latex", FREE)
def test_without_a_notation_what_looks_like_a_function_or_a_name_is_asked(latex: str) -> None:
    with pytest.raises(LatexError) as caught:
        read_latex(latex)
    assert caught.value.reason == "ambiguous"


def test_letters_that_are_named_are_numbers() -> None:
    names = ("P", "T", "r", "E")
    node, _ = read_formula("P(1+r)^T", names)
    assert to_text(node) == "P*(1 + r)**T"
    assert to_text(read_formula("r^T", names)[0]) == "r**T"
    assert to_text(read_formula("E(1+r)^2", names)[0]) == "E*(1 + r)**2"


def test_two_symbols_that_would_share_a_name() -> None:
    with pytest.raises(LatexError, match="both be called"):
        read_latex(r"\bar{x}+x_{bar}")


def test_a_matrix_before_a_vector_in_brackets_is_no_guess() -> None:
    table = {"matrices": "A", "matrix_functions": "A=A_of", "vectors": "x"}
    with pytest.raises(LatexError, match="letter and a function"):
        read_latex("A(x)", Notation.from_table(table))


def test_a_letter_that_is_a_function_too_is_told_by_its_arguments() -> None:
    table = {
        "letters": r"L \sigma",
        "functions": r"L=loss:3 \sigma=sigmoid:1,of-lam",
        "vectors": "x y",
        "sequences": r"\lambda=lam",
    }
    notation = Notation.from_table(table)
    assert read_latex("L(x;x,y)+L(\\sigma+1)", notation).text == "loss(x, x, y) + L*(sigma + 1)"
    assert read_latex(r"\sigma(\lambda_1)\sigma(L+1)", notation).text == "sigmoid(lam[1])*sigma*(L + 1)"


def test_an_index_that_lost_its_letter_is_no_index() -> None:
    with pytest.raises(LatexError, match="begins with '\\+'"):
        read_latex(r"\|x_{+1} - x_i\|^2", Notation())
    read_latex(r"\|x_{i+1} - x_i\|^2", Notation())

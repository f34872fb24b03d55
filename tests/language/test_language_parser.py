"""The whitelist parser: what is read, what is refused, and that nothing else ever happens."""

from __future__ import annotations

from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bilevel_verify.errors import ExpressionError
from bilevel_verify.language import PROBLEM, check_names, functions, letters, parse
from bilevel_verify.language import tree as t


def test_numbers_are_exact() -> None:
    assert parse("0.64") == t.Number(Fraction(16, 25))
    assert parse("1e-3") == t.Number(Fraction(1, 1000))
    assert parse("1/288") == t.Divide(t.Number(Fraction(1)), t.Number(Fraction(288)))


def test_precedence_is_that_of_mathematics() -> None:
    assert parse("-x**2") == t.Negate(t.Power(t.Letter("x"), t.Number(Fraction(2))))
    x, a, b = t.Letter("x"), t.Letter("a"), t.Letter("b")
    assert parse("a/b*x") == t.Multiply((t.Divide(a, b), x))
    assert parse("a - b - x") == t.Add((a, t.Negate(b), t.Negate(x)))
    assert parse("a < b <= x").operators == ("<", "<=")  # type: ignore[attr-defined]


def test_long_sums_are_flat() -> None:
    node = parse(" + ".join(f"x{i}" for i in range(900)), limits=PROBLEM)
    assert isinstance(node, t.Add)
    assert len(node.terms) == 900


def test_sequences_ranges_and_synonyms() -> None:
    node = parse("sum(norm(x[t,i+1] - x[t,-1])**2, (i, 0, k-1)) + Max(a, 1)")
    assert letters(node) == {"x", "t", "i", "k", "a"}
    assert functions(node) == {"sum", "norm", "max"}


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "empty"),
        ("x^2", "write '**'"),
        ("lambda*2", "write 'lam'"),
        ("x.__class__", "Attribute"),
        ("__import__('os')", "not a name"),
        ("'text'", "not a number"),
        ("[x for x in y]", "ListComp"),
        ("f(x)(y)", "plain functions"),
        ("f(*x)", "plain arguments"),
        ("f(x=1)", "plain arguments"),
        ("x if y", "not an expression"),
        ("9**9**9", "tower"),
        ("x**65", "exponent larger than 64"),
        ("(" * 80 + "x" + ")" * 80, "nested deeper"),
        ("-" * 100 + "x", "nested deeper"),
        ("1" * 100, "digits"),
        ("1e999", "decimal exponent"),
        ("1j", "not a number"),
        ("~x", "'~'"),
        ("x is y", "comparison"),
        ("x" * 5000, "characters"),
        ("a := 3", "not an expression"),
        ("x\x00", "printable"),
        ("(yield)", "Yield"),
    ],
)
def test_refused_with_a_reason(text: str, said: str) -> None:
    with pytest.raises(ExpressionError) as caught:
        parse(text)
    assert said in str(caught.value)
    assert "\n" not in str(caught.value)
    assert len(str(caught.value)) < 300


def test_unknown_names_get_a_suggestion() -> None:
    with pytest.raises(ExpressionError, match=r"unknown letter 'kapa'; did you mean 'kappa'\?.*column 5"):
        check_names(parse("1 + kapa"), {"kappa"}, {"sqrt"}, "1 + kapa")
    with pytest.raises(ExpressionError, match="unknown function 'sqr'; did you mean 'sqrt'"):
        check_names(parse("sqr(2)"), set(), {"sqrt"}, "sqr(2)")


@settings(max_examples=300, deadline=None)
@given(st.text(max_size=60))
def test_arbitrary_text_never_does_anything_else(text: str) -> None:
    try:
        node = parse(text)
    except ExpressionError:
        return
    assert isinstance(node, t.Node)


@settings(max_examples=200, deadline=None)
@given(st.text(alphabet="xy12+-*/()., <=[]abs_E\n\t", max_size=40))
def test_near_misses_never_do_anything_else(text: str) -> None:
    try:
        parse(text)
        said = ""
    except ExpressionError as error:
        said = str(error)
    assert "\n" not in said


@pytest.mark.parametrize(
    ("text", "after"),
    [("x y <= 1", "x"), ("2 x <= 1", "2"), ("(x + 1) y", r"\)"), ("a and x y", "x"), ("eta L/2", "eta")],
)
def test_a_missing_product_sign_is_named(text: str, after: str) -> None:
    with pytest.raises(ExpressionError, match=rf"a '\*' is missing after '{after}'"):
        parse(text)


@pytest.mark.parametrize("text", ["x**2 = 1", "1 <= x = y", "sum(k, (k, 1, n)) = n"])
def test_one_equals_sign_is_named(text: str) -> None:
    with pytest.raises(ExpressionError, match="'=' is no relation; write '=='"):
        parse(text)


@pytest.mark.parametrize("text", ["x**2 == 1 $", "x <= 1 $", "x >= 1 $", "x != 1 $"])
def test_relations_are_not_taken_for_one_equals_sign(text: str) -> None:
    with pytest.raises(ExpressionError, match="not an expression"):
        parse(text)

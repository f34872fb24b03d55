"""The interpreter of trees against Python's own arithmetic on rationals, and its refusals."""

from __future__ import annotations

import time
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bilevel_verify.checks.claims import values as v
from bilevel_verify.checks.claims.evaluate import Evaluator
from bilevel_verify.errors import MathematicalError
from bilevel_verify.language import parse


class Recorded:
    """A tiny run: one sequence x of numbers, two epochs."""

    def __init__(self, epochs):
        self.epochs = epochs
        self.reads = 0

    def entry(self, name, epoch, k):
        self.reads += 1
        try:
            if name != "x" or k < 0:
                raise IndexError
            return v.vector([self.epochs[epoch][k]])
        except IndexError:
            raise v.EvaluationError(f"not recorded: {name}[{epoch}, {k}]") from None

    def fact(self, name, bound):
        return {"k_end": Fraction(len(self.epochs[bound["t"]]) - 1)}[name]

    def calls(self, kind):
        return {"grad_f": 7, "grad_g": 5}[kind]


def evaluator(letters=None, definitions=None, sequences=None):
    values = {name: (value, "proved") for name, value in (letters or {}).items()}
    return Evaluator(values, {n: parse(t) for n, t in (definitions or {}).items()}, None, sequences)


leaves = st.one_of(
    st.integers(0, 20).map(str),
    st.fractions(0, 5, max_denominator=20).map(lambda q: f"({q.numerator}/{q.denominator})"),
)
expressions = st.recursive(
    leaves,
    lambda inner: st.one_of(
        st.tuples(inner, st.sampled_from([" + ", " - ", "*"]), inner).map(lambda p: f"({p[0]}{p[1]}{p[2]})"),
        inner.map(lambda e: f"(-{e})"),
        st.tuples(inner, st.integers(0, 3)).map(lambda p: f"({p[0]})**{p[1]}"),
    ),
    max_leaves=12,
)


def rational(text: str) -> Fraction:
    """The same text by Python's own arithmetic (test data of this file only)."""
    import ast

    def walk(node):
        match node:
            case ast.Constant(value=value):
                return Fraction(value)
            case ast.UnaryOp(operand=operand):
                return -walk(operand)
            case ast.BinOp(left=left, op=op, right=right):
                a, b = walk(left), walk(right)
                operations = {
                    "Add": lambda: a + b,
                    "Sub": lambda: a - b,
                    "Mult": lambda: a * b,
                    "Div": lambda: a / b,
                    "Pow": lambda: a ** int(b),
                }
                return operations[type(op).__name__]()
        raise AssertionError(node)

    return walk(ast.parse(text, mode="eval").body)


@given(expressions)
def test_rational_expressions_are_exact(text):
    result = evaluator().value(parse(text))
    expected = rational(text)
    if isinstance(result, Fraction):
        assert result == expected
    else:
        assert v.compare(result, "==", expected) is not False


@given(expressions, expressions, st.sampled_from(["<", "<=", ">", ">="]))
def test_a_condition_never_contradicts_the_rationals(left, right, operator):
    answer = evaluator().answer(parse(f"{left} {operator} {right}"))
    a, b = rational(left), rational(right)
    truth = {"<": a < b, "<=": a <= b, ">": a > b, ">=": a >= b}[operator]
    assert answer in (None, truth)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("sum(i**2, (i, 1, 10))", 385),
        ("prod(i, (i, 1, 6))", 720),
        ("max(i*(7-i), (i, 0, 7))", 12),
        ("argmin((i-4)**2, (i, 0, 9))", 4),
        ("argmax(i*(6-i), (i, 0, 6))", 3),
        ("sum(i, (i, 3, 2))", 0),
        ("sum(1, (i, 0, 1/2))", 1),  # real ends: the integers between them
        ("sum(1, (i, 1/2, 7/2))", 3),
        ("sum(1, (i, -1/2, 1/2))", 1),
        ("sum(1, (i, 1/3, 2/3))", 0),
        ("sum(i, (i, log(2), exp(1)))", 3),
        ("max(1, 5, 3)", 5),
        ("floor(7/2) + ceil(-7/2) + 17 % 5", 2),
        ("-7 % 3", 2),
        ("plus(-3) + plus(2)", 2),
        ("binomial(5, 2) + factorial(4)", 34),
        ("1 if 2 < 3 else 1/0", 1),
        ("abs(-3/2)", Fraction(3, 2)),
        ("sqrt(9/4) + exp(0) + log(1) + cos(0)", Fraction(7, 2)),
        ("4**(1/2)", 2),
        ("sign(-3)", -1),
    ],
)
def test_values(text, value):
    assert evaluator().value(parse(text)) == value


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("argmin(i, (i, 3, 2))", "empty"),
        ("1/(2-2)", "zero"),
        ("log(0)", "logarithm"),
        ("sum(1, (i, 1, 10**9))", "budget"),
        ("sqrt(-1)", "negative"),
        ("nothing + 1", "no value"),
        ("O(3)", "order symbol"),
        ("sum(i, (i, 0, exp(log(2))))", "an upper limit cannot be told from its neighbours"),
        ("sum(i, (i, exp(log(2)), 5))", "a lower limit cannot be told from its neighbours"),
        ("argmin(i, (i, 1/3, 2/3))", "empty"),
        ("x[1/2]", "not"),
        ("phi(1)", "no value here"),
    ],
)
def test_refusals(text, reason):
    with pytest.raises(MathematicalError, match=reason):
        evaluator().value(parse(text))


def test_definitions_are_followed_and_circles_are_named():
    assert evaluator({"a": Fraction(2)}, {"b": "a**2", "c": "b + a"}).value(parse("c")) == 6
    with pytest.raises(MathematicalError, match="b -> c -> b"):
        evaluator({}, {"b": "c", "c": "b"}).value(parse("b"))


def test_definitions_may_mention_the_place():
    run = Recorded([[0.0, 1.0, 3.0], [3.0, 3.5]])
    tool = evaluator({}, {"S": "sum(norm(x[i] - x[i-1])**2, (i, 1, k))"}, run)
    assert v.compare(tool.value(parse("S"), {"t": 0, "k": 2}), "==", Fraction(5)) is True
    assert v.compare(tool.value(parse("S"), {"t": 0, "k": 1}), "==", Fraction(1)) is True
    assert v.compare(tool.value(parse("S"), {"t": 1, "k": 1}), "==", Fraction(1, 4)) is True
    assert v.compare(tool.value(parse("x[1, k_end]"), {"t": 1}), "==", Fraction(7, 2)) is True


def test_running_sums_are_linear():
    n = 400
    run = Recorded([[float(i) for i in range(n)]])
    tool, node = evaluator({}, {}, run), parse("sum(norm(x[i+1] - x[i])**2, (i, 0, k-1))")
    for k in range(1, n):
        tool.value(node, {"t": 0, "k": k})
    assert run.reads <= 2 * n
    start = time.process_time()
    tool.value(node, {"t": 0, "k": n - 1})
    assert time.process_time() - start < 0.05


def test_certainty_is_the_weakest_ingredient():
    letters = {"a": (Fraction(1), "proved"), "b": (v.ball(2.5), "certified"), "c": (Fraction(3), "computed")}
    tool = Evaluator(letters)
    tool.value(parse("a + 1"))
    assert tool.certainty == "proved"
    tool.value(parse("a + b"))
    assert tool.certainty == "certified"
    tool.value(parse("a + c"))
    assert tool.certainty == "computed"
    tool.reset()
    tool.value(parse("sqrt(2)"))
    assert tool.certainty == "certified"


def test_the_certainty_of_a_remembered_sum_is_remembered():
    tool = Evaluator({"c": (Fraction(3), "computed")}, {}, None, Recorded([[0.0]]))
    node = parse("sum(c, (i, 0, 3))")
    tool.value(node, {"t": 0})
    tool.reset()
    tool.value(node, {"t": 0})
    assert tool.certainty == "computed"


def test_calls_are_counts():
    tool = evaluator(sequences=Recorded([[0.0]]))
    assert tool.value(parse("calls(grad_f) + 1")) == 8
    assert tool.value(parse("calls(grad_f, grad_g)")) == 12


def test_formulas_of_letters_alone_are_evaluated_once(monkeypatch):
    import flint

    calls = []
    power = v.VALUES.raised
    monkeypatch.setattr(type(v.VALUES), "raised", staticmethod(lambda a, b: calls.append(1) or power(a, b)))
    evaluator = Evaluator({"a": (Fraction(2), "proved"), "n": (Fraction(3), "computed")})
    node = parse("k*(a**n + 1)")
    assert [evaluator.value(node, {"k": k}) for k in range(5)] == [9 * k for k in range(5)]
    assert len(calls) == 1
    evaluator.reset()
    evaluator.value(node, {"k": 7})
    assert evaluator.certainty == "computed"  # of what was remembered, too
    assert evaluator.value(node, {"k": 1, "a": 3}) == 28  # a place that binds a letter
    assert evaluator.value(node, {"k": 1}) == 9
    assert evaluator.value(parse("sum(k*a, (a, 1, 3))"), {"k": 1}) == 6  # an index that hides a letter
    root = parse("sqrt(a)*k")
    saved = flint.ctx.prec
    try:
        for bits in (64, 512):
            flint.ctx.prec = bits
            assert 2.0 ** (-8 - bits) < float(evaluator.value(root, {"k": 1}).rad()) < 2.0 ** (4 - bits)
    finally:
        flint.ctx.prec = saved


def test_what_was_computed_from_letters_is_forgotten_with_them() -> None:
    evaluator = Evaluator({"n": (Fraction(1), "proved")})
    node = parse("n + 1 >= 3")
    assert evaluator.answer(node) is False
    evaluator.letters = {"n": (Fraction(5), "proved")}
    assert evaluator.answer(node) is True
    evaluator.letters = {}
    with pytest.raises(MathematicalError, match="the letter n has no value"):
        evaluator.answer(node)

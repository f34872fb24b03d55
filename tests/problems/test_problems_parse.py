"""The interpreter from text to SymPy: meaning, recognition of stable forms, budgets, refusals, arbitrary text."""

from __future__ import annotations

import time

import numpy as np
import pytest
import sympy
from hypothesis import example, given, settings
from hypothesis import strategies as st

from bilevel_verify import atoms
from bilevel_verify.errors import ExpressionError, InputError
from bilevel_verify.language import PROBLEM, parse
from bilevel_verify.problems import single_level
from bilevel_verify.problems.text import to_text
from bilevel_verify.problems.to_sympy import to_sympy
from bilevel_verify.problems.vocabulary import KNOWN_FUNCTIONS

x1, x2, y1, y2 = SYMBOLS = sympy.symbols("x1 x2 y1 y2", real=True)
LETTERS = {s.name: s for s in SYMBOLS}
DATA = {"A": np.array([[1.0, 2.0], [0.5, 0.1]]), "b": np.array([1.0, -1.0])}


def one_line(error):
    """Messages for users are one line."""
    assert "\n" not in str(error)


def read(text, **options):
    return to_sympy(parse(text, limits=PROBLEM), LETTERS, text=text, vectors={"y": (y1, y2)}, data=DATA, **options)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("x1 + 2*x2/3 - -1", x1 + 2 * x2 / 3 + 1),
        ("-x1**2", -(x1**2)),
        ("0.1*x1", x1 / 10),
        ("1e-3*x1", x1 / 1000),
        ("2**-1*x1", x1 / 2),
        ("7 % 3 + x1", 1 + x1),
        ("pi*E*x1", sympy.pi * sympy.E * x1),
        ("Rational(5, 2)*x1", sympy.Rational(5, 2) * x1),
        ("binomial(5, 2) + factorial(4)", sympy.Integer(34)),
        ("sqrt(x1**2 + 1)", sympy.sqrt(x1**2 + 1)),
        ("sinh(x1)*cosh(x2)*tan(x1)", sympy.sinh(x1) * sympy.cosh(x2) * sympy.tan(x1)),
        ("sum(i*x1, (i, 1, 4))", 10 * x1),
        ("sum(x1, (i, 1, 0))", sympy.S.Zero),
        ("prod(x1 + i, (i, 0, 2))", x1 * (x1 + 1) * (x1 + 2)),
        ("sum(y)", y1 + y2),
        ("dot(A[0], y)", y1 + 2 * y2),
        ("norm(A @ y)**2", (y1 + 2 * y2) ** 2 + (y1 / 2 + y2 / 10) ** 2),
        ("dot(y, T(A) @ b)", y1 / 2 + sympy.Rational(19, 10) * y2),
        ("y[1]*b[0] + rows(A)*columns(A)", y2 + 4),
        ("mean(b[i]*x1, (i, 0, 1))", sympy.S.Zero),
        ("x1 if x1 > 0 else 0", sympy.Piecewise((x1, x1 > 0), (0, True))),
        ("Piecewise((0, x1 < 0), (x1**3, True))", sympy.Piecewise((0, x1 < 0), (x1**3, True))),
        ("max(0, x1 - 1)**2", atoms.pluspow(2, x1 - 1)),
        ("max(x1, x2)", x1 + atoms.plus(x2 - x1)),
        ("Abs(x1)**Rational(5, 2)", atoms.abspow(sympy.Rational(5, 2), x1)),
        ("abs(x1)*x1", atoms.sgnpow(2, x1)),
        ("sign(x1)*abs(x1)**2.5", atoms.sgnpow(sympy.Rational(5, 2), x1)),
        ("abs(x1)**2", x1**2),
    ],
)
def test_meaning(text, expected):
    difference = sympy.expand(read(text) - expected)
    assert difference == 0 or sympy.simplify(difference) == 0


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("log(1 + exp(x1 - x2))", atoms.softplus(x1 - x2)),
        ("log(exp(x1) + exp(x2))", atoms.logsumexp(x1, x2)),
        ("log(exp(x1) + exp(x2) + 2)", atoms.logsumexp(x1, x2, sympy.log(2))),
        ("log(1 + 3*exp(x1)*exp(x2))", atoms.softplus(x1 + x2 + sympy.log(3))),
        ("1/(1 + exp(-x1))", atoms.sigmoid(x1)),
        ("1/(1 + exp(x1))**2", atoms.sigmoid(-x1) ** 2),
        ("exp(x1)/(1 + exp(x1))", atoms.sigmoid(x1)),
        ("x2*exp(x1)/(1 + exp(x1))", x2 * atoms.sigmoid(x1)),
        ("exp(2*x1)/(1 + exp(x1))**3", atoms.sigmoid(x1) ** 2 * atoms.sigmoid(-x1)),
        ("log(cosh(x2))/2", atoms.logcosh(x2) / 2),
        ("log(1 - exp(x1))", sympy.log(1 - sympy.exp(x1))),
        ("log(x1**2 + 1)", sympy.log(x1**2 + 1)),
    ],
)
def test_recognition_of_stable_forms(text, expected):
    assert read(text) == expected
    plain = read(text, rewrite=False)
    assert not plain.atoms(atoms.softplus, atoms.sigmoid, atoms.logcosh)
    point = {x1: sympy.Rational(-3, 10), x2: sympy.Rational(7, 10)}
    assert abs((plain - expected).subs(point).evalf(30)) < 1e-28


@pytest.mark.parametrize(
    ("text", "fragment"),
    [
        ("((9**64)**64)**64", "bits"),
        ("factorial(factorial(20))", "factorial"),
        ("9**9**9", "tower"),
        ("exp(10**15*log(9))", "logarithm"),
        ("sum(i, (i, 0, 10**7))", "terms"),
        ("sum(sum(x1**(i + j), (i, 1, 900)), (j, 1, 900))", "operations"),
        ("prod(i**60, (i, 1, 1000))", "bits"),
        ("((x1**64)**64)**64", "exponent"),
        ("x1/0", "division by zero"),
        ("1/(x1 - x1)", "division by zero"),
        ("sqrt(-2)", "undefined"),
        ("log(0)", "undefined"),
        ("x1**oo", "unknown symbol"),
        ("nan + x1", "unknown symbol"),
        ("sin(x1, x2)", "takes 1 argument"),
        ("psi(x1)", "psi takes 2 arguments"),
        ("psi(2, x1)", "0 <= nu <= 1"),
        ("foo(x1)", "did you mean 'floor'"),
        ("x11", "did you mean"),
        ("x1*exp(x2", "a ')' is missing"),
        ("A[5, 0]", "outside"),
        ("A[x1]", "integer"),
        ("dot(A, y)", "vectors"),
        ("A + x1", "different shapes"),
        ("A @ x1", "both sides"),
        ("A", "array"),
        ("x1 < 2", "no place"),
        ("Piecewise((x1, x1 < 0))", "last branch"),
        ("sum(x1, (x2, 0, 3))", "already means"),
        ("max(x1, (i, 3, 1))", "empty range"),
        ("__import__('os')", "not a name"),
        ("().__class__", "not part"),
        ("x1.real", "not part"),
        ("lambda: 1", "not part"),
        ("[x1 for x1 in y]", "not part"),
        ("'a'*10**9", "not a number"),
        ("print(x1)", "unknown function"),
        ("eval(x1)", "unknown function"),
        ("x1^2", "**"),
        ("x1 @@ 2", "not an expression"),
        ("", "empty"),
    ],
)
def test_refusals_name_the_place(text, fragment):
    start = time.process_time()
    with pytest.raises(ExpressionError) as caught:
        read(text)
    assert time.process_time() - start < 5
    assert fragment in str(caught.value)
    assert "\n" not in str(caught.value)


def test_two_megabytes_are_refused_at_once():
    start = time.process_time()
    with pytest.raises(InputError):
        single_level(f="x1 + " * 500_000 + "x1", x="x1")
    assert time.process_time() - start < 1


PIECES = [
    "x1",
    "x2",
    "y",
    "A",
    "b",
    "1",
    "0",
    "2.5",
    "1e300",
    "9**64",
    "oo",
    "pi",
    "_",
    "__class__",
    "lambda",
    "if",
    "else",
    "not",
    "True",
    "(",
    ")",
    "[",
    "]",
    ",",
    "+",
    "-",
    "*",
    "/",
    "**",
    "%",
    "@",
    "<",
    "==",
    ".",
    ":",
    "'",
    "\\",
    "\n",
    "i",
    "(i, 0, 3)",
    *sorted(KNOWN_FUNCTIONS),
]


@given(
    st.one_of(
        st.text(max_size=60),
        st.lists(st.sampled_from(PIECES), max_size=14).map(" ".join),
        st.lists(st.sampled_from(PIECES), max_size=14).map("".join),
    )
)
@settings(max_examples=700, deadline=None)
@example("max(1,2,3)" * 3)
@example("sum(y[i]/i, (i, 0, 1))")
@example("factorial(-1)")
@example("psi_d(5, 1/2, x1)")
@example("huber(0, x1)")
@example("0**-1")
@example("0**x1")
@example("x1**(1/0)")
@example("(-8)**(1/3)")
@example("binomial(500, 250)**2")
@example("logsumexp()")
@example("norm(y) @ y")
@example("A @ A @ A @ y")
@example("min(A)")
@example("sum(A)")
@example("T(b) @ b")
@example("1e400")
@example("log(E**1000)")
@example("tan(pi/2)")
@example("1 if x1 else 2")
@example("not x1")
def test_arbitrary_text_is_read_or_refused(text):
    try:
        value = read(text)
    except InputError as error:
        one_line(error)
    else:
        assert isinstance(value, sympy.Expr)
        assert value.free_symbols <= set(SYMBOLS)
        assert not value.has(sympy.nan, sympy.zoo, sympy.oo, sympy.I)


LEAVES = st.one_of(
    st.sampled_from(SYMBOLS),
    st.fractions(-9, 9, max_denominator=50).map(lambda q: sympy.Rational(q.numerator, q.denominator)),
)


def grow(children):
    one = st.sampled_from(
        [
            sympy.sin,
            sympy.cos,
            sympy.tanh,
            sympy.atan,
            sympy.erf,
            sympy.asinh,
            atoms.softplus,
            atoms.sigmoid,
            atoms.logcosh,
            atoms.plus,
            lambda t: atoms.abspow(sympy.Rational(7, 2), t),
            lambda t: atoms.psi(sympy.Rational(1, 2), t),
        ]
    )
    two = st.tuples(children, children)
    return st.one_of(
        st.tuples(one, children).map(lambda p: p[0](p[1])),
        two.map(lambda p: p[0] + p[1]),
        two.map(lambda p: p[0] * p[1]),
        st.tuples(children, st.integers(2, 3)).map(lambda p: p[0] ** p[1]),
        two.map(lambda p: sympy.Piecewise((p[0], x1 < 0), (p[1], True))),
    )


@given(st.recursive(LEAVES, grow, max_leaves=12))
@settings(max_examples=150, deadline=None)
def test_text_of_an_expression_reads_back(expression):
    text = to_text(expression)
    try:
        again = read(text)
    except ExpressionError as error:
        one_line(error)
        return
    point = {s: sympy.Rational(k, 7) for s, k in zip(SYMBOLS, (3, -5, 11, -2))}
    difference = (again - expression).subs(point).evalf(25)
    assert abs(difference) <= 1e-15 * (1 + abs(expression.subs(point).evalf(25)))


def test_stable_form_does_not_change_the_function():
    generator = np.random.default_rng(5)
    text = "log(1+exp(x1))/(1+exp(-x2)) + log(cosh(x1*x2)) + exp(2*x1)/(1+exp(x1))**2"
    plain, stable = read(text, rewrite=False), read(text)
    for _ in range(10):
        point = {s: sympy.Rational(int(v), 100) for s, v in zip((x1, x2), generator.integers(-300, 300, 2))}
        assert abs((plain - stable).subs(point).evalf(30)) < 1e-26


@pytest.mark.parametrize("name", ["exp", "log", "sin", "cos", "tan", "sinh", "cosh", "tanh", "atan", "asinh", "erf"])
def test_a_function_of_a_long_sum_is_kept_as_it_stands(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """SymPy would ask itself for a tenth of a second whether there is something to simplify, for every row of data."""
    x = sympy.symbols("x1:6")
    text = f"{name}(1 - x1*x2 - 2*x3 - x4 - x5)"
    simple = to_sympy(parse(f"{name}(-x1)"), dict(zip(map(str, x), x)), rewrite=False)
    assert simple == getattr(sympy, name)(-x[0])

    def refuse(*_: object) -> None:
        pytest.fail("it was evaluated")

    monkeypatch.setattr(getattr(sympy, name), "eval", classmethod(refuse))
    found = to_sympy(parse(text), dict(zip(map(str, x), x)), rewrite=False)
    monkeypatch.undo()
    assert float(found.subs(dict.fromkeys(x, 0))) == pytest.approx(float(getattr(sympy, name)(1)))

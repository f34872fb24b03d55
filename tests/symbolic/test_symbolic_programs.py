"""Programs and their derivatives against SymPy's own differentiation, evaluated in 30 digits."""

from __future__ import annotations

import math
from fractions import Fraction

import mpmath
import numpy as np
import pytest
import sympy
from seeds import SEED
from sympy import Max, Piecewise, Rational, cos, exp, log, pi, sin, sqrt, symbols, tanh

from bilevel_verify.atoms import abspow, logcosh, logsumexp, pluspow, psi, sgnpow, sigmoid, softplus
from bilevel_verify.errors import ExpressionError, MathematicalError
from bilevel_verify.numbers.floats import MPMATH, NUMPY, PYTHON_FLOAT
from bilevel_verify.symbolic.differentiate import (
    gradient,
    hessian,
    hessian_product,
    jacobian_product,
    packed_positions,
    third_derivative,
)
from bilevel_verify.symbolic.graph import Graph
from bilevel_verify.symbolic.lower import lower
from bilevel_verify.symbolic.program import Program, finish, program_of

x, y, z = VARIABLES = symbols("x y z", real=True)

EXPRESSIONS = [
    sin(x * y) ** 3 / (1 + x**2) + exp(-y) * sqrt(1 + z**2) + pi * z**4,
    softplus(x * y - z) * tanh(z) + sigmoid(2 * x) ** 2 + logcosh(y - x),
    logsumexp(x, 2 * y, x - z) * y + log(2 + sin(z)),
    abspow(Rational(7, 2), x) + sgnpow(3, y - z) * x + pluspow(Rational(9, 2), x + y),
    psi(1, x * y) + psi(Rational(1, 2), z + 1) * x,
    x * y * z / (1 + x**2 * y**2) - Rational(3, 7) * x**5 + 2**y,
    Piecewise((x**3 * log(x**2 + 1), x > 0), (y * sin(x), True)) + sympy.erf(x * z) * sympy.atan(y),
    sympy.asinh(x + y) * sympy.cosh(z / 2) + sympy.tan(x / 3) + sympy.sinh(y) / 3,
]


def points(count: int) -> list[list[float]]:
    rng = np.random.default_rng(SEED)
    return [list(map(float, row)) for row in rng.uniform(-1.4, 1.4, (count, 3))]


def reference(expression: sympy.Expr, point: list[float]) -> float:
    return float(expression.subs({v: sympy.Float(p, 40) for v, p in zip(VARIABLES, point)}).evalf(30))


def close(measured: float, expected: float) -> bool:
    return abs(measured - expected) <= 1e-12 * (1 + abs(expected))


@pytest.mark.parametrize("number", range(len(EXPRESSIONS)))
@pytest.mark.parametrize("form", ["as read", "lowered"])
def test_derivatives_agree_with_sympy(number: int, form: str) -> None:
    expression = EXPRESSIONS[number]
    base = program_of(expression, VARIABLES)
    change = (lambda p: p) if form == "as read" else lower
    first = [sympy.diff(expression, v) for v in VARIABLES]
    second = [[sympy.diff(g, v) for v in VARIABLES] for g in first]
    run = _run_lowered if form == "lowered" else lambda p, q: p.run(PYTHON_FLOAT, q)
    for point in points(2):
        assert close(run(change(base), point)[0], reference(expression, point)), (SEED, point)
        for measured, exact in zip(run(change(gradient(base)), point), first):
            assert close(measured, reference(exact, point)), (SEED, point, exact)
        entries = run(change(hessian(base)), point)
        for place in range(9):
            assert close(entries[place], reference(second[place // 3][place % 3], point)), (SEED, point, place)


def _run_lowered(program: Program, point: list[float]) -> list[float]:
    from bilevel_verify.oracles.forms import plain_oracle
    from bilevel_verify.symbolic.generate import generate

    source = generate("oracle", program, [("x", len(point))])
    out = [0.0] * len(program.outputs)
    plain_oracle(source)(point, out)
    return out


@pytest.mark.parametrize("number", [0, 1, 2, 5, 7])
def test_third_derivatives_agree_with_sympy(number: int) -> None:
    expression = EXPRESSIONS[number]
    point = points(1)[0]
    measured = third_derivative(program_of(expression, VARIABLES)).run(PYTHON_FLOAT, point)
    for value, position in zip(measured, packed_positions(3), strict=True):
        exact = sympy.diff(expression, *[VARIABLES[i] for i in position])
        assert close(value, reference(exact, point)), (SEED, point, position)


def test_products_are_contractions_of_the_full_derivatives() -> None:
    base = program_of(EXPRESSIONS[0], VARIABLES)
    point, v, w = points(3)
    full = np.array(hessian(base).run(PYTHON_FLOAT, point)).reshape(3, 3)
    block = hessian_product(base, [0, 2], [1, 2]).run(PYTHON_FLOAT, [*point, *v[:2]])
    assert np.allclose(block, full[np.ix_([0, 2], [1, 2])] @ v[:2], rtol=1e-12)
    packed = third_derivative(base).run(PYTHON_FLOAT, point)
    cube = np.empty((3, 3, 3))
    for value, (i, j, k) in zip(packed, packed_positions(3)):
        for a, b, c in {(i, j, k), (i, k, j), (j, i, k), (j, k, i), (k, i, j), (k, j, i)}:
            cube[a, b, c] = value
    both = jacobian_product(jacobian_product(gradient(base, range(3)), range(3), "v"), range(3), "w").run(
        PYTHON_FLOAT, [*point, *v, *w]
    )
    assert np.allclose(both, np.einsum("ijk,j,k", cube, v, w), rtol=1e-11)


@pytest.mark.parametrize("number", range(len(EXPRESSIONS)))
def test_arithmetics_agree(number: int) -> None:
    program = gradient(program_of(EXPRESSIONS[number], VARIABLES))
    sample = points(5)
    batch = program.run(NUMPY, list(np.array(sample).T))
    for place, point in enumerate(sample):
        floats = program.run(PYTHON_FLOAT, point)
        with mpmath.workdps(40):
            precise = [float(v) for v in program.run(MPMATH, [mpmath.mpf(p) for p in point])]
        for one, many, exact in zip(floats, batch, precise):
            assert close(one, exact)
            assert close(float(np.broadcast_to(many, 5)[place]), exact)


def test_complex_steps_confirm_the_gradient() -> None:
    expression = EXPRESSIONS[0]
    base = program_of(expression, VARIABLES)
    point = np.array(points(1)[0])
    measured = gradient(base).run(PYTHON_FLOAT, list(point))
    for i in range(3):
        shifted = point.astype(complex)
        shifted[i] += 1e-30j
        assert close(measured[i], float(np.imag(base.run(NUMPY, list(shifted))[0]) / 1e-30))


def test_each_subexpression_occurs_once() -> None:
    program = program_of([sin(x * y) + 1, sin(x * y) * cos(x * y), y * x], VARIABLES)
    contents = [
        (i.op, tuple(sorted(i.args)) if i.op in ("add", "mul") else i.args, i.value) for i in program.instructions
    ]
    assert len(contents) == len(set(contents))
    assert sum(i.op == "atom" for i in program.instructions) == 2


def test_cost_of_the_gradient_does_not_depend_on_the_dimension() -> None:
    """Reverse mode: a constant factor over the function, measured on a chain of 40 variables."""
    many = symbols("u1:41", real=True)
    inner = many[0]
    for variable in many[1:]:
        inner = sin(inner) * variable + variable**2
    base = program_of(inner, many)
    assert gradient(base).size <= 8 * base.size


@pytest.mark.parametrize(
    ("expression", "point", "value"),
    [
        (Piecewise((x * log(x), x > 0), (0, True)), [0.0, 0, 0], 0.0),
        (Piecewise((1 / x, x > 1), (x**2, True)), [0.0, 0, 0], 0.0),
        (Piecewise((exp(x) * y, x < 10), (y, True)), [1000.0, 2, 0], 2.0),
        (Piecewise((sqrt(x), x > 0), (x**3, True)), [-1.0, 0, 0], -1.0),
    ],
)
def test_branches_that_are_not_taken_do_no_harm(expression: sympy.Expr, point: list[float], value: float) -> None:
    base = program_of(expression, VARIABLES)
    assert base.run(PYTHON_FLOAT, point)[0] == value
    for program in (gradient(base), hessian(base)):
        assert all(math.isfinite(v) for v in program.run(PYTHON_FLOAT, point))
        columns = [np.full(2, float(p)) for p in point]
        assert all(np.all(np.isfinite(v)) for v in program.run(NUMPY, columns))


def test_kinks_are_differentiated_once_and_then_refused() -> None:
    absolute = program_of(abspow(1, x) + y**2, [x, y])
    assert gradient(absolute).run(PYTHON_FLOAT, [-2.0, 1.0]) == [-1.0, 2.0]
    with pytest.raises(MathematicalError):
        hessian(absolute)
    with pytest.raises(MathematicalError):
        hessian(program_of(sympy.Abs(x), [x]))
    assert gradient(program_of(Max(x, y), [x, y])).run(PYTHON_FLOAT, [1.0, 2.0]) == [0.0, 1.0]


def test_floats_follow_ieee_rules() -> None:
    def value(expression: sympy.Expr, a: float) -> float:
        return float(program_of(expression, [x]).run(PYTHON_FLOAT, [a])[0])

    assert value(exp(x), 1000.0) == math.inf
    assert value(1 / x, 0.0) == math.inf
    assert math.isnan(value(sqrt(x), -1.0))
    assert math.isnan(value(log(x), -1.0))
    assert value(log(x), 0.0) == -math.inf
    assert math.isnan(value(sin(x), math.inf))
    assert value(softplus(x), 1e4) == 1e4
    assert value(sigmoid(x), -1e4) == 0.0
    assert value(x**3, 1e200) == math.inf


def test_unknown_things_are_refused() -> None:
    with pytest.raises(ExpressionError, match="unknown symbol 'y'"):
        program_of(x + y, [x])
    with pytest.raises(ExpressionError, match="unknown function"):
        program_of(sympy.gamma(x), [x])
    with pytest.raises(ExpressionError, match="last branch"):
        program_of(Piecewise((x, x > 0)), [x])
    with pytest.raises(ExpressionError, match="finite"):
        program_of(x + sympy.oo, [x])
    with pytest.raises(ValueError, match="inputs"):
        program_of(x, [x]).run(PYTHON_FLOAT, [1.0, 2.0])


def test_constants_stay_exact() -> None:
    program = program_of(Rational(1, 3) * x + sqrt(2), [x])
    with mpmath.workdps(50):
        value = program.run(MPMATH, [mpmath.mpf(1)])[0]
        assert abs(value - mpmath.mpf(1) / 3 - mpmath.sqrt(2)) < mpmath.mpf(10) ** -48


def test_neutral_elements_vanish() -> None:
    graph = Graph(["a"])
    a = graph.input_at(0)
    assert graph.mul((a, graph.const(1))) == a
    assert graph.add((a, graph.const(0))) == a
    assert graph.rational(graph.mul((a, graph.const(0)))) == 0
    assert graph.neg(graph.neg(a)) == a
    assert graph.div(a, graph.const(Fraction(4))) == graph.mul((a, graph.const(Fraction(1, 4))))
    assert finish(graph, [a], ()).size == 0

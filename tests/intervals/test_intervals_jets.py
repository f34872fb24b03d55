"""Derivative tensors over boxes against symbolic derivatives at sampled points."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
import sympy
from intervals_tensors import tensor_of
from seeds import SEED

from bilevel_verify.atoms import logsumexp, softplus
from bilevel_verify.intervals.jet_arithmetic import JetArithmetic
from bilevel_verify.intervals.jets import coefficients_of, jet_space
from bilevel_verify.symbolic.program import program_of

x, y, z = sympy.symbols("x y z", real=True)

FORMULAS = [
    y**2 + y**4 / 12 + sympy.Rational(3, 10) * sympy.sin(x * y) - y * sympy.cos(x),
    sympy.exp(x * y) / (2 + sympy.cos(z)) + x * y * z,
    softplus(x - 2 * y) * sympy.tanh(z) + sympy.sqrt(2 + x**2 + y**2),
    logsumexp(x + y, 2 * y - z, z) + sympy.atan(x * z),
    sympy.log(3 + x * y) * sympy.erf(z),
]


def _plain(formula: sympy.Expr) -> sympy.Expr:
    """The same function in SymPy's own words."""
    formula = formula.replace(softplus, lambda t: sympy.log(1 + sympy.exp(t)))
    return formula.replace(logsumexp, lambda *args: sympy.log(sympy.Add(*map(sympy.exp, args))))


@pytest.mark.parametrize("number", range(len(FORMULAS)))
@pytest.mark.parametrize("order", [1, 2, 3, 4])
def test_tensors_contain_symbolic_derivatives(number: int, order: int) -> None:
    formula = FORMULAS[number]
    variables = sorted(formula.free_symbols, key=str)
    n = len(variables)
    rng = np.random.default_rng(SEED + number)
    lo = rng.uniform(-1, 0.8, size=(6, n))
    hi = lo + rng.uniform(0, 0.3, size=(6, n))
    arithmetic = JetArithmetic(n, order)
    jet = program_of(formula, variables).run(arithmetic, arithmetic.variables(lo, hi))[0]
    tensor = tensor_of(jet, order)
    points = [(i, lo[i] + rng.random(n) * (hi[i] - lo[i])) for i in range(6) for _ in range(2)]
    for place in list(itertools.combinations_with_replacement(range(n), order))[:20]:
        derivative = sympy.lambdify(variables, sympy.diff(_plain(formula), *[variables[i] for i in place]), "mpmath")
        for i, point in points:
            value = float(derivative(*point))
            slack = 1e-11 * max(1.0, abs(value))
            assert tensor.lo[(i, *place)] <= value + slack, (SEED, place)
            assert tensor.hi[(i, *place)] >= value - slack, (SEED, place)


def test_thin_boxes_give_thin_tensors() -> None:
    point = np.array([[0.3, -0.7]])
    arithmetic = JetArithmetic(2, 3)
    jet = program_of(FORMULAS[0], [x, y]).run(arithmetic, arithmetic.variables(point, point))[0]
    rows = coefficients_of(jet, 3)
    assert (rows.hi - rows.lo).max() < 1e-13


def test_half_lines_stay_finite_for_decaying_functions() -> None:
    arithmetic = JetArithmetic(1, 3)
    jet = program_of(sympy.tanh(x), [x]).run(arithmetic, arithmetic.variables(np.array([[5.0]]), np.array([[np.inf]])))[
        0
    ]
    rows = coefficients_of(jet, 3)
    assert np.isfinite(rows.magnitude()).all()
    assert rows.magnitude().max() < 1e-2


def test_multi_indices() -> None:
    space = jet_space(3, 2)
    assert len(space.indices) == 10
    assert space.of_degree(2) == list(range(4, 10))


def test_undecided_branch_of_a_kink_is_unbounded_beyond_first_order() -> None:
    arithmetic = JetArithmetic(1, 2)
    jet = program_of(sympy.Abs(x), [x]).run(arithmetic, arithmetic.variables(np.array([[-1.0]]), np.array([[1.0]])))[0]
    assert np.isinf(coefficients_of(jet, 2).magnitude()).all()
    decided = program_of(sympy.Abs(x), [x]).run(arithmetic, arithmetic.variables(np.array([[1.0]]), np.array([[2.0]])))[
        0
    ]
    assert coefficients_of(decided, 2).magnitude().max() == 0

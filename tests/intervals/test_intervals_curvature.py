"""Hessians between two matrices, tables of cells, functions of affine forms: against floats at sampled points."""

from __future__ import annotations

from fractions import Fraction
from functools import lru_cache
from typing import Any

import numpy as np
import pytest
import sympy

from bilevel_verify.atoms.functions import logsumexp
from bilevel_verify.constants.formula.inner import inner_of, of_forms
from bilevel_verify.constants.formula.rewriting import normalise
from bilevel_verify.intervals.batch import Interval
from bilevel_verify.intervals.curvature import CurvatureArithmetic, Curved, _floor_of_product, _floor_of_sum
from bilevel_verify.intervals.jets import coefficients_of
from bilevel_verify.intervals.tables import CellTable

pytestmark = pytest.mark.fast
X = sympy.symbols("x1:4", real=True)
x1, x2, x3 = X
Q = 2 * x1**2 + x1 * x2 + x2**2 + x3**2 / 2
FORMULAS = {
    "log": sympy.log(3 + sympy.sin(x1 * x2 * x3) + x1**2 + x2**2 + x3**2),
    "root of a sum of squares": sympy.sqrt(1 + x1**2 + 2 * x2**2 + x3**2),
    "root, mixed": sympy.sqrt(1 + Q),
    "bell": sympy.exp(-Q / 3 + sympy.Rational(1, 2)),
    "minus a bell": -2 * sympy.exp(-(x1**2) - x2**2 / 2),
    "quotient": 1 / (1 + 2 * (x1**2 + x2**2)),
    "quotient of two": (x1 * x2 - x3**2) / (2 + x1**2 + x3**2),
    "square of a square": (x1**2 + x2**2 + x3**2 - 1) ** 2,
    "bent square": (x1 * x2 + x3**2) ** 2,
    "decreasing": sympy.atan(2 - x1**2 - x2**2),
    "product": sympy.tanh(x1 + x2 / 2) * sympy.atan(x3 - x1),
    "product of bent ones": sympy.log(2 + x1**2 + x2**2) * sympy.sqrt(1 + x2**2 + x3**2),
    "softmax": logsumexp(x1 + x2, x2 - 2 * x3, x3, sympy.Integer(0)),
    "softmax of bent ones": -logsumexp(x1**2, x2 * x3, sympy.sin(x1)),
    "largest": sympy.Max(x1**2, x2 + x3) + sympy.log(2 + x1**2 + x2**2),
}


DIRECTIONS = np.random.default_rng(0).normal(size=(400, 3))


@lru_cache
def hessian_of(name: str) -> Any:
    formula = FORMULAS[name]
    plain = formula.replace(lambda e: e.func == logsumexp, lambda e: sympy.log(sum(sympy.exp(a) for a in e.args)))
    second = sympy.hessian(plain, X).replace(lambda e: e.func == sympy.DiracDelta, lambda e: sympy.Integer(0))
    return sympy.lambdify(X, second, "numpy")


def hessians(name: str, points: Any) -> Any:
    found = hessian_of(name)
    return np.array([np.array(found(*p), dtype=float) for p in points])


def matrices(entries: Any) -> Any:
    place = np.array([[0, 1, 2], [1, 3, 4], [2, 4, 5]])
    return entries[..., place]


def below_somewhere(hessian: Any, low: Any, high: Any) -> bool:
    """Whether a member of an interval matrix may be nowhere above: not refuted by any direction of a net."""
    if not (np.isfinite(low).all() and np.isfinite(high).all() and np.abs(low + high).max() < 1e300):
        return True
    u = DIRECTIONS
    centre, radius = 0.5 * (low + high), 0.5 * (high - low)
    least = np.einsum("di,ij,dj->d", u, centre, u) - np.einsum("di,ij,dj->d", np.abs(u), radius, np.abs(u))
    return bool((np.einsum("di,ij,dj->d", u, hessian, u) >= least - 1e-9 * (1 + np.abs(least))).all())


@pytest.mark.slow
@pytest.mark.parametrize("name", FORMULAS)
@pytest.mark.parametrize("forms", [False, True])
def test_hessians_lie_between(name: str, forms: bool) -> None:
    formula = normalise(FORMULAS[name])
    inner = inner_of(formula, X, fewest=forms)
    rng = np.random.default_rng(5)
    for size in (1.0, 0.3, 0.05, 0.0):
        middle = rng.uniform(-1, 1, (4, 3))
        lo, hi = middle - size * rng.random((4, 3)), middle + size * rng.random((4, 3))
        arithmetic = CurvatureArithmetic(len(inner.symbols))
        node = inner.program.run(arithmetic, arithmetic.variables(*inner.arguments(lo, hi)))[0]
        for sign, jet in zip((1, -1), node.ends(), strict=True):
            entries = coefficients_of(jet, 2)
            wide = Interval(*(np.broadcast_to(e.T, (4, e.shape[0])) for e in (entries.lo, entries.hi)))
            every = [wide] if inner.plain else of_forms(inner.weights, wide, -sign)
            for some in every:
                for box in range(4):
                    points = lo[box] + (hi[box] - lo[box]) * rng.random((5, 3))
                    points = points[[abs(p[0] ** 2 - p[1] - p[2]) > 1e-3 for p in points]]
                    ends = (matrices(some.lo[box]), matrices(some.hi[box]))
                    low, high = ends if sign > 0 else (-ends[1], -ends[0])
                    assert all(below_somewhere(sign * h, low, high) for h in hessians(name, points))


def eigenvalues(formula: Any, size: float) -> tuple[float, float]:
    """Least eigenvalue of the matrix below and largest of the one above, where they are points."""
    inner = inner_of(normalise(formula), X)
    arithmetic = CurvatureArithmetic(len(inner.symbols))
    box = inner.arguments(np.full((1, 3), -size), np.full((1, 3), size))
    node = inner.program.run(arithmetic, arithmetic.variables(*box))[0]
    found = []
    for sign, jet in zip((-1, 1), node.ends(), strict=True):
        entries = coefficients_of(jet, 2)
        ends = entries.lo if sign < 0 else entries.hi
        place = {k: v for v, k in enumerate(itertools_pairs(len(inner.symbols)))}
        r = len(inner.symbols)
        full = np.array([[ends[place[min(i, j), max(i, j)], 0] for j in range(r)] for i in range(r)])
        values = np.linalg.eigvalsh(inner.weights.T @ full @ inner.weights)
        found.append(float(values[0] if sign < 0 else values[-1]))
    return found[0], found[1]


def itertools_pairs(r: int) -> list[tuple[int, int]]:
    return [(i, j) for i in range(r) for j in range(i, r)]


def test_what_a_sum_of_squares_makes_of_its_functions() -> None:
    """Radial functions on the whole box by hand: sqrt(1 + |x|^2) is convex, exp(-|x|^2/2) has its extremes known."""
    square = x1**2 + x2**2 + x3**2
    least, most = eigenvalues(sympy.sqrt(2 + square), 1.0)
    assert least > 0  # 2 / 5^(3/2)
    assert least == pytest.approx(2 / 5**1.5, rel=0.2)
    assert most == pytest.approx(1 / 2**0.5, rel=1e-12)
    least, most = eigenvalues(sympy.exp(-square / 2), 1.0)
    assert least == pytest.approx(-1.0, rel=1e-12)
    assert 2 * np.exp(-1.5) <= most < 0.6  # (r^2 - 1) exp(-r^2/2), largest at r^2 = 3
    assert eigenvalues(sympy.sqrt(1 + Q), 1.0)[0] > -1e-3


def test_which_nodes_are_sums_of_squares() -> None:
    arithmetic = CurvatureArithmetic(2)
    u, v = arithmetic.variables(np.full((2, 2), -1.0), np.full((2, 2), 2.0))
    square = arithmetic.mul(u, u)
    one, minus = arithmetic.constant(1), arithmetic.constant(-2)
    assert square.floor is not None
    assert arithmetic.mul(square, square).floor is None  # not a square of an affine form
    assert arithmetic.mul(u, v).floor is None
    assert arithmetic.add(square, u).floor is None
    assert arithmetic.add(one, one).floor is None
    both = arithmetic.add(arithmetic.add(square, arithmetic.mul(v, v)), one)
    assert (both.floor.lo[0], both.side) == (pytest.approx(1.0, rel=1e-15), 1)  # type: ignore[union-attr]
    turned = arithmetic.mul(minus, both)
    assert (turned.floor.hi[0], turned.side) == (pytest.approx(-2.0, rel=1e-15), -1)  # type: ignore[union-attr]
    assert arithmetic.add(turned, both).floor is None  # of two signs
    assert arithmetic.add(turned, arithmetic.neg(square)).side == -1
    doubtful = Curved(
        arithmetic.constant(1).jet.__class__(u.jet.space, (0,), Interval(np.full((1, 1), -1.0), np.full((1, 1), 1.0)))
    )
    assert _floor_of_product(doubtful, both) == (None, 1)
    assert _floor_of_sum(u, v) == (None, 1)
    assert arithmetic.power(both, Fraction(1, 2)).floor is None


def test_tables_give_hulls_over_cells() -> None:
    rng = np.random.default_rng(2)
    low = rng.normal(size=(7, 5, 2))
    high = low + rng.random((7, 5, 2))
    edges = (np.linspace(-1, 2.5, 8), np.array([0.0, 0.1, 0.5, 0.6, 2.0, 3.0]))
    table = CellTable(edges, Interval(low, high))
    for _ in range(300):
        ends = [np.sort(rng.choice([*e, *rng.uniform(e[0], e[-1], 8)], 2)) for e in edges]
        lo, hi = (np.array([[end[k] for end in ends]]) for k in (0, 1))
        found = table.range(lo, hi)
        touched = [
            [
                k
                for k in range(len(e) - 1)
                if e[k] <= end[1] and e[k + 1] >= end[0] and (e[k + 1] > end[0] or e[k] == end[0] or end[0] == end[1])
            ]
            for e, end in zip(edges, ends, strict=True)
        ]
        inner = [
            [k for k in range(len(e) - 1) if min(e[k + 1], end[1]) > max(e[k], end[0])]
            for e, end in zip(edges, ends, strict=True)
        ]
        for column in range(2):
            if inner[0] and inner[1]:
                cells = np.ix_(inner[0], inner[1])
                assert found.lo[0, column] <= low[cells][..., column].min()
                assert found.hi[0, column] >= high[cells][..., column].max()
            cells = np.ix_(touched[0], touched[1])
            assert found.lo[0, column] >= low[cells][..., column].min()
            assert found.hi[0, column] <= high[cells][..., column].max()
    assert np.isinf(table.range(np.array([[-1.1, 0.0]]), np.array([[0.0, 1.0]])).lo).all()
    assert np.isinf(table.range(np.array([[0.0, 0.0]]), np.array([[1.0, 3.1]])).hi).all()


def test_squares_of_definite_quadratics() -> None:
    inner = inner_of(sympy.sqrt(1 + Q), X)
    back = inner.outer.subs(
        {
            s: sympy.Add(*[sympy.nsimplify(c) * X[i] for i, c in enumerate(row)])
            for s, row in zip(inner.symbols, inner.weights, strict=True)
        }
    )
    assert sympy.expand(back**2 - 1 - Q) == 0
    assert not inner.plain
    assert inner_of(sympy.sqrt(9 + Q - 3 * x3**2), X).plain  # indefinite
    assert inner_of(sympy.sqrt(9 - Q), X).weights.shape == (3, 3)  # negative definite


@pytest.mark.parametrize("sign", [-1, 1])
def test_products_with_rows_enclose(sign: int) -> None:
    rng = np.random.default_rng(8)
    weights = rng.normal(size=(4, 3))
    centre = rng.normal(size=(5, 10))
    radius = rng.random((5, 10)) * rng.choice([0, 1e-3, 1], (5, 1))
    by_entries, tilted = of_forms(weights, Interval(centre - radius, centre + radius), sign)
    pairs = itertools_pairs(4)
    for _ in range(50):
        chosen = centre + radius * rng.choice([-1, 1], (5, 10))
        for box in range(5):
            full = np.zeros((4, 4))
            for (i, j), value in zip(pairs, chosen[box], strict=True):
                full[i, j] = full[j, i] = value
            product = weights.T @ full @ weights
            assert (matrices(by_entries.lo[box]) <= product + 1e-15).all()
            assert (matrices(by_entries.hi[box]) >= product - 1e-15).all()
            gap = sign * (matrices((tilted.hi if sign > 0 else tilted.lo)[box]) - product)
            assert np.linalg.eigvalsh(gap)[0] >= -1e-12

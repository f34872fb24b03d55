"""Functions of a problem in balls and in tables, against closed forms that the room does not contain."""

from __future__ import annotations

import mpmath
import numpy as np
import pytest
from flint import arb
from hypothesis import given, settings
from hypothesis import strategies as st

from bilevel_verify.checks.claims import linear
from bilevel_verify.checks.claims import values as v
from bilevel_verify.checks.instances.functions import ProblemFunctions
from bilevel_verify.checks.instances.tabulate import HYPER, PENALTY, tabulate
from bilevel_verify.numbers.rounding import precision
from bilevel_verify.problems import bilevel
from bilevel_verify.truth import truth

LAM = 3.0
# g = (y - 2x)^2 / 2, f = x^2 + y^2/2 + sin(x): y* = 2x, phi = 3x^2 + sin x, and f + lam g is quadratic in y:
# y_lam = 2 lam x / (1 + lam), L* = x^2 + sin x + 2 lam x^2 / (1 + lam)
PROBLEM = bilevel(f="x1**2 + y1**2/2 + sin(x1)", g="(y1 - 2*x1)**2/2", x="x1", y="y1")
CLOSED = {
    "y_star": lambda x: 2 * x,
    "phi": lambda x: 3 * x**2 + mpmath.sin(x),
    "grad_phi": lambda x: 6 * x + mpmath.cos(x),
    "hess_phi": lambda x: 6 - mpmath.sin(x),
    "grad_y_star": lambda x: mpmath.mpf(2),
    "y_star_lam": lambda x: 2 * LAM * x / (1 + LAM),
    "L_star": lambda x: x**2 + mpmath.sin(x) + 2 * LAM * x**2 / (1 + LAM),
    "grad_L_star": lambda x: 2 * x + mpmath.cos(x) + 4 * LAM * x / (1 + LAM),
    "hess_L_star": lambda x: 2 - mpmath.sin(x) + 4 * LAM / (1 + LAM),
    "grad_y_star_lam": lambda x: mpmath.mpf(2 * LAM / (1 + LAM)),
}
points = st.floats(min_value=-20, max_value=20, allow_nan=False)


def single(value):
    if isinstance(value, v.Vector):
        return value.entries[0]
    return value.rows[0][0] if isinstance(value, v.Matrix) else v.scalar_ball(value)


@given(points)
@settings(max_examples=15)
def test_balls_contain_the_closed_forms(x):
    with precision(256), mpmath.workdps(90):
        functions = ProblemFunctions(PROBLEM, truth(PROBLEM), v.ball(LAM))
        point = v.vector([x])
        for name, closed in CLOSED.items():
            value, certainty = functions.call(name, [point])
            found, expected = single(value), v.ball(closed(mpmath.mpf(x)))
            assert certainty == "certified"
            assert abs(found - expected) < arb(2) ** -200 * (1 + abs(expected))


@given(st.lists(points, min_size=1, max_size=6))
@settings(max_examples=10)
def test_tables_contain_the_closed_forms(xs):
    table = tabulate(truth(PROBLEM), [*HYPER, *PENALTY], np.array(xs)[:, None], arb(LAM))
    with mpmath.workdps(60):
        for name, closed in CLOSED.items():
            for x in xs:
                value, certainty = table[name][(x,)]
                expected = closed(mpmath.mpf(x))
                low, high = v.ends(single(value))
                assert certainty == "certified"
                assert low - 1e-18 * (1 + abs(expected)) <= expected <= high + 1e-18 * (1 + abs(expected))
                assert high - low <= 1e-10 * (1 + abs(x)) ** 2


def test_shapes_follow_the_blocks():
    problem = bilevel(
        f="x1*y1 + x2*y2*y3 + sin(x1)", g="y1**2 + y2**2 + y3**2 + x1*y1 + x2*y3", x="x1 x2", y="y1 y2 y3"
    )
    functions = ProblemFunctions(problem, truth(problem), v.ball(2.0))
    x, y = v.vector([0.5, -0.25]), v.vector([0.1, 0.2, 0.3])
    assert functions.call("hess_xy_g", [x, y])[0].shape == (2, 3)
    assert functions.call("hess_yx_g", [x, y])[0].shape == (3, 2)
    assert functions.call("hess_yy_f", [x, y])[0].shape == (3, 3)
    assert len(functions.call("grad_y_f", [x, y])[0]) == 3
    assert len(functions.call("grad_f", [x, y])[0]) == 5
    assert functions.call("grad_y_star", [x])[0].shape == (2, 3)
    stationary = functions.call("grad_y_L", [x, functions.call("y_star_lam", [x])[0]])[0]
    assert v.ends(linear.norm(stationary))[1] < 1e-12
    with pytest.raises(KeyError):
        functions.call("no_such", [x])


def test_one_point_gives_one_object():
    functions = ProblemFunctions(PROBLEM, truth(PROBLEM))
    point = v.vector([0.5])
    assert functions.call("grad_phi", [point])[0] is functions.call("grad_phi", [point])[0]
    functions.forget()
    assert functions.call("grad_phi", [point])[0] is not None


def test_a_lower_level_that_is_not_convex_is_not_certified():
    problem = bilevel(f="sin(y1)", g="(y1**2 - 1)**2 - x1*y1", x="x1", y="y1")
    functions = ProblemFunctions(problem, truth(problem))
    value, certainty = functions.call("y_star", [v.vector([8.0])])
    assert certainty == "computed"
    low, high = v.ends(single(value))
    assert 4 * low * (low**2 - 1) == pytest.approx(8.0)
    assert high == pytest.approx(low)


def test_a_strictly_convex_lower_level_is_certified_without_a_modulus():
    problem = bilevel(f="sin(y1)", g="exp(y1) - x1*y1", x="x1", y="y1")
    functions = ProblemFunctions(problem, truth(problem))
    value, certainty = functions.call("y_star", [v.vector([8.0])])
    assert certainty == "certified"
    assert v.ends(single(value)) == (pytest.approx(np.log(8.0)), pytest.approx(np.log(8.0)))


@given(st.integers(2, 4), st.integers(0, 10**6))
@settings(max_examples=20)
def test_spectra_are_verified(n, seed):
    rng = np.random.default_rng(seed)
    a = rng.normal(size=(n, n))
    a = a + a.T
    matrix = v.Matrix(tuple(tuple(v.ball(x) for x in row) for row in a.tolist()))
    spectrum = linear.Spectrum(matrix)
    eigenvalues, basis = np.linalg.eigh(a)
    vector = rng.normal(size=n)
    for j in range(n):
        assert float(spectrum.value(j + 1)) == pytest.approx(eigenvalues[j], abs=1e-9)
        component = float(v.scalar_ball(spectrum.component(v.vector(vector), j + 1)))
        assert abs(component) == pytest.approx(abs(basis[:, j] @ vector), abs=1e-8)

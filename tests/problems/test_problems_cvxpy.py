"""Expressions of CVXPY as formulas: values against CVXPY's own, refusals for what it means otherwise."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from later import Later
from seeds import SEED

import bilevel_verify as bv
from bilevel_verify.errors import ExpressionError, ProblemError

cp = Later("cvxpy")
DATA = np.array([[1.0, -2.0, 0.5], [0.25, 3.0, -1.0]])
WEIGHTS = np.diag([1.0, 2.0, 3.0]) + 0.5

FORMULAS: dict[str, Callable[[Any, Any], Any]] = {
    "least squares": lambda x, y: cp.sum_squares(DATA @ y - x),
    "quadratic form": lambda x, y: cp.quad_form(y, WEIGHTS) - x[0] * y[2],
    "logistic": lambda x, y: cp.sum(cp.logistic(DATA @ y)) / 2 + x @ x,
    "log-sum-exp": lambda x, y: (
        cp.log_sum_exp(y) + cp.log_sum_exp(cp.reshape(cp.hstack([x, y, [1.0]]), (2, 3), order="F"))
    ),
    "along an axis": lambda x, y: cp.sum(cp.max(cp.vstack([x, DATA[:, 0], 2 * x]), axis=0)) + cp.sum(y),
    "norms": lambda x, y: cp.norm(y) + cp.norm1(x) + cp.norm_inf(y) + cp.norm(y, 3) + cp.pnorm(x, 4) + cp.tv(y),
    "kinks": lambda x, y: cp.huber(y[0], 2) + cp.pos(x[0]) + cp.abs(y[1]) + cp.sum(cp.minimum(x, 0.5)) + cp.max(y),
    "entries": lambda x, y: y[-1] * x[1] + cp.sum(y[1:]) + cp.trace(cp.diag(x)) + cp.sum(cp.cumsum(y)),
    "powers": lambda x, y: cp.sum(cp.power(y, 4)) + cp.sqrt(1 + cp.square(x[0])) + cp.mean(y),
    "exponentials": lambda x, y: cp.exp(-x[0]) + cp.xexp(cp.square(x[1])) + cp.log(2 + cp.square(y[0])),
    "entropies": lambda x, y: cp.entr(cp.exp(x[0])) + cp.kl_div(cp.exp(y[0]), 2) + cp.rel_entr(3, cp.exp(x[1])),
}


@pytest.mark.slow
@pytest.mark.fast
@pytest.mark.parametrize("name", FORMULAS)
def test_values_are_those_of_cvxpy(name: str) -> None:
    x, y = cp.Variable(2, name="x"), cp.Variable(3, name="y")
    expression = FORMULAS[name](x, y)
    p = bv.bilevel(f=expression, g="y1**2 + y2**2 + y3**2", x="x1 x2", y="y1 y2 y3")
    draw = np.random.default_rng(SEED)
    for _ in range(5):
        x.value, y.value = draw.normal(size=2), draw.normal(size=3)
        point = dict(zip(p.variables, [*x.value, *y.value]))
        assert float(p.f.subs(point)) == pytest.approx(float(expression.value), rel=1e-10), name


@pytest.mark.fast
def test_a_problem_of_cvxpy_goes_through_the_house() -> None:
    """The closed form is known: y* = x1/2, phi = (x1/2 - 1)^2."""
    x, y = cp.Variable(name="x1"), cp.Variable(1, name="y")
    p = bv.bilevel(f=cp.sum_squares(y - 1), g=cp.sum_squares(y) - x * y[0], x="x1", y="y1")
    truth = bv.truth(p)
    assert float(truth.phi([1.0]).value) == pytest.approx(0.25, rel=1e-12)
    assert float(truth.grad_phi([1.0]).value[0]) == pytest.approx(-0.5, rel=1e-12)
    again = bv.bilevel(f=p.text["f"], g=p.text["g"], x="x1", y="y1")
    assert again.content_hash() == p.content_hash()


@pytest.mark.fast
@pytest.mark.parametrize(
    ("formula", "message"),
    [
        (lambda x, y: cp.lambda_max(cp.diag(y)) + x[0], "no closed formula here"),
        (lambda x, y: cp.power(y[0], 3), "the power 3 is infinite outside its domain"),
        (lambda x, y: cp.inv_pos(x[0]), "the power -1 is infinite"),
        (lambda x, y: cp.quad_over_lin(y, x[0]), "may leave its domain y > 0"),
        (lambda x, y: y, "must be a scalar"),
        (lambda x, y: cp.Variable(3, name="w")[0], "variable 'w' of shape"),
        (lambda x, y: cp.Variable(4, name="y")[0], "variable 'y' of shape"),
        (lambda x, y: cp.Variable(2, name="x", nonneg=True)[0], "is nonneg"),
        (lambda x, y: cp.Parameter(name="c") * x[0], "parameter 'c' has no value"),
    ],
)
def test_what_is_another_function_is_refused(formula: Callable[[Any, Any], Any], message: str) -> None:
    x, y = cp.Variable(2, name="x"), cp.Variable(3, name="y")
    with pytest.raises(ProblemError, match=message) as caught:
        bv.bilevel(f=formula(x, y), g="y1**2 + y2**2 + y3**2", x="x1 x2", y="y1 y2 y3")
    assert "\n" not in str(caught.value)


@pytest.mark.fast
def test_powers_inside_their_domain_are_read() -> None:
    x, y = cp.Variable(2, name="x"), cp.Variable(3, name="y")
    p = bv.bilevel(
        f=cp.power(cp.abs(y[0]), 3) + cp.inv_pos(cp.exp(x[0])) + cp.quad_over_lin(y, 2),
        g="y1**2 + y2**2 + y3**2",
        x="x1 x2",
        y="y1 y2 y3",
    )
    x.value, y.value = np.array([0.5, 1.0]), np.array([-2.0, 1.0, 3.0])
    assert float(p.f.subs(dict(zip(p.variables, [*x.value, *y.value])))) == pytest.approx(
        8 + np.exp(-0.5) + 7, rel=1e-12
    )


@pytest.mark.fast
@pytest.mark.parametrize("atom", ["rel_entr", "kl_div"])
def test_relative_entropy_has_no_value_where_both_are_negative(atom: str) -> None:
    """``log(t/s)`` would have one there; CVXPY's atom is infinite."""
    x, y = cp.Variable(1, name="x"), cp.Variable(1, name="y")
    oracles = bv.oracles(bv.bilevel(f=cp.sum(getattr(cp, atom)(x, y)), g="y1**2", x="x1", y="y1"))
    x.value, y.value = np.array([2.0]), np.array([0.5])
    assert oracles.value_f(x.value, y.value) == pytest.approx(float(getattr(cp, atom)(x, y).value[0]), rel=1e-12)
    for point in ((-1.0, -2.0), (-2.0, -1.0), (1.0, -1.0), (-1.0, 1.0)):
        assert not np.isfinite(oracles.value_f(np.array(point[:1]), np.array(point[1:])))


UNDEFINED = {
    "exponential of a logarithm": (lambda x: cp.exp(cp.log(x[0])) + x[1] ** 2, "x1 = -1"),
    "quotient of equals": (lambda x: x[0] / x[0] + x[1], "x1 = 0"),
    "difference of logarithms": (lambda x: cp.log(x[0]) - cp.log(x[0]) + x[1] ** 2, "x1 = 0"),
    "square of a root": (lambda x: cp.power(cp.sqrt(x[0]), 2) + x[1], "x1 = -1"),
    "nothing times a logarithm": (lambda x: 0 * cp.log1p(x[0]) + x[1] ** 2, "x1 = -1"),
}


@pytest.mark.parametrize("name", UNDEFINED)
def test_an_expression_without_a_value_is_not_read_as_a_formula_that_has_one(name: str) -> None:
    variable = cp.Variable(2, name="x")
    variable.value = [5.0, 6.0]
    expression, where = UNDEFINED[name][0](variable), UNDEFINED[name][1]
    with pytest.raises(ExpressionError, match="has no value at") as caught:
        bv.single_level(f=expression, x=["x1", "x2"])
    assert where in str(caught.value)
    assert "as written" in str(caught.value)
    assert bv.single_level(f=expression, x=["x1", "x2"], domain={"x": (1, 2)}).f.is_finite is not False
    assert variable.value.tolist() == [5.0, 6.0], "the user's own values stay"

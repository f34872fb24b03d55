"""Sums over data stay sums: values, derivatives and truth against the sums written out, in every arithmetic."""

from __future__ import annotations

from fractions import Fraction
from itertools import product

import flint
import numpy as np
import pytest
import sympy

import bilevel_verify as bv
from bilevel_verify.atoms import softplus
from bilevel_verify.atoms.datasum import DataArray, DataForm, DataSum
from bilevel_verify.errors import MathematicalError, ParameterError
from bilevel_verify.intervals.arithmetics import IntervalArithmetic
from bilevel_verify.intervals.batch import Interval
from bilevel_verify.intervals.elementary import ball_ends
from bilevel_verify.numbers.balls import ArbBalls
from bilevel_verify.numbers.floats import Numpy, PythonFloat
from bilevel_verify.numbers.rounding import precision
from bilevel_verify.problems.problem import Problem
from bilevel_verify.truth.functions import kernels, model, sums
from bilevel_verify.truth.functions import written as written_out
from bilevel_verify.truth.lower_level import pointwise

RNG = np.random.default_rng(24)
N, D = 30, 3
A, B = RNG.standard_normal((N, D)), np.sign(RNG.standard_normal(N))
X, Y = sympy.Symbol("x1", real=True), sympy.symbols("y1:4", real=True)
FIELDS = (
    "program",
    "value_and_gradient",
    "gradient_y",
    "second_order",
    "second_order_y",
    "hessian_y",
    "weighted_third",
)


def data_sum() -> sympy.Expr:
    """``sum_i softplus(-b_i a_i . y) exp(x/3)/N``: rows of data and a variable that all samples share."""
    u, s, p = (sympy.Symbol(n, real=True) for n in "usp")
    forms = {u: DataForm.rows(DataArray.of("A", A), Y), s: DataForm.same(X)}
    body = softplus(-p * u) * sympy.exp(s / 3) + u**2 * s / 7
    return DataSum.of(body, forms, {p: DataArray.of("b", B)}, N, sympy.Rational(1, N))


def entries_sum() -> sympy.Expr:
    """``sum_i cos(y_i + c_i y_1)``: every variable in one sample, and one in all."""
    u, v, p = (sympy.Symbol(n, real=True) for n in "uvp")
    forms = {u: DataForm.entries(Y), v: DataForm.same(Y[0])}
    return DataSum.of(sympy.cos(u + p * v), forms, {p: DataArray.of("c", [0.5, -1.25, 2.0])}, 3, 2)


@pytest.fixture
def both(monkeypatch: pytest.MonkeyPatch) -> tuple[model.Function, model.Function]:
    """The same function with its sums as sums and written out."""
    monkeypatch.setattr(model, "WRITTEN_OUT", 0)
    monkeypatch.setattr(sums, "MOST", 7)  # several chunks, the last one shorter
    monkeypatch.setattr(sums, "FEWEST", 2)
    rest = sympy.exp(X) * sum(v**2 for v in Y) / 2
    expression = rest + data_sum() - 3 * entries_sum()
    kept = model.Function(expression, (X, *Y), 1)
    written = rest + data_sum().doit() - 3 * entries_sum().doit()
    monkeypatch.setattr(model, "WRITTEN_OUT", 10**6)
    monkeypatch.setattr(written_out, "WRITTEN_OUT", 10**6)
    plain = model.Function(written, (X, *Y), 1)
    assert len(kept.sums) == 2
    assert not plain.sums
    return kept, plain


def inputs_of(field: str, rows: int) -> list[np.ndarray]:
    rng = np.random.default_rng(5)
    return list(rng.uniform(-1, 1, (7 if field == "weighted_third" else 4, rows)))


@pytest.mark.parametrize("field", FIELDS)
def test_every_program_is_that_of_the_sum_written_out(both, field: str) -> None:
    kept, plain = (getattr(function, field) for function in both)
    points = inputs_of(field, 5)
    found, wanted = (np.array([np.broadcast_to(v, 5) for v in p.run(Numpy(), points)]) for p in (kept, plain))
    assert found.shape == wanted.shape
    assert np.abs(found - wanted).max() < 1e-12
    with precision(200):
        numbers = [flint.arb(float(c[0])) for c in points]
        exact, other = plain.run(ArbBalls(), numbers), kept.run(ArbBalls(), numbers)
        for a, b in zip(exact, other, strict=True):
            assert abs(a - b).upper() < flint.arb(2) ** -170
        with ball_ends():
            boxes = kept.run(IntervalArithmetic(), [Interval(c[:1], c[:1]) for c in points])
        for a, box in zip(exact, boxes, strict=True):
            assert flint.arb(float(box.lo.reshape(-1)[0])) <= a <= flint.arb(float(box.hi.reshape(-1)[0]))
            assert float(np.max(box.hi - box.lo)) < 1e-11


def test_single_floats_are_added_as_they_are(both) -> None:
    kept, plain = both
    numbers = [float(c[0]) for c in inputs_of("second_order", 1)]
    found, wanted = (f.second_order.run(PythonFloat(), numbers) for f in (kept, plain))
    assert np.allclose(found, wanted, rtol=1e-12, atol=1e-12)


def test_boxes_hold_every_point_of_them(both) -> None:
    kept, plain = both
    low = np.array([[-0.4], [0.1], [-0.3], [0.2]])
    with ball_ends():
        found = kept.second_order.run(IntervalArithmetic(), [Interval(c, c + 0.25) for c in low])
    for corner in product((0.0, 0.1, 0.25), repeat=4):
        exact = plain.second_order.run(Numpy(), [c + s for c, s in zip(low, corner)])
        for value, box in zip(exact, found, strict=True):
            assert box.lo.reshape(-1)[0] - 1e-12 <= float(np.reshape(value, -1)[0]) <= box.hi.reshape(-1)[0] + 1e-12


def test_products_hold_the_exact_ones_where_floats_cancel() -> None:
    """Sums of large numbers that cancel: the exact product of fractions lies inside, for both kinds of products."""
    rng = np.random.default_rng(1)
    right = np.vstack([m := rng.standard_normal((40, 3)) * 2.0 ** rng.integers(-40, 40, (40, 1)), -m * (1 + 2.0**-50)])
    low = np.tile(rng.standard_normal(40), 2)[None]
    column, left = Interval(low, low + np.abs(low) * 2.0**-45), rng.standard_normal((2, 80))
    for factor in (None, left):
        found = kernels._product(column, factor, right)
        for row, j in product(range(1 if factor is None else 2), range(3)):
            ones = [1.0] * 80 if factor is None else factor[row].tolist()
            pairs = list(zip(ones, right[:, j].tolist(), column.lo[0].tolist(), column.hi[0].tolist(), strict=True))
            ends = [
                (Fraction(a) * Fraction(r) * Fraction(c), Fraction(a) * Fraction(r) * Fraction(d))
                for a, r, c, d in pairs
            ]
            assert Fraction(float(found.lo[0, row, j])) <= sum(min(e) for e in ends)
            assert Fraction(float(found.hi[0, row, j])) >= sum(max(e) for e in ends)


def test_totals_hold_the_exact_sum() -> None:
    rng = np.random.default_rng(2)
    values = np.concatenate([v := rng.standard_normal(500) * 2.0 ** rng.integers(-30, 30, 500), -v, [2.0**-60]])[None]
    found = kernels.IntervalKernel(IntervalArithmetic()).total(Interval(values, values))
    total = sum(Fraction(v) for v in values[0].tolist())
    assert Fraction(float(found.lo[0, 0, 0])) <= total <= Fraction(float(found.hi[0, 0, 0]))
    assert found.hi[0, 0, 0] - found.lo[0, 0, 0] < 1e-12 * np.abs(values).sum()


def test_what_overflows_is_the_whole_line_and_never_a_number() -> None:
    column = Interval(np.array([[1e308, 1.0]]), np.array([[np.inf, 2.0]]))
    for left in (None, np.ones((1, 2))):
        found = kernels._product(column, left, np.array([[0.0], [1.0]]))
        assert (found.lo[0, 0, 0], found.hi[0, 0, 0]) == (-np.inf, np.inf)
    whole = kernels.IntervalKernel(IntervalArithmetic()).total(
        Interval(np.array([[-np.inf, 1.0]]), np.array([[1.0, np.inf]]))
    )
    assert (whole.lo[0, 0, 0], whole.hi[0, 0, 0]) == (-np.inf, np.inf)


def problem_of(g: sympy.Expr) -> Problem:
    return Problem(
        "bilevel", sum(v**2 for v in Y) / 2 + X * Y[0], (X,), g, Y, domain={"x1": (sympy.Integer(-1), sympy.Integer(1))}
    )


def test_truth_in_intervals_holds_the_truth_in_many_digits(monkeypatch: pytest.MonkeyPatch) -> None:
    rest = sympy.exp(X) * sum(v**2 for v in Y) / 2
    u, p = (sympy.Symbol(n, real=True) for n in "up")
    data = DataSum.of(softplus(-p * u), {u: DataForm.rows(DataArray.of("A", A), Y)}, {p: DataArray.of("b", B)}, N, 1)
    exact = bv.truth(problem_of(rest + data.doit()))
    monkeypatch.setattr(model, "WRITTEN_OUT", 0)
    monkeypatch.setattr(pointwise, "FEW_IN_BALLS", 0)
    fast = bv.truth(problem_of(rest + data))
    x = [0.3]
    for name in ("y_star", "phi", "grad_phi", "hess_phi", "grad_y_star", "g_min"):
        one, other = getattr(fast, name)(x), getattr(exact, name)(x)
        assert one.certainty == other.certainty == "certified"
        assert "intervals" in one.method
        assert np.shape(one.value) == np.shape(other.value)
        assert np.linalg.norm(np.asarray(one.value) - other.value) <= one.error + other.error
        assert other.error < one.error < 1e-10
    for name in ("L_star", "grad_L_star", "y_star_lam"):
        one, other = getattr(fast, name)(x, 4.0), getattr(exact, name)(x, 4.0)
        assert one.certainty == "certified"
        assert np.linalg.norm(np.asarray(one.value) - other.value) <= one.error + other.error < 1e-9
    second, wanted = fast.hess_y_star(x), exact.hess_y_star(x)
    for one, other in zip(second, wanted, strict=True):
        assert np.linalg.norm(one.value - other.value) <= one.error + other.error


def test_a_sum_without_a_minimiser_gets_no_truth(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(model, "WRITTEN_OUT", 0)
    monkeypatch.setattr(pointwise, "MOST_IN_BALLS", 0)
    u = sympy.Symbol("u", real=True)
    falling = DataSum.of(softplus(u), {u: DataForm.rows(DataArray.of("C", np.abs(A)), Y)}, {}, N, 1)
    with pytest.raises(MathematicalError):
        bv.truth(problem_of(falling)).phi([0.3])


def test_balls_speak_where_intervals_prove_nothing_and_where_digits_are_asked_for(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(model, "WRITTEN_OUT", 0)
    monkeypatch.setattr(pointwise, "FEW_IN_BALLS", 0)
    rest = sympy.exp(X) * sum(v**2 for v in Y) / 2
    u = sympy.Symbol("u", real=True)
    problem = problem_of(rest + DataSum.of(softplus(u), {u: DataForm.rows(DataArray.of("A", A), Y)}, {}, N, 1))
    assert "intervals" in bv.truth(problem).phi([0.3]).method
    many = bv.truth(problem, digits=60).phi([0.3])
    assert "in balls" in many.method
    assert many.certainty == "certified"

    def nothing(*_: object) -> object:
        raise MathematicalError("nothing is proved")

    monkeypatch.setattr(pointwise.Pointwise, "_by_intervals", nothing)
    truth = bv.truth(problem_of(rest + DataSum.of(softplus(-u), {u: DataForm.rows(DataArray.of("A", A), Y)}, {}, N, 1)))
    for found in (truth.phi([0.3]), truth.L_star([0.3], 4.0), *truth.hess_y_star([0.3])):
        assert "in balls" in found.method
    monkeypatch.setattr(pointwise, "MOST_IN_BALLS", 0)
    with pytest.raises(MathematicalError, match="nothing is proved"):
        truth.phi([0.3])


def test_what_nobody_can_write_to_is_not_copied() -> None:
    frozen = np.array([[24.0, 0.5], [1.0, 24.5]])
    frozen.flags.writeable = False
    assert DataArray.of("frozen", frozen).values is frozen
    view = np.arange(7.0)[1:]
    view.flags.writeable = False  # but what it is a view of can be written to
    kept = DataArray.of("view", view).values
    assert not np.shares_memory(kept, view)
    own = np.arange(8.0)
    kept = DataArray.of("own", own).values
    own[0] = 9.0
    assert kept[0] == 0.0


@pytest.mark.parametrize("samples", [20, 300], ids=["written out", "a sum"])
def test_a_weight_that_fades_out_leaves_the_lower_level_convex(samples: int) -> None:
    """exp(x1) |y|^2 / 2 has infimum 0 on the whole line; softplus'' >= 0: no rounding error may make that negative."""
    rng = np.random.default_rng(31)
    a, b = rng.standard_normal((samples, D)), np.sign(rng.standard_normal(samples))
    g = f"mean(softplus(-b[i]*dot(A[i], y)), (i, 0, {samples - 1})) + exp(x1)*dot(y, y)/2"
    problem = bv.bilevel(f="dot(y, y)/2", g=g, x="x1", y="y1 y2 y3", data={"A": a, "b": b})
    assert bv.constants(problem, only=["mu"])["mu"].value == 0
    for x in (0.2, -3.0):
        found = bv.truth(problem).phi([x])
        assert found.certainty == "certified"
        assert abs(float(found.value) - _ridge(a, b, np.exp(x))) <= found.error + 1e-12
    with pytest.raises(ParameterError, match="mu >= 0 is all that is certified"):
        bv.solve(problem, "ragd-gs", eps=1e-2, x0=[0.0])


def _ridge(a: np.ndarray, b: np.ndarray, weight: float) -> float:
    """|y*|^2 / 2 of the logistic loss with a weight, by Newton."""
    y = np.zeros(a.shape[1])
    for _ in range(60):
        share = 1 / (1 + np.exp(b * (a @ y)))
        slope = -(a.T @ (b * share)) / len(a) + weight * y
        y -= np.linalg.solve((a.T * (share * (1 - share))) @ a / len(a) + weight * np.eye(len(y)), slope)
    return float(y @ y) / 2

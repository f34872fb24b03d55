"""Sums that a formula writes out term by term are evaluated as sums over data: the same function, exactly."""

from __future__ import annotations

from fractions import Fraction
from itertools import pairwise

import flint
import numpy as np
import pytest
import sympy

import bilevel_verify as bv
from bilevel_verify.errors import MathematicalError
from bilevel_verify.intervals.arithmetics import IntervalArithmetic
from bilevel_verify.intervals.batch import Interval
from bilevel_verify.intervals.elementary import ball_ends
from bilevel_verify.numbers.balls import ArbBalls
from bilevel_verify.numbers.rounding import precision
from bilevel_verify.truth.functions import model, written
from tests.truth.test_truth_data_sums import FIELDS, X, Y, inputs_of

N, RNG = 40, np.random.default_rng(2401)
LOGISTIC = "log(1 + exp({}*y1 + {}*y2 - {}*y3))"
ROWS = [[f"{v:.3f}" for v in row] for row in RNG.uniform(0.5, 2, (N, 3))]
LONG = [[f"{v:.17f}" for v in row] for row in RNG.uniform(0.5, 2, (N, 3))]
"""More digits than a float holds."""


def text(rows: list[list[str]], shape: str = LOGISTIC, weights: str = "") -> str:
    terms = " + ".join(f"{k + 1}*{shape.format(*row)}" if weights else shape.format(*row) for k, row in enumerate(rows))
    return f"({terms})/{len(rows)} + exp(x1)*(y1**2 + y2**2 + y3**2)/2"


def expression(source: str) -> sympy.Expr:
    return bv.bilevel(f="y1", g=source, x="x1", y="y1 y2 y3").g


def pair(monkeypatch: pytest.MonkeyPatch, source: str) -> tuple[model.Function, model.Function]:
    """The function with its terms gathered, and as it is written."""
    gathered = model.Function(expression(source), (X, *Y), 1)
    monkeypatch.setattr(written, "WRITTEN_OUT", 10**6)
    plain = model.Function(expression(source), (X, *Y), 1)
    assert gathered.sums
    assert not plain.sums
    return gathered, plain


SOURCES = {
    "decimals": text(ROWS),
    "long decimals": text(LONG),
    "thirds": text([[f"({k + 1}/3)", f"(1/{k + 3})", "(2/7)"] for k in range(27)]),
    "weights, shifts, powers": text(ROWS, "(({}*y1 - {}*y2 + {}*y3 - 1/3)**4 + 0.7)**(3/2)", "k"),
    "a shared variable": text(ROWS, "exp(-x1/3)*cos({}*y1 - {}*y2 + {}*y3 + 0.123456789012345678)"),
    "products": text(ROWS, "sin({}*y1 + y2 + y3)*exp(({}*y2 - y1 - {}*y3)/9)"),
}


@pytest.mark.parametrize("name", SOURCES)
def test_every_program_is_that_of_the_text_to_fifty_digits(monkeypatch, name: str) -> None:
    kept, plain = pair(monkeypatch, SOURCES[name])
    assert kept.numbers == 0  # no data of the user's: points stay in balls
    for field in FIELDS:
        point = [float(c[0]) for c in inputs_of(field, 1)]
        with precision(250):
            numbers = [flint.arb(v) for v in point]
            exact, other = (getattr(one, field).run(ArbBalls(), numbers) for one in (plain, kept))
            assert len(exact) == len(other)
            for a, b in zip(exact, other, strict=True):
                assert abs(a - b).upper() < flint.arb(2) ** -200, field
            with ball_ends():
                boxes = getattr(kept, field).run(IntervalArithmetic(), [Interval(*[np.array([v])] * 2) for v in point])
            for a, box in zip(exact, boxes, strict=True):
                assert flint.arb(float(box.lo.reshape(-1)[0])) <= a <= flint.arb(float(box.hi.reshape(-1)[0])), field
                assert float(np.max(box.hi - box.lo)) < 1e-10


def test_numerators_that_no_float_holds_are_two_floats_and_longer_ones_stay_written() -> None:
    numbers = [Fraction(10**17 + 1, 10**17), Fraction(-1, 3), Fraction(0)]
    found = written._exact(numbers)
    assert found is not None
    assert found.low is not None
    for k, number in enumerate(numbers):
        assert (Fraction(found.high[k]) + Fraction(found.low[k])) / found.denominator == number
    assert written._exact([Fraction(1, 10**40 + 1), Fraction(2**200, 3)]) is None
    assert written._exact([Fraction(10**400)]) is None
    assert written._exact([Fraction(1, 3), sympy.sqrt(2)]) is None


def test_irrational_coefficients_stay_as_they_are_written() -> None:
    source = text([[f"sqrt({k + 2})", "1.5", "2"] for k in range(N)])
    assert model.Function(expression(source), (X, *Y), 1).sums == ()


def test_sparse_and_short_sums_stay_as_they_are_written() -> None:
    names = sympy.symbols("y1:40", real=True)
    chain = sum(sympy.log(1 + sympy.exp(2 * a - 3 * b)) for a, b in pairwise(names))
    assert model.Function(chain, (X, *names), 1).sums == ()
    assert model.Function(expression(text(ROWS[:20])), (X, *Y), 1).sums == ()


def test_the_infimum_is_the_one_of_the_text(monkeypatch) -> None:
    p = bv.bilevel(f=text(ROWS[:30]), g=text(LONG[:30]), x="x1", y="y1 y2 y3", domain={"x1": (-1, 1)})
    quick = bv.truth(p).phi_min()
    points = bv.truth(p).phi([0.25]), bv.truth(p).phi_batch([[0.25]])
    monkeypatch.setattr(written, "WRITTEN_OUT", 10**6)
    slow = bv.truth(p).phi([0.25])
    assert quick.certainty == points[0].certainty == slow.certainty == "certified"
    assert points[0].error == slow.error < 1e-15
    assert abs(points[0].value - slow.value) <= 2 * slow.error
    assert abs(points[1][0][0] - slow.value) <= points[1][1][0] + slow.error
    assert quick.value - quick.error <= slow.value


@pytest.mark.parametrize("count", [20, 400])
def test_no_hessian_is_claimed_where_a_term_of_a_sum_has_a_joint(count: int) -> None:
    """max(y - c_i, 0)^2 has no second derivative at c_i; the hull of both sides was certified as one."""
    c = np.linspace(-1, 1, count)
    c[count // 2] = 0.25
    hinge = "mean(max(y1 - c[i], 0)**2, (i, 0, rows(c) - 1))"
    p = bv.bilevel(f=hinge, g="(y1 - x1)**2/2", x="x1", y="y1", domain={"x1": (-1, 1)}, data={"c": c})
    with pytest.raises(MathematicalError):
        bv.truth(p).hess_phi([0.25])
    assert bv.truth(p).hess_phi([0.2501]).certainty == "certified"
    assert bv.truth(p).grad_phi([0.25]).certainty == "certified"


def test_joints_of_terms_that_are_gathered_are_seen() -> None:
    shifts = [0, *RNG.uniform(-1, 1, N).round(3).tolist()]
    rows = [("1", "0.5", "0.25", f"{s:+}") for s in shifts]
    hinge = " + ".join("max({}*y1 + {}*y2 + {}*y3 {}, 0)**2".format(*row) for row in rows)
    p = bv.bilevel(f=hinge, g="(y1 - x1)**2 + (y2 - x1)**2 + (y3 - x1)**2", x="x1", y="y1 y2 y3")
    assert bv.truth(p).model.upper.sums
    with pytest.raises(MathematicalError):
        bv.truth(p).hess_phi([0.0])
    assert bv.truth(p).hess_phi([0.001953125]).certainty == "certified"

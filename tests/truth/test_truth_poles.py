"""A reciprocal is convex on one side of its pole: no minimum of one side is that of both."""

from __future__ import annotations

import contextlib
from fractions import Fraction
from math import inf

import numpy as np
import pytest
import sympy

import bilevel_verify as bv
from bilevel_verify.errors import MathematicalError
from bilevel_verify.problems.feasible import Box
from bilevel_verify.truth.functions.structure import Ridge, pole_inside
from bilevel_verify.truth.sets.ranges import ranges_over
from bilevel_verify.truth.witness.cvxpy_bridge import box_of, solve_convex
from bilevel_verify.truth.witness.disciplined import NotRepresentable

X, Y = sympy.symbols("x1 x2", real=True)
BOTH_SIDES = ("x1**2 + 1/x1", "x1**2 + 1/x1**3", "x1**2 + 1/x1 + x1", "(x1-2)**2/x1", "x1**2 + 1/(x1+x2) + x2**2")


@pytest.mark.parametrize("f", BOTH_SIDES)
def test_no_infimum_is_that_of_one_side(f: str) -> None:
    known = bv.truth(bv.single_level(f=f, x="x1 x2" if "x2" in f else "x1"))
    with contextlib.suppress(MathematicalError):  # not known: said in words
        assert known.phi_min().value == -inf


def test_neither_through_a_lower_level() -> None:
    known = bv.truth(bv.bilevel(f="x1**2 + 1/y1", g="(y1-x1)**2", x="x1", y="y1"))
    with pytest.raises(MathematicalError):
        known.phi_min()


def test_a_domain_on_one_side_is_certified() -> None:
    known = bv.truth(bv.single_level(f="x1**2 + 1/x1", x="x1", domain={"x1": (0, "oo")})).phi_min()
    assert known.certainty == "certified"
    assert abs(known.value - 3 * 2 ** (-2 / 3)) < 1e-12


@pytest.mark.parametrize("low", [-1e-9, -1e-300, -inf])
def test_the_conic_solver_sees_an_end_beyond_the_pole_exactly(low: float) -> None:
    with pytest.raises(NotRepresentable, match="reaches further"):
        solve_convex(X**2 + 1 / X, [X], box_of([low], [10.0]))  # type: ignore[arg-type]
    assert solve_convex(X**2 + 1 / X, [X], Box((0.0,), (10.0,))).status == "optimal"


def test_a_quotient_in_a_logarithm_has_values_where_both_are_negative() -> None:
    with pytest.raises(NotRepresentable, match="reaches further"):
        solve_convex(X * sympy.log(X / Y), [X, Y], Box((-2.0, -2.0), (-1.0, -1.0)))
    assert solve_convex(X * sympy.log(X / Y), [X, Y], Box((1.0, 1.0), (2.0, 2.0))).status == "optimal"


def test_least_values_of_affine_forms_are_exact() -> None:
    third = Fraction(1, 3)
    low, high = np.array([-1.0, -inf]), np.array([inf, 2.0])
    over, free = ranges_over(box_of(low, high)), ranges_over(box_of(low, np.array([inf, inf])))
    assert over is not None
    assert free is not None
    assert over((third, Fraction(-1)), third)[0] == -2
    assert over((third, Fraction(1)), third)[0] == -inf
    assert free((third, Fraction(0)), third)[0] == 0
    ridges = [Ridge(1 / X, X, (Fraction(1),), -third, "strict")]
    assert pole_inside(ridges, ranges_over(Box((float(third),), (inf,))))  # the float below 1/3
    assert not pole_inside(ridges, ranges_over(Box((float(third) + 1e-16,), (inf,))))
    assert pole_inside(ridges, None)

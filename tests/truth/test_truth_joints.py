"""Derivatives where a function has a jump, a kink, or a joint: none is certified that does not exist."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import sympy

import bilevel_verify as bv
from bilevel_verify.constants.formula.piecewise import is_joined_smoothly
from bilevel_verify.constants.formula.smoothness import slope_may_jump

pytestmark = pytest.mark.fast
X, Y = sympy.symbols("x y", real=True)
THIRD = sympy.Rational(1, 3)

NONE: list[tuple[str, float, tuple[str, ...]]] = [
    ("floor(x1)", 1, ("grad_phi", "hess_phi")),
    ("x1*floor(x1)", 0, ("grad_phi", "hess_phi")),
    ("ceil(x1) - floor(x1)", 2, ("grad_phi", "hess_phi")),
    ("Piecewise((x1, x1 < 1), (x1 + 1, True))", 1, ("grad_phi", "hess_phi")),
    ("Piecewise((0, x1 < 1), (x1 - 1, x1 < 2), (1, True))", 2, ("grad_phi", "hess_phi")),
    ("Piecewise((x1**2, x1 < 1), (2*x1 - 1, True))", 1, ("hess_phi",)),
    ("max(x1, 0)**2", 0, ("hess_phi",)),
    ("x1*abs(x1)", 0, ("hess_phi",)),
    ("huber(1, x1)", 1, ("hess_phi",)),
    ("huber(1, x1)", -1, ("hess_phi",)),
    ("sgnpow(2, x1)", 0, ("hess_phi",)),
]
"""Formula, point, derivatives that do not exist there."""


@pytest.mark.parametrize(("f", "x", "names"), NONE)
def test_a_derivative_that_does_not_exist_has_no_value(f: str, x: float, names: tuple[str, ...]) -> None:
    t = bv.truth(bv.single_level(f=f, x="x1"))
    for name in ("grad_phi", "hess_phi"):
        _, errors = getattr(t, f"{name}_batch")([[x], [x + 0.25]])
        assert bool(np.isinf(errors[0])) is (name in names)
        assert np.isfinite(errors[1])
        assert np.isfinite(np.asarray(getattr(t, name)([x + 0.25]).value)).all()
        if name in names:
            with pytest.raises(bv.MathematicalError, match="no finite value is proved"):
                getattr(t, name)([x])
        else:
            assert getattr(t, name)([x]).certainty == "certified"


def test_so_it_is_through_a_lower_level() -> None:
    g = "huber(1, y1 - x1) + (y1 - x1)**2/2"
    t = bv.truth(bv.bilevel(f="y1**2", g=f"{g} + y1*x1/4 - y1", x="x1", y="y1"))
    inner = t.grad_phi([0.0])  # y* = 1/2: Newton's slope is that of both sides
    assert inner.certainty == "certified"
    at_joint = bv.truth(bv.bilevel(f="y1**2", g=f"{g} - 2*y1", x="x1", y="y1"))
    assert float(at_joint.y_star([0.0]).value[0]) == pytest.approx(1.0)
    for name in ("grad_y_star", "grad_phi"):
        with pytest.raises(bv.MathematicalError):
            getattr(at_joint, name)([0.0])


def test_so_it_is_for_the_penalty_function() -> None:
    t = bv.truth(bv.bilevel(f="huber(1, y1) + x1", g="(y1 - x1)**2/2", x="x1", y="y1"))
    assert np.isfinite(t.grad_L_star([2.0], 1.0).value).all()  # y*_lam = 1, a joint of f
    with pytest.raises(bv.MathematicalError):
        t.hess_L_star([2.0], 1.0)
    assert np.isfinite(t.hess_L_star([3.0], 1.0).value).all()


def test_claims_ask_for_no_derivative_at_a_jump() -> None:
    from bilevel_verify.checks.claims.evaluate import EvaluationError
    from bilevel_verify.checks.claims.values import Vector
    from bilevel_verify.checks.instances.functions import ProblemFunctions
    from bilevel_verify.numbers.rounding import ball

    problem = bv.single_level(f="floor(x1) + huber(1, x1)", x="x1")
    functions: Any = ProblemFunctions(problem, bv.truth(problem))
    for name, x, known in (
        ("grad_f", 1.0, False),
        ("grad_f", 1.5, True),
        ("hess_f", 1.0, False),
        ("hess_f", 1.5, True),
    ):
        point = [Vector((ball(x),))]
        if known:
            functions.call(name, point)
        else:
            with pytest.raises(EvaluationError, match="may jump"):
                functions.call(name, point)


@pytest.mark.parametrize(
    ("node", "order"),
    [
        (sympy.Piecewise((-X, X <= 1), (0, True)), -1),
        (sympy.Piecewise((-X, X <= 0), (X, True)), 0),
        (sympy.Piecewise((X**2, X <= 0), (X**3, True)), 1),
        (sympy.Piecewise((X**3, X <= 0), (X**4, True)), 2),
        (sympy.Piecewise((0, X < THIRD), (-3, X <= THIRD), (0, True)), -1),  # a value of its own
        (sympy.Piecewise(((X - Y) ** 2, X - Y <= 0), (2 * (X - Y) ** 2, True)), 1),
        (sympy.Piecewise(((X - Y) ** 2, X - Y <= 0), (2 * (X - Y), True)), 0),
        (sympy.Piecewise(((X + 2 * Y) ** 2, X + 2 * Y <= 1), (2 * X + 4 * Y - 1, True)), 1),
        (sympy.Piecewise((X * Y, X <= 0), (2 * X * Y, True)), -1),  # of two forms: nothing is said
        (sympy.Piecewise((0, X**2 < 2), (1, True)), -1),
        (sympy.Piecewise((0, sympy.sqrt(2) * X <= 1), ((sympy.sqrt(2) * X - 1) ** 2, True)), 1),
    ],
)
def test_how_smoothly_pieces_are_joined(node: Any, order: int) -> None:
    for asked in range(4):
        assert is_joined_smoothly(node, asked) is (asked <= order)
    assert slope_may_jump(node) is (order < 1)


def test_flat_pieces_are_joined_at_every_order() -> None:
    half = sympy.Rational(1, 2)
    node = sympy.Piecewise((0, sympy.Le(X, half)), (sympy.exp(1 - 1 / (2 * X - 1) ** 2), True))
    assert is_joined_smoothly(node, 3)

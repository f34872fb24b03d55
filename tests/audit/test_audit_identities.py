"""Identities against definitions: the hypergradient survives, planted mistakes (sign, transposition, factor) do not."""

from __future__ import annotations

from fractions import Fraction

import pytest

from bilevel_verify.audit.identities.calculus_proofs import prove_identity, truths
from bilevel_verify.audit.identities.identities import decide_identity
from bilevel_verify.audit.identities.networks import normal
from bilevel_verify.language import parse
from bilevel_verify.theorems.card import Identity
from bilevel_verify.theorems.card_parts import Expression

RIGHT = "grad_x_f(x, y_star(x)) - hess_xy_g(x, y_star(x)) @ inv(hess_yy_g(x, y_star(x))) @ grad_y_f(x, y_star(x))"


def identity(left: str, right: str) -> Identity:
    """An identity entry from two texts."""
    return Identity(
        kind="identity", id="test", left=Expression(parse(left), left), right=Expression(parse(right), right)
    )


def test_the_hypergradient_is_proved() -> None:
    decision = decide_identity(identity("grad_phi(x)", RIGHT))
    assert decision.outcome == "proved"
    assert decision.attacks == 3


@pytest.mark.parametrize(
    "wrong",
    [
        RIGHT.replace(" - hess", " + hess"),
        RIGHT.replace("hess_xy_g", "hess_yx_g", 1),
        RIGHT.replace("grad_y_f(x, y_star(x))", "(2*grad_y_f(x, y_star(x)))"),
        RIGHT.replace("inv(hess_yy_g(x, y_star(x)))", "hess_yy_g(x, y_star(x))"),
    ],
)
def test_planted_mistakes_are_refuted(wrong: str) -> None:
    assert decide_identity(identity("grad_phi(x)", wrong)).outcome == "refuted"


PROVED = [
    ("grad_phi(x)", RIGHT),
    ("hess_yy_g(x, y) @ v_star(x, y) - grad_y_f(x, y)", "0*y"),
    ("grad_L_star(x)", "grad_x_f(x, y_star_lam(x)) + lam*(grad_x_g(x, y_star_lam(x)) - grad_x_g(x, y_star(x)))"),
    ("hess_yx_g(x, y_star(x)) + hess_yy_g(x, y_star(x)) @ T(grad_y_star(x))", "0*hess_yx_g(x, y)"),
    ("grad_y_f(x, y_star_lam(x)) + lam*grad_y_g(x, y_star_lam(x))", "0*grad_y_f(x, y)"),
]
WRONG = [
    ("grad_phi(x)", RIGHT.replace(" - hess", " + hess")),
    ("grad_phi(x)", RIGHT.replace("hess_xy_g", "hess_yx_g", 1)),
    ("grad_phi(x)", RIGHT.replace("y_star(x)", "y_star(w)", 1)),
    ("grad_phi(x)", "grad_x_f(x, y_star(x))"),
    ("grad_L_star(x)", "grad_x_f(x, y_star_lam(x)) + lam*grad_x_g(x, y_star_lam(x))"),
    ("hess_phi(x)", "hess_xx_f(x, y_star(x))"),
    # with another number of arguments it is another thing, or nothing
    ("grad_x_f(x, y_star_lam(x, 2))", "grad_x_f(x, y_star_lam(x))"),
    ("grad_x_f(x, y_star(x, 2))", "grad_x_f(x, y_star(x))"),
    ("L_star(x, 2)", "L_star(x)"),
    ("grad_phi(x, y)", "grad_phi(x)"),
    ("v_star(x, y, 2)", "v_star(x, y)"),
    ("v_star(x)", "v_star(x)"),
    ("grad_x_f(x)", "grad_x_f(x)"),
    ("grad_x_f(x, y, y)", "grad_x_f(x, y)"),
    ("f(x)", "f(x)"),
    ("T(hess_xy_f(x, y), 2)", "T(hess_xy_f(x, y))"),
    ("inv(hess_yy_g(x, y), 2)", "inv(hess_yy_g(x, y))"),
    ("mode(third_xxy_g(x, y), 1)", "mode(third_xxy_g(x, y), 1)"),
]


@pytest.mark.fast
@pytest.mark.parametrize(("left", "right"), PROVED)
def test_normal_forms_prove(left: str, right: str) -> None:
    assert prove_identity(identity(left, right)).outcome == "proved"


@pytest.mark.fast
@pytest.mark.parametrize(("left", "right"), WRONG)
def test_normal_forms_do_not_prove_what_is_wrong(left: str, right: str) -> None:
    assert prove_identity(identity(left, right)).outcome == "undecided"


def test_hyper_hessian_from_the_chain_rule() -> None:
    """Symmetric, and equal to the derivative of the printed hypergradient term by term."""
    hessian = truths()["hess_phi"]
    assert not normal(hessian.plus(hessian.moved((1, 0)), Fraction(-1)))
    assert len(normal(hessian)) == 8

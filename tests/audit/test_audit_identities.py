"""Identities against definitions: the hypergradient survives, planted mistakes (sign, transposition, factor) do not."""

from __future__ import annotations

import pytest

from bilevel_verify.audit.identities import decide_identity
from bilevel_verify.language import parse
from bilevel_verify.theorems.card import Expression, Identity

RIGHT = "grad_x_f(x, y_star(x)) - hess_xy_g(x, y_star(x)) @ inv(hess_yy_g(x, y_star(x))) @ grad_y_f(x, y_star(x))"


def identity(left: str, right: str) -> Identity:
    """An identity entry from two texts."""
    return Identity(
        kind="identity", id="test", left=Expression(parse(left), left), right=Expression(parse(right), right)
    )


def test_the_hypergradient_survives() -> None:
    decision = decide_identity(identity("grad_phi(x)", RIGHT))
    assert decision.outcome == "undecided"
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

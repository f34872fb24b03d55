"""How the functions of claims are typeset: a gradient of a starred function is no upright word."""

from __future__ import annotations

import pytest

from bilevel_verify.language.latex import function_latex


@pytest.mark.parametrize(
    ("name", "shown"),
    [
        ("L_star", r"L^*_\lambda"),
        ("grad_L_star", r"\nabla L^*_\lambda"),
        ("y_star", "y^*"),
        ("phi", r"\varphi"),
        ("grad_phi", r"\nabla \varphi"),
        ("hess_xy_g", r"\nabla^2_{xy} g"),
        ("grad_x_f", r"\nabla_{x} f"),
        ("gradual", r"\operatorname{gradual}"),
        ("dist_to", r"\operatorname{dist to}"),
    ],
)
def test_a_function_is_typeset_as_papers_do(name: str, shown: str) -> None:
    assert function_latex(name) == shown

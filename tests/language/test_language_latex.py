"""The echo of a parsed expression."""

from __future__ import annotations

import pytest

from bilevel_verify.language import parse, to_latex


@pytest.mark.parametrize(
    ("text", "latex"),
    [
        ("-x**2", "-x^{2}"),
        ("(-x)**2", r"\left(-x\right)^{2}"),
        ("a/b*c", r"\frac{a}{b}\,c"),
        ("a/(b*c)", r"\frac{a}{b\,c}"),
        ("a - (b - c)", r"a - \left(b - c\right)"),
        ("2*3", r"2 \cdot 3"),
        ("(eps/rho)**(1/2)", r"\sqrt{\frac{\epsilon}{\rho}}"),
        ("L_g/mu", r"\frac{L_{g}}{\mu}"),
        ("rho_bar <= M", r"\bar{\rho} \le M"),
        ("sum(norm(x[i+1] - x[i])**2, (i, 0, k-1))", r"\sum_{i=0}^{k - 1} \left\|x_{i + 1} - x_{i}\right\|^{2}"),
        ("lam*(g - g_0)", r"\lambda\,\left(g - g_{0}\right)"),
        ("0.64", "0.64"),
        ("1/3", r"\frac{1}{3}"),
        ("g_k[k+1]", "g_{k + 1}"),
        ("L_g[k]", "L_{g,k}"),
        ("a and not b", r"a \text{ and } \neg b"),
        ("T(A) @ v", r"A^{\top}\,v"),
    ],
)
def test_echo(text: str, latex: str) -> None:
    assert to_latex(parse(text)) == latex


def test_display_of_the_card_wins() -> None:
    assert to_latex(parse("rho_t*2"), {"rho_t": r"\tilde\rho"}) == r"\tilde\rho \cdot 2"

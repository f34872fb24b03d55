"""Constants as text, LaTeX and notebook table: what is printed is still a bound."""

from __future__ import annotations

from fractions import Fraction

import pytest
import sympy

import bilevel_verify as bv
from bilevel_verify.constants.bound.constant import Constant, Reason


def constant(value: float, side: str, **fields: object) -> Constant:
    why = Reason("rule <b>", "statement", (Reason("inner", "part"),))
    side_fields = {"lower": 0.0, "upper": float("inf"), "certified": True, "route": "calculus"}
    rest = side_fields | {"norm": "spectral", "domain": "x1 < 3 & more", "why": why} | fields
    return Constant(name="L_g", value=value, side=side, **rest)  # type: ignore[arg-type]


@pytest.mark.parametrize(("side", "sign"), [("upper", 1), ("lower", -1)])
@pytest.mark.parametrize("value", [1 / 3, 2 / 3, 1e-300 / 7, 123456789.123456, 1.9999999999999])
def test_printed_bounds_are_rounded_to_the_safe_side(value: float, side: str, sign: int) -> None:
    shown = str(constant(value, side)).split("=", 1)[1].split(":", 1)[0].strip()
    assert (Fraction(shown) - Fraction(value)) * sign >= 0
    assert abs(Fraction(shown) / Fraction(value) - 1) < Fraction(1, 10**8)


def test_text_has_the_derivation() -> None:
    text = str(constant(float("inf"), "upper", certified=False))
    assert text.splitlines()[0] == "L_g <= oo: no bound found (calculus) on x1 < 3 & more"
    assert "part  [inner]" in text


def test_closed_forms_are_shown() -> None:
    found = constant(2.2, "upper", exact=sympy.sqrt(5) / 2 + 1)
    assert "1 + sqrt(5)/2" in str(found)
    assert r"\frac{\sqrt{5}}{2}" in found._repr_latex_()


def test_notebook_tables_are_escaped() -> None:
    html = constant(1.0, "upper")._repr_html_()
    assert "rule &lt;b&gt;" in html
    assert "x1 &lt; 3 &amp; more" in html
    table = bv.constants(bv.single_level(f="cos(x1)", x="x1"), paper="restarted-agd-hb")
    assert table._repr_html_().count("<tr>") == 1 + len(table)  # type: ignore[attr-defined]

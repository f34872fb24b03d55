"""Constants as text, LaTeX and notebook table: what is printed is still a bound."""

from __future__ import annotations

from fractions import Fraction
from math import inf

import pytest
import sympy

import bilevel_verify as bv
from bilevel_verify.constants.bound.constant import Constant, Reason, advice


def constant(value: float, side: str, **fields: object) -> Constant:
    why = Reason("rule <b>", "statement", (Reason("inner", "part"),))
    side_fields = {"lower": 0.0, "upper": float("inf"), "certified": True, "route": "calculus"}
    rest = side_fields | {"norm": "spectral", "domain": "x1 < 3 & more", "why": why} | fields
    return Constant(name="L_g", value=value, side=side, **rest)  # type: ignore[arg-type]


@pytest.mark.fast
@pytest.mark.parametrize(("side", "sign"), [("upper", 1), ("lower", -1)])
@pytest.mark.parametrize("value", [1 / 3, 2 / 3, 1e-300 / 7, 123456789.123456, 1.9999999999999])
def test_printed_bounds_are_rounded_to_the_safe_side(value: float, side: str, sign: int) -> None:
    shown = str(constant(value, side)).split("=", 1)[1].split(":", 1)[0].strip()
    assert (Fraction(shown) - Fraction(value)) * sign >= 0
    assert abs(Fraction(shown) / Fraction(value) - 1) < Fraction(1, 10**8)


@pytest.mark.fast
def test_text_has_the_derivation() -> None:
    text = str(constant(float("inf"), "upper", certified=False))
    assert text.splitlines()[0] == "L_g <= oo: no bound found (calculus) on x1 < 3 & more"
    assert "part  [inner]" in text


@pytest.mark.fast
@pytest.mark.parametrize(
    ("value", "fields", "said"),
    [
        (1.5, {}, "L_g <= 1.5: certified by calculus on"),
        (1.5, {"certified": False}, "L_g <= 1.5: not certified (calculus) on"),
        (1.5, {"certified": False, "route": "sampling"}, "L_g <= 1.5: not certified (sampling) on"),
        (1.5, {"attained": True}, "L_g <= 1.5 (attained): certified by calculus on"),
        (inf, {"lower": inf}, "L_g <= oo: certified by calculus on"),
        (inf, {}, "L_g <= oo: no bound found (calculus) on"),
        (2.5, {"exact": sympy.Rational(5, 2)}, "L_g <= 5/2 (at most 2.5): certified by calculus on"),
    ],
)
def test_a_line_says_what_is_certified_and_by_what(value: float, fields: dict[str, object], said: str) -> None:
    assert str(constant(value, "upper", **fields)).startswith(said)


@pytest.mark.fast
def test_lower_bounds_are_lower_bounds_in_every_writing() -> None:
    below = constant(2.5, "lower", exact=sympy.Rational(5, 2), upper=3.0)
    assert str(below).startswith("L_g >= 5/2 (at least 2.5): certified")
    assert below._repr_latex_().count(r"\ge") == 1
    assert r"\le" not in below._repr_latex_()
    above = constant(0.5, "upper")
    assert r"\le" in above._repr_latex_()
    assert r"\ge" not in above._repr_latex_()
    assert "None" not in str(above)
    assert "<td>3</td>" in below._repr_html_()  # what is known on the other side
    assert "<td>0</td>" in above._repr_html_()


@pytest.mark.fast
@pytest.mark.parametrize(("value", "shown"), [(inf, "oo"), (-inf, "-oo"), (0.5, "0.5"), (0.0, "0"), (-2.0, "-2")])
def test_numbers_and_both_infinities(value: float, shown: str) -> None:
    assert str(constant(value, "upper", lower=value, upper=value)).startswith(f"L_g <= {shown}: ")


@pytest.mark.fast
@pytest.mark.parametrize("count", [0, 1, 4, 5])
def test_advice_names_four_variables_and_says_that_there_are_more(count: int) -> None:
    ranges = {f"x{k}": (-float(k), 2.0) for k in range(count)}
    found = advice(ranges)
    if not count:
        assert found == []
        return
    named = ", ".join(f"x{k} = [{-float(k):g}, 2]" for k in range(min(count, 4)))
    more = " and so on (5 variables)" if count == 5 else ""
    assert found == [f"add {named}{more} under [domain]"]


@pytest.mark.fast
def test_the_cause_is_the_nearest_step_that_names_a_term() -> None:
    """Breadth first, in the order of the parts, and below a bound without end only through parts without one."""
    deep = Reason("blows up", "the deep one", remedy={"x1": (-1.0, 5.0)})
    first = Reason("sum", "first <= inf", (deep,))
    near = Reason("lost smoothness", "the near one <= inf", remedy={"x1": (-3.0, 2.0), "x2": (0.0, 1.0)})
    bounded = Reason("unbounded ray", "of a finite part", remedy={"x3": (0.0, 1.0)})
    whole = Reason("sum", "the whole <= inf", (first, bounded, near))
    assert whole.cause() == "the near one <= inf; add x1 = [-1, 2], x2 = [0, 1] under [domain]"
    two = Reason("sum", "the whole", (Reason("blows up", "one"), Reason("blows up", "two")))
    assert two.cause() == "one"
    assert Reason("sum", "nothing to blame", (Reason("known", "a part"),)).cause() == "nothing to blame"


@pytest.mark.fast
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

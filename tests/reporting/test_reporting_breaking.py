"""Long formulas come in pieces: nothing is lost, nothing is cut where it belongs together."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ElementTree

import pytest

from bilevel_verify.reporting.plots import _key
from bilevel_verify.reporting.typesetting import breaking
from bilevel_verify.reporting.typesetting.mathml import to_mathml
from bilevel_verify.reporting.typesetting.prose import expression

SUM = " + ".join(f"a_{{{i}}} b_{{{i}}}" for i in range(12))
GROUP = rf"\left({SUM}\right) \, c \le d"
LONG = [rf"x \le {SUM}", GROUP, rf"\|x\| \, {SUM} = -y", rf"{SUM} - \sum_{{i=1}}^n (a + b) \, \frac{{x}}{{y}} \, z"]


def said(mathml: str) -> str:
    return re.sub(r"<[^>]*>|\s", "", mathml)


def cut(mathml: str) -> list[str]:
    return re.findall(r"<math.*?</math>", mathml)


@pytest.mark.parametrize("latex", LONG)
def test_the_pieces_are_the_formula(monkeypatch: pytest.MonkeyPatch, latex: str) -> None:
    broken = {block: to_mathml(latex, block=block) for block in (True, False)}
    monkeypatch.setattr(breaking, "LONG", 10**6)
    whole = to_mathml(latex, block=True)
    assert whole.startswith('<math display="block">')
    for mathml in broken.values():
        assert len(cut(mathml)) > 3
        assert said(mathml) == said(whole)
        for piece in cut(mathml):
            ElementTree.fromstring(piece)
    assert broken[True].startswith('<div class="display">')
    assert "</math><wbr><math>" in broken[False]


def test_a_short_formula_is_one_piece() -> None:
    assert len(cut(to_mathml(r"a + b \le c", block=True))) == 1


def test_cuts_stand_before_operators_that_have_a_left_side() -> None:
    found = cut(to_mathml(rf"-x = -y + {SUM}"))
    assert [said(piece) for piece in found][:3] == ["−x", "=−y", "+a0b0"]
    assert '<mo form="infix">+</mo>' in found[2]


def test_brackets_of_a_group_that_fits_are_not_opened() -> None:
    pieces = [said(piece) for piece in cut(to_mathml(rf"{SUM} + f(u + v) + \left(p + q\right)"))]
    assert "+f(u+v)" in pieces
    assert "+(p+q)" in pieces


def test_a_group_longer_than_a_line_is_opened_with_plain_fences() -> None:
    first = cut(to_mathml(GROUP))[0]
    assert said(first) == "(a0b0"
    assert 'stretchy="false">(' in first


@pytest.mark.parametrize("text", ["<= B**2", "> 1 - x**2", ">= eps**(-7/4)", "== k**2", "k**2 + 1", "= b**2"])
def test_the_right_side_of_a_relation_is_set_with_its_sign(text: str) -> None:
    found = expression(text)
    assert found.startswith("<math>")
    assert "**" not in found


def test_what_is_no_formula_stays_escaped_code() -> None:
    assert expression("<= <script>") == "<code>&lt;= &lt;script&gt;</code>"
    assert expression("") == "<code></code>"


def test_names_of_lines_have_raised_powers() -> None:
    assert said(_key("order: <= O(kappa**0.5*log(1/eps))")) == "order:≤O(κ0.5log(1/ε))"
    assert _key("x**(-7/4)").count("<tspan") == 2
    assert _key("<b>**2") == '&lt;b&gt;<tspan class="up" dy="-5">2</tspan><tspan dy="5"> </tspan>'

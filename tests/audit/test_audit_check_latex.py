"""``check`` with a formula typed in LaTeX: the same verdicts, and an echo before them."""

from __future__ import annotations

import json

import pytest

from bilevel_verify.audit import check
from bilevel_verify.audit.formula import understood
from bilevel_verify.cli.main import main
from bilevel_verify.errors import InputError, LatexError

SUM = r"\frac{k^3}{12}\le\sum_{i=1}^{k-1}\left(\frac{i+1}{2}\right)^2\le\frac{k^3}{6}"
PLAIN = "k**3/12 <= sum(((i + 1)/2)**2, (i, 1, k - 1)) <= k**3/6"


def test_the_verdicts_are_those_of_the_plain_formula() -> None:
    rows = [f.row for f in check(SUM, "k = integers 2..")]
    assert [(r.verdict, r.certainty) for r in rows] == [("holds", "proved")] * 2
    assert rows[0].details["understood"]["text"] == PLAIN
    assert r"\sum_{i=1}^{k - 1}" in rows[0].details["understood"]["latex"]


def test_conditions_after_the_formula_are_hypotheses() -> None:
    assert check(r"a^2\ge a", "a = (0, oo)")[0].row.verdict == "refuted"
    assert check(r"a^2\ge a\quad\text{for all }a\ge 1", "a = (0, oo)")[0].row.verdict == "holds"
    assert check("a**2 >= a", "a = (0, oo)", r"a\ge\frac{3}{2}")[0].row.verdict == "holds"


def test_names_of_the_ranges_are_preferred() -> None:
    echo = understood(r"x_1^2\ge 0", ["x1"])
    assert echo is not None
    assert echo.text == "x1**2 >= 0"
    assert understood("x1**2 >= 0") is None


@pytest.mark.parametrize("text", [r"\frac{a}{b", r"a\le b, c\le d", r"a\in[0,1]", r"a/b c\le 1", r"\foo\le 1"])
def test_what_cannot_be_read_is_one_line(text: str) -> None:
    with pytest.raises(LatexError) as caught:
        check(text)
    assert "\n" not in str(caught.value)
    assert str(caught.value).startswith("LaTeX, line 1, column ")


def test_a_formula_that_is_no_relation() -> None:
    with pytest.raises(InputError, match="must be a relation"):
        check(r"\frac12")


def test_the_command_echoes_before_it_judges(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["check", r"\frac a2\le a"]) == 0
    out = capsys.readouterr().out
    assert out.index("understood: a/2 <= a") < out.index("holds")
    assert main(["check", r"\frac a2\le a", "--json"]) == 0
    rows = json.loads(capsys.readouterr().out)["rows"]
    assert rows[0]["details"]["understood"] == {"text": "a/2 <= a", "latex": r"\frac{a}{2} \le a"}


def test_the_command_refuses_with_status_2(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["check", r"\frac{a}{b \le 1"]) == 2
    assert "line 1, column 9: unbalanced" in capsys.readouterr().err

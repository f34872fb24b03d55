"""One formula of a stranger: misspelt letters, empty and circular ranges, hypotheses that determine letters."""

from __future__ import annotations

import json
import shlex
from fractions import Fraction
from pathlib import Path

import pytest

from bilevel_verify.audit.formula import check
from bilevel_verify.cli import main
from bilevel_verify.errors import InputError
from bilevel_verify.theorems.library import load_card

REFUSED = [
    ("kapa*mu <= kappa*mu + 1", "kappa = [1, oo); mu = (0, oo)", "", "did you mean 'kappa'"),
    ("kappa <= 2*kappa", "kappa = [1, oo)", "kapa <= 2", "did you mean 'kappa'"),
    ("a <= 2", "a = [1, 2]; a = [1, 3]", "", "two ranges"),
    ("pi <= 4", "pi = [0, 10]", "", "is a number here"),
    ("a >= b", "a = [b, oo); b = [a, oo)", "", "in a circle: a -> b -> a"),
    ("a >= b", "a = [c, oo)", "", "unknown letter 'c'"),
    ("a >= 1", "a = domain", "", "not a range of numbers"),
    ("sqrt(a, b) <= a", "", "", "takes 1 argument, not 2"),
    ("binomial(a) <= a", "", "", "takes 2 arguments, not 1"),
    ("sum(a) <= a", "", "", "needs a range"),
]


@pytest.mark.parametrize(("text", "ranges", "where", "message"), REFUSED)
def test_what_cannot_be_meant_is_one_line(text: str, ranges: str, where: str, message: str) -> None:
    with pytest.raises(InputError, match=message) as caught:
        check(text, ranges, where)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("domain", ["[2, 1]", "integers 5..2", "integers 1/3..2/3", "(1, 1)"])
def test_an_empty_range_claims_nothing(domain: str) -> None:
    (finding,) = check("a <= 5", f"a = {domain}")
    assert finding.verdict == "not applicable"
    assert "vacuous" in (finding.row.reason or "")


def test_a_range_of_one_point_is_not_empty() -> None:
    assert check("a <= 5", "a = [5, 5]")[0].verdict == "holds"
    assert check("a < 5", "a = integers 5..5")[0].verdict == "refuted"


def test_the_letter_e_is_said_to_be_one(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["check", "(1 + 1/k)**(k + 1/2) >= e", "--for", "k = integers 1.."]) == 1
    assert "Euler's number is exp(1)" in capsys.readouterr().out
    assert main(["check", "(1 + 1/k)**(k + 1/2) >= exp(1)", "--for", "k = integers 1.."]) == 0
    assert "Euler" not in capsys.readouterr().out


@pytest.mark.parametrize(
    ("where", "verdict", "taken"),
    [
        ("x > -1", "refuted", []),
        ("-1/2 <= x", "refuted", []),
        ("x < 0", "refuted", []),
        ("-1/2 < x < a", "refuted", ["a"]),
        ("x >= 1", "holds", []),
        ("x <= 1", "holds", ["x"]),
        ("a < x", "holds", ["a", "x"]),
        ("", "holds", ["x"]),
    ],
)
def test_a_condition_gives_a_range(where: str, verdict: str, taken: list[str]) -> None:
    """``x > -1`` says which x are meant: x is not taken positive besides."""
    (found,) = check("x**3 >= -x**2/4", where=where)
    assert (found.row.verdict, found.row.details["taken_positive"]) == (verdict, taken)


def test_letters_taken_positive_are_named(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["check", "a*b <= c", "--for", "c = [1, 2]"]) == 1
    assert "taken positive: a, b" in " ".join(capsys.readouterr().out.split())
    main(["check", "a <= 1 + a", "--json"])
    (row,) = json.loads(capsys.readouterr().out)["rows"]
    assert row["details"]["taken_positive"] == ["a"]


def test_a_row_says_how_to_get_it_again(capsys: pytest.CaptureFixture[str]) -> None:
    (finding,) = check("a*k <= 7", "a = [0, 1]; k = integers 1..", ["a*k >= 1"])
    command = shlex.split(finding.row.reproduce or "")
    assert command[0] == "bilevel-verify"
    assert main([*command[1:], "--json"]) == 1
    (row,) = json.loads(capsys.readouterr().out)["rows"]
    assert row["counterexample"] == dict(finding.counterexample or {})


@pytest.mark.parametrize(
    ("where", "point"),
    [("a == 3*b", {"a": "3", "b": "1"}), ("b == a**2; c == a + b", {"a": "2", "b": "4", "c": "6"})],
)
def test_letters_that_hypotheses_determine_are_in_the_counterexample(where: str, point: dict[str, str]) -> None:
    letters = "; ".join(f"{name} = (0, oo)" for name in point)
    (finding,) = check("a*b <= 2" if "c" not in point else "a*b*c <= 7 + c", letters, where)
    assert finding.verdict == "refuted"
    assert dict(finding.counterexample or {}) == point


def test_a_number_beyond_floats() -> None:
    assert check("a <= 1e400", "a = [0, 1]")[0].verdict == "holds"
    assert check("1e400 <= a", "a = [0, 1]")[0].verdict == "refuted"


CARD = """
[paper]
key = "steps"
standing = "Section 1"
title = "Settings in settings"
[units]
F = "values"
[letters]
L = { unit = "1", domain = "(0, oo)" }
mu = { unit = "1", domain = "(0, L]" }
q = { unit = "1", domain = "[0, 1)" }
[settings.small]
where = ["mu <= L/4"]
where_from = "Theorem 1"
[settings.big]
includes = ["small"]
parameters = { q = "1 - mu/(2*L)" }
[[inequality]]
id = "included"
source = "(1)"
settings = ["big"]
chain = ["q", ">= 7/8"]
[[inequality]]
id = "not-included"
source = "(2)"
chain = ["1 - mu/(2*L)", ">= 7/8"]
"""


def test_hypotheses_of_included_settings_are_in_force(tmp_path: Path) -> None:
    from bilevel_verify.audit import audit

    path = tmp_path / "steps.toml"
    path.write_text(CARD, encoding="utf-8")
    found = {f.row.statement: f.verdict for f in audit(load_card(path), quick=True) if f.row.kind == "inequality"}
    assert found == {"included": "holds", "not-included": "refuted"}
    false = tmp_path / "false.toml"
    false.write_text(CARD.replace('">= 7/8"]', '">= 8/7"]', 1), encoding="utf-8")
    rows = [f.row for f in audit(load_card(false), quick=True, statement="included") if f.row.kind == "inequality"]
    assert rows[0].verdict == "refuted"
    assert rows[0].details["definitions"] == {"q": f"1 - mu/(2*L) = {Fraction(rows[0].measured or 0)}"}
    bad = tmp_path / "bad.toml"
    bad.write_text(CARD.replace("includes", "settings"), encoding="utf-8")
    with pytest.raises(InputError, match=r"\[settings.big\]: unknown field 'settings'; known are "):
        load_card(bad)

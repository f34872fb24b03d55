"""Statements about other kinds of problems, forgotten tolerances, and names that stand for nothing."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import bilevel_verify as bv
from bilevel_verify.cli.main import main
from bilevel_verify.errors import InputError

ONE = bv.single_level(f="2*(1 - cos(x1)) + x2**2/2", x="x1 x2")
TWO = bv.bilevel(f="x1**2/2 + y1**2/2 + sin(x1)", g="(y1 - x1)**2/2", x="x1", y="y1")
SADDLE = bv.minimax(f="x1*y1 - y1**2/2 + sin(x1)", x="x1", y="y1")


@pytest.mark.parametrize(
    ("problem", "statement", "options", "words"),
    [
        (ONE, "rahgd/theorem-3-4", {}, "rahgd is for bilevel or minimax problems, and this one is single_level"),
        (TWO, "restarted-agd-hb/theorem-1", {}, "restarted-agd is for single_level problems"),
        (SADDLE, "rahgd/theorem-3-4", {}, "it needs M, nu, which minimax does not define for minimax problems"),
        (TWO, "rahgd/theorem-3-4", {"method": "gradient-descent"}, "gradient-descent is for single_level problems"),
        (
            ONE,
            "fsba/theorem-3-4",
            {"method": lambda o, x0, p: [x0]},
            "the letters of fsba are defined for bilevel and minimax problems",
        ),
    ],
)
def test_another_kind_of_problem_is_not_applicable_in_one_row(
    problem: bv.Problem, statement: str, options: dict[str, Any], words: str
) -> None:
    found = bv.verify(problem, statement, eps=[0.1, 0.01], **options)
    (row,) = found.claims
    assert found.verdict == row.verdict == "not applicable"
    assert words in (row.reason or "")
    assert (row.claim, row.certainty, row.judges) == (None, None, "hypothesis")


def test_constants_given_by_hand_are_not_missing() -> None:
    given = {"M": 1.0, "nu": 1.0}
    found = bv.verify(SADDLE, "rahgd/theorem-3-4:rate", eps=0.1, x0=[1.0], values=given, budget=10)
    assert all(row.claim is not None for row in found.claims)


def test_a_forgotten_tolerance_is_said_in_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(InputError, match=r"theorem-1 needs a tolerance: give eps= \(--eps on the command line\)"):
        bv.verify(ONE, "restarted-agd-hb/theorem-1")
    assert main(["verify", "restarted-agd-hb/theorem-1", "--problem", "zoo:cosine-sum"]) == 2
    shown = capsys.readouterr()
    assert shown.out == ""
    assert len(shown.err.strip().splitlines()) == 1


def test_a_statement_without_a_tolerance_needs_none() -> None:
    assert bv.verify(bv.zoo("weak-sharp"), "agm-bio/condition-8", x0=[0.1, 0.5]).verdict == "holds"


CARD = """
[paper]
key = "mine"
title = "A card with a slip"
[units]
F = "values of f"
X = "length of x"
[letters]
L = {{ unit = "F/X**2", domain = "(0, oo)", {source}, meaning = "a constant" }}
[[theorem]]
id = "one"
{method}
  [[theorem.claim]]
  id = "rises"
  over = "step"
  left = "f(x[k+1])"
  right = "f(x[k])"
"""


@pytest.mark.parametrize(
    ("source", "method", "words"),
    [
        (
            'from = "constants", called = "Lip"',
            "gradient-descent",
            'from = "constants" may name C, C_f, D, H_f, L, L_f',
        ),
        ('from = "truth", called = "phi_star"', "gradient-descent", 'from = "truth" may name Delta, alpha, delta'),
        ('from = "problem", called = "n"', "gradient-descent", 'from = "problem" may name d, d_x, dx, dy, is_minimax'),
        ('from = "constants"', "gradient-decent", "did you mean 'gradient-descent'"),
        ('from = "constants"', "zzz", "there is no method 'zzz'; there are "),
        ('from = "constants"', "literal", "names no algorithm: give it algorithm = ID in the card"),
    ],
)
def test_names_that_stand_for_nothing(tmp_path: Path, source: str, method: str, words: str) -> None:
    path = tmp_path / "mine.toml"
    path.write_text(CARD.format(source=source, method=f'method = "{method}"'), encoding="utf-8")
    with pytest.raises(InputError, match="mine") as caught:
        bv.verify(ONE, str(path), x0=[1.0, 1.0])
    assert words in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_constant_of_another_kind_is_said_with_those_there_are(tmp_path: Path) -> None:
    path = tmp_path / "mine.toml"
    text = CARD.format(source='from = "constants"', method="").replace('right = "f(x[k])"', 'right = "L"')
    path.write_text(text, encoding="utf-8")
    found = bv.verify(TWO, str(path), x0=[1.0], method=lambda o, x0, p: [x0])
    assert found.verdict == "not applicable"
    assert "it needs L, which ragd-gs does not define for bilevel problems (C_f, H_f, L_f" in str(
        found.claims[0].reason
    )

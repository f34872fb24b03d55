"""A run that its budget cut short: what is violated must stay violated before it refutes anything."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path

import pytest

import bilevel_verify as bv
from bilevel_verify.checks.claims.evaluate import Evaluator
from bilevel_verify.checks.claims.growth import Trend, Trends
from bilevel_verify.checks.evidence import confirm
from bilevel_verify.language import parse

CARD = """
[paper]
key = "counts"
title = "Counts of gradient descent"
[units]
F = "values of f"
X = "length of x"
[letters]
L = {{ unit = "F/X**2", domain = "(0, oo)", from = "constants", meaning = "Lipschitz constant of the gradient" }}
eps = {{ unit = "F/X", domain = "(0, oo)", from = "user", meaning = "tolerance" }}
eta = {{ unit = "X**2/F", domain = "(0, oo)", meaning = "step" }}
[settings.s.parameters]
eta = "1/({slow}*L)"
[[theorem]]
id = "count"
source = "own"
method = "gradient-descent"
settings = ["s"]
  [[theorem.claim]]
  id = "count"
  source = "own"
  over = "run"
  left = "{left}"
  op = "{op}"
  right = "{right}"
"""


def row_of(
    tmp_path: Path, left: str, op: str, right: str, budget: int, slow: int = 100, problem: str = "cosine-sum"
) -> bv.Row:
    path = tmp_path / "counts.toml"
    path.write_text(CARD.format(left=left, op=op, right=right, slow=slow), encoding="utf-8")
    (row,) = bv.verify(bv.zoo(problem), str(path), eps=0.01, budget=budget).claims
    return row


@pytest.mark.parametrize(
    ("left", "op", "right"),
    [
        ("1000000 - calls(grad_f)", ">=", "999900"),  # a left side that falls
        ("calls(grad_f)", ">=", "60"),  # one that is still too small
        ("calls(grad_f)", "<=", "2*iterations - 40"),  # both sides grow
        ("calls(grad_f)", "<=", "iterations/2 + 5"),
        ("5", "<=", "iterations/8"),  # the bound grows
        ("iterations", "==", "60"),
        ("-calls(grad_f)", "<=", "-60"),
        ("norm(output)", "<=", "1/1000"),  # not the end of the method
    ],
)
def test_what_may_come_right_again_is_undecided_for_want_of_budget(
    left: str, op: str, right: str, tmp_path: Path
) -> None:
    row = row_of(tmp_path, left, op, right, budget=20)
    assert (row.verdict, row.reason) == ("undecided", "budget: the run was not finished")


@pytest.mark.parametrize(
    ("left", "op", "right"),
    [
        ("calls(grad_f)", "<=", "10"),
        ("10", ">=", "calls(grad_f)"),
        ("iterations", "==", "10"),
        ("10 - iterations", ">=", "0"),
        ("sqrt(calls(grad_f))", "<", "1 + 1/calls(grad_f)"),
    ],
)
def test_what_is_passed_is_passed_for_good(left: str, op: str, right: str, tmp_path: Path) -> None:
    row = row_of(tmp_path, left, op, right, budget=20)
    assert row.verdict == "refuted"
    assert "the run was not even finished" in (row.reason or "")


def test_the_run_in_fifty_digits_may_be_cut_short_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A whole float64 run breaks the bound, the one in 50 digits stops before: the end of that one shows nothing."""
    monkeypatch.setattr(confirm, "MOST_CALLS", 20)
    row = row_of(tmp_path, "10000 - calls(grad_f)", "<=", "9900", budget=10**5)
    assert row.verdict == "holds"
    row = row_of(tmp_path, "calls(grad_f)", ">=", "10**6", budget=10**5)
    assert row.verdict == "undecided"
    assert (row.reason or "").startswith("budget: violated at 1 of 1 places in float64; the run in 50 digits is too")


CONDITION = """
[[condition]]
id = "far"
source = "own"
  [[condition.claim]]
  id = "far"
  source = "own"
  over = "step"
  left = "norm(x[k])"
  op = ">="
  right = "norm(x_int)/2"
"""


def test_a_condition_that_holds_so_far_may_still_fail(tmp_path: Path) -> None:
    """The whole run breaks its condition, so that the theorem promises nothing; its first part refutes nothing."""
    text = CARD.format(left="iterations", op="<=", right="10", slow=100)
    path = tmp_path / "counts.toml"
    path.write_text(
        text.replace('settings = ["s"]', 'settings = ["s"]\nassumes = ["far"]') + CONDITION, encoding="utf-8"
    )
    problem = bv.single_level(f="x1**2/2 + x2**2/2", x="x1 x2")
    rows = [bv.verify(problem, f"{path}/count", x0=[1.0, 0.5], eps=0.01, budget=b).claims[0] for b in (15, 10**5)]
    assert [row.verdict for row in rows] == ["undecided", "not applicable"]
    assert (rows[0].reason or "").startswith("budget: the run was not finished, and with it its conditions")


NUMBERS = {"a": 3, "b": -2, "c": 0}


@pytest.mark.parametrize(
    ("text", "trend"),
    [
        ("a + b", Trend.STILL),
        ("iterations", Trend.UP),
        ("epochs + calls(grad_f, grad_g)", Trend.UP),
        ("iterations - calls(grad_f)", Trend.UNKNOWN),
        ("a - iterations", Trend.DOWN),
        ("a*iterations", Trend.UP),
        ("b*iterations", Trend.DOWN),
        ("b*(a - iterations)", Trend.UP),
        ("iterations*calls(grad_f)", Trend.UP),
        ("b*iterations*calls(grad_f)", Trend.DOWN),
        ("iterations*(100 - calls(grad_f))", Trend.UNKNOWN),
        ("(iterations - 100)*(iterations - 200)", Trend.UNKNOWN),
        ("(10 - iterations)*(20 - iterations)", Trend.UNKNOWN),
        ("(1 - iterations)*(1 - iterations)", Trend.UP),
        ("a/iterations", Trend.DOWN),
        ("b/iterations", Trend.UP),
        ("a/(100 - iterations)", Trend.UNKNOWN),
        ("iterations/a", Trend.UP),
        ("iterations/b", Trend.DOWN),
        ("iterations/c", Trend.UNKNOWN),
        ("iterations**2", Trend.UP),
        ("iterations**b", Trend.DOWN),
        ("(iterations - 100)**2", Trend.UNKNOWN),
        ("(-iterations)**2", Trend.UNKNOWN),
        ("a**2", Trend.STILL),
        ("a**iterations", Trend.UNKNOWN),
        ("max(a, iterations)", Trend.UP),
        ("min(a, -iterations)", Trend.DOWN),
        ("max(iterations, -iterations)", Trend.UNKNOWN),
        ("log(iterations)", Trend.UP),
        ("ceil(-iterations/3)", Trend.DOWN),
        ("cos(iterations)", Trend.UNKNOWN),
        ("abs(iterations)", Trend.UP),
        ("abs(iterations - 100)", Trend.UNKNOWN),
        ("floor(a)", Trend.STILL),
        ("norm(output)", Trend.UNKNOWN),
        ("x[0, 1]", Trend.UNKNOWN),
        ("sum(i, (i, 1, iterations))", Trend.UNKNOWN),
        ("iterations % 2", Trend.UNKNOWN),
        ("a % 2", Trend.STILL),
        ("f(x_int)", Trend.STILL),
        ("m*m", Trend.UP),
        ("unknown_letter", Trend.UNKNOWN),
    ],
)
def test_trend_of_a_side(text: str, trend: Trend) -> None:
    class Cut:
        def entry(self, name: str, epoch: int, k: int) -> None:
            raise AssertionError("no entry is looked at")

        def fact(self, name: str, bound: object) -> object:
            from fractions import Fraction

            return Fraction({"iterations": 7, "epochs": 2}[name])

        def calls(self, kind: str) -> int:
            return 9

    numbers = {name: (Fraction(number), "proved") for name, number in NUMBERS.items()}
    evaluator = Evaluator(numbers, {"m": parse("iterations + 1")}, None, Cut())
    assert Trends(evaluator).of(parse(text)) is trend

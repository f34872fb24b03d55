"""The infimum in claims of own cards: ``f_star()``, ``phi_star()``, ``Delta``, which on a box are those of the box."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import bilevel_verify as bv
from bilevel_verify.checks.claims.values import EvaluationError
from bilevel_verify.checks.instances.functions import ProblemFunctions
from bilevel_verify.errors import CardError
from bilevel_verify.problems.problem import Problem

CARD = """
[paper]
key = "infimum"
title = "Claims about the least value"
standing = "Section 1"
[units]
F = "values of f"
X = "length of x"
[letters]
Delta = {{ unit = "F", domain = "[0, oo)", from = "truth", called = "delta" }}
eta = {{ unit = "X**2/F", domain = "(0, oo)" }}
N = {{ unit = "1", domain = "integers 1.." }}
[functions]
f = {{ arguments = ["X"], value = "F" }}
[settings.main.parameters]
eta = "1/2"
N = "6"
[[theorem]]
id = "theorem-1"
source = "Theorem 1"
method = "gradient-descent"
settings = ["main"]
  [[theorem.claim]]
  id = "claim"
  over = "{over}"
  left = "{left}"
  right = "{right}"
"""
BOWL: dict[str, Any] = {"f": "x1**2/2", "x": "x1", "start": [1.5]}


def verdict(tmp_path: Path, problem: Problem, over: str, left: str, right: str) -> tuple[str, str]:
    card = tmp_path / "card.toml"
    card.write_text(CARD.format(over=over, left=left, right=right))
    [row] = bv.verify(problem, f"{card}/theorem-1").claims
    return row.verdict, row.reason or ""


def test_the_infimum_over_a_box_refutes_nothing_about_a_run_that_leaves_it(tmp_path: Path) -> None:
    """On [1, 2] the infimum of x^2/2 is 1/2, on the line 0: the decrease 9/8 of the run is no more than Delta there."""
    boxed = bv.single_level(**BOWL, domain={"x1": (1, 2)})
    for left, right in (("f(x_int) - f(output)", "Delta"), ("f_star()", "f(output)")):
        found, reason = verdict(tmp_path, boxed, "run", left, right)
        assert (found, reason[:6]) == ("undecided", "local:"), reason
    assert verdict(tmp_path, bv.single_level(**BOWL), "run", "f(x_int) - f(output)", "Delta")[0] == "holds"


@pytest.mark.parametrize("name", ["f_star", "phi_star"])
def test_a_rate_names_the_infimum(tmp_path: Path, name: str) -> None:
    """With eta = 1/2 the gap of x^2/2 is divided by 4 in each step."""
    bowl = bv.single_level(**BOWL)
    gap = f"f(x[k+1]) - {name}()"
    assert verdict(tmp_path, bowl, "step", gap, f"(f(x[k]) - {name}())/3")[0] == "holds"
    assert verdict(tmp_path, bowl, "step", gap, f"(f(x[k]) - {name}())/5")[0] == "refuted"
    inside = bv.single_level(**BOWL, domain={"x1": (-2, 2)})
    found, reason = verdict(tmp_path, inside, "step", gap, f"(f(x[k]) - {name}())/5")
    assert found == "undecided"
    assert f"{name} holds on a box only" in reason


def test_no_infimum_is_no_value(tmp_path: Path) -> None:
    line = bv.single_level(f="x1", x="x1", start=[0.0])
    found, reason = verdict(tmp_path, line, "step", "f(x[k+1]) - f_star()", "f(x[k]) - f_star()")
    assert found == "undecided"
    assert "f_star() is infinite or not known" in reason


def test_two_levels_have_phi_star_and_y_star_is_that_of_the_box(tmp_path: Path) -> None:
    """phi = 9 x^2/8: phi <= inf phi + 1 fails on the line; on boxes nothing is refuted, f_star is not phi_star."""
    text = CARD.format(over="point", left="phi(x)", right="NAME() + 1")
    text = text.replace('over = "point"', 'over = "point"\n  for = { x = "domain" }')
    text = text.replace('method = "gradient-descent"\n', "").replace('settings = ["main"]\n', "")
    formulas: dict[str, Any] = {"f": "x1**2 + y1**2/8", "g": "(y1 - x1)**2", "x": "x1", "y": "y1"}
    card = tmp_path / "two.toml"
    found = {}
    for name in ("phi_star", "f_star"):
        card.write_text(text.replace("NAME", name))
        for domain in (None, {"x1": (-3, 3), "y1": (-4, 4)}):
            [row] = bv.verify(bv.bilevel(**formulas, domain=domain), f"{card}/theorem-1").claims
            found[name, domain is None] = (row.verdict, (row.reason or "")[:6])
    assert found["phi_star", True][0] == "refuted"
    assert found["phi_star", False] == ("undecided", "local:")
    assert found["f_star", True][0] == "undecided"


def test_a_function_that_nothing_computes_is_named(tmp_path: Path) -> None:
    card = tmp_path / "card.toml"
    text = CARD.format(over="step", left="f(x[k+1]) - f_inf()", right="f(x[k])")
    card.write_text(text.replace("[settings", 'f_inf = { value = "F" }\n[settings'))
    [row] = bv.verify(bv.single_level(**BOWL), f"{card}/theorem-1").claims
    assert row.verdict == "undecided"
    assert "hypothesis: nothing gives f_inf a value on this problem" in (row.reason or "")


def test_a_function_of_another_kind_of_problem_is_answered_with_those_of_this_one(tmp_path: Path) -> None:
    found, reason = verdict(tmp_path, bv.single_level(**BOWL), "step", "norm(x[k]) - dist(x[k])", "1")
    assert found == "undecided"
    assert "nothing gives dist a value on this problem" in reason
    assert "there are f, f_star, grad_f, hess_f" in reason
    assert "did you mean 'x_star'" not in reason


@pytest.mark.parametrize("name", ["f_min", "fstar", "f_inf", "f_min()", "f_opt()"])
def test_the_least_value_by_its_other_names(tmp_path: Path, name: str) -> None:
    with pytest.raises(CardError, match=r"unknown (letter|function) '\w+' \(column 11\); write f_star\(\)"):
        verdict(tmp_path, bv.single_level(**BOWL), "step", f"f(x[k]) - {name}", "Delta")


def test_a_function_written_as_a_letter(tmp_path: Path) -> None:
    with pytest.raises(CardError, match=r"unknown letter 'f_star' \(column 11\); it is a function: write f_star"):
        verdict(tmp_path, bv.single_level(**BOWL), "step", "f(x[k]) - f_star", "Delta")


def test_a_usual_letter_that_is_not_declared_is_declared_by_the_message(tmp_path: Path) -> None:
    with pytest.raises(
        CardError, match=r'unknown letter .eps. .*declare it under \[letters\]: eps = \{ from = "user" \}'
    ):
        verdict(tmp_path, bv.single_level(**BOWL), "run", "calls(grad_f)", "Delta/eps**2")


@pytest.mark.parametrize(
    ("f", "domain", "place"),
    [
        ("x1**2 + 3*x1 + x2**2 - x1*x2", None, (-2.0, -1.0)),
        ("x1**2 + 3*x1 + x2**2 - x1*x2", {"x1": (-3, 3), "x2": (-3, 3)}, (-2.0, -1.0)),
        ("x1**2 + 3*x1 + x2**2 - x1*x2", {"x1": (-2, 3), "x2": (-3, 3)}, None),  # at the end of the range
        ("x1**2 + 3*x1 + x2**2 - x1*x2", {"x1": (0, 3), "x2": (-3, 3)}, None),
        ("log(1 + exp(x1)) - x1/2 + x2**2", None, (0.0, 0.0)),
        ("x1**2", None, None),  # every x2 is as good
        ("x1**4 + x2**2", None, None),  # its Hessian is singular there
        ("abs(x1) + x2**2", None, None),
        ("x1**4/4 - x1**2/2 + x2**2", None, None),
        ("exp(x1) + x2**2", None, None),
    ],
)
def test_the_minimiser_of_one_level_is_enclosed_where_it_is_the_only_one(
    f: str, domain: dict[str, tuple[int, int]] | None, place: tuple[float, float] | None
) -> None:
    problem = bv.single_level(f=f, x="x1 x2", **({} if domain is None else {"domain": domain}))
    functions = ProblemFunctions(problem, bv.truth(problem))
    if place is None:
        with pytest.raises(EvaluationError, match="proved convex"):
            functions.call("x_star", [])
        return
    found, certainty = functions.call("x_star", [])
    assert certainty == "certified"
    assert all(ball.contains(number) and ball.rad() < 1e-20 for ball, number in zip(found.entries, place, strict=True))


def test_the_distance_to_the_minimiser_is_judged_and_on_a_box_refutes_nothing(tmp_path: Path) -> None:
    claim = ("step", "norm(x[k+1] - x_star())", "norm(x[k] - x_star())*2/3")
    assert verdict(tmp_path, bv.single_level(**BOWL), *claim)[0] == "holds"
    broken = (*claim[:2], "norm(x[k] - x_star())/3")
    assert verdict(tmp_path, bv.single_level(**BOWL), *broken)[0] == "refuted"
    found, reason = verdict(tmp_path, bv.single_level(**BOWL, domain={"x1": (-2, 2)}), *broken)
    assert found == "undecided"
    assert reason.startswith("local: ")
    assert "x_star" in reason

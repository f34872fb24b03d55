"""Profiles, ratios, exponents and success probabilities against values worked out by hand."""

from __future__ import annotations

import math

import pytest

from bilevel_verify.campaign import bound_ratios, data_profile, exponent, performance_profile, success
from bilevel_verify.checks.verdicts.verdict import Row

COSTS = {"a": {"p": 10.0, "q": 40.0, "r": None}, "b": {"p": 20.0, "q": 20.0, "r": 5.0}}


def test_performance_profile_by_hand() -> None:
    a, b = performance_profile(COSTS)
    assert [a.at(x) for x in (1, 1.5, 2, 100)] == pytest.approx([1 / 3, 1 / 3, 2 / 3, 2 / 3])
    assert [b.at(x) for x in (1, 1.9, 2)] == pytest.approx([2 / 3, 2 / 3, 1])


def test_data_profile_by_hand() -> None:
    a, b = data_profile(COSTS, {"p": 1, "q": 3, "r": 4})
    assert a.at(5) == pytest.approx(1 / 3)
    assert a.at(10) == pytest.approx(2 / 3)
    assert b.at(1) == pytest.approx(1 / 3)


def test_not_a_number_is_not_a_solution() -> None:
    profiles = performance_profile({"a": {"p": math.nan}, "b": {"p": math.inf}})
    assert [p.share for p in profiles] == [(), ()]


def row(**fields: object) -> Row:
    base = dict.fromkeys(("paper", "statement", "claim", "source", "problem", "method"), "x")
    return Row(**{**base, "kind": "run", "verdict": "holds", **fields})  # type: ignore[arg-type]


def test_ratios_take_the_largest_and_skip_what_has_none() -> None:
    rows = [
        row(measured=1.0, bound=4.0, claim="small"),
        row(measured=3.0, bound=4.0, claim="large"),
        row(measured=-3.0, bound=-1.0),
        row(measured=1.0, bound=None),
        row(measured=9.0, bound=4.0, verdict="not applicable"),
        row(measured=9.0, bound=4.0, right=">= eps"),
        row(measured=9.0, bound=4.0, kind="order", verdict="inconsistent"),
        row(measured=1.0, bound=math.inf, problem="y"),
    ]
    found = {r.problem: r for r in bound_ratios(rows)}
    assert found["x"].ratio == 0.75
    assert found["x"].claim == "large"
    assert found["y"].ratio == 0.0


@pytest.mark.parametrize(("power", "verdict"), [(1.75, "consistent"), (2.0, "inconsistent"), (1.2, "uninformative")])
def test_exponents_follow_the_rule_for_orders(power: float, verdict: str) -> None:
    eps = [10 ** (-k / 2) for k in range(2, 8)]
    fit = exponent([1 / e for e in eps], [e**-power for e in eps], [e**-1.75 for e in eps])
    assert fit.rate.verdict == verdict
    assert fit.least_squares == pytest.approx(power)
    assert fit.residual < 1e-9


def test_success_is_never_proved_and_is_refuted_exactly() -> None:
    assert success(1000, 1000, 0.9).verdict == "undecided"
    assert success(10, 1000, 0.9).verdict == "refuted"
    assert success(85, 100, 0.9).verdict == "undecided"

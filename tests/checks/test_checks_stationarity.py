"""SOSP verdicts with error bars: closed forms, ties, exact saddles and maxima, every second-order method."""

from __future__ import annotations

import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

import bilevel_verify as bv
from bilevel_verify.checks.judging.stationarity import second_order_point
from bilevel_verify.truth import Enclosure

sys.path.insert(0, str(Path(__file__).parents[1] / "benchmarks"))
from second_order import best_m_slopes, main, text_of
from second_order_runs import start_cases


@pytest.fixture(scope="module")
def saddle() -> Any:
    return bv.single_level(f="x1**2/2 - x2**2/4 + x2**4/4", x="x1 x2")


@pytest.mark.parametrize(
    ("x", "eps", "tau", "verdict", "said"),
    [
        ((0.0, 0.0), 1e-6, 0.4, "refuted", "lambda_min"),
        ((0.0, 0.0), 1e-6, 0.6, "holds", ""),
        ((0.0, 0.5**0.5), 1e-6, 0.0, "holds", ""),
        ((0.1, 0.0), 0.05, 1.0, "refuted", "grad phi"),
        ((0.1, 0.0), 0.05, 0.1, "refuted", "grad phi.*; lambda_min"),
    ],
)
def test_closed_forms(saddle: Any, x: Any, eps: float, tau: float, verdict: str, said: str) -> None:
    found = second_order_point(saddle, x, eps, tau)
    assert found.verdict == verdict
    assert all(word in found.reason for word in said.split(".*"))


def test_error_bars_across_a_tolerance_decide_nothing() -> None:
    known: Any = SimpleNamespace(
        grad_phi=lambda x: Enclosure([0.3, 0.4], 0.01), lambda_min_hess_phi=lambda x: Enclosure(1.0, 1e-3)
    )
    verdicts = [second_order_point(None, [0, 0], eps, 0.1, known).verdict for eps in (0.48, 0.5, 0.52)]  # type: ignore[arg-type]
    assert verdicts == ["refuted", "undecided", "holds"]


def test_tolerances_below_zero_are_refused(saddle: Any) -> None:
    with pytest.raises(bv.InputError, match="tolerances >= 0"):
        second_order_point(saddle, [0.0, 0.0], -1.0, 0.1)


@pytest.mark.parametrize("case", start_cases(), ids=lambda case: f"{case.method}-{case.problem.name}")
def test_exact_saddles_and_maxima_are_left(case: Any) -> None:
    known = bv.truth(case.problem)
    x0 = case.starts[0]
    assert case.kind_of(x0, known) in ("saddle", "maximum")
    assert second_order_point(case.problem, x0, case.eps_phi, case.tau, known).verdict == "refuted"
    run = bv.solve(case.problem, case.method, eps=case.eps, x0=list(x0), parameters=case.letters, budget=10**7, seed=1)
    assert second_order_point(case.problem, run.x, case.eps_phi, case.tau, known).verdict == "holds"


def test_tables_of_the_experiments() -> None:
    rows = [
        {
            "kappa": 4,
            "best m": m,
            "1+d/sqrt(kappa)": 16.0 * m,
            "claimed d^.5/kappa^.25": m**0.5,
            "saving over m=1": m**0.5,
        }
        for m in (4, 8, 16, 32)
    ]
    (found,) = best_m_slopes(rows)
    assert found["slope of best m"] == pytest.approx(1.0)
    assert found["slope of saving"] == pytest.approx(1.0)
    assert text_of("a table", [{"a": 1, "b": 0.25}, {"a": 20}]).splitlines()[1:] == [" a     b", " 1  0.25", "20     -"]
    with pytest.raises(SystemExit):
        main(["no-such-experiment"])

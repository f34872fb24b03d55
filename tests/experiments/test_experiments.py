"""The experiments of the AGM-BiO paper in small: one report, ground truth both ways, names and missing data."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from bilevel_verify.experiments.__main__ import main
from bilevel_verify.experiments.ground_truth import least_squares_on_ball


def test_report_of_one_experiment(tmp_path: Path) -> None:
    assert main(["linear-inverse-3", "--quick", "--out", str(tmp_path)]) == 0
    text = (tmp_path / "report.md").read_text(encoding="utf-8")
    assert "known f*: 0.1666" in text
    for method in ("agm-bio", "a-irg", "bi-sg", "big-sam", "r-apm", "pb-apg", "bisec-bio", "mng", "dbgd"):
        assert f"| {method} |" in text
    assert (tmp_path / "linear-inverse-3.svg").stat().st_size > 10_000
    assert (tmp_path / "data.json").exists()


def test_an_unknown_name_is_refused(tmp_path: Path) -> None:
    with pytest.raises(SystemExit):
        main(["linear", "--out", str(tmp_path)])


@pytest.mark.parametrize("scale", [0.3, 3.0])
def test_secular_equations_against_a_general_solver(scale: float) -> None:
    import cvxpy as cp

    rng = np.random.default_rng(4)
    A, C, d = rng.normal(size=(3, 6)), rng.normal(size=(5, 6)), rng.normal(size=5)
    b = scale * A @ rng.normal(size=6) / 3
    found = least_squares_on_ball(A, b, C, d, 1.0)
    z = cp.Variable(6)
    lower = cp.Problem(cp.Minimize(cp.sum_squares(A @ z - b) / 2), [cp.norm(z) <= 1])
    lower.solve(solver="CLARABEL")
    assert abs(found.g_star - lower.value) < 1e-6
    if found.multiplier == 0:
        upper = cp.Problem(cp.Minimize(cp.sum_squares(C @ z - d) / 2), [cp.norm(z) <= 1, A @ z == A @ found.x])
        upper.solve(solver="CLARABEL")
        assert abs(found.f_star - upper.value) < 1e-5

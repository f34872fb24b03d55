"""The work of judging a run is counted: how many seconds is that here? It must bind before the limit of a cell."""

from __future__ import annotations

import statistics
import sys
import time
from typing import Any

import pytest

from bilevel_verify.campaign.builtin_job import LIMITS, main_job
from bilevel_verify.campaign.work import work
from bilevel_verify.checks import engine  # noqa: F401 (what judges is loaded)
from bilevel_verify.checks.claims.claims import MOST_WORK, Judged, judge_claims, worked

STATEMENTS = ("ragd-gs/proof-lemma-7", "restarted-agd-hb/theorem-6", "agm-bio/theorem-4-1", "rahgd/lemma-2-1")
SMALLEST = 5_000
"""Units below which a time says nothing."""


def test_counted_work_binds_before_the_time_of_a_cell(monkeypatch: pytest.MonkeyPatch) -> None:
    spent: list[tuple[float, float]] = []

    def timed(*arguments: Any, **options: Any) -> list[Judged]:
        begun = time.process_time()
        found = judge_claims(*arguments, **options)
        spent.append((time.process_time() - begun, worked(found)))
        return found

    for module in [m for name, m in sys.modules.items() if name.startswith("bilevel_verify.checks")]:
        if getattr(module, "judge_claims", None) is judge_claims:
            monkeypatch.setattr(module, "judge_claims", timed)
    cells = [cell for cell in main_job().cells if cell.kind == "verify"]
    rates = []
    for statement in STATEMENTS:
        spent.clear()
        work(next(cell for cell in cells if cell.statement == statement))
        units = sum(count for _, count in spent)
        if units > SMALLEST:
            rates.append(units / sum(seconds for seconds, _ in spent))
            print(f"{statement}: {units:.3g} units, {rates[-1]:.3g} a second")
    assert len(rates) >= 2
    print(f"{MOST_WORK:.3g} units are {MOST_WORK / max(rates):.0f} to {MOST_WORK / min(rates):.0f} s of processor time")
    assert LIMITS.seconds is not None
    assert 10 < MOST_WORK / statistics.median(rates) < LIMITS.seconds

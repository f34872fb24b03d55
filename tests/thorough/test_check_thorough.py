"""Thousands of verdicts of ``check`` on random statements, against exact evaluation: none is contradicted."""

from __future__ import annotations

import os
import sys
from collections import Counter
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "audit"))
from audit_judge import judged

SEED = int(os.environ.get("BILEVEL_VERIFY_SEED", "2"))
COUNT = int(os.environ.get("BILEVEL_VERIFY_STATEMENTS", "3000"))


def test_no_verdict_on_thousands_of_random_statements_is_contradicted() -> None:
    counts: Counter[str] = Counter()
    for number in range(COUNT):
        statement, findings, bad = judged(number, SEED, seconds=1.0)
        where = f"seed {SEED}, number {number}: {statement.text} for {statement.ranges} where {statement.defined}"
        assert bad is None, f"{where}: {bad}"
        counts.update(f"{finding.row.kind} {finding.verdict}" for finding in findings)
    print(f"seed {SEED}, {COUNT} statements, {counts.total()} verdicts, 0 contradicted: {dict(counts)}")
    assert counts["inequality holds"] >= COUNT // 5
    assert counts["inequality refuted"] >= COUNT // 5

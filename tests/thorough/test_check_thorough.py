"""Thousands of verdicts of ``check`` on random statements, against exact evaluation: none is contradicted."""

from __future__ import annotations

import os
import sys
from collections import Counter
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "audit"))
from audit_judge import judged
from audit_known_truths import KNOWN, contradiction

from bilevel_verify.audit.formula import check

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


def test_no_verdict_on_what_is_known_by_hand_is_contradicted() -> None:
    counts: Counter[str] = Counter()
    for text, ranges, truth in KNOWN:
        link, *poles = check(text, ranges, seconds=1.5)
        wrong = contradiction(truth, link.verdict, [pole.verdict for pole in poles])
        assert not wrong, f"{text} for {ranges}: {wrong}"
        counts[f"{truth}: {link.verdict}"] += 1
    print(f"{len(KNOWN)} statements known by hand, 0 contradicted: {dict(counts)}")
    assert counts["True: holds"] + counts["False: refuted"] >= 0.8 * len(KNOWN)

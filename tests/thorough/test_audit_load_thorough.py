"""Verdicts do not depend on the load of the machine: the same quick audit, alone and among busy processes."""

from __future__ import annotations

import multiprocessing
import os

from bilevel_verify.audit import audit

STATEMENT = "equation-58-roots"
"""Its roots were once proved and three times undecided, when the budget was time."""


def _busy() -> None:
    while True:
        pass


def test_a_quick_audit_under_load_gives_the_same_rows() -> None:
    alone = [finding.to_dict() for finding in audit("agm-bio", statement=STATEMENT, quick=True)]
    fork = multiprocessing.get_context("fork")
    crowd = [fork.Process(target=_busy, daemon=True) for _ in range(2 * (os.cpu_count() or 1))]
    for process in crowd:
        process.start()
    try:
        loaded = [finding.to_dict() for finding in audit("agm-bio", statement=STATEMENT, quick=True)]
    finally:
        for process in crowd:
            process.kill()
            process.join()
    assert len(alone) >= 2
    assert loaded == alone

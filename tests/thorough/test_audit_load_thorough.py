"""Verdicts do not depend on the load of the machine: the same quick audit, alone and among busy processes."""

from __future__ import annotations

import multiprocessing
import os
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from bilevel_verify.audit import audit

HARD = [("agm-bio", "equation-58-roots"), ("ragd-gs", "scalar-E4")]
"""Time decided here: proved once and undecided three times; steps that the limit of the solver leaves out."""
WHOLE = ["agm-bio", "fsba", "ragd-gs", "rahgd", "restarted-agd-hb"]


def _busy() -> None:
    while True:
        pass


@contextmanager
def crowd() -> Iterator[None]:
    """Twice as many busy processes as there are processors."""
    fork = multiprocessing.get_context("fork")
    processes = [fork.Process(target=_busy, daemon=True) for _ in range(2 * (os.cpu_count() or 1))]
    for process in processes:
        process.start()
    try:
        yield
    finally:
        for process in processes:
            process.kill()
            process.join()


@pytest.mark.parametrize(("paper", "statement"), [*HARD, *((paper, None) for paper in WHOLE)])
def test_a_quick_audit_under_load_gives_the_same_rows(paper: str, statement: str | None) -> None:
    alone = [finding.to_dict() for finding in audit(paper, statement=statement, quick=True, jobs=1)]
    with crowd():
        loaded = [finding.to_dict() for finding in audit(paper, statement=statement, quick=True, jobs=1)]
    print(f"{paper}: {len(alone)} rows")
    assert len(alone) >= 2
    assert loaded == alone

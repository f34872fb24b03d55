"""A small sample of random statements for ``check``, judged by exact evaluation; old faults are seen by the judge."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

from bilevel_verify.audit import formula
from bilevel_verify.audit.entries import definedness
from bilevel_verify.audit.limits import in_this_process
from bilevel_verify.audit.scalar import needs
from bilevel_verify.audit.scalar.claim import Decision

sys.path.insert(0, str(Path(__file__).parent))
from audit_judge import Range, Statement, judged, objection

SEED = int(os.environ.get("BILEVEL_VERIFY_SEED", "20"))


def test_no_verdict_on_random_statements_is_contradicted() -> None:
    verdicts = []
    for number in range(16):
        statement, findings, bad = judged(number, SEED, seconds=0.4)
        assert bad is None, f"seed {SEED}, number {number}: {statement.text} for {statement.ranges}: {bad}"
        verdicts += [finding.verdict for finding in findings]
    assert {"holds", "refuted"} <= set(verdicts)


def interval(low: int, high: int, closed: tuple[bool, bool] = (True, True)) -> Range:
    text = f"{'[' if closed[0] else '('}{low}, {high}{']' if closed[1] else ')'}"
    return Range(text, Fraction(low), Fraction(high), closed)


INTEGERS = Range("integers 0..", Fraction(0), None, integer=True)


def powers_are_real(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(needs, "whole", lambda node, domains: False)
    real = needs._of_power

    def without_condition(*arguments: Any) -> Any:
        for need in real(*arguments):
            yield replace(need, where=()) if need.what == "a real power of" else need

    patch.setattr(needs, "_of_power", without_condition)


def undefined_points_do_not_count(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(formula, "where_defined", lambda decision, _: decision)
    patch.setattr(formula, "_poles", lambda *_: [])


def open_ends_count(patch: pytest.MonkeyPatch) -> None:
    real = formula.read_ranges

    def closed(*arguments: Any) -> Any:
        return {n: replace(d, lower_closed=True, upper_closed=True) for n, d in real(*arguments).items()}

    patch.setattr(formula, "read_ranges", closed)


def everything_is_proved(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(formula, "decide", lambda *_, **__: Decision("proved", "trust"))


def ranges_are_empty(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(formula, "decide", lambda *_, **__: Decision("vacuous", "trust"))


PLANTED: list[tuple[Callable[[pytest.MonkeyPatch], None], Statement]] = [
    (powers_are_real, Statement("(1 - t)**k", "<=", "1", {"t": interval(0, 2), "k": INTEGERS})),
    (powers_are_real, Statement("(-1)**k", "<=", "1", {"k": INTEGERS})),
    (undefined_points_do_not_count, Statement("k/k", "<=", "1", {"k": INTEGERS})),
    (undefined_points_do_not_count, Statement("x**(-2)", ">", "0", {"x": interval(-1, 1)})),
    (open_ends_count, Statement("x", "<", "1", {"x": interval(0, 1, (True, False))})),
    (everything_is_proved, Statement("x", "<=", "1", {"x": interval(0, 2)})),
    (everything_is_proved, Statement("x", "<", "2", {"x": interval(0, 2)})),
    (ranges_are_empty, Statement("x", "<=", "1", {"x": interval(0, 1)})),
]


@pytest.mark.parametrize(("plant", "statement"), PLANTED)
def test_planted_faults_are_seen(
    plant: Callable[[pytest.MonkeyPatch], None], statement: Statement, monkeypatch: pytest.MonkeyPatch
) -> None:
    ranges = {name: domain.text for name, domain in statement.ranges.items()}
    with in_this_process():
        sound = objection(statement, formula.check(statement.text, ranges))
        plant(monkeypatch)
        planted = objection(statement, formula.check(statement.text, ranges))
    assert sound is None
    assert planted is not None
    assert definedness.HERE.endswith("undefined_here")

"""Random true and false statements against brute force: nothing proved is false, nothing refuted is true."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
from mpmath import mp

from bilevel_verify.audit.formula import check

sys.path.insert(0, str(Path(__file__).parent))
from audit_statements import Statement, random_statement, smallest_gap
from seeds import SEED

COUNT = int(os.environ.get("BILEVEL_VERIFY_STRESS", "24"))


@dataclass(frozen=True)
class Trial:
    """One statement, its verdict, and what brute force says against it (None where nothing)."""

    number: int
    statement: Statement
    verdict: str
    reason: str
    objection: str | None


def trial(number: int, seed: int, seconds: float = 2.0) -> Trial:
    """Judge the random statement of a number and a seed; the same two give the same statement."""
    random = np.random.default_rng([seed, number])
    statement = random_statement(random)
    given: dict[str, Any] = {"where": list(statement.where), "seed": number, "seconds": seconds}
    finding = check(statement.text, statement.declared, **given)[0]
    digits, objection = mp.dps, None
    if finding.verdict == "holds":
        gap, place = smallest_gap(statement, random)
        if statement.contradicts(gap):
            objection = f"called proved, but fails at { ({n: str(v) for n, v in place.items()}) }"
    elif finding.verdict == "refuted":
        point = {name: Fraction(value) for name, value in (finding.counterexample or {}).items()}
        if not statement.allowed(point) or not statement.contradicts(statement.gap(point)):
            objection = f"called refuted, but holds at {finding.counterexample}"
    mp.dps = digits
    return Trial(number, statement, finding.verdict, finding.row.reason or "", objection)


def trials(numbers: Iterator[int] | range, seed: int) -> Iterator[Trial]:
    """Judge many; an AssertionError names the first that contradicts plain sampling."""
    for number in numbers:
        found = trial(number, seed)
        shown = f"seed {seed}, number {number}: {found.statement.text} for {found.statement.declared}"
        assert found.objection is None, f"{shown} where {found.statement.where} is {found.objection}"
        yield found


def test_random_statements_against_brute_force() -> None:
    verdicts = [found.verdict for found in trials(range(COUNT), SEED)]
    print(f"seed {SEED}: { ({v: verdicts.count(v) for v in sorted(set(verdicts))}) }")
    assert verdicts.count("undecided") <= COUNT // 2


def test_brute_force_objects_to_false_verdicts() -> None:
    """The oracle itself: a false relation of every shape is seen to fail, a true one is not."""
    random = np.random.default_rng(SEED)
    false = [
        (Statement("far", "a", "<=", "10", {"a": "[0, oo)"}), {"a": 11}),
        (Statement("quartic", "2*a**2 - 1 + 1/1000", "<=", "a**4", {"a": "[0, oo)"}), {"a": 1}),
        (Statement("integer", "k", "<", "k", {"k": "integers 0.."}), {"k": 0}),
        (Statement("rounded", "floor((k + 1)/2)", "==", "ceil((k + 1)/2)", {"k": "integers 0.."}), {"k": 2}),
        (
            Statement("hypothesis", "b", "<=", "a/3", dict.fromkeys("ab", "(0, oo)"), {}, ("a >= 2*b",)),
            {"a": 2, "b": 1},
        ),
    ]
    for statement, witness in false:
        point = {name: Fraction(value) for name, value in witness.items()}
        assert statement.allowed(point)
        assert statement.contradicts(statement.gap(point)), statement.text
        assert statement.contradicts(smallest_gap(statement, random)[0]), statement.text
    for statement in (
        Statement("sum", "sum(i**2, (i, 1, k))", "==", "k*(k + 1)*(2*k + 1)/6", {"k": "integers 0.."}),
        Statement("hypothesis", "b", "<=", "a/2", dict.fromkeys("ab", "(0, oo)"), {}, ("a >= 2*b",)),
        Statement("quartic", "2*a**2 - 1", "<=", "a**4", {"a": "(-oo, oo)"}),
    ):
        assert not statement.contradicts(smallest_gap(statement, random)[0]), statement.text

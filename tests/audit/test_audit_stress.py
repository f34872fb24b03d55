"""Random true and false statements against brute force: nothing proved is false, nothing refuted is true."""

from __future__ import annotations

import os
import sys
from datetime import date
from pathlib import Path

import numpy as np
from mpmath import mp, mpf

from bilevel_verify.audit.formula import check

sys.path.insert(0, str(Path(__file__).parent))
from audit_statements import random_statement, smallest_gap

SEED = int(os.environ.get("BILEVEL_VERIFY_SEED", date.today().toordinal()))
COUNT = int(os.environ.get("BILEVEL_VERIFY_STRESS", "24"))


def stress(count: int, seed: int, seconds: float = 2.0) -> dict[str, int]:
    """Judge random statements; an AssertionError names the first that contradicts plain sampling."""
    random = np.random.default_rng(seed)
    tally = {"holds": 0, "refuted": 0, "undecided": 0, "not applicable": 0}
    for number in range(count):
        statement = random_statement(random)
        finding = check(statement.text, statement.ranges, seed=number, seconds=seconds)[0]
        tally[finding.verdict] += 1
        where = f"seed {seed}, number {number}: {statement.text} for {statement.ranges}"
        if finding.verdict == "holds":
            gap, place = smallest_gap(statement, random)
            scale = 1 + max((abs(float(v)) for v in place.values()), default=0.0)
            assert gap >= -(mpf(10) ** -25) * scale**8, f"{where} is called proved, but fails at {place}"
        if finding.verdict == "refuted":
            assert finding.counterexample is not None
            point = {name: _fraction(value) for name, value in finding.counterexample.items()}
            assert statement.gap(**point) < 0, f"{where} is called refuted, but holds at {point}"
    mp.dps = 15
    return tally


def _fraction(text: str) -> object:
    from fractions import Fraction

    return Fraction(text)


def test_random_statements_against_brute_force() -> None:
    tally = stress(COUNT, SEED)
    print(f"seed {SEED}: {tally}")
    assert tally["undecided"] <= COUNT // 3

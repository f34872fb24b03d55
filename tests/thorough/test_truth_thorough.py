"""Ten thousand random problems: every error bar covers the true error. Run on purpose: ``pytest tests/thorough``."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).parents[1] / "truth"))

import truth_generator as generator
import truth_simple_cases as cases


def test_ten_thousand_problems_are_covered() -> None:
    start = generator.seed()
    for block in range(40):
        bad, _ = generator.uncovered(start + 1000 * block, 225)
        assert not bad, f"seed {start + 1000 * block}: {bad[:5]}"
    for block, family in enumerate((*cases.FAMILIES, cases.logistic)):
        rng = np.random.default_rng([start, block])
        for number in range(50 if family is cases.logistic else 240):
            bad = cases.misses(family(rng), 1e-10)
            assert not bad, f"seed {start}, {family.__name__} number {number}: {bad}"

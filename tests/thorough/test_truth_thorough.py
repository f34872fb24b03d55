"""Ten thousand random problems with closed-form answers: every error bar covers the true error.

Run on purpose, as a test (``pytest tests/thorough/test_truth_thorough.py``) or, with its counts going to a file and
block after block, as a script: ``python tests/thorough/test_truth_thorough.py [first block] [last block]``. A block is
250 problems and is determined by the seed (``BILEVEL_VERIFY_SEED``) and its number: an interrupted run is taken up
with the next block.
"""

from __future__ import annotations

import sys
import time
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).parents[1] / "truth"))

import truth_generator as generator
import truth_simple_cases as cases

BLOCKS, SIZE = 40, 250
SIMPLE = (*cases.FAMILIES, cases.logistic)
REPORT = Path(__file__).parents[2] / "reports" / "thorough" / "truth.txt"


def block(seed: int, number: int) -> tuple[list[str], int]:
    """Misses and compared numbers of one block: 210 problems with a lower level, 40 simple bilevel problems."""
    bad, compared = generator.uncovered([seed, number], 210)
    rng = np.random.default_rng([seed, number, 1])
    for i in range(SIZE - 210):
        family = SIMPLE[i % len(SIMPLE)] if i % 20 == 4 else cases.FAMILIES[i % len(cases.FAMILIES)]
        found = cases.misses(family(rng), 1e-10)
        bad += [f"{family.__name__}: {line}" for line in found]
        compared += 3
    return bad, compared


def test_ten_thousand_problems_are_covered() -> None:
    start = generator.seed()
    for number in range(BLOCKS):
        bad, _ = block(start, number)
        assert not bad, f"seed {start}, block {number}: {bad[:5]}"


def main(first: int = 0, last: int = BLOCKS) -> int:
    """Run blocks and write the counts after each of them."""
    seed, misses, compared, began = generator.seed(), 0, 0, time.time()
    REPORT.parent.mkdir(parents=True, exist_ok=True)
    for number in range(first, last):
        bad, seen = block(seed, number)
        misses, compared = misses + len(bad), compared + seen
        lines = [
            "Error bars of the truth room against closed-form answers (mpmath, 50 digits)",
            f"seed {seed}, blocks {first} to {number} of {BLOCKS}: {SIZE * (number + 1 - first)} problems, "
            f"{compared} numbers compared, {misses} outside their error bar",
            f"{time.time() - began:.0f} s, finished {time.strftime('%Y-%m-%d %H:%M')} UTC",
            *[f"block {number}: {line}" for line in bad],
        ]
        REPORT.write_text("\n".join(lines) + "\n", encoding="utf-8")
        for line in bad:
            print(f"block {number}: {line}", flush=True)
    return int(misses > 0)


if __name__ == "__main__":
    raise SystemExit(main(*(int(a) for a in sys.argv[1:3])))

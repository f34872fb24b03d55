"""Five hundred random simple bilevel problems with a g that the tool does not know: no value outside its bar.

    python tests/thorough/test_hidden_thorough.py [first] [count]

A problem is determined by its number; what is printed is what is contradicted, and how many had a bounded f*.
"""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "truth"))

import truth_flat_cases as flat
import truth_hidden_cases as hidden

COUNT = 500


def run(first: int, count: int) -> tuple[list[str], int]:
    """Contradictions of the problems of some numbers, and how many of them had an error bar for f*."""
    bad, answered = [], 0
    for number in range(first, first + count):
        found, bounded = flat.contradictions(hidden.draw(number))
        bad += [f"{number}: {line}" for line in found]
        answered += bounded
    return bad, answered


def test_lower_levels_that_are_not_known() -> None:
    bad, answered = run(0, COUNT)
    assert not bad, bad[:5]
    assert answered >= 0.6 * COUNT


if __name__ == "__main__":
    contradicted, bounded = run(*(int(v) for v in sys.argv[1:3]) if len(sys.argv) > 2 else (0, COUNT))
    print("\n".join([*contradicted, f"{len(contradicted)} contradicted, f* bounded in {bounded} problems"]))
    sys.exit(bool(contradicted))

"""Every bound of Theorems 4.1, 4.4 and 4.5 at every iteration of 1,200 random problems.

    python tests/thorough/test_simple_thorough.py --first 0 --count 1200 --out reports/thorough/simple.txt

Runs can be cut by seed: a second call with another ``--first`` goes on where the first stopped.
"""

from __future__ import annotations

import argparse
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "methods"))

from methods_simple_bounds import Tally, check
from methods_simple_families import draw


def run(first: int, count: int, out: Path | None = None) -> Tally:
    """Check the problems of some seeds; the text is written again after every hundred."""
    tally, clock = Tally(), time.perf_counter()
    for seed in range(first, first + count):
        check(draw(seed), tally, f"seed {seed}")
        if out is not None and (seed - first + 1) % 50 == 0:
            out.write_text(text_of(tally, first, time.perf_counter() - clock), encoding="utf-8")
    if out is not None:
        out.write_text(text_of(tally, first, time.perf_counter() - clock), encoding="utf-8")
    return tally


def text_of(tally: Tally, first: int, seconds: float) -> str:
    """Counts as text."""
    lines = [
        "Simple bilevel: bounds of Theorems 4.1, 4.4, 4.5 at every iteration of random problems",
        f"seeds {first} .. {first + tally.problems - 1} ({tally.problems} problems), {seconds:.0f} s",
        "",
        f"{'bound':20}{'places':>10}{'largest share used':>22}",
        *(f"{name:20}{number:>10}{tally.largest[name]:>22.6g}" for name, number in tally.checked.items()),
        f"{'all':20}{sum(tally.checked.values()):>10}",
        "",
        f"violations: {len(tally.broken)}",
        *tally.broken[:20],
    ]
    return "\n".join(lines) + "\n"


def test_every_bound_on_random_problems() -> None:
    tally = run(0, 1200)
    assert tally.problems >= 1000
    assert tally.broken == []


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--count", type=int, default=1200)
    parser.add_argument("--out", type=Path, default=None)
    given = parser.parse_args()
    print(text_of(run(given.first, given.count, given.out), given.first, 0.0))

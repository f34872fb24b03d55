"""The long soundness run of the constants: 20,000 random problems, resumable. Run as a script.

``python tests/thorough/constants_run.py [--problems 20000] [--seed N] [--out reports/thorough/constants.txt]`` attacks
blocks of 100 problems (95 by calculus, 5 with branch and bound). Every block appends one line to the output; blocks
that are already there for the same seed are skipped. The exit code is 1 if any certified constant was exceeded.
"""

from __future__ import annotations

import argparse
import re
import sys
import time
from pathlib import Path

TESTS = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(TESTS), str(TESTS / "constants")]

from constants_attack import FORMS, contradictions, drawn  # noqa: E402
from constants_generator import SEED  # noqa: E402
from test_constants_soundness import attack  # noqa: E402

__all__ = ["FORMS", "SEED", "attack_block", "contradictions", "drawn"]
BLOCK = 100


def attack_block(seed: int, block: int) -> list[str]:
    """Violations among the 100 problems of one block."""
    start = seed * 100_000 + block
    return attack(start, BLOCK - 5, effort=0.0) + attack(start + 50_000, 5, effort=0.05)


def finished(text: str, seed: int) -> dict[int, int]:
    """Block -> violations, as recorded for a seed."""
    rows = re.findall(r"^seed (\d+) block (\d+): \d+ problems, (\d+) violations", text, re.MULTILINE)
    return {int(block): int(count) for own, block, count in rows if int(own) == seed}


def recorded(options: argparse.Namespace) -> dict[int, int]:
    """What the output says of this seed: read again before every block, so that processes can share the work."""
    return finished(options.out.read_text() if options.out.exists() else "", options.seed)


def main() -> int:
    """Run the blocks that are missing and print the total."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--problems", type=int, default=20_000)
    parser.add_argument("--seed", type=int, default=SEED)
    parser.add_argument("--backwards", action="store_true", help="last block first, for a second process")
    parser.add_argument("--out", type=Path, default=Path("reports/thorough/constants.txt"))
    options = parser.parse_args()
    options.out.parent.mkdir(parents=True, exist_ok=True)
    blocks = range(options.problems // BLOCK)
    for block in reversed(blocks) if options.backwards else blocks:
        if block in recorded(options):
            continue
        start = time.process_time()
        found = attack_block(options.seed, block)
        seconds = time.process_time() - start
        line = f"seed {options.seed} block {block}: {BLOCK} problems, {len(found)} violations, {seconds:.0f} s\n"
        with options.out.open("a") as out:
            out.write(line + "".join(f"  {text}\n" for text in found))
    done = recorded(options)
    print(f"seed {options.seed}: {len(done) * BLOCK} problems, {sum(done.values())} violations")
    return int(any(done.values()))


if __name__ == "__main__":
    sys.exit(main())

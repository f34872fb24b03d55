"""Thousands of verdicts on random cards and instances with known truth: none may contradict it.

    python tests/thorough/test_checks_thorough.py --seed 1 --rounds 250 --out reports/thorough/checks.txt

``--seed today`` rotates with the day; the seed is printed. Every call appends its counts: a long run is made of
short ones with seeds of their own.
"""

from __future__ import annotations

import argparse
import datetime
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "checks"))

from checks_own_cards import Tallied, ask
from checks_own_sweeps import MAKERS

SEED, ROUNDS = 20_000, 250


def text_of(found: Tallied, seed: int, seconds: float) -> str:
    """What was said, by kind of question and verdict."""
    lines = [f"seed {seed}: {found.rows} verdicts in {seconds:.0f} s, {len(found.contradicted)} contradicted"]
    lines += [f"{kind:12} {verdict:15} {number:6}" for (kind, verdict), number in sorted(found.said.items())]
    return "\n".join([*lines, *found.contradicted]) + "\n"


def run(seed: int, rounds: int, out: Path | None = None) -> Tallied:
    """Ask, and write down what was said."""
    clock = time.perf_counter()
    with tempfile.TemporaryDirectory() as folder:
        found = ask(seed, rounds, Path(folder), MAKERS)
    text = text_of(found, seed, time.perf_counter() - clock)
    if out is not None:
        with out.open("a", encoding="utf-8") as file:
            file.write(text)
    print(text, end="")
    return found


def test_thousands_of_verdicts_and_none_is_contradicted() -> None:
    found = run(SEED, ROUNDS)
    assert found.rows >= 5_000
    assert not found.contradicted


if __name__ == "__main__":
    reader = argparse.ArgumentParser(description=__doc__)
    reader.add_argument("--seed", default=str(SEED))
    reader.add_argument("--rounds", type=int, default=ROUNDS)
    reader.add_argument("--out", type=Path)
    given = reader.parse_args()
    day = datetime.date.today().toordinal() if given.seed == "today" else int(given.seed)
    sys.exit(1 if run(day, given.rounds, given.out).contradicted else 0)

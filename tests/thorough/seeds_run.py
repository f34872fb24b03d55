"""The tests that draw at random under many seeds, resumable. Run as a script.

``python tests/thorough/seeds_run.py --first 31001 --last 31030 [--share 1] [--workers 2] [--suite]`` runs pytest once a
seed, with ``BILEVEL_VERIFY_SEED``: the tests marked ``seeded``, or with ``--suite`` the whole suite; with ``--share n``
every n-th of them, chosen by the seed. Every finished seed appends one line to the output,
the failed tests below it; seeds that are already there with the same share and tests are skipped.
The exit code is 1 if any test failed.
"""

from __future__ import annotations

import argparse
import os
import re
import subprocess
import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
COUNTS = re.compile(r"(\d+) (passed|failed|error|skipped)")
LINE = re.compile(r"^seed (\d+) share (\d+) (seeded|suite): (\d+) passed, (\d+) failed", re.MULTILINE)


def finished(text: str, share: int, what: str) -> dict[int, int]:
    """Seed -> failures, as recorded for a share of these tests."""
    return {int(m[1]): int(m[5]) for m in LINE.finditer(text) if (int(m[2]), m[3]) == (share, what)}


def command(seed: int, workers: int, what: str) -> list[str]:
    """The pytest command of one seed."""
    marked = ["-m", "seeded"] if what == "seeded" else []
    spread = ["-n", str(workers)] if workers > 1 else []
    # the project's own "-q -rs" stands: once more would hide the counts, and failures are to be named
    words = [sys.executable, "-m", "pytest", "-rfE", "-p", "no:cacheprovider", "--tb=line"]
    return [*words, *spread, *marked, f"--hypothesis-seed={seed}"]


def entry(seed: int, share: int, what: str, output: str, code: int, seconds: float) -> str:
    """The lines of one seed: what pytest counted, and what failed.

    A run that pytest did not end, or of which it counted nothing, is a failure.
    """
    counts = {word: int(number) for number, word in COUNTS.findall(output.strip().rpartition("\n")[2])}
    failed = counts.get("failed", 0) + counts.get("error", 0)
    broken = re.findall(r"^(?:FAILED|ERROR) .*", output, re.MULTILINE)
    if code not in (0, 1) or (code and not failed) or not counts:
        failed, broken = max(failed, 1), [*broken, f"pytest ended with status {code}"]
    line = f"seed {seed} share {share} {what}: {counts.get('passed', 0)} passed, {failed} failed"
    return (
        "\n".join([f"{line}, {counts.get('skipped', 0)} skipped, {seconds:.0f} s", *(f"  {b}" for b in broken)]) + "\n"
    )


def main() -> int:
    """Run the seeds that are missing and print the total."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--first", type=int, default=31001)
    parser.add_argument("--last", type=int, default=31030)
    parser.add_argument("--share", type=int, default=1)
    parser.add_argument("--workers", type=int, default=1)
    parser.add_argument("--suite", action="store_true", help="the whole suite, not the seeded tests alone")
    parser.add_argument("--out", type=Path, default=ROOT / "reports/thorough/seeds.txt")
    options = parser.parse_args()
    what = "suite" if options.suite else "seeded"
    options.out.parent.mkdir(parents=True, exist_ok=True)
    seeds = range(options.first, options.last + 1)
    for seed in seeds:
        if seed in finished(options.out.read_text() if options.out.exists() else "", options.share, what):
            continue
        settings = {"BILEVEL_VERIFY_SEED": str(seed), "BILEVEL_VERIFY_SHARE": str(options.share)}
        start = time.monotonic()
        run = subprocess.run(
            command(seed, options.workers, what),
            cwd=ROOT,
            env={**os.environ, **settings},
            capture_output=True,
            text=True,
        )
        seconds = time.monotonic() - start
        if run.returncode == 2:  # interrupted: this seed is run again
            return 130
        lines = entry(seed, options.share, what, run.stdout, run.returncode, seconds)
        with options.out.open("a") as out:
            out.write(lines)
        print(lines, end="", flush=True)
    found = finished(options.out.read_text(), options.share, what)
    failures = sum(found.get(seed, 0) for seed in seeds)
    print(f"{len(seeds)} seeds, share {options.share}, {what}: {failures} failures")
    return int(failures > 0)


if __name__ == "__main__":
    sys.exit(main())

"""150 mutants of every room, more than 1,500 in all; what was interrupted goes on. Writes ``reports/mutation.md``.

``BILEVEL_VERIFY_SEED`` chooses the mutants (the day without it), ``BILEVEL_VERIFY_EACH`` how many of a room.
"""

from __future__ import annotations

import datetime
import os
import subprocess
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "mutation"))
import mutation_plan as plans

ROOT = plans.ROOT
SEED = os.environ.get("BILEVEL_VERIFY_SEED", f"{datetime.date.today():%Y%m%d}")
EACH = os.environ.get("BILEVEL_VERIFY_EACH", "150")
REPORT = ROOT / "reports" / "mutation.md"


def run(*words: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, str(ROOT / "tests" / "mutation" / "run.py"), *words]
    jobs = ["--jobs", str(os.cpu_count() or 1)]
    return subprocess.run([*command, *jobs], stdout=subprocess.PIPE, text=True, check=False)


def test_a_slip_would_be_noticed_in_every_room() -> None:
    log = plans.kept() / f"thorough-{SEED}-{EACH}.jsonl"
    scores = plans.kept() / f"thorough-{SEED}-{EACH}.md"
    wanted = ["--each", EACH, "--seed", SEED, "--json", str(log)]
    run(*wanted, "--fast")  # what the fast tests notice need not be run again
    sample = run(*wanted, "--accuse", "--table", str(scores))
    slips = run("--slips", "--at-least", "100")
    if sample.returncode in (0, 1):
        commit = subprocess.run(
            ["git", "rev-parse", "--short", "HEAD"], cwd=ROOT, capture_output=True, text=True
        ).stdout
        named = slips.stdout.splitlines()[-1].rpartition(";")[0]
        survivors = sample.stdout[: sample.stdout.rfind("\nall ")].rpartition("\n")[0]
        REPORT.write_text(
            f"# Slips planted by a machine\n\nWritten by `tests/thorough/test_mutation_thorough.py` on"
            f" {datetime.date.today():%d %B %Y}, commit {commit.strip()}, seed {SEED}:\n{EACH} mutants of every room"
            f" (all where there are fewer), under all tests of the tables (tests/mutation/README.md).\n\n"
            f"{scores.read_text(encoding='utf-8')}\nNamed slips: {named}\n\n```\n{survivors}\n```\n",
            encoding="utf-8",
        )
    assert sample.returncode == 0, sample.stdout
    assert slips.returncode == 0, slips.stdout

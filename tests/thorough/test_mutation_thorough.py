"""150 mutants of every room, more than 1,500 in all; what was interrupted goes on where it was. Writes the scores.

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
REPORT = ROOT / "reports" / "thorough" / "mutation.txt"


def run(*words: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, str(ROOT / "tests" / "mutation" / "run.py"), *words]
    jobs = ["--jobs", str(os.cpu_count() or 1)]
    return subprocess.run([*command, *jobs], stdout=subprocess.PIPE, text=True, check=False)


def test_a_slip_would_be_noticed_in_every_room() -> None:
    log = plans.kept() / f"thorough-{SEED}-{EACH}.jsonl"
    sample = run("--each", EACH, "--seed", SEED, "--json", str(log), "--accuse")
    slips = run("--slips", "--at-least", "100")
    head = (
        f"Output of tests/thorough/test_mutation_thorough.py, {datetime.date.today():%d %B %Y}, seed {SEED}: {EACH}"
        " mutants of every\nroom (all where there are fewer), then the named slips. Survivors stand before scores.\n"
    )
    if sample.returncode in (0, 1):
        REPORT.write_text(f"{head}\n{sample.stdout}\nnamed slips\n{slips.stdout}", encoding="utf-8")
    assert sample.returncode == 0, sample.stdout
    assert slips.returncode == 0, slips.stdout

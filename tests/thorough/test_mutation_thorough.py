"""Slips in every room, more than 1,500 in all, within two hours; what was interrupted goes on. Writes its report.

``BILEVEL_VERIFY_SEED`` chooses the mutants (the day without it) and not what the tests draw, ``BILEVEL_VERIFY_EACH``
how many of a room, ``BILEVEL_VERIFY_MINUTES`` when a slice ends: it is reported as far as it came, fails, and goes on
when started again.
First the fast tests that reach the slip are run, then what they left alive under all tests of the tables
(``BILEVEL_VERIFY_FAST=1``: without this second part, which is stricter); at last the named slips.

Rooms may be run one by one beforehand, with ``run.py --room NAME --each N --seed S --fast --reached-only`` and the
``--json`` of :func:`log_of`: what stands there is not run again.
"""

from __future__ import annotations

import datetime
import os
import subprocess
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "mutation"))
import mutation_plan as plans

ROOT = plans.ROOT
SEED = os.environ.get("BILEVEL_VERIFY_SEED", f"{datetime.date.today():%Y%m%d}")
EACH = os.environ.get("BILEVEL_VERIFY_EACH", "150")
SECONDS = 60.0 * float(os.environ.get("BILEVEL_VERIFY_MINUTES", "110"))
FAST_ALONE = os.environ.get("BILEVEL_VERIFY_FAST") == "1"
JOBS = os.environ.get("BILEVEL_VERIFY_JOBS", str(os.cpu_count() or 1))
REPORT = ROOT / "reports" / "mutation.md"
INTERRUPTED = 3
QUICK = ("--fast", "--reached-only")


class Slice:
    """Runs of the driver until the time of this slice is over."""

    def __init__(self) -> None:
        self.until = time.monotonic() + SECONDS

    def run(self, *words: str) -> subprocess.CompletedProcess[str]:
        """One run of the driver in what is left of the time."""
        left = max(0.0, self.until - time.monotonic())
        command = [sys.executable, str(ROOT / "tests" / "mutation" / "run.py"), *words, "--seconds", f"{left:.0f}"]
        same_draws = {name: value for name, value in os.environ.items() if name != "BILEVEL_VERIFY_SEED"}
        return subprocess.run(
            [*command, "--jobs", JOBS], stdout=subprocess.PIPE, text=True, check=False, env=same_draws
        )


def last(run: subprocess.CompletedProcess[str]) -> str:
    """The counts of a run, without its seconds."""
    lines = run.stdout.splitlines()
    return " ".join(lines[-1].rpartition(";")[0].split()) if lines else f"ended with status {run.returncode}"


def report(sample: subprocess.CompletedProcess[str], scores: str, slips: subprocess.CompletedProcess[str]) -> str:
    """The page: where it comes from, a row for every room, the named slips, what was not noticed."""
    commit = subprocess.run(["git", "rev-parse", "--short", "HEAD"], cwd=ROOT, capture_output=True, text=True).stdout
    under = (
        "the tests marked `fast` that reach the slip alone, which is less than the tables name"
        if FAST_ALONE
        else "all tests of the tables"
    )
    part = " **Interrupted: the column *not run* is still to be done.**" if sample.returncode == INTERRUPTED else ""
    survivors = sample.stdout[: sample.stdout.rfind("\nall ")]
    shown = "\n".join(line for line in survivors.splitlines() if line.startswith(("SURVIVED", "ERROR", "  ")))
    made = f"{datetime.date.today():%d %B %Y}, commit {commit.strip()}, seed {SEED}"
    return (
        f"# Slips planted by a machine\n\nWritten by `tests/thorough/test_mutation_thorough.py` on {made}:\n"
        f"{EACH} mutants of every room (all where there are fewer), under {under} (tests/mutation/README.md).\n"
        f"*Mutants* are those that were run, live and are not declared equivalent; *equivalent*: the declared ones of\n"
        f"the sample.{part}\n\n{scores}\nNamed slips (`run.py --slips`): {last(slips)}\n\n"
        f"## Not noticed\n\n```\n{shown}\n```\n"
    )


def log_of(seed: str, each: str) -> Path:
    """File in which every result of a seed is kept."""
    return plans.kept() / f"thorough-{seed}-{each}.jsonl"


def test_a_slip_would_be_noticed_in_every_room() -> None:
    log = log_of(SEED, EACH)
    scores = log.with_suffix(".md")
    wanted = ["--each", EACH, "--seed", SEED, "--json", str(log)]
    this = Slice()
    sample = this.run(*wanted, *QUICK, *(["--table", str(scores)] if FAST_ALONE else []))
    if not FAST_ALONE:  # what the fast tests notice is not run again
        sample = this.run(*wanted, "--table", str(scores))
    slips = this.run("--slips", "--at-least", "100", "--json", str(log))
    if sample.returncode in (0, 1, INTERRUPTED):
        REPORT.write_text(report(sample, scores.read_text(encoding="utf-8"), slips), encoding="utf-8")
    assert INTERRUPTED not in (sample.returncode, slips.returncode), "the time is over; the same command goes on"
    assert sample.returncode == 0, sample.stdout
    assert slips.returncode == 0, slips.stdout

"""All experiments of the papers at small size: that the whole path runs, what it costs, that it is not run twice."""

from __future__ import annotations

import json
import os
import resource
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from bilevel_verify.experiments.files import experiment, names

ROOT = Path(__file__).parents[2]
JOBS, MINUTES = 2, 10


@pytest.fixture(scope="module")
def spent() -> Iterator[dict[str, float]]:
    """Seconds of processor of every experiment that was run."""
    seconds: dict[str, float] = {}
    yield seconds
    print(f"\n{len(seconds)} of {len(names())} experiments: {sum(seconds.values()):.0f} s of processor")


def _run(name: str, folder: Path) -> tuple[str, float]:
    """What the command says, and the seconds of processor of it and its workers."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    command = [sys.executable, "-m", "bilevel_verify", "experiments", name, "--size", "small", "--jobs", str(JOBS)]
    done = subprocess.run(
        [*command, "--out", name],
        cwd=folder,
        env=os.environ | {"PYTHONPATH": str(ROOT), "OPENBLAS_NUM_THREADS": "1"},
        check=True,
        capture_output=True,
        text=True,
    )
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return done.stderr, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


@pytest.mark.parametrize("name", names())
def test_an_experiment_small(name: str, tmp_path: Path, spent: dict[str, float]) -> None:
    told, spent[name] = _run(name, tmp_path)
    (one,) = json.loads((tmp_path / name / "data.json").read_text(encoding="utf-8"))
    verdicts = [claim["verdict"] for claim in one["claims"]]
    print(f"\n{name}: {spent[name]:.0f} s of processor, {len(one['runs'])} rows, {', '.join(verdicts)}")
    assert len(verdicts) == sum(len(claim.variants) for claim in experiment(name).claims)
    for run in one["runs"]:
        assert all(seed is not None for seed in run["seeds"]), run["method"]
    assert "error" not in told
    again, _ = _run(name, tmp_path)
    assert "runs of this round" not in again
    assert json.loads((tmp_path / name / "data.json").read_text(encoding="utf-8")) == [one]
    most = 60 * MINUTES * JOBS * len(spent) / len(names())
    assert sum(spent.values()) < 2 * most, "twice the share of ten minutes on two cores"


def test_all_of_them_in_ten_minutes_on_two_cores(spent: dict[str, float]) -> None:
    if len(spent) < len(names()):
        pytest.skip("not all of them were run")
    assert sum(spent.values()) < 60 * MINUTES * JOBS

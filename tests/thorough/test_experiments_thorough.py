"""All experiments of the papers at small size: that the whole path runs, what it costs, that it is not run twice."""

from __future__ import annotations

import json
import os
import resource
import subprocess
import sys
import time
from pathlib import Path

from bilevel_verify.experiments.files import names

ROOT = Path(__file__).parents[2]
JOBS = 2


def _run(out: Path, report: Path) -> tuple[str, float]:
    command = [sys.executable, "-m", "bilevel_verify", "experiments", "all", "--size", "small"]
    begin = time.perf_counter()
    with report.open("w", encoding="utf-8") as told:
        subprocess.run(
            [*command, "--jobs", str(JOBS), "--out", str(out)],
            env=os.environ | {"PYTHONPATH": str(ROOT), "OPENBLAS_NUM_THREADS": "1"},
            check=True,
            stderr=told,
        )
    return report.read_text(encoding="utf-8"), time.perf_counter() - begin


def test_all_experiments_small(tmp_path: Path) -> None:
    told, seconds = _run(tmp_path / "out", tmp_path / "told")
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    print(f"{len(names())} experiments: {seconds:.0f} s, {used.ru_utime + used.ru_stime:.0f} s of processor")
    data = json.loads((tmp_path / "out" / "data.json").read_text(encoding="utf-8"))
    assert [one["name"] for one in data] == names()
    for one in data:
        assert one["claims"]
        print(one["name"], [claim["verdict"] for claim in one["claims"]])
        for run in one["runs"]:
            assert all(seed is not None for seed in run["seeds"]), (one["name"], run["method"])
    assert "error" not in told
    assert used.ru_utime + used.ru_stime < 600 * JOBS, "processor time of ten minutes on two cores"
    again, _ = _run(tmp_path / "out", tmp_path / "told")
    assert "runs of this round" not in again

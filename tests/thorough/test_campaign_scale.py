"""Campaigns of size: 100,000 toy cells, and 10,000 real ones. Prints what they cost."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from pathlib import Path

HERE = Path(__file__).parent
ROOT = HERE.parents[1]


def test_a_hundred_thousand_cells_stay_small(tmp_path: Path) -> None:
    script = ROOT / "tests" / "campaign" / "campaign_scale.py"
    path = os.pathsep.join([str(script.parent), str(ROOT)])
    done = subprocess.run(
        [sys.executable, str(script), str(tmp_path), "100000"],
        env=os.environ | {"PYTHONPATH": path},
        capture_output=True,
        text=True,
        check=True,
    )
    found = json.loads(done.stdout)
    print(found)
    assert found["answered"] == found["cells"] == 100_000
    assert found["again"] == 0
    assert found["megabytes"] < 1000
    assert found["report_seconds"] < 30
    assert found["page"] < 5_000_000
    assert found["exported_lines"] == 100_000


def test_ten_thousand_real_cells(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "bilevel_verify", "run", str(HERE / "campaign-ten-thousand.toml")]
    command += ["--out", str(tmp_path / "out"), "--json"]
    times = []
    for _ in range(2):
        clock = time.monotonic()
        done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=ROOT)
        assert done.returncode == 0, done.stderr[-2000:]
        times.append(time.monotonic() - clock)
    summary = json.loads(done.stdout)["summary"]
    print({"cells": summary["cells"], "first": round(times[0], 1), "again, with its report": round(times[1], 1)})
    clock = time.monotonic()
    subprocess.run([*command, "--dry-run"], capture_output=True, check=True, cwd=ROOT)
    print({"plan alone": round(time.monotonic() - clock, 1)})
    assert summary["cells"] == summary["done_before"] == 10_000
    assert not summary["failures"]
    assert times[0] < 600
    assert (tmp_path / "out" / "index.html").stat().st_size < 5_000_000

"""A twentieth of the thorough run of 100,000 cells: memory and page stay small, nothing is repeated or lost."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path


def test_many_cells_stay_small(tmp_path: Path) -> None:
    script = Path(__file__).with_name("campaign_scale.py")
    done = subprocess.run(
        [sys.executable, str(script), str(tmp_path), "5000"], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr[-2000:]
    found = json.loads(done.stdout)
    assert (found["answered"], found["again"]) == (5000, 0)
    assert found["megabytes"] < 400
    assert found["page"] < 5_000_000

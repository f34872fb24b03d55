"""Fifty random kills of a running campaign, one store: the rows end up as if nothing had happened (opt-in)."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from seeds import SEED

HERE = Path(__file__).parents[1] / "campaign"


def test_fifty_kills(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(HERE))
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(HERE), str(HERE.parents[1])]))
    from test_campaign_run import kill_and_resume

    print(f"BILEVEL_VERIFY_SEED={SEED}")
    hit = kill_and_resume(tmp_path, count=int(os.environ.get("KILL_CELLS", "5000")), kills=60, seed=SEED)
    assert hit >= 50, f"only {hit} kills hit a living run: more cells are needed"

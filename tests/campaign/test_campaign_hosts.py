"""Two hosts on one store, real processes with wrong clocks: nothing is taken from the living, all from the dead."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from campaign_toy import campaign, rows_of

from bilevel_verify.campaign import Store

HERE = Path(__file__).parent
CELLS = 6
SILENCE = 2.5
PATIENCE = 60.0


def host(
    folder: Path, name: str, *, shift: float = 0.0, pace: float = 1.0, sleep: float = 0.0, shared: str = ""
) -> subprocess.Popen[bytes]:
    """A process on a made-up host (in a container of the host ``shared``); ``sleep`` seconds for each cell."""
    path = os.pathsep.join([str(HERE), str(HERE.parents[1])])
    words = [str(folder), name, str(CELLS), str(shift), str(pace), str(SILENCE), *filter(None, [shared])]
    return subprocess.Popen(
        [sys.executable, str(HERE / "campaign_host.py"), *words],
        env=os.environ | {"PYTHONPATH": path, "TOY_SLEEP": str(sleep)},
        stdout=subprocess.DEVNULL,
    )


def until(true: Callable[[], bool]) -> None:
    deadline = time.monotonic() + PATIENCE
    while not true():
        assert time.monotonic() < deadline
        time.sleep(0.02)


def done(folder: Path) -> list[list[str]]:
    """Who did which cell, in the order of time."""
    log = folder / "done.log"
    return [line.split() for line in log.read_text(encoding="ascii").splitlines()] if log.exists() else []


def whole(folder: Path) -> bool:
    """Whether the rows are those of an unbroken run, each once."""
    with Store(folder / "out" / "results.sqlite", read_only=True) as store:
        found = sorted(cell.answer["rows"][0]["measured"] for cell in store.cells())
    return found == sorted(rows_of(cell)[0]["measured"] for cell in campaign(folder, CELLS).cells)


def said_by(folder: Path, name: str) -> list[str]:
    found: list[str] = json.loads((folder / f"{name}.json").read_text())["waited"]
    return found


@pytest.mark.parametrize(("shift", "pace"), [(-1e9, 1.0), (1e9, 3.0)])
def test_a_slow_host_keeps_its_cells_whatever_its_clock_says(tmp_path: Path, shift: float, pace: float) -> None:
    slow = host(tmp_path, "slow", shift=shift, pace=pace, sleep=SILENCE / 2)
    until(lambda: len(done(tmp_path)) > 0)
    other = host(tmp_path, "other")
    assert (slow.wait(PATIENCE), other.wait(PATIENCE)) == (0, 0)
    assert sorted(int(cell) for _, cell in done(tmp_path)) == list(range(CELLS))
    assert whole(tmp_path)
    assert any(
        re.match(r"waiting for \d cells? of process \d+ on slow; taken over after", s)
        for s in said_by(tmp_path, "other")
    )


def test_containers_that_share_a_host_name_take_nothing_from_each_other(tmp_path: Path) -> None:
    slow = host(tmp_path, "first", sleep=SILENCE / 2, shared="box")
    until(lambda: len(done(tmp_path)) > 0)
    other = host(tmp_path, "second", shared="box")
    assert (slow.wait(PATIENCE), other.wait(PATIENCE)) == (0, 0)
    assert sorted(int(cell) for _, cell in done(tmp_path)) == list(range(CELLS))
    assert whole(tmp_path)
    assert any(re.search(r"of process \d+ on box; taken over after", s) for s in said_by(tmp_path, "second"))


@pytest.mark.parametrize("waiters", [["one", "two"]])
def test_cells_of_a_dead_host_are_done_once_after_its_silence(tmp_path: Path, waiters: list[str]) -> None:
    dead = host(tmp_path, "dead", shift=1e9, sleep=600.0)
    until(lambda: len(done(tmp_path)) == 1)
    dead.kill()
    dead.wait()
    began = time.monotonic()
    living = [host(tmp_path, name, shift=-1e9 * n, pace=1 + n / 2) for n, name in enumerate(waiters)]
    assert [process.wait(PATIENCE) for process in living] == [0] * len(waiters)
    assert time.monotonic() - began >= SILENCE / 1.5
    after = done(tmp_path)[1:]
    assert sorted(int(cell) for _, cell in after) == list(range(CELLS))
    assert {name for name, _ in after} <= set(waiters)
    assert whole(tmp_path)
    for name in waiters:
        assert any(
            re.search(r"on dead(?: and \d more)?; taken over after [012] s more of silence", s)
            for s in said_by(tmp_path, name)
        )

"""Running, resuming, limits, and being killed."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from campaign_toy import BAD, campaign, rows_of
from seeds import SEED

from bilevel_verify.campaign import Campaign, Limits, Store, plan, run_campaign
from bilevel_verify.campaign.controls import judge_controls
from bilevel_verify.campaign.run import STORE_NAME
from bilevel_verify.errors import InputError, StoreError

WORK = "campaign_toy:work"
CHILD = Path(__file__).with_name("campaign_child.py")


def answers(out: Path) -> dict[str, Any]:
    with Store(out / STORE_NAME, read_only=True) as store:
        return {c.key: (c.cell, c.answer) for c in store.cells()}


def child(folder: Path, count: int, **environment: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, str(CHILD), str(folder), str(count)],
        env=os.environ | environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def expect_complete(folder: Path, count: int) -> None:
    """Every cell has exactly the answer that the work must give, whatever happened on the way."""
    found = answers(folder / "out")
    wanted = [rows_of(cell) for cell in campaign(folder, count).cells]
    assert sorted(a["rows"][0]["measured"] for _, a in found.values()) == sorted(r[0]["measured"] for r in wanted)


def test_a_second_run_repeats_nothing(tmp_path: Path) -> None:
    first = run_campaign(campaign(tmp_path, 20), tmp_path / "out", jobs=2, work=WORK)
    before = answers(tmp_path / "out")
    again = run_campaign(campaign(tmp_path, 25), tmp_path / "out", jobs=2, work=WORK)
    assert (first.answered, again.answered, again.done) == (20, 5, 20)
    after = answers(tmp_path / "out")
    assert {k: after[k] for k in before} == before
    expect_complete(tmp_path, 25)


def test_answers_do_not_depend_on_jobs_or_executor(tmp_path: Path) -> None:
    grid = campaign(tmp_path, 12)
    run_campaign(grid, tmp_path / "a", jobs=1, work=WORK)
    run_campaign(grid, tmp_path / "b", jobs=3, work=WORK)
    with ThreadPoolExecutor(2) as threads:
        run_campaign(grid, tmp_path / "c", executor=threads, work=WORK)
    with ProcessPoolExecutor(2) as processes:
        run_campaign(grid, tmp_path / "d", executor=processes, work=WORK)
    assert answers(tmp_path / "a") == answers(tmp_path / "b") == answers(tmp_path / "c") == answers(tmp_path / "d")


def test_limits_end_the_cell_not_the_campaign(tmp_path: Path) -> None:
    grid = campaign(tmp_path, 2)
    bad = tuple(replace(grid.cells[0], replicate=n) for n in (BAD + 1, BAD + 2, BAD + 3, BAD + 4))
    grid = Campaign(bad + grid.cells, limits=Limits(seconds=8, megabytes=150))
    outcome = run_campaign(grid, tmp_path / "out", jobs=2, work=WORK)
    failures = {f.cell["replicate"] - BAD: f for f in outcome.failures}
    assert {n: f.status for n, f in failures.items()} == {1: "time", 2: "memory", 3: "crashed", 4: "error"}
    assert "exit status 7" in failures[3].message
    assert failures[4].message == "ValueError: two lines"
    assert len(answers(tmp_path / "out")) == 2


def test_failed_cells_are_left_alone_until_limits_or_wish_change(tmp_path: Path) -> None:
    grid = campaign(tmp_path, 1)
    slow = Campaign((replace(grid.cells[0], replicate=BAD + 1),), limits=Limits(seconds=0.3))
    run_campaign(slow, tmp_path / "out", jobs=1, work=WORK)
    with Store(tmp_path / "out" / STORE_NAME) as store:
        assert len(plan(slow, store).failed) == 1
        assert len(plan(slow, store, retry=True).todo) == 1
        assert len(plan(replace(slow, limits=Limits(seconds=0.4)), store).todo) == 1


def test_limits_hold_on_a_foreign_executor(tmp_path: Path) -> None:
    grid = campaign(tmp_path, 2)
    grid = Campaign((replace(grid.cells[0], replicate=BAD + 1), *grid.cells), limits=Limits(seconds=1.0))
    with ThreadPoolExecutor(1) as threads:
        outcome = run_campaign(grid, tmp_path / "out", executor=threads, work=WORK)
    assert [f.status for f in outcome.failures] == ["time"]
    assert len(answers(tmp_path / "out")) == 2


def test_a_killed_worker_costs_one_attempt(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TOY_FLAG", str(tmp_path / "flag"))
    grid = campaign(tmp_path, 3)
    grid = Campaign((*grid.cells, replace(grid.cells[0], replicate=BAD + 5)))
    outcome = run_campaign(grid, tmp_path / "out", jobs=2, work=WORK)
    assert (tmp_path / "flag").exists()
    assert not outcome.failures
    assert len(answers(tmp_path / "out")) == 4


def test_stale_answers_are_seen_and_replaced(tmp_path: Path) -> None:
    grid = campaign(tmp_path, 4)
    run_campaign(grid, tmp_path / "out", jobs=1, work=WORK)
    (tmp_path / "first.toml").write_text('kind = "single_level"\nf = "x1**4"\nx = "x1"\nname = "first"\n')
    with Store(tmp_path / "out" / STORE_NAME) as store:
        seen = plan(grid, store).to_dict()
    assert {k: seen[k] for k in ("done", "todo", "stale", "failed", "total")} == {
        "done": 2, "todo": 0, "stale": 2, "failed": 0, "total": 4
    }  # fmt: skip
    assert run_campaign(grid, tmp_path / "out", jobs=1, work=WORK).answered == 2
    assert len(answers(tmp_path / "out")) == 6  # append-only: the old answers stay


def test_changed_sources_make_answers_stale(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    grid = campaign(tmp_path, 3)
    run_campaign(grid, tmp_path / "out", jobs=1, work=WORK)
    monkeypatch.setattr("bilevel_verify.campaign.fingerprint.source_fingerprint", lambda *rooms: "edited")
    with Store(tmp_path / "out" / STORE_NAME) as store:
        assert len(plan(grid, store).stale) == 3


@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="needs signals")
def test_killed_at_random_instants_it_ends_up_the_same(tmp_path: Path) -> None:
    print(f"BILEVEL_VERIFY_SEED={SEED}")
    kill_and_resume(tmp_path, count=120, kills=6, seed=SEED)


def kill_and_resume(folder: Path, count: int, kills: int, seed: int) -> int:
    """Kill a run ``kills`` times at random instants, then let it finish.

    Returns how many kills hit a run that had opened its store and was still working.
    """
    chance, hit = random.Random(seed), 0
    store = folder / "out" / STORE_NAME
    for _ in range(kills):
        process = child(folder, count, TOY_SLEEP="0.02")
        with process:
            before, deadline = state_of(store), time.monotonic() + 60
            if chance.random() < 0.8:  # mostly while answers arrive, sometimes while it starts
                while state_of(store) == before and process.poll() is None and time.monotonic() < deadline:
                    time.sleep(0.005)
            time.sleep(chance.uniform(0.0, 0.4))
            hit += process.poll() is None
            process.kill()
    with child(folder, count) as process:
        assert process.wait() == 0, process.communicate()
        process.communicate()
    expect_complete(folder, count)
    return hit


def state_of(path: Path) -> tuple[int, ...]:
    """Sizes of the store's files: they change as soon as something is written."""
    return tuple(p.stat().st_size if p.exists() else 0 for p in (path, Path(f"{path}-wal")))


def test_interrupt_keeps_what_is_done(tmp_path: Path) -> None:
    with child(tmp_path, 2000, TOY_SLEEP="0.05") as process:
        store = tmp_path / "out" / STORE_NAME
        deadline = time.monotonic() + 20
        while time.monotonic() < deadline and not (store.exists() and answers_or_none(store)):
            time.sleep(0.05)
        process.send_signal(signal.SIGINT)
        _, err = process.communicate(timeout=20)
        assert process.returncode == 130, err
        assert "Traceback" not in err
    kept = len(answers(tmp_path / "out"))
    assert 0 < kept < 2000
    with Store(store) as opened:  # no lease is left behind
        assert opened.lease(["x"], "other:1:1", 1.0, lambda owner: True) == {"x"}


def answers_or_none(path: Path) -> int:
    try:
        with Store(path, read_only=True) as store:
            return store.count()
    except StoreError:  # it is just being made
        return 0


def test_a_full_disk_keeps_what_is_done(tmp_path: Path) -> None:
    with child(tmp_path, 400, TOY_FILE_SIZE="200000") as process:
        out, err = process.communicate(timeout=60)
        assert process.returncode == 3, (out, err)
    assert "Traceback" not in err
    assert len(err.strip().splitlines()) == 1
    assert "make room" in err
    kept = len(answers(tmp_path / "out"))
    assert 0 < kept < 400
    with child(tmp_path, 400) as process:
        out, err = process.communicate(timeout=60)
        assert process.returncode == 0, err
        assert int(out) == 400 - kept
    expect_complete(tmp_path, 400)


def test_two_processes_share_the_work(tmp_path: Path) -> None:
    campaign(tmp_path, 1)
    pair = [child(tmp_path, 80, TOY_SLEEP="0.02") for _ in range(2)]
    done = []
    for process in pair:
        with process:
            out, err = process.communicate(timeout=60)
            assert process.returncode == 0, err
            done.append(int(out))
    assert sum(done) == 80  # nothing twice
    expect_complete(tmp_path, 80)


def test_total_time_ends_the_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TOY_SLEEP", "0.1")
    grid = replace(campaign(tmp_path, 200), total_seconds=1.5)
    outcome = run_campaign(grid, tmp_path / "out", jobs=1, work=WORK)
    assert outcome.out_of_time
    assert 0 < outcome.answered < 200


def test_jobs_must_be_positive(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="jobs must be at least 1"):
        run_campaign(campaign(tmp_path, 1), tmp_path / "out", jobs=0, work=WORK)


def test_controls_are_compared_with_their_verdict(tmp_path: Path) -> None:
    cell = campaign(tmp_path, 1).cells[0]
    cells = (cell, replace(cell, replicate=1, control="holds"), replace(cell, replicate=2, control="refuted"))
    outcome = run_campaign(Campaign(cells), tmp_path / "out", jobs=1, work=WORK)
    with Store(outcome.store, read_only=True) as store:
        found = judge_controls(store.cells(outcome.keys))
    answers = sorted((c.expected, c.found, c.kept) for c in found)  # stored by key, which changes with the code
    assert answers == [("holds", "holds", True), ("refuted", "holds", False)]

"""The same campaign on a Dask cluster of separate processes, one of which is killed on the way."""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from campaign_toy import campaign, rows_of

from bilevel_verify.campaign import Store, run_campaign
from bilevel_verify.campaign.run import STORE_NAME

distributed = pytest.importorskip("distributed", reason="extra: cluster")
pytestmark = [
    pytest.mark.extra,
    pytest.mark.filterwarnings("ignore"),  # the cluster library warns about its own sockets when a worker is killed
]
WORK = "campaign_toy:work"


@pytest.fixture
def client(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """A scheduler and two worker processes on this machine."""
    import dask

    settings = {"distributed.scheduler.allowed-failures": 10, "distributed.admin.large-graph-warning-threshold": "1GB"}
    with (
        dask.config.set(settings),
        distributed.LocalCluster(
            n_workers=2, threads_per_worker=1, processes=True, dashboard_address=None, local_directory=str(tmp_path)
        ) as cluster,
        distributed.Client(cluster) as opened,
    ):
        yield opened


def measured(out: Path) -> list[float]:
    with Store(out / STORE_NAME, read_only=True) as store:
        return sorted(stored.answer["rows"][0]["measured"] for stored in store.cells())


def test_a_cluster_that_loses_a_worker_loses_no_answer(
    client: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    client.run(os.environ.update, {"TOY_SLEEP": "0.05"})
    workers = client.run(os.getpid)
    cells = campaign(tmp_path, 80)
    killed: list[int] = []

    def kill_one() -> None:
        deadline = time.monotonic() + 60
        while time.monotonic() < deadline:
            time.sleep(0.1)
            path = tmp_path / "out" / STORE_NAME
            if path.exists() and len(measured(tmp_path / "out")) >= 10:
                victim = next(iter(workers.values()))
                os.kill(victim, signal.SIGKILL)
                killed.append(victim)
                return

    hunter = threading.Thread(target=kill_one)
    hunter.start()
    outcome = run_campaign(cells, tmp_path / "out", executor=client.get_executor(retries=5), jobs=2, work=WORK)
    hunter.join()
    assert killed, "no worker was killed while the campaign ran"
    assert not outcome.failures
    assert measured(tmp_path / "out") == sorted(rows_of(cell)[0]["measured"] for cell in cells.cells)

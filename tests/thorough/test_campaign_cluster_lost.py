"""A cluster of four worker processes that loses a worker, the network and the scheduler in turn (opt-in)."""

from __future__ import annotations

import contextlib
import os
import select
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

HERE = Path(__file__).parents[1] / "campaign"
distributed = pytest.importorskip("distributed", reason="extra: cluster")
pytestmark = [pytest.mark.extra, pytest.mark.filterwarnings("ignore")]  # the library warns about its lost sockets
CELLS = 240
PATIENCE = 100.0


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


class Wire:
    """A relay on loopback between the campaign and the scheduler: :meth:`cut` is the network that goes away."""

    def __init__(self, target: int) -> None:
        self.target, self.port, self.dead_until = target, free_port(), 0.0
        self.pairs: list[tuple[socket.socket, socket.socket]] = []
        self.server = socket.create_server(("127.0.0.1", self.port))
        threading.Thread(target=self.accept, daemon=True).start()

    def accept(self) -> None:
        while True:
            near, _ = self.server.accept()
            try:
                if time.monotonic() < self.dead_until:
                    raise OSError("no network")
                far = socket.create_connection(("127.0.0.1", self.target))
            except OSError:
                near.close()
                continue
            self.pairs.append((near, far))
            threading.Thread(target=self.relay, args=(near, far), daemon=True).start()

    @staticmethod
    def relay(near: socket.socket, far: socket.socket) -> None:
        with contextlib.suppress(OSError, ValueError):
            while True:
                for ready in select.select([near, far], [], [])[0]:
                    part = ready.recv(65536)
                    if not part:
                        raise OSError("closed")
                    (far if ready is near else near).sendall(part)
        for end in (near, far):
            end.close()

    def cut(self, seconds: float) -> None:
        """All connections end, and none is made for some seconds."""
        self.dead_until = time.monotonic() + seconds
        for pair in self.pairs:
            for end in pair:
                with contextlib.suppress(OSError):
                    end.shutdown(socket.SHUT_RDWR)
        self.pairs.clear()


class Cluster:
    """A scheduler and four workers, each a process of its own."""

    def __init__(self, folder: Path) -> None:
        self.port = free_port()
        path = os.pathsep.join([str(HERE), str(HERE.parents[1])])
        self.environment = {**os.environ, "TOY_SLEEP": "0.08", "PYTHONPATH": path}
        self.folder = folder
        self.scheduler = self.start("scheduler", "--host", "127.0.0.1", "--port", str(self.port), "--no-dashboard")
        address = f"tcp://127.0.0.1:{self.port}"
        options = ("--nthreads", "1", "--no-nanny", "--no-dashboard", "--local-directory", str(folder))
        self.workers = [self.start("worker", address, *options) for _ in range(4)]
        self.wire = Wire(self.port)

    def start(self, what: str, *words: str) -> subprocess.Popen[bytes]:
        command = [sys.executable, "-m", "dask", what, *words]
        quiet = subprocess.DEVNULL
        return subprocess.Popen(command, cwd=self.folder, env=self.environment, stdout=quiet, stderr=quiet)

    def end(self) -> None:
        for process in (*self.workers, self.scheduler):
            process.kill()
            process.wait()


@contextlib.contextmanager
def chaos(
    out: Path, answered: Callable[[Path], list[float]], events: list[tuple[int, str, Callable[[], None]]]
) -> Iterator[list[str]]:
    """Each event once so many answers are stored; yields the names of those that happened."""
    happened: list[str] = []
    over = threading.Event()

    def watch() -> None:
        for count, name, act in events:
            while not over.wait(0.1):
                with contextlib.suppress(Exception):
                    if len(answered(out)) >= count:
                        act()
                        happened.append(name)
                        break

    thread = threading.Thread(target=watch)
    thread.start()
    try:
        yield happened
    finally:
        over.set()
        thread.join()


def test_worker_network_and_scheduler_lost_in_turn(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(HERE))
    import dask
    from campaign_toy import campaign, rows_of

    from bilevel_verify.campaign import Store, run_campaign
    from bilevel_verify.campaign.pool import ExecutorLostError
    from bilevel_verify.campaign.run import STORE_NAME

    def answered(out: Path) -> list[float]:
        with Store(out / STORE_NAME, read_only=True) as store:
            return sorted(stored.answer["rows"][0]["measured"] for stored in store.cells())

    out, cells = tmp_path / "out", campaign(tmp_path, CELLS)
    clusters = [Cluster(tmp_path)]
    events: list[tuple[int, str, Callable[[], None]]] = [
        (30, "worker", lambda: clusters[-1].workers[0].send_signal(signal.SIGKILL)),
        (80, "network", lambda: clusters[-1].wire.cut(3.0)),
        (150, "scheduler", lambda: clusters[-1].scheduler.send_signal(signal.SIGKILL)),
    ]
    lost, began, outcome = 0, time.monotonic(), None
    settings: dict[str, Any] = {"distributed.comm.timeouts.connect": "5s", "distributed.client.heartbeat": "1s"}
    try:
        with dask.config.set(settings), chaos(out, answered, events) as happened:
            while outcome is None and time.monotonic() < began + PATIENCE:
                if clusters[-1].scheduler.poll() is not None:
                    clusters[-1].end()
                    clusters.append(Cluster(tmp_path))
                try:
                    with distributed.Client(f"tcp://127.0.0.1:{clusters[-1].wire.port}", timeout="20s") as client:
                        executor = client.get_executor(retries=5)
                        outcome = run_campaign(cells, out, executor=executor, jobs=4, work="campaign_toy:work")
                except (ExecutorLostError, OSError, TimeoutError):
                    lost += 1
                    time.sleep(0.3)
    finally:
        for cluster in clusters:
            cluster.end()
    assert happened == ["worker", "network", "scheduler"]
    assert outcome is not None, f"not done after {PATIENCE} s"
    print(f"{CELLS} cells, lost in turn: {', '.join(happened)}; {lost} runs ended early, {len(clusters)} clusters")
    assert not outcome.failures, outcome.failures
    assert answered(out) == sorted(rows_of(cell)[0]["measured"] for cell in cells.cells)

"""Local processes that can be stopped: a limit on time or memory ends the worker, not the campaign.

``concurrent.futures.ProcessPoolExecutor`` cannot end one worker without breaking the pool, so this is a small pool of
its own. Any executor of that family can be used instead (:func:`executor_results`); where a limit is set, the
executor's worker then keeps one such local process and hands the cell to it.
"""

from __future__ import annotations

import atexit
import contextlib
import json
import os
import selectors
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import FIRST_COMPLETED, CancelledError, Executor, Future, wait
from typing import IO, Literal, Protocol

from bilevel_verify.campaign.cell import Limits
from bilevel_verify.campaign.worker import THREADS, Result, Task, find_work, run_task
from bilevel_verify.errors import BilevelVerifyError

TICK = 0.05
"""Seconds between two looks at the limits."""
ATTEMPTS = 2
"""A cell whose worker died is tried once more; a second death is an answer."""
STILLBORN = 3
"""So many workers in a row that die before their first answer mean that none will ever start."""


class Source(Protocol):
    """Where tasks come from: ``take`` hands out one (None: none at the moment), ``exhausted`` tells when to stop."""

    def take(self, slot: int) -> Task | None: ...

    def exhausted(self) -> bool: ...


class WorkerProcess:
    """One child process, one task at a time."""

    def __init__(self, reference: str) -> None:
        environment = os.environ | dict.fromkeys(THREADS, "1")
        self._log: IO[bytes] = tempfile.TemporaryFile()  # noqa: SIM115 (closed in kill)
        self.process = subprocess.Popen(
            [sys.executable, "-m", "bilevel_verify.campaign.worker", reference],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._log,
            env=environment,
        )
        self.task: Task | None = None
        self.ready = False
        self.began = 0.0
        self.attempts = 0
        self._buffer = b""

    @property
    def output(self) -> IO[bytes]:
        """The stream of answers."""
        assert self.process.stdout is not None
        return self.process.stdout

    def send(self, task: Task) -> None:
        """Hand over a task; a worker that is already dead is noticed when its output ends."""
        assert self.process.stdin is not None
        self.attempts = self.attempts + 1 if self.task is task else 1  # a task left by a dead worker is tried again
        self.task, self.began = task, time.monotonic()
        with contextlib.suppress(BrokenPipeError):
            self.process.stdin.write((json.dumps(task) + "\n").encode())
            self.process.stdin.flush()

    def receive(self) -> Result | None:
        """The answer if it is complete; None if more is to come.

        Raises
        ------
        EOFError
            The worker has died.
        """
        chunk = os.read(self.output.fileno(), 1 << 20)
        if not chunk:
            raise EOFError
        self._buffer += chunk
        if not self._buffer.endswith(b"\n"):
            return None
        text, self._buffer = self._buffer, b""
        result: Result = json.loads(text)
        return result

    def excess(self, limits: Limits) -> Result | None:
        """The result of a task over its limits, else None."""
        if self.task is None or not self.began:
            return None
        seconds = time.monotonic() - self.began
        if limits.seconds is not None and seconds > limits.seconds:
            return self._failure("time", f"over the time limit of {limits.seconds:g} s", seconds)
        if limits.megabytes is not None and resident_megabytes(self.process.pid) > limits.megabytes:
            return self._failure("memory", f"over the memory limit of {limits.megabytes:g} MB", seconds)
        return None

    def crashed(self) -> Result:
        """The result of a task whose worker died, with the last line it left on stderr."""
        return self._failure("crashed", f"the worker died ({self.last_words()})", time.monotonic() - self.began)

    def last_words(self) -> str:
        """How a dead worker ended, with the last line it left on stderr."""
        code = self.process.wait()
        self._log.seek(0)
        lines = self._log.read()[-2000:].decode(errors="replace").strip().splitlines()
        cause = f"signal {-code}" if code < 0 else f"exit status {code}"
        return cause + (f": {lines[-1][:300]}" if lines else "")

    def kill(self) -> None:
        """End the process at once and wait for it."""
        self.process.kill()
        self.process.wait()
        for stream in (self.process.stdin, self.process.stdout, self._log):
            if stream is not None:
                with contextlib.suppress(BrokenPipeError):
                    stream.close()

    def _failure(self, status: Literal["time", "memory", "crashed"], message: str, seconds: float) -> Result:
        assert self.task is not None
        return {"id": self.task["id"], "status": status, "message": message, "seconds": seconds, "fault": status}


class CellPool:
    """``jobs`` local worker processes under limits; use as a context manager so that no child outlives it."""

    def __init__(self, jobs: int, reference: str, limits: Limits) -> None:
        self.limits = limits
        self._reference = reference
        self._stillborn = 0
        self._workers = [WorkerProcess(reference) for _ in range(jobs)]

    def __enter__(self) -> CellPool:
        return self

    def __exit__(self, *_: object) -> None:
        for worker in self._workers:
            worker.kill()

    def results(self, source: Source) -> Iterator[Result | None]:
        """Results as they come; None now and then, so that the caller can attend to other things."""
        with selectors.DefaultSelector() as selector:
            for slot, worker in enumerate(self._workers):
                selector.register(worker.output, selectors.EVENT_READ, slot)
            while not (source.exhausted() and all(w.task is None for w in self._workers)):
                self._feed(source)
                ready = {key.data for key, _ in selector.select(TICK)}
                found = False
                for slot in range(len(self._workers)):
                    result = self._attend(slot, slot in ready, selector)
                    if result is not None:
                        found = True
                        yield result
                if not found:
                    yield None

    def _feed(self, source: Source) -> None:
        for slot, worker in enumerate(self._workers):
            if not worker.ready:
                continue
            if worker.task is not None and not worker.began:
                worker.send(worker.task)  # left by a worker that died
            elif worker.task is None and (task := source.take(slot)) is not None:
                worker.send(task)

    def _attend(self, slot: int, ready: bool, selector: selectors.BaseSelector) -> Result | None:
        worker = self._workers[slot]
        if not ready:
            result = worker.excess(self.limits)
            if result is not None:
                self._replace(slot, selector)
            return result
        try:
            result = worker.receive()
        except EOFError:
            return self._bury(slot, selector)
        if result is not None and result["status"] == "ready":
            worker.ready = True
            return None
        if result is not None:
            worker.task = None
            self._stillborn = 0
        return result

    def _bury(self, slot: int, selector: selectors.BaseSelector) -> Result | None:
        """Replace a dead worker; its task gets another attempt unless it had them all."""
        dead = self._workers[slot]
        if not dead.ready:
            self._stillborn += 1
            if self._stillborn >= STILLBORN:
                raise BilevelVerifyError(f"worker processes do not start: {dead.last_words()}")
        task, attempts = dead.task, dead.attempts
        result = dead.crashed() if task is not None and dead.began else None
        self._replace(slot, selector)
        if attempts < ATTEMPTS:
            self._workers[slot].task, self._workers[slot].attempts = task, attempts
            return None
        return result

    def _replace(self, slot: int, selector: selectors.BaseSelector) -> None:
        selector.unregister(self._workers[slot].output)
        self._workers[slot].kill()
        self._workers[slot] = WorkerProcess(self._reference)
        selector.register(self._workers[slot].output, selectors.EVENT_READ, slot)


def executor_results(
    executor: Executor, source: Source, reference: str, limits: Limits, window: int
) -> Iterator[Result | None]:
    """Results from any executor of ``concurrent.futures``, at most ``window`` tasks under way.

    A task that the executor loses (a worker gone, a connection cut) is handed out again; one that keeps killing its
    workers becomes a ``crashed`` result.

    Raises
    ------
    ExecutorLostError : it takes no more tasks, or loses all that are under way without one answer between them.
    """
    under_way: dict[Future[Result], Task] = {}
    losses: Counter[str] = Counter()
    in_a_row = 0

    def send(task: Task) -> None:
        try:
            under_way[executor.submit(remote_task, reference, task, limits.seconds, limits.megabytes)] = task
        except Exception as error:
            raise _lost(error) from error

    while not (source.exhausted() and not under_way):
        while len(under_way) < window and (task := source.take(0)) is not None:
            send(task)
        finished = wait(under_way, timeout=TICK, return_when=FIRST_COMPLETED).done if under_way else set()
        if not finished:
            if not under_way:
                time.sleep(TICK)
            yield None
        for future in finished:
            task = under_way.pop(future)
            try:
                result = future.result()
            except (Exception, CancelledError) as error:
                losses[task["id"]] += 1
                in_a_row += 1
                if in_a_row > 2 * window:
                    raise _lost(error) from error
                if losses[task["id"]] <= ATTEMPTS and type(error).__name__ != "KilledWorker":
                    send(task)
                    continue
                message = f"the executor lost the cell ({type(error).__name__}: {error})"
                yield {"id": task["id"], "status": "crashed", "message": message, "seconds": 0.0, "fault": "crashed"}
            else:
                in_a_row = 0
                yield result


class ExecutorLostError(BilevelVerifyError, RuntimeError):
    """The executor that was handed over is gone; what it answered is kept."""


def _lost(error: BaseException) -> ExecutorLostError:
    how = f"{type(error).__name__}: {error}".rstrip(": ")
    return ExecutorLostError(f"the executor is lost ({how}); its answers are kept, run again with another to go on")


_LOCAL = threading.local()
_KEPT: list[CellPool] = []
"""Pools of the executor's threads in this process, ended with it."""


@atexit.register
def _end_kept() -> None:
    for pool in _KEPT:
        pool.__exit__()


def remote_task(reference: str, task: Task, seconds: float | None, megabytes: float | None) -> Result:
    """What an executor's worker does: the cell itself, or, under limits, the cell in a process that can be ended."""
    if seconds is None and megabytes is None:
        return run_task(find_work(reference), task)
    wanted = (reference, seconds, megabytes)
    if getattr(_LOCAL, "wanted", None) != wanted:
        _LOCAL.wanted, _LOCAL.pool = wanted, CellPool(1, reference, Limits(seconds, megabytes))
        _KEPT.append(_LOCAL.pool)
    pool: CellPool = _LOCAL.pool
    return next(r for r in pool.results(_Single(task)) if r is not None)


class _Single:
    """A source of one task."""

    def __init__(self, task: Task) -> None:
        self._task: Task | None = task

    def take(self, slot: int) -> Task | None:
        task, self._task = self._task, None
        return task

    def exhausted(self) -> bool:
        return self._task is None


def resident_megabytes(process: int) -> float:
    """Resident memory of a process; 0 where the system does not tell."""
    try:
        with open(f"/proc/{process}/statm", encoding="ascii") as stream:
            pages = int(stream.read().split()[1])
        return pages * os.sysconf("SC_PAGE_SIZE") / 2**20
    except (OSError, ValueError, IndexError):
        return 0.0

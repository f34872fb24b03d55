"""The process that works on cells: one JSON line in, one JSON line out, nothing pickled.

Started as ``python -m bilevel_verify.campaign.worker MODULE:FUNCTION``. The function takes a :class:`Cell` and returns
``(answer, documents)``, both JSON data. Whatever the work prints goes to stderr, never into the protocol.
"""

from __future__ import annotations

import gc
import importlib
import json
import os
import signal
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Literal, Required, TextIO, TypedDict

from bilevel_verify.campaign.cell import Cell
from bilevel_verify.errors import BilevelVerifyError, InputError

Status = Literal["ready", "done", "time", "memory", "crashed", "error"]
Work = Callable[[Cell], tuple[Mapping[str, object], Sequence[Mapping[str, object]]]]
"""What answers a cell: JSON data, and the documents that the answer refers to."""


class Task(TypedDict):
    """A line for a worker: which cell, under the key of its answer."""

    id: str
    cell: Mapping[str, object]


class Result(TypedDict, total=False):
    """A line of a worker. ``status`` is always there: ``ready``, ``done``, or how the cell ended without an answer."""

    id: Required[str]
    status: Required[Status]
    seconds: float
    answer: Mapping[str, object]
    documents: Sequence[Mapping[str, object]]
    message: str
    fault: str


DEFAULT_WORK = "bilevel_verify.campaign.work:work"
READY = {"id": None, "status": "ready"}
"""The first line of a worker: its imports are done, so that they do not count against the first cell."""
SELDOM = (50_000, 20, 50)
"""When a worker looks for garbage: what it derives it keeps, and with Python's own setting an eighth of its time went
into looking at that again and again (main job, 54 cells: 11.9 s, 10.3 s so; 414 MB instead of 390)."""
THREADS = ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS", "VECLIB_MAXIMUM_THREADS")


def find_work(reference: str) -> Work:
    """The function behind ``module:function``. The reference comes from Python code only, never from a file."""
    module, _, name = reference.partition(":")
    work: Work = getattr(importlib.import_module(module), name)
    return work


def run_task(work: Work, task: Task) -> Result:
    """Answer one task; errors become data. ``fault`` tells errors of ours from input that cannot be worked with."""
    began = time.perf_counter()
    try:
        answer, documents = work(Cell.from_dict(task["cell"]))
        result: Result = {"id": task["id"], "status": "done", "answer": answer, "documents": documents}
        json.dumps(result, allow_nan=False)
    except MemoryError:
        result = {"id": task["id"], "status": "memory", "message": "out of memory"}
    except InputError as error:
        result = {"id": task["id"], "status": "error", "message": one_line(error), "fault": "input"}
    except BilevelVerifyError as error:
        result = {"id": task["id"], "status": "error", "message": one_line(error), "fault": "ours"}
    except Exception as error:
        message = f"{type(error).__name__}: {one_line(error)}"
        result = {"id": task["id"], "status": "error", "message": message, "fault": "ours"}
    result["seconds"] = time.perf_counter() - began
    return result


def one_line(error: BaseException) -> str:
    """The message of an error on one line of at most 500 characters."""
    return " ".join(str(error).split())[:500]


def main(reference: str) -> int:
    """Serve tasks from stdin until it ends."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent decides what an interrupt means
    _die_with_parent()
    protocol = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    sys.stdout = sys.stderr
    gc.set_threshold(*SELDOM)
    work = find_work(reference)
    try:
        _say(protocol, READY)
        for line in sys.stdin:
            _say(protocol, run_task(work, json.loads(line)))
    except BrokenPipeError:
        pass
    return 0


def _say(protocol: TextIO, message: Mapping[str, object]) -> None:
    protocol.write(json.dumps(message, allow_nan=False) + "\n")
    protocol.flush()


def _die_with_parent() -> None:
    """On Linux the kernel ends this process with its parent; elsewhere the end of stdin does, after the cell."""
    if sys.platform == "linux":
        import ctypes

        ctypes.CDLL(None, use_errno=True).prctl(1, signal.SIGKILL)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))

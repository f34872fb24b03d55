"""A solver is ended after processor time, not after time by the clock: its answer does not depend on the load."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from types import ModuleType
from typing import Any


@dataclass(slots=True)
class Watch:
    """Whether the solver was ended."""

    late: bool = False


@contextmanager
def ended_after(z3: ModuleType, seconds: float, context: Any = None) -> Iterator[Watch]:
    """Solvers of a context (the main one) are interrupted inside the block after so many seconds of processor time.

    Their own limits (``rlimit``) count work, which some of their steps do not; ``timeout`` counts real time, which a
    loaded machine spends on others.
    """
    watch, left = Watch(), threading.Event()
    until = time.process_time() + seconds

    def guard() -> None:
        while (rest := until - time.process_time()) > 0:
            if left.wait(rest):
                return
        if not left.is_set():
            watch.late = True
            (context or z3.main_ctx()).interrupt()

    thread = threading.Thread(target=guard, daemon=True)
    thread.start()
    try:
        yield watch
    finally:
        left.set()
        thread.join()

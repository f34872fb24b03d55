"""A solver is ended after work that is counted, not after seconds: its answer does not depend on the load.

Its own limit (``rlimit``) leaves out steps that may take minutes (resultants, algebraic numbers), ``timeout`` counts
real time. What it allocates grows in those steps, too, and is the same number in every run: a thread looks at it and
interrupts. When the thread looks is an accident, so what an interrupted solver says is never used.
"""

from __future__ import annotations

import functools
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from types import ModuleType
from typing import Any, NamedTuple

ALLOCATIONS = 550_000.0
"""What the solver counts as allocated in about a millisecond of an idle machine, in steps of linear arithmetic."""
LOOK = 0.02
"""Seconds between two looks; they decide how soon a solver ends that is late, not whether it is."""


class Answer(NamedTuple):
    """What a solver says; ``late``: it needed more work than it had, and nothing is said."""

    said: Any
    late: bool


@dataclass(slots=True)
class _Watch:
    """Whether the solver did too much."""

    late: bool = False


def ask(z3: ModuleType, solver: Any, milliseconds: float, context: Any) -> Answer:
    """The answer of a solver (or optimiser) within so many counted milliseconds.

    All solvers of a process share the count: one question is asked at a time.

    Raises
    ------
    z3.Z3Exception : what the solver raises before its work is over.
    """
    answer = z3.unknown
    watch = _Watch()
    try:
        with _watched(z3, milliseconds, context, watch):
            answer = solver.check()
    except z3.Z3Exception:
        if not watch.late:
            raise
    return Answer(z3.unknown if watch.late else answer, watch.late)


@contextmanager
def _watched(z3: ModuleType, milliseconds: float, context: Any, watch: _Watch) -> Iterator[None]:
    """Solvers of a context are interrupted inside the block after so many counted milliseconds."""
    _settle(z3)
    left, before, limit = threading.Event(), allocated(z3), ALLOCATIONS * milliseconds

    def guard() -> None:
        while not left.wait(LOOK):
            if allocated(z3) - before > limit:
                context.interrupt()
                return

    thread = threading.Thread(target=guard, daemon=True)
    thread.start()
    try:
        yield
    finally:
        left.set()
        thread.join()
        _settle(z3)
        watch.late = allocated(z3) - before > limit


def allocated(z3: ModuleType) -> float:
    """What the solvers of this process have allocated so far, as they count it."""
    counts = _bystander(z3).statistics()
    return float(counts.get_key_value("num allocs")) if "num allocs" in counts.keys() else 0.0  # noqa: SIM118


def _settle(z3: ModuleType) -> None:
    """A thread adds to the common count where its memory has grown enough: a context is enough."""
    z3.Context()


@functools.cache
def _bystander(z3: ModuleType) -> Any:
    """A solver that is never asked, in a context of its own: it can be looked at while others work."""
    return z3.Solver(ctx=z3.Context())

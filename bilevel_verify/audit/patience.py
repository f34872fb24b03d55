"""A solver is ended after work that is counted, not after seconds: its answer does not depend on the load.

Its own limit (``rlimit``) leaves out steps that may take minutes (resultants, algebraic numbers), ``timeout`` counts
real time. What it allocates grows in those steps, too: a thread looks at it and interrupts. When the thread looks is an
accident, so what an interrupted solver says is never used.

The solver's count of allocations is kept for each thread and added to a common one, as a whole, whenever memory has
grown: only what a new thread adds is the same in every run (to a ten-thousandth). So each question has one.
"""

from __future__ import annotations

import functools
import threading
from concurrent.futures import ThreadPoolExecutor
from types import ModuleType
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    import z3

ALLOCATIONS = 80_000.0
"""What the solver counts as allocated in about a millisecond of an idle machine."""
LOOKING = threading.Lock()
LOOK = 0.02
"""Seconds between two looks; they decide how soon a solver ends that is late, not whether it is."""


class Answer(NamedTuple):
    """What a solver says; ``late``: it needed more work than it had, and what it said counts for nothing."""

    said: z3.CheckSatResult
    late: bool


def ask(z3: ModuleType, solver: z3.Solver | z3.Optimize, milliseconds: float, context: z3.Context) -> Answer:
    """The answer of a solver (or optimiser) within so many counted milliseconds.

    All solvers of a process share the count: one question is asked at a time.

    Raises
    ------
    z3.Z3Exception : what the solver raises before its work is over.
    """
    answer, over = z3.unknown, threading.Event()
    with ThreadPoolExecutor(2) as threads:  # the count is read there, too: reading may add what a thread has done
        limit = threads.submit(allocated, z3).result() + ALLOCATIONS * milliseconds
        asked = threads.submit(_check, z3, solver)
        threads.submit(_guard, z3, context, limit, over)
        try:
            answer = asked.result()
        except z3.Z3Exception:
            if threads.submit(allocated, z3).result() <= limit:
                raise
        except BaseException:
            context.interrupt()
            raise
        finally:
            over.set()
        late = threads.submit(allocated, z3).result() > limit
    return Answer(z3.unknown if late else answer, late)


def _check(z3: ModuleType, solver: z3.Solver | z3.Optimize) -> z3.CheckSatResult:
    try:
        return solver.check()
    finally:
        z3.Context()  # enough memory for the count of this thread to be added to the common one


def _guard(z3: ModuleType, context: z3.Context, limit: float, over: threading.Event) -> None:
    """Interrupt the solvers of a context where the count has reached its limit first."""
    while not over.wait(LOOK):
        if allocated(z3) > limit:
            context.interrupt()
            return


def allocated(z3: ModuleType) -> float:
    """What the solvers of this process have allocated so far, as they count it."""
    with LOOKING:  # a context serves one thread at a time, and two may look
        counts = _bystander(z3).statistics()
        found = float(counts.get_key_value("num allocs")) if "num allocs" in counts.keys() else 0.0  # noqa: SIM118
        del counts  # it is given back to its context here, under the lock
    return found


@functools.cache
def _bystander(z3: ModuleType) -> z3.Solver:
    """A solver that is never asked, in a context of its own: it can be looked at while others work."""
    return z3.Solver(ctx=z3.Context())

"""The same problem from many starts or seeds: one compiled call moves all runs on, on all processors.

A batch is a set of ordinary runs whose memories lie one behind the other. Every round is one compiled call per
processor, without the interpreter's lock; between rounds each run takes its block of the trace, exactly as if it were
alone. What a run does never depends on its neighbours: results are those of single runs, bit for bit.
"""

from __future__ import annotations

import os
import time
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np

from bilevel_verify.errors import ParameterError
from bilevel_verify.methods.engine import FIRST_ROWS, KernelStepper, needed_oracles, oracles_of
from bilevel_verify.methods.forms import loop_of_members
from bilevel_verify.methods.interpreted import sums_over_data
from bilevel_verify.methods.kernels import state
from bilevel_verify.methods.kernels.members import Stack
from bilevel_verify.methods.kernels.state import Ask, Lower, Memory
from bilevel_verify.methods.memory import TRACE, TRACE_BYTES, row_entries
from bilevel_verify.methods.registry import Method
from bilevel_verify.methods.run import Run
from bilevel_verify.methods.solve import stream
from bilevel_verify.methods.streams import PATIENCE, RunStream
from bilevel_verify.problems.problem import Problem
from bilevel_verify.time_limit import goes_on

LARGEST = 100_000
"""Most runs of one batch."""
LEAST_ROWS = 64
BATCH_BYTES = 8 * TRACE_BYTES
"""Most memory for the blocks of the trace of all runs together."""
SHARES = 4
"""Calls per processor and round, so that no processor waits long for the slowest runs."""


def run_batch(
    problem: Problem,
    method: str | Method,
    parameters: Mapping[str, Any] | Sequence[Mapping[str, Any]],
    x0: object = None,
    y0: object = None,
    v0: object = None,
    *,
    seeds: int | Sequence[int] | None = None,
    noise: object = None,
    budget: object = 10**6,
    record: str = "all",
    compiled: bool | None = None,
    eps: object = None,
    threads: int | None = None,
) -> tuple[Run, ...]:
    """Run a method many times on one problem.

    Parameters
    ----------
    parameters : letters of all runs, or one mapping per run.
    x0 : starts, one row per run, or one start for all (as :func:`run_method` takes it).
    y0, v0 : the same for the lower level.
    seeds : one seed per run; a number n means 0, 1, ..., n - 1.
    noise, budget, record, compiled, eps : as in :func:`run_method`, each run for itself.
    threads : compiled calls at a time; by default one per processor.

    Returns
    -------
    One run per start (or seed, or mapping of parameters), in their order, each identical to what :func:`run_method`
    gives for it. Methods without a compiled form run one after the other.

    Raises
    ------
    ParameterError : lengths that do not fit together, or whatever is wrong with a single run.
    """
    if threads is not None and (isinstance(threads, bool) or not isinstance(threads, int) or threads < 1):
        raise ParameterError(f"threads must be a positive integer, not {threads!r}")
    columns: list[_Column] = [
        _column("x0", x0, problem.dx),
        _column("y0", y0, problem.dy),
        _column("v0", v0, problem.dy),
        (False, parameters) if isinstance(parameters, Mapping) else (True, list(parameters)),
        _seeds(seeds),
    ]
    members = []
    form = True if compiled is None and not sums_over_data(problem) else compiled
    for i in range(_common_length([entries for several, entries in columns if several])):
        x, y, v, letters, seed = (entries[i] if several else entries for several, entries in columns)
        options = (noise, budget, seed, record, form, eps)
        members.append(stream(problem, method, letters, x, y, v, *options))
    if all(isinstance(one.stepper, KernelStepper) and one.stepper.compiled for one in members):
        _Batch(members, threads or _processors()).run()
    else:
        for one in members:
            for _ in one:
                pass
    return tuple(one.run for one in members)


_Column = tuple[bool, Any]
"""Whether there is one entry per run, and the entries (or the one entry of all runs)."""


def _column(name: str, value: object, n: int) -> _Column:
    """Starts, one per run, or one start (or None) for all runs."""
    if value is None:
        return False, None
    try:
        table = np.asarray(value, dtype=object)
    except ValueError:
        raise ParameterError(f"{name} must be starts of {n} numbers each") from None
    if table.ndim > 2:
        raise ParameterError(f"{name} must be one start or a table of starts, not an array of shape {table.shape}")
    several = table.ndim == 2 or (table.ndim == 1 and n == 1 and len(table) != 1)  # one number per run
    several = several or any(np.ndim(entry) for entry in table.ravel())
    return several, list(table) if several else value


def _seeds(value: Any) -> _Column:
    if value is None:
        return False, 0
    counted = isinstance(value, int | np.integer) and not isinstance(value, bool)
    if not counted and (isinstance(value, str | bool) or not np.iterable(value)):
        raise ParameterError(f"seeds must be a number of runs or one seed per run, not {value!r}")
    return True, list(range(int(value))) if counted else [int(s) if isinstance(s, np.integer) else s for s in value]


def _common_length(lists: Sequence[Sequence[Any]]) -> int:
    sizes = sorted({len(entries) for entries in lists})
    if len(sizes) > 1:
        raise ParameterError(f"starts, seeds and parameters of a batch must be equally many, not {sizes}")
    size = sizes[0] if sizes else 1
    if not 1 <= size <= LARGEST:
        raise ParameterError(f"a batch has 1 to {LARGEST} runs, not {size}")
    return size


def _processors() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


class _Batch:
    """Runs whose memories are slices of common arrays."""

    def __init__(self, members: list[RunStream], threads: int) -> None:
        self.members, self.threads = members, threads
        self.steppers: list[Any] = [one.stepper for one in members]
        needs = {name for one in members for name in needed_oracles(one.setup.method, one.setup.letters)}
        self.oracles = oracles_of(members[0].setup.problem).function_set(sorted(needs), "compiled")
        self.unfinished = list(range(len(members)))
        self.codes = np.zeros(len(members), dtype=np.int64)
        self.counts = np.zeros((len(members), len(self.steppers[0].counts)), dtype=np.int64)
        for i, stepper in enumerate(self.steppers):
            self.counts[i] = stepper.counts
            stepper.counts = self.counts[i]
        self.rows = self._room(FIRST_ROWS)
        self._lay_out(self.rows)

    def run(self) -> None:
        """All runs to their ends; an interrupt ends those that still run."""
        with ThreadPoolExecutor(self.threads) as pool:
            try:
                while self.unfinished:
                    begin = time.perf_counter()
                    self._round(pool, self.unfinished)
                    self._deliver(time.perf_counter() - begin)
            except KeyboardInterrupt as stop:
                if not goes_on(stop, "run"):
                    raise
                for i in self.unfinished:
                    self.members[i].interrupt()

    def _round(self, pool: ThreadPoolExecutor, chosen: list[int]) -> None:
        """Every chosen run goes on until its block is full or it ends."""
        while chosen:
            shares = np.array_split(np.array(chosen, dtype=np.int64), min(len(chosen), SHARES * self.threads))
            for done in [pool.submit(self._call, share) for share in shares]:
                done.result()
            chosen = [i for i in chosen if self.steppers[i].supply(int(self.codes[i]))]
            if any(self.codes[i] == state.HISTORY_FULL for i in chosen):
                self._lay_out(self.rows)

    def _call(self, share: object) -> None:
        first = next((one for one in self.steppers if one.setup.tested), self.steppers[0])  # asks all that any asks
        loop, scheme = loop_of_members(first.scheme.function, first.scheme.record)
        gradient, value, exact = first.answers
        asked = Ask(self.oracles, gradient, value, exact, self.counts[0])
        loop(scheme, asked, share, self.codes, self.counts, self.stacks)

    def _deliver(self, seconds: float) -> None:
        """The blocks to their runs, and empty ones for those that go on."""
        left = []
        for i in self.unfinished:
            block, outcome = self.steppers[i].deliver(int(self.codes[i]))
            self.members[i].take(block, outcome)
            if outcome is None:
                left.append(i)
        self.unfinished = left
        wanted = self._room(int(self.rows * min(8.0, PATIENCE / max(seconds, 1e-9))))
        if wanted > 2 * self.rows and left:
            self.rows = wanted
            self._lay_out(wanted)
        for i in left:
            memory = self.steppers[i].memory
            memory.points[:] = memory.lowers[:] = np.nan
            memory.at.rows = 0

    def _room(self, rows: int) -> int:
        problem = self.members[0].setup.problem
        one_row = 8 * row_entries(problem.dx, problem.dy) * max(len(self.unfinished), 1)
        return max(LEAST_ROWS, min(rows, BATCH_BYTES // one_row))

    def _lay_out(self, rows: int) -> None:
        """New common arrays with room for ``rows`` rows of every trace; the runs get their slices."""
        memories = [stepper.memory for stepper in self.steppers]
        below = {name: _stacked([getattr(memory.lower, name) for memory in memories]) for name in Lower._fields}
        above = {
            name: _stacked([getattr(memory, name) for memory in memories], rows if name in TRACE else 0)
            for name in Memory._fields
            if name not in ("at", "lower")
        }
        at = below["at"]
        at["capacity"] = above["stamps"].shape[1]
        self.arrays = (below, above)  # what the addresses below point to
        parts: dict[str, Any] = {name: part if name == "at" else _stack(part) for name, part in below.items()}
        lower = Lower(**parts)
        stacks = {name: part if name == "letters" else _stack(part) for name, part in above.items()}
        self.stacks = Memory(at=at, lower=lower, **stacks)
        for i, stepper in enumerate(self.steppers):
            lower = Lower(**{name: part[i] for name, part in below.items()})
            stepper.memory = Memory(at=at[i], lower=lower, **{name: part[i] for name, part in above.items()})


def _stack(array: Any) -> Stack:
    return Stack(array.__array_interface__["data"][0], array.strides[0], array.shape[-1])


def _stacked(parts: list[Any], rows: int = 0) -> Any:
    """Arrays (or records) one behind the other, each with room for the largest and for so many rows."""
    shape = tuple(int(n) for n in np.max([part.shape for part in parts], axis=0, initial=0))
    if rows:
        shape = (max(rows, shape[0]), *shape[1:])
    stack = np.zeros((len(parts), *shape), dtype=parts[0].dtype)
    if rows and stack.dtype == np.float64:
        stack[:] = np.nan
    for place, part in enumerate(parts):
        corner: Any = (place, *(slice(n) for n in part.shape))
        stack[corner] = part
    return stack

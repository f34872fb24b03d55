"""A run as an iterator over blocks of its trace, and what is made of them at the end."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import lru_cache
from types import MappingProxyType

import numpy as np

from bilevel_verify.methods import memory as storage
from bilevel_verify.methods.engine import FIRST_ROWS, Outcome, Setup, Stepper
from bilevel_verify.methods.recorder import Block, TraceRecorder
from bilevel_verify.methods.run import Run, Trace
from bilevel_verify.oracles import named_counts
from bilevel_verify.time_limit import goes_on

PATIENCE = 0.15
"""Seconds that one block should take: how long an interrupt may have to wait."""


class RunStream:
    """A run as an iterator over blocks of its trace; afterwards ``run`` is the result.

    Blocks are complete: a checker that reads them sees every row, whatever is thinned later. A KeyboardInterrupt while
    a block is computed ends the run with the status ``interrupted``; what was done is kept.
    """

    def __init__(self, setup: Setup, make: Callable[[Setup], Stepper]) -> None:
        self.setup = setup
        self.stepper = make(setup)
        self.recorder = TraceRecorder(setup.record, setup.arithmetic.dtype)
        self._run: Run | None = None
        self._started = time.perf_counter()

    @property
    def run(self) -> Run:
        """The result; only after the last block."""
        if self._run is None:
            raise RuntimeError("the run is not finished: read all its blocks first")
        return self._run

    def __iter__(self) -> Iterator[Trace]:
        for block in self._blocks():
            yield block.trace()

    def to_the_end(self) -> Run:
        """The result, for callers that look at no block on the way."""
        for _ in self._blocks():
            pass
        return self.run

    def _blocks(self) -> Iterator[Block]:
        most = storage.block_rows(self.setup.problem.dx, self.setup.problem.dy)
        rows = min(FIRST_ROWS, most)
        outcome: Outcome | None = None
        while outcome is None:
            begin = time.perf_counter()
            try:
                block, outcome = self.stepper.advance(rows)
            except KeyboardInterrupt as stop:
                if not goes_on(stop, "run"):
                    raise
                break
            took = time.perf_counter() - begin
            rows = min(most, max(FIRST_ROWS, int(rows * min(8.0, PATIENCE / max(took, 1e-9)))))
            self.take(block, outcome)
            yield block
        if self._run is None:
            self.interrupt()

    def take(self, block: Block, outcome: Outcome | None) -> None:
        """Keep a block; after the last one there is a result."""
        self.recorder.add(block)
        if outcome is not None:
            self._run = self._finish(outcome)

    def interrupt(self) -> None:
        """End the run where it is; what was done is kept."""
        self._run = self._finish(self.stepper.stop("interrupted"))

    def _finish(self, outcome: Outcome) -> Run:
        setup = self.setup
        exact = setup.arithmetic.form == "multiprecision"
        as_array = (lambda v: np.array(v, dtype=object)) if exact else (lambda v: np.array(v, dtype=np.float64))
        epochs = outcome.epochs if setup.method.restarts else 1
        last = outcome.status == "budget" and outcome.restarted_last
        trace = self.recorder.trace()
        return Run(
            method=setup.reported_name or setup.method.name,
            problem=setup.problem.name or setup.problem.kind,
            x=as_array(outcome.x),
            status=outcome.status,
            counts=MappingProxyType(named_counts(self.stepper.counts, minimax=setup.problem.kind == "minimax")),
            iterations=outcome.iterations,
            epochs=epochs,
            trace=trace,
            parameters=MappingProxyType(dict(setup.letters)),
            outputs=MappingProxyType({name: as_array(value) for name, value in outcome.outputs.items()}),
            restarted=(True,) * (epochs - 1) + (last,),
            curvature_steps=outcome.curvature_steps,
            seed=setup.seed if setup.method.noisy and setup.noise is None else None,
            eps=setup.eps,
            compiled=self.stepper.compiled,
            seconds=time.perf_counter() - self._started,
            note=_note(outcome, trace),
            versions=MappingProxyType(_versions()),
        )


def _note(outcome: Outcome, trace: Trace) -> str:
    """What the outcome says, and from where on rows are missing in the trace."""
    thinned = "" if trace.thinned_from is None else f"the trace is thinned from row {trace.thinned_from} on"
    return "; ".join(part for part in (outcome.note, thinned) if part)


@lru_cache(maxsize=1)
def _versions() -> dict[str, str]:
    import platform
    from importlib import metadata

    from bilevel_verify.version import VERSION

    found = {"bilevel_verify": VERSION, "python": platform.python_version(), "numpy": np.__version__}
    with suppress(metadata.PackageNotFoundError):
        found["numba"] = metadata.version("numba")
    return found

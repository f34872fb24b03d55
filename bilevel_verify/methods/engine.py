"""Runs: block after block of a solver loop, until its own exit, the budget, or trouble."""

from __future__ import annotations

import time
from collections import OrderedDict
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from dataclasses import dataclass, field
from functools import lru_cache
from types import MappingProxyType
from typing import Any, Protocol

import numpy as np

from bilevel_verify.methods import memory as storage
from bilevel_verify.methods.forms import loops
from bilevel_verify.methods.kernels import state
from bilevel_verify.methods.kernels.state import Ask, Inner, Points
from bilevel_verify.methods.kernels.steps import open_row
from bilevel_verify.methods.memory import Arithmetic, LoopArithmetic, new_memory
from bilevel_verify.methods.perturbations import Perturbations
from bilevel_verify.methods.recorder import Block, TraceRecorder
from bilevel_verify.methods.registry import ESTIMATORS, SCHEMES, Method, field_names
from bilevel_verify.methods.run import ENDED, Run, Status, Trace
from bilevel_verify.numbers.binary import SPARE_BITS, binary, entries_to_mpmath, to_mpmath
from bilevel_verify.numbers.rounding import precision
from bilevel_verify.oracles import Oracles, named_counts, new_counts, oracles
from bilevel_verify.oracles.convention import BUDGET, NO_BUDGET
from bilevel_verify.problems.problem import Problem

PATIENCE = 0.15
"""Seconds that one block should take: how long an interrupt may have to wait."""
FIRST_ROWS = 256
FIRST_NOISE = 4
"""Perturbations that are drawn at first: most runs need few."""

REASONS: Mapping[int, Status] = MappingProxyType(
    {
        state.FINISHED: "finished",
        state.STATIONARY: "stationary",
        state.OUT_OF_BUDGET: "budget",
        state.NOT_FINITE: "not finite",
        state.DIVERGED: "diverged",
    }
)


@dataclass(frozen=True, slots=True)
class Setup:
    """Everything a run needs, checked.

    Attributes
    ----------
    letters : every letter of the method, resolved in the arithmetic of the run.
    starts : ``x0 y0 v0`` as lists of numbers, ``v_given``.
    budget : most oracle calls, most iterations.
    insisted : whether machine code was asked for, and not left to us.
    """

    problem: Problem
    method: Method
    letters: Mapping[str, Any]
    starts: Mapping[str, Any]
    noise: list[list[Any]] | None
    budget: tuple[int, int]
    seed: int
    record: str
    arithmetic: Arithmetic
    eps: float | None = None
    reported_name: str = ""
    insisted: bool = False

    @property
    def tested(self) -> bool:
        """Whether the run stops at a tolerance that exact gradients are compared with."""
        return "eps" in self.letters


@dataclass(slots=True)
class Outcome:
    """What a stepper knows at its end."""

    status: Status
    x: Any
    epochs: int
    iterations: int
    restarted_last: bool = False
    note: str = ""
    outputs: dict[str, Any] = field(default_factory=dict)
    exploited: int = 0


class Stepper(Protocol):
    """A method in the middle of a run. Methods that are no cell of the table bring their own."""

    @property
    def counts(self) -> Any:
        """Counter array (see :mod:`bilevel_verify.oracles.convention`)."""

    @property
    def compiled(self) -> bool:
        """Whether its loop is machine code."""

    def advance(self, rows: int) -> tuple[Block, Outcome | None]:
        """Go on for at most about ``rows`` rows of the trace; the outcome if this was the end."""

    def stop(self, status: Status) -> Outcome:
        """The outcome of a run that is cut short from outside."""


class KernelStepper:
    """A cell of the table: one solver loop fed by one estimator, in any of the three forms."""

    def __init__(self, setup: Setup) -> None:
        method, arithmetic = setup.method, setup.arithmetic
        self.setup = setup
        self.scheme, self.estimator = SCHEMES[method.scheme or ""], ESTIMATORS[method.estimator or ""]
        letters, starts, noise, self.exact = setup.letters, setup.starts, setup.noise, arithmetic.digits is not None
        form = "binary" if self.exact else arithmetic.form
        self.function, self.answers = loops(self.scheme, self.estimator, form, setup.tested)
        self.compiled, self.raised = form == "compiled", False
        needs = needed_oracles(method, setup.letters)
        self.oracles = oracles_of(setup.problem).function_set(sorted(needs), form)
        self.counts = new_counts(setup.budget[0])
        if form != "compiled":
            self.counts = self.counts.tolist()
        if self.exact:
            arithmetic = LoopArithmetic("multiprecision", arithmetic.digits)
            letters = {name: binary(value) for name, value in letters.items()}
            starts = {name: [binary(value) for value in start] for name, start in starts.items()}
            noise = None if noise is None else [[binary(value) for value in row] for row in noise]
        self.arithmetic = arithmetic
        with self._precision():
            self.memory = new_memory(
                arithmetic,
                method,
                self.scheme,
                self.estimator,
                letters,
                starts,
                min(FIRST_ROWS, storage.block_rows(setup.problem.dx, setup.problem.dy)),
                bool(needs & {"hess_f", "hess_g"}),
            )
        self.memory.at.most_iterations = setup.budget[1]
        self.perturbations = Perturbations(setup.problem.dx, letters.get("r"), setup.seed, noise, arithmetic)
        self.rows, self.ahead = FIRST_ROWS, FIRST_NOISE

    @contextmanager
    def _precision(self) -> Iterator[None]:
        """The working precision of the loop, of what mpmath does in it too."""
        with working_precision(self.setup.arithmetic):
            if not self.exact:
                yield
                return
            import mpmath

            bits = mpmath.mp.prec + SPARE_BITS
            with mpmath.workprec(bits), precision(bits):
                yield

    def advance(self, rows: int) -> tuple[Block, Outcome | None]:
        """See :class:`Stepper`."""
        self._new_block(rows)
        with self._precision():
            code = self._call()
            while self.supply(code):
                code = self._call()
        return self.deliver(code)

    def supply(self, code: int) -> bool:
        """Give the loop what it came back for (perturbations, room for a history); False if it was something else."""
        if code == state.NOISE_USED_UP:
            self._more_noise()
        elif code == state.HISTORY_FULL:
            self._longer_history()
        return code in (state.NOISE_USED_UP, state.HISTORY_FULL)

    def deliver(self, code: int) -> tuple[Block, Outcome | None]:
        """The block that is recorded, and the outcome if the loop is through."""
        if code in (state.OUT_OF_BUDGET, state.DIVERGED, state.NOT_FINITE) and not self.raised:
            self._record_last_iterate()
        block = self._block()
        return block, None if code == state.MORE else self._outcome(REASONS[code], block)

    def stop(self, status: Status) -> Outcome:
        """See :class:`Stepper`."""
        return self._outcome(status, self._block())

    def _call(self) -> int:
        try:
            memory = storage.hand_over(self.memory) if self.compiled else self.memory
            return int(self.function(Ask(self.oracles, *self.answers, self.counts), memory))
        except (OverflowError, ZeroDivisionError):
            self.raised = True
            return state.NOT_FINITE

    def _new_block(self, rows: int) -> None:
        problem = self.setup.problem
        self.memory = self.memory._replace(**self.arithmetic.trace(rows, problem.dx, problem.dy))
        self.memory.at.rows, self.memory.at.capacity = 0, rows

    def vector(self, name: str) -> Any:
        """A vector of the scheme's state."""
        return self.memory.vectors[field_names(self.scheme.state).index(name)]

    def _record_last_iterate(self) -> None:
        """A run may end between two iterations: the iterate that is there gets its row."""
        memory, at = self.memory, self.memory.at
        place = int(at.rows)
        if place == 0 or tuple(memory.stamps[place - 1]) != (at.t, at.k):
            open_row(memory, self.vector("x"))
            for column, name in self.scheme.known.items():
                memory.points[place, Points._fields.index(column)] = self.vector(name)

    def _more_noise(self) -> None:
        chunk = self.perturbations.next_chunk(self.ahead)
        self.ahead = min(4 * self.ahead, storage.NOISE_ROWS)
        for place, row in enumerate(chunk):
            self.memory.supply[place][:] = row
        self.memory.at.used = 0
        self.memory.at.supply = len(chunk)

    def _longer_history(self) -> None:
        supply = self.memory.supply
        longer = self.arithmetic.rows(2 * len(supply), self.setup.problem.dx)
        for place, row in enumerate(supply):
            longer[place][:] = row
        self.memory = self.memory._replace(supply=longer)
        self.memory.at.supply = len(longer)

    def _block(self) -> Block:
        memory, rows = self.memory, slice(int(self.memory.at.rows))
        values = {name: storage.column(memory, place) for name, place in self.setup.method.sequences.items()}
        if self.exact:
            values = {name: entries_to_mpmath(value) for name, value in values.items()}
        return Block(memory.stamps[rows, 0].copy(), memory.stamps[rows, 1].copy(), values)

    def _outcome(self, status: Status, block: Block) -> Outcome:
        at = self.memory.at
        x = self._outside(self.vector("output")) if status in ENDED else _last_finite(block, self.setup.starts["x0"])
        t, k = int(at.t), int(at.k)
        outputs: dict[str, Any] = {}
        if "y" in self.setup.method.sequences and self.setup.problem.dy:
            outputs["y"] = self._outside(self.memory.lower.inner[Inner._fields.index("y")])
        note = "" if status in ENDED else f"stopped at t = {t}, k = {k}: {status}"
        return Outcome(status, list(x), t + 1, int(at.iterations), False, note, outputs, int(at.exploited))

    def _outside(self, vector: Any) -> list[Any]:
        """A vector of the loop as whoever asked for the run has it."""
        return [to_mpmath(entry) for entry in vector] if self.exact else list(vector)


_KEPT: OrderedDict[int, tuple[Problem, Oracles]] = OrderedDict()
_MOST_KEPT = 32


def oracles_of(problem: Problem) -> Oracles:
    """The oracles of a problem, derived once for many runs (the last few problems are kept).

    A stand-in for a problem may bring its own (``ready_oracles``): the testing kit runs methods on closures.
    """
    ready: Oracles | None = getattr(problem, "ready_oracles", None)
    if ready is not None:
        return ready
    if id(problem) in _KEPT:
        _KEPT.move_to_end(id(problem))
    else:
        _KEPT[id(problem)] = (problem, oracles(problem))
        if len(_KEPT) > _MOST_KEPT:
            _KEPT.popitem(last=False)
    return _KEPT[id(problem)][1]


def uncounted(problem: Problem, compiled: bool | None = None) -> Oracles:
    """Oracles for looking at a problem beside a run: nobody counts what they are asked."""
    ready = getattr(problem, "ready_oracles", None)
    return oracles(problem, compiled) if ready is None else ready.unwatched()


def needed_oracles(method: Method, letters: Mapping[str, Any]) -> frozenset[str]:
    """The oracles that this run asks for; nothing else is derived or compiled."""
    if method.runner is not None:
        return method.oracles
    estimator, scheme = ESTIMATORS[method.estimator or ""], SCHEMES[method.scheme or ""]
    needs = estimator.picks(letters) if estimator.picks is not None else estimator.needs
    if scheme.values:
        needs |= estimator.value_needs
    if scheme.stopping and "eps" in letters:
        needs |= estimator.stopping_needs
    return needs


def working_precision(arithmetic: Arithmetic) -> AbstractContextManager[Any]:
    """The working precision of multi-precision runs, set while the loop runs."""
    if arithmetic.digits is None:
        return nullcontext()
    import mpmath

    return mpmath.workdps(arithmetic.digits)  # type: ignore[no-any-return]


def _last_finite(block: Block, start: Any) -> Any:
    """The last iterate of a block whose entries are all finite."""
    with np.errstate(invalid="ignore"):
        for row in range(len(block.k) - 1, -1, -1):
            x = block.values["x"][row]
            if block.k[row] >= 0 and all(bool(value - value == 0) for value in x):
                return x
    return start


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
            except KeyboardInterrupt:
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
            curvature_steps=outcome.exploited,
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


__all__ = ["BUDGET", "NO_BUDGET", "KernelStepper", "Outcome", "RunStream", "Setup", "Stepper", "working_precision"]

"""Runs: block after block of a solver loop, until its own exit, the budget, or trouble."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from bilevel_verify.methods import memory as storage
from bilevel_verify.methods.forms import loops
from bilevel_verify.methods.kernels import state
from bilevel_verify.methods.kernels.state import Ask, Inner, Memory, Points, Progress
from bilevel_verify.methods.kernels.steps import open_row
from bilevel_verify.methods.memory import Arithmetic, LoopArithmetic, new_memory
from bilevel_verify.methods.perturbations import Perturbations
from bilevel_verify.methods.recorder import Block, frozen
from bilevel_verify.methods.records import seen
from bilevel_verify.methods.registry import ESTIMATORS, SCHEMES, Method, field_names
from bilevel_verify.methods.run import ENDED, Status
from bilevel_verify.numbers.binary import SPARE_BITS, binary, entries_to_mpmath, to_mpmath
from bilevel_verify.numbers.rounding import precision
from bilevel_verify.oracles import Oracles, new_counts, oracles
from bilevel_verify.oracles.convention import BUDGET, NO_BUDGET
from bilevel_verify.problems.problem import Problem

if TYPE_CHECKING:
    from numpy.typing import NDArray

FIRST_ROWS = 256
FEW_ROWS = 32
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
    curvature_steps: int = 0


class Stepper(Protocol):
    """A method in the middle of a run. Methods that are no cell of the table bring their own."""

    @property
    def counts(self) -> NDArray[np.int64]:
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
        self.ahead, self.begun = FIRST_NOISE, False
        self.columns = [(name, *storage.column(place)) for name, place in method.sequences.items()]
        self.handed: tuple[Memory, Memory] | None = None

    def _precision(self) -> AbstractContextManager[None]:
        """The working precision of the loop, of what mpmath does in it too."""
        return _many_digits(self.setup.arithmetic) if self.exact else nullcontext()

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
        at = seen(Progress, self.memory.at)
        if code in (state.OUT_OF_BUDGET, state.DIVERGED, state.NOT_FINITE) and not self.raised:
            self._record_last_iterate(at)
        block = self._block(at)
        return block, None if code == state.MORE else self._outcome(REASONS[code], block, at)

    def stop(self, status: Status) -> Outcome:
        """See :class:`Stepper`."""
        at = seen(Progress, self.memory.at)
        return self._outcome(status, self._block(at), at)

    def _call(self) -> int:
        try:
            return int(self.function(Ask(self.oracles, *self.answers, self.counts), self._handed()))
        except (OverflowError, ZeroDivisionError):
            self.raised = True
            return state.NOT_FINITE

    def _handed(self) -> Memory:
        """The memory as the loop takes it."""
        if not self.compiled:
            return self.memory
        if self.handed is None or self.handed[0] is not self.memory:
            self.handed = (self.memory, storage.hand_over(self.memory))
        return self.handed[1]

    def again(self, memory: Memory, counts: NDArray[np.int64]) -> None:
        """Begin anew on memory that was put back to its beginning."""
        self.memory, self.counts, self.begun = memory, counts, False
        self.raised, self.ahead = False, FIRST_NOISE
        self.perturbations.again()

    def _new_block(self, rows: int) -> None:
        there, self.begun = not self.begun and rows == len(self.memory.stamps), True
        if there:
            return
        problem = self.setup.problem
        self.memory = self.memory._replace(**self.arithmetic.trace(rows, problem.dx, problem.dy))
        self.memory.at.rows, self.memory.at.capacity = 0, rows

    def vector(self, name: str) -> Any:
        """A vector of the scheme's state."""
        return self.memory.vectors[field_names(self.scheme.state).index(name)]

    def _record_last_iterate(self, at: Progress) -> None:
        """A run may end between two iterations: the iterate that is there gets its row, and ``at`` counts it."""
        memory, place = self.memory, int(at.rows)
        if place == 0 or memory.stamps[place - 1][0] != at.t or memory.stamps[place - 1][1] != at.k:
            open_row(memory._replace(at=at), self.vector("x"))
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

    def _block(self, at: Progress) -> Block:
        memory, rows = self.memory, slice(int(at.rows))
        points, lowers = memory.points[rows], memory.lowers[rows]
        few = self.compiled and at.rows <= FEW_ROWS  # one copy of all columns is cheaper than one of each
        if few:
            points, lowers = frozen(points.copy()), frozen(lowers.copy())
        values = {name: (points if above else lowers)[:, place] for name, above, place in self.columns}
        if self.exact:
            values = {name: entries_to_mpmath(value) for name, value in values.items()}
        epoch, k = memory.stamps[rows].T.copy()
        return Block(epoch, k, values, few)

    def _outcome(self, status: Status, block: Block, at: Progress) -> Outcome:
        x = self._outside(self.vector("output")) if status in ENDED else _last_finite(block, self.setup.starts["x0"])
        t, k = int(at.t), int(at.k)
        outputs: dict[str, Any] = {}
        if "y" in self.setup.method.sequences and self.setup.problem.dy:
            outputs["y"] = self._outside(self.memory.lower.inner[Inner._fields.index("y")])
        note = "" if status in ENDED else f"stopped at t = {t}, k = {k}: {status}"
        return Outcome(status, _listed(x), t + 1, int(at.iterations), False, note, outputs, int(at.curvature_steps))

    def _outside(self, vector: Any) -> list[Any]:
        """A vector of the loop as whoever asked for the run has it."""
        if self.exact:
            return [to_mpmath(entry) for entry in vector]
        return _listed(vector)


def _listed(vector: Any) -> list[Any]:
    return vector.tolist() if isinstance(vector, np.ndarray) else list(vector)


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


def needed_oracles(method: Method, letters: Mapping[str, object]) -> frozenset[str]:
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


@contextmanager
def _many_digits(arithmetic: Arithmetic) -> Iterator[None]:
    with working_precision(arithmetic):
        import mpmath

        bits = mpmath.mp.prec + SPARE_BITS
        with mpmath.workprec(bits), precision(bits):
            yield


def working_precision(arithmetic: Arithmetic) -> AbstractContextManager[Any]:
    """The working precision of multi-precision runs, set while the loop runs."""
    if arithmetic.digits is None:
        return nullcontext()
    import mpmath

    return mpmath.workdps(arithmetic.digits)  # type: ignore[no-any-return]


def _last_finite(block: Block, start: object) -> Any:
    """The last iterate of a block whose entries are all finite."""
    for row in range(len(block.k) - 1, -1, -1):
        x = block.values["x"][row]
        if block.k[row] >= 0 and all(value - value == 0 for value in x.tolist()):
            return x
    return start


__all__ = ["BUDGET", "NO_BUDGET", "KernelStepper", "Outcome", "Setup", "Stepper", "working_precision"]

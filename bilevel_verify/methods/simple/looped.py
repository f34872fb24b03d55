"""Runs of simple bilevel methods through their loops, in the three forms: plain Python, machine code, many digits."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bilevel_verify.errors import ParameterError
from bilevel_verify.methods.engine import Outcome, Setup, oracles_of, working_precision
from bilevel_verify.methods.forms import compiled_loop
from bilevel_verify.methods.recorder import Block
from bilevel_verify.methods.run import Status
from bilevel_verify.methods.simple import loops, passes, sets
from bilevel_verify.methods.simple.convexity import require_convex
from bilevel_verify.oracles import new_counts
from bilevel_verify.oracles.convention import Counts
from bilevel_verify.problems.feasible import (
    Ball,
    Box,
    FeasibleSet,
    HalfSpace,
    Isotonic,
    L1Ball,
    Orthant,
    Simplex,
    WholeSpace,
)
from bilevel_verify.truth.sets.projections import bounds, project, violation

FloatArray = NDArray[np.float64]
Known = tuple[int, float, FloatArray, FloatArray]
ENDS: dict[int, Status] = {
    loops.FINISHED: "finished",
    loops.OUT_OF_BUDGET: "budget",
    loops.NOT_FINITE: "not finite",
    loops.DIVERGED: "diverged",
    loops.BLUR: "precision",
    loops.MISSED: "precision",
}


@dataclass(frozen=True, slots=True)
class Looped:
    """What makes a method out of a loop.

    Attributes
    ----------
    function : the loop, on (oracles, counts, memory).
    needs : the oracles that it asks.
    sequences : columns of its trace beside x.
    reals : its letters, resolved, in the order in which the loop has them behind its reals.
    inside : whether x0 must lie in Z.
    average : whether an average is returned beside the last iterate.
    """

    function: Callable[..., int]
    needs: tuple[str, ...]
    sequences: tuple[str, ...]
    reals: Callable[[Mapping[str, Any]], tuple[Any, ...]]
    inside: bool = True
    average: bool = False


def require_inside(feasible: FeasibleSet, start: FloatArray) -> None:
    """Refuse a start outside Z.

    Raises
    ------
    ParameterError : x0 is not in Z.
    """
    missed = violation(feasible, start)
    if not missed <= 1e-12 * (1.0 + float(np.max(np.abs(start), initial=0.0))):
        raise ParameterError(f"x0 must lie in the feasible set ({feasible.describe()}); it misses it by {missed:.3g}")


def data_of(feasible: FeasibleSet, n: int) -> Known | None:
    """Code, size and two vectors of a feasible set as the loops take them; None for intersections."""
    zero = np.zeros(n)
    match feasible:
        case WholeSpace():
            return sets.WHOLE, 0.0, zero, zero
        case Box() | Orthant():
            low, high = bounds(feasible, n)
            return sets.BOX, 0.0, low, high
        case Ball():
            center = zero if feasible.center is None else np.asarray(feasible.center, dtype=float)
            return sets.BALL, float(feasible.radius), center, zero
        case Simplex():
            return sets.SIMPLEX, float(feasible.total), zero, zero
        case L1Ball():
            return sets.L1_BALL, float(feasible.radius), zero, zero
        case HalfSpace():
            return sets.HALF_SPACE, float(feasible.offset), np.asarray(feasible.normal, dtype=float), zero
        case Isotonic():
            return sets.ISOTONIC, 0.0, zero, zero
    return None


class LoopStepper:
    """A loop in blocks of the trace (see ``methods.engine.Stepper``); sets without a loop run in plain Python alone."""

    def __init__(self, setup: Setup, looped: Looped) -> None:
        self.setup, self.looped, self.n = setup, looped, setup.problem.dx
        feasible = setup.problem.feasible
        assert feasible is not None
        if looped.inside:
            require_inside(feasible, np.array(setup.starts["x0"], dtype=float))
        require_convex(setup.problem)
        known, owner, form = data_of(feasible, self.n), oracles_of(setup.problem), setup.arithmetic.form
        if known is None and form == "multiprecision":
            raise ParameterError(f"{setup.method.name} has no multi-precision form on an intersection of sets")
        if form == "compiled" and (known is None or not owner.can_compile(looped.needs)):
            form = "plain"
        self.compiled, self.raised = form == "compiled", False
        self.oracles = owner.function_set(looped.needs, form)
        counts = new_counts(setup.budget[0])
        self.counts: Counts = counts if self.compiled else counts.tolist()
        with self._precision():
            self.memory = self._memory(known)
        self.function = compiled_loop(looped.function, self.memory) if self.compiled else looped.function
        self._first, self._pages = 0, self.memory.trace

    def _precision(self) -> AbstractContextManager[Any]:
        return working_precision(self.setup.arithmetic)

    def _memory(self, known: Known | None) -> loops.SimpleMemory:
        letters, number = self.setup.letters, self.setup.arithmetic.number
        code, size, first, second = known or (sets.OTHER, 0.0, np.zeros(self.n), np.zeros(self.n))
        rows: list[list[Any]] = [[number(0)] * self.n for _ in range(sets.POINTS)]
        for row in (sets.X, sets.Y, sets.Z, sets.U, sets.W):
            rows[row] = list(self.setup.starts["x0"])
        rows[sets.FIRST] = [number(v) for v in first.tolist()]
        rows[sets.SECOND] = [number(v) for v in second.tolist()]
        digits = self.setup.arithmetic.digits
        rows[sets.UNIT][0] = self.setup.arithmetic.precision if digits is not None else loops.EPS
        whole = [0] * loops.WHOLES
        whole[loops.PASSES], whole[loops.MOST] = int(letters["K"]), self.setup.budget[1]
        whole[loops.SET] = code
        real: list[Any] = [number(0)] * loops.REALS
        real[loops.SIZE] = number(size) if known else self._projection
        real[loops.MOMENTUM] = number(1)
        real += self.looped.reals(letters)
        levels, weights = self.own(whole, real)
        if not self.compiled:
            return loops.SimpleMemory(whole, real, rows, levels, weights, self._trace(1))
        numbers, table, given, chosen = (np.array(v, dtype=float) for v in (real, rows, levels, weights))
        return loops.SimpleMemory(np.array(whole, dtype=np.int64), numbers, table, given, chosen, self._trace(1))

    def own(self, whole: list[int], real: list[Any]) -> tuple[list[Any], list[Any]]:
        """What else a method fills in; its two sequences of numbers."""
        return [], []

    def _projection(self, v: list[float]) -> list[float]:
        assert self.setup.problem.feasible is not None
        found: list[float] = project(self.setup.problem.feasible, v).tolist()
        return found

    def _trace(self, rows: int) -> Any:
        width = sum(1 if name == "g_k" else self.n for name in ("x", *self.looped.sequences))
        return np.empty((rows, width), dtype=self.setup.arithmetic.dtype)

    def advance(self, rows: int) -> tuple[Block, Outcome | None]:
        """See ``Stepper``; of machine code, a block is valid until the next one."""
        if not self.compiled or len(self._pages) <= rows:  # memory that is new costs as much as a step
            self._pages = self._trace(rows + 1)
        self.memory = self.memory._replace(trace=self._pages[: rows + 1])  # the end of a run adds its last row
        self.memory.whole[loops.ROWS] = 0
        try:
            with self._precision():
                end = int(self.function(self.oracles, self.counts, self.memory))
        except (OverflowError, ZeroDivisionError):
            self.raised, end = True, loops.NOT_FINITE
        whole = self.memory.whole
        if end != loops.MORE and self._first + int(whole[loops.ROWS]) <= int(whole[loops.STEP]):
            self.last_row()  # unless the budget ended in the pass that begins there
        block = self._block()
        return block, None if end == loops.MORE else self.outcome(end)

    def last_row(self) -> None:
        """The row after the last pass: a method that steps on f after y has y_k there, too."""
        with_y = self.looped.sequences == ("y",) and not self.looped.inside
        passes.note(self.memory, with_y)

    def stop(self, status: Status) -> Outcome:
        """See ``Stepper``."""
        k = int(self.memory.whole[loops.STEP])
        points = self.memory.points
        outputs = {"average": list(points[sets.U])} if self.looped.average else {}
        note = f"stopped at k = {k}: {status}"
        return Outcome(status, list(points[sets.X]), 1, k, False, note, outputs)

    def outcome(self, end: int) -> Outcome:
        """How the run ended."""
        outcome = self.stop(ENDS[end])
        if end == loops.FINISHED:
            outcome.note = ""
        return outcome

    def _block(self) -> Block:
        rows, n = self.memory.trace[: int(self.memory.whole[loops.ROWS])], self.n
        k = np.arange(self._first, self._first + len(rows), dtype=np.int64)
        # a row that was open when a run ended early is written again by the next block only
        self._first += len(rows)
        names = ("x", *self.looped.sequences)
        columns = {name: rows[:, place * n : min((place + 1) * n, rows.shape[1])] for place, name in enumerate(names)}
        return Block(np.zeros(len(k), dtype=np.int64), k, columns)

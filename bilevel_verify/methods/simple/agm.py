"""Runs of AGM-BiO through its loop: plain Python for short runs, compiled for long ones, NumPy for intersections."""

from __future__ import annotations

from contextlib import AbstractContextManager
from typing import Any

import numpy as np

from bilevel_verify.errors import InfeasibleError, ParameterError
from bilevel_verify.methods.engine import Outcome, Setup, oracles_of, working_precision
from bilevel_verify.methods.recorder import Block
from bilevel_verify.methods.run import Status
from bilevel_verify.methods.simple import loops, sets
from bilevel_verify.methods.simple.convexity import require_convex
from bilevel_verify.methods.simple.steppers import AgmBio, require_inside
from bilevel_verify.oracles import new_counts
from bilevel_verify.oracles.jit import compiled
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
from bilevel_verify.truth.sets.projections import bounds

NEEDS = ("grad_f", "grad_g", "value_g")
WORTH_COMPILING = 1_500_000
"""Passes times dimension above which a run is compiled unless the caller says otherwise."""
ENDS: dict[int, Status] = {
    loops.FINISHED: "finished",
    loops.OUT_OF_BUDGET: "budget",
    loops.NOT_FINITE: "not finite",
    loops.DIVERGED: "diverged",
    loops.BLUR: "precision",
    loops.MISSED: "precision",
}
WORDS = {"minimum": loops.MINIMUM, "values": loops.VALUES, "constant": loops.CONSTANT}
"""Texts for the letter g_k: how the accelerated method beside makes the sequence."""
PLACES = {"agm-bio-cut-x": loops.CUT_AT_X, "agm-bio-cut-z": loops.CUT_AT_Z}


def make_agm(setup: Setup) -> Any:
    """The stepper of a run of AGM-BiO (or of its half-space ablations).

    Raises
    ------
    ParameterError : gamma outside (0, 1], no way to make g_k, x0 outside Z, no projection.
    MathematicalError : f or g is not convex.
    """
    feasible = setup.problem.feasible
    assert feasible is not None
    check_step(setup)
    known = data_of(feasible, setup.problem.dx)
    if known is None:
        return AgmBio(setup)
    return LoopStepper(setup, known)


def check_step(setup: Setup) -> None:
    """Refuse a step multiplier outside (0, 1] and step weights that are not positive."""
    letters = setup.letters
    gamma = float(letters["gamma"])
    weights = letters.get("a_k")
    if weights is None and not 0.0 < gamma <= 1.0:
        raise ParameterError(f"gamma of {setup.method.name} must lie in (0, 1], not {gamma!r}")
    if weights is not None and not all(float(a) > 0.0 for a in np.atleast_1d(np.asarray(weights, dtype=float))):
        raise ParameterError(f"the step weights a_k of {setup.method.name} must be positive")
    if "g_k" not in letters and "L_g" not in letters:
        raise ParameterError(f"{setup.method.name} needs g_k, or L_g to produce it by an accelerated method run beside")
    if isinstance(letters.get("g_k"), str) and "L_g" not in letters:
        raise ParameterError(f"{setup.method.name} needs L_g to produce g_k by an accelerated method run beside")


def data_of(feasible: FeasibleSet, n: int) -> tuple[int, float, np.ndarray, np.ndarray] | None:
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
    """Algorithm 1 in blocks of the trace (see ``methods.engine.Stepper``)."""

    def __init__(self, setup: Setup, known: tuple[int, float, np.ndarray, np.ndarray]) -> None:
        self.setup, self.n = setup, setup.problem.dx
        assert setup.problem.feasible is not None
        require_inside(setup.problem.feasible, np.array(setup.starts["x0"], dtype=float))
        require_convex(setup.problem)
        work = self.n * int(setup.letters["K"])
        owner = oracles_of(setup.problem)
        form = setup.arithmetic.form
        if form == "compiled" and not (work >= WORTH_COMPILING and owner.can_compile(NEEDS)):
            form = "plain"
        self.compiled = form == "compiled"
        self.oracles = owner.function_set(NEEDS, form)
        counts = new_counts(setup.budget[0])
        self.counts = counts if self.compiled else counts.tolist()
        with self._precision():
            self.memory = self._memory(known)
        self.function = compiled(loops.agm_bio, _signature()) if self.compiled else loops.agm_bio
        self._first = 0

    def _precision(self) -> AbstractContextManager[Any]:
        return working_precision(self.setup.arithmetic)

    def _memory(self, known: tuple[int, float, np.ndarray, np.ndarray]) -> loops.AgmMemory:
        letters, (code, size, first, second), arithmetic = self.setup.letters, known, self.setup.arithmetic
        rows: list[list[Any]] = [[arithmetic.number(0)] * self.n for _ in range(sets.POINTS)]
        for row in (sets.X, sets.Z, sets.U, sets.W):
            rows[row] = list(self.setup.starts["x0"])
        rows[sets.FIRST] = [arithmetic.number(v) for v in first.tolist()]
        rows[sets.SECOND] = [arithmetic.number(v) for v in second.tolist()]
        rows[sets.UNIT][0] = arithmetic.precision if arithmetic.digits is not None else loops.EPS
        whole = [0] * loops.WHOLES
        whole[loops.PASSES], whole[loops.MOST] = int(letters["K"]), self.setup.budget[1]
        whole[loops.SET], whole[loops.MODE] = code, self._mode()
        whole[loops.PLACE] = PLACES.get(self.setup.method.name.partition(":")[0], loops.CUT_AT_Y)
        real = [arithmetic.number(0)] * loops.REALS
        real[loops.GAMMA], real[loops.L_F], real[loops.SIZE] = letters["gamma"], letters["L_f"], arithmetic.number(size)
        real[loops.MOMENTUM], real[loops.L_G] = arithmetic.number(1), letters.get("L_g", arithmetic.number("nan"))
        levels = _numbers(letters["g_k"]) if whole[loops.MODE] == loops.GIVEN else []
        weights = [] if letters.get("a_k") is None else _numbers(letters["a_k"])
        weights = weights * int(letters["K"]) if len(weights) == 1 else weights
        if not self.compiled:
            return loops.AgmMemory(whole, real, rows, levels, weights, self._trace(1))
        vectors = [np.array(v, dtype=float) for v in (real, rows, levels, weights)]
        numbers, table, given, chosen = vectors
        return loops.AgmMemory(np.array(whole, dtype=np.int64), numbers, table, given, chosen, self._trace(1))

    def _mode(self) -> int:
        given = self.setup.letters.get("g_k")
        if given is None:
            return int(self.setup.method.flags.get("levels", loops.MINIMUM))
        return WORDS[given] if isinstance(given, str) else loops.GIVEN

    def _trace(self, rows: int) -> np.ndarray:
        arithmetic = self.setup.arithmetic
        missing = arithmetic.number("nan") if arithmetic.digits is not None else np.nan
        return np.full((rows, 3 * self.n + 1), missing, dtype=arithmetic.dtype)

    def advance(self, rows: int) -> tuple[Block, Outcome | None]:
        """See ``Stepper``."""
        self.memory = self.memory._replace(trace=self._trace(rows))
        self.memory.whole[loops.ROWS] = 0
        try:
            with self._precision():
                end = int(self.function(self.oracles, self.counts, self.memory))
        except (OverflowError, ZeroDivisionError):
            end = loops.NOT_FINITE
        block = self._block()
        return block, None if end == loops.MORE else self._outcome(end)

    def stop(self, status: Status) -> Outcome:
        """See ``Stepper``."""
        k = int(self.memory.whole[loops.STEP])
        return Outcome(status, list(self.memory.points[sets.X]), 1, k, False, f"stopped at k = {k}: {status}")

    def _outcome(self, end: int) -> Outcome:
        k = int(self.memory.whole[loops.STEP])
        level, miss = float(self.memory.real[loops.LEVEL]), float(self.memory.real[loops.MISS])
        if end == loops.BELOW:
            raise InfeasibleError(f"pass {k}: the cut has no point in Z, so g_k = {level!r} lies below g*")
        if end == loops.SHORT:
            given = {"g_k": self.memory.levels, "a_k": self.memory.weights}
            name = next(name for name, values in given.items() if 0 < len(values) <= k)
            raise ParameterError(f"{name} has {len(given[name])} entries, pass {k} needs another one")
        outcome = self.stop(ENDS[end])
        if end == loops.BLUR:
            outcome.note = f"stopped at k = {k}: the normal of the cut vanishes; its place is known to {miss:.2g} only"
        elif end == loops.MISSED:
            outcome.note = f"stopped at k = {k}: the cut misses Z by a rounding error (less than {miss:.2g})"
        elif end == loops.FINISHED:
            outcome.note = ""
        return outcome

    def _block(self) -> Block:
        rows, n = self.memory.trace[: int(self.memory.whole[loops.ROWS])], self.n
        k = np.arange(self._first, self._first + len(rows), dtype=np.int64)
        # a row that was open when a run ended early is written again by the next block only
        self._first += len(rows)
        columns = {"x": rows[:, :n], "y": rows[:, n : 2 * n], "z": rows[:, 2 * n : 3 * n], "g_k": rows[:, 3 * n :]}
        return Block(np.zeros(len(k), dtype=np.int64), k, columns)


def _numbers(value: Any) -> list[Any]:
    return list(value) if isinstance(value, tuple) else [value]


def _signature() -> Any:
    from numba import float64, int64, types

    from bilevel_verify.oracles.compiling import oracle_set_type

    make: Any = types.NamedTuple
    vector, table = float64[::1], float64[:, ::1]
    memory = make([int64[::1], vector, table, vector, vector, table], loops.AgmMemory)
    return int64(oracle_set_type(), int64[::1], memory)

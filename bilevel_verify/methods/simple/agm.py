"""Runs of AGM-BiO through its loop; intersections, whose cut no loop knows, are steps of NumPy."""

from __future__ import annotations

from typing import Any

import numpy as np

from bilevel_verify.errors import InfeasibleError, ParameterError
from bilevel_verify.methods.engine import Outcome, Setup
from bilevel_verify.methods.simple import loops
from bilevel_verify.methods.simple.looped import Looped, LoopStepper, data_of
from bilevel_verify.methods.simple.steppers import AgmBio

WORDS = {"minimum": loops.MINIMUM, "values": loops.VALUES, "constant": loops.CONSTANT}
"""Texts for the letter g_k: how the accelerated method beside makes the sequence."""
PLACES = {"agm-bio-cut-x": loops.CUT_AT_X, "agm-bio-cut-z": loops.CUT_AT_Z}
LOOPED = Looped(loops.agm_bio, ("grad_f", "grad_g", "value_g"), tuple(AgmBio.blocks), lambda letters: ())
"""Algorithm 1 as a loop."""


def loop_of_agm(setup: Setup) -> Any:
    """The loop of a run of AGM-BiO; None for intersections."""
    assert setup.problem.feasible is not None
    return None if data_of(setup.problem.feasible, setup.problem.dx) is None else loops.agm_bio


def make_agm(setup: Setup) -> Any:
    """The stepper of a run of AGM-BiO (or of its half-space ablations).

    Raises
    ------
    ParameterError : gamma outside (0, 1], no way to make g_k, x0 outside Z, no projection.
    MathematicalError : f or g is not convex.
    """
    check_step(setup)
    return AgmBio(setup) if loop_of_agm(setup) is None else AgmStepper(setup, LOOPED)


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


class AgmStepper(LoopStepper):
    """Algorithm 1 in blocks of the trace."""

    def own(self, whole: list[int], real: list[Any]) -> tuple[list[Any], list[Any]]:
        """How g_k is made, where the cut is built, gamma and the constants; the sequences g_k and a_k of the user."""
        letters, number = self.setup.letters, self.setup.arithmetic.number
        whole[loops.MODE] = self._mode()
        whole[loops.PLACE] = PLACES.get(self.setup.method.name.partition(":")[0], loops.CUT_AT_Y)
        real[loops.GAMMA], real[loops.L_F] = letters["gamma"], letters["L_f"]
        real[loops.L_G] = letters.get("L_g", number("nan"))
        levels = _numbers(letters["g_k"]) if whole[loops.MODE] == loops.GIVEN else []
        weights = [] if letters.get("a_k") is None else _numbers(letters["a_k"])
        return levels, weights * int(letters["K"]) if len(weights) == 1 else weights

    def _mode(self) -> int:
        given = self.setup.letters.get("g_k")
        if given is None:
            return int(self.setup.method.flags.get("levels", loops.MINIMUM))
        return WORDS[given] if isinstance(given, str) else loops.GIVEN

    def last_row(self) -> None:
        """The loop writes it where there is one."""

    def outcome(self, end: int) -> Outcome:
        """How the run ended; values below g* and short sequences are errors of the caller."""
        k = int(self.memory.whole[loops.STEP])
        level, miss = float(self.memory.real[loops.LEVEL]), float(self.memory.real[loops.MISS])
        if end == loops.BELOW:
            raise InfeasibleError(f"pass {k}: the cut has no point in Z, so g_k = {level!r} lies below g*")
        if end == loops.SHORT:
            given = {"g_k": self.memory.levels, "a_k": self.memory.weights}
            name = next(name for name, values in given.items() if 0 < len(values) <= k)
            raise ParameterError(f"{name} has {len(given[name])} entries, pass {k} needs another one")
        outcome = super().outcome(end)
        if end == loops.BLUR:
            outcome.note = f"stopped at k = {k}: the normal of the cut vanishes; its place is known to {miss:.2g} only"
        elif end == loops.MISSED:
            outcome.note = f"stopped at k = {k}: the cut misses Z by a rounding error (less than {miss:.2g})"
        return outcome


def _numbers(value: object) -> list[Any]:
    return list(value) if isinstance(value, tuple) else [value]

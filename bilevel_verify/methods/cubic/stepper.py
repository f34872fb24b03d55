"""Runs of second-order methods: one loop, fed by a model, ended by the test of the paper."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from bilevel_verify.methods.cubic.arithmetic import Array, all_finite
from bilevel_verify.methods.cubic.models import Model
from bilevel_verify.methods.cubic.subproblem import CubicStep, Spectrum, minimise
from bilevel_verify.methods.engine import Outcome, Setup
from bilevel_verify.methods.plain import PlainStepper
from bilevel_verify.oracles import Oracles


@dataclass(slots=True)
class Iteration:
    """What a stopping test may look at in iteration t."""

    t: int
    x: Array
    snapshot: Array
    gradient: Array
    step: CubicStep


@dataclass(frozen=True, slots=True)
class Plan:
    """How one named method differs from another.

    Attributes
    ----------
    model : makes the estimator.
    lazy : whether the Hessian is renewed only every m-th iteration.
    before : test before the cubic step, on (letters, gradient); True ends the run at x_t.
    after : test on (letters, iteration) after the cubic model is solved; True ends it at x_{t+1} = x_t + s_t.
    sequences : inner sequences of the trace, name -> block ("x" or "y").
    kind, test : the same estimator and the same test in the loop (see ``loops``).
    """

    model: Callable[[Oracles, Mapping[str, Any], Array], Model]
    lazy: bool
    before: Callable[[Mapping[str, Any], Array], bool] | None
    after: Callable[[Mapping[str, Any], Iteration], bool] | None
    sequences: Mapping[str, str]
    kind: int
    test: int


class CubicStepper(PlainStepper):
    """A second-order method in the middle of a run."""

    length = "T"
    precise = True

    def __init__(self, setup: Setup, plan: Plan) -> None:
        self.plan, self.blocks = plan, plan.sequences
        super().__init__(setup)
        self.model = plan.model(self.oracles, self.letters, self.vector(setup.starts["y0"]))
        self.snapshot, self.spectrum = self.x, Spectrum(np.zeros(0), np.zeros((0, 0)))

    def iterate(self) -> Outcome | None:
        """Gradient, Hessian where it is due, cubic step, stopping test."""
        gradient = self.model.gradient(self.x)
        if not all_finite(gradient):
            return self.stop("not finite")
        if self.plan.before is not None and self.plan.before(self.letters, gradient):
            return self.finish("stationary")
        if not self.plan.lazy or self.k % int(self.letters.get("m", 1)) == 0:
            hessian = self.model.hessian(self.x)
            if not all_finite(hessian):
                return self.stop("not finite")
            self.snapshot, self.spectrum = self.x, Spectrum.of(hessian)
        step = minimise(gradient, self.spectrum, self.letters["M"])
        seen = Iteration(self.k, self.x, self.snapshot, gradient, step)
        self.row(x=self.x, u=gradient, s=step.s, **self.model.inner())
        self.x = self.x + step.s
        self.k += 1
        if self.plan.after is not None and self.plan.after(self.letters, seen):
            return self.finish("stationary")
        return None

    def outputs(self) -> dict[str, Array]:
        """The inner solution at the last point, where there is one."""
        inner = self.model.inner()
        return {"y": inner["y"]} if "y" in inner else {}

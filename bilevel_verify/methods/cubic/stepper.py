"""Runs of second-order methods: one loop, fed by a model, ended by the test of the paper."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bilevel_verify.errors import MathematicalError, ParameterError
from bilevel_verify.methods.cubic.models import Model
from bilevel_verify.methods.cubic.subproblem import CubicStep, Spectrum, minimise
from bilevel_verify.methods.engine import Outcome, Setup
from bilevel_verify.methods.keeper import Block
from bilevel_verify.methods.run import Status
from bilevel_verify.oracles import Oracles, oracles
from bilevel_verify.oracles.oracles import BudgetExhausted

FloatArray = NDArray[np.float64]
FAR = 1e150


@dataclass(slots=True)
class Iteration:
    """What a stopping test may look at in iteration t."""

    t: int
    x: FloatArray
    snapshot: FloatArray
    gradient: FloatArray
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
    """

    model: Callable[[Oracles, Mapping[str, Any], FloatArray], Model]
    lazy: bool
    before: Callable[[Mapping[str, Any], FloatArray], bool] | None
    after: Callable[[Mapping[str, Any], Iteration], bool] | None
    sequences: Mapping[str, str]


class CubicStepper:
    """A second-order method in the middle of a run (see ``methods.engine.Stepper``)."""

    def __init__(self, setup: Setup, plan: Plan) -> None:
        if setup.arithmetic.digits is not None:
            raise ParameterError(f"{setup.method.name} has no multi-precision form (it needs eigendecompositions)")
        self.setup, self.plan = setup, plan
        self.letters = setup.letters
        self.oracles = oracles(setup.problem)
        self.oracles.reset()
        self.oracles.budget = setup.budget[0]
        self.counts = self.oracles.counts_array
        self.x = np.array(setup.starts["x0"], dtype=float)
        self.model = plan.model(self.oracles, self.letters, np.array(setup.starts["y0"], dtype=float))
        self.t = 0
        self.snapshot, self.spectrum = self.x, Spectrum(np.zeros(0), np.zeros((0, 0)))
        self.rows: list[dict[str, FloatArray]] = []
        self.first_row = 0
        self.last_step: CubicStep | None = None

    def advance(self, rows: int) -> tuple[Block, Outcome | None]:
        """See ``Stepper``."""
        outcome: Outcome | None = None
        while outcome is None and len(self.rows) < rows:
            outcome = self._guarded()
        if outcome is not None:
            self._row(self.x, {})
        return self._block(), outcome

    def stop(self, status: Status) -> Outcome:
        """See ``Stepper``."""
        return self._outcome(status, f"stopped at t = {self.t}: {status}")

    def _guarded(self) -> Outcome | None:
        if self.t >= min(int(self.letters["T"]), self.setup.budget[1]):
            status: Status = "finished" if self.t >= int(self.letters["T"]) else "budget"
            return self._outcome(status)
        try:
            return self._iterate()
        except BudgetExhausted:
            return self.stop("budget")
        except (FloatingPointError, np.linalg.LinAlgError):
            return self.stop("not finite")
        except (ParameterError, MathematicalError) as error:
            if np.all(np.isfinite(self.x)) and not isinstance(error, ParameterError):
                raise
            return self.stop("not finite")

    def _iterate(self) -> Outcome | None:
        gradient = self.model.gradient(self.x)
        if self.plan.before is not None and self.plan.before(self.letters, gradient):
            return self._outcome("stationary")
        if not self.plan.lazy or self.t % int(self.letters.get("m", 1)) == 0:
            self.snapshot = self.x
            self.spectrum = Spectrum.of(self.model.hessian(self.x))
        step = minimise(gradient, self.spectrum, float(self.letters["M"]))
        self.last_step = step
        seen = Iteration(self.t, self.x, self.snapshot, gradient, step)
        self._row(self.x, {**self.model.inner(), "u": gradient, "s": step.s})
        self.x = self.x + step.s
        self.t += 1
        if not np.all(np.isfinite(self.x)):
            return self.stop("not finite")
        if float(np.max(np.abs(self.x), initial=0.0)) > FAR:
            return self.stop("diverged")
        if self.plan.after is not None and self.plan.after(self.letters, seen):
            return self._outcome("stationary")
        return None

    def _row(self, x: FloatArray, more: Mapping[str, FloatArray]) -> None:
        self.rows.append({"x": x, **more})

    def _block(self) -> Block:
        problem, rows = self.setup.problem, self.rows
        size = {"x": problem.dx, "y": problem.dy}
        shapes = {"x": problem.dx, **{name: size[block] for name, block in self.plan.sequences.items()}}
        values = {
            name: np.array([row.get(name, np.full(n, np.nan)) for row in rows]).reshape(len(rows), n)
            for name, n in shapes.items()
        }
        k = np.arange(self.first_row, self.first_row + len(rows), dtype=np.int64)
        self.first_row += len(rows)
        self.rows = []
        return Block(np.zeros(len(k), dtype=np.int64), k, values)

    def _outcome(self, status: Status, note: str = "") -> Outcome:
        inner = self.model.inner()
        outputs = {"y": inner["y"]} if "y" in inner else {}
        return Outcome(status, self.x, 1, self.t, False, note, outputs)

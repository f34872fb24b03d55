"""Runs of second-order methods through their loop: plain Python and machine code alike, many digits by arrays."""

from __future__ import annotations

from typing import Any

import numpy as np

from bilevel_verify.errors import MathematicalError
from bilevel_verify.methods.cubic import loops, step
from bilevel_verify.methods.cubic.stepper import CubicStepper, Plan
from bilevel_verify.methods.engine import REASONS, Outcome, Setup, oracles_of
from bilevel_verify.methods.forms import compiled_loop
from bilevel_verify.methods.kernels.scalars import square_root
from bilevel_verify.methods.recorder import Block
from bilevel_verify.methods.run import Status
from bilevel_verify.oracles import new_counts
from bilevel_verify.oracles.convention import Counts

LARGEST_PLAIN = 24
"""Variables beyond which plain Python takes matrices as arrays."""
WORTH_COMPILING = 200_000_000
"""Multiplications of a whole run from which on large Hessians are compiled without being asked."""
NEEDS = {
    loops.SINGLE_LEVEL: ("grad_f", "hess_f"),
    loops.DANSKIN: ("grad_y_g", "grad_x_f", "hess_f"),
    loops.PENALTY: ("grad_y_f", "grad_y_g", "grad_x_f", "grad_x_g", "hess_f", "hess_g"),
}
NAMES = {loops.DANSKIN: ("-f", ""), loops.PENALTY: ("the penalty function", "g"), loops.SINGLE_LEVEL: ("", "")}
"""Of what the yy blocks are inverted."""


def loop_of_cubic(setup: Setup) -> Any:
    """The loop of short and long runs alike; None where short runs are steps of NumPy."""
    problem = setup.problem
    return loops.cubic_loop if problem.dx + problem.dy <= LARGEST_PLAIN else None


def make_cubic(setup: Setup, plan: Plan) -> Any:
    """The stepper of a run."""
    form, small = setup.arithmetic.form, loop_of_cubic(setup) is not None
    if form == "compiled" and (small or is_long(setup)) and oracles_of(setup.problem).can_compile(NEEDS[plan.kind]):
        return CubicLoopStepper(setup, plan, compiled=True)
    if form == "multiprecision" or not small:
        return CubicStepper(setup, plan)
    return CubicLoopStepper(setup, plan, compiled=False)


def is_long(setup: Setup) -> bool:
    """Whether a run on a large Hessian is worth a compiler: because somebody asked for it, or by its length."""
    q, n = setup.letters, setup.problem.dx + setup.problem.dy
    inner = int(q.get("K", 0)) + int(q.get("K1", 0)) + 2 * int(q.get("K2", 0))
    steps = min(int(q["T"]), setup.budget[1], setup.budget[0] // (inner + 2))
    return setup.insisted or steps * (inner + 2) * n * n > WORTH_COMPILING


class CubicLoopStepper:
    """The loop in blocks of the trace (see ``methods.engine.Stepper``)."""

    def __init__(self, setup: Setup, plan: Plan, compiled: bool) -> None:
        self.setup, self.plan, self.compiled, self.raised = setup, plan, compiled, False
        self.oracles = oracles_of(setup.problem).function_set(NEEDS[plan.kind], "compiled" if compiled else "plain")
        counts = new_counts(setup.budget[0])
        self.counts: Counts = counts if compiled else counts.tolist()
        self.memory = self._memory()
        self.function: Any = compiled_loop(loops.cubic_loop, self.memory) if compiled else loops.cubic_loop
        self._first = 0

    def _memory(self) -> loops.CubicMemory:
        dx, dy, starts = self.setup.problem.dx, self.setup.problem.dy, self.setup.starts
        hessians = 3 if self.plan.kind == loops.PENALTY else 1
        sizes = {
            "points": (step.POINTS, dx),
            "inner": (loops.INNER, dy),
            "slopes": (loops.SLOPES, dx),
            "vectors": (dx, dx),
            "matrix": (dx, dx),
            "lower": (dy, dy),
            "right": (dy, dx),
            "hessians": (hessians, (dx + dy) ** 2),
        }
        made: dict[str, Any] = {name: np.zeros(shape) for name, shape in sizes.items()}
        made["points"][step.X] = starts["x0"]
        made["inner"][loops.Y] = made["inner"][loops.W] = starts["y0"]
        made |= {"whole": np.array(self._whole(), dtype=np.int64), "real": np.array(self._real(), dtype=np.float64)}
        if not self.compiled:
            made = {name: value.tolist() for name, value in made.items()}
        return loops.CubicMemory(**made, trace=self._trace(0))

    def _whole(self) -> list[int]:
        q, whole = self.setup.letters, [0] * loops.WHOLES
        whole[loops.LENGTH], whole[loops.MOST] = int(q["T"]), self.setup.budget[1]
        whole[loops.KEPT] = int(q.get("m", 1)) if self.plan.lazy else 1
        whole[loops.KIND] = self.plan.kind
        whole[loops.TEST] = self.plan.test if "eps" in q else loops.NO_TEST
        whole[loops.K_LOWER] = int(q.get("K", q.get("K1", 0)))
        whole[loops.K_PENALTY] = int(q.get("K2", 0))
        return whole

    def _real(self) -> list[float]:
        q, real = self.setup.letters, [0.0] * loops.REALS
        for place, name in ((loops.M, "M"), (loops.EPS, "eps"), (loops.RHO_BAR, "rho_bar"), (loops.LAM, "lam")):
            real[place] = q.get(name, 0.0)
        pairs = (("1", loops.ETA_LOWER, loops.THETA_LOWER), ("2", loops.ETA_PENALTY, loops.THETA_PENALTY))
        for number, eta, theta in pairs:
            if f"l{number}" in q:
                root = square_root(q[f"kappa{number}"])
                real[eta], real[theta] = 1 / q[f"l{number}"], (root - 1) / (root + 1)
        return real

    def _trace(self, rows: int) -> Any:
        problem = self.setup.problem
        inner = sum(1 for block in self.plan.sequences.values() if block == "y")
        return np.empty((rows + 1, 3 * problem.dx + inner * problem.dy))

    def advance(self, rows: int) -> tuple[Block, Outcome | None]:
        """See ``Stepper``."""
        self.memory = self.memory._replace(trace=self._trace(rows))
        self.memory.whole[loops.ROWS] = 0
        try:
            end = int(self.function(self.oracles, self.counts, self.memory))
        except (OverflowError, ZeroDivisionError, FloatingPointError, np.linalg.LinAlgError):
            self.raised, end = True, loops.NOT_FINITE
        if end in (loops.NOT_CONVEX, loops.NOT_CONVEX + 1):
            raise MathematicalError(
                f"the yy block of {NAMES[self.plan.kind][end - loops.NOT_CONVEX]} is not positive definite at an "
                "iterate: it must be strongly convex in y"
            )
        if end != loops.MORE:
            loops.note(self.memory, False)
        return self._block(), None if end == loops.MORE else self._outcome(REASONS[end])

    def stop(self, status: Status) -> Outcome:
        """See ``Stepper``."""
        k = int(self.memory.whole[loops.STEP])
        outputs = {"y": list(self.memory.inner[loops.Y])} if "y" in self.plan.sequences else {}
        note = f"stopped at k = {k}: {status}"
        return Outcome(status, list(self.memory.points[step.X]), 1, k, False, note, outputs)

    def _outcome(self, status: Status) -> Outcome:
        outcome = self.stop(status)
        if status in ("finished", "stationary"):
            outcome.note = ""
        return outcome

    def _block(self) -> Block:
        rows = np.asarray(self.memory.trace)[: int(self.memory.whole[loops.ROWS])]
        problem = self.setup.problem
        k = np.arange(self._first, self._first + len(rows), dtype=np.int64)
        self._first += len(rows)
        names = ["x", "u", "s", *(name for name in ("y", "w") if name in self.plan.sequences)]
        sizes = [problem.dy if name in ("y", "w") else problem.dx for name in names]
        ends = np.cumsum(sizes).tolist()
        columns = {name: rows[:, end - size : end] for name, size, end in zip(names, sizes, ends)}
        order = ("x", *self.plan.sequences)
        return Block(np.zeros(len(k), dtype=np.int64), k, {name: columns[name] for name in order})

"""Runs of methods whose steps are NumPy: eigendecompositions, projections, linear minimisation.

They are no cells of the table of kernels; each brings one ``iterate``. Rows, budgets, trouble and the outcome are
handled here, once.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bilevel_verify.errors import CertificationError, ParameterError
from bilevel_verify.methods.engine import Outcome, Setup, oracles_of, working_precision
from bilevel_verify.methods.recorder import Block
from bilevel_verify.methods.run import Status
from bilevel_verify.oracles.oracles import BudgetExhausted
from bilevel_verify.oracles.precise import PreciseOracles

FloatArray = NDArray[np.float64]
FAR = 1e150


class PlainStepper:
    """A method in the middle of a run (see ``methods.engine.Stepper``).

    A sub-class sets ``blocks`` (sequence -> "x", "y" or "number", whose dimension it has), prepares itself in
    :meth:`begin`, and does one iteration in :meth:`iterate`: record the row of ``x_k`` with :meth:`row`, move
    ``self.x`` on, and return an outcome at the end.
    """

    blocks: Mapping[str, str] = {}
    length = "K"
    """Letter that bounds the number of iterations."""

    compiled = False
    """Its steps are NumPy."""

    precise = False
    """Whether its arithmetic runs on object arrays of mpmath numbers too."""

    def __init__(self, setup: Setup) -> None:
        digits = setup.arithmetic.digits
        if digits is not None and not self.precise:
            raise ParameterError(f"{setup.method.name} has no multi-precision form")
        self.setup, self.letters, self.problem = setup, setup.letters, setup.problem
        plain = setup.arithmetic.form == "plain"
        self.oracles = PreciseOracles(setup.problem) if digits is not None else oracles_of(setup.problem).fresh(plain)
        self.oracles.budget = setup.budget[0]
        self.counts = self.oracles.counts_array
        self.x: FloatArray = self.vector(setup.starts["x0"])
        self.k = 0
        self.most = min(int(self.letters.get(self.length, 2**62)), setup.budget[1])
        self._rows: list[Mapping[str, FloatArray]] = []
        self._first_row = 0
        self._begun = False

    def vector(self, values: object) -> NDArray[np.float64]:
        """A vector in the arithmetic of the run."""
        return np.array(values, dtype=self.setup.arithmetic.dtype)

    def begin(self) -> None:
        """Called once before the first iteration."""

    def iterate(self) -> Outcome | None:
        """One iteration; an outcome if it was the last."""
        raise NotImplementedError

    def output(self) -> FloatArray:
        """What the method returns."""
        return self.x

    def outputs(self) -> dict[str, FloatArray]:
        """What else it returns."""
        return {}

    def last_row(self) -> Mapping[str, FloatArray] | None:
        """The row after the last iteration; None if there is none."""
        return {"x": self.x}

    def row(self, **values: FloatArray) -> None:
        """Record the row of the current index."""
        self._rows.append(values)

    def advance(self, rows: int) -> tuple[Block, Outcome | None]:
        """See ``Stepper``."""
        outcome: Outcome | None = None
        with working_precision(self.setup.arithmetic):
            while outcome is None and len(self._rows) < rows:
                outcome = self._guarded()
        if outcome is not None and (last := self.last_row()) is not None:
            self._rows.append(last)
        return self._block(), outcome

    def stop(self, status: Status) -> Outcome:
        """See ``Stepper``."""
        return self.finish(status, f"stopped at k = {self.k}: {status}")

    def finish(self, status: Status, note: str = "") -> Outcome:
        """The outcome at this point."""
        return Outcome(status, self.output(), 1, self.k, False, note, self.outputs())

    def _guarded(self) -> Outcome | None:
        try:
            if not self._begun:
                self._begun = True
                self.begin()
            if self.k >= self.most:
                ended = self.k >= int(self.letters.get(self.length, 2**62))
                return self.finish("finished") if ended else self.stop("budget")
            outcome = self.iterate()
        except BudgetExhausted:
            return self.stop("budget")
        except CertificationError as trouble:
            return self.finish("precision", f"stopped at k = {self.k}: {trouble}")
        except (FloatingPointError, OverflowError, np.linalg.LinAlgError):
            return self.stop("not finite")
        if outcome is None and not all(bool(entry - entry == 0) for entry in self.x):
            return self.stop("not finite")
        if outcome is None and float(np.max(np.abs(self.x), initial=0.0)) > FAR:
            return self.stop("diverged")
        return outcome

    def _block(self) -> Block:
        rows, size = self._rows, {"x": self.problem.dx, "y": self.problem.dy, "number": 1}
        shapes = {"x": size["x"], **{name: size[block] for name, block in self.blocks.items()}}
        values: dict[str, Any] = {
            name: np.array([row.get(name, np.full(n, np.nan)) for row in rows]).reshape(len(rows), n)
            for name, n in shapes.items()
        }
        k = np.arange(self._first_row, self._first_row + len(rows), dtype=np.int64)
        self._first_row += len(rows)
        self._rows = []
        return Block(np.zeros(len(k), dtype=np.int64), k, values)

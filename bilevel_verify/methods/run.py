"""What a run leaves behind: iterates and counts, nothing that would have to be believed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

FloatArray = NDArray[np.float64]
Status = Literal["finished", "stationary", "budget", "diverged", "not finite", "interrupted", "precision"]
"""``finished``: the method's own exit; ``stationary``: its gradient test; the others say why it was cut short."""
ENDED: tuple[Status, ...] = ("finished", "stationary")
"""The statuses of a run that came to an end of its own: only they have an output to judge."""


@dataclass(frozen=True, slots=True)
class Trace:
    """One row per iterate, in the order of the run; row 0 is the initial point.

    ``epoch`` and ``k`` are the paper's indices (t, k); methods without restarts have ``epoch == 0`` throughout. The row
    (t, k) holds ``x[t, k]`` and whatever else the paper indexes by (t, k): ``w``, ``y``, ``z``, ``v``, ``u`` ...,
    NaN where the paper does not define that entry. When an epoch ends at k, row (t, k) is its last iterate and a
    row (t+1, 0) follows. ``epoch_start`` holds sequences indexed (t, -1), one row per epoch.
    """

    epoch: NDArray[np.int64]
    k: NDArray[np.int64]
    sequences: Mapping[str, FloatArray]
    epoch_start: Mapping[str, FloatArray] = field(default_factory=lambda: MappingProxyType({}))
    thinned_from: int | None = None

    def __getattr__(self, name: str) -> FloatArray:
        """``trace.x``, ``trace.w`` ...: an array of shape (rows, dimension)."""
        try:
            sequence: FloatArray = object.__getattribute__(self, "sequences")[name]
            return sequence
        except KeyError:
            raise AttributeError(f"this trace has no sequence {name!r}; it has {sorted(self.sequences)}") from None

    def __len__(self) -> int:
        return len(self.k)

    def _repr_html_(self) -> str:
        from bilevel_verify.methods.display import trace_table

        return trace_table(self)


@dataclass(frozen=True, slots=True)
class Run:
    """Result of a method on a problem.

    Attributes
    ----------
    x : the method's output (averaged point, last iterate ...), shape (dx,); ``outputs`` names what else it returns.
    status : why it ended.
    counts : oracle kind -> calls (``grad_f grad_g hvp_yy_g jvp_xy_g hess_f hess_g value_f value_g stop_grad_f`` ...).
    iterations : outer iterations over all epochs.
    epochs : restarts + 1 (1 for methods that never restart).
    restarted : for each epoch, whether the restart test ended it (False only for the last).
    trace : iterates.
    parameters : every letter that the run used, resolved to numbers.
    compiled : whether its loop was machine code (False for NumPy steps and for runs too short to be worth it).
    """

    method: str
    problem: str
    x: FloatArray
    status: Status
    counts: Mapping[str, int]
    iterations: int
    epochs: int
    trace: Trace
    parameters: Mapping[str, Any]
    outputs: Mapping[str, FloatArray] = field(default_factory=lambda: MappingProxyType({}))
    restarted: tuple[bool, ...] = ()
    seed: int | None = None
    eps: float | None = None
    compiled: bool = False
    seconds: float = 0.0
    note: str = ""
    versions: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))

    def __str__(self) -> str:
        calls = ", ".join(f"{n} {kind}" for kind, n in sorted(self.counts.items()) if n)
        at = "" if self.eps is None else f" at eps = {self.eps:g}"
        head = f"{self.method} on {self.problem}{at}: {self.status} after {self.iterations} iterations"
        return f"{head} in {self.epochs} epoch{'s' if self.epochs != 1 else ''}; x = {self.x}; calls: {calls or 'none'}"

    def _repr_html_(self) -> str:
        from bilevel_verify.methods.display import run_table

        return run_table(self)

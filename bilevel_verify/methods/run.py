"""What a run leaves behind: iterates and counts, nothing that would have to be believed; in a notebook a table."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from html import escape
from types import MappingProxyType
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from bilevel_verify.oracles.convention import NO_BUDGET

FloatArray = NDArray[np.float64]
Status = Literal["finished", "stationary", "budget", "diverged", "not finite", "interrupted", "precision"]
"""``finished``: the method's own exit; ``stationary``: its gradient test; the others say why it was cut short."""
MOST_COORDINATES, MOST_ROWS, MOST_LETTERS = 6, 10, 30
"""Of a point, of a trace and of the letters: so many are shown in a notebook."""
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

    def __str__(self) -> str:
        kept = ", ".join(f"{name} ({rows.shape[1]})" for name, rows in self.sequences.items() if len(rows))
        lost = "" if self.thinned_from is None else f", thinned from row {self.thinned_from} on"
        return f"{len(self)} iterates of {kept}, last epoch {int(self.epoch[-1])}{lost}"

    def _repr_html_(self) -> str:
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
    curvature_steps : steps that exploited negative curvature (AGD-Jin, convex until guilty; 0 elsewhere).
    trace : iterates.
    parameters : every letter that the run used, resolved to numbers.
    compiled : whether its loop was machine code (False for NumPy steps and for runs too short to be worth it).
    rounding : unit of the narrowest floats seen (a solver of the user may compute in float32).
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
    rounding: float = 2.0**-52
    curvature_steps: int = 0

    def __str__(self) -> str:
        calls = ", ".join(f"{n} {kind}" for kind, n in sorted(self.counts.items()) if n)
        at = "" if self.eps is None else f" at eps = {self.eps:g}"
        head = f"{self.method} on {self.problem}{at}: {self.status} after {self.iterations} iterations"
        return f"{head} in {self.epochs} epoch{'s' if self.epochs != 1 else ''}; x = {self.x}; calls: {calls or 'none'}"

    def _repr_html_(self) -> str:
        return run_table(self)


def run_table(run: Run) -> str:
    """What a run did: how it ended, where, what it cost; letters and iterates open under it."""
    at = "" if run.eps is None else f" at eps = {run.eps:g}"
    epochs = f" in {run.epochs} epochs" if run.epochs > 1 else ""
    calls = ", ".join(f"{n:,} {kind}" for kind, n in sorted(run.counts.items()) if n)
    lines = [
        ("ended", f"{run.status} after {run.iterations:,} iterations{epochs}"),
        ("x", point(run.x)),
        ("oracle calls", calls or "none"),
        *([("note", run.note)] if run.note else []),
    ]
    body = "".join(f"<tr><th>{escape(name)}</th><td>{escape(value)}</td></tr>" for name, value in lines)
    letters = list(shown_letters(run.parameters).items())[:MOST_LETTERS]
    used = ", ".join(f"{name} = {value}" for name, value in letters)
    more = f"<details><summary>{len(letters)} letters</summary><p>{escape(used)}</p></details>" if used else ""
    head = f"<caption>{escape(f'{run.method} on {run.problem}{at}')}</caption>"
    trace = f"<details><summary>{len(run.trace):,} iterates</summary>{trace_table(run.trace)}</details>"
    return f"<table>{head}<tbody>{body}</tbody></table>{more}{trace}"


def shown_letters(letters: Mapping[str, object]) -> dict[str, str]:
    """The numbers among the letters of a run as text; a count that ends nothing is ``no limit``."""
    numbers = {name: value for name, value in letters.items() if isinstance(value, int | float)}
    return {name: "no limit" if value == NO_BUDGET else f"{value:.6g}" for name, value in numbers.items()}


def trace_table(trace: Trace) -> str:
    """First and last iterates of a trace."""
    names = [name for name, rows in trace.sequences.items() if len(rows) == len(trace.k)]
    shown: list[int | None] = list(range(len(trace.k)))
    if len(shown) > MOST_ROWS:
        shown = [*shown[: MOST_ROWS // 2], None, *shown[-MOST_ROWS // 2 :]]
    head = "".join(f"<th>{escape(name)}</th>" for name in ("epoch", "k", *names))
    lines = []
    for row in shown:
        cells = ["..."] * (2 + len(names)) if row is None else _cells(trace, names, row)
        lines.append(f"<tr>{''.join(f'<td>{escape(cell)}</td>' for cell in cells)}</tr>")
    lost = "" if trace.thinned_from is None else f"<p>thinned from row {trace.thinned_from} on</p>"
    return f"<table><thead><tr>{head}</tr></thead><tbody>{''.join(lines)}</tbody></table>{lost}"


def _cells(trace: Trace, names: Sequence[str], row: int) -> list[str]:
    points = (point(trace.sequences[name][row]) for name in names)
    return [str(int(trace.epoch[row])), str(int(trace.k[row])), *points]


def point(x: FloatArray) -> str:
    """A point in brackets, long ones cut."""
    entries = [f"{float(v):.6g}" for v in list(x)[:MOST_COORDINATES]]
    return f"({', '.join(entries)}{', ...' if len(x) > MOST_COORDINATES else ''})"

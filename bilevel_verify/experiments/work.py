"""What a worker does with a cell of an experiment: run the method with exact counts and measure along the way."""

from __future__ import annotations

import math
import time
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NotRequired, TypedDict

import numpy as np
from numpy.typing import NDArray

from bilevel_verify.campaign.cell import Cell
from bilevel_verify.errors import InputError
from bilevel_verify.experiments.files import Entry, Size, experiment, letters_of
from bilevel_verify.experiments.instances import Instance, instance
from bilevel_verify.methods import run_method
from bilevel_verify.methods.run import Run
from bilevel_verify.oracles.convention import KIND_OF
from bilevel_verify.oracles.external import ExternalProblem

if TYPE_CHECKING:
    from bilevel_verify.campaign.answers import Document

FloatArray = NDArray[np.float64]
GROWTH, DEAR = 1.05, 1.2
"""A curve is measured where the calls have grown by this factor; the second where something is solved for it."""
OUTER = ("grad_f", "grad_x_f")
"""Oracles that a method asks once an outer iteration, at its own x and y."""


class Curve:
    """Watches the oracle calls of a run: counts them by kind, and measures at outer points; measuring takes no time.

    ``calls`` is the cost: one for a value, a gradient or a product, max(dx, dy) for a Hessian (``methods.cost``).
    """

    def __init__(self, found: Instance, growth: float = GROWTH) -> None:
        self.growth, self.instance, self.minimax = growth, found, found.model.kind == "minimax"
        self.counts: dict[str, int] = {}
        self.prices: dict[str, float] = {}
        self.rows: list[dict[str, Any]] = []
        self.last: tuple[FloatArray, FloatArray] | None = None
        self.calls, self.next = 0, 1
        self.order: list[str] = []
        self.aside, self.began = 0.0, time.process_time()

    def __call__(self, field: str, x: FloatArray, y: FloatArray, seconds: float) -> None:
        kind, found = KIND_OF[field], self.instance
        kind = kind[:-1] + "f" if self.minimax else kind
        self.counts[kind] = self.counts.get(kind, 0) + 1
        self.prices[kind] = self.prices.get(kind, 0.0) + seconds
        self.calls += max(found.model.dx, found.model.dy) if kind.startswith("hess") else 1
        if found.around is not None:
            self.order.append(field)
        elif field in OUTER:
            if self.calls >= self.next:
                self.measure(x, y)
            else:
                self.last = (x.copy(), y.copy())

    def measure(self, x: FloatArray, y: FloatArray, calls: int | None = None) -> None:
        """A row of the curve; after so many ``calls`` of all that were made, each kind has its share of them."""
        begin = time.process_time()
        self.last = None
        with np.errstate(all="ignore"):
            found = self.instance.measure(x, y)
        row = {key: value if math.isfinite(value) else None for key, value in found.items()}
        share = (calls or self.calls) / max(self.calls, 1)
        kinds = {kind: round(share * count) for kind, count in self.counts.items()}
        spent = {"calls": calls or self.calls, "seconds": begin - self.began - self.aside, "counts": kinds}
        self.rows.append({**spent, **row})
        self.next = max(self.calls + 1, int(self.calls * self.growth))
        self.aside += time.process_time() - begin


class RunAnswer(TypedDict):
    """What one run of an experiment gives; a row of its curve has ``calls``, ``seconds``, ``counts``, measures."""

    curve: list[dict[str, Any]]
    counts: dict[str, int]
    reported: dict[str, int]
    prices: dict[str, float]
    calls: int
    iterations: int
    restarts: int
    curvature_steps: int
    status: str
    note: str
    seconds: float
    final: dict[str, float]
    letters: dict[str, float]
    score: NotRequired[float | None]
    source: NotRequired[str]


def work(cell: Cell) -> tuple[RunAnswer, list[Document]]:
    """The answer to a cell: curve, counts by kind, status, the best measured value.

    Raises
    ------
    InputError : the cell names an experiment, a size or a method that does not exist.
    """
    name = str(cell.problem).partition(":")[2]
    found, knobs = experiment(name), dict(cell.knobs)
    size, variant = str(knobs["size"]), str(knobs["variant"])
    if size not in found.size:
        raise InputError(f"{name} has no size {size!r}; it has {', '.join(found.size)}")
    folder = None if "data" not in knobs else str(knobs["data"])
    made = instance(name, size, variant, cell.replicate, folder)
    entry = found.entries[str(knobs["entry"])]
    answer = run(made, entry, found.size[size], {k: float(v) for k, v in cell.parameters.items()}, cell.replicate)
    scores = [row[found.measure] for row in answer["curve"] if row.get(found.measure) is not None]
    fine = answer["status"] in ("finished", "budget", "stationary", "precision") and scores
    return {**answer, "score": min(scores) if fine else None, "source": made.source}, []


def run(made: Instance, entry: Entry, size: Size, knobs: dict[str, float], seed: int) -> RunAnswer:
    """One run of a method on an instance."""
    curve = Curve(made, max(size.growth, DEAR if made.dear else GROWTH))
    problem: Any = ExternalProblem(made.model, entry.name, made.around, curve)
    letters = letters_of(entry, knobs, made.constants)
    budget = {"calls": size.calls, "iterations": size.iterations}
    record = "all" if made.around is not None else "last"
    with np.errstate(all="ignore"):
        done = run_method(
            problem,
            entry.method,
            letters,
            made.start,
            budget=budget,
            seed=seed,
            record=record,
        )
    seconds = time.process_time() - curve.began - curve.aside
    if problem.ready_oracles.trouble:
        raise problem.ready_oracles.trouble[0]
    if made.around is not None:
        _along_the_trace(curve, done)
    elif curve.last is not None and all(np.all(np.isfinite(part)) for part in curve.last):
        curve.measure(*curve.last)
    x = np.asarray(done.x, dtype=float)
    final = made.final(x, np.zeros(0)) if np.all(np.isfinite(x)) else {}
    return {
        "curve": curve.rows,
        "counts": curve.counts,
        "reported": {kind: int(n) for kind, n in done.counts.items()},
        "prices": {kind: curve.prices[kind] / n for kind, n in curve.counts.items()},
        "calls": curve.calls,
        "iterations": int(done.iterations),
        "restarts": int(sum(done.restarted)),
        "curvature_steps": done.curvature_steps,
        "status": done.status,
        "note": done.note,
        "seconds": seconds,
        "final": {key: value for key, value in final.items() if math.isfinite(value)},
        "letters": {key: value for key, value in letters.items() if isinstance(value, int | float)},
    }


def _along_the_trace(curve: Curve, done: Run) -> None:
    """Curves of simple bilevel methods: iterates of the trace, where every iteration asks the same oracles.

    Where one does not (a phase before the first, a search inside), calls cannot be told apart: only the end is kept.
    """
    points = np.asarray(done.trace.sequences["y" if done.method == "bi-sg" else "x"], dtype=float)
    seconds, last = time.process_time() - curve.began - curve.aside, len(points) - 1
    each, places = calls_of_one(curve.order, last), [last]
    if each is not None:
        places = sorted({0, last, *np.geomspace(1, last, 300).astype(int).tolist()})
    for place in places:
        if np.all(np.isfinite(points[place])):
            calls = curve.calls if each is None else max(1, each * place)
            curve.measure(points[place], np.zeros(0), calls)
            curve.rows[-1]["seconds"] = seconds * calls / curve.calls


def calls_of_one(order: Sequence[str], iterations: int) -> int | None:
    """Calls of one iteration, where all make the same calls in the same order; one more may have been cut short.

    None where they do not, and where there is one kind of calls alone: then nothing shows where an iteration ends.
    """
    if iterations < 1 or len(set(order)) < 2:
        return None
    for each in range(-(-len(order) // (iterations + 1)), len(order) // iterations + 1):
        if list(order) == (list(order[:each]) * (iterations + 1))[: len(order)]:
            return each
    return None

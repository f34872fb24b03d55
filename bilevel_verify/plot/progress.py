"""How fast a method gets on: gap and gradient norm against oracle calls, by type, against iterations, against time."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bilevel_verify.campaign.statistics import oracle_calls
from bilevel_verify.errors import BilevelVerifyError, InputError
from bilevel_verify.language import nearest
from bilevel_verify.methods import stream
from bilevel_verify.methods.engine import KernelStepper
from bilevel_verify.methods.kernels.steps import ROWS_OF_AN_ITERATION
from bilevel_verify.methods.run import Run
from bilevel_verify.oracles import named_counts
from bilevel_verify.plot.landscape import proved
from bilevel_verify.plot.style import MARKS, canvas, legend, line_style, picture, plain
from bilevel_verify.problems.problem import Problem
from bilevel_verify.solving import solve
from bilevel_verify.truth import truth

FloatArray = NDArray[np.float64]
ROW_BY_ROW = 2_000
"""Rows up to which the counts are read after every iteration; then blocks grow, so that long runs stay fast."""
MOST_PLACES = 600
"""Places of a run at which truth is asked: more are no longer told apart in a picture."""
STARTS = ("x0", "y0", "v0", "noise", "budget", "seed")


Place = tuple[FloatArray, int, Mapping[str, int], float]
"""An iterate, the iterations until it was known, the calls and the seconds until then."""


@dataclass(frozen=True, slots=True)
class History:
    """A run with what it had cost at some of its rows.

    Attributes
    ----------
    run : the whole run.
    x : iterates at these places, shape (n, dx).
    iterations : how many there had been, over all epochs, shape (n,).
    calls : kind of call -> how many it took until the iterate was known, shape (n,).
    seconds : of the loop alone (compiling is over before), shape (n,).
    """

    run: Run
    x: FloatArray
    iterations: NDArray[np.int64]
    calls: Mapping[str, NDArray[np.int64]]
    seconds: FloatArray

    def cost(self, against: str) -> FloatArray:
        """The horizontal axis: ``calls`` (all kinds but stopping tests), one kind, ``iterations`` or ``seconds``.

        Raises
        ------
        InputError : a kind that the run never asked for.
        """
        if against == "iterations":
            return self.iterations.astype(float)
        if against == "seconds":
            return self.seconds
        if against == "calls":
            each = [n for kind, n in self.calls.items() if oracle_calls({kind: 1})]
            return np.sum(each, axis=0).astype(float) if each else np.zeros(len(self.x))
        if against not in self.calls:
            known = ("calls", "iterations", "seconds", *self.calls)
            raise InputError(
                f"against: {self.run.method} has no {against!r}{nearest(against, known)}; {', '.join(known)}"
            )
        return self.calls[against].astype(float)


def history(problem: Problem, method: str, eps: Any = None, **options: Any) -> History:
    """Run a method as :func:`bilevel_verify.solve` does and read its counts as it goes on.

    Parameters
    ----------
    options : those of ``solve`` (``x0``, ``parameters``, ``budget`` ...).

    Raises
    ------
    ParameterError, InputError : as ``solve``.
    """
    first = solve(problem, method, eps=eps, **options)
    given = {name: options[name] for name in STARTS if options.get(name) is not None}
    letters = {**first.parameters, **(options.get("parameters") or {})}
    running = stream(problem, method, letters, eps=eps, compiled=first.compiled, **given)
    found: list[Place] = []
    seen, steps, seconds, outcome = 0, 0, 0.0, None
    before: Mapping[str, int] = {}
    one = ROWS_OF_AN_ITERATION if isinstance(running.stepper, KernelStepper) else 1
    while outcome is None:
        begin = time.perf_counter()
        block, outcome = running.stepper.advance(one if seen < ROW_BY_ROW else seen // 16)
        took = time.perf_counter() - begin
        running.take(block, outcome)
        trace = block.trace()
        counts = named_counts(running.stepper.counts, minimax=problem.kind == "minimax")
        moved = trace.k > 0
        # a row is opened before its iteration asks anything: the first of a block cost what the last block ended with
        for row, cost, when in ((0, before, seconds), (-1, counts, seconds + took))[: len(trace.k)]:
            done = steps + int(np.count_nonzero(moved[: len(moved) + row + 1 if row else 1]))
            found.append((np.asarray(trace.x[row], dtype=float), done, cost, when))
        seen, steps, seconds, before = seen + len(trace.k), steps + int(moved.sum()), seconds + took, counts
    kinds = sorted({kind for _, _, counts, _ in found for kind, n in counts.items() if n})
    calls = {kind: np.array([counts.get(kind, 0) for _, _, counts, _ in found]) for kind in kinds}
    iterations = np.array([done for _, done, _, _ in found])
    x = np.array([point for point, _, _, _ in found])
    return History(running.run, x, iterations, calls, np.array([s for *_, s in found]))


@picture
def convergence(
    problem: Problem,
    methods: str | Sequence[str] | Mapping[str, Any],
    eps: object = None,
    *,
    against: str = "calls",
    axes: object = None,
    **options: object,
) -> Any:
    """Gap and gradient norm of one or several methods, both from truth, on logarithmic axes.

    Left: ``phi(x) - inf phi`` (``f(x) - f*`` of a simple bilevel problem), right: ``|grad phi(x)|`` (there
    ``g(x) - g*``). A gap that its error bar does not tell from zero is left out.

    Parameters
    ----------
    methods : names, or label -> name, or label -> :class:`History`.
    against : ``calls`` (every oracle call), one kind such as ``grad_g`` or ``hvp_yy_g``, ``iterations``, ``seconds``.
    axes : two axes.
    options : for :func:`history`, the same for every method.

    Raises
    ------
    InputError : no method, an unknown ``against``; what ``solve`` raises.
    """
    chosen = methods if isinstance(methods, Mapping) else {m: m for m in _listed(methods)}
    if not chosen:
        raise InputError("methods: name at least one")
    if wrong := [one for one in chosen.values() if not isinstance(one, str | History)]:
        raise InputError(f"methods: a name or a History is needed, not {type(wrong[0]).__name__}")
    figure, pair = canvas(axes, columns=2, width=3.6)
    for number, (label, one) in enumerate(chosen.items()):
        found = one if isinstance(one, History) else history(problem, one, eps, **options)
        places = _spread(len(found.x))
        cost = found.cost(against)[places]
        for ax, values in zip(pair, measures(problem, found.x[places]), strict=True):
            seen = np.isfinite(values) & (values > 0)
            every = max(1, int(seen.sum()) // 8)
            mark = {"marker": MARKS[number % len(MARKS)], "markevery": every}
            ax.plot(cost[seen], values[seen], label=plain(label), **line_style(number), **mark)
    titles = (r"$f(x)-f^*$", r"$g(x)-g^*$") if problem.kind == "simple_bilevel" else _titles(problem)
    across = {"calls": "oracle calls", "iterations": "iterations"}.get(against, against)
    for ax, title in zip(pair, titles, strict=True):
        ax.set(xscale="symlog", yscale="log", xlabel=across, title=title)
        legend(ax)
    return figure


def _listed(methods: str | Sequence[str]) -> list[str]:
    return [methods] if isinstance(methods, str) else list(methods)


def _titles(problem: Problem) -> tuple[str, str]:
    return (
        (r"$\varphi(x)-\inf\varphi$", r"$\|\nabla\varphi(x)\|$")
        if problem.y
        else (r"$f(x)-\inf f$", r"$\|\nabla f(x)\|$")
    )


def _spread(count: int) -> NDArray[np.int64]:
    """All places, or so many that are spread evenly over the logarithm; the first and the last always."""
    if count <= MOST_PLACES:
        return np.arange(count)
    return np.unique(np.round(np.geomspace(1, count, MOST_PLACES)).astype(np.int64) - 1)


def measures(problem: Problem, x: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Gap and gradient norm at points, shape (n,) each; NaN where the error is as large as the value."""
    exact = truth(problem)
    if problem.kind == "simple_bilevel":
        from bilevel_verify.oracles import oracles

        ask = oracles(problem)
        above_f, above_g = ask.value_f_batch(x) - exact.f_star.value, ask.value_g_batch(x) - exact.g_star.value
        return _clear(above_f, exact.f_star.error), _clear(above_g, exact.g_star.error)
    values, errors = exact.phi_batch(x)
    gradients, wrong = exact.grad_phi_batch(x)
    try:
        least = exact.phi_min()
        gap = _clear(proved(values, errors) - float(least.value), errors + least.error)
    except BilevelVerifyError:
        gap = np.full(len(x), np.nan)
    return gap, _clear(np.linalg.norm(proved(gradients, wrong[:, None]), axis=1), wrong)


def _clear(values: Any, errors: object) -> FloatArray:
    return np.where(np.abs(values) > errors, values, np.nan)

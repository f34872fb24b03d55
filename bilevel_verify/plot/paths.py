"""Where a run went: its iterates on the hyper-objective, with epochs and restarts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from bilevel_verify.errors import InputError
from bilevel_verify.methods.run import Run
from bilevel_verify.plot.landscape import Box, landscape, proved
from bilevel_verify.plot.style import PALETTE, canvas, legend, mathematical, picture, plain
from bilevel_verify.plot.window import Window, window
from bilevel_verify.problems.problem import Problem
from bilevel_verify.truth import truth

if TYPE_CHECKING:
    from matplotlib.axes import Axes

FloatArray = NDArray[np.float64]
CROWD = 60
"""More restarts than this are drawn small: their squares would hide the path."""
Runs = Run | Sequence[Run] | Mapping[str, Run]


def named_runs(runs: Runs) -> dict[str, Run]:
    """Runs by label: their method, numbered where two are alike."""
    if isinstance(runs, Mapping):
        return dict(runs)
    found: dict[str, Run] = {}
    for run in [runs] if isinstance(runs, Run) else runs:
        label, number = run.method, 2
        while label in found:
            label, number = f"{run.method} ({number})", number + 1
        found[label] = run
    return found


@picture
def trajectory(
    runs: Runs,
    problem: Problem | None = None,
    box: Box | None = None,
    along: str | Sequence[str] | None = None,
    *,
    count: int | None = None,
    axes: object = None,
) -> Any:
    """Iterates of one or several runs: restarts are squares, the start is an open circle, the output a star.

    In two dimensions (or two coordinates of more) the path lies on the contours of phi through the output; in one
    dimension it lies on the curve of phi. A thinned trace is dotted from where rows are missing.

    Parameters
    ----------
    runs : a run, several, or label -> run; of one problem.
    problem : the problem they were made on; without it the path is drawn alone (two coordinates are needed then).
    box, along : the window, by default what the paths need; the coordinates shown, by default the first two.

    Raises
    ------
    InputError : no run, runs of another dimension than the problem, a run without recorded points.
    """
    many = named_runs(runs)
    points = {label: _points(label, run) for label, run in many.items()}
    sizes = {p.shape[1] for p in points.values()}
    if len(sizes) != 1 or (problem is not None and sizes != {problem.dx}):
        asked = "" if problem is None else f", the problem has {problem.dx}"
        raise InputError(f"runs of {sorted(sizes)} coordinates{asked}: draw them on the problem they were made on")
    figure, ax = canvas(axes)
    if problem is None:
        _bare(ax, many, points, along)
        legend(ax, below=True)
        return figure
    last = next(iter(many.values()))
    shown = window(problem, box, along, np.asarray(last.x, dtype=float), cover=np.vstack(list(points.values())))
    landscape(ax, problem, shown, count)
    for number, (label, run) in enumerate(many.items()):
        _path(ax, _placed(points[label], shown, problem), run, label, number)
        _star(ax, _placed(np.atleast_2d(np.asarray(run.x, dtype=float)), shown, problem), number)
    legend(ax, below=True)
    return figure


def _points(label: str, run: Run) -> FloatArray:
    x = run.trace.sequences.get("x")
    if x is None or not len(x):
        raise InputError(f"{label}: the run has no recorded x; solve(..., record='all') keeps it")
    return np.asarray(x, dtype=float)


def _bare(ax: Axes, many: Mapping[str, Run], points: Mapping[str, FloatArray], along: Any) -> None:
    """Paths without a landscape: the coordinates are called x1, x2 ... as there is no problem to name them."""
    size = next(iter(points.values())).shape[1]
    names = [f"x{i + 1}" for i in range(size)]
    chosen = names[:2] if along is None else [along] if isinstance(along, str) else list(along)
    if len(chosen) != 2 or not set(chosen) <= set(names):
        raise InputError("a path of one coordinate is drawn on its problem: give problem=, or two coordinates along=")
    for number, (label, run) in enumerate(many.items()):
        places = [names.index(name) for name in chosen]
        _path(ax, points[label][:, places], run, label, number)
        _star(ax, np.atleast_2d(np.asarray(run.x, dtype=float))[:, places], number)
    ax.set(xlabel=mathematical(chosen[0]), ylabel=mathematical(chosen[1]))


def _placed(points: FloatArray, shown: Window, problem: Problem) -> FloatArray:
    """Points as the axes have them: both coordinates, or the coordinate and the height of phi."""
    flat = points[:, list(shown.places)]
    if len(shown.places) == 2:
        return flat
    return np.column_stack([flat[:, 0], proved(*truth(problem).phi_batch(points))])


def _path(ax: Any, points: FloatArray, run: Run, label: str, number: int) -> None:
    colour = PALETTE[(number + 1) % len(PALETTE)]
    kept = len(points) if run.trace.thinned_from is None else run.trace.thinned_from
    said = f"{plain(label)}: {run.iterations} iterations" + (f", {run.epochs} epochs" if run.epochs > 1 else "")
    dots = "." if kept <= 200 else ""
    ax.plot(*points[:kept].T, color=colour, marker=dots, markersize=3, linewidth=1, label=said)
    if kept < len(points):
        ax.plot(*points[kept - 1 :].T, color=colour, linewidth=0.8, linestyle=":", label="thinned from here on")
    ax.plot(*points[0], "o", markerfacecolor="white", markeredgecolor=colour, markersize=6)
    restarts = np.flatnonzero(np.diff(run.trace.epoch) > 0) + 1
    if len(restarts):
        style = {"markerfacecolor": "none", "markeredgecolor": colour, "linestyle": "none"}
        size = 6 if len(restarts) <= CROWD else 2
        ax.plot(*points[restarts].T, marker="s", markersize=size, label=f"{len(restarts)} restarts", **style)


def _star(ax: Axes, where: FloatArray, number: int) -> None:
    ax.plot(*where.T, "*", color=PALETTE[(number + 1) % len(PALETTE)], markeredgecolor="black", markersize=11)

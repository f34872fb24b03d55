"""What a search looks like: the share of a bound over the candidates, and the run on the worst of them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from bilevel_verify.worst.tightness import Tightness

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

LEAST = 1e-12
"""Smaller shares are drawn here."""


def picture(
    statement: str, one: Tightness, families: Sequence[str], history: Sequence[tuple[int, str, str, float]]
) -> Figure:
    """Two panels: the share of every candidate with the best so far, and the trajectory of the worst instance.

    ``history`` : (candidate, claim, family, share), in the order of the search.
    """
    from matplotlib.figure import Figure

    figure = Figure(figsize=(10, 4), layout="constrained")
    left, right = figure.subplots(1, 2)
    _course(left, one.claim, families, history)
    _trajectory(right, one)
    figure.suptitle(f"{statement}: {one.claim}, {one.word}")
    return figure


def _course(axes: Axes, claim: str, families: Sequence[str], history: Sequence[tuple[int, str, str, float]]) -> None:
    for name in families:
        points = [(n, max(r, LEAST)) for n, about, family, r in history if about == claim and family == name]
        if points:
            axes.plot(*zip(*points), ".", markersize=3, alpha=0.6, label=name)
    course = [(n, max(r, LEAST)) for n, about, _, r in history if about == claim]
    if course:
        axes.step([n for n, _ in course], np.maximum.accumulate([r for _, r in course]), "k", lw=1, label="best so far")
    axes.axhline(1.0, color="tab:red", lw=1, label="the bound")
    axes.set(yscale="log", xlabel="candidate", ylabel="share of the bound")
    axes.legend(fontsize=7)


def _trajectory(axes: Axes, one: Tightness) -> None:
    """The iterates of the run on the worst instance; the place of a claim about points."""
    points = None if one.run is None else np.asarray(one.run.trace.x, dtype=float)
    if points is None:
        axes.text(0.5, 0.5, one.share.where or "no run", ha="center", va="center", wrap=True, fontsize=8)
        axes.set_axis_off()
        return
    if points.shape[1] >= 2:
        axes.plot(points[:, 0], points[:, 1], ".-", lw=0.8)
        axes.plot(*points[0, :2], "o", color="tab:green", label="start")
        axes.set(xlabel="$x_1$", ylabel="$x_2$")
        axes.legend(fontsize=7)
    else:
        axes.plot(points[:, 0], ".-", lw=0.8)
        axes.set(xlabel="row of the run", ylabel="$x$")
    axes.set_title("the run on the worst instance", fontsize=9)

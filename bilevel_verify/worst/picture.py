"""What a search looks like: the share of a bound over the candidates, and the run on the worst of them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from bilevel_verify.errors import InputError

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from bilevel_verify.worst.result import Tightness, WorstCase

LEAST = 1e-12
"""Smaller shares are drawn here."""


def picture(found: WorstCase, claim: str | None = None) -> Figure:
    """Two panels: the share of every candidate with the best so far, and the trajectory of the worst instance.

    Parameters
    ----------
    claim : name of a claim; the tightest by default.

    Raises
    ------
    InputError : no candidate decided the claim.
    """
    from matplotlib.figure import Figure

    names = [one.claim for one in found.claims]
    if not names or (claim is not None and claim not in names):
        what = f"{claim!r}; there are {', '.join(names)}" if names else "any claim"
        raise InputError(f"{found.statement}: the search decided nothing about {what}")
    one = found[claim or names[0]]
    figure = Figure(figsize=(10, 4), layout="constrained")
    left, right = figure.subplots(1, 2)
    _course(left, found, one)
    _trajectory(right, one)
    figure.suptitle(f"{found.statement}: {one.claim}, {one.word}")
    return figure


def _course(axes: Any, found: WorstCase, one: Tightness) -> None:
    for name in found.families:
        points = [(n, max(r, LEAST)) for n, claim, family, r in found.history if claim == one.claim and family == name]
        if points:
            axes.plot(*zip(*points), ".", markersize=3, alpha=0.6, label=name)
    course = [(n, max(r, LEAST)) for n, claim, _, r in found.history if claim == one.claim]
    if course:
        axes.step([n for n, _ in course], np.maximum.accumulate([r for _, r in course]), "k", lw=1, label="best so far")
    axes.axhline(1.0, color="tab:red", lw=1, label="the bound")
    axes.set(yscale="log", xlabel="candidate", ylabel="share of the bound")
    axes.legend(fontsize=7)


def _trajectory(axes: Any, one: Tightness) -> None:
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

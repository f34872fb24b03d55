"""The hyper-objective over a window, with what is certified about it, and the penalty functions that approach it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from bilevel_verify.errors import BilevelVerifyError, InputError
from bilevel_verify.plot.style import GREY, PALETTE, canvas, legend, line_style, mathematical, named, picture
from bilevel_verify.plot.window import Window, window
from bilevel_verify.problems.problem import Problem
from bilevel_verify.truth import truth
from bilevel_verify.truth.truth import Truth

if TYPE_CHECKING:
    from matplotlib.axes import Axes

FloatArray = NDArray[np.float64]
Box = Mapping[str, Sequence[float]]
CURVE, FIELD = 401, 81
"""Points along a curve; along each axis of contours."""
LOOKS = {"minimum": ("o", PALETTE[2]), "maximum": ("^", PALETTE[1]), "saddle": ("X", PALETTE[4])}
SEARCH = 4_000
"""Boxes of the search for stationary points: a picture need not wait for all of a hard problem."""


@picture
def hyper_objective(
    problem: Problem,
    box: Box | None = None,
    along: str | Sequence[str] | None = None,
    point: object = None,
    *,
    stationary: bool = True,
    count: int | None = None,
    axes: object = None,
) -> Any:
    """The hyper-objective: a curve in one dimension, contours in two, a slice in more.

    Points that are proved to be stationary in the window are marked by their kind, and so is the enclosed minimum over
    the window; boxes that may hold further stationary points are counted in the legend. A gap is a place where the
    lower level has no proved solution.

    Parameters
    ----------
    problem : of any kind but simple bilevel (for one level phi is f).
    box : variable -> (low, high); by default the declared range, or 3 around the start where that has no end.
    along, point : the coordinates that are shown, and the point that the others stay at (default: the first two, the
        start). On a slice nothing is marked but that point.
    stationary : look for stationary points (bounded work; the legend says if some may be missing).
    count : points along each axis.

    Raises
    ------
    InputError : an unknown variable, an empty range, a simple bilevel problem.
    """
    shown = window(problem, box, along, point)
    figure, ax = canvas(axes)
    landscape(ax, problem, shown, count)
    if shown.slice:
        at = [shown.point[i] for i in shown.places]
        height = [float(truth(problem).phi(shown.point).value)] if len(at) == 1 else []
        ax.plot(*([v] for v in (*at, *height)), "o", color=PALETTE[1], label="the point that the slice goes through")
    else:
        _mark(ax, truth(shown.restricted(problem)), shown, stationary)
    legend(ax, below=True)
    return figure


@picture
def surface(problem: Problem, count: int) -> Any:
    """The hyper-objective alone, nothing searched for: what a report of many problems can pay."""
    figure, ax = canvas(None)
    landscape(ax, problem, window(problem), count)
    return figure


def landscape(ax: Axes, problem: Problem, shown: Window, count: int | None = None) -> None:
    """Curve or contours of phi alone."""
    coordinates, points = shown.grid((CURVE if len(shown.places) == 1 else FIELD) if count is None else count)
    values = proved(*truth(problem).phi_batch(points))
    ax.set_title(f"{named(problem)}: " + (r"$\varphi$" if problem.y else "$f$") + _at(shown, problem))
    ax.set_xlabel(mathematical(shown.names[0]))
    if len(shown.places) == 1:
        ax.plot(coordinates[0], values, color=PALETTE[0], label=r"$\varphi$" if problem.y else "$f$")
        ax.set_ylabel(r"$\varphi$" if problem.y else "$f$")
        return
    field = np.ma.masked_invalid(values.reshape(len(coordinates[0]), -1).T)
    if field.count() == 0:
        raise InputError("phi has no proved value in this window; choose another box")
    ax.contour(*coordinates, field, levels=18, cmap="Greys", linewidths=0.7)
    filled = ax.contourf(*coordinates, field, levels=18, cmap="cividis", alpha=0.75)
    if ax.figure is not None:
        ax.figure.colorbar(filled, ax=ax, shrink=0.9)
    ax.set_ylabel(mathematical(shown.names[1]))
    ax.grid(False)


def _at(shown: Window, problem: Problem) -> str:
    """The values of the coordinates that a slice does not show."""
    hidden = [i for i in range(len(shown.point)) if i not in shown.places]
    if not hidden:
        return ""
    said = ", ".join(f"{problem.x[i].name} = {shown.point[i]:.3g}" for i in hidden[:3])
    return f" where {said}" + (" ..." if len(hidden) > 3 else "")


def proved(values: FloatArray, errors: FloatArray) -> FloatArray:
    """Values with NaN where there is no enclosure: a picture shows a gap there and no invented line."""
    return np.where(np.isfinite(errors), values, np.nan)


def _mark(ax: Any, exact: Truth, shown: Window, stationary: bool) -> None:
    """Stationary points by kind, then the minimum over the window."""
    flat = len(shown.places) == 1
    if stationary:
        try:
            found = exact.stationary_points(SEARCH)
        except BilevelVerifyError:
            found = None
        for kind in ("minimum", "maximum", "saddle", "degenerate"):
            points = [np.asarray(p.x.value) for p in (found.points if found else ()) if p.kind == kind]
            if not points:
                continue
            mark, colour = LOOKS.get(kind, ("d", GREY))
            where = np.array(points)
            heights = [exact.phi_batch(where)[0]] if flat else []
            certain = {p.x.certainty for p in found.points} if found else set()
            word = "certified" if certain <= {"proved", "certified"} else "computed"
            label = f"{len(points)} stationary: {kind} ({word})"
            style = {"color": colour, "markeredgecolor": "black", "markeredgewidth": 0.6, "linestyle": "none"}
            ax.plot(*where.T, *heights, marker=mark, label=label, **style)
        if found is not None and not found.complete:
            ax.plot([], [], " ", label=f"{len(found.undecided)} boxes may hold more")
    try:
        least, best = exact.phi_min(), exact.phi_argmin()
    except BilevelVerifyError:
        return
    if not np.isfinite(least.value) or best.shape != (len(shown.places),):
        return
    place = "minimum" if shown.whole else "minimum of this window"
    label = f"{place}: {float(least.value):.6g} ± {least.error:.1g} ({least.certainty})"
    ax.plot(*([v] for v in best), *([[float(least.value)]] if flat else []), "*", color=PALETTE[3], ms=11, label=label)


@picture
def penalty(
    problem: Problem,
    lam: Sequence[float] = (1.0, 3.0, 10.0, 100.0),
    box: Box | None = None,
    along: str | None = None,
    point: object = None,
    *,
    count: int = 201,
    axes: object = None,
) -> Any:
    """``L*_lam`` for several lambda beside phi, along one coordinate of x, and how far below phi each of them lies.

    Parameters
    ----------
    lam : the penalty parameters; where f + lam g has no proved minimiser in y, and in the second axes where the
        distance is not above its error, the curve has a gap.
    axes : one (no distances), or two.
    along, point : the coordinate, and the point that the others stay at (default: the first, the start).

    Raises
    ------
    InputError : a problem without a lower level, lambda that is not positive.
    """
    if not problem.y:
        raise InputError("a problem of one level has no penalty function")
    if not len(lam) or any(not 0 < v < float("inf") for v in lam):
        raise InputError(f"lam: positive numbers are needed, not {list(lam)}")
    shown = window(problem, box, along, point, most=1)
    figure, drawn = canvas(axes, columns=2, width=3.6)
    ax, below = drawn if isinstance(drawn, list | tuple) else (drawn, None)
    coordinates, points = shown.grid(count)
    exact = truth(problem)
    phi, error = exact.phi_batch(points)
    ax.plot(coordinates[0], proved(phi, error), color="black", linewidth=2, label=r"$\varphi$")
    for number, value in enumerate(lam):
        curve, doubt = exact.L_star_batch(points, float(value))
        label = rf"$L^*_\lambda$, $\lambda$ = {value:g}"
        ax.plot(coordinates[0], proved(curve, doubt), label=label, **line_style(number))
        if below is not None:
            clear = np.where(phi - curve > error + doubt, phi - curve, np.nan)
            below.plot(coordinates[0], clear, label=label, **line_style(number))
    ax.set(xlabel=mathematical(shown.names[0]), title=f"{named(problem)}: penalty" + _at(shown, problem))
    legend(ax)
    if below is not None:
        below.set(xlabel=mathematical(shown.names[0]), title=r"$\varphi - L^*_\lambda$", yscale="log")
    return figure

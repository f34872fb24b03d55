"""Where a problem is least smooth: the curvature at every point of a window beside the certified constant."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from bilevel_verify.constants import constants
from bilevel_verify.errors import BilevelVerifyError, InputError
from bilevel_verify.oracles import oracles
from bilevel_verify.plot.style import PALETTE, canvas, legend, mathematical, named, picture
from bilevel_verify.plot.window import REACH, bounded, given_range
from bilevel_verify.problems.problem import Problem

if TYPE_CHECKING:
    from matplotlib.axes import Axes

FloatArray = NDArray[np.float64]
FIELD, CURVE = 81, 401
LETTERS = {"L_g": ("g", "all"), "L_f": ("f", "all"), "L": ("f", "all"), "mu": ("g", "yy")}
"""Letter -> whose Hessian, and which block: its largest singular value, of ``yy`` its smallest eigenvalue."""


@picture
def curvature(
    problem: Problem,
    letter: str | None = None,
    box: Mapping[str, Sequence[float]] | None = None,
    along: Sequence[str] | None = None,
    *,
    count: int | None = None,
    axes: Any = None,
) -> Any:
    """The quantity whose largest (of ``mu``: smallest) value is the constant, at every point of a window.

    ``L_g``, ``L_f``, ``L``: the spectral norm of the Hessian of g or f in all variables. ``mu``: the smallest
    eigenvalue of its block in y. Values are floating point at points; the certified constant, which holds on the
    whole domain, stands in the title.

    Parameters
    ----------
    letter : by default ``L_g``, or ``L`` of a problem of one level.
    box : variable -> (low, high), x and y alike; by default the declared range, or 3 around the start.
    along : one or two variables, by default the first of x and the first of y; the others stay at the start.

    Raises
    ------
    InputError : another letter, an unknown variable.
    """
    chosen = letter or ("L_g" if problem.y else "L")
    known = ("L_g", "L_f", "mu") if problem.y else ("L",)
    if chosen not in known:
        raise InputError(f"letter: curvature is drawn for {', '.join(known)}, not {chosen!r}")
    names = [s.name for s in problem.variables]
    shown = list(along) if along is not None else _default(problem)
    if not 1 <= len(set(shown)) == len(shown) <= 2 or not {*shown, *(box or {})} <= set(names):
        raise InputError(f"along, box: one or two of {', '.join(names[:12])}")
    ranges = [_ends(problem, name, (box or {}).get(name)) for name in shown]
    size = bounded((CURVE if len(shown) == 1 else FIELD) if count is None else count, len(shown))
    coordinates = [np.linspace(*ends, size) for ends in ranges]
    mesh = np.meshgrid(*coordinates, indexing="ij")
    points = np.tile(_centre(problem), (mesh[0].size, 1))
    for name, values in zip(shown, mesh, strict=True):
        points[:, names.index(name)] = values.ravel()
    field = sizes(problem, chosen, points)
    figure, ax = canvas(axes)
    _draw(ax, coordinates, field, shown, chosen == "mu")
    ax.set_title(_title(problem, chosen))
    legend(ax, below=True)
    return figure


def sizes(problem: Problem, letter: str, points: FloatArray) -> FloatArray:
    """The curvature behind a letter at rows (x, y), shape (n,)."""
    function, block = LETTERS[letter]
    X, Y = points[:, : problem.dx], points[:, problem.dx :]
    ask = oracles(problem)
    below = function == "g" and problem.kind == "minimax"  # its lower level is -f
    sign = -1.0 if below else 1.0
    xx, xy, yy = (ask.hess_f_batch if function == "f" or below else ask.hess_g_batch)(X, Y)
    if block == "yy":
        return np.asarray(np.linalg.eigvalsh(sign * yy)[:, 0])
    if not problem.y:
        return np.asarray(np.abs(np.linalg.eigvalsh(xx)).max(axis=1))
    joint = np.concatenate(
        [np.concatenate([xx, xy], axis=2), np.concatenate([xy.transpose(0, 2, 1), yy], axis=2)], axis=1
    )
    return np.asarray(np.abs(np.linalg.eigvalsh(joint)).max(axis=1))


def _default(problem: Problem) -> list[str]:
    if problem.y:
        return [problem.x[0].name, problem.y[0].name]
    return [s.name for s in problem.x[:2]]


def _ends(problem: Problem, name: str, given: Sequence[float] | None) -> tuple[float, float]:
    if given is not None:
        return given_range(name, given)
    place = [s.name for s in problem.variables].index(name)
    low, high = (float(v) for v in problem.range_of(problem.variables[place]))
    middle = float(np.clip(_centre(problem)[place], low, high))
    return (low if np.isfinite(low) else middle - REACH), (high if np.isfinite(high) else middle + REACH)


def _centre(problem: Problem) -> FloatArray:
    start = np.zeros(problem.dx) if problem.start is None else np.asarray(problem.start, dtype=float)
    return np.concatenate([start, np.zeros(problem.dy)])


def _draw(ax: Axes, coordinates: list[FloatArray], field: FloatArray, shown: list[str], least: bool) -> None:
    peak = int(np.nanargmin(field) if least else np.nanargmax(field))
    label = f"{'smallest' if least else 'largest'} here: {field[peak]:.4g} (computed)"
    ax.set_xlabel(mathematical(shown[0]))
    if len(coordinates) == 1:
        ax.plot(coordinates[0], field, color=PALETTE[0])
        ax.plot(coordinates[0][peak], field[peak], "o", color=PALETTE[1], label=label)
        return
    table = np.ma.masked_invalid(field.reshape(len(coordinates[0]), -1))
    filled = ax.contourf(*coordinates, table.T, levels=18, cmap="cividis")
    if ax.figure is not None:
        ax.figure.colorbar(filled, ax=ax, shrink=0.9)
    row, column = np.unravel_index(peak, table.shape)
    ax.plot(coordinates[0][row], coordinates[1][column], "o", color=PALETTE[1], markeredgecolor="white", label=label)
    ax.set_ylabel(mathematical(shown[1]))
    ax.grid(False)


def _title(problem: Problem, letter: str) -> str:
    name = f"{named(problem)}: {mathematical(letter)}"
    try:
        found = constants(problem)[letter]
    except (BilevelVerifyError, KeyError):
        return name
    sign = r"$\geq$" if found.side == "lower" else r"$\leq$"
    return f"{name} {sign} {found.value:.6g} on the domain ({found.status})"

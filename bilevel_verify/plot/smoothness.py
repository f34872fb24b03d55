"""Where a problem is least smooth: the curvature at every point of a window beside the certified constant."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from bilevel_verify.constants import Letter, constants, letters_of
from bilevel_verify.constants.formula.domain import domain_of
from bilevel_verify.errors import BilevelVerifyError, InputError
from bilevel_verify.language import nearest
from bilevel_verify.plot.pointwise import HYPER, hyper_sizes, sizes, why_not
from bilevel_verify.plot.style import PALETTE, canvas, legend, mathematical, named, picture
from bilevel_verify.plot.window import REACH, bounded, given_range
from bilevel_verify.problems.problem import Problem

if TYPE_CHECKING:
    from matplotlib.axes import Axes

FloatArray = NDArray[np.float64]
FIELD, CURVE = 81, 401


@picture
def curvature(
    problem: Problem,
    letter: str | None = None,
    box: Mapping[str, Sequence[float]] | None = None,
    along: Sequence[str] | None = None,
    *,
    paper: str | None = None,
    count: int | None = None,
    axes: object = None,
) -> Any:
    """The quantity whose largest (of ``mu``: smallest) value is the constant, at every point of a window.

    Every constant of :func:`bilevel_verify.constants` that is a supremum over points: norms of gradients, Hessians,
    third and fourth derivatives and of their blocks, and smallest eigenvalues. ``L_phi`` is the spectral norm of the
    Hessian of the hyper-objective, of which no constant is certified. Values are floating point at points; the
    certified constant, which holds on the whole domain, stands in the title.

    Parameters
    ----------
    letter : by default the first Lipschitz constant of a gradient: ``L_g``, ``ell`` of minimax, ``L`` of one level.
    box : variable -> (low, high), x and y alike; by default the declared range, or 3 around the start.
    along : one or two variables, by default the first of x and the first of y; the others stay at the start.
    paper : whose letters, as in :func:`bilevel_verify.constants`.

    Raises
    ------
    InputError : a letter that the paper does not have, or whose constant has no value at a point; an unknown variable.
    """
    chosen = _letter(problem, letter, paper)
    names = [s.name for s in (problem.x if chosen is None else problem.variables)]
    shown = list(along) if along is not None else _default(problem, names)
    if not 1 <= len(set(shown)) == len(shown) <= 2 or not {*shown, *(box or {})} <= set(names):
        raise InputError(f"along, box: one or two of {', '.join(names[:12])}")
    ranges = [_ends(problem, name, (box or {}).get(name)) for name in shown]
    size = bounded((CURVE if len(shown) == 1 else FIELD) if count is None else count, len(shown))
    coordinates = [np.linspace(*ends, size) for ends in ranges]
    mesh = np.meshgrid(*coordinates, indexing="ij")
    points = np.tile(_centre(problem)[: len(names)], (mesh[0].size, 1))
    for name, values in zip(shown, mesh, strict=True):
        points[:, names.index(name)] = values.ravel()
    field = hyper_sizes(problem, points) if chosen is None else sizes(problem, chosen, points)
    if not np.isfinite(field).any():
        raise InputError("box: the derivative has no value at any point of this window; choose another")
    figure, ax = canvas(axes)
    _draw(ax, coordinates, field, shown, chosen is not None and chosen.measure == "strong convexity")
    ax.set_title(_title(problem, chosen, paper))
    legend(ax, below=True)
    return figure


def _letter(problem: Problem, name: str | None, paper: str | None) -> Letter | None:
    """What a letter of the paper means; None of ``L_phi``, which no paper's set has."""
    known = letters_of(paper, problem.kind)
    if name is None:
        return next(one for one in known.letters if one.measure == "norm" and len(one.parts[0][1]) == 2)
    if name in known.names:
        return known.names[name]
    if name == HYPER:
        return None
    drawn = [one.name for one in known.letters if not why_not(one)] + [HYPER]
    said = f"curvature is drawn for {', '.join(drawn)} ({known.key}), not {name!r}"
    raise InputError(f"letter: {said}{nearest(name, drawn)}")


def _default(problem: Problem, names: list[str]) -> list[str]:
    if problem.y and len(names) > problem.dx:
        return [problem.x[0].name, problem.y[0].name]
    return names[:2] if problem.dx > 1 else names[:1]


def _ends(problem: Problem, name: str, given: Sequence[float] | None) -> tuple[float, float]:
    if given is not None:
        return given_range(name, given)
    place, domain = [s.name for s in problem.variables].index(name), domain_of(problem)
    low, high, middle = float(domain.lo[place]), float(domain.hi[place]), float(_centre(problem)[place])
    return (low if np.isfinite(low) else middle - REACH), (high if np.isfinite(high) else middle + REACH)


def _centre(problem: Problem) -> FloatArray:
    """The start, y at zero, moved into the declared ranges: elsewhere no constant bounds what is drawn."""
    start = np.zeros(problem.dx) if problem.start is None else np.asarray(problem.start, dtype=float)
    domain = domain_of(problem)
    return np.asarray(np.clip(np.concatenate([start, np.zeros(problem.dy)]), domain.lo, domain.hi))


def _draw(ax: Axes, coordinates: list[FloatArray], field: FloatArray, shown: list[str], least: bool) -> None:
    field = np.where(np.isfinite(field), field, np.nan)
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


def _title(problem: Problem, letter: Letter | None, paper: str | None) -> str:
    name = f"{named(problem)}: {mathematical(HYPER if letter is None else letter.name)}"
    if letter is None:
        return f"{name}: Hessian of the hyper-objective"
    try:
        found = constants(problem, paper)[letter.name]
    except BilevelVerifyError:
        return name
    sign = r"$\geq$" if found.side == "lower" else r"$\leq$"
    where = "over the lower-level solutions" if letter.measure == "gradient" else "on the domain"
    return f"{name} {sign} {found.value:.6g} {where} ({found.status})"

"""Performance and data profiles of methods over instances."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any

from bilevel_verify.campaign import statistics
from bilevel_verify.campaign.statistics import Profile, oracle_calls
from bilevel_verify.errors import InputError
from bilevel_verify.methods.run import ENDED, Run
from bilevel_verify.plot.style import canvas, legend, line_style, picture, plain

if TYPE_CHECKING:
    from matplotlib.figure import Figure


@picture
def performance_profile(runs: Iterable[Run], cost: Callable[[Run], float] | None = None, *, axes: object = None) -> Any:
    """Share of the instances that a method solves within a factor of the best method (Dolan and Moré).

    Parameters
    ----------
    runs : several methods on the same instances (problem, tolerance, start).
    cost : of a run; by default all oracle calls. A run that did not end by itself did not solve its instance.

    Raises
    ------
    InputError : fewer than two instances that all methods ran on.
    """
    costs, _ = costs_of(runs, cost)
    figure, ax = canvas(axes)
    across = "cost / cost of the best method"
    return _draw(figure, ax, statistics.performance_profile(costs), across, "performance profile", costs)


@picture
def data_profile(
    runs: Iterable[Run], dimensions: Mapping[str, int] | None = None, cost: Callable[[Run], float] | None = None,
    *, axes: object = None,
) -> Any:  # fmt: skip
    """Share of the instances solved within x groups of (dimension + 1) oracle calls (Moré and Wild).

    Parameters
    ----------
    dimensions : problem -> number of variables; by default the length of x.

    Raises
    ------
    InputError : fewer than two instances that all methods ran on.
    """
    costs, sizes = costs_of(runs, cost, dimensions)
    figure, ax = canvas(axes)
    across = "oracle calls / (dimension + 1)"
    return _draw(figure, ax, statistics.data_profile(costs, sizes), across, "data profile", costs)


Costs = dict[str, dict[str, float | None]]


def costs_of(
    runs: Iterable[Run], cost: Callable[[Run], float] | None, dimensions: Mapping[str, int] | None = None
) -> tuple[Costs, dict[str, int]]:
    """Method -> instance -> cost, over the instances that every method ran on, and the dimension of each instance."""
    found: Costs = {}
    sizes: dict[str, int] = {}
    for run in runs:
        if not isinstance(run, Run):
            raise InputError(f"profiles compare runs, as bv.solve gives them, not {type(run).__name__}")
        start = run.trace.sequences.get("x")
        first = [] if start is None or not len(start) else [float(v) for v in start[0]]
        instance = repr((run.problem, run.eps, first))
        sizes[instance] = (dimensions or {}).get(run.problem, len(run.x))
        spent = float(oracle_calls(run.counts) if cost is None else cost(run))
        found.setdefault(run.method, {})[instance] = spent if run.status in ENDED else None
    shared = set.intersection(*(set(c) for c in found.values())) if found else set()
    if len(shared) < 2:
        raise InputError(f"a profile needs two instances that every method ran on; there are {len(shared)}")
    return {m: {i: c for i, c in by.items() if i in shared} for m, by in found.items()}, sizes


def _draw(figure: Figure, ax: Any, profiles: list[Profile], across: str, title: str, costs: Costs) -> Any:
    end = 1.1 * max((x for p in profiles for x in p.x), default=1.0)
    for number, profile in enumerate(profiles):
        if profile.x:
            x, share = [profile.x[0], *profile.x, end], [0.0, *profile.share, profile.share[-1]]
            ax.step(x, share, where="post", label=plain(profile.method), **line_style(number))
    instances = len(next(iter(costs.values())))
    ax.set(xscale="log", xlabel=across, ylabel="share of instances solved", ylim=(-0.02, 1.04))
    ax.set_title(f"{title}, {instances} instances")
    legend(ax, below=True)
    return figure

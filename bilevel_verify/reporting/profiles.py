"""Methods side by side: performance and data profiles over the runs of a document.

An instance is a problem with its knobs, tolerance, start and seed. A method solved it when the run ended by its own
exit or its gradient test. The cost is the number of oracle calls, those of stopping tests apart (they are bookkeeping).
"""

from __future__ import annotations

from collections.abc import Sequence

from bilevel_verify.campaign.statistics import Profile, data_profile, oracle_calls, performance_profile
from bilevel_verify.reporting.document import PlotLine, ProblemEntry, ProfilePlot, RunEntry
from bilevel_verify.reporting.plots import moved

FEWEST_INSTANCES = 2


def profile_records(runs: Sequence[RunEntry], problems: Sequence[ProblemEntry]) -> list[ProfilePlot]:
    """Plots of both profiles; empty unless two methods share at least two instances.

    Instances count only where every method of the comparison ran: a method is not blamed for what it was not asked.
    """
    costs, places = _costs(runs)
    shared = set.intersection(*(set(c) for c in costs.values())) if len(costs) >= 2 else set()
    if len(shared) < FEWEST_INSTANCES:
        return []
    common = {m: {i: c for i, c in by.items() if i in shared} for m, by in sorted(costs.items())}
    sizes = {p["name"]: (p.get("dx") or 0) + (p.get("dy") or 0) for p in problems}
    dimensions = {i: sizes.get(places[i], 1) for i in shared}
    note = f"{len(shared)} instances that all {len(common)} methods were run on"
    return [
        _plot("performance profile", "cost / cost of the best method", performance_profile(common), note),
        _plot("data profile", "oracle calls / (dimension + 1)", data_profile(common, dimensions), note),
    ]


def _costs(runs: Sequence[RunEntry]) -> tuple[dict[str, dict[str, float | None]], dict[str, str]]:
    from bilevel_verify.methods.run import ENDED

    costs: dict[str, dict[str, float | None]] = {}
    places: dict[str, str] = {}
    for run in runs:
        given = run.get("given") or {}
        setting = {k: v for k, v in moved(run).items() if k not in given}
        instance = repr((run["problem"], sorted(setting.items()), run.get("x0"), run.get("replicate") or 0))
        places[instance] = run["problem"]
        calls = oracle_calls(run["counts"])
        cost = float(calls) if run["status"] in ENDED and calls else None
        known = costs.setdefault(run["method"], {}).get(instance)
        costs[run["method"]][instance] = cost if known is None else min(known, cost or known)
    return costs, places


def _plot(name: str, x_label: str, profiles: Sequence[Profile], note: str) -> ProfilePlot:
    reached = [x for p in profiles for x in p.x]
    end = max(reached, default=1.0) * 1.1
    lines = [_steps(p, end) for p in profiles if p.x]
    return {"name": name, "x_label": x_label, "y_label": "share of instances solved", "lines": lines, "note": note}


def _steps(profile: Profile, end: float) -> PlotLine:
    """Both ends of every step, so that a straight polyline draws it."""
    x, y = [profile.x[0]], [0.0]
    for place, share in zip(profile.x, profile.share, strict=True):
        x += [place, place]
        y += [y[-1], share]
    return {"name": profile.method, "style": "steps", "x": [*x, end], "y": [*y, y[-1]]}

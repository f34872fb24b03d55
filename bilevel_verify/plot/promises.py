"""What a theorem promises beside what was measured: along a run, along a sweep, and over all claims at once."""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping, Sequence
from typing import Any

from bilevel_verify.campaign.statistics import oracle_calls, used_share
from bilevel_verify.checks.judging.orders import local_slopes
from bilevel_verify.checks.series import Series, series_of
from bilevel_verify.checks.verdicts.verdict import Row
from bilevel_verify.checks.verdicts.verification import Verification
from bilevel_verify.errors import InputError
from bilevel_verify.methods.run import Run
from bilevel_verify.plot.style import (
    GREY,
    MARKS,
    PALETTE,
    Picture,
    canvas,
    few_decades,
    legend,
    line_style,
    picture,
    plain,
)

VERDICT_COLOURS = {
    "holds": PALETTE[2],
    "consistent": PALETTE[0],
    "refuted": PALETTE[1],
    "inconsistent": PALETTE[3],
    "undecided": PALETTE[4],
    "uninformative": GREY,
    "not applicable": GREY,
}
VERDICT_MARKS = {"holds": "o", "consistent": "s", "refuted": "X", "inconsistent": "D", "undecided": "^"}


@picture
def along(problem: object, statement: str, claim: str | None = None, *, axes: object = None, **options: Any) -> Any:
    """Measured against bound at every place of a run, with the place where the bound is closest.

    Parameters
    ----------
    statement : "paper/id"; ``claim`` one of its claims over steps or epochs (default: the one with the most places).
    options : those of :func:`bilevel_verify.verify` (``eps``, ``x0``, ``method``, ``parameters`` ...).

    Raises
    ------
    InputError : no such statement or claim, or none over steps or epochs; the run could not be made.
    """
    shown = _chosen(series_of(problem, statement, claim, **options), statement)
    figure, ax = canvas(axes)
    _place_by_place(ax, shown)
    return figure


@picture
def one_series(shown: Series) -> Picture:
    """Measured against bound of a series that the caller has chosen, as :func:`along` draws it."""
    figure: Picture
    figure, ax = canvas(None)
    _place_by_place(ax, shown)
    return figure


def _place_by_place(ax: Any, shown: Series) -> None:
    places = range(len(shown.judgements))
    mark = "" if len(places) > 60 else "."
    measured = [j.measured for j in shown.judgements]
    bounds = [j.bound for j in shown.judgements]
    ax.plot(places, measured, label=_short(shown.left), marker=mark, **line_style(0))
    ax.plot(places, bounds, label=_short(shown.right), color="black", linestyle="--", marker=mark)
    tight = shown.tightest
    if tight is not None:
        at = shown.judgements[tight]
        word = "broken most" if at.answer is False else "closest"
        said = f"{word}: place {tight}{f' ({at.where})' if at.where else ''}, margin {at.margin:.3g}"
        colour = PALETTE[1] if at.answer is False else PALETTE[2]
        ax.plot([tight], [at.measured], "o", markersize=8, markerfacecolor="none", markeredgecolor=colour, label=said)
        ax.axvline(tight, color=colour, linewidth=0.6, linestyle=":")
    for place in shown.restarts:
        ax.axvline(place - 0.5, color=GREY, linewidth=0.4)
    ax.xaxis.get_major_locator().set_params(integer=True)
    values = [v for v in (*measured, *bounds) if math.isfinite(v)]
    if values and min(values) > 0 and max(values) > 100 * min(values):
        ax.set_yscale("log")
    ax.set(
        xlabel=f"places of the claim (over {shown.over}), in the order of the run"
        if shown.over != "run"
        else "the end of the run",
        title=plain(f"{shown.statement}, {shown.claim}"),
    )
    legend(ax, below=True)


def _chosen(found: Sequence[Series], statement: str) -> Series:
    """The series with the most decided places."""
    decided = [(sum(math.isfinite(j.margin) for j in one.judgements), one) for one in found]
    most = max(number for number, _ in decided)
    if most == 0:
        why = next((j.reason for one in found for j in one.judgements if j.reason), "")
        raise InputError(f"{statement}: nothing to draw along the run{': ' + why if why else ''}")
    return next(one for number, one in decided if number == most)


def _short(text: str) -> str:
    return plain(text if len(text) <= 40 else text[:37] + "...")


@picture
def scaling(source: object, count: str = "iterations", exponent: float | None = None, *, axes: object = None) -> Any:
    """Counts against 1/eps (or the letter of a sweep), the promised slope drawn in, and the local slopes beside them.

    Parameters
    ----------
    source : a verification with an order claim that was judged over a sweep, or runs at several tolerances.
    count : of runs: ``iterations``, ``epochs``, a kind of call, or ``calls`` for all of them.
    exponent : of runs: the promised one; of a verification it is the row's own.
    axes : two axes.

    Raises
    ------
    InputError : fewer than two points, or no judged order in the verification.
    """
    lines = _orders(source) if isinstance(source, Verification) else [_counted(source, count, exponent)]
    figure, pair = canvas(axes, columns=2, width=3.6)
    left, right = pair
    for number, (label, driver, counts, bounds, promised) in enumerate(lines):
        style = {**line_style(number), "marker": MARKS[number % len(MARKS)]}
        left.plot(driver, counts, label=label, **style)
        if bounds:
            left.plot(
                driver,
                _through(bounds, counts),
                "k--",
                linewidth=1,
                label=_promise(promised) + ", through the last point",
            )
        slopes = local_slopes(driver, counts)
        middles = [math.sqrt(a * b) for a, b in itertools.pairwise(driver)]
        right.plot(middles, slopes, label=label, **style)
        if promised is not None:
            right.axhline(promised, color="black", linestyle="--", linewidth=1)
    left.set(xscale="log", yscale="log", xlabel=r"$1/\varepsilon$" if _in_eps(source) else "driver", ylabel="count")
    right.set(
        xscale="log", xlabel=left.get_xlabel(), ylabel="local slope", title="slope between neighbours; dashed: promised"
    )
    few_decades(left.xaxis)
    few_decades(right.xaxis)
    legend(left, below=True)
    return figure


Line = tuple[str, list[float], list[float], list[float], float | None]


def _in_eps(source: object) -> bool:
    if not isinstance(source, Verification):
        return True
    return any(e is not None for row in source.claims for e in (row.details.get("eps") or () if _swept(row) else ()))


def _swept(row: Row) -> bool:
    return row.kind == "order" and len(row.details.get("driver") or ()) >= 2


def _orders(source: Verification) -> list[Line]:
    found: list[Line] = []
    for row in source.claims:
        if _swept(row):
            details = row.details
            shown = [float(c) for c in details["counts"]]
            bounds = [float(b) for b in details.get("bounds") or ()]
            found.append((f"{row.claim}: {row.left}", [float(d) for d in details["driver"]], shown, bounds, row.bound))
    if not found:
        raise InputError(f"{source.statement}: no order was judged over a sweep; give verify at least two tolerances")
    return found


def _counted(source: object, count: str, exponent: float | None) -> Line:
    if not isinstance(source, Sequence) or not all(isinstance(run, Run) for run in source):
        raise InputError("scaling takes a verification, or runs at two or more tolerances in a list")
    runs: list[Run] = sorted((r for r in source if r.eps), key=lambda r: -float(r.eps or 0))
    if len(runs) < 2:
        raise InputError("scaling needs runs at two or more tolerances: [bv.solve(p, method, eps=e) for e in ...]")
    driver = [1 / float(run.eps or 1) for run in runs]
    counts = [float(_count(run, count)) for run in runs]
    if min(counts) <= 0:
        raise InputError(f"count: a run has no {count!r}; its counts are {dict(runs[0].counts)}")
    bounds = [] if exponent is None else [d**exponent for d in driver]
    return f"{runs[0].method}: {count}", driver, counts, bounds, exponent


def _count(run: Run, count: str) -> int:
    own: Mapping[str, int] = {"iterations": run.iterations, "epochs": run.epochs, "calls": oracle_calls(run.counts)}
    return own[count] if count in own else int(run.counts.get(count, 0))


def _through(bounds: Sequence[float], counts: Sequence[float]) -> list[float]:
    """An order has no constant: its curve is drawn through the last point."""
    return [b * counts[-1] / bounds[-1] for b in bounds]


def _promise(exponent: float | None) -> str:
    return "promised order" if exponent is None else f"promised slope {exponent:.4g}"


@picture
def margins(source: Verification | Sequence[Row], *, axes: object = None) -> Any:
    """How much of each bound is used: measured / bound of every claim, by verdict, one line a claim.

    Rows without two positive sides of one size have no such share; they are counted under the axis.

    Raises
    ------
    InputError : no row has a share.
    """
    rows = source.claims if isinstance(source, Verification) else tuple(source)
    shares = [
        (row, share) for row in rows if (share := used_share(row.kind, row.measured, row.bound, row.margin)) is not None
    ]
    if not shares:
        raise InputError("no row has a measured and a bound that can be divided")
    names = list(dict.fromkeys(_claim_name(row) for row, _ in shares))
    figure, ax = canvas(axes, height=0.9 + 0.28 * len(names))
    for verdict in dict.fromkeys(row.verdict for row, _ in shares):
        members = [(share, names.index(_claim_name(row))) for row, share in shares if row.verdict == verdict]
        style = {"marker": VERDICT_MARKS.get(verdict, "."), "color": VERDICT_COLOURS[verdict], "linestyle": "none"}
        ax.plot(*zip(*members, strict=True), label=verdict, **style)
    ax.axvline(1, color="black", linewidth=1)
    missing = len(rows) - len(shares)
    said = f"; {missing} rows have no such share" if missing else ""
    ax.set(xscale="log", xlabel=f"measured / bound{said}", yticks=range(len(names)), yticklabels=names)
    ax.invert_yaxis()
    legend(ax, below=True)
    return figure


def _claim_name(row: Row) -> str:
    return _short(f"{row.statement or ''}:{row.claim or row.kind}".lstrip(":"))

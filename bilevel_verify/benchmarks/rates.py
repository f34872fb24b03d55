"""Observed exponents: run the series of the rate table, judge them by the rule for orders, keep them.

The interval is that of the rule for orders (:mod:`bilevel_verify.checks.judging.orders`): the hull of the local slopes
over the last half of the range, widened by their drift. Results go to ``rates.md`` and ``rates.json``, where a report
finds them.
"""

from __future__ import annotations

import json
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, NotRequired, TypedDict

from bilevel_verify.benchmarks.rate_one_level import IN_DIMENSION, ONE_LEVEL
from bilevel_verify.benchmarks.rate_series import Series
from bilevel_verify.benchmarks.rate_two_levels import IN_EPS, IN_KAPPA, MINIMAX
from bilevel_verify.campaign.statistics import oracle_calls, power_law
from bilevel_verify.errors import InputError
from bilevel_verify.methods.run import ENDED
from bilevel_verify.reporting.rates import DATA

if TYPE_CHECKING:
    from bilevel_verify.checks.judging.orders import Rate
    from bilevel_verify.methods.run import Run
    from bilevel_verify.problems.problem import Problem


class PointRecord(TypedDict):
    """One run of a series: the value of the letter and what was counted; a product has no iterations of its own."""

    value: float
    count: float
    iterations: NotRequired[int]
    epochs: NotRequired[int]
    status: str
    seconds: float


class Growth(TypedDict):
    """What was measured along a series."""

    points: list[PointRecord]
    slopes: list[float]
    interval: list[float]
    slope: float
    last: float


class SeriesRecord(Growth):
    """A series with its judgement; one of the user's own (``own``) may promise nothing and names no problem."""

    name: str
    paper: str
    source: str
    problem: NotRequired[str]
    knobs: NotRequired[dict[str, str]]
    method: NotRequired[str]
    letter: str
    count: str
    fixed: NotRequired[dict[str, float]]
    exponent: float | None
    log: list[float] | None
    expected: NotRequired[list[float]]
    tolerance: float | None
    note: str
    own: NotRequired[bool]
    verdict: str
    reason: str
    within: bool | None


SERIES: tuple[Series, ...] = (*ONE_LEVEL, *IN_EPS, *IN_KAPPA, *MINIMAX, *IN_DIMENSION)
TABLE = "rates.md"
SMALL_BUDGET = 2000
"""Calls of a run that is made only to have the parameters of its theorem resolved."""
NEARBY, LEAST = 1e-4, 1e-9
UPPER_BOUND = 1e-4
"""An upper bound of the drop of the amplified ramps; it enters prescribed lengths by its logarithm."""


def chosen(only: str = "", short: bool = False) -> tuple[Series, ...]:
    """Series whose name contains a text; the short version has the cheap settings of a few.

    Raises
    ------
    InputError : no series has such a name.
    """
    named = [s for s in SERIES if only.lower() in s.name.lower()]
    if not named:
        raise InputError(f"no series of the rate table contains {only!r}; see bilevel-verify rates --list")
    needed = {name for s in named for name in s.product}
    every = [s for s in SERIES if s in named or s.name in needed]
    return tuple(replace(s, values=s.values[: s.short]) for s in every if s.short) if short else tuple(every)


class Runs:
    """Runs of series; a run that several series count is made once."""

    def __init__(self) -> None:
        self._known: dict[Any, Any] = {}

    def measure(self, series: Series, done: Mapping[str, SeriesRecord] | None = None) -> SeriesRecord:
        """All points of a series and the judgement of its rate; ``done`` has the factors of a product."""
        points = _product(series, done or {}) if series.product else [self.point(series, v) for v in series.values]
        return judged(series, points)

    def point(self, series: Series, value: float) -> PointRecord:
        """One run of a series, and what it counted."""
        letters: dict[str, float] = {**series.fixed, series.letter: value}
        begin = time.process_time()
        run = self._run(series, letters)
        return point_of(run, value, series.count, time.process_time() - begin)

    def _run(self, series: Series, letters: Mapping[str, float]) -> Run:
        problem = instance(series.problem, series.knobs, letters)
        eps, start = letters["eps"], _start(problem)
        own = None
        if series.parameters is not None:
            known = {}
            if series.prescribed:
                sample = self._solve(problem, series.prescribed, eps, None, start, SMALL_BUDGET)
                known = {k: v for k, v in sample.parameters.items() if isinstance(v, int | float)}
            own = series.parameters({**known, **letters})
        if series.outer:
            return self._solve(hyper_objective(problem), series.outer, eps, own, start, series.budget)
        return self._solve(problem, series.method, eps, own, start, series.budget)

    def _solve(
        self,
        problem: Problem,
        method: str,
        eps: float,
        own: Mapping[str, float] | None,
        start: Sequence[float],
        budget: int,
    ) -> Run:
        from bilevel_verify.solving import solve

        key = (problem.content_hash(), method, eps, tuple(sorted((own or {}).items())), tuple(start), budget)
        if key not in self._known:
            values = {"Delta": UPPER_BOUND} if problem.kind == "bilevel" else {}
            options: dict[str, Any] = {"budget": budget, "record": "thin", "values": values, "x0": list(start)}
            self._known[key] = solve(problem, method, eps=eps, parameters=own, **options)
        run: Run = self._known[key]
        return run


def instance(name: str, knobs: Mapping[str, object], letters: Mapping[str, float]) -> Problem:
    """The problem of the zoo with these knobs at these letters; a letter that is a knob of the entry is handed on."""
    from bilevel_verify.problems import zoo
    from bilevel_verify.problems.catalogue import record

    known = record(name).knobs
    given = {k: v for k, v in letters.items() if k in known and k not in knobs}
    whole = {k: int(v) if v == int(v) else v for k, v in given.items()}
    found = zoo(name, **{**knobs, **whole})
    member: Problem = found if hasattr(found, "content_hash") else found.at(**letters)
    return member


def hyper_objective(problem: Problem) -> Problem:
    """The hyper-objective of a zoo problem as a problem of one level, from its closed form."""
    from bilevel_verify.problems import single_level

    return single_level(f=problem.known["phi"], x=[str(s) for s in problem.x])


def _start(problem: Problem) -> list[float]:
    """The problem's own start; beside the saddle of the needle, on which nothing would be perturbed."""
    start = [float(a) for a in problem.start or ()]
    return [NEARBY] * len(start) if not any(start) and problem.kind == "single_level" else start


def point_of(run: Run, value: float, count: str, seconds: float) -> PointRecord:
    """The record of one run of a series."""
    found = counted(run, count)
    return {
        "value": value,
        "count": int(found) if found == int(found) else round(found, 4),
        "iterations": run.iterations,
        "epochs": run.epochs,
        "status": run.status,
        "seconds": round(seconds, 2),
    }


def counted(run: Run, count: str) -> float:
    """What a series counts in a run: a kind of call, ``iterations``, ``epochs``, a sum or a quotient of them."""
    top, _, bottom = count.partition("/")
    if bottom:
        return counted(run, top) / max(1.0, counted(run, bottom))
    names = top.strip("()").split("+")
    if names == ["any"]:
        return float(oracle_calls(run.counts))
    own = {"iterations": run.iterations, "epochs": run.epochs}
    return float(sum(own[name] if name in own else run.counts.get(name, 0) for name in names))


def _product(series: Series, done: Mapping[str, SeriesRecord]) -> list[PointRecord]:
    """Points of a product: values that all its factors have, their counts multiplied."""
    missing = [name for name in series.product if name not in done]
    if missing:
        raise InputError(f"{series.name} is a product; its factor {missing[0]!r} has not been measured")
    factors = [{p["value"]: p for p in done[name]["points"]} for name in series.product]
    points: list[PointRecord] = []
    for value in factors[0]:
        parts = [factor[value] for factor in factors if value in factor]
        if len(parts) == len(factors):
            count = 1.0
            for part in parts:
                count *= part["count"]
            status = "finished" if parts[0]["status"] in ENDED else parts[0]["status"]
            points.append({"value": value, "count": round(count), "status": status, "seconds": 0.0})
    return points


def judged(series: Series, points: Sequence[PointRecord]) -> SeriesRecord:
    """The record of a series: its points, local slopes, interval, verdict, and the nearness to the exponent."""
    driver = driver_of(points, series.letter)
    bound = [x**series.exponent * hidden_logarithm(series, p["value"]) for x, p in zip(driver, points, strict=True)]
    rate, growth = growth_of(points, series.letter, bound)
    finished = series.start or all(p["status"] in ENDED for p in points)
    fitted, promised = (power_law(driver, y)[0] for y in ([max(p["count"], LEAST) for p in points], bound))
    distance = min(abs(fitted - promised), abs(rate.slope - rate.exponent))
    return {
        "name": series.name,
        "paper": series.paper,
        "source": series.source,
        "problem": series.problem,
        "knobs": {k: str(v) for k, v in series.knobs.items()},
        "method": series.outer or series.method,
        "letter": series.letter,
        "count": series.count,
        "fixed": dict(series.fixed),
        "exponent": series.exponent,
        "log": None if series.log is None else list(series.log),
        "expected": [round(e, 4) for e in rate.expected],
        "tolerance": series.tolerance,
        "note": series.note,
        "points": growth["points"],
        "slopes": growth["slopes"],
        "interval": growth["interval"],
        "slope": growth["slope"],
        "last": growth["last"],
        "verdict": rate.verdict if finished else "undecided",
        "reason": rate.reason if finished else "budget: a run was not finished",
        "within": None if series.tolerance is None else bool(distance <= series.tolerance),
    }


def driver_of(points: Sequence[PointRecord], letter: str) -> list[float]:
    """What grows along a series: 1/eps, or the letter itself."""
    return [1 / p["value"] if letter == "eps" else p["value"] for p in points]


def growth_of(points: Sequence[PointRecord], letter: str, bound: Sequence[float]) -> tuple[Rate, Growth]:
    """The judgement of a growth by the rule for orders, and the part of a record that says what was measured."""
    from bilevel_verify.checks.judging.orders import judge_order

    driver, counts = driver_of(points, letter), [max(p["count"], LEAST) for p in points]
    rate = judge_order(driver, counts, bound)
    return rate, {
        "points": list(points),
        "slopes": [round(s, 4) for s in rate.slopes],
        "interval": [round(end, 4) for end in rate.interval],
        "slope": round(power_law(driver, counts)[0], 4),
        "last": round(rate.slope, 4),
    }


def hidden_logarithm(series: Series, value: float) -> float:
    """The logarithm that a promise hides, at one value of the letter; 1 where it hides none."""
    from math import log

    if series.log is None:
        return 1.0
    at = {**series.fixed, **{k: float(v) for k, v in series.knobs.items() if k == "kappa"}, series.letter: value}
    return series.log[0] * log(at.get("kappa", 1.0)) - series.log[1] * log(at["eps"])


def table(rows: Iterable[SeriesRecord]) -> str:
    """The table as Markdown."""
    heads = ("series", "promised by", "letter", "exponent", "fitted", "last local", "interval", "points")
    rule = "| --- | --- | --- | ---: | ---: | ---: | --- | ---: | ---: | --- |"
    lines = ["| " + " | ".join((*heads, "largest count", "verdict")) + " |", rule]
    for row in rows:
        low, high = row["interval"]
        near = "" if row["within"] is None else (f" (within {row['tolerance']:g})" if row["within"] else " (not near)")
        exponent = row["exponent"]
        power = "" if exponent is None else f"{exponent:.3f}" + (" + log" if row["log"] else "")
        lines.append(
            f"| {row['name']} | {row['source']} | {row['letter']} | {power} | {row['slope']:.3f} | {row['last']:.3f} | "
            f"[{low:.3f}, {high:.3f}] | {len(row['points'])} | {max(p['count'] for p in row['points']):.3g} | "
            f"{row['verdict']}{near} |"
        )
    return "\n".join(lines)


PREFACE = """# Observed exponents

Written by `bilevel-verify rates --out reports`; every run with its count is in `rates.json`. Counts are deterministic:
the interval is the hull of the local slopes over the last half of the range, widened by their drift. Parameters and
tolerances are those of each theorem (step, radius, momentum, lengths), with the exact constants of the instance. What
is slow here is a prescribed scheme on an instance that makes it slow: `consistent` says that a count grew no faster
than printed; `(within ...)` marks instances on which the printed exponent shows. `+ log`: the promise hides a
logarithm, which is part of the bound that the slopes are compared with; the exponent is that of the power. Exponents in
kappa are measured factor by factor: outer iterations with exact hypergradients and the printed parameters, inner steps
an outer iteration of the literal method, and their product; the literal method alone goes as far as it can be paid.
"""


def kept(folder: Path | None) -> dict[str, SeriesRecord]:
    """The series that a folder has, by name."""
    path = None if folder is None else folder / DATA
    if path is None or not path.exists():
        return {}
    try:
        return {row["name"]: row for row in json.loads(path.read_text(encoding="utf-8"))}
    except (OSError, ValueError, KeyError, TypeError):
        raise InputError(f"{path} is not a file of rates; choose another --out folder") from None


def write(rows: Iterable[SeriesRecord], folder: Path) -> None:
    """``rates.md`` and ``rates.json``; series that were not measured now keep what the folder has.

    Raises
    ------
    InputError : the folder cannot be written, or has a file of that name that is something else.
    """
    known = kept(folder) | {row["name"]: row for row in rows}
    place = {series.name: number for number, series in enumerate(SERIES)}
    ordered = sorted(known.values(), key=lambda row: place.get(row["name"], len(place)))
    ordered = [row for row in ordered if row["name"] in place or row.get("own")]
    try:
        folder.mkdir(parents=True, exist_ok=True)
        (folder / DATA).write_text(json.dumps(ordered, indent=1) + "\n", encoding="utf-8")
        (folder / TABLE).write_text(PREFACE + "\n" + table(ordered) + "\n", encoding="utf-8")
    except OSError as error:
        raise InputError(f"{folder}: {error.strerror or error}: choose another --out folder") from None

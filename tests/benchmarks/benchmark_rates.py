"""Observed exponents in eps, kappa, nu and d on the hard instances of the zoo, beside the exponents of the papers.

    python tests/benchmarks/benchmark_rates.py --out reports          all series (some minutes)
    python tests/benchmarks/benchmark_rates.py --short                the cheap settings, table on the screen
    python tests/benchmarks/benchmark_rates.py --only ramp            series whose name contains "ramp"

Every series is a family of problems along one letter, a method with the parameters of its theorem, and a count. The
interval is that of the rule for orders: the hull of the local slopes over the last half of the range, widened by
their drift. Results go to ``rates.md`` and ``rates.json``.
"""

from __future__ import annotations

import argparse
import json
import math
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import bilevel_verify as bv
from bilevel_verify.checks.orders import judge_order

BUDGET = 2 * 10**9
Letters = Mapping[str, float]


@dataclass(frozen=True)
class Series:
    """One line of the table: a family, a method, and what is counted along one letter."""

    name: str
    problem: str
    knobs: Mapping[str, Any]
    method: str
    letter: str
    values: Sequence[float]
    exponent: float
    count: str = "iterations"
    fixed: Letters = field(default_factory=dict)
    parameters: Callable[[Letters], dict[str, float]] | None = None
    tolerance: float | None = 0.06
    """How far the slope of a sharp instance may be from the exponent; None where the instance only stays below it."""
    short: int = 0
    """How many of the first values the short version takes; 0: the series is not in it."""
    source: str = ""


def _agd(factor: float, theta: float, radius: float) -> Callable[[Letters], dict[str, float]]:
    """Step 1/(4L), theta and B of a restarted method for L = rho = 1; K = 1/theta rounded up."""

    def letters(at: Letters) -> dict[str, float]:
        eps = at["eps"]
        momentum = theta * (eps / 16) ** 0.25
        return {"eta": 0.25, "B": radius * math.sqrt(eps), "theta": momentum, "K": math.ceil(1 / momentum - 1e-9)}

    return letters


def _jin(at: Letters) -> dict[str, float]:
    found = _agd(1, 4, 1)(at)
    gamma = found["theta"] ** 2 / found["eta"]
    return {**found, "gamma": gamma, "s": gamma / 4}


def _practical(theta: float, radius: float, unknown: bool = False) -> Callable[[Letters], dict[str, float]]:
    def letters(at: Letters) -> dict[str, float]:
        found = _agd(1, theta, radius)(at)
        more = {"c1": 2.0, "c2": 2.0, "c3": 2.0, "L": 0.25, "rho": 0.25} if unknown else {"L": 1.0, "rho": 1.0}
        return {**found, "B0": 100 * found["B"], "c": 2.0, **more}

    return letters


def _frame(at: Letters) -> dict[str, float]:
    return {"eta": 0.25, "B": math.sqrt(at["eps"]), "K": math.ceil(1 / math.sqrt(at["eps"]))}


def _scheme(at: Letters) -> dict[str, float]:
    return {"L": 1.0, "H_nu": 1.0, "nu_f": at.get("nu", 1.0)}


def _descent(at: Letters) -> dict[str, float]:
    return {"eta": 1.0}


def _cubic(at: Letters) -> dict[str, float]:
    return {"M": 1.0, "m": 1, "T": 10**9}


E = (1e-1, 3e-2, 1e-2, 3e-3, 1e-3, 3e-4)
LONG = (1e-7, 3e-8, 1e-8, 3e-9, 1e-9, 3e-10)
RAMP, TINY = {"s": "2*eps", "drop": 1}, "1/10000000"
KAPPAS = (16, 24, 32, 48, 64)
AMPLIFIER = {"s": "80*eps/kappa", "drop": "1/1000000000"}

SERIES = (
    Series("ramp, gradient descent", "ramp", RAMP, "gradient-descent", "eps", E, 2.0, parameters=_descent, short=5,
           source="step 1/L until |grad| <= eps"),
    Series("ramp, restarted AGD", "ramp", {"s": "40*eps", "drop": TINY}, "restarted-agd", "eps", LONG, 1.75,
           parameters=_agd(1, 4, 1), short=5, source="Li & Lin, Theorem 1"),
    Series("ramp, RAGD-GS scheme", "ramp", {"s": "2*eps", "drop": "1/100000000"}, "general-smoothness+exact", "eps",
           (1e-7, 4e-8, 1.6e-8, 8e-9, 4e-9, 2e-9), 1.75, parameters=_scheme, short=5, source="RAGD-GS, Theorem 1, nu = 1"),
    Series("ramp, cubic Newton", "ramp", RAMP, "cubic-newton", "eps", (1e-1, 3e-2, 1e-2, 3e-3, 1e-3), 1.5,
           parameters=_cubic, short=5, source="Nesterov & Polyak, M = rho"),
    Series("ramp, restarted HB", "ramp", {"s": "400*eps", "drop": "1/100000"}, "restarted-hb", "eps",
           LONG[:5], 1.75, parameters=_agd(1, 10, 0.5), source="Li & Lin, Theorem 4"),
    Series("ramp, AGD-Jin", "ramp", {"s": "40*eps", "drop": TINY}, "agd-jin", "eps", LONG[:5], 1.75, parameters=_jin,
           tolerance=None, source="Li & Lin, Theorem 6; momentum is kept between epochs"),
    Series("ramp, practical restarted AGD", "ramp", {"s": "40*eps", "drop": TINY}, "restarted-agd-practical", "eps",
           LONG[:5], 1.75, parameters=_practical(4, 1), tolerance=None, source="Li & Lin, Theorem 2; B0 = 100 B"),
    Series("ramp, practical restarted AGD, values", "ramp", {"s": "40*eps", "drop": TINY}, "restarted-agd-practical",
           "eps", LONG[:5], 1.5, count="value_f", parameters=_practical(4, 1), tolerance=None,
           source="Li & Lin, Theorem 2, function values"),
    Series("ramp, unknown L and rho", "ramp", {"s": "40*eps", "drop": TINY}, "restarted-agd-practical", "eps", LONG[:5],
           1.75, parameters=_practical(4, 1, unknown=True), tolerance=None, source="Li & Lin, Remark 2"),
    Series("ramp, practical restarted HB", "ramp", {"s": "400*eps", "drop": "1/100000"}, "restarted-hb-practical", "eps",
           LONG[:5], 1.75, parameters=_practical(10, 0.5), tolerance=None,
           source="Li & Lin, Theorem 5"),
    Series("ramp, gradient descent in the restart frame", "ramp", {"s": "40*eps", "drop": "1/10000"},
           "gradient-descent-restarted", "eps", (1e-5, 3e-6, 1e-6, 3e-7, 1e-7), 2.0, parameters=_frame, tolerance=None,
           source="Li & Lin, section 5.2"),
    *(
        Series(f"ramp-nu, RAGD-GS scheme, nu = {nu}", "ramp-nu", {"s": "2*eps", "drop": TINY, "nu": nu},
               "general-smoothness+exact", "eps", (1e-6, 4e-7, 1.6e-7, 8e-8, 4e-8), (4 + 3 * nu) / (2 + 2 * nu),
               fixed={"nu": nu}, parameters=_scheme, short=0, source="RAGD-GS with Hoelder exponent nu")
        for nu in (0.75, 0.5, 0.25)
    ),
    Series("w-ramp, gradient descent", "w-ramp", {"e": "eps", "drop": 1}, "gradient-descent", "eps", E[1:], 2.0,
           parameters=_descent, tolerance=None, source="saddle and slope"),
    Series("log-well, gradient descent", "log-well", {"s": "eps", "c": 1}, "gradient-descent", "eps", E[1:], 2.0,
           parameters=lambda at: {"eta": 0.5}, source="a fixed function, started at 1/eps"),
    Series("tail p = 2, gradient descent", "tail", {"p": 2}, "gradient-descent", "eps", E[1:], 1.5,
           parameters=_descent, source="its own law 1 + 1/p; the theorem has 2"),
    Series("amplifier, RAHGD in eps, outer", "amplifier-ramp", {"s": "20*eps", "drop": "1/10000", "kappa": 2}, "rahgd", "eps",
           (1e-4, 3e-5, 1e-5, 3e-6), 1.75, tolerance=0.1, source="RAHGD, Theorem 3.4"),
    Series("amplifier, RAHGD in kappa, outer", "amplifier-ramp", AMPLIFIER, "rahgd", "kappa", KAPPAS, 2.75,
           fixed={"eps": 1e-6}, source="RAHGD, Theorem 3.4", tolerance=0.1),
    Series("amplifier, RAHGD in kappa, Gc(g)", "amplifier-ramp", AMPLIFIER, "rahgd", "kappa", KAPPAS, 3.25,
           count="grad_g", fixed={"eps": 1e-6}, source="RAHGD, Corollary 3.6, logarithm included", tolerance=0.15),
    Series("amplifier, RAHGD in kappa, HV(g)", "amplifier-ramp", AMPLIFIER, "rahgd", "kappa", KAPPAS, 3.25,
           count="hvp_yy_g", fixed={"eps": 1e-6}, source="RAHGD, Corollary 3.6, logarithm included", tolerance=0.15),
    Series("chain-lower in kappa, AGD inside AID, Gc(g)", "chain-lower", {"d": 6}, "aid-bio", "kappa", KAPPAS, 1.0,
           count="grad_g", parameters=lambda at: {"alpha": 1.0, "beta": 0.01, "D": math.ceil(at["kappa"]),
                                                   "N_cg": math.ceil(math.sqrt(at["kappa"])), "steps": 50},
           tolerance=None, source="AID-BiO as recalled: D = kappa"),
    Series("needle in d, perturbed AGD, practical constants", "needle", {}, "restarted-agd-perturbed", "d",
           (2, 4, 8, 16, 32), 0.0, count="grad_f", fixed={"eps": 1e-3}, tolerance=None,
           parameters=lambda at: _perturbed(at), source="Theorem 3: polylogarithmic in d"),
)  # fmt: skip


def _perturbed(at: Letters) -> dict[str, float]:
    eps, d = at["eps"], at["d"]
    theta = 0.5 * eps**0.25
    radius = math.sqrt(eps) / 288
    chi = math.log(400 * math.sqrt(d) / (theta**2 * 0.1))
    return {"eta": 0.25, "B": radius, "theta": theta, "K": math.ceil(2 * chi / theta), "r": theta * radius / 20}


_RUNS: dict[Any, Any] = {}
"""Runs that several series count."""


def point(series: Series, value: float) -> dict[str, Any]:
    """One run of a series."""
    at: dict[str, float] = {**series.fixed, series.letter: value}
    eps = at["eps"]
    knobs = dict(series.knobs)
    for name in ("kappa", "nu", "d"):
        if name in at and name not in knobs and series.problem not in ("ramp-nu",):
            knobs[name] = int(at[name]) if at[name] == int(at[name]) else at[name]
    problem = bv.zoo(series.problem, **knobs)
    if not hasattr(problem, "content_hash"):
        problem = problem.at(eps=eps)
    start: dict[str, Any] = {"x0": [1e-4] * problem.dx} if series.problem == "needle" else {}
    begin = time.perf_counter()
    letters = None if series.parameters is None else series.parameters(at)
    leaves = {"Delta": 1e-4} if series.problem == "amplifier-ramp" else {}  # an upper bound; it enters by its logarithm
    options = {"budget": BUDGET, "record": "thin", "values": leaves, **start}
    key = (problem.content_hash(), series.method, eps, tuple(sorted((letters or {}).items())))
    if key not in _RUNS:
        _RUNS[key] = bv.solve(problem, series.method, eps=eps, parameters=letters, **options)
    run = _RUNS[key]
    count = run.iterations if series.count == "iterations" else run.counts.get(series.count, 0)
    return {
        "value": value,
        "count": int(count),
        "iterations": run.iterations,
        "epochs": run.epochs,
        "status": run.status,
        "seconds": round(time.perf_counter() - begin, 2),
    }


def measure(series: Series, short: bool = False) -> dict[str, Any]:
    """All runs of a series and the judgement of its rate."""
    values = series.values[: series.short] if short else series.values
    points = [point(series, value) for value in values]
    driver = [1 / p["value"] if series.letter == "eps" else p["value"] for p in points]
    bound = [x**series.exponent for x in driver]
    rate = judge_order(driver, [max(1, p["count"]) for p in points], bound)
    mean = _least_squares(driver, [max(1, p["count"]) for p in points])
    finished = all(p["status"] in ("finished", "stationary") for p in points)
    described = {k: v for k, v in asdict(series).items() if k not in ("parameters", "short")}
    return {
        **described,
        "points": points,
        "slopes": [round(s, 4) for s in rate.slopes],
        "interval": [round(end, 4) for end in rate.interval],
        "slope": round(mean, 4),
        "last": round(rate.slope, 4),
        "verdict": rate.verdict if finished else "undecided",
        "within": None if series.tolerance is None else bool(_distance(series, mean, rate.slope) <= series.tolerance),
    }


def _distance(series: Series, mean: float, last: float) -> float:
    """Distance of the fitted slope, or of the last local one, from the exponent, whichever is smaller."""
    return min(abs(mean - series.exponent), abs(last - series.exponent))


def _least_squares(driver: Sequence[float], counts: Sequence[float]) -> float:
    import numpy as np

    return float(np.polyfit(np.log(driver), np.log(counts), 1)[0])


def table(rows: Sequence[Mapping[str, Any]]) -> str:
    """The table as Markdown."""
    head = "| series | letter | paper | fitted | last local | interval | points | largest count | verdict |"
    lines = [head, "| --- | --- | ---: | ---: | ---: | --- | ---: | ---: | --- |"]
    for row in rows:
        low, high = row["interval"]
        near = "" if row["within"] is None else (f" (within {row['tolerance']:g})" if row["within"] else " (not near)")
        lines.append(
            f"| {row['name']} | {row['letter']} | {row['exponent']:.3f} | {row['slope']:.3f} | {row['last']:.3f} | "
            f"[{low:.3f}, {high:.3f}] | {len(row['points'])} | {max(p['count'] for p in row['points']):.3g} | "
            f"{row['verdict']}{near} |"
        )
    return "\n".join(lines)


PREFACE = """# Observed exponents

Written by `python tests/benchmarks/benchmark_rates.py --out reports`; every run with its count is in `rates.json`.
Counts are deterministic: the interval is the hull of the local slopes over the last half of the range, widened by
their drift. Parameters and tolerances are those of each theorem (step, radius, momentum, epoch length), with the exact
constants of the instance. What is slow here is a prescribed scheme on an instance that makes it slow: `consistent`
says that a count grew no faster than printed; `(within ...)` marks instances on which the printed exponent shows.
"""


def main() -> None:
    """Measure, print, write."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", type=Path)
    parser.add_argument("--short", action="store_true")
    parser.add_argument("--only", default="")
    parser.add_argument("--resume", action="store_true", help="leave out what the files have")
    arguments = parser.parse_args()
    rows = []
    for series in SERIES:
        if arguments.only not in series.name or (arguments.short and not series.short):
            continue
        if arguments.resume and series.name in kept(arguments.out):
            continue
        row = measure(series, arguments.short)
        rows.append(row)
        print(f"{row['name']}: {row['slope']:.3f} (last {row['last']:.3f}), paper {row['exponent']:.3f}", flush=True)
        if arguments.out:
            write(rows, arguments.out)
    print(table(rows))


def kept(out: Path | None) -> set[str]:
    """Names of the series that the files have."""
    path = None if out is None else out / "rates.json"
    return set() if path is None or not path.exists() else {row["name"] for row in json.loads(path.read_text())}


def write(rows: Sequence[Mapping[str, Any]], out: Path) -> None:
    """``rates.md`` and ``rates.json``; series that were not measured now keep what the files have."""
    path = out / "rates.json"
    known = {row["name"]: row for row in json.loads(path.read_text())} if path.exists() else {}
    known |= {row["name"]: dict(row) for row in rows}
    ordered = [known[s.name] for s in SERIES if s.name in known]
    out.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(ordered, indent=1) + "\n")
    (out / "rates.md").write_text(PREFACE + "\n" + table(ordered) + "\n")


if __name__ == "__main__":
    main()

"""Studies of second-order methods in small: rates, the best snapshot length, many starts.

    python tests/benchmarks/second_order.py [rates best-m starts] [--out FOLDER]

Every experiment returns the rows of a table; the command prints them and keeps them as text.
"""

from __future__ import annotations

import argparse
import math
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from second_order_runs import MINIMAX_RAMP, lmcn_letters, ramp_letters, start_cases

from bilevel_verify.campaign.statistics import power_law
from bilevel_verify.checks.judging.stationarity import second_order_point
from bilevel_verify.methods.cost import cost_of, recommended_snapshot
from bilevel_verify.problems import zoo
from bilevel_verify.solving import solve
from bilevel_verify.truth import truth

Table = list[dict[str, Any]]
RATE_EPS = (3e-2, 1e-2, 3e-3, 1e-3)
THEORY = {"cubic-newton": 1.5, "lazy-cubic-newton": 1.5, "fsba": 1.5, "lfsba": 1.5, "mcn": 1.5, "lmcn": 1.5}
SNAPSHOTS = (1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64, 96, 128)
DIMENSIONS = (16, 32, 64, 128, 256, 512, 1024, 2048, 4096)
KAPPAS = (1, 4, 16)


def rates(eps: Sequence[float] = RATE_EPS) -> Table:
    """Iterations of cubic steps on ramps of slope 2 eps and drop 1, beside gradient descent; one row per method.

    The last local slope is the one between the two smallest tolerances.
    """
    table: Table = []
    for method, expected in [*THEORY.items(), ("gradient-descent", 2.0)]:
        counts = []
        for one in eps:
            problem, letters = ramp_letters(method, one)
            run = solve(problem, method, eps=one, parameters=letters, budget=10**9, record="thin")
            counts.append(run.iterations)
        table.append(
            {
                "method": method,
                "theorem": expected,
                "slope": power_law([1 / e for e in eps], counts)[0],
                "last slope": power_law([1 / e for e in eps[-2:]], counts[-2:])[0],
                **{f"N({e:g})": n for e, n in zip(eps, counts)},
            }
        )
    return table


def best_m(kappas: Sequence[float] = KAPPAS, snapshots: Sequence[int] = SNAPSHOTS) -> Table:
    """LMCN with M = 8 (m+1) rho_bar on a minimax ramp: the m of least cost against 1 + d/sqrt(kappa).

    The coordinates beyond the first rest, so counts do not depend on d and one run serves all d.
    """
    table: Table = []
    for kappa in kappas:
        problem = zoo("minimax-ramp", **MINIMAX_RAMP, mu=1, Lam=kappa, sig="1/2")
        counts = {}
        for m in snapshots:
            run = solve(problem, "lmcn", eps=0.01, parameters=lmcn_letters(kappa, m, 0.01), budget=10**9, record="thin")
            counts[m] = dict(run.counts)
        for d in DIMENSIONS:
            costs = {m: cost_of(found, d).total for m, found in counts.items()}
            best = min(costs, key=lambda m: costs[m])
            wanted = recommended_snapshot(d, kappa)
            table.append(
                {
                    "kappa": kappa,
                    "d": d,
                    "best m": best,
                    "1+d/sqrt(kappa)": wanted,
                    "ratio": best / wanted,
                    "saving over m=1": costs[1] / costs[best],
                    "claimed d^.5/kappa^.25": math.sqrt(d) / kappa**0.25,
                }
            )
    return table


def best_m_slopes(table: Table) -> Table:
    """Log-log slopes of the best m (where it is at least 4) and of the saving against the paper's, for each kappa."""
    result: Table = []
    for kappa in sorted({row["kappa"] for row in table}):
        rows = [row for row in table if row["kappa"] == kappa and 4 <= row["best m"] < SNAPSHOTS[-1]]
        if len(rows) < 3:
            continue
        promised = [row["1+d/sqrt(kappa)"] for row in rows]
        claimed = [row["claimed d^.5/kappa^.25"] for row in rows]
        result.append(
            {
                "kappa": kappa,
                "points": len(rows),
                "slope of best m": power_law(promised, [row["best m"] for row in rows])[0],
                "slope of saving": power_law(claimed, [row["saving over m=1"] for row in rows])[0],
            }
        )
    return result


def starts() -> Table:
    """Second-order methods from exact saddles, maxima and random points: is the output an (eps, tau)-SOSP of phi?"""
    table: Table = []
    for case in start_cases():
        known = truth(case.problem)
        for x0 in case.starts:
            run = solve(
                case.problem, case.method, eps=case.eps, x0=list(x0), parameters=case.letters, budget=10**7, seed=1
            )
            found = second_order_point(case.problem, run.x, case.eps_phi, case.tau, known)
            row: dict[str, Any] = {"problem": case.problem.name, "method": case.method}
            row |= {"start": " ".join(f"{v:g}" for v in x0), "kind": case.kind_of(x0, known)}
            row |= {"status": run.status, "N": run.iterations, "|grad phi|": found.gradient}
            row |= {"error": found.gradient_error, "lambda_min": found.curvature, "error ": found.curvature_error}
            table.append(row | {"verdict": found.verdict, "reason": found.reason})
    return table


def text_of(title: str, table: Table) -> str:
    """A table as aligned text."""
    columns = list(dict.fromkeys(key for row in table for key in row))
    cells = [[_cell(row.get(column, "-")) for column in columns] for row in table]
    widths = [max(len(column), *(len(row[i]) for row in cells)) for i, column in enumerate(columns)]
    lines = [title, "  ".join(column.rjust(width) for column, width in zip(columns, widths))]
    lines += ["  ".join(cell.rjust(width) for cell, width in zip(row, widths)) for row in cells]
    return "\n".join(line.rstrip() for line in lines) + "\n"


def _cell(value: object) -> str:
    return f"{value:.4g}" if isinstance(value, float) else str(value)


EXPERIMENTS: Mapping[str, tuple[str, Callable[[], Table]]] = {
    "rates": ("iterations to |grad phi| <= eps on ramps of slope 2 eps and drop 1", rates),
    "best-m": ("LMCN, M = 8 (m+1) rho_bar: the snapshot length of least cost N, dN", best_m),
    "starts": ("second-order stationarity of outputs, with error bars", starts),
}


def main(argv: Sequence[str] | None = None) -> int:
    """Run experiments and keep their tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("experiments", nargs="*", metavar="EXPERIMENT", help=", ".join(EXPERIMENTS))
    parser.add_argument("--out", type=Path, default=Path("reports/second_order"))
    args = parser.parse_args(argv)
    wanted = args.experiments or list(EXPERIMENTS)
    unknown = [name for name in wanted if name not in EXPERIMENTS]
    if unknown:
        parser.error(f"there is no experiment {unknown[0]!r}; there are {', '.join(EXPERIMENTS)}")
    args.out.mkdir(parents=True, exist_ok=True)
    for name in wanted:
        title, make = EXPERIMENTS[name]
        began = time.perf_counter()
        table = make()
        text = text_of(title, table)
        if name == "best-m":
            text += "\n" + text_of("log-log slopes (the claims are 1)", best_m_slopes(table))
        (args.out / f"{name}.txt").write_text(text)
        print(f"{text}({time.perf_counter() - began:.0f} s)\n", flush=True)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())

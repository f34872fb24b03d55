"""Experiments with second-order methods in small: rates, the best snapshot length, the synthetic problem, many starts.

    python -m bilevel_verify.experiments.second_order [rates best-m synthetic ablation starts] [--out FOLDER]

Every experiment returns the rows of a table; the command prints them and keeps them as text, with one figure.
"""

from __future__ import annotations

import argparse
import math
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from bilevel_verify.campaign.statistics import power_law
from bilevel_verify.checks.judging.stationarity import second_order_point
from bilevel_verify.experiments.second_order_runs import (
    MINIMAX_RAMP,
    SYNTHETIC,
    SYNTHETIC_STARTS,
    first_reached,
    lmcn_letters,
    ramp_letters,
    start_cases,
    synthetic_problem,
)
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


def synthetic(gap: float = 1e-5) -> Table:
    """Problem (5.1) from both starts, each method tuned on its grid: calls until phi - min phi <= ``gap``."""
    problem, table = synthetic_problem(), []
    for start in SYNTHETIC_STARTS:
        for name, (method, grid) in SYNTHETIC.items():
            tried = [first_reached(problem, method, letters, start, gap) for letters in grid]
            done = [entry for entry in tried if entry is not None]
            row: dict[str, Any] = {"start": f"x3 = {start[2]:g}", "method": name, "tried": len(grid)}
            if done:
                best = min(done, key=lambda entry: cost_of(entry.counts, 3).total)
                cost, found = cost_of(best.counts, 3), second_order_point(problem, best.x, 2e-3, 0.1)
                row |= {
                    "iterations": best.iterations, "gradients": cost.gradients, "products": cost.products,
                    "Hessians": cost.hessians, "cost": cost.total, "|grad phi|": found.gradient,
                    "lambda_min": found.curvature, "SOSP": found.verdict,
                }  # fmt: skip
            table.append(row)
    return table


def ablation(snapshots: Sequence[int] = (1, 2, 3, 4, 6, 8, 10, 20, 50), gap: float = 1e-5) -> Table:
    """The snapshot length m of LMCN on problem (5.1): iterations, Hessians and cost, M = 5 and M = 8 (m+1) rho_bar."""
    problem, table = synthetic_problem(), []
    for start in SYNTHETIC_STARTS:
        for m in snapshots:
            row: dict[str, Any] = {"start": f"x3 = {start[2]:g}", "m": m}
            for label, weight in (("M=5", 5.0), ("M=16(m+1)", 16.0 * (m + 1))):
                letters = {"M": weight, "m": m, "rho_bar": 2.0, "K": 8, "l1": 20.0, "kappa1": 2.0, "T": 20_000}
                found = first_reached(problem, "lmcn", letters, start, gap)
                if found is not None:
                    cost = cost_of(found.counts, 3)
                    row |= {f"{label}: N": found.iterations, f"{label}: H": cost.hessians, f"{label}: cost": cost.total}
            table.append(row)
    return table


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


def _cell(value: Any) -> str:
    return f"{value:.4g}" if isinstance(value, float) else str(value)


def figure(path: Path) -> None:
    """The gap of problem (5.1) against the cost, both starts, as in the paper's Figure 1."""
    from matplotlib.figure import Figure

    from bilevel_verify.experiments.second_order_runs import progress

    problem, drawing = synthetic_problem(), Figure(figsize=(9.0, 3.6))
    for place, start in enumerate(SYNTHETIC_STARTS):
        axes = drawing.add_subplot(1, 2, place + 1)
        for name, (method, grid) in SYNTHETIC.items():
            cost, gap = progress(problem, method, grid, start)
            axes.semilogy(cost, np.maximum(gap, 1e-16), label=name)
        axes.set_xlabel("cost (N = 1, d = 3)")
        axes.set_ylabel(r"$\varphi(x_t)-\varphi^*$")
        axes.set_xscale("symlog", linthresh=10)
        axes.set_title(f"$x_3 = {start[2]:g}$")
    drawing.axes[0].legend(fontsize=7)
    drawing.tight_layout()
    drawing.savefig(path)


EXPERIMENTS: Mapping[str, tuple[str, Callable[[], Table]]] = {
    "rates": ("iterations to |grad phi| <= eps on ramps of slope 2 eps and drop 1", rates),
    "best-m": ("LMCN, M = 8 (m+1) rho_bar: the snapshot length of least cost N, dN", best_m),
    "synthetic": ("problem (5.1): oracle calls until phi - min phi <= 1e-5", synthetic),
    "ablation": ("problem (5.1): snapshot length m of LMCN", ablation),
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
        if name == "synthetic":
            figure(args.out / "synthetic.svg")
        (args.out / f"{name}.txt").write_text(text)
        print(f"{text}({time.perf_counter() - began:.0f} s)\n", flush=True)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())

"""Runs and traces for a notebook; everything is escaped."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from bilevel_verify.methods.run import Run, Trace

MOST_COORDINATES, MOST_ROWS, MOST_LETTERS = 6, 10, 30


def run_table(run: Run) -> str:
    """What a run did: how it ended, where, what it cost; letters and iterates open under it."""
    at = "" if run.eps is None else f" at eps = {run.eps:g}"
    epochs = f" in {run.epochs} epochs" if run.epochs > 1 else ""
    calls = ", ".join(f"{n:,} {kind}" for kind, n in sorted(run.counts.items()) if n)
    lines = [
        ("ended", f"{run.status} after {run.iterations:,} iterations{epochs}"),
        ("x", point(run.x)),
        ("oracle calls", calls or "none"),
        *([("note", run.note)] if run.note else []),
    ]
    body = "".join(f"<tr><th>{escape(name)}</th><td>{escape(value)}</td></tr>" for name, value in lines)
    letters = [(k, v) for k, v in run.parameters.items() if isinstance(v, int | float)][:MOST_LETTERS]
    used = ", ".join(f"{name} = {value:.6g}" for name, value in letters)
    more = f"<details><summary>{len(letters)} letters</summary><p>{escape(used)}</p></details>" if used else ""
    head = f"<caption>{escape(f'{run.method} on {run.problem}{at}')}</caption>"
    trace = f"<details><summary>{len(run.trace):,} iterates</summary>{trace_table(run.trace)}</details>"
    return f"<table>{head}<tbody>{body}</tbody></table>{more}{trace}"


def trace_table(trace: Trace) -> str:
    """First and last iterates of a trace."""
    names = [name for name, rows in trace.sequences.items() if len(rows) == len(trace.k)]
    shown: list[int | None] = list(range(len(trace.k)))
    if len(shown) > MOST_ROWS:
        shown = [*shown[: MOST_ROWS // 2], None, *shown[-MOST_ROWS // 2 :]]
    head = "".join(f"<th>{escape(name)}</th>" for name in ("epoch", "k", *names))
    lines = []
    for row in shown:
        cells = ["..."] * (2 + len(names)) if row is None else _cells(trace, names, row)
        lines.append(f"<tr>{''.join(f'<td>{escape(cell)}</td>' for cell in cells)}</tr>")
    lost = "" if trace.thinned_from is None else f"<p>thinned from row {trace.thinned_from} on</p>"
    return f"<table><thead><tr>{head}</tr></thead><tbody>{''.join(lines)}</tbody></table>{lost}"


def _cells(trace: Trace, names: Sequence[str], row: int) -> list[str]:
    points = (point(trace.sequences[name][row]) for name in names)
    return [str(int(trace.epoch[row])), str(int(trace.k[row])), *points]


def point(x: Any) -> str:
    """A point in brackets, long ones cut."""
    entries = [f"{float(v):.6g}" for v in list(x)[:MOST_COORDINATES]]
    return f"({', '.join(entries)}{', ...' if len(x) > MOST_COORDINATES else ''})"

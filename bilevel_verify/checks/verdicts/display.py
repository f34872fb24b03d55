"""Verdicts for a reader: text for a terminal, a table for a notebook."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict
from html import escape
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from bilevel_verify.checks.verdicts.verdict import Row, Verification

MOST_LINES = 60


def row_line(row: Row) -> str:
    """``holds ragd-gs/lemma-1:value on trig-1-1: 0.1 against 0.3, margin 0.67 (certified)``."""
    name = "/".join(p for p in (row.paper, row.statement) if p) + (f":{row.claim}" if row.claim else "")
    parts = [f"{row.verdict} {name}" + (f" on {row.problem}" if row.problem else "")]
    if row.measured is not None and row.bound is not None:
        margin = "" if row.margin is None else f", margin {row.margin:.3g}"
        parts.append(f"{row.measured:.6g} against {row.bound:.6g}{margin}")
    why = [row.certainty, row.where, row.reason, f"reading: {row.reading}" if row.reading else None]
    said = "; ".join(w for w in why if w)
    return ": ".join(parts) + (f" ({said})" if said else "")


def text(verification: Verification) -> str:
    """Head line, then one line for each claim."""
    lines = [f"{verification.statement} on {verification.problem}: {verification.verdict}"]
    lines += [f"  {row_line(row)}" for row in verification.claims[:MOST_LINES]]
    failed = [row for row in verification.hypotheses if row.verdict != "holds"]
    lines += [f"  hypothesis {row_line(row)}" for row in failed[:MOST_LINES]]
    return "\n".join([*lines, *_rest(verification.claims)])


def html(verification: Verification) -> str:
    """A table for a notebook; everything is escaped."""
    from bilevel_verify.checks.verdicts.columns import view

    counts = ", ".join(f"{n} {v}" for v, n in Counter(r.verdict for r in verification.claims).items())
    title = f"{verification.statement} on {verification.problem}: {verification.verdict} ({counts or 'no claims'})"
    head = "".join(f"<th>{escape(column.head)}</th>" for column in view("notebook"))
    body = "".join(_html_row(row) for row in verification.claims[:MOST_LINES])
    rest = "".join(f"<p>{escape(line)}</p>" for line in _rest(verification.claims))
    return f"<table><caption>{escape(title)}</caption><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>{rest}"


def _html_row(row: Row) -> str:
    from bilevel_verify.checks.verdicts.columns import view

    cells = []
    for column in view("notebook"):
        value = column.value(asdict(row))
        text = f"{value:.6g}" if column.numeric and value is not None else str(value or "")
        cells.append(text + (f" (reading: {row.reading})" if column.name == "what" and row.reading else ""))
    return f"<tr>{''.join(f'<td>{escape(cell)}</td>' for cell in cells)}</tr>"


def _rest(rows: Sequence[Row]) -> list[str]:
    return [f"  ... and {len(rows) - MOST_LINES} more"] if len(rows) > MOST_LINES else []

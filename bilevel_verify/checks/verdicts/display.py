"""Verdicts for a reader: text for a terminal, a table for a notebook."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from html import escape

from bilevel_verify.checks.verdicts.columns import view
from bilevel_verify.checks.verdicts.verdict import Row

MOST_LINES = 60


def text(head: str, claims: Sequence[Row], hypotheses: Sequence[Row]) -> str:
    """Head line, then one line for each claim, then the hypotheses that do not hold."""
    lines = [head, *(f"  {row}" for row in claims[:MOST_LINES])]
    failed = [row for row in hypotheses if row.verdict != "holds"]
    lines += [f"  hypothesis {row}" for row in failed[:MOST_LINES]]
    return "\n".join([*lines, *_rest(claims)])


def html(head: str, claims: Sequence[Row]) -> str:
    """A table for a notebook; everything is escaped."""
    counts = ", ".join(f"{n} {v}" for v, n in Counter(r.verdict for r in claims).items())
    title = f"{head} ({counts or 'no claims'})"
    names = "".join(f"<th>{escape(column.head)}</th>" for column in view("notebook"))
    body = "".join(_html_row(row) for row in claims[:MOST_LINES])
    rest = "".join(f"<p>{escape(line)}</p>" for line in _rest(claims))
    return (
        f"<table><caption>{escape(title)}</caption><thead><tr>{names}</tr></thead><tbody>{body}</tbody></table>{rest}"
    )


def _html_row(row: Row) -> str:
    cells = []
    for column in view("notebook"):
        value = column.value(row.to_dict())
        text = f"{float(value):.6g}" if column.numeric and isinstance(value, float | int | str) else str(value or "")
        cells.append(text + (f" (reading: {row.reading})" if column.name == "what" and row.reading else ""))
    return f"<tr>{''.join(f'<td>{escape(cell)}</td>' for cell in cells)}</tr>"


def _rest(rows: Sequence[Row]) -> list[str]:
    return [f"  ... and {len(rows) - MOST_LINES} more"] if len(rows) > MOST_LINES else []

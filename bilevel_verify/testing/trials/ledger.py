"""What the assertions did in this process, for the summary table; imports nothing but the standard library."""

from __future__ import annotations

from typing import NamedTuple


class Entry(NamedTuple):
    """One call of an assertion: ``broken`` is the contract that failed, empty if none did; ``message`` says it all."""

    assertion: str
    subject: str
    examples: int
    seconds: float
    broken: str
    message: str = ""


ENTRIES: list[Entry] = []
MOST = 10_000
"""Entries kept: a long run must not grow without end."""


def note(entry: Entry) -> None:
    """Keep an entry."""
    if len(ENTRIES) < MOST:
        ENTRIES.append(entry)


def table(entries: list[Entry] | None = None) -> list[str]:
    """Lines of a summary table, one per assertion and subject."""
    found = ENTRIES if entries is None else entries
    if not found:
        return []
    rows = [("assertion", "subject", "examples", "seconds", "contract broken")]
    rows += [(e.assertion, e.subject, str(e.examples), f"{e.seconds:.2f}", e.broken or "-") for e in found]
    widths = [max(len(row[i]) for row in rows) for i in range(5)]
    return ["  ".join(cell.ljust(w) for cell, w in zip(row, widths)).rstrip() for row in rows]

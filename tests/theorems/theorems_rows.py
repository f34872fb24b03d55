"""Rows of an entry of a shipped card: those of its own form, and those of the repaired one."""

from collections.abc import Iterable

from bilevel_verify.checks.verdicts.verdict import Row

UNREAD = "origin of the hypothesis not given"


def own(rows: Iterable[Row]) -> list[Row]:
    """One row a link: as printed, or under all hypotheses of the card where one of them has not been read yet."""
    first: dict[str | None, Row] = {}
    for row in rows:
        unread = (row.reason or "").startswith(UNREAD)
        if row.judges == "relation" and row.claim != "on record" and not unread and not is_repaired(row):
            first.setdefault(row.claim, row)
    return list(first.values())


def repaired(rows: Iterable[Row]) -> list[Row]:
    """Rows of the repaired form."""
    return [row for row in rows if row.judges == "relation" and is_repaired(row)]


def is_repaired(row: Row) -> bool:
    """Whether the row is about a repaired form."""
    return any(mark.startswith("repaired") for mark in row.marks)

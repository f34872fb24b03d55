"""Which claims of a card a job reached: rows that were decided, and those that never were, with the reason."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

DECIDED = frozenset({"holds", "refuted", "consistent", "inconsistent"})
SEARCHED = "survived "
"""A point claim that no attack refuted was evaluated, although it is undecided."""


@dataclass(frozen=True, slots=True)
class Unreached:
    """A claim without a decided row. ``why`` is the reason of its last row; empty if it has none."""

    paper: str
    statement: str
    claim: str
    why: str


def unreached(papers: Iterable[str], rows: Iterable[Mapping[str, object]]) -> list[Unreached]:
    """Claims of the cards that no row decides, evaluates or compares, in the order of the cards.

    Parameters
    ----------
    papers : keys of cards. ``rows`` : verdict rows as dictionaries (``Row.to_dict``).
    """
    from bilevel_verify.theorems import load_card

    reached: set[tuple[str, str, str]] = set()
    reasons: dict[tuple[str, str, str], str] = {}
    for row in rows:
        key = (str(row["paper"]), str(row["statement"]), str(row["claim"] or "").partition("/")[0])
        reason = str(row.get("reason") or "")
        if row["verdict"] in DECIDED or SEARCHED in reason or (row["kind"] == "probability" and row.get("places")):
            reached.add(key)
        else:
            reasons[key] = f"{row['verdict']}: {reason}" if reason else str(row["verdict"])
    found = []
    for paper in papers:
        for statement, claim in load_card(paper).claims():
            key = (paper, statement.id, claim.id)
            if key not in reached and not (claim.is_order and claim.over == "point"):
                found.append(Unreached(paper, statement.id, claim.id, reasons.get(key, "")))
    return found

"""Coverage: statement x kind of check x verdict, and how many scalar links and derivations were decided."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from bilevel_verify.checks.verdicts.counting import first_mark, plain_word
from bilevel_verify.checks.verdicts.verdict import Row
from bilevel_verify.theorems.card import Card
from bilevel_verify.theorems.library import checks_of

SCALAR_KINDS = ("inequality", "step-algebra", "derivation")
DECIDED = ("holds", "refuted")


@dataclass(frozen=True, slots=True)
class Line:
    """One numbered item: its kinds of check and what the audit decided; ``elsewhere`` needs a problem (``verify``).

    ``verdicts`` counts each kind of check under the words of :data:`~bilevel_verify.checks.verdicts.counting.WORDS`;
    rows that are not about what is printed are a kind of their own: ``inequality, added``.
    """

    paper: str
    id: str
    kind: str
    source: str
    verdicts: Mapping[str, Mapping[str, int]]
    elsewhere: tuple[str, ...]
    nothing_to_decide: str

    @property
    def shown(self) -> str:
        """The verdicts as text, kind by kind: ``inequality: 2 holds; units: 3 agree``."""
        parts = (f"{kind}: " + ", ".join(f"{n} {w}" for w, n in found.items()) for kind, found in self.verdicts.items())
        return "; ".join(parts)

    def to_dict(self) -> dict[str, Any]:
        """All fields, for JSON."""
        return {
            "paper": self.paper,
            "id": self.id,
            "kind": self.kind,
            "source": self.source,
            "verdicts": {kind: dict(counts) for kind, counts in self.verdicts.items()},
            "elsewhere": list(self.elsewhere),
            "nothing_to_decide": self.nothing_to_decide,
        }


@dataclass(frozen=True, slots=True)
class Share:
    """Scalar links and derivations as printed: how many there are and how many were decided."""

    decided: int
    total: int

    @property
    def percent(self) -> float:
        """Decided share in percent (100 where there are none)."""
        return 100.0 * self.decided / self.total if self.total else 100.0

    def __str__(self) -> str:
        if not self.total:
            return "no scalar links or derivations to decide"
        percent = 100 * self.decided // self.total  # 773 of 776 is not all of them
        return f"{self.decided} of {self.total} scalar links and derivations decided ({percent} %)"


def coverage(card: Card, rows: Iterable[Row]) -> list[Line]:
    """The coverage table of a card, in the order of its entries."""
    counts: dict[str, dict[str, Counter[str]]] = {}
    for row in rows:
        if row.paper == card.key and row.statement is not None:
            kind = row.kind if row.as_printed else f"{row.kind}, {first_mark(row.marks, row.reading)}"
            word = plain_word(row.to_dict())
            counts.setdefault(row.statement, {}).setdefault(kind, Counter())[word] += 1
    runs = ("point", "step", "epoch", "run", "order", "parameters")
    return [
        Line(
            card.key,
            entry.id,
            entry.kind.replace("_", " "),
            entry.source,
            counts.get(entry.id, {}),
            tuple(kind for kind in checks_of(entry) if kind in runs),
            entry.nothing_to_decide,
        )
        for entry in card.entries.values()
    ]


def decided(rows: Iterable[Row]) -> Share:
    """The share of scalar links, vector steps and derivations, as printed, with a verdict."""
    found = [row.verdict for row in rows if row.kind in SCALAR_KINDS and row.as_printed and _is_link(row)]
    return Share(sum(verdict in DECIDED for verdict in found), len(found))


def _is_link(row: Row) -> bool:
    return row.claim is not None and (row.claim == "derivation" or row.claim.startswith("link-"))

"""On what a decided row stands: a certificate of the small checker, of Coq too, or the word of the engine alone."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field

from bilevel_verify.checks.verdicts.verdict import Row

COQ, CHECKED, WORD = "accepted by the small checker and by Coq", "accepted by the small checker", "engine's word only"


@dataclass(slots=True)
class Levels:
    """How many rows of each verdict stand on which evidence: verdict -> level -> rows."""

    rows: dict[str, Counter[str]] = field(default_factory=dict)

    def add(self, verdict: str, level: str) -> None:
        """Count a row."""
        self.rows.setdefault(verdict, Counter())[level] += 1

    def to_dict(self) -> dict[str, dict[str, int]]:
        """For JSON."""
        return {verdict: dict(sorted(levels.items())) for verdict, levels in sorted(self.rows.items())}

    def __str__(self) -> str:
        lines = []
        for verdict, levels in sorted(self.rows.items()):
            total = sum(levels.values())
            shown = ", ".join(f"{levels[level]} {level}" for level in (COQ, CHECKED, WORD) if levels[level])
            percent = 100 * (total - levels[WORD]) // total
            lines.append(f"certificates, {verdict}: {shown} ({percent} % of {total} can be checked)")
        return "\n".join(lines) or "certificates: no relation was decided"


def levels_of(rows: Iterable[Row]) -> Levels:
    """The levels that rows carry (``details["certificate"]``); rows without one are not counted."""
    found = Levels()
    for row in rows:
        if "certificate" in row.details:
            found.add(row.verdict, str(row.details["certificate"]))
    return found

"""How broad the evidence of a job is: on how many problems, from how many starts, each statement is checked."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from bilevel_verify.campaign.builtin_job import starts_of
from bilevel_verify.checks.claims.claims import all_claims
from bilevel_verify.theorems.card import Card, Statement

POINTS = frozenset({"point"})
RUNS = frozenset({"step", "epoch", "run"})


@dataclass
class Breadth:
    """Problems of one statement, as ``name:knob=value``, and the starts on each (None for the problem's own)."""

    starts: dict[str, set[tuple[float, ...] | None]] = field(default_factory=dict)

    @property
    def problems(self) -> int:
        """How many problems."""
        return len(self.starts)

    def from_two_starts(self) -> int:
        """How many problems with at least two starts."""
        return sum(len(found) > 1 for found in self.starts.values())


def scopes(entry: Statement) -> frozenset[str]:
    """Where the claims of a statement on instances are judged: ``point``, ``step``, ``epoch``, ``run``."""
    found = {claim.over for claim in all_claims(entry.claims) if not claim.is_order}
    return frozenset(found) & (POINTS | RUNS)


def on_instances(card: Card) -> list[Statement]:
    """The entries of a card with claims on instances: statements, proofs, definitions."""
    return [entry for entry in card.entries.values() if isinstance(entry, Statement) and scopes(entry)]


def breadth(cells: Iterable[Mapping[str, Any]]) -> dict[str, Breadth]:
    """Statement -> its problems and starts, over cells as :func:`builtin_jobs` gives them.

    Negative controls do not count, nor do cells about some claims only, nor starts at the origin, which is a
    stationary point of most problems.
    """
    found: dict[str, Breadth] = {}
    for cell in cells:
        if cell.get("control") is not None or ":" in cell["statement"]:
            continue
        knobs = sorted((cell.get("knobs") or {}).items())
        name = ":".join([str(cell["problem"]).removeprefix("zoo:"), *(f"{knob}={value}" for knob, value in knobs)])
        starts = [start for start in starts_of(cell.get("x0")) if start is None or any(start)]
        if starts:
            found.setdefault(cell["statement"], Breadth()).starts.setdefault(name, set()).update(starts)
    return found

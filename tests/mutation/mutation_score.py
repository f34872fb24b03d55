"""Counts of what was noticed, by room, and what they say: a percentage reached, or evidence against one."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from math import comb

LEVEL = 1e-4
"""A sample less likely than this, were the tests as good as they are said to be, counts against them."""


@dataclass
class Score:
    """Counts of one room. A time-out counts as caught; what cannot be imported counts for nothing."""

    counts: dict[str, int] = field(default_factory=dict)

    def add(self, outcome: str) -> None:
        self.counts[outcome] = self.counts.get(outcome, 0) + 1

    def __getitem__(self, outcome: str) -> int:
        return self.counts.get(outcome, 0)

    @property
    def living(self) -> int:
        return self.caught + self["survived"] + self["error"]

    @property
    def caught(self) -> int:
        return self["caught"] + self["timeout"]

    @property
    def share(self) -> float:
        """Percentage caught of the mutants that are alive and not declared equivalent."""
        return 100.0 * self.caught / self.living if self.living else 100.0

    def line(self, name: str) -> str:
        all_ = self.living + self["equivalent"]
        declared = 100.0 * self["equivalent"] / all_ if all_ else 0.0
        return (
            f"{name:<16}{self.share:6.1f} %  caught {self.caught} of {self.living}"
            f" ({self['timeout']} by time), declared equivalent {self['equivalent']} ({declared:.1f} %),"
            f" stillborn {self['stillborn']}"
            + (f", ERRORS {self['error']}" if self["error"] else "")
            + (f", NOT RUN {self['not run']}" if self["not run"] else "")
        )


def total(scores: Mapping[str, Score]) -> Score:
    """All rooms together."""
    found = Score()
    for score in scores.values():
        for outcome, number in score.counts.items():
            found.counts[outcome] = found[outcome] + number
    return found


def table(scores: Mapping[str, Score]) -> str:
    """The scores as a table in Markdown; ``mutants`` are those that live and are not declared equivalent."""
    rows = ["| room | mutants | caught | score | equivalent | stillborn | not run |", "|---|---|---|---|---|---|---|"]
    for name, one in {**dict(sorted(scores.items())), "**all**": total(scores)}.items():
        share = f"{one.share:.1f} %" if one.living else "not measured"
        counts = " | ".join(str(one[outcome]) for outcome in ("equivalent", "stillborn", "not run"))
        rows.append(f"| {name} | {one.living} | {one.caught} | {share} | {counts} |")
    return "\n".join(rows) + "\n"


def chance(caught: int, living: int, share: float) -> float:
    """How likely no more than ``caught`` of ``living`` mutants are caught, if each is with probability ``share``."""
    return sum(comb(living, k) * share**k * (1.0 - share) ** (living - k) for k in range(caught + 1))


def accused(scores: Mapping[str, Score], percent: float) -> list[str]:
    """What a sample gives evidence against: rooms, or ``all`` of them, whose tests do not notice ``percent``.

    The level is divided among the rooms and the total, so that one of them is accused wrongly in one sample of
    ten thousand at the most.
    """
    level = LEVEL / (len(scores) + 1)
    together = {**scores, "all": total(scores)}
    return [n for n, s in together.items() if s.living and chance(s.caught, s.living, percent / 100.0) < level]

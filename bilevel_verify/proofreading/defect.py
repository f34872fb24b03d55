"""What the proofreader hands on: one defect in one place, and defects of one cause as one group."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from bilevel_verify.audit.findings.causes import GRADES

KINDS = {
    "index": "an index that is bound twice, idle, or belongs to no range",
    "outside": "an index outside of where its sequence is defined, or a range whose end makes a formula undefined",
    "meaning": "one symbol with two meanings",
    "letter": "a symbol that is used and never introduced",
    "shape": "a number, vector or matrix where another one is needed, or sizes that do not fit",
    "decoration": "a hat, bar, tilde or prime that comes and goes inside one chain",
    "unassigned": "an algorithm reads or returns what no line assigned",
    "test": "a test of an algorithm that never or always holds",
    "endless": "a loop that cannot end",
    "stale": "a restart that leaves part of the state as it was",
    "citation": "a citation of what is not there, in a circle, or of what says something else",
    "premise": "a result is used where a hypothesis of it is not met",
    "table": "a table that says something else than the statement it sums up",
    "total": "pieces that do not add up to the whole",
    "hypothesis": "hypotheses that contradict each other",
}
"""Kind -> what it means; the list is closed."""


@dataclass(frozen=True, slots=True)
class Defect:
    """One defect in one place.

    Attributes
    ----------
    kind : a key of :data:`KINDS`.
    place : where a reader finds it, in the paper's words.
    title : what is wrong, one sentence.
    grade : one of :data:`~bilevel_verify.audit.findings.causes.GRADES`.
    latex : the printed formula; empty where the defect is not in one.
    evidence : what shows it, line by line; a reader can check each line against the print.
    cause : defects with the same cause are one (for example one index that is wrong in five lines).
    unit : id of the statement, proof or algorithm that holds it.
    """

    kind: str
    place: str
    title: str
    grade: str
    latex: str = ""
    evidence: tuple[str, ...] = ()
    cause: str = ""
    unit: str = ""

    def __post_init__(self) -> None:
        if self.kind not in KINDS or self.grade not in GRADES:
            raise ValueError(f"{self.kind!r} or {self.grade!r} is in no list of defects")

    def to_dict(self) -> dict[str, object]:
        """All fields, for JSON."""
        return {
            "kind": self.kind,
            "place": self.place,
            "title": self.title,
            "grade": self.grade,
            "latex": self.latex or None,
            "evidence": list(self.evidence),
            "unit": self.unit or None,
        }

    def __str__(self) -> str:
        return f"{self.place}: {self.title} ({self.grade})"


@dataclass(frozen=True, slots=True)
class Group:
    """Defects of one cause: the first of them speaks for all."""

    defects: tuple[Defect, ...]

    @property
    def first(self) -> Defect:
        """The gravest, and of these the first in the paper."""
        return min(self.defects, key=lambda d: GRADES.index(d.grade))

    @property
    def places(self) -> tuple[str, ...]:
        """Every place, in the order of the paper."""
        return tuple(dict.fromkeys(d.place for d in self.defects))

    def to_dict(self) -> dict[str, object]:
        """The first defect with all places."""
        return self.first.to_dict() | {"places": list(self.places)}


def grouped(defects: Iterable[Defect]) -> tuple[Group, ...]:
    """Defects of one kind and cause together, the gravest groups first, else in the order of the paper."""
    table: dict[tuple[str, str], list[Defect]] = {}
    for number, defect in enumerate(defects):
        table.setdefault((defect.kind, defect.cause or f"#{number}"), []).append(defect)
    groups = [Group(tuple(found)) for found in table.values()]
    return tuple(sorted(groups, key=lambda g: GRADES.index(g.first.grade)))

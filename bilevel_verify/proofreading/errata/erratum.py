"""One defect of a paper as a letter to its authors has it: where, what is wrong, what shows it, what would be right."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field

from bilevel_verify.proofreading.errata.places import heading_of


@dataclass(frozen=True, slots=True)
class Spot:
    """One place where the defect shows.

    ``latex`` is the printed formula, ``stated`` the card's own display of it ("as we read it") where nothing is quoted;
    ``sentence`` is what is wrong there; ``marks`` say in which respect what was judged is not the printed formula;
    ``also`` are further places that print the same formula.
    """

    place: str
    sentence: str
    latex: str = ""
    stated: str = ""
    kind: str = ""
    marks: tuple[str, ...] = ()
    also: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Witness:
    """The point that shows it: ``values`` by letter (as LaTeX), the ``problem`` in a sentence, both ``sides``.

    ``letters`` define the letters of ``values``: (LaTeX, meaning or definition).
    """

    values: tuple[tuple[str, str], ...] = ()
    problem: str = ""
    relation: str = ""
    sides: tuple[float, float] | None = None
    where: str = ""
    letters: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True)
class Repair:
    """The nearest true form. In ``latex`` what changed against the print is underlined; empty: the formula stays.

    Each relation is a line of ``latex`` and of ``before``.

    ``hypotheses`` are hypotheses, ranges and definitions that differ from the printed ones; ``verdict`` says what was
    decided about the form, ``why`` what the change rests on.
    """

    latex: str
    before: str = ""
    hypotheses: tuple[str, ...] = ()
    why: str = ""
    verdict: str = ""


@dataclass(frozen=True, slots=True)
class Erratum:
    """One defect, with every place where it shows, the gravest place first.

    ``grade`` is one of :data:`~bilevel_verify.audit.findings.causes.GRADES`; ``matters`` are the places of statements
    that build on it; ``files`` are names of scripts and instance files (folder/name); ``rows`` the ids of the rows and
    kinds of the proofreader behind it.
    """

    grade: str
    place: str
    sentence: str
    spots: tuple[Spot, ...]
    witness: Witness | None = None
    evidence: tuple[str, ...] = ()
    repair: Repair | None = None
    matters: tuple[str, ...] = ()
    files: Mapping[str, str] = field(default_factory=dict)
    command: str = ""
    recorded: bool = False
    rows: tuple[str, ...] = ()

    @property
    def heading(self) -> str:
        """The place without a sentence about what is judged there: ``C.3`` of ``C.3: the logarithm, with ...``."""
        return heading_of(self.place)

    @property
    def title(self) -> str:
        """Where, and in one sentence what is wrong."""
        return f"{self.heading}: {self.sentence}"

    @property
    def places(self) -> tuple[str, ...]:
        """Every place, once."""
        return tuple(dict.fromkeys(place for spot in self.spots for place in (spot.place, *spot.also)))

    def to_dict(self) -> dict[str, object]:
        """All fields, for JSON; files by name."""
        return asdict(self) | {"title": self.title, "files": sorted(self.files)}

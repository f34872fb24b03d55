"""What a draft knows of a paper, and its numbers."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

from bilevel_verify.drafting.answers import Answers, Question
from bilevel_verify.drafting.document import Document, slug
from bilevel_verify.drafting.entries import Composer
from bilevel_verify.drafting.forms import WHY
from bilevel_verify.drafting.kinds import Declared
from bilevel_verify.drafting.listings.steps import Steps
from bilevel_verify.drafting.notes import Note
from bilevel_verify.drafting.positions import Remark
from bilevel_verify.drafting.relations import Printed, Reader
from bilevel_verify.drafting.scopes import Scopes
from bilevel_verify.latex import Notation


@dataclass(frozen=True, slots=True)
class Counts:
    """What was found: formulas, relations, of these the links (promises and steps) and what became of them; algorithms.

    ``steps`` counts the algorithms whose lines were understood.
    """

    formulas: int
    unread: int
    relations: int
    links: int
    judged: int
    left: dict[str, int]
    unread_links: int
    algorithms: int = 0
    steps: int = 0

    @property
    def percent(self) -> int:
        """Whole percent of the links that can be judged."""
        return 100 * self.judged // self.links if self.links else 0

    def record(self) -> dict[str, object]:
        """The counts as they stand in a card and in the output of the command."""
        return {
            "formulas": self.formulas,
            "not_read": self.unread,
            "relations": self.relations,
            "links": self.links,
            "judged": self.judged,
            "not_judged": {**self.left, "not read": self.unread_links},
            "algorithms": self.algorithms,
            "algorithms_as_steps": self.steps,
        }

    def __str__(self) -> str:
        text = (
            f"{self.formulas} formulas, {self.unread} not read; {self.relations} relations, {self.links} of them links,"
            f" {self.judged} can be judged ({self.percent} %)"
        )
        if self.left:
            text += f"; not judged: {', '.join(f'{reason} ({n})' for reason, n in self.left.items())}"
        if self.algorithms:
            text += f"; {self.steps} of {self.algorithms} algorithms as steps"
        if self.relations and not self.links:
            text += "; nothing to judge: a link stands in a statement, in a proof or in a display of the text"
        return text


@dataclass(frozen=True)
class Drafted:
    """What was read of a paper, and everything that goes into its card."""

    path: Path
    document: Document
    notation: Notation
    symbols: tuple[Declared, ...]
    reader: Reader
    scopes: Scopes
    composer: Composer
    answers: Answers
    questions: tuple[Question, ...]
    notes: tuple[Note, ...]
    places: dict[str, Printed] = field(default_factory=dict)
    algorithms: tuple[Steps, ...] = ()

    @property
    def key(self) -> str:
        """Key of the card: the name of the file."""
        return slug(self.path.stem)

    @property
    def remarks(self) -> tuple[Remark, ...]:
        """What could not be read: of the source first, then formula by formula, then algorithms that gave no steps."""
        text, units = self.document.text, self.document.units
        steps = [Remark(text.where(units[a.unit].at), "steps", f"{a.name}, {a.why}") for a in self.algorithms if a.why]
        return (*self.document.remarks, *(u.remark for u in self.reader.unread), *steps)

    @property
    def counts(self) -> Counts:
        """The numbers of the draft."""
        units = self.document.units
        unread = [
            u for u in self.reader.unread
            if units[u.unit].kind != "algorithm" and (u.formula.display or units[u.unit].kind != "text")
        ]  # fmt: skip
        lost = sum(u.relations for u in unread)
        left = Counter(one.why for one in self.composer.left)
        return Counts(
            self.reader.formulas,
            len({u.formula.at for u in self.reader.unread}),
            len(self.reader.printed) + sum(u.relations for u in self.reader.unread),
            self.composer.links + sum(left.values()) + lost,
            self.composer.links,
            {why: left[why] for why in WHY if left[why]},
            lost,
            len(self.algorithms),
            sum(not a.why for a in self.algorithms),
        )

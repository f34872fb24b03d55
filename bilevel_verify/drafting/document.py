"""What a paper consists of, whatever it is written in: sections, statements, proofs, algorithms; words and formulas."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field

from bilevel_verify.drafting.positions import FILLER, Remark, Text

KINDS = {
    "theorem": "theorem",
    "lemma": "lemma",
    "proposition": "proposition",
    "corollary": "corollary",
    "assumption": "assumption",
    "condition": "condition",
    "definition": "definition",
    "remark": "remark",
    "claim": "lemma",
    "fact": "lemma",
    "observation": "remark",
    "example": "remark",
    "conjecture": "remark",
    "notation": "definition",
    "problem": "definition",
}
"""First word of a printed head -> kind of entry of a card."""
ASSUMED = ("assumption", "condition", "definition")


@dataclass(frozen=True, slots=True)
class Formula:
    """A formula of the paper: its LaTeX, where it stands, and whether it is a display.

    ``number`` is the printed equation number without brackets; ``labels`` are what ``\\ref`` may call it.
    """

    latex: str
    at: int
    display: bool
    number: str = ""
    labels: tuple[str, ...] = ()
    environment: str = ""

    @property
    def clean(self) -> str:
        """The LaTeX without comments."""
        return self.latex.replace(FILLER, "")

    def offset(self, column: int) -> int:
        """Offset in the paper of the character with this 0-based place in ``clean``."""
        seen = -1
        for place, letter in enumerate(self.latex):
            seen += letter != FILLER
            if seen == column:
                return self.at + place
        return self.at


@dataclass(frozen=True, slots=True)
class Words:
    """Running text between two formulas."""

    text: str
    at: int


@dataclass(slots=True)
class Unit:
    """A section, statement, proof, algorithm or stretch of text, with what stands in it.

    ``kind`` is ``text``, ``proof``, ``algorithm`` or a kind of statement; ``name`` as the paper prints it ("Lemma 3");
    ``of`` names the statement that a proof belongs to.
    """

    kind: str
    name: str
    at: int
    title: str = ""
    section: str = ""
    labels: list[str] = field(default_factory=list)
    of: str = ""
    parts: list[Words | Formula] = field(default_factory=list)

    @property
    def is_statement(self) -> bool:
        """Whether it is a numbered statement."""
        return self.kind not in ("text", "proof", "algorithm")

    def formulas(self) -> Iterator[Formula]:
        """The formulas in their order."""
        return (part for part in self.parts if isinstance(part, Formula))


@dataclass(frozen=True, slots=True)
class Document:
    """A paper: its title, its units in order, its macros, and what could not be read of it.

    ``written`` keeps the formulas that were taken apart, by their places.
    """

    title: str
    text: Text
    units: tuple[Unit, ...]
    macros: dict[str, Macro]
    remarks: tuple[Remark, ...] = ()
    labels: dict[str, str] = field(default_factory=dict)
    written: dict[int, object] = field(default_factory=dict, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Macro:
    """``\\newcommand``: number of arguments, default of the first one (or None), body with ``#1``."""

    arguments: int
    default: str | None
    body: str


COMMAND = re.compile(r"\\[A-Za-z@]+\*?|\\.")


def plain_words(text: str) -> str:
    """Running text without markup: words, punctuation and blanks."""
    text = text.replace(FILLER, "")
    text = re.sub(
        r"\\(?:cite[a-z]*|label|vspace|hspace|footnotemark|index)\*?\s*(?:\[[^\]]*\])*\s*\{[^{}]*\}", " ", text
    )
    text = re.sub(r"\\(?:emph|textit|textbf|text|textrm|textsc|underline)\s*\{", "", text)
    text = COMMAND.sub(" ", text)
    return re.sub(r"[ \t]+", " ", re.sub(r"[{}*]|_(?=\W)|~", " ", text))


def slug(name: str, longest: int = 60) -> str:
    """A printed name as an id: ``Lemma B.3`` is ``lemma-b-3``; a long one is cut (a card takes no longer)."""
    return re.sub(r"[^a-z0-9]+", "-", name.lower())[:longest].strip("-") or "item"

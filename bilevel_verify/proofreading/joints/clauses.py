"""The sentences of a passage with their formulas in place, and what each of them cites."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from bilevel_verify.proofreading.joints.citations import ELSEWHERE, KINDS, TWICE
from bilevel_verify.proofreading.source import HOLE as HOLE
from bilevel_verify.proofreading.source import Paper, Passage, Sentence

ENDS = re.compile(r"[.!?](?=\s+[A-Z\x01(“\"]|\s*\Z)|\n[ \t]*\n")
ITEM = r"(?:[A-Z]\.?)?\d+(?:\.\d+)*"
NEXT = re.compile(r"\s*[A-Z][a-z]")
"""After a display: the next sentence begins, although the display has no full stop."""
LISTED = re.compile(rf"\b(?P<kind>{KINDS})s?\s+(?P<numbers>{ITEM}(?:(?:\s*,\s*(?:and\s+)?|\s+and\s+){ITEM}(?![\w)]))*)")
"""``Lemma 3``, ``Lemmas 3 and 4``."""
ONE = re.compile(ITEM)
EQUATION = re.compile(
    r"\b(?:[Ee]q(?:uation|\.)?s?|[Ii]nequalit(?:y|ies)|[Cc]onditions?)\s*\(?(?P<named>\d+(?:\.\d+)*[a-z]?)\)?"
    r"|(?<![\w)\]])\((?P<bare>\d+(?:\.\d+)*[a-z]?)\)"
)


@dataclass(frozen=True, slots=True)
class Clause:
    """One sentence: its words with a hole for each formula, the formulas, and the passage that holds it."""

    words: str
    formulas: tuple[Sentence, ...]
    passage: Passage

    def before(self, place: int) -> str:
        """The words before the formula with this place, holes kept."""
        at = -1
        for _ in range(place + 1):
            at = self.words.index(HOLE, at + 1)
        return self.words[:at]

    def after(self, place: int) -> str:
        """The words after it, holes kept."""
        return self.words[len(self.before(place)) + 1 :]

    def displays(self) -> Iterator[tuple[Sentence, str]]:
        """The displays with the words before each, from the display before it on, holes kept."""
        start = 0
        for place, formula in enumerate(self.formulas):
            if formula.read.formula.kind == "display":
                end = len(self.before(place))
                yield formula, self.words[start:end]
                start = end + 1

    @property
    def named(self) -> tuple[str, ...]:
        """Statements that it cites, of this paper: ``Lemma 3``."""
        return named_in(self.words)

    @property
    def numbered(self) -> tuple[str, ...]:
        """Numbers of equations that it cites."""
        return numbered_in(self.words)


def named_in(words: str) -> tuple[str, ...]:
    """Statements of this paper that words cite, in their order, each once."""
    found: dict[str, None] = {}
    for match in LISTED.finditer(TWICE.sub("", words)):
        items = [one[0] for one in ONE.finditer(match["numbers"])]
        if ELSEWHERE.match(words[match.end() : match.end() + 40]):
            items.pop()  # of another paper
        found |= dict.fromkeys(f"{match['kind']} {item}" for item in items)
    return tuple(found)


def numbered_in(words: str) -> tuple[str, ...]:
    """Numbers of equations that words cite, in their order, each once."""
    found: dict[str, None] = {}
    for match in EQUATION.finditer(words):
        if not ELSEWHERE.match(words[match.end() : match.end() + 24]):
            found[match["named"] or match["bare"]] = None
    return tuple(found)


def cited_in(paper: Paper, words: str) -> dict[str, tuple[Sentence, ...]]:
    """What words cite of a paper, by name: numbered relations and statements with their formulas."""
    names = (*(f"({n})" for n in numbered_in(words)), *named_in(words))
    return {name: paper.citable[name] for name in names if name in paper.citable}


def clauses(paper: Paper) -> Iterator[Clause]:
    """Every sentence of every passage, algorithms left out."""
    for passage in paper.passages:
        if passage.kind != "algorithm":
            yield from clauses_of(passage)


def _joined(words: str) -> str:
    """Words between two formulas; an empty line beside a formula ends no sentence."""
    return f" {words.strip()} " if words.strip() else " "


def clauses_of(passage: Passage) -> Iterator[Clause]:
    """Every sentence of one passage."""
    pieces = [_joined(piece) for piece in TWICE.sub("", passage.words).split(HOLE)]
    if len(pieces) != len(passage.formulas) + 1:
        return
    text = pieces[0]
    for formula, piece in zip(passage.formulas, pieces[1:], strict=True):
        closed = formula.latex.rstrip().rstrip("}").rstrip().endswith(".")
        stop = formula.read.formula.kind == "display" and (closed or NEXT.match(piece) is not None)
        text += HOLE + (". \n\n" if stop else "") + piece
    start = used = 0
    for end in [*(m.end() for m in ENDS.finditer(text)), len(text)]:
        words = text[start:end]
        count = words.count(HOLE)
        if words.strip():
            yield Clause(" ".join(words.split()), passage.formulas[used : used + count], passage)
        start, used = end, used + count

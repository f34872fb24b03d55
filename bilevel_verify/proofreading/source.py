"""What is proofread: the formulas of a paper in order, read, with the words around them where there are any.

A shipped paper is its card with its print (formulas and places, no words); a paper of one's own is its draft.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING

from bilevel_verify.errors import LatexError
from bilevel_verify.language import tree
from bilevel_verify.latex import Notation, Statement
from bilevel_verify.manuscript.formulas import Formula, Print
from bilevel_verify.manuscript.relations import ReadFormula, read_print

if TYPE_CHECKING:
    from bilevel_verify.drafting.draft import Draft
    from bilevel_verify.theorems.card import Card

BESIDE = ("label",)
"""Words of statements that are remarks under a brace and no part of a chain."""


@dataclass(frozen=True, slots=True)
class Sentence:
    """One formula as it was read, with its place and the words of its sentence."""

    read: ReadFormula
    place: str
    before: str = ""
    after: str = ""

    @property
    def unit(self) -> str:
        """Id of the statement, proof or algorithm in which it stands; empty for plain text."""
        return self.read.formula.within

    @property
    def home(self) -> str:
        """Id of the statement to which it belongs, in it or in its proof; the section for plain text."""
        return self.read.formula.statement or f"section {self.read.formula.section}"

    @property
    def latex(self) -> str:
        """The printed formula."""
        return self.read.formula.latex

    def chains(self) -> Iterator[Statement]:
        """Its statements, without remarks under braces."""
        return (s for s in self.read.statements if s.word not in BESIDE)

    def nodes(self) -> Iterator[tree.Node]:
        """Every member of every chain and condition."""
        return self.read.members()


@dataclass(frozen=True, slots=True)
class Passage:
    """A statement, proof, algorithm or stretch of text: its id, kind and words (formulas are blanks)."""

    id: str
    kind: str
    name: str
    words: str
    of: str = ""


@dataclass(frozen=True)
class Paper:
    """A paper to be proofread. ``passages`` are empty where only the formulas are known."""

    key: str
    notation: Notation
    sentences: tuple[Sentence, ...]
    passages: tuple[Passage, ...] = ()
    numbers: frozenset[str] = frozenset()
    doubtful: frozenset[str] = field(default_factory=frozenset)

    @property
    def unread(self) -> tuple[Sentence, ...]:
        """Formulas that could not be read; nothing is said about them."""
        return tuple(s for s in self.sentences if not s.read.statements)

    @cached_property
    def homes(self) -> dict[str, list[Sentence]]:
        """Statement (with its proof), algorithm or section -> its sentences in order."""
        found: dict[str, list[Sentence]] = {}
        for sentence in self.sentences:
            found.setdefault(sentence.home, []).append(sentence)
        return found


def paper_of_card(card: Card, source: Print) -> Paper:
    """A paper from its card and its print."""
    from bilevel_verify.manuscript.naming import print_notation

    notation = print_notation(card)
    sentences = [Sentence(one, one.formula.place) for one in _read(source, notation)]
    return Paper(card.key, notation, tuple(sentences))


def paper_of_draft(draft: Draft) -> Paper:
    """A paper from its draft: its formulas with the words around them."""
    from bilevel_verify.drafting.document import plain_words, slug
    from bilevel_verify.drafting.latex_source import numbers_for
    from bilevel_verify.drafting.sentences import contexts

    document, formulas, around, passages = draft.document, [], [], []
    for unit in document.units:
        kind, within = unit.kind, slug(unit.name) if unit.name else ""
        if kind == "proof":
            within = f"proof of {slug(unit.of)}" if unit.of else ""
        for context in contexts(unit):
            latex = _written_out(draft, context.formula.clean)
            where = {"section": unit.section, "within": within, "number": context.formula.number}
            shown = "algorithm-line" if kind == "algorithm" else "display" if context.formula.display else "inline"
            formulas.append(Formula(len(formulas) + 1, latex, shown, **where))
            around.append((str(document.text.where(context.formula.at)), context.before, context.after))
        words = " ".join(p.text for p in unit.parts if hasattr(p, "text"))
        passages.append(
            Passage(within, kind, unit.name or unit.title, plain_words(numbers_for(words, document.labels)), unit.of)
        )
    read = _read(Print(draft.key, tuple(formulas)), draft.notation)
    sentences = [Sentence(one, f"{around[one.formula.n - 1][0]}{_named(one.formula)}", *around[one.formula.n - 1][1:])
                 for one in read]  # fmt: skip
    numbers = frozenset(f.number for f in formulas if f.number)
    doubtful = frozenset(d.entry.name for d in draft.symbols if d.doubt)
    return Paper(draft.key, draft.notation, tuple(sentences), tuple(passages), numbers, doubtful)


def _named(formula: Formula) -> str:
    number = f" ({formula.number})" if formula.number else ""
    return f"{number}, {formula.within}" if formula.within else number


def _written_out(draft: Draft, latex: str) -> str:
    from bilevel_verify.drafting.macros import written_out
    from bilevel_verify.drafting.relations import cleaned

    try:
        return written_out(cleaned(latex), draft.document.macros)[0]
    except LatexError:
        return latex


def _read(source: Print, notation: Notation) -> Iterator[ReadFormula]:
    """Every formula; a display that cannot be read as a whole row by row."""
    from bilevel_verify.drafting.relations import row_groups
    from bilevel_verify.latex import read_latex

    for one in read_print(source, notation):
        if one.statements or one.formula.kind != "display":
            yield one
            continue
        found: list[Statement] = []
        for row in row_groups(one.formula.latex):
            try:
                found += read_latex(row, notation).statements
            except LatexError:
                continue
        yield ReadFormula(one.formula, tuple(found), one.reason, one.message)

"""What is proofread: the formulas of a paper in order, read, with the words around them where there are any.

A shipped paper is its card with its print (formulas and places, no words); a paper of one's own is its draft.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING

from bilevel_verify.drafting.listings.lines import HOLE as HOLE
from bilevel_verify.drafting.listings.lines import Listing
from bilevel_verify.errors import LatexError
from bilevel_verify.language import tree
from bilevel_verify.latex import Notation, Statement
from bilevel_verify.latex.statements import ORDERED
from bilevel_verify.manuscript.formulas import Formula, Print
from bilevel_verify.manuscript.relations import ReadFormula, read_print

if TYPE_CHECKING:
    from bilevel_verify.drafting.document import Unit
    from bilevel_verify.drafting.draft import Draft
    from bilevel_verify.theorems.card import Card

LABEL = re.compile(r"\\label\s*\{([^{}]*)\}")
PROMISED = r"((?:Theorem|Lemma|Proposition|Corollary) [A-Z]?\.?\d+(?:\.\d+)*)"
ANNOUNCED = re.compile(
    rf"\bwe (?:now |first |next |will )*(?:prove|(?:give|present|provide|finish|complete) the proof of) {PROMISED}"
)
NAMED_PROOF = re.compile(r"(?:[A-Z]?[\d.]*\s*Proof)?\s*of\b", re.I)
PROMISES = ("theorem", "proposition", "lemma", "corollary")
"""Kinds of passages that promise something, and are cited for it."""
BEGINS = re.compile(r"\A\s*(?:&\s*)*(?:=|\\leq?\b|\\geq?\b|\\lesssim\b)(?:\s*&)*")
"""A row that goes on with a relation; alone, its right side is read."""
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

    def may_rest_on(self, other: Sentence) -> bool:
        """Whether another formula stands in the same proof, or outside of proofs and of what is proved."""
        if other.unit == self.unit:
            return True
        return not other.unit.startswith("proof of") and other.read.formula.statement != self.read.formula.statement

    @property
    def latex(self) -> str:
        """The printed formula."""
        return self.read.formula.latex

    @property
    def message(self) -> str:
        """Why it was not read."""
        return self.read.message

    def chains(self) -> Iterator[Statement]:
        """Its statements, without remarks under braces."""
        return (s for s in self.read.statements if s.word not in BESIDE)

    def nodes(self) -> Iterator[tree.Node]:
        """Every member of every chain and condition."""
        return self.read.members()

    def names(self) -> set[str]:
        """Letters, and bases of entries of sequences, in all of its members."""
        parts = [part for node in self.nodes() for part in node.walk()]
        return {p.name for p in parts if isinstance(p, tree.Letter)} | {
            p.base for p in parts if isinstance(p, tree.Index)
        }


@dataclass(frozen=True, slots=True)
class Passage:
    """A statement, proof, algorithm or stretch of text: id, kind and words, with a hole for each formula."""

    id: str
    kind: str
    name: str
    words: str
    of: str = ""
    formulas: tuple[Sentence, ...] = ()

    @property
    def letters(self) -> set[str]:
        """Letters and sequences of its formulas."""
        return set().union(*(sentence.names() for sentence in self.formulas))

    @property
    def says_of(self) -> bool:
        """Whether a proof says itself what it proves."""
        return NAMED_PROOF.match(self.name or self.words) is not None


@dataclass(frozen=True)
class Paper:
    """A paper to be proofread. ``passages`` are empty where only the formulas are known."""

    key: str
    notation: Notation
    sentences: tuple[Sentence, ...]
    passages: tuple[Passage, ...] = ()
    listings: tuple[Listing, ...] = ()
    numbers: frozenset[str] = frozenset()
    doubtful: frozenset[str] = frozenset()
    labels: frozenset[str] = frozenset()
    text: str = ""

    @property
    def guessed(self) -> bool:
        """Whether the notation was drawn from the paper itself and not declared."""
        return bool(self.passages)

    @property
    def unread(self) -> tuple[Sentence, ...]:
        """Formulas that could not be read; nothing is said about them."""
        return tuple(s for s in self.sentences if not s.read.statements)

    def before(self, sentence: Sentence) -> dict[str, Sentence]:
        """Number -> relation, of the numbered relations that are printed before a sentence."""
        return {k: s for k, s in self.numbered.items() if s.read.formula.n < sentence.read.formula.n}

    @cached_property
    def stated(self) -> dict[str, Passage]:
        """Name -> statement, of the names that one statement alone has."""
        promised = [p for p in self.passages if p.kind in PROMISES]
        count = Counter(p.name for p in promised)
        return {p.name: p for p in promised if count[p.name] == 1}

    @cached_property
    def given(self) -> frozenset[str]:
        """Sequences of which an entry ``a_k`` stands alone on a side of an equation, as a formula or as an end of an
        interval, in the text.
        """
        found = {*self.entries}
        for sentence in self.sentences:
            if sentence.read.formula.kind != "algorithm-line":
                for chain in sentence.chains():
                    words = [r.word for r in chain.relations[:1]]
                    bounded = bool(words) and words[0] in ORDERED
                    alone = () if bounded else chain.members[:1] if words else chain.members
                    found |= {m.base for m in alone if isinstance(m, tree.Index) and tree.letters(m) - {m.base}}
                found |= {name for chain in sentence.chains() for name in _given_together(sentence, chain)}
                spans = (p for node in sentence.nodes() for p in node.walk() if isinstance(p, tree.Call))
                ends = (a for p in spans if p.function.startswith("interval") for a in p.arguments)
                found |= {end.base for end in ends if isinstance(end, tree.Index)}
        return frozenset(found)

    @cached_property
    def entries(self) -> frozenset[str]:
        """Names of the entries of a matrix, ``a_{ij}`` beside ``A``: with two indices, by the same letter."""
        two = {p.base for p in self.parts if isinstance(p, tree.Index) and len(p.indices) == 2}
        large = {p.name for p in self.parts if isinstance(p, tree.Letter)}
        return frozenset(name for name in two if len(name) == 1 and name.upper() != name and name.upper() in large)

    @cached_property
    def valued(self) -> frozenset[str]:
        """Letters that a formula sets equal to something, alone on its left side."""
        return frozenset(values_in(self.sentences))

    @cached_property
    def below(self) -> frozenset[str]:
        """Sequences of which an entry with a negative index stands in the text."""
        said = (s for s in self.sentences if s.read.formula.kind != "algorithm-line")
        entries = (p for s in said for node in s.nodes() for p in node.walk() if isinstance(p, tree.Index))
        return frozenset(p.base for p in entries if any((tree.rational(i) or 0) < 0 for i in p.indices))

    @cached_property
    def parts(self) -> tuple[tree.Node, ...]:
        """Every part of every formula, each once, in the order of the paper."""
        return tuple(dict.fromkeys(p for s in self.sentences for node in s.nodes() for p in node.walk()))

    @cached_property
    def numbered(self) -> dict[str, Sentence]:
        """Number of an equation -> its formula."""
        return {s.read.formula.number: s for s in self.sentences if s.read.formula.number}

    @cached_property
    def citable(self) -> dict[str, tuple[Sentence, ...]]:
        """What can be cited, by its name: a numbered relation, ``(3)``, and the formulas of a statement."""
        held: dict[str, tuple[Sentence, ...]] = {f"({k})": (s,) for k, s in self.numbered.items()}
        return held | {name: p.formulas for name, p in self.stated.items() if p.formulas}

    @cached_property
    def homes(self) -> dict[str, list[Sentence]]:
        """Statement (with its proof), algorithm or section -> its sentences in order."""
        found: dict[str, list[Sentence]] = {}
        for sentence in self.sentences:
            found.setdefault(sentence.home, []).append(sentence)
        return found


def values_in(formulas: Iterable[Sentence]) -> dict[str, tree.Node]:
    """Letters that stand alone on the left of an equation, with its right side."""
    equations = (e for s in formulas for c in s.chains() if (e := c.equation) is not None)
    return {e[0].name: e[1] for e in equations if isinstance(e[0], tree.Letter)}


def _given_together(sentence: Sentence, chain: Statement) -> Iterator[str]:
    """Sequences that are listed, ``a_1, \\dots, a_m``, or that are given as pairs, ``(x_i, y_i)``."""
    first = chain.members[0]
    items = first.arguments if isinstance(first, tree.Call) and first.function == "list" else ()
    listed = tree.Letter("dots") in (*items, *(c.members[0] for c in sentence.chains()))
    for node in first.items if isinstance(first, tree.Tuple) else (items or (first,)) if listed else ():
        if isinstance(node, tree.Index):
            yield node.base
        elif isinstance(node, tree.Letter) and "_" in node.name:
            yield node.name.partition("_")[0]


def paper_of_card(card: Card, source: Print) -> Paper:
    """A paper from its card and its print."""
    from bilevel_verify.manuscript.naming import print_notation

    notation = print_notation(card)
    sentences = [Sentence(one, one.formula.place) for one in _read(source, notation)]
    return Paper(card.key, notation, tuple(sentences))


def paper_of_draft(draft: Draft) -> Paper:
    """A paper from its draft: its formulas with the words around them, its passages and algorithms."""
    from bilevel_verify.drafting.document import slug
    from bilevel_verify.drafting.sentences import contexts
    from bilevel_verify.drafting.written import written

    document = draft.document
    formulas: list[Formula] = []
    around: list[tuple[str, str, str]] = []
    units: list[list[int]] = []
    for unit in document.units:
        within = slug(unit.name) if unit.name else ""
        if unit.kind == "proof":
            within = f"proof of {slug(unit.of)}" if unit.of else ""
        units.append([])
        for context in contexts(unit):
            latex, number = written(document, context.formula).latex, context.formula.number
            kind = "algorithm-line" if unit.kind == "algorithm" else "display" if context.formula.display else "inline"
            formulas.append(Formula(len(formulas) + 1, latex, kind, unit.section, within, number))
            around.append((str(document.text.where(context.formula.at)), context.before, context.after))
            units[-1].append(len(formulas) - 1)
    read = list(_read(Print(draft.key, tuple(formulas)), draft.notation))
    sentences = [
        Sentence(one, f"{where}{_named(one.formula)}", before, after)
        for one, (where, before, after) in zip(read, around, strict=True)
    ]
    return Paper(
        draft.key,
        draft.notation,
        tuple(sentences),
        tuple(_announced([_passage(draft, unit, [sentences[n] for n in mine])
                          for unit, mine in zip(document.units, units, strict=True)])),
        tuple(_listing(unit, [sentences[n] for n in mine]) for unit, mine in zip(document.units, units, strict=True)
              if unit.kind == "algorithm"),
        frozenset(f.number for f in formulas if f.number),
        frozenset(d.entry.name for d in draft.symbols if d.doubt),
        frozenset(LABEL.findall(document.text.text)),
        document.text.text,
    )  # fmt: skip


def _passage(draft: Draft, unit: Unit, sentences: list[Sentence]) -> Passage:
    from bilevel_verify.drafting.document import Words, plain_words, slug
    from bilevel_verify.drafting.latex_source import numbers_for

    words = " ".join(p.text if isinstance(p, Words) else HOLE for p in unit.parts)
    plain = plain_words(numbers_for(words, draft.document.labels))
    return Passage(
        slug(unit.name) if unit.name else "", unit.kind, unit.name or unit.title, plain, unit.of, tuple(sentences)
    )


def _announced(passages: list[Passage]) -> Iterator[Passage]:
    """A proof that does not say what it proves is of the statement that the text right before it announces."""
    stated = {p.name for p in passages if p.kind in PROMISES}
    said = ""
    for passage in passages:
        found = {*ANNOUNCED.findall(passage.words)} & stated
        if passage.kind == "proof":
            yield passage if passage.says_of or not said else replace(passage, of=said)
            said = ""
            continue
        yield passage
        said = found.pop() if len(found) == 1 and passage.kind == "text" else ""


def _listing(unit: Unit, sentences: list[Sentence]) -> Listing:
    """The lines of an algorithm; a formula stands where its words say."""
    from bilevel_verify.drafting.document import Words, slug

    left = iter(sentences)
    parts = tuple(p.text if isinstance(p, Words) else next(left) for p in unit.parts)
    return Listing(slug(unit.name), unit.name, parts)


def _named(formula: Formula) -> str:
    number = f" ({formula.number})" if formula.number else ""
    return f"{number}, {formula.within}" if formula.within else number


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
            for part in (row, BEGINS.sub("", row, count=1)):
                try:
                    found += read_latex(part, notation).statements
                    break
                except LatexError:
                    continue
        yield ReadFormula(one.formula, tuple(found), one.reason, one.message)

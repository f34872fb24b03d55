"""Fidelity: is what a card quotes in the paper, and is what it judges what the reader makes of the quotation?

For every quotation one row with an outcome of a closed list (:data:`OUTCOMES`). A quotation is looked up in the print
sign by sign; the expression of the card, with its letters written as the paper prints them, is compared with every
relation of the formulas in which the quotation stands, as trees first and then by values at random points.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, TypedDict

from bilevel_verify.errors import LatexError
from bilevel_verify.language import to_text, tree
from bilevel_verify.latex import Notation, read_latex
from bilevel_verify.latex import Statement as Latex
from bilevel_verify.manuscript.comparing import Fingerprints, Relation, Setting, same, same_relation, whole_letters
from bilevel_verify.manuscript.formulas import Formula, Print
from bilevel_verify.manuscript.formulas import Said as Remark
from bilevel_verify.manuscript.naming import Naming, Said, is_count, naming_of, print_notation
from bilevel_verify.manuscript.quotation import Indexed
from bilevel_verify.manuscript.quoted import Quoted, quotations
from bilevel_verify.manuscript.relations import (
    Definitions,
    ReadFormula,
    candidates,
    definitions_of,
    read_print,
    read_said,
)
from bilevel_verify.theorems.card import Card
from bilevel_verify.theorems.card_parts import Root
from bilevel_verify.theorems.rewrite import has_order
from bilevel_verify.theorems.vocabulary import ORDER_FUNCTIONS

if TYPE_CHECKING:
    from bilevel_verify.language import tree

OUTCOMES = ("same tree", "same values", "marked", "quoted", "not read", "differs", "not in the print")
"""``quoted``: it stands in the print, and the card has no expression for it; ``marked``: what is judged differs from
the print, and the marks of the card say why; ``not read``: the reader does not read it, for the reason given."""
BAD = ("differs", "not in the print")


class RowRecord(TypedDict):
    """A :class:`Row` as JSON."""

    paper: str
    statement: str
    part: str
    outcome: str
    latex: str
    text: str
    places: list[int]
    reason: str
    marks: list[str]


@dataclass(frozen=True, slots=True)
class Row:
    """One quotation: where it stands in the card and in the print, and what became of it."""

    paper: str
    statement: str
    part: str
    outcome: str
    latex: str
    text: str
    places: tuple[int, ...] = ()
    reason: str = ""
    marks: tuple[str, ...] = ()

    def to_dict(self) -> RowRecord:
        """All fields, for JSON."""
        return {
            "paper": self.paper,
            "statement": self.statement,
            "part": self.part,
            "outcome": self.outcome,
            "latex": self.latex,
            "text": self.text,
            "places": list(self.places),
            "reason": self.reason,
            "marks": list(self.marks),
        }


@dataclass(frozen=True)
class Paper:
    """A card beside its print: everything that comparing the two needs, made once."""

    card: Card
    source: Print
    index: Indexed = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "index", Indexed(self.source))

    @cached_property
    def notation(self) -> Notation:
        """How the paper prints its formulas."""
        return print_notation(self.card)

    @cached_property
    def read(self) -> tuple[ReadFormula, ...]:
        """The print as it was read."""
        return read_print(self.source, self.notation)

    @cached_property
    def by_number(self) -> dict[int, ReadFormula]:
        """Number of a formula -> how it was read."""
        return {one.formula.n: one for one in self.read}

    @cached_property
    def said(self) -> tuple[tuple[Remark, frozenset[str], tuple[Relation, ...]], ...]:
        """What the paper says beside its formulas, as it was read."""
        return read_said(self.source, self.notation, self.by_number)

    @cached_property
    def defined(self) -> Definitions:
        """What the print defines."""
        return definitions_of(self.read)

    @cached_property
    def naming(self) -> Naming:
        """The card's letters as the paper prints them."""
        return naming_of(self.card, self.notation)

    @cached_property
    def prints(self) -> Fingerprints:
        """Values of expressions, in the names of the print."""
        named = self.naming
        domains = {named.name(n): spec.domain for n, spec in self.card.letters.items() if spec.domain is not None}
        members = (m for one in self.read for m in one.members())
        return Fingerprints(self.notation, domains, whole_letters(members) | self.notation.indices)

    def prints_kind(self, name: str) -> str:
        """Kind of a letter or of the entries of a sequence."""
        return self.prints.kind(name, "letter")

    @cached_property
    def formulas(self) -> dict[str, tree.Node]:
        """The definitions of the card, in the names of the print."""
        found = {
            name: definition.value.tree
            for name, definition in self.card.definitions.items()
            if not isinstance(definition.value, Root) and not has_order(definition.value.tree)
        }
        return {self.naming.name(n): self.naming.printed(node) for n, node in found.items()}

    @cached_property
    def usual(self) -> Setting:
        """The setting of entries without definitions of their own."""
        return Setting(self.prints, self.formulas, self.defined.out)

    def setting(self, define: Mapping[str, tree.Node]) -> Setting:
        """The setting of an entry with its own definitions."""
        if not define:
            return self.usual
        own = {self.naming.name(n): self.naming.printed(node) for n, node in define.items()}
        return Setting(self.prints, {**self.formulas, **own}, self.defined.out)


def fidelity(card: Card, source: Print, statement: str | None = None) -> list[Row]:
    """One row for every quotation of a card, or of one entry of it.

    Parameters
    ----------
    card : the card.
    source : the print of its paper.
    statement : only this entry (also ``definitions``, ``settings.NAME``).
    """
    paper = _paper(card, source)
    return [_row(paper, quoted) for quoted in quotations(card) if statement in (None, quoted.statement)]


_PAPERS: dict[tuple[int, int], Paper] = {}
KEPT = 6
"""Papers that were read last, kept by the identity of card and print: reading a print takes seconds."""


def _paper(card: Card, source: Print) -> Paper:
    key = (id(card), id(source))
    if key not in _PAPERS:
        while len(_PAPERS) >= KEPT:
            _PAPERS.pop(next(iter(_PAPERS)))
        _PAPERS[key] = Paper(card, source)
    return _PAPERS[key]


def counts(rows: Iterable[Row]) -> dict[str, int]:
    """How many rows of each outcome."""
    found = Counter(row.outcome for row in rows)
    return {outcome: found[outcome] for outcome in OUTCOMES if found[outcome]}


def _row(paper: Paper, quoted: Quoted) -> Row:
    places = paper.index.places(quoted.latex)
    outcome, reason = _judged(paper, quoted, places) if places else ("not in the print", "")
    return Row(
        paper.card.key,
        quoted.statement,
        quoted.part,
        outcome,
        quoted.latex,
        "; ".join(relation_text(r) for r in quoted.relations) or "; ".join(to_text(s) for s in quoted.sides[:1]),
        tuple(f.n for f in places),
        reason,
        tuple(str(mark) for mark in quoted.marks),
    )


def relation_text(relation: Relation) -> str:
    """A relation as it is written in the language of cards."""
    return f"{to_text(relation.left)} {relation.op} {to_text(relation.right)}"


def _judged(paper: Paper, quoted: Quoted, places: tuple[Formula, ...]) -> tuple[str, str]:
    if not quoted.relations and not quoted.sides:
        return "quoted", ""
    whole = tuple(formula for formula in places if paper.index.whole(quoted.latex, formula))
    if not whole:
        return "marked" if quoted.marks else "differs", "the print goes on where the quotation ends"
    read = [paper.by_number[f.n] for f in whole]
    own, failure = _own(paper, quoted.latex)
    statements = [one.statements for one in read if one.statements]
    if not statements and own is None:
        reason = f"{read[0].reason}: {read[0].message}" if read[0].reason else failure
        return ("marked", f"not read: {reason}") if quoted.marks else ("not read", reason)
    said = [c for part in statements for c in candidates(part)]
    said += candidates(own) if own is not None and not statements else []
    members = [m for part in (*statements, *([own] if own is not None else [])) for s in part for m in s.members]
    setting = paper.setting(quoted.define)
    found = [_relation(paper, relation, said, setting) for relation in quoted.relations]
    found = [f if f[0] else _count(paper, r, members, said, setting) for f, r in zip(found, quoted.relations)]
    if quoted.defines and not found[0][0]:
        named = [r.right for r in said if r.op == "==" and isinstance(r.left, tree.Letter | tree.Index | tree.Call)]
        alone = [] if own is None else [s.members[0] for s in own if not s.relations]
        found = [_side(paper, (quoted.relations[0].right,), [*named, *alone], setting)]
    if quoted.sides:
        found = [_side(paper, quoted.sides, members, setting)]
    words = {word for word, _ in found}
    if "" not in words:
        stands = sorted({letter for _, letters in found for letter in letters})
        if stands and quoted.generalises and not quoted.marks:
            return "differs", f"no mark says that letters stand for what is printed: {', '.join(stands)}"
        return ("same tree" if words == {"same tree"} else "same values"), ""
    at = next(i for i, (word, _) in enumerate(found) if not word)
    what = relation_text(quoted.relations[at]) if quoted.relations else to_text(quoted.sides[0])
    return ("marked" if quoted.marks else "differs"), f"the print does not say {what}"


def _own(paper: Paper, latex: str) -> tuple[tuple[Latex, ...] | None, str]:
    """The quotation read by itself; None and the reason where it cannot be."""
    try:
        return read_latex(latex, paper.notation).statements, ""
    except LatexError as error:
        return None, f"{error.reason}: {error.plain}"


def _relation(paper: Paper, relation: Relation, said: list[Relation], setting: Setting) -> tuple[str, tuple[str, ...]]:
    """The best agreement of a relation of the card with one of the print, and its letters that stand for more."""
    best, letters = "", tuple[str, ...]()
    for variant, stands in _variants(paper, relation, said):
        for candidate in said:
            word = same_relation(variant, candidate, setting)
            if word == "same tree":
                return word, stands
            if word and not best:
                best, letters = word, stands
    return best, letters


def _count(
    paper: Paper, relation: Relation, members: list[tree.Node], said: list[Relation], setting: Setting
) -> tuple[str, tuple[str, ...]]:
    """A bound of a number of iterations, epochs or calls: the print names that number in words, or by a letter."""
    if not is_count(relation.left):
        return "", ()
    printed = [*members, *(r.right for r in said if isinstance(r.left, tree.Letter) and r.op == relation.op)]
    best = ""
    for member in printed:
        word = same(paper.naming.printed(relation.right), member, setting)
        if word == "same tree":
            return word, ()
        best = best or word
    return best, ()


def _variants(paper: Paper, relation: Relation, said: list[Relation]) -> Iterator[tuple[Relation, tuple[str, ...]]]:
    """The relation in the names of the print, and with the running letter that the print has instead of the card's."""
    left, right = paper.naming.printed(relation.left), paper.naming.printed(relation.right)
    stands = paper.naming.standing(relation.left, relation.right)
    first = Relation(left, relation.op, right)
    yield first, stands
    for change in paper.naming.runs(first, Said.joined(map(Said.of, said))):
        yield Relation(change(left), relation.op, change(right)), stands
    bare = paper.naming.bare
    second = Relation(bare.printed(relation.left), relation.op, bare.printed(relation.right))
    if second != first:
        yield second, stands


def _side(
    paper: Paper, sides: tuple[tree.Node, ...], members: list[tree.Node], setting: Setting
) -> tuple[str, tuple[str, ...]]:
    """Whether one of the expressions is a member of what is quoted, orders taken off."""
    printed = [m for member in members for m in (member, *_inside(member))]
    best = ""
    for side in sides:
        for node in (side, *_inside(side)):
            for member in printed:
                word = same(paper.naming.printed(node), member, setting)
                if word == "same tree":
                    return word, ()
                best = best or word
    return best, ()


def _inside(node: tree.Node) -> list[tree.Node]:
    """What stands under an order symbol."""
    if isinstance(node, tree.Call) and node.function in ORDER_FUNCTIONS:
        return [node.arguments[0]]
    return []

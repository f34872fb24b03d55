"""Which relation of the print does an entry of a card judge?

Every relation of every chain, claim, definition and identity of a card is compared with every relation of the print:
equal trees or equal values. What is judged otherwise than it is printed (a mark says why) belongs to the relation that
it quotes.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from bilevel_verify.errors import LatexError
from bilevel_verify.language import tree
from bilevel_verify.latex import read_latex
from bilevel_verify.manuscript.comparing import Relation, Setting, plain, same_relation
from bilevel_verify.manuscript.fidelity import Paper
from bilevel_verify.manuscript.lettered import Lettered
from bilevel_verify.manuscript.naming import Said
from bilevel_verify.manuscript.quoted import Quoted, displays, quotations
from bilevel_verify.manuscript.relations import Printed, candidates, relations_of
from bilevel_verify.theorems.card import Card, Entry, Identity, Inequality, Statement, Step


@dataclass(frozen=True, slots=True)
class Item:
    """One relation that a card judges: ``claim`` is its name in the rows of the audit and of ``verify``."""

    entry: str
    claim: str
    relation: Relation
    over: str = ""
    marked: bool = False


@dataclass(frozen=True, slots=True)
class Match:
    """An item for a relation of the print; ``exact`` where it is that relation, else its mark says what it is."""

    item: Item
    exact: bool


def items_of(card: Card) -> Iterator[Item]:
    """Everything that a card judges as a relation."""
    for entry in card.entries.values():
        yield from _of_entry(entry)


def _of_entry(entry: Entry) -> Iterator[Item]:
    match entry:
        case Inequality() | Step():
            for number, link in enumerate(entry.chain, 1):
                marked = bool(entry.marks or link.marks)
                yield Item(entry.id, f"link-{number}", Relation(link.left.tree, link.op, link.right.tree), "", marked)
        case Identity():
            yield Item(entry.id, "identity", Relation(entry.left.tree, "==", entry.right.tree), "", bool(entry.marks))
        case Statement():
            for claim in entry.claims:
                for link in claim.chain:
                    marked = bool(entry.marks or claim.marks or link.marks)
                    relation = Relation(link.left.tree, link.op, link.right.tree)
                    yield Item(entry.id, claim.id, relation, claim.over, marked)


def matches(paper: Paper) -> dict[str, list[Match]]:
    """Name of a printed relation (``n.index``) -> what the card has for it, exact ones first."""
    printed = [p for one in paper.read for p in relations_of(one)]
    found: dict[str, list[Match]] = {}
    index = _Index(paper, printed)
    for item in items_of(paper.card):
        for name in index.names(item.relation):
            found.setdefault(name, []).append(Match(item, True))
    lettered = Lettered(paper, printed)
    for item in items_of(paper.card):
        for name in lettered.names(item.relation):
            if not any(m.item == item for m in found.get(name, ())):
                found.setdefault(name, []).append(Match(item, False))
    for quoted in quotations(paper.card):
        for name in _quoted_names(paper, quoted, index):
            for item in _items_of_quotation(paper.card, quoted):
                if not any(m.item == item for m in found.get(name, ())):
                    found.setdefault(name, []).append(Match(item, False))
    for quoted in displays(paper.card):
        for name in _stated_names(paper, quoted, index):
            for item in _items_of_quotation(paper.card, quoted):
                if not any(m.item == item for m in found.get(name, ())):
                    found.setdefault(name, []).append(Match(item, False))
    return {name: sorted(ms, key=lambda m: not m.exact) for name, ms in found.items()}


class _Index:
    """The relations of the print by the values of their sides.

    What is asked of a relation of the print is computed once: the values of its sides, and what it is about
    (``about``), for the renaming of running letters; names of a relation that were found are kept.
    """

    def __init__(self, paper: Paper, printed: list[Printed]) -> None:
        self.paper, self.setting = paper, paper.usual
        self.by_key: dict[tuple[str, str], list[Printed]] = {}
        self.by_formula: dict[int, list[Printed]] = {}
        self.about: list[tuple[Said, frozenset[str]]] = []
        self.found: dict[Relation, list[str]] = {}
        self.near: dict[frozenset[str], Said] = {}
        self.values: dict[tree.Node, str] = {}
        for one in printed:
            self.by_formula.setdefault(one.formula.n, []).append(one)
            said = Said.of(one.relation)
            self.about.append((said, said.sequences))
            for key in self._keys(one.relation, self.setting):
                self.by_key.setdefault(key, []).append(one)

    def names(self, relation: Relation) -> list[str]:
        """Names of the printed relations that an item of the card is."""
        if relation not in self.found:
            self.found[relation] = self._names(relation)
        return self.found[relation]

    def _names(self, relation: Relation) -> list[str]:
        found: dict[str, None] = {}
        tried: set[Relation] = set()
        naming = self.paper.naming
        for name in (naming, naming.bare):
            first = Relation(name.printed(relation.left), relation.op, name.printed(relation.right))
            near = self._near(Said.of(first).sequences)
            renamed = (Relation(c(first.left), first.op, c(first.right)) for c in naming.runs(first, near))
            for variant in (first, *renamed):
                if variant in tried:
                    continue
                tried.add(variant)
                for key in self._keys(variant, self.setting):
                    for one in self.by_key.get(key, ()):
                        if one.name not in found and same_relation(variant, one.relation, self.setting):
                            found[one.name] = None
        return list(found)

    def _near(self, sequences: frozenset[str]) -> Said:
        """Relations that share a sequence with one: where its running letters may be renamed."""
        if sequences not in self.near:
            self.near[sequences] = Said.joined(said for said, own in self.about if own & sequences)
        return self.near[sequences]

    def _keys(self, relation: Relation, setting: Setting) -> list[tuple[str, str]]:
        if relation.op not in tree.MIRRORED:
            return []
        sides = [[self._key(node) for node in setting.written(plain(s))] for s in (relation.left, relation.right)]
        return list(dict.fromkeys((a, b) if a <= b else (b, a) for a, b in zip(*sides)))

    def _key(self, node: tree.Node) -> str:
        """A side by its first value to five digits, or by itself."""
        if node not in self.values:
            self.values[node] = self._valued(node)
        return self.values[node]

    def _valued(self, node: tree.Node) -> str:
        import numpy as np

        for value in self.paper.prints.of(node):
            if value is not None:
                return f"{value.shape} {float(np.abs(value).sum()):.5g}"
        return repr(node)


def _quoted_names(paper: Paper, quoted: Quoted, index: _Index) -> list[str]:
    """The printed relations that a quotation shows, in the first formula in which it stands."""
    places = paper.index.places(quoted.latex)
    if not places:
        return []
    try:
        shown = read_latex(quoted.latex, paper.notation).statements
    except LatexError:
        shown = ()
    inside = index.by_formula.get(places[0].n, [])
    said = candidates(shown)
    found = [p.name for p in inside if any(_shown(one, p.relation, paper.usual) for one in said)]
    return found or ([p.name for p in inside] if len(inside) == 1 else [])


def _stated_names(paper: Paper, quoted: Quoted, index: _Index) -> list[str]:
    """The printed relations that a display of the card's own making is."""
    try:
        shown = read_latex(quoted.latex, paper.notation).statements
    except LatexError:
        return []
    return list(dict.fromkeys(n for one in candidates(shown) if one.op in tree.MIRRORED for n in index.names(one)))


def _shown(one: Relation, printed: Relation, setting: Setting) -> bool:
    """Whether a quotation shows a relation: all of it, or from the sign on."""
    if one.left == tree.Letter("_"):
        return one.op == printed.op and plain(one.right) == plain(printed.right)
    return bool(same_relation(one, printed, setting))


def _items_of_quotation(card: Card, quoted: Quoted) -> list[Item]:
    """The items of the entry or claim that a quotation stands beside."""
    entry = card.entries.get(quoted.statement)
    if entry is None:
        return []
    items = list(_of_entry(entry))
    claim = quoted.part.partition(": link-")[0]
    if quoted.relations:
        items = [
            i for i in items if i.relation in quoted.relations and (i.claim == claim or i.claim.startswith("link-"))
        ]
    if not items and quoted.sides:
        return [Item(entry.id, "derivation", Relation(tree.Letter("_"), "<=", quoted.sides[0]), "", bool(entry.marks))]
    return items

"""What a card quotes: every ``printed`` text with the expressions that stand for it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace

from bilevel_verify.language import tree
from bilevel_verify.manuscript.comparing import Relation
from bilevel_verify.theorems.card import Card, Derivation, Entry, Identity, Inequality, Statement, Step, TableRow
from bilevel_verify.theorems.card_parts import Definition, Domain, Expression, Link, Mark, Root


@dataclass(frozen=True)
class Quoted:
    """One quotation.

    ``statement`` and ``part`` say where it stands in the card (an entry and ``link-2`` or the id of a claim);
    ``relations`` are what it is judged as, ``sides`` expressions of which it must have one (the bound of a
    derivation); with neither there is nothing to compare. ``generalises``: its letters range over all numbers, so that
    one that stands for something printed needs a mark; ``defines``: the left side is a name of the card.
    """

    statement: str
    part: str
    latex: str
    relations: tuple[Relation, ...] = ()
    sides: tuple[tree.Node, ...] = ()
    marks: tuple[Mark, ...] = ()
    define: Mapping[str, tree.Node] = field(default_factory=dict)
    domains: Mapping[str, Domain] = field(default_factory=dict)
    generalises: bool = False
    defines: bool = False


def displays(card: Card) -> Iterator[Quoted]:
    """Every display of a card's own making (``stated``) beside the relations of entries and claims."""
    for entry in card.entries.values():
        if isinstance(entry, Inequality | Step):
            yield from _of_chain(entry.id, "link-", _own(entry.chain), entry.stated, entry.marks, {}, {})
        if isinstance(entry, Statement):
            for claim in entry.claims:
                prefix = claim.id if len(claim.chain) == 1 else f"{claim.id}: link-"
                yield from _of_chain(entry.id, prefix, _own(claim.chain), claim.stated, claim.marks, {}, {})


def _own(chain: tuple[Link, ...]) -> tuple[Link, ...]:
    """Links with their own displays in the place of quotations."""
    return tuple(replace(link, printed=link.stated) for link in chain)


def quotations(card: Card) -> Iterator[Quoted]:
    """Every quotation of a card, in its order."""
    if card.hides is not None and card.hides.printed:
        yield Quoted("hides", "", card.hides.printed)
    for name, definition in card.definitions.items():
        yield from _defined("definitions", name, definition)
    for key, setting in card.settings.items():
        if setting.printed:
            yield Quoted(f"settings.{key}", "", setting.printed)
        for name, definition in setting.parameters.items():
            yield from _defined(f"settings.{key}", name, definition)
    for key, reading in card.readings.items():
        for name, definition in reading.parameters.items():
            yield from _defined(f"readings.{key}", name, definition, (Mark("reading", reading.label),))
    for entry in card.entries.values():
        yield from _of_entry(entry)


def _defined(statement: str, name: str, definition: Definition, marks: tuple[Mark, ...] = ()) -> Iterator[Quoted]:
    if not definition.printed:
        return
    if isinstance(definition.value, Root):
        yield Quoted(statement, name, definition.printed, marks=marks)
    else:
        relation = Relation(tree.Letter(name), "==", definition.value.tree)
        yield Quoted(statement, name, definition.printed, (relation,), marks=marks, defines=True)


def _of_entry(entry: Entry) -> Iterator[Quoted]:
    define = {n: v.tree for n, v in entry.define.items()}
    for name, definition in entry.parameters.items():
        yield from _defined(entry.id, name, definition)
    match entry:
        case Inequality() | Step():
            found = _of_chain(entry.id, "link-", entry.chain, entry.printed, entry.marks, define, entry.for_)
            yield from (_general(q) for q in found)
        case Derivation():
            sides = (entry.gives, entry.result, *entry.substitute.values())
            yield from _of_sides(entry, sides, define)
        case TableRow():
            yield from _of_sides(entry, tuple(entry.entries.values()), define)
        case Identity():
            relation = Relation(entry.left.tree, "==", entry.right.tree)
            for text in filter(None, entry.printed):
                yield Quoted(entry.id, "identity", text, (relation,), marks=entry.marks, define=define)
        case _:
            for number, text in enumerate(entry.printed, 1):
                if text:
                    yield Quoted(entry.id, f"quotation-{number}", text)
    if isinstance(entry, Statement):
        for claim in entry.claims:
            inner = define | {n: v.tree for n, v in claim.define.items()}
            marks = (*entry.marks, *claim.marks)
            prefix = claim.id if len(claim.chain) == 1 else f"{claim.id}: link-"
            yield from _of_chain(entry.id, prefix, claim.chain, claim.printed, marks, inner, claim.for_)


def _general(quoted: Quoted) -> Quoted:
    return replace(quoted, generalises=True)


def _of_sides(entry: Entry, sides: tuple[Expression, ...], define: Mapping[str, tree.Node]) -> Iterator[Quoted]:
    for number, text in enumerate(entry.printed, 1):
        if text:
            nodes = tuple(side.tree for side in sides)
            yield Quoted(entry.id, f"quotation-{number}", text, sides=nodes, marks=entry.marks, define=define)


def _of_chain(
    statement: str,
    prefix: str,
    chain: tuple[Link, ...],
    printed: tuple[str, ...],
    marks: tuple[Mark, ...],
    define: Mapping[str, tree.Node],
    domains: Mapping[str, Domain],
) -> Iterator[Quoted]:
    """One quotation for each link that has its own, or one for the whole chain."""
    relations = tuple(Relation(link.left.tree, link.op, link.right.tree) for link in chain)
    if any(link.printed for link in chain):
        for number, (link, relation) in enumerate(zip(chain, relations), 1):
            part = f"{prefix}{number}" if prefix.endswith("link-") else prefix
            if link.printed:
                every = (*marks, *link.marks)
                yield Quoted(statement, part, link.printed, (relation,), (), every, define, domains)
        return
    part = f"{prefix}1" if prefix.endswith("link-") and len(chain) == 1 else prefix.removesuffix(": link-")
    every = (*marks, *(m for link in chain for m in link.marks))
    for number, text in enumerate(printed, 1):
        if text:
            name = f"{part.removesuffix('link-')}quotation-{number}" if part.endswith("link-") else part
            yield Quoted(statement, name, text, relations, (), every, define, domains)

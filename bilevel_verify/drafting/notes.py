"""What a reader of proofs marks in the margin: indices bound twice, idle or free, letters nobody introduced."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from bilevel_verify.drafting.positions import Position
from bilevel_verify.language import tree
from bilevel_verify.latex.grammar.binding import bound_by, free_letters
from bilevel_verify.theorems.vocabulary import NUMBERS


@dataclass(frozen=True, slots=True)
class Note:
    """One line in the margin: about an entry, or about the letters of the paper (``entry`` empty)."""

    entry: str
    where: Position
    text: str


def index_notes(*sides: tree.Node) -> Iterator[str]:
    """Indices of one relation: bound twice, bound and free at once, bound and never used."""
    free = frozenset().union(*(free_letters(side) for side in sides))
    told: set[str] = set()
    for side in sides:
        for text in (*_nested(side, frozenset()), *_clash(side, free)):
            if text not in told:
                told.add(text)
                yield text


def _calls(node: tree.Node) -> Iterator[tuple[tree.Call, frozenset[str]]]:
    for part in node.walk():
        if isinstance(part, tree.Call) and (names := _plain(bound_by(part))):
            yield part, names


def _plain(names: frozenset[str]) -> frozenset[str]:
    return frozenset(n for n in names if not n.endswith("[]"))


def _nested(node: tree.Node, outside: frozenset[str]) -> Iterator[str]:
    """The same index bound by an operator inside another one; an index that does not occur in what it runs over."""
    inner = outside
    if isinstance(node, tree.Call) and (names := _plain(bound_by(node))):
        for name in sorted(names & outside):
            yield f"the index {name} is bound twice: by a {node.function} inside another operator"
        body = frozenset().union(*(free_letters(a) for a in node.arguments[:-1]))
        for name in sorted(names):
            if name not in body and f"{name}[]" not in body and node.function in ("sum", "prod"):
                yield f"the index {name} of a {node.function} does not occur in its terms"
        inner = outside | names
        for part in node.arguments[:-1]:
            yield from _nested(part, inner)
        yield from _nested(node.arguments[-1], outside)
        return
    for part in node.children():
        yield from _nested(part, inner)


def _clash(node: tree.Node, free: frozenset[str]) -> Iterator[str]:
    for call, names in _calls(node):
        for name in sorted(names & free - NUMBERS):
            yield f"the index {name} is bound by a {call.function} and free in the same relation"

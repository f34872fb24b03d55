"""Where letters stand in a tree: as an index of a sequence or as a value, free or bound by an operator."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from bilevel_verify.language import tree
from bilevel_verify.language.binding import binder
from bilevel_verify.latex.grammar.binding import bound_by

NORMS = ("norm", "norm_2", "frobenius", "abs", "dual_norm")


@dataclass(frozen=True, slots=True)
class Use:
    """One occurrence of a letter: inside an index of ``base`` (or empty), and the operators that bind it there."""

    name: str
    base: str
    binder: tree.Call | None


def uses(node: tree.Node) -> Iterator[Use]:
    """Every occurrence of every letter, the running letter of a range itself left out."""
    yield from _uses(node, "", {})


def _uses(node: tree.Node, base: str, bound: dict[str, tree.Call]) -> Iterator[Use]:
    match node:
        case tree.Letter(name=name):
            yield Use(name, base, bound.get(name))
        case tree.Index(base=inside, indices=indices):
            for index in indices:
                yield from _uses(index, inside, bound)
        case tree.Call() if names := bound_by(node):
            span = node.arguments[-1]
            assert isinstance(span, tree.Tuple)
            for end in span.items[1:]:
                yield from _uses(end, base, bound)
            inner = bound | dict.fromkeys(names, node)
            for part in node.arguments[:-1]:
                yield from _uses(part, base, inner)
        case tree.Call(function="integral"):
            return
        case _:
            for part in node.children():
                yield from _uses(part, base, bound)


def shift_of(node: tree.Node, name: str) -> int | None:
    """``c`` where an index is the letter plus the whole number c; None otherwise."""
    if node == tree.Letter(name):
        return 0
    if not isinstance(node, tree.Add):
        return None
    total, seen = 0, False
    for term in node.terms:
        number = whole(term)
        if number is not None:
            total += number
        elif term == tree.Letter(name) and not seen:
            seen = True
        else:
            return None
    return total if seen else None


def whole(node: tree.Node) -> int | None:
    """The whole number that a node prints."""
    match node:
        case tree.Number(value=value) if value.denominator == 1:
            return int(value)
        case tree.Negate(operand=operand):
            inner = whole(operand)
            return None if inner is None else -inner
    return None


def has_power_of_e(node: tree.Node) -> bool:
    """Whether a power of the letter e stands in a formula: Euler's number, whatever e is elsewhere."""
    return any(isinstance(p, tree.Power) and p.base == tree.Letter("e") for p in node.walk())


def ends_of_sums(nodes: Iterable[tree.Node], name: str) -> int:
    """How many ranges of sums and their kind end with a letter, where it stands nowhere else; 0 where it does."""
    parts = [p for node in nodes for p in node.walk()]
    spans = [span for p in parts if isinstance(p, tree.Call) and (span := binder(p)) is not None]
    ends = [end for span in spans for end in span[1:] if name in tree.letters(end)]
    inside = sum(p == tree.Letter(name) for end in ends for p in end.walk())
    return len(ends) if inside == sum(p == tree.Letter(name) for p in parts) else 0

"""Expectations of sums: the expectation of a relation, term by term, and sums of it over a range.

Conditional expectations are read as plain ones: a relation for the one, in expectation, is one for the other.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction

from bilevel_verify.language import tree
from bilevel_verify.language.binding import binder
from bilevel_verify.latex.grammar.names import EXPECTATION
from bilevel_verify.manuscript.comparing import Relation
from bilevel_verify.manuscript.proofs.said import tidy
from bilevel_verify.theorems.rewrite import free_letters, rebuild, substitute

ONE = tree.Number(Fraction(1))


def spread(node: tree.Node) -> tree.Node:
    """A formula with its expectations term by term, numbers and sums taken out of them."""
    node = rebuild(node, spread)
    if isinstance(node, tree.Call) and node.function == EXPECTATION:
        return _of(node.arguments[-1])
    return node


def has_expectation(*nodes: tree.Node) -> bool:
    """Whether an expectation stands in some formulas."""
    return any(isinstance(p, tree.Call) and p.function == EXPECTATION for node in nodes for p in node.walk())


def _of(node: tree.Node) -> tree.Node:
    match node:
        case tree.Number():
            return node
        case tree.Add(terms=terms):
            return tree.Add(tuple(_of(t) for t in terms))
        case tree.Negate(operand=inner):
            return tree.Negate(_of(inner))
        case tree.Divide(numerator=top, denominator=bottom) if not _drawn(bottom):
            return tree.Divide(_of(top), bottom)
        case tree.Multiply(factors=factors):
            return _product(factors)
        case tree.Call(function=name, arguments=(inner, tree.Tuple() as span)) if name == "sum":
            return tree.Call("sum", (_of(inner), span))
        case tree.Call(function=name) if name == EXPECTATION:
            return node
    return tree.Call(EXPECTATION, (node,)) if _drawn(node) else node


def _product(factors: tuple[tree.Node, ...]) -> tree.Node:
    fixed = [f for f in factors if not _drawn(f)]
    rest = [f for f in factors if _drawn(f)]
    if not rest:
        return tree.Multiply(factors)
    inner = _of(rest[0]) if len(rest) == 1 else tree.Call(EXPECTATION, (tree.Multiply(tuple(rest)),))
    return tree.Multiply((*fixed, inner))


def _drawn(node: tree.Node) -> bool:
    """Whether what is drawn may stand in a formula: entries behind the first one, values of functions of letters."""
    parts = list(node.walk())
    entries = [p for p in parts if isinstance(p, tree.Index)]
    if entries and all(tree.is_zero(i) for p in entries for i in p.indices):
        return False
    return bool(entries) or any(isinstance(p, tree.Call) for p in parts)


def expectation_of(relation: Relation) -> Relation:
    """A relation in expectation."""
    return Relation(_of(relation.left), relation.op, _of(relation.right))


def summed(relation: Relation, name: str, span: tuple[str, tree.Node, tree.Node]) -> Relation:
    """A relation summed over ``span`` in the place of its running letter ``name``."""
    return Relation(_sum(relation.left, name, span), relation.op, _sum(relation.right, name, span))


def _sum(body: tree.Node, name: str, span: tuple[str, tree.Node, tree.Node]) -> tree.Node:
    """The sum of a body in ``name`` over ``span``."""
    letter, low, high = span
    moved = substitute(body, {name: tree.Letter(letter)})
    return tree.Call("sum", (moved, tree.Tuple((tree.Letter(letter), low, high))))


def telescopes(
    relation: Relation, name: str, span: tuple[str, tree.Node, tree.Node], kind: Callable[[tree.Node], str]
) -> list[Relation]:
    """What is known of the sums in a summed relation: ``sum a[k+1] - sum a[k] = a[K] - a[0]``, and ``sum 1``."""
    _, low, high = span
    here, after = tree.Letter(name), tree.Add((tree.Letter(name), ONE))
    found = []
    for part in dict.fromkeys(p for side in (relation.left, relation.right) for p in side.walk()):
        if not isinstance(part, tree.Call | tree.Index | tree.Power) or name not in free_letters(part):
            continue
        if kind(part) != "scalar" or (isinstance(part, tree.Call) and binder(part) is not None):
            continue
        later = substitute(part, {name: after})
        sums = (_sum(later, name, span), _sum(part, name, span))
        ends = substitute(part, {name: tree.Add((high, ONE))}), substitute(part, {name: low})
        found.append(Relation(_less(*sums), "==", _less(*ends)))
    count = tree.Add((high, tree.Negate(low), ONE))
    ones = tree.Call("sum", (ONE, tree.Tuple((here, low, high))))
    return [*found, Relation(ones, "==", count)]


def falling(relation: Relation, name: str, span: tuple[str, tree.Node, tree.Node]) -> list[Relation]:
    """Of ``a[k + 1] <= a[k]``: the last of the values times their number is at most each sum of them."""
    left, right = relation.left, relation.right
    if relation.op not in ("<=", "<") or not _goes_on(relation, name):
        return []
    _, low, high = span
    last, count = substitute(left, {name: high}), tree.Add((high, tree.Negate(low), ONE))
    least = tree.Multiply((count, last))
    return [Relation(least, "<=", _sum(side, name, span)) for side in (left, right)]


def _less(one: tree.Node, other: tree.Node) -> tree.Node:
    return tree.Add((one, tree.Negate(other)))


def iterated(relation: Relation, name: str, end: tree.Node) -> list[Relation]:
    """Of ``a[k + 1] <= a[k]``, or with another sign: what ``a[end]`` is beside ``a[0]``."""
    if not _goes_on(relation, name):
        return []
    first = tree.Number(Fraction(0))
    last, start = (tidy(substitute(relation.right, {name: value})) for value in (end, first))
    return [Relation(last, relation.op, start)]


def _goes_on(relation: Relation, name: str) -> bool:
    """Whether the left side is the right one at the next index."""
    after = tree.Add((tree.Letter(name), ONE))
    if name not in free_letters(relation.right):
        return False
    return tidy(substitute(relation.right, {name: after})) == tidy(relation.left)

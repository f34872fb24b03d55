"""The form in which a printed relation is judged: numbers, letters, an order, or a step of vector algebra."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Literal

from bilevel_verify.drafting.forms import Sorts, Store, Table, Unjudged
from bilevel_verify.language import tree
from bilevel_verify.theorems.card_parts import ORDER_SYMBOLS
from bilevel_verify.theorems.rewrite import rebuild

MOST_VECTORS = 6
SPACES = ("vector", "covector", "matrix", "tensor", "function")
"""Kinds whose elements are added and scaled: an identity of linear combinations is the same for all of them."""
Form = Literal["scalar", "letters", "step", "order"]


@dataclass(frozen=True, slots=True)
class Judgeable:
    """A relation in the form in which it is judged, and the table of its letters."""

    form: Form
    left: tree.Node
    op: str
    right: tree.Node
    table: Table


def judgeable(left: tree.Node, op: str, right: tree.Node, sorts: Sorts, store: Store) -> Judgeable:
    """The form in which a relation is judged.

    Raises
    ------
    Unjudged : with a word of :data:`WHY`.
    """
    if isinstance(right, tree.Call) and right.function in ORDER_SYMBOLS:
        return _order(left, op, right, sorts, store)
    if isinstance(left, tree.Call) and left.function in ORDER_SYMBOLS and op in ("==", "<="):
        raise Unjudged("order")
    kinds = {sorts.of(left), sorts.of(right)} - ({"scalar"} if _zero(left) or _zero(right) else set())
    if len(kinds) == 1 and kinds <= set(SPACES) and op == "==":
        return _elements(left, right, Table(sorts, store, space=kinds.pop()))
    if _quadratic(left, sorts) or _quadratic(right, sorts):
        try:
            return _step(left, op, right, sorts, store)
        except Unjudged:
            pass
    table = Table(sorts, store)
    sides = table.number(left), table.number(right)
    return Judgeable("letters" if table.meant else "scalar", sides[0], op, sides[1], table)


def _zero(node: tree.Node) -> bool:
    return node == tree.Number(Fraction(0))


def _order(left: tree.Node, op: str, right: tree.Call, sorts: Sorts, store: Store) -> Judgeable:
    table = Table(sorts, store)
    if op not in ("==", "<=", ":=") or len(right.arguments) != 1:
        raise Unjudged("order")
    if isinstance(left, tree.Call) and left.function in ORDER_SYMBOLS:
        left = left.arguments[0]
    sides = table.number(left), table.number(right.arguments[0])
    if table.meant:
        raise Unjudged("order")
    return Judgeable("order", sides[0], "<=", tree.Call(right.function, (sides[1],)), table)


def _elements(left: tree.Node, right: tree.Node, table: Table) -> Judgeable:
    """An equation between elements of a linear space: the inner products with any element agree."""
    test = table.atom(tree.Letter(f"any_{table.space}"), "vector")
    sides = []
    for side in (left, right):
        zero = _zero(side)
        sides.append(tree.Number(Fraction(0)) if zero else tree.Call("dot", (table.combination(side), test)))
    return Judgeable("step", sides[0], "==", sides[1], table)


def _quadratic(node: tree.Node, sorts: Sorts) -> bool:
    """Whether squares of norms of sums, or inner products, stand in a side."""
    if not sorts.euclidean:
        return False
    for part in node.walk():
        if isinstance(part, tree.Call) and part.function == "dot":
            return True
        match part:
            case tree.Power(base=tree.Call(function="norm", arguments=(tree.Add() | tree.Multiply() | tree.Divide(),))):
                return True
    return False


def _step(left: tree.Node, op: str, right: tree.Node, sorts: Sorts, store: Store) -> Judgeable:
    table = Table(sorts, store)

    def form(node: tree.Node) -> tree.Node:
        match node:
            case tree.Add() | tree.Negate():
                return rebuild(node, form)
            case tree.Divide(numerator=top, denominator=bottom):
                return tree.Divide(form(top), table.number(bottom))
            case tree.Multiply(factors=factors):
                carriers = [f for f in factors if _quadratic(f, sorts) or _square(f)]
                if len(carriers) == 1:
                    return tree.Multiply(tuple(form(f) if f is carriers[0] else table.number(f) for f in factors))
            case tree.Call(function="dot", arguments=(one, other)):
                return tree.Call("dot", (table.combination(one), table.combination(other)))
            case _ if _square(node):
                assert isinstance(node, tree.Power)
                assert isinstance(node.base, tree.Call)
                inner = table.combination(node.base.arguments[0])
                return tree.Power(tree.Call("norm", (inner,)), tree.Number(Fraction(2)))
        return table.number(node)

    sides = form(left), form(right)
    if not table.vectors or (op != "==" and len(table.vectors) > MOST_VECTORS):
        raise Unjudged("kind")
    return Judgeable("step", sides[0], op, sides[1], table)


def _square(node: tree.Node) -> bool:
    match node:
        case tree.Power(base=tree.Call(function="norm"), exponent=tree.Number(value=value)):
            return value == 2
    return False

"""Trees into trees: substitution that respects bound indices, local functions written out, circles found."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Set
from dataclasses import replace
from fractions import Fraction
from itertools import count
from operator import is_

from bilevel_verify.errors import CardError
from bilevel_verify.language import tree
from bilevel_verify.language.binding import binder
from bilevel_verify.theorems.vocabulary import ORDER_FUNCTIONS


def moved_limit(node: tree.Call, place: int, step: int) -> tree.Call:
    """A call that binds an index, with its lower (``place`` 1) or upper (2) limit moved by ``step``."""
    span = node.arguments[-1]
    assert isinstance(span, tree.Tuple)
    items = list(span.items)
    items[place] = tree.Add((items[place], tree.signed(Fraction(step))))
    return replace(node, arguments=(*node.arguments[:-1], replace(span, items=tuple(items))))


def rebuild(node: tree.Node, change: Callable[[tree.Node], tree.Node]) -> tree.Node:
    """The same node with ``change`` applied to its direct sub-trees; the node itself where nothing changes."""
    altered: dict[str, object] = {}
    for name in tree.names_of(type(node)):
        value = getattr(node, name)
        if isinstance(value, tree.Node):
            if (new := change(value)) is not value:
                altered[name] = new
        else:
            parts = tuple([change(part) for part in value])
            if not all(map(is_, parts, value)):
                altered[name] = parts
    return tree.replaced(node, altered) if altered else node


def with_child(node: tree.Node, place: int, child: tree.Node) -> tree.Node:
    """The same node with its direct sub-tree number ``place`` replaced."""
    number = count()
    return rebuild(node, lambda part: child if next(number) == place else part)


def substitute(node: tree.Node, values: Mapping[str, tree.Node], caught: bool = False) -> tree.Node:
    """Replace free letters by trees.

    An index bound by a sum hides a letter of the same name, and is renamed where a tree that is put in mentions it;
    unless ``caught``: a definition that mentions an index means it wherever it stands (``theta = k/(k + 1)`` in
    ``sum(theta, (k, 0, K))``), as :class:`bilevel_verify.checks.claims.evaluate.Evaluator` reads it.
    """
    match node:
        case tree.Letter(name=name):
            return values.get(name, node)
        case tree.Call() if (bound := binder(node)) is not None:
            index, lo, hi = bound
            inside = set().union(*(free_letters(a) for a in node.arguments[:-1]))
            inner = {k: v for k, v in values.items() if k != index and k in inside}
            put_in = set().union(*map(free_letters, inner.values()))
            new = index
            if index in put_in and not caught:
                new = next(name for n in count(1) if (name := f"{index}_{n}") not in put_in | inside)
                inner[index] = tree.Letter(new)
            body = (substitute(a, inner, caught) for a in node.arguments[:-1])
            ends = (substitute(end, values, caught) for end in (lo, hi))
            span = tree.Tuple((tree.Letter(new), *ends), column=node.arguments[-1].column)
            return replace(node, arguments=(*body, span))
    return rebuild(node, lambda part: substitute(part, values, caught))


def written_out(node: tree.Node, values: Mapping[str, tree.Node]) -> tree.Node:
    """Substitution until nothing is left to substitute: definitions that mention each other, without circles."""
    for _ in range(len(values) + 1):
        node = substitute(node, values, caught=True)
    return node


def negated(node: tree.Node) -> tree.Node:
    """The tree with the other sign."""
    return node.operand if isinstance(node, tree.Negate) else tree.Negate(node)


def infinite(node: tree.Node) -> bool:
    """Whether an end of a range is infinite."""
    inner = node.operand if isinstance(node, tree.Negate) else node
    return isinstance(inner, tree.Letter) and inner.name == "oo"


def has_order(node: tree.Node) -> bool:
    """Whether an order (``O(...)`` and its kind) stands in a tree: it is known only up to a constant."""
    return any(isinstance(part, tree.Call) and part.function in ORDER_FUNCTIONS for part in node.walk())


def inline(node: tree.Node, functions: Mapping[str, tuple[tuple[str, ...], tree.Node]], depth: int = 0) -> tree.Node:
    """Write out local functions ``name -> (parameters, body)``."""
    if depth > 20:
        raise CardError("local functions call each other in a circle")
    node = rebuild(node, lambda part: inline(part, functions, depth))
    if isinstance(node, tree.Call) and node.function in functions:
        parameters, body = functions[node.function]
        if len(parameters) != len(node.arguments):
            raise CardError(f"{node.function} takes {len(parameters)} arguments, not {len(node.arguments)}")
        written = substitute(body, dict(zip(parameters, node.arguments)))
        return inline(written, functions, depth + 1)
    return node


def free_letters(node: tree.Node, bound: frozenset[str] = frozenset()) -> set[str]:
    """Letters that are not bound by a sum, product or argmin inside the tree (sequence names included)."""
    match node:
        case tree.Letter(name=name):
            return set() if name in bound else {name}
        case tree.Call(function="calls"):
            return set()
        case tree.Call() if (span := binder(node)) is not None:
            index, lo, hi = span
            found = free_letters(lo, bound) | free_letters(hi, bound)
            for part in node.arguments[:-1]:
                found |= free_letters(part, bound | {index})
            return found
    found = {node.base} if isinstance(node, tree.Index) else set()
    for part in node.children():
        found |= free_letters(part, bound)
    return found


def order_of(depends: Mapping[str, Set[str]]) -> list[str]:
    """Names in an order in which each follows what it depends on.

    Raises
    ------
    CardError : ``... depend on each other in a circle: M -> rho_bar -> M``.
    """
    done: dict[str, bool] = {}
    order: list[str] = []

    def visit(name: str, path: list[str]) -> None:
        if done.get(name):
            return
        if name in path:
            circle = [*path[path.index(name) :], name]
            raise CardError(f"parameters depend on each other in a circle: {' -> '.join(circle)}")
        for other in sorted(depends.get(name, set()) & depends.keys()):
            visit(other, [*path, name])
        done[name] = True
        order.append(name)

    for name in depends:
        visit(name, [])
    return order

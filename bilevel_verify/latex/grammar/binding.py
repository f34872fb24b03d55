"""Free letters of a tree, where sums, minima and sets bind their running letters."""

from __future__ import annotations

from bilevel_verify.language import tree

NONNEGATIVE = frozenset({"norm", "frobenius", "abs", "sqrt", "exp", "plus", "count"})
FOLDED = frozenset({"prod", "max", "min", "sup", "inf"})
"""Operators with which a factor may not change places; a sum, and an integral, may."""
BINDERS = frozenset("sum prod min max sup inf argmin argmax integral family".split())


def bound_by(node: tree.Call) -> frozenset[str]:
    """Letters that the range of an operator binds; the range is its last argument."""
    if node.function not in BINDERS or len(node.arguments) < 2 or not isinstance(node.arguments[-1], tree.Tuple):
        return frozenset()
    items = node.arguments[-1].items
    first = items[0] if items else None
    if isinstance(first, tree.Tuple):
        return frozenset().union(*(names_of(item) for item in first.items))
    return names_of(first)


def names_of(node: tree.Node | None) -> frozenset[str]:
    """The letter that a running variable is: ``x``, or the indexed ``y_i``."""
    if isinstance(node, tree.Letter):
        return frozenset({node.name})
    if isinstance(node, tree.Index):
        return frozenset({f"{node.base}[]"})
    return frozenset()


def free_letters(node: tree.Node) -> frozenset[str]:
    """Letters that occur free; an indexed name counts as ``x[]``, apart from the letter ``x``."""
    match node:
        case tree.Letter(name=name):
            return frozenset({name})
        case tree.Index(base=base, indices=indices):
            return frozenset({f"{base}[]"}).union(*(free_letters(i) for i in indices))
        case tree.Call():
            below = frozenset().union(*(free_letters(a) for a in node.arguments)) if node.arguments else frozenset()
            return below - bound_by(node)
    parts = [free_letters(part) for part in node.children()]
    return frozenset().union(*parts)


def open_factor(name: str, body: tree.Node, bound: frozenset[str]) -> bool:
    """Whether it makes a difference if the last factor of a body stands inside of an operator or after it."""
    last = _last_factor(body) if name in FOLDED else None
    if last is None or (name != "prod" and _nonnegative(last)):
        return False
    return not {n.removesuffix("[]") for n in free_letters(last)} & {n.removesuffix("[]") for n in bound}


def _last_factor(node: tree.Node) -> tree.Node | None:
    match node:
        case tree.Multiply(factors=factors):
            return factors[-1]
        case tree.MatrixMultiply(right=right):
            return right
        case tree.Divide(denominator=below):
            return below
    return None


def _nonnegative(node: tree.Node) -> bool:
    match node:
        case tree.Number(value=value):
            return value >= 0
        case tree.Call(function=name):
            return name in NONNEGATIVE
        case tree.Power(base=base, exponent=tree.Number(value=value)):
            return value % 2 == 0 or _nonnegative(base)
    return False

"""Free letters of a tree, where sums, minima and sets bind their running letters."""

from __future__ import annotations

from bilevel_verify.language import tree

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

"""Functions that bind an index: ``sum(body, (i, lo, hi))`` and its kind."""

from __future__ import annotations

from bilevel_verify.language import tree

RANGE_FUNCTIONS = frozenset({"sum", "prod", "max", "min", "argmin", "argmax"})
"""Functions that also take an index range ``(i, lo, hi)`` as their last argument."""
BINDERS = RANGE_FUNCTIONS | {"integral"}


def binder(node: tree.Call) -> tuple[str, tree.Node, tree.Node] | None:
    """``(index, lo, hi)`` if the call binds an index: ``sum(body, (i, lo, hi))`` and its kind."""
    if node.function in BINDERS and len(node.arguments) >= 2 and isinstance(node.arguments[-1], tree.Tuple):
        items = node.arguments[-1].items
        if len(items) == 3 and isinstance(items[0], tree.Letter):
            return items[0].name, items[1], items[2]
    return None

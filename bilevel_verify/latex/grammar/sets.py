"""Sets: braces, intervals, the real numbers."""

from __future__ import annotations

from collections.abc import Sequence

from bilevel_verify.language import tree
from bilevel_verify.latex.grammar.brackets import from_to, until
from bilevel_verify.latex.grammar.cursor import Cursor
from bilevel_verify.latex.grammar.expressions import WIDE, expression, listed, whole
from bilevel_verify.latex.source.items import Fence, Item, Script
from bilevel_verify.latex.source.structure import flat
from bilevel_verify.latex.source.tokens import Token
from bilevel_verify.latex.values import Value

BUILDERS = frozenset({":", "mid", "|"})


def member(cursor: Cursor) -> Value:
    """What stands after ``\\in``: an interval or any expression that is a set.

    Raises
    ------
    LatexError : it is no set.
    """
    item = cursor.look(operand=True)
    if isinstance(item, Fence) and item.left in "([" and item.right in ")]":
        cursor.place += 1
        inside = listed(cursor.child(item.items, item.at))
        return _interval(cursor, item.left, item.right, inside, item)
    if isinstance(item, Token) and item.kind == "delimiter" and item.text in ("(", "["):
        cursor.place += 1
        values, closing = until(cursor, item)
        return _interval(cursor, item.text, closing, values, item)
    value = expression(cursor)
    if value.kind not in ("set", "unknown", "function") and value.operator not in WIDE:
        raise cursor.error("kind", f"a {value.kind} where a set is expected", item)
    return Value(value.node, "set")


def _interval(cursor: Cursor, left: str, right: str, values: list[Value], item: Item) -> Value:
    if len(values) != 2:
        raise cursor.error("kind", "an interval has two ends", item)
    name = {"()": "open", "[]": "closed", "[)": "closed_open", "(]": "open_closed"}[left + right]
    node = tree.Call(f"interval_{name}", tuple(v.node for v in values), column=item.at + 1)
    return Value(node, "set")


def reals(cursor: Cursor, item: Item) -> Value:
    """``\\mathbb{R}``, ``\\mathbb{R}^d``, ``\\mathbb{R}^{m \\times n}``."""
    after = cursor.items[cursor.place] if cursor.place < len(cursor.items) else None
    nodes: list[tree.Node] = []
    if isinstance(after, Script) and after.kind == "^":
        cursor.place += 1
        part: list[Item] = []
        for one in (*after.items, None):
            if one is None or (isinstance(one, Token) and one.kind == "command" and one.text == "times"):
                nodes.append(whole(cursor.child(part, after.at)).node)
                part = []
            else:
                part.append(one)
    return Value(tree.Call("reals", tuple(nodes), column=item.at + 1), "set")


def braces(cursor: Cursor, items: list[Item], item: Item) -> Value:
    """``\\{a, b\\}`` is a set, ``\\{x_k\\}_{k \\ge 0}`` a family, ``\\{z : ...\\}`` what fulfils a condition.

    Around one expression they are brackets.
    """
    column = item.at + 1
    after = cursor.items[cursor.place] if cursor.place < len(cursor.items) else None
    bars = [p for p, i in enumerate(items) if isinstance(i, Token) and i.text in BUILDERS]
    relations = [p for p, i in enumerate(items) if isinstance(i, Token) and i.kind == "relation"]
    if relations:
        return _builder(cursor, items, bars, item)
    values = listed(cursor.child(items, item.at))
    if isinstance(after, Script) and after.kind == "_" and len(values) == 1:
        return _family(cursor, values[0], item)
    alone = _alone(cursor, after)
    if len(values) == 1 and values[0].kind in ("scalar", "vector", "matrix", "unknown") and not alone:
        return Value(values[0].node, values[0].kind, grouped=True)
    name = "family" if len(values) == 1 and isinstance(values[0].node, tree.Index) else "set"
    return Value(tree.Call(name, tuple(v.node for v in values), column=column), "set")


def _alone(cursor: Cursor, after: Item | None) -> bool:
    """Nothing multiplies the braces or is added to them: they hold a set."""
    before = cursor.items[: cursor.place]
    if isinstance(after, Script):
        return False
    loose = [i for i in before if not (isinstance(i, Token) and i.kind in ("space", "gap", "cell", "row"))]
    first = next((p for p, i in enumerate(loose) if isinstance(i, Token) and i.text == "{"), len(loose) - 1)
    lead = loose[first - 1] if first > 0 else None
    leads = lead is None or (isinstance(lead, Token) and (lead.kind == "relation" or lead.text in (",", ";")))
    follow = cursor.look()
    ends = follow is None or (
        isinstance(follow, Token) and (follow.kind == "relation" or follow.text in (",", ";", "."))
    )
    return leads and ends


def _family(cursor: Cursor, value: Value, item: Item) -> Value:
    """``\\{x_k\\}_{k=0}^{K}``, ``\\{x_k\\}_{k \\ge 0}``."""
    below = cursor.items[cursor.place]
    assert isinstance(below, Script)
    cursor.place += 1
    above = cursor.items[cursor.place] if cursor.place < len(cursor.items) else None
    if isinstance(above, Script) and above.kind == "^":
        cursor.place += 1
        span = from_to(cursor, Token("operator", "family", item.at), below, above)
        return Value(tree.Call("family", (value.node, span), column=item.at + 1), "set")
    condition = relation(cursor.child(below.items, below.at))
    return Value(tree.Call("family", (value.node, condition), column=item.at + 1), "set")


def _builder(cursor: Cursor, items: Sequence[Item], bars: list[int], item: Item) -> Value:
    if len(bars) != 1:
        raise cursor.error("syntax", "a set with a condition needs one ':' or '\\mid'", item)
    head, tail = items[: bars[0]], items[bars[0] + 1 :]
    name = relation(cursor.child(list(head), item.at))
    condition = relation(cursor.child(list(tail), item.at))
    return Value(tree.Call("such_that", (name, condition), column=item.at + 1), "set")


def relation(cursor: Cursor) -> tree.Node:
    """A chain of relations as one tree (``x in X`` is ``member(x, X)``), or a plain expression.

    Raises
    ------
    LatexError : a relation that a condition cannot have, or something after it.
    """
    node = chain(cursor)
    if not cursor.done():
        raise cursor.error("syntax", f"{flat(list(cursor.items[cursor.place :]))[:30]!r} has no place here")
    return node


def chain(cursor: Cursor) -> tree.Node:
    """As :func:`relation`, up to the first thing that is no part of it."""
    members, signs = [expression(cursor)], []
    first = cursor.here()
    while cursor.sees("relation"):
        sign = cursor.take()
        assert isinstance(sign, Token)
        if sign.text in ("in", "not in") and len(members) == 1:
            held = member(cursor)
            name = "member" if sign.text == "in" else "not_member"
            return tree.Call(name, (members[0].node, held.node), column=members[0].node.column)
        if sign.text not in ("<", ">", "<=", ">=", "=="):
            raise cursor.error("syntax", f"the relation {sign.text!r} in a condition", sign)
        signs.append(sign.text)
        members.append(expression(cursor))
    if not signs:
        return members[0].node
    return tree.Compare(tuple(m.node for m in members), tuple(signs), column=first + 1)

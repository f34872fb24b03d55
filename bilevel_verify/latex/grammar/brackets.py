"""What stands in brackets or between two ends: arguments, expressions up to the closing bracket, ranges."""

from __future__ import annotations

from bilevel_verify.language import tree
from bilevel_verify.latex.grammar.cursor import Cursor
from bilevel_verify.latex.grammar.expressions import expression, listed, no_place, separated, whole
from bilevel_verify.latex.source import symbols
from bilevel_verify.latex.source.items import Fence, Script
from bilevel_verify.latex.source.structure import flat
from bilevel_verify.latex.source.tokens import Token
from bilevel_verify.latex.values import Value

CLOSED = {"(": ")", "[": "]"}


def arguments(cursor: Cursor, opening: str = "(") -> list[Value] | None:
    """The arguments in brackets right here, round ones or those of ``opening``; None if there are none."""
    item = cursor.look()
    if isinstance(item, Fence) and item.left in opening and item.right == CLOSED.get(item.left):
        cursor.place += 1
        return listed(cursor.child(item.items, item.at), given=True)
    if isinstance(item, Token) and item.kind == "delimiter" and item.text in CLOSED and item.text in opening:
        cursor.place += 1
        values, closing = until(cursor, item, given=True)
        if closing != CLOSED[item.text]:
            raise cursor.error("unbalanced", f"{item.text!r} is closed by {closing!r}", item)
        return values
    return None


def until(cursor: Cursor, item: Token, *, given: bool = False) -> tuple[list[Value], str]:
    """Expressions up to the bracket that closes; for intervals round and square ones may meet.

    ``given`` says that they are arguments, between which a bar may stand: ``Q(x \\mid y)``.
    """
    closing = {")", "]"} if item.text in "([" else {symbols.CLOSING[item.text]}
    cursor.fences.append((item.text, item.size))
    values = [expression(cursor)]
    while separated(cursor, given):
        cursor.take()
        values.append(expression(cursor))
    end = cursor.look(operand=True)
    if not (isinstance(end, Token) and end.kind == "delimiter" and end.text in closing):
        if isinstance(end, Token) and end.kind == "command":
            raise no_place(cursor)
        found = "the end" if end is None else repr(flat([end])[:20])
        raise cursor.error("unbalanced", f"{item.text[0]!r} is not closed before {found}", item)
    cursor.place += 1
    cursor.fences.pop()
    return values, end.text


def from_to(cursor: Cursor, item: Token, below: Script, upper: Script) -> tree.Tuple:
    """``_{i=a}^{b}``."""
    for place, part in enumerate(below.items):
        if isinstance(part, Token) and part.kind == "relation":
            if part.text != "==":
                raise cursor.error("range", f"a range of the {item.text} that is no 'i = a'", below)
            name = whole(cursor.child(below.items[:place], below.at)).node
            low = whole(cursor.child(below.items[place + 1 :], below.at)).node
            high = whole(cursor.child(upper.items, upper.at)).node
            if not isinstance(name, tree.Letter):
                raise cursor.error("range", f"the {item.text} runs over something that is not a letter", below)
            return tree.Tuple((name, low, high), column=below.at + 1)
    raise cursor.error("range", f"the {item.text} has an upper end and no 'i = a' below", below)

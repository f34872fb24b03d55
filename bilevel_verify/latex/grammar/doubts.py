"""What print leaves open and a reader must not guess: scripts in brackets, how far a product sign reaches, bars."""

from __future__ import annotations

from collections.abc import Sequence

from bilevel_verify.language import tree
from bilevel_verify.latex.grammar.binding import open_factor
from bilevel_verify.latex.grammar.cursor import Cursor, begins_operand
from bilevel_verify.latex.source.items import Fence, Item, Script
from bilevel_verify.latex.source.tokens import Token
from bilevel_verify.latex.values import Value

SIGNS = frozenset({"+", "-", "*", "/", "!", ",", ";", ":"})


def bracketed(items: Sequence[Item]) -> bool:
    """Whether all of a script stands in brackets: ``x^{(k)}`` is an iterate, ``f^{(2)}`` a derivative, or a power."""
    shown = [i for i in items if not (isinstance(i, Token) and i.kind in ("gap", "space"))]
    if len(shown) == 1:
        return isinstance(shown[0], Fence) and shown[0].left in ("(", "[")
    depth = 0
    for place, item in enumerate(shown):
        if isinstance(item, Token) and item.kind == "delimiter":
            depth += (item.text in ("(", "[")) - (item.text in (")", "]"))
        if depth == 0:
            return 0 < place == len(shown) - 1
    return False


def unbracketed(items: Sequence[Item]) -> Sequence[Item]:
    """A script that stands in brackets without them."""
    shown = [i for i in items if not (isinstance(i, Token) and i.kind in ("gap", "space"))]
    return shown[0].items if isinstance(shown[0], Fence) else shown[1:-1]


def no_script_in_brackets(cursor: Cursor, script: Script) -> None:
    """Ask what a script in brackets is.

    Raises
    ------
    LatexError : it is one.
    """
    if bracketed(script.items):
        readings = ("a power, written without the brackets", "an index, an iterate or a derivative: declare it")
        raise cursor.error("ambiguous", "a superscript in brackets", script, readings)


def no_open_factor(cursor: Cursor, name: str, body: Value, bound: frozenset[str], item: Item) -> None:
    """Ask how far a product, or a maximum, reaches where its last factor does not run with it.

    Raises
    ------
    LatexError : the two readings have different values.
    """
    if body.grouped or not open_factor(name, body.node, bound):
        return
    readings = (
        f"the factor belongs to the {name}: write brackets",
        f"the factor stands after the {name}: put it first",
    )
    raise cursor.error("ambiguous", f"the last factor does not run with the {name}", item, readings)


def no_open_remainder(cursor: Cursor, value: Value, alone: bool) -> None:
    """Ask what ``a + b \\bmod n`` is the remainder of.

    Raises
    ------
    LatexError : something stands before the term, and the remainder is in no bracket.
    """
    if isinstance(value.node, tree.Modulo) and not value.grouped and not alone:
        readings = ("the remainder of the last term", "the remainder of all that stands before")
        raise cursor.error("ambiguous", "a remainder after a sum or a sign; write brackets", None, readings)


def no_open_bars(cursor: Cursor, bar: Token) -> None:
    """Ask where ``|a|b|c|`` begins and ends: after a pair of bars a factor follows that two more bars enclose.

    Raises
    ------
    LatexError : both are formulas.
    """
    items, place = cursor.items, cursor.place
    if any(closing == "|" for closing, _ in cursor.fences) or place >= len(items):
        return
    if _is_bar(items[place], bar) or not begins_operand(cursor, cursor.look()):
        return
    depth = 0
    for stop in range(place, len(items)):
        item = items[stop]
        if isinstance(item, Token) and item.kind == "delimiter" and not _is_bar(item, bar):
            depth += 1 if item.text[-1] in "([{" else -1
        if depth < 0 or (isinstance(item, Token) and item.kind in ("relation", "gap", "row", "cell", "connective")):
            return
        if depth == 0 and _is_bar(item, bar):
            before = items[stop - 1]
            if isinstance(before, Token) and (before.text in SIGNS or before.kind == "command"):
                return
            readings = ("two absolute values and a factor between them", "an absolute value inside of another")
            raise cursor.error("ambiguous", "a factor between bars; write \\lvert and \\rvert", bar, readings)


def _is_bar(item: Item, bar: Token) -> bool:
    return isinstance(item, Token) and item.kind == "delimiter" and item.text == "|" and item.size == bar.size

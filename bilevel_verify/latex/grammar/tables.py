"""Matrices and cases."""

from __future__ import annotations

from collections.abc import Sequence

from bilevel_verify.language import tree
from bilevel_verify.latex.grammar.cursor import Cursor
from bilevel_verify.latex.grammar.expressions import whole
from bilevel_verify.latex.grammar.sets import relation
from bilevel_verify.latex.source import symbols
from bilevel_verify.latex.source.items import Environment, Item
from bilevel_verify.latex.source.tokens import Token
from bilevel_verify.latex.values import Kind, Value

BLANK = frozenset({"gap", "space"})
END = frozenset({",", ";", "."})


def rows_of(items: Sequence[Item]) -> list[list[list[Item]]]:
    """Rows of cells; an empty last row is dropped."""
    rows: list[list[list[Item]]] = [[[]]]
    for item in items:
        if isinstance(item, Token) and item.kind == "row":
            rows.append([[]])
        elif isinstance(item, Token) and item.kind == "cell":
            rows[-1].append([])
        else:
            rows[-1][-1].append(item)
    return [row for row in rows if any(not blank(cell) for cell in row)]


def blank(cell: Sequence[Item]) -> bool:
    """Nothing is printed."""
    return all(isinstance(i, Token) and i.kind in BLANK for i in cell)


def matrix(cursor: Cursor, item: Environment) -> Value:
    """``matrix((a, b), (c, d))``, row by row; entries may be blocks."""
    rows = []
    kinds: set[Kind] = set()
    for row in rows_of(item.items):
        values = [whole(cursor.child(cell, item.at)) for cell in row]
        kinds |= {v.kind for v in values if v.node != tree.Number(0)}  # type: ignore[arg-type]
        rows.append(tree.Tuple(tuple(v.node for v in values), column=item.at + 1))
    if not rows or len({len(row.items) for row in rows}) != 1:
        raise cursor.error("syntax", "the rows of a matrix are not equally long", item)
    if kinds - {"scalar", "vector", "matrix", "covector", "unknown"}:
        raise cursor.error("kind", "a matrix of things that are not numbers or blocks", item)
    column = len(rows[0].items) == 1 and "matrix" not in kinds
    return Value(tree.Call("matrix", tuple(rows), column=item.at + 1), "vector" if column else "matrix")


def cases(cursor: Cursor, item: Environment) -> Value:
    """``Piecewise((value, condition), ...)``.

    Raises
    ------
    LatexError : a row without condition that is not the last word of an "otherwise".
    """
    branches = []
    kind: Kind = "scalar"
    for row in rows_of(item.items):
        value, condition = _branch(cursor, [cell for cell in row if not blank(cell)], item)
        found = whole(cursor.child(_ended(value), item.at))
        kind = found.kind
        branches.append(tree.Tuple((found.node, condition), column=item.at + 1))
    if not branches:
        raise cursor.error("missing", "cases without rows", item)
    return Value(tree.Call("Piecewise", tuple(branches), column=item.at + 1), kind, grouped=True)


def _branch(cursor: Cursor, cells: list[list[Item]], item: Environment) -> tuple[list[Item], tree.Node]:
    """Value and condition of a row: two cells, or one cell with blanks between them."""
    if len(cells) == 1:
        cells = _split(cells[0])
    if len(cells) != 2:
        raise cursor.error("syntax", "a row of cases needs a value and a condition", item)
    value, test = cells
    test = _ended([i for i in test if not (isinstance(i, Token) and i.kind in BLANK)])
    words = [i for i in test if isinstance(i, Token) and i.kind == "word"]
    meaning = [symbols.WORDS.get(w.text.lower().strip(" ,.:;"), "") for w in words]
    if len(words) == len(test) == 1 and meaning == ["otherwise"]:
        return value, tree.Truth(True, column=item.at + 1)
    if words and (meaning != ["if"] or test[0] is not words[0]):
        raise cursor.error("words", f"{words[0].text!r} in a condition", words[0])
    return value, relation(cursor.child(test[1:] if words else test, item.at))


def _split(cell: list[Item]) -> list[list[Item]]:
    """A cell whose condition stands behind blanks: cut at the last blanks before the first relation."""
    signs = [p for p, i in enumerate(cell) if isinstance(i, Token) and i.kind == "relation"]
    if not signs:
        return [cell]
    gaps = [p for p in range(signs[0]) if isinstance(cell[p], Token) and cell[p].kind in BLANK]  # type: ignore[union-attr]
    if not gaps or blank(cell[: gaps[-1]]):
        return [cell]
    return [cell[: gaps[-1]], cell[gaps[-1] + 1 :]]


def _ended(items: list[Item]) -> list[Item]:
    """Without the punctuation at the end."""
    items = list(items)
    while items and isinstance(items[-1], Token) and (items[-1].text in END or items[-1].kind in BLANK):
        items.pop()
    return items


def is_system(item: Environment) -> bool:
    """Whether the rows of a brace are relations without conditions: a system, not cases."""
    rows = rows_of(item.items)
    single = all(len([c for c in row if not blank(c)]) == 1 for row in rows)
    if not (rows and single):
        return False
    return all(
        any(isinstance(i, Token) and i.kind == "relation" for i in cell) and len(_split(cell)) == 1
        for row in rows
        for cell in row
        if not blank(cell)
    )

"""Long flat sums: Python's own reader nests ``a + b + c`` to the left and gives up at some thousand terms.

Then a sum of more terms than :data:`PART` is cut where its signs stand, each part is read by itself, and the parts are
joined to the tree that the text stands for. A flat sum is not deep: :mod:`parser` unrolls it without recursion.
"""

from __future__ import annotations

import ast
import re
from dataclasses import dataclass, field

PART = 400
"""Terms that are read at a time."""
TOKEN = re.compile(r"(?:\d[\d_]*\.?[\d_]*|\.\d[\d_]*)(?:[eE][+-]?\d+)?|\w+|\S")
WORDS = frozenset({"if", "else", "and", "or", "not", "in", "is", "for", "lambda"})
ENDS = frozenset(",;:=<>!|&^") | WORDS
"""What binds less than a sign: a sum ends there."""


@dataclass(slots=True)
class _Sum:
    """A sum inside one pair of brackets: where it begins and ends, and where its signs stand."""

    start: int
    end: int = 0
    signs: list[int] = field(default_factory=list)


def parse_flat(text: str) -> ast.expr:
    """What :func:`ast.parse` makes of an expression on one line, however many terms its sums have.

    Raises
    ------
    SyntaxError, ValueError : it is no expression.
    RecursionError, MemoryError : it is nested too deeply, which a flat sum is not.
    """
    try:
        return ast.parse(text, mode="eval").body
    except (RecursionError, MemoryError):
        plain = text.isascii() and not any(sign in text for sign in "'\"#\\")  # others are no expressions of ours
        sums = _long_sums(text) if plain else []
        if not sums:
            raise
    return _in_parts(text, sums)


def _in_parts(text: str, sums: list[_Sum]) -> ast.expr:
    """Each sum is read by itself, those inside brackets before those around them; a name stands in its place."""
    name = "Z"
    while name in text:
        name += "Z"
    joined: dict[str, ast.expr] = {}
    for number, one in enumerate(sums):
        tree = _joined(text, one, joined)
        placeholder = f"{name}{number}"
        joined[placeholder] = tree
        text = text[: one.start] + (" " * (one.start > 0) + placeholder).ljust(one.end - one.start) + text[one.end :]
    body = ast.parse(text, mode="eval")
    _put_back(body, joined)
    return body.body


def _long_sums(text: str) -> list[_Sum]:
    """The sums of more than ``PART`` terms, each after those inside it."""
    found: list[_Sum] = []
    open_sums = [_Sum(0)]
    operand = False  # whether what stands before is one: a sign is then between two terms

    def close(end: int) -> None:
        one = open_sums.pop()
        one.end = end
        if len(one.signs) > PART:
            found.append(one)

    for token in TOKEN.finditer(text):
        word, at = token[0], token.start()
        if word in "([{":
            open_sums.append(_Sum(token.end()))
        elif word in ")]}":
            close(at)
            if not open_sums:
                return []  # brackets do not match: the reader of the whole says so
        elif word in ENDS:
            close(at)
            open_sums.append(_Sum(token.end()))
        elif word in "+-" and operand:
            open_sums[-1].signs.append(at)
        operand = word in ")]}" or (word not in WORDS and (word[0].isalnum() or word[0] in "_."))
    close(len(text))
    return [] if open_sums else found


def _joined(text: str, one: _Sum, known: dict[str, ast.expr]) -> ast.expr:
    """Read a sum part by part; the tree leans to the left as if it had been read whole."""
    starts = [one.start, *(sign + 1 for sign in one.signs[PART - 1 :: PART])]
    ends = [*one.signs[PART - 1 :: PART], one.end]
    whole = _part(text, starts[0], ends[0], known)
    for number in range(1, len(starts)):
        part = _part(text, starts[number], ends[number], known)
        operator = ast.Add() if text[ends[number - 1]] == "+" else ast.Sub()
        whole = _hung(whole, operator, part, len(one.signs[number * PART : (number + 1) * PART - 1]))
    return whole


def _part(text: str, start: int, end: int, known: dict[str, ast.expr]) -> ast.expr:
    """The tree of a piece of the text, with the columns of the whole."""
    piece = text[start:end]
    start += len(piece) - len(piece.lstrip())
    try:
        body = ast.parse(piece.lstrip(), mode="eval")
    except SyntaxError as error:
        error.offset = start + (error.offset or 1)
        raise
    for node in ast.walk(body):
        if isinstance(node, ast.expr):
            node.col_offset += start
            node.end_col_offset = (node.end_col_offset or 0) + start
    _put_back(body, known)
    return body.body


def _hung(left: ast.expr, operator: ast.operator, part: ast.expr, signs: int) -> ast.expr:
    """``left operator part``: the terms of the part, between which stand so many signs, go on from ``left``."""
    spine: list[ast.BinOp] = []
    first = part
    for _ in range(signs):
        assert isinstance(first, ast.BinOp)
        spine.append(first)
        first = first.left
    whole: ast.expr = ast.BinOp(left, operator, first, lineno=1, col_offset=left.col_offset)
    for node in reversed(spine):
        node.left, node.col_offset = whole, left.col_offset
        whole = node
    return whole


def _put_back(body: ast.Expression, known: dict[str, ast.expr]) -> None:
    """Replace placeholders by the sums that they stand for."""
    if not known:
        return
    for node in list(ast.walk(body)):
        for name, value in ast.iter_fields(node):
            if isinstance(value, ast.Name) and value.id in known:
                setattr(node, name, known[value.id])
            elif isinstance(value, list):
                value[:] = [known.get(v.id, v) if isinstance(v, ast.Name) else v for v in value]

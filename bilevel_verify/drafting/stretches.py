"""Stretches of a formula: arguments, sides, terms, and what a script or a symbol alone shows."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence

from bilevel_verify.latex.source.atoms import Atom
from bilevel_verify.latex.source.items import Fence, Item, Macro, closing, opens
from bilevel_verify.latex.source.structure import flat
from bilevel_verify.latex.source.symbols import DOTS
from bilevel_verify.latex.source.tokens import Token

RUNNING = frozenset("i j k l m n p q r s t \\ell \\tau".split())


def is_identity(atom: Atom) -> bool:
    """Whether a symbol may be the identity matrix, ``I``, without scripts."""
    return atom.symbol in ("I", "\\mathbf{I}", "\\mathrm{I}") and not atom.sub and not atom.primes


def last_index(atom: Atom) -> list[str]:
    """The letter that is the last index, if it may run: ``i`` of ``x_{t,i}`` and of ``x_i``."""
    if not atom.sub or (len(atom.sub) > 1 and flat(atom.sub[-2:-1]) != ","):
        return []
    last = flat(atom.sub[-1:])
    return [last] if last in RUNNING else []


def are_dots(items: Sequence[Item]) -> bool:
    """Whether nothing but dots stands there."""
    return bool(items) and all(
        isinstance(item, Token) and item.kind == "command" and item.text in DOTS for item in items
    )


def bracketed(items: Sequence[Item], place: int) -> list[list[Item]] | None:
    """The arguments in the round bracket at a place, separated by commas; None if there is no bracket."""
    if place >= len(items):
        return None
    item = items[place]
    if isinstance(item, Fence) and item.left == "(" and item.right == ")":
        return list(split_at(item.items, (",", ";", "mid")))
    if not (isinstance(item, Token) and item.kind == "delimiter" and item.text == "("):
        return None
    end = closing(items, place)
    return None if end is None else list(split_at(items[place + 1 : end], (",", ";", "mid")))


def split_at(items: Sequence[Item], marks: Iterable[str]) -> Iterator[list[Item]]:
    """The parts between some signs that stand in no bracket."""
    part: list[Item] = []
    depth = 0
    marks = frozenset(marks)
    for item in items:
        if isinstance(item, Token) and item.kind == "delimiter":
            depth += 1 if item.text.endswith("(") or item.text in "[{" else -1 if item.text[-1:] in ")]}" else 0
        if depth == 0 and isinstance(item, Token) and item.text in marks:
            yield part
            part = []
        else:
            part.append(item)
    yield part


def sides_of(items: Sequence[Item]) -> Iterator[tuple[list[Item], str, str]]:
    """The members of a chain with the relation before and after each."""
    part: list[Item] = []
    before = ""
    for item in items:
        if isinstance(item, Token) and (item.kind in ("relation", "row", "word", "connective") or item.text == ","):
            sign = item.text if item.kind == "relation" else ""
            yield part, before, sign
            part, before = [], sign
        elif not (isinstance(item, Token) and item.kind == "cell"):
            part.append(item)
    yield part, before, ""


def is_running(script: Sequence[Item], running: Iterable[str]) -> bool:
    """Whether a script holds a letter that runs; letters side by side are a word unless they all run."""
    letters = frozenset(running)
    run: list[bool] = []
    found = False
    for item in (*script, None):
        if isinstance(item, Token) and item.kind in ("letter", "command"):
            run.append(flat([item]) in letters)
            continue
        found = found or (bool(run) and all(run))
        run = []
    return found


def is_word(script: str) -> bool:
    """Whether a script is a word (``int``, ``\\mathrm{out}``)."""
    return bool(re.fullmatch(r"\\(?:mathrm|operatorname)\{[^{}]*\}|[A-Za-z]{2,}|\\(?:min|max)", script))


def begins(item: Item) -> bool:
    """Whether an operand other than a bracket begins with an item: a letter, a norm, a fraction."""
    if isinstance(item, Token):
        return item.kind in ("letter", "operator") or (item.kind, item.text) in (
            ("delimiter", "||"),
            ("command", "nabla"),
        )
    return isinstance(item, Macro | Fence) and not opens(item, "([")

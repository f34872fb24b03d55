"""Formulas of an algorithm that the grammar refuses, read for what they name alone.

Where a value goes needs no kinds: ``r_t^T`` may be a power or a transpose, a set may be raised to a power, cases may
have conditions in words. The sides are read as they are; of a side that is refused the largest pieces that are read
stand in one node ``made_of(...)``. A letter that is not known is still refused, so that no read is lost.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import pairwise

from bilevel_verify.drafting.listings.assignments import ASSIGNS, DRAWN
from bilevel_verify.drafting.listings.lines import MADE_OF, Row, Told
from bilevel_verify.errors import LatexError
from bilevel_verify.language import tree
from bilevel_verify.latex import Notation, Statement
from bilevel_verify.latex.grammar.cursor import Context, Cursor, blank
from bilevel_verify.latex.grammar.expressions import WIDE, expression, factor, term, whole
from bilevel_verify.latex.grammar.names import symbol
from bilevel_verify.latex.grammar.operands import operand
from bilevel_verify.latex.grammar.statements import statements, top_items
from bilevel_verify.latex.read import spelt
from bilevel_verify.latex.source import symbols
from bilevel_verify.latex.source.atoms import Atom, atom_of, default_names
from bilevel_verify.latex.source.items import Environment, Fence, Group, Item, Macro, Script
from bilevel_verify.latex.source.structure import build, flat
from bilevel_verify.latex.source.tokens import LIMITS, Source, Token
from bilevel_verify.latex.statements import Relation
from bilevel_verify.theorems.rewrite import substitute

TURNED = frozenset({"T", "top", "intercal", "dagger", "-1", "-T", "-top", "*", "prime"})
"""Scripts above that name nothing."""
MARKS = {"+": "plus", "-": "minus"}
"""Scripts above that are part of a name."""
MAKES = ASSIGNS | DRAWN
FONT = re.compile(r"\\[a-z]+\{([A-Za-z])\}")
CONSTANTS = frozenset({"e", r"\mathrm{e}"})


def read_loosely(parts: Sequence[str | Told], notation: Notation) -> Iterator[str | Told]:
    """The parts of a listing, with formulas that the grammar refused read for what they name."""
    for part in parts:
        if not isinstance(part, str) and not any(True for _ in part.chains()):
            with suppress(LatexError, RecursionError):
                yield Row(part.latex, loosely(part.latex, notation))
                continue
        yield part


def loosely(latex: str, notation: Notation) -> tuple[Statement, ...]:
    """The statements of a formula, with ``made_of(...)`` for what is not read as a formula.

    Raises
    ------
    LatexError : a letter that is not known, or what is assigned is not read.
    """
    source = Source(latex, LIMITS)
    tokens = list(source.tokens)
    with suppress(LatexError):  # letters that may spell a name are letters else
        tokens = spelt(source, tokens, notation)
    items = top_items(build(source, tokens))
    reader = _Loose(Context(source, notation, operand))
    found = [s for word, part in _segments(items) for s in reader.statements(word, part)]
    if not found:
        raise source.error("missing", "there is no formula", 0)
    return tuple(found)


def _segments(items: Sequence[Item]) -> Iterator[tuple[str, list[Item]]]:
    """What stands between commas, words and line breaks outside of brackets, with the word before it."""
    depth, word = 0, ""
    part: list[Item] = []
    for item in items:
        token = item if isinstance(item, Token) else Token("", "", 0)
        if token.kind == "delimiter" and token.text not in ("|", "||"):
            depth += 1 if token.text in symbols.CLOSING else -1
        said = symbols.WORDS.get(token.text.lower().strip(" ,.:;()")) if token.kind in ("word", "connective") else None
        if depth <= 0 and (said or token.kind == "row" or (token.kind == "mark" and token.text in (",", ";"))):
            if any(not blank(i) for i in part):
                yield word, part
                word = ""
            part, word = [], said or word
        else:
            part.append(item)
    if any(not blank(i) for i in part):
        yield word, part


@dataclass
class _Loose:
    context: Context

    def statements(self, word: str, items: list[Item]) -> tuple[Statement, ...]:
        """The statements of a stretch without separators: as they are read, else side by side."""
        try:
            found = statements(self.cursor(items, top=True))
            return tuple(replace(s, word=word or s.word) for s in found)
        except LatexError:
            pass
        while items and isinstance(items[-1], Token) and items[-1].text == ".":
            items = items[:-1]
        signs = [n for n, i in enumerate(items) if isinstance(i, Token) and i.kind == "relation"]
        signs = [n for n in signs if _level(items[:n]) == 0]
        ends = [-1, *signs, len(items)]
        sides = [items[a + 1 : b] for a, b in pairwise(ends)]
        relations = [Relation(sign.text) for n in signs if isinstance(sign := items[n], Token)]
        makes = bool(relations) and relations[0].word in MAKES
        members = [self.side(side, alone=not signs, assigns=makes and n == 0) for n, side in enumerate(sides)]
        return (Statement(tuple(members), tuple(relations), word=word),)

    def cursor(self, items: Sequence[Item], *, top: bool = False) -> Cursor:
        """A reading of some items, whatever was begun before."""
        return Cursor(self.context, items, items[0].at if items else 0, top=top)

    def side(self, items: list[Item], *, alone: bool = False, assigns: bool = False) -> tree.Node:
        """A side of a relation; the one that ``assigns`` names what is assigned, so that it has to be read."""
        items = [i for i in items if not blank(i)]
        if not items:
            return tree.Call("drawn", ())  # ``x =`` before words: they say what it is
        try:
            return whole(self.cursor(items)).node
        except LatexError:
            pass
        atom, end = atom_of(self.context.source, items, 0)
        if (alone or assigns) and atom is not None and end == len(items):
            return self.piece(items, 0)[0][0]
        if assigns and atom is not None:
            raise self.context.source.error("syntax", f"what {flat(items)[:20]!r} assigns is not told", items[0].at)
        made = tree.Call(MADE_OF, (tree.Number(Fraction(0)), *self.parts(items)))
        head = items[0]
        chosen = isinstance(head, Token) and head.kind == "operator" and head.text in WIDE
        return tree.Call(head.text, (made,)) if chosen and isinstance(head, Token) else made

    def parts(self, items: Sequence[Item]) -> Iterator[tree.Node]:
        """The largest pieces that are read, in their order; letters that an operator binds stand for nothing."""
        place = 0
        while place < len(items):
            item = items[place]
            if isinstance(item, Token) and item.kind == "operator" and not self.reads(items, place):
                place, below = _scripts(items, place + 1)
                bound = self.bound(below, items[place:])
                rest = tree.Tuple(tuple(self.parts([*below, *items[place:]])))
                yield substitute(rest, {name: tree.Letter("_") for name in bound})
                return
            found, place = self.piece(items, place)
            yield from found

    def reads(self, items: Sequence[Item], place: int) -> tuple[tree.Node, int] | None:
        """The longest piece that the grammar reads here, and the place behind it."""
        for grammar in (expression, term, factor):
            cursor = self.cursor(items[place:])
            try:
                value = grammar(cursor)
            except LatexError:
                continue
            if cursor.place:
                return value.node, place + cursor.place
        return None

    def piece(self, items: Sequence[Item], place: int) -> tuple[list[tree.Node], int]:
        """What is read at a place, and the place behind it: a piece, a letter without its power, or what is inside."""
        item = items[place]
        if (found := self.reads(items, place)) is not None:
            return [found[0]], found[1]
        match item:
            case Group() | Fence() | Environment() | Script():
                return list(self.parts(item.items)), place + 1
            case Macro() if item.name not in symbols.ACCENTS:
                return [n for one in item.arguments for n in self.parts(one.items)], place + 1
        atom, after = atom_of(self.context.source, items, place)
        if atom is None or (isinstance(item, Token) and item.kind in ("command", "word", "digits")):
            return [], place + 1
        return list(self.letter(atom, items, place, after)), after

    def letter(self, atom: Atom, items: Sequence[Item], place: int, after: int) -> Iterator[tree.Node]:
        """A letter whose script above says nothing of where a value goes, or is a part of its name."""
        above = FONT.sub(r"\1", flat(atom.sup)) if atom.sup is not None else ""
        if atom.symbol not in CONSTANTS:
            lower = [i for i in items[place:after] if not (isinstance(i, Script) and i.kind == "^")]
            node = self.named(atom, lower)
            if above in MARKS:
                node = _renamed(node, MARKS[above])
            yield node
        if atom.sup is not None and above.removeprefix("\\") not in TURNED | set(MARKS):
            yield from self.parts(atom.sup)

    def named(self, atom: Atom, items: Sequence[Item]) -> tree.Node:
        """The letter, or its entry; the name alone where it is a letter and a function."""
        known = self.context.notation.by_symbol.get(atom.symbol, ())
        cursor = self.cursor(items)
        try:
            return symbol(cursor).node
        except LatexError:
            if not known:
                raise
        if atom.sub is None:
            return tree.Letter(known[0].name)
        try:
            indices = tuple(self.side(list(part)) for _, part in _segments(atom.sub))
        except LatexError:
            return tree.Letter(default_names(replace(atom, sup=None, star=False))[0])
        return tree.Index(known[0].name, indices)

    def bound(self, below: Sequence[Item], body: Sequence[Item]) -> frozenset[str]:
        """The letters over which an operator runs: none where a list stands below and a list as long behind it."""
        parts = [part for _, part in _segments([i for s in below if isinstance(s, Script) for i in s.items])]
        if len(parts) > 1 and len(parts) == _listed(body):
            return frozenset()
        found: set[str] = set()
        for part in parts:
            signs = [n for n, i in enumerate(part) if isinstance(i, Token) and i.kind == "relation"]
            head = part[: signs[0]] if signs else part
            found |= {n.name for node in self.parts(head) for n in node.walk() if isinstance(n, tree.Letter)}
        return frozenset(found)


def _renamed(node: tree.Node, mark: str) -> tree.Node:
    """``f_k^+`` as an entry of ``f_plus``."""
    if isinstance(node, tree.Index):
        return replace(node, base=f"{node.base}_{mark}")
    return tree.Letter(f"{node.name}_{mark}") if isinstance(node, tree.Letter) else node


def _level(items: Sequence[Item]) -> int:
    """How many brackets are open behind some items."""
    texts = [i.text for i in items if isinstance(i, Token) and i.kind == "delimiter" and i.text not in ("|", "||")]
    return sum(1 if text in symbols.CLOSING else -1 for text in texts)


def _scripts(items: Sequence[Item], place: int) -> tuple[int, list[Item]]:
    """The scripts at a place, and the place behind them."""
    start = place
    while place < len(items) and isinstance(items[place], Script):
        place += 1
    return place, list(items[start:place])


def _listed(body: Sequence[Item]) -> int:
    """How many things the braces hold that follow."""
    rest = [i for i in body if not blank(i)]
    if rest and isinstance(rest[0], Fence) and rest[0].left == "{":
        return len(list(_segments(rest[0].items)))
    if not (rest and isinstance(rest[0], Token) and rest[0].text == "{"):
        return 0
    end = next((n for n in range(1, len(rest) + 1) if _level(rest[:n]) == 0), len(rest))
    return len(list(_segments(rest[1 : end - 1])))

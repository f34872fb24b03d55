"""Formulas of an algorithm that the grammar refuses, read for what they name alone.

Where a value goes needs no kinds: ``r_t^T`` may be a power or a transpose, a set may be raised to a power, cases may
have conditions in words. Of a side that is refused the largest pieces that are read stand in one node ``made_of(...)``.
A letter that is not known is still refused, so that no read is lost.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import pairwise

from bilevel_verify.drafting.listings.assignments import DRAWN
from bilevel_verify.drafting.listings.lines import MADE_OF, Row, Told
from bilevel_verify.errors import LatexError
from bilevel_verify.language import tree
from bilevel_verify.latex import Notation, Statement
from bilevel_verify.latex.grammar.cursor import Context, Cursor, blank
from bilevel_verify.latex.grammar.expressions import WIDE, expression, factor, term, whole
from bilevel_verify.latex.grammar.names import symbol
from bilevel_verify.latex.grammar.operands import operand
from bilevel_verify.latex.grammar.statements import statements, top_items
from bilevel_verify.latex.grammar.undeclared import side_by_side
from bilevel_verify.latex.read import spelt
from bilevel_verify.latex.source import symbols
from bilevel_verify.latex.source.atoms import Atom, atom_of
from bilevel_verify.latex.source.items import Environment, Fence, Group, Item, Macro, Script
from bilevel_verify.latex.source.structure import build, flat
from bilevel_verify.latex.source.tokens import LIMITS, Source, Token
from bilevel_verify.latex.statements import EQUATES, Relation
from bilevel_verify.theorems.rewrite import substitute

TURNED = re.compile(r"(?:\\[a-z]+\{)?-?(?:T|1|\\?(?:top|intercal|dagger|ast|prime)|\*)\}?|[+-]")
"""Scripts above that name nothing that is read."""
MARKS = {"+": "_plus", "-": "_minus"}
NUMBERS = frozenset({"e", r"\mathrm{e}"})


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
    reader = _Loose(Context(source, notation, operand))
    return tuple(s for word, part in _segments(top_items(build(source, tokens))) for s in reader.statements(word, part))


def _segments(items: Sequence[Item]) -> Iterator[tuple[str, list[Item]]]:
    """What stands between commas, words and line breaks outside of brackets, with the word before it."""
    part: list[Item] = []
    word = ""
    for place, item in enumerate((*items, Token("row", "", 0))):
        token = item if isinstance(item, Token) else Token("", "", 0)
        said = symbols.WORDS.get(token.text.lower().strip(" ,.:;()")) if token.kind in ("word", "connective") else None
        if (said or token.kind == "row" or (token.kind == "mark" and token.text in ",;")) and (
            place == len(items) or _level(items[:place]) <= 0
        ):
            if any(not blank(i) for i in part):
                yield word, part
                word = ""
            part, word = [], said or word
        else:
            part.append(item)


def _level(items: Sequence[Item]) -> int:
    """How many brackets are open behind some items."""
    texts = [i.text for i in items if isinstance(i, Token) and i.kind == "delimiter" and i.text not in ("|", "||")]
    return sum(1 if text in symbols.CLOSING else -1 for text in texts)


@dataclass
class _Loose:
    context: Context

    def cursor(self, items: Sequence[Item], *, top: bool = False) -> Cursor:
        """A reading of some items, whatever was begun before."""
        return Cursor(self.context, items, items[0].at if items else 0, top=top)

    def statements(self, word: str, items: list[Item]) -> tuple[Statement, ...]:
        """The statements of a stretch without separators: as they are read, else side by side."""
        with suppress(LatexError):
            return tuple(replace(s, word=word or s.word) for s in statements(self.cursor(items, top=True)))
        signs = [(n, i.text) for n, i in enumerate(items)
                 if isinstance(i, Token) and i.kind == "relation" and _level(items[:n]) == 0]  # fmt: skip
        makes = bool(signs) and signs[0][1] in EQUATES | DRAWN
        ends = pairwise([-1, *(n for n, _ in signs), len(items)])
        members = [self.side(items[a + 1 : b], not signs or (makes and a < 0), makes) for a, b in ends]
        return (Statement(tuple(members), tuple(Relation(text) for _, text in signs), word=word),)

    def side(self, items: Sequence[Item], head: bool = False, makes: bool = False) -> tree.Node:
        """A side of a relation; the ``head`` of one that ``makes`` something names it and has to be read."""
        items = [i for i in items if not blank(i) and getattr(i, "text", "") != "."]
        if not items:
            return tree.Call("drawn", ())  # ``x =`` before words: they say what it is
        with suppress(LatexError):
            return whole(self.cursor(items)).node
        atom, end = atom_of(self.context.source, items, 0)
        if head and atom is not None:
            if end == len(items):
                return self.piece(items, 0)[0][0]
            if makes:
                raise self.context.source.error("syntax", f"{flat(items)[:20]!r} before a sign", items[0].at)
        made = tree.Call(MADE_OF, (tree.Number(Fraction(0)), *self.parts(items)))
        chosen = getattr(items[0], "text", "")
        return tree.Call(chosen, (made,)) if chosen in WIDE else made

    def parts(self, items: Sequence[Item]) -> Iterator[tree.Node]:
        """The largest pieces that are read, in their order; letters that an operator binds stand for nothing."""
        place = 0
        while place < len(items):
            item = items[place]
            if isinstance(item, Token) and item.kind == "operator" and not self.reads(items, place):
                rest = tree.Tuple(tuple(self.parts(items[place + 1 :])))
                yield substitute(rest, {name: tree.Letter("_") for name in self.bound(items[place + 1 :])})
                return
            found, place = self.piece(items, place)
            yield from found

    def reads(self, items: Sequence[Item], place: int) -> tuple[tree.Node, int] | None:
        """The longest piece that the grammar reads here, and the place behind it."""
        for grammar in (expression, term, factor):
            cursor = self.cursor(items[place:])
            with suppress(LatexError):
                return grammar(cursor).node, place + cursor.place
        return None

    def piece(self, items: Sequence[Item], place: int) -> tuple[list[tree.Node], int]:
        """What is read at a place, and the place behind it: a piece, a letter without its power, or what is inside."""
        if (found := self.reads(items, place)) is not None:
            return [found[0]], found[1]
        item = items[place]
        match item:
            case Group() | Fence() | Environment() | Script():
                return list(self.parts(item.items)), place + 1
            case Macro() if item.name not in symbols.ACCENTS:
                return [n for one in item.arguments for n in self.parts(one.items)], place + 1
        atom, after = atom_of(self.context.source, items, place)
        if atom is None or (isinstance(item, Token) and item.kind in ("command", "word", "digits")):
            return [], place + 1
        return list(self.letter(atom, items[place:after])), after

    def letter(self, atom: Atom, items: Sequence[Item]) -> Iterator[tree.Node]:
        """A letter whose script above says nothing of where a value goes, or is a part of its name."""
        above = flat(atom.sup or ())
        if atom.symbol not in NUMBERS:
            node = self.named(atom, [i for i in items if not (isinstance(i, Script) and i.kind == "^")])
            if isinstance(node, tree.Index) and above in MARKS:
                node = replace(node, base=node.base + MARKS[above])
            yield tree.Letter(node.name + MARKS.get(above, "")) if isinstance(node, tree.Letter) else node
        if atom.sup is not None and not TURNED.fullmatch(above):
            yield from self.parts(atom.sup)

    def named(self, atom: Atom, items: Sequence[Item]) -> tree.Node:
        """The letter, or its entry; the first of its meanings where it has several."""
        with suppress(LatexError):
            return symbol(self.cursor(items)).node
        known = self.context.notation.by_symbol.get(atom.symbol)
        if not known:
            raise self.context.source.error("letter", f"{atom.latex()} is not declared", atom.at)
        below = () if atom.sub is None or side_by_side(atom.sub) else atom.sub  # a_{ij}: an entry of a matrix
        indices = tuple(self.side(part) for _, part in _segments(below))
        return tree.Index(known[0].name, indices) if indices else tree.Letter(known[0].name)

    def bound(self, items: Sequence[Item]) -> frozenset[str]:
        """The letters over which an operator runs: none where a list stands below it and a list in braces behind it."""
        below = [i for script in items[:2] if isinstance(script, Script) and script.kind == "_" for i in script.items]
        body = next((i for i in items if not (isinstance(i, Script) or blank(i))), None)
        parts = [part for _, part in _segments(below)]
        if len(parts) > 1 and "{" in (getattr(body, "left", ""), getattr(body, "text", "")):
            return frozenset()
        heads = [part[: next((n for n, i in enumerate(part) if getattr(i, "kind", "") == "relation"), len(part))]
                 for part in parts]  # fmt: skip
        nodes = (part for head in heads for node in self.parts(head) for part in node.walk())
        return frozenset(n.name for n in nodes if isinstance(n, tree.Letter))

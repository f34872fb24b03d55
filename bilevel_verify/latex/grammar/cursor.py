"""A place in a list of items, and what the whole reading shares."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from bilevel_verify.errors import LatexError
from bilevel_verify.latex.source import symbols
from bilevel_verify.latex.source.atoms import upright
from bilevel_verify.latex.source.items import Environment, Fence, Group, Item, Macro
from bilevel_verify.latex.source.tokens import Source, Token

if TYPE_CHECKING:
    from bilevel_verify.latex.notation import Notation
    from bilevel_verify.latex.values import Value

BARS = ("|", "||")
CONTINUING = frozenset("+ - / *".split())
CONTINUING_COMMANDS = frozenset("pm mp cdot times".split())


@dataclass
class Context:
    """One reading: its source, notation, the names met so far, the work done.

    ``operand`` reads one operand. The grammar is recursive: expressions are made of operands, operands hold
    expressions; whoever begins a reading hands the upper half to the lower one.
    """

    source: Source
    notation: Notation
    operand: Callable[[Cursor], Value]
    displays: dict[str, str] = field(default_factory=dict)
    asides: list[tuple[object, object]] = field(default_factory=list)
    work: int = 0

    def step(self, at: int) -> None:
        """Count one operand; a source beyond the limit of work is refused."""
        self.work += 1
        if self.work > self.source.limits.tokens:
            raise self.source.error("too large", f"more than {self.source.limits.tokens} operands", at)

    def named(self, name: str, display: str, at: int) -> None:
        """Remember how a name is printed; two symbols that would share a name are an ambiguity."""
        before = self.displays.setdefault(name, display)
        if before != display and self.notation.free:
            readings = (before, display)
            raise self.source.error("ambiguous", f"two letters would both be called {name!r}", at, readings)


class Cursor:
    """Reads items one after the other. ``top`` is a display whose rows mean something, ``fences`` are the bars and
    brackets that are open here, ``bound`` the running letters of operators around."""

    def __init__(
        self,
        context: Context,
        items: Sequence[Item],
        at: int,
        *,
        top: bool = False,
        bound: frozenset[str] = frozenset(),
        depth: int = 0,
    ) -> None:
        self.context, self.items, self.at, self.top, self.bound, self.depth = context, items, at, top, bound, depth
        self.place = 0
        self.fences: list[tuple[str, str]] = []
        self.gap = False
        self.row_relation = False
        self.leading = False
        limits = context.source.limits
        if depth > limits.depth:
            raise self.error("too large", f"nested deeper than {limits.depth} levels")

    @property
    def habits(self) -> bool:
        """Whether a paper is read that was written for no reader of ours: the habits of authors count."""
        return bool(self.context.notation.options.get("habits"))

    @property
    def outside(self) -> bool:
        """At the top of a display and in no bracket: line breaks and wide gaps separate."""
        return self.top and not self.fences

    def child(self, items: Sequence[Item], at: int, bound: frozenset[str] = frozenset()) -> Cursor:
        """A cursor over the inside of an item."""
        return Cursor(self.context, items, at, bound=self.bound | bound, depth=self.depth + 1)

    def error(self, reason: str, message: str, item: Item | None = None, readings: tuple[str, ...] = ()) -> LatexError:
        """An error at an item, else here."""
        return self.context.source.error(reason, message, item.at if item is not None else self.here(), readings)

    def here(self) -> int:
        """Offset of the next item, or of the last one."""
        if self.place < len(self.items):
            return self.items[self.place].at
        return self.items[-1].at if self.items else self.at

    def look(self, *, operand: bool = False) -> Item | None:
        """The next item that means something, without taking it; rows count at the top of a display only.

        With ``operand`` something is still missing, so that a line break in between says nothing.
        """
        ties = 0
        self.gap = False
        place = self.place
        while place < len(self.items):
            item = self.items[place]
            kind = item.kind if isinstance(item, Token) else ""
            if kind == "space":
                ties += 1
            elif kind == "gap":
                self.gap = True
            elif kind == "row" and self.outside and not operand and not self._goes_on(place):
                return item
            elif kind not in ("cell", "row"):
                break
            place += 1
        self.gap = self.gap or ties > 1
        self.place = place
        return self.items[place] if place < len(self.items) else None

    def _goes_on(self, place: int) -> bool:
        """Whether the row after this break goes on with the expression or chain before it."""
        after = place
        while after < len(self.items) and blank(self.items[after]):
            after += 1
        if after >= len(self.items):
            return True
        item = self.items[after]
        if not isinstance(item, Token):
            return False
        if item.kind in ("relation",):
            return True
        signed = item.kind == "mark" and item.text in CONTINUING
        if signed and item.text == "-" and self.row_relation and self._own_left_side(place, after):
            readings = (
                "the line goes on with the sum before it",
                "the line is a new relation that begins with a minus",
            )
            raise self.error("ambiguous", "a line that begins with a minus and has its own relation", item, readings)
        return signed or (item.kind == "command" and item.text in CONTINUING_COMMANDS)

    def _own_left_side(self, place: int, after: int) -> bool:
        """A row ``-c & = d``: the minus stands in the first cell and the row has a relation."""
        cells = [i for i in self.items[place:after] if isinstance(i, Token) and i.kind == "cell"]
        for item in self.items[after:]:
            if isinstance(item, Token) and item.kind == "row":
                return False
            if isinstance(item, Token) and item.kind == "relation":
                return not cells
        return False

    def take(self) -> Item:
        """Take the next item that means something."""
        item = self.look(operand=True)
        if item is None:
            raise self.error("missing", "the formula ends where an operand is expected")
        self.place += 1
        return item

    def sees(self, kind: str, *texts: str) -> bool:
        """Whether the next item is a token of a kind with one of the texts."""
        item = self.look()
        return isinstance(item, Token) and item.kind == kind and (not texts or item.text in texts)

    def closes(self, item: Item | None) -> bool:
        """Whether a bar closes the fence that was opened last (bars look alike on both sides)."""
        if not (self.fences and isinstance(item, Token) and item.kind == "delimiter" and item.text in BARS):
            return False
        text, size = self.fences[-1]
        if text == "|-|":
            return item.text == "|" and self._doubled()
        return text == item.text and size == item.size

    def _doubled(self) -> bool:
        """Two bars written side by side, as ``||x||`` is typed."""
        pair = self.items[self.place : self.place + 2]
        return len(pair) == 2 and all(isinstance(i, Token) and i.text == "|" for i in pair) and _touch(pair)

    def done(self) -> bool:
        """Nothing but blanks is left."""
        return self.look() is None


def _touch(pair: Sequence[Item]) -> bool:
    return pair[1].at == pair[0].at + 1


def blank(item: Item) -> bool:
    """White space, and the marks between rows and cells."""
    return isinstance(item, Token) and item.kind in ("row", "cell", "gap", "space")


def begins_operand(cursor: Cursor, item: Item | None, *, expected: bool = False) -> bool:
    """Whether an item can begin an operand here; a bar closes a fence unless an operand is ``expected``."""
    if item is None or (cursor.closes(item) and not expected):
        return False
    if isinstance(item, Group | Fence | Macro):
        return True
    if isinstance(item, Environment):
        return item.name in symbols.MATRICES or item.name in symbols.CASES
    if isinstance(item, Token):
        if item.kind in ("letter", "digits", "elementary", "operator"):
            return True
        if item.kind == "delimiter":
            return item.text in symbols.CLOSING
        if item.kind == "word":
            return upright(item.text) in cursor.context.notation.by_symbol or item.text in ("e", "E", "d")
        if item.kind == "command":
            if item.text == "Pr":
                return cursor.habits
            return item.text in ("nabla", "partial", "infty", "emptyset", "varnothing") or item.text in symbols.DOTS
    return False

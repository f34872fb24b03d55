"""A printed algorithm taken apart: lines of ``algorithmic`` or of a numbered list, words and formulas in each."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Protocol

from bilevel_verify.errors import LatexError
from bilevel_verify.language import tree
from bilevel_verify.latex import Notation, Statement, read_latex

MADE_OF = "made_of"
"""A value that is no formula of the grammar: what it is made of."""
HOLE = "\x01"
"""Stands for a formula among words."""
COMMANDS = (
    "State|Statex|ForAll|ForEach|For|While|If|ElsIf|ElseIf|Else|EndForAll|EndFor|EndWhile|EndIf|Loop|EndLoop|Repeat|Until|Return"
    "|Require|Ensure|Input|Output|KwIn|KwOut|KwData|KwResult"
)
LINE = re.compile(
    rf"\\(?P<command>{COMMANDS})(?![A-Za-z])|(?:\A|\n)(?P<indent>[ \t]*)(?:(?P<number>\d+)[.:)]|-)(?=\s)", re.I
)
ONE_LINE = re.compile(r"\\State(?=\s*\\Return)", re.I)
UNNUMBERED = frozenset({"require", "ensure", "statex", "input", "output", "kwin", "kwout", "kwdata", "kwresult"})
"""Commands whose lines have no number in ``algorithmic`` and its kin."""
MARKUP = re.compile(r"\\(?:caption|label|begin|end|vspace)\*?\s*(?:\[[^\]]*\])?\{[^{}]*\}(?:\[\d\])?", re.I)
KEYWORDS = (
    ("else if", "elif"), ("elseif", "elif"), ("elsif", "elif"), ("elif", "elif"), ("else", "else"), ("end", "end"),
    ("for", "for"), ("while", "while"), ("if", "if"), ("repeat", "repeat"), ("until", "until"), ("return", "return"),
    ("loop", "loop"), ("output", "return"), ("stop and return", "return"), ("input", "input"), ("require", "input"),
    ("ensure", "return"), ("given", "input"), ("data", "input"), ("parameters", "input"), ("initialization", "do"),
    ("initialize", "do"),
)  # fmt: skip
NAMES = {"forall": "for", "foreach": "for", "kwin": "input", "kwdata": "input", "kwout": "return", "kwresult": "return",
         "state": "", "statex": "", "endfor": "end", "endforall": "end", "endwhile": "end", "endif": "end",
         "endloop": "end", "elseif": "elif", "elsif": "elif",
         "require": "input", "ensure": "return", "output": "return"}  # fmt: skip
COMMENTS = frozenset({"Comment", "tcp", "tcc", "LComment"})
BRACED = re.compile(r"\\(?:;|(?:eIf|[ul](?:If|ElseIf|Else)|KwTo|SetK\w+|SetAlgo\w+)(?![A-Za-z]))")
"""What only the lines of ``algorithm2e`` have: blocks in braces, ``\\;`` behind a line."""
PIECE = re.compile(r"\\(?P<command>[A-Za-z]+)\*?|(?P<stop>\\;)|(?P<brace>[{}])|(?P<text>\\.|[^\\{}]+|\\)", re.DOTALL)
ENDS = {"If": "EndIf", "ElseIf": "EndIf", "Else": "EndIf", "For": "EndFor", "ForEach": "EndFor", "ForAll": "EndFor",
        "While": "EndWhile"}  # fmt: skip
GOES_ON = re.compile(r"\s*\\[ul]?Else(?:If)?(?![A-Za-z])")
RANGE = re.compile(r"\s*[A-Za-z]\s*=\s*[\d,\s]*\d\s*(?:,\s*\\[cl]?dots\s*[A-Z]|\\[cl]?dots(?![A-Za-z]))")
DOTS = re.compile(r"\s*,?\s*(\\[cl]?dots(?![A-Za-z]))\s*,?")
BLANKS = " \t\xa0\u2002\u2003"
"""Signs that indent a line behind its number."""
LEAVES = re.compile(r"\b(?:break|stop|terminate|exit)\b", re.I)


class NotUnderstood(Exception):
    """A line that is not understood; the message names it."""


class Told(Protocol):
    """A formula of a listing as it was read; ``message`` says why it was not."""

    @property
    def latex(self) -> str:
        """As it is printed."""

    @property
    def message(self) -> str:
        """Why it was not read."""

    def chains(self) -> Iterator[Statement]:
        """Its statements, without remarks under braces."""

    def nodes(self) -> Iterator[tree.Node]:
        """Every member of every chain and condition."""


@dataclass(frozen=True, slots=True)
class Row:
    """A formula with what was read of it."""

    latex: str
    statements: tuple[Statement, ...] = ()
    message: str = ""

    def chains(self) -> Iterator[Statement]:
        """Its statements, without remarks under braces."""
        return (s for s in self.statements if s.word != "label")

    def nodes(self) -> Iterator[tree.Node]:
        """Every member of every chain and condition."""
        for statement in self.statements:
            yield from (m for one in (statement, *statement.conditions) for m in one.members)


@dataclass(frozen=True, slots=True)
class Listing:
    """A printed algorithm: words and formulas in their order."""

    id: str
    name: str
    parts: tuple[str | Told, ...]


@dataclass
class Line:
    """``indent`` stands before the number of the line, ``inner`` between it and the words; -1: a command of LaTeX."""

    label: str
    keyword: str
    parts: list[str | Told] = field(default_factory=list)
    indent: int = -1
    inner: int = 0

    @property
    def words(self) -> str:
        """The words of the line, formulas as a sign."""
        return " ".join(p if isinstance(p, str) else HOLE for p in self.parts)

    @property
    def formulas(self) -> list[Told]:
        """The formulas of the line."""
        return [p for p in self.parts if not isinstance(p, str)]


def mended(parts: tuple[str | Told, ...], notation: Notation) -> Iterator[str | Told]:
    """The parts with formulas that go on in the next one, ``$F(a,b)$, $c$``, and commas around the dots of a range."""
    place = 0
    while place < len(parts):
        one = parts[place]
        after = parts[place + 2] if place + 2 < len(parts) and str(parts[place + 1]).strip() == "," else ""
        if not isinstance(one, str) and "'(' is not closed" in one.message and not isinstance(after, str):
            latex = f"{one.latex}, {after.latex}"
            with suppress(LatexError):
                one, place = Row(latex, read_latex(latex, notation).statements), place + 2
        elif not isinstance(one, str) and RANGE.match(one.latex):
            latex = DOTS.sub(r",\1,", one.latex)
            with suppress(LatexError):
                one = Row(latex, read_latex(latex, notation).statements)
        yield one
        place += 1


def without_comments(parts: Sequence[str | Told]) -> Iterator[str | Told]:
    """The parts without ``\\Comment{...}`` and its kin, with the formulas in them."""
    depth = 0
    opens = re.compile(rf"\\(?:{'|'.join(COMMENTS)})\*?\s*(?:\[[^\]]*\])?\s*\{{|[{{}}]")
    for part in parts:
        if not isinstance(part, str):
            if depth == 0:
                yield part
            continue
        kept, place = [], 0
        for found in opens.finditer(part):
            if depth == 0 and len(found[0]) > 1:
                kept.append(part[place : found.start()])
                depth = 1
            elif depth:
                depth += 1 if found[0].endswith("{") else -1
                place = found.end()
        yield "".join(kept) + ("" if depth else part[place:])


def unbraced(parts: Sequence[str | Told]) -> Sequence[str | Told]:
    """Lines of ``algorithm2e`` as those of ``algorithmic``; others as they are."""
    words = " ".join(part for part in parts if isinstance(part, str))
    if not BRACED.search(words) or re.search(r"\\State(?![A-Za-z])", words, re.I):
        return parts
    walk = _Braces()
    for part in parts:
        walk.take(part)
    return walk.out


@dataclass
class _Braces:
    """``\\If{test}{lines}`` read brace by brace: ``wanted`` are the braces that a command still has before it,
    ``open`` those that are open, each with what is written where it closes."""

    out: list[str | Told] = field(default_factory=list)
    wanted: list[str] = field(default_factory=list)
    open: list[str] = field(default_factory=list)
    fresh: bool = True
    until: list[list[str | Told]] = field(default_factory=list)

    def take(self, part: str | Told) -> None:
        """Go through a part."""
        if not isinstance(part, str):
            self._put(part)
            return
        part = MARKUP.sub(" ", part)
        for piece in PIECE.finditer(part):
            if piece["command"]:
                self._command(piece["command"], piece[0])
            elif piece["stop"]:
                self.fresh = True
            elif piece[0] == "{":
                self._opened()
            elif piece[0] == "}":
                self._closed(part[piece.end() :])
            elif piece[0].strip() or not self.fresh:
                self._put(piece[0])

    def _put(self, one: str | Told) -> None:
        """A word or formula; behind a line that has ended it begins another one."""
        head = bool(self.open) and self.open[-1] in ("head", "until", "drop")
        if self.open and self.open[-1] == "drop":
            return
        if self.fresh and not head:
            self.out.append("\n\\State ")
            self.fresh = False
        (self.until[-1] if self.open and self.open[-1] == "until" else self.out).append(one)

    def _command(self, name: str, text: str) -> None:
        bare = name[1:] if name[:1] in "ule" and name[1:] in (*ENDS, "If") else name
        if name.startswith("Set"):
            self.wanted = ["drop"] * 2
        elif bare in ENDS:
            self.out.append(f"\n\\{bare} ")
            self.fresh = False
            body = [f"\n\\{ENDS[bare]} "]
            self.wanted = (["head"] if bare != "Else" else []) + (["\n\\Else ", *body] if name == "eIf" else body)
        elif name == "Repeat":
            self.out.append("\n\\Repeat ")
            self.wanted, self.fresh = ["until", "repeat"], False
            self.until.append([])
        elif name.startswith("Kw") and name != "KwTo":
            self.out.append(f"\n\\{name} ")
            self.wanted, self.fresh = ["line"], False
        elif name in ("Return", "Input", "Output"):
            self.out.append(f"\n\\{name} ")
            self.fresh = False
        elif name == "caption":
            self.wanted = ["head"]
        elif name in ("BlankLine", "DontPrintSemicolon", "LinesNumbered"):
            return
        else:
            self._put(" to " if name == "KwTo" else text)

    def _opened(self) -> None:
        role = self.wanted.pop(0) if self.wanted else ""
        self.open.append(role)
        self.fresh = self.fresh or role == "repeat" or role.startswith("\n")

    def _closed(self, after: str) -> None:
        role = self.open.pop() if self.open else ""
        if role == "line":
            self.fresh = True
        elif role == "repeat":
            self.out += ["\n\\Until ", *self.until.pop()]
            self.fresh = True
        elif role.startswith("\n"):
            self.fresh = True
            if "EndIf" not in role or not GOES_ON.match(after):
                self.out.append(role)


def header(listing: Listing) -> Iterator[Told]:
    """Formulas before the first line: the name of the algorithm with what it takes."""
    for part in listing.parts:
        if not isinstance(part, str):
            yield part
        elif LINE.search(MARKUP.sub(" ", part)):
            return


def lines_of(listing: Listing) -> Iterator[Line]:
    """The lines of a listing, with their keyword."""
    current: Line | None = None
    count = 0
    for part in listing.parts:
        if not isinstance(part, str):
            if current is not None:
                current.parts.append(part)
            continue
        text = ONE_LINE.sub(" ", MARKUP.sub(" ", part))
        place = 0
        for mark in LINE.finditer(text):
            if current is not None:
                current.parts.append(text[place : mark.start()])
                yield keyed(current)
            command = (mark["command"] or "").lower()
            count += command not in UNNUMBERED
            label = mark["number"] or ("input" if command in UNNUMBERED else str(count))
            current = Line(label, NAMES.get(command, command), indent=-1 if command else len(mark["indent"] or ""))
            place = mark.end()
            current.inner = len(text[place:]) - len(text[place:].lstrip(BLANKS))
        if current is not None:
            current.parts.append(text[place:])
    if current is not None:
        yield keyed(current)


def keyed(line: Line) -> Line:
    """The line with the keyword that its first words say, where the command says none."""
    line.parts = [_plain(p) if isinstance(p, str) else p for p in line.parts]
    line.parts = [p for p in line.parts if not isinstance(p, str) or p]
    if not line.keyword and line.parts and isinstance(line.parts[0], str):
        first = line.parts[0].lower().lstrip(" :.")
        for word, keyword in KEYWORDS:
            if re.match(rf"{word}(?![a-z])", first):
                line.keyword = keyword
                break
        else:
            line.keyword = _misspelt(first)
    return line


def _misspelt(words: str) -> str:
    """The keyword that a word before a colon nearly is: ``Ouput:``."""
    head = re.match(r"([a-z]+)\s*:", words)
    table = {word: keyword for word, keyword in KEYWORDS if keyword in ("input", "return")}
    close = difflib.get_close_matches(head[1], table, 1, 0.85) if head else []
    return table[close[0]] if close else ""


def _plain(text: str) -> str:
    text = re.sub(r"\\(?:textbf|textit|emph|text|bf|it|algorithmic\w*)(?![A-Za-z])|[{}*~]|\\\\|\\[,;: ]", " ", text)
    return re.sub(r"\s+", " ", text).strip()


def split_then(line: Line) -> tuple[list[str | Told], list[str | Told]]:
    """What stands before and after ``then`` (or ``do``)."""
    for place, part in enumerate(line.parts):
        if isinstance(part, str) and (mark := re.search(r"\b(?:then|do)\b[ :]*", part)):
            rest: list[str | Told] = [p for p in (part[mark.end() :].strip(), *line.parts[place + 1 :]) if p]
            return [*line.parts[:place], part[: mark.start()]], rest
    return line.parts, []


def chain_of(sentence: Told, line: Line) -> list[Statement]:
    chains = list(sentence.chains())
    if not chains:
        raise NotUnderstood(f"line {line.label}: {sentence.message or 'a formula is not read'}")
    return chains

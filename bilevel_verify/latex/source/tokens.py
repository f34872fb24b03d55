"""LaTeX source to tokens.

A tokenizer of our own: what is wanted is 150 lines (commands, braces, numbers, delimiters with their sizes, running
text with formulas in it), each token with its place; libraries that tokenise LaTeX bring macro tables for documents and
no mathematics, and would be one more dependency at the only door through which a user's text enters.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from functools import cached_property

from bilevel_verify.errors import LatexError
from bilevel_verify.latex.source import symbols


@dataclass(frozen=True, slots=True)
class Limits:
    """What a source may cost, checked before anything is built."""

    length: int = 40_000
    tokens: int = 12_000
    depth: int = 30
    exponent: int = 64
    digits: int = 60


LIMITS = Limits()


@dataclass(frozen=True, slots=True)
class Token:
    """``kind``: command letter digits open close delimiter mark row cell space gap word relation operator end.

    ``at`` is the 0-based offset in the source, ``size`` of a delimiter (``\\big``), ``font`` of a letter, ``label``
    over a relation.
    """

    kind: str
    text: str
    at: int
    size: str = ""
    font: str = ""
    label: str = ""


@dataclass(frozen=True)
class Source:
    """The text with its limits and tokens; makes errors that know line and column."""

    text: str
    limits: Limits = LIMITS

    @cached_property
    def tokens(self) -> tuple[Token, ...]:
        """All tokens, made once.

        Raises
        ------
        LatexError : too long, a brace left open in running text, a sign or picture that no formula has.
        """
        return tuple(_tokenized(self))

    def error(self, reason: str, message: str, at: int, readings: tuple[str, ...] = ()) -> LatexError:
        """An error at an offset."""
        before = self.text[: max(at, 0)]
        line = before.count("\n") + 1
        return LatexError(message, reason, line, len(before) - (before.rfind("\n") + 1) + 1, readings)


PIECE = re.compile(
    r"(?P<comment>(?<!\\)%[^\n]*\n?)|(?P<row>\\\\\*?(?:\s*\[\s*-?[0-9.]{1,12}\s*(?:pt|em|ex|mm|cm|in)\s*\])?)|(?P<command>\\(?:[A-Za-z]+\*?|.))"
    r"|(?P<space>\s+)|(?P<tie>~)|(?P<digits>[0-9]+(?:\.[0-9]+)?|\.[0-9]+)|(?P<letter>[A-Za-z])|(?P<open>\{)|(?P<close>\})"
    r"|(?P<cell>&)|(?P<delimiter>[()\[\]|])|(?P<prime>['\u2032])|(?P<mark>[-+*/=<>,;.:!^_$\"\u2212])|(?P<other>.)",
    re.DOTALL,
)


THOUSANDS = re.compile(r"(?<![0-9.])[0-9]{1,3}(?:,|\{,\})[0-9]{3}(?![0-9])")


def _tokenized(source: Source) -> list[Token]:
    if not isinstance(source.text, str):
        raise source.error("syntax", f"LaTeX must be a string, not {type(source.text).__name__}", 0)
    if len(source.text) > source.limits.length:
        message = f"{len(source.text)} characters; at most {source.limits.length} are read as one formula"
        raise source.error("too large", message, 0)
    grouped = THOUSANDS.search(source.text)
    if grouped:
        readings = ("one number, written without a comma", "two numbers, with a blank after the comma")
        raise source.error("ambiguous", f"{grouped[0]!r}", grouped.start(), readings)
    found = _Scanner(source).scan(0, len(source.text))
    if len(found) > source.limits.tokens:
        raise source.error("too large", f"more than {source.limits.tokens} tokens", found[source.limits.tokens].at)
    return found


class _Scanner:
    def __init__(self, source: Source) -> None:
        self.source, self.text = source, source.text

    def scan(self, place: int, end: int) -> list[Token]:
        """Tokens of a stretch of the source."""
        out: list[Token] = []
        while place < end:
            match = PIECE.match(self.text, place, end)
            assert match is not None  # the last alternative takes any character
            kind, text = str(match.lastgroup), match[0]
            place = match.end()
            if kind == "command":
                place = self._command(text, match.start(), place, end, out)
            elif kind not in ("comment", "space"):
                out += self._plain(kind, text, match.start())
        return _sized(out)

    def _plain(self, kind: str, text: str, at: int) -> list[Token]:
        if kind == "digits" and len(text) > self.source.limits.digits:
            raise self.source.error("too large", f"a number of more than {self.source.limits.digits} digits", at)
        if kind == "tie":
            return [Token("space", "~", at)]
        if kind == "delimiter":
            return [Token("delimiter", symbols.DELIMITERS[text], at)]
        if kind == "prime":
            return [Token("prime", "'", at)]
        if kind == "mark":
            return [] if text == "$" else [Token("mark", "-" if text == "\u2212" else text, at)]
        if kind == "other":
            if text not in symbols.UNICODE:
                raise self.source.error("syntax", f"the sign {text!r} is not part of a formula", at)
            return [Token("command", symbols.UNICODE[text], at)]
        return [Token(kind, text, at)]

    def _command(self, text: str, at: int, place: int, end: int, out: list[Token]) -> int:
        """Append the token of a command; returns where to go on (after the argument, for text)."""
        name = text[1:]
        if name.endswith("*") and name not in symbols.NAMING and name not in symbols.DROPPED:
            name, place = name[:-1], place - 1
        if text in symbols.DELIMITERS:
            out.append(Token("delimiter", symbols.DELIMITERS[text], at))
        elif name in symbols.TEXTS or name in symbols.NAMING or name in ("begin", "end"):
            return self._with_text(name, at, place, end, out)
        elif name in symbols.PICTURES:
            raise self.source.error("picture", f"\\{name} is not a formula", at)
        elif name in symbols.GAPS:
            out.append(Token("gap", name, at))
        elif name not in symbols.SPACES and not name.isspace():
            out.append(Token("mark", name, at) if name in ("%", "#", "&", "_", "$") else Token("command", name, at))
        return place

    def _with_text(self, name: str, at: int, place: int, end: int, out: list[Token]) -> int:
        """``\\text{...}``, ``\\operatorname{...}``, ``\\begin{...}``: the argument is not mathematics."""
        opened = re.compile(r"\s*\{").match(self.text, place, end)
        if not opened:
            raise self.source.error("missing", f"\\{name} without its argument in braces", at)
        start = opened.end()
        stop = self._closing(start, end, at)
        content = self.text[start:stop]
        if name in ("begin", "end"):
            if content in symbols.PICTURES:
                raise self.source.error("picture", f"{content} is not a formula", at)
            out.append(Token(name, content.strip(), at))
        elif name in symbols.NAMING:
            out.append(_named(content, at))
        else:
            self._running_text(start, stop, out)
        return stop + 1

    def _closing(self, start: int, end: int, at: int) -> int:
        depth = 1
        for match in re.compile(r"\\.|[{}]", re.DOTALL).finditer(self.text, start, end):
            depth += {"{": 1, "}": -1}.get(match[0], 0)
            if depth == 0:
                return match.start()
        raise self.source.error("unbalanced", "a brace of running text is not closed", at)

    def _running_text(self, start: int, stop: int, out: list[Token]) -> None:
        """Words and the formulas between dollar signs inside them."""
        place, inside = start, False
        for piece in re.split(r"(\$)", self.text[start:stop]):
            if piece == "$":
                inside = not inside
            elif inside:
                out += self.scan(place, place + len(piece))
            else:
                word = " ".join(re.sub(r"\\[a-zA-Z]+|[\\{}~,]", " ", piece).split())
                if word:
                    out.append(Token("word", word, place))
            place += len(piece)


def _named(content: str, at: int) -> Token:
    """``\\operatorname{arg\\,min}`` is one word."""
    word = re.sub(r"\\text\{([^{}]*)\}|\\mathrm\{([^{}]*)\}", lambda m: m[1] or m[2] or "", content)
    word = re.sub(r"\\[,!;: ]|[\s{}\\]|~", "", word)
    return Token("word", word, at)


def _sized(tokens: list[Token]) -> list[Token]:
    """``\\big`` and ``\\big{(}`` joined with the delimiter that they enlarge."""
    out: list[Token] = []
    place = 0
    while place < len(tokens):
        token = tokens[place]
        if token.kind == "command" and token.text in symbols.SIZES:
            ahead = tokens[place + 1 : place + 4]
            size = token.text.rstrip("lrm")
            if ahead and ahead[0].kind == "delimiter":
                out.append(replace(ahead[0], size=size))
                place += 2
                continue
            if len(ahead) == 3 and (ahead[0].kind, ahead[1].kind, ahead[2].kind) == ("open", "delimiter", "close"):
                out.append(replace(ahead[1], size=size))
                place += 4
                continue
            place += 1
            continue
        out.append(token)
        place += 1
    return out

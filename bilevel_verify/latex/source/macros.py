"""Macros of a document: written out before anything is read, with a limit on work, so that no nest of them explodes."""

from __future__ import annotations

import re
from collections.abc import Mapping

from bilevel_verify.latex.source.tokens import Source

STEPS = 2_000
ENDS = re.compile(r"\\[A-Za-z]+$")
COMMAND = re.compile(r"\\([A-Za-z]+)\s*")


def expand(source: Source, macros: Mapping[str, str]) -> str:
    """The text with every macro written out.

    ``macros`` maps a name to its replacement; the number of arguments is that of the highest ``#n`` in it.

    Raises
    ------
    LatexError : macros without end, an argument that is missing, or a text that grows beyond the limit.
    """
    text, place = source.text, 0
    for _ in range(STEPS):
        found = _next(text, place, macros)
        if found is None:
            return text
        start, name, after = found
        body = macros[name]
        values = []
        for _ in range(max((int(n) for n in re.findall(r"#([1-9])", body)), default=0)):
            argument, after = _argument(source, text, after, start, name)
            values.append(argument)
        text = joined(text[:start], filled(body, values), text[after:])
        place = start
        if len(text) > source.limits.length:
            raise source.error("too large", f"\\{name} grows beyond {source.limits.length} characters", 0)
    raise source.error("too large", f"more than {STEPS} macros; do they call each other?", 0)


def joined(before: str, body: str, after: str) -> str:
    """The three one after the other, with a blank where a command would swallow the letter that follows it."""
    first = " " if body[:1].isalpha() and ENDS.search(before) else ""
    last = " " if body[-1:].isalpha() and after[:1].isalpha() else ""
    return before + first + body + last + after


def filled(body: str, values: list[str]) -> str:
    """A body with its arguments: ``\\lVert#1`` of ``x`` is the command and the letter, and no command of both."""
    text = ""
    for part in re.split(r"(#[1-9])", body):
        value = part
        if re.fullmatch(r"#[1-9]", part):
            value = values[int(part[1]) - 1] if int(part[1]) <= len(values) else ""
        text += (" " if value[:1].isalpha() and ENDS.search(text) else "") + value
    return text


def _next(text: str, place: int, macros: Mapping[str, str]) -> tuple[int, str, int] | None:
    for match in COMMAND.finditer(text, place):
        escaped = match.start() > 0 and text[match.start() - 1] == "\\" and text[: match.start()].count("\\") % 2 == 1
        if match[1] in macros and not escaped:
            return match.start(), match[1], match.end()
    return None


def _argument(source: Source, text: str, place: int, start: int, name: str) -> tuple[str, int]:
    """The next brace or sign."""
    while place < len(text) and text[place].isspace():
        place += 1
    if place >= len(text):
        raise source.error("missing", f"\\{name} without its argument", min(start, len(source.text)))
    if text[place] != "{":
        command = COMMAND.match(text, place)
        end = command.end() if command else place + 1
        return text[place:end], end
    depth = 0
    for match in re.compile(r"\\.|[{}]", re.DOTALL).finditer(text, place):
        depth += {"{": 1, "}": -1}.get(match[0], 0)
        if depth == 0:
            return text[place + 1 : match.start()], match.end()
    raise source.error("unbalanced", f"the argument of \\{name} is not closed", min(start, len(source.text)))

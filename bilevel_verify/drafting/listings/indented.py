"""Lists without lines that end a block: what is indented below a line is its block, or what stands behind its colon."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace

from bilevel_verify.drafting.listings.lines import Line, Told, keyed, split_then

OPENS = frozenset({"for", "while", "loop", "if", "elif", "else"})
LATER = frozenset({"elif", "else"})
"""Branches of a test that was begun before."""
THEN, LAST_IF = re.compile(r"then\b", re.I), re.compile(r"\bif\s*\Z", re.I)
COLON, COMMA = re.compile(r":\s*"), re.compile(r"[,:]\s*")


def with_ends(lines: Sequence[Line]) -> list[Line]:
    """The lines of a numbered list with an ``end`` for each block of a kind that has none; others as they are."""
    lines = list(_joined(lines))
    if any(line.indent < 0 for line in lines):
        return lines
    if len({line.indent for line in lines}) == 1:
        lines = [replace(line, indent=line.inner) for line in lines]
    ended = [line for line in lines if line.keyword in ("end", "repeat", "until")]
    if not ended:
        return list(_closed(lines))
    kinds = {kind for line in ended for kind in re.findall(r"\b(for|while|if|loop)\b", line.words.lower()) or OPENS}
    left = OPENS - kinds - (LATER if "if" in kinds else frozenset())
    return list(_closed(lines, left)) if any(line.keyword in left - LATER for line in lines) else lines


def _joined(lines: Sequence[Line]) -> Iterator[Line]:
    """The lines with a test in one line: one that begins with ``then`` belongs to the ``if`` before it.

    An ``if`` behind an assignment is a line of its own where ``then`` follows: ``x = y  If COND``, ``then break``.
    """
    waiting: list[Line] = []
    for line in lines:
        if waiting and not line.keyword and line.parts and THEN.match(str(line.parts[0])):
            waiting[-1].parts += line.parts
        else:
            yield from (part for one in waiting for part in _apart(one))
            waiting = [line]
    yield from (part for one in waiting for part in _apart(one))


def _apart(line: Line) -> Iterator[Line]:
    """An assignment and the test behind it as two lines."""
    for place, part in enumerate(line.parts):
        if line.keyword or not place or not isinstance(part, str) or not (mark := LAST_IF.search(part)):
            continue
        rest = Line(
            line.label, "", [part[mark.start() :].strip(" .,;"), *line.parts[place + 1 :]], line.indent, line.inner
        )
        if split_then(rest)[1]:
            line.parts = [*line.parts[:place], part[: mark.start()]]
            yield line
            yield keyed(rest)
            return
    yield line


def _closed(lines: Sequence[Line], kinds: frozenset[str] = OPENS) -> Iterator[Line]:
    """The lines with an ``end`` where the indentation goes back, for blocks of some kinds."""
    open_: list[Line] = []
    for place, line in enumerate(lines):
        while open_ and line.indent <= open_[-1].indent:
            before = open_.pop()
            goes_on = line.keyword in ("else", "elif") and line.indent == before.indent
            if not (goes_on and before.keyword in ("if", "elif")):
                yield Line(before.label, "end", indent=before.indent)
        line.label = f"{open_[-1].label}.{line.label}" if open_ and kinds == OPENS else line.label
        if line.keyword not in kinds:
            yield line
        elif place + 1 < len(lines) and lines[place + 1].indent > line.indent:
            open_.append(line)
            yield line
        else:
            yield from _on_one_line(line)
    for line in reversed(open_):
        yield Line(line.label, "end", indent=line.indent)


def _on_one_line(line: Line) -> Iterator[Line]:
    """``For t = 1, ..., T: set ...`` as three lines; as it is where nothing stands behind."""
    head, body = _parted(line)
    if line.keyword == "if" and split_then(line)[1]:
        yield line
    elif any(not isinstance(part, str) for part in body):  # ``repeat steps 3 and 4`` is no body
        yield replace(line, parts=head)
        yield keyed(Line(line.label, "", body, line.indent))
        yield Line(line.label, "end", indent=line.indent)
    else:
        yield line


def _parted(line: Line) -> tuple[list[str | Told], list[str | Told]]:
    """What stands before and behind the colon; of a test also the comma."""
    mark = COMMA if line.keyword in ("if", "elif") else COLON
    for place, part in enumerate(line.parts):
        if place and isinstance(part, str) and (found := mark.search(part)):
            rest: list[str | Told] = [p for p in (part[found.end() :].strip(" ."), *line.parts[place + 1 :]) if p]
            return [*line.parts[:place], part[: found.start()]], rest
    return line.parts, []

"""Lists without lines that end a block: what is indented below a line is its block, or what stands behind its colon."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace

from bilevel_verify.drafting.listings.lines import Line, Told, keyed, split_then

OPENS = frozenset({"for", "while", "if", "elif", "else"})
COLON, COMMA = re.compile(r":\s*"), re.compile(r"[,:]\s*")


def with_ends(lines: Sequence[Line]) -> list[Line]:
    """The lines of a numbered list with an ``end`` for each block; other listings as they are."""
    if any(line.indent < 0 or line.keyword in ("end", "repeat", "until") for line in lines):
        return list(lines)
    return list(_closed(lines))


def _closed(lines: Sequence[Line]) -> Iterator[Line]:
    open_: list[Line] = []
    for place, line in enumerate(lines):
        while open_ and line.indent <= open_[-1].indent:
            before = open_.pop()
            goes_on = line.keyword in ("else", "elif") and line.indent == before.indent
            if not (goes_on and before.keyword in ("if", "elif")):
                yield Line(before.label, "end", indent=before.indent)
        line.label = f"{open_[-1].label}.{line.label}" if open_ else line.label
        if line.keyword not in OPENS:
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

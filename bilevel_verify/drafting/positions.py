"""A text put together from files, with the file, line and column of every character, and remarks about it."""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import dataclass, field

FILLER = "\x00"
"""Stands for a character that is not read (comments, verbatim text), so that places stay where they are."""


@dataclass(frozen=True, slots=True)
class Position:
    """A place that an editor can jump to; line and column are counted from 1."""

    file: str
    line: int
    column: int

    def __str__(self) -> str:
        return f"{self.file}:{self.line}:{self.column}"


@dataclass(frozen=True, slots=True)
class Remark:
    """One line about something that could not be read: where, a reason of the closed list, and in words."""

    where: Position
    reason: str
    message: str

    def __str__(self) -> str:
        return f"{self.where}: {self.reason}: {self.message}"


@dataclass(frozen=True, slots=True)
class Piece:
    """A stretch of the text: where it starts, and where it comes from.

    ``fixed`` says that it was written out from a macro: each of its characters belongs to the place of the call.
    """

    start: int
    file: str
    offset: int
    fixed: bool = False


@dataclass(frozen=True, slots=True)
class Text:
    """The text of a paper. ``lines`` holds for each file the offsets at which its lines begin."""

    text: str
    pieces: tuple[Piece, ...]
    lines: dict[str, tuple[int, ...]] = field(repr=False, default_factory=dict)

    def where(self, at: int) -> Position:
        """The place of a character, given its offset in ``text``."""
        number = max(bisect_right([p.start for p in self.pieces], at) - 1, 0)
        piece = self.pieces[number]
        offset = piece.offset if piece.fixed else piece.offset + at - piece.start
        starts = self.lines[piece.file]
        line = max(bisect_right(starts, offset) - 1, 0)
        return Position(piece.file, line + 1, offset - starts[line] + 1)


def line_starts(text: str) -> tuple[int, ...]:
    """Offsets at which the lines of a file begin."""
    return (0, *(i + 1 for i, letter in enumerate(text) if letter == "\n"))

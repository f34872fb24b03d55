"""Reading the files of a paper: plain text of bounded size, with what ``\\input`` names beside it, and nothing else."""

from __future__ import annotations

import re
import stat
from dataclasses import dataclass, field
from pathlib import Path

from bilevel_verify.drafting.positions import FILLER, Piece, Position, Remark, Text, line_starts
from bilevel_verify.errors import InputError
from bilevel_verify.files import is_file

LARGEST = 4_000_000
"""Characters of a paper with everything that it takes in."""
MOST_FILES, DEEPEST = 100, 12
INPUT = re.compile(r"\\(?:input|include|subfile)(?![A-Za-z])\s*(?:\{([^{}\n]{1,200})\}|([A-Za-z0-9_./-]{1,200}))")
COMMENT = re.compile(r"(?<!\\)((?:\\\\)*)%[^\n]*")
VERBATIM = re.compile(
    r"\\begin\{(verbatim\*?|lstlisting|Verbatim|minted|comment)\}.*?\\end\{\1\}|\\verb\*?([^A-Za-z\s])[^\n]*?\2"
    r"|\\iffalse(?![A-Za-z]).*?\\fi(?![A-Za-z])",
    re.DOTALL,
)


def read_file(path: Path) -> tuple[str, int]:
    """The text of a file, and the offset of the first character that is not UTF-8 (-1 if there is none).

    Raises
    ------
    InputError : missing, not a plain file, too large, or not text.
    """
    try:
        mode = path.stat().st_mode
        if not stat.S_ISREG(mode):
            raise InputError(f"{path}: not a plain file; name a .tex or .md file")
        if path.stat().st_size > LARGEST:
            raise InputError(f"{path}: {path.stat().st_size} bytes; a paper has at most {LARGEST}")
        raw = path.read_bytes()
    except OSError as error:
        raise InputError(f"{path}: cannot be read: {error.strerror or error}") from None
    if b"\0" in raw:
        raise InputError(f"{path}: not text (byte {raw.index(0) + 1} is zero); name a .tex or .md file")
    try:
        return _unix(raw.decode("utf-8-sig")), -1
    except UnicodeDecodeError as error:
        text = raw.decode("utf-8", errors="replace")
        if text.count("\ufffd") > len(text) // 20:
            raise InputError(f"{path}: not UTF-8 text (byte {error.start + 1})") from None
        text = _unix(text)
        return text, text.index("\ufffd")


def _unix(text: str) -> str:
    return text.replace("\r\n", "\n").replace("\r", "\n")


def without_comments(text: str) -> str:
    """Comments, verbatim text and ``\\iffalse`` filled up, so that every place stays."""
    text = VERBATIM.sub(lambda m: FILLER * len(m[0]), text)
    return COMMENT.sub(lambda m: m[1] + FILLER * (len(m[0]) - len(m[1])), text)


@dataclass
class Reader:
    """Puts a LaTeX source together from its files."""

    folder: Path
    remarks: list[Remark] = field(default_factory=list)
    pieces: list[Piece] = field(default_factory=list)
    out: list[str] = field(default_factory=list)
    lines: dict[str, tuple[int, ...]] = field(default_factory=dict)
    size: int = 0
    files: int = 0

    def text(self, path: Path) -> Text:
        """The whole text.

        Raises
        ------
        InputError : the first file cannot be read.
        """
        self._file(path, ())
        return Text("".join(self.out), tuple(self.pieces), self.lines)

    def _file(self, path: Path, inside: tuple[Path, ...]) -> None:
        raw, wrong = read_file(path)
        name = self._name(path)
        self.lines[name] = line_starts(raw)
        self.files += 1
        if wrong >= 0:
            self._remark(name, wrong, "syntax", "not UTF-8; the sign is left out")
        text = without_comments(raw).replace("\ufffd", FILLER)
        place = 0
        for found in INPUT.finditer(text):
            self._add(text[place : found.start()], name, place)
            place = found.end()
            self._input(found, name, (*inside, path))
        self._add(text[place:], name, place)

    def _add(self, text: str, name: str, offset: int) -> None:
        if self.size + len(text) > LARGEST:
            raise InputError(f"{name}: more than {LARGEST} characters with everything that it takes in")
        self.pieces.append(Piece(self.size, name, offset))
        self.out.append(text)
        self.size += len(text)

    def _input(self, found: re.Match[str], name: str, inside: tuple[Path, ...]) -> None:
        wanted = (found[1] or found[2] or "").strip()
        at = found.start()
        path = next((p for p in (self.folder / wanted, self.folder / f"{wanted}.tex") if is_file(p)), None)
        if path is None:
            self._remark(name, at, "missing", f"{wanted}: no such file beside the paper")
        elif not path.resolve().is_relative_to(self.folder.resolve()):
            self._remark(name, at, "missing", f"{wanted}: outside of the paper's folder, not read")
        elif path.resolve() in {p.resolve() for p in inside} or len(inside) > DEEPEST:
            self._remark(name, at, "too large", f"{wanted}: takes itself in; left out")
        elif self.files >= MOST_FILES:
            self._remark(name, at, "too large", f"{wanted}: more than {MOST_FILES} files; left out")
        else:
            try:
                self._file(path, inside)
            except InputError as error:
                self._remark(name, at, "missing", str(error))

    def _remark(self, name: str, at: int, reason: str, message: str) -> None:
        place = Text("", (Piece(0, name, 0),), self.lines).where(at) if name in self.lines else Position(name, 1, 1)
        self.remarks.append(Remark(place, reason, message))

    def _name(self, path: Path) -> str:
        try:
            return str(path.relative_to(self.folder))
        except ValueError:
            return path.name

"""A Markdown source as units: headings, bold heads of statements, proofs, algorithms; formulas between dollar signs."""

from __future__ import annotations

import re
from pathlib import Path

from bilevel_verify.drafting.document import KINDS, Document, Formula, Unit
from bilevel_verify.drafting.files import read_file
from bilevel_verify.drafting.positions import FILLER, Piece, Remark, Text, line_starts
from bilevel_verify.drafting.scanning import Scan

HEAD = re.compile(
    r"^(?P<hashes>#{1,6})[ \t]+(?P<heading>[^\n]*)"
    r"|^(?P<open>\*{2,3}|_{2})(?P<kind>[A-Z][A-Za-z]+)(?P<number>[ \t]+[A-Z]?[0-9.]*[0-9A-Za-z]?)?"
    r"(?P<rest>[^\n]*?)(?P=open)"
    r"|^(?:\*{1,3}|_{1,2})?(?P<proof>Proof|PROOF)\b(?P<of>[^\n*_]{0,80})",
    re.MULTILINE,
)
COMMENT = re.compile(r"<!--.*?-->|^(?:```|~~~).*?^(?:```|~~~)", re.DOTALL | re.MULTILINE)
STATEMENT_NAME = re.compile(r"(?i)(theorem|lemma|proposition|corollary)s?\s+([A-Z]?[0-9.]*[0-9])")
CONTINUES = re.compile(r"\s*(?:[a-z$(]|where\b|\d+\.\s|\([ivx0-9a-z]+\)|\*\s|-\s)")


def read_markdown_source(path: Path) -> Document:
    """The units of a Markdown paper.

    Raises
    ------
    InputError : the file cannot be read.
    """
    raw, wrong = read_file(path)
    body = COMMENT.sub(lambda m: FILLER * len(m[0]), raw).replace("\ufffd", FILLER)
    text = Text(body, (Piece(0, path.name, 0),), {path.name: line_starts(raw)})
    scan = Scan(text, automatic=False)
    if wrong >= 0:
        scan.remarks.append(Remark(text.where(wrong), "syntax", "not UTF-8; the sign is left out"))
    units = _Walk(text, scan).units()
    title = re.search(r"^#[ \t]+([^\n]*)", body, re.MULTILINE)
    return Document(title[1].strip() if title else path.stem, text, tuple(units), {}, tuple(scan.remarks))


QED = re.compile(
    r"(?:[∎□■◻◼]|\\(?:black)?[Ss]quare\s*\$\$?|\\(?:Box|qed)\s*\$\$?|\bQ\.E\.D\.)[ \t]*(?=\n[ \t]*\n|\n?\Z)"
)
"""The sign at the end of a proof: what stands in the paragraphs behind it is text again."""


class _Walk:
    def __init__(self, text: Text, scan: Scan) -> None:
        self.text, self.scan = text, scan
        self.section, self.last, self.found = "", "", list[Unit]()

    def units(self) -> list[Unit]:
        """The units in order."""
        source, place = self.text.text, 0
        unit = Unit("text", "", 0)
        for head in HEAD.finditer(source):
            if self._inside_display(source, head.start()):
                continue
            begun = self._begun(head, unit)
            if begun is None:
                continue
            self._close(unit, place, head.start())
            unit, place = begun, self._starts(head)
        self._close(unit, place, len(source))
        return self.found

    def _inside_display(self, source: str, at: int) -> bool:
        return source.count("$$", 0, at) % 2 == 1 and source.find("\n\n", source.rfind("$$", 0, at), at) < 0

    def _begun(self, head: re.Match[str], before: Unit) -> Unit | None:
        """The unit that a head begins; None if it is no head."""
        if head["heading"] is not None:
            return self._heading(head)
        if head["proof"]:
            of = STATEMENT_NAME.search(head["of"])
            name = f"{of[1].capitalize()} {of[2]}" if of else before.of if before.kind == "proof" else self.last
            return Unit("proof", "", head.start(), section=self.section, of=name)
        word = head["kind"].lower()
        number = (head["number"] or "").strip().rstrip(".")
        if word == "algorithm":
            return Unit("algorithm", f"Algorithm {number}".strip(), head.start(), section=self.section)
        if word not in KINDS:
            return None
        name = f"{head['kind'].capitalize()} {number}".strip()
        title = head["rest"].strip(" .()")
        self.last = name if word not in ("remark", "definition", "assumption", "example", "notation") else self.last
        return Unit(KINDS[word], name, head.start(), title=title, section=self.section)

    def _heading(self, head: re.Match[str]) -> Unit:
        title = head["heading"].strip()
        number = re.match(r"(?:appendix\s+)?([A-Z]|[A-Z]?\.?[0-9][0-9.]*|[A-Z](?:\.[0-9]+)+)(?=[.\s]|\Z)", title, re.I)
        if number:
            found = number[1].rstrip(".")
            self.section = f"{'Appendix' if found[:1].isalpha() else 'Section'} {found}"
        unit = Unit("text", "", head.start(), title=title, section=self.section)
        if re.search(r"(?i)\bproofs? (?:of|for|in)\b", title):
            of = STATEMENT_NAME.search(title)
            unit.kind, unit.of = "proof", f"{of[1].capitalize()} {of[2]}" if of else ""
        return unit

    def _starts(self, head: re.Match[str]) -> int:
        return head.end() if head["proof"] is None else head.end("proof")

    def _close(self, unit: Unit, start: int, end: int) -> None:
        """Fill a unit; a statement ends with its paragraph, what follows is text."""
        stop = end
        if unit.is_statement:
            stop = self._statement_end(start, end)
        elif unit.kind == "algorithm":
            stop = self._algorithm_end(start, end)
        elif unit.kind == "proof" and (mark := QED.search(self.text.text, start, end)) is not None:
            stop = mark.end()
        unit.parts = list(self.scan.parts(start, stop))
        if unit.parts or unit.is_statement:
            self.found.append(unit)
        if stop < end:
            rest = Unit("text", "", stop, section=self.section)
            rest.parts = list(self.scan.parts(stop, end))
            if rest.parts:
                self.found.append(rest)

    def _statement_end(self, start: int, end: int) -> int:
        """Where a statement ends: with the first paragraph that neither a display nor a small letter goes on with."""
        source = self.text.text
        for gap in re.compile(r"\n[ \t]*\n").finditer(source, start, end):
            before, after = source[start : gap.start()].rstrip(), source[gap.end() : end]
            if after.lstrip().startswith("$$"):
                continue
            unfinished = not re.search(r"[.!?][*_)]*\Z|\$\$\Z", before)
            display_ended = before.endswith("$$")
            if (
                display_ended
                and re.search(r"[.](?:\s*\\tag\{[^{}]*\})?\s*\$\$\Z", before)
                and not CONTINUES.match(after)
            ):
                return gap.start()
            if (
                unfinished
                or CONTINUES.match(after)
                or (display_ended and not re.search(r"[.]\s*(?:\\tag\{[^{}]*\})?\s*\$\$\Z", before))
            ):
                continue
            return gap.start()
        return end

    def _algorithm_end(self, start: int, end: int) -> int:
        """An algorithm is its numbered lines."""
        source = self.text.text
        for gap in re.compile(r"\n[ \t]*\n").finditer(source, start, end):
            if not re.match(r"\s*(?:\d+[.:)]|[-*]|\$|(?:Input|Output|Require|Ensure|\*\*))", source[gap.end() : end]):
                return gap.start()
        return end


__all__ = ["Formula", "read_markdown_source"]

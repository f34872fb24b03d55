"""A LaTeX source as units: sections, statements of theorem environments, proofs, algorithms."""

from __future__ import annotations

import re
from dataclasses import dataclass, field, replace
from pathlib import Path

from bilevel_verify.drafting.document import KINDS, Document, Formula, Unit, Words, plain_words
from bilevel_verify.drafting.files import Reader
from bilevel_verify.drafting.macros import definitions, group, opened, optional
from bilevel_verify.drafting.positions import FILLER, Text
from bilevel_verify.drafting.scanning import Scan

MARK = re.compile(
    r"\\begin\s*\{(?P<begin>[A-Za-z]+\*?)\}|\\end\s*\{(?P<end>[A-Za-z]+\*?)\}"
    r"|\\(?P<section>part|chapter|section|subsection|subsubsection|paragraph)\*?(?=\s*[\[{])|\\(?P<appendix>appendix)\b"
)
SKIPPED = frozenset("figure table tabular tabularx tikzpicture picture thebibliography wraptable wrapfigure".split())
PROOFS = re.compile(r"proof", re.IGNORECASE)
USUAL = {
    **{name: name.capitalize() for name in KINDS},
    "thm": "Theorem", "lem": "Lemma", "prop": "Proposition", "cor": "Corollary", "assump": "Assumption",
    "asm": "Assumption", "defn": "Definition", "rem": "Remark",
}  # fmt: skip
"""Environments that are taken for statements although no ``\\newtheorem`` of the source declares them."""
LEVELS = ("part", "chapter", "section", "subsection", "subsubsection", "paragraph")
REF = re.compile(r"\\(?:[cC]ref|autoref|ref)\s*\{([^{}]*)\}")


def read_latex_source(path: Path) -> Document:
    """The units of a LaTeX paper, with what its ``\\input`` take in.

    Raises
    ------
    InputError : the file cannot be read.
    """
    reader = Reader(path.parent)
    text, macros, theorems, remarks = definitions(reader.text(path))
    text = _body(opened(text, macros))
    scan = Scan(text, [*reader.remarks, *remarks], prefix="")
    walker = _Walker(text, scan, _environments(theorems), _within_section(reader, text))
    walker.walk()
    title = re.search(r"\\title\s*(?:\[[^\]]*\])?\s*(?=\{)", reader_text(text))
    found = group(text.text, title.end()) if title else None
    name = plain_words(found[0]).strip() if found else path.stem
    return Document(" ".join(name.split()), text, tuple(walker.units), macros, tuple(scan.remarks), dict(scan.known))


def reader_text(text: Text) -> str:
    """The source with what is not read filled up."""
    return text.text


def _within_section(reader: Reader, text: Text) -> bool:
    return bool(re.search(r"\\numberwithin\s*\{equation\}\s*\{section\}", "".join(reader.out)))


def _body(text: Text) -> Text:
    """Only what stands between ``\\begin{document}`` and ``\\end{document}`` is running text; the title is kept."""
    begin = re.search(r"\\begin\s*\{document\}", text.text)
    end = re.search(r"\\end\s*\{document\}", text.text)
    body = text.text
    if end:
        body = body[: end.start()] + FILLER * (len(body) - end.start())
    if begin:
        head = body[: begin.end()]
        title = re.search(r"\\title\s*(?:\[[^\]]*\])?\s*(?=\{)", head)
        inner = group(head, title.end()) if title else None
        kept = head[title.start() : inner[1]] if title and inner else ""
        at = title.start() if title and inner else 0
        filled = FILLER * at + kept + FILLER * (len(head) - at - len(kept))
        body = filled + body[begin.end() :]
    return replace(text, text=body)


@dataclass(slots=True)
class _Environment:
    kind: str
    title: str
    counter: str
    within: bool
    numbered: bool


def _environments(theorems: list[tuple[str, str, str, bool]]) -> dict[str, _Environment]:
    """Environment -> what it prints and which counter it uses."""
    found = {name: _Environment(KINDS[title.lower()], title, name, False, True) for name, title in USUAL.items()}
    for name, title, counter, numbered in theorems:
        word = title.split()[0].lower() if title.split() else ""
        kind = next((KINDS[w] for w in title.lower().split() if w in KINDS), KINDS.get(word, "remark"))
        shared = counter[1:] if counter.startswith("=") else name
        shared = found[shared].counter if counter.startswith("=") and shared in found else shared
        within = counter == "section" or (counter.startswith("=") and shared in found and found[shared].within)
        found[name] = _Environment(kind, title, shared, within, numbered)
    return found


@dataclass
class _Walker:
    """Walks through the marks of a source and closes one unit after the other."""

    text: Text
    scan: Scan
    environments: dict[str, _Environment]
    by_section: bool
    units: list[Unit] = field(default_factory=list)
    stack: list[tuple[str, Unit]] = field(default_factory=list)
    counters: dict[str, int] = field(default_factory=dict)
    sections: list[int] = field(default_factory=lambda: [0, 0, 0])
    appendix: bool = False
    heading: str = ""
    last: str = ""

    def walk(self) -> None:
        """Fill ``units``."""
        source = self.text.text
        current = self._unit("text", "", 0)
        place, skipped = 0, ""
        for mark in MARK.finditer(source):
            if mark.start() < place:
                continue
            if skipped:
                if mark["end"] == skipped:
                    place, skipped = mark.end(), ""
                continue
            name = mark["begin"] or mark["end"] or ""
            if not self._matters(mark, name):
                continue
            self._close(current, place, mark.start())
            current, place = self._next(mark, name)
            if mark["begin"] and name.rstrip("*") in SKIPPED:
                skipped = name
        if skipped:
            self.scan.remark(place, "unbalanced", f"\\begin{{{skipped}}} is not closed; what follows is left out")
        else:
            self._close(current, place, len(source))
        for name, unit in self.stack:
            self.scan.remark(unit.at, "unbalanced", f"\\begin{{{name}}} is not closed")
        self._references()

    def _matters(self, mark: re.Match[str], name: str) -> bool:
        if mark["section"] or mark["appendix"]:
            return True
        bare = name.rstrip("*")
        known = bare in self.environments or bare in SKIPPED or bare in ("algorithm", "restatable", "abstract")
        return known or PROOFS.search(bare) is not None

    def _unit(self, kind: str, name: str, at: int, of: str = "") -> Unit:
        return Unit(kind, name, at, section=self.heading, of=of)

    def _close(self, unit: Unit, start: int, end: int) -> None:
        unit.parts += list(self.scan.parts(start, end))
        if (unit.parts or unit.is_statement) and unit not in self.units:
            self.units.append(unit)
        for part in unit.parts:
            if isinstance(part, Words) and unit.is_statement:
                unit.labels += re.findall(r"\\label\s*\{([^{}]*)\}", part.text)

    def _next(self, mark: re.Match[str], name: str) -> tuple[Unit, int]:
        """The unit that begins at a mark, and where its text begins."""
        at, place, bare = mark.start(), mark.end(), name.rstrip("*")
        if mark["appendix"]:
            self.appendix, self.sections = True, [0, 0, 0]
            return self._unit("text", "", place), place
        if mark["section"]:
            return self._section(mark["section"], mark[0].endswith("*"), place)
        if mark["end"]:
            if any(open_name == name for open_name, _ in self.stack):
                while self.stack and self.stack.pop()[0] != name:
                    continue
            elif bare not in SKIPPED:
                self.scan.remark(at, "unbalanced", f"\\end{{{name}}} closes what was never opened")
            return (self.stack[-1][1] if self.stack else self._unit("text", "", place)), place
        if bare in SKIPPED:
            return (self.stack[-1][1] if self.stack else self._unit("text", "", place)), place
        unit, place = self._opened(bare, name, at, place)
        self.stack.append((name, unit))
        return unit, place

    def _opened(self, bare: str, name: str, at: int, place: int) -> tuple[Unit, int]:
        title = optional(self.text.text, place)
        if bare == "restatable":
            inner = group(self.text.text, title[1] if title else place)
            if inner is not None:
                label = group(self.text.text, inner[1])
                place, title = (label[1] if label else inner[1]), title
                bare = inner[0].strip()
        elif title is not None:
            place = title[1]
        words = " ".join(plain_words(title[0]).split()) if title else ""
        if bare in self.environments:
            unit = self._unit(self.environments[bare].kind, self._numbered(self.environments[bare], name), at)
            unit.title, self.last = words, unit.name
            return unit, place
        if bare == "algorithm":
            self.counters[bare] = self.counters.get(bare, 0) + 1
            return self._unit("algorithm", f"Algorithm {self.counters[bare]}", at), place
        if bare == "abstract":
            return self._unit("text", "Abstract", at), place
        unit = self._unit("proof", "", at, self.last)
        of = REF.search(title[0]) if title else None
        unit.of = f"ref:{of[1]}" if of else self.last
        unit.title = words
        return unit, place

    def _numbered(self, environment: _Environment, name: str) -> str:
        if not environment.numbered or name.endswith("*"):
            return environment.title
        counter = environment.counter
        key = f"{counter}:{self._section_number()}" if environment.within else counter
        self.counters[key] = self.counters.get(key, 0) + 1
        prefix = f"{self._section_number()}." if environment.within else ""
        return f"{environment.title} {prefix}{self.counters[key]}"

    def _section_number(self) -> str:
        number = self.sections[0]
        return chr(64 + number) if self.appendix and 0 < number < 27 else str(number)

    def _section(self, level: str, starred: bool, place: int) -> tuple[Unit, int]:
        short = optional(self.text.text, place)
        title = group(self.text.text, short[1] if short else place)
        words, place = (plain_words(title[0]).strip(), title[1]) if title else ("", place)
        if level in ("section", "subsection", "subsubsection") and not starred:
            depth = LEVELS.index(level) - LEVELS.index("section")
            self.sections[depth] += 1
            self.sections[depth + 1 :] = [0] * (2 - depth)
            rest = "".join(f".{n}" for n in self.sections[1 : depth + 1])
            self.heading = f"{'Appendix' if self.appendix else 'Section'} {self._section_number()}{rest}"
            if depth == 0 and self.by_section:
                self.scan.prefix, self.scan.number = f"{self._section_number()}.", 0
        self.stack.clear()
        unit = self._unit("text", "", place)
        unit.title = words
        if found := re.match(r"(?i)proof(?:s)? of (.*)|proof\b", words):
            unit.kind, unit.of = "proof", self.last
            named = REF.search(title[0]) if title else None
            unit.of = f"ref:{named[1]}" if named else (found[1] or self.last)
        return unit, place

    def _references(self) -> None:
        """Proofs that name their statement by a label."""
        names = {label: unit.name for unit in self.units for label in unit.labels}
        for unit in self.units:
            if unit.of.startswith("ref:"):
                unit.of = names.get(unit.of[4:].split(",")[0].strip(), "")
        self.scan.known.update(names)


def numbers_for(words: str, known: dict[str, str]) -> str:
    """Words with the printed numbers in place of ``\\ref`` and ``\\eqref``."""
    words = re.sub(r"\\eqref\s*\{([^{}]*)\}", lambda m: f"({known.get(m[1], m[1])})", words)
    return re.sub(r"\\(?:[cC]ref|autoref|ref)\s*\{([^{}]*)\}", lambda m: known.get(m[1], m[1]), words)


__all__ = ["Formula", "numbers_for", "read_latex_source"]

"""Finding the formulas of running text: where one opens, where it closes; LaTeX and Markdown share it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field

from bilevel_verify.drafting.document import Formula, Words
from bilevel_verify.drafting.positions import FILLER, Remark, Text

MOST_FORMULAS = 20_000
LONGEST = 60_000
DISPLAYS = frozenset(
    "equation align gather multline eqnarray displaymath alignat flalign dmath math IEEEeqnarray xalignat".split()
)
ALIGNING = frozenset("align gather eqnarray alignat flalign IEEEeqnarray multline xalignat".split())
PICTURE = re.compile(r"\\begin\s*\{(tikzpicture|picture|tabular|tabularx|table|figure)\*?\}")
PARAGRAPH = re.compile(r"\n[ \t]*\n")
END_OF_PROOF = r"(?:\\(?:q?quad|hfill)\s*)*\\(?:(?:[Bb]lack)?[Ss]quare|Box|qed)(?![A-Za-z])"
"""The sign at the end of a proof, as a formula of its own or at the end of one."""
LABEL = re.compile(r"\\label\s*\{([^{}]*)\}")
TAG = re.compile(r"\\tag\*?\s*\{([^{}]*)\}")
OPENING = re.compile(
    r"\\begin\s*\{(?P<environment>[A-Za-z]+)\*?\}|\\(?P<bracket>\[|\()|(?P<dollars>\$\$?)|\\(?:\\|\$|[A-Za-z@]+|.)",
    re.DOTALL,
)


@dataclass
class Scan:
    """What is found in one text; ``numbers`` counts the printed equation numbers of a LaTeX source."""

    text: Text
    remarks: list[Remark] = field(default_factory=list)
    count: int = 0
    automatic: bool = True
    number: int = 0
    prefix: str = ""
    known: dict[str, str] = field(default_factory=dict)

    def parts(self, start: int, end: int) -> Iterator[Words | Formula]:
        """Words and formulas of a stretch."""
        source, place, begin = self.text.text, start, start
        while (found := OPENING.search(source, place, end)) is not None:
            place = found.end()
            opened = self._opened(found)
            if opened is None:
                continue
            closing, display, name = opened
            close = self._closing(found, closing, end, display)
            if close is None:
                continue
            if source[begin : found.start()].strip():
                yield Words(source[begin : found.start()], begin)
            yield from self._formula(found, close, display, name)
            begin = place = close.end()
            if self.count >= MOST_FORMULAS:
                self.remark(place, "too large", f"more than {MOST_FORMULAS} formulas; the rest is not read")
                return
        if source[begin:end].strip():
            yield Words(source[begin:end], begin)

    def remark(self, at: int, reason: str, message: str) -> None:
        """Note what cannot be read."""
        self.remarks.append(Remark(self.text.where(at), reason, message))

    def _opened(self, found: re.Match[str]) -> tuple[str, bool, str] | None:
        """How the formula that opens here closes, whether it is a display, and its environment."""
        if name := found["environment"]:
            if name not in DISPLAYS:
                return None
            return rf"\\end\s*\{{{name}\*?\}}", name != "math", found[0][found[0].index("{") + 1 : -1].strip()
        if found["bracket"]:
            return (r"(?<!\\)\\\]", True, "") if found["bracket"] == "[" else (r"(?<!\\)\\\)", False, "")
        if found["dollars"]:
            return (r"(?<!\\)\$\$", True, "") if len(found["dollars"]) == 2 else (r"(?<![\\])\$", False, "")
        return None

    def _closing(self, found: re.Match[str], closing: str, end: int, display: bool) -> re.Match[str] | None:
        """The end of the formula; a remark and None if it is not closed before the paragraph ends."""
        source = self.text.text
        stop = min(end, found.end() + LONGEST)
        close = re.compile(closing).search(source, found.end(), stop)
        last = close.start() if close else stop
        gap = PARAGRAPH.search(source, found.end(), last)
        if close is not None and (gap is None or (found["dollars"] == "$$" and _blank_inside(source, found, close))):
            return close
        reason, why = "unbalanced", "is not closed"
        if (picture := PICTURE.match(source, end)) is not None and last == end:
            reason, why = "picture", f"holds a {picture[1]}"
        elif last < end and gap is None:
            reason, why = "too large", f"is not closed within {LONGEST} characters"
        self.remark(found.start(), reason, f"{found[0]} {why}; the formula is left out")
        return None

    def _formula(self, found: re.Match[str], close: re.Match[str], display: bool, name: str) -> Iterator[Formula]:
        raw = self.text.text[found.end() : close.start()]
        self.count += 1
        bare = raw.replace(FILLER, "")
        if not bare.strip() or re.fullmatch(END_OF_PROOF, bare.strip()):
            return
        labels = tuple(LABEL.findall(bare))
        tags = TAG.findall(bare)
        number = " ".join(tags)
        if not tags and self.automatic and display and name and not name.endswith("*"):
            number = self._numbers(bare, name.rstrip("*"))
        self.known.update({label: number for label in labels if number})
        yield Formula(raw, found.end(), display, number, labels, name)

    def _numbers(self, latex: str, name: str) -> str:
        """The printed number of an equation, of several rows those of all of them."""
        rows = re.split(r"\\\\", _outer(latex)) if name in ALIGNING and name != "multline" else [latex]
        found = []
        for row in rows:
            if row.strip() and not re.search(r"\\(?:nonumber|notag)(?![A-Za-z])", row):
                self.number += 1
                printed = f"{self.prefix}{self.number}"
                found.append(printed)
                self.known.update(dict.fromkeys(LABEL.findall(row), printed))
        return found[0] if len(found) == 1 else f"{found[0]}-{found[-1]}" if found else ""


def _blank_inside(source: str, found: re.Match[str], close: re.Match[str]) -> bool:
    """Whether ``$$`` is closed in spite of an empty line: nothing but mathematics between."""
    inner = source[found.end() : close.start()]
    return len(inner) < 4_000 and "$" not in inner and not re.search(r"[A-Za-z]{4,} [a-z]{2,} [a-z]{2,} [a-z]", inner)


def _outer(latex: str) -> str:
    """A formula without what its inner environments hold, so that only its own rows are counted."""
    while (shorter := re.sub(r"\\begin\{([A-Za-z*]+)\}(?:(?!\\begin).)*?\\end\{\1\}", "", latex, flags=re.S)) != latex:
        latex = shorter
    return latex

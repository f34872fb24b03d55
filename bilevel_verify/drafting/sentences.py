"""What the words around a formula say that it is: a hypothesis, a definition, a promise, something cited."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from bilevel_verify.drafting.document import Formula, Unit, Words, plain_words
from bilevel_verify.drafting.listings.lines import HOLE as HOLE

ENDS = re.compile(r"[.!?](?=\s+[A-Z\x01(]|\s*\Z)|\n[ \t]*\n")
STANDING = (
    r"(?:throughout(?:,| (?:this|the|our) (?:paper|section|appendix|note|text|article|work|sequel|proofs?)\b)"
    r"|in what follows\b|in the sequel\b|hereafter\b|from now on\b)"
)
"""What begins a sentence that is in force from there on."""
CLAIM = re.compile(
    r"\b(?:then|we have|we get|we obtain|obtain|holds?|hence|thus|therefore|(?<!what )follows|satisf(?:y|ies)|yields?"
    r"|gives?|giving|implies|imply|so that|leads? to|get|conclude|shows?|so|bounded by|is bounded|at most|at least"
    r"|arrive at)\b", re.I,
)  # fmt: skip
GIVEN = re.compile(
    r"\b(?:suppose|supposing|assume[sd]?|assuming|provided|whenever|if|let|letting|for (?:all|any|every|each|some)"
    r"|given|under|when|while|requires?|such that|as (?:soon|long) as|fix(?:ing)?"
    r"|choos(?:e|ing)|tak(?:e|ing)|set(?:ting|s)?|pick|run(?:ning)?|consider"
    r"|denot(?:e[sd]?|ing)|defin(?:e[sd]?|ing)|introduce|initiali[sz]e|with|recall(?: that)?|write"
    r"|where|constants?|"
    rf"parameters?)\b|\b{STANDING}", re.I,
)  # fmt: skip
CITED = re.compile(
    r"\b(?:since|because|(?<!soon )(?<!long )as(?! (?:soon|long) as)"
    r"|by|from|using|uses?|used|due to|note that|fact that|according to|in view of|combin(?:e|ing)"
    r"|plugging|invoking|applying|implied by|holds for)\b", re.I,
)  # fmt: skip
HELD = re.compile(
    rf"(?:\b(?:let|suppose|assume|assuming|if|when)\b[^.{HOLE}]*\bholds?,?\s+(?:and|with)"
    rf"|\b(?:let|suppose|assume|assuming)\b[^.{HOLE}]*\bhold,)\s+(?:that\s+)?(?:{HOLE}\s*(?:,|and)\s*)*\Z",
    re.I,
)
""""Suppose that Assumption 1 holds and": what holds there is supposed, and so is what follows."""
REASON = re.compile(r"\b(?:since|because)\b", re.I)
CONTRAST = re.compile(rf"(?:{HOLE}|{CLAIM.pattern})[^.]*?,\s*while\s*\Z", re.I)
"""", while" behind what is said already sets something beside it and limits nothing."""
STRICT = re.compile(
    r"\b(?:suppose|assume[sd]?|assuming|provided|whenever|if|let|letting|when|while|such that|choos(?:e|ing)"
    r"|as (?:soon|long) as|fix(?:ing)?"
    r"|set(?:ting)?|denot(?:e[sd]?|ing)|defin(?:e[sd]?|ing)|introduce|consider|require[sd]?|where|recall(?: that)?"
    r"|take|write|problem|iterat(?:es?|ions?)|initiali[sz]e|updates?)\b[^.]*\Z", re.I,
)  # fmt: skip
STANDS = re.compile(rf"\s*{STANDING}", re.I)
WHOLE_PAPER = re.compile(r"\b(?:paper|note|text|article|work)\b", re.I)
NAMED = re.compile(
    r"\b(?:denote[sd]?|define[sd]?|defining|denoting|write|introduce)\b[^.]*\Z|\bruns?\b[^.]*\bwith\b[^.]*\Z", re.I
)
EVERY = r"\bfor (?:all|any|every|each)(?: (?:integers?|reals?|numbers?))?\s*"
QUANTIFIED = re.compile(rf"{EVERY}\Z", re.I)
ALSO = re.compile(rf"{EVERY}(?:{HOLE}\s*(?:,\s*and\b|,|and\b)\s*)+\Z", re.I)
RESTRICTS = re.compile(rf"{EVERY}{HOLE}\s*(?:with|such that|for which)\s*\Z", re.I)
OPENS = re.compile(r"\s*For\s+\Z")
FOLLOWS = re.compile(rf"\s*,?\s*{EVERY}{HOLE}", re.I)


@dataclass(frozen=True, slots=True)
class Context:
    """A formula with the words of its sentence before and after it; other formulas are holes.

    ``start`` is where the sentence begins in the words of the unit.
    """

    formula: Formula
    before: str
    after: str
    start: int = 0

    @property
    def role(self) -> str:
        """``given``, ``cited`` or ``claim``: the last word before the formula that says so; a display is a claim."""
        places = {
            "claim": _last(CLAIM, self.before),
            "given": _last(GIVEN, self.before),
            "cited": _last(CITED, self.before),
        }
        if HELD.search(self.before):
            return "given"
        best = max(places, key=lambda name: places[name])
        if places[best] < 0 or CONTRAST.search(self.before):
            return "claim"
        if self.formula.display and (best == "cited" or (best == "given" and not STRICT.search(self.before))):
            return "claim"
        return best

    @property
    def reasons(self) -> bool:
        """Whether it is what a "since" or "because" rests on: the text takes it for true where it stands."""
        return self.role == "cited" and 0 <= _last(CITED, self.before) == _last(REASON, self.before)

    @property
    def names(self) -> bool:
        """Whether the words say that the formula gives something a name."""
        return NAMED.search(self.before) is not None or self.stands

    @property
    def stands(self) -> bool:
        """Whether it is a hypothesis of a sentence like "Throughout, ...", in force from there on."""
        return STANDS.match(self.before) is not None and self.role == "given"

    @property
    def stands_everywhere(self) -> bool:
        """Whether the sentence says so for the whole paper, not for its section alone."""
        return self.stands and WHOLE_PAPER.search(self.before.partition(HOLE)[0]) is not None

    def ranges_over(self, other: Context) -> bool:
        """Whether this one, which ``quantifies``, does so for another formula of its sentence.

        It stands before the other one, or right behind it.
        """
        if self.start != other.start:
            return False
        return len(self.before) < len(other.before) or (
            self.before.count(HOLE) == other.before.count(HOLE) + 1 and FOLLOWS.match(other.after) is not None
        )

    @property
    def of_integers(self) -> bool:
        """Whether it stands right behind "integer"."""
        return re.search(r"\bintegers?\s*\Z", self.before, re.IGNORECASE) is not None

    @property
    def opens(self) -> bool:
        """Whether the sentence begins with "For" and it: a range of this sentence alone."""
        return OPENS.match(self.before) is not None

    @property
    def quantifies(self) -> bool:
        """Whether ``for all`` stands right before it."""
        return QUANTIFIED.search(self.before) is not None

    @property
    def restricts(self) -> bool:
        """Whether it says for which of all the sentence holds: ``for every j with a_j <= c``."""
        return RESTRICTS.search(self.before) is not None

    @property
    def quantifies_also(self) -> bool:
        """Whether it goes on after what ``for all`` stands before: ``for all k >= 0 and K >= 1``."""
        return ALSO.search(self.before) is not None


def _last(pattern: re.Pattern[str], text: str) -> int:
    return max((m.start() for m in pattern.finditer(text)), default=-1)


def contexts(unit: Unit) -> Iterator[Context]:
    """The formulas of a unit with their sentences."""
    text, places = "", []
    for part in unit.parts:
        if isinstance(part, Words):
            text += _broken(part.text)
            continue
        places.append((part, len(text)))
        text += HOLE
        if part.display and part.clean.rstrip().endswith((".", ".}")):
            text += ". \n\n"
    ends = [m.end() for m in ENDS.finditer(text)]
    for formula, place in places:
        start = max((e for e in ends if e <= place), default=0)
        stop = min((e for e in ends if e > place), default=len(text))
        yield Context(formula, text[start:place], text[place + 1 : stop], start)


def _broken(words: str) -> str:
    """Running text without markup in which an empty line ends a sentence unless a formula stands beside it."""
    plain = plain_words(words)
    lead, tail = plain[: len(plain) - len(plain.lstrip())], plain[len(plain.rstrip()) :]
    core = plain.strip()
    return (" " if lead else "") + core + (" " if tail else "")

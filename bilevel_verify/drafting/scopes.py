"""Which hypotheses, definitions and ranges are in force where: in the whole paper, in a statement and its proof."""

from __future__ import annotations

import re
from collections import defaultdict
from dataclasses import dataclass, field
from functools import cached_property

from bilevel_verify.drafting.document import ASSUMED, Document, Unit, Words, plain_words
from bilevel_verify.drafting.latex_source import numbers_for
from bilevel_verify.drafting.letters import (
    Bound,
    Defined,
    Mentions,
    Range,
    bounds,
    definitions,
    plain,
    ranges,
    unique,
    without_circles,
)
from bilevel_verify.drafting.relations import Printed, comparisons
from bilevel_verify.drafting.spoken import Spoken
from bilevel_verify.language import to_text, tree
from bilevel_verify.theorems.rewrite import free_letters
from bilevel_verify.theorems.vocabulary import NUMBERS

LOCAL = re.compile(r"\b(?:if|when|whenever|case|otherwise|while|unless)\b[^.]*\Z", re.IGNORECASE)
NEW = re.compile(r"\b(?:let|where|denote|choose|set|pick|take)\b", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Hypothesis:
    """A relation between numbers that a unit assumes, with the place as the paper names it.

    ``stands`` : it is no word of the unit but of the text before it, and gives way to what the unit says of a letter.
    """

    node: tree.Node
    origin: str
    stands: bool = False

    @property
    def letters(self) -> frozenset[str]:
        """Letters in it."""
        return frozenset(free_letters(self.node) - NUMBERS)


@dataclass
class Scope:
    """What is in force in one unit."""

    hypotheses: list[Hypothesis] = field(default_factory=list)
    define: dict[str, Defined] = field(default_factory=dict)
    ranges: dict[str, Range] = field(default_factory=dict)


@dataclass
class Scopes:
    """The scopes of all units of a paper."""

    document: Document
    printed: list[Printed]
    scalars: frozenset[str]
    known: dict[str, str] = field(default_factory=dict)
    spoken: list[Spoken] = field(default_factory=list)
    by_unit: dict[int, list[Printed]] = field(default_factory=lambda: defaultdict(list))
    standing: dict[str, Range] = field(default_factory=dict)
    ambiguous: set[str] = field(default_factory=set)

    def __post_init__(self) -> None:
        for one in self.printed:
            self.by_unit[one.unit].append(one)
        whole = [i for i, u in enumerate(self.document.units) if u.kind in ("text", *ASSUMED)]
        found = [b for i in whole for p in self.by_unit[i] if not _passing(p) for b in bounds(p)]
        everywhere = set(whole)
        said = [one for one in self.spoken if one.unit in everywhere and one.name in self.scalars]
        self.standing = _ordered(ranges((b for b in found if b.name in self.scalars), said), self._pairs(whole))
        self.general = self._general(whole)

    def _pairs(self, units: list[int]) -> list[tuple[str, str, bool]]:
        """Letters of which the text gives the order: (smaller, larger, whether they differ)."""
        found = []
        for one in (p for i in units for p in self.by_unit[i] if p.role == "given"):
            match one.left, one.op, one.right:
                case (tree.Letter(name=low), "<" | "<=", tree.Letter(name=high)):
                    pass
                case (tree.Letter(name=high), ">" | ">=", tree.Letter(name=low)):
                    pass
                case _:
                    continue
            if {low, high} <= self.scalars and not LOCAL.search(one.context.before):
                found.append((low, high, one.op in ("<", ">")))
        return found

    def _general(self, whole: list[int]) -> dict[str, Defined]:
        """Definitions of the paper as a whole: named as such in the text, and the same everywhere."""
        every = [d for p in self.printed for d in definitions(p, self.scalars)]
        everywhere = set(whole)
        named = [d for d in every if d.named and d.unit in everywhere]
        forms: dict[str, set[str]] = defaultdict(set)
        for one in every:
            forms[one.name].add(to_text(one.value))
        self.ambiguous = {name for name, texts in forms.items() if len(texts) > 1}
        return {n: d for n, d in unique(named).items() if n not in self.ambiguous and n not in self.standing}

    def words(self, number: int) -> str:
        """The words of a unit, with the printed numbers in place of references."""
        parts = (p.text for p in self.document.units[number].parts if isinstance(p, Words))
        return plain_words(numbers_for(" ".join(parts), self.known))

    def sources(self, number: int) -> list[int]:
        """The units whose hypotheses are in force in a unit: itself, the statement of a proof, what these mention."""
        units = self.document.units
        found = [number]
        if units[number].kind == "proof" and (of := self.statement(number)) is not None:
            found.append(of)
        for inner in list(found):
            if units[inner].is_statement:
                text = self.words(inner)
                found += [i for i in self._named(text) if i not in found and self._lends(i, inner, text)]
        return found

    @cached_property
    def _statements(self) -> dict[str, list[int]]:
        """Name of a statement -> the units that are called so."""
        found: dict[str, list[int]] = {}
        for number, unit in enumerate(self.document.units):
            if unit.is_statement and unit.name:
                found.setdefault(unit.name, []).append(number)
        return found

    @cached_property
    def _named(self) -> Mentions:
        return Mentions(self.document.units)

    @cached_property
    def _spoken(self) -> dict[int, list[Spoken]]:
        """What words say of letters, by units."""
        found: dict[int, list[Spoken]] = defaultdict(list)
        for one in self.spoken:
            if one.name in self.scalars:
                found[one.unit].append(one)
        return found

    @cached_property
    def _standing(self) -> list[tuple[int, Printed, bool]]:
        """Hypotheses of the text: (unit, relation, whether an order of two letters that stands everywhere)."""
        return [
            (number, one, self._ordered_from(one))
            for number, unit in enumerate(self.document.units)
            if unit.kind == "text"
            for one in self.by_unit.get(number, ())
            if one.role == "given" and not _passing(one)
        ]

    def _lends(self, other: int, unit: int, text: str) -> bool:
        """Whether a mention takes over hypotheses: an assumption does, a statement where its settings are named."""
        named = self.document.units[other]
        if named.kind in ASSUMED:
            return True
        words = r"\b(?:settings?|parameters?|choices?|conditions?|assumptions?|notations?)\b[^.]{0,40}"
        return re.search(words + re.escape(named.name), text, re.IGNORECASE) is not None and other != unit

    def statement(self, number: int) -> int | None:
        """The statement that a proof belongs to."""
        matches = self._statements.get(self.document.units[number].of, [])
        return max((i for i in matches if i < number), default=matches[0] if matches else None)

    def of(self, number: int) -> Scope:
        """What is in force in a unit."""
        scope = Scope()
        found: list[Defined] = []
        ends: list[Bound] = []
        said: list[Spoken] = []
        for source in self.sources(number):
            unit = self.document.units[source]
            if unit.is_statement:
                scope.hypotheses += self._hypotheses(source, unit)
                ends += [b for p in self._given(source, unit) for b in bounds(p) if b.name in self.scalars]
                said += self._spoken.get(source, [])
            local = [d for p in self.by_unit[source] for d in definitions(p, self.scalars)]
            if unit.kind == "proof":
                local = [d for d in local if d.named]
            found += local if unit.kind != "text" else []
        own = unique(found)
        clash = {d.name for d in found} - own.keys()
        here = self.document.units[number].section
        general = {
            n: d for n, d in self.general.items()
            if n not in clash and (d.always or self.document.units[d.unit].section == here)
        }  # fmt: skip
        define = {**general, **own}
        scope.define = without_circles(define)
        scope.ranges = {n: r for n, r in ranges(ends, said).items() if n not in scope.define}
        settled = {b.name for b in ends} | {one.name for one in said} | {d.name for d in found}
        settled |= {name for hypothesis in scope.hypotheses for name in hypothesis.letters}
        scope.hypotheses += [h for h in self._standing_hypotheses(number) if not h.letters & settled]
        return scope

    def _given(self, number: int, unit: Unit) -> list[Printed]:
        """The hypotheses of a statement: what it says before its first promise, and no case of it."""
        found = []
        cases = len(re.findall(r"\b(?:if|when|whenever|case|otherwise)\b", self.words(number), re.IGNORECASE))
        for one in self.by_unit[number]:
            if one.role == "claim" and unit.kind not in ASSUMED:
                break
            if (
                one.role in ("given", "for all")
                and not one.context.opens
                and not (cases > 1 and LOCAL.search(one.context.before))
            ):
                found.append(one)
        return found

    def _hypotheses(self, number: int, unit: Unit) -> list[Hypothesis]:
        return [Hypothesis(n, unit.name) for one in self._given(number, unit) for n in self._numeric(one)]

    def _standing_hypotheses(self, number: int) -> list[Hypothesis]:
        """What the text before a unit says to be in force from there on, in its section or in the whole paper."""
        units, found = self.document.units, []
        for source, one, ordered in self._standing:
            unit = units[source]
            here = unit.section == units[number].section or one.context.stands_everywhere
            if source <= number and ((here and one.context.stands) or ordered):
                origin = unit.name or unit.section or "text"
                found += [Hypothesis(node, origin, stands=True) for node in self._numeric(one)]
        return found

    def _ordered_from(self, one: Printed) -> bool:
        """Whether two letters stand in a chain that begins with a number, ``0 < mu <= L``: as far as its range does."""
        sides = (one.left, one.right)
        if not all(isinstance(side, tree.Letter) and side.name in self.standing for side in sides):
            return False
        chain = [p for p in self.by_unit[one.unit] if p.chain == one.chain]
        return isinstance(chain[0].left, tree.Number) and len({p.op[0] for p in chain}) == 1

    def _numeric(self, one: Printed) -> list[tree.Node]:
        """The comparisons of a relation that are between formulas of numbers and letters."""
        found = []
        for node in comparisons(one.left, one.op, one.right):
            letters = free_letters(node) - NUMBERS
            sides = node.children() if isinstance(node, tree.Compare) else ()
            if letters and letters <= self.scalars and all(plain(side) for side in sides):
                found.append(node)
        return found


def _passing(printed: Printed) -> bool:
    """Whether a range is that of a case or of one sentence."""
    return printed.context.opens or LOCAL.search(printed.context.before) is not None


def _ordered(known: dict[str, Range], pairs: list[tuple[str, str, bool]]) -> dict[str, Range]:
    """Ranges with those of letters that are larger than one with a lower end: ``0 < a < b`` says ``b > 0``."""
    found = dict(known)
    for _ in range(3):
        for small, large, strict in pairs:
            below = found.get(small)
            if large not in found and below is not None and below.lower is not None:
                value, closed = below.lower
                found[large] = Range((value, closed and not strict), units=list(below.units))
    return found

"""What the formulas and words of a paper show about its symbols: applied, indexed, in a norm, in a denominator ...

Nothing is decided here. Every trait is counted for a bare symbol (font, accent, primes and star are part of it; scripts
are not), with the first place where it was seen.
"""

from __future__ import annotations

import itertools
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from bilevel_verify.drafting.stretches import (
    RUNNING,
    are_dots,
    begins,
    bracketed,
    is_identity,
    is_running,
    last_index,
    sides_of,
    split_at,
)
from bilevel_verify.errors import LatexError
from bilevel_verify.latex.source.atoms import Atom, atom_of
from bilevel_verify.latex.source.items import Environment, Fence, Group, Item, Macro, Script, opens
from bilevel_verify.latex.source.structure import flat
from bilevel_verify.latex.source.symbols import FRACTIONS
from bilevel_verify.latex.source.tokens import Source, Token

TRANSPOSES = ("T", "top", "intercal", r"\mathsf{T}")
MARKS = ("-", "+")
BARS = {"||": "||", "|": "|", "||(": "||)", "|(": "|)", "dot(": "dot)"}
NEAR_IDENTITY = re.compile(r"[(\[](?:\\math\w+\{I\}|I)[-+][^()\[\]]*[)\]](?:\^\{?-1\}?)?[.,;\s]*\Z")
SIZED_IDENTITY = re.compile(r"(?:\\math\w+\{I\}|I)_\{?[dmnpN]\}?")
LEAST = frozenset({"min", "max", "inf", "sup", "argmin", "argmax"})


@dataclass(slots=True)
class Traits:
    """How often a symbol was seen in which part.

    ``scripts`` counts pairs of subscript and superscript, as flat LaTeX; ``first`` is the place of the first one.
    ``entries`` counts last indices with which it stands where only a number can, ``points_with`` those in norms.
    """

    atom: Atom
    first: int
    count: int = 0
    scripts: Counter[tuple[str, str]] = field(default_factory=Counter)
    traits: Counter[str] = field(default_factory=Counter)
    arities: Counter[int] = field(default_factory=Counter)
    points: Counter[Key] = field(default_factory=Counter)
    entries: Counter[str] = field(default_factory=Counter)
    points_with: Counter[str] = field(default_factory=Counter)
    sub_items: dict[str, tuple[Item, ...]] = field(default_factory=dict)
    sup_items: dict[str, tuple[Item, ...]] = field(default_factory=dict)


Key = tuple[str, int, bool, str]
"""Bare symbol, primes, star, and the subscript where that is part of a name (``g`` in ``L_g``)."""


@dataclass
class Evidence:
    """Traits of all symbols, and the letters that run."""

    indices: frozenset[str] = frozenset()
    symbols: dict[Key, Traits] = field(default_factory=dict)
    running: Counter[str] = field(default_factory=Counter)
    stepping: Counter[str] = field(default_factory=Counter)
    norms: set[str] = field(default_factory=set)

    def add(self, source: Source, items: Sequence[Item], at: int) -> None:
        """Look at one formula."""
        self._walk(source, items, at, "")

    def trait(self, atom: Atom, name: str, at: int, listed: bool = False) -> None:
        """Note a trait of a symbol; ``listed`` says that it ends a list, or stands in a product of vectors."""
        found = self._of(atom, at)
        found.traits[name] += 1
        if name in ("scalar place", "compared") and not listed:
            found.entries.update(last_index(atom))
        elif name in ("norm", "product", "point"):
            found.points_with.update(last_index(atom))

    def _of(self, atom: Atom, at: int) -> Traits:
        named = atom.sub is not None and not is_running(atom.sub, self.indices)
        key = (atom.symbol, atom.primes, atom.star, flat(atom.sub) if named and atom.sub is not None else "")
        if key not in self.symbols:
            bare = Atom(atom.symbol, atom.primes, atom.star, atom.sub if named else None)
            self.symbols[key] = Traits(bare, at)
        return self.symbols[key]

    def _walk(self, source: Source, items: Sequence[Item], at: int, inside: str) -> None:
        """All symbols of a row of items; ``inside`` names what they stand in (norm, product, denominator ...)."""
        place, closed = 0, -1
        self._terms(source, items, at, inside)
        while place < len(items):
            item = items[place]
            atom, after = self._atom(source, items, place)
            if atom is None:
                self._inner(source, item, at)
                if isinstance(item, Token) and item.kind == "operator" and place + 1 < len(items):
                    self._range(items[place + 1])
                    self._least(source, item, items, place + 1, at)
                if isinstance(item, Token) and item.kind == "elementary":
                    for argument in bracketed(items, place + 1) or ():
                        if (one := self._single(source, argument)) is not None:
                            self._of(one, at).entries.update(last_index(one))
                if isinstance(item, Fence) and item.left in ("||", "||(") and place + 1 < len(items):
                    self._norm(items[place + 1])
                if isinstance(item, Token) and item.kind == "delimiter" and item.text in BARS and place > closed:
                    end = self._bars(source, items, place, at)
                    closed = end if item.text in ("||", "|") else closed
                place += 1
                continue
            self._scripts(source, atom, at)
            if not atom.symbol.endswith("\\nabla"):
                self._seen(source, atom, items, place, after, at)
            place = after

    def _norm(self, after: Item) -> None:
        """The index of a norm, behind its bars."""
        if isinstance(after, Script) and after.kind == "_":
            self.norms.add(flat(after.items))

    def _atom(self, source: Source, items: Sequence[Item], place: int) -> tuple[Atom | None, int]:
        try:
            return atom_of(source, items, place)
        except LatexError:
            return None, place

    def _seen(self, source: Source, atom: Atom, items: Sequence[Item], place: int, after: int, at: int) -> None:
        found = self._of(atom, at)
        found.count += 1
        sub, sup = (None if s is None else flat(s) for s in (atom.sub, atom.sup))
        found.scripts[sub or "", sup or ""] += 1
        if atom.sub is not None:
            found.sub_items.setdefault(sub or "", atom.sub)
        if atom.sup is not None:
            found.sup_items.setdefault(sup or "", atom.sup)
        if sup in TRANSPOSES:
            found.traits["transposed"] += 1
        found.entries.update(last_index(atom) if sup is not None and re.fullmatch("[2-9]", sup) else ())
        before, _ = self._atom(source, items, place - 1) if place else (None, 0)
        follows = items[after] if after < len(items) else None
        if is_identity(atom) and (before is not None or (isinstance(follows, Token) and follows.text in MARKS)):
            found.traits["identity"] += 1
        if self._after_nabla(source, items, place):
            found.traits["differentiated"] += 1
        found.traits["operator"] += after < len(items) and opens(items[after], "([")
        found.traits["prefix"] += after < len(items) and begins(items[after])
        if (arguments := bracketed(items, after)) is not None:
            self._arguments(source, found, arguments, self._after_nabla(source, items, place), at)
        if before is None and (colon := self._colon(source, items, after)):
            found.traits["mapped"] += 1
            found.traits["to itself"] += _is_to_itself(items[colon + 1 :])

    def _arguments(self, source: Source, found: Traits, arguments: list[list[Item]], nabla: bool, at: int) -> None:
        """What stands in the bracket behind a symbol, perhaps behind a gradient."""
        found.arities[len(arguments)] += 1
        points = [point for argument in arguments if (point := self._single(source, argument)) is not None]
        found.traits["applied" if len(arguments) > 1 or points else "bracket"] += 1
        for point in points:
            named = point.sub is not None and not is_running(point.sub, self.indices)
            name = flat(point.sub) if named and point.sub is not None else ""
            found.points[point.symbol, point.primes, point.star, name] += 1
            if nabla:
                self.trait(point, "point", at)
        for argument in arguments:
            if (value := self._value(source, argument)) is not None:
                self.trait(value, "value point", at)

    def _colon(self, source: Source, items: Sequence[Item], place: int) -> int:
        """Where the colon of ``A: H \\to H`` or ``A, B: H \\to H`` stands behind a symbol; 0 if there is none."""
        while place < len(items):
            item = items[place]
            if isinstance(item, Token) and item.text == ":":
                return place
            if not (isinstance(item, Token) and item.text == "," and place + 1 < len(items)):
                return 0
            atom, place = self._atom(source, items, place + 1)
            if atom is None:
                return 0
        return 0

    def _after_nabla(self, source: Source, items: Sequence[Item], place: int) -> bool:
        back = place - 1
        while back >= 0 and isinstance(items[back], Script):
            back -= 1
        if back < 0:
            return False
        before, end = self._atom(source, items, back)
        return (
            before is not None and end == place and (before.symbol.endswith("\\nabla") or "{\\nabla}" in before.symbol)
        )

    def _scripts(self, source: Source, atom: Atom, at: int) -> None:
        for items in (atom.sub, atom.sup):
            if items is None:
                continue
            self._walk(source, items, at, "script")
            if len(items) == 3 and isinstance(items[1], Token) and items[1].text in MARKS:
                self._runs(items[0], True)

    def _runs(self, item: Item, steps: bool = False) -> None:
        name = flat([item])
        if name in RUNNING:
            self.running[name] += 1
            self.stepping[name] += steps

    def _range(self, item: Item) -> None:
        """``\\sum_{i=1}``."""
        if isinstance(item, Script) and item.kind == "_" and item.items:
            self._runs(item.items[0])

    def _least(self, source: Source, item: Token, items: Sequence[Item], place: int, at: int) -> None:
        """``\\min_x F(x)``: what has a least value is a number."""
        while place < len(items) and isinstance(items[place], Script):
            place += 1
        atom, after = self._atom(source, items, place) if place < len(items) else (None, place)
        if item.text in LEAST and atom is not None and bracketed(items, after) is not None:
            self.trait(atom, "value compared", at)

    def _single(self, source: Source, items: Sequence[Item]) -> Atom | None:
        """The one symbol that a stretch consists of."""
        items = [i for i in items if not (isinstance(i, Token) and i.kind in ("space", "gap"))]
        atom, after = self._atom(source, items, 0) if items else (None, 0)
        return atom if atom is not None and after == len(items) else None

    def _value(self, source: Source, items: Sequence[Item]) -> Atom | None:
        """The function of which a stretch is one value."""
        items = [i for i in items if not (isinstance(i, Token) and i.kind in ("space", "gap"))]
        atom, after = self._atom(source, items, 0) if items else (None, 0)
        if atom is None or bracketed(items, after) is None:
            return None
        if isinstance(items[after], Fence):
            return atom if after + 1 == len(items) else None
        last = items[-1]
        closed = isinstance(last, Token) and last.text == ")"
        return atom if closed and not any(isinstance(i, Token) and i.text in MARKS for i in items[after:-1]) else None

    def _inner(self, source: Source, item: Item, at: int) -> None:
        match item:
            case Group(items=inner) | Environment(items=inner):
                self._walk(source, inner, at, "")
            case Fence(left=left, items=inner):
                inside = {"||": "norm", "||(": "norm", "dot(": "product", "|": "absolute", "|(": "absolute"}.get(
                    left, ""
                )
                self._walk(source, inner, at, inside)
            case Script(kind=kind, items=inner):
                self._walk(source, inner, at, "script")
                if kind == "^" and flat(inner) not in TRANSPOSES:  # of a number or a bracket: 2^{-R}
                    self._terms(source, inner, at, "denominator")
            case Macro(name=name, arguments=arguments):
                for number, argument in enumerate(arguments):
                    inside = "denominator" if name in FRACTIONS and number == 1 else "root" if name == "sqrt" else ""
                    self._walk(source, argument.items, at, inside)

    def _bars(self, source: Source, items: Sequence[Item], place: int, at: int) -> int:
        """What stands between plain bars, as far as the bar that closes them; the place of that bar."""
        opening = items[place]
        assert isinstance(opening, Token)
        closing = BARS[opening.text]
        for end in range(place + 1, min(place + 200, len(items))):
            item = items[end]
            if isinstance(item, Token) and item.kind == "delimiter" and item.text == closing:
                inside = "norm" if closing[:2] == "||" else "product" if closing == "dot)" else "absolute"
                self._terms(source, items[place + 1 : end], at, inside)
                after = items[end + 1] if end + 1 < len(items) else None
                if inside == "norm" and after is not None:
                    self._norm(after)
                return end
        return place

    def _terms(self, source: Source, items: Sequence[Item], at: int, inside: str) -> None:
        """Traits of terms that are one symbol."""
        if inside in ("denominator", "root", "listed"):
            for part in split_at(items, (*MARKS, "*")):
                found = list(self._factors(source, part))
                turned = any(one.sup is not None and flat(one.sup) in TRANSPOSES for one in found)
                for one in found:  # of p^T A p nothing is a number
                    self.trait(one, "scalar place", at, turned or inside == "listed")
        elif inside in ("norm", "product", "absolute"):
            for part in split_at(items, (*MARKS, ",")):
                both = self._single(source, part)
                if both is not None and both.sub is not None and both.sup is not None:
                    self.trait(both, f"{inside} both", at)
                if inside == "absolute":
                    if both is not None:
                        self._of(both, at).entries.update(last_index(both))
                    continue
                if (alone := self._single(source, part)) is not None:
                    self.trait(alone, inside, at)
                elif (value := self._value(source, part)) is not None:
                    self.trait(value, f"value {inside}", at)
        elif inside in ("", "script"):
            sides = list(sides_of(items))
            self._members(source, sides, at)
            self._matrices(source, sides, at)
            for number, (part, before, after) in enumerate([] if inside else sides):
                if number and are_dots(sides[number - 1][0]):
                    self._terms(source, part, at, "listed")  # the end of k = 0, 1, \\dots, K-1
                member = self._single(source, part)
                if member is None:
                    if {before, after} & {"<", ">", "<=", ">="} and (value := self._value(source, part)) is not None:
                        self.trait(value, "value compared", at)
                    continue
                if {before, after} & {"<", ">", "<=", ">="}:
                    self.trait(member, "compared", at)
                if {before, after} & {"psd>=", "psd<=", "psd>", "psd<"}:
                    self.trait(member, "ordered", at)

    def _members(self, source: Source, sides: list[tuple[list[Item], str, str]], at: int) -> None:
        """What stands on both sides of a sign of membership."""
        for (one, _, sign), (other, _, _) in itertools.pairwise(sides):
            if sign != "in":
                continue
            element, whole = self._single(source, one), self._single(source, other)
            if whole is None:
                interval = other and isinstance(other[0], Token | Fence) and flat(other[:1])[:1] in "[("
                if element is not None and interval:
                    self.trait(element, "scalar place", at)
            elif whole.symbol == "\\mathbb{R}":
                power = "" if whole.sup is None else flat(whole.sup)
                kind = "ordered" if "times" in power else "point" if power not in ("", "+") else "scalar place"
                if element is not None:
                    self.trait(element, kind, at)
            else:
                self.trait(whole, "set", at)

    def _matrices(self, source: Source, sides: list[tuple[list[Item], str, str]], at: int) -> None:
        """``B = A^\\top A + c I``: what is equal to a sum with a matrix in it is one."""
        for (one, _, sign), (other, _, _) in itertools.pairwise(sides):
            for side, value in ((one, other), (other, one)) if sign in ("==", ":=") else ():
                named, terms = self._single(source, side), list(split_at(value, MARKS))
                if named is not None and any(self._is_matrix(source, term, len(terms)) for term in terms):
                    self.trait(named, "ordered", at)

    def _is_matrix(self, source: Source, term: list[Item], of: int) -> bool:
        """``c I``, ``A^\\top A``, ``a a^\\top``, ``c (I + A)^{-1}``; of several terms also ``I`` alone."""
        if NEAR_IDENTITY.search(flat(term)):
            return True
        ended = [i for i in term if not (isinstance(i, Token) and i.text in (".", ";"))]
        starts = itertools.dropwhile(lambda i: not isinstance(i, Token) or i.kind not in ("letter", "command"), ended)
        factors = list(self._factors(source, list(starts)))
        if factors and (is_identity(factors[-1]) or SIZED_IDENTITY.fullmatch(factors[-1].latex())):
            return len(factors) + of > 2
        if len(factors) < 2:
            return False
        one, last = factors[-2:]
        turned = [f.sup is not None and flat(f.sup) in TRANSPOSES for f in (one, last)]
        squares = ([False, True], [True, False]) if last.symbol.rstrip("}")[-1:].isupper() else ([False, True],)
        return one.symbol == last.symbol and turned in squares

    def _factors(self, source: Source, items: Sequence[Item]) -> Iterator[Atom]:
        """Symbols side by side, where there is nothing else."""
        found, place = [], 0
        while place < len(items):
            item = items[place]
            if isinstance(item, Token) and item.kind in ("digits", "space", "gap"):
                place += 1
                continue
            atom, after = self._atom(source, items, place)
            if atom is None:
                return
            if bracketed(items, after) is not None:
                return
            found.append(atom)
            place = after
        yield from found


def _is_to_itself(items: Sequence[Item]) -> bool:
    """``H \\to H``, ``\\mathbb{R}^n \\to \\mathbb{R}^n``: from points to points."""
    (one, _, sign), *rest = sides_of(items)
    return bool(rest) and sign == "to" and flat(one).strip() == flat(rest[0][0]).strip() != "\\mathbb{R}"

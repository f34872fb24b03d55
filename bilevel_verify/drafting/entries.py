"""The entries of a drafted card: relations of one chain and one form, with what is in force where they stand."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import groupby
from typing import Any

from bilevel_verify.drafting.document import Unit, slug
from bilevel_verify.drafting.forms import Sorts, Store, Unjudged
from bilevel_verify.drafting.judgeable import Judgeable, judgeable
from bilevel_verify.drafting.letters import Bound, Range, bounds, own_bounds, plain, ranges
from bilevel_verify.drafting.notes import Note, index_notes
from bilevel_verify.drafting.relations import Printed, Reader
from bilevel_verify.drafting.scopes import Scope, Scopes
from bilevel_verify.language import to_text, tree
from bilevel_verify.theorems.rewrite import free_letters
from bilevel_verify.theorems.vocabulary import NUMBERS

COMPARED = ("<", "<=", ">", ">=", "==")
TABLES = {"scalar": "inequality", "letters": "inequality", "step": "step", "order": "derivation"}


@dataclass(frozen=True, slots=True)
class Made:
    """An entry of the card: its table and its fields in order."""

    table: str
    id: str
    fields: dict[str, Any]
    letters: frozenset[str] = frozenset()
    unit: int = -1


@dataclass(frozen=True, slots=True)
class Left:
    """A relation that was read and is not judged, with a word of :data:`~bilevel_verify.drafting.forms.WHY`."""

    printed: Printed
    why: str


@dataclass
class Composer:
    """Makes entries of the relations of a paper."""

    reader: Reader
    scopes: Scopes
    sorts: Sorts
    store: Store
    doubtful: frozenset[str] = frozenset()
    running: frozenset[str] = frozenset()
    made: list[Made] = field(default_factory=list)
    left: list[Left] = field(default_factory=list)
    notes: list[Note] = field(default_factory=list)
    ids: Counter[str] = field(default_factory=Counter)
    links: int = 0

    def compose(self) -> None:
        """Fill ``made``, ``left`` and ``notes``."""
        kept = [p for p in self.reader.printed if self.judged(p)]
        for _, chain in groupby(kept, key=lambda p: (p.unit, p.chain)):
            forms = [(p, f) for p in chain if (f := self._form(p)) is not None]
            for _, group in groupby(forms, key=lambda pair: pair[1].form):
                for part in consecutive(list(group)):
                    for piece in [[pair] for pair in part] if part[0][1].form == "order" else [part]:
                        self._entry(piece)

    def judged(self, printed: Printed) -> bool:
        """Whether a relation is a promise or a step: no definition, hypothesis or citation, and not told in text.

        What a proof says after "since" is a step of it.
        """
        unit = self.reader.document.units[printed.unit]
        return (
            (printed.role == "claim" or (printed.context.reasons and unit.kind == "proof"))
            and unit.kind != "algorithm"
            and (printed.context.formula.display or unit.kind != "text")
        )

    def _form(self, printed: Printed) -> Judgeable | None:
        try:
            if printed.op not in COMPARED:
                raise Unjudged("relation")
            if _is_range(printed):
                raise Unjudged("range")
            found = judgeable(printed.left, printed.op, printed.right, self.sorts, self.store)
            letters = free_letters(found.left) | free_letters(found.right)
            if len(letters & self.doubtful) > 1:
                raise Unjudged("doubt")
            return found
        except Unjudged as reason:
            self.left.append(Left(printed, str(reason)))
            return None

    def _entry(self, group: list[tuple[Printed, Judgeable]]) -> None:
        first, form = group[0]
        unit = self.reader.document.units[first.unit]
        identity = self._id(unit, first)
        letters = frozenset().union(*(free_letters(f.left) | free_letters(f.right) for _, f in group)) - NUMBERS
        where = str(self.reader.where(first.context.formula))
        fields: dict[str, Any] = {"id": identity, "source": f"{self._source(unit, first)}, {where}", "drafted": True}
        scope = self.scopes.of(first.unit)
        meant = {n: text for _, f in group for n, text in f.table.meant.items()}
        if form.form == "order":
            self._order(fields, form, scope)
        else:
            fields["chain"] = _chain(group)
            vectors = sorted(set().union(*(f.table.vectors for _, f in group)))
            if vectors:
                fields["vectors"] = vectors
            if meant:
                fields["letters"] = "; ".join(f"{n} stands for {_short(t)}" for n, t in sorted(meant.items()))
            self._in_force(fields, first, letters, scope)
        fields["printed"] = first.latex
        self.links += len(group)
        self.made.append(Made(TABLES[form.form], identity, fields, letters - set(meant), first.unit))
        for text in dict.fromkeys(t for p, _ in group for t in index_notes(p.left, p.right)):
            self.notes.append(Note(identity, self.reader.where(first.context.formula), text))

    def _in_force(self, fields: dict[str, Any], first: Printed, letters: frozenset[str], scope: Scope) -> None:
        """Ranges, definitions and hypotheses of an entry, each with its place."""
        own = ranges(own_bounds(first))
        sentence, whole = self._of_sentence(first)
        quantified = frozenset(own) | first.quantified
        formulas = {n: d.value for n, d in scope.define.items() if n not in quantified}
        used = _reached(letters, formulas)
        conditions = [(to_text(c), "the formula itself") for c in first.where if self._numeric(c)]
        said = sentence.keys() | quantified
        theirs = {to_text(tree.Compare((first.left, first.right), (first.op,)))}
        for hypothesis in scope.hypotheses:
            text = to_text(hypothesis.node)
            if hypothesis.letters <= sentence.keys() or (hypothesis.stands and hypothesis.letters & said):
                continue  # the sentence gives another range, or the same one
            if hypothesis.letters & used and text not in theirs and text not in [c for c, _ in conditions]:
                conditions.append((text, hypothesis.origin))
                used = _reached(used | hypothesis.letters, formulas)
        define = {n: to_text(value) for n, value in formulas.items() if n in used}
        spans = {n: (r, "the formula itself") for n, r in own.items()}
        for name, span in sentence.items():
            spans.setdefault(name, (span, "its own sentence"))
        for name, span in scope.ranges.items():
            unit = self.reader.document.units[span.units[0]]
            spans.setdefault(name, (span, span.origin(unit.name or unit.section)))
        spans = {n: s for n, s in spans.items() if n in used and n not in define}
        if spans:
            fields["for"] = {n: r.text(n in self.running or n in whole) for n, (r, _) in spans.items()}
            fields["for_from"] = {n: origin for n, (_, origin) in spans.items()}
        if define:
            fields["define"] = define
            fields["define_from"] = {n: self._home(scope.define[n].unit) for n in define}
        if conditions:
            fields["where"] = [text for text, _ in conditions]
            fields["where_from"] = [origin for _, origin in conditions]
        if quantified & set(spans):
            fields["quantified"] = sorted(quantified & set(spans))

    def _home(self, number: int) -> str:
        """A unit as the paper names it."""
        unit = self.reader.document.units[number]
        return unit.name or (f"proof of {unit.of}" if unit.of else unit.section) or "text"

    def _of_sentence(self, first: Printed) -> tuple[dict[str, Range], set[str]]:
        """Ranges that the sentence of a relation quantifies over, and which of them are said to be of integers."""
        found: list[Bound] = []
        whole: set[str] = set()
        for one in self.scopes.by_unit[first.unit]:
            if one.role == "for all" and one.context.ranges_over(first.context):
                here = [bound for bound in bounds(one) if bound.name in self.scopes.scalars]
                found += here
                whole |= {bound.name for bound in here if one.context.of_integers}
        return ranges(found), whole

    def _numeric(self, node: tree.Node) -> bool:
        letters = free_letters(node) - NUMBERS
        return letters <= self.scopes.scalars and all(plain(side) for side in node.children())

    def _order(self, fields: dict[str, Any], form: Judgeable, scope: Scope) -> None:
        letters = free_letters(form.left) - NUMBERS
        define = {n: scope.define[n].value for n in scope.define}
        used = _reached(frozenset(letters), define)
        fields["result"] = to_text(form.left)
        fields["gives"] = to_text(form.right)
        substitute = {n: to_text(v) for n, v in define.items() if n in used}
        if substitute:
            fields["substitute"] = substitute
        fields["regime"] = []

    def _id(self, unit: Unit, printed: Printed) -> str:
        of = self.scopes.statement(printed.unit) if unit.kind == "proof" else None
        name = self.reader.document.units[of].name if of is not None else unit.name or unit.section or unit.kind
        stem = slug(name) + ("-proof" if unit.kind == "proof" else "")
        number = printed.context.formula.number
        stem = f"{stem}-eq-{slug(number, 20)}" if number else stem
        self.ids[stem] += 1
        return stem if number and self.ids[stem] == 1 else f"{stem}-{self.ids[stem]}"

    def _source(self, unit: Unit, printed: Printed) -> str:
        number = printed.context.formula.number
        name = unit.name or unit.section or "text"
        if unit.kind == "proof":
            name = f"proof of {unit.of}" if unit.of else "a proof"
        return f"{name}, ({number})" if number else name


def _is_range(printed: Printed) -> bool:
    """Whether a relation says no more than where one letter lives: ``lambda >= 0``, ``k >= 2``."""
    sides = (printed.left, printed.right)
    letters = [side for side in sides if isinstance(side, tree.Letter) and side.name not in NUMBERS]
    return len(letters) == 1 and not any(free_letters(side) - NUMBERS for side in sides if side not in letters)


def _chain(group: list[tuple[Printed, Judgeable]]) -> list[str]:
    """The members of a group as a card writes a chain, where each link goes on from the one before; else pairs."""
    texts = [to_text(group[0][1].left)]
    for _, form in group:
        texts.append(f"{form.op} {to_text(form.right)}")
    return texts


def consecutive(group: list[tuple[Printed, Judgeable]]) -> Iterator[list[tuple[Printed, Judgeable]]]:
    """Cut a group where a link does not go on from the right side of the one before."""
    part = [group[0]]
    for pair in group[1:]:
        if pair[1].left == part[-1][1].right:
            part.append(pair)
        else:
            yield part
            part = [pair]
    yield part


def _reached(letters: frozenset[str], define: dict[str, tree.Node]) -> frozenset[str]:
    """Letters of a relation and of the definitions that it needs."""
    found = set(letters)
    grown = True
    while grown:
        inner = set().union(*(free_letters(define[n]) - NUMBERS for n in found & define.keys())) - found
        found |= inner
        grown = bool(inner)
    return frozenset(found)


def _short(text: str) -> str:
    return text if len(text) <= 120 else f"{text[:117]}..."

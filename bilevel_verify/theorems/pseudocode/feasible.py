"""Paths of a pseudo-code that can be taken, what they read without a value, and loops that they do not leave.

The letters that tests, ranges and indices depend on are small numbers inside their declared ranges; what lines compute
from them is followed exactly, and so is which entries of a sequence are assigned. Any other value is opaque: the same
expression of the same values is the same value, a comparison of two opaque values goes all ways, and once answered it
keeps its answer. A read counts only on a path whose answers can be given together: two different tests of one opaque
value may contradict each other in ways that are not seen here, so that a path that needs both shows nothing.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import lru_cache
from typing import TypeAlias

from bilevel_verify.errors import MathematicalError
from bilevel_verify.language import to_text, tree
from bilevel_verify.language.binding import binder
from bilevel_verify.numbers.exact import Formula, compare
from bilevel_verify.theorems import algorithm as script
from bilevel_verify.theorems.card_parts import Domain
from bilevel_verify.theorems.pseudocode.choices import numbers_to_try
from bilevel_verify.theorems.pseudocode.endless import End, end_of
from bilevel_verify.theorems.pseudocode.opaque import UNDEFINED, Opaque, Value, calls_own, least, leaves

MOST_STEPS = 300
MOST_WORK = 2500
MOST_PASSES = 9
MOST_TERMS = 12
"""Statements of one choice of numbers and of all, passes of one loop (more where a letter is larger), terms of one sum:
longer ones are given up."""


Entry: TypeAlias = tuple[str, tuple[Fraction, ...]]
Atom: TypeAlias = tuple[object, object]


@dataclass(frozen=True, slots=True)
class Missed:
    """A read without a value: the name, what is read, the statement, and the numbers of a path that leads there."""

    name: str
    shown: str
    statement: script.Statement
    numbers: Mapping[str, Fraction]


@dataclass(frozen=True, slots=True)
class _Path:
    values: Mapping[str, Value]
    entries: Mapping[Entry, Value] = field(default_factory=dict)
    loose: frozenset[str] = frozenset()
    """Sequences of which an entry with an unknown index was assigned: any entry of theirs may have a value."""
    answers: Mapping[Atom, int] = field(default_factory=dict)
    asked: Mapping[Atom, tuple[int, frozenset[int]]] = field(default_factory=dict)
    """Answered comparison -> the test that asked first, and the opaque values in it."""
    status: str = "on"
    undefined: bool = False
    """Whether a test had no value: what follows is another defect."""

    @property
    def possible(self) -> bool:
        """Whether no two tests in different places of the text look at one opaque value, and all have a value."""
        if self.undefined:
            return False
        seen: dict[int, int] = {}
        return all(seen.setdefault(one, place) == place for place, used in self.asked.values() for one in used)


@dataclass(frozen=True, slots=True)
class Kept:
    """A loop that a path enters and is not seen to leave, and the numbers of that path; ``proved``: it cannot leave."""

    statement: script.While
    proved: bool
    numbers: Mapping[str, Fraction]


def followed(
    program: script.Program, inputs: Iterable[str], ranges: Mapping[str, Domain] | None = None
) -> tuple[tuple[Missed, ...], tuple[Kept, ...]]:
    """Names and sequences that a path reads without a value, and loops that it does not leave: each once, with numbers.

    Parameters
    ----------
    inputs : names that have a value from the start; of a sequence among them, the entries with an index up to 0.
    ranges : where the letters live; without them the letters are not small, and a loop that runs no times is passed by.
    """
    return _followed(program, frozenset(inputs), None if ranges is None else tuple(ranges.items()))


@lru_cache(maxsize=16)
def _followed(
    program: script.Program, given: frozenset[str], where: tuple[tuple[str, Domain], ...] | None
) -> tuple[tuple[Missed, ...], tuple[Kept, ...]]:
    """The same, walked once for all that is asked about one program."""
    ranges = None if where is None else dict(where)
    found: dict[str, Missed] = {}
    kept: dict[tuple[int, bool], Kept] = {}
    work = 0
    for numbers in numbers_to_try(program, given, ranges):
        if work > MOST_WORK:
            break
        walk = _Walk(program, given, numbers, ranges is None)
        start: dict[str, Value] = {name: walk.atomic(("input", name)) for name in sorted(given)}
        for _ in walk.block(program.statements, _Path({**start, **numbers})):
            pass
        work += walk.steps
        for name, missed in walk.found.items():
            found.setdefault(name, missed)
        if ranges is None or _usual(numbers, ranges):
            for loop in walk.kept:
                kept.setdefault((loop.statement.number, loop.proved), loop)
    return tuple(found.values()), tuple(kept.values())


def _usual(numbers: Mapping[str, Fraction], ranges: Mapping[str, Domain]) -> bool:
    """Whether a letter whose range nobody gives is a counting number: no loop is blamed for any other."""
    return all(name in ranges or (value.denominator == 1 and value > 0) for name, value in numbers.items())


class _Walk:
    def __init__(
        self, program: script.Program, given: frozenset[str], numbers: Mapping[str, Fraction], once: bool
    ) -> None:
        self.given, self.numbers, self.once, self.steps = given, numbers, once, 0
        self.most = max(MOST_PASSES, *(int(n) + 2 for n in numbers.values()), 0)
        targets = [t for s in program.walk() if isinstance(s, script.Assign) for t in s.targets]
        self.letters = {t.name for t in targets if isinstance(t, tree.Letter)}
        self.letters |= {s.index for s in program.walk() if isinstance(s, script.For)}
        self.bases = {t.base for t in targets if isinstance(t, tree.Index)} - self.letters
        self.found: dict[str, Missed] = {}
        self.kept: list[Kept] = []
        self.known: dict[object, Opaque] = {}
        self.least: dict[int, Fraction | None] = {}
        self.at: script.Statement = program.statements[0] if program.statements else script.Break()

    def atomic(self, key: object, parts: Iterable[Value] = ()) -> Opaque:
        """The opaque value of a key, always the same."""
        inside = frozenset(n for part in parts if isinstance(part, Opaque) for n in (part.number, *part.made_of))
        if key not in self.known:
            number = len(self.known)
            self.known[key] = Opaque(number, inside or frozenset({number}))
        return self.known[key]

    def block(self, statements: tuple[script.Statement, ...], path: _Path) -> Iterator[_Path]:
        """Every path through a block; ``status`` says how it ends."""
        if not statements or path.status != "on":
            yield path
            return
        for after in self.statement(statements[0], path):
            yield from self.block(statements[1:], after)

    def statement(self, statement: script.Statement, path: _Path) -> Iterator[_Path]:
        self.steps += 1
        if self.steps > MOST_STEPS:
            return
        self.at = statement
        for node in script.expressions_of(statement):
            self.reads(node, path, {})
        match statement:
            case script.Assign(targets=targets, value=value):
                for one in self.outcomes(value, path):
                    yield self.assigned(targets, one, path)
            case script.If(test=test, body=body, orelse=orelse):
                for answer, after in self.answers(test, path):
                    yield from self.block(body if answer else orelse, after)
            case script.While(test=test, body=body):
                self.enters(statement, path)
                yield from self.loop(test, body, path, 0)
            case script.For(index=index, start=start, stop=stop, body=body):
                yield from self.range(index, start, stop, body, path)
            case script.Break():
                yield replace(path, status="break")
            case script.Return():
                yield replace(path, status="return")

    def range(
        self, index: str, start: tree.Node, stop: tree.Node, body: tuple[script.Statement, ...], path: _Path
    ) -> Iterator[_Path]:
        """A loop over a range; behind it the index is the last one that was reached."""
        first, last = self.value(start, path), self.value(stop, path)
        if not isinstance(first, Fraction) or not isinstance(last, Fraction):
            first, last = Fraction(0), Fraction(2)  # how often it runs is not known: twice is one of the ways
        yield from self.passes(index, first, last, body, path)

    def passes(
        self, index: str, at: Fraction, last: Fraction, body: tuple[script.Statement, ...], path: _Path, number: int = 0
    ) -> Iterator[_Path]:
        """The passes from one index on."""
        if at >= last:
            if number or not self.once:
                yield path
            return
        if number >= self.most:
            return
        for end in self.block(body, replace(path, values={**path.values, index: at})):
            if end.status == "on":
                yield from self.passes(index, at + 1, last, body, end, number + 1)
            else:
                yield replace(end, status="on") if end.status == "break" else end

    def enters(self, loop: script.While, path: _Path) -> None:
        """Note a loop that this path does not leave."""
        known = {name: value for name, value in path.values.items() if isinstance(value, Fraction)}
        end: End = end_of(loop, known) if path.possible else "not followed"
        if end != "not followed":
            self.kept.append(Kept(loop, end == "endless", self.numbers))

    def loop(self, test: tree.Node, body: tuple[script.Statement, ...], path: _Path, number: int) -> Iterator[_Path]:
        """Passes of a loop with a test; a path that goes round too often is given up."""
        if number > self.most:
            return
        for answer, after in self.answers(test, path):
            if not answer:
                if number or not self.once:
                    yield after
                continue
            for end in self.block(body, after):
                if end.status == "on":
                    self.reads(test, end, {})
                    yield from self.loop(test, body, end, number + 1)
                else:
                    yield replace(end, status="on") if end.status == "break" else end

    def answers(self, test: tree.Node, path: _Path) -> Iterator[tuple[bool, _Path]]:
        """The answers that a test can have, each with the path that gave it."""
        match test:
            case tree.Truth(value=value):
                yield value, path
            case tree.Not(operand=inner):
                yield from ((not answer, after) for answer, after in self.answers(inner, path))
            case tree.Logical(operator=word, operands=parts):
                for answer, after in self.answers(parts[0], path):
                    if answer is (word == "or") or len(parts) == 1:
                        yield answer, after
                    else:
                        yield from self.answers(tree.Logical(word, parts[1:]), after)
            case tree.Compare(operands=sides, operators=signs) if len(signs) > 1:
                links = tuple(tree.Compare(sides[i : i + 2], (sign,)) for i, sign in enumerate(signs))
                yield from self.answers(tree.Logical("and", links), path)
            case tree.Compare(operands=(one, other), operators=(sign,)):
                yield from self.compared(self.value(one, path), sign, self.value(other, path), path)
            case _:
                found = self.value(test, path)
                yield from self.compared(found if isinstance(found, Opaque) else self.atomic(test), ">", "true", path)

    def compared(self, one: Value, sign: str, other: Value | str, path: _Path) -> Iterator[tuple[bool, _Path]]:
        """A comparison: by numbers, by an answer that was given before, or all ways."""
        if not isinstance(one, Opaque) and not isinstance(other, Opaque | str):
            decided = compare(one, sign, other)
            if decided is not None:
                yield decided, path
                return
        if UNDEFINED in (one, other):
            path = replace(path, undefined=True)
        keys = [v if isinstance(v, Opaque) else str(v) for v in (one, other)]
        turned = repr(keys[0]) > repr(keys[1])
        atom: Atom = (keys[1], keys[0]) if turned else (keys[0], keys[1])
        used = frozenset(n for v in (one, other) if isinstance(v, Opaque) for n in (v.number, *v.made_of))
        equal = keys[0] == keys[1]
        orders = (-1, 1) if path.answers and sign not in ("==", "!=") else (-1, 0, 1)
        lowest, highest = self.gap(one, other), self.gap(other, one)
        ways = [order for order in orders if lowest <= (-order if turned else order) <= -highest]
        for order in (path.answers[atom],) if atom in path.answers else (0,) if equal else ways:
            after = path
            if atom not in path.answers and not equal:
                asked = {**path.asked, atom: (id(self.at), used)}
                after = replace(path, answers={**path.answers, atom: order}, asked=asked)
            yield bool(compare(Fraction(-order if turned else order), sign, Fraction(0))), after

    def gap(self, one: Value | str, other: Value | str) -> int:
        """The least sign that ``one - other`` can have, where one is known from below and the other is a number."""
        least = self.least.get(one.number) if isinstance(one, Opaque) else None
        if least is None or not isinstance(other, Fraction):
            return -1
        return (least > other) - (least < other)

    def outcomes(self, node: tree.Node, path: _Path) -> list[Value]:
        """What a value may be: an arg min is either end of its range."""
        if isinstance(node, tree.Call) and node.function in ("argmin", "argmax") and (span := binder(node)):
            ends = [self.value(end, path) for end in span[1:]]
            low, high = ends
            if isinstance(low, Fraction) and isinstance(high, Fraction) and low <= high:
                return [*dict.fromkeys((low, high))]
        return [self.value(node, path)]

    def value(self, node: tree.Node, path: _Path, bound: Mapping[str, Fraction] | None = None) -> Value:
        """A number where everything in it is one, else an opaque value."""
        if isinstance(node, tree.Letter) and not bound:
            known = path.values.get(node.name)
            return self._constant(node) if known is None else known
        if isinstance(node, tree.Index) and (entry := self.entry(node, path, bound or {})) in path.entries:
            return path.entries[entry]  # type: ignore[index]
        parts = {p: self.value(p, path, bound) for p in leaves(node, frozenset(bound or ())) if p != node}
        numbers = {p.name: v for p, v in parts.items() if isinstance(p, tree.Letter) and not isinstance(v, Opaque)}
        if all(isinstance(p, tree.Letter) for p in parts):
            try:
                return Formula({**numbers, **(bound or {})}).value(node)
            except (KeyError, ValueError, OverflowError):
                pass
            except MathematicalError:
                if len(numbers) == len(parts) and not calls_own(node):
                    return UNDEFINED
        shown = tuple((p, v if isinstance(v, Opaque) else str(v)) for p, v in parts.items())
        found = self.atomic((node, shown, tuple(sorted((bound or {}).items()))), parts.values())
        self.least.setdefault(found.number, least(node, numbers))
        return found

    def _constant(self, node: tree.Letter) -> Value:
        try:
            return Formula({}).value(node)
        except (MathematicalError, KeyError):
            return self.atomic(("letter", node.name))

    def assigned(self, targets: Iterable[tree.Letter | tree.Index], value: Value, path: _Path) -> _Path:
        """The path behind an assignment."""
        values, entries, loose = dict(path.values), dict(path.entries), path.loose
        for target in targets:
            if isinstance(target, tree.Letter):
                values[target.name] = value
            elif (entry := self.entry(target, path, {})) is not None:
                entries[entry] = value
            else:
                loose |= {target.base}
        return replace(path, values=values, entries=entries, loose=loose)

    def entry(self, node: tree.Index, path: _Path, bound: Mapping[str, Fraction]) -> Entry | None:
        """Which entry it is, where the indices are numbers."""
        found = [self.value(index, path, bound) for index in node.indices]
        return (node.base, tuple(found)) if all(isinstance(i, Fraction) for i in found) else None  # type: ignore[arg-type]

    def reads(self, node: tree.Node, path: _Path, bound: Mapping[str, Fraction]) -> None:
        """Every letter and entry that an expression reads; what an undecided part guards is left out."""
        match node:
            case tree.Letter(name=name):
                self.read_letter(name, path, bound)
                return
            case tree.Index():
                self.read_entry(node, path, bound)
            case tree.Conditional(test=test, yes=yes, no=no):
                self.reads(test, path, bound)
                answers = {answer for answer, _ in self.answers(test, path)}
                if len(answers) == 1:
                    self.reads(yes if True in answers else no, path, bound)
                return
            case tree.Logical(operator=word, operands=parts):
                for part in parts:
                    self.reads(part, path, bound)
                    if {answer for answer, _ in self.answers(part, path)} != {word == "and"}:
                        return
                return
            case tree.Call() if (span := binder(node)) is not None:
                self.read_sum(node, span, path, bound)
                return
        for part in node.children():
            self.reads(part, path, bound)

    def read_sum(
        self, node: tree.Call, span: tuple[str, tree.Node, tree.Node], path: _Path, bound: Mapping[str, Fraction]
    ) -> None:
        """The terms of a sum over its range."""
        index, low, high = span
        for end in (low, high):
            self.reads(end, path, bound)
        first, last = self.value(low, path, bound), self.value(high, path, bound)
        if isinstance(first, Fraction) and isinstance(last, Fraction):
            for number in range(min(MOST_TERMS, int(last - first) + 1)):
                for part in node.arguments[:-1]:
                    self.reads(part, path, {**bound, index: first + number})

    def read_letter(self, name: str, path: _Path, bound: Mapping[str, Fraction]) -> None:
        if name in bound or name in path.values or name in self.given:
            return
        whole = name in path.loose or any(base == name for base, _ in path.entries)
        if name in self.letters or (name in self.bases and not whole):
            self.miss(name, f"'{name}'", path)

    def read_entry(self, node: tree.Index, path: _Path, bound: Mapping[str, Fraction]) -> None:
        if node.base in path.loose or node.base not in self.bases:
            if node.base in self.letters:
                self.read_letter(node.base, path, bound)
            return
        entry = self.entry(node, path, bound)
        if entry is None or entry in path.entries or (node.base in self.given and entry[1][-1] <= 0):
            return
        self.miss(node.base, to_text(node), path)

    def miss(self, name: str, shown: str, path: _Path) -> None:
        if path.possible:
            self.found.setdefault(name, Missed(name, shown, self.at, self.numbers))

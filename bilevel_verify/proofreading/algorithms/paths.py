"""Paths through an algorithm with numbers for its counters: entries that a path reads and that no line of it assigned.

The letters that end ranges (``K``) are small numbers, counters are followed exactly, and a test of anything else is
taken both ways. A read counts only if it is missed with every number tried, so that it is no matter of a small ``K``.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from fractions import Fraction

from bilevel_verify.language import to_text, tree
from bilevel_verify.language.binding import binder
from bilevel_verify.numbers.exact import compare
from bilevel_verify.proofreading.algorithms.zones import ZERO, affine, whole_letters
from bilevel_verify.proofreading.names.occurrences import whole
from bilevel_verify.theorems import algorithm as script
from bilevel_verify.theorems.rewrite import free_letters

SIZES = (4, 5)
"""Values of the letters that end ranges."""
MOST_STEPS = 3000
Entry = tuple[str, tuple[int, ...]]


@dataclass(frozen=True, slots=True)
class Missed:
    """A read of an entry that the path did not assign: line, what is printed there, the entry, the counters."""

    line: str
    printed: str
    base: str
    entry: str
    counters: str


@dataclass(frozen=True, slots=True)
class _Path:
    """Values of counters, entries with a value, and the answers that tests of other things were given."""

    values: dict[str, int]
    known: frozenset[Entry]
    answers: dict[str, bool] = field(default_factory=dict)
    status: str = "on"


def missed_on_paths(program: script.Program, given: frozenset[str]) -> tuple[Missed, ...]:
    """Entries that some path reads and did not assign, one for each sequence; ``given`` are names of inputs."""
    found = [_Walk(program, given, size).run() for size in SIZES]
    common = set.intersection(*({(m.line, m.printed) for m in one} for one in found))
    table: dict[str, Missed] = {}
    for one in found[0]:
        if (one.line, one.printed) in common:
            table.setdefault(one.base, one)
    return tuple(table.values())


class _Walk:
    def __init__(self, program: script.Program, given: frozenset[str], size: int) -> None:
        self.program, self.steps = program, 0
        targets = [t for s in program.walk() if isinstance(s, script.Assign) for t in s.targets]
        self.letters = {t.name for t in targets if isinstance(t, tree.Letter)}
        self.letters |= {s.index for s in program.walk() if isinstance(s, script.For)}
        entries = [t for t in targets if isinstance(t, tree.Index) and t.indices]
        self.bases = {t.base for t in entries} - _drawn_as_a_whole(program)
        fixed = {(t.base, whole(t.indices[-1])) for t in entries if t.base in self.bases}
        self.lowest = {b: min((n for base, n in fixed if base == b and n is not None), default=0) for b in self.bases}
        outer = [(t.base, n) for t in entries if len(t.indices) > 1 and (n := whole(t.indices[0])) is not None]
        self.begin = {base: min(n for other, n in outer if other == base) for base, _ in outer}
        first = max([whole(s.start) or 0 for s in program.walk() if isinstance(s, script.For)], default=0)
        self.lowest |= {b: max(n, 1 + first) for b, n in self.lowest.items() if b in given}
        self.start = dict.fromkeys(_sizes(program, whole_letters(program)) - self.letters, size)
        self.found: dict[tuple[str, str], Missed] = {}
        self.line = ""

    def run(self) -> list[Missed]:
        for _ in self.block(self.program.statements, _Path(dict(self.start), frozenset())):
            pass
        return list(self.found.values())

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
        self.line = statement.label
        for node in script.expressions_of(statement):
            self.reads(node, path, {})
        match statement:
            case script.Assign(targets=targets, value=value):
                for number in self.numbers(value, path):
                    yield self.assigned(targets, number, path)
            case script.If(test=test, body=body, orelse=orelse):
                for answer, after in self.answered(test, path):
                    yield from self.block(body if answer else orelse, after)
            case script.While(test=test, body=body):
                yield from self.loop(test, body, path, 0)
            case script.For(index=index, start=start, stop=stop, body=body):
                first, last = self.number(start, path.values), self.number(stop, path.values)
                step = script.Assign((tree.Letter(index),), tree.Add((tree.Letter(index), tree.Number(Fraction(1)))))
                if first is not None and last is not None:
                    begun = replace(path, values={**path.values, index: first})
                    test = tree.Compare((tree.Letter(index), tree.Number(Fraction(last))), ("<",))
                    for end in self.loop(test, (*body, step), begun, 0):
                        yield end if self.breaks(end, index, last) else _without(end, index)
            case script.Break():
                yield replace(path, status="break")
            case script.Return():
                yield replace(path, status="return")

    def breaks(self, path: _Path, index: str, last: int) -> bool:
        """Whether the loop was left before its end; behind its end its letter has no value that all agree on."""
        return path.status != "on" or path.values.get(index, last) < last

    def loop(self, test: tree.Node, body: tuple[script.Statement, ...], path: _Path, passes: int) -> Iterator[_Path]:
        """Passes of a loop; a path that goes round too often is given up."""
        if passes > 2 * max(SIZES):
            return
        for answer, after in self.answered(test, path):
            if not answer:
                yield after
                continue
            for end in self.block(body, after):
                if end.status == "break":
                    yield replace(end, status="on")
                elif end.status == "return":
                    yield end
                else:
                    yield from self.loop(test, body, end, passes + 1)

    def answered(self, test: tree.Node, path: _Path) -> Iterator[tuple[bool, _Path]]:
        """The answer of a test where counters decide it, else both; the same question is answered once."""
        decided = self.truth(test, path.values)
        if decided is not None:
            yield decided, path
            return
        key = to_text(test) + str(sorted(path.values.items())) + str(len(path.known))
        for answer in (path.answers[key],) if key in path.answers else (False, True):
            yield answer, replace(path, answers={**path.answers, key: answer})

    def truth(self, test: tree.Node, values: dict[str, int]) -> bool | None:
        match test:
            case tree.Truth(value=value):
                return value
            case tree.Compare(operands=(one, other), operators=(op,)):
                a, b = self.number(one, values), self.number(other, values)
                if a is None or b is None:
                    return None
                return compare(Fraction(a), op, Fraction(b))
            case tree.Logical(operator=word, operands=parts):
                answers = [self.truth(part, values) for part in parts]
                strong = word == "or"
                return strong if strong in answers else None if None in answers else not strong
        return None

    def numbers(self, value: tree.Node, path: _Path) -> Iterable[int | None]:
        """What a value may be: a whole number, either end of the range of an arg min, or not known."""
        if isinstance(value, tree.Call) and value.function in ("argmin", "argmax") and (span := binder(value)):
            ends = [self.number(end, path.values) for end in span[1:]]
            return sorted({e for e in ends if e is not None}) or [None]
        return [self.number(value, path.values)]

    def assigned(self, targets: tuple[tree.Letter | tree.Index, ...], number: int | None, path: _Path) -> _Path:
        values, known = dict(path.values), set(path.known)
        for target in targets:
            if isinstance(target, tree.Letter):
                values.pop(target.name, None)
                if number is not None:
                    values[target.name] = number
            else:
                entry = self.entry(target, values)
                known.add(entry if entry is not None else (target.base, ()))
        return replace(path, values=values, known=frozenset(known))

    def reads(self, node: tree.Node, path: _Path, bound: dict[str, int]) -> None:
        """Every entry that an expression reads, sums over their ranges."""
        if isinstance(node, tree.Call) and (span := binder(node)) is not None:
            low, high = (self.number(end, {**path.values, **bound}) for end in span[1:])
            if low is not None and high is not None:
                for number in range(low, high + 1):
                    for part in node.arguments[:-1]:
                        self.reads(part, path, {**bound, span[0]: number})
            return
        if isinstance(node, tree.Index):
            self.read(node, path, bound)
        for part in node.children():
            self.reads(part, path, bound)

    def read(self, node: tree.Index, path: _Path, bound: dict[str, int]) -> None:
        entry = self.entry(node, {**path.values, **bound})
        if node.base not in self.bases or entry is None or (node.base, ()) in path.known or entry in path.known:
            return
        begun = entry[1][0] <= self.begin.get(node.base, entry[1][0])
        if (begun and entry[1][-1] < self.lowest[node.base]) or _part_known(entry, path.known):
            return  # given, or said in the text
        names = sorted((free_letters(node) & {*path.values}) - {*bound})
        counters = ", ".join(f"{n} = {path.values[n]}" for n in names)
        text = f"{entry[0]}[{','.join(map(str, entry[1]))}]"
        self.found.setdefault((self.line, to_text(node)), Missed(self.line, to_text(node), node.base, text, counters))

    def entry(self, node: tree.Index, values: dict[str, int]) -> Entry | None:
        indices = [self.number(index, values) for index in node.indices]
        return None if None in indices else (node.base, tuple(i for i in indices if i is not None))

    def number(self, node: tree.Node, values: dict[str, int]) -> int | None:
        """A whole number made of counters."""
        value = self.fraction(node, values)
        return None if value is None or value.denominator != 1 else int(value)

    def fraction(self, node: tree.Node, values: dict[str, int]) -> Fraction | None:
        match node:
            case tree.Number(value=value):
                return value
            case tree.Letter(name=name):
                return Fraction(values[name]) if name in values else None
            case tree.Negate(operand=inner):
                one = self.fraction(inner, values)
                return None if one is None else -one
            case tree.Add(terms=parts) | tree.Multiply(factors=parts):
                found = [self.fraction(part, values) for part in parts]
                total = Fraction(isinstance(node, tree.Multiply))
                for one in found:
                    if one is None:
                        return None
                    total = total * one if isinstance(node, tree.Multiply) else total + one
                return total
            case tree.Divide(numerator=top, denominator=bottom) | tree.Modulo(left=top, right=bottom):
                above, below = self.fraction(top, values), self.fraction(bottom, values)
                if above is None or not below:
                    return None
                return above % below if isinstance(node, tree.Modulo) else above / below
            case tree.Call(function="floor" | "ceil" as name, arguments=(inner,)):
                one = self.fraction(inner, values)
                return None if one is None else Fraction(math.floor(one) if name == "floor" else math.ceil(one))
            case tree.Call():
                return Fraction(values[text]) if (text := to_text(node)) in values else None
        return None


def _part_known(entry: Entry, known: frozenset[Entry]) -> bool:
    """Whether the vector of a component has a value, ``g[1]`` of ``g[1,2]``, or components of a vector."""
    others = (indices for base, indices in known if base == entry[0] and len(indices) != len(entry[1]))
    return any(indices and all(a == b for a, b in zip(indices, entry[1], strict=False)) for indices in others)


def _drawn_as_a_whole(program: script.Program) -> set[str]:
    """Sequences of which one line draws several entries (``xi_1, ..., xi_m``), and so all between them."""
    drawn = [(s.label, t.base) for s in program.walk() if isinstance(s, script.Assign) and _is_drawn(s.value)
             for t in s.targets if isinstance(t, tree.Index)]  # fmt: skip
    return {base for label, base in drawn if drawn.count((label, base)) > 1}


def _is_drawn(value: tree.Node) -> bool:
    return isinstance(value, tree.Call) and value.function == "drawn"


def _without(path: _Path, name: str) -> _Path:
    return replace(path, values={n: v for n, v in path.values.items() if n != name})


def _sizes(program: script.Program, counters: frozenset[str]) -> set[str]:
    """Letters of the ends of loops and sums, and those that a test compares with a counter."""
    found: set[str] = set()
    for statement in program.walk():
        if isinstance(statement, script.For):
            found |= free_letters(statement.start) | free_letters(statement.stop)
            found |= {to_text(p) for p in statement.stop.walk() if isinstance(p, tree.Call)}
        for part in (p for node in script.expressions_of(statement) for p in node.walk()):
            if isinstance(part, tree.Call) and (span := binder(part)) is not None:
                found |= {n for end in span[1:] for n in free_letters(end)}
            elif isinstance(part, tree.Compare):
                sides = [affine(side) for side in part.operands]
                names = {side[0] for side in sides if side is not None}
                found |= names - {ZERO} if None not in sides and names & counters else set()
    return found

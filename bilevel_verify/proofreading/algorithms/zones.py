"""Differences of counters: what ``k - K`` can be at each line, over every path and any number of passes.

An abstract interpretation with difference bounds (Mine's zones): for pairs of letters an upper end of their difference,
strict or not. Letters that index sequences or end ranges are whole numbers, so that ``k < K`` is ``k <= K - 1``.
Anything that is assigned in another way than by a number, a letter or a counter's step is forgotten. What is said of
a test holds on every run, since paths are only ever added.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from fractions import Fraction
from typing import TypeAlias

from bilevel_verify.language import tree
from bilevel_verify.theorems import algorithm as script
from bilevel_verify.theorems.rewrite import free_letters

ZERO = ""
"""Stands for the number 0 in a difference."""
End: TypeAlias = tuple[Fraction, bool]
"""An upper end, and whether it is reached."""
Zone: TypeAlias = dict[tuple[str, str], End]
"""``(u, v) -> end`` says that ``u - v`` is at most the end."""
PASSES = 4


@dataclass
class Answers:
    """What a test was seen to be: possibly true, possibly false; and whether its line is ever reached."""

    true: bool = False
    false: bool = False

    @property
    def reached(self) -> bool:
        """Whether a path leads to the test."""
        return self.true or self.false


@dataclass
class Zones:
    """The analysis of one program; ``answers`` are filled by :meth:`run`, one for each test and part of a test."""

    program: script.Program
    integers: frozenset[str] = frozenset()
    answers: dict[int, tuple[script.Statement, tree.Node, Answers]] = field(default_factory=dict)
    endless: list[script.While] = field(default_factory=list)
    _breaks: list[list[Zone]] = field(default_factory=list)
    _final: bool = True

    def run(self, conditions: Iterable[tree.Node] = ()) -> None:
        """Go over the whole program from what is given."""
        zone: Zone | None = {}
        for condition in conditions:
            zone = None if zone is None else self._hold(condition, zone)
        self._block(self.program.statements, zone or {})

    def _block(self, statements: Iterable[script.Statement], zone: Zone | None) -> Zone | None:
        for statement in statements:
            if zone is None:
                return None
            zone = self._statement(statement, zone)
        return zone

    def _statement(self, statement: script.Statement, zone: Zone) -> Zone | None:
        match statement:
            case script.Assign(targets=targets, value=value):
                for target in targets:
                    if isinstance(target, tree.Letter):
                        zone = assigned(zone, target.name, affine(value))
                return zone
            case script.If(test=test, body=body, orelse=orelse):
                yes, no = self._branches(statement, test, zone)
                return joined(self._block(body, yes), self._block(orelse, no))
            case script.While():
                return self._loop(statement, statement.test, statement.body, zone)
            case script.For(index=index, start=start, stop=stop, body=body):
                test = tree.Compare((tree.Letter(index), stop), ("<",))
                step = script.Assign((tree.Letter(index),), tree.Add((tree.Letter(index), tree.Number(Fraction(1)))))
                return self._loop(statement, test, (*body, step), assigned(zone, index, affine(start)))
            case script.Break():
                self._breaks[-1].append(zone)
                return None
        return None

    def _loop(
        self, statement: script.Statement, test: tree.Node, body: tuple[script.Statement, ...], zone: Zone
    ) -> Zone | None:
        """The states behind a loop: a fixed point by widening, then one pass whose answers count."""
        self._breaks.append([])
        head, final = zone, self._final
        self._final = False
        for number in range(PASSES * 3):
            yes, _ = self._branches(statement, test, head)
            again = joined(zone, self._block(body, yes)) or zone
            wider = again if number < PASSES else widened(head, again)
            if wider == head:
                break
            head = wider
        else:
            head = {}
        self._final, self._breaks[-1] = final, []
        yes, no = self._branches(statement, test, head)
        end = self._block(body, yes)
        left = self._breaks.pop()
        ends = end is None or self._hold(opposite(test), end) is not None
        if final and isinstance(statement, script.While) and not ends and not left and not _returns(statement):
            self.endless.append(statement)
        for one in left:
            no = joined(no, one)
        return no

    def _branches(self, statement: script.Statement, test: tree.Node, zone: Zone) -> tuple[Zone | None, Zone | None]:
        """The states in which a test holds and in which it does not."""
        yes, no = self._hold(test, zone), self._hold(opposite(test), zone)
        if self._final and not isinstance(statement, script.For):
            for part in (test, *(test.operands if isinstance(test, tree.Logical) else ())):
                self._note(statement, part, zone)
        return yes, no

    def _note(self, statement: script.Statement, test: tree.Node, zone: Zone) -> None:
        _, _, answers = self.answers.setdefault(id(test), (statement, test, Answers()))
        answers.true |= self._hold(test, zone) is not None
        answers.false |= self._hold(opposite(test), zone) is not None

    def _hold(self, test: tree.Node, zone: Zone) -> Zone | None:
        """The states of a zone in which a test may hold; None if there are none."""
        match test:
            case tree.Truth(value=value):
                return zone if value else None
            case tree.Logical(operator="and", operands=parts):
                found: Zone | None = zone
                for part in parts:
                    found = None if found is None else self._hold(part, found)
                return found
            case tree.Logical(operator="or", operands=parts):
                states = [self._hold(part, zone) for part in parts]
                found = None
                for state in states:
                    found = joined(found, state)
                return found
            case tree.Compare() as chain:
                found = zone
                for one, op, other in chain.links():
                    found = None if found is None else self._compared(found, one, op, other)
                return found
        return zone

    def _compared(self, zone: Zone, one: tree.Node, op: str, other: tree.Node) -> Zone | None:
        a, b = affine(one), affine(other)
        if a is None or b is None:
            return zone
        if op in (">", ">="):
            a, b, op = b, a, {">": "<", ">=": "<="}[op]
        found = self._upper(zone, a, b, op != "<")
        if op == "==" and found is not None:
            found = self._upper(found, b, a, True)
        return found

    def _upper(self, zone: Zone, a: tuple[str, Fraction], b: tuple[str, Fraction], closed: bool) -> Zone | None:
        """The zone with ``a <= b`` (or ``<``) added; None if that is empty."""
        (u, c), (v, d) = a, b
        end = d - c
        whole = all(name == ZERO or name in self.integers for name in (u, v))
        if whole:
            floor = Fraction(end.numerator // end.denominator)
            end, closed = (floor if closed or floor != end else end - 1), True
        if u == v:
            return zone if end > 0 or (end == 0 and closed) else None
        return closed_zone(zone, (u, v), (end, closed))


def affine(node: tree.Node) -> tuple[str, Fraction] | None:
    """``letter + number`` or a number, as (letter, number); None for anything else."""
    match node:
        case tree.Number(value=value):
            return ZERO, value
        case tree.Letter(name=name) if name != "oo":
            return name, Fraction(0)
        case tree.Negate(operand=tree.Number(value=value)):
            return ZERO, -value
        case tree.Add(terms=terms):
            parts = [affine(term) for term in terms]
            if any(part is None for part in parts):
                return None
            names = [part[0] for part in parts if part is not None and part[0] != ZERO]
            if len(names) > 1:
                return None
            return (names or [ZERO])[0], sum((p[1] for p in parts if p is not None), Fraction(0))
    return None


def assigned(zone: Zone, name: str, value: tuple[str, Fraction] | None) -> Zone:
    """The zone after ``name = letter + number``."""
    if value is not None and value[0] == name:
        step = value[1]
        return {
            (u, v): (end + (step if u == name else -step if v == name else 0), closed)
            for (u, v), (end, closed) in zone.items()
        }
    kept = {key: end for key, end in zone.items() if name not in key}
    if value is None:
        return kept
    other, shift = value
    first = closed_zone(kept, (name, other), (shift, True))
    return (first and closed_zone(first, (other, name), (-shift, True))) or kept


def closed_zone(zone: Zone, pair: tuple[str, str], end: End) -> Zone | None:
    """The zone with one more end and what follows from it; None if it is empty."""
    if pair in zone and not tighter(end, zone[pair]):
        return zone
    found = {**zone, pair: end}
    u, v = pair
    names = {name for key in found for name in key} | {u, v}
    for a in names:
        first = (Fraction(0), True) if a == u else found.get((a, u))
        if first is None:
            continue
        for b in names:
            last = (Fraction(0), True) if b == v else found.get((v, b))
            if last is None:
                continue
            path = (first[0] + end[0] + last[0], first[1] and end[1] and last[1])
            if a == b:
                if path[0] < 0 or (path[0] == 0 and not path[1]):
                    return None
            elif (a, b) not in found or tighter(path, found[a, b]):
                found[a, b] = path
    return found


def tighter(one: End, other: End) -> bool:
    """Whether one upper end says more than another."""
    return one[0] < other[0] or (one[0] == other[0] and not one[1] and other[1])


def joined(one: Zone | None, other: Zone | None) -> Zone | None:
    """What is true of both; None is no state at all."""
    if one is None or other is None:
        return other if one is None else one
    return {key: (other[key] if tighter(end, other[key]) else end) for key, end in one.items() if key in other}


def widened(old: Zone, new: Zone) -> Zone:
    """Only the ends that did not grow."""
    return {key: end for key, end in old.items() if key in new and not tighter(end, new[key])}


def opposite(test: tree.Node) -> tree.Node:
    """The negation of a test, with the signs turned; a chain of comparisons negates to a disjunction."""
    match test:
        case tree.Truth(value=value):
            return tree.Truth(not value)
        case tree.Logical(operator=word, operands=parts):
            return tree.Logical("or" if word == "and" else "and", tuple(opposite(part) for part in parts))
        case tree.Compare(operands=(one, other), operators=(op,)) if op in tree.NEGATED:
            return tree.Compare((one, other), (tree.NEGATED[op],))
        case tree.Compare(operands=(one, other), operators=("==",)):
            return tree.Logical("or", (tree.Compare((one, other), ("<",)), tree.Compare((one, other), (">",))))
        case tree.Compare(operators=operators) as chain if len(operators) > 1:
            return tree.Logical("or", tuple(opposite(one) for one in chain.pairs()))
    return tree.Truth(True) if not isinstance(test, tree.Truth) else test


def whole_letters(program: script.Program) -> frozenset[str]:
    """Letters that are whole numbers: they index sequences, or end ranges of sums and loops."""
    found: set[str] = set()
    for statement in program.walk():
        if isinstance(statement, script.For):
            found |= {statement.index}
            ends = [affine(e) for e in (statement.start, statement.stop)]
            found |= {end[0] for end in ends if end is not None}
        targets: tuple[tree.Node, ...] = statement.targets if isinstance(statement, script.Assign) else ()
        for node in (*script.expressions_of(statement), *targets):
            for part in node.walk():
                if isinstance(part, tree.Index):
                    found |= {end[0] for i in part.indices if (end := affine(i)) is not None}
    return frozenset(found - {ZERO})


def _returns(statement: script.While) -> bool:
    return any(isinstance(s, script.Return) for s in script.Program(statement.body, "").walk())


def letters_of(test: tree.Node) -> Iterator[str]:
    """Letters of a test, sorted."""
    yield from sorted(free_letters(test))

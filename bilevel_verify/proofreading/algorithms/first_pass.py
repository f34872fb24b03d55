"""The first pass through an algorithm, with counters as numbers: entries read before any line assigned them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from bilevel_verify.language import to_text, tree
from bilevel_verify.language.binding import binder
from bilevel_verify.proofreading.names.occurrences import whole
from bilevel_verify.theorems import algorithm as script

Entry = tuple[str, tuple[int, ...]]


@dataclass(frozen=True, slots=True)
class Early:
    """An entry that the first pass reads before a line assigns it; a later line of the pass does."""

    line: str
    entry: str


def read_too_early(program: script.Program, given: frozenset[str], below: frozenset[str]) -> tuple[Early, ...]:
    """Entries read in the first pass of the loops and assigned later in the same pass, in the order of the lines.

    Also ``r[-1]`` of a sequence that begins with ``r[0]``; ``below`` are sequences that may begin before it.

    ``given`` are names that the inputs mention: of these some entries have a value from the start. Branches are not
    entered; what they assign counts as assigned.
    """
    walk = _Walk(given)
    walk.block(program.statements)
    begun = {base for base, index in walk.known if index and min(index) >= 0} - below
    before = {entry: early for entry, early in walk.negative.items() if entry[0] in begun}
    return tuple((walk.found | before).values())


class _Walk:
    def __init__(self, given: frozenset[str]) -> None:
        self.given = given
        self.values: dict[str, int] = {}
        self.known: set[Entry] = set()
        self.read: dict[Entry, Early] = {}
        self.negative: dict[Entry, Early] = {}
        self.found: dict[Entry, Early] = {}

    def block(self, statements: Iterable[script.Statement]) -> None:
        for statement in statements:
            self.statement(statement)

    def statement(self, statement: script.Statement) -> None:
        """One statement of the first pass."""
        if isinstance(statement, script.Assign) and isinstance(statement.value, tree.Index):  # x[0] = x[-1] gives both
            entry = self._entry(statement.value)
            self.known |= {entry} if entry is not None and entry[1][-1] < 0 else set()
        for node in script.expressions_of(statement):
            self._reads(node, statement.label)
        match statement:
            case script.Assign(targets=targets, value=value):
                number = self._number(value)
                for target in targets:
                    self._assign(target, number)
            case script.For(index=index, start=start, body=body):
                self._assign(tree.Letter(index), self._number(start))
                self.block(body)
                self.values.pop(index, None)
            case script.While(body=body):
                self.block(body)
                for name in assigned_letters(body):
                    self.values.pop(name, None)
            case script.If(body=body, orelse=orelse):
                for name in assigned_letters((*body, *orelse)):
                    self.values.pop(name, None)
                self.given |= _bases((*body, *orelse))

    def _assign(self, target: tree.Letter | tree.Index, number: int | None) -> None:
        if isinstance(target, tree.Letter):
            self.values.pop(target.name, None)
            if number is not None:
                self.values[target.name] = number
            return
        entry = self._entry(target)
        if entry is None:
            self.given |= {target.base}
        elif entry in self.read and entry not in self.known:
            self.found.setdefault(entry, self.read[entry])
        if entry is not None:
            self.known.add(entry)

    def _reads(self, node: tree.Node, line: str) -> None:
        for part in _entries(node):
            entry = self._entry(part)
            if entry is None or entry in self.known:
                continue
            if entry[1][-1] < 0:
                self.negative.setdefault(entry, Early(line, to_text(part)))
            if part.base not in self.given:
                self.read.setdefault(entry, Early(line, to_text(part)))

    def _entry(self, node: tree.Index) -> Entry | None:
        indices = [self._number(index) for index in node.indices]
        return None if None in indices else (node.base, tuple(i for i in indices if i is not None))

    def _number(self, node: tree.Node) -> int | None:
        """A whole number, a counter with a known value, or a sum of these."""
        match node:
            case tree.Letter(name=name):
                return self.values.get(name)
            case tree.Add(terms=terms):
                found = [self._number(term) for term in terms]
                return None if None in found else sum(n for n in found if n is not None)
        return whole(node)


def _entries(node: tree.Node) -> Iterator[tree.Index]:
    """Entries that are read, outside of sums and their kind."""
    if isinstance(node, tree.Index):
        yield node
    if not (isinstance(node, tree.Call) and binder(node) is not None):
        for part in node.children():
            yield from _entries(part)


def _assigns(statements: Iterable[script.Statement]) -> Iterator[tree.Letter | tree.Index]:
    for statement in script.Program(tuple(statements), "").walk():
        if isinstance(statement, script.Assign):
            yield from statement.targets


def assigned_letters(statements: Iterable[script.Statement]) -> set[str]:
    """Letters (not entries) that a line of a block assigns."""
    return {t.name for t in _assigns(statements) if isinstance(t, tree.Letter)}


def _bases(statements: Iterable[script.Statement]) -> frozenset[str]:
    return frozenset(t.base for t in _assigns(statements) if isinstance(t, tree.Index))

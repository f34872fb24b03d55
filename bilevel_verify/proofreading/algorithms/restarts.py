"""Restarts: what the beginning of an algorithm sets, and a restart inside its loop leaves as it was."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from bilevel_verify.language import to_text, tree
from bilevel_verify.language.binding import binder
from bilevel_verify.proofreading.names.occurrences import shift_of, whole
from bilevel_verify.theorems import algorithm as script

DRAWN = re.compile(r"unif|norm(?:al)?\(0|sampl|rand|gauss|draw", re.I)
"""Functions whose value is another one each time."""


@dataclass(frozen=True, slots=True)
class Stale:
    """A restart and the entry that it does not set again."""

    line: str
    entry: str
    counter: str


def stale_entries(program: script.Program) -> Iterator[Stale]:
    """Entries with a fixed last index that the start sets, the loop reads through its counter, and a restart forgets.

    A restart is a block that sets a counter of the loop back to the number with which it began and sets some entry
    with a fixed last index again. Entries that start as a number keep it.
    """
    start = [s for s in program.statements if isinstance(s, script.Assign)]
    first = _fixed([s for s in start if whole(s.value) is None])  # a number is the same in every epoch
    counters = {t.name: n for s in start if (n := whole(s.value)) is not None for t in s.targets
                if isinstance(t, tree.Letter)}  # fmt: skip
    for loop in program.statements:
        if not isinstance(loop, script.While):
            continue
        read = _read_through(loop)
        for block in _blocks(loop):
            mine = [s for s in block if isinstance(s, script.Assign)]
            back = [t.name for s in mine for t in s.targets
                    if isinstance(t, tree.Letter) and counters.get(t.name, object()) == whole(s.value)]  # fmt: skip
            again = _fixed(mine) | _set_after(loop, block)
            counter = next((name for name in back if _counted(loop, name)), None)
            if counter is None or not _fixed(mine):
                continue
            for base, number in sorted(first - again):
                if (base, counter) in read and _lowest(loop, base, counter, number, counters[counter]):
                    line = next(s.label or str(s.number) for s in mine)
                    yield Stale(line, f"{base}[{number}]", counter)


def kept_counters(program: script.Program) -> Iterator[Stale]:
    """Blocks that set the first entries of a sequence again from where the loop is, and not the counter."""
    start = [s for s in program.statements if isinstance(s, script.Assign)]
    first = _fixed(start)
    counters = {t.name for s in start if whole(s.value) is not None for t in s.targets if isinstance(t, tree.Letter)}
    for loop in program.statements:
        if not isinstance(loop, script.While):
            continue
        read = _read_through(loop)
        stepped = {name for name in counters if _counted(loop, name)}
        for block in _blocks(loop):
            mine = [s for s in block if isinstance(s, script.Assign)]
            again = [s for s in mine if _fixed([s]) and _fixed([s]) <= first]
            touched = {t.name for s in mine for t in s.targets if isinstance(t, tree.Letter)}
            for statement in again:
                base, number = sorted(_fixed([statement]))[-1]
                names = sorted(n for n in stepped - touched if (base, n) in read and n in _indices(statement.value))
                if names and len({t.base for t in statement.targets if isinstance(t, tree.Index)}) == 1:
                    yield Stale(statement.label, f"{base}[{number}]", names[0])
                    break


def twin_counters(program: script.Program) -> Iterator[tuple[script.While, str, str]]:
    """Two counters of a loop that begin with one number and are always stepped together: one is never set back.

    Nobody counts the same passes twice; of two counters one was to begin anew.
    """
    start = {t.name: n for s in program.statements if isinstance(s, script.Assign) for t in s.targets
             if isinstance(t, tree.Letter) and (n := whole(s.value)) is not None}  # fmt: skip
    for loop in program.statements:
        if isinstance(loop, script.While):
            inside = [s for s in script.Program(loop.body, "").walk() if isinstance(s, script.Assign)]
            moves = {n: [s for s in inside if tree.Letter(n) in s.targets] for n in start}
            only = sorted(n for n, m in moves.items() if len(m) == 1 and m[0] in loop.body and shift_of(m[0].value, n))
            for place, one in enumerate(only):
                for other in only[place + 1 :]:
                    steps = {shift_of(moves[n][0].value, n) for n in (one, other)}
                    if start[one] == start[other] and len(steps) == 1:
                        yield loop, one, other


def standing_starts(program: script.Program) -> Iterator[tuple[script.For, str]]:
    """Loops over s that assign ``z[s + 1]``, and of z read ``z[0]`` alone: no pass goes on from the one before."""
    for loop in (s for s in program.walk() if isinstance(s, script.For)):
        inner = list(script.Program(loop.body, "").walk())
        targets = [t for s in inner if isinstance(s, script.Assign) for t in s.targets]
        entries = (t for t in targets if isinstance(t, tree.Index) and len(t.indices) == 1)
        moved = {t.base for t in entries if loop.index in tree.letters(t.indices[0])}
        read = [p for s in inner for node in script.expressions_of(s) for p in node.walk() if isinstance(p, tree.Index)]
        for base in sorted(moved):
            mine = [p.indices[-1] for p in read if p.base == base and len(p.indices) == 1]
            alone = [t for t in targets if isinstance(t, tree.Index) and t.base == base]
            if mine and len(alone) == 1 and all(whole(index) is not None for index in mine):
                yield loop, base


def _indices(node: tree.Node) -> set[str]:
    """Letters of the indices of a formula."""
    entries = (p for p in node.walk() if isinstance(p, tree.Index))
    return {name for entry in entries for index in entry.indices for name in tree.letters(index)}


def idle_loops(program: script.Program) -> Iterator[script.While]:
    """Loops of assignments alone, none of which reads what the pass before assigned: no pass can do anything new."""
    for loop in program.walk():
        if not isinstance(loop, script.While) or isinstance(loop.test, tree.Truth):
            continue
        body = [s for s in loop.body if isinstance(s, script.Assign)]
        if len(body) != len(loop.body) or not body or any(DRAWN.search(to_text(s.value)) for s in body):
            continue
        later = {to_text(t) for s in body for t in s.targets}
        letters = {t.name for s in body for t in s.targets if isinstance(t, tree.Letter)}
        bases = {t.base for s in body for t in s.targets if isinstance(t, tree.Index)}
        done: set[str] = set()
        carried = False
        for statement in body:
            parts = [p for node in script.expressions_of(statement) for p in node.walk()]
            seen = {to_text(p) for p in parts if isinstance(p, tree.Letter | tree.Index)}
            sums = any(isinstance(p, tree.Call) and binder(p) is not None for p in parts)
            indexed = {n for t in statement.targets if isinstance(t, tree.Index) for i in t.indices
                       for n in tree.letters(i)}  # fmt: skip
            carried |= bool(seen & (later - done)) or bool(indexed & letters)
            carried |= sums and bool({p.base for p in parts if isinstance(p, tree.Index)} & bases)
            done |= {to_text(t) for t in statement.targets}
        if not carried:
            yield loop


def _fixed(statements: list[script.Assign]) -> set[tuple[str, int]]:
    """Entries whose last index is a number."""
    return {
        (t.base, number)
        for s in statements
        for t in s.targets
        if isinstance(t, tree.Index) and t.indices and (number := whole(t.indices[-1])) is not None
    }


def _set_after(loop: script.While, block: tuple[script.Statement, ...]) -> set[tuple[str, int]]:
    """Fixed entries that the loop sets outside of the block, so that a later line may set them."""
    inside = {id(s) for s in block}
    others = [s for s in script.Program(loop.body, "").walk() if isinstance(s, script.Assign) and id(s) not in inside]
    return _fixed(others)


def _blocks(loop: script.While) -> Iterator[tuple[script.Statement, ...]]:
    """The branches of the conditions of a loop."""
    for statement in script.Program(loop.body, "").walk():
        if isinstance(statement, script.If):
            yield statement.body
            yield statement.orelse


def _counted(loop: script.While, name: str) -> bool:
    """Whether the loop steps the letter by a number."""
    return any(
        isinstance(s, script.Assign) and tree.Letter(name) in s.targets and shift_of(s.value, name)
        for s in script.Program(loop.body, "").walk()
    )


def _read_through(loop: script.While) -> set[tuple[str, str]]:
    """``(sequence, counter)`` where the loop reads an entry whose last index is the counter plus a number."""
    found: set[tuple[str, str]] = set()
    for statement in script.Program(loop.body, "").walk():
        for node in script.expressions_of(statement):
            for part in node.walk():
                if isinstance(part, tree.Index) and part.indices:
                    found |= {(part.base, name) for name in tree.letters(part.indices[-1])}
    return found


def _lowest(loop: script.While, base: str, counter: str, number: int, begins: int) -> bool:
    """Whether the first pass after a restart reads this entry: at the counter plus the number minus its start."""
    return any(
        isinstance(part, tree.Index)
        and part.base == base
        and part.indices
        and shift_of(part.indices[-1], counter) == number - begins
        for statement in script.Program(loop.body, "").walk()
        for node in script.expressions_of(statement)
        for part in node.walk()
    )

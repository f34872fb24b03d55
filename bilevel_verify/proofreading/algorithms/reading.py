"""Defects of an algorithm that no run is needed for."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from bilevel_verify.drafting.listings.blocks import understood
from bilevel_verify.drafting.listings.lines import Listing, NotUnderstood
from bilevel_verify.language import to_text, tree
from bilevel_verify.latex import Notation
from bilevel_verify.proofreading.algorithms.first_pass import assigned_letters, read_too_early
from bilevel_verify.proofreading.algorithms.outputs import unmade
from bilevel_verify.proofreading.algorithms.paths import missed_on_paths
from bilevel_verify.proofreading.algorithms.restarts import (
    idle_loops,
    kept_counters,
    stale_entries,
    standing_starts,
    twin_counters,
)
from bilevel_verify.proofreading.algorithms.zones import Zones, whole_letters
from bilevel_verify.proofreading.defect import Defect
from bilevel_verify.proofreading.names.hapax import script_index
from bilevel_verify.proofreading.names.occurrences import shift_of, whole
from bilevel_verify.theorems import algorithm as script
from bilevel_verify.theorems.pseudocode.assignment import path_defects

BREAKS, SLIP = "breaks the statement", "local slip"


@dataclass(frozen=True, slots=True)
class Algorithm:
    """An algorithm that was understood: where it stands, its statements, and what has a value from the start.

    ``sequences`` are those that are given as a whole (None: not known), ``conditions`` are what is given of the inputs,
    ``defined`` the sequences that the text around it gives a value or a range, ``below`` those with an ``a[-1]`` there,
    ``said`` what the text gives a meaning or the words of an output do.
    """

    id: str
    name: str
    program: script.Program
    inputs: frozenset[str]
    sequences: frozenset[str] | None = None
    conditions: tuple[tree.Node, ...] = ()
    defined: frozenset[str] = frozenset()
    below: frozenset[str] = frozenset()
    said: frozenset[str] | None = None


def algorithms_of(
    listings: Iterable[Listing],
    notation: Notation,
    defined: frozenset[str] = frozenset(),
    below: frozenset[str] = frozenset(),
    said: frozenset[str] | None = None,
) -> tuple[list[Algorithm], list[str]]:
    """The printed algorithms that were understood, and one line for each that was not."""
    found: list[Algorithm] = []
    missing: list[str] = []
    for listing in listings:
        try:
            printed = understood(listing, notation, loose=True)
        except NotUnderstood as reason:
            missing.append(f"{listing.name}: {reason}")
            continue
        if printed.program.statements:
            found.append(
                Algorithm(
                    listing.id,
                    listing.name,
                    printed.program,
                    printed.inputs,
                    printed.sequences,
                    printed.conditions,
                    defined,
                    below,
                    None if said is None else said | printed.worded,
                )
            )
    return found, missing


def algorithm_defects(algorithm: Algorithm) -> Iterator[Defect]:
    """Reads without a value, tests that never or always hold, loops without end, stale state."""
    reads = [
        defect
        for check in (_unassigned, _beyond, _standing, _early, _nowhere, _next_epoch, _not_made)
        for defect in check(algorithm)
    ]
    yield from reads or _on_paths(algorithm)
    yield from _unmoved_counters(algorithm)
    yield from _tests(algorithm)
    for loop in idle_loops(algorithm.program):
        title = "every pass of the loop does the same as the first, so that its test never changes its answer"
        yield _defect(algorithm, "endless", loop.label, title, BREAKS)
    for standing, base in standing_starts(algorithm.program):
        title = f"each pass assigns the next {base} and begins at the first one: none goes on from the last"
        yield _defect(algorithm, "stale", standing.label, title, BREAKS)
    for twin, one, other in twin_counters(algorithm.program):
        title = f"{one} and {other} begin together and are stepped together: one of them is never set back"
        yield _defect(algorithm, "stale", twin.label, title, BREAKS)
    for kept in kept_counters(algorithm.program):
        title = (
            f"the restart sets {kept.entry} again and leaves {kept.counter} as it was; the next pass goes on from there"
        )
        yield _defect(algorithm, "stale", kept.line, title, BREAKS)
    for stale in stale_entries(algorithm.program):
        title = (
            f"the restart sets {stale.counter} back and leaves {stale.entry} as the last epoch had it; the next pass"
            " reads it"
        )
        yield _defect(algorithm, "stale", stale.line, title, BREAKS)


def _unassigned(algorithm: Algorithm) -> Iterator[Defect]:
    loops = {s.index for s in algorithm.program.walk() if isinstance(s, script.For)}
    for found in path_defects(algorithm.program, algorithm.inputs - loops):
        kind = "endless" if found.kind == "unreachable exit" else "unassigned"
        yield _defect(algorithm, kind, found.line.removeprefix("line "), found.message, BREAKS)


def _beyond(algorithm: Algorithm) -> Iterator[Defect]:
    """An output whose index lies behind the last entry that a loop before it assigns."""
    for loop, after in _after_loops(algorithm.program):
        if not isinstance(loop.stop, tree.Letter) or not isinstance(after, tree.Index) or not after.indices:
            continue
        asked = shift_of(after.indices[-1], loop.stop.name)
        shifts = [
            shift
            for s in script.Program(loop.body, "").walk()
            if isinstance(s, script.Assign)
            for t in s.targets
            if isinstance(t, tree.Index) and t.base == after.base and t.indices
            and (shift := shift_of(t.indices[-1], loop.index)) is not None
        ]  # fmt: skip
        if asked is not None and shifts and asked > max(shifts) - 1:
            last = to_text(tree.Index(after.base, (*after.indices[:-1], _moved(loop.stop, max(shifts) - 1))))
            title = f"{to_text(after)} is put out; the last entry that the loop assigns is {last}"
            yield _defect(algorithm, "unassigned", "", title, BREAKS)


def _standing(algorithm: Algorithm) -> Iterator[Defect]:
    """Sequences that a loop reads at its index and of which only entries with fixed indices are ever assigned."""
    if algorithm.sequences is None:
        return
    statements = list(algorithm.program.walk())
    assigns = [s for s in statements if isinstance(s, script.Assign)]
    targets = [t for s in assigns for t in s.targets]
    moving = _moving(statements)
    fixed = {t.base for t in targets if isinstance(t, tree.Index)}
    fixed -= {t.base for t in targets if isinstance(t, tree.Index) and t.indices and whole(t.indices[-1]) is None}
    told: set[str] = set()
    for loop in (s for s in statements if isinstance(s, script.For | script.While)):
        for statement in script.Program(loop.body, "").walk():
            for part in (p for node in script.expressions_of(statement) for p in node.walk()):
                if not isinstance(part, tree.Index) or part.base not in fixed - algorithm.sequences - told:
                    continue
                if tree.letters(part.indices[-1]) & moving:
                    told.add(part.base)
                    title = f"{to_text(part)} is read in every pass, and no line assigns {part.base} behind its start"
                    yield _defect(algorithm, "unassigned", statement.label, title, BREAKS)


def _early(algorithm: Algorithm) -> Iterator[Defect]:
    """Entries that the first pass reads before the line that assigns them."""
    before = algorithm.inputs if algorithm.sequences is None else algorithm.sequences | algorithm.below
    for found in read_too_early(algorithm.program, algorithm.inputs, before):
        title = f"{found.entry} is read in the first pass before any line assigned it"
        yield _defect(algorithm, "unassigned", found.line, title, BREAKS)


def _on_paths(algorithm: Algorithm) -> Iterator[Defect]:
    """Entries that no line on a path assigned, counters followed as numbers."""
    for found in missed_on_paths(algorithm.program, algorithm.inputs):
        if found.base in (algorithm.sequences or ()):  # given as a whole, and changed in place
            continue
        where = f" where {found.counters}" if found.counters else ""
        title = f"{found.printed} is read{where}, and no line on the way there assigned {found.entry}"
        yield _defect(algorithm, "unassigned", found.line, title, BREAKS)


def _moving(statements: Sequence[script.Statement]) -> set[str]:
    """Letters that lines assign, indices of counting loops and the letters of their ends."""
    targets = [t for s in statements if isinstance(s, script.Assign) for t in s.targets]
    loops = [s for s in statements if isinstance(s, script.For)]
    found = {t.name for t in targets if isinstance(t, tree.Letter)} | {loop.index for loop in loops}
    return found.union(*(tree.letters(loop.stop) for loop in loops))


def _nowhere(algorithm: Algorithm) -> Iterator[Defect]:
    """Sequences that a loop reads at its counter and that no line, no input and no formula around gives a value."""
    if algorithm.sequences is None:
        return
    statements = list(algorithm.program.walk())
    targets = [t for s in statements if isinstance(s, script.Assign) for t in s.targets]
    moving = _moving(statements)
    told = {_base(t) for t in targets} | algorithm.sequences | algorithm.defined
    for statement in statements:
        for part in (p for node in script.expressions_of(statement) for p in node.walk()):
            if not isinstance(part, tree.Index | tree.Letter) or _base(part) in told:
                continue
            index = part.indices[-1] if isinstance(part, tree.Index) else tree.Letter(script_index(part.name))
            within = not {"_", "["}.isdisjoint(to_text(index))  # L_{i_k}
            constant = within and f"{_base(part)}[]" in (algorithm.said or ())
            if tree.letters(index) & moving and not constant:
                told.add(_base(part))
                title = f"{to_text(part)} is read, and no line assigns an entry of {_base(part)} that moves"
                yield _defect(algorithm, "unassigned", statement.label, title, BREAKS)


def _not_made(algorithm: Algorithm) -> Iterator[Defect]:
    """Outputs and letters of which no line assigns anything, and of which the text says nothing."""
    if algorithm.said is None:
        return
    given = algorithm.said | algorithm.inputs | algorithm.defined | (algorithm.sequences or frozenset())
    for statement, name, how in unmade(algorithm.program, given):
        yield _defect(algorithm, "unassigned", statement.label, f"{name} is {how}, and no line assigns it", BREAKS)


def _base(node: tree.Letter | tree.Index) -> str:
    """The symbol of an entry; of a letter with an index for a script, the letter without it."""
    if isinstance(node, tree.Index):
        return node.base
    return node.name.partition("_")[0] if script_index(node.name) else node.name


def _unmoved_counters(algorithm: Algorithm) -> Iterator[Defect]:
    """Loops that assign ``x[k+1]`` and read ``x[k]``, where no line of the loop moves k."""
    loops = [s for s in algorithm.program.walk() if isinstance(s, script.While)]
    moved = {n for loop in loops for n in assigned_letters(loop.body)} - _constant(algorithm.program)
    moved |= {s.index for s in algorithm.program.walk() if isinstance(s, script.For)}
    for loop in loops:
        inside = list(script.Program(loop.body, "").walk())
        assigned = [t for s in inside if isinstance(s, script.Assign) for t in s.targets]
        read = {to_text(p) for s in inside for n in script.expressions_of(s) for p in n.walk()}
        for entry in (t for t in assigned if isinstance(t, tree.Index)):
            for place, index in enumerate(entry.indices):
                for name in sorted(tree.letters(index) - moved):
                    here = f"{entry.base}[{to_text(tree.Letter(name))}" if place == 0 else ""
                    before = to_text(_with_index(entry, place, tree.Letter(name)))
                    seen = before in read or (here and any(text.startswith(f"{here},") for text in read))
                    if shift_of(index, name) == 1 and seen:
                        title = f"the loop reads {before} and assigns {to_text(entry)}, and no line of it moves {name}"
                        yield _defect(algorithm, "endless", loop.label, title, BREAKS)


def _constant(program: script.Program) -> set[str]:
    """Letters to which every line assigns the same number."""
    values: dict[str, set[tree.Node]] = {}
    for statement in program.walk():
        if not isinstance(statement, script.Assign):
            continue
        for target in statement.targets:
            if isinstance(target, tree.Letter):
                values.setdefault(target.name, set()).add(statement.value)
    return {name for name, found in values.items() if len(found) == 1 and whole(next(iter(found))) is not None}


def _with_index(entry: tree.Index, place: int, index: tree.Node) -> tree.Index:
    return tree.Index(entry.base, (*entry.indices[:place], index, *entry.indices[place + 1 :]))


def _next_epoch(algorithm: Algorithm) -> Iterator[Defect]:
    """Entries of the next outer index, ``x[t+1, 0]``, that are read while no line assigns an entry of that index."""
    targets = [t for s in algorithm.program.walk() if isinstance(s, script.Assign) for t in s.targets]
    outer = [(t.base, t.indices[0]) for t in targets if isinstance(t, tree.Index) and len(t.indices) > 1]
    counters = {t.name for t in targets if isinstance(t, tree.Letter)}
    told: set[str] = set()
    for statement in algorithm.program.walk():
        for part in (p for node in script.expressions_of(statement) for p in node.walk()):
            if not isinstance(part, tree.Index) or len(part.indices) < 2 or part.base in told:
                continue
            for name in tree.letters(part.indices[0]) & counters:
                asked = shift_of(part.indices[0], name) or 0
                shifts = [shift_of(index, name) for base, index in outer if base == part.base]
                made = [shift for shift in shifts if shift is not None]
                if asked > 0 and made and max(made) < asked:
                    told.add(part.base)
                    title = f"{to_text(part)} is read, and no line assigns an entry of {part.base} with this {name}"
                    yield _defect(algorithm, "unassigned", statement.label, title, BREAKS)


def _moved(node: tree.Letter, step: int) -> tree.Node:
    return node if step == 0 else tree.Add((node, tree.signed(step)))


def _after_loops(program: script.Program) -> Iterator[tuple[script.For, tree.Node]]:
    """Counting loops of the outer level with the entries that are put out behind them."""
    loops = [s for s in program.statements if isinstance(s, script.For)]
    outputs = [v for s in program.statements if isinstance(s, script.Return) for v in s.values]
    if len(loops) == 1:
        yield from ((loops[0], value) for value in outputs)


def _unmoved(loop: script.While) -> bool:
    """Whether nothing that the test of a loop reads is assigned in it: no letter, no entry of the same text."""
    inside = list(script.Program(loop.body, "").walk())
    if any(isinstance(s, script.Break | script.Return) for s in inside) or isinstance(loop.test, tree.Truth):
        return False
    targets = [t for s in inside if isinstance(s, script.Assign) for t in s.targets]
    letters = {t.name for t in targets if isinstance(t, tree.Letter)}
    letters |= {s.index for s in inside if isinstance(s, script.For)}
    entries = {to_text(t) for t in targets if isinstance(t, tree.Index)}
    read = {to_text(p) for p in loop.test.walk() if isinstance(p, tree.Index)}
    return not (tree.letters(loop.test) & letters) and not (read & entries)


def _tests(algorithm: Algorithm) -> Iterator[Defect]:
    zones = Zones(algorithm.program, whole_letters(algorithm.program))
    zones.run(algorithm.conditions)
    stuck = [s for s in algorithm.program.walk() if isinstance(s, script.While) and _unmoved(s)]
    for loop in {id(s): s for s in (*zones.endless, *stuck)}.values():
        title = f"the loop ends when {to_text(loop.test)} fails, and that never happens"
        yield _defect(algorithm, "endless", loop.label, title, BREAKS)
    ended = {id(loop) for loop in zones.endless}
    for statement, test, answers in zones.answers.values():
        if not answers.reached or (answers.true and answers.false) or id(statement) in ended:
            continue
        if isinstance(statement, script.While) and test == statement.test and answers.true:
            continue  # left by a break
        never = "never" if answers.false else "always"
        title = f"the test {to_text(test)} {never} holds where it stands"
        yield _defect(algorithm, "test", statement.label, title, SLIP)


def _defect(algorithm: Algorithm, kind: str, line: str, title: str, grade: str) -> Defect:
    where = f"line {line} of {algorithm.name}" if line else algorithm.name
    return Defect(kind, where, title, grade, unit=algorithm.id, cause=f"{algorithm.id} {title}")

"""Defects of an algorithm that no run is needed for."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from bilevel_verify.language import to_text
from bilevel_verify.proofreading.algorithms.listing import NotUnderstood, understood
from bilevel_verify.proofreading.algorithms.restarts import stale_entries
from bilevel_verify.proofreading.algorithms.zones import Zones, whole_letters
from bilevel_verify.proofreading.defect import Defect
from bilevel_verify.proofreading.source import Listing
from bilevel_verify.theorems import algorithm as script
from bilevel_verify.theorems.pseudocode.assignment import unassigned_paths

BREAKS, SLIP = "breaks the statement", "local slip"


@dataclass(frozen=True, slots=True)
class Algorithm:
    """An algorithm that was understood: where it stands, its statements, and what has a value from the start."""

    id: str
    name: str
    program: script.Program
    inputs: frozenset[str]


def algorithms_of(listings: Iterable[Listing]) -> tuple[list[Algorithm], list[str]]:
    """The printed algorithms that were understood, and one line for each that was not."""
    found: list[Algorithm] = []
    missing: list[str] = []
    for listing in listings:
        try:
            printed = understood(listing)
        except NotUnderstood as reason:
            missing.append(f"{listing.name}: {reason}")
            continue
        if printed.program.statements:
            found.append(Algorithm(listing.id, listing.name, printed.program, printed.inputs))
    return found, missing


def algorithm_defects(algorithm: Algorithm) -> Iterator[Defect]:
    """Reads without a value, tests that never or always hold, loops without end, stale state."""
    yield from _unassigned(algorithm)
    yield from _tests(algorithm)
    for stale in stale_entries(algorithm.program):
        title = (
            f"the restart sets {stale.counter} back and leaves {stale.entry} as the last epoch had it; the next pass"
            " reads it"
        )
        yield _defect(algorithm, "stale", stale.line, title, BREAKS)


def _unassigned(algorithm: Algorithm) -> Iterator[Defect]:
    loops = {s.index for s in algorithm.program.walk() if isinstance(s, script.For)}
    for found in unassigned_paths(algorithm.program, algorithm.inputs - loops):
        yield _defect(algorithm, "unassigned", found.line.removeprefix("line "), found.message, BREAKS)


def _tests(algorithm: Algorithm) -> Iterator[Defect]:
    zones = Zones(algorithm.program, whole_letters(algorithm.program))
    zones.run()
    for loop in zones.endless:
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

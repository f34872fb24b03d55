"""What reading a pseudo-code shows without running it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from bilevel_verify.language import tree
from bilevel_verify.theorems import algorithm as script
from bilevel_verify.theorems.card import Algorithm
from bilevel_verify.theorems.card_parts import Domain
from bilevel_verify.theorems.pseudocode.assignment import path_defects
from bilevel_verify.theorems.pseudocode.interpreter import ScriptFinding
from bilevel_verify.theorems.rewrite import free_letters


def static_findings(
    algorithm: Algorithm,
    supplied: Iterable[str] = (),
    functions: Iterable[str] = (),
    ranges: Mapping[str, Domain] | None = None,
) -> tuple[ScriptFinding, ...]:
    """What reading the steps shows without a run.

    Parameters
    ----------
    supplied : letters that some theorem or the caller supplies (inputs outside it are ``unsupplied input``); empty
        to skip this check.
    functions : names of functions that may be called besides the built-in ones; empty to skip this check.
    ranges : where the letters live, for paths that can be taken.
    """
    program: script.Program = algorithm.program
    names = names_in(program)
    assigned, read = names.assigned, names.read.items()
    found: list[ScriptFinding] = []
    used = names.read.keys() | called_in(program)
    for name in algorithm.inputs:
        if name not in used:
            found.append(ScriptFinding("unused input", "", f"the input '{name}' is never used", static=True))
        if supplied and name not in set(supplied):
            message = f"no theorem supplies the input '{name}'"
            found.append(ScriptFinding("unsupplied input", "", message, static=True))
    for name in algorithm.taken:
        if name not in used:
            found.append(ScriptFinding("unused input", "", f"'{name}' is taken and never used", static=True))
    known = assigned | set(algorithm.needs) | {"pi", "E", "oo", "_"} | set(functions)
    for name, line in read:
        if name not in known and not any(f.message.startswith(f"'{name}'") for f in found):
            kind = "unassigned output" if _only_returned(program, name) else "unassigned"
            found.append(ScriptFinding(kind, line, f"'{name}' is never assigned", static=True))
    stuck = _stuck_loops(program)
    seen = {loop.line for loop in stuck}
    paths = path_defects(program, algorithm.needs, ranges)
    found.extend(one for one in paths if one.kind != "unreachable exit" or one.line not in seen)
    return (*found, *stuck)


@dataclass(frozen=True, slots=True)
class Names:
    """Names that are assigned anywhere, and names that are read with the first line that reads them."""

    assigned: set[str] = field(default_factory=set)
    read: dict[str, str] = field(default_factory=dict)


def names_in(program: script.Program) -> Names:
    """The names of a program."""
    names = Names()
    for statement in program.walk():
        if isinstance(statement, script.Assign):
            names.assigned.update(t.name if isinstance(t, tree.Letter) else t.base for t in statement.targets)
        if isinstance(statement, script.For):
            names.assigned.add(statement.index)
        for node in script.expressions_of(statement):
            for name in sorted(_free(node)):
                names.read.setdefault(name, statement.shown)
    return names


def called_in(program: script.Program) -> set[str]:
    """Names that are called: an input may be a function."""
    nodes = [node for statement in program.walk() for node in script.expressions_of(statement)]
    return {part.function for node in nodes for part in node.walk() if isinstance(part, tree.Call)}


def _free(node: tree.Node) -> set[str]:
    called = {part.function for part in node.walk() if isinstance(part, tree.Call)}
    return free_letters(node) - called | (free_letters(node) & called)


def _only_returned(program: script.Program, name: str) -> bool:
    places = [s for s in program.walk() if any(name in _free(n) for n in script.expressions_of(s))]
    return bool(places) and all(isinstance(s, script.Return) for s in places)


def _stuck_loops(program: script.Program) -> list[ScriptFinding]:
    """Loops whose exit test reads nothing that the loop assigns, and that have no break."""
    found = []
    for statement in program.walk():
        if not isinstance(statement, script.While):
            continue
        inside = script.Program(statement.body, "")
        assigned = names_in(inside).assigned
        leaves = any(isinstance(s, script.Break | script.Return) for s in inside.walk())
        tested = _free(statement.test)
        if not leaves and not tested & assigned:
            names = ", ".join(sorted(tested)) or "nothing"
            message = f"the exit test reads {names}, and the loop assigns none of it"
            found.append(ScriptFinding("unreachable exit", statement.shown, message, static=True))
    return found

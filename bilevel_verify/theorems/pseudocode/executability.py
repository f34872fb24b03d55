"""What reading a pseudo-code shows without running it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

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
    assigned, read = _names(program)
    found: list[ScriptFinding] = []
    used = {name for name, _ in read} | _called(program)
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


def _names(program: script.Program) -> tuple[set[str], list[tuple[str, str]]]:
    """Names that are assigned anywhere, and names that are read, with the line."""
    assigned: set[str] = set()
    read: list[tuple[str, str]] = []
    for statement in program.walk():
        if isinstance(statement, script.Assign):
            assigned |= {t.name if isinstance(t, tree.Letter) else t.base for t in statement.targets}
        if isinstance(statement, script.For):
            assigned.add(statement.index)
        for node in script.expressions_of(statement):
            read.extend((name, statement.shown) for name in sorted(_free(node)))
    return assigned, read


def _called(program: script.Program) -> set[str]:
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
        assigned, _ = _names(inside)
        leaves = any(isinstance(s, script.Break | script.Return) for s in inside.walk())
        tested = _free(statement.test)
        if not leaves and not tested & assigned:
            names = ", ".join(sorted(tested)) or "nothing"
            message = f"the exit test reads {names}, and the loop assigns none of it"
            found.append(ScriptFinding("unreachable exit", statement.shown, message, static=True))
    return found

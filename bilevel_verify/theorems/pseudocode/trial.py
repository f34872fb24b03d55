"""Trial runs of printed pseudo-code: what a literal run on a small problem shows that reading does not.

Each algorithm is interpreted from several starts (generic, stationary, far away) with small parameters, one setting
with restarts and one without. What stops a run is reported once, with the smallest setting that showed it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import lru_cache
from typing import Any

from bilevel_verify.errors import BilevelVerifyError
from bilevel_verify.language import tree
from bilevel_verify.problems.construct import bilevel, single_level
from bilevel_verify.problems.problem import Problem
from bilevel_verify.theorems import algorithm as script
from bilevel_verify.theorems.card import Algorithm, Card
from bilevel_verify.theorems.pseudocode.interpreter import ScriptFinding
from bilevel_verify.theorems.pseudocode.literal import Options, execute
from bilevel_verify.theorems.pseudocode.numbers import LinearOperator

BUDGET = 4_000
SILENT = ("budget", "unknown function", "unsupported")
"""Endings that show nothing about the paper: a trial is short, and not all that a paper computes can be run here."""
STARTS = ([0.3], [0.0], [2.0])
NUMBERS: Mapping[str, Any] = {
    "eta": 0.1, "theta": 0.3, "K": 4, "B": 0.05, "B0": 0.2, "c": 2.0, "eps": 0.05, "L": 2.0, "rho": 1.0, "r": 0.01,
    "alpha": 0.4, "beta": 0.2, "gamma": 0.1, "s": 0.05, "lam": 8.0, "sigma": 0.01, "alpha_p": 0.02, "beta_p": 0.2,
}  # fmt: skip
SPECIAL: Mapping[str, Any] = {
    "A": LinearOperator(lambda vector: 2.0 * vector),
    "h": lambda point: point,
    "b": [1.0],
    "q_0": [0.0],
}
"""Inputs of subroutines: a matrix, a gradient, a right side, a start."""


def trial_findings(card: Card, algorithm: Algorithm) -> tuple[ScriptFinding, ...]:
    """What stopped the trial runs of an algorithm; the message ends with the start that showed it."""
    found: dict[tuple[str, str], ScriptFinding] = {}
    problem = _problem(algorithm)
    for start, numbers in settings_of(card, algorithm):
        try:
            run, _ = execute(card, algorithm, problem, numbers, start, Options(budget=BUDGET))
        except BilevelVerifyError:
            continue  # an input that only a theorem can give
        for finding in run.findings:
            if finding.kind not in SILENT and not _about_input(algorithm, finding):
                message = f"{finding.message} (start {start[0]:g})"
                found.setdefault((finding.kind, finding.line), ScriptFinding(finding.kind, finding.line, message))
    return tuple(found.values())


def _about_input(algorithm: Algorithm, finding: ScriptFinding) -> bool:
    """Whether an entry of an input is what was missing: the trial did not supply it, the paper does."""
    given = [name for name in algorithm.needs if finding.message.startswith((f"{name}[", f"'{name}'"))]
    return finding.kind == "unassigned" and bool(given)


def settings_of(card: Card, algorithm: Algorithm) -> Iterator[tuple[list[float], dict[str, object]]]:
    """The starts and numbers of the trial runs of an algorithm."""
    needed = set(algorithm.needs) - set(algorithm.families)
    for _, formula in algorithm.families.values():
        needed |= {part.name for part in formula.tree.walk() if isinstance(part, tree.Letter)}
    whole = _counted(card, algorithm)
    needed -= {"x_int", "x0", "y0", "v0", "z_0"}
    numbers = {name: 3 if name in whole else _number(card, name) for name in needed}
    for start in STARTS:
        yield start, numbers
        if "B" in numbers:
            yield start, {**numbers, "B": 100.0}


def _counted(card: Card, algorithm: Algorithm) -> set[str]:
    """Letters that ``range`` counts to and whose range and value nobody gives: they are whole numbers there."""
    loops = [line for line in algorithm.program.walk() if isinstance(line, script.For)]
    ends = [node for loop in loops for end in (loop.start, loop.stop) for node in end.walk()]
    found = {node.name for node in ends if isinstance(node, tree.Letter) and node.name not in NUMBERS}
    prescribed = {name for settings in card.settings.values() for name in settings.parameters}
    return {n for n in found - prescribed if n in card.letters and card.letters[n].domain is None}


def _number(card: Card, name: str) -> Any:
    if name in SPECIAL:
        return SPECIAL[name]
    if name in NUMBERS:
        return NUMBERS[name]
    spec = card.letters.get(name)
    whole = spec is None or (spec.domain is not None and spec.domain.kind == "integers")
    return 3 if whole else 0.5


def _problem(algorithm: Algorithm) -> Problem:
    """One or two levels, as the steps ask."""
    program: script.Program = algorithm.program
    nodes = [node for statement in program.walk() for node in script.expressions_of(statement)]
    called = {part.function for node in nodes for part in node.walk() if isinstance(part, tree.Call)}
    two = any(name.endswith("_g") or "_y_" in name or "_x_" in name for name in called) or "y0" in algorithm.needs
    return _two_levels() if two else _one_level()


@lru_cache(maxsize=1)
def _one_level() -> Problem:
    return single_level(f="cos(x1) + x1**2/4", x="x1")


@lru_cache(maxsize=1)
def _two_levels() -> Problem:
    return bilevel(f="cos(x1) + cos(y1)/2", g="y1**2 + cos(y1)/2 - x1*y1", x="x1", y="y1")

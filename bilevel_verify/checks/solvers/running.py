"""Produce the run that the claims are about: a named method, a card's own steps, or the user's callable."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType
from typing import Any

import numpy as np

from bilevel_verify.checks.solvers.own_solver import run_own
from bilevel_verify.errors import InputError
from bilevel_verify.methods.registry import UNLIMITED
from bilevel_verify.methods.run import Run, Trace
from bilevel_verify.problems.problem import Problem
from bilevel_verify.theorems.card import Card, Statement

DEFAULT_BUDGET = 2_000_000
"""Most oracle calls of a run for which nobody chose a number."""
LITERAL = "literal"
"""Name of the method "the card's own steps"."""
Solver = Callable[..., Any]
QUICK_BUDGET = 40_000
"""Oracle calls that plain Python makes sooner than a compiler starts; longer runs are compiled."""
_LONG: set[tuple[str, str]] = set()
"""Problems and methods whose last run was too long for plain Python: the next member of a sweep is compiled at once."""
MOST_ROWS = 2_000_000
"""Longest run whose every step is judged."""


def method_name(method: str | Solver | None, statement: Statement) -> str | None:
    """What a row calls the method."""
    if method is None:
        return statement.method or (LITERAL if statement.algorithm else None)
    return method if isinstance(method, str) else getattr(method, "__name__", "callable")


def letters_of_method(name: str | None) -> set[str]:
    """Parameters that a named method reads; empty where that is not known."""
    from bilevel_verify.methods import METHODS

    found = METHODS.get((name or "").partition(":")[0])
    return set() if found is None else {letter.name for letter in found.letters}


def make_run(
    problem: Problem,
    card: Card,
    statement: Statement,
    method: str | Solver | None,
    parameters: Mapping[str, object],
    x0: np.ndarray,
    **options: object,
) -> Run:
    """Run the method of a statement (or another) with resolved parameters.

    Parameters
    ----------
    options : ``y0 v0 noise budget seed record eps digits`` as the methods take them.

    Raises
    ------
    InputError : there is nothing to run.
    """
    if callable(method):
        return run_own(problem, method, parameters, x0, options, restarts_of(statement))
    from bilevel_verify.methods.interpreted import found_long
    from bilevel_verify.methods.solve import find_method

    name = method_name(method, statement)
    if name is None:
        raise InputError(f"{card.key}/{statement.id} names no method; give one with method=")
    if name == LITERAL:
        return _literal(problem, card, statement, parameters, x0, options)
    given = {key: value for key, value in options.items() if value is not None}
    budget = given.get("budget")
    _need_end(name, {*parameters, *given}, budget)
    if given.get("compiled") is None and given.get("digits") is None and (budget is None or isinstance(budget, int)):
        short = QUICK_BUDGET if budget is None else min(budget, QUICK_BUDGET)
        if (problem.name, name) not in _LONG or short == budget:
            run = _whole(problem, name, parameters, x0, {**given, "budget": short, "compiled": False})
            if run.status != "budget" or short == budget:
                return run
            found_long(problem, find_method(name, parameters))
            if problem.name:
                _LONG.add((problem.name, name))
    return _whole(problem, name, parameters, x0, given)


def _need_end(name: str, given: set[str], budget: object) -> None:
    """A run whose length nothing says goes on until its budget, far beyond where enclosures resolve anything.

    Raises
    ------
    InputError : the method takes a number of steps and a tolerance, has neither, and the budget is nobody's choice.
    """
    from bilevel_verify.methods import METHODS

    found = METHODS.get(name.partition(":")[0])
    steps = [] if found is None else [letter.name for letter in found.letters if letter.default == UNLIMITED]
    if not steps or budget not in (None, DEFAULT_BUDGET) or given & {*steps, "eps", "B"}:
        return
    raise InputError(
        f"nothing ends {name}: give --eps 0.01 (it stops where the gradient is that small), "
        f"--set {steps[0]}=100 (steps) or --budget (oracle calls)"
    )


def _whole(problem: Problem, name: str, parameters: Mapping[str, object], x0: np.ndarray, given: dict[str, Any]) -> Run:
    """A run with its whole trace, before anything is thinned."""
    from bilevel_verify.methods import stream

    running = stream(problem, name, parameters, x0, **given)
    blocks = _keep(running)
    run: Run = running.run
    if run.trace.thinned_from is None or not blocks:
        return run
    note = "; ".join(part for part in run.note.split("; ") if not part.startswith("the trace is thinned"))
    return replace(run, trace=joined(blocks), note=note)


def _keep(running: Iterable[Trace]) -> list[Trace]:
    """All blocks of a run, before anything is thinned; none if there are more rows than a checker can look at."""
    blocks: list[Trace] = []
    rows = 0
    for block in running:
        rows += len(block)
        if rows <= MOST_ROWS:
            blocks.append(block)
    return blocks if rows <= MOST_ROWS else []


def joined(blocks: Sequence[Trace]) -> Trace:
    """Blocks of a run as one trace."""

    def table(parts: list[Mapping[str, np.ndarray]]) -> Mapping[str, np.ndarray]:
        return MappingProxyType({name: np.concatenate([part[name] for part in parts]) for name in parts[0]})

    return Trace(
        np.concatenate([block.epoch for block in blocks]),
        np.concatenate([block.k for block in blocks]),
        table([dict(block.sequences) for block in blocks]),
        table([dict(block.epoch_start) for block in blocks]),
    )


def _literal(
    problem: Problem,
    card: Card,
    statement: Statement,
    parameters: Mapping[str, Any],
    x0: np.ndarray,
    options: Mapping[str, Any],
) -> Run:
    """The literal run of the statement's printed algorithm."""
    from bilevel_verify.theorems.pseudocode import literal

    return literal.run(
        card, statement.algorithm, problem, parameters, x0, **{k: v for k, v in options.items() if v is not None}
    )


def restarts_of(statement: Statement) -> bool | None:
    """Whether the method that a statement is about restarts; None where that is not known."""
    from bilevel_verify.methods import METHODS

    found = METHODS.get(statement.method.partition(":")[0])
    return None if found is None else found.restarts

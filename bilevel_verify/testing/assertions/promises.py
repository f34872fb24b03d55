"""The promises of a theorem, asserted for a user's own solver on examples that meet the theorem's hypotheses."""

from __future__ import annotations

import json
import os
import re
import time
import tomllib
import warnings
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from bilevel_verify.errors import InputError, ParameterError
from bilevel_verify.testing.instances import biting, decoding
from bilevel_verify.testing.trials.common import Function, name_of
from bilevel_verify.testing.trials.contracts import BrokenContract, Profile, call, hidden, profile
from bilevel_verify.testing.trials.ledger import Entry, note
from bilevel_verify.testing.trials.trying import EXAMPLE_VARIABLE

__tracebackhide__ = hidden

EXAMPLES = {"quick": 4, "thorough": 11}
"""Examples of a promise: a whole verification each, up to seconds long."""


def assert_keeps_promises(
    solver: Function,
    statement: object,
    problem: object = None,
    eps: float | Sequence[float] | None = None,
    x0: object = None,
    profile_: Profile | str | None = None,
    seed: int | None = None,
    kind: str | None = None,
    **options: object,
) -> None:
    """``solver(oracles, x0, parameters) -> iterates`` keeps the claims of a theorem ("paper/id", a card, a card file).

    Parameters
    ----------
    problem : a problem, a zoo name, or an instance of this room; by default examples of the theorem's kind of problem,
        bounded below, with bounded slopes where the papers ask for them.
    eps : tolerances; by default those that belong to the examples (0.1 for a problem that is given).
    kind : the kind of these examples, if the statement names no method of this package.
    options : handed on to :func:`bilevel_verify.verify`.

    What the solver may hand back is what ``verify`` takes: iterates, a list of epochs, or a :class:`bv.Trajectory`;
    claims about epochs need one of the latter two. A claim counts as broken if it is refuted (hypotheses about
    sequences that the solver keeps to itself are its own business: there the recorded iterates decide), unless the
    method of the card itself breaks it on the same example: then it is the theorem that is wrong, not the solver. A
    warning says so if no claim could be decided.

    Raises
    ------
    BrokenContract : names the claim, the place, both sides, and the problem.
    """
    chosen, started = profile(profile_), time.perf_counter()
    chosen = replace(chosen, seconds=max(chosen.seconds, chosen.compile_seconds))  # a whole run, maybe its compiler
    tried, broken, message = 0, "", ""
    try:
        for stated, start, own in _cases(statement, problem, x0, chosen, seed, kind):
            tolerances = own if eps is None else eps
            tried += _judge(solver, statement, stated, {"eps": tolerances, "x0": start, **options}, chosen)
        if not tried:
            warnings.warn(f"no claim of {statement} could be decided for {name_of(solver)}", stacklevel=2)
    except BrokenContract as failure:
        broken, message = failure.contract, str(failure)
        raise
    finally:
        note(Entry("assert_keeps_promises", name_of(solver), tried, time.perf_counter() - started, broken, message))


def _cases(
    statement: object, problem: object, x0: object, chosen: Profile, seed: int | None, kind: str | None
) -> Iterator[tuple[Any, Any, float]]:
    """Problems, starts and tolerances."""
    if problem is not None:
        yield (problem.problem() if hasattr(problem, "problem") else problem), x0, 0.1
        return
    kept = _written(statement)
    if kept is not None:
        yield kept
        return
    many = EXAMPLES.get(chosen.name, min(chosen.examples, max(EXAMPLES.values())))
    for instance, start, eps in examples_for(kind or kind_of(statement), many, seed):
        yield instance.problem(), (start if x0 is None else x0), eps


def _written(statement: object) -> tuple[Any, list[float], float] | None:
    """The problem, start and tolerance of a file that a failure of this statement wrote, if one is asked for."""
    from bilevel_verify.problems.files import from_spec

    file = Path(os.environ.get(EXAMPLE_VARIABLE, "").strip() or os.sep)
    text = file.read_text(encoding="utf8") if file.is_file() else ""
    found = re.search(
        rf"^# x0 = (.*), eps = (.*)$(?s:.*)^# {EXAMPLE_VARIABLE}={re.escape(str(statement))}$", text, re.M
    )
    return None if found is None else (from_spec(tomllib.loads(text)), json.loads(found[1]), float(found[2]))


def examples_for(kind: str, many: int, seed: int | None = None) -> Iterator[tuple[Any, list[float], float]]:
    """Instances of a kind with a start and a tolerance: those that bite where there are any; small drawn ones else.

    Of two levels drawn ones come first, those that bite behind them. As many as ``"thorough"`` takes: all that bite.
    """
    bite = biting.examples(kind) if kind in biting.FILES else ()
    first = many
    if not bite or kind in biting.BESIDE:
        yield from _drawn(kind, many, seed)
        first = 0
    for one in bite if many >= EXAMPLES["thorough"] else bite[:first]:
        yield one, [*one.start], one.eps


def _drawn(kind: str, many: int, seed: int | None) -> Iterator[tuple[Any, list[float], float]]:
    rng = np.random.default_rng(0 if seed is None else seed)
    for number in range(many):
        data = bytes(160) if number == 0 else rng.integers(0, 4, 160, dtype=np.uint8).tobytes()
        instance = decoding.promising(data, kind)
        start = [*(getattr(instance, "start", None) or (1.0,) * instance.dx)]
        yield instance, start, decoding.TOLERANCES[number % len(decoding.TOLERANCES)]


def kind_of(statement: Any) -> str:
    """The kind of problem that a statement's method is for.

    Raises
    ------
    InputError : no method of this package is named.
    """
    from bilevel_verify.checks.requests.request import statements_of
    from bilevel_verify.methods import METHODS

    for _, entry in statements_of(statement):
        name = str(getattr(entry, "method", "")).partition(":")[0]
        if name in METHODS:
            return str(METHODS[name].kinds[0])
    raise InputError("the statement names no method of this package: give problem= or kind=")


def _judge(solver: Function, statement: object, stated: object, options: dict[str, Any], chosen: Profile) -> int:
    """How many claims were decided; BrokenContract for the first that is broken."""
    from bilevel_verify.checks import verify
    from bilevel_verify.problems import dump
    from bilevel_verify.problems.problem import Problem

    text = f"# x0 = {options['x0']}, eps = {options['eps']}\n"
    text += dump(stated) if isinstance(stated, Problem) else f"# {stated}\n"
    text += f"# {EXAMPLE_VARIABLE}={statement}\n"
    who, errors = name_of(solver), list[BrokenContract]()
    found = verify(stated, statement, method=_watched(solver, errors, chosen), **options)
    if errors:
        raise BrokenContract(errors[0].contract, "the run", errors[0].detail, text, who) from errors[0].__cause__
    for run in found.runs:
        if getattr(run, "status", "") == "not finite":
            detail = "a run that is not finite keeps no promise"
            raise BrokenContract("returns NaN or infinity", "the iterates", detail, text, who)
    suspects = [row for row in found.claims if _is_broken(row)]
    if suspects:
        own = {row.claim for row in verify(stated, statement, **options).claims if _is_broken(row)}
        for row in (row for row in suspects if row.claim not in own):
            sides = f"{row.left} = {row.measured}, but {row.related} = {row.bound} ({row.reason})"
            claim = f"{found.statement}, claim {row.claim}{f' ({row.source} of the paper)' if row.source else ''}"
            raise BrokenContract(claim, row.where or "the run", sides, text, who)
    return sum(1 for row in found.claims if row.verdict not in ("undecided", "not applicable"))


def _watched(solver: Function, errors: list[BrokenContract], chosen: Profile) -> Function:
    """The solver with a time limit, its misbehaviour kept: a verification goes on without a run that failed."""

    def watched(oracles: Any, x0: Any, parameters: object) -> object:
        try:
            result = call(solver, oracles, x0, parameters, where="the run", limit=chosen)
            _must_be_a_run(result, x0, oracles.dx)
        except BrokenContract as failure:
            if x0.dtype == object:  # again, in many digits: a solver need not be able to do that
                raise NotImplementedError(failure.detail) from failure
            errors.append(failure)
            raise ParameterError(str(failure)) from failure
        return result

    watched.__name__ = name_of(solver)
    return watched


def _must_be_a_run(result: object, x0: Any, dx: int) -> None:
    """Something that ``verify`` takes for a run.

    Raises
    ------
    BrokenContract : it is not.
    """
    from bilevel_verify.checks.solvers.own_solver import trace_of, trajectory_of
    from bilevel_verify.methods.run import Run

    if isinstance(result, Run):
        return
    try:
        trace_of(trajectory_of(result, x0, dx)[0], dx, x0.dtype == object)
    except ParameterError as error:
        words = "of numbers" in str(error) or "no iterates; " in str(error)
        contract = "returns no numbers" if words else "returns the wrong shape"
        raise BrokenContract(contract, "the run", str(error)) from None


def _is_broken(row: Any) -> bool:
    """Whether a row of verdicts is a failure of the solver: refuted, and not a known one."""
    inside = row.verdict == "undecided" and "not recorded" in str(row.reason) and _exceeds(row)
    return not row.known_refuted and (row.verdict == "refuted" or inside)


def _exceeds(row: Any) -> bool:
    """Whether the left side is above the right one."""
    if not row.related.startswith("<=") or row.measured is None or row.bound is None:
        return False
    return bool(float(row.measured) > float(row.bound) + 1e-9 * (1 + abs(float(row.bound))))

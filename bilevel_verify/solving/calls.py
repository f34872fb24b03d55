"""One call from a problem to a run: the parameters that the method's theorem prescribes, explicit ones winning."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from types import MappingProxyType
from typing import Any, Literal

from bilevel_verify.arguments import answered_before
from bilevel_verify.errors import InputError, ParameterError
from bilevel_verify.language import nearest, some_of
from bilevel_verify.methods import run_batch, run_method
from bilevel_verify.methods.letters import plain
from bilevel_verify.methods.registry import Method, method_named
from bilevel_verify.methods.repeated import known, request, takes_all
from bilevel_verify.methods.run import Run
from bilevel_verify.methods.solve import BUDGET, check_kind
from bilevel_verify.problems.numbers import float_array
from bilevel_verify.problems.problem import Problem
from bilevel_verify.solving.by_hand import ByHand
from bilevel_verify.solving.prescribed import Start, prescribed, statement_of
from bilevel_verify.theorems.letters.resolve import Resolved
from bilevel_verify.theorems.library import load_card, shipped
from bilevel_verify.time_limit import TimeOver, checked_seconds, keeping, time_limit


def _again(
    problem: object = None, method: str = "", eps: object = None, x0: object = None, *rest: object,
    parameters: Mapping[str, object] | None = None, budget: object = None, seed: object = 0, record: object = "all",
    compiled: object = None, **other: object,
) -> Run | None:  # fmt: skip
    """The run of a request that has come before, from a start that is plainly floats; None for any other."""
    if rest or other or not parameters or plain(x0) is None:
        return None
    most = BUDGET if budget is None else budget
    again = known(request(problem, method, parameters, most, seed, record, compiled, eps))
    return again.run(x0) if again is not None and takes_all(again, method, parameters) else None


@answered_before(_again)
def solve(
    problem: Problem,
    method: str,
    eps: object = None,
    x0: Start = None,
    y0: Start = None,
    v0: Start = None,
    parameters: Mapping[str, object] | None = None,
    noise: Sequence[Any] | None = None,
    budget: int | Mapping[str, int] | None = None,
    seed: int = 0,
    record: Literal["all", "thin"] = "all",
    compiled: bool | None = None,
    digits: int | None = None,
    statement: str | None = None,
    values: Mapping[str, object] | None = None,
    seconds: float | None = None,
) -> Run:
    """Run a published method on a problem.

    Parameters
    ----------
    method : its name, as in ``methods()``; ``name:variant`` for a literal reading.
    eps : target accuracy. ``x0``, ``y0``, ``v0`` : starts (zeros for y and v by default).
    parameters : explicit letters, the paper's in ASCII; they win over what the theorem prescribes. If they are all that
        the method needs, nothing is derived: no constants, no truth.
    noise : explicit perturbations, used in order. ``budget`` : most oracle calls.
    digits : run in so many decimal digits instead of floats.
    statement : "paper/id" whose settings are taken; by default the method's own theorem.
    values : leaf letters given by hand (``Delta``, ``zeta``, ``nu_f``, a constant ...).
    seconds : of the clock, letters included: a run is left where it is then, ``interrupted``, and says so in its note.

    Raises
    ------
    ParameterError : a parameter has no value; says what would supply it.
    InputError : no such method or statement.
    """
    if seconds is not None:
        return _in_time(seconds, {**locals(), "seconds": None})
    most = BUDGET if budget is None else budget
    chosen, resolved, given = _letters(problem, method, eps, x0, parameters, statement, values, digits)
    run = run_method(problem, method, chosen, x0, y0, v0, noise, most, seed, record, compiled, eps, digits)
    return run if resolved is None else _with_letters(run, resolved, given)


def _in_time(seconds: float, asked: dict[str, Any]) -> Run:
    """:func:`solve`, broken off after so many seconds.

    Raises
    ------
    ParameterError : the time was over before the letters had values.
    """
    with time_limit(checked_seconds(seconds)) as limit:
        try:
            with keeping("run"), limit.broken_off():
                run = solve(**asked)
        except TimeOver as over:
            known = f"; {over}" if str(over) else ""
            how = "give letters (--set NAME=VALUE, in Python parameters=, values=) or more seconds"
            raise ParameterError(f"{limit.ended} before the run of {asked['method']} began{known}; {how}") from None
    return replace(run, note=limit.ended) if limit.over and run.status == "interrupted" else run


def solve_batch(
    problem: Problem,
    method: str,
    eps: Any = None,
    x0: Any = None,
    *,
    seeds: int | Sequence[int] | None = None,
    parameters: Mapping[str, object] | None = None,
    noise: Sequence[Any] | None = None,
    budget: int | Mapping[str, int] | None = None,
    record: Literal["all", "thin"] = "all",
    compiled: bool | None = None,
    statement: str | None = None,
    values: Mapping[str, object] | None = None,
    threads: int | None = None,
) -> tuple[Run, ...]:
    """The same problem from many starts or seeds: :func:`solve` for each, all moved on by one compiled call.

    Parameters
    ----------
    x0 : starts, one row per run (or one start for all seeds); letters are resolved for each start of its own.
    seeds : one per run, or how many (0, 1, ...).
    threads : compiled calls at a time; by default one per processor. The others are those of :func:`solve`.
    """
    starts = None if x0 is None else float_array(x0, "solve_batch: x0 (one row per run)")
    table = starts is not None and (starts.ndim == 2 or (starts.ndim == 1 and problem.dx == 1 and len(starts) != 1))
    found = [
        _letters(problem, method, eps, start, parameters, statement, values, None)
        for start in (starts if table and starts is not None else [x0])
    ]
    options = {"noise": noise, "budget": budget, "compiled": compiled, "eps": eps, "threads": threads}
    asked = {key: value for key, value in options.items() if value is not None}
    chosen = [letters for letters, _, _ in found] if table else found[0][0]
    runs = run_batch(problem, method, chosen, x0, seeds=seeds, record=record, **asked)
    resolved = [(one, given) for _, one, given in found] * (1 if table else len(runs))
    pairs = zip(runs, resolved, strict=True)
    return tuple(run if one is None else _with_letters(run, one, given) for run, (one, given) in pairs)


def _letters(
    problem: Problem,
    method: str,
    eps: Any,
    x0: Any,
    parameters: Mapping[str, Any] | None,
    statement: str | None,
    values: Mapping[str, Any] | None,
    digits: int | None,
) -> tuple[dict[str, Any], Resolved | None, ByHand]:
    """Parameters of a run from one start, the resolution that they come from (None if all were given), and the letters
    given by hand.
    """
    record_of_method = method_named(method.partition(":")[0])
    explicit = dict(parameters or {})
    _all_known(record_of_method, statement, explicit, values or {})
    check_kind(problem, record_of_method)
    absent = _absent(record_of_method, explicit, eps)
    resolved: Resolved | None = None
    by_hand = ByHand()
    if absent:
        resolved, by_hand = prescribed(problem, record_of_method, absent, explicit, eps, x0, statement, values or {})
    return {**_for_run(resolved, absent, digits), **explicit}, resolved, by_hand


def _all_known(
    method: Method, statement: str | None, explicit: Mapping[str, object], values: Mapping[str, object]
) -> None:
    """A letter that neither the method nor the card of its theorem has is a slip: it would change nothing.

    Raises
    ------
    ParameterError : there is such a letter.
    """
    own = {letter.name for letter in method.letters}
    strange = [name for name in (*explicit, *values) if name not in own]
    if not strange:
        return
    known = set(own)
    try:
        known |= set(statement_of(method, statement)[0].letters)
    except InputError:
        known |= set(load_card(method.paper).letters) if method.paper in shipped() else set()
    for name in strange:
        if name not in known:
            more = f"; its card has {some_of(sorted(known - own))}" if known - own else ""
            raise ParameterError(
                f"{method.name} has no letter {name!r}{nearest(name, known)}; it takes {', '.join(sorted(own))}{more}"
            )


def _absent(method: Method, explicit: Mapping[str, object], eps: float | None) -> list[str]:
    """Letters that the method needs and nobody gave."""
    given = explicit if eps is None else {*explicit, "eps"}
    missing = [x for x in method.letters if x.default is None and x.name not in given]
    needed = [x.name for x in missing if not x.optional]
    return [*needed, *(x.name for x in missing if x.replaced_by)] if needed else []


def _for_run(resolved: Resolved | None, names: list[str], digits: int | None) -> dict[str, object]:
    if resolved is None:
        return {}
    exactly: Mapping[str, float | Fraction] = {} if digits is None else resolved.precise_parameters()
    return {name: exactly.get(name, resolved.letters[name].run) for name in names}


def _with_letters(run: Run, resolved: Resolved, given: ByHand) -> Run:
    """The run with every resolved letter on record, the readings that they lean on, and what of them is false."""
    letters = {name: letter.run for name, letter in resolved.letters.items()}
    reading = f"reading: {resolved.reading}" if resolved.reading else ""
    parts = (run.note, reading, *given.false, *given.shown_false(run, resolved))
    note = "; ".join(part for part in parts if part)
    return replace(run, parameters=MappingProxyType({**letters, **run.parameters}), note=note)

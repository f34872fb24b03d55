"""``verify``: a statement on an instance, from its hypotheses to rows of verdicts.

The way of a claim: constants and truth give the letters their values; the hypotheses are judged; the method runs; the
claims are judged at every place of the run with enclosures; a refutation is confirmed in 50 digits before it is said.
"""

from __future__ import annotations

import inspect
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Protocol

import numpy as np

from bilevel_verify.checks.claims.claims import Seen, all_claims, judge_parameters, letters_used
from bilevel_verify.checks.claims.decide import summary
from bilevel_verify.checks.instances import hypotheses as hyp
from bilevel_verify.checks.instances.case import Case
from bilevel_verify.checks.instances.instance import Instance
from bilevel_verify.checks.instances.premise import Premise
from bilevel_verify.checks.instances.tabulate import functions_in
from bilevel_verify.checks.judging.along import BITS, judge_along
from bilevel_verify.checks.judging.attack import attack_claims
from bilevel_verify.checks.judging.conditions import judge_still_conditions
from bilevel_verify.checks.judging.rows import command, premise_row, row_of, verdict_of, with_unjudged
from bilevel_verify.checks.judging.seeds import TRIALS_LETTER
from bilevel_verify.checks.judging.sweep import order_rows
from bilevel_verify.checks.judging.unfinished import unjudged_rows
from bilevel_verify.checks.requests.request import (
    HORIZONS,
    Member,
    Request,
    assumed,
    instance_problem,
    members,
    statements_of,
    with_settings,
)
from bilevel_verify.checks.requests.starts import default_starts, point_of
from bilevel_verify.checks.solvers.kinds import check_request, foreign, foreign_row, need_eps
from bilevel_verify.checks.solvers.running import DEFAULT_BUDGET, LITERAL, letters_of_method, method_name
from bilevel_verify.checks.verdicts.verdict import Row, Verdict
from bilevel_verify.checks.verdicts.verification import Verification
from bilevel_verify.errors import InputError
from bilevel_verify.language import nearest, some_of
from bilevel_verify.numbers.rounding import precision
from bilevel_verify.problems.problem import Problem
from bilevel_verify.theorems.card import Card, Claim
from bilevel_verify.theorems.letters.given import judge_given
from bilevel_verify.theorems.letters.resolve import Provider, Resolved, resolve
from bilevel_verify.theorems.origins import as_judged
from bilevel_verify.theorems.rewrite import free_letters
from bilevel_verify.time_limit import TimeLimit, TimeOver, checked_seconds, time_limit

Progress = Callable[[str], None]


class Observer(Protocol):
    """Looks on while claims are judged; it changes no verdict."""

    def begin(self, case: Case) -> Seen:
        """Called before the claims of an instance are judged."""

    def end(self, case: Case) -> list[Row]:
        """The rows of the instance, with what the observer has to say in their details."""


RUN_OPTIONS = frozenset(("y0", "v0", "noise", "digits", "compiled"))


def verify(
    problem: Any,
    statement: Any,
    *,
    eps: float | Sequence[float] | None = None,
    method: str | Callable[..., Any] | None = None,
    x0: Any = None,
    parameters: Mapping[str, Any] | None = None,
    values: Mapping[str, Any] | None = None,
    readings: Sequence[str] | None = None,
    sweep: Mapping[str, Sequence[float]] | None = None,
    budget: int = DEFAULT_BUDGET,
    seed: int = 0,
    record: str = "all",
    progress: Progress | None = None,
    observer: Observer | None = None,
    seconds: float | None = None,
    **options: Any,
) -> Verification:
    """Check a statement on a problem: :func:`bilevel_verify.verify`, with an observer in place of certificates.

    Raises
    ------
    InputError : an unknown name or letter, eps <= 0, a start of the wrong shape or outside the domain.
    """
    clock = time.perf_counter()
    run_options = {"budget": budget, "seed": seed, "record": record, **options}
    requests = requests_of(problem, statement, method, parameters, values, readings, run_options)
    with time_limit(checked_seconds(seconds)) as limit:
        parts = [_in_time(request, members(eps, sweep), x0, progress, observer, limit) for request in requests]
    return _merge(parts, time.perf_counter() - clock)


def requests_of(
    problem: Problem | str,
    statement: Path | str,
    method: str | Callable[..., object] | None,
    parameters: Mapping[str, object] | None,
    values: Mapping[str, object] | None,
    readings: Sequence[str] | None,
    options: Mapping[str, object],
) -> Iterator[Request]:
    """What :func:`verify` is asked, statement by statement, checked; ``options`` are those of a run.

    Raises
    ------
    InputError : an unknown option, letter or statement.
    """
    known = (*inspect.signature(verify).parameters, *RUN_OPTIONS)
    for name in options.keys() - RUN_OPTIONS - {"budget", "seed", "record"}:
        raise InputError(f"verify has no option {name!r}{nearest(name, known)}")
    if isinstance(budget := options.get("budget"), int) and budget < 1:
        raise InputError(f"verify: budget must be at least 1, not {budget}")
    for one_card, entry in statements_of(statement):
        if not callable(method):
            all_known(one_card, method_name(method, entry), (*(parameters or ()), *(values or ())))
        # what no constant, truth or user gives is set like a parameter, or nobody would ask for it
        own = [
            name for name in values or {} if name in one_card.letters and one_card.letters[name].source == "settings"
        ]
        request = Request(
            one_card,
            as_judged(one_card, with_settings(one_card, entry)),
            method,
            {**{name: (values or {})[name] for name in own}, **(parameters or {})},
            {name: value for name, value in (values or {}).items() if name not in own},
            None if readings is None else tuple(readings),
            dict(options),
            problem,
        )
        check_request(request)
        yield request


def all_known(card: Card, method: str | None, names: Sequence[str]) -> None:
    """A letter that neither the card nor the method has is a slip: it would change nothing."""
    known = {*card.letters, *letters_of_method(method), *HORIZONS, TRIALS_LETTER}
    for name in names:
        if name not in known:
            own = some_of(sorted({*card.letters, *letters_of_method(method)}), 30)
            raise InputError(f"{card.key} has no letter {name!r}{nearest(name, known)}; it has {own}")


def verify_all(jobs: Sequence[Mapping[str, Any]], progress: Progress | None = None) -> Iterator[Row]:
    """Rows of many jobs (keyword arguments of :func:`verify`), as they are finished."""
    for job in jobs:
        yield from verify(**{**job, "progress": progress}).claims


def _in_time(
    request: Request,
    sweep: list[Member],
    x0: tuple[float, ...] | list[float] | None,
    progress: Progress | None,
    observer: Observer | None,
    limit: TimeLimit,
) -> Verification:
    """A statement as far as the time lasts: the instances that were finished, the claims that were not judged."""
    cases: list[Case] = []
    try:
        with limit.broken_off():
            return _verify_statement(request, sweep, x0, progress, observer, cases)
    except TimeOver:
        rows = (*(row for case in cases for row in case.rows), *unjudged_rows(request, limit.ended))
        name = cases[0].problem.name if cases else getattr(request.family, "name", None)
        return Verification(request.name, name or "", "undecided", rows)


def _verify_statement(
    request: Request,
    sweep: list[Member],
    x0: tuple[float, ...] | list[float] | None,
    progress: Progress | None,
    observer: Observer | None,
    cases: list[Case],
) -> Verification:
    targets = letters_needed(request)
    for member in sweep:
        problem, eps = instance_problem(request.family, member), member.get("eps")
        why = foreign(request, problem, targets)
        if why:
            row = foreign_row(request, problem, why)
            return Verification(request.name, problem.name, "not applicable", (row,))
        need_eps(request, member, targets)
        for start in default_starts(problem) if x0 is None else point_of(problem, x0):
            if progress is not None:
                progress(f"{request.name} on {problem.name or 'the problem'}" + (f", eps = {eps:g}" if eps else ""))
            cases.append(check_instance(request, problem, member, start, observer))
    rows = with_unjudged([row for case in cases for row in case.rows] + order_rows(request, cases), request)
    premises = [premise_row(case, premise) for case in cases for premise in _premises_shown(case)]
    first = cases[0]
    return Verification(
        statement=request.name,
        problem=first.problem.name,
        verdict=_verdict_of(rows),
        claims=tuple(rows),
        hypotheses=tuple(premises),
        runs=tuple(case.run for case in cases if case.run is not None),
        constants=dict(first.instance.used),
        truth=dict(first.instance.asked),
        parameters=tuple(dict(case.resolved.parameters) for case in cases),
    )


def _verdict_of(rows: Sequence[Row]) -> Verdict:
    """Verdict of a statement: that of its printed claims; of its readings where nothing printed is judged."""
    printed = summary([row.verdict for row in rows if row.as_printed])
    if printed != "not applicable" or any(row.as_printed for row in rows):
        return printed
    own = [row.verdict for row in rows if not any(mark.startswith(("added", "repaired")) for mark in row.marks)]
    return summary(own or [row.verdict for row in rows])


def _premises_shown(case: Case) -> list[Premise]:
    return case.premises + ([case.contained] if case.contained is not None else [])


def _merge(parts: list[Verification], seconds: float) -> Verification:
    if len(parts) == 1:
        return replace(parts[0], seconds=seconds)
    rows = tuple(row for part in parts for row in part.claims)
    return Verification(
        statement=parts[0].statement.rpartition("/")[0],
        problem=parts[0].problem,
        verdict=_verdict_of(rows),
        claims=rows,
        hypotheses=tuple(row for part in parts for row in part.hypotheses),
        runs=tuple(run for part in parts for run in part.runs),
        constants={name: value for part in parts for name, value in part.constants.items()},
        truth={name: value for part in parts for name, value in part.truth.items()},
        parameters=tuple(p for part in parts for p in part.parameters),
        seconds=seconds,
    )


# --- one instance -----------------------------------------------------------------------------------------------------


def check_instance(
    request: Request, problem: Problem, member: Member, x0: np.ndarray, observer: Observer | None = None
) -> Case:
    """Judge all claims of a statement on one problem from one start."""
    case = prepare(request, problem, member, x0)
    case.seen = None if observer is None else observer.begin(case)
    # an order claim about points names no constant: it is judged through its reading
    claims = [c for c in all_claims(request.statement.claims) if not (c.is_order and c.over == "point")]
    scopes: dict[str, list[Claim]] = {}
    for claim in claims:
        scopes.setdefault("order" if claim.is_order else claim.over, []).append(claim)
    along = [claim for scope in ("step", "epoch", "run") for claim in scopes.get(scope, [])]
    needs_run = bool(along) or bool(scopes.get("order"))
    with precision(BITS):
        judge_still_conditions(case)
        _judge_still(case, scopes.get("parameters", []))
        if scopes.get("point"):
            case.rows += attack_claims(case, scopes["point"])
        if needs_run:
            judge_along(case, along)
    if observer is not None:
        case.rows = observer.end(case)
    return case


def prepare(
    request: Request, problem: Problem, member: Member, x0: np.ndarray, provider: type[Instance] = Instance
) -> Case:
    """Letters and hypotheses of an instance; nothing runs. ``provider`` says where constants and truth come from."""
    leaves = {n: v for n, v in request.parameters.items() if n in request.card.letters}
    swept = {name: number for name, number in member.items() if name in ("eps", *HORIZONS)}
    values = {**leaves, **request.values, **swept}
    instance = provider(problem, request.card.key, x0, values)
    instance.mentioned = frozenset(functions_in(all_claims(request.statement.claims)))
    flat = hyp.combine(hyp.of_convexity(instance))
    if flat is not None and flat.verdict == "not applicable":
        instance.without_truth = flat.reason
    needed = letters_needed(request)

    def letters(provider: Provider) -> Resolved:
        given = dict(request.parameters)
        return resolve(request.card, request.statement, provider, given, request.readings, needed)

    resolved = hyp.surely_false(letters(instance), lambda: letters(instance.between))
    by_hand = {**request.values, **request.parameters}
    given = judge_given(request.card, request.statement, instance, by_hand, resolved.letters, request.readings)
    with precision(BITS):
        # a false constant comes before what it makes false, a prescription after the theorem's own conditions
        first = [hyp.of_given(one) for one in given if one.source]
        last = [hyp.of_given(one) for one in given if not one.source]
        stated = hyp.premises(instance, resolved, request.statement)
        return Case(request, instance, resolved, [*first, *stated, *last], member)


def letters_needed(request: Request) -> set[str]:
    """Letters that this statement needs: those of its claims, its conditions, its settings and its method."""
    card, statement = request.card, request.statement
    found = letters_used(all_claims(statement.claims))
    for entry in assumed(card, statement):
        found |= letters_used(list(entry.claims))
    settings = [card.settings[name] for name in statement.settings]
    while settings:
        one = settings.pop()
        found |= set(one.parameters)
        for condition in one.where:
            found |= free_letters(condition.tree)
        settings.extend(card.settings[name] for name in one.includes)
    for condition in statement.where:
        found |= free_letters(condition.tree)
    # a callable in the place of the method is handed what that method would be
    name = method_name(None if callable(request.method) else request.method, statement)
    found |= letters_of_method(name) if statement.claims else set()
    if name == LITERAL:
        found |= {letter for one in card.algorithms if one.id == statement.algorithm for letter in one.inputs}
    return (found | set(statement.parameters)) & set(card.letters)


def _judge_still(case: Case, claims: list[Claim]) -> None:
    """Claims about parameters and constants alone."""
    for judged in judge_parameters(claims, case.evaluator, case.seen):
        verdict = verdict_of(case, judged, along_run=False)
        case.rows.append(row_of(case, judged, verdict))


__all__ = ["Case", "Request", "command", "verify", "verify_all"]

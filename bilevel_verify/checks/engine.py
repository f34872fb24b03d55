"""``verify``: a statement on an instance, from its hypotheses to rows of verdicts.

The way of a claim: constants and truth give the letters their values; the hypotheses are judged; the method runs; the
claims are judged at every place of the run with enclosures; a refutation is confirmed in 50 digits before it is said.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from bilevel_verify.checks import hypotheses as hyp
from bilevel_verify.checks.case import Case
from bilevel_verify.checks.claims import Judged, all_claims, judge_claims, judge_parameters, letters_used
from bilevel_verify.checks.decide import summary
from bilevel_verify.checks.functions import ProblemFunctions
from bilevel_verify.checks.instance import Instance
from bilevel_verify.checks.request import (
    Member,
    Request,
    assumed,
    instance_problem,
    members,
    statements_of,
    with_settings,
)
from bilevel_verify.checks.rows import command, premise_row, row_of, verdict_of
from bilevel_verify.checks.running import letters_of_method, make_run, method_name
from bilevel_verify.checks.seeds import probability_rows
from bilevel_verify.checks.simple import functions_of
from bilevel_verify.checks.starts import default_starts, point_of
from bilevel_verify.checks.tabulate import symbols_in, tabulate
from bilevel_verify.checks.trajectory import Trajectory
from bilevel_verify.checks.verdict import Row, Verification
from bilevel_verify.errors import BilevelVerifyError, InputError, ParameterError
from bilevel_verify.methods.run import Run
from bilevel_verify.problems.problem import Problem
from bilevel_verify.theorems import exact
from bilevel_verify.theorems.card import Claim
from bilevel_verify.theorems.resolve import resolve
from bilevel_verify.theorems.rewrite import free_letters

BITS = 256
DEFAULT_BUDGET = 2_000_000
TRUNCATED = ("budget", "diverged", "not finite", "interrupted", "precision")
RUNS_KEPT = 8
_RUNS: dict[str | None, Run] = {}
UNRESOLVED = 1e-13
"""An error that is this small is rounding: a float64 run that misses a smaller accuracy shows nothing."""
Progress = Callable[[str], None]


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
    **options: Any,
) -> Verification:
    """Check a statement on a problem.

    Parameters
    ----------
    problem : a problem, a family (knobs that depend on eps), or the name of a zoo entry.
    statement : "paper/id", a card, the path of a card file (all its statements), or "file.toml/id".
    eps : one tolerance or several; orders need several. ``sweep`` : values of another letter of a family, as in
        ``{"kappa": [16, 32, 64]}``.
    method : name, "literal" (the card's own steps), or ``solver(oracles, x0, parameters) -> iterates``.
    x0 : one start, or a list of starts; by default the problem's own.
    parameters : letters that win over the card's formulas. ``values`` : leaf letters (``zeta``, ``nu_f`` ...).
    budget : most oracle calls of one run.

    Raises
    ------
    InputError : an unknown name, eps <= 0, a start of the wrong shape or outside the domain.
    """
    clock = time.perf_counter()
    parts = []
    for one_card, entry in statements_of(statement):
        request = Request(
            one_card,
            with_settings(one_card, entry),
            method,
            dict(parameters or {}),
            dict(values or {}),
            None if readings is None else tuple(readings),
            {"budget": budget, "seed": seed, "record": record, **options},
            problem,
        )
        parts.append(_verify_statement(request, members(eps, sweep), x0, progress))
    return _merge(parts, time.perf_counter() - clock)


def verify_all(jobs: Sequence[Mapping[str, Any]], progress: Progress | None = None) -> Iterator[Row]:
    """Rows of many jobs (keyword arguments of :func:`verify`), as they are finished."""
    for job in jobs:
        yield from verify(**{**job, "progress": progress}).claims


def _verify_statement(request: Request, sweep: list[Member], x0: Any, progress: Progress | None) -> Verification:
    from bilevel_verify.checks.sweep import order_rows

    cases: list[Case] = []
    for member in sweep:
        problem, eps = instance_problem(request.family, member), member.get("eps")
        for start in default_starts(problem) if x0 is None else point_of(problem, x0):
            if progress is not None:
                progress(f"{request.name} on {problem.name or 'the problem'}" + (f", eps = {eps:g}" if eps else ""))
            cases.append(check_instance(request, problem, member, start))
    rows = [row for case in cases for row in case.rows] + order_rows(request, cases)
    premises = [premise_row(case, premise) for case in cases for premise in _premises_shown(case)]
    first = cases[0]
    return Verification(
        statement=request.name,
        problem=first.problem.name,
        verdict=summary([row.verdict for row in rows if row.as_printed]),
        claims=tuple(rows),
        hypotheses=tuple(premises),
        runs=tuple(case.run for case in cases if case.run is not None),
        constants=dict(first.instance.used),
        truth=dict(first.instance.asked),
        parameters=tuple(dict(case.resolved.parameters) for case in cases),
    )


def _premises_shown(case: Case) -> list[hyp.Premise]:
    return case.premises + ([case.contained] if case.contained is not None else [])


def _merge(parts: list[Verification], seconds: float) -> Verification:
    if len(parts) == 1:
        return replace(parts[0], seconds=seconds)
    rows = tuple(row for part in parts for row in part.claims)
    return Verification(
        statement=parts[0].statement.rpartition("/")[0],
        problem=parts[0].problem,
        verdict=summary([row.verdict for row in rows if row.as_printed]),
        claims=rows,
        hypotheses=tuple(row for part in parts for row in part.hypotheses),
        runs=tuple(run for part in parts for run in part.runs),
        constants={name: value for part in parts for name, value in part.constants.items()},
        truth={name: value for part in parts for name, value in part.truth.items()},
        parameters=tuple(p for part in parts for p in part.parameters),
        seconds=seconds,
    )


# --- one instance -----------------------------------------------------------------------------------------------------


def check_instance(request: Request, problem: Problem, member: Member, x0: np.ndarray) -> Case:
    """Judge all claims of a statement on one problem from one start."""
    case = prepare(request, problem, member, x0)
    # an order claim about points names no constant: it is judged through its reading
    claims = [c for c in all_claims(request.statement.claims) if not (c.is_order and c.over == "point")]
    scopes: dict[str, list[Claim]] = {}
    for claim in claims:
        scopes.setdefault("order" if claim.is_order else claim.over, []).append(claim)
    along = [claim for scope in ("step", "epoch", "run") for claim in scopes.get(scope, [])]
    needs_run = bool(along) or bool(scopes.get("order"))
    with exact.precision(BITS):
        _judge_still(case, scopes.get("parameters", []))
        if scopes.get("point"):
            from bilevel_verify.checks.attack import attack_claims

            case.rows += attack_claims(case, scopes["point"])
        if needs_run:
            _judge_along(case, along)
    return case


def prepare(request: Request, problem: Problem, member: Member, x0: np.ndarray) -> Case:
    """Letters and hypotheses of an instance; nothing runs."""
    values = {**request.values, **{name: number for name, number in member.items() if name == "eps"}}
    instance = Instance(problem, request.card.key, x0, values)
    flat = hyp.combine(hyp.of_convexity(instance))
    if flat is not None and flat.verdict == "not applicable":
        instance.hopeless = flat.reason
    resolved = resolve(
        request.card,
        request.statement,
        instance,
        dict(request.parameters),
        request.readings,
        _targets(request),
    )
    with exact.precision(BITS):
        return Case(request, instance, resolved, hyp.premises(instance, resolved), member)


def _targets(request: Request) -> set[str]:
    """Letters that this statement needs: those of its claims, of its conditions, and of its settings."""
    card, statement = request.card, request.statement
    found = letters_used(all_claims(statement.claims))
    for entry in assumed(card, statement):
        found |= letters_used(list(entry.claims))
    settings = [card.settings[name] for name in statement.settings]
    while settings:
        one = settings.pop()
        found |= set(one.parameters)
        settings.extend(card.settings[name] for name in one.includes)
    for conditions in (statement.where, *(card.settings[name].where for name in statement.settings)):
        for condition in conditions:
            found |= free_letters(condition.tree)
    found |= letters_of_method(method_name(request.method, statement)) if statement.claims else set()
    return (found | set(statement.parameters)) & set(card.letters)


def _judge_still(case: Case, claims: list[Claim]) -> None:
    """Claims about parameters and constants alone."""
    for judged in judge_parameters(claims, case.evaluator):
        verdict = verdict_of(case, judged, along_run=False)
        case.rows.append(row_of(case, judged, verdict))


def _judge_along(case: Case, claims: list[Claim]) -> None:
    blocked = hyp.combine(case.premises)
    missing = _missing(case)
    if missing:
        case.trouble = f"hypothesis: {missing}"
        _all_undecided(case, claims, missing)
        return
    try:
        case.run = _run(case)
    except (ParameterError, ArithmeticError, BilevelVerifyError) as error:
        if isinstance(error, InputError) and not isinstance(error, ParameterError) and blocked is None:
            raise
        case.trouble = f"precision: {error}"
        _all_undecided(case, claims, blocked.reason if blocked else f"precision: {error}", blocked)
        return
    case.trajectory = Trajectory(case.run)
    conditions = [claim for entry in assumed(case.request.card, case.request.statement) for claim in entry.claims]
    _tabulate(case, [*claims, *conditions])
    assert case.functions is not None
    case.contained = hyp.containment(case.instance, case.trajectory, case.functions)
    _judge_conditions(case)
    cut = case.run.status in TRUNCATED
    uncertain = [claim for claim in claims if claim.probability is not None]
    claims = [claim for claim in claims if claim.probability is None]
    case.rows += probability_rows(case, uncertain, _run)
    for judged in judge_claims(claims, case.evaluator, case.trajectory, case.forget, cut, again=case.evaluator_again):
        case.rows.append(row_of(case, judged, verdict_of(case, judged, along_run=True)))


def _tabulate(case: Case, claims: list[Claim]) -> None:
    """Truth at all points of the run in one pass, for the symbols that the claims mention."""
    assert case.trajectory is not None
    lam = case.letters().get("lam", (None,))[0]
    truth = case.instance.truth
    if case.problem.kind == "simple_bilevel":
        case.functions = case.precise = functions_of(case.problem, truth)  # type: ignore[assignment]
        return
    case.precise = ProblemFunctions(case.problem, truth, lam)
    names = symbols_in(claims)
    if case.instance.local and case.problem.y:
        names |= {"y_star"} | ({"y_star_lam"} if lam is not None else set())
    table = tabulate(truth, names, case.trajectory.upper_points(case.problem.dx), case.precise.lam)
    case.functions = ProblemFunctions(case.problem, truth, lam, table)


def _missing(case: Case) -> str:
    """Why the parameters of the run have no numbers; empty if they have."""
    statement, card = case.request.statement, case.request.card
    wanted = set(statement.parameters)
    for name in statement.settings:
        wanted |= set(card.settings[name].parameters)
    absent = [name for name in sorted(wanted) if name not in case.resolved.letters]
    if not absent:
        return ""
    return "; ".join(f"{name}: {case.resolved.missing.get(name, 'no value')}" for name in absent)


def _all_undecided(case: Case, claims: list[Claim], why: str, blocked: hyp.Premise | None = None) -> None:
    worst = blocked or hyp.combine(case.premises)
    for claim in claims:
        for number, link in enumerate(claim.chain):
            judged = Judged(claim, link, number, _empty_tally(), case.evaluator(claim))
            if worst is not None:
                verdict = (worst.verdict, worst.reason)
            else:
                verdict = ("undecided", f"hypothesis: {why}")
            case.rows.append(row_of(case, judged, verdict))


def _empty_tally() -> Any:
    from bilevel_verify.checks.decide import Tally

    return Tally()


def _run(case: Case, **more: Any) -> Run:
    """The run of a case; runs are kept for the other statements about the same method on the same instance."""
    request = case.request
    options = {**request.options, "eps": case.eps, **more}
    parameters = dict(case.resolved.parameters)
    if "digits" in more:
        parameters |= case.resolved.precise_parameters()
    key = None
    if not callable(request.method):
        name = method_name(request.method, request.statement)
        what = request.statement.algorithm if name == "literal" else name
        letters = letters_of_method(name) or set(parameters)
        numbers = sorted((n, str(p)) for n, p in parameters.items() if n in letters)
        ingredients = (request.card.key, what, numbers, sorted(options.items()))
        key = f"{case.problem.content_hash()} {ingredients} {case.instance.start.tolist()}"
    if key in _RUNS:
        return _RUNS[key]
    run = make_run(
        case.problem, request.card, request.statement, request.method, parameters, case.instance.start, **options
    )
    if key is not None:
        _RUNS[key] = run
        while len(_RUNS) > RUNS_KEPT:
            _RUNS.pop(next(iter(_RUNS)))
    return run


def _judge_conditions(case: Case) -> None:
    """Conditions that the statement assumes, checked along the run; each becomes a premise."""
    assert case.trajectory is not None
    assert case.functions is not None
    for entry in assumed(case.request.card, case.request.statement):
        claims = [claim for claim in entry.claims if claim.over in ("step", "epoch", "run") and not claim.is_order]
        for judged in judge_claims(claims, case.evaluator, case.trajectory, case.forget, again=case.evaluator_again):
            verdict, reason = judged.tally.outcome()
            text = f"{entry.id}, {judged.claim.id}: {judged.link}"
            shown = judged.tally.shown
            where = f" at {shown.where}" if shown is not None and shown.where else ""
            margin = None if shown is None else shown.margin
            if verdict == "holds":
                premise = hyp.Premise(text, "holds", "", judged.tally.certainty, entry.id, margin)
            elif verdict == "refuted" and shown is not None and shown.measured < UNRESOLVED:
                reason = f"precision: {entry.id} asks for more{where} than float64 resolves"
                premise = hyp.Premise(text, "undecided", reason, "computed", entry.id, margin)
            elif verdict == "refuted":
                reason = f"{entry.id} is false on this run{where}"
                premise = hyp.Premise(text, "not applicable", reason, judged.tally.certainty, entry.id, margin)
            else:
                premise = hyp.Premise(
                    text, "undecided", f"hypothesis: {entry.id}{where}: {reason}", "computed", entry.id
                )
            case.premises.append(premise)


def rerun(case: Case, digits: int, calls: int, iterations: int | None = None) -> Trajectory:
    """The same run in so many digits, or its first iterations; at most ``calls`` oracle calls.

    Raises
    ------
    BilevelVerifyError, NotImplementedError, TypeError : the method has no multi-precision form.
    """
    more: dict[str, Any] = {"digits": digits, "record": "all"}
    if case.method != "literal":
        more["budget"] = {"calls": calls, **({} if iterations is None else {"iterations": iterations})}
    return Trajectory(_run(case, **more))


__all__ = ["Case", "Request", "command", "verify", "verify_all"]

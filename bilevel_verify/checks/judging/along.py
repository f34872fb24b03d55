"""Claims along a run: the run, its truth, its conditions, and the verdict of every place."""

from __future__ import annotations

from contextlib import AbstractContextManager

from bilevel_verify.checks.claims.claims import Judged, all_claims, judge_claims
from bilevel_verify.checks.claims.decide import Judgement, Tally
from bilevel_verify.checks.evidence.blocks import judge_in_blocks
from bilevel_verify.checks.evidence.digits import BITS_OF_A_DIGIT, ITERATIONS, SOME_EPOCHS, in_many_digits, unresolved
from bilevel_verify.checks.evidence.runs import recorded, run_of
from bilevel_verify.checks.instances import hypotheses as hyp
from bilevel_verify.checks.instances.case import Case
from bilevel_verify.checks.instances.functions import ProblemFunctions
from bilevel_verify.checks.instances.premise import Premise
from bilevel_verify.checks.instances.simple import functions_of
from bilevel_verify.checks.instances.tabulate import symbols_in, tabulate
from bilevel_verify.checks.judging.conditions import given, is_given
from bilevel_verify.checks.judging.rows import row_of, verdict_of
from bilevel_verify.checks.judging.seeds import probability_rows
from bilevel_verify.checks.requests.request import assumed
from bilevel_verify.errors import BilevelVerifyError, InfeasibleError, InputError, ParameterError
from bilevel_verify.numbers.rounding import precision
from bilevel_verify.oracles import BudgetExhausted
from bilevel_verify.theorems.card import Claim
from bilevel_verify.truth.arithmetic.enclosure import is_witness

BITS = 256
"""Working precision of the checks; more where a run in many digits needs it."""
TRUNCATED = ("budget", "diverged", "not finite", "interrupted", "precision")
UNRESOLVED = 1e-13
"""An error that is this small is rounding: a float64 run that misses a smaller accuracy shows nothing."""


def judge_along(case: Case, claims: list[Claim]) -> None:
    """Judge step, epoch and run claims; in many digits where float64 does not resolve the printed parameters."""
    blocked = hyp.combine(case.premises)
    missing = _missing(case)
    if missing:
        case.trouble = f"hypothesis: {missing}"
        _all_undecided(case, claims, case.trouble)
        return
    false = blocked is not None and blocked.verdict == "not applicable"
    case.below_precision = "" if false else unresolved(case)
    if case.below_precision and not (claims or _asks_for_epochs(case)):
        case.trouble = f"precision: {case.below_precision}"
        return
    try:
        run_method_of(case, claims)
    except (ParameterError, ArithmeticError, BilevelVerifyError, NotImplementedError, TypeError) as error:
        if isinstance(error, InputError) and not isinstance(error, ParameterError) and blocked is None:
            raise
        case.trouble = (
            f"{_kind_of(error) if not case.below_precision else 'precision'}: {case.below_precision or error}"
        )
        if isinstance(error, InfeasibleError) and blocked is None:
            blocked = Premise("every cut has a point in Z", "not applicable", str(error))
        _all_undecided(case, claims, case.trouble, blocked)
        return
    with _working_precision(case):
        _judge_run(case, claims)
    if case.below_precision:
        case.run, case.trouble = None, f"precision: {case.below_precision}"


def run_method_of(case: Case, claims: list[Claim]) -> None:
    """Run the method of a case: in floats, or its first iterations in many digits where they do not resolve it."""
    if case.below_precision:
        trajectory = in_many_digits(case, ITERATIONS if claims else SOME_EPOCHS)
    else:
        trajectory = recorded(case, run_of(case))
    case.run, case.trajectory = trajectory.run, trajectory


def _working_precision(case: Case) -> AbstractContextManager[None]:
    return precision(max(BITS, BITS_OF_A_DIGIT * (case.digits or 0)))


def places_of_run(case: Case, claims: list[Claim]) -> list[Judged]:
    """The claims at all places of a fresh run, without rows and without repeating anything in many digits.

    Conditions that are checked along the run are added to the premises of the case, and its containment is judged.

    Raises
    ------
    BilevelVerifyError, ArithmeticError, NotImplementedError, TypeError : no run, for the reason that it gives.
    """
    missing = _missing(case)
    if missing:
        raise ParameterError(missing)
    case.below_precision = unresolved(case)
    run_method_of(case, claims)
    with _working_precision(case):
        return _places(case, claims)


def _kind_of(error: Exception) -> str:
    """Of what kind the trouble of a run is: its budget, what it was given, or its arithmetic."""
    if isinstance(error, BudgetExhausted):
        return "budget"
    return "hypothesis" if isinstance(error, InputError) else "precision"


def _asks_for_epochs(case: Case) -> bool:
    """Whether the growth of something that every epoch has is asked for: a few epochs show it."""
    return any(claim.is_order and claim.over == "epoch" for claim in all_claims(case.request.statement.claims))


def _judge_run(case: Case, claims: list[Claim]) -> None:
    found = _places(case, claims)
    case.rows += probability_rows(case, [claim for claim in claims if claim.probability is not None], run_of)
    for judged in found:
        case.rows.append(row_of(case, judged, verdict_of(case, judged, along_run=True)))


def _places(case: Case, claims: list[Claim]) -> list[Judged]:
    """Claims without a probability at all places of the run of a case."""
    assert case.trajectory is not None
    conditions = [claim for entry in assumed(case.request.card, case.request.statement) for claim in entry.claims]
    _tabulate(case, [*claims, *conditions])
    assert case.functions is not None
    certain = [claim for claim in claims if claim.probability is None]
    if case.trajectory.thinned:
        case.in_blocks = judge_in_blocks(case, [*certain, *conditions], _symbols(case, [*certain, *conditions]))
    if case.in_blocks is not None:
        case.contained = case.in_blocks.contained
    else:
        case.contained = hyp.containment(case.instance, case.trajectory, case.functions)
    _judge_conditions(case)
    return _judged(case, certain)


def _judged(case: Case, claims: list[Claim]) -> list[Judged]:
    """Claims at all their places: of the recorded run, or as they were judged while a very long one went on."""
    assert case.trajectory is not None
    cut, again = case.trajectory.run.status in TRUNCATED, case.evaluator_again
    if case.in_blocks is None:
        return judge_claims(claims, case.evaluator, case.trajectory, case.forget, cut, again=again, seen=case.seen)
    whole = [claim for claim in claims if claim.over == "run"]
    found = judge_claims(whole, case.evaluator, case.trajectory, case.forget, cut, again=again, seen=case.seen)
    return case.in_blocks.judged(claims) + found


def _symbols(case: Case, claims: list[Claim]) -> set[str]:
    """Function symbols of which the claims, and the test of containment, need enclosures along the run."""
    names = symbols_in(claims)
    if case.instance.local and case.problem.y:
        names |= {"y_star"} | ({"y_star_lam"} if case.letters().get("lam", (None,))[0] is not None else set())
    return names


def _tabulate(case: Case, claims: list[Claim]) -> None:
    """Truth at all points of the run in one pass, for the symbols that the claims mention."""
    assert case.trajectory is not None
    lam = case.letters().get("lam", (None,))[0]
    truth = case.instance.truth
    if case.problem.kind == "simple_bilevel":
        case.functions = case.precise = functions_of(case.problem, truth)  # type: ignore[assignment]
        return
    case.precise = ProblemFunctions(case.problem, truth, lam)
    table = tabulate(truth, _symbols(case, claims), case.trajectory.upper_points(case.problem.dx), case.precise.lam)
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
    return case.resolved.why_missing(absent)


def _all_undecided(case: Case, claims: list[Claim], why: str, blocked: Premise | None = None) -> None:
    worst = blocked or hyp.combine(case.premises)
    for claim in claims:
        for number, link in enumerate(claim.chain):
            judged = Judged(claim, link, number, Tally(), case.evaluator(claim))
            if worst is not None:
                verdict = (worst.verdict, worst.reason)
            else:
                verdict = ("undecided", why)
            case.rows.append(row_of(case, judged, verdict))


def _judge_conditions(case: Case) -> None:
    """Conditions that the statement assumes, checked along the run; each becomes a premise."""
    assert case.trajectory is not None
    for entry in assumed(case.request.card, case.request.statement):
        claims = [claim for claim in entry.claims if claim.over in ("step", "epoch", "run") and not claim.is_order]
        for claim in [claim for claim in claims if is_given(case, claim)]:
            claims.remove(claim)
            case.premises.append(given(claim, f"{entry.id}, {claim.id}: {claim.chain[0]}"))
        for judged in _judged(case, claims):
            case.premises.append(_premise_of(entry.id, judged))


def _premise_of(condition: str, judged: Judged) -> Premise:
    """A condition along the run as a hypothesis."""
    verdict, reason = judged.tally.outcome()
    text = f"{condition}, {judged.claim.id}: {judged.link}"
    shown = judged.tally.shown
    where = f" at {shown.where}" if shown is not None and shown.where else ""
    margin = None if shown is None else shown.margin
    if verdict == "holds":
        return Premise(text, "holds", "", judged.tally.certainty, condition, margin, along=True)
    if verdict == "refuted" and shown is not None and _is_rounding(shown):
        reason = f"precision: {condition} asks for more{where} than float64 resolves"
        return Premise(text, "undecided", reason, "computed", condition, margin)
    if verdict == "refuted" and shown is not None and not is_witness(shown.certainty):
        reason = f"hypothesis: {condition} is false on this run{where} in {shown.certainty} numbers, no witness"
        return Premise(text, "undecided", reason, shown.certainty, condition, margin)
    if verdict == "refuted":
        reason = f"{condition} is false on this run{where}"
        return Premise(text, "not applicable", reason, judged.tally.certainty, condition, margin)
    if reason.startswith(("tie", "precision")):
        reason = f"precision: {condition}{where}: {reason.removeprefix('precision: ')}"
        return Premise(text, "undecided", reason, "computed", condition)
    return Premise(text, "undecided", f"hypothesis: {condition}{where}: {reason}", "computed", condition)


def _is_rounding(shown: Judgement) -> bool:
    """Whether a violation is so small, absolutely or relatively, that float64 does not show it."""
    return max(abs(shown.measured), abs(shown.bound)) < UNRESOLVED or abs(shown.margin) < UNRESOLVED

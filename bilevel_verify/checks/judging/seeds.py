"""Promises with a probability: the same run from many seeds, fixed in advance, and an exact binomial bound."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, Protocol

from bilevel_verify.checks.claims.claims import Judged, judge_claims
from bilevel_verify.checks.claims.values import ends
from bilevel_verify.checks.evidence.confirm import HIGH_BITS, is_visible
from bilevel_verify.checks.evidence.drift import DIGITS, MOST_CALLS
from bilevel_verify.checks.evidence.runs import recorded
from bilevel_verify.checks.instances import hypotheses as hyp
from bilevel_verify.checks.instances.functions import ProblemFunctions
from bilevel_verify.checks.judging.probability import Frequency, judge_frequency
from bilevel_verify.checks.judging.rows import as_claimed, marks_of, plain_row, readings_of
from bilevel_verify.checks.verdicts.verdict import Row, Verdict
from bilevel_verify.errors import BilevelVerifyError
from bilevel_verify.methods import METHODS
from bilevel_verify.methods.run import ENDED, Run
from bilevel_verify.numbers.rounding import precision
from bilevel_verify.theorems.card import Claim

if TYPE_CHECKING:
    from bilevel_verify.checks.instances.case import Case


class MakeRun(Protocol):
    """Makes the run of a case with other options."""

    def __call__(self, case: Case, **options: object) -> Run: ...


TRIALS = 100
"""Seeds of one row, unless the caller asks for more."""
TRIALS_LETTER = "trials"
"""Its name among the values that a caller gives."""
WEAKEST = ("not applicable", "refuted", "undecided", "holds")
"""Outcomes of the links of an event: the first of these that one of them has is that of the event."""


def probability_rows(case: Case, claims: list[Claim], run: MakeRun) -> list[Row]:
    """Rows of claims with a success probability.

    A seed whose run does not meet a condition (``where``) of a claim is no trial of that claim.

    Parameters
    ----------
    run : ``run(case, seed=...)`` makes the run of one seed.
    """
    if not claims:
        return []
    blocked = hyp.combine(case.premises) or (case.contained if _outside(case) else None)
    if blocked is not None:
        return [_row(case, claim, (blocked.verdict, blocked.reason), None) for claim in claims]
    if case.below_precision:
        return _rows_below_precision(case, claims, run)
    first = int(case.request.options.get("seed", 0))
    seeds = range(first, first + int(case.request.values.get(TRIALS_LETTER, TRIALS)))
    trials = [_trial(case, claims, run, seed) for seed in seeds]
    series = [[trial[number] for trial in trials] for number in range(len(claims))]
    return [_judged(case, claim, events, len(claims), run, first) for claim, events in zip(claims, series)]


def _outside(case: Case) -> bool:
    return case.contained is not None and case.contained.verdict != "holds"


def _rows_below_precision(case: Case, claims: list[Claim], run: MakeRun) -> list[Row]:
    """Rows at parameters that float64 does not resolve: decided only where the run is the same for every seed."""
    unknown: tuple[Verdict, str] = ("undecided", f"precision: {case.below_precision}")
    still = _run_that_stays(case, run)
    if still is None:
        return [_row(case, claim, unknown, None) for claim in claims]
    events = zip(claims, _outcomes(case, claims, still))
    return [_row(case, claim, *_sure(case, outcome, still.iterations)) for claim, outcome in events]


def _sure(case: Case, outcome: str, iterations: int) -> tuple[tuple[Verdict, str], Frequency | None]:
    """Outcome of an event that is the same for every seed."""
    seen = f"the run at printed parameters never leaves its start ({iterations} iterations in {case.digits} digits)"
    if outcome == "not applicable":
        return ("not applicable", "vacuous: no trial"), None
    if outcome != "refuted" or case.instance.local:
        kind = "local" if outcome == "refuted" else "precision"
        return ("undecided", f"{kind}: {case.below_precision}; {seen}"), None
    reason = f"{seen}, so that it draws no number: the same end for every seed, probability 0"
    return ("refuted", reason), Frequency("refuted", reason, 0, 1, 0.0, 0.0)


def _run_that_stays(case: Case, run: MakeRun) -> Run | None:
    """The whole run in many digits, if none of its iterates leaves the start (a perturbation would move them)."""
    if case.trajectory is None or not _stays(case.trajectory.run):
        return None
    try:
        found = run(case, digits=case.digits, record="all", budget={"calls": MOST_CALLS})
    except (BilevelVerifyError, ArithmeticError, NotImplementedError, TypeError):
        return None
    return found if found.status == "finished" and _stays(found) else None


def _stays(run: Run) -> bool:
    points = run.trace.x
    return run.trace.thinned_from is None and len(points) > 1 and bool((points == points[0]).all())


def _outcomes(case: Case, claims: list[Claim], found: Run) -> list[str]:
    """Outcome of every claim on one run, the weakest of its links."""
    judged = _judged_on(case, claims, found)
    return [_weakest([link for link in judged if link.claim is claim]) for claim in claims]


def _weakest(links: list[Judged]) -> str:
    """Outcome of an event from those of its links."""
    return min((link.tally.outcome()[0] for link in links), key=WEAKEST.index)


def _trial(case: Case, claims: list[Claim], run: MakeRun, seed: int) -> list[str]:
    """Outcome of every event for one seed (``not applicable``: no trial); a run that was cut short is a failure."""
    options: dict[str, Any] = {}
    if case.run is not None and case.run.compiled and case.run.method in METHODS:
        options["compiled"] = True  # the first run was too long for plain Python
    try:
        found = run(case, seed=seed, **options)
    except (BilevelVerifyError, ArithmeticError):
        return ["refuted"] * len(claims)
    if found.status not in ENDED:
        return ["refuted"] * len(claims)
    return _outcomes(case, claims, found)


def _judged_on(case: Case, claims: list[Claim], found: Run) -> list[Judged]:
    """Claims on another run of the same case."""
    trajectory = recorded(case, found)
    lam = None if case.functions is None else case.functions.lam
    functions = ProblemFunctions(case.problem, case.instance.truth, lam)
    one = replace(case, run=found, trajectory=trajectory, functions=functions, precise=functions)
    return judge_claims(claims, one.evaluator, trajectory, one.forget)


def _judged(case: Case, claim: Claim, events: list[str], rows: int, run: MakeRun, first: int) -> Row:
    """The row of one event. What is not decided for a seed counts as a success: it refutes nothing."""
    trials = [event for event in events if event != "not applicable"]
    if not trials:
        return _row(case, claim, ("not applicable", f"vacuous: no trial among {len(events)} seeds"), None)
    found = judge_frequency(len(trials) - trials.count("refuted"), len(trials), _promised(case, claim), rows)
    unknown = trials.count("undecided")
    reason = f"{found.reason}; {unknown} of them not decided" if unknown else found.reason
    outcome: tuple[Verdict, str] = (found.verdict, reason)
    if found.verdict == "refuted":
        outcome = _confirmed(case, claim, reason, run, first + events.index("refuted"))
    return _row(case, claim, outcome, found)


def _promised(case: Case, claim: Claim) -> float:
    """The lower end of the success probability that a claim promises."""
    assert claim.probability is not None
    return ends(case.evaluator(claim).scalar(claim.probability.tree, {}))[0]


def _confirmed(case: Case, claim: Claim, reason: str, run: MakeRun, seed: int) -> tuple[Verdict, str]:
    """A frequency too small is said only if a failure of float64 is one at the end of a run in many digits too."""
    if case.instance.local:
        return "undecided", f"local: {reason}"
    if any(premise.along for premise in case.premises):
        return "undecided", f"hypothesis: {reason}; conditions along the run are known of the first seed only"
    if callable(case.request.method):
        return "undecided", f"precision: {reason}; a solver of your own is not handed the seeds of the trials"
    try:
        with precision(HIGH_BITS):
            again = run(case, seed=seed, digits=DIGITS, budget={"calls": MOST_CALLS})
            judged = _judged_on(case, [claim], again)
    except (BilevelVerifyError, NotImplementedError, TypeError, ArithmeticError, MemoryError) as error:
        kind = type(error).__name__
        return "undecided", f"precision: {reason}; no run in {DIGITS} digits is available ({kind})"
    if again.status not in ENDED:
        return "undecided", f"budget: {reason}; the run of seed {seed} in {DIGITS} digits is too long"
    if _weakest(judged) != "refuted" or not any(is_visible(link.tally) for link in judged):
        return "undecided", f"precision: {reason}, but seed {seed} does not fail in {DIGITS} digits"
    return "refuted", f"{reason}; the failure of seed {seed} confirmed in {DIGITS} digits"


def _row(case: Case, claim: Claim, outcome: tuple[Verdict, str], found: Frequency | None) -> Row:
    event = " and ".join(str(link) for link in claim.chain)
    outcome = as_claimed(case, claim, outcome, *claim.chain)
    return plain_row(
        case,
        claim=claim.id,
        source=claim.source or case.request.statement.source or None,
        method=case.method,
        kind="probability",
        verdict=outcome[0],
        reason=outcome[1] or None,
        certainty="computed" if outcome[0] == "refuted" else None,
        left=f"probability({event})",
        right=str(claim.probability),
        measured=None if found is None else found.successes / found.trials,
        bound=None if found is None else _promised(case, claim),
        places=None if found is None else found.trials,
        where=None if case.eps is None else f"eps = {case.eps:g}",
        reading=readings_of(case, claim),
        as_printed=not (marks := marks_of(case, claim)),
        marks=marks,
        known_refuted=claim.refuted is not None,
        printed=next((text for text in claim.printed if text), None),
        stated=next((text for text in claim.stated if text), None),
        details={
            "op": ">=",
            "eps": case.eps,
            "seeds": None if found is None else found.trials,
            "interval": None if found is None else [found.lower, found.upper],
        },
    )

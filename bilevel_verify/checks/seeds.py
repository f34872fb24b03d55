"""Promises with a probability: the same run from many seeds, fixed in advance, and an exact binomial bound."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from bilevel_verify.checks import hypotheses as hyp
from bilevel_verify.checks.claims import judge_claims
from bilevel_verify.checks.functions import ProblemFunctions
from bilevel_verify.checks.probability import Frequency, judge_frequency
from bilevel_verify.checks.rows import plain_row, readings_of
from bilevel_verify.checks.trajectory import Trajectory
from bilevel_verify.checks.values import ends
from bilevel_verify.checks.verdict import Row, Verdict
from bilevel_verify.errors import BilevelVerifyError
from bilevel_verify.methods.run import Run
from bilevel_verify.theorems.card import Claim

if TYPE_CHECKING:
    from bilevel_verify.checks.case import Case

TRIALS = 100
"""Seeds of one row, unless the caller asks for more."""


def probability_rows(case: Case, claims: list[Claim], run: object) -> list[Row]:
    """Rows of claims with a success probability.

    Parameters
    ----------
    run : ``run(case, seed=...)`` makes the run of one seed.
    """
    if not claims:
        return []
    blocked = hyp.combine(case.premises) or (case.contained if _outside(case) else None)
    if blocked is not None:
        return [_row(case, claim, (blocked.verdict, blocked.reason), None) for claim in claims]
    if case.beneath:
        return [_row(case, claim, ("undecided", f"precision: {case.beneath}"), None) for claim in claims]
    first = int(case.request.options.get("seed", 0))
    trials = int(case.request.values.get("trials", TRIALS))
    successes = dict.fromkeys(range(len(claims)), 0)
    for seed in range(first, first + trials):
        for number, happened in enumerate(_trial(case, claims, run, seed)):
            successes[number] += happened
    return [_judged(case, claim, successes[number], trials, len(claims)) for number, claim in enumerate(claims)]


def _outside(case: Case) -> bool:
    return case.contained is not None and case.contained.verdict != "holds"


def _trial(case: Case, claims: list[Claim], run: object, seed: int) -> list[bool]:
    """Whether each event happened for one seed; a run that was cut short is a failure."""
    assert callable(run)
    try:
        found: Run = run(case, seed=seed)
    except (BilevelVerifyError, ArithmeticError):
        return [False] * len(claims)
    if found.status not in ("finished", "stationary"):
        return [False] * len(claims)
    trajectory = Trajectory(found)
    lam = None if case.functions is None else case.functions.lam
    functions = ProblemFunctions(case.problem, case.instance.truth, lam)
    one = replace(case, run=found, trajectory=trajectory, functions=functions, precise=functions)
    judged = judge_claims(claims, one.evaluator, trajectory, one.forget)
    return [all(j.tally.outcome()[0] == "holds" for j in judged if j.claim is claim) for claim in claims]


def _judged(case: Case, claim: Claim, successes: int, trials: int, rows: int) -> Row:
    assert claim.probability is not None
    promised, _ = ends(case.evaluator(claim).scalar(claim.probability.tree, {}))
    found = judge_frequency(successes, trials, promised, rows)
    verdict: Verdict = found.verdict
    if verdict == "refuted" and case.instance.local:
        return _row(case, claim, ("undecided", f"local: {found.reason}"), found)
    return _row(case, claim, (verdict, found.reason), found)


def _row(case: Case, claim: Claim, outcome: tuple[Verdict, str], found: Frequency | None) -> Row:
    event = " and ".join(str(link) for link in claim.chain)
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
        right=f">= {claim.probability}",
        measured=None if found is None else found.successes / found.trials,
        bound=None if found is None else found.upper,
        places=None if found is None else found.trials,
        where=None if case.eps is None else f"eps = {case.eps:g}",
        reading=readings_of(case, claim),
        as_printed=claim.as_printed,
        known_refuted=claim.refuted is not None,
        printed=claim.printed[0] if claim.printed else None,
        details={"eps": case.eps, "seeds": None if found is None else found.trials},
    )

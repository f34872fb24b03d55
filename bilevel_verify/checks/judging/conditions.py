"""Conditions that a statement assumes about all points, or about its parameters: each becomes a hypothesis.

Those about steps, epochs and the run are looked at along it (:mod:`.along`).
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from bilevel_verify.checks.claims.claims import judge_parameters
from bilevel_verify.checks.instances.premise import Premise
from bilevel_verify.checks.judging.attack import attack_claims
from bilevel_verify.checks.judging.rows import row_of, verdict_of
from bilevel_verify.checks.requests.request import assumed
from bilevel_verify.checks.verdicts.verdict import Row
from bilevel_verify.theorems.card import Claim, Statement
from bilevel_verify.truth.arithmetic.enclosure import is_witness, weakest

if TYPE_CHECKING:
    from bilevel_verify.checks.instances.case import Case


def judge_still_conditions(case: Case) -> None:
    """Judge the conditions that need no run, as if they were claimed, and add them to the premises of the case."""
    for entry in assumed(case.request.card, case.request.statement):
        for claim in (claim for claim in entry.claims if claim.assumed):  # a result is for its own rows
            if claim.is_order:
                text = f"{entry.id}, {claim.id}: {claim.chain[0]}"
                why = f"hypothesis: {entry.id}, {claim.id} is an order, which no instance shows"
                case.premises.append(Premise(text, "undecided", why, "computed", entry.id))
            elif claim.over in ("point", "parameters"):
                case.premises.append(_premise(case, entry, claim))


def is_given(case: Case, claim: Claim) -> bool:
    """Whether the letters of the claim were obtained by a proof of it (a number of the user's own proves nothing)."""
    letters = case.resolved.letters
    known = [letters[name] for name in claim.given_by if name in letters and name not in case.request.values]
    proved = [letter for letter in known if letter.certainty in ("proved", "certified") and not letter.chosen]
    return bool(claim.given_by) and len(proved) == len(claim.given_by)


def given(claim: Claim, text: str) -> Premise:
    """The hypothesis that a condition is which the proof of its letters gives."""
    return Premise(text, "holds", "", "proved", f"proof of {', '.join(claim.given_by)}")


def _premise(case: Case, entry: Statement, claim: Claim) -> Premise:
    """A condition that needs no run as a hypothesis; a chain is one."""
    text = f"{entry.id}, {claim.id}: {' and '.join(str(link) for link in claim.chain)}"
    if is_given(case, claim):
        return given(claim, text)
    rows = _rows(case, replace(claim, assumed=False))
    broken = next((row for row in rows if row.verdict == "refuted"), None)
    if broken is not None and is_witness(broken.certainty or "computed"):
        reason = f"{entry.id} is false on this problem: {broken.reason}"
        return Premise(text, "not applicable", reason, broken.certainty or "computed", entry.id, broken.margin)
    open_ = broken or next((row for row in rows if row.verdict != "holds"), None)
    if open_ is not None:
        why = f"hypothesis: {entry.id}, {claim.id}: {open_.reason}"
        return Premise(text, "undecided", why, "computed", entry.id, open_.margin)
    margins = [row.margin for row in rows if row.margin is not None]
    certainty = weakest(*(row.certainty for row in rows if row.certainty is not None))
    return Premise(text, "holds", "", certainty, entry.id, min(margins, default=None))


def _rows(case: Case, claim: Claim) -> list[Row]:
    if claim.over == "point":
        return attack_claims(case, [claim])
    found = judge_parameters([claim], case.evaluator)
    return [row_of(case, judged, verdict_of(case, judged, along_run=False)) for judged in found]

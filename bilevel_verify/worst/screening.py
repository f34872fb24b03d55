"""One candidate through the checker: its hypotheses, its run, and how much of every bound it uses up.

The sides of the claims are those of ``verify``, at the same places, as enclosures. Two things are left out, since a
search needs neither: the run in many digits that confirms a refutation, and, where a family states the minimum of phi,
the proof of it. What a search finds is judged again with both.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from math import inf
from typing import Any

import numpy as np

from bilevel_verify.checks.claims.claims import Judged, all_claims, judge_parameters
from bilevel_verify.checks.claims.decide import Judgement, ratio_of
from bilevel_verify.checks.claims.facts import rests_on_the_end
from bilevel_verify.checks.engine import prepare
from bilevel_verify.checks.instances import hypotheses as hyp
from bilevel_verify.checks.instances.case import Case
from bilevel_verify.checks.instances.instance import Instance
from bilevel_verify.checks.judging.along import BITS, places_of_run
from bilevel_verify.checks.judging.attack import attacked_places
from bilevel_verify.checks.judging.rows import status_reason
from bilevel_verify.checks.requests.request import Request
from bilevel_verify.errors import BilevelVerifyError
from bilevel_verify.methods.run import ENDED
from bilevel_verify.numbers.rounding import precision
from bilevel_verify.problems.numbers import read_knobs
from bilevel_verify.theorems.card import Claim
from bilevel_verify.theorems.card_parts import Link
from bilevel_verify.truth.arithmetic.enclosure import Certainty, Enclosure, weakest
from bilevel_verify.worst.family import Candidate

DRAWS, POLISH = 6, 10
"""Places drawn for a point claim on one candidate, and evaluations of the local search from the best of them."""


@dataclass(frozen=True, slots=True)
class Target:
    """One relation of a statement that is searched: a link of a claim, of its readings and repaired forms too."""

    claim: Claim
    link: Link
    number: int
    name: str

    @property
    def known_refuted(self) -> bool:
        """Whether the card records that it breaks."""
        return self.claim.refuted is not None


@dataclass(frozen=True, slots=True)
class Share:
    """How much of a bound a candidate uses up: ``ratio``, at the place with these sides."""

    ratio: float
    measured: float
    bound: float
    where: str
    certainty: Certainty


@dataclass(frozen=True, slots=True)
class Screened:
    """What became of a candidate: a share for every target that it decides, or why it was skipped."""

    shares: Mapping[str, Share] = field(default_factory=dict)
    skipped: str = ""
    places: int = 0


class StatedMinimum(Instance):
    """Truth as always, except that the minimum of phi is the one that the problem file states: quick and not proved."""

    def _truth(self, name: str, known: Mapping[str, Any]) -> Enclosure:
        stated = self.problem.known.get("minimum")
        if name not in ("delta", "Delta") or stated is None or self.without_truth:
            return super()._truth(name, known)
        if name not in self.asked:
            least = read_knobs({"minimum": stated}, self.problem.knobs)["minimum"]
            above = self.truth.phi(self.start)
            value = float(above.value) - float(least)
            self.asked[name] = Enclosure(max(value, 0.0), above.error, "computed", "the minimum that the family states")
        return self.asked[name]


def targets_of(request: Request) -> dict[str, Target]:
    """The relations of a statement that have two sides to compare, by the name of their rows.

    Orders name no constant, claims with a probability are about many runs, an equality has no room to be used up.
    """
    found: dict[str, Target] = {}
    for claim in all_claims(request.statement.claims):
        if claim.is_order or claim.probability is not None or claim.assumed:
            continue
        marks = f" ({', '.join(str(mark) for mark in claim.marks)})" if claim.marks else ""
        for number, link in enumerate(claim.chain):
            name = (claim.id if len(claim.chain) == 1 else f"{claim.id}/{number + 1}") + marks
            if link.op != "==" and name not in found:
                found[name] = Target(claim, link, number, name)
    return found


def screen(
    request: Request, targets: Sequence[Target], candidate: Candidate, provider: type[Instance] = StatedMinimum
) -> Screened:
    """The shares of a candidate. Nothing is raised for a candidate: what keeps it from being judged is its reason."""
    member = {} if candidate.eps is None else {"eps": candidate.eps}
    claims = list({id(target.claim): target.claim for target in targets}.values())
    try:
        case = prepare(request, candidate.problem, member, np.array(candidate.x0), provider)
        blocked = hyp.combine(case.premises)
        if blocked is not None:
            return Screened(skipped=blocked.reason)
        with precision(BITS):
            found = _judged(case, claims)
        blocked = hyp.combine([*case.premises, *([case.contained] if case.contained is not None else [])])
        if blocked is not None:
            return Screened(skipped=blocked.reason)
    except (BilevelVerifyError, ArithmeticError, NotImplementedError, TypeError, ValueError) as error:
        return Screened(skipped=str(error).splitlines()[0][:200] if str(error) else type(error).__name__)
    return _shares(case, targets, found)


def _judged(case: Case, claims: Sequence[Claim]) -> list[Judged]:
    """All links with their tallies, each claim over its own scope."""
    along = [claim for claim in claims if claim.over in ("step", "epoch", "run")]
    found = judge_parameters([claim for claim in claims if claim.over == "parameters"], case.evaluator)
    found += attacked_places(case, [claim for claim in claims if claim.over == "point"], DRAWS, POLISH)
    return found + (places_of_run(case, along) if along else [])


def _shares(case: Case, targets: Sequence[Target], found: Sequence[Judged]) -> Screened:
    tallies = {(id(judged.claim), judged.number): judged.tally for judged in found}
    premises = weakest(*(premise.certainty for premise in case.premises), "proved")
    shares, places = {}, 0
    for target in targets:
        tally = tallies.get((id(target.claim), target.number))
        if tally is None or (unfinished(case) and rests_on_the_end(target.claim)):
            continue
        places += tally.places
        closest = tally.closest
        if closest is not None and -inf < ratio_of(closest):
            shares[target.name] = _share(closest, premises)
    return Screened(shares, "" if shares else _nothing(case), places)


def _nothing(case: Case) -> str:
    """Why a candidate decides nothing: pseudo-code that cannot be carried out says where."""
    if case.run is not None and case.run.status == "interrupted" and case.run.note:
        return status_reason(case.run.status, case.run.note)
    return "no place decides a claim"


def unfinished(case: Case) -> bool:
    """Whether the end of the run was not seen: its budget cut it, or it was made in many digits and only begun."""
    if case.run is None or case.run.status not in ENDED:
        return case.run is not None
    return bool(case.below_precision) and not case.whole


def _share(closest: Judgement, premises: Certainty) -> Share:
    certainty = weakest(closest.certainty, premises)
    return Share(ratio_of(closest), closest.measured, closest.bound, closest.where, certainty)

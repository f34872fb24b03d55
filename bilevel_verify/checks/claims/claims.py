"""Claims along a run: every place of their scope, judged and collected."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

from bilevel_verify.checks.claims import values as v
from bilevel_verify.checks.claims.decide import Judgement, Tally, guarded, judge, undecided
from bilevel_verify.checks.claims.evaluate import INDICES, Evaluator
from bilevel_verify.checks.claims.facts import needs_epochs, rests_on_the_epoch
from bilevel_verify.checks.claims.formal import holds_formally
from bilevel_verify.checks.claims.recorded import HOW, NO_ROWS, RecordedRun
from bilevel_verify.checks.claims.values import Bound, EvaluationError, NoStepError
from bilevel_verify.errors import MathematicalError
from bilevel_verify.theorems.card import Claim
from bilevel_verify.theorems.card_parts import Domain, Link

MOST_PLACES = 5_000_000
MOST_WORK = 40_000_000
"""Work of judging the claims of one run: nodes of formulas evaluated, which are counted; load changes no verdict."""
PLACE_WORK, AGAIN_WORK = 10, 50
"""Work of a place besides the nodes of its formulas; how many times as much in balls of full precision."""


Seen = Callable[["Judged", Bound, Evaluator, Judgement], None]
"""Who looks on while places are judged: the relation, the place, the interpreter that decided, and what it said."""


@dataclass(frozen=True, slots=True)
class Judged:
    """One link of a claim with what all places said about it."""

    claim: Claim
    link: Link
    number: int
    tally: Tally
    evaluator: Evaluator
    again: Callable[[], Evaluator] | None = None
    """The interpreter in balls of full precision, for places that tabulated enclosures do not settle."""
    work: int = 1
    """Work of one place."""
    seen: Seen | None = None


def judge_claims(
    claims: list[Claim],
    evaluator_of: Callable[[Claim], Evaluator],
    trajectory: RecordedRun,
    forget: Callable[[], None],
    truncated: bool = False,
    work: int = MOST_WORK,
    again: Callable[[Claim], Evaluator] | None = None,
    seen: Seen | None = None,
) -> list[Judged]:
    """Judge step, epoch and run claims of one run, epoch by epoch in one pass.

    Parameters
    ----------
    evaluator_of : the interpreter for a claim (with its local definitions).
    forget : called after every epoch, to drop remembered values.
    truncated : the run was cut short; its last epoch is no epoch of the theorem, its steps are steps.
    work : counted, after which the rest of the places is given up, ``undecided: budget``.
    again : the interpreter in balls of full precision for a claim.
    seen : called at each place that was judged.
    """
    tools, found = tools_of(claims, evaluator_of, again, seen)
    epochs = trajectory.epochs
    lost = [j for j in found if trajectory.flat and needs_epochs(j.claim, trajectory.restarts)]
    give_up(lost, f"not recorded: epochs ({HOW})")
    open_ = [judged for judged in found if judged not in lost]
    if not epochs and not truncated:
        give_up([j for j in open_ if j.claim.over != "run"], f"not recorded: iterates ({NO_ROWS})")
    for epoch in epochs:
        if truncated and epoch == epochs[-1] and trajectory.k_end(epoch) == 0:
            break  # begun, but cut short before its first iteration
        if not trajectory.complete(epoch):
            give_up([j for j in open_ if j.claim.over != "run"], f"not recorded: epochs {epoch} on were thinned")
            break
        if worked(found) > work:
            reason = f"budget: epochs {epoch} to {epochs[-1]} were not judged"
            give_up([j for j in open_ if j.claim.over != "run"], reason)
            break
        for judged in open_:
            if judged.claim.over == "run" or (truncated and epoch == epochs[-1] and rests_on_the_epoch(judged.claim)):
                continue
            over_epoch(judged, trajectory, epoch)
        for _, tool in tools:
            tool.new_epoch()
        trajectory.forget()
        forget()
    for judged in open_:
        if judged.claim.over == "run":
            at_places(judged, [trajectory.end()])
    return found


def tools_of(
    claims: list[Claim],
    evaluator_of: Callable[[Claim], Evaluator],
    again: Callable[[Claim], Evaluator] | None = None,
    seen: Seen | None = None,
) -> tuple[list[tuple[Claim, Evaluator]], list[Judged]]:
    """The interpreter of every claim, and all links with empty tallies."""
    tools = [(claim, evaluator_of(claim)) for claim in claims]
    slow = {id(claim): _once(again, claim) for claim in claims}
    found = [
        Judged(c, link, number, Tally(), tool, slow[id(c)], _work_of(c, link), seen)
        for c, tool in tools
        for number, link in enumerate(c.chain)
    ]
    return tools, found


def worked(found: list[Judged]) -> int:
    """The work that was done so far."""
    return sum(judged.tally.work for judged in found)


def _work_of(claim: Claim, link: Link) -> int:
    trees = [link.left.tree, link.right.tree, *(condition.tree for condition in claim.where)]
    return PLACE_WORK + sum(1 for node in trees for _ in node.walk())


def _once(make: Callable[[Claim], Evaluator] | None, claim: Claim) -> Callable[[], Evaluator] | None:
    """A maker that makes its interpreter on first use only."""
    if make is None:
        return None
    made: list[Evaluator] = []

    def get() -> Evaluator:
        if not made:
            made.append(make(claim))
        return made[0]

    return get


def give_up(found: list[Judged], reason: str) -> None:
    """The rest of the places is undecided for this reason."""
    for judged in found:
        judged.tally.take(undecided(reason))


def judge_parameters(
    claims: list[Claim], evaluator_of: Callable[[Claim], Evaluator], seen: Seen | None = None
) -> list[Judged]:
    """Judge claims that need no run."""
    found = [(claim, evaluator_of(claim)) for claim in claims]
    judged = [
        Judged(c, link, number, Tally(), tool, seen=seen) for c, tool in found for number, link in enumerate(c.chain)
    ]
    for one in judged:
        at_places(one, [{}])
    return judged


def over_epoch(judged: Judged, trajectory: RecordedRun, epoch: int) -> None:
    """Judge a step or epoch claim at all its places in an epoch that is recorded."""
    claim = judged.claim
    bound: dict[str, Any] = {"t": epoch}
    if claim.over == "step" and "k" not in claim.for_:
        at_places(judged, [{"t": epoch, "k": k} for k in trajectory.steps(epoch)])
        return
    if claim.over == "epoch" and "k" not in claim.for_:
        bound["k"] = trajectory.k_end(epoch)
    at_places(judged, [bound])


def at_places(judged: Judged, starts: list[Bound]) -> None:
    """Judge a claim at some places, for all values of its quantified letters."""
    for start in starts:
        try:
            places = list(expand(judged.claim.for_, judged.evaluator, start))
        except MathematicalError as error:
            judged.tally.take(guarded(error, describe(start)))
            continue
        for place in places:
            if judged.tally.places >= MOST_PLACES:
                return
            _at_place(judged, place)


def _at_place(judged: Judged, place: Bound) -> None:
    """Judge one place; what tabulated enclosures do not show to hold is judged again in full precision."""
    tool = judged.evaluator
    found = _judge_at(judged, tool, place)
    judged.tally.work += judged.work
    if found is not None and found.answer is not True and judged.again is not None:
        tool = judged.again()
        tool.new_epoch()
        judged.tally.work += AGAIN_WORK * judged.work
        found = _judge_at(judged, tool, place)
    if found is None:
        judged.tally.skip(tool.certainty)
    else:
        judged.tally.take(found, v.index_at(place, "t") if "t" in place else None)
        if judged.seen is not None:
            judged.seen(judged, place, tool, found)


def _judge_at(judged: Judged, evaluator: Evaluator, place: Bound) -> Judgement | None:
    """The judgement at a place; None where a condition of the claim is false."""
    evaluator.reset()
    where = describe({n: at for n, at in place.items() if n != "t"} if judged.claim.over == "run" else place)
    try:
        answer = v.conjunction([evaluator.answer(condition.tree, place) for condition in judged.claim.where])
        if answer is False:
            return None
        if answer is None:
            return guarded(EvaluationError("tie: a condition of the claim is not decided"), where)
        left, right = evaluator.value(judged.link.left.tree, place), evaluator.value(judged.link.right.tree, place)
        return decided(judged.link, judge(left, judged.link.op, right, evaluator.certainty, where), evaluator, place)
    except NoStepError as error:
        return guarded(error, where) if judged.claim.over == "run" else None
    except MathematicalError as error:
        return guarded(error, where)


def decided(link: Link, found: Judgement, evaluator: Evaluator, place: Bound) -> Judgement:
    """A judgement, or that the relation holds by its form where enclosures leave it open."""
    if not holds_formally(link, found, evaluator, place):
        return found
    return replace(found, answer=True, margin=0.0, reason="")


def expand(ranges: Mapping[str, Domain], evaluator: Evaluator, start: Bound) -> Iterator[Bound]:
    """All places of the quantified integer letters, from a start.

    Raises
    ------
    EvaluationError : a range that is not one of integers, or whose ends have no value.
    """
    plain = {name: domain for name, domain in ranges.items() if domain.kind == "integers"}
    if len(plain) < len(ranges):
        other = next(name for name in ranges if name not in plain)
        raise EvaluationError(f"budget: {other} ranges over {ranges[other]}, which is attacked and not enumerated")
    places = [dict(start)]
    for name, domain in plain.items():
        places = [
            {**place, name: number} for place in places for number in range(*_ends(name, domain, evaluator, place))
        ]
    yield from places


def _ends(name: str, domain: Domain, evaluator: Evaluator, place: Bound) -> tuple[int, int]:
    if domain.lower is None or domain.upper is None:
        raise EvaluationError(f"budget: the range of {name} has no end")
    low = v.integer(v.floor_of(evaluator.scalar(domain.lower.tree, place), upwards=True), f"the range of {name}")
    high = v.integer(v.floor_of(evaluator.scalar(domain.upper.tree, place)), f"the range of {name}")
    return low, high + 1


def describe(place: Bound) -> str:
    """A place as text: ``epoch 3, k = 17``."""
    parts = []
    for name, number in place.items():
        if type(number) is int or isinstance(number, INDICES):
            parts.append(f"epoch {number}" if name == "t" else f"{name} = {number}")
    return ", ".join(parts)


def all_claims(claims: tuple[Claim, ...]) -> list[Claim]:
    """Claims as printed, then their readings, then their repaired forms."""
    found = list(claims)
    found += [reading for claim in claims for reading in claim.readings]
    found += [claim.repaired for claim in claims if claim.repaired is not None]
    return found


def letters_used(claims: list[Claim]) -> set[str]:
    """Letters that the claims mention, quantified and local ones left out."""
    from bilevel_verify.theorems.rewrite import free_letters

    found: set[str] = set()
    for claim in claims:
        trees: list[Any] = [side.tree for link in claim.chain for side in (link.left, link.right)]
        trees += [condition.tree for condition in claim.where]
        trees += [definition.tree for definition in claim.define.values()]
        if claim.probability is not None:
            trees.append(claim.probability.tree)
        for domain in claim.for_.values():
            trees += [end.tree for end in (domain.lower, domain.upper) if end is not None]
        local = set(claim.for_) | set(claim.define)
        for tree in trees:
            found |= free_letters(tree) - local
    return found

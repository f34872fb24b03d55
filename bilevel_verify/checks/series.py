"""Every place of a claim along a run, one by one: what a row of verdicts sums up."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from math import isfinite
from typing import Any

from bilevel_verify.checks.claims.claims import Judged, all_claims, at_places, over_epoch
from bilevel_verify.checks.claims.decide import Judgement, Tally
from bilevel_verify.checks.engine import check_instance, letters_needed, requests_of
from bilevel_verify.checks.instances.case import Case
from bilevel_verify.checks.judging.along import BITS
from bilevel_verify.checks.requests.request import instance_problem, members
from bilevel_verify.checks.requests.starts import default_starts, point_of
from bilevel_verify.checks.solvers.kinds import need_eps
from bilevel_verify.checks.solvers.running import DEFAULT_BUDGET
from bilevel_verify.errors import InputError
from bilevel_verify.language import nearest
from bilevel_verify.numbers.rounding import precision

SCOPES = ("step", "epoch", "run")


@dataclass(frozen=True, slots=True)
class Series:
    """One relation at all its places along one run, in the order of the run.

    Attributes
    ----------
    over : ``step``, ``epoch`` or ``run``. ``left``, ``right`` : both sides as text.
    judgements : one a place; ``measured`` and ``bound`` are NaN where a side has no value.
    restarts : numbers of the places that open a new epoch.
    """

    statement: str
    claim: str
    over: str
    left: str
    right: str
    judgements: tuple[Judgement, ...]
    restarts: tuple[int, ...] = ()

    @property
    def tightest(self) -> int | None:
        """The place with the smallest margin, 0 against 0 apart; None if no place was decided."""
        places = enumerate(self.judgements)
        decided = [i for i, j in places if isfinite(j.margin) and (j.measured != 0 or j.bound != 0)]
        return min(decided, key=lambda i: self.judgements[i].margin, default=None)


@dataclass
class _Recording(Tally):
    """A tally that forgets nothing."""

    kept: list[Judgement] = field(default_factory=list)

    def take(self, judgement: Judgement, epoch: int | None = None) -> None:
        self.kept.append(judgement)
        super().take(judgement, epoch)


def series_of(
    problem: Any,
    statement: str,
    claim: str | None = None,
    *,
    eps: float | None = None,
    method: str | Callable[..., object] | None = None,
    x0: Any = None,
    parameters: Mapping[str, object] | None = None,
    values: Mapping[str, object] | None = None,
    readings: Sequence[str] | None = None,
    **options: object,
) -> list[Series]:
    """The claims of one statement along one run, place by place; the parameters are those of ``verify``.

    A place says whether the relation holds there; whether the claim *holds* depends on the hypotheses too, and is the
    word of ``verify`` alone.

    Parameters
    ----------
    claim : only this one; by default every claim over steps, epochs or runs.

    Raises
    ------
    InputError : several tolerances, no such claim, or a run that could not be made.
    """
    if eps is not None and not isinstance(eps, int | float):
        raise InputError("eps: one tolerance, a run is looked at by itself")
    run_options = {"budget": DEFAULT_BUDGET, "seed": 0, "record": "all", **options}
    found: list[Series] = []
    known: list[str] = []
    for request in requests_of(problem, statement, method, parameters, values, readings, run_options):
        member = members(eps, None)[0]
        claims = [
            c for c in all_claims(request.statement.claims) if c.over in ("step", "epoch", "run") and not c.is_order
        ]
        known += [c.id for c in claims]
        chosen = [c for c in claims if claim is None or c.id == claim]
        if not chosen:
            continue
        need_eps(request, member, letters_needed(request))
        instance = instance_problem(request.family, member)
        start = (default_starts(instance) if x0 is None else point_of(instance, x0))[0]
        case = check_instance(request, instance, member, start)
        if case.trajectory is None:
            raise InputError(f"{request.name}: there is no run to look at: {case.trouble or 'a hypothesis fails'}")
        with precision(BITS):
            found += [_looked_at(case, judged, request.name) for judged in _links(case, chosen)]
    if not found:
        if not known:
            raise InputError(
                f"{statement}: none of its claims is over steps, epochs or runs; `margins` draws any claim"
            )
        near = nearest(claim or "", known) or ";"
        raise InputError(f"{statement}: no claim {claim or ''!r}{near} there are {', '.join(dict.fromkeys(known))}")
    return found


def _links(case: Case, claims: Sequence[Any]) -> list[Judged]:
    return [Judged(c, link, n, _Recording(), case.evaluator(c)) for c in claims for n, link in enumerate(c.chain)]


def _looked_at(case: Case, judged: Judged, name: str) -> Series:
    assert case.trajectory is not None
    assert isinstance(judged.tally, _Recording)
    restarts = []
    if judged.claim.over == "run":
        at_places(judged, [case.trajectory.end()])
    else:
        for epoch in (e for e in case.trajectory.epochs if case.trajectory.complete(e)):
            if judged.tally.kept:
                restarts.append(len(judged.tally.kept))
            over_epoch(judged, case.trajectory, epoch)
            judged.evaluator.new_epoch()
    kept = tuple(judged.tally.kept)
    sides = str(judged.link.left), f"{judged.link.op} {judged.link.right}"
    return Series(name, judged.claim.id, judged.claim.over, *sides, kept, tuple(restarts))

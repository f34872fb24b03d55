"""A short attack on the claims of one statement: the corners of every family that fits, then drawn candidates.

The work is a number of candidates, never a time. Only what breaks a bound in the search is judged again by ``verify``.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import zip_longest

from bilevel_verify.theorems.card import Card, Statement
from bilevel_verify.worst.corners import corners
from bilevel_verify.worst.family import Family
from bilevel_verify.worst.finding import fitting, judged_again, needs_eps, request_for
from bilevel_verify.worst.memory import Memory
from bilevel_verify.worst.screening import Target, targets_of
from bilevel_verify.worst.search import Exhausted, Search
from bilevel_verify.worst.tightness import Tightness

SCOPES = ("point", "step", "epoch", "run")
"""Claims that are about instances; those over parameters are decided without one."""
RUN = 2_000
"""Most oracle calls of one run of an attack."""


@dataclass(frozen=True, slots=True)
class Attacked:
    """What an attack on a statement saw.

    Attributes
    ----------
    targets : the relations that were attacked. ``claims`` : name of a relation -> its largest share; one above 1 was
        judged again.
    survived : name of a relation -> candidates that decided it. ``tried`` : candidates. ``skipped`` : reason -> how
        many were left out for it.
    """

    targets: tuple[Target, ...]
    claims: Mapping[str, Tightness]
    survived: Mapping[str, int]
    tried: int
    skipped: Mapping[str, int]


def attack(card: Card, entry: Statement, *, candidates: int, seed: int = 0, budget: int = RUN) -> Attacked:
    """Attack every claim of a statement that is about points, steps, epochs or runs.

    Parameters
    ----------
    candidates : instances that are tried, over all families that fit. ``budget`` : most oracle calls of one run.

    Raises
    ------
    InputError : no family fits.
    """
    request = request_for((card, entry), budget=budget, seed=seed)
    targets = tuple(t for t in targets_of(request).values() if t.claim.over in SCOPES)
    if not targets:
        return Attacked((), {}, {}, 0, {})
    families, with_eps = sorted(fitting(request, None), key=_smooth), needs_eps(request)
    search = Search(request, targets, families, Memory(None, {}), None, with_eps, candidates, seed=seed)
    at_corners(search)
    search.sample()
    found = {name: _tightness(search, name, (card, entry)) for name in search.best}
    counts = {target.name: sum(name == target.name for _, name, _, _ in search.history) for target in targets}
    return Attacked(targets, found, counts, search.tried, dict(search.skipped))


def _smooth(family: Family) -> bool:
    """Quadratics first: they meet hypotheses on smoothness of every order."""
    return "quadratic" not in family.name


def at_corners(search: Search) -> None:
    """The corners of all families in turn, as far as the candidates go."""
    try:
        for row in zip_longest(*(corners(family, search.with_eps) for family in search.families)):
            for family, point in zip(search.families, row, strict=True):
                if point is not None:
                    search.shares(family, point)
    except Exhausted:
        return


def _tightness(search: Search, name: str, statement: tuple[Card, Statement]) -> Tightness:
    """The largest share of a relation; judged again by ``verify`` if it breaks the bound."""
    target = next(one for one in search.targets if one.name == name)
    best = search.best[name]
    if best.share.ratio > 1:
        return judged_again(search, target, best, statement)
    return Tightness(name, str(target.link), best.share, search.candidate(best), None, None, target.known_refuted)

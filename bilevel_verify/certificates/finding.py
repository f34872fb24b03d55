"""``certify``: a certificate for a scalar claim, whichever engine decided it; data that ``bilevel_check`` accepts, or none."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from bilevel_check import check
from bilevel_check.context import Context
from bilevel_check.rules import reached
from bilevel_check.terms import Refused, work
from bilevel_verify.audit.scalar.claim import ScalarClaim
from bilevel_verify.certificates.draft import Draft
from bilevel_verify.certificates.statement import NotStated, statement_of
from bilevel_verify.certificates.strategies import Search

EFFORT = 6_000_000
"""Counted steps of the checker's ring that one search may take."""


@dataclass(frozen=True, slots=True)
class Certificate:
    """A certificate that the small checker accepts.

    Attributes
    ----------
    text : JSON.
    shows : ``proved`` or ``refuted``.
    short : the last identity in one line, "" where it is long.
    """

    text: str
    shows: str
    short: str = ""


def certify(
    claim: ScalarClaim,
    vectors: tuple[str, ...] = (),
    point: Mapping[str, Fraction] | None = None,
    about: Mapping[str, str] | None = None,
    effort: int = EFFORT,
) -> Certificate | None:
    """A certificate for a claim, or for its counterexample where a ``point`` is given.

    Parameters
    ----------
    claim : relation, ranges and hypotheses as in the card.
    vectors : letters that are vectors.
    about : where it comes from, for the reader; the checker does not look at it.
    effort : counted steps of the search.

    Returns
    -------
    Certificate : accepted by ``bilevel_check``; None where none was found.
    """
    try:
        statement = statement_of(claim, vectors)
    except NotStated:
        return None
    data: dict[str, Any] = {"about": dict(about or {}), "statement": statement}
    if point is not None:
        if vectors:
            return None
        data["counterexample"] = {name: str(point.get(name, "")) for name in statement["letters"]}
        return accepted(data)
    determined = lets(statement)
    for let in [determined, []] if determined else [[]]:
        lines = _search(statement, let, effort)
        if lines is not None:
            found = accepted({**data, **({"let": let} if let else {}), "proof": lines})
            if found is not None:
                return found
    return None


def accepted(data: dict[str, Any]) -> Certificate | None:
    """The certificate, if the checker accepts it."""
    text = json.dumps(data, separators=(",", ":"))
    verdict = check(text)
    return Certificate(text, verdict.shows) if verdict.accepted else None


def lets(statement: dict[str, Any]) -> list[int]:
    """Places of hypotheses ``letter == formula`` that determine a letter each."""
    from bilevel_check.check import _without

    found: list[int] = []
    sorts, conditions, claim = statement["letters"], statement["hypotheses"], statement["claim"]
    for place in range(len(conditions)):
        try:
            _without(sorts, conditions, claim, [*found, place])
        except (Refused, ValueError, TypeError):
            continue
        found.append(place)
    return found


def _search(statement: dict[str, Any], let: list[int], effort: int) -> list[Any] | None:
    from bilevel_check.check import _without

    work.left = effort
    try:
        sorts, conditions, claim = _without(statement["letters"], statement["hypotheses"], statement["claim"], let)
        draft = Draft(Context(sorts), conditions)
        Search().prove(draft, claim)
        return draft.lines if reached(draft.at, claim) else None
    except Refused:
        return None
    finally:
        work.start()

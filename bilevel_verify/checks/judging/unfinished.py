"""Rows of what the end of the time broke off: undecided, and the reason names the seconds."""

from __future__ import annotations

from bilevel_verify.checks.claims.claims import all_claims
from bilevel_verify.checks.requests.request import Request
from bilevel_verify.checks.verdicts.verdict import Row


def unjudged_rows(request: Request, ended: str) -> list[Row]:
    """One row for each claim of a statement that was not judged to its end.

    Parameters
    ----------
    ended : how the end of the time is named.
    """
    statement, problem = request.statement, request.family
    name = problem if isinstance(problem, str) else getattr(problem, "name", None)
    claims = dict.fromkeys((claim.id, claim.source, claim.over) for claim in all_claims(statement.claims))
    return [
        Row(
            paper=request.card.key,
            statement=statement.id,
            claim=claim,
            source=source or statement.source or None,
            problem=name or None,
            method=None,
            kind=kind,
            verdict="undecided",
            reason=f"time: {ended} before this was judged",
        )
        for claim, source, kind in claims or [(None, "", "hypothesis")]
    ]

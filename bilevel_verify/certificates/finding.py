"""``certify``: a certificate for a scalar claim, whichever engine decided it, that ``bilevel_check`` accepts."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from itertools import product
from pathlib import Path
from typing import Any

from bilevel_check import check
from bilevel_check.context import Context
from bilevel_check.rules import reached
from bilevel_check.terms import WORK, Refused, work
from bilevel_verify.audit.scalar.claim import ScalarClaim
from bilevel_verify.certificates.draft import Draft, determined, pruned, replaced
from bilevel_verify.certificates.statement import NotStated, node_of, statement_of
from bilevel_verify.certificates.strategies import Search
from bilevel_verify.errors import InputError
from bilevel_verify.language import to_text

LONGEST = 160
"""Characters of a certificate that is shown in a row."""
EFFORT, EAGER = 1_300_000, 3
"""Counted steps of the checker's ring that one search may take; quarters of them for an eager one, the second."""


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


def write(folder: Path, name: str, text: str) -> str:
    """Write a file of certificates into a folder, which is made; its name.

    Raises
    ------
    InputError : the folder cannot be written.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text, encoding="utf-8")
    except OSError as error:
        raise InputError(f"{folder}: {error.strerror or error}: choose another folder for certificates") from None
    return name


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
        data["counterexample"] = _values(statement, point)
        return accepted(data)
    return proved(data, effort)


def proved(data: dict[str, Any], effort: int = EFFORT) -> Certificate | None:
    """A certificate with a proof for ``about`` and ``statement`` as they stand in it; None where none was found."""
    statement = data["statement"]
    own = lets(statement)
    for let, eager in product([own, []] if own else [[]], (False, True)):
        lines = _search(statement, let, effort * EAGER // 4 if eager else effort, eager)
        for proof in [] if lines is None else (pruned(lines), lines):
            found = accepted({**data, **({"let": let} if let else {}), "proof": proof})
            if found is not None:
                return found
    return None


def _values(statement: dict[str, Any], point: Mapping[str, Fraction]) -> dict[str, str | list[str]]:
    """A value for every letter: the point's, or the formula that a hypothesis gives for it there."""
    values: dict[str, Any] = {name: str(point[name]) for name in statement["letters"] if name in point}
    for op, name, formula in (one for one in statement["hypotheses"] if one[0] != "or"):
        if op == "==" and isinstance(name, str) and name in statement["letters"] and name not in values:
            values[name] = replaced(formula, values)
    return values


def accepted(data: dict[str, Any]) -> Certificate | None:
    """The certificate, if the checker accepts it."""
    text = json.dumps(data, separators=(",", ":"))
    verdict = check(text)
    return Certificate(text, verdict.shows, short(data.get("proof", []))) if verdict.accepted else None


def short(lines: list[Any]) -> str:
    """The last line as one identity, "" where it is long or none."""
    if not lines or lines[-1][0] != "identity" or len(lines[-1]) > 3:
        return ""
    facts = [line for line in lines[:-1] if line[0] in ("hypothesis", "identity", "boxes", "known")]
    if len(facts) < len(lines) - 1:  # other rules add facts that have no name here
        return ""
    parts = []
    for cofactor, places, squares in lines[-1][2]:
        names = [f"g{place}" for place in places] + [f"({to_text(node_of(square))})**2" for square in squares]
        parts.append("*".join([f"({to_text(node_of(cofactor))})", *names]))
    text = f"difference = {' + '.join(parts) or 0}, g = facts of the certificate in their order"
    return text if len(text) <= LONGEST else ""


def lets(statement: dict[str, Any]) -> list[int]:
    """Places of hypotheses ``letter == formula`` that determine a letter each."""
    found: list[int] = []
    for place in range(len(statement["hypotheses"])):
        try:
            determined(statement, [*found, place])
        except (Refused, ValueError, TypeError, KeyError):
            continue
        found.append(place)
    return found


def _search(statement: dict[str, object], let: list[int], effort: int, eager: bool) -> list[object] | None:
    work.left = effort
    try:
        sorts, conditions, claim = determined(statement, let)
        draft = Draft(Context(sorts), conditions)
        Search(eager=eager).prove(draft, claim)
        return draft.lines if reached(draft.at, claim) else None
    except Refused:
        return None
    finally:
        work.left = WORK

"""What is to be verified: statements found by name, tolerances, the instances of a family."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from bilevel_verify.errors import InputError
from bilevel_verify.problems.family import LETTERS
from bilevel_verify.problems.problem import Problem
from bilevel_verify.theorems.card import Card, Statement
from bilevel_verify.theorems.library import find_statement, load_card


@dataclass(frozen=True)
class Request:
    """What the caller asked for, the same for every instance of a sweep."""

    card: Card
    statement: Statement
    method: str | Callable[..., Any] | None = None
    parameters: Mapping[str, Any] = field(default_factory=dict)
    values: Mapping[str, Any] = field(default_factory=dict)
    readings: tuple[str, ...] | None = None
    options: Mapping[str, Any] = field(default_factory=dict)
    family: Any = None
    label: str = ""

    @property
    def name(self) -> str:
        """ "paper/statement"."""
        only = self.statement.title if self.statement.title.startswith(":") else ""
        return f"{self.card.key}/{self.statement.id}{only}"


def statements_of(statement: Path | Card | str | tuple[Card, Statement]) -> list[tuple[Card, Statement]]:
    """The statements that a caller's argument names.

    Raises
    ------
    InputError : nothing to verify under that name.
    """
    if isinstance(statement, Card):
        found = [(statement, entry) for entry in statement.statements if entry.claims]
    elif isinstance(statement, tuple) and len(statement) == 2:
        if not (isinstance(statement[0], Card) and isinstance(statement[1], Statement)):
            raise InputError("a statement is named by a text, or given as a card and a statement of it")
        found = [statement]
    else:
        text = str(statement)
        if Path(text).suffix == ".toml" or "/" not in text:
            return statements_of(load_card(text))
        name, _, wanted = text.partition(":")
        one_card, entry = find_statement(name)
        if not isinstance(entry, Statement):
            raise InputError(f"{text} is {entry.kind}, not a statement with claims; see bilevel-verify audit")
        found = [(one_card, _only(entry, wanted))]
    if not found:
        raise InputError(f"{statement}: no statement with claims")
    return found


def _only(entry: Statement, claims: str) -> Statement:
    """The statement with one of its claims ("paper/id:claim"), with several ("paper/id:one,two"), or with all."""
    if not claims:
        return entry
    wanted = [claim.strip() for claim in claims.split(",")]
    for claim in wanted:
        if all(c.id != claim for c in entry.claims):
            raise InputError(f"{entry.id} has no claim {claim!r}; it has {', '.join(c.id for c in entry.claims)}")
    return replace(entry, claims=tuple(c for c in entry.claims if c.id in wanted), title=f":{','.join(wanted)}")


def with_settings(card: Card, statement: Statement) -> Statement:
    """A lemma about a method without parameters of its own takes those of the card's theorem on that method."""
    if not statement.method or statement.settings or statement.parameters:
        return statement
    for donor in card.statements:
        if donor.method == statement.method and (donor.settings or donor.parameters) and donor is not statement:
            readings = statement.readings or donor.readings
            return replace(statement, settings=donor.settings, parameters=donor.parameters, readings=readings)
    return statement


def tolerances(eps: float | Sequence[float] | None) -> list[float | None]:
    """Tolerances as a list, largest first.

    Raises
    ------
    InputError : one that is not a positive finite number.
    """
    if eps is None:
        return [None]
    numbers = [float(e) for e in (eps if isinstance(eps, Sequence | np.ndarray) else [eps])]
    if not numbers or any(not np.isfinite(e) or e <= 0 for e in numbers):
        raise InputError(f"eps must be positive and finite, not {eps}")
    return list[float | None](sorted(set(numbers), reverse=True))


HORIZONS = ("K", "T")
"""Letters that may be swept though no family depends on them: the length of the run."""
Member = Mapping[str, float]
"""Letters of one instance of a sweep: ``eps``, and what the family depends on."""


def members(eps: float | Sequence[float] | None, sweep: Mapping[str, Sequence[float]] | None) -> list[Member]:
    """The instances of a sweep: every tolerance with every value of the one other letter that is swept.

    Raises
    ------
    InputError : more than one other letter, or a letter that no family knows.
    """
    others = dict(sweep or {})
    known = [name for name in (*LETTERS, *HORIZONS) if name != "eps"]
    if len(others) > 1 or any(name not in known for name in others):
        raise InputError(f"sweep= takes one of {', '.join(known)}, not {sorted(others)}")
    found: list[Member] = []
    for one in tolerances(eps):
        base = {} if one is None else {"eps": one}
        if not others:
            found.append(base)
        for name, numbers in others.items():
            found += [{**base, name: float(number)} for number in sorted(numbers)]
    return found


def instance_problem(family: Problem | str, member: Member) -> Problem:
    """The problem of a sweep for the letters of one instance.

    Raises
    ------
    InputError : a family without its letters, or something that is no problem.
    """
    if isinstance(family, Problem):
        for name in member:
            if name in LETTERS and name != "eps" and name not in HORIZONS:
                raise InputError(
                    f"sweep: {name} changes nothing of {family.name or 'this problem'}, which is no family"
                )
        return family
    if isinstance(family, str):
        from bilevel_verify.problems.catalogue import zoo

        return instance_problem(zoo(family.removeprefix("zoo:")), member)
    at = getattr(family, "at", family if callable(family) else None)
    if at is None:
        raise InputError(f"{family!r} is neither a problem, a family, nor the name of a zoo entry")
    found = at(**{name: number for name, number in member.items() if name not in HORIZONS})
    if not isinstance(found, Problem):
        raise InputError("a family must give a problem for every value of its letters")
    return found


def assumed(card: Card, statement: Statement) -> list[Statement]:
    """Conditions that a statement assumes and that have claims of their own (checked along the run)."""
    entries = [card.entries.get(name) for name in statement.assumes]
    return [entry for entry in entries if isinstance(entry, Statement) and entry.claims]

"""The auditor: every entry of a card through every engine that applies to it.

Runs (claims along trajectories, attacks on lemmas) are the business of ``checks``; here is what needs the text alone.
"""

from __future__ import annotations

import math
import shlex
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from bilevel_verify.audit.findings.finding import Finding
from bilevel_verify.audit.limits import MEMORY, memory_limit
from bilevel_verify.audit.pool import shared
from bilevel_verify.checks.verdicts.counting import count_of, in_order
from bilevel_verify.checks.verdicts.verdict import Row
from bilevel_verify.errors import CardError, InputError
from bilevel_verify.installation import theory_directory
from bilevel_verify.theorems.card import Card, Entry
from bilevel_verify.theorems.library import cards, load_card

Progress = Callable[[str, int, int], None]
OnError = Callable[[CardError], None]
FULL, QUICK = 20.0, 2.0
"""Effort for one link in a full and in a quick audit: seconds of an idle machine, counted and not measured."""


@dataclass(frozen=True, slots=True)
class Options:
    """How hard to try: effort for one link, seed of the attacks, whether to look for repairs."""

    budget: float = FULL
    seed: int = 0
    repairs: bool = True


def audit(
    paper: str | Path | Card | Sequence[str | Path | Card] | None = None,
    *,
    statement: str | None = None,
    budget: float | None = None,
    seed: int = 0,
    progress: Progress | None = None,
    quick: bool = False,
    jobs: int = 1,
    on_error: OnError | None = None,
    memory: float = MEMORY,
) -> list[Finding]:
    """Judge every printed formula of a paper that can be judged without a run.

    Parameters
    ----------
    paper : key of a shipped card, path of a card file, a card, several of them, or None for all shipped cards.
    statement : only this entry.
    budget : effort of the engines for each link, in seconds of an idle machine that are counted and not measured, so
        that the load changes no verdict (20; 2 if ``quick``).
    memory : bytes that the engines may use; a relation for which they are not enough is ``undecided: budget``.
    seed : of the attacks.
    progress : called with (entry, done, total).
    quick : small budgets, and no search for repairs.
    jobs : processes that share the entries.
    on_error : called with the error of a card that cannot be read, the others go on; without it the error is raised
        (a shipped card that cannot be read is left out where all cards are audited).

    Raises
    ------
    CardError : the card cannot be read; names the card, the statement, the field and the fix. No such statement.
    """
    if budget is not None and not 0 < budget < math.inf:
        raise InputError(f"audit: budget must be positive and finite, not {budget}")
    options = Options(budget or (QUICK if quick else FULL), seed, not quick)
    chosen = _chosen(paper, on_error)
    for card in chosen:
        _methods_known(card)
    entries = ((card, name) for card in chosen for name in card.entries)
    tasks = [(card, name, options) for card, name in entries if statement in (None, name)]
    if statement is not None and not tasks:
        from bilevel_verify.language import nearest

        known = {name for card in chosen for name in card.entries}
        raise CardError(f"no statement {statement!r}{nearest(statement, known)}; list statements shows their names")

    def done(number: int, count: int) -> None:
        if progress is not None:
            card, name, _ = tasks[number]
            progress(f"{card.key}/{name}", count, len(tasks))

    with memory_limit(memory):
        return [finding for part in shared(_task, tasks, jobs, done) for finding in part]


def _methods_known(card: Card) -> None:
    """A method that is nearly one of ours is a slip; anything else is a name that the paper has for a method.

    Raises
    ------
    CardError : there is such a slip.
    """
    from bilevel_verify.language import nearest
    from bilevel_verify.methods import METHODS

    for statement in card.statements:
        name = (statement.method or "").partition(":")[0]
        if not name or "+" in name or name in METHODS or name != name.lower() or " " in name:
            continue
        hint = nearest(name, METHODS)
        if hint and name not in {algorithm.id for algorithm in card.algorithms}:
            raise CardError(f"{card.key}/{statement.id}: method: no method is called {name!r}{hint}")


def findings_of(
    card: Card, entry: Entry, *, budget: float = FULL, seed: int = 0, repairs: bool = False
) -> list[Finding]:
    """All findings about one entry: units, links, definedness, bookkeeping, pseudo-code, identities, records."""
    from bilevel_verify.audit.entries.bookkeeping import bookkeeping_findings
    from bilevel_verify.audit.entries.drafted import margin_findings
    from bilevel_verify.audit.entries.links import link_findings
    from bilevel_verify.audit.entries.ranges import range_findings
    from bilevel_verify.audit.entries.text import executability_findings
    from bilevel_verify.audit.findings.records import with_records
    from bilevel_verify.audit.identities.identities import identity_findings
    from bilevel_verify.audit.units.homogeneity import unit_findings

    options = Options(budget, seed, repairs)
    found = list(unit_findings(card, entry))
    found += list(link_findings(card, entry, options.budget, seed, options.repairs))
    found += list(range_findings(card, entry, seed))
    found += list(bookkeeping_findings(card, entry, seed))
    found += list(executability_findings(card, entry))
    found += list(identity_findings(card, entry, seed, attack=budget > QUICK))
    found += margin_findings(card, entry)
    again = _command(card, entry, options)
    return [
        finding if finding.row.reproduce else replace(finding, row=replace(finding.row, reproduce=again))
        for finding in with_records(card, entry, found)
    ]


def _command(card: Card, entry: Entry, options: Options) -> str:
    """The command line that repeats the rows of an entry: a card of the user by its file, options where they matter."""
    shipped = card.path.parent.resolve() == theory_directory().resolve()
    words = ["bilevel-verify", "audit", card.key if shipped else str(card.path), "--statement", entry.id]
    if options.budget == QUICK and not options.repairs:
        words.append("--quick")
    elif options.budget != FULL:
        words += ["--budget", f"{options.budget:g}"]
    if options.seed:
        words += ["--seed", str(options.seed)]
    return shlex.join(words)


def tally(rows: Iterable[Row]) -> dict[str, int]:
    """How often each verdict occurs among the rows that judge a relation; units and the like are not counted."""
    return in_order(count_of(row.to_dict() for row in rows).relations)


def _chosen(paper: str | Path | Card | Sequence[str | Path | Card] | None, on_error: OnError | None) -> list[Card]:
    """The cards that were asked for; two of one key are an error of the second."""
    found: dict[str, Card] = {}
    for card in _read(paper, on_error):
        try:
            if card.key in found:
                first = found[card.key].path.name
                fix = "give one of them another key"
                raise CardError(f"{card.path.name}: [paper], key: {card.key!r} is the key of {first} too; {fix}")
            found[card.key] = card
        except CardError as error:
            if on_error is None:
                raise
            on_error(error)
    return list(found.values())


def _read(paper: str | Path | Card | Sequence[str | Path | Card] | None, on_error: OnError | None) -> Iterator[Card]:
    if paper is None:
        for record in cards():
            if not record.error:
                yield load_card(record.name)
            elif on_error is not None:
                on_error(CardError(record.error))
        return
    for item in [paper] if isinstance(paper, str | Path | Card) else paper:
        try:
            yield item if isinstance(item, Card) else load_card(item)
        except CardError as error:
            if on_error is None:
                raise
            on_error(error)


def _task(task: tuple[Card, str, Options]) -> list[Finding]:
    card, name, options = task
    return findings_of(card, card.entries[name], budget=options.budget, seed=options.seed, repairs=options.repairs)

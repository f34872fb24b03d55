"""Every claim over points, steps, epochs and runs, attacked on small families of problems.

A claim that ``verify`` refutes on an instance is refuted, and the finding carries the problem file that repeats it. All
others are *undecided: survived N instances, largest ratio r*: an attack that found nothing proves nothing.
"""

from __future__ import annotations

import shlex
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from bilevel_verify.audit.findings.finding import Finding
from bilevel_verify.audit.pool import shared
from bilevel_verify.checks.claims.claims import all_claims
from bilevel_verify.checks.verdicts.verdict import Row
from bilevel_verify.errors import BilevelVerifyError, InputError
from bilevel_verify.problems.files import dump
from bilevel_verify.theorems.card import Card, Statement
from bilevel_verify.theorems.library import shipped
from bilevel_verify.worst.attack import SCOPES, Attacked, attack

if TYPE_CHECKING:
    from bilevel_verify.worst.screening import Target
    from bilevel_verify.worst.tightness import Tightness

FULL, QUICK = 16, 3
"""Instances for each statement in a full and in a quick audit."""
QUICK_STATEMENTS = 3
"""Statements of a paper that a quick audit attacks, theorems first: the work is small and always the same."""
ROUNDING = 1e-9
"""A share that exceeds 1 by less is that of a bound that is attained."""
ASSUMED = ("assumption", "definition")
GRAVEST = ("theorem", "proposition", "corollary", "lemma")


def instance_findings(
    cards: Sequence[Card],
    *,
    instances: int | None = None,
    quick: bool = False,
    statement: str | None = None,
    seed: int = 0,
    jobs: int = 1,
    progress: Callable[[str, int, int], None] | None = None,
) -> list[Finding]:
    """One finding for each relation of each claim over points, steps, epochs or runs.

    Parameters
    ----------
    instances : candidates for each statement, corners of the families first; 0 attacks nothing. By default 16, and if
        ``quick`` three for each of the first three statements of a paper.
    statement : only this entry. ``jobs`` : processes. ``progress`` : called with (entry, done, total).
    """
    many = (QUICK if quick else FULL) if instances is None else instances
    most = QUICK_STATEMENTS if quick and instances is None else None
    tasks = [
        (card, entry, many, seed)
        for card in cards
        for entry in (_about_instances(card)[:most] if many else ())
        if statement in (None, entry.id)
    ]

    def done(number: int, count: int) -> None:
        if progress is not None:
            progress(f"{tasks[number][0].key}/{tasks[number][1].id}: instances", count, len(tasks))

    return [finding for part in shared(_task, tasks, jobs, done) for finding in part]


def _about_instances(card: Card) -> list[Statement]:
    """Statements and proofs with claims over instances, the gravest kinds first; what is assumed is not attacked."""
    every = (e for e in card.entries.values() if isinstance(e, Statement) and e.kind not in ASSUMED)
    found = [entry for entry in every if any(c.over in SCOPES for c in all_claims(entry.claims))]
    return sorted(found, key=lambda entry: GRAVEST.index(entry.kind) if entry.kind in GRAVEST else len(GRAVEST))


def _task(task: tuple[Card, Statement, int, int]) -> list[Finding]:
    card, entry, instances, seed = task
    try:
        found = attack(card, entry, candidates=instances, seed=seed)
    except InputError as reason:
        return [Finding(_row(card, entry, None, "not recorded", f"no instance: {reason}"))]
    except BilevelVerifyError as reason:
        return [Finding(_row(card, entry, None, "not recorded", f"no instance: {str(reason).splitlines()[0]}"))]
    return [_finding(card, entry, target, found) for target in found.targets]


def _finding(card: Card, entry: Statement, target: Target, found: Attacked) -> Finding:
    """What an attack says of one relation."""
    best = found.claims.get(target.name)
    if best is None:
        why = max(found.skipped, key=lambda reason: found.skipped[reason], default="no place decides it")
        return Finding(_row(card, entry, target, "none", f"no instance of {found.tried} decides it: {why}"))
    if best.verdict == "refuted" and best.row is not None:
        return _counterexample(card, entry, target, best)
    survived = found.survived[target.name]
    share = f"largest ratio {best.ratio:.6g} ({best.share.certainty})"
    reason = f"survived {survived} instances, {share} on {best.candidate}"
    if best.ratio > 1:
        again = best.verdict or "not judged"
        found_there = "above its bound" if best.ratio > 1 + ROUNDING else "equal to its bound but for rounding"
        reason = f"{found_there} in the search, {share}, {again} when repeated: {best.candidate}"
    row = _row(card, entry, target, "attack", reason)
    details = {**row.details, "instances": survived, "tightness": best.ratio, "instance": instance_file(best)}
    return Finding(replace(row, measured=best.share.measured, bound=best.share.bound, where=best.share.where,
                           details=details))  # fmt: skip


def _counterexample(card: Card, entry: Statement, target: Target, best: Tightness) -> Finding:
    """The row of ``verify``, its relation apart as in all rows of an audit, and the problem file that repeats it."""
    assert best.row is not None
    one, name = best.candidate, instance_name(card, entry, best.claim)
    words = ["bilevel-verify", "verify", _named(card, entry), "--problem", f"instances/{name}"]
    words += [] if one.eps is None else ["--eps", repr(one.eps)]
    words += ["--x0=" + ",".join(repr(number) for number in one.x0)]
    details = {**best.row.details, "instance": instance_file(best), "instance_file": name, "op": target.link.op}
    row = replace(best.row, reproduce=shlex.join(words), details=details, known_refuted=best.known_refuted,
                  right=str(target.link.right))  # fmt: skip
    point = {**one.knobs, "x0": str(list(one.x0)), **({} if one.eps is None else {"eps": repr(one.eps)})}
    return Finding(row, printed=row.printed, counterexample=point)


def instance_file(best: Tightness) -> str:
    """The text of the problem file of an instance."""
    one = best.candidate
    return dump(replace(one.problem, start=one.x0, name=one.family))


def instance_name(card: Card, entry: Statement, claim: str) -> str:
    """File name of an instance."""
    kept = "".join(c if c.isalnum() else "-" for c in f"{card.key}-{entry.id}-{claim}".lower())
    return "-".join(part for part in kept.split("-") if part) + ".toml"


def _named(card: Card, entry: Statement) -> str:
    return f"{card.key if card.key in shipped() else card.path}/{entry.id}"


def _row(card: Card, entry: Statement, target: Target | None, engine: str, reason: str) -> Row:
    """An undecided row about a claim as a whole."""
    claim = None if target is None else target.claim
    marks = () if target is None else tuple(str(m) for m in (*target.claim.marks, *target.link.marks))
    details: dict[str, Any] = {"engine": engine} if target is None else {"engine": engine, "op": target.link.op}
    sides = (None, None) if target is None else (str(target.link.left), str(target.link.right))
    return Row(
        card.key, entry.id, None if target is None else target.name.partition(" (")[0], entry.source or None, None,
        entry.method, "point" if claim is None else claim.over, "undecided", left=sides[0], right=sides[1],
        reason=reason, reproduce=f"bilevel-verify audit {card.key} --statement {entry.id}",
        as_printed=not marks, known_refuted=target is not None and target.known_refuted, marks=marks, details=details,
    )  # fmt: skip

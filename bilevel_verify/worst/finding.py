"""``worst_case``: from the name of a statement to the instances on which its claims use up most of their bounds."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from math import inf
from pathlib import Path
from typing import Any

from bilevel_verify.checks.engine import all_known, letters_needed, verify
from bilevel_verify.checks.instances.instance import Instance
from bilevel_verify.checks.requests.request import Request, statements_of, tolerances, with_settings
from bilevel_verify.checks.solvers.kinds import check_request, foreign, need_eps
from bilevel_verify.checks.solvers.running import method_name
from bilevel_verify.checks.verdicts.verdict import Row
from bilevel_verify.checks.verdicts.verification import Verification
from bilevel_verify.errors import BilevelVerifyError, InputError
from bilevel_verify.theorems.card import Card, Statement
from bilevel_verify.theorems.origins import as_judged
from bilevel_verify.worst.family import Candidate, Family, families, family, from_file
from bilevel_verify.worst.memory import NAME, Memory
from bilevel_verify.worst.result import WorstCase
from bilevel_verify.worst.screening import Target, screen, targets_of
from bilevel_verify.worst.search import Best, Progress, Search
from bilevel_verify.worst.tightness import Tightness

BUDGET = 20_000
"""Most oracle calls of one run: a candidate whose run is longer is skipped."""


def worst_case(
    statement: str,
    *,
    family: str | Family | Sequence[str | Family] | None = None,
    problem: str | Path | None = None,
    method: str | None = None,
    eps: float | None = None,
    parameters: Mapping[str, object] | None = None,
    values: Mapping[str, object] | None = None,
    minutes: float = 1.0,
    candidates: int | None = None,
    seed: int = 0,
    budget: int = BUDGET,
    out: str | Path | None = None,
    progress: Progress | None = None,
) -> WorstCase:
    """Search families of problems for the instance on which a statement uses up most of its bounds.

    Parameters
    ----------
    statement : "paper/id", "paper/id:claim" or "file.toml/id".
    family : name of a shipped family (:func:`families`), a :class:`Family`, or several; all that fit by default.
    problem : a problem file with a table ``[free]`` instead.
    method : name of a method instead of the statement's own. ``parameters``, ``values`` : as in ``verify``.
    eps : one tolerance; by default it is searched too, in the range of the family.
    minutes, candidates : what ends the search; the order of candidates depends on the seed alone.
    budget : most oracle calls of one run.
    out : folder for the state (a search goes on where it was), the problem files, ``worst.json`` and a picture.

    Raises
    ------
    InputError : unknown names, no family that fits, a state of another search.
    """
    if not 0 < minutes < inf or (candidates is not None and candidates < 1):
        raise InputError(f"minutes and candidates must be positive, not {minutes} and {candidates}")
    if family is not None and problem is not None:
        raise InputError("give family= or problem=, not both")
    request = request_for(statement, method, parameters, values, budget, seed)
    chosen = fitting(request, [from_file(problem)] if problem is not None else named(family))
    targets = list(targets_of(request).values())
    if not targets:
        raise InputError(f"{statement} has no claim with two sides to compare on an instance")
    letters = {**(parameters or {}), **(values or {})}
    texts = {name: str(value) for name, value in letters.items()}
    head: dict[str, Any] = {"statement": request.name, "card": request.card.digest, "method": method, "eps": eps}
    head |= {"families": {one.name: one.digest for one in chosen}, "letters": texts, "seed": seed, "budget": budget}
    memory = Memory(None if out is None else Path(out) / NAME, head)
    one_eps = tolerances(eps)[0]
    search = Search(
        request, targets, chosen, memory, one_eps, one_eps is None and needs_eps(request), candidates,
        time.monotonic() + 60 * minutes, seed, progress,
    )  # fmt: skip
    try:
        search.run()
        found = result_of(search, statement, letters)
    finally:
        memory.close()
    if out is not None:
        found.save(out)
    return found


def request_for(
    statement: str | tuple[Card, Statement],
    method: str | None = None,
    parameters: Mapping[str, object] | None = None,
    values: Mapping[str, object] | None = None,
    budget: int = BUDGET,
    seed: int = 0,
) -> Request:
    """The request of one statement, given by its name or with its card.

    Raises
    ------
    InputError : several statements (a whole card), or unknown names.
    """
    if isinstance(seed, bool) or not isinstance(seed, int) or seed < 0:
        raise InputError(f"seed must be a whole number from 0 on, not {seed!r}")
    found = statements_of(statement)
    if len(found) != 1:
        raise InputError(f"{statement} has {len(found)} statements; name one of them, as in {statement}/ID")
    card, entry = found[0]
    if not callable(method):
        all_known(card, method_name(method, entry), (*(parameters or ()), *(values or ())))
    options = {"budget": budget, "seed": seed, "record": "all"}
    judged = as_judged(card, with_settings(card, entry))
    request = Request(card, judged, method, dict(parameters or {}), dict(values or {}), None, options)
    check_request(request)
    return request


def named(names: str | Family | Sequence[str | Family] | None) -> list[Family] | None:
    """The families that the caller named; None for all."""
    if names is None:
        return None
    several = [names] if isinstance(names, str | Family) else list(names)
    return [one if isinstance(one, Family) else family(one) for one in several]


def fitting(request: Request, named: Sequence[Family] | None) -> list[Family]:
    """The named families, or all shipped ones of the kinds that a statement is about.

    Raises
    ------
    InputError : a named one is of another kind, or none fits.
    """
    needed, found, why = letters_needed(request), [], ""
    for one in families() if named is None else named:
        middle = one.candidate([0.5] * one.size(True), 1.0).problem
        reason = foreign(request, middle, needed)
        if not reason:
            found.append(one)
        elif named is not None:
            raise InputError(f"family {one.name}: {reason}")
        else:
            why = reason
    if not found:
        raise InputError(f"{request.name}: no family fits ({why})")
    return found


def needs_eps(request: Request) -> bool:
    """Whether a statement asks for a tolerance."""
    try:
        need_eps(request, {}, letters_needed(request))
    except InputError:
        return True
    return False


def result_of(search: Search, statement: str, letters: Mapping[str, object]) -> WorstCase:
    """What a search has found: the best of every claim, judged again with everything that the search left out."""
    request = search.request
    known: dict[tuple[str, tuple[float, ...]], Verification | None] = {}
    found = []
    for target in search.targets:
        best = search.best.get(target.name)
        if best is None:
            continue
        key = best.family.name, best.u
        if key not in known:
            known[key] = _verified(statement, request, search.candidate(best))
        found.append(_judged_again(search, target, best, known[key]))
    return WorstCase(
        statement=statement,
        method=request.method if isinstance(request.method, str) else None,
        families=tuple(one.name for one in search.families),
        claims=tuple(sorted(found, key=lambda one: (not one.confirmed, -one.ratio, one.claim))),
        silent=tuple(target.name for target in search.targets if target.name not in search.best),
        tried=search.tried,
        decided=search.decided,
        places=search.places,
        skipped=dict(search.skipped),
        seed=search.seed,
        seconds=time.monotonic() - search.started,
        interrupted=search.interrupted,
        letters=dict(letters),
        history=tuple(search.history),
    )


def judged_again(search: Search, target: Target, best: Best, statement: object) -> Tightness:
    """A claim on its worst candidate, with what ``verify`` says of the statement there."""
    return _judged_again(search, target, best, _verified(statement, search.request, search.candidate(best)))


def _judged_again(search: Search, target: Target, best: Best, verified: Verification | None) -> Tightness:
    """A claim on its worst candidate with the certified truth, and the row of ``verify``.

    Where the truth of that candidate has no proof, the share is the search's own, ``computed``.
    """
    candidate = search.candidate(best)
    share = screen(search.request, [target], candidate, Instance).shares.get(target.name, best.share)
    about = [row for row in (() if verified is None else verified.claims) if _is_about(row, target)]
    row = min(about, key=lambda one: len(one.marks), default=None)
    ran = verified is not None and verified.runs and target.claim.over in ("step", "epoch", "run")
    run = verified.runs[0] if ran and verified is not None else None
    return Tightness(target.name, str(target.link), share, candidate, row, run, target.known_refuted)


def _verified(statement: object, request: Request, candidate: Candidate) -> Verification | None:
    """What ``verify`` says on a candidate; None where it cannot be judged there."""
    options: dict[str, Any] = {
        "budget": request.options["budget"],
        "seed": request.options["seed"],
        "method": request.method,
    }
    letters: dict[str, Any] = {"parameters": request.parameters, "values": request.values}
    try:
        return verify(candidate.problem, statement, eps=candidate.eps, x0=candidate.x0, **options, **letters)
    except BilevelVerifyError:
        return None


def _is_about(row: Row, target: Target) -> bool:
    """Whether a row is about a relation: the same link with at least its marks (a statement may add its own)."""
    claim = target.claim
    name = claim.id if len(claim.chain) == 1 else f"{claim.id}/{target.number + 1}"
    sides = row.left == str(target.link.left) and row.related == f"{target.link.op} {target.link.right}"
    return row.claim == name and sides and {str(m) for m in (*claim.marks, *target.link.marks)} <= set(row.marks)


__all__ = ["fitting", "judged_again", "named", "needs_eps", "request_for", "result_of", "worst_case"]

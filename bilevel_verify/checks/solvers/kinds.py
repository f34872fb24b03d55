"""Is a statement about problems of this kind at all, and does it have what it needs? Asked before all."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from bilevel_verify.checks.requests.request import Member, Request
from bilevel_verify.checks.solvers.running import LITERAL, method_name
from bilevel_verify.constants.papers import letter_sets, letters_of, set_for
from bilevel_verify.errors import InputError
from bilevel_verify.language import nearest
from bilevel_verify.methods import METHODS
from bilevel_verify.problems.problem import Problem
from bilevel_verify.theorems.card import Card
from bilevel_verify.theorems.card_parts import LetterSpec
from bilevel_verify.theorems.letters.instance import OF_THE_PROBLEM, TRUTHS
from bilevel_verify.theorems.letters.resolve import leaves_of

if TYPE_CHECKING:
    from bilevel_verify.checks.verdicts.verdict import Row


def check_request(request: Request) -> None:
    """Names that stand for nothing: a method that there is not, a letter that no room has.

    Raises
    ------
    InputError : there is one; names the nearest, or what there is.
    """
    name = None if callable(request.method) else method_name(request.method, request.statement)
    known = sorted(METHODS)
    if name is not None and name != LITERAL and name.partition(":")[0] not in known:
        near = nearest(name, known) or f"; there are {', '.join(known)}"
        if name in {entry.id for entry in request.card.algorithms}:
            near = f"; it is an algorithm of the card: write algorithm = {name!r} in the place of method"
        raise InputError(f"{request.name}: there is no method {name!r}{near}")
    if name == LITERAL and not request.statement.algorithm:
        own = ", ".join(entry.id for entry in request.card.algorithms) or "none; [[algorithm]] writes one"
        raise InputError(f"{request.name} names no algorithm: give it algorithm = ID in the card, which has {own}")
    for spec in request.card.letters.values():
        check_source(request.card, spec)


def check_source(card: Card, spec: LetterSpec) -> None:
    """A leaf letter must be one that its room can give.

    Raises
    ------
    InputError : lists what may stand there.
    """
    name = spec.called or spec.name
    if spec.definition is not None:
        return
    constants = {name for one in letter_sets().values() for name in one.names}
    rooms = {"constants": constants, "truth": set(TRUTHS), "problem": set(OF_THE_PROBLEM)}
    allowed = rooms.get(spec.source)
    if allowed is not None and name not in allowed:
        what = f'from = "{spec.source}" may name {", ".join(sorted(allowed))} (called = "..." if your letter differs)'
        raise InputError(
            f"{card.key}: letter {spec.name}: nothing is known as {name!r}{nearest(name, allowed)}; {what}"
        )


def foreign(request: Request, problem: Problem, targets: Iterable[str]) -> str:
    """Why a statement is not about this kind of problem; empty if it may be."""
    kind, card = problem.kind, request.card
    name = None if callable(request.method) else method_name(request.method, request.statement)
    found = METHODS.get((name or "").partition(":")[0])
    if found is not None and kind not in found.kinds:
        return f"{name} is for {' or '.join(found.kinds)} problems, and this one is {kind}"
    try:
        own = letters_of(set_for(card.key, kind), kind)
    except InputError as error:
        return str(error)
    given = {*request.parameters, *request.values}
    needed = sorted(leaves_of(card, request.statement, targets, given, request.readings))
    specs = [one for n in needed if (one := card.letters[n]).source == "constants" and one.definition is None]
    strange = [spec.called or spec.name for spec in specs if (spec.called or spec.name) not in own.names]
    if strange:
        has = ", ".join(sorted(own.names))
        return f"it needs {', '.join(strange)}, which {own.key} does not define for {kind} problems ({has})"
    return ""


def need_eps(request: Request, member: Member, targets: Iterable[str]) -> None:
    """A statement with a tolerance needs one.

    Raises
    ------
    InputError : none was given.
    """
    given = {*request.parameters, *request.values, *member}
    spec = request.card.letters.get("eps")
    if spec is None or spec.source != "user" or spec.default is not None or "eps" in given:
        return
    if "eps" in leaves_of(request.card, request.statement, targets, given, request.readings):
        raise InputError(f"{request.name} needs a tolerance: give eps= (--eps on the command line)")


def foreign_row(request: Request, problem: Problem, why: str) -> Row:
    """The one row of a statement about another kind of problem."""
    from bilevel_verify.checks.verdicts.verdict import Row

    return Row(
        paper=request.card.key,
        statement=request.statement.id,
        claim=None,
        source=request.statement.source or None,
        problem=problem.name or None,
        method=None,
        kind="hypothesis",
        verdict="not applicable",
        reason=why,
    )

"""The letters that the theorem of a method prescribes for a problem and a start."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from bilevel_verify.errors import InputError, ParameterError
from bilevel_verify.methods.registry import Method
from bilevel_verify.problems.problem import Problem
from bilevel_verify.solving.by_hand import ByHand
from bilevel_verify.theorems.card import Card, Statement
from bilevel_verify.theorems.letters.given import judge_given
from bilevel_verify.theorems.letters.instance import Leaves
from bilevel_verify.theorems.letters.resolve import Resolved, needed_letters, resolve
from bilevel_verify.theorems.library import find_statement, load_card, shipped

Start = Sequence[float] | np.ndarray | float | None


def statement_of(method: Method, name: str | None = None) -> tuple[Card, Statement]:
    """The theorem that prescribes the parameters of a method.

    Raises
    ------
    InputError : no shipped card prescribes them.
    """
    if name is not None:
        card, entry = find_statement(name)
        if not isinstance(entry, Statement):
            raise InputError(f"{name} is no statement with settings")
        return card, entry
    for key in [method.paper] if method.paper in shipped() else shipped():
        card = load_card(key)
        found = card.entries.get(method.statement) if method.paper == key else None
        if isinstance(found, Statement) and found.settings:
            return card, found
        for candidate in card.statements:
            if candidate.method == method.name and (candidate.settings or candidate.parameters):
                return card, candidate
    how = "give them: --set NAME=VALUE, in Python parameters={...}"
    raise InputError(f"no theorem of the shipped cards prescribes parameters for {method.name}; {how}")


def prescribed(
    problem: Problem,
    method: Method,
    absent: list[str],
    explicit: Mapping[str, object],
    eps: float | None,
    x0: Start,
    statement: str | None,
    values: Mapping[str, object],
) -> tuple[Resolved, ByHand]:
    try:
        card, entry = statement_of(method, statement)
    except InputError as error:
        own_paper = None if statement is not None else _where_constants(method, absent)
        if own_paper is None:
            raise ParameterError(f"{method.name} needs {', '.join(absent)}: {error}") from None
        card, entry = own_paper
    start = problem.start if x0 is None else x0
    point = None if start is None else np.atleast_1d(np.asarray(start, dtype=float))
    known = {**values, **({} if eps is None else {"eps": _accuracy(eps)})}
    leaves = Leaves(problem, card.key, point, known)
    # letters of the method and of the card are the same letters; what the card does not know stays the method's own
    own = {name: value for name, value in explicit.items() if name in card.letters}
    targets = [name for name in absent if name in card.letters]
    needed = [n for n in needed_letters(card, entry, own, targets) if n not in known]
    _refuse_long_search(problem, card, needed)
    if "mu" in needed:  # before the other constants, which take their time
        _strongly_convex(problem, card, entry, leaves)
    resolved = resolve(card, entry, leaves, own, targets=targets)
    unknown = [name for name in absent if name not in card.letters]
    if unknown:
        raise ParameterError(f"{card.key}/{entry.id} prescribes no {', '.join(unknown)} for {method.name}; give it")
    resolved.need(absent)
    given = {name: (card.letters[name], value) for name, value in {**values, **own}.items() if name in card.letters}
    sizes = {name: value for name, (spec, value) in given.items() if spec.source in ("constants", "problem")}
    judged = judge_given(card, entry, leaves, sizes, resolved.letters)
    truths = {n: (spec.called or n, value) for n, (spec, value) in given.items() if spec.source == "truth"}
    return resolved, ByHand(tuple(one.reason for one in judged if one.answer is False), leaves, truths)


INFIMA = ("delta", "Delta", "delta_lam")
"""Truths that need the infimum of phi, or of L*_lam."""


def _refuse_long_search(problem: Problem, card: Card, needed: Sequence[str]) -> None:
    """An infimum over so many variables that its search takes minutes is asked of the user, before anything is derived.

    Raises
    ------
    ParameterError : says which letter, and what to give.
    """
    from bilevel_verify.truth.minimum.effort import is_long

    specs = [card.letters[name] for name in needed if name in card.letters and card.letters[name].source == "truth"]
    names = [spec.name for spec in specs if (spec.called or spec.name) in INFIMA and spec.default is None]
    if names and is_long(problem):
        raise ParameterError(
            f"{', '.join(names)}: inf phi over {problem.dx} variables of x takes a search of many minutes; give an "
            f"upper bound, values={{{names[0]!r}: ...}} (truth(problem).delta(x0) searches as long as it takes)"
        )


def _strongly_convex(problem: Problem, card: Card, entry: Statement, leaves: Leaves) -> None:
    """Where no mu > 0 is certified, letters that rest on it have no value: that is what there is to say.

    Raises
    ------
    ParameterError : the smallest curvature of the lower level in y is not positive, or not certified to be.
    """
    from bilevel_verify.constants import constants

    if not problem.y or "mu" not in card.letters or "mu" in leaves.values:
        return
    try:
        found = constants(problem, paper=card.key, only=["mu"])["mu"]
    except (InputError, KeyError):
        return
    wanted = f"{card.key}/{entry.id} needs a lower level that is strongly convex in y"
    if not found.upper > 0:
        at = ", ".join(f"{name} = {value:g}" for name, value in found.witness.items())
        raise ParameterError(f"{wanted}: its smallest curvature is {found.upper:.3g}{f' at {at}' if at else ''}")
    if found.value <= 0:
        raise ParameterError(f"{wanted}: mu >= {found.value:.3g} is all that is certified")


def _where_constants(method: Method, absent: list[str]) -> tuple[Card, Statement] | None:
    """The card of the method's paper, if all that is missing are constants of the problem: that needs no theorem."""
    if method.paper not in shipped():
        return None
    card = load_card(method.paper)
    if any(name not in card.letters or card.letters[name].source != "constants" for name in absent):
        return None
    return card, next(statement for statement in card.statements if statement.settings)


def _accuracy(eps: float) -> float:
    try:
        positive = bool(eps > 0) if not isinstance(eps, str) else True
    except (TypeError, ValueError):  # a list, an array
        positive = False
    if not positive or isinstance(eps, bool):
        raise ParameterError(f"eps must be a positive number, not {eps!r}")
    return eps

"""One call from a problem to a run: the parameters that the method's theorem prescribes, explicit ones winning."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from types import MappingProxyType
from typing import Any, Literal

import numpy as np

from bilevel_verify.arguments import answered_before
from bilevel_verify.constants.bound.constant import safe_decimal
from bilevel_verify.errors import BilevelVerifyError, InputError, ParameterError
from bilevel_verify.language import nearest, some_of
from bilevel_verify.methods import run_batch, run_method
from bilevel_verify.methods.letters import plain
from bilevel_verify.methods.registry import Method, method_named
from bilevel_verify.methods.repeated import known, request, takes_all
from bilevel_verify.methods.run import Run
from bilevel_verify.methods.solve import BUDGET, check_kind
from bilevel_verify.numbers import exact
from bilevel_verify.problems.numbers import float_array
from bilevel_verify.problems.problem import Problem
from bilevel_verify.theorems.card import Card, Statement
from bilevel_verify.theorems.card_parts import LetterSpec
from bilevel_verify.theorems.letters.given import judge_given
from bilevel_verify.theorems.letters.instance import Leaves
from bilevel_verify.theorems.letters.resolve import Resolved, needed_letters, resolve
from bilevel_verify.theorems.letters.resolved import scalar_of
from bilevel_verify.theorems.library import find_statement, load_card, shipped
from bilevel_verify.time_limit import TimeOver, checked_seconds, keeping, time_limit

Start = Sequence[float] | np.ndarray | float | None


@dataclass(frozen=True, slots=True)
class ByHand:
    """What is to be said of letters given by hand.

    Attributes
    ----------
    false : why a constant or a size of the problem is certainly not what was given.
    truths : name -> the truth that it stands for (``delta``, ``delta_lam``, ``norm_y_star``) and the number given.
    """

    false: tuple[str, ...] = ()
    leaves: Leaves | None = None
    truths: Mapping[str, tuple[str, Any]] = field(default_factory=dict)

    def shown_false(self, run: Run, resolved: Resolved) -> Iterator[str]:
        """Truths that the two ends of the run show to be too small.

        The truth itself is a global minimum, which may take longer than the run; the points of the run cost nothing
        and bound it from below.
        """
        for name, (truth, value) in self.truths.items():
            try:
                bound = self._at_least(truth, run, resolved)
            except (BilevelVerifyError, KeyError):
                continue
            if exact.ends(scalar_of(value)[0])[1] < bound:
                shown = safe_decimal(bound, 10, True).normalize()
                yield f"{name} = {value} is too small for this problem: {name} >= {shown:.10g}"

    def _at_least(self, name: str, run: Run, resolved: Resolved) -> float:
        """A certified lower bound of a truth from the start and the output; minus infinity where there is none."""
        leaves = self.leaves
        if leaves is None or leaves.x0 is None:
            return -math.inf
        if name == "norm_y_star":
            found = leaves.of_the_problem(LetterSpec(name, source="truth"), {})
            return float(found.lower) if found.certainty in SAFE else -math.inf
        if name not in ("delta", "Delta", "delta_lam") or not _inside(leaves.problem, run.x):
            return -math.inf
        if name == "delta_lam":
            lam = resolved.letters["lam"].value
            ends = [leaves.truth.L_star(point, lam) for point in (leaves.x0, run.x)]
        else:
            ends = [leaves.truth.phi(point) for point in (leaves.x0, run.x)]
        if any(end.certainty not in SAFE for end in ends):
            return -math.inf
        return math.nextafter(float(ends[0].lower) - float(ends[1].upper), -math.inf)


SAFE = ("proved", "certified")


def _inside(problem: Problem, x: np.ndarray) -> bool:
    """Whether a point lies in the declared box of the upper level, over which the infimum is taken."""
    ranges = [problem.range_of(symbol) for symbol in problem.x]
    return all(float(low) <= value <= float(high) for (low, high), value in zip(ranges, x, strict=True))


def _again(
    problem: object = None, method: str = "", eps: object = None, x0: object = None, *rest: object,
    parameters: Mapping[str, object] | None = None, budget: object = None, seed: object = 0, record: object = "all",
    compiled: object = None, **other: object,
) -> Run | None:  # fmt: skip
    """The run of a request that has come before, from a start that is plainly floats; None for any other."""
    if rest or other or not parameters or plain(x0) is None:
        return None
    most = BUDGET if budget is None else budget
    again = known(request(problem, method, parameters, most, seed, record, compiled, eps))
    return again.run(x0) if again is not None and takes_all(again, method, parameters) else None


@answered_before(_again)
def solve(
    problem: Problem,
    method: str,
    eps: object = None,
    x0: Start = None,
    y0: Start = None,
    v0: Start = None,
    parameters: Mapping[str, object] | None = None,
    noise: Sequence[Any] | None = None,
    budget: int | Mapping[str, int] | None = None,
    seed: int = 0,
    record: Literal["all", "thin"] = "all",
    compiled: bool | None = None,
    digits: int | None = None,
    statement: str | None = None,
    values: Mapping[str, object] | None = None,
    seconds: float | None = None,
) -> Run:
    """Run a published method on a problem.

    Parameters
    ----------
    method : its name, as in ``methods()``; ``name:variant`` for a literal reading.
    eps : target accuracy. ``x0``, ``y0``, ``v0`` : starts (zeros for y and v by default).
    parameters : explicit letters, the paper's in ASCII; they win over what the theorem prescribes. If they are all that
        the method needs, nothing is derived: no constants, no truth.
    noise : explicit perturbations, used in order. ``budget`` : most oracle calls.
    digits : run in so many decimal digits instead of floats.
    statement : "paper/id" whose settings are taken; by default the method's own theorem.
    values : leaf letters given by hand (``Delta``, ``zeta``, ``nu_f``, a constant ...).
    seconds : of the clock, letters included: a run is left where it is then, ``interrupted``, and says so in its note.

    Raises
    ------
    ParameterError : a parameter has no value; says what would supply it.
    InputError : no such method or statement.
    """
    if seconds is not None:
        return _in_time(seconds, {**locals(), "seconds": None})
    most = BUDGET if budget is None else budget
    chosen, resolved, given = _letters(problem, method, eps, x0, parameters, statement, values, digits)
    run = run_method(problem, method, chosen, x0, y0, v0, noise, most, seed, record, compiled, eps, digits)
    return run if resolved is None else _with_letters(run, resolved, given)


def _in_time(seconds: float, asked: dict[str, Any]) -> Run:
    """:func:`solve`, broken off after so many seconds.

    Raises
    ------
    ParameterError : the time was over before the letters had values.
    """
    with time_limit(checked_seconds(seconds)) as limit:
        try:
            with keeping("run"), limit.broken_off():
                run = solve(**asked)
        except TimeOver as over:
            known = f"; {over}" if str(over) else ""
            how = "give letters (--set NAME=VALUE, in Python parameters=, values=) or more seconds"
            raise ParameterError(f"{limit.ended} before the run of {asked['method']} began{known}; {how}") from None
    return replace(run, note=limit.ended) if limit.over and run.status == "interrupted" else run


def solve_batch(
    problem: Problem,
    method: str,
    eps: Any = None,
    x0: Any = None,
    *,
    seeds: int | Sequence[int] | None = None,
    parameters: Mapping[str, object] | None = None,
    noise: Sequence[Any] | None = None,
    budget: int | Mapping[str, int] | None = None,
    record: Literal["all", "thin"] = "all",
    compiled: bool | None = None,
    statement: str | None = None,
    values: Mapping[str, object] | None = None,
    threads: int | None = None,
) -> tuple[Run, ...]:
    """The same problem from many starts or seeds: :func:`solve` for each, all moved on by one compiled call.

    Parameters
    ----------
    x0 : starts, one row per run (or one start for all seeds); letters are resolved for each start of its own.
    seeds : one per run, or how many (0, 1, ...).
    threads : compiled calls at a time; by default one per processor. The others are those of :func:`solve`.
    """
    starts = None if x0 is None else float_array(x0, "solve_batch: x0 (one row per run)")
    table = starts is not None and (starts.ndim == 2 or (starts.ndim == 1 and problem.dx == 1 and len(starts) != 1))
    found = [
        _letters(problem, method, eps, start, parameters, statement, values, None)
        for start in (starts if table and starts is not None else [x0])
    ]
    options = {"noise": noise, "budget": budget, "compiled": compiled, "eps": eps, "threads": threads}
    asked = {key: value for key, value in options.items() if value is not None}
    chosen = [letters for letters, _, _ in found] if table else found[0][0]
    runs = run_batch(problem, method, chosen, x0, seeds=seeds, record=record, **asked)
    resolved = [(one, given) for _, one, given in found] * (1 if table else len(runs))
    pairs = zip(runs, resolved, strict=True)
    return tuple(run if one is None else _with_letters(run, one, given) for run, (one, given) in pairs)


def _letters(
    problem: Problem,
    method: str,
    eps: Any,
    x0: Any,
    parameters: Mapping[str, Any] | None,
    statement: str | None,
    values: Mapping[str, Any] | None,
    digits: int | None,
) -> tuple[dict[str, Any], Resolved | None, ByHand]:
    """Parameters of a run from one start, the resolution that they come from (None if all were given), and the letters
    given by hand.
    """
    record_of_method = method_named(method.partition(":")[0])
    explicit = dict(parameters or {})
    _all_known(record_of_method, statement, explicit, values or {})
    check_kind(problem, record_of_method)
    absent = _absent(record_of_method, explicit, eps)
    resolved: Resolved | None = None
    by_hand = ByHand()
    if absent:
        resolved, by_hand = _prescribed(problem, record_of_method, absent, explicit, eps, x0, statement, values or {})
    return {**_for_run(resolved, absent, digits), **explicit}, resolved, by_hand


def _all_known(
    method: Method, statement: str | None, explicit: Mapping[str, object], values: Mapping[str, object]
) -> None:
    """A letter that neither the method nor the card of its theorem has is a slip: it would change nothing.

    Raises
    ------
    ParameterError : there is such a letter.
    """
    own = {letter.name for letter in method.letters}
    strange = [name for name in (*explicit, *values) if name not in own]
    if not strange:
        return
    known = set(own)
    try:
        known |= set(statement_of(method, statement)[0].letters)
    except InputError:
        known |= set(load_card(method.paper).letters) if method.paper in shipped() else set()
    for name in strange:
        if name not in known:
            more = f"; its card has {some_of(sorted(known - own))}" if known - own else ""
            raise ParameterError(
                f"{method.name} has no letter {name!r}{nearest(name, known)}; it takes {', '.join(sorted(own))}{more}"
            )


def _absent(method: Method, explicit: Mapping[str, object], eps: float | None) -> list[str]:
    """Letters that the method needs and nobody gave."""
    given = explicit if eps is None else {*explicit, "eps"}
    missing = [x for x in method.letters if x.default is None and x.name not in given]
    needed = [x.name for x in missing if not x.optional]
    return [*needed, *(x.name for x in missing if x.replaced_by)] if needed else []


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


def _prescribed(
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


def _for_run(resolved: Resolved | None, names: list[str], digits: int | None) -> dict[str, object]:
    if resolved is None:
        return {}
    exactly: Mapping[str, float | Fraction] = {} if digits is None else resolved.precise_parameters()
    return {name: exactly.get(name, resolved.letters[name].run) for name in names}


def _with_letters(run: Run, resolved: Resolved, given: ByHand) -> Run:
    """The run with every resolved letter on record, the readings that they lean on, and what of them is false."""
    letters = {name: letter.run for name, letter in resolved.letters.items()}
    reading = f"reading: {resolved.reading}" if resolved.reading else ""
    parts = (run.note, reading, *given.false, *given.shown_false(run, resolved))
    note = "; ".join(part for part in parts if part)
    return replace(run, parameters=MappingProxyType({**letters, **run.parameters}), note=note)

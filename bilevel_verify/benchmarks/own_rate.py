"""The rate of any method on any problem or family of the user's."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from bilevel_verify.benchmarks.rate_series import BUDGET
from bilevel_verify.benchmarks.rates import driver_of, growth_of, point_of
from bilevel_verify.errors import InputError
from bilevel_verify.methods.run import ENDED

if TYPE_CHECKING:
    from bilevel_verify.benchmarks.rates import PointRecord, SeriesRecord
    from bilevel_verify.problems.family import ProblemFamily
    from bilevel_verify.problems.problem import Problem


@dataclass(frozen=True, slots=True)
class Setting:
    """What the runs of a rate have in common.

    ``eps`` : the tolerance where another letter varies. ``parameters`` : explicit letters; the others are those of the
    method's theorem.
    """

    eps: float | None = None
    parameters: Mapping[str, Any] | None = None
    x0: Sequence[float] | None = None
    budget: int | None = None
    seed: int = 0


def own_rate(
    problem: Problem | ProblemFamily,
    name: str,
    method: str,
    letter: str,
    values: Sequence[float],
    setting: Setting,
    count: str = "iterations",
    exponent: float | None = None,
) -> SeriesRecord:
    """Counts of a method along one letter, and the judgement of their growth by the rule for orders.

    Parameters
    ----------
    problem, name : a problem, or a family whose knobs depend on the letter, and how it was named.
    letter, values : ``eps`` (decreasing) or ``kappa``, ``d``, ``nu`` (increasing), with at least four values.
    setting : what all runs have in common.
    count : ``iterations``, ``epochs``, a kind of call, sums and quotients of them.
    exponent : the promised exponent (in ``1/eps``); None only measures.

    Raises
    ------
    InputError : fewer than four values, or values in the wrong order.
    """
    if len(values) < 4:
        raise InputError(f"a rate needs at least four values of {letter}, not {len(values)}")
    points = [_point(problem, method, {letter: v}, setting, count) for v in values]
    return _judged(points, f"{name}, {method}", letter, count, exponent)


def _point(
    problem: Problem | ProblemFamily,
    method: str,
    letters: Mapping[str, float],
    setting: Setting,
    count: str,
) -> PointRecord:
    from bilevel_verify.problems.family import ProblemFamily
    from bilevel_verify.solving import solve

    at = {**({} if setting.eps is None else {"eps": setting.eps}), **letters}
    member = problem.at(**at) if isinstance(problem, ProblemFamily) else problem
    run = solve(
        member,
        method,
        eps=at.get("eps"),
        budget=setting.budget or BUDGET,
        record="thin",
        seed=setting.seed,
        x0=setting.x0,
        parameters=setting.parameters,
    )
    return point_of(run, next(iter(letters.values())), count, run.seconds)


def _judged(points: Sequence[PointRecord], name: str, letter: str, count: str, exponent: float | None) -> SeriesRecord:
    counts = [float(p["count"]) for p in points]
    if min(counts) <= 0:
        raise InputError(
            f"{name}: no {count} were counted at {letter} = {points[counts.index(min(counts))]['value']:g}"
        )
    rate, growth = growth_of(points, letter, [x ** (exponent or 0.0) for x in driver_of(points, letter)])
    lost = [p for p in points if p["status"] not in ENDED]
    reason = f"budget: the run at {letter} = {lost[0]['value']:g} ended as {lost[0]['status']}" if lost else rate.reason
    verdict = "undecided" if lost else rate.verdict
    return {
        "name": name,
        "paper": "",
        "source": "",
        "letter": letter,
        "count": count,
        "exponent": exponent,
        "log": None,
        "tolerance": None,
        "note": "",
        "own": True,
        "points": growth["points"],
        "slopes": growth["slopes"],
        "interval": growth["interval"],
        "slope": growth["slope"],
        "last": growth["last"],
        "verdict": "undecided" if exponent is None else verdict,
        "reason": "no exponent was promised" if exponent is None and not lost else reason,
        "within": None,
    }

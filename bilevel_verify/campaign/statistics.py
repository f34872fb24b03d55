"""What a whole campaign says: exponents, success probabilities, profiles of methods, how much of a bound is used.

The rules for orders and probabilities are those of the checks room; nothing is judged twice in two ways.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from bilevel_verify.checks.judging.orders import Rate, judge_order
from bilevel_verify.checks.judging.probability import Frequency, judge_frequency
from bilevel_verify.checks.verdicts.verdict import Row

Costs = Mapping[str, Mapping[str, float | None]]
"""Method -> instance -> cost (oracle calls, say); None where the method did not solve the instance."""


@dataclass(frozen=True, slots=True)
class Fit:
    """An exponent with its diagnostics.

    Attributes
    ----------
    rate : the judgement by the rule for orders (verdict, local slopes, interval, drift).
    least_squares : slope of the straight line through all points, for the plot only; it decides nothing.
    residual : largest distance of a point from that line, in units of the natural logarithm.
    first, last : range of the driver.
    """

    rate: Rate
    least_squares: float
    residual: float
    first: float
    last: float


def exponent(driver: Sequence[float], counts: Sequence[float], bound: Sequence[float]) -> Fit:
    """Growth of ``counts`` along ``driver`` (1/eps, kappa, d, m ...; increasing) against ``bound`` at the same places.

    Logarithms are treated as the bound states them: its own local slopes carry them.

    Raises
    ------
    ValueError
        Fewer than two points, or a driver that does not increase.
    """
    rate = judge_order(driver, counts, bound)
    slope, residual = math.nan, math.nan
    if all(math.isfinite(v) and v > 0 for v in (*driver, *counts)):
        slope, residual = power_law(driver, counts)
    return Fit(rate, slope, residual, driver[0], driver[-1])


def power_law(x: Sequence[float], y: Sequence[float]) -> tuple[float, float]:
    """Exponent of y against x, both positive, by a straight line through the logarithms, and its largest residual."""
    return straight_line([math.log(v) for v in x], [math.log(v) for v in y])


def straight_line(x: Sequence[float], y: Sequence[float]) -> tuple[float, float]:
    """Least-squares slope of y against x and the largest residual."""
    middle_x, middle_y = math.fsum(x) / len(x), math.fsum(y) / len(y)
    spread = math.fsum((a - middle_x) ** 2 for a in x)
    slope = math.fsum((a - middle_x) * (b - middle_y) for a, b in zip(x, y, strict=True)) / spread
    return slope, max(abs(b - middle_y - slope * (a - middle_x)) for a, b in zip(x, y, strict=True))


def success(successes: int, trials: int, promised: float, rows: int = 1) -> Frequency:
    """A success probability by the rule for probabilities: exact binomial bounds at 1e-6 a row after correction."""
    return judge_frequency(successes, trials, promised, rows)


def oracle_calls(counts: Mapping[str, int]) -> int:
    """Calls of all kinds; those of stopping tests (``stop_...``) are bookkeeping and left out."""
    return sum(n for kind, n in counts.items() if not kind.startswith("stop_"))


@dataclass(frozen=True, slots=True)
class Profile:
    """Steps of a profile: at ``x[i]`` the share of solved instances jumps to ``share[i]``."""

    method: str
    x: tuple[float, ...]
    share: tuple[float, ...]

    def at(self, value: float) -> float:
        """Share of the instances solved within ``value``."""
        return max((s for x, s in zip(self.x, self.share, strict=True) if x <= value), default=0.0)


def performance_profile(costs: Costs) -> list[Profile]:
    """Share of instances that a method solves within a factor x of the best method (Dolan and Moré).

    Instances that no method solves are counted as solved by nobody.
    """
    instances = _instances(costs)
    best = {i: min((c for m in costs if (c := _cost(costs, m, i)) is not None), default=None) for i in instances}
    profiles = []
    for method in costs:
        ratios = []
        for instance in instances:
            cost, least = _cost(costs, method, instance), best[instance]
            if cost is not None and least is not None:
                ratios.append(cost / least if least > 0 else 1.0)
        profiles.append(_steps(method, ratios, len(instances)))
    return profiles


def data_profile(costs: Costs, dimensions: Mapping[str, int]) -> list[Profile]:
    """Share of instances that a method solves within x groups of (dimension + 1) oracle calls (Moré and Wild)."""
    instances = _instances(costs)
    profiles = []
    for method in costs:
        groups = [c / (dimensions[i] + 1) for i in instances if (c := _cost(costs, method, i)) is not None]
        profiles.append(_steps(method, groups, len(instances)))
    return profiles


@dataclass(frozen=True, slots=True)
class Ratio:
    """How much of a bound was used at its tightest place: measured / bound; above 1 the bound was broken."""

    statement: str
    problem: str
    ratio: float
    claim: str


def bound_ratios(rows: Iterable[Row]) -> list[Ratio]:
    """The largest measured/bound of every statement on every problem, over rows where both are positive numbers.

    Only decided upper bounds count: rows whose bound is zero or negative (a promised decrease, say), lower bounds,
    orders and rows whose hypotheses fail have no such ratio and are left out.
    """
    worst: dict[tuple[str, str], Ratio] = {}
    for row in rows:
        if row.measured is None or row.bound is None or row.problem is None or not row.bound > 0 or row.measured < 0:
            continue
        if row.verdict not in ("holds", "refuted") or row.kind == "order" or row.related.startswith((">", "=")):
            continue
        statement = f"{row.paper}/{row.statement}"
        found = Ratio(statement, row.problem, row.measured / row.bound, row.claim or "")
        known = worst.get((statement, row.problem))
        if math.isfinite(found.ratio) and (known is None or found.ratio > known.ratio):
            worst[statement, row.problem] = found
    return list(worst.values())


def used_share(kind: str, measured: float | None, bound: float | None, margin: float | None) -> float | None:
    """How much of its bound a relation between two positive sides uses: at most 1 where it is kept, above where not.

    Of an upper bound measured / bound, of a lower bound its inverse; None for orders and sides that have no ratio.
    """
    if kind == "order" or measured is None or bound is None or margin is None:
        return None
    if not (0 < measured < math.inf and 0 < bound < math.inf):
        return None
    share = measured / bound
    return share if (share <= 1) == (margin >= 0) else 1 / share


def _steps(method: str, values: Sequence[float], total: int) -> Profile:
    ordered = sorted(values)
    x = tuple(dict.fromkeys(ordered))
    share = tuple(sum(v <= place for v in ordered) / total for place in x)
    return Profile(method, x, share)


def _instances(costs: Costs) -> list[str]:
    return sorted({instance for by_instance in costs.values() for instance in by_instance})


def _cost(costs: Costs, method: str, instance: str) -> float | None:
    """Cost of a solved instance; NaN, infinity and None are "not solved"."""
    cost = costs[method].get(instance)
    return cost if cost is not None and math.isfinite(cost) else None

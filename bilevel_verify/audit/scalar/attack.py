"""Refutation first: random points with log-uniform scales, a local search, and a simple rational point at the end.

Only a rational point at which every condition holds and the relation fails *in ball arithmetic* refutes.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from math import isfinite

import numpy as np
from numpy.typing import NDArray

from bilevel_verify.audit.scalar.claim import Decision, ScalarClaim
from bilevel_verify.audit.scalar.field import Field
from bilevel_verify.audit.scalar.numeric import evaluate
from bilevel_verify.audit.scalar.shrink import shrink
from bilevel_verify.language import tree
from bilevel_verify.theorems.card_parts import Domain
from bilevel_verify.theorems.rewrite import binder

Array = NDArray[np.float64]
ZERO, ONE = tree.Number(Fraction(0)), tree.Number(Fraction(1))
BATCH = 4096
REACH = 500
RANGED_BATCH, RANGED_REACH, NESTED_REACH = 256, 400, 40
"""Sums over a range are evaluated term by term: fewer points, shorter ranges, the more so inside each other."""
LARGE = 120
"""Nodes above which half of the rounds must do."""
TIGHT = 3
"""Points of each round at which the tightness is worked out in balls."""
NEAR = 1e-3
"""Relative excess above which a point is worth rounding to rationals."""
DENOMINATORS = (1, 2, 4, 10, 100, 1_000, 10**6)


def attack(claim: ScalarClaim, seed: int = 0, rounds: int = 4) -> Decision:
    """Look for a counterexample; ``undecided`` with the largest ratio met where none was found."""
    random = np.random.default_rng(seed)
    tried, tight = 0, []
    field = Field(claim)
    ranged = any(_has_range(node) for node in (claim.left, claim.right, *claim.where))
    reach = REACH if not ranged else NESTED_REACH if _nested(claim) else RANGED_REACH
    large = sum(1 for side in (claim.left, claim.right) for _ in side.walk()) > LARGE
    for _ in range(1 if ranged else min(rounds, 2) if large else rounds):
        points = _sample(claim, random, RANGED_BATCH if ranged else BATCH, reach)
        keep, excess, ratio = field.judge(points)
        tried += int(keep.sum())
        if keep.any():
            tight += _tightest(points, ratio)
            best = [i for i in np.argsort(-np.where(keep, excess, -np.inf))[:6] if keep[i]]
            for place in best:
                start = {name: float(values[place]) for name, values in points.items()}
                found = _refute_near(field, start, random, float(excess[place]), climb=not ranged)
                if found is not None:
                    return found
    certificate = f"survived {tried} attacks"
    return Decision("undecided", "attack", certificate, attacks=tried, tight=tuple(tight))


def largest_ratio(claim: ScalarClaim, points: Sequence[Mapping[str, float]]) -> float | None:
    """The largest left/right of a few points in balls; where only floats have a value there, theirs if at most 1."""
    field, found, rough = Field(claim), [], []
    for point in points:
        at = {name: Fraction(value) for name, value in point.items()}
        ratio = field.ratio_at(at)
        if ratio is not None:
            found.append(ratio)
            continue
        _, _, ratios = field.judge({name: np.array([value]) for name, value in point.items()})
        rough += [float(r) for r in ratios if isfinite(r) and r <= 1]
    return max(found or rough, default=None)


def _tightest(points: Mapping[str, Array], ratio: Array) -> list[dict[str, float]]:
    """The points of the largest ratios, and of the largest that are not above 1 (floats: those may be rounding)."""
    chosen: list[int] = []
    for kept in (np.isfinite(ratio), np.isfinite(ratio) & (ratio <= 1)):
        order = np.argsort(-np.where(kept, ratio, -np.inf))[:TIGHT]
        chosen += [int(i) for i in order if kept[i] and int(i) not in chosen]
    return [{name: float(values[i]) for name, values in points.items()} for i in chosen]


def simplest_refutation(field: Field, point: Mapping[str, Fraction], engine: str = "attack") -> Decision:
    """The decision of a point that refutes, moved to the simplest point found that refutes as well."""
    simple = shrink(point, lambda candidate: field.refuted_at(candidate) is not None)
    sides = field.refuted_at(simple)
    assert sides is not None
    certificate = "the relation fails at a rational point where every condition holds (256-bit balls)"
    return Decision("refuted", engine, certificate, simple, sides[0], sides[1])


def refutation_near(claim: ScalarClaim, point: Mapping[str, Fraction], seed: int = 0) -> Decision | None:
    """A refutation at a candidate (letters that it leaves out are drawn), at roundings of it or close to it."""
    if any(name not in claim.domains for name in point):
        return None
    missing = [name for name in claim.letters if name not in point]
    if missing:
        point = feasible_point(claim, point, seed) or {}
    if not point:
        return None
    field = Field(claim)
    if field.refuted_at(point) is not None:
        return simplest_refutation(field, point, "smt")
    start = {name: float(value) for name, value in point.items()}
    return _refute_near(field, start, np.random.default_rng(seed), 0.0, climb=True)


def feasible_point(claim: ScalarClaim, given: Mapping[str, Fraction], seed: int = 0) -> dict[str, Fraction] | None:
    """A simple rational point of the range that continues ``given`` and satisfies every condition, if one is found."""
    names = [n for n in claim.domains if n not in given]
    never = replace(claim.with_values({n: tree.Number(v) for n, v in given.items()}), left=ONE, op="<=", right=ZERO)
    for condition in names:
        never = replace(never, where=(*never.where, tree.Compare((tree.Letter(condition),) * 2, ("==",))))
    found = attack(never, seed, rounds=1)
    return {**given, **found.point} if found.outcome == "refuted" else None


def _refute_near(
    field: Field, start: dict[str, float], random: np.random.Generator, excess: float, climb: bool
) -> Decision | None:
    """Round the start (and what a local search makes of it) to simple rationals until one refutes for certain."""
    candidates = [start] if excess > -NEAR else []
    climbed = _climb(field, start, random, excess) if climb else start
    if climbed is not start:
        candidates.append(climbed)
    for candidate in candidates:
        for point in field.hopeful(list(_simple_points(field.integers, candidate))):
            if field.refuted_at(point) is not None:
                return simplest_refutation(field, point)
    return None


def _climb(field: Field, start: dict[str, float], random: np.random.Generator, excess: float) -> dict[str, float]:
    """Pattern search in log coordinates around a start; returns the best point met."""
    best, width = start, 0.5
    for _ in range(12):
        names = list(best)
        factors = {n: np.exp(width * random.standard_normal(96)) for n in names}
        cloud = {n: best[n] * factors[n] for n in names}
        for n in names:
            if n in field.integers:
                cloud[n] = np.round(cloud[n])
            move = random.random(96) < 0.5
            cloud[n] = np.where(move, cloud[n], best[n])
        keep, found, _ = field.judge(cloud)
        place = int(np.argmax(found))
        if keep[place] and found[place] > excess:
            excess, best = float(found[place]), {n: float(cloud[n][place]) for n in names}
        else:
            width *= 0.6
    return best


def _simple_points(integers: frozenset[str], point: dict[str, float]) -> Iterator[dict[str, Fraction]]:
    if not point:
        yield {}
        return
    for denominator in DENOMINATORS:
        rounded = {}
        for name, value in point.items():
            if name in integers:
                rounded[name] = Fraction(round(value))
            elif value and abs(value) < 1 / denominator:
                rounded[name] = Fraction(1, max(1, round(1 / abs(value)))) * (1 if value > 0 else -1)
            else:
                rounded[name] = Fraction(value).limit_denominator(denominator)
        yield rounded
    yield {name: Fraction(value) for name, value in point.items()}


def _has_range(node: tree.Node) -> bool:
    return any(isinstance(part, tree.Call) and binder(part) is not None for part in node.walk())


def _nested(claim: ScalarClaim) -> bool:
    parts = (part for side in (claim.left, claim.right, *claim.where) for part in side.walk())
    ranges = [part for part in parts if isinstance(part, tree.Call) and binder(part) is not None]
    return any(_has_range(inner) for part in ranges for inner in part.arguments[:-1])


def sample_points(claim: ScalarClaim, seed: int = 0, size: int = 256) -> dict[str, Array]:
    """Points of the ranges of a claim that satisfy its conditions, repeated until there are ``size`` of them."""
    points = _sample(claim, np.random.default_rng(seed), 16 * size, NESTED_REACH)
    keep = np.ones(16 * size, dtype=bool)
    for condition in claim.conditions():
        keep &= np.broadcast_to(evaluate(condition, points), keep.shape).astype(bool)
    places = np.flatnonzero(keep)
    if not len(places):
        places = np.arange(16 * size)
    return {name: np.asarray(values)[np.resize(places, size)] for name, values in points.items()}


def _sample(claim: ScalarClaim, random: np.random.Generator, size: int, reach: int) -> dict[str, Array]:
    """Points of the ranges: end points and halves of integers with probability 1/8 each, log-uniform scales."""
    points: dict[str, Array] = {}
    waiting = list(claim.letters)
    for _ in range(len(waiting) + 1):
        for name in list(waiting):
            try:
                points[name] = _draw(claim.domains[name], points, random, size, reach)
            except KeyError:  # an end that mentions a letter not drawn yet
                continue
            waiting.remove(name)
    for name in waiting:
        points[name] = 10.0 ** random.uniform(-3, 3, size)
    return points


def _draw(domain: Domain, points: dict[str, Array], random: np.random.Generator, size: int, reach: int) -> Array:
    """Values of one letter; the ends may differ from point to point."""

    def end(node: tree.Node | None, default: float) -> Array:
        value = default if node is None else evaluate(node, points)
        return np.array(np.broadcast_to(np.asarray(value, float), (size,)))

    low = end(None if domain.lower is None else domain.lower.tree, -np.inf)
    high = end(None if domain.upper is None else domain.upper.tree, np.inf)
    coin = random.random(size)
    if domain.kind == "integers":
        far = np.floor(reach ** random.random(size))
        steps = np.where(coin < 0.5, random.integers(0, 6, size), far)
        return np.asarray(np.minimum(np.where(np.isfinite(low), np.ceil(low), 0.0) + steps, np.floor(high)))
    value = _between(low, high, random, size)
    corner = random.random(size)
    simple = np.round(2 * value) / 2
    value = np.where((corner > 0.125) & (corner < 0.25) & (low <= simple) & (simple <= high), simple, value)
    value = np.where((corner < 0.125) & np.isfinite(low), low, value)
    return np.where((corner > 0.875) & np.isfinite(high), high, value)


def _between(low: Array, high: Array, random: np.random.Generator, size: int) -> Array:
    """Real values: uniform and close to the ends where both are finite, log-uniform and small integers elsewhere."""
    uniform, narrow = random.random(size), 10.0 ** random.uniform(-5, 0, size)
    kind = random.random(size)
    whole = random.integers(1, 12, size).astype(float)
    step = np.where(
        kind < 0.3, whole, 10.0 ** np.where(kind < 0.65, random.uniform(-5, 5, size), random.uniform(-1, 1, size))
    )
    with np.errstate(all="ignore"):
        span = high - low
        inside = np.where(
            kind < 0.5, low + span * uniform, np.where(kind < 0.75, low + span * narrow, high - span * narrow)
        )
        above = low + step * np.where(low > 0, low, 1.0)
        free = step * random.choice([-1.0, 1.0], size)
        one_sided = np.where(np.isfinite(low), above, np.where(np.isfinite(high), high - step, free))
        return np.where(np.isfinite(low) & np.isfinite(high), inside, one_sided)

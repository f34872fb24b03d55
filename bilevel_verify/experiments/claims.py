"""What becomes of the sentences of an experimental section: verdicts from exact paired tests on counts.

``faster``: oracle calls to the target, known between two rows of a curve; each p-value takes the end against it.
``comparable``: the same, within a factor of two both ways. ``lower``: the value of the measure at the end of the run.
A sentence about several rivals is supported if the test says so of each of them, reversed if of one of them it says the
opposite at the level divided by their number. Where a method is at the target in its first step from every start, the
instance decides nothing.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, Literal

from bilevel_verify.experiments.files import Claim, Experiment
from bilevel_verify.experiments.paired import BAND, LEVEL, Paired, Range, compare_ranges
from bilevel_verify.experiments.running import Finished

Verdict = Literal["supported", "not supported", "reversed", "not comparable"]
FEWEST = 5
"""Fewest seeds: below, no exact test reaches the level."""


@dataclass(frozen=True)
class Judged:
    """A sentence on one variant with its verdict; ``pairs`` : (method, rival) -> test; ``reason`` in words."""

    claim: Claim
    variant: str
    verdict: Verdict
    reason: str
    pairs: dict[tuple[str, str], Paired]


def targets(found: Finished, variant: str) -> list[float | None]:
    """The target of every seed: ``value``, or the first value less a ``fraction`` of the best decrease of all."""
    size, measure = found.experiment.size[found.size], found.experiment.measure
    if "value" in size.target:
        return [float(size.target["value"])] * size.seeds
    result: list[float | None] = []
    for seed in range(size.seeds):
        curves = [_values(answers[seed], measure) for (v, _), answers in found.answers.items() if v == variant]
        firsts, lows = [c[0] for c in curves if c], [min(c) for c in curves if c]
        if not firsts or not min(lows) < max(firsts):
            result.append(None)
        else:
            result.append(max(firsts) - float(size.target["fraction"]) * (max(firsts) - min(lows)))
    return result


def cost(answer: dict[str, Any] | None, measure: str, target: float | None) -> Range:
    """Oracle calls until the measure first is at or below the target: more than the first number, at most the second.

    Curves are measured here and there, so the crossing lies between two rows; without one the second is infinite.
    """
    before = 0.0
    for row in (answer or {}).get("curve", ()):
        if target is not None and row.get(measure) is not None and row[measure] <= target:
            return before, float(row["calls"])
        before = float(row["calls"])
    return before, math.inf


def costs(found: Finished, variant: str, entry: str) -> list[Range]:
    """Oracle calls to the target, seed by seed."""
    answers = found.answers[variant, entry]
    return [cost(a, found.experiment.measure, t) for a, t in zip(answers, targets(found, variant))]


def lowest(found: Finished, variant: str, entry: str, measure: str) -> list[float]:
    """The best value of a measure, seed by seed; infinite where there is none."""
    curves = [_values(a, measure) for a in found.answers[variant, entry]]
    return [max(min(c), 0.0) if c else math.inf for c in curves]


def at_the_end(found: Finished, variant: str, entry: str, measure: str) -> list[float]:
    """The value of a measure at the end of the run, seed by seed; infinite where it is not a number."""
    rows = [a["curve"][-1] if a and a["curve"] else {} for a in found.answers[variant, entry]]
    return [max(row[measure], 0.0) if row.get(measure) is not None else math.inf for row in rows]


def _values(answer: dict[str, Any] | None, measure: str) -> list[float]:
    return [row[measure] for row in (answer or {}).get("curve", ()) if row.get(measure) is not None]


def judge(found: Finished) -> list[Judged]:
    """Every sentence on every variant that it is about."""
    one: Experiment = found.experiment
    return [_complete(_judge(found, claim, variant)) for claim in one.claims for variant in claim.variants]


def _complete(judged: Judged) -> Judged:
    """Nothing is supported against rivals that nobody ran."""
    if judged.verdict != "supported" or not judged.claim.missing:
        return judged
    reason = f"so against those that were run; not run here: {', '.join(judged.claim.missing)}"
    return Judged(judged.claim, judged.variant, "not comparable", reason, judged.pairs)


def _judge(found: Finished, claim: Claim, variant: str) -> Judged:
    size = found.experiment.size[found.size]
    there = {name for v, name in found.answers if v == variant}
    absent = [name for name in (*claim.better, *claim.than) if name not in there]
    if absent:
        return Judged(claim, variant, "not comparable", f"not run here: {', '.join(absent)}", {})
    if any(a is None for name in (*claim.better, *claim.than) for a in found.answers[variant, name]):
        return Judged(claim, variant, "not comparable", "some runs have no answer", {})
    if size.seeds < FEWEST:
        return Judged(claim, variant, "not comparable", f"{size.seeds} seeds; an exact test needs {FEWEST}", {})
    if lucky := [name for name in (*claim.better, *claim.than) if _at_once(found, variant, name)]:
        reason = f"{', '.join(lucky)}: at the target in the first step from every start, which says nothing of the rest"
        return Judged(claim, variant, "not comparable", reason, {})
    pairs: dict[tuple[str, str], Paired] = {}
    for name in claim.better:
        for rival in claim.than:
            numbers = [_numbers(found, claim, variant, n) for n in (name, rival)]
            if all(math.isinf(high) for _, high in (*numbers[0], *numbers[1])):
                reason = f"neither {name} nor {rival} reaches the target within the budget"
                return Judged(claim, variant, "not comparable", reason, pairs)
            if claim.kind == "comparable":
                verdict, reason = _within(numbers[0], numbers[1])
                pairs[name, rival] = compare_ranges(numbers[0], numbers[1])
                if verdict is not None:
                    return Judged(claim, variant, verdict, f"{name} and {rival}: {reason}", pairs)
            else:
                pairs[name, rival] = compare_ranges(numbers[0], numbers[1])
    if claim.kind == "comparable":
        return Judged(claim, variant, "supported", f"within a factor of {BAND:g} both ways, each p <= {LEVEL}", pairs)
    return _of_pairs(claim, variant, pairs)


def _at_once(found: Finished, variant: str, entry: str) -> bool:
    """Whether the first step reaches the target on every seed: the start is special for this method."""
    measure, reached = found.experiment.measure, []
    for answer, target in zip(found.answers[variant, entry], targets(found, variant)):
        first = _values(answer, measure)[:2]
        reached.append(target is not None and bool(first) and min(first) <= target)
    return all(reached)


def _numbers(found: Finished, claim: Claim, variant: str, entry: str) -> list[Range]:
    if claim.kind != "lower":
        return costs(found, variant, entry)
    return [(v, v) for v in at_the_end(found, variant, entry, claim.measure or found.experiment.measure)]


def _within(first: list[Range], second: list[Range]) -> tuple[Verdict | None, str]:
    """None where both one-sided tests say that the ratio is inside the band."""
    above, below = compare_ranges(first, second, BAND), compare_ranges(first, second, 1 / BAND)
    if above.less <= LEVEL and below.more <= LEVEL:
        return None, ""
    outside = above.more <= LEVEL or below.less <= LEVEL
    return "reversed" if outside else "not supported", f"p = {above.less:.3g}, {below.more:.3g} for a ratio in the band"


def _of_pairs(claim: Claim, variant: str, pairs: dict[tuple[str, str], Paired]) -> Judged:
    against = [names for names, test in pairs.items() if test.more <= LEVEL / len(pairs)]
    if against:
        words = ", ".join(f"{rival} before {name}" for name, rival in against)
        return Judged(claim, variant, "reversed", words, pairs)
    weak = [names for names, test in pairs.items() if test.less > LEVEL]
    if weak:
        words = ", ".join(f"{name} against {rival}: p = {pairs[name, rival].less:.3g}" for name, rival in weak)
        return Judged(claim, variant, "not supported", words, pairs)
    return Judged(claim, variant, "supported", f"each p <= {LEVEL}", pairs)

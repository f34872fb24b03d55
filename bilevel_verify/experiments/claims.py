"""What becomes of the sentences of an experimental section: verdicts from exact paired tests on counts.

``faster``: oracle calls to the target, known between two rows of a curve; each p-value takes the end against it.
``comparable``: the same, within a factor of two both ways. ``lower``: the value of the measure after equally many
calls. ``seldom``: the share of outer iterations that exploit negative curvature, against :data:`SELDOM`; it needs no
rival and no target.
A sentence about several rivals is supported if the test says so of each of them, reversed if of one of them it says the
opposite at the level divided by their number. Nothing is held against an arm that was treated worse (``alike``). Where
there are several targets, a sentence is judged at each; one that nobody reaches, or a method reaches in its first step
from every start, decides nothing, and a verdict that depends on the target is none.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

from bilevel_verify.experiments.alike import chosen, excuse, unmeasured
from bilevel_verify.experiments.files import Claim
from bilevel_verify.experiments.paired import BAND, LEVEL, Paired, compare, compare_ranges
from bilevel_verify.experiments.running import Finished
from bilevel_verify.experiments.targets import Range, cost, diverged, goals, target_of, values, words

Verdict = Literal["supported", "not supported", "reversed", "not comparable"]
Both = tuple[list[Range], list[Range]]
"""Numbers of a method and of its rival, seed by seed."""
BY_TARGET = ("faster", "comparable")
"""Kinds of sentences that are judged at each target."""
SELDOM = 0.1
"""Share of outer iterations below which a step is called seldom; the papers give no number."""
FEWEST = 5
"""Fewest seeds: below, no exact test reaches the level."""


@dataclass(frozen=True)
class Judged:
    """A sentence on one variant with its verdict; ``pairs`` : (method, rival) -> test; ``reason`` in words.

    ``telling`` : False where the target is too hard or too easy to say anything.
    """

    claim: Claim
    variant: str
    verdict: Verdict
    reason: str
    pairs: dict[tuple[str, str], Paired]
    telling: bool = True


def targets(found: Finished, variant: str) -> list[float | None]:
    """The target of every seed."""
    size, measure = found.experiment.size[found.size], found.experiment.measure
    runs = [answers for (v, _), answers in found.answers.items() if v == variant]
    return [target_of([r[seed] for r in runs], measure, size.target) for seed in range(size.seeds)]


def costs(found: Finished, variant: str, entry: str) -> list[Range]:
    """Oracle calls to the target, seed by seed."""
    answers = found.answers[variant, entry]
    return [cost(a, found.experiment.measure, t) for a, t in zip(answers, targets(found, variant))]


def lowest(found: Finished, variant: str, entry: str, measure: str) -> list[float]:
    """The best value of a measure, seed by seed; infinite where there is none."""
    curves = [values(a, measure) for a in found.answers[variant, entry]]
    return [max(min(c), 0.0) if c else math.inf for c in curves]


def at_common_calls(found: Finished, variant: str, pair: tuple[str, str], measure: str) -> Both:
    """The values of a measure for two methods, seed by seed, where the one that stopped earlier stopped.

    Infinite where it is not a number, or the run diverged. Between two rows of a curve it is known up to their values,
    before the first row not at all.
    """
    columns: Both = ([], [])
    for answers in zip(*(found.answers[variant, name] for name in pair)):
        curves = [() if answer is None or diverged(answer) else answer["curve"] for answer in answers]
        common = min((curve[-1]["calls"] for curve in curves if curve), default=0)
        for column, curve in zip(columns, curves):
            column.append(_around(curve, common, measure) if curve else (math.inf, math.inf))
    return columns


def _around(curve: Sequence[Mapping[str, Any]], calls: int, measure: str) -> Range:
    before = [row for row in curve if row["calls"] <= calls]
    if not before:
        return 0.0, math.inf
    rows = before[-1:] if before[-1]["calls"] == calls else [before[-1], *curve[len(before) :][:1]]
    ends = [max(row[measure], 0.0) if row.get(measure) is not None else math.inf for row in rows]
    return min(ends), max(ends)


def judge(found: Finished) -> list[Judged]:
    """Every sentence on every variant that it is about, at all targets."""
    one, judged = found.experiment, []
    aims = goals(one.size[found.size].target)
    views = [_aimed(found, goal) for goal in aims]
    for claim in one.claims:
        last = slice(0 if claim.kind in BY_TARGET else -1, None)
        for variant in claim.variants:
            each = [_complete(_judge(view, claim, variant)) for view in views[last]]
            judged.append(_agreed(each, aims[last]))
    return judged


def _aimed(found: Finished, goal: Mapping[str, float]) -> Finished:
    one, size = found.experiment, found.experiment.size[found.size]
    return replace(found, experiment=replace(one, size={**one.size, found.size: replace(size, target=goal)}))


def _agreed(each: Sequence[Judged], aims: Sequence[Mapping[str, float]]) -> Judged:
    """One verdict of those at several targets; the tests shown are those at the hardest that tells something."""
    telling = [judged for judged in each if judged.telling] or [each[-1]]
    found, last = {judged.verdict for judged in telling}, telling[-1]
    if len(found) == 1:
        return last
    reason = "; ".join(f"{words(goal)}: {j.verdict} ({j.reason})" for j, goal in zip(each, aims) if j.telling)
    if "not comparable" in found or {"supported", "reversed"} <= found:
        return replace(last, verdict="not comparable", reason=f"it depends on the target. {reason}")
    return replace(last, verdict="not supported", reason=reason)


def _complete(judged: Judged) -> Judged:
    """Nothing is supported against rivals that nobody ran."""
    if judged.verdict != "supported" or not judged.claim.missing:
        return judged
    reason = f"so against those that were run; not run here: {', '.join(judged.claim.missing)}"
    return replace(judged, verdict="not comparable", reason=reason)


def _judge(found: Finished, claim: Claim, variant: str) -> Judged:
    if reason := _undecidable(found, claim, variant):
        return Judged(claim, variant, "not comparable", reason, {})
    if claim.kind == "seldom":
        return _seldom(found, claim, variant)
    numbers = {pair: _numbers(found, claim, variant, pair) for pair in itertools.product(claim.better, claim.than)}
    pairs = {pair: compare_ranges(*both) for pair, both in numbers.items()}
    if reason := _too_easy(found, claim, variant):
        return Judged(claim, variant, "not comparable", reason, pairs, telling=claim.kind == "lower")
    for (name, rival), both in numbers.items():
        if all(math.isinf(high) for column in both for _, high in column):
            reason = f"neither {name} nor {rival} reaches the target within the budget"
            return Judged(claim, variant, "not comparable", reason, pairs, telling=False)
    if claim.kind == "comparable":
        verdict, reason = _within(found, variant, numbers)
    else:
        verdict, reason = _before(found, variant, pairs, claim.kind != "lower")
    return Judged(claim, variant, verdict, reason, pairs)


def _undecidable(found: Finished, claim: Claim, variant: str) -> str:
    """Why the runs decide nothing, whatever they show; empty where they may."""
    size, arms, measure = found.experiment.size[found.size], (*claim.better, *claim.than), _measure(found, claim)
    there = {name for v, name in found.answers if v == variant}
    if absent := [name for name in arms if name not in there]:
        return f"not run here: {', '.join(absent)}"
    if any(a is None for name in arms for a in found.answers[variant, name]):
        return "some runs have no answer"
    if size.seeds < FEWEST:
        return f"{size.seeds} seeds; an exact test needs {FEWEST}"
    if blind := [name for name in arms if unmeasured(found.answers[variant, name], measure)]:
        return f"{measure} is not measured for {', '.join(blind)}"
    return ""


def _seldom(found: Finished, claim: Claim, variant: str) -> Judged:
    """``seldom``: exact one-sided tests of each method's share against :data:`SELDOM`, seed by seed."""
    shares = {
        name: [a["curvature_steps"] / max(a["iterations"], 1) for a in found.answers[variant, name] if a]
        for name in claim.better
    }
    pairs = {
        (name, f"one in {1 / SELDOM:g}"): compare(of_seeds, [SELDOM] * len(of_seeds))
        for name, of_seeds in shares.items()
    }
    often = [name for (name, _), test in pairs.items() if test.more <= LEVEL / len(pairs)]
    told = ", ".join(f"{name} {min(s):.3g} to {max(s):.3g}" for name, s in shares.items())
    verdict: Verdict = "reversed" if often else "not supported"
    if all(test.less <= LEVEL for test in pairs.values()):
        verdict = "supported"
    if ours := [f"{', '.join(said)} of {name}" for name in claim.better if (said := chosen(found, variant, name))]:
        verdict, told = "not comparable", f"{told}; not printed for these data: {'; '.join(ours)}"
    return Judged(claim, variant, verdict, f"share of the outer iterations: {told}", pairs)


def _too_easy(found: Finished, claim: Claim, variant: str) -> str:
    """Which methods are at the target at once; empty if none."""
    lucky = [name for name in (*claim.better, *claim.than) if _at_once(found, variant, name)]
    return f"{', '.join(lucky)}: at the target in the first step from every start, which says nothing" if lucky else ""


def _at_once(found: Finished, variant: str, entry: str) -> bool:
    """Whether the first step reaches the target on every seed: the start is special for this method."""
    measure, reached = found.experiment.measure, []
    for answer, target in zip(found.answers[variant, entry], targets(found, variant)):
        first = values(answer, measure)[:2]
        reached.append(target is not None and bool(first) and min(first) <= target)
    return all(reached)


def _measure(found: Finished, claim: Claim) -> str:
    return claim.measure or found.experiment.measure


def _numbers(found: Finished, claim: Claim, variant: str, pair: tuple[str, str]) -> Both:
    if claim.kind == "lower":
        return at_common_calls(found, variant, pair, _measure(found, claim))
    return costs(found, variant, pair[0]), costs(found, variant, pair[1])


def _within(found: Finished, variant: str, numbers: Mapping[tuple[str, str], Both]) -> tuple[Verdict, str]:
    """``comparable``: one-sided tests that the ratio is inside the band, or outside at a divided level."""
    inside, outside, excuses = [], [], {}
    for (name, rival), (first, second) in numbers.items():
        above, below = compare_ranges(first, second, BAND), compare_ranges(first, second, 1 / BAND)
        ways = excuse(found, variant, name, rival, True), excuse(found, variant, rival, name, True)
        inside.append(above.less <= LEVEL and below.more <= LEVEL)
        beyond = above.more <= LEVEL / len(numbers), below.less <= LEVEL / len(numbers)
        if any(out and not way for out, way in zip(beyond, ways)):
            outside.append(f"{name} and {rival} are further apart than a factor of {BAND:g}")
        excuses[name, rival] = [way for way in ways if way]
    if outside:
        return "not supported", f"{'; '.join(outside)}, which is how the words are read here"
    weak = [pair for pair, good in zip(numbers, inside) if not good]
    if clear := [f"{name} and {rival}" for name, rival in weak if not excuses[name, rival]]:
        return "not supported", f"no test puts the ratio into the band: {', '.join(clear)}"
    if unlike := [way for pair in (weak or numbers) for way in excuses[pair]]:
        return "not comparable", "; ".join(dict.fromkeys(unlike))
    return "supported", f"within a factor of {BAND:g} both ways, each p <= {LEVEL}"


def _before(
    found: Finished, variant: str, pairs: Mapping[tuple[str, str], Paired], by_calls: bool
) -> tuple[Verdict, str]:
    """``faster`` and ``lower``: who comes before whom, and whether that can be held against the one behind."""
    behind = {pair: excuse(found, variant, *pair, by_calls) for pair in pairs}
    against = [pair for pair, test in pairs.items() if test.more <= LEVEL / len(pairs) and not behind[pair]]
    if against:
        return "reversed", ", ".join(f"{rival} before {name}" for name, rival in against)
    weak = [pair for pair, test in pairs.items() if test.less > LEVEL]
    if clear := [pair for pair in weak if not behind[pair]]:
        return "not supported", ", ".join(f"{a} against {b}: p = {pairs[a, b].less:.3g}" for a, b in clear)
    unlike = [behind[pair] for pair in weak] if weak else [excuse(found, variant, b, a, by_calls) for a, b in pairs]
    if any(unlike):
        return "not comparable", "; ".join(dict.fromkeys(reason for reason in unlike if reason))
    return "supported", f"each p <= {LEVEL}"

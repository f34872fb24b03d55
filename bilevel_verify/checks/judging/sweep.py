"""Order claims over a sweep: counts against tolerances (or kappa, nu, d), by the design's rule."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from math import log
from typing import TYPE_CHECKING, Any

from bilevel_verify.checks.claims.claims import all_claims
from bilevel_verify.checks.claims.facts import needs_epochs
from bilevel_verify.checks.claims.recorded import HOW
from bilevel_verify.checks.claims.values import EvaluationError, conjunction, ends
from bilevel_verify.checks.instances import hypotheses as hyp
from bilevel_verify.checks.judging.orders import Rate, judge_order
from bilevel_verify.checks.judging.rows import as_claimed, marks_of, plain_row, readings_of, seen_in_digits
from bilevel_verify.checks.requests.request import HORIZONS
from bilevel_verify.checks.verdicts.verdict import Row, Verdict
from bilevel_verify.language import tree
from bilevel_verify.methods.run import ENDED
from bilevel_verify.numbers import exact
from bilevel_verify.numbers.rounding import precision
from bilevel_verify.theorems.card import Claim
from bilevel_verify.theorems.card_parts import ORDER_SYMBOLS, Link

if TYPE_CHECKING:
    import flint

    from bilevel_verify.checks.instances.case import Case
    from bilevel_verify.checks.requests.request import Request


@dataclass(frozen=True, slots=True)
class Sample:
    """One point of a sweep: the driver's value, the measured left side, the bound inside the order symbol."""

    driver: float
    count: float
    bound: float


def order_rows(request: Request, cases: list[Case]) -> list[Row]:
    """Rows of all order claims of a statement over the instances of a sweep, one series for each start."""
    every = all_claims(request.statement.claims)
    claims = [claim for claim in every if claim.is_order]
    if len({tuple(sorted(case.member.items())) for case in cases}) < 2 and len(claims) < len(every):
        return []  # one instance shows no rate; a statement that is nothing but rates says so in its rows
    rows: list[Row] = []
    for claim in claims:
        if claim.over in ("point", "parameters"):
            continue
        for letter, series in _series(cases):
            if (claim.fit or "eps") == letter:
                rows += [_judge_link(claim, link, number, series, letter) for number, link in enumerate(claim.chain)]
    return rows


def _series(cases: list[Case]) -> list[tuple[str, list[Case]]]:
    """The letter that grows, and the cases of one start each (all starts move with a family)."""
    groups: dict[Any, list[Case]] = {}
    for case in cases:
        groups.setdefault(tuple(sorted(case.member.items())), []).append(case)
    width = min((len(group) for group in groups.values()), default=0)
    varied = [name for name in ("kappa", "d", "nu", *HORIZONS) if len({case.member.get(name) for case in cases}) > 1]
    letter = varied[0] if varied else "eps"
    found = []
    for place in range(width):
        line = [group[place] for group in groups.values()]
        if letter == "eps":
            found.append((letter, line))
            continue
        for eps in {case.eps: None for case in line}:
            found.append((letter, [case for case in line if case.eps == eps]))
    return found


def _judge_link(claim: Claim, link: Link, number: int, series: list[Case], letter: str) -> Row:
    blocked = _blocked(series, claim)
    if blocked is not None:
        return _row(claim, link, number, series, [], blocked, None)
    rate: Rate | None = None
    samples: list[Sample] = []
    within: list[Case] = []
    outcome: tuple[Verdict, str]
    try:
        with precision(exact.BITS):
            within = [case for case in series if _is_meant(claim, case)]
            samples = sorted((_sample(claim, link, case, letter) for case in within), key=lambda s: s.driver)
        short = _left_out(series, within, letter)
        outcome, rate = (short, None) if short is not None else _judge(link, samples)
        if series[-1].below_precision:
            outcome = outcome[0], "; ".join(part for part in (outcome[1], seen_in_digits(series[-1])) if part)
    except (ArithmeticError, ValueError) as error:
        outcome = ("undecided", f"precision: {error}")
    return _row(claim, link, number, within or series, samples, as_claimed(series[-1], claim, outcome), rate)


def _blocked(series: list[Case], claim: Claim) -> tuple[Verdict, str] | None:
    """Why no rate can be read off: a false hypothesis, or a run that was not finished."""
    for case in series:
        worst = hyp.combine(case.premises)
        if worst is not None and worst.verdict == "not applicable":
            return "not applicable", worst.reason
    for case in series:
        worst = hyp.combine(case.premises)
        if worst is not None:
            return "undecided", worst.reason
    for case in series:
        if case.contained is not None and case.contained.verdict != "holds":
            return "undecided", case.contained.reason
        if case.below_precision and _epoch_for(claim, case) is not None:
            continue  # seen in many digits
        if case.run is None:
            return "undecided", case.trouble or "budget: there is no run"
        if case.trajectory is not None and case.trajectory.flat and needs_epochs(claim, case.trajectory.restarts):
            return "undecided", f"not recorded: epochs ({HOW})"
        if case.run.status not in ENDED:
            return "undecided", f"budget: the run at {_place(case)} ended as {case.run.status}"
    if len(series) < 2:
        return "uninformative", "one tolerance is no sweep"
    return None


def _epoch_for(claim: Claim, case: Case) -> int | None:
    """The epoch at which both sides are taken: the last; of a run in many digits that was cut short the last whole one,
    and none for a claim about the end of that run.
    """
    if case.trajectory is None:
        return None
    if not case.below_precision or case.whole:
        return case.trajectory.end().get("t")
    ended = [epoch for epoch in case.trajectory.epochs if case.trajectory.ended_by_restart(epoch)]
    return ended[-1] if ended and claim.over == "epoch" else None


def _place(case: Case) -> str:
    return ", ".join(f"{name} = {number:g}" for name, number in case.member.items())


def _is_meant(claim: Claim, case: Case) -> bool:
    """Whether the conditions of an order claim are true on an instance of the sweep: the others are not counted.

    Raises
    ------
    EvaluationError : a condition that the enclosures do not decide.
    """
    if not claim.where:
        return True
    evaluator, place = case.evaluator(claim), _place_for(claim, case)
    answer = conjunction([evaluator.answer(condition.tree, place) for condition in claim.where])
    if answer is None:
        raise EvaluationError("a condition of the claim is not decided")
    return answer


def _left_out(series: list[Case], within: list[Case], letter: str) -> tuple[Verdict, str] | None:
    """Why what the conditions of a claim leave of a sweep shows no rate; None where it may."""
    if len(within) == len(series):
        return None
    if not within:
        return "not applicable", "vacuous: the conditions of the claim hold on no instance of the sweep"
    ends = [max(driver_of(case, letter) for case in cases) for cases in (series, within)]
    if len(within) < 2 or ends[1] < ends[0]:  # on a bounded range everything is O(1)
        return "uninformative", "the conditions of the claim leave out the end of the sweep, or all but one of it"
    return None


def _judge(link: Link, samples: list[Sample]) -> tuple[tuple[Verdict, str], Rate | None]:
    if any(b.driver <= a.driver for a, b in itertools.pairwise(samples)):
        return ("uninformative", "the driver of the sweep does not grow"), None
    symbol, side, upper, lower = _asserted(link)
    if not upper and not lower:
        return ("uninformative", f"{link.op} with {symbol}() bounds nothing: write <= O(...) or >= Omega(...)"), None
    left, right = [s.count for s in samples], [s.bound for s in samples]
    counts, bounds = (left, right) if upper is (side == "right") else (right, left)
    drivers = [s.driver for s in samples]
    soft = symbol == "softO"
    rate = judge_order(drivers, counts, bounds, two_sided=upper and lower, soft=soft, counted=upper)
    return (rate.verdict, rate.reason), rate


def _asserted(link: Link) -> tuple[str, str, bool, bool]:
    """The order symbol, the side where it stands, and whether the other side is bounded from above and from below."""
    right, left = _symbol(link.right.tree), _symbol(link.left.tree)
    symbol = right or left or "Theta"  # a link without one grows as its relation says
    side = "left" if left is not None and right is None else "right"
    below, above = (("<=", "<", "=="), (">=", ">", "=="))[:: 1 if side == "right" else -1]
    return symbol, side, symbol != "Omega" and link.op in below, symbol in ("Omega", "Theta") and link.op in above


def _symbol(node: tree.Node) -> str | None:
    return node.function if isinstance(node, tree.Call) and node.function in ORDER_SYMBOLS else None


def inside_order(node: tree.Node) -> tree.Node:
    """What stands inside an order symbol; the tree itself where there is none."""
    return node.arguments[0] if isinstance(node, tree.Call) and _symbol(node) is not None else node


def _sample(claim: Claim, link: Link, case: Case, letter: str) -> Sample:
    evaluator = case.evaluator(claim)
    place = _place_for(claim, case)
    middle: Callable[[tree.Node], float] = lambda node: _middle(evaluator.scalar(inside_order(node), place))
    return Sample(driver_of(case, letter), middle(link.left.tree), middle(link.right.tree))


def _place_for(claim: Claim, case: Case) -> dict[str, int]:
    epoch = _epoch_for(claim, case)
    return {} if epoch is None else {"t": epoch}


def driver_of(case: Case, letter: str) -> float:
    """What grows along the sweep: ``1/eps``, or the other letter itself."""
    value = case.member.get(letter)
    if value is None:
        raise ValueError(f"{letter} does not vary")
    return 1.0 / value if letter == "eps" else value


def _middle(value: flint.arb | Fraction) -> float:
    low, high = ends(value)
    return 0.5 * (low + high)


def _row(
    claim: Claim,
    link: Link,
    number: int,
    series: list[Case],
    samples: list[Sample],
    outcome: tuple[Verdict, str],
    rate: Rate | None,
) -> Row:
    last = series[-1]
    verdict, reason = outcome
    return plain_row(
        last,
        claim=claim.id if len(claim.chain) == 1 else f"{claim.id}/{number + 1}",
        source=claim.source or last.request.statement.source or None,
        method=last.method,
        kind="order",
        verdict=verdict,
        certainty="computed" if rate is not None and verdict != "not applicable" else None,
        left=str(link.left),
        right=str(link.right),
        measured=None if rate is None else rate.slope,
        bound=None if rate is None else rate.exponent,
        margin=None if rate is None else rate.exponent - rate.slope,
        where=_range(series),
        places=len(series),
        reason=reason or None,
        reproduce=_command(series),
        reading=readings_of(last, claim),
        as_printed=not (marks := marks_of(last, claim, *link.marks)),
        marks=marks,
        known_refuted=claim.refuted is not None,
        printed=next((text for text in claim.printed if text), None),
        stated=next((text for text in claim.stated if text), None),
        details={"op": link.op, **_details(series, samples, rate)},
    )


def _details(series: list[Case], samples: list[Sample], rate: Rate | None) -> dict[str, object]:
    """What the rate was read off."""
    return {
        "eps": [case.eps for case in series],
        "driver": [s.driver for s in samples],
        "counts": [s.count for s in samples],
        "bounds": [s.bound for s in samples],
        "slopes": [] if rate is None else list(rate.slopes),
        "interval": None if rate is None else list(rate.interval),
        "drift": None if rate is None else rate.drift,
        "fraction": None if rate is None else rate.fraction,
        "decades": log(samples[-1].driver / samples[0].driver, 10) if len(samples) > 1 else 0.0,
    }


def _range(series: list[Case]) -> str | None:
    known = [case.eps for case in series if case.eps is not None]
    return f"eps = {max(known):g} .. {min(known):g}" if known else None


def _command(series: list[Case]) -> str:
    from bilevel_verify.checks.judging.rows import command

    words = command(series[-1])
    known = [case.eps for case in series if case.eps is not None]
    if len(known) < 2:
        return words
    last = f"--eps {known[-1]:g}" if float(f"{known[-1]:g}") == known[-1] else f"--eps {known[-1]!r}"
    words = words.replace(last, "--eps " + ",".join(f"{e:g}" if float(f"{e:g}") == e else repr(e) for e in known), 1)
    if len({tuple(case.instance.start) for case in series}) > 1:  # every member has a start of its own
        words = " ".join(word for word in words.split(" ") if not word.startswith("--x0="))
    return words

"""The engines in order: each link is tried in turn, the first decision wins."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from fractions import Fraction
from math import ceil, floor

from bilevel_verify.audit.scalar.algebra import by_identity, by_number, by_roots
from bilevel_verify.audit.scalar.attack import attack, largest_ratio, refutation_near
from bilevel_verify.audit.scalar.calculus import by_boxes, by_calculus, by_derivative, numeric_ends
from bilevel_verify.audit.scalar.cases import by_head_and_tail, by_residues, by_zero_apart
from bilevel_verify.audit.scalar.claim import Decision, ScalarClaim, completed, eliminated, prepared
from bilevel_verify.audit.scalar.exponents import by_exponents
from bilevel_verify.audit.scalar.logs import by_logarithms
from bilevel_verify.audit.scalar.monomials import by_monomials
from bilevel_verify.audit.scalar.raising import by_raising
from bilevel_verify.audit.scalar.signs import by_cancelling, by_signs
from bilevel_verify.audit.scalar.smt import contradictory
from bilevel_verify.audit.scalar.smt import prove as by_smt
from bilevel_verify.audit.scalar.sums import by_induction, without_sums

Engine = Callable[[ScalarClaim], Decision]
Try = Callable[[Mapping[str, Fraction]], Decision | None]
"""What a candidate of an engine is worth: a refutation or nothing."""
QUICK = 1_000
FULL = 4_000
"""Milliseconds of the SMT solver for a part of a proof and for a whole link."""
DEPTH = 3


def decide(claim: ScalarClaim, *, seed: int = 0, seconds: float = 20.0) -> Decision:
    """Prove or refute one scalar relation.

    Parameters
    ----------
    claim : relation, ranges and hypotheses.
    seed : of the attack; the same seed gives the same counterexample.
    seconds : no further engine is started after this time.

    Returns
    -------
    Decision : ``undecided`` names the engine that got furthest; ``ratio`` is the largest ratio left/right that the
        attack met, how tight the relation is; ``vacuous`` where the hypotheses contradict each other.
    """
    claim, gone = eliminated(claim)
    decision = _decide(claim, seed, seconds)
    return replace(decision, point=completed(decision.point, gone)) if decision.outcome == "refuted" else decision


def _decide(claim: ScalarClaim, seed: int, seconds: float) -> Decision:
    until = time.process_time() + seconds
    for engine in (by_number, by_identity):
        first = engine(claim)
        if first.outcome != "undecided" and (claim.op == "==" or engine is by_number):
            return first
    tried = attack(claim, seed)
    if tried.outcome == "refuted":
        return tried
    decision = _settle(claim, until, DEPTH, FULL, lambda point: refutation_near(claim, point, seed))
    if decision.outcome in ("vacuous", "refuted"):
        return decision
    if decision.outcome == "proved":
        if not tried.attacks and _nothing_left(claim, 2 * QUICK):
            return Decision("vacuous", "smt", "no point satisfies the hypotheses")
        return replace(decision, ratio=largest_ratio(claim, tried.tight), attacks=tried.attacks)
    furthest = decision.engine if decision.engine != "none" else "attack"
    tried = replace(tried, ratio=largest_ratio(claim, tried.tight))
    return replace(tried, engine=furthest, certificate=decision.certificate or tried.certificate)


def _settle(claim: ScalarClaim, until: float, depth: int, milliseconds: int, refuted: Try = lambda _: None) -> Decision:
    """Proofs: engine after engine until one succeeds or the time is over; candidates of engines may refute."""
    best = Decision("undecided", "none", "no engine applies")
    claim = without_sums(claim)
    for engine in _engines(claim, until, depth, milliseconds):
        if time.process_time() > until:
            return best
        decision = engine(claim)
        if decision.outcome in ("proved", "vacuous"):
            return decision
        if decision.point and (found := refuted(decision.point)) is not None:
            return found
        if decision.certificate:
            best = replace(decision, point={})
    return best


def _nothing_left(claim: ScalarClaim, milliseconds: int) -> bool:
    """Whether the hypotheses contradict each other, or leave no whole number to an integer letter."""
    for name in claim.integers:
        low, high = numeric_ends(claim, name)
        if low is not None and high is not None and ceil(low) > floor(high):
            return True
    return contradictory(claim, milliseconds)


def _engines(claim: ScalarClaim, until: float, depth: int, milliseconds: int) -> Iterator[Engine]:
    def part(smaller: ScalarClaim) -> Decision:
        """A part of a proof: first a few samples, so that no time is lost on what is false."""
        smaller = prepared(smaller)
        number = by_number(smaller)
        if number.outcome != "undecided":
            return number
        tried = attack(smaller, rounds=1)
        if tried.outcome == "refuted":
            return tried
        if not tried.attacks and _nothing_left(smaller, QUICK):
            return Decision("vacuous", "smt", "no point satisfies the hypotheses")
        return _settle(smaller, until, depth - 1, QUICK)

    yield from (by_signs, by_identity, by_roots)
    yield lambda c: by_smt(c, min(milliseconds, QUICK))
    if depth > 0:
        yield lambda c: by_cancelling(c, part)
        yield lambda c: by_residues(c, part)
        yield lambda c: by_monomials(c, part)
        yield lambda c: by_induction(c, part)
        yield lambda c: by_exponents(c, part)
        yield lambda c: by_raising(c, part)
    yield by_boxes
    yield by_calculus
    if depth > 0:
        yield lambda c: by_derivative(c, part)
        yield lambda c: by_logarithms(c, part)
    if milliseconds > QUICK:
        yield lambda c: by_smt(c, milliseconds)
    if depth == DEPTH:
        yield lambda c: by_head_and_tail(c, part)
        yield lambda c: by_zero_apart(c, part)

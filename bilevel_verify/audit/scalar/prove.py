"""The engines in order: each link is tried in turn, the first decision wins."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from fractions import Fraction
from math import ceil, floor

from bilevel_verify.audit.limits import note
from bilevel_verify.audit.scalar.algebra import by_identity, by_number, by_roots
from bilevel_verify.audit.scalar.attack import attack, largest_ratio, refutation_near
from bilevel_verify.audit.scalar.calculus import by_boxes, by_calculus, by_derivative, numeric_ends
from bilevel_verify.audit.scalar.cases import by_head_and_tail, by_residues, by_zero_apart
from bilevel_verify.audit.scalar.claim import Decision, ScalarClaim, completed, eliminated, prepared
from bilevel_verify.audit.scalar.deciding import EFFORT
from bilevel_verify.audit.scalar.exponents import by_exponents
from bilevel_verify.audit.scalar.logs import by_logarithms
from bilevel_verify.audit.scalar.monomials import by_monomials
from bilevel_verify.audit.scalar.moving import by_halves, by_scale
from bilevel_verify.audit.scalar.plain import plain
from bilevel_verify.audit.scalar.raising import by_raising
from bilevel_verify.audit.scalar.rolle import by_rolle
from bilevel_verify.audit.scalar.signs import by_cancelling, by_signs
from bilevel_verify.audit.scalar.smt import contradictory
from bilevel_verify.audit.scalar.smt import prove as by_smt
from bilevel_verify.audit.scalar.sums import by_induction, without_sums
from bilevel_verify.audit.scalar.work import UNITS, counting, over, spend

Engine = Callable[[ScalarClaim], Decision]
Try = Callable[[Mapping[str, Fraction]], Decision | None]
"""What a candidate of an engine is worth: a refutation or nothing."""
QUICK = 1_000
FULL = 4_000
"""Milliseconds of the SMT solver for a part of a proof and for a whole link."""
DEPTH = 3
ENGINE_WORK, ATTACK_WORK = 5.0, 20.0
"""What an engine costs at least, and what the samples before a part of a proof cost."""


def decide_here(claim: ScalarClaim, *, seed: int = 0, effort: float = EFFORT) -> Decision:
    """Prove or refute one scalar relation in this process, however long it takes."""
    claim, gone = eliminated(claim)
    with counting(UNITS * effort) as done:
        decision = _decide(claim, seed)
    if decision.outcome == "undecided" and done.ended:
        decision = replace(decision, certificate=f"{decision.certificate}; budget: {done.ended}")
    return replace(decision, point=completed(decision.point, gone)) if decision.outcome == "refuted" else decision


def _decide(claim: ScalarClaim, seed: int) -> Decision:
    for engine in (by_number, by_identity):
        note(_name(engine))
        first = engine(claim)
        if first.outcome != "undecided" and (claim.op == "==" or engine is by_number):
            return first
    note("attack")
    tried = attack(claim, seed)
    if tried.outcome == "refuted":
        return tried
    decision = settle(claim, DEPTH, FULL, lambda point: refutation_near(claim, point, seed))
    if decision.outcome in ("vacuous", "refuted"):
        return decision
    if decision.outcome == "proved":
        if not tried.attacks and _nothing_left(claim, 2 * QUICK):
            return Decision("vacuous", "smt", "no point satisfies the hypotheses")
        return replace(decision, ratio=largest_ratio(claim, tried.tight), attacks=tried.attacks)
    furthest = decision.engine if decision.engine != "none" else "attack"
    tried = replace(tried, ratio=largest_ratio(claim, tried.tight))
    return replace(tried, engine=furthest, certificate=decision.certificate or tried.certificate)


def settle(claim: ScalarClaim, depth: int, milliseconds: int, refuted: Try = lambda _: None) -> Decision:
    """Proofs: engine after engine until one succeeds or the work is over; candidates of engines may refute."""
    best = Decision("undecided", "none", "no engine applies")
    claim = plain(without_sums(claim))
    for name, engine in engines(claim, depth, milliseconds):
        if over():
            return replace(best, engine="budget", certificate=f"the work was over before {name}")
        note(name)
        spend(ENGINE_WORK)
        decision = engine(claim)
        if decision.outcome in ("proved", "vacuous"):
            return decision
        if decision.point and (found := refuted(decision.point)) is not None:
            return found
        if decision.certificate:
            best = replace(decision, point={})
    return best


def _name(engine: Callable[..., Decision]) -> str:
    return engine.__name__.removeprefix("by_").replace("_", " ")


def _nothing_left(claim: ScalarClaim, milliseconds: int) -> bool:
    """Whether the hypotheses contradict each other, or leave no whole number to an integer letter."""
    for name in claim.integers:
        low, high = numeric_ends(claim, name)
        if low is not None and high is not None and ceil(low) > floor(high):
            return True
    return contradictory(claim, milliseconds)


def engines(claim: ScalarClaim, depth: int, milliseconds: int) -> Iterator[tuple[str, Engine]]:
    """The proving engines in their order, each with its name; parts of a proof are settled one level deeper."""

    def part(smaller: ScalarClaim) -> Decision:
        """A part of a proof: first a few samples, so that no work is lost on what is false."""
        smaller = prepared(smaller)
        number = by_number(smaller)
        if number.outcome != "undecided":
            return number
        spend(ATTACK_WORK)
        tried = attack(smaller, rounds=1)
        if tried.outcome == "refuted":
            return tried
        if not tried.attacks and _nothing_left(smaller, QUICK):
            return Decision("vacuous", "smt", "no point satisfies the hypotheses")
        return settle(smaller, depth - 1, QUICK)

    def parted(engine: Callable[[ScalarClaim, Engine], Decision]) -> tuple[str, Engine]:
        return _name(engine), lambda c: engine(c, part)

    for engine in (by_signs, by_identity, by_roots):
        yield _name(engine), engine
    yield "smt", lambda c: by_smt(c, min(milliseconds, QUICK))
    if depth > 0:
        for dividing in (by_cancelling, by_residues, by_monomials, by_induction, by_exponents, by_raising):
            yield parted(dividing)
    yield "boxes", by_boxes
    yield "rolle", by_rolle
    yield "calculus", by_calculus
    if depth > 0:
        yield parted(by_derivative)
        yield parted(by_logarithms)
    if milliseconds > QUICK:
        yield "smt", lambda c: by_smt(c, milliseconds)
    if depth == DEPTH:
        yield parted(by_head_and_tail)
        yield parted(by_zero_apart)
        yield parted(by_halves)
        yield parted(by_scale)

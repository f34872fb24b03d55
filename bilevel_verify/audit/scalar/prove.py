"""The engines in order: each link is tried in turn, the first decision wins."""

from __future__ import annotations

import time
from collections.abc import Callable

from bilevel_verify.audit.scalar.algebra import by_identity, by_number, by_roots
from bilevel_verify.audit.scalar.attack import attack
from bilevel_verify.audit.scalar.claim import Decision, ScalarClaim, prepared
from bilevel_verify.audit.scalar.smt import prove as by_smt

Engine = Callable[[ScalarClaim], Decision]


def decide(claim: ScalarClaim, *, seed: int = 0, seconds: float = 20.0) -> Decision:
    """Prove or refute one scalar relation.

    Parameters
    ----------
    claim : relation, ranges and hypotheses.
    seed : of the attack; the same seed gives the same counterexample.
    seconds : no further engine is started after this time.

    Returns
    -------
    Decision : ``undecided`` names the engine that got furthest.
    """
    claim = prepared(claim)
    began = time.monotonic()
    engines: list[Engine] = [by_number, by_identity, lambda c: attack(c, seed), by_roots, by_smt]
    best = Decision("undecided", "none", "no engine applies")
    for engine in engines:
        decision = engine(claim)
        if decision.outcome != "undecided":
            return decision
        if decision.engine == "attack" or best.engine == "none":
            best = decision
        if time.monotonic() - began > seconds:
            break
    return best

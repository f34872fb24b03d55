"""The question that everybody asks of the engines; they answer in a process of their own, and are loaded there only."""

from __future__ import annotations

from bilevel_verify.audit.limits import Ended, bounded
from bilevel_verify.audit.scalar.claim import Decision, ScalarClaim

EFFORT = 20.0
PATIENCE = 40.0
"""Seconds of processor time for one second of effort before a search is ended: far more than its counted work takes."""
ENGINES = "bilevel_verify.audit.scalar.prove:decide_here"


def decide(claim: ScalarClaim, *, seed: int = 0, effort: float = EFFORT, seconds: float | None = None) -> Decision:
    """Prove or refute one scalar relation.

    Parameters
    ----------
    claim : relation, ranges and hypotheses.
    seed : of the attack; the same seed gives the same counterexample.
    effort : of the engines together, in seconds of an idle machine, which are counted and not measured.
    seconds : of processor time after which the search is ended, and the decision says so; a multiple of the effort
        unless given.

    Returns
    -------
    Decision : ``undecided`` names the engine that got furthest; ``ratio`` is the largest ratio left/right that the
        attack met, how tight the relation is; ``vacuous`` where the hypotheses contradict each other.
    """
    limit = PATIENCE * effort if seconds is None else seconds
    found = bounded(ENGINES, claim, seed=seed, effort=effort, seconds=limit)
    return Decision("undecided", "budget", found.reason) if isinstance(found, Ended) else found

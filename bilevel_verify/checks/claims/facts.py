"""What a claim asks of a run beyond its recorded entries, and when that is known."""

from __future__ import annotations

from bilevel_verify.language import tree
from bilevel_verify.theorems.card import Claim

COUNTERS = frozenset({"iterations", "epochs"})
"""Letters of a run that only grow; ``calls(...)`` is the function that does."""
OF_THE_EPOCH = frozenset({"k_end", "ended_by_restart", "last_epoch"})
"""Letters of an epoch that are known once it has ended."""
OF_THE_END = frozenset({"output", "status", "lambda_min_output"})
"""Letters of a run that are known once it has ended."""


def rests_on_the_epoch(claim: Claim) -> bool:
    """Whether a claim asks for something that is known only when its epoch has ended."""
    return claim.over == "epoch" or bool(_letters(claim) & OF_THE_EPOCH)


def rests_on_the_end(claim: Claim) -> bool:
    """Whether a claim asks for something that is known only when the run has ended."""
    counted = any("calls" in tree.functions(one) for one in trees_of(claim))
    return claim.over == "run" or counted or bool(_letters(claim) & (OF_THE_END | COUNTERS))


def reads_iterates(claim: Claim) -> bool:
    """Whether a claim reads points of the run, which the run has rounded; counts and letters are exact."""
    entries = (isinstance(node, tree.Index) for one in trees_of(claim) for node in one.walk())
    return any(entries) or bool(_letters(claim) & {"output", "lambda_min_output"})


def needs_epochs(claim: Claim, restarts: bool | None) -> bool:
    """Whether a claim cannot be judged on iterates of which nobody said where an epoch begins.

    Parameters
    ----------
    restarts : whether the method that the claim is about restarts; None where that is not known: then steps from one
        iterate to the next are steps, and what speaks of epochs needs them.
    """
    if restarts is False:
        return False
    entries = [node for one in trees_of(claim) for node in one.walk() if isinstance(node, tree.Index)]
    by_epoch = bool(_letters(claim) & (OF_THE_EPOCH | {"t", "epochs"})) or any(len(e.indices) > 1 for e in entries)
    if restarts is None:
        return claim.over == "epoch" or by_epoch
    return claim.over in ("step", "epoch") or by_epoch or bool(entries) or "iterations" in _letters(claim)


def _letters(claim: Claim) -> set[str]:
    return {name for one in trees_of(claim) for name in tree.letters(one)}


def trees_of(claim: Claim) -> list[tree.Node]:
    """Everything that a claim mentions."""
    sides = [side.tree for link in claim.chain for side in (link.left, link.right)]
    return [*sides, *conditions_of(claim), *(e.tree for e in claim.define.values())]


def conditions_of(claim: Claim) -> list[tree.Node]:
    """What decides at which places a claim is judged."""
    ends = [end.tree for domain in claim.for_.values() for end in (domain.lower, domain.upper) if end is not None]
    return [*ends, *(e.tree for e in claim.where)]

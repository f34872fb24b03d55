"""Defined everywhere? Denominators, logarithms, roots and powers on the whole closed range that is printed.

Each failure is a finding of its own ("undefined at a = 0"), apart from the verdict inside the range.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from fractions import Fraction

from bilevel_verify.audit.limits import Ended, bounded
from bilevel_verify.audit.scalar.claim import Decision, ScalarClaim, prepared
from bilevel_verify.language import to_text, tree
from bilevel_verify.theorems.rewrite import free_letters

EFFORT, SECONDS = 3.0, 60.0
"""Counted seconds for one part of a formula, and seconds of processor time for all of them."""
SHARE = 1.5
"""Effort for each unit of a link's budget, up to :data:`EFFORT`: a quick audit already has all of it."""
HERE = "bilevel_verify.audit.entries.definedness:undefined_here"
SCRIPT = "bilevel_verify.audit.entries.script:undefined_script"
QUICK = 300
"""Milliseconds for the proof that is tried before any search."""


def effort_within(budget: float) -> float:
    """The effort for one part of a formula where a link has a budget."""
    return min(EFFORT, SHARE * budget)


def undefined(
    claim: ScalarClaim,
    seed: int = 0,
    vectors: tuple[str, ...] = (),
    *,
    effort: float = EFFORT,
    seconds: float = SECONDS,
) -> tuple[Decision, ScalarClaim | None]:
    """``proved``: both sides are defined on the whole range; ``refuted``: a point of it where they are not.

    The second part is what would have to hold there (``abs(a) > 0`` for a division by a), for an independent script.
    What must hold for all ``vectors`` is not decided. ``effort`` is counted work of the engines for each denominator,
    base and argument; ``seconds`` of processor time end the search, fewer where the effort is less than the usual one.
    """
    found = bounded(HERE, claim, seed, vectors, effort, seconds=min(seconds, SECONDS * effort / EFFORT))
    if isinstance(found, Ended):
        return Decision("undecided", "definedness", f"not shown that both sides are defined: {found.reason}"), None
    answer: tuple[Decision, ScalarClaim | None] = found
    return answer


def undefined_here(
    claim: ScalarClaim, seed: int, vectors: tuple[str, ...], effort: float = EFFORT
) -> tuple[Decision, ScalarClaim | None]:
    """The same in this process."""
    from bilevel_verify.audit.scalar.needs import needs_of
    from bilevel_verify.audit.scalar.prove import decide_here
    from bilevel_verify.audit.scalar.smt import prove as by_smt

    claim = prepared(claim)
    open_needs, looked_at = [], needs_of(claim)
    for need, part in looked_at:
        if free_letters(part.left) & set(vectors):
            open_needs.append(f"{need.what} {to_text(_inside(need.left))}")
            continue
        if by_smt(part, QUICK).outcome == "proved":
            continue
        decision = decide_here(part, seed=seed, effort=effort)
        if decision.outcome == "refuted":
            at = ", ".join(f"{n} = {v}" for n, v in decision.point.items())
            text = f"undefined{' at ' + at if at else ''}: {need.what} {to_text(_inside(need.left))}"
            return replace(decision, engine="definedness", certificate=text), part
        if decision.outcome == "undecided":
            open_needs.append(f"{need.what} {to_text(_inside(need.left))}")
    if open_needs:
        return Decision("undecided", "definedness", f"not shown: {open_needs[0]} is defined"), None
    return Decision("proved", "definedness", f"defined on the whole range ({len(looked_at)} parts looked at)"), None


def script_of(claim: ScalarClaim, needed: ScalarClaim, point: Mapping[str, Fraction]) -> str | None:
    """The independent script that shows that a side is not defined; None where it could not be written in time."""
    found = bounded(SCRIPT, claim, needed, dict(point), seconds=SECONDS)
    return None if isinstance(found, Ended) else str(found)


def where_defined(decision: Decision, definedness: Decision) -> Decision:
    """A relation does not hold on a range on which a side is undefined: a proof is then one of where it is defined."""
    if decision.outcome != "proved" or definedness.outcome in ("proved", "vacuous"):
        return decision
    missing = definedness.certificate.partition(":")[0] if definedness.outcome == "refuted" else definedness.certificate
    text = f"{missing}; holds where defined"
    return replace(decision, outcome="undecided", attacks=0, engine=text, certificate=_reason(decision))


def _reason(decision: Decision) -> str:
    return f"{decision.engine}: {decision.certificate}" if decision.certificate else decision.engine


def _inside(node: tree.Node) -> tree.Node:
    return node.arguments[0] if isinstance(node, tree.Call) and node.function == "abs" else node

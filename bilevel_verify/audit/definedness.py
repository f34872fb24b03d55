"""Defined everywhere? Denominators, logarithms, roots and powers on the whole closed range that is printed.

Each failure is a finding of its own ("undefined at a = 0"), apart from the verdict inside the range.
"""

from __future__ import annotations

from dataclasses import replace

from bilevel_verify.audit.scalar.claim import Decision, ScalarClaim, prepared
from bilevel_verify.audit.scalar.needs import needs_of
from bilevel_verify.audit.scalar.prove import decide
from bilevel_verify.audit.scalar.smt import prove as by_smt
from bilevel_verify.language import to_text, tree
from bilevel_verify.theorems.rewrite import free_letters

EFFORT = 3.0
QUICK = 300
"""Milliseconds for the proof that is tried before any search."""


def undefined(claim: ScalarClaim, seed: int = 0, vectors: tuple[str, ...] = ()) -> tuple[Decision, ScalarClaim | None]:
    """``proved``: both sides are defined on the whole range; ``refuted``: a point of it where they are not.

    The second part is what would have to hold there (``abs(a) > 0`` for a division by a), for an independent script.
    What must hold for all ``vectors`` is not decided.
    """
    claim = prepared(claim)
    open_needs, looked_at = [], needs_of(claim)
    for need, part in looked_at:
        if free_letters(part.left) & set(vectors):
            open_needs.append(f"{need.what} {to_text(_inside(need.left))}")
            continue
        if by_smt(part, QUICK).outcome == "proved":
            continue
        decision = decide(part, seed=seed, effort=EFFORT)
        if decision.outcome == "refuted":
            at = ", ".join(f"{n} = {v}" for n, v in decision.point.items())
            text = f"undefined{' at ' + at if at else ''}: {need.what} {to_text(_inside(need.left))}"
            return replace(decision, engine="definedness", certificate=text), part
        if decision.outcome == "undecided":
            open_needs.append(f"{need.what} {to_text(_inside(need.left))}")
    if open_needs:
        return Decision("undecided", "definedness", f"not shown: {open_needs[0]} is defined"), None
    return Decision("proved", "definedness", f"defined on the whole range ({len(looked_at)} parts looked at)"), None


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

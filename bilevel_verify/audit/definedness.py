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

SECONDS = 3.0
QUICK = 300
"""Milliseconds for the proof that is tried before any search."""


def undefined(claim: ScalarClaim, seed: int = 0) -> tuple[Decision, ScalarClaim | None]:
    """``proved``: both sides are defined on the whole range; ``refuted``: a point of it where they are not.

    The second part is what would have to hold there (``abs(a) > 0`` for a division by a), for an independent script.
    """
    claim = prepared(claim)
    open_needs, looked_at = [], needs_of(claim)
    for need, part in looked_at:
        if by_smt(part, QUICK).outcome == "proved":
            continue
        decision = decide(part, seed=seed, seconds=SECONDS)
        if decision.outcome == "refuted":
            at = ", ".join(f"{n} = {v}" for n, v in decision.point.items())
            text = f"undefined{' at ' + at if at else ''}: {need.what} {to_text(_inside(need.left))}"
            return replace(decision, engine="definedness", certificate=text), part
        if decision.outcome == "undecided":
            open_needs.append(f"{need.what} {to_text(_inside(need.left))}")
    if open_needs:
        return Decision("undecided", "definedness", f"not shown: {open_needs[0]} is defined"), None
    return Decision("proved", "definedness", f"defined on the whole range ({len(looked_at)} parts looked at)"), None


def _inside(node: tree.Node) -> tree.Node:
    return node.arguments[0] if isinstance(node, tree.Call) and node.function == "abs" else node

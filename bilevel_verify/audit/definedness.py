"""Defined everywhere? Denominators, logarithms, roots and powers on the whole closed range that is printed.

Each failure is a finding of its own ("undefined at a = 0"), apart from the verdict inside the range.
"""

from __future__ import annotations

from dataclasses import replace

from bilevel_verify.audit.scalar.claim import Decision, ScalarClaim, prepared
from bilevel_verify.audit.scalar.needs import claim_of, needs
from bilevel_verify.audit.scalar.prove import decide
from bilevel_verify.audit.scalar.signs import positive
from bilevel_verify.audit.scalar.smt import prove as by_smt
from bilevel_verify.language import to_text, tree

SECONDS = 3.0
QUICK = 300
"""Milliseconds for the proof that is tried before any search."""


def undefined(claim: ScalarClaim, seed: int = 0) -> tuple[Decision, ScalarClaim | None]:
    """``proved``: both sides are defined on the whole range; ``refuted``: a point of it where they are not.

    The second part is what would have to hold there (``abs(a) > 0`` for a division by a), for an independent script.
    """
    claim, shown = prepared(claim), 0
    open_needs = []
    for need in dict.fromkeys((*needs(claim.left), *needs(claim.right))):
        part = claim_of(need, claim)
        if part is None or positive(need.left, part.domains):
            continue
        shown += 1
        if by_smt(part, QUICK).outcome == "proved":
            continue
        try:
            decision = decide(part, seed=seed, seconds=SECONDS)
        except (ValueError, KeyError):
            continue
        if decision.outcome == "refuted":
            at = ", ".join(f"{n} = {v}" for n, v in decision.point.items())
            text = f"undefined{' at ' + at if at else ''}: {need.what} {to_text(_inside(need.left))}"
            return replace(decision, engine="definedness", certificate=text), part
        if decision.outcome == "undecided":
            open_needs.append(f"{need.what} {to_text(_inside(need.left))}")
    if open_needs:
        return Decision("undecided", "definedness", f"not shown: {open_needs[0]} is defined"), None
    return Decision("proved", "definedness", f"defined on the whole range ({shown} parts looked at)"), None


def _inside(node: tree.Node) -> tree.Node:
    return node.arguments[0] if isinstance(node, tree.Call) and node.function == "abs" else node

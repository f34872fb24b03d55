"""The nearest true form is true wherever its hypotheses hold, which it cannot be where a side has no value."""

from __future__ import annotations

import pytest
from audit_pieces import claim_of

from bilevel_verify.audit.entries.definedness import undefined
from bilevel_verify.audit.entries.repair import Candidate, Repair, nearest_true
from bilevel_verify.audit.scalar.claim import ScalarClaim
from bilevel_verify.language import parse, tree


def repaired(text: str, domains: str) -> tuple[Repair | None, ScalarClaim | None]:
    """The nearest true form of a relation, and its claim."""
    node, ranges = parse(text), claim_of(text, domains)
    assert isinstance(node, tree.Compare)

    def claim(c: Candidate) -> ScalarClaim:
        where = () if c.hypothesis is None else (c.hypothesis,)
        return ScalarClaim(c.left, c.op, c.right, ranges.domains, where)

    (left, right), (op,) = node.operands, node.operators
    found = nearest_true(left, op, right, claim, lambda *_: True)
    return found, None if found is None else claim(Candidate("", found.left, found.op, found.right, found.hypothesis))


@pytest.mark.parametrize(
    ("text", "domains"),
    [
        ("(kappa + 1)/(kappa - 1) <= 5", "kappa = [1, oo)"),
        ("(a + 1)/a <= 3", "a = [0, 1]"),
        ("2*log(a) <= a - 1", "a = [0, oo)"),
    ],
)
def test_a_repair_is_defined_wherever_its_hypotheses_hold(text: str, domains: str) -> None:
    repair, claim = repaired(text, domains)
    if claim is not None:
        assert undefined(claim)[0].outcome == "proved", repair


def test_a_constant_is_still_repaired() -> None:
    repair, _ = repaired("a + 1/(1 + a) <= 1 + a/2", "a = [0, oo)")
    assert repair is not None
    assert repair.decision.outcome == "proved"

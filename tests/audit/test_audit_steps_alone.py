"""Step algebra alone, without the search in numbers behind it: each claim is false for one of its side conditions."""

from __future__ import annotations

import pytest
from audit_pieces import ranges

from bilevel_verify.audit import steps
from bilevel_verify.audit.scalar.claim import ScalarClaim
from bilevel_verify.language import parse, tree

pytestmark = pytest.mark.fast

FALSE = [
    # every principal minor: the diagonal, pairs, all three
    ("0 <= norm(u)**2 - norm(w)**2 + norm(v)**2", ""),
    ("2*dot(u, v) <= norm(u)**2 + norm(v)**2*99/100", ""),
    ("2*dot(v, w) <= norm(u)**2 + norm(v)**2 + norm(w)**2/2", ""),
    ("2*dot(u, w) <= norm(u)**2 + norm(v)**2 + norm(w)**2/2", ""),
    ("norm(u + v + w)**2 <= 2*norm(u)**2 + 2*norm(v)**2 + 2*norm(w)**2", ""),
    ("-11/10*(dot(u, v) + dot(v, w) + dot(u, w)) <= norm(u)**2/2 + norm(v)**2/2 + norm(w)**2/2", ""),
    # constants and strictness where all vectors vanish
    ("norm(u)**2 + 1/1000 <= norm(u)**2 + norm(v)**2", ""),
    ("norm(u)**2 < norm(u)**2 + norm(v)**2", ""),
    ("norm(u)**2 + norm(v)**2 > norm(u)**2", ""),
    ("0 < norm(u)**2", ""),
    ("norm(u)**2 < norm(u)**2 + t", "t = [0, 1]"),
    # which side is which
    ("norm(u)**2 + norm(v)**2 <= norm(u)**2", ""),
    ("norm(u)**2 >= norm(u)**2 + norm(v)**2", ""),
    # equalities: every coefficient, the constant too
    ("norm(u + v)**2 == norm(u)**2 + dot(u, v) + norm(v)**2", ""),
    ("norm(u + v)**2 == norm(u)**2 + 2*dot(u, v) + 2*norm(v)**2", ""),
    ("norm(u)**2 == norm(u)**2 + t", "t = [0, 1]"),
    ("t*norm(u)**2 == t**2*norm(u)**2", "t = [0, 1]"),
    # ranges of the scalars
    ("norm((1 - t)*u + t*v)**2 <= (1 - t)*norm(u)**2 + t*norm(v)**2", "t = [0, 1 + 1/100]"),
    ("t*norm(u)**2 >= 0", "t = [-1/100, 1]"),
    ("2*dot(u, v) <= t*norm(u)**2 + norm(v)**2/t", "t = [-1, 1]"),
]


@pytest.mark.parametrize(("text", "domains"), FALSE)
def test_step_algebra_proves_nothing_false(text: str, domains: str) -> None:
    node = parse(text)
    assert isinstance(node, tree.Compare)
    scalars = ranges(domains)
    claim = ScalarClaim(node.operands[0], node.operators[0], node.operands[1], scalars)
    assert steps._decided(claim, ("u", "v", "w"), 0, 2.0).outcome not in ("proved", "vacuous")
    assert steps.decide_step(claim, ("u", "v", "w"), effort=2.0).outcome not in ("proved", "vacuous")

"""Parameters outside a theorem's hypotheses: the run is allowed, the theorem is not applicable and says why."""

from __future__ import annotations

import pytest

import bilevel_verify as bv
from bilevel_verify.checks import verify

OUTSIDE = {
    "theta of Theorem 1": ("cosine-sum", "restarted-agd-hb/theorem-1", {"eps": 5.0}, "theta < 1 is false"),
    "theta given": ("cosine-sum", "restarted-agd-hb/theorem-1", {"parameters": {"theta": 1.5}}, "theta < 1 is false"),
    "theta of Theorem 4": ("cosine-sum", "restarted-agd-hb/theorem-4", {"eps": 0.01}, "theta <= 1/10 is false"),
    "lambda": ("trig-1-1", "ragd-gs/theorem-1", {"parameters": {"lam": 0.1}}, "lam >= 2*L_f/mu is false"),
    "eps of Theorem 3.4": ("toy-a", "rahgd/theorem-3-4", {"eps": 5.0}, "eps <= L_tilde**2/rho_tilde is false"),
}


@pytest.mark.parametrize("name", list(OUTSIDE))
def test_the_failed_hypothesis_is_named_and_the_run_is_made(name):
    problem, statement, options, words = OUTSIDE[name]
    found = verify(bv.zoo(problem), statement, **{"eps": 0.05, "budget": 20_000, **options})
    assert found.verdict == "not applicable"
    assert {row.verdict for row in found.claims} == {"not applicable"}
    assert all(words in row.reason for row in found.claims if row.kind != "order")
    assert len(found.runs) == 1
    assert found.runs[0].iterations > 0
    failed = [row for row in found.hypotheses if row.verdict == "not applicable"]
    assert any(words.removesuffix(" is false") in row.left for row in failed)

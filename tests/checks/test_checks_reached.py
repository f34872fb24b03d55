"""The built-in job asks for every statement of the three first-order cards; what it does not reach is listed."""

from __future__ import annotations

import pytest
from checks_reached import unreached

from bilevel_verify.checks import builtin_jobs
from bilevel_verify.theorems import load_card

PAPERS = ("ragd-gs", "rahgd", "restarted-agd-hb")


@pytest.mark.parametrize("paper", PAPERS)
def test_every_statement_with_claims_has_a_cell(paper):
    asked = {job["statement"].partition(":")[0] for job in builtin_jobs(paper)}
    for statement in load_card(paper).statements:
        if statement.claims:
            assert f"{paper}/{statement.id}" in asked


def test_the_list_of_what_was_not_reached():
    row = {"paper": "ragd-gs", "statement": "theorem-1", "kind": "run", "places": 1}
    every = {(u.statement, u.claim) for u in unreached(["ragd-gs"], [])}
    assert ("theorem-1", "output") in every
    held = unreached(["ragd-gs"], [{**row, "claim": "output", "verdict": "holds", "reason": None}])
    assert len(held) == len(every) - 1
    chain = unreached(["ragd-gs"], [{**row, "claim": "output/2", "verdict": "refuted", "reason": "x"}])
    assert len(chain) == len(every) - 1
    vacuous = {**row, "claim": "output", "verdict": "not applicable", "reason": "vacuous: no place to check"}
    found = {(u.statement, u.claim): u.why for u in unreached(["ragd-gs"], [vacuous])}
    assert found["theorem-1", "output"] == "not applicable: vacuous: no place to check"
    searched = {**row, "claim": "output", "verdict": "undecided", "reason": "survived 300 attacks, largest ratio 1"}
    assert ("theorem-1", "output") not in {(u.statement, u.claim) for u in unreached(["ragd-gs"], [searched])}

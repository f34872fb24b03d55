"""Every recorded refutation of a claim has an instance that `verify` refutes again, or one of the few reasons."""

from __future__ import annotations

import pytest

from bilevel_verify.audit.findings.finding import Finding
from bilevel_verify.audit.findings.records import with_records
from bilevel_verify.theorems.card import Card, Claim, Statement
from bilevel_verify.theorems.library import cards, load_card

CARDS = [load_card(record.name) for record in cards()]
RECORDED = [
    (card, entry, claim)
    for card in CARDS
    for entry in card.entries.values()
    if isinstance(entry, Statement)
    for claim in entry.claims
    if claim.refuted is not None
]


def test_every_recorded_claim_has_an_instance_or_a_reason() -> None:
    assert len(RECORDED) >= 38
    bare = [f"{c.key}/{e.id}:{k.id}" for c, e, k in RECORDED if not (k.refuted and (k.refuted.on or k.refuted.never))]
    assert bare == []


@pytest.mark.parametrize(
    ("card", "entry", "claim"),
    [pytest.param(*part, id=f"{part[0].key}-{part[1].id}-{part[2].id}") for part in RECORDED if part[2].refuted.on],
)
def test_the_recorded_instance_is_refuted_again(card: Card, entry: Statement, claim: Claim) -> None:
    from dataclasses import replace

    findings = with_records(card, replace(entry, claims=(claim,), refuted=None), [])
    again = [finding for finding in findings if finding.row.problem is not None]
    assert again
    for finding in findings:
        assert (finding.row.verdict, finding.row.known_refuted) == ("refuted", True), finding.row.reason
        assert finding.counterexample is not None
    for finding in again:
        assert f"on record: {claim.refuted.why}; again here: " in str(finding.row.reason)
    printed = [finding.row for finding in findings if finding.row.as_printed]
    assert bool(printed) != bool(claim.marks), "a printed relation has a row as printed, one of the card's own has none"
    for row in (row for row in printed if row.problem is None):
        assert row.reason == f"on record: {claim.refuted.why} (repeated, but not as printed: {said_of(again)})"


def said_of(findings: list[Finding]) -> str:
    """Under which readings the instance was run again."""
    return "; ".join(dict.fromkeys(mark for finding in findings for mark in finding.row.marks))

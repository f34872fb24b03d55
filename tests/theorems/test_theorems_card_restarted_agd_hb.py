"""The card of restarted AGD and HB: its findings are stable, its links are proved by the machine."""

from __future__ import annotations

import pytest
from theorems_rows import own, repaired

from bilevel_verify.audit import audit
from bilevel_verify.audit.units.homogeneity import unit_findings
from bilevel_verify.theorems import load_card
from bilevel_verify.theorems.card import Card

INTEGERS = ("lemma-4-integer", "lemma-6-integer", "proof-9-length")
"""Links that are lost where K is the whole number that a loop makes."""
SLIPS = ("theorem-3-decrease", "equation-26", "proof-8-step-e", "lemma-9-length", "theorem-6-case-1", "theorem-6-theta",
         "lemma-4-chain-without-half", "theorem-2-invalid-epochs")  # fmt: skip
"""Links that fail at a point."""
CLAIMS = (
    "assumption-1/equation-3", "theorem-1/gradients", "theorem-1/epochs", "theorem-1/epoch-length",
    "theorem-3/curvature", "theorem-3-practical/curvature", "theorem-4/gradients", "theorem-4/epochs",
    "theorem-6/evaluations", "theorem-6/epochs",
)  # fmt: skip
"""Claims that runs and points refute."""
PROVED = (
    "heavy-ball-forms lemma-2-per-step lemma-2-per-step-alpha lemma-3-per-step proof-3-first lemma-4-chain "
    "lemma-4-chain-own-coordinates proof-7-movement proof-7-z equation-23 equation-24-whole proof-8-first "
    "proof-8-combined proof-8-z proof-8-d theorem-3-decrease-large-chi theorem-3-small-gradient "
    "theorem-3-before-last-terms theorem-3-chi theorem-3-ball equation-29b-start theorem-6-output-shorter "
    "lemma-9-recursion lemma-9-three-halves algorithm-2-equivalence"
)


@pytest.fixture(scope="module")
def card() -> Card:
    return load_card("restarted-agd-hb")


def test_the_recorded_refutations(card: Card) -> None:
    claims = [f"{entry.id}/{c.id}" for entry, c in card.claims() if c.refuted is not None]
    assert sorted(claims) == sorted(CLAIMS)
    entries = [e.id for e in card.entries.values() if e.refuted is not None]
    assert sorted(entries) == sorted([*INTEGERS, *SLIPS, "lemma-2-range", "theorem-3-log", "algorithm-1-real-k"])


@pytest.mark.parametrize("name", [*INTEGERS, *SLIPS])
def test_a_slip_is_found_and_its_repaired_form_is_proved(card: Card, name: str) -> None:
    rows = [f.row for f in audit(card, statement=name, quick=True, budget=10.0) if f.row.kind == "inequality"]
    assert [r.verdict for r in own(rows)] == ["refuted"]
    assert {r.verdict for r in repaired(rows)} == {"holds"}


def test_the_range_of_lemmas_2_and_3(card: Card) -> None:
    rows = [f.row for f in audit(card, statement="lemma-2-range", quick=True)]
    assert [(r.verdict, r.where) for r in rows if r.kind == "definedness"] == [("refuted", "theta = 0")]


@pytest.mark.parametrize("name", PROVED.split())
def test_links_that_the_machine_proves(card: Card, name: str) -> None:
    rows = [f.row for f in audit(card, statement=name, quick=True, budget=10.0) if f.row.kind != "units"]
    assert own(rows)
    assert {r.verdict for r in (*own(rows), *repaired(rows))} == {"holds"}


def test_no_unit_is_wrong(card: Card) -> None:
    rows = [f.row for entry in card.entries.values() for f in unit_findings(card, entry)]
    assert [f"{r.statement}/{r.claim}" for r in rows if r.verdict == "refuted"] == []


def test_every_claim_carries_its_latex(card: Card) -> None:
    assert [f"{entry.id}/{claim.id}" for entry, claim in card.claims() if not (claim.printed or claim.stated)] == []

"""The card of RAGD-GS: complete, every printed formula with its LaTeX, its refutations and repairs stable."""

from __future__ import annotations

import pytest

from bilevel_verify.audit.auditor import findings_of
from bilevel_verify.audit.homogeneity import unit_findings
from bilevel_verify.theorems import load_card
from bilevel_verify.theorems.card import Algorithm, Card, Statement

ROLL = {
    "assumptions": ["assumption-1", "condition-1"],
    "definitions": ["definition-1", "definition-2", "equation-1", "equation-5"],
    "algorithms": ["algorithm-1", "algorithm-2"],
    "statements": [
        *(f"lemma-{number}" for number in range(1, 10)),
        *(f"lemma-c-{number}" for number in range(1, 6)),
        *("lemma-d-1", "lemma-e-1", "lemma-e-2", "remark-1", "proposition-1", "theorem-1", "theorem-2"),
    ],
    "words": ["remark-2"],
    "tables": ["table-1"],
}


@pytest.fixture(scope="module")
def card() -> Card:
    return load_card("ragd-gs")


@pytest.mark.parametrize("group", list(ROLL))
def test_every_numbered_item_has_its_entry(card: Card, group: str) -> None:
    assert [name for name in ROLL[group] if name not in card.entries] == []


def test_every_statement_can_be_decided(card: Card) -> None:
    for name in ROLL["statements"]:
        entry = card.entries[name]
        assert isinstance(entry, Statement)
        assert entry.claims, name
    for name in ROLL["algorithms"]:
        assert isinstance(card.entries[name], Algorithm)
    assert card.entries["remark-2"].nothing_to_decide


def test_every_equation_has_its_place(card: Card) -> None:
    sources = [entry.source for entry in card.entries.values()]
    sources += [claim.source for _, claim in card.claims()]
    sources += [d.source for s in card.settings.values() for d in s.parameters.values()]
    sources += [d.source for d in card.definitions.values()]
    absent = [number for number in range(1, 48) if not any(f"({number})" in source for source in sources)]
    assert absent == []


def test_every_claim_carries_its_latex(card: Card) -> None:
    assert [f"{entry.id}/{claim.id}" for entry, claim in card.claims() if not claim.printed] == []


def test_items_and_rows_name_entries_that_exist(card: Card) -> None:
    for entry in card.entries.values():
        if isinstance(entry, Statement):
            assert [name for name in entry.items if name not in card.entries] == [], entry.id


def test_refutations_come_with_a_repaired_form(card: Card) -> None:
    bare = [f"{entry.id}/{c.id}" for entry, c in card.claims() if c.refuted is not None and c.repaired is None]
    assert bare == []
    assert [e.id for e in card.entries.values() if e.refuted is not None and e.repaired is None] == []


def test_units_refute_what_is_recorded_and_nothing_else(card: Card) -> None:
    found = {e.id for e in card.entries.values() for f in unit_findings(card, e) if f.row.verdict == "refuted"}
    assert found == {"proposition-1", "equation-2-first", "equation-28"}


@pytest.mark.parametrize(
    ("name", "printed", "repaired"),
    [
        ("equation-10-monotone", "refuted", "holds"),
        ("e-2-b", "refuted", "holds"),
        ("equation-31-lengths", "refuted", "holds"),
        ("equation-36", "refuted", ""),
        ("theorem-1-value-gap", "refuted", "holds"),
        ("e-2-start", "holds", ""),
        ("equation-24-a-exact", "holds", ""),
        ("equation-25-square", "holds", ""),
        ("equation-10-coefficient-step", "holds", ""),
        ("e-6-hundredth", "holds", ""),
        ("equation-44-e", "holds", ""),
        ("equation-45-e", "holds", ""),
    ],
)
def test_links_keep_their_verdicts(card: Card, name: str, printed: str, repaired: str) -> None:
    kinds = ("inequality", "step-algebra", "derivation")
    rows = [f.row for f in findings_of(card, card.entries[name], budget=60.0) if f.row.kind in kinds]
    first = {row.verdict for row in rows if row.as_printed}
    assert first == {printed}
    if repaired:
        assert {row.verdict for row in rows if not row.as_printed} == {repaired}

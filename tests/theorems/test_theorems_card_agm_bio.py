"""The card of AGM-BiO: every item of the paper has its entry, every equation its place, and its findings are stable."""

from __future__ import annotations

import re

import pytest
from theorems_rows import is_repaired, own, repaired

from bilevel_verify.audit import audit
from bilevel_verify.audit.units.homogeneity import unit_findings
from bilevel_verify.theorems import load_card
from bilevel_verify.theorems.card import Algorithm, Card, Derivation, Statement

ROLL = {
    "assumptions": ["assumption-2-1", "assumption-4-1", "assumption-b-1"],
    "definitions": ["definition-2-1", "definition-2-2", "definition-b-1"],
    "algorithms": ["algorithm-1", "algorithm-2"],
    "statements": [
        *("lemma-a-1", "theorem-4-1", "remark-3-1", "remark-3-2", "remark-4-1", "remark-4-2", "proposition-4-2"),
        *("lemma-4-3", "theorem-4-4", "theorem-4-5", "lemma-b-1"),
    ],
    "tables": ["table-1"],
}


SLIPS = ("equation-33-last", "theorem-4-4-from-56", "experiment-d1-features")
"""Printed links that fail at a point."""
RANGES = ("range-of-k", "theorem-4-5-range-of-m")
"""Bounds that are not defined at an end of their printed range."""
LOGARITHMS = (
    "complexity-4-5-absolute", "complexity-4-5-lower", "complexity-4-4-upper-r-2", "complexity-4-4-upper-r-4",
    "complexity-4-4-lower-r-2", "complexity-4-4-lower-r-4", "complexity-4-4-absolute-r-2",
    "complexity-4-4-absolute-r-4",
)  # fmt: skip
"""Complexities printed with O whose bounds carry a logarithm, which Remark 4.2 takes out."""


@pytest.fixture(scope="module")
def card() -> Card:
    return load_card("agm-bio")


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


def test_every_equation_has_its_place(card: Card) -> None:
    sources = [entry.source for entry in card.entries.values()]
    sources += [claim.source for _, claim in card.claims()]
    found = {int(n) for text in sources for n in re.findall(r"\((\d+)\)", text)}
    assert sorted(set(range(1, 80)) - found) == []


def test_every_printed_formula_carries_its_latex(card: Card) -> None:
    assert [f"{entry.id}/{claim.id}" for entry, claim in card.claims() if not (claim.printed or claim.stated)] == []


def test_refutations_come_with_a_repaired_form(card: Card) -> None:
    claims = [f"{entry.id}/{c.id}" for entry, c in card.claims() if c.refuted is not None]
    assert claims == ["condition-8-values/below"]
    assert all(c.repaired is not None for _, c in card.claims() if c.refuted is not None)
    links = [e for e in card.entries.values() if e.refuted is not None]
    assert sorted(e.id for e in links) == sorted([*SLIPS, *RANGES])
    assert all(e.repaired is not None for e in links)


def test_no_unit_is_wrong(card: Card) -> None:
    rows = [f.row for entry in card.entries.values() for f in unit_findings(card, entry)]
    assert [f"{r.statement}/{r.claim}" for r in rows if r.verdict == "refuted"] == []


@pytest.mark.parametrize(
    ("name", "kind"),
    [*((n, "inequality") for n in SLIPS), *((n, "definedness") for n in RANGES)],
)
def test_the_printed_slips_are_found_by_the_machine(card: Card, name: str, kind: str) -> None:
    rows = [f.row for f in audit(card, statement=name, quick=True)]
    found = [r for r in rows if r.kind == kind and not is_repaired(r)]
    printed = own(found) if kind != "definedness" else found
    assert [r.verdict for r in printed] == ["refuted"]
    assert printed[0].known_refuted
    mended = [r.verdict for r in repaired(rows)]
    assert mended
    assert "refuted" not in mended


@pytest.mark.parametrize("name", LOGARITHMS)
def test_complexities_hold_by_the_remark_that_removes_the_logarithms(card: Card, name: str) -> None:
    entry = card.entries[name]
    assert isinstance(entry, Derivation)
    assert "remark-4-2" in entry.premise
    rows = own([f.row for f in audit(card, statement=name, quick=True)])
    assert [(r.kind, r.verdict) for r in rows] == [("derivation", "holds")]
    assert [r.as_printed for r in rows] == [not entry.marks]  # a fixed r is a special case, one member a part of it
    assert bool(entry.marks) == ("-r-" in name or "-4-5-" in name)


PROVED = (
    "equation-22 equation-23-algebra equation-25-algebra equation-26-algebra equation-29 equation-39 equation-6 "
    "equation-43-division theorem-4-5-weight polyak-step equation-19-algebra equation-20-algebra equation-20-last "
    "theorem-4-4-weight equation-48-from-47 equation-54 equation-55-power equation-18-from-62 harmonic-step"
)


@pytest.mark.parametrize("name", PROVED.split())
def test_links_that_the_machine_proves(card: Card, name: str) -> None:
    rows = [f.row for f in audit(card, statement=name, quick=True, budget=10.0)]
    assert own(rows)
    assert {r.verdict for r in (*own(rows), *repaired(rows))} <= {"holds", "computed"}

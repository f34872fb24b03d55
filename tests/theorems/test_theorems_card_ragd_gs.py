"""The card of RAGD-GS: complete, every printed formula with its LaTeX, its refutations and repairs stable."""

from __future__ import annotations

import numpy as np
import pytest
from theorems_rows import own, repaired

import bilevel_verify as bv
from bilevel_verify.audit.auditor import findings_of
from bilevel_verify.audit.units.homogeneity import unit_findings
from bilevel_verify.theorems import load_card
from bilevel_verify.theorems.card import Algorithm, Card, Statement
from bilevel_verify.theorems.pseudocode.trial import trial_findings

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
    assert [f"{entry.id}/{claim.id}" for entry, claim in card.claims() if not (claim.printed or claim.stated)] == []


def test_items_and_rows_name_entries_that_exist(card: Card) -> None:
    for entry in card.entries.values():
        if isinstance(entry, Statement):
            assert [name for name in entry.items if name not in card.entries] == [], entry.id


def test_refutations_come_with_a_repaired_form(card: Card) -> None:
    bare = [f"{entry.id}/{c.id}" for entry, c in card.claims() if c.refuted is not None and c.repaired is None]
    assert bare == []
    links = [e.id for e in card.entries.values() if e.refuted is not None and e.repaired is None]
    assert links == ["algorithm-1-literal"]  # the reading of algorithm-1 is its repaired form


def test_units_refute_what_is_recorded_and_nothing_else(card: Card) -> None:
    found = {e.id for e in card.entries.values() for f in unit_findings(card, e) if f.row.verdict == "refuted"}
    assert found == {"proposition-1", "equation-37-link", "equation-40-link", "equation-2-first", "equation-28"}


@pytest.mark.parametrize(
    ("name", "printed", "mended"),
    [
        ("equation-10-monotone", "refuted", "holds"),
        ("e-2-b", "refuted", "holds"),
        ("equation-31-lengths", "refuted", "holds"),
        ("equation-36", "refuted", ""),
        ("theorem-1-value-gap", "refuted", "holds"),
        ("theorem-1-iterations", "refuted", "holds"),
        ("theorem-1-epochs", "refuted", "holds"),
        ("equation-37-link", "refuted", "holds"),
        ("equation-40-link", "refuted", "holds"),
        ("order-c-3", "refuted", "holds"),
        ("lemma-2-order", "refuted", "holds"),
        ("equation-18", "refuted", "holds"),
        ("c-4-third", "refuted", "holds"),
        ("equation-10-display", "refuted", "holds"),
        ("last-epoch-length", "holds", ""),
        ("equation-24-split", "holds", ""),
        ("equation-24-d", "holds", ""),
        ("lower-bound-exponents", "holds", ""),
        ("e-2-start", "holds", ""),
        ("equation-24-a-exact", "holds", ""),
        ("equation-25-square", "holds", ""),
        ("equation-10-coefficient-step", "holds", ""),
        ("e-6-hundredth", "holds", ""),
        ("equation-44-e", "holds", ""),
        ("equation-45-e", "holds", ""),
    ],
)
def test_links_keep_their_verdicts(card: Card, name: str, printed: str, mended: str) -> None:
    kinds = ("inequality", "step-algebra", "derivation")
    rows = [f.row for f in findings_of(card, card.entries[name], budget=60.0) if f.row.kind in kinds]
    assert {row.verdict for row in own(rows)} == {printed}
    if mended:
        assert {row.verdict for row in repaired(rows)} == {mended}


def test_the_momentum_of_algorithm_2_may_be_zero(card: Card) -> None:
    """(12) gives beta = 0 at L_g = mu, outside the printed (0, 1); below 1 it stays."""
    rows = [f.row for f in findings_of(card, card.entries["equation-12-beta-range"]) if f.row.kind == "inequality"]
    assert [row.verdict for row in own(rows)] == ["refuted", "holds"]
    assert [row.verdict for row in repaired(rows)] == ["holds", "holds"]


def test_algorithm_1_line_by_line_stops_at_the_first_restart_and_as_read_it_runs(card: Card) -> None:
    literal, read = card.entries["algorithm-1-literal"], card.entries["algorithm-1"]
    assert isinstance(literal, Algorithm)
    assert isinstance(read, Algorithm)
    assert [(f.kind, f.line) for f in trial_findings(card, literal)] == [("division by zero", "line 15")]
    assert trial_findings(card, read) == ()


def test_the_last_epoch_counts_where_no_restart_comes(card: Card) -> None:
    """Accelerated descent on a quadratic, H_nu tiny: without the last epoch the repaired (37) would be false."""
    curvature = np.logspace(-3, 0, 20)
    H_nu, eps, c = 1e-40, 0.01, 2 * 6**0.5 + 27
    start = np.full(20, 0.3)
    x, w, points = start, start, [start]
    for k in range(1, 1000):
        x, before = w - curvature * w, x
        w = x + k / (k + 1) * (x - before)
        average = sum(2 * (i + 1) / (k * (k + 1)) * point for i, point in enumerate(points))
        points.append(w)
        if np.linalg.norm(curvature * average) <= eps:
            break
    delta, share = 0.5 * float(curvature @ start**2), (64 * c + 1) / (64 * eps)
    restarted = 200 * delta * H_nu**0.25 * share**1.75 + 1
    assert k > restarted
    assert k <= restarted + H_nu**-0.25 * share**0.25
    repaired = card.entries["proposition-1"].claim("equation-37").repaired  # type: ignore[attr-defined]
    assert "H_nu**(-1/(2+2*nu_f))" in repaired.chain[0].right.text


def test_the_warm_start_is_claimed_where_it_is_printed() -> None:
    """E.8 says "if i >= 1"; at i = 0 the start of an epoch is cold and the chain is false."""
    found = bv.verify("zoo:trig-1-1", "ragd-gs/proof-theorem-2:warm-start", eps=0.003, x0=[1.6])
    assert {row.verdict for row in found.claims} == {"holds"}

"""A bound for every method: which statement it is, that the bounds hold, and the tables made of what was found."""

from __future__ import annotations

import importlib
import sys
from pathlib import Path

import pytest

from bilevel_verify.methods import METHODS
from bilevel_verify.theorems import load_card
from bilevel_verify.theorems.library import shipped
from bilevel_verify.worst import worst_case
from bilevel_verify.worst.family import KEPT, from_table

ROOT = Path(__file__).parents[2]
CARD = ROOT / "docs/worst/methods.toml"
sys.path.insert(0, str(ROOT / "tests/thorough"))
tables = importlib.import_module("worst_tables")

CHEAP = {
    "ba": "bilevel-slope",
    "f2ba": "bilevel-slope",
    "gda": "minimax-quadratic",
    "lazy-cubic-newton": "single-triangle",
    "a-irg": "simple-box",
    "cg-bio": "simple-box",
}


def test_every_method_has_a_statement_with_claims():
    cards = [*shipped(), str(ROOT / "docs/worst/classical.toml"), str(CARD)]
    named = {entry.method.partition(":")[0] for card in cards for entry in load_card(card).statements if entry.claims}
    assert set(METHODS) <= named
    own = {entry.method for entry in load_card(str(CARD)).statements}
    assert not own & {entry.method for key in shipped() for entry in load_card(key).statements if entry.claims}


@pytest.mark.parametrize("name", CHEAP)
def test_the_bound_of_a_method_holds_on_the_first_candidates(name):
    found = worst_case(f"{CARD}/{name}", family=CHEAP[name], candidates=6, minutes=5)
    assert found.claims
    for claim in found.claims:
        assert claim.ratio <= 1
        assert claim.verdict == "holds"


def test_candidates_with_the_same_knobs_share_their_problem_and_few_are_kept():
    table = {"kind": "single_level", "f": "m*x1**2/2", "x": "x1", "knobs": {"m": 1}, "free": {"m": [1, 2]}}
    one = from_table("q", table, None)
    first, again = one.candidate([0.5, 0.1]), one.candidate([0.5, 0.9])
    assert first.problem is again.problem
    assert first.x0 != again.x0
    assert one.candidate([0.25, 0.1]).knobs == {"m": "1.25"}
    for place in range(2 * KEPT):
        one.candidate([place / (2 * KEPT), 0.1])
    assert len(one._built) == KEPT
    assert one.candidate([0.5, 0.1]).problem.content_hash() == first.problem.content_hash()


def row(statement: str, claim: str, tightness: float | None, verdict: str = "undecided") -> dict[str, object]:
    details = {"tightness": tightness, "op": "<="}
    parts = {"paper": "restarted-agd-hb", "statement": statement, "claim": claim, "left": "a|b", "right": "c"}
    return {**parts, "verdict": verdict, "details": details}


def test_a_link_belongs_to_the_statement_that_its_entry_is_named_after():
    rows = [
        row("theorem-1", "descent", 0.5), row("theorem-1", "descent", 0.7), row("theorem-1-theta", "link-1", 0.1),
        row("theorem-1", "broken", 0.01, "refuted"), row("theorem-1", "above", 1.5), row("theorem-1", "none", None),
        row("theorem-11", "other", 0.2),
    ]  # fmt: skip
    found = tables.links_of(rows)
    assert list(found) == ["restarted-agd-hb/theorem-1"]
    assert [(one["link"], one["ratio"]) for one in found["restarted-agd-hb/theorem-1"]] == [
        ("theorem-1-theta:link-1", 0.1), ("theorem-1:descent", 0.7),
    ]  # fmt: skip
    results: dict[str, dict] = {}
    tables.with_links(results, rows)
    text = tables.along_the_proofs(list(results.values()))
    assert "| restarted-agd-hb/theorem-1 | 2 | 0 | theorem-1-theta:link-1 | `a\\|b <= c` | 0.1 |" in text


def test_a_method_without_a_decided_claim_says_so_and_a_refuted_share_is_no_tightness():
    common = {"family": "one", "confirmed": True, "x0": [0.0]}
    claims = [
        {"claim": "broken", "ratio": 1.4, "verdict": "refuted", **common},
        {"claim": "c", "ratio": 0.25, "verdict": "holds", **common},
        {"claim": "d", "ratio": 0.5, "verdict": "undecided", **common},
    ]
    text = tables.by_method([{"statement": f"{CARD}/gda", "tried": 7, "claims": claims}])
    assert "| gda | 2 | 7 | gda: d | own card | 0.5 | one | gda: c | 0.25 | one |" in text
    assert "| mng | 0 | 0 | no claim was decided |" in text
    assert len([line for line in text.splitlines() if line.startswith("| ")]) == len(METHODS) + 1

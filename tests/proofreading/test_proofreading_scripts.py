"""Scripts of findings: they show what they are about by themselves, and not on the right formula."""

from __future__ import annotations

from pathlib import Path

import pytest
from standing_alone import status
from test_proofreading_kinds import CASES, HEAD

from bilevel_verify.drafting.draft import draft
from bilevel_verify.proofreading import Report, proofread, proofread_draft
from bilevel_verify.proofreading.script import literal
from bilevel_verify.proofreading.source import paper_of_draft
from bilevel_verify.theorems.library import load_card

SHOWN = ("bound twice", "own end", "below", "number and vector")
WITHOUT = {"fsba": ["unassigned"], "restarted-agd-hb": ["index"]}
"""Findings of the shipped papers without a script."""


def report(tmp_path: Path, display: str) -> Report:
    path = tmp_path / "paper.md"
    path.write_text(f"{HEAD}Then\n$$\n{display}.\n$$\n", encoding="utf-8")
    return proofread_draft(draft(path))


@pytest.mark.parametrize("case", SHOWN)
def test_a_script_shows_the_wrong_formula_and_not_the_right_one(case: str, tmp_path: Path) -> None:
    _, wrong, right = CASES[case]
    found = report(tmp_path, wrong)
    (script,) = found.scripts.values()
    assert status(tmp_path, script) == 0
    path = tmp_path / "right.md"
    path.write_text(f"{HEAD}Then\n$$\n{right}.\n$$\n", encoding="utf-8")
    mine = [s for s in paper_of_draft(draft(path)).sentences if s.read.formula.kind == "display"][-1]
    line = next(line for line in script.splitlines() if line.startswith("TREES = "))
    repaired = script.replace(line, f"TREES = {[literal(node) for node in mine.nodes()]!r}")
    assert status(tmp_path, repaired) == 1


@pytest.mark.parametrize("key", ["fsba", "ragd-gs", "rahgd", "restarted-agd-hb"])
def test_every_finding_of_a_shipped_paper_has_a_script_that_shows_it(key: str, tmp_path: Path) -> None:
    found = proofread(load_card(key))
    missing = [group.first.kind for group in found.groups if group.first not in found.scripts]
    assert missing == WITHOUT.get(key, [])
    for script in found.scripts.values():
        assert status(tmp_path, script) == 0
    assert [d["script"] is None for d in found.to_dict()["defects"]].count(True) == len(missing)

"""Controls: right papers without a finding, damaged ones with one, and the five papers as they were read by eye."""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path

import pytest
from proofreading_mutants import papers, sample

from bilevel_verify.drafting.draft import draft
from bilevel_verify.proofreading import proofread, proofread_draft
from bilevel_verify.proofreading.source import paper_of_draft
from bilevel_verify.theorems.library import load_card

SEED, COUNT, LEAST = 20, 48, 0.9
"""Seed and size of the sample of mutants in the suite, and the least share that must be told."""
READ = {
    "agm-bio": [],
    "fsba": ["index", "unassigned"],
    "ragd-gs": ["shape", "outside"],
    "rahgd": ["index", "index", "shape", "shape"],
    "restarted-agd-hb": ["index", "meaning"],
}
"""Kinds of the findings of each paper; every one was read against the paper and is a defect of the print."""


def told(file: str, text: str, folder: Path) -> set[tuple[str, str]]:
    path = folder / file
    path.write_text(text, encoding="utf-8")
    return {(d.kind, d.title) for d in proofread_draft(draft(path)).defects}


@lru_cache
def corpus() -> dict[str, str]:
    return papers()


def test_nothing_is_found_in_right_papers(tmp_path: Path) -> None:
    relations = listings = 0
    for file, text in corpus().items():
        path = tmp_path / file
        path.write_text(text, encoding="utf-8")
        made = draft(path)
        paper, report = paper_of_draft(made), proofread_draft(made)
        relations += sum(len(c.relations) for s in paper.sentences for c in s.chains())
        listings += len(paper.listings)
        assert report.defects == (), file
        assert not any("Algorithm" in line for line in report.unread), "every algorithm is understood"
    assert relations >= 150
    assert listings >= 8


def test_damaged_papers_are_told(tmp_path: Path) -> None:
    drawn = sample(COUNT, SEED)
    missed = [m for m in drawn if not told(m.file, m.text, tmp_path)]
    shown = "\n".join(f"{m.operator}: {m.file}: {m.change}" for m in missed)
    assert len(missed) <= (1 - LEAST) * len(drawn), shown


@pytest.mark.parametrize("key", READ)
def test_findings_of_the_five_papers_are_those_that_were_read(key: str) -> None:
    assert sorted(g.first.kind for g in proofread(load_card(key)).groups) == sorted(READ[key])

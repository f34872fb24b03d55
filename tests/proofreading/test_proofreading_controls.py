"""Controls: right papers without a finding, damaged ones with one, and the five papers as they were read by eye."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest
from incremental import right, told
from proofreading_mutants import LATER, mutants, papers, sample

from bilevel_verify.drafting.draft import draft
from bilevel_verify.drafting.listings.blocks import understood
from bilevel_verify.proofreading import proofread
from bilevel_verify.proofreading.source import paper_of_draft
from bilevel_verify.theorems.library import load_card

SEED, COUNT, LEAST = 20, 36, 0.9
"""Seed and size of the sample of mutants in the suite, and the least share of all that must be told (624 of 647)."""
READ = {
    "agm-bio": [],
    "fsba": ["index", "unassigned"],
    "ragd-gs": ["shape", "outside"],
    "rahgd": ["index", "index", "shape", "shape"],
    "restarted-agd-hb": ["index", "meaning"],
}
"""Kinds of the findings of each paper; every one was read against the paper and is a defect of the print."""


QUICK = ("armijo.tex", "penalty.tex")
"""Of the later texts; all of them are in the thorough tests."""
TEXTS = {**papers(), **papers(LATER)}


@pytest.mark.parametrize("file", [*papers(), *QUICK])
def test_nothing_is_found_in_a_right_paper(file: str) -> None:
    """Everything is worked out, once in a run; what is remembered of it serves the damaged copies."""
    assert right(file, TEXTS[file]) == frozenset()


def test_right_papers_are_many_and_their_algorithms_understood(tmp_path: Path) -> None:
    relations = listings = 0
    for file, text in papers().items():
        path = tmp_path / file
        path.write_text(text, encoding="utf-8")
        paper = paper_of_draft(draft(path))
        relations += sum(len(c.relations) for s in paper.sentences for c in s.chains())
        listings += len(paper.listings)
        assert all(understood(listing, paper.notation).passed == () for listing in paper.listings), file
    assert relations >= 150
    assert listings >= 8


def test_damaged_papers_are_told() -> None:
    """The share of all mutants, estimated from a sample in which rare operators come as often as they can."""
    size = Counter(m.operator for m in mutants())
    drawn = sample(COUNT, SEED)
    count = Counter(m.operator for m in drawn)
    for file in {m.file for m in drawn}:
        right(file, TEXTS[file])
    missed = [m for m in drawn if not told(m.text, m.file)]
    share = 1 - sum(size[m.operator] / count[m.operator] for m in missed) / size.total()
    shown = "\n".join(f"{m.operator}: {m.file}: {m.change}" for m in missed)
    assert share >= LEAST, f"{share:.3f}\n{shown}"
    assert len({m.operator for m in drawn} - {m.operator for m in missed}) >= len(count) / 2


@pytest.mark.parametrize("key", READ)
def test_findings_of_the_five_papers_are_those_that_were_read(key: str) -> None:
    assert sorted(g.first.kind for g in proofread(load_card(key)).groups) == sorted(READ[key])

"""Every damaged paper of the proofreader's controls: the share that is told, operator by operator."""

from __future__ import annotations

import sys
from collections import Counter
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "proofreading"))
from proofreading_mutants import mutants

from bilevel_verify.drafting.draft import draft
from bilevel_verify.proofreading import proofread_draft

LEAST = 0.9


def test_the_share_of_damaged_papers_that_are_told(tmp_path: Path) -> None:
    told: Counter[str] = Counter()
    drawn: Counter[str] = Counter()
    for mutant in mutants():
        path = tmp_path / mutant.file
        path.write_text(mutant.text, encoding="utf-8")
        drawn[mutant.operator] += 1
        told[mutant.operator] += bool(proofread_draft(draft(path)).defects)
    print("\n".join(f"{name}: {told[name]} of {count}" for name, count in drawn.items()))
    assert told.total() >= LEAST * drawn.total()

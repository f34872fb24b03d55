"""Counts of many instances: two runs of one statement are added up, claims that broke in both are named once."""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "thorough"))
from worst_many import added


def test_two_lines_of_one_statement():
    old = "fsba/lemma-e-4 | 4 | 40 | 20 | 44 | 2 | 1: gradient 1.5 | 0 | 1: a/2 1.01 | 4.5"
    new = "fsba/lemma-e-4 | 3 | 30 | 10 | 11 | 1 | 2: gradient 1.7; value 2 | 0 | 0 | 1.3"
    both = "fsba/lemma-e-4 | 7 | 70 | 30 | 55 | 3 | 2: gradient 1.7; value 2 | 0 | 1: a/2 1.01 | 5.8"
    assert added(old, new) == both

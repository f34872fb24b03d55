"""All certificates of all cards: found, checked, read back, falsified (2,000 and more), sampled (1,000 at 10^4 points).

A part is run once for the code and the seed of now and written down (``certificates_run.py``), so that what was
interrupted goes on: ``reports/thorough/certificates.txt``.
"""

from __future__ import annotations

from collections import Counter

import pytest
from certificates_run import PAPERS, WRONG, counted, parts

from bilevel_verify.certificates.coq.accepting import coq_is_here


@pytest.fixture(scope="module")
def total() -> Counter[str]:
    found = Counter[str]()
    for name in parts():
        found.update(counted(name))
    return found


@pytest.mark.parametrize("name", parts())
def test_nothing_false_is_accepted(name: str) -> None:
    """Falsified certificates, statements at many points, statements read back."""
    tally = counted(name)
    assert not any(tally[what] for what in WRONG), f"see {name} in reports/thorough/certificates.txt"
    assert tally["holds with"] + tally["sampled"] > 0


@pytest.mark.parametrize("paper", PAPERS)
def test_every_refuted_scalar_relation_has_one(paper: str) -> None:
    tally = counted(paper)
    assert tally["refuted with"] == tally["refuted"], "rows without a claim are counted apart"


def test_nine_of_ten_have_one(total: Counter[str]) -> None:
    assert total["holds with"] >= 0.9 * (total["holds"] + total["holds without a claim"])


@pytest.mark.skipif(not coq_is_here(), reason="extra: needs coqtop (Debian: coq, libcoq-interval)")
def test_coq_accepts_most_of_them(total: Counter[str]) -> None:
    """At least 85 % of what is proved, and 90 % of the scalar relations that are refuted."""
    assert total["holds coq"] >= 0.85 * (total["holds"] + total["holds without a claim"])
    assert total["refuted coq"] >= 0.9 * total["refuted"]


def test_enough_was_falsified_and_sampled(total: Counter[str]) -> None:
    assert total["false statements"] + total["damaged"] >= 2_000
    assert total["at all points"] >= 1_000

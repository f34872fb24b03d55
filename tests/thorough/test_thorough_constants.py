"""The long soundness runs: 20,000 random problems (``BILEVEL_VERIFY_BLOCKS`` blocks of 100), and forms with rules of
their own at 10^5 points each.
"""

from __future__ import annotations

import os

import pytest
from constants_run import FORMS, SEED, attack_block, contradictions, drawn

BLOCKS = int(os.environ.get("BILEVEL_VERIFY_BLOCKS", "200"))


@pytest.mark.parametrize("block", range(BLOCKS))
def test_soundness(block: int) -> None:
    assert attack_block(SEED, block) == [], f"seed {SEED}, block {block}"


@pytest.mark.parametrize("seed", range(15))
@pytest.mark.parametrize("form", FORMS)
def test_forms_with_rules_of_their_own(form: str, seed: int) -> None:
    assert contradictions(drawn(form, seed), 100_000, effort=0.3 if seed % 2 else 1.0) == (3, [])

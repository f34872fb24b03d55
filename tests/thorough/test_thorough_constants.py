"""The long soundness run: 20,000 random problems (``BILEVEL_VERIFY_BLOCKS`` blocks of 100)."""

from __future__ import annotations

import os

import pytest
from constants_run import SEED, attack_block

BLOCKS = int(os.environ.get("BILEVEL_VERIFY_BLOCKS", "200"))


@pytest.mark.parametrize("block", range(BLOCKS))
def test_soundness(block: int) -> None:
    assert attack_block(SEED, block) == [], f"seed {SEED}, block {block}"

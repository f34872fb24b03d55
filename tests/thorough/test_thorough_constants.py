"""The long soundness run: 20,000 random problems (``BILEVEL_VERIFY_BLOCKS`` blocks of 100)."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "constants"))

from constants_generator import SEED
from test_constants_soundness import attack

BLOCKS = int(os.environ.get("BILEVEL_VERIFY_BLOCKS", "200"))


@pytest.mark.parametrize("block", range(BLOCKS))
def test_soundness(block: int) -> None:
    seed = SEED * 100_000 + block
    assert attack(seed, 95, effort=0.0) + attack(seed + 50_000, 5, effort=0.05) == [], f"seed {seed}"

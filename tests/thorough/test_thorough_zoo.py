"""Every constant that the zoo states, with many samples: the whole of what CI checks by quarters.

Run with ``pytest tests/thorough/test_thorough_zoo.py``; a few minutes on one core.
"""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[1] / "problems"))

from test_problems_zoo_constants import EVERYTHING, check, entry_of


@pytest.mark.slow
@pytest.mark.parametrize(("entry", "section", "name"), EVERYTHING)
def test_stated_constant(entry, section, name):
    check(entry, section, name, float(entry_of(entry).known[section][name]))

"""Right texts with the habits of authors: what a stranger wrote, and what was told of it once; nothing is."""

from __future__ import annotations

from pathlib import Path

import pytest
from incremental import told

HABITS = {path.name: path for path in sorted((Path(__file__).parent / "habits").iterdir())}


def test_the_texts_are_there() -> None:
    assert len(HABITS) == 42


@pytest.mark.parametrize("name", HABITS)
def test_nothing_is_found_in_a_right_text(name: str) -> None:
    assert told(HABITS[name].read_text(encoding="utf-8"), name) == {}

"""Worker processes must find the toy module of these tests."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

HERE = str(Path(__file__).parent)


@pytest.fixture(autouse=True)
def _toy_is_importable(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    root = str(Path(__file__).parents[2])
    monkeypatch.syspath_prepend(HERE)
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([HERE, root, os.environ.get("PYTHONPATH", "")]))
    yield
    sys.modules.pop("campaign_toy", None)

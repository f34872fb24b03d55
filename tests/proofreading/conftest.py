"""The room reads few papers many times, each with another place changed: what a change does not reach is remembered."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from incremental import FOLDERS, remembering


@pytest.fixture(scope="module", autouse=True)
def _remembering() -> Iterator[None]:
    """Right papers are read with everything worked out (``test_proofreading_controls``)."""
    with remembering():
        yield


@pytest.fixture(scope="session", autouse=True)
def _shared(tmp_path_factory: pytest.TempPathFactory) -> None:
    FOLDERS[:] = [tmp_path_factory]

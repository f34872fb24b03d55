"""Planted bugs of one test must not be remembered by the next."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from bilevel_verify.constants import api


@pytest.fixture(autouse=True)
def _nothing_remembered() -> Iterator[None]:
    yield
    api._KNOWN.clear()
    api._CACHE.clear()


@pytest.fixture
def fresh() -> None:
    """For tests that change the rules: what earlier tests found out is forgotten."""
    api._KNOWN.clear()
    api._CACHE.clear()

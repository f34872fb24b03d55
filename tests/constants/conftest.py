"""Planted bugs of one test must not be remembered by the next. (The package is imported late, for planted modules.)"""

from __future__ import annotations

from collections.abc import Iterator

import pytest


@pytest.fixture(autouse=True)
def _nothing_remembered() -> Iterator[None]:
    yield
    _forget()


@pytest.fixture
def fresh() -> None:
    """For tests that change the rules: what earlier tests found out is forgotten."""
    _forget()


def _forget() -> None:
    from bilevel_verify.constants import api

    api._KNOWN.clear()
    api._CACHE.clear()

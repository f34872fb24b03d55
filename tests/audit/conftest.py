"""Tests of the audit run the engines in their own process, where planted slips are seen; those of the limits do not."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from bilevel_verify.audit.limits import in_this_process


@pytest.fixture(autouse=True)
def engines_here() -> Iterator[None]:
    """No process is started for the engines, except where that is what is tested (``test_audit_limits``)."""
    with in_this_process():
        yield

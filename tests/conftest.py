"""No test runs for ever: a loop without an end fails by name after a quarter of an hour."""

from __future__ import annotations

import signal

import pytest

LONGEST = 900


@pytest.fixture(autouse=True)
def _every_test_ends(request):
    if not hasattr(signal, "SIGALRM") or "thorough" in request.node.path.parts:  # Windows; runs of hours by design
        yield
        return

    def stop(*_):
        pytest.fail(f"still running after {LONGEST} s")

    before = signal.signal(signal.SIGALRM, stop)
    signal.alarm(LONGEST)
    yield
    signal.alarm(0)
    signal.signal(signal.SIGALRM, before)

"""No test runs for ever, and no test depends on the day: random draws are fixed unless a seed is asked for."""

from __future__ import annotations

import gc
import os
import signal
import zlib
from pathlib import Path
from typing import Any

import pytest
from _pytest.runner import runtestprotocol
from drawing import draws
from hypothesis import is_hypothesis_test, settings

LONGEST = 900
LOOP = "fast and not slow"
NAMED = 0.005
"""Seconds from which ``--durations`` names a phase."""
_approx = pytest.approx


def _relative(expected: Any, rel: Any = None, abs: Any = None, nan_ok: bool = False) -> Any:
    """``approx`` whose ``rel`` is relative alone: pytest adds an absolute 1e-12, under which tiny numbers are alike."""
    return _approx(expected, rel=rel, abs=0 if rel is not None and abs is None else abs, nan_ok=nan_ok)


pytest.approx = _relative
settings.register_profile("fixed", derandomize=True, deadline=None)
settings.register_profile("rotating", deadline=None)
settings.load_profile("rotating" if "BILEVEL_VERIFY_SEED" in os.environ else "fixed")


def pytest_configure(config: pytest.Config) -> None:
    """``-m fast``, the loop of a contributor, does not wait for the slow ones of them (``-m "(fast)"`` runs all)."""
    if config.option.markexpr == "fast":
        config.option.markexpr = LOOP


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """The loop of a contributor, ``-m fast``, reads only the files in which that mark stands."""
    if config.option.markexpr != LOOP or collection_path.suffix != ".py":
        return None
    return "mark.fast" not in collection_path.read_text(encoding="utf-8") or None


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Tests that draw at random are ``seeded``: the ones that another seed makes new.

    With ``BILEVEL_VERIFY_SHARE=n`` every n-th test is run, chosen anew by the seed: what CI has time for.
    """
    found: dict[tuple[object, str], bool] = {}
    asked = "seeded" in config.option.markexpr  # which tests draw is read from their sources: seconds, for every worker
    for item in items if asked else ():
        # a method is read with its class; a parametrized test is one function
        place = item.path, item.nodeid.split("::")[1].partition("[")[0] if "::" in item.nodeid else ""
        if place not in found:
            found[place] = bool(place[1]) and draws(*place)
        function = getattr(item, "obj", None)
        if found[place] or (function is not None and is_hypothesis_test(function)):
            item.add_marker(pytest.mark.seeded)
    share = int(os.environ.get("BILEVEL_VERIFY_SHARE", "1"))
    salt = os.environ.get("BILEVEL_VERIFY_SEED", "")
    kept, dropped = [], []
    for item in items:
        (dropped if zlib.crc32((salt + item.nodeid).encode()) % share else kept).append(item)
    if dropped:
        config.hook.pytest_deselected(items=dropped)
        items[:] = kept


def pytest_sessionstart() -> None:
    """Nothing that collecting makes is garbage."""
    gc.disable()


def pytest_collection_finish() -> None:
    """What was collected lives as long as the process: looking for garbage in it is a tenth of all work.

    The collector is also asked less often: expressions are many small objects, and few of them stand in circles.
    """
    gc.collect()
    gc.freeze()
    gc.set_threshold(20_000, 20, 100)
    gc.enable()


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_protocol(item: pytest.Item, nextitem: pytest.Item | None) -> bool | None:
    """A worker does not say that a test begins, that its quick setup or teardown went well: that costs more than most.

    What ``--junitxml`` writes is all there.
    """
    if not hasattr(item.config, "workerinput") or item.config.getoption("xmlpath", None):
        return None
    hook = item.ihook
    for report in runtestprotocol(item, log=False, nextitem=nextitem):
        if report.when == "call" or not report.passed or report.duration >= NAMED or report.sections:
            report.keywords = {}  # nobody reads them
            hook.pytest_runtest_logreport(report=report)
    hook.pytest_runtest_logfinish(nodeid=item.nodeid, location=item.location)
    return True


_before: list[Any] = []
"""What listened to the alarm before the test that runs now."""


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item: pytest.Item) -> None:
    """Every test ends. (Hooks, no fixture: one that asks for its request is a twentieth of the work of ``-m fast``.)"""
    if not hasattr(signal, "SIGALRM") or "/thorough/" in str(item.path):  # Windows; runs of hours by design
        return

    def stop(*_: object) -> None:
        pytest.fail(f"still running after {LONGEST} s")

    _before.append(signal.signal(signal.SIGALRM, stop))
    signal.alarm(LONGEST)


@pytest.hookimpl(trylast=True)
def pytest_runtest_teardown() -> None:
    """What waited is called off."""
    if _before:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, _before.pop())

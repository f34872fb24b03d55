"""No test runs for ever, and no test depends on the day: random draws are fixed unless a seed is asked for."""

from __future__ import annotations

import gc
import os
import signal
import zlib
from pathlib import Path
from typing import Any

import pytest
from drawing import draws
from hypothesis import is_hypothesis_test, settings

LONGEST = 900
LOOP = "fast and not slow"
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

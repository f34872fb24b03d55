"""Oracle tests keep their machine code in a folder of their own."""

from __future__ import annotations

import os
from collections.abc import Iterator

import pytest


@pytest.fixture(scope="session", autouse=True)
def cache_folder(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """One cache for the session."""
    before = os.environ.get("BILEVEL_VERIFY_CACHE")
    folder = str(tmp_path_factory.mktemp("oracles") / "cache")
    os.environ["BILEVEL_VERIFY_CACHE"] = folder
    yield folder
    if before is None:
        del os.environ["BILEVEL_VERIFY_CACHE"]
    else:
        os.environ["BILEVEL_VERIFY_CACHE"] = before


@pytest.fixture(autouse=True)
def _silence_forgotten() -> None:
    """What was said once may be said again in the next test. (Imported late: the module may be replaced before.)"""
    from bilevel_verify.oracles import notices

    notices.forget()

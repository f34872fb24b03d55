"""What costs many seconds and is the same for every worker of a run is made by the first that needs it."""

from __future__ import annotations

import os
import pickle
from collections.abc import Callable
from typing import Any

import pytest


def once(folders: pytest.TempPathFactory, name: str, make: Callable[[], Any]) -> Any:
    """What ``make`` gives, made by one worker and read by the others. It can be pickled, and does not change later."""
    try:
        import fcntl
    except ImportError:  # Windows: every worker makes its own
        return make()
    own = folders.getbasetemp()
    shared = (own.parent if "PYTEST_XDIST_WORKER" in os.environ else own) / f"{name}.pickle"
    with shared.open("a+b") as file:
        fcntl.flock(file, fcntl.LOCK_EX)  # given back when the file is closed
        file.seek(0)
        text = file.read()
        if text:
            return pickle.loads(text)
        found = make()
        file.write(pickle.dumps(found))
    return found

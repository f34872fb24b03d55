"""A module that is imported when it is first used: files of tests are read by every worker, and most run in one."""

from __future__ import annotations

import importlib
from typing import Any


class Later:
    """Stands for a module that takes a second to import."""

    def __init__(self, name: str) -> None:
        self._name = name

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):  # pytest asks such of every name in a file of tests
            raise AttributeError(name)
        return getattr(importlib.import_module(self._name), name)

"""Names that a package loads when they are first used, so that importing it is fast and silent (PEP 562)."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable, Mapping
from types import FunctionType
from typing import Any

from bilevel_verify.arguments import checked


def on_first_use(
    package: str, homes: Mapping[str, str], modules: tuple[str, ...] = (), public: bool = False
) -> Callable[[str], object]:
    """The ``__getattr__`` of ``package``: loads a name from its home, once.

    ``homes`` maps a module, named relative to the package (``.worst`` lies beside it), to the names that live there,
    separated by blanks; ``modules`` are sub-packages that are public as they are; functions of a ``public`` package
    check their arguments. The function raises AttributeError for every other name.
    """
    home_of = {name: module for module, names in homes.items() for name in names.split()}

    def load(name: str) -> Any:
        if name in modules:
            return importlib.import_module(f"{package}.{name}")
        if name not in home_of:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        value = getattr(importlib.import_module(f".{home_of[name]}", package), name)
        if public and isinstance(value, FunctionType):
            value = checked(value, name, package)
        vars(sys.modules[package])[name] = value  # not setattr: a package may guard names that its modules share
        return value

    return load

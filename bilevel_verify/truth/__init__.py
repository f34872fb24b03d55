"""Truth: the answers with error bars, recomputed independently of any solver."""

from __future__ import annotations

import importlib
import sys
from types import ModuleType
from typing import TYPE_CHECKING, Any

from bilevel_verify.truth.arithmetic.enclosure import RANK, Certainty, Enclosure, weakest

__all__ = ["RANK", "Certainty", "Enclosure", "Truth", "shared_truth", "truth", "weakest"]


def __getattr__(name: str) -> Any:
    """``Truth``, ``shared_truth`` and ``truth`` bring SymPy along: they are loaded when they are first used."""
    if name not in ("Truth", "shared_truth", "truth"):
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(importlib.import_module("bilevel_verify.truth.truth"), name)
    globals()[name] = value
    return value


class _Room(ModuleType):
    """Keeps ``truth`` the function although the module that defines it has the same name."""

    def __setattr__(self, name: str, value: object) -> None:
        if not (name == "truth" and isinstance(value, ModuleType)):
            super().__setattr__(name, value)


sys.modules[__name__].__class__ = _Room

if TYPE_CHECKING:
    from bilevel_verify.truth.truth import Truth, shared_truth, truth

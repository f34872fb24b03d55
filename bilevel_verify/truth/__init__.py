"""Truth: the answers with error bars, recomputed independently of any solver."""

from __future__ import annotations

import sys
from types import ModuleType
from typing import TYPE_CHECKING

from bilevel_verify.first_use import on_first_use
from bilevel_verify.truth.arithmetic.enclosure import RANK, Certainty, Enclosure, weakest

__all__ = ["RANK", "Certainty", "Enclosure", "Truth", "shared_truth", "truth", "weakest"]


__getattr__ = on_first_use(__name__, {"truth": "Truth", "of_problem": "shared_truth truth"})  # they bring SymPy along


class _Room(ModuleType):
    """Keeps ``truth`` the function although the module that defines it has the same name."""

    def __setattr__(self, name: str, value: object) -> None:
        if not (name == "truth" and isinstance(value, ModuleType)):
            super().__setattr__(name, value)


sys.modules[__name__].__class__ = _Room

if TYPE_CHECKING:
    from bilevel_verify.truth.of_problem import shared_truth, truth
    from bilevel_verify.truth.truth import Truth

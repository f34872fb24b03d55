"""Examples on which the printed claims of a theorem are nearly tight, found by search and kept as problem files."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

FILES = {
    "single_level": Path(__file__).with_name("biting.toml"),
    "simple_bilevel": Path(__file__).with_name("biting_simple.toml"),
    "bilevel": Path(__file__).with_name("biting_bilevel.toml"),
    "minimax": Path(__file__).with_name("biting_minimax.toml"),
}
"""Kinds of problems that have such examples."""
BESIDE = ("bilevel", "minimax")
"""Kinds whose few examples stand beside drawn ones."""


@dataclass(frozen=True)
class Biting:
    """A problem with its start and tolerance.

    Attributes
    ----------
    stated : the problem. ``start``, ``eps`` : with which the claims are nearly tight.
    long, epochs : steps of the longest epoch and number of epochs of restarted AGD with the letters of its theorem (one
        level; else 0).
    """

    stated: Any
    start: tuple[float, ...]
    eps: float
    long: int = 0
    epochs: int = 0

    @property
    def dx(self) -> int:
        """Dimension."""
        return len(self.start)

    def problem(self) -> Any:
        """The problem, as everything else takes it."""
        return self.stated


def examples(kind: str = "single_level") -> tuple[Biting, ...]:
    """All of a kind, those on which most slips show first.

    One level: minimisers lie away from the origin, longest epochs take 6 to 131 steps, theta is 0.008 to 0.2. What each
    printed claim comes to on them is in reports/promises.md.
    """
    return _read(kind)


@cache
def _read(kind: str) -> tuple[Biting, ...]:
    from bilevel_verify.problems.files import from_spec

    tables = tomllib.loads(FILES[kind].read_text(encoding="utf8"))["example"]
    return tuple(
        Biting(
            from_spec(one["problem"]),
            tuple(one["problem"]["start"]),
            one["eps"],
            one.get("long", 0),
            one.get("epochs", 0),
        )
        for one in tables
    )


def biting(number: int, kind: str = "single_level") -> Biting:
    """One of them, in turn."""
    found = examples(kind)
    return found[number % len(found)]

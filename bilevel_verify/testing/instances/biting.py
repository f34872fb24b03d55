"""Examples on which the printed claims of a theorem are nearly tight, found by search and kept as problem files."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

FILE = Path(__file__).with_suffix(".toml")


@dataclass(frozen=True)
class Biting:
    """A problem of one level with its start and tolerance.

    Attributes
    ----------
    stated : the problem. ``start``, ``eps`` : with which the claims are nearly tight.
    long, epochs : steps of the longest epoch and number of epochs of restarted AGD with the letters of its theorem.
    """

    stated: Any
    start: tuple[float, ...]
    eps: float
    long: int
    epochs: int

    @property
    def dx(self) -> int:
        """Dimension."""
        return len(self.start)

    def problem(self) -> Any:
        """The problem, as everything else takes it."""
        return self.stated


@cache
def examples() -> tuple[Biting, ...]:
    """All of them, those on which most slips show first.

    Minimisers lie away from the origin, longest epochs take 6 to 131 steps, theta is 0.008 to 0.2. What each printed
    claim comes to on them is in reports/promises.md.
    """
    from bilevel_verify.problems.files import from_spec

    tables = tomllib.loads(FILE.read_text(encoding="utf8"))["example"]
    return tuple(
        Biting(from_spec(one["problem"]), tuple(one["problem"]["start"]), one["eps"], one["long"], one["epochs"])
        for one in tables
    )


def biting(number: int) -> Biting:
    """One of them, in turn."""
    return examples()[number % len(examples())]

"""Kept examples of "convex until proven guilty": those, found by search, on which a proof is found.

With a true L hardly any run finds one, no value rises above the first one (none did in 240,000 random runs), and a way
is hardly ever proof against itself before the last point is; momentum that is too strong shows all of it.
"""

from __future__ import annotations

import tomllib
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bilevel_verify.testing import instances
from bilevel_verify.testing.instances.blocks import Block
from bilevel_verify.testing.instances.families import Instance

Kept = tuple[Instance, NDArray[np.float64], dict[str, float]]
METHODS = ("convex-until-guilty",)
"""Methods that such examples are for."""
LETTERS = ("eps", "rho", "L")


def found(number: int) -> Kept:
    """One of them, in turn: instance, start, letters."""
    every = _every()
    return every[number % len(every)]


@cache
def _every() -> tuple[Kept, ...]:
    file = Path(str(instances.__file__)).with_name("guilty.toml")
    return tuple(map(_read, tomllib.loads(file.read_text(encoding="utf8"))["example"]))


def _read(one: dict[str, Any]) -> Kept:
    n = len(one["spectrum"])
    spectrum, weights, mirror = (tuple(one[name]) for name in ("spectrum", "weights", "mirror"))
    block = Block(spectrum, ("cos",) * n, weights, mirror, (0,) * n)
    return Instance("single_level", block), np.array(one["start"]), {name: one[name] for name in LETTERS}

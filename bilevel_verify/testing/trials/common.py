"""What all assertions share: names of callables, cases from bytes, relative gaps."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bilevel_verify.errors import InputError
from bilevel_verify.testing.instances import decoding
from bilevel_verify.testing.instances.decoding import POINTS
from bilevel_verify.testing.instances.families import Instance

FloatArray = NDArray[np.float64]
Function = Callable[..., object]
ROUNDING = 1e-9
KINDS = ("bilevel", "minimax")
"""Kinds of problem that have a hypergradient."""


def name_of(function: Function) -> str:
    """What a message calls a callable."""
    return str(getattr(function, "__name__", type(function).__name__))


def split(data: bytes) -> tuple[decoding.Reader, bytes]:
    """Bytes of the points, bytes of the instance."""
    return decoding.Reader(data[:POINTS]), data[POINTS:]


def two_level(data: bytes, kinds: Sequence[str] = KINDS, **options: Any) -> Instance:
    """A bilevel or minimax instance, as the kinds permit.

    Raises
    ------
    InputError : a kind that has no hypergradient.
    """
    wrong = [kind for kind in kinds if kind not in KINDS]
    if wrong or not kinds:
        raise InputError(f"kinds are among {', '.join(KINDS)}, not {wrong or kinds!r}")
    return decoding.either(data, kinds=tuple(kinds), **options)


def text(points: str, instance: Any) -> str:
    """A problem file that begins with the points."""
    return f"# {points}\n{instance.toml()}"


def gap(got: FloatArray, exact: FloatArray) -> float:
    """``|got - exact| / (1 + |exact|)``."""
    return float(np.linalg.norm(got - exact) / (1 + np.linalg.norm(exact)))

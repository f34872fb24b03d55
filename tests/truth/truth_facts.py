"""A simple bilevel problem, a last iterate and facts that say nothing yet, for tests of error bars."""

from __future__ import annotations

from fractions import Fraction
from types import SimpleNamespace
from typing import Any

import flint
import numpy as np
import pytest

from bilevel_verify.truth.functions.quadratics import Quadratic
from bilevel_verify.truth.simple_bilevel.facts import Facts
from bilevel_verify.truth.simple_bilevel.path_following import End

F = Fraction


def close(value: float, rel: float = 1e-6) -> Any:
    """Relatively, also for tiny numbers."""
    return pytest.approx(value, rel=rel, abs=0.0)


def arbs(*values: float) -> list[Any]:
    return [flint.arb(v) for v in values]


def vectors(*rows: Any) -> list[list[Fraction]]:
    return [[F(v) for v in row] for row in rows]


def level(**changes: Any) -> Any:
    """Two variables, two inequalities, one ball; a structure without terms."""
    zero = Quadratic(vectors((0, 0), (0, 0)), [F(0), F(0)], F(0))
    known: dict[str, Any] = {
        "n": 2, "_f": "f", "_g": "g", "structure": SimpleNamespace(quadratic=zero, ridges=(), missing=""),
        "feasible": SimpleNamespace(
            T=np.eye(2), G=np.array([[1.0, 2.0], [3.0, 0.5]]), h=np.array([4.0, 5.0]),
            E=np.array([[1.0, 1.0], [2.0, 2.0]]),
            e=np.array([3.0, 6.0]), balls=[((1.0, 0.0), 2.0)],
        ),
    }  # fmt: skip
    known.update(changes)
    return SimpleNamespace(**known)


def end(**changes: Any) -> End:
    known: dict[str, Any] = {
        "z": arbs(3, 4), "w": arbs(5, 6), "value": flint.arb(7), "weights": arbs(1, 1, 1), "free": arbs(),
        "below": 0.0, "violation": 0.0,
    }  # fmt: skip
    known.update(changes)
    return End(**known)


def facts(**changes: Any) -> Facts:
    known: dict[str, Any] = {
        "z": arbs(3, 4), "w": arbs(5, 6), "value": flint.arb(7), "error": 0.0, "supporting": {}, "weights": (0.0, 0.0),
        "rows": [], "halves": [],
        "single": None,
    }  # fmt: skip
    known.update(changes)
    return Facts(**known)

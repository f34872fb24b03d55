"""Fast floating-point evaluation of trees over thousands of points at once. It searches; it never decides."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, TypeAlias

import numpy as np

from bilevel_verify.errors import ExpressionError
from bilevel_verify.language import tree
from bilevel_verify.language.elementary import ELEMENTARY
from bilevel_verify.numbers.arithmetic import Exact
from bilevel_verify.numbers.floats import Numpy
from bilevel_verify.numbers.rounding import nearest
from bilevel_verify.numbers.trees import Bound, Evaluate, TreeEvaluator

Array: TypeAlias = np.ndarray
Points = Mapping[str, Array]
TERM_LIMIT = 3_000
NEAR = 1e-9
"""Relative distance below which two floats count as equal in a search."""


def evaluate(node: tree.Node, points: Points) -> Array:
    """Value of a tree at every point (NaN where it is not defined); conditions give booleans.

    Raises
    ------
    ExpressionError : a function that has no scalar meaning.
    """
    with np.errstate(all="ignore"):
        return np.asarray(SAMPLES.compiled(node)(dict(points)))


class _Reals(Numpy):
    """Arrays of points as trees want them."""

    def constant(self, value: Exact) -> Any:
        return np.float64(nearest(value))

    def named(self, name: str) -> Array:
        return np.asarray({"pi": np.pi, "E": np.e, "oo": np.inf}[name])

    def raised(self, a: Array, exponent: Array) -> Array:
        found: Array = np.power(np.asarray(a, float), exponent)
        return found

    def maximum(self, a: Array, b: Array) -> Array:
        found: Array = np.maximum(a, b)
        return found

    def minimum(self, a: Array, b: Array) -> Array:
        found: Array = np.minimum(a, b)
        return found

    def compare(self, op: str, a: Array, b: Array) -> Array:
        found: Array = np.abs(a - b) <= NEAR * (np.abs(a) + np.abs(b)) if op == "eq" else super().compare(op, a, b)
        return found

    def integer(self, value: object, what: str) -> int:
        raise NotImplementedError("the ends of a range differ from point to point")


class _Samples(TreeEvaluator[Array, Array]):
    """Trees at many points; ends of ranges may differ from point to point."""

    error, lazy, typed = ExpressionError, True, False

    def modulo(self, left: Array, right: Array) -> Array:
        found: Array = np.mod(left, right)
        return found

    def over_range(self, node: tree.Call, index: str, low: tree.Node, high: tree.Node) -> Evaluate[Array]:
        """Sums and products, maxima and minima; too long a range gives NaN."""
        body, start, stop = (self.compile(part) for part in (node.arguments[0], low, high))
        first = {"sum": 0.0, "prod": 1.0, "max": -np.inf, "min": np.inf}.get(node.function)

        def run(bound: Bound[Array]) -> Array:
            ends = np.broadcast_arrays(np.ceil(start(bound)), np.floor(stop(bound)))
            if first is None or not np.all(np.isfinite(ends)):
                return np.full(ends[0].shape, np.nan)
            shape = np.broadcast_shapes(ends[0].shape, *(np.shape(v) for v in bound.values()))
            least, most = int(ends[0].min()), int(ends[1].max())
            total = np.full(shape, first if most - least <= TERM_LIMIT else np.nan)
            for place in range(least, most + 1) if most - least <= TERM_LIMIT else ():
                term = body({**bound, index: place})
                inside = (ends[0] <= place) & (place <= ends[1])
                total = np.where(inside, np.asarray(self.joined(node.function, total, term, place)), total)
            return total

        return run


def _binomial(n: Array, k: Array) -> Array:
    from scipy.special import binom

    return np.asarray(binom(n, k))


def _factorial(n: Array) -> Array:
    from scipy.special import gamma

    return np.asarray(gamma(np.asarray(n) + 1.0))


FUNCTIONS: dict[str, Callable[..., Any]] = {
    **{name: one.array for name, one in ELEMENTARY.items()},
    "abs": np.abs,
    "plus": lambda t: np.maximum(t, 0.0),
    "binomial": _binomial,
    "factorial": _factorial,
}
SAMPLES = _Samples(_Reals(), FUNCTIONS)

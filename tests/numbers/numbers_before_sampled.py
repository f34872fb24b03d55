"""Trees at many points as they were evaluated before there was one evaluator of trees: an oracle."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import reduce
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bilevel_verify.errors import ExpressionError
from bilevel_verify.language import tree
from bilevel_verify.language.binding import binder
from bilevel_verify.language.elementary import ELEMENTARY
from bilevel_verify.numbers.exact import middle

Array = NDArray[Any]
Points = Mapping[str, Array]
TERM_LIMIT = 3_000


def evaluate(node: tree.Node, points: Points) -> Array:
    """Value of a tree at every point (NaN where it is not defined); conditions give booleans.

    Raises
    ------
    ExpressionError : a function that has no scalar meaning.
    """
    with np.errstate(all="ignore"):
        return _value(node, points)


def _value(node: tree.Node, p: Points) -> Array:
    match node:
        case tree.Number(value=value):
            return np.asarray(middle(value))
        case tree.Truth(value=value):
            return np.asarray(value)
        case tree.Letter(name=name):
            return p[name] if name in p else np.asarray(CONSTANTS[name])
        case tree.Add(terms=terms):
            return reduce(np.add, [_value(t, p) for t in terms])
        case tree.Multiply(factors=factors):
            return reduce(np.multiply, [_value(f, p) for f in factors])
        case tree.Divide(numerator=top, denominator=bottom):
            return np.divide(_value(top, p), _value(bottom, p))
        case tree.Power(base=base, exponent=exponent):
            return np.asarray(np.power(np.asarray(_value(base, p), float), _value(exponent, p)))
        case tree.Negate(operand=operand):
            return -_value(operand, p)
        case tree.Modulo(left=left, right=right):
            return np.mod(_value(left, p), _value(right, p))
        case tree.Compare(operands=operands, operators=operators):
            values = [_value(o, p) for o in operands]
            links = [RELATIONS[op](a, b) for op, a, b in zip(operators, values, values[1:])]
            return reduce(np.logical_and, links)
        case tree.Logical(operator=word, operands=operands):
            return reduce(np.logical_and if word == "and" else np.logical_or, [_value(o, p) for o in operands])
        case tree.Not(operand=operand):
            return np.logical_not(_value(operand, p))
        case tree.Conditional(test=test, yes=yes, no=no):
            return np.where(_value(test, p), _value(yes, p), _value(no, p))
        case tree.Call():
            return _call(node, p)
    raise ExpressionError(f"{type(node).__name__} has no scalar value")


def _call(node: tree.Call, p: Points) -> Array:
    span = binder(node)
    if span is not None:
        return _over_range(node, span, p)
    arguments = [_value(a, p) for a in node.arguments]
    if node.function in ("max", "min"):
        return reduce(np.maximum if node.function == "max" else np.minimum, arguments)
    if node.function in FUNCTIONS:
        return np.asarray(FUNCTIONS[node.function](*arguments))
    raise ExpressionError(f"{node.function!r} has no scalar value", node.function, node.column)


def _over_range(node: tree.Call, span: tuple[str, tree.Node, tree.Node], p: Points) -> Array:
    """Sums and products over the integers between two ends, which may differ from point to point.

    Too long a range gives NaN.
    """
    index, low_node, high_node = span
    low, high = np.ceil(_value(low_node, p)), np.floor(_value(high_node, p))
    low, high = np.broadcast_arrays(low, high)
    start = {"sum": 0.0, "prod": 1.0, "max": -np.inf, "min": np.inf}.get(node.function)
    if start is None or not np.all(np.isfinite(low) & np.isfinite(high)):
        return np.full(low.shape, np.nan)
    shape = np.broadcast_shapes(low.shape, *(np.shape(v) for v in p.values()))
    total = np.full(shape, start)
    combine = {"sum": np.add, "prod": np.multiply, "max": np.maximum, "min": np.minimum}[node.function]
    first, last = int(low.min()), int(high.max())
    if last - first > TERM_LIMIT:
        return np.full(shape, np.nan)
    for i in range(first, last + 1):
        term = _value(node.arguments[0], {**p, index: np.asarray(float(i))})
        total = np.where((low <= i) & (i <= high), combine(total, term), total)
    return total


def _binomial(n: Array, k: Array) -> Array:
    from scipy.special import binom

    return np.asarray(binom(n, k))


def _factorial(n: Array) -> Array:
    from scipy.special import gamma

    return np.asarray(gamma(np.asarray(n) + 1.0))


CONSTANTS = {"pi": np.pi, "E": np.e, "oo": np.inf}
RELATIONS: dict[str, Callable[[Array, Array], Array]] = {
    "<=": np.less_equal,
    "<": np.less,
    ">=": np.greater_equal,
    ">": np.greater,
    "==": lambda a, b: np.abs(a - b) <= 1e-9 * (np.abs(a) + np.abs(b)),
}
FUNCTIONS: dict[str, Callable[..., Any]] = {
    **{name: one.array for name, one in ELEMENTARY.items()},
    "abs": np.abs,
    "plus": lambda t: np.maximum(t, 0.0),
    "binomial": _binomial,
    "factorial": _factorial,
}

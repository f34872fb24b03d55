"""What the primitives of JAX mean on arrays of expressions: entry by entry, along axes, or as copies."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any

import numpy as np
import sympy

from bilevel_verify.language.elementary import TRANSCENDENTAL
from bilevel_verify.problems.foreign.entries import (
    Entries,
    elementwise,
    largest,
    product,
    reduced,
    scalar_function,
    smallest,
)

Params = Mapping[str, Any]
Operation = Callable[..., Entries]

MOVING: Mapping[str, int | None] = MappingProxyType(
    {
        **dict.fromkeys(("reshape", "squeeze", "expand_dims", "broadcast_in_dim", "transpose", "slice", "rev"), 1),
        **dict.fromkeys(("gather", "dynamic_slice", "copy", "copy_p"), 1),
        **dict.fromkeys(("concatenate", "stack", "pad")),
        "dynamic_update_slice": 2,
    }
)
"""Primitives that copy entries -> how many of their first operands are copied from (None: all)."""


def _entrywise(function: Callable[..., sympy.Basic]) -> Operation:
    return lambda params, *operands: elementwise(function, *operands)


def _named(name: str) -> Operation:
    return _entrywise(scalar_function(name))


def _absolute(t: sympy.Expr) -> sympy.Expr:
    return t if t.is_nonnegative else scalar_function("abs")(t)


def _sign(t: sympy.Expr) -> sympy.Expr:
    return sympy.S.One if t.is_positive else scalar_function("sign")(t)


def _select(which: sympy.Basic, *cases: sympy.Expr) -> sympy.Expr:
    """``select_n``: case 0 where the test is false, 1 where it is true, or the case of an integer."""
    if which in (sympy.true, sympy.false):
        return cases[int(which == sympy.true)]
    if getattr(which, "is_Integer", False):
        return cases[int(which)]
    if len(cases) != 2:
        raise NotImplementedError("a choice among more than two cases that depends on the variables")
    return sympy.Piecewise((cases[1], which), (cases[0], True))


def _integer_power(params: Params, base: Entries) -> Entries:
    return elementwise(lambda t: t ** int(params["y"]), base)


def _finite(t: sympy.Expr) -> sympy.Basic:
    if t.has(sympy.oo, -sympy.oo, sympy.nan, sympy.zoo):
        return sympy.false
    if t.is_finite is not True:
        raise NotImplementedError("a test whether a value is finite that depends on the variables")
    return sympy.true


def _converted(params: Params, operand: Entries) -> Entries:
    """To another float type: the number stays what it is. Truth values become 0 and 1."""
    kind = np.dtype(params["new_dtype"]).kind

    def one(t: sympy.Basic) -> sympy.Basic:
        if t in (sympy.true, sympy.false):
            return t if kind == "b" else sympy.Integer(int(t == sympy.true))
        if kind in "fiu" and not isinstance(t, sympy.Expr):
            return sympy.Piecewise((1, t), (0, True))
        if kind in "fc" or (kind in "iu" and t.is_integer):
            return t
        raise NotImplementedError(f"a conversion to {params['new_dtype']}")

    return elementwise(one, operand)


def _clamp(low: sympy.Expr, t: sympy.Expr, high: sympy.Expr) -> sympy.Expr:
    return smallest(largest(low, t), high)


def _cube_root(t: sympy.Expr) -> sympy.Expr:
    from bilevel_verify import atoms

    return atoms.sgnpow(sympy.Rational(1, 3), t)


ELEMENTWISE: Mapping[str, Operation] = MappingProxyType(
    {
        "add": _entrywise(lambda a, b: a + b),
        "add_any": _entrywise(lambda a, b: a + b),
        "sub": _entrywise(lambda a, b: a - b),
        "mul": _entrywise(lambda a, b: a * b),
        "div": _entrywise(lambda a, b: a / b),
        "neg": _entrywise(lambda a: -a),
        "square": _entrywise(lambda a: a**2),
        "pow": _entrywise(lambda a, b: a**b),
        "integer_pow": _integer_power,
        "exp2": _entrywise(lambda a: 2**a),
        "log1p": _entrywise(lambda a: sympy.log(1 + a)),
        "expm1": _entrywise(lambda a: sympy.exp(a) - 1),
        "rsqrt": _entrywise(lambda a: 1 / sympy.sqrt(a)),
        "cbrt": _entrywise(_cube_root),
        "erfc": _entrywise(lambda a: 1 - scalar_function("erf")(a)),
        "logistic": _named("sigmoid"),
        **{name: _named(name) for name in ("sqrt", "floor", "ceil", *TRANSCENDENTAL)},
        "abs": _entrywise(_absolute),
        "sign": _entrywise(_sign),
        "max": _entrywise(largest),
        "min": _entrywise(smallest),
        "clamp": _entrywise(_clamp),
        "is_finite": _entrywise(_finite),
        "lt": _entrywise(sympy.Lt),
        "le": _entrywise(sympy.Le),
        "gt": _entrywise(sympy.Gt),
        "ge": _entrywise(sympy.Ge),
        "eq": _entrywise(sympy.Eq),
        "ne": _entrywise(sympy.Ne),
        "and": _entrywise(sympy.And),
        "or": _entrywise(sympy.Or),
        "not": _entrywise(sympy.Not),
        "select_n": _entrywise(_select),
        "convert_element_type": _converted,
        "stop_gradient": _entrywise(lambda a: a),
        "optimization_barrier": _entrywise(lambda a: a),
    }
)


def _along(function: Callable[..., sympy.Basic]) -> Operation:
    return lambda params, operand: reduced(function, operand, tuple(params["axes"]))


def _cumulative(function: Callable[[sympy.Expr, sympy.Expr], sympy.Expr]) -> Operation:
    def run(params: Params, operand: Entries) -> Entries:
        step = -1 if params["reverse"] else 1
        rows = np.moveaxis(operand, params["axis"], 0)[::step].copy()
        for i in range(1, len(rows)):
            rows[i : i + 1] = elementwise(function, rows[i - 1 : i], rows[i : i + 1])
        return np.moveaxis(rows[::step], 0, params["axis"])

    return run


def _dot_general(params: Params, left: Entries, right: Entries) -> Entries:
    """Contract and batch axes as JAX orders the result: batch, free of the left, free of the right."""
    (sum_left, sum_right), (batch_left, batch_right) = params["dimension_numbers"]
    free_left = [a for a in range(left.ndim) if a not in (*sum_left, *batch_left)]
    free_right = [a for a in range(right.ndim) if a not in (*sum_right, *batch_right)]
    batch = tuple(left.shape[a] for a in batch_left)
    rows, columns = tuple(left.shape[a] for a in free_left), tuple(right.shape[a] for a in free_right)
    summed = int(np.prod([left.shape[a] for a in sum_left], dtype=int))
    first = left.transpose([*batch_left, *free_left, *sum_left]).reshape((-1, int(np.prod(rows, dtype=int)), summed))
    second = right.transpose([*batch_right, *sum_right, *free_right])
    second = second.reshape((-1, summed, int(np.prod(columns, dtype=int))))
    result = np.empty((len(first), first.shape[1], second.shape[2]), dtype=object)
    for i in range(len(first)):
        result[i] = product(first[i], second[i])
    return result.reshape((*batch, *rows, *columns))


STRUCTURED: Mapping[str, Operation] = MappingProxyType(
    {
        "reduce_sum": _along(sympy.Add),
        "reduce_prod": _along(sympy.Mul),
        "reduce_max": _along(largest),
        "reduce_min": _along(smallest),
        "reduce_and": _along(sympy.And),
        "reduce_or": _along(sympy.Or),
        "cumsum": _cumulative(lambda a, b: a + b),
        "cumprod": _cumulative(lambda a, b: a * b),
        "dot_general": _dot_general,
    }
)
"""Primitives that put several entries together."""

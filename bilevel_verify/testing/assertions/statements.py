"""Assertions on problems themselves: derivatives by hand against formulas, claimed constants against exact ones."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bilevel_verify.errors import InputError
from bilevel_verify.testing.instances import decoding
from bilevel_verify.testing.trials.common import Function, name_of, split, text
from bilevel_verify.testing.trials.contracts import BrokenContract, Profile, call, hidden, numbers, profile
from bilevel_verify.testing.trials.trying import try_out

__tracebackhide__ = hidden

FloatArray = NDArray[np.float64]
ONE_LEVEL = ("value_f", "grad_x_f")
TWO_LEVEL = (*ONE_LEVEL, "grad_y_f", "value_g", "grad_x_g", "grad_y_g", "hvp_yy_g", "jvp_xy_g", "jvp_yx_g")
PRODUCTS = {"hvp_yy_g": "dy", "jvp_xy_g": "dy", "jvp_yx_g": "dx"}


def assert_oracles(
    mine: Any,
    problem: object,
    tolerance: float = 1e-8,
    profile_: Profile | str | None = None,
    seed: int | None = None,
) -> None:
    """A problem written by hand agrees with its formulas: values, gradients, products at random points of its domain.

    Parameters
    ----------
    mine : a mapping or an object with any of ``value_f grad_x_f grad_y_f value_g grad_x_g grad_y_g`` (called with
        ``(x, y)``, or ``(x)`` for one level) and ``hvp_yy_g jvp_xy_g jvp_yx_g`` (``(x, y, v)``).
    problem : the statement: a problem, a zoo name, a problem file or its text, or an instance of this room.

    Raises
    ------
    BrokenContract : the function that differs, where, and by how much. InputError : nothing to compare.
    """
    from bilevel_verify.oracles import oracles

    chosen, stated = profile(profile_), _stated(problem)
    exact = oracles(stated, compiled=False)
    known = ONE_LEVEL if stated.kind in ("single_level", "simple_bilevel") else TWO_LEVEL
    found = {name: function for name in known if (function := _member(mine, name)) is not None}
    if not found:
        raise InputError(f"none of {', '.join(known)} is there to compare")

    def case(data: bytes) -> tuple[FloatArray, FloatArray, Mapping[str, FloatArray]]:
        read, rest = split(data)
        other = decoding.Reader(rest)
        x, y = (_inside(stated, block, read.point(len(block))) for block in (stated.x, stated.y))
        return x, y, {"dx": other.point(stated.dx), "dy": other.point(stated.dy)}

    def judge(data: bytes) -> None:
        x, y, directions = case(data)
        for name, function in found.items():
            arguments = [x, y] if stated.dy else [x]
            arguments += [directions[PRODUCTS[name]]] if name in PRODUCTS else []
            where = f"{name}, x = {x.tolist()}, y = {y.tolist()}"
            truth = np.asarray(getattr(exact, name)(*arguments), dtype=float)
            got = numbers(call(function, *(a.copy() for a in arguments), where=where, limit=chosen), truth.shape, where)
            _compare(name, got, truth, tolerance, where)

    def describe(data: bytes) -> str:
        from bilevel_verify.problems import dump

        x, y, _ = case(data)
        return f"# x = {x.tolist()}, y = {y.tolist()}\n{dump(stated)}"

    try_out("assert_oracles", name_of(mine), judge, describe, chosen, seed)


def _compare(name: str, got: FloatArray, truth: FloatArray, tolerance: float, where: str) -> None:
    size = float(np.max(np.abs(got - truth), initial=0.0) / (1 + np.max(np.abs(truth), initial=0.0)))
    if not size <= tolerance:
        detail = f"got {got.tolist()}, the formula gives {truth.tolist()}, error / (1 + |value|) = {size:.2g}"
        raise BrokenContract(f"{name} is not that of the formula", where, detail)


def _member(mine: object, name: str) -> Callable[..., object] | None:
    found = mine.get(name) if isinstance(mine, Mapping) else getattr(mine, name, None)
    return found if callable(found) else None


def _stated(problem: Any) -> Any:
    from bilevel_verify.problems import load, loads, zoo
    from bilevel_verify.problems.problem import Problem

    if isinstance(problem, Problem):
        return problem
    if hasattr(problem, "problem"):
        return problem.problem()
    if isinstance(problem, str) and "\n" in problem:
        found: Any = loads(problem)
    elif isinstance(problem, Path) or str(problem).endswith(".toml"):
        found = load(problem)
    else:
        found = zoo(problem)
    if not isinstance(found, Problem):
        raise InputError(f"{problem} is a family: give a member of it, .at(...)")
    return found


def _inside(stated: Any, symbols: Any, point: FloatArray) -> FloatArray:
    """Points of [-4, 4] moved into the domain."""
    moved = []
    for symbol, value in zip(symbols, point.tolist()):
        low, high = (float(end) for end in stated.range_of(symbol))
        if np.isfinite(low) and np.isfinite(high):
            value = low + (high - low) * (value + 4) / 8
        else:
            value = max(value, low) if np.isfinite(low) else min(value, high)
        moved.append(value)
    return np.array(moved, dtype=float)


SIDES = {"mu": 1, "L": -1, "rho": -1}
"""A claimed mu must not be larger than the exact one; L and rho not smaller."""


def assert_constants(
    function: Function,
    loose: float | None = None,
    profile_: Profile | str | None = None,
    seed: int | None = None,
) -> None:
    """``function(instance) -> {"mu": ..., "L": ..., "rho": ...}`` (any of them): safe constants of one level.

    The instance has ``text()``, ``sympy()``, ``toml()``, ``problem()`` and, for a helper that samples, ``p.gradient``.

    Parameters
    ----------
    loose : the largest factor by which a constant may be on the safe side; None for any.

    Raises
    ------
    BrokenContract : a claimed constant that is not one, and by how much; InputError is raised for unknown letters.
    """
    chosen = profile(profile_)

    def judge(data: bytes) -> None:
        instance = decoding.single_level(split(data)[1])
        raw = call(function, instance, where="the call", limit=chosen)
        if not isinstance(raw, Mapping) or not raw or set(raw) - set(SIDES):
            raise BrokenContract("returns no constants", "the call", f"{raw!r}, not a mapping of {', '.join(SIDES)}")
        for name, value in raw.items():
            claimed = float(numbers(value, (), name))
            _judge_constant(name, claimed, float(getattr(instance, name)), loose)

    def describe(data: bytes) -> str:
        instance = decoding.single_level(split(data)[1])
        return text(f"mu = {instance.mu:.12g}, L = {instance.L:.12g}, rho = {instance.rho:.12g}", instance)

    try_out("assert_constants", name_of(function), judge, describe, chosen, seed)


def _judge_constant(name: str, claimed: float, exact: float, loose: float | None) -> None:
    side, room = SIDES[name], 1e-9 * (1 + abs(exact))
    if side * (claimed - exact) > room:
        words = "larger than the exact" if side > 0 else "smaller than the exact"
        detail = f"{claimed:.9g} is {words} {exact:.9g}, by {abs(claimed - exact):.3g}"
        raise BrokenContract(f"{name} is no constant of the function", name, detail)
    small, large = sorted((abs(claimed), abs(exact)))
    if loose is not None and large > loose * small + room:
        detail = f"{claimed:.9g}, exact {exact:.9g}: more than {loose:g} times off"
        raise BrokenContract(f"{name} is too loose", name, detail)

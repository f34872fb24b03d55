"""Metamorphic relations: the same problem written differently must give the same answer, rewritten.

Each relation is a change of variables ``x = T x'``, ``y = S y'`` and of units, put around oracles that are given; no
exact solution is needed, so that they work on any problem.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from bilevel_verify.errors import InputError
from bilevel_verify.testing import decoding
from bilevel_verify.testing.assertions import name_of
from bilevel_verify.testing.contracts import POINTS, BrokenContract, Profile, call, profile, try_out, vector
from bilevel_verify.testing.counting import CountedOracles
from bilevel_verify.testing.families import Instance

FloatArray = NDArray[np.float64]


@dataclass(frozen=True)
class Rewriting:
    """``x = T x'``, ``y = S y'``, ``f' = a f + c``, ``g' = b g + d``; ``bilevel``: a minimax problem spelled with g."""

    T: FloatArray
    S: FloatArray
    a: float = 1.0
    b: float = 1.0
    c: float = 0.0
    d: float = 0.0
    bilevel: bool = False


class RewrittenOracles:
    """The oracles of the rewritten problem, made from the original ones, which do the counting."""

    def __init__(self, original: Any, how: Rewriting) -> None:
        self.original, self.how = original, how
        self.dx, self.dy = how.T.shape[1], how.S.shape[1]
        self.kind = "bilevel" if how.bilevel else getattr(original, "kind", "bilevel")
        values = np.linalg.svd(how.S, compute_uv=False)
        self.mu = how.b * original.mu * float(values[-1]) ** 2
        self.L = how.b * original.L * float(values[0]) ** 2

    @property
    def counts(self) -> Mapping[str, int]:
        """Calls of the original oracles."""
        found: Mapping[str, int] = self.original.counts
        return found

    def _there(self, x: ArrayLike, y: ArrayLike) -> tuple[FloatArray, FloatArray]:
        return self.how.T @ np.asarray(x, dtype=float), self.how.S @ np.asarray(y, dtype=float)

    def value_f(self, x: ArrayLike, y: ArrayLike) -> float:
        """f'."""
        return self.how.a * float(self.original.value_f(*self._there(x, y))) + self.how.c

    def value_g(self, x: ArrayLike, y: ArrayLike) -> float:
        """g'."""
        return self.how.b * float(self.original.value_g(*self._there(x, y))) + self.how.d

    def grad_x_f(self, x: ArrayLike, y: ArrayLike) -> FloatArray:
        """Gradient of f' in x'."""
        found: FloatArray = self.how.a * (self.how.T.T @ self.original.grad_x_f(*self._there(x, y)))
        return found

    def grad_y_f(self, x: ArrayLike, y: ArrayLike) -> FloatArray:
        """Gradient of f' in y'."""
        found: FloatArray = self.how.a * (self.how.S.T @ self.original.grad_y_f(*self._there(x, y)))
        return found

    def grad_f(self, x: ArrayLike, y: ArrayLike) -> tuple[FloatArray, FloatArray]:
        """Both gradients of f'."""
        first, second = self.original.grad_f(*self._there(x, y))
        return self.how.a * (self.how.T.T @ first), self.how.a * (self.how.S.T @ second)

    def grad_x_g(self, x: ArrayLike, y: ArrayLike) -> FloatArray:
        """Gradient of g' in x'."""
        found: FloatArray = self.how.b * (self.how.T.T @ self.original.grad_x_g(*self._there(x, y)))
        return found

    def grad_y_g(self, x: ArrayLike, y: ArrayLike) -> FloatArray:
        """Gradient of g' in y'."""
        found: FloatArray = self.how.b * (self.how.S.T @ self.original.grad_y_g(*self._there(x, y)))
        return found

    def grad_g(self, x: ArrayLike, y: ArrayLike) -> tuple[FloatArray, FloatArray]:
        """Both gradients of g'."""
        first, second = self.original.grad_g(*self._there(x, y))
        return self.how.b * (self.how.T.T @ first), self.how.b * (self.how.S.T @ second)

    def hvp_yy_g(self, x: ArrayLike, y: ArrayLike, v: ArrayLike) -> FloatArray:
        """Hessian-vector product of g' in y'."""
        S = self.how.S
        product = self.original.hvp_yy_g(*self._there(x, y), S @ np.asarray(v, dtype=float))
        found: FloatArray = self.how.b * (S.T @ product)
        return found

    def jvp_xy_g(self, x: ArrayLike, y: ArrayLike, v: ArrayLike) -> FloatArray:
        """``(nabla^2_x'y' g') v``."""
        product = self.original.jvp_xy_g(*self._there(x, y), self.how.S @ np.asarray(v, dtype=float))
        found: FloatArray = self.how.b * (self.how.T.T @ product)
        return found

    def jvp_yx_g(self, x: ArrayLike, y: ArrayLike, u: ArrayLike) -> FloatArray:
        """``(nabla^2_y'x' g') u``."""
        product = self.original.jvp_yx_g(*self._there(x, y), self.how.T @ np.asarray(u, dtype=float))
        found: FloatArray = self.how.b * (self.how.S.T @ product)
        return found


Draw = Callable[[decoding.Reader, int, int], Rewriting]


def _reflection(read: decoding.Reader, n: int) -> FloatArray:
    m = np.array(read.vector(n, 2), dtype=float) if n > 1 else np.ones(1)
    length = float(m @ m)
    found: FloatArray = np.eye(n) - 2 * np.outer(m, m) / length if length else np.eye(n)[::-1].copy()
    return found


def _units(read: decoding.Reader, n: int, m: int) -> Rewriting:
    scale = 2.0 ** read.between(1, 3)
    return Rewriting(np.eye(n) * scale, np.eye(m) / scale, a=2.0 ** read.signed(2), b=2.0 ** read.signed(2))


def _permuted(read: decoding.Reader, n: int, m: int) -> Rewriting:
    return Rewriting(np.roll(np.eye(n), 1 + read.upto(2), axis=0), np.roll(np.eye(m), 1 + read.upto(2), axis=0))


def _duplicated(read: decoding.Reader, n: int, m: int) -> Rewriting:
    return Rewriting(np.hstack([np.eye(n), np.eye(n)]), np.eye(m))


RELATIONS: Mapping[str, Draw] = {
    "unit rescaling": _units,
    "rotation": lambda read, n, m: Rewriting(_reflection(read, n), _reflection(read, m)),
    "shift of f and g": lambda read, n, m: Rewriting(
        np.eye(n), np.eye(m), c=5.0 + read.upto(90), d=-3.0 - read.upto(9)
    ),
    "duplicated variables": _duplicated,
    "permuted coordinates": _permuted,
    "min and max spelling": lambda read, n, m: Rewriting(np.eye(n), np.eye(m), bilevel=True),
}


def assert_metamorphic(
    function: Callable[..., Any],
    relation: str,
    tolerance: float = 1e-5,
    profile_: Profile | str | None = None,
    budget: int = 20_000,
    seed: int | None = None,
) -> None:
    """``function(oracles, x) -> gradient`` answers ``a T^T grad(T x')`` on the rewritten problem.

    Raises
    ------
    BrokenContract : the two answers differ; InputError : no such relation.
    """
    if relation not in RELATIONS:
        raise InputError(f"no relation {relation!r}; there are {', '.join(RELATIONS)}")
    chosen = profile(profile_)

    def case(data: bytes) -> tuple[Instance, Rewriting, FloatArray]:
        read, rest = decoding.Reader(data[:POINTS]), data[POINTS:]
        instance = (decoding.minimax if relation == "min and max spelling" else decoding.either)(rest)
        how = RELATIONS[relation](read, instance.dx, instance.dy)
        return instance, how, read.point(how.T.shape[1])

    def judge(data: bytes) -> None:
        instance, how, x = case(data)
        there = how.T @ x
        where = f"x' = {x.tolist()}"
        plain = CountedOracles(instance, budget)
        raw = call(function, plain, there.copy(), where=f"x = {there.tolist()}", seconds=chosen.seconds)
        expected = how.a * (how.T.T @ vector(raw, instance.dx, where))
        rewritten = RewrittenOracles(CountedOracles(instance, budget), how)
        got = vector(call(function, rewritten, x.copy(), where=where, seconds=chosen.seconds), len(x), where)
        gap = float(np.linalg.norm(got - expected) / (1 + np.linalg.norm(expected)))
        if not gap <= tolerance:
            detail = f"rewritten {got.tolist()}, original {expected.tolist()}, relative difference {gap:.2g}"
            raise BrokenContract(f"changes under {relation}", where, detail)

    def describe(data: bytes) -> str:
        instance, how, x = case(data)
        return f"# x' = {x.tolist()}, {how}\n{instance.toml()}"

    try_out(f"assert_metamorphic[{relation}]", name_of(function), judge, describe, chosen, seed)

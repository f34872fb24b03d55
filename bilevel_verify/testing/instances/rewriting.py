"""The same problem written differently: oracles put around given ones, or the statement itself rewritten."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from bilevel_verify.errors import InputError

if TYPE_CHECKING:
    from bilevel_verify.problems.problem import Problem

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


class NotRewritten(InputError):
    """A solver that reads the instance itself cannot be asked about problems that are rewritten around it."""


class RewrittenOracles:
    """The oracles of the rewritten problem, made from the original ones, which do the counting."""

    def __init__(self, original: Any, how: Rewriting) -> None:
        self.original, self.how = original, how
        self.dx, self.dy = how.T.shape[1], how.S.shape[1]
        self.kind = "bilevel" if how.bilevel else getattr(original, "kind", "bilevel")
        turned, unit = (how.S, how.b) if self.dy else (how.T, how.a)
        values = np.linalg.svd(turned, compute_uv=False)
        least = float(values[-1]) if turned.shape[1] <= turned.shape[0] else 0.0  # a duplicated variable is a flat one
        self.mu = unit * original.mu * least**2
        self.L = unit * original.L * float(values[0]) ** 2

    @property
    def instance(self) -> Any:
        """A rewritten problem is known by its oracles only.

        Raises
        ------
        NotRewritten : always.
        """
        raise NotRewritten("a rewritten problem is known by its oracles only, it has no instance")

    @property
    def counts(self) -> Mapping[str, int]:
        """Calls of the original oracles."""
        found: Mapping[str, int] = self.original.counts
        return found

    def _there(self, x: ArrayLike, y: ArrayLike) -> tuple[FloatArray, FloatArray]:
        return self.how.T @ np.asarray(x, dtype=float), self.how.S @ np.asarray(y, dtype=float)

    def value_f(self, x: ArrayLike, y: ArrayLike = ()) -> float:
        """f'."""
        return self.how.a * float(self.original.value_f(*self._there(x, y))) + self.how.c

    def value_g(self, x: ArrayLike, y: ArrayLike = ()) -> float:
        """g'."""
        return self.how.b * float(self.original.value_g(*self._there(x, y))) + self.how.d

    def grad_x_f(self, x: ArrayLike, y: ArrayLike = ()) -> FloatArray:
        """Gradient of f' in x'."""
        found: FloatArray = self.how.a * (self.how.T.T @ self.original.grad_x_f(*self._there(x, y)))
        return found

    def grad_y_f(self, x: ArrayLike, y: ArrayLike) -> FloatArray:
        """Gradient of f' in y'."""
        found: FloatArray = self.how.a * (self.how.S.T @ self.original.grad_y_f(*self._there(x, y)))
        return found

    def grad_f(self, x: ArrayLike, y: ArrayLike = ()) -> tuple[FloatArray, FloatArray]:
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

    def hess_f(self, x: ArrayLike, y: ArrayLike = ()) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Blocks (xx, xy, yy) of the Hessian of f'."""
        return self._turned(self.how.a, self.original.hess_f(*self._there(x, y)))

    def hess_g(self, x: ArrayLike, y: ArrayLike = ()) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Blocks (xx, xy, yy) of the Hessian of g'."""
        return self._turned(self.how.b, self.original.hess_g(*self._there(x, y)))

    def _turned(
        self, unit: float, blocks: tuple[FloatArray, FloatArray, FloatArray]
    ) -> tuple[FloatArray, FloatArray, FloatArray]:
        T, S = self.how.T, self.how.S
        xx, xy, yy = blocks
        return unit * (T.T @ xx @ T), unit * (T.T @ xy @ S), unit * (S.T @ yy @ S)


def _exact(value: float) -> Any:
    import sympy

    found = Fraction(value).limit_denominator(10**6)
    return sympy.Rational(found.numerator, found.denominator)


def rewritten(problem: Problem, how: Rewriting) -> Problem:
    """The statement in the new variables (same names, as many as the columns of T and S), SymPy form.

    Raises
    ------
    InputError : a problem on a restricted domain or with a feasible set, or a matrix of the wrong size.
    """
    import sympy

    from bilevel_verify.problems import bilevel, minimax, single_level

    if not problem.whole_space or problem.feasible is not None:
        raise InputError("only a problem on the whole space can be rewritten: its domain would have to be, too")
    if how.T.shape[0] != problem.dx or how.S.shape[0] != problem.dy:
        raise InputError(f"T and S need {problem.dx} and {problem.dy} rows, not {how.T.shape[0]} and {how.S.shape[0]}")
    new = [[sympy.Symbol(f"{letter}{i + 1}", real=True) for i in range(n)] for letter, n in _sizes(how)]
    change = {}
    for old, symbols, matrix in zip((problem.x, problem.y), new, (how.T, how.S)):
        for symbol, row in zip(old, matrix):
            change[symbol] = sum((_exact(c) * s for c, s in zip(row, symbols)), sympy.S.Zero)
    f = _exact(how.a) * problem.f.xreplace(change) + _exact(how.c)
    x, y = ([s.name for s in symbols] for symbols in new)
    if problem.kind == "single_level":
        return single_level(f=f, x=x)
    if problem.kind == "minimax" and not how.bilevel:
        return minimax(f=f, x=x, y=y)
    lower = problem.lower
    assert lower is not None
    return bilevel(f=f, g=_exact(how.b) * lower.xreplace(change) + _exact(how.d), x=x, y=y)


def _sizes(how: Rewriting) -> tuple[tuple[str, int], tuple[str, int]]:
    return ("x", how.T.shape[1]), ("y", how.S.shape[1])

"""What a cubic step needs at a point: gradient and Hessian of the hyper-objective, estimated as the paper prescribes.

Each estimator is one class with the same two questions. The inner iterates are warm-started from one outer iteration
to the next, as Algorithms 2, 4 and 5 of the fsba sheet do. Oracles own the counters.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Protocol

from bilevel_verify.methods.cubic.arithmetic import Array, schur
from bilevel_verify.methods.cubic.inner import InnerSolver
from bilevel_verify.oracles import Oracles


class Model(Protocol):
    """Gradient and Hessian of an (estimated) hyper-objective at x."""

    def gradient(self, x: Array) -> Array:
        """The gradient estimate; runs the inner solvers and keeps their results for :meth:`hessian`."""

    def hessian(self, x: Array) -> Array:
        """The Hessian estimate at the point of the last gradient, shape (dx, dx)."""

    def inner(self) -> Mapping[str, Array]:
        """The inner iterates as the paper names them."""


class SingleLevel:
    """The function itself."""

    def __init__(self, oracles: Oracles, letters: Mapping[str, Any], y0: Array) -> None:
        self.oracles = oracles

    def gradient(self, x: Array) -> Array:
        """See :class:`Model`."""
        return self.oracles.grad_f(x)[0]

    def hessian(self, x: Array) -> Array:
        """See :class:`Model`."""
        return self.oracles.hess_f(x)[0]

    def inner(self) -> Mapping[str, Array]:
        """See :class:`Model`."""
        return {}


@dataclass(slots=True)
class _Inner:
    y: Array
    w: Array


class Penalty:
    """Gradient (5) and Hessian (6) of the penalty function, y and w by accelerated gradient descent."""

    def __init__(self, oracles: Oracles, letters: Mapping[str, Any], y0: Array) -> None:
        self.oracles, self.letters = oracles, letters
        self.lam = letters["lam"]
        self.state = _Inner(y0.copy(), y0.copy())
        self.solver = InnerSolver(oracles)

    def gradient(self, x: Array) -> Array:
        """Lines 3-5: K1 steps for w on g, K2 steps for y on f + lam g, then (5)."""
        o, lam, q = self.oracles, self.lam, self.letters
        self.state.w = self.solver.lower(x, self.state.w, q["K1"], q["l1"], q["kappa1"])
        self.state.y = self.solver.penalty(x, self.state.y, q["K2"], q["l2"], q["kappa2"], lam)
        y, w = self.state.y, self.state.w
        found: Array = o.grad_x_f(x, y) + (o.grad_x_g(x, y) - o.grad_x_g(x, w)) * lam
        return found

    def hessian(self, x: Array) -> Array:
        """(6), with one Hessian of f at (x, y) and Hessians of g at (x, y) and (x, w)."""
        lam, y, w = self.lam, self.state.y, self.state.w
        f_xx, f_xy, f_yy = self.oracles.hess_f(x, y)
        g_xx, g_xy, g_yy = self.oracles.hess_g(x, y)
        h_xx, h_xy, h_yy = self.oracles.hess_g(x, w)
        mixed, lower = f_xy + g_xy * lam, f_yy + g_yy * lam
        penalty: Array = f_xx + (g_xx - h_xx) * lam - schur(mixed, lower, "the penalty function")
        found: Array = penalty + schur(h_xy, h_yy, "g") * lam
        return found

    def inner(self) -> Mapping[str, Array]:
        """See :class:`Model`."""
        return {"y": self.state.y, "w": self.state.w}


class Danskin:
    """Gradient (14) and Schur complement (15) of a minimax problem, y by accelerated ascent."""

    def __init__(self, oracles: Oracles, letters: Mapping[str, Any], y0: Array) -> None:
        self.oracles, self.letters, self.y = oracles, letters, y0.copy()
        self.solver = InnerSolver(oracles)

    def gradient(self, x: Array) -> Array:
        """Lines 3-4: K steps for y on -f, then the x-part of the gradient at the new y."""
        q, o = self.letters, self.oracles
        self.y = self.solver.lower(x, self.y, q["K"], q["l1"], q["kappa1"])
        return o.grad_x_f(x, self.y)

    def hessian(self, x: Array) -> Array:
        """(15): ``f_xx - f_xy f_yy^{-1} f_yx``."""
        f_xx, f_xy, f_yy = self.oracles.hess_f(x, self.y)
        return f_xx + schur(f_xy, -f_yy, "-f")

    def inner(self) -> Mapping[str, Array]:
        """See :class:`Model`."""
        return {"y": self.y}

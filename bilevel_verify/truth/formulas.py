"""The formulas of bilevel calculus, written once over an algebra (floats, boxes, balls).

With ``y = y*(x)``, ``v = [g_yy]^{-1} f_y`` and ``J = [I, nabla y*]`` (dx rows):

* ``nabla y* = -g_xy [g_yy]^{-1}``  (dx, dy)
* ``nabla phi = f_x - g_xy v``
* ``nabla^2 phi = J (nabla^2 f - nabla^2 (v . g_y)) J'``, v held fixed: the second derivatives of y* enter through the
  third derivatives of g contracted with v.

Penalty (fsba, equations (3), (5), (6)): with ``h = f + lam g`` and ``y_lam = argmin_y h``,

* ``L* = f(x, y_lam) + lam (g(x, y_lam) - g(x, y*))``
* ``nabla L* = h_x(y_lam) - lam g_x(y*)``
* ``nabla^2 L* = [h_xx - h_xy h_yy^{-1} h_yx](y_lam) - lam [g_xx - g_xy g_yy^{-1} g_yx](y*)``
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any

from bilevel_verify.truth.model import Blocks, Function, Model, blocks, weighted_third


@dataclass
class Hyper:
    """phi and its derivatives at given x and y = y*(x), all in one algebra; computed on first use.

    Parameters
    ----------
    algebra : :class:`Floats`, :class:`Boxes` or :class:`Balls`.
    model : the problem's programs.
    x, y : numbers of the algebra, dx and dy of them (y enclosing y*(x)).
    """

    algebra: Any
    model: Model
    x: Sequence[Any]
    y: Sequence[Any]

    @property
    def z(self) -> list[Any]:
        return [*self.x, *self.y]

    @cached_property
    def f(self) -> Blocks:
        return blocks(self.algebra, self.model.upper, self.z)

    @cached_property
    def g(self) -> Blocks:
        assert self.model.lower is not None
        return blocks(self.algebra, self.model.lower, self.z)

    @cached_property
    def value(self) -> Any:
        """phi(x)."""
        out = self.model.upper.program.run(self.algebra.arithmetic, self.z)
        return self.algebra.number(out[0], self.z)

    @cached_property
    def v(self) -> Any:
        """``[g_yy]^{-1} f_y``, shape (dy, 1)."""
        return self.algebra.solve(self.g.yy, self.f.gy)

    @cached_property
    def jacobian(self) -> Any:
        """nabla y*, shape (dx, dy)."""
        a = self.algebra
        return a.transpose(a.solve(self.g.yy, a.transpose(a.negate(self.g.xy))))

    @cached_property
    def gradient(self) -> Any:
        """nabla phi, shape (dx, 1)."""
        if self.model.lower is None:
            return self.f.gx
        if self.model.negated:  # Danskin: the y-part of the gradient vanishes at y*
            return self.f.gx
        return self.algebra.subtract(self.f.gx, self.algebra.product(self.g.xy, self.v))

    @cached_property
    def hessian(self) -> Any:
        """nabla^2 phi, shape (dx, dx)."""
        a = self.algebra
        if self.model.lower is None:
            return self.f.xx
        if self.model.negated:
            return a.add(self.f.xx, a.product(self.f.xy, a.transpose(self.jacobian)))
        inner = a.subtract(self.f.full, weighted_third(a, self.model.lower, self.z, a.entries(self.v)))
        extended = a.stack([a.identity(self.model.dx, self.f.full), self.jacobian])
        return a.product(a.product(extended, inner), a.transpose(extended))

    @cached_property
    def second_derivative(self) -> list[Any]:
        """nabla^2 y*: for every component k of y a (dx, dx) matrix, in the order of y.

        Differentiating ``g_y(x, y*(x)) = 0`` twice: ``sum_k (g_yy)_{jk} nabla^2 y*_k = -J nabla^2(g_{y_j}) J'``.
        """
        a, dx, dy = self.algebra, self.model.dx, self.model.dy
        assert self.model.lower is not None
        extended = a.stack([a.identity(dx, self.g.full), self.jacobian])
        sides = []
        for j in range(dy):
            inner = weighted_third(a, self.model.lower, self.z, unit_weights(a, dy, j, self.z))
            sides.append(a.product(a.product(extended, inner), a.transpose(extended)))
        flat = [[_entry(side, r, c) for r in range(dx) for c in range(dx)] for side in sides]
        right = a.matrix(flat, self.z)
        solved = a.solve(self.g.yy, a.negate(right))
        return [
            a.matrix([[_entry(solved, k, r * dx + c) for c in range(dx)] for r in range(dx)], self.z) for k in range(dy)
        ]


@dataclass
class Penalty:
    """``L*_lam`` and its derivatives at x, with enclosures of y* and of y*_lam, in one algebra."""

    algebra: Any
    model: Model
    lam: Any
    x: Sequence[Any]
    y: Sequence[Any]
    y_lam: Sequence[Any]

    @cached_property
    def at_penalty(self) -> tuple[Blocks, Blocks]:
        """Blocks of f and g at y*_lam."""
        assert self.model.lower is not None
        z = [*self.x, *self.y_lam]
        return blocks(self.algebra, self.model.upper, z), blocks(self.algebra, self.model.lower, z)

    @cached_property
    def at_lower(self) -> Blocks:
        """Blocks of g at y*."""
        assert self.model.lower is not None
        return blocks(self.algebra, self.model.lower, [*self.x, *self.y])

    def _mixed(self, name: str) -> Any:
        f, g = self.at_penalty
        a = self.algebra
        return a.add(getattr(f, name), a.scale(self.lam, getattr(g, name)))

    @cached_property
    def value(self) -> Any:
        """``L*_lam(x)``; the difference of the g values is taken before lam multiplies it."""
        f, g = self.at_penalty
        return f.value + self.lam * (g.value - self.at_lower.value)

    @cached_property
    def gradient(self) -> Any:
        """Shape (dx, 1)."""
        f, g = self.at_penalty
        a = self.algebra
        return a.add(f.gx, a.scale(self.lam, a.subtract(g.gx, self.at_lower.gx)))

    @cached_property
    def jacobian(self) -> Any:
        """nabla y*_lam, shape (dx, dy)."""
        a = self.algebra
        return a.transpose(a.solve(self._mixed("yy"), a.transpose(a.negate(self._mixed("xy")))))

    @cached_property
    def hessian(self) -> Any:
        """Shape (dx, dx); fsba appendix C.1."""
        a, g = self.algebra, self.at_lower
        upper = a.add(self.at_penalty[0].xx, a.product(self._mixed("xy"), a.transpose(self.jacobian)))
        correction = a.product(g.xy, a.solve(g.yy, a.transpose(g.xy)))
        lower = a.add(a.subtract(self.at_penalty[1].xx, g.xx), correction)
        return a.add(upper, a.scale(self.lam, lower))


def unit_weights(algebra: Any, size: int, j: int, like: Sequence[Any]) -> list[Any]:
    """The j-th unit vector as numbers of the algebra."""
    constant = algebra.arithmetic.constant
    return [algebra.number(constant(Fraction(int(i == j))), like) for i in range(size)]


def _entry(matrix: Any, i: int, j: int) -> Any:
    """One entry as a number, for arrays and intervals (n, rows, columns) and for ball matrices."""
    return matrix[i, j] if hasattr(matrix, "nrows") else matrix[:, i, j]


__all__ = ["Function", "Hyper", "Penalty", "unit_weights"]

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

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING, Generic, TypeAlias

from bilevel_verify.truth.arithmetic.algebra import Algebra, M, N
from bilevel_verify.truth.functions.model import Blocks, Model, blocks, weighted_third

if TYPE_CHECKING:
    from flint import arb, arb_mat

    from bilevel_verify.intervals.batch import Interval
    from bilevel_verify.truth.arithmetic.algebra import FloatArray


@dataclass
class Hyper(Generic[N, M]):
    """phi and its derivatives at given x and y = y*(x), all in one algebra; computed on first use.

    Parameters
    ----------
    algebra : :class:`Floats`, :class:`Boxes` or :class:`Balls`.
    model : the problem's programs.
    x, y : numbers of the algebra, dx and dy of them (y enclosing y*(x)).
    """

    algebra: Algebra[N, M]
    model: Model
    x: Sequence[N]
    y: Sequence[N]

    @property
    def z(self) -> list[N]:
        return [*self.x, *self.y]

    @property
    def minimiser(self) -> M:
        """y*, shape (dy, 1)."""
        return self.algebra.matrix([[v] for v in self.y], self.z)

    @cached_property
    def f(self) -> Blocks[N, M]:
        return blocks(self.algebra, self.model.upper, self.z)

    @cached_property
    def g(self) -> Blocks[N, M]:
        assert self.model.lower is not None
        return blocks(self.algebra, self.model.lower, self.z)

    @cached_property
    def value(self) -> N:
        """phi(x)."""
        out = self.model.upper.program.run(self.algebra.arithmetic, self.z)
        return self.algebra.number(out[0], self.z)

    @cached_property
    def v(self) -> M:
        """``[g_yy]^{-1} f_y``, shape (dy, 1)."""
        return self.algebra.solve(self.g.yy, self.f.gy)

    def _differentiable(self, matrix: M, upper: int, lower: int) -> M:
        """The same, or nothing where f or g may have no derivatives of these orders (0: none is asked for)."""
        for function, order in ((self.model.upper, upper), (self.model.lower, lower)):
            if function is not None and order > 0:
                matrix = function.where_differentiable(self.algebra, self.z, order, matrix, self.x)
        return matrix

    @cached_property
    def jacobian(self) -> M:
        """nabla y*, shape (dx, dy)."""
        a = self.algebra
        return self._differentiable(a.transpose(a.solve(self.g.yy, a.transpose(a.negate(self.g.xy)))), 0, 2)

    @cached_property
    def gradient(self) -> M:
        """nabla phi, shape (dx, 1)."""
        if self.model.lower is None or self.model.negated:  # Danskin: the y-part of the gradient vanishes at y*
            return self._differentiable(self.f.gx, 1, 0)
        found = self.algebra.subtract(self.f.gx, self.algebra.product(self.g.xy, self.v))
        return self._differentiable(found, 1, 2)

    @cached_property
    def hessian(self) -> M:
        """nabla^2 phi, shape (dx, dx)."""
        return self._differentiable(self._hessian, 2, 2 if self.model.negated else 3)

    @property
    def _hessian(self) -> M:
        a = self.algebra
        if self.model.lower is None:
            return self.f.xx
        if self.model.negated:
            return a.add(self.f.xx, a.product(self.f.xy, a.transpose(self.jacobian)))
        inner = a.subtract(self.f.full, weighted_third(a, self.model.lower, self.z, a.entries(self.v)))
        extended = a.stack([a.identity(self.model.dx, self.f.full), self.jacobian])
        return a.product(a.product(extended, inner), a.transpose(extended))

    @cached_property
    def second_derivative(self) -> list[M]:
        """nabla^2 y*: for every component k of y a (dx, dx) matrix, in the order of y.

        Differentiating ``g_y(x, y*(x)) = 0`` twice: ``sum_k (g_yy)_{jk} nabla^2 y*_k = -J nabla^2(g_{y_j}) J'``.
        """
        assert self.model.lower is not None
        lower = self.model.lower
        third = lambda weights: weighted_third(self.algebra, lower, self.z, weights)
        found = implicit_second_derivative(self.algebra, self.g.yy, self.jacobian, third, self.z)
        return [self._differentiable(matrix, 0, 3) for matrix in found]


@dataclass
class Penalty(Generic[N, M]):
    """``L*_lam`` and its derivatives at x, with enclosures of y* and of y*_lam, in one algebra."""

    algebra: Algebra[N, M]
    model: Model
    lam: N
    x: Sequence[N]
    y: Sequence[N]
    y_lam: Sequence[N]

    @property
    def minimiser(self) -> M:
        """y*_lam, shape (dy, 1)."""
        return self.algebra.matrix([[v] for v in self.y_lam], self.x)

    @cached_property
    def at_penalty(self) -> tuple[Blocks[N, M], Blocks[N, M]]:
        """Blocks of f and g at y*_lam."""
        assert self.model.lower is not None
        z = [*self.x, *self.y_lam]
        return blocks(self.algebra, self.model.upper, z), blocks(self.algebra, self.model.lower, z)

    @cached_property
    def at_lower(self) -> Blocks[N, M]:
        """Blocks of g at y*."""
        assert self.model.lower is not None
        return blocks(self.algebra, self.model.lower, [*self.x, *self.y])

    def _mixed(self, name: str) -> M:
        f, g = self.at_penalty
        a = self.algebra
        return a.add(getattr(f, name), a.scale(self.lam, getattr(g, name)))

    @cached_property
    def value(self) -> N:
        """``L*_lam(x)``; the difference of the g values is taken before lam multiplies it."""
        f, g = self.at_penalty
        with_ = self.algebra.arithmetic
        return with_.add(f.value, with_.mul(self.lam, with_.add(g.value, with_.neg(self.at_lower.value))))

    def _differentiable(self, matrix: M, order: int) -> M:
        """The same, or nothing where f or g may have no derivative of the order, at y*_lam or at y*."""
        lower = self.model.lower
        assert lower is not None
        for function, y in ((self.model.upper, self.y_lam), (lower, self.y_lam), (lower, self.y)):
            matrix = function.where_differentiable(self.algebra, [*self.x, *y], order, matrix, self.x)
        return matrix

    @cached_property
    def gradient(self) -> M:
        """Shape (dx, 1)."""
        f, g = self.at_penalty
        a = self.algebra
        return self._differentiable(a.add(f.gx, a.scale(self.lam, a.subtract(g.gx, self.at_lower.gx))), 1)

    @cached_property
    def jacobian(self) -> M:
        """nabla y*_lam, shape (dx, dy)."""
        a = self.algebra
        found = a.transpose(a.solve(self._mixed("yy"), a.transpose(a.negate(self._mixed("xy")))))
        return self._differentiable(found, 2)

    @cached_property
    def second_derivative(self) -> list[M]:
        """nabla^2 y*_lam: for every component k of y a (dx, dx) matrix, in the order of y."""
        assert self.model.lower is not None
        a, lower, z = self.algebra, self.model.lower, [*self.x, *self.y_lam]

        def third(weights: Sequence[N]) -> M:
            above = weighted_third(a, self.model.upper, z, weights)
            return a.add(above, a.scale(self.lam, weighted_third(a, lower, z, weights)))

        found = implicit_second_derivative(a, self._mixed("yy"), self.jacobian, third, z)
        return [self._differentiable(matrix, 3) for matrix in found]

    @cached_property
    def hessian(self) -> M:
        """Shape (dx, dx); fsba appendix C.1."""
        a, g = self.algebra, self.at_lower
        upper = a.add(self.at_penalty[0].xx, a.product(self._mixed("xy"), a.transpose(self.jacobian)))
        correction = a.product(g.xy, a.solve(g.yy, a.transpose(g.xy)))
        lower = a.add(a.subtract(self.at_penalty[1].xx, g.xx), correction)
        return self._differentiable(a.add(upper, a.scale(self.lam, lower)), 2)


def implicit_second_derivative(
    algebra: Algebra[N, M], yy: M, jacobian: M, third: Callable[[Sequence[N]], M], like: Sequence[N]
) -> list[M]:
    """Second derivative of the y(x) that solves ``h_y(x, y) = 0``: for every component of y a (dx, dx) matrix.

    Differentiating twice: ``sum_k (h_yy)_{jk} nabla^2 y_k = -J nabla^2(h_{y_j}) J'`` with ``J = [I, nabla y]``.

    Parameters
    ----------
    yy : ``h_yy``. ``jacobian`` : ``nabla y``, shape (dx, dy).
    third : weights (dy of them) -> Hessian over (x, y) of ``weights . h_y``.
    like : numbers that say how long a batch is.
    """
    a = algebra
    dx, dy = a.size(jacobian)
    extended = a.stack([a.identity(dx, jacobian), jacobian])
    sides = [
        a.product(a.product(extended, third(unit_weights(a, dy, j, like))), a.transpose(extended)) for j in range(dy)
    ]
    right = a.matrix([[a.entry(side, r, c) for r in range(dx) for c in range(dx)] for side in sides], like)
    solved = a.solve(yy, a.negate(right))
    return [a.matrix([[a.entry(solved, k, r * dx + c) for c in range(dx)] for r in range(dx)], like) for k in range(dy)]


def unit_weights(algebra: Algebra[N, M], size: int, j: int, like: Sequence[N]) -> list[N]:
    """The j-th unit vector as numbers of the algebra."""
    constant = algebra.arithmetic.constant
    return [algebra.number(constant(Fraction(int(i == j))), like) for i in range(size)]


BallHyper: TypeAlias = "Hyper[arb, arb_mat]"
BoxHyper: TypeAlias = "Hyper[Interval, Interval]"
FloatHyper: TypeAlias = "Hyper[FloatArray, FloatArray]"
BallPenalty: TypeAlias = "Penalty[arb, arb_mat]"
BoxPenalty: TypeAlias = "Penalty[Interval, Interval]"
FloatPenalty: TypeAlias = "Penalty[FloatArray, FloatArray]"

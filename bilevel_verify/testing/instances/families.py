"""Parametrised families with known constants, evaluated by plain NumPy; the SymPy form is built only when asked for."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from bilevel_verify.testing.instances.blocks import Block, Numbers, Smooth, block
from bilevel_verify.testing.instances.stated import Stated
from bilevel_verify.testing.instances.writing import added, bilinear_text, combination

FloatArray = NDArray[np.float64]

__all__ = ["Block", "Instance", "block", "names"]


@dataclass(frozen=True, repr=False)
class Instance(Stated):
    """A problem of one of three kinds with exact constants, exact ``y*`` and exact hypergradient.

    bilevel: ``f = p(x) + x.C y + q(y)``, ``g = h(y) - y.B x``; minimax: ``f = p(x) + y.B x - h(y)``;
    single_level: ``f = p(x)``. ``y*`` solves ``grad h(y) = B x``.

    Attributes
    ----------
    displaced : the lower level is ``h(y - B x)`` instead (minimax: ``f = p(x) - h(y - B x)``); ``y* = B x`` in closed
        form if h has its minimum at 0.
    start, eps : a suggested start and tolerance (hard instances), else None.
    """

    kind: str
    p: Smooth
    h: Smooth | None = None
    q: Smooth | None = None
    B: tuple[Numbers, ...] = ()
    C: tuple[Numbers, ...] = ()
    displaced: bool = False
    start: tuple[float, ...] | None = None
    eps: float | None = None

    @property
    def dx(self) -> int:
        """Dimension of x."""
        return self.p.dimension

    @property
    def dy(self) -> int:
        """Dimension of y."""
        return 0 if self.h is None else self.h.dimension

    @cached_property
    def coupling(self) -> FloatArray:
        """B, shape (dy, dx)."""
        return np.array(self.B, dtype=float).reshape(self.dy, self.dx)

    @cached_property
    def cross(self) -> FloatArray:
        """The bilinear term of f, shape (dx, dy): C, or B^T for minimax; zero if there is none."""
        if self.kind == "minimax":
            return np.zeros((self.dx, self.dy)) if self.displaced else self.coupling.T.copy()
        return np.array(self.C, dtype=float).reshape(self.dx, self.dy) if self.C else np.zeros((self.dx, self.dy))

    @property
    def lower(self) -> Smooth:
        """h.

        Raises
        ------
        ValueError : a single-level instance has no lower level.
        """
        if self.h is None:
            raise ValueError("a single-level instance has no lower level")
        return self.h

    @property
    def mu(self) -> float:
        """Strong convexity of the lower level in y (of p for single level): exact."""
        return self.p.mu if self.h is None else self.h.mu

    @property
    def L(self) -> float:
        """Smoothness of the lower level in y (of p for single level): exact."""
        return self.p.L if self.h is None else self.h.L

    @property
    def kappa(self) -> float:
        """L / mu of the lower level."""
        return self.L / self.mu

    @property
    def rho(self) -> float:
        """Lipschitz constant of the Hessian of the lower level in y (of p for single level)."""
        return self.p.rho if self.h is None else self.h.rho

    def _moved(self, x: FloatArray, y: FloatArray) -> FloatArray:
        """Where h is evaluated."""
        return y - self.coupling @ x if self.displaced else y

    def value_f(self, x: FloatArray, y: FloatArray) -> float:
        """f."""
        if not self.dy:
            return self.p.value(x)
        if self.kind == "minimax":
            inner = -self.lower.value(self._moved(x, y))
        else:
            inner = 0.0 if self.q is None else self.q.value(y)
        return self.p.value(x) + float(x @ self.cross @ y) + inner

    def grad_x_f(self, x: FloatArray, y: FloatArray) -> FloatArray:
        """Gradient of f in x."""
        if not self.dy:
            return self.p.gradient(x)
        found = self.p.gradient(x) + self.cross @ y
        if self.kind == "minimax" and self.displaced:
            found = found + self.coupling.T @ self.lower.gradient(self._moved(x, y))
        return found

    def grad_y_f(self, x: FloatArray, y: FloatArray) -> FloatArray:
        """Gradient of f in y."""
        found: FloatArray = self.cross.T @ x
        if self.kind == "minimax":
            return found - self.lower.gradient(self._moved(x, y))
        return found if self.q is None else found + self.q.gradient(y)

    def value_g(self, x: FloatArray, y: FloatArray) -> float:
        """The lower objective (-f for minimax)."""
        if self.kind == "minimax":
            return -self.value_f(x, y)
        return self.lower.value(self._moved(x, y)) - (0.0 if self.displaced else float(y @ self.coupling @ x))

    def grad_x_g(self, x: FloatArray, y: FloatArray) -> FloatArray:
        """Gradient of the lower objective in x."""
        if self.kind == "minimax":
            return -self.grad_x_f(x, y)
        found: FloatArray = -self.coupling.T @ (self.lower.gradient(self._moved(x, y)) if self.displaced else y)
        return found

    def grad_y_g(self, x: FloatArray, y: FloatArray) -> FloatArray:
        """Gradient of the lower objective in y."""
        if self.displaced:
            return self.lower.gradient(self._moved(x, y))
        found: FloatArray = self.lower.gradient(y) - self.coupling @ x
        return found

    def hess_yy_g(self, x: FloatArray, y: FloatArray) -> FloatArray:
        """The Hessian of the lower objective in y, shape (dy, dy)."""
        return self.lower.hessian(self._moved(x, y))

    def hess_xy_g(self, x: FloatArray, y: FloatArray) -> FloatArray:
        """The mixed block of the lower objective, shape (dx, dy)."""
        found: FloatArray = -self.coupling.T @ self.hess_yy_g(x, y) if self.displaced else -self.coupling.T
        return found

    def hess_xx_g(self, x: FloatArray, y: FloatArray) -> FloatArray:
        """The Hessian of the lower objective in x, shape (dx, dx)."""
        found: FloatArray = np.zeros((self.dx, self.dx))
        if self.displaced:
            found = self.coupling.T @ self.hess_yy_g(x, y) @ self.coupling
        return found - self.p.hessian(x) if self.kind == "minimax" else found

    def hess_f(self, x: FloatArray, y: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Blocks (xx, xy, yy) of the Hessian of f."""
        if not self.dy:
            return self.p.hessian(x), np.zeros((self.dx, 0)), np.zeros((0, 0))
        if self.kind == "minimax":
            return -self.hess_xx_g(x, y), -self.hess_xy_g(x, y), -self.hess_yy_g(x, y)
        inner = np.zeros((self.dy, self.dy)) if self.q is None else self.q.hessian(y)
        return self.p.hessian(x), self.cross.copy(), inner

    def y_star(self, x: FloatArray) -> FloatArray:
        """The minimiser of the lower level, to rounding."""
        if not self.displaced:
            return self.lower.inverse_gradient(self.coupling @ x)
        found: FloatArray = self.coupling @ x + self._valley
        return found

    @cached_property
    def _valley(self) -> FloatArray:
        """The minimiser of h."""
        return self.lower.inverse_gradient(np.zeros(self.dy))

    def grad_y_star(self, x: FloatArray) -> FloatArray:
        """The derivative of y*, shape (dx, dy)."""
        if self.displaced:
            return self.coupling.T.copy()
        solved = np.linalg.solve(self.lower.hessian(self.y_star(x)), self.coupling)
        return np.asarray(solved.T, dtype=np.float64)

    def phi(self, x: FloatArray) -> float:
        """f(x, y*(x))."""
        return self.value_f(x, self.y_star(x) if self.dy else np.zeros(0))

    def grad_phi(self, x: FloatArray) -> FloatArray:
        """The exact hypergradient."""
        if not self.dy:
            return self.p.gradient(x)
        y = self.y_star(x)
        return self.grad_x_f(x, y) + self.grad_y_star(x) @ self.grad_y_f(x, y)

    def y_star_text(self) -> tuple[str, ...] | None:
        """y* in closed form (rational numbers, in the variables of x); None if it is implicit."""
        x = names("x", self.dx)
        if self.h is None:
            return None
        rows = tuple(combination(row, x) for row in self.B)
        if self.displaced and not self._valley.any():
            return rows
        if self.displaced or not (isinstance(self.h, Block) and self.h.quadratic):
            return None
        right = tuple(f"({row})" if not row.isidentifier() else row for row in rows)
        return self.h.inverse_text(right)

    def text(self) -> dict[str, str]:
        """``{"f": ..., "g": ...}`` in the expression language, exact."""
        x, y = names("x", self.dx), names("y", self.dy)
        upper = self.p.text(x)
        if self.h is None:
            return {"f": upper}
        lower = self.h.text(self._moved_names(x, y))
        minus = tuple(tuple(-entry for entry in row) for row in self.B)
        if self.kind == "minimax":
            inner = "0" if self.displaced else bilinear_text(self.B, y, x)
            return {"f": added([upper, inner, f"-({lower})"])}
        inner = "0" if self.q is None else self.q.text(y)
        coupled = "0" if self.displaced else bilinear_text(minus, y, x)
        return {"f": added([upper, bilinear_text(self.C, x, y), inner]), "g": added([lower, coupled])}

    def _moved_names(self, x: tuple[str, ...], y: tuple[str, ...]) -> tuple[str, ...]:
        if not self.displaced:
            return y
        minus = tuple(tuple(-entry for entry in row) for row in self.B)
        return tuple(f"({added([name, combination(row, x)])})" for name, row in zip(y, minus))

    def _arrays(self) -> dict[str, object]:
        parts = (part for part in (self.p, self.h, self.q) if part is not None)
        return {name: array for part in parts for name, array in part.data().items()}

    def toml(self) -> str:
        """The text of a problem file."""
        return "\n".join(self._lines()) + "\n"

    def _lines(self) -> Iterator[str]:
        yield f'kind = "{self.kind}"'
        yield from (f'{key} = "{formula}"' for key, formula in self.text().items())
        yield f'x = "{" ".join(names("x", self.dx))}"'
        if self.dy:
            yield f'y = "{" ".join(names("y", self.dy))}"'
        if self.start is not None:
            yield f"start = {[float(value) for value in self.start]}"
        arrays = self._arrays()
        if arrays:
            yield "[data]"
            yield from (f"{name} = {array}" for name, array in arrays.items())

    def __str__(self) -> str:
        start = "" if self.start is None else f", x0 = {list(self.start)}"
        return f"{self.kind}: {self._formulas()}{start}"

    def __repr__(self) -> str:
        more = "" if self.start is None else f", x0 = {list(self.start)}"
        more += "".join(f", {name} = {array}" for name, array in self._arrays().items())
        return f"<{self.kind}: {', '.join(f'{k} = {v}' for k, v in self.text().items())}{more}>"


def names(letter: str, n: int) -> tuple[str, ...]:
    """``x1 .. xn``."""
    return tuple(f"{letter}{i + 1}" for i in range(n))

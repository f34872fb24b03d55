"""Parametrised families with known constants, evaluated by plain NumPy; the SymPy form is built only when asked for.

A block is ``sum_i lambda_i/2 t_i^2 + w_i a_i(t_i) + b.z + c`` with ``t = Q z``, Q a rational reflection: its Hessian is
diagonal in the basis Q, so extreme curvatures and the bound of the third derivative are exact.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from bilevel_verify.testing.writing import bilinear_text, block_text, centred_text

if TYPE_CHECKING:
    from bilevel_verify.problems.problem import Problem

FloatArray = NDArray[np.float64]
Integers = tuple[int, ...]

ATOMS = ("none", "logcosh", "softplus", "cos")
SECOND = {"none": (0.0, 0.0), "logcosh": (0.0, 1.0), "softplus": (0.0, 0.25), "cos": (-1.0, 1.0)}
"""Infimum and supremum of the second derivative of each atom."""
THIRD = {"none": 0.0, "logcosh": 4 / (3 * math.sqrt(3)), "softplus": 1 / (6 * math.sqrt(3)), "cos": 1.0}
"""Supremum of the absolute third derivative."""
SLOPE = {"none": (0.0, 0.0), "logcosh": (-1.0, 1.0), "softplus": (0.0, 1.0), "cos": (-1.0, 1.0)}


def _jet(atom: str, t: float) -> tuple[float, float, float]:
    """Value, first and second derivative of an atom, stable for large arguments."""
    if atom == "logcosh":
        slope = math.tanh(t)
        return abs(t) + math.log1p(math.exp(-2 * abs(t))) - math.log(2), slope, 1 - slope * slope
    if atom == "softplus":
        small = math.exp(-abs(t))
        slope = (1.0 if t >= 0 else small) / (1 + small)
        return max(t, 0.0) + math.log1p(small), slope, small / (1 + small) ** 2
    if atom == "cos":
        return math.cos(t), -math.sin(t), -math.cos(t)
    return 0.0, 0.0, 0.0


@dataclass(frozen=True)
class Block:
    """One separable-in-a-rotated-basis function of ``dimension`` variables; all parameters are integers.

    Attributes
    ----------
    spectrum : lambda_i. ``atoms``, ``weights`` : a_i (a name of ``ATOMS``) and w_i >= 0.
    mirror : Q = I - 2 m m^T / m^T m; the identity if m = 0.
    linear, constant : b and c. ``centre`` : the block is evaluated at z - centre.
    """

    spectrum: Integers
    atoms: tuple[str, ...]
    weights: Integers
    mirror: Integers
    linear: Integers
    constant: int = 0
    centre: Integers = ()

    @property
    def dimension(self) -> int:
        """Number of variables."""
        return len(self.spectrum)

    @cached_property
    def basis(self) -> FloatArray:
        """Q, symmetric and orthogonal, shape (n, n)."""
        m = np.array(self.mirror, dtype=float)
        length = float(m @ m)
        found: FloatArray = np.eye(self.dimension)
        return found - 2 * np.outer(m, m) / length if length else found

    @cached_property
    def _shift(self) -> FloatArray:
        return np.array(self.centre or (0,) * self.dimension, dtype=float)

    @cached_property
    def _b(self) -> FloatArray:
        return np.array(self.linear, dtype=float)

    def _coordinates(self, z: FloatArray) -> list[float]:
        found: list[float] = (self.basis @ (z - self._shift)).tolist()
        return found

    def value(self, z: FloatArray) -> float:
        """The value at z."""
        total = float(self._b @ (z - self._shift)) + self.constant
        for t, l, a, w in zip(self._coordinates(z), self.spectrum, self.atoms, self.weights):
            total += 0.5 * l * t * t + w * _jet(a, t)[0]
        return total

    def gradient(self, z: FloatArray) -> FloatArray:
        """The gradient at z, shape (n,)."""
        slopes = [
            l * t + w * _jet(a, t)[1]
            for t, l, a, w in zip(self._coordinates(z), self.spectrum, self.atoms, self.weights)
        ]
        found: FloatArray = self.basis @ np.array(slopes) + self._b
        return found

    def curvatures(self, z: FloatArray) -> FloatArray:
        """Eigenvalues of the Hessian at z, in the order of the basis."""
        return np.array(
            [l + w * _jet(a, t)[2] for t, l, a, w in zip(self._coordinates(z), self.spectrum, self.atoms, self.weights)]
        )

    def hessian(self, z: FloatArray) -> FloatArray:
        """The Hessian at z, shape (n, n)."""
        found: FloatArray = (self.basis * self.curvatures(z)) @ self.basis
        return found

    @property
    def mu(self) -> float:
        """Infimum over z of the smallest eigenvalue of the Hessian: exact."""
        return min(l + w * SECOND[a][0] for l, a, w in zip(self.spectrum, self.atoms, self.weights))

    @property
    def L(self) -> float:
        """Supremum over z of the spectral norm of the Hessian: exact."""
        tops = [l + w * SECOND[a][1] for l, a, w in zip(self.spectrum, self.atoms, self.weights)]
        return max(max(tops), -self.mu)

    @property
    def rho(self) -> float:
        """Lipschitz constant of the Hessian (spectral norm): exact."""
        return max(w * THIRD[a] for a, w in zip(self.atoms, self.weights))

    def inverse_gradient(self, r: FloatArray) -> FloatArray:
        """The z with gradient(z) = r, for mu > 0: closed form without atoms, scalar Newton steps otherwise."""
        targets = (self.basis @ (r - self._b)).tolist()
        t = [_root(l, a, w, s) for s, l, a, w in zip(targets, self.spectrum, self.atoms, self.weights)]
        found: FloatArray = self.basis @ np.array(t) + self._shift
        return found

    def text(self, names: tuple[str, ...]) -> str:
        """The formula in the expression language, exact."""
        return block_text(self, names)


def _root(curvature: float, atom: str, weight: float, target: float) -> float:
    """Solve ``curvature t + weight a'(t) = target`` (increasing in t) by Newton steps inside a bracket."""
    low, high = ((target - weight * s) / curvature for s in reversed(SLOPE[atom]))
    t = 0.5 * (low + high)
    for _ in range(200):
        _, slope, second = _jet(atom, t)
        error = curvature * t + weight * slope - target
        low, high = (low, t) if error > 0 else (t, high)
        new = t - error / (curvature + weight * second)
        if not low <= new <= high:
            new = 0.5 * (low + high)
        if abs(new - t) <= 1e-16 * (1 + abs(t)):
            return new
        t = new
    return t


def block(
    spectrum: Integers,
    atoms: tuple[str, ...] | None = None,
    weights: Integers | None = None,
    mirror: Integers | None = None,
    linear: Integers | None = None,
    constant: int = 0,
    centre: Integers = (),
) -> Block:
    """A block with the plain choice (no atoms, identity basis, no linear part) for everything left out."""
    n = len(spectrum)
    zero = (0,) * n
    return Block(spectrum, atoms or ("none",) * n, weights or zero, mirror or zero, linear or zero, constant, centre)


@dataclass(frozen=True)
class Instance:
    """A problem of one of three kinds with exact constants, exact ``y*`` and exact hypergradient.

    bilevel: ``f = p(x) + x.C y + q(y)``, ``g = h(y) - y.B x + lower_constant``; minimax: ``f = p(x) + y.B x - h(y)``;
    single_level: ``f = p(x)``. ``y*`` solves ``grad h(y) = B x``.
    """

    kind: str
    p: Block
    h: Block | None = None
    q: Block | None = None
    B: tuple[Integers, ...] = ()
    C: tuple[Integers, ...] = ()

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
        """The bilinear term of f: C, shape (dx, dy); B^T for minimax."""
        if self.kind == "minimax":
            return self.coupling.T.copy()
        return np.array(self.C, dtype=float).reshape(self.dx, self.dy)

    @property
    def lower(self) -> Block:
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
        """Lipschitz constant of the Hessian of the lower level (of p for single level): exact."""
        return self.p.rho if self.h is None else self.h.rho

    def _upper_y(self, y: FloatArray) -> tuple[float, FloatArray]:
        if self.kind == "minimax":
            return -self.lower.value(y), -self.lower.gradient(y)
        return (0.0, np.zeros(self.dy)) if self.q is None else (self.q.value(y), self.q.gradient(y))

    def value_f(self, x: FloatArray, y: FloatArray) -> float:
        """f."""
        return self.p.value(x) + (float(x @ self.cross @ y) + self._upper_y(y)[0] if self.dy else 0.0)

    def grad_x_f(self, x: FloatArray, y: FloatArray) -> FloatArray:
        """Gradient of f in x."""
        return self.p.gradient(x) + self.cross @ y if self.dy else self.p.gradient(x)

    def grad_y_f(self, x: FloatArray, y: FloatArray) -> FloatArray:
        """Gradient of f in y."""
        found: FloatArray = self.cross.T @ x + self._upper_y(y)[1]
        return found

    def value_g(self, x: FloatArray, y: FloatArray) -> float:
        """The lower objective (-f for minimax)."""
        if self.kind == "minimax":
            return -self.value_f(x, y)
        return self.lower.value(y) - float(y @ self.coupling @ x)

    def grad_x_g(self, x: FloatArray, y: FloatArray) -> FloatArray:
        """Gradient of the lower objective in x."""
        if self.kind == "minimax":
            return -self.grad_x_f(x, y)
        found: FloatArray = -(self.coupling.T @ y)
        return found

    def grad_y_g(self, x: FloatArray, y: FloatArray) -> FloatArray:
        """Gradient of the lower objective in y."""
        found: FloatArray = self.lower.gradient(y) - self.coupling @ x
        return found

    def y_star(self, x: FloatArray) -> FloatArray:
        """The minimiser of the lower level, to rounding."""
        return self.lower.inverse_gradient(self.coupling @ x)

    def phi(self, x: FloatArray) -> float:
        """f(x, y*(x))."""
        return self.value_f(x, self.y_star(x) if self.dy else np.zeros(0))

    def grad_phi(self, x: FloatArray) -> FloatArray:
        """The exact hypergradient."""
        if not self.dy:
            return self.p.gradient(x)
        y = self.y_star(x)
        v = np.linalg.solve(self.lower.hessian(y), self.grad_y_f(x, y))
        return self.grad_x_f(x, y) + self.coupling.T @ v

    def text(self) -> dict[str, str]:
        """``{"f": ..., "g": ...}`` in the expression language, exact."""
        x, y = _names("x", self.dx), _names("y", self.dy)
        parts = [self.p.text(x)]
        if self.kind == "minimax":
            parts += [bilinear_text(self.B, y, x), f"-({self.lower.text(y)})"]
            return {"f": _sum(parts)}
        if self.dy:
            parts += [bilinear_text(self.C, x, y), "0" if self.q is None else self.q.text(y)]
            minus = tuple(tuple(-entry for entry in row) for row in self.B)
            return {"f": _sum(parts), "g": _sum([self.lower.text(y), bilinear_text(minus, y, x)])}
        return {"f": _sum(parts)}

    def toml(self) -> str:
        """The text of a problem file."""
        lines = [f'kind = "{self.kind}"', *(f'{key} = "{formula}"' for key, formula in self.text().items())]
        lines.append(f'x = "{" ".join(_names("x", self.dx))}"')
        if self.dy:
            lines.append(f'y = "{" ".join(_names("y", self.dy))}"')
        return "\n".join(lines) + "\n"

    def problem(self) -> Problem:
        """The SymPy form, as the rest of the package takes it."""
        from bilevel_verify.problems import loads
        from bilevel_verify.problems.problem import Problem

        found = loads(self.toml())
        assert isinstance(found, Problem)
        return found

    def __repr__(self) -> str:
        return f"<{self.kind}: {', '.join(f'{k} = {v}' for k, v in self.text().items())}>"


@dataclass(frozen=True)
class SimpleInstance:
    """Simple bilevel: minimise a strongly convex f over the minimisers of a convex g in a ball around the origin.

    ``g`` is a centred quadratic block with zero eigenvalues, so the solution set is ``centre + kernel`` and, f being
    quadratic, ``x*`` is closed-form; the ball is large enough to be inactive at ``x*``.
    """

    f: Block
    g: Block

    kind = "simple_bilevel"

    @property
    def dx(self) -> int:
        """Dimension of x."""
        return self.f.dimension

    @cached_property
    def x_star(self) -> FloatArray:
        """The solution, to rounding."""
        kernel = self.g.basis[[i for i, l in enumerate(self.g.spectrum) if l == 0]].T
        centre = np.array(self.g.centre, dtype=float)
        if not kernel.size:
            return centre
        hessian = self.f.hessian(centre)
        step = np.linalg.solve(kernel.T @ hessian @ kernel, -(kernel.T @ self.f.gradient(centre)))
        found: FloatArray = centre + kernel @ step
        return found

    @property
    def f_star(self) -> float:
        """Optimal upper value."""
        return self.f.value(self.x_star)

    @property
    def g_star(self) -> float:
        """Minimum of g: its constant."""
        return float(self.g.constant)

    @cached_property
    def radius(self) -> int:
        """Radius of the feasible ball: the solution is in its interior."""
        return math.ceil(float(np.linalg.norm(self.x_star)) + float(np.linalg.norm(self.g.centre))) + 1

    def toml(self) -> str:
        """The text of a problem file."""
        names = _names("x", self.dx)
        return (
            f'kind = "simple_bilevel"\nf = "{self.f.text(names)}"\ng = "{centred_text(self.g, names)}"\n'
            f'x = "{" ".join(names)}"\n\n[feasible]\nset = "Ball"\nradius = {self.radius}\n'
        )

    def problem(self) -> Problem:
        """The SymPy form."""
        from bilevel_verify.problems import Ball, simple_bilevel

        names = _names("x", self.dx)
        return simple_bilevel(
            f=self.f.text(names), g=centred_text(self.g, names), x=list(names), feasible=Ball(self.radius)
        )

    def __repr__(self) -> str:
        names = _names("x", self.dx)
        return f"<simple_bilevel: f = {self.f.text(names)}, g = {centred_text(self.g, names)}, |x| <= {self.radius}>"


def _names(letter: str, n: int) -> tuple[str, ...]:
    return tuple(f"{letter}{i + 1}" for i in range(n))


def _sum(parts: list[str]) -> str:
    kept = [part for part in parts if part != "0"]
    return " + ".join(kept) if kept else "0"

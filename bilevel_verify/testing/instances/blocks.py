"""Smooth functions with known constants, evaluated by plain NumPy.

A block is ``sum_i lambda_i/2 t_i^2 + w_i a_i(t_i) + b.z + c`` with ``t = Q z``, Q a rational reflection: its Hessian is
diagonal in the basis Q, so extreme curvatures and the bound of the third derivative are exact.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from bilevel_verify.testing.instances.ridges import Jet, Ridge, ridge, ridge_text
from bilevel_verify.testing.instances.writing import Number, added, combination, rows_of, squared, times, wrapped

FloatArray = NDArray[np.float64]
Numbers = tuple[Number, ...]


class Smooth(Protocol):
    """What an instance is built from: a function of n variables with known constants."""

    @property
    def dimension(self) -> int:
        """Number of variables."""

    @property
    def mu(self) -> float:
        """A lower bound of the eigenvalues of the Hessian."""

    @property
    def L(self) -> float:
        """An upper bound of the spectral norm of the Hessian."""

    @property
    def rho(self) -> float:
        """A Lipschitz constant of the Hessian (spectral norm)."""

    def value(self, z: FloatArray) -> float:
        """The value at z."""

    def gradient(self, z: FloatArray) -> FloatArray:
        """The gradient at z, shape (n,)."""

    def hessian(self, z: FloatArray) -> FloatArray:
        """The Hessian at z, shape (n, n)."""

    def inverse_gradient(self, r: FloatArray) -> FloatArray:
        """The z with gradient(z) = r, for mu > 0."""

    def text(self, names: Sequence[str]) -> str:
        """The formula in the expression language, exact."""

    def data(self) -> Mapping[str, object]:
        """Arrays that the formula refers to."""


@dataclass(frozen=True)
class Block:
    """One separable-in-a-rotated-basis function of ``dimension`` variables; all parameters are rational.

    Attributes
    ----------
    spectrum : lambda_i. ``atoms``, ``weights`` : a_i (the name of a ridge) and w_i >= 0.
    mirror : Q = I - 2 m m^T / m^T m; the identity if m = 0.
    linear, constant : b and c. ``centre`` : the block is evaluated at z - centre.
    """

    spectrum: Numbers
    atoms: tuple[str, ...]
    weights: Numbers
    mirror: Numbers
    linear: Numbers
    constant: int = 0
    centre: Numbers = ()

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

    @cached_property
    def ridges(self) -> tuple[Ridge, ...]:
        """The functions a_i."""
        return tuple(ridge(atom) for atom in self.atoms)

    @cached_property
    def _terms(self) -> list[tuple[float, float, Ridge]]:
        return [(float(l), float(w), a) for l, w, a in zip(self.spectrum, self.weights, self.ridges)]

    def _jets(self, z: FloatArray) -> list[tuple[float, float, float, Jet]]:
        coordinates = (self.basis @ (z - self._shift)).tolist()
        return [(t, l, w, a.jet(t)) for t, (l, w, a) in zip(coordinates, self._terms)]

    def value(self, z: FloatArray) -> float:
        """The value at z."""
        total = float(self._b @ (z - self._shift)) + self.constant
        return total + sum(0.5 * l * t * t + w * jet[0] for t, l, w, jet in self._jets(z))

    def gradient(self, z: FloatArray) -> FloatArray:
        """The gradient at z, shape (n,)."""
        slopes = [l * t + w * jet[1] for t, l, w, jet in self._jets(z)]
        found: FloatArray = self.basis @ np.array(slopes) + self._b
        return found

    def curvatures(self, z: FloatArray) -> FloatArray:
        """Eigenvalues of the Hessian at z, in the order of the basis."""
        return np.array([l + w * jet[2] for _, l, w, jet in self._jets(z)])

    def hessian(self, z: FloatArray) -> FloatArray:
        """The Hessian at z, shape (n, n)."""
        found: FloatArray = (self.basis * self.curvatures(z)) @ self.basis
        return found

    @cached_property
    def mu(self) -> float:
        """Infimum over z of the smallest eigenvalue of the Hessian: exact."""
        return min(l + w * a.second[0] for l, w, a in self._terms)

    @cached_property
    def L(self) -> float:
        """Supremum over z of the spectral norm of the Hessian: exact."""
        return max(max(l + w * a.second[1] for l, w, a in self._terms), -self.mu)

    @cached_property
    def rho(self) -> float:
        """Lipschitz constant of the Hessian (spectral norm): exact; infinity if it is only Hölder."""
        return max((w * a.third if w else 0.0) for _, w, a in self._terms)

    @cached_property
    def hoelder(self) -> tuple[float, float]:
        """(nu, H) with ``|hess(z) - hess(z')| <= H |z - z'|^nu``, all ridges of one exponent: exact."""
        return _least([a.hoelder for _, w, a in self._terms if w], [w for _, w, _ in self._terms if w])

    @cached_property
    def third_hoelder(self) -> tuple[float, float] | None:
        """The same for the third derivative; None where a ridge does not say."""
        found = [a.third_hoelder for _, w, a in self._terms if w]
        known = [pair for pair in found if pair is not None]
        return _least(known, [w for _, w, _ in self._terms if w]) if len(known) == len(found) else None

    def inverse_gradient(self, r: FloatArray) -> FloatArray:
        """The z with gradient(z) = r, for mu > 0: closed form without atoms, scalar Newton steps otherwise."""
        targets = (self.basis @ (r - self._b)).tolist()
        t = [_root(l, w, a, s) for s, (l, w, a) in zip(targets, self._terms)]
        found: FloatArray = self.basis @ np.array(t) + self._shift
        return found

    @property
    def quadratic(self) -> bool:
        """Whether no ridge is left."""
        return all(atom == "none" or not weight for atom, weight in zip(self.atoms, self.weights))

    def inverse_text(self, right: Sequence[str]) -> tuple[str, ...]:
        """The closed form of :meth:`inverse_gradient` for a quadratic block, in names for the right-hand side."""
        rows, n = rows_of(self.mirror), self.dimension
        inverse = [
            [sum(rows[k][i] * rows[k][j] / Fraction(self.spectrum[k]) for k in range(n)) for j in range(n)]
            for i in range(n)
        ]
        centre = self.centre or (0,) * n
        found = []
        for i in range(n):
            moved = Fraction(centre[i]) - sum(Fraction(inverse[i][j]) * self.linear[j] for j in range(n))
            found.append(added([combination([Fraction(v) for v in inverse[i]], right), str(moved)]))
        return tuple(found)

    def text(self, names: Sequence[str]) -> str:
        """The formula in the expression language, exact."""
        parts = []
        for row, curvature, atom, weight in zip(rows_of(self.mirror), self.spectrum, self.atoms, self.weights):
            t = combination(row, names)
            if curvature:
                parts.append(times(Fraction(curvature) / 2, squared(t)))
            if weight and atom != "none":
                parts.append(times(weight, ridge_text(atom, t[1:-1] if wrapped(t) else t)))
        return added([*parts, combination(self.linear, names), str(self.constant)])

    def data(self) -> Mapping[str, object]:
        """Nothing: the formula says it all."""
        return {}


def _least(pairs: list[tuple[float, float]], weights: list[float]) -> tuple[float, float]:
    """The common exponent (the least) and the largest weighted constant of that exponent."""
    if not pairs:
        return 1.0, 0.0
    nu = min(pair[0] for pair in pairs)
    return nu, max(w * H if n == nu else math.inf for w, (n, H) in zip(weights, pairs))


def _root(curvature: float, weight: float, atom: Ridge, target: float) -> float:
    """Solve ``curvature t + weight a'(t) = target`` (increasing in t) by Newton steps inside a bracket."""
    low, high = ((target - weight * s) / curvature for s in reversed(atom.slope))
    t = 0.5 * (low + high)
    for _ in range(200):
        _, slope, second = atom.jet(t)
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
    spectrum: Numbers,
    atoms: tuple[str, ...] | None = None,
    weights: Numbers | None = None,
    mirror: Numbers | None = None,
    linear: Numbers | None = None,
    constant: int = 0,
    centre: Numbers = (),
) -> Block:
    """A block with the plain choice (no atoms, identity basis, no linear part) for everything left out."""
    n = len(spectrum)
    zero = (0,) * n
    return Block(spectrum, atoms or ("none",) * n, weights or zero, mirror or zero, linear or zero, constant, centre)


@dataclass(frozen=True)
class ChainBlock:
    """``z.A z/2`` with ``A = I/kappa + (1 - 1/kappa)/4 tridiag(-1, 2, -1)``: the hard case of first-order methods.

    Information moves one coordinate per product; the eigenvalues are ``1/kappa + (1 - 1/kappa) sin^2(k pi/(2n + 2))``.
    """

    kappa: int
    dimension: int

    @cached_property
    def matrix(self) -> FloatArray:
        """A, shape (n, n)."""
        n, q = self.dimension, (1 - 1 / self.kappa) / 4
        found: FloatArray = np.eye(n) * (1 / self.kappa + 2 * q) - q * (np.eye(n, k=1) + np.eye(n, k=-1))
        return found

    def _eigenvalue(self, k: int) -> float:
        return 1 / self.kappa + (1 - 1 / self.kappa) * math.sin(k * math.pi / (2 * self.dimension + 2)) ** 2

    @property
    def mu(self) -> float:
        """The smallest eigenvalue: closed form."""
        return self._eigenvalue(1)

    @property
    def L(self) -> float:
        """The largest eigenvalue: closed form."""
        return self._eigenvalue(self.dimension)

    @property
    def rho(self) -> float:
        """Zero: a quadratic."""
        return 0.0

    def value(self, z: FloatArray) -> float:
        """The value at z."""
        return 0.5 * float(z @ self.matrix @ z)

    def gradient(self, z: FloatArray) -> FloatArray:
        """The gradient at z, shape (n,)."""
        found: FloatArray = self.matrix @ z
        return found

    def hessian(self, z: FloatArray) -> FloatArray:
        """A."""
        return self.matrix.copy()

    def inverse_gradient(self, r: FloatArray) -> FloatArray:
        """``A^-1 r``."""
        found: FloatArray = np.asarray(np.linalg.solve(self.matrix, r), dtype=np.float64)
        return found

    def text(self, names: Sequence[str]) -> str:
        """The formula in the expression language, exact."""
        n, off = self.dimension, (1 - Fraction(1, self.kappa)) / 4
        half = Fraction(1, 2 * self.kappa) + off
        squares = [times(half, f"{name}**2") for name in names]
        return added(squares + [times(-off, f"{names[i]}*{names[i + 1]}") for i in range(n - 1)])

    def data(self) -> Mapping[str, object]:
        """Nothing: the formula says it all."""
        return {}

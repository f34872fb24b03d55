"""The parts of a simple bilevel problem in exact rationals, and what is asked of a proved point."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from bilevel_verify.truth.arithmetic.arithmetics import ArbBalls
from bilevel_verify.truth.functions.quadratics import ldl
from bilevel_verify.truth.simple_bilevel.posed import Posed

if TYPE_CHECKING:
    import flint

FloatArray = NDArray[np.float64]
Vector = list[Fraction]


@dataclass(frozen=True, slots=True)
class Certificate:
    """Balls around x* and the optimal values, with the way they were proved."""

    x: tuple[Any, ...]
    f: Any
    g: Any
    method: str


class Parts:
    """The feasible set in exact rationals, and what is asked of a proved point."""

    def __init__(self, simple: Posed) -> None:
        base = simple.feasible
        self.simple, self.n = simple, simple.n
        self.G = [[Fraction(float(v)) for v in row] for row in base.G]
        self.h = [Fraction(float(v)) for v in base.h]
        self.E = [[Fraction(float(v)) for v in row] for row in base.E]
        self.e = [Fraction(float(v)) for v in base.e]
        self.balls = [([Fraction(float(v)) for v in c], Fraction(r)) for c, r in base.balls]
        self.sure = True
        self._add_pieces()

    def _add_pieces(self) -> None:
        """Affine pieces of kinked ridges as further rows, in the order in which the description has them."""
        z = self.simple.lower.z
        for ridge in self.simple.structure.ridges:
            row, shift = ridge.row()
            t = float(row @ z) + shift
            holding = [p for p in ridge.pieces if p[0] - 1e-9 <= t <= p[1] + 1e-9]
            if not holding:
                continue
            low, high = holding[0]
            ends = [Fraction(v) for v in (low, high) if np.isfinite(v)]
            if len(holding) > 1 or any(v.denominator > 2**20 for v in ends):
                self.sure = False  # at a kink, or at an end that floats may have rounded
            if np.isfinite(high):
                self.G.append(list(ridge.normal))
                self.h.append(Fraction(high) - ridge.shift)
            if np.isfinite(low):
                self.G.append([-v for v in ridge.normal])
                self.h.append(ridge.shift - Fraction(low))

    def inside(self, x: Sequence[flint.arb], active: set[int], rounds: set[int]) -> bool:
        """Whether every constraint outside of the active ones holds strictly at the balls x."""
        for j, row in enumerate(self.G):
            if j not in active and not dot(row, x) < ball_of(self.h[j]):
                return False
        for j, (centre, radius) in enumerate(self.balls):
            if j not in rounds and not squared(x, centre) < ball_of(radius) ** 2:
                return False
        return self.sure and self._outside_pieces(x)

    def _outside_pieces(self, x: Sequence[flint.arb]) -> bool:
        """Ridges that are fixed although they have affine pieces: x is strictly outside of them."""
        z = self.simple.lower.z
        for ridge in self.simple.structure.ridges:
            row, shift = ridge.row()
            t = float(row @ z) + shift
            if any(p[0] - 1e-9 <= t <= p[1] + 1e-9 for p in ridge.pieces):
                continue
            value = dot(ridge.normal, x) + ball_of(ridge.shift)
            if not all(value < low or value > high for low, high in ridge.pieces):
                return False
        return True

    def answer(self, x: Sequence[flint.arb], method: str) -> Certificate:
        """The proved point with the values of both levels."""
        run = ArbBalls()
        f = self.simple._f.program.run(run, list(x))[0]
        g = self.simple._g.program.run(run, list(x))[0]
        return Certificate(tuple(x), f, g, method)


def fixed_normals(simple: Posed, z: FloatArray) -> list[tuple[Vector, Fraction]]:
    """Rows (normal, shift) whose values every lower-level solution shares; z is one of them."""
    rows = [(list(normal), Fraction(0)) for _, normal in ldl(simple.structure.quadratic.Q).squares]
    for ridge in simple.structure.ridges:
        row, shift = ridge.row()
        t = float(row @ z) + shift
        inside = ridge.kind == "kinked" and any(a - 1e-9 <= t <= b + 1e-9 for a, b in ridge.pieces)
        if not inside:
            rows.append((list(ridge.normal), ridge.shift))
    return rows


def ball_of(value: Fraction) -> flint.arb:
    """A rational number as a ball."""
    import flint

    return flint.arb(flint.fmpq(value.numerator, value.denominator))


def dot(row: Sequence[Fraction], x: Sequence[flint.arb]) -> flint.arb:
    """``row . x`` for rationals and balls."""
    import flint

    return sum((ball_of(a) * v for a, v in zip(row, x) if a), flint.arb(0))


def fractions(matrix: Iterable[FloatArray]) -> list[Vector]:
    """The rows of a float matrix as exact rationals."""
    return [[Fraction(float(v)) for v in row] for row in matrix]


def exact_dot(a: Sequence[Fraction], b: Sequence[Fraction]) -> Fraction:
    """``a . b`` in rationals."""
    return sum((u * v for u, v in zip(a, b) if u and v), Fraction(0))


def squared(x: Sequence[flint.arb], centre: Sequence[Fraction]) -> flint.arb:
    """``|x - centre|^2`` for balls x."""
    return sum(((v - ball_of(c)) ** 2 for v, c in zip(x[1:], centre[1:])), (x[0] - ball_of(centre[0])) ** 2)

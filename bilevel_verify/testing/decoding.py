"""Instances from bytes: byte 0 means the simplest choice everywhere, so that shrinking bytes shrinks problems.

One draw of bytes makes one instance; that keeps the cost of an example far below that of its evaluation, and the same
decoders serve random bytes where Hypothesis is not wanted.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from bilevel_verify.testing.families import ATOMS, Block, Instance, SimpleInstance

CONVEX_ATOMS = ("none", "logcosh", "softplus")


class Reader:
    """Small integers from bytes; an exhausted reader goes on with zeros."""

    def __init__(self, data: bytes) -> None:
        self.data, self.position = data, 0

    def upto(self, most: int) -> int:
        """An integer in [0, most]."""
        byte = self.data[self.position] if self.position < len(self.data) else 0
        self.position += 1
        return byte % (most + 1)

    def between(self, low: int, high: int) -> int:
        """An integer in [low, high], simplest first."""
        return low + self.upto(high - low)

    def signed(self, bound: int) -> int:
        """An integer in [-bound, bound] in the order 0, 1, -1, 2, -2 ..."""
        code = self.upto(2 * bound)
        return (code + 1) // 2 * (1 if code % 2 else -1)

    def vector(self, n: int, bound: int) -> tuple[int, ...]:
        """n signed integers."""
        return tuple(self.signed(bound) for _ in range(n))

    def matrix(self, rows: int, columns: int, bound: int = 2) -> tuple[tuple[int, ...], ...]:
        """Rows of signed integers; the simplest matrix has ones on its diagonal."""
        return tuple(tuple(self.signed(bound) + int(i == j) for j in range(columns)) for i in range(rows))

    def block(self, n: int, low: int, high: int, atoms: tuple[str, ...]) -> Block:
        """A block with eigenvalues in [low, high] plus ridges from ``atoms``."""
        chosen = [atoms[self.upto(len(atoms) - 1)] for _ in range(n)]
        return Block(
            spectrum=tuple(self.between(low, high) for _ in range(n)),
            atoms=tuple(chosen),
            weights=tuple(0 if atom == "none" else self.between(1, 3) for atom in chosen),
            mirror=self.vector(n, 2) if n > 1 else (0,),
            linear=self.vector(n, 3),
            constant=self.signed(3),
        )

    def point(self, n: int, size: int = 4) -> NDArray[np.float64]:
        """Multiples of 1/2 in [-size, size]^n."""
        return np.array(self.vector(n, 2 * size), dtype=float) / 2


def bilevel(
    data: bytes, dx: int | None = None, dy: int | None = None, most: int = 3, kappa: int = 20, quadratic: bool = False
) -> Instance:
    """A bilevel instance; ``quadratic``: no ridges in the lower level, so that y* is affine."""
    read = Reader(data)
    first, second = read.between(1, most), read.between(1, most)
    n, m = dx or first, dy or second
    h = read.block(m, 1, kappa, ("none",) if quadratic else CONVEX_ATOMS)
    coupling, cross = read.matrix(m, n), read.matrix(n, m)
    return Instance("bilevel", read.block(n, 0, 4, ATOMS), h, read.block(m, 0, 4, ATOMS), coupling, cross)


def minimax(data: bytes, dx: int | None = None, dy: int | None = None, most: int = 3, kappa: int = 20) -> Instance:
    """A minimax instance, strongly concave in y."""
    read = Reader(data)
    first, second = read.between(1, most), read.between(1, most)
    n, m = dx or first, dy or second
    h = read.block(m, 1, kappa, CONVEX_ATOMS)
    coupling = read.matrix(m, n)
    return Instance("minimax", read.block(n, 0, 4, ATOMS), h, B=coupling)


def either(data: bytes, most: int = 3) -> Instance:
    """Bilevel or minimax, by the first byte."""
    return (minimax if data[:1] and data[0] % 3 == 2 else bilevel)(data[1:], most=most)


def single_level(data: bytes, dx: int | None = None, most: int = 3, convex: bool = False, kappa: int = 20) -> Instance:
    """One level, bounded below; strongly convex if ``convex``."""
    read = Reader(data)
    n = read.between(1, most)
    return Instance("single_level", read.block(dx or n, 1, kappa, CONVEX_ATOMS if convex else ATOMS))


def saddle(data: bytes, dx: int | None = None, most: int = 3) -> Instance:
    """One level, stationary at the origin with curvatures lambda_i - w_i there, the first one negative."""
    read = Reader(data)
    n = dx or read.between(1, most)
    spectrum = tuple(read.between(1, 3) for _ in range(n))
    weights = (spectrum[0] + read.between(1, 3), *(read.upto(3) for _ in range(n - 1)))
    mirror = read.vector(n, 2) if n > 1 else (0,)
    return Instance("single_level", Block(spectrum, ("cos",) * n, weights, mirror, (0,) * n))


def simple_bilevel(data: bytes, dx: int | None = None, most: int = 3) -> SimpleInstance:
    """Strongly convex quadratic f over the minimisers of a convex quadratic g."""
    read = Reader(data)
    n = dx or read.between(1, most)
    zero = (0,) * n
    spectrum = tuple(read.upto(4) for _ in range(n))
    mirror = read.vector(n, 2) if n > 1 else (0,)
    g = Block(spectrum, ("none",) * n, zero, mirror, zero, read.signed(3), read.vector(n, 3))
    return SimpleInstance(read.block(n, 1, 5, ("none",)), g)

"""Instances from bytes: byte 0 means the simplest choice everywhere, so that shrinking bytes shrinks problems.

One draw of bytes makes one instance; that keeps the cost of an example far below that of its evaluation, and the same
decoders serve random bytes where Hypothesis is not wanted.
"""

from __future__ import annotations

from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from bilevel_verify.testing.instances.blocks import Block, ChainBlock, Numbers, block
from bilevel_verify.testing.instances.data_sums import DataBlock
from bilevel_verify.testing.instances.families import Instance
from bilevel_verify.testing.instances.simple import SimpleInstance
from bilevel_verify.testing.instances.writing import Number

LENGTH = 120
"""Bytes of one example: points first, then the instance."""
POINTS = 24
ATOMS = ("none", "logcosh", "softplus", "cos")
CONVEX_ATOMS = ("none", "logcosh", "softplus")
EXPONENTS = ("1/2", "1/4", "3/4", "1/3", "2/3", "1")
"""Hölder exponents, simplest first."""


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

    def mirror(self, n: int) -> tuple[int, ...]:
        """The vector of a reflection; no reflection of the line."""
        return self.vector(n, 2) if n > 1 else (0,)

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
            mirror=self.mirror(n),
            linear=self.vector(n, 3),
            constant=self.signed(3),
        )

    def point(self, n: int, size: int = 4) -> NDArray[np.float64]:
        """Multiples of 1/2 in [-size, size]^n."""
        return np.array(self.vector(n, 2 * size), dtype=float) / 2


def _sizes(read: Reader, dx: int | None, dy: int | None, most: int) -> tuple[int, int]:
    first, second = read.between(1, most), read.between(1, most)
    return dx or first, dy or second


def bilevel(
    data: bytes,
    dx: int | None = None,
    dy: int | None = None,
    most: int = 3,
    kappa: int = 20,
    quadratic: bool = False,
    bounded: bool = False,
) -> Instance:
    """A bilevel instance; ``quadratic``: y* is affine; ``bounded``: phi is bounded below."""
    read = Reader(data)
    n, m = _sizes(read, dx, dy, most)
    h = read.block(m, 1, kappa, ("none",) if quadratic else CONVEX_ATOMS)
    coupling, cross = read.matrix(m, n), read.matrix(n, m)
    p, q = read.block(n, 1 if bounded else 0, 4, ATOMS), read.block(m, 1 if bounded else 0, 4, ATOMS)
    return Instance("bilevel", p, h, q, coupling, ((0,) * m,) * n if bounded else cross)


def displaced(
    data: bytes, dx: int | None = None, dy: int | None = None, most: int = 3, kappa: int = 20, kind: str = "bilevel"
) -> Instance:
    """``g = h(y - B x)`` with even ridges and no linear part: y* = B x exactly, though g is not quadratic."""
    read = Reader(data)
    n, m = _sizes(read, dx, dy, most)
    h = read.block(m, 1, kappa, ("none", "logcosh", "root"))
    h = Block(h.spectrum, h.atoms, h.weights, h.mirror, (0,) * m)
    coupling = read.matrix(m, n)
    p = read.block(n, 0, 4, ATOMS)
    if kind == "minimax":
        return Instance("minimax", p, h, B=coupling, displaced=True)
    return Instance("bilevel", p, h, read.block(m, 0, 4, ATOMS), coupling, read.matrix(n, m), displaced=True)


def minimax(
    data: bytes,
    dx: int | None = None,
    dy: int | None = None,
    most: int = 3,
    kappa: int = 20,
    bounded: bool = False,
    quadratic: bool = False,
) -> Instance:
    """A minimax instance, strongly concave in y; ``bounded``: phi is bounded below."""
    read = Reader(data)
    n, m = _sizes(read, dx, dy, most)
    h = read.block(m, 1, kappa, ("none",) if quadratic else CONVEX_ATOMS)
    coupling = read.matrix(m, n)
    return Instance("minimax", read.block(n, 1 if bounded else 0, 4, ATOMS), h, B=coupling)


def either(
    data: bytes, most: int = 3, bounded: bool = False, kinds: tuple[str, ...] = ("bilevel", "minimax")
) -> Instance:
    """Bilevel or minimax of the ``kinds``, by the first byte; some displaced or over data unless ``bounded``."""
    first, rest = data[0] if data[:1] else 0, data[1:]
    kind = kinds[0] if first % 3 != 2 else kinds[-1]
    if first % 8 == 5 and not bounded:
        return displaced(rest, most=most, kind=kind)
    if first % 8 == 7 and not bounded:
        return data_sum(rest, most=most, kind=kind)
    return (minimax if kind == "minimax" else bilevel)(rest, most=most, bounded=bounded)


def single_level(data: bytes, dx: int | None = None, most: int = 3, convex: bool = False, kappa: int = 20) -> Instance:
    """One level, bounded below; strongly convex if ``convex``."""
    read = Reader(data)
    n = read.between(1, most)
    return Instance("single_level", read.block(dx or n, 1, kappa, CONVEX_ATOMS if convex else ATOMS))


def wide(data: bytes, kind: str = "bilevel") -> Instance:
    """Six variables of x, five alike and slow, solutions far away, y* that moves several times as far as x.

    A test of the largest entry of the gradient stops at more than twice the norm; what clips, or hands back the y of an
    earlier x, is far off.
    """
    read = Reader(data)
    n, far = 6, 8 + read.upto(6)
    slow = Fraction(1, 5 + read.upto(3))
    spectrum: Numbers = (Fraction(1), *(slow,) * (n - 1))
    lowest: Numbers = (far - read.upto(20),) + (far,) * (n - 1)
    p = block(spectrum, linear=tuple(-slope * place for slope, place in zip(spectrum, lowest)))
    h = block((1, 1 + read.upto(2)))
    if kind == "minimax":
        return Instance("minimax", p, h, B=((1,) + (0,) * (n - 1), (0,) * n))
    return Instance("bilevel", p, h, block((0, 0)), ((2,) * n, (-1, 2) * (n // 2)), ((0, 0),) * n)


def saddle(data: bytes, dx: int | None = None, most: int = 3, kind: str = "single_level") -> Instance:
    """phi stationary at the origin with curvatures lambda_i - w_i there, the first one negative.

    One level, or two: minimax with ``-h(y - B x)``, bilevel with an upper level that does not see y.
    """
    read = Reader(data)
    n = dx or read.between(1, most)
    spectrum = tuple(read.between(1, 3) for _ in range(n))
    weights = (spectrum[0] + read.between(1, 3), *(read.upto(3) for _ in range(n - 1)))
    p = Block(spectrum, ("cos",) * n, weights, read.mirror(n), (0,) * n)
    if kind == "single_level":
        return Instance("single_level", p)
    h = read.block(n, 1, 10, ("none", "logcosh"))
    h, coupling = Block(h.spectrum, h.atoms, h.weights, h.mirror, (0,) * n), read.matrix(n, n)
    return Instance(kind, p, h, B=coupling, displaced=True)


def hoelder(
    data: bytes, dx: int | None = None, dy: int | None = None, most: int = 3, kind: str = "bilevel"
) -> Instance:
    """Hessian of f (nu_f, H_f)-Hölder, third derivative of h (nu_g, M_g)-Hölder, both exactly and not better."""
    read = Reader(data)
    upper, lower = (EXPONENTS[read.upto(len(EXPONENTS) - 1)] for _ in range(2))
    n, m = _sizes(read, dx, dy, most)
    weights = tuple(read.between(1, 3) for _ in range(n))
    p = Block(tuple(read.between(1, 4) for _ in range(n)), (f"psi'({upper})",) * n, weights, read.mirror(n), (0,) * n)
    if kind == "single_level":
        return Instance("single_level", p)
    strength = tuple(read.between(1, 3) for _ in range(m))
    least = tuple(w + read.between(1, 8) for w in strength)  # psi'' >= -1/(1 + nu) > -1
    h = Block(least, (f"psi({lower})",) * m, strength, read.mirror(m), (0,) * m)
    coupling = read.matrix(m, n)
    if kind == "minimax":
        return Instance("minimax", p, h, B=coupling)
    return Instance("bilevel", p, h, read.block(m, 0, 2, ("none", "cos")), coupling, read.matrix(n, m))


def _hard_function(read: Reader) -> tuple[Block, tuple[float, ...], float]:
    """A function on which descent is slow for its tolerance, with a carrier that fixes L and rho; start, tolerance."""
    which, step = read.upto(2), read.between(1, 8)
    eps = 1 / (10 * step)
    if which == 0:  # a ramp of slope 2 eps: about Drop/eps^2 steps
        s = Fraction(2, 10 * step)
        atom, start = f"ramp({s})", -(0.5 / float(s) + float(s) ** 0.5)
    elif which == 1:  # a logarithmic well, from far away
        atom, start = "well", 1 / eps
    else:  # a tail: the gradient dies out polynomially
        power = read.between(2, 4)
        atom, start = f"tail({power})", 1.0 + step
        eps = start * (1 + start**2) ** (-(power + 1) / 2) / 4
    found = Block((0, 0), (atom, "bump"), (1, 1), (0, 0), (0, 0))
    return found, (start, 0.0), eps


def hard(data: bytes, kind: str | None = None) -> Instance:
    """A hard instance: the slow function itself, its amplifier, its displaced or minimax lift, or a chain below.

    ``amplifier``: g = y^2/(2 kappa) - x y, y* = kappa x; ``displaced``, ``minimax``: y* = x; ``chain``: the lower level
    on which AGD and CG need sqrt(kappa) products.
    """
    read = Reader(data)
    kinds = ("single_level", "amplifier", "displaced", "chain", "minimax")
    which = kind or kinds[read.upto(len(kinds) - 1)]
    slow, start, eps = _hard_function(read)
    if which == "single_level":
        return Instance("single_level", slow, start=start, eps=eps)
    if which == "chain":
        n, kappa = read.between(2, 12), read.between(2, 100)
        q, B = block((0,) * n, ("bump",) * n, (1,) * n), ((1,), *((0,),) * (n - 1))
        return Instance("bilevel", block((0,)), ChainBlock(kappa, n), q, B, start=(1.0,), eps=eps)
    kappa = read.between(2, 16)
    zero = block((0, 0))
    if which == "amplifier":
        eye: tuple[tuple[Number, ...], ...] = ((1, 0), (0, 1))
        h = block((Fraction(1, kappa),) * 2)
        return Instance("bilevel", zero, h, slow, eye, start=tuple(t / kappa for t in start), eps=eps)
    h = block((1, 1), ("logcosh", "logcosh"), (kappa - 1, kappa - 1))
    if which == "minimax":
        return Instance("minimax", slow, h, B=((1, 0), (0, 1)), displaced=True, start=start, eps=eps)
    return Instance("bilevel", zero, h, slow, ((1, 0), (0, 1)), displaced=True, start=start, eps=eps)


def data_block(read: Reader, n: int, samples: int, label: str, loss: str | None = None) -> DataBlock:
    """A mean over samples; no row is zero."""
    rows = []
    for i in range(samples):
        row = read.vector(n, 2)
        rows.append(row if any(row) else tuple(int(j == i % n) for j in range(n)))
    chosen = loss or ("logcosh", "softplus")[read.upto(1)]
    return DataBlock(tuple(rows), read.vector(n, 2), chosen, read.between(1, 3), label)


def data_sum(
    data: bytes, dx: int | None = None, dy: int | None = None, most: int = 3, samples: int = 6, kind: str = "bilevel"
) -> Instance:
    """Both levels are means over tables of samples (training and validation), as in learning problems."""
    read = Reader(data)
    n, m = _sizes(read, dx, dy, most)
    train, validate = read.between(1, samples), read.between(1, samples)
    if kind == "single_level":
        return Instance("single_level", data_block(read, n, train, ""))
    h = data_block(read, m, train, "")
    p = read.block(n, 1, 4, ATOMS)
    if kind == "minimax":
        return Instance("minimax", p, h, B=read.matrix(m, n))
    return Instance("bilevel", p, h, data_block(read, m, validate, "v"), read.matrix(m, n), ((0,) * m,) * n)


def simple_bilevel(data: bytes, dx: int | None = None, most: int = 3, flat: bool = False) -> SimpleInstance:
    """Strongly convex quadratic f over the minimisers of a convex g, some with ridges that are flat at their centre.

    g is never constant. ``flat`` : where there are two variables, g has more minimisers than one, so that f decides.
    """
    read = Reader(data)
    n = dx or read.between(1, most)
    zero = (0,) * n
    spectrum = [read.upto(4) for _ in range(n)]
    mirror, constant, centre = read.mirror(n), read.signed(3), read.vector(n, 3)
    f = read.block(n, 1, 5, ("none",))
    atoms = [("none", "none", "logcosh", "root")[read.upto(3)] for _ in range(n)]
    if flat and n > 1:
        spectrum[0], atoms[0] = 0, "none"
    if not any(spectrum) and set(atoms) == {"none"}:
        spectrum[-1] = 1
    weights = tuple(0 if atom == "none" else 1 for atom in atoms)
    g = Block(tuple(spectrum), tuple(atoms), weights, mirror, zero, constant, centre)
    return SimpleInstance(f, g, ("Ball", "Box")[read.upto(1)])


TOLERANCES = (0.1, 0.03)
"""Of the examples of two levels, in turn."""


def promising(data: bytes, kind: str) -> Instance:
    """What the papers' theorems ask for: bounded below, bounded slopes in y, a Hessian that is not constant.

    Small, so that a whole verification takes seconds; with a start.
    """
    read = Reader(data)
    shift = 1.0 + read.upto(3) / 2
    n, m = read.between(1, 2), read.between(1, 2)
    x_part = Block((0,) * n, ("bump",) * n, tuple(read.between(1, 2) for _ in range(n)), (0,) * n, (0,) * n)
    start = (shift,) * n
    if kind == "single_level":
        return Instance("single_level", x_part, start=start)
    h = read.block(m, 2, 4, ("none", "logcosh"))
    h = Block(h.spectrum, h.atoms, h.weights, (0,) * m, (0,) * m)
    coupling = tuple(tuple(int(i == j) for j in range(n)) for i in range(m))
    if kind == "minimax":
        return Instance("minimax", x_part, h, B=coupling, start=start)
    y_part = Block((0,) * m, ("bump",) * m, (1,) * m, (0,) * m, (0,) * m)
    return Instance("bilevel", x_part, h, y_part, coupling, start=start)

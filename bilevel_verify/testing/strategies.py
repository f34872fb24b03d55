"""Hypothesis strategies: instances with known constants, points, tolerances. Everything shrinks to small integers."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bilevel_verify.errors import MissingExtraError
from bilevel_verify.testing import decoding
from bilevel_verify.testing.families import Block, Instance, SimpleInstance

try:
    from hypothesis import strategies as st
except ImportError as error:
    raise MissingExtraError("hypothesis is not installed: pip install 'bilevel-verify[testing]'") from error

LENGTH = 80
"""Bytes of one instance with blocks of up to three variables; larger ones go on with the simplest choices."""


def raw(length: int = LENGTH) -> st.SearchStrategy[bytes]:
    """The bytes of one example."""
    return st.binary(min_size=length, max_size=length)


def bilevel_instances(**options: Any) -> st.SearchStrategy[Instance]:
    """``f = p(x) + x.C y + q(y)``, ``g = h(y) - y.B x``: mu, L, kappa, rho, y* and the hypergradient are exact.

    Parameters
    ----------
    options : ``dx``, ``dy`` (fixed dimensions), ``most`` (largest dimension, 3), ``kappa`` (largest eigenvalue of the
        quadratic part of h, 20; the smallest is at least 1), ``quadratic`` (no ridges in h: y* is affine).
    """
    return raw(_length(options)).map(partial(decoding.bilevel, **options))


def minimax_instances(**options: Any) -> st.SearchStrategy[Instance]:
    """``min_x max_y p(x) + y.B x - h(y)``, strongly concave in y; options ``dx dy most kappa``."""
    return raw(_length(options)).map(partial(decoding.minimax, **options))


def single_level_instances(**options: Any) -> st.SearchStrategy[Instance]:
    """``f = p(x)``, bounded below; strongly convex if ``convex=True``; further options ``dx most kappa``."""
    return raw(_length(options)).map(partial(decoding.single_level, **options))


def saddle_instances(**options: Any) -> st.SearchStrategy[Instance]:
    """One level with a strict saddle (or maximum) at the origin; options ``dx most``."""
    return raw(_length(options)).map(partial(decoding.saddle, **options))


def simple_bilevel_instances(**options: Any) -> st.SearchStrategy[SimpleInstance]:
    """Strongly convex quadratic f over the minimisers of a convex quadratic g, x* closed-form; options ``dx most``."""
    return raw(_length(options)).map(partial(decoding.simple_bilevel, **options))


def instances(most: int = 3) -> st.SearchStrategy[Instance]:
    """Bilevel or minimax: everything that has a hypergradient."""
    return raw(_length({"most": most})).map(partial(decoding.either, most=most))


def blocks(n: int, low: int = 1, high: int = 20, atoms: tuple[str, ...] = decoding.CONVEX_ATOMS) -> Any:
    """Blocks of n variables with eigenvalues in [low, high] plus ridges from ``atoms``."""

    def decode(data: bytes) -> Block:
        return decoding.Reader(data).block(n, low, high, atoms)

    return raw(5 * n + 1).map(decode)


def spectra(n: int, low: int = 1, high: int = 20) -> st.SearchStrategy[tuple[int, ...]]:
    """n integer eigenvalues in [low, high]."""
    return raw(n).map(lambda data: tuple(low + byte % (high - low + 1) for byte in data))


def points(n: int, size: int = 4) -> st.SearchStrategy[NDArray[np.float64]]:
    """Starting points: multiples of 1/2 in [-size, size]^n."""
    return raw(n).map(lambda data: decoding.Reader(data).point(n, size))


def tolerances(least: int = 1, most: int = 8) -> st.SearchStrategy[float]:
    """Powers of ten between 10^-least and 10^-most."""
    return st.integers(least, most).map(lambda k: float(10.0**-k))


def feasible_sets(n: int) -> st.SearchStrategy[Any]:
    """A ball, box, simplex, l1-ball, half-space or orthant of dimension n."""
    return raw(n + 2).map(partial(_feasible, n))


def _feasible(n: int, data: bytes) -> Any:
    from bilevel_verify.problems import Ball, Box, HalfSpace, L1Ball, Orthant, Simplex

    read = decoding.Reader(data)
    kind, size, normal = read.upto(5), read.between(1, 5), read.vector(n, 3)
    if kind == 5:
        return HalfSpace(normal if any(normal) else (1,) * n, size)
    if kind == 2:
        return Orthant()
    if kind == 1:
        return Box((-size,) * n, (size,) * n)
    return {0: Ball, 3: Simplex, 4: L1Ball}[kind](size)


def _length(options: dict[str, Any]) -> int:
    n = max(3, options.get("most") or 0, options.get("dx") or 0, options.get("dy") or 0)
    return max(LENGTH, 4 + 15 * n + 3 + 2 * n * n)

"""Hypothesis strategies: instances with known constants, starts, tolerances. Everything shrinks to small integers."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bilevel_verify.errors import MissingExtraError
from bilevel_verify.testing.instances import decoding
from bilevel_verify.testing.instances.blocks import Block
from bilevel_verify.testing.instances.families import Instance
from bilevel_verify.testing.instances.simple import SimpleInstance
from bilevel_verify.testing.instances.writing import rows_of

try:
    from hypothesis import strategies as st
except ImportError as error:
    raise MissingExtraError("hypothesis is not installed: pip install 'bilevel-verify[testing]'") from error

LENGTH = 80
"""Bytes of one instance with blocks of up to three variables; larger ones go on with the simplest choices."""


def raw(length: int = LENGTH) -> st.SearchStrategy[bytes]:
    """The bytes of one example."""
    return st.binary(min_size=length, max_size=length)


def _made(decode: Callable[..., object], options: dict[str, object]) -> Any:
    return raw(_length(options)).map(lambda data: decode(data, **options))  # a lambda: failures print the formulas


def bilevel_instances(*, closed_form: bool = False, **options: object) -> st.SearchStrategy[Instance]:
    """``f = p(x) + x.C y + q(y)``, ``g = h(y) - y.B x``: mu, L, kappa, rho, y* and the hypergradient are exact.

    Parameters
    ----------
    closed_form : y* is a closed formula, ``instance.y_star_text()``: h quadratic, or ``g = h(y - B x)``.
    options : ``dx``, ``dy`` (fixed dimensions), ``most`` (largest dimension, 3), ``kappa`` (largest eigenvalue of the
        quadratic part of h, 20; the smallest is at least 1), ``quadratic`` (no ridges in h: y* is affine), ``bounded``
        (phi is bounded below).
    """
    if closed_form:
        return st.one_of(_made(decoding.bilevel, {**options, "quadratic": True}), displaced_instances(**options))
    return _made(decoding.bilevel, options)  # type: ignore[no-any-return]


def minimax_instances(*, closed_form: bool = False, **options: object) -> st.SearchStrategy[Instance]:
    """``min_x max_y p(x) + y.B x - h(y)``, strongly concave in y; options ``dx dy most kappa bounded closed_form``."""
    if closed_form:
        quadratic = _made(decoding.minimax, {**options, "quadratic": True})
        return st.one_of(quadratic, displaced_instances(kind="minimax", **options))
    return _made(decoding.minimax, options)  # type: ignore[no-any-return]


def displaced_instances(**options: object) -> st.SearchStrategy[Instance]:
    """``g = h(y - B x)``: y* = B x although g is not quadratic; options ``dx dy most kappa kind``."""
    return _made(decoding.displaced, options)  # type: ignore[no-any-return]


def single_level_instances(**options: object) -> st.SearchStrategy[Instance]:
    """``f = p(x)``, bounded below; strongly convex if ``convex=True``; further options ``dx most kappa``."""
    return _made(decoding.single_level, options)  # type: ignore[no-any-return]


def saddle_instances(**options: object) -> st.SearchStrategy[Instance]:
    """A strict saddle (or maximum) of phi at the origin; options ``dx most kind``."""
    return _made(decoding.saddle, options)  # type: ignore[no-any-return]


def hoelder_instances(**options: object) -> st.SearchStrategy[Instance]:
    """Hessian of f and third derivative of g Hölder with exact pairs ``p.hoelder``, ``h.third_hoelder``.

    Options ``dx dy most kind`` (bilevel, minimax, single_level).
    """
    return _made(decoding.hoelder, options)  # type: ignore[no-any-return]


def hard_instances(**options: object) -> st.SearchStrategy[Instance]:
    """Slow instances with their ``start`` and ``eps``; option ``kind``.

    Kinds: ``single_level`` (ramp, logarithmic well, tail), ``amplifier`` and ``displaced`` (bilevel lifts of these),
    ``minimax`` (the lift with a max), ``chain`` (a lower level that needs sqrt(kappa) products).
    """
    return _made(decoding.hard, options)  # type: ignore[no-any-return]


def data_sum_instances(**options: Any) -> st.SearchStrategy[Instance]:
    """Means over tables of samples, as in learning; options ``dx dy most samples kind``."""
    samples = options.get("samples") or 6
    n = max(3, *(options.get(key) or 0 for key in ("most", "dx", "dy")))
    return raw(LENGTH + 2 * samples * n + 9 * n).map(lambda data: decoding.data_sum(data, **options))


def simple_bilevel_instances(**options: object) -> st.SearchStrategy[SimpleInstance]:
    """Strongly convex quadratic f over the minimisers of a convex g, x* closed-form; options ``dx most``."""
    return _made(decoding.simple_bilevel, options)  # type: ignore[no-any-return]


def instances(most: int = 3) -> st.SearchStrategy[Instance]:
    """Bilevel or minimax of any family: everything that has a hypergradient."""
    return _made(decoding.either, {"most": most})  # type: ignore[no-any-return]


def blocks(n: int, low: int = 1, high: int = 20, atoms: tuple[str, ...] = decoding.CONVEX_ATOMS) -> object:
    """Blocks of n variables with eigenvalues in [low, high] plus ridges from ``atoms``."""

    def decode(data: bytes) -> Block:
        return decoding.Reader(data).block(n, low, high, atoms)

    return raw(5 * n + 1).map(lambda data: decode(data))


def spectra(n: int, low: int = 1, high: int = 20) -> st.SearchStrategy[tuple[int, ...]]:
    """n integer eigenvalues in [low, high]."""
    return raw(n).map(lambda data: tuple(low + byte % (high - low + 1) for byte in data))


def bases(n: int) -> st.SearchStrategy[NDArray[np.float64]]:
    """Orthogonal bases of rational entries: reflections, shape (n, n); the identity is the simplest."""
    return raw(n).map(lambda data: np.array(rows_of(decoding.Reader(data).mirror(n)), dtype=float))


def exponents() -> st.SearchStrategy[Fraction]:
    """Hölder exponents in (0, 1]."""
    return st.sampled_from([Fraction(text) for text in decoding.EXPONENTS])


def points(n: int, size: int = 4) -> st.SearchStrategy[NDArray[np.float64]]:
    """Starting points: multiples of 1/2 in [-size, size]^n."""
    return raw(n).map(lambda data: decoding.Reader(data).point(n, size))


def tolerances(least: int = 1, most: int = 8) -> st.SearchStrategy[float]:
    """Powers of ten between 10^-least and 10^-most."""
    return st.integers(least, most).map(lambda k: float(10.0**-k))


def feasible_sets(n: int) -> st.SearchStrategy[object]:
    """A ball, box, orthant, simplex, l1-ball, half-space, isotonic cone, the whole space, or a cut ball.

    All of dimension n; the origin or a neighbour of it belongs to each.
    """
    return raw(n + 2).map(lambda data: _feasible(n, data))


def _feasible(n: int, data: bytes) -> Any:
    from bilevel_verify import problems as sets

    read = decoding.Reader(data)
    kind, size, drawn = read.upto(8), read.between(1, 5), read.vector(n, 3)
    normal = drawn if any(drawn) else (1,) * n
    makers: tuple[Callable[[], Any], ...] = (
        lambda: sets.Ball(size),
        lambda: sets.Box((-size,) * n, (size,) * n),
        sets.Orthant,
        lambda: sets.Simplex(size),
        lambda: sets.L1Ball(size),
        lambda: sets.HalfSpace(normal, size),
        sets.WholeSpace,
        sets.Isotonic,
        lambda: sets.Intersection((sets.Ball(size), sets.HalfSpace(normal, size))),
    )
    return makers[kind]()


def _length(options: dict[str, Any]) -> int:
    n = max(3, options.get("most") or 0, options.get("dx") or 0, options.get("dy") or 0)
    return max(LENGTH, 4 + 15 * n + 3 + 2 * n * n)

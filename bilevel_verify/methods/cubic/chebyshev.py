r"""Matrix Chebyshev approximation of an inverse, by matrix-vector products only (fsba sheet, 3.8 and Lemma E.1).

For a symmetric X with spectrum in [low, high] and :math:`Z=\frac2{high-low}(X-\frac{high+low}2I)`,

.. math:: X^{-1}\approx\frac{c_0}2I+\sum_{k=1}^{K'}c_kT_k(Z),\qquad
          c_k=\frac2{\sqrt{high\cdot low}}\Big(\frac{\sqrt{low/high}-1}{\sqrt{low/high}+1}\Big)^k,

with error at most :math:`\frac{\sqrt\kappa-1}{\sqrt{low\cdot high}}(1-\frac2{\sqrt\kappa+1})^{K'}`. (44) prints these
coefficients and divides the sum by ``2 high`` once more; the sum with that factor is no inverse (``literal``).
"""

from __future__ import annotations

from collections.abc import Callable

from bilevel_verify.errors import ParameterError
from bilevel_verify.methods.cubic.arithmetic import Array, Number, square_root

Product = Callable[[Array], Array]


def approximate_inverse(
    product: Product, low: Number, high: Number, order: int, v: Array, literal: bool = False
) -> Array:
    """The approximation of the inverse, applied to a vector; ``order`` products.

    Parameters
    ----------
    product : v -> X v.
    low, high : bounds of the spectrum of X, 0 < low <= high.
    order : K'.
    v : shape (d,).
    literal : with the factor 1/(2 high) that (44) prints.

    Raises
    ------
    ParameterError : the bounds are not 0 < low <= high.
    """
    if not 0 < low <= high:
        raise ParameterError(f"a Chebyshev approximation needs 0 < low <= high, not low = {low!r}, high = {high!r}")
    scale = 1 / (2 * high) if literal else 1
    if low == high:
        return v / low * scale
    root = square_root(low / high)
    ratio, coefficient = (root - 1) / (root + 1), 2 / square_root(low * high)

    def shifted(u: Array) -> Array:
        return (2 * product(u) - u * (high + low)) / (high - low)

    before: Array = v
    total: Array = v * (coefficient / 2)
    now = shifted(v) if order > 0 else v
    for k in range(1, order + 1):
        coefficient = coefficient * ratio
        total = total + now * coefficient
        if k < order:
            before, now = now, 2 * shifted(now) - before
    return total * scale


def error_bound(low: float, high: float, order: int) -> float:
    """The bound of Lemma E.1 for the spectral norm of the error."""
    root = float(square_root(high / low))
    return float((root - 1) / square_root(high * low) * (1 - 2 / (root + 1)) ** order)

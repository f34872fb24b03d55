"""Functions of one variable with exact bounds of their derivatives: what blocks are built from.

A ridge is named by a text: ``logcosh``, ``cos``, or with a parameter ``ramp(1/50)``, ``tail(2)``, ``psi(1/2)``.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache, partial

from bilevel_verify.errors import InputError

Jet = tuple[float, float, float]
Range = tuple[float, float]


@dataclass(frozen=True, slots=True)
class Ridge:
    """One function a(t).

    Attributes
    ----------
    jet : t -> (a, a', a''), stable for large arguments.
    second : infimum and supremum of a''. ``third`` : supremum of |a'''| (infinity if there is none).
    slope : infimum and supremum of a'.
    text : the formula in the expression language, ``{t}`` for the argument.
    hoelder : (nu, H): |a''(s) - a''(t)| <= H |s - t|^nu, H the least one.
    third_hoelder : the same for a''', or None.
    """

    jet: Callable[[float], Jet]
    second: Range
    third: float
    slope: Range
    text: str
    hoelder: tuple[float, float]
    third_hoelder: tuple[float, float] | None = None


def _none(t: float) -> Jet:
    return 0.0, 0.0, 0.0


def _logcosh(t: float) -> Jet:
    slope = math.tanh(t)
    return abs(t) + math.log1p(math.exp(-2 * abs(t))) - math.log(2), slope, 1 - slope * slope


def _softplus(t: float) -> Jet:
    small = math.exp(-abs(t))
    slope = (1.0 if t >= 0 else small) / (1 + small)
    return max(t, 0.0) + math.log1p(small), slope, small / (1 + small) ** 2


def _cos(t: float) -> Jet:
    return math.cos(t), -math.sin(t), -math.cos(t)


def _bump(t: float) -> Jet:
    return 2 * math.sin(t / 2) ** 2, math.sin(t), math.cos(t)


def _root(t: float) -> Jet:
    length = math.hypot(1.0, t)
    return length, t / length, length**-3.0


def _well(t: float) -> Jet:
    u = 1 + t * t
    return math.log1p(t * t), 2 * t / u, 2 * (1 - t * t) / (u * u)


def _ramp(s: float, t: float) -> Jet:
    length = math.sqrt(s + t * t)
    return s * t * t / (length + math.sqrt(s)), s * t / length, s * s / length**3


def _tail(p: float, t: float) -> Jet:
    u = 1 + t * t
    return (
        u ** (-(p - 1) / 2) / (p - 1),
        -t * u ** (-(p + 1) / 2),
        (p * t * t - 1) * u ** (-(p + 3) / 2),
    )


def _tail_third(p: float) -> float:
    """Largest ``(p + 1) |t (3 - p t^2)| (1 + t^2)^(-(p+5)/2)``: the roots z = t^2 of p (p+2) z^2 - 6 (p+2) z + 3."""
    root = math.sqrt(36 * (p + 2) ** 2 - 12 * p * (p + 2))
    places = [(6 * (p + 2) + sign * root) / (2 * p * (p + 2)) for sign in (1, -1)]
    found: float = max((p + 1) * math.sqrt(z) * abs(3 - p * z) * (1 + z) ** (-(p + 5) / 2) for z in places)
    return found


def _wave(t: float) -> tuple[float, float]:
    """The triangle wave s(t) of period 4 and its slope."""
    r = t - 4 * math.floor(t / 4 + 0.5)
    if abs(r) <= 1:
        return r, 1.0
    return (2 - r if r > 0 else -2 - r), -1.0


def _psi(nu: float, t: float) -> Jet:
    s, up = _wave(t)
    m, base = abs(s), (1 + nu) * (2 + nu) * (3 + nu)
    value = m ** (3 + nu) / base - s * s / (2 * (1 + nu))
    end = 1 / base - 1 / (2 * (1 + nu))
    inner = value if up > 0 else 2 * end - value
    return inner, *_psi_slope(nu, t)[:2]


def _psi_slope(nu: float, t: float) -> Jet:
    """Jet of psi'."""
    s, up = _wave(t)
    m = abs(s)
    first = math.copysign(m ** (2 + nu), s) / ((1 + nu) * (2 + nu)) - s / (1 + nu)
    return first, up * (m ** (1 + nu) - 1) / (1 + nu), math.copysign(m**nu, s) if s else 0.0


def _psi_ridge(nu: Fraction) -> Ridge:
    n = float(nu)
    slope, second = 1 / (2 + n), 1 / (1 + n)
    return Ridge(
        partial(_psi, n),
        (-second, second),
        1.0,
        (-slope, slope),
        f"psi({nu}, {{t}})",
        (1.0, 1.0),
        (n, 2 ** (1 - n)),
    )


def _psi_slope_ridge(nu: Fraction) -> Ridge:
    n = float(nu)
    return Ridge(
        partial(_psi_slope, n),
        (-1.0, 1.0),
        1.0 if n == 1 else math.inf,
        (-1 / (1 + n), 1 / (1 + n)),
        f"psi_d(1, {nu}, {{t}})",
        (n, 2 ** (1 - n)),
    )


def _ramp_ridge(s: Fraction) -> Ridge:
    third = 1.5 / 1.25**2.5
    end = float(s)
    return Ridge(
        partial(_ramp, end),
        (0.0, math.sqrt(end)),
        third,
        (-end, end),
        f"{s}*(sqrt({s} + {{t}}**2) - sqrt({s}))",
        (1.0, third),
        (1.0, 3 / math.sqrt(end)),
    )


def _tail_ridge(power: Fraction) -> Ridge:
    p = float(power)
    third = _tail_third(p)
    steepest = p**-0.5 * (1 + 1 / p) ** (-(p + 1) / 2)
    exponent, divisor = (
        Fraction(power - 1, 2),
        "" if power == 2 else f"/{power - 1}" if power.denominator == 1 else f"/({power - 1})",
    )
    return Ridge(
        partial(_tail, p),
        (-1.0, 2 * (1 + 3 / p) ** (-(p + 3) / 2)),
        third,
        (-steepest, steepest),
        f"(1 + {{t}}**2)**(-{exponent}){divisor}",
        (1.0, third),
    )


_TWO = math.sqrt(2)
_FIXED = {
    "none": Ridge(_none, (0.0, 0.0), 0.0, (0.0, 0.0), "0", (1.0, 0.0), (1.0, 0.0)),
    "logcosh": Ridge(
        _logcosh,
        (0.0, 1.0),
        4 / (3 * math.sqrt(3)),
        (-1.0, 1.0),
        "logcosh({t})",
        (1.0, 4 / (3 * math.sqrt(3))),
        (1.0, 2.0),
    ),
    "softplus": Ridge(
        _softplus,
        (0.0, 0.25),
        1 / (6 * math.sqrt(3)),
        (0.0, 1.0),
        "softplus({t})",
        (1.0, 1 / (6 * math.sqrt(3))),
        (1.0, 0.125),
    ),
    "cos": Ridge(_cos, (-1.0, 1.0), 1.0, (-1.0, 1.0), "cos({t})", (1.0, 1.0), (1.0, 1.0)),
    "bump": Ridge(_bump, (-1.0, 1.0), 1.0, (-1.0, 1.0), "(1 - cos({t}))", (1.0, 1.0), (1.0, 1.0)),
    "root": Ridge(
        _root, (0.0, 1.0), 1.5 / 1.25**2.5, (-1.0, 1.0), "sqrt(1 + {t}**2)", (1.0, 1.5 / 1.25**2.5), (1.0, 3.0)
    ),
    "well": Ridge(_well, (-0.25, 2.0), 1.5 + _TWO, (-1.0, 1.0), "log(1 + {t}**2)", (1.0, 1.5 + _TWO), (1.0, 12.0)),
}
_WITH_PARAMETER: dict[str, Callable[[Fraction], Ridge]] = {
    "ramp": _ramp_ridge,
    "tail": _tail_ridge,
    "psi": _psi_ridge,
    "psi'": _psi_slope_ridge,
}


@lru_cache(maxsize=512)
def ridge(name: str) -> Ridge:
    """The ridge of a name.

    Raises
    ------
    InputError : no such ridge; the message lists the names.
    """
    if name in _FIXED:
        return _FIXED[name]
    head, _, rest = name.partition("(")
    if head not in _WITH_PARAMETER or not rest.endswith(")"):
        known = [*_FIXED, *(f"{key}(number)" for key in _WITH_PARAMETER)]
        raise InputError(f"no ridge {name!r}; there are {', '.join(known)}")
    return _WITH_PARAMETER[head](Fraction(rest[:-1]))


def ridge_text(name: str, argument: str) -> str:
    """The formula with an argument; a compound argument gets its parentheses where it is raised to a power."""
    plain = argument.isidentifier()
    formula = ridge(name).text
    needs = "{t}**" in formula and not plain
    return formula.replace("{t}", f"({argument})" if needs else argument)

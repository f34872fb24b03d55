"""Binary floating-point numbers of any length (``arf`` of python-flint): what solver loops compute with in many digits.

An operation takes a tenth of the time of mpmath's. Its result has ``flint.ctx.prec`` bits and is off by less than one
unit in the last of them; mpmath rounds to the nearest. Outside the loops there are mpmath numbers: conversions between
both are exact. Where there is no value (0/0, the root of a negative number) the result is NaN.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from typing import Any

    import flint
    import mpmath

SPARE_BITS = 16
"""Bits that loops have beyond those that were asked for: their roundings are no coarser than mpmath's."""


def binary(number: mpmath.mpf) -> Any:
    """An mpmath number, exactly; anything else (counts, tuples of counts, None) as it is."""
    if not hasattr(number, "_mpf_"):
        return number
    import flint

    sign, mantissa, exponent, _ = number._mpf_
    if not mantissa:
        return flint.arf(float(number))  # zero, an infinity or NaN
    return flint.arf((-int(mantissa) if sign else int(mantissa), int(exponent)))


def to_mpmath(number: flint.arf | float) -> object:
    """The mpmath number, exactly; of a float or an integer too, with which vectors of a loop begin."""
    import mpmath

    if isinstance(number, (int, float)):
        return mpmath.mpf(number)
    if not number.is_finite():
        return mpmath.mpf(float(number))
    mantissa, exponent = number.man_exp()
    return mpmath.make_mpf(mpmath.libmp.from_man_exp(int(mantissa), int(exponent)))


_ENTRIES = np.frompyfunc(to_mpmath, 1, 1)


@np.errstate(invalid="ignore")  # the floats of NaN set flags
def entries_to_mpmath(array: NDArray[np.object_]) -> object:
    """The same, entry by entry of an array."""
    return _ENTRIES(array)


def of_ball(ball: flint.arb) -> flint.arf:
    """The middle of a ball; NaN where it holds no number."""
    import flint

    return flint.arf(ball.mid().man_exp()) if ball.is_finite() else flint.arf(float("nan"))


@cache
def function(name: str) -> Callable[[flint.arf], flint.arf]:
    """An elementary function by its name in python-flint's ``arb``."""
    import flint

    of = getattr(flint.arb, name)
    return lambda a: of_ball(of(flint.arb(a)))


def root(a: flint.arf) -> flint.arf:
    """The square root."""
    return function("sqrt")(a)


def power(a: flint.arf, exponent: flint.arf) -> flint.arf:
    """``a ** exponent`` for ``a >= 0``, NaN below."""
    import flint

    return of_ball(flint.arb(a) ** flint.arb(exponent)) if a >= 0 else flint.arf(float("nan"))


def through_mpmath(of: Callable[..., object]) -> Callable[..., object]:
    """A function of mpmath numbers as one of binary ones."""

    def through(*arguments: flint.arf) -> object:
        return binary(of(*(to_mpmath(a) if hasattr(a, "man_exp") else a for a in arguments)))

    return through

"""The elementary functions of the language: one record for each, of what every room needs to know about it.

The record is plain data and loads nothing heavy; :meth:`Elementary.real`, :meth:`Elementary.array` and
:meth:`Elementary.ball` evaluate it with the library of the number that they are given. A function that is added here
is read and written in text and LaTeX, evaluated by every interpreter of cards, bounded over boxes where it is
increasing, and followed along runs. What needs a proof of its own is said where the proof is: stable kernels and
derivatives in :mod:`bilevel_verify.atoms`, facts for the solver of polynomial relations in the audit.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from math import inf, nan, pi
from types import MappingProxyType
from typing import Any


def _erf(points: Any) -> Any:
    import numpy
    from scipy.special import erf

    return numpy.asarray(erf(points))


@dataclass(frozen=True, slots=True)
class Elementary:
    """One function of one real argument.

    Attributes
    ----------
    name : its name in the language; :mod:`math`, mpmath and flint call it the same, NumPy calls it ``numpy or name``.
    latex : how it is printed in front of its argument.
    words : the LaTeX words that are read as it, without their backslash.
    synonyms : other names in plain text.
    increasing : it never falls on its whole domain.
    parity : "odd", "even" or "".
    values : closed interval that holds every value.
    limits : values at minus and plus infinity, NaN where there is none.
    start : smallest end of the domain: 0 for the root and the logarithm.
    steps : it is constant but for jumps.
    poles : its domain is no interval.
    """

    name: str
    latex: str
    words: tuple[str, ...] = ()
    synonyms: tuple[str, ...] = ()
    increasing: bool = False
    parity: str = ""
    values: tuple[float, float] = (-inf, inf)
    limits: tuple[float, float] = (nan, nan)
    start: float = -inf
    steps: bool = False
    poles: bool = False
    numpy: str = ""

    @property
    def transcendental(self) -> bool:
        """Whether it is analytic on its domain and no root: its values have to be enclosed, not computed."""
        return not self.steps and self.name != "sqrt"

    def real(self, t: float) -> float:
        """Value at a float, rounded by the system's library; ValueError or OverflowError where there is none."""
        if self.name == "sign":
            return float((t > 0) - (t < 0))
        value: float = getattr(math, self.name)(t)
        return value

    @property
    def array(self) -> Callable[[Any], Any]:
        """The function on NumPy arrays (float64, complex where NumPy has it), element by element."""
        import numpy

        found: Callable[[Any], Any] = _erf if self.name == "erf" else getattr(numpy, self.numpy or self.name)
        return found

    def ball(self, value: object) -> Any:
        """Enclosure of the values over a ball (``flint.arb``)."""
        return getattr(value, self.name)()


_FUNCTIONS = (
    Elementary("sqrt", r"\sqrt", increasing=True, values=(0.0, inf), limits=(nan, inf), start=0.0),
    Elementary("log", r"\log", ("log", "ln"), ("ln",), increasing=True, limits=(nan, inf), start=0.0),
    Elementary("exp", r"\exp", ("exp",), increasing=True, values=(0.0, inf), limits=(0.0, inf)),
    Elementary("sin", r"\sin", ("sin",), parity="odd", values=(-1.0, 1.0)),
    Elementary("cos", r"\cos", ("cos",), parity="even", values=(-1.0, 1.0)),
    Elementary("tan", r"\tan", ("tan",), parity="odd", poles=True),
    Elementary("sinh", r"\sinh", ("sinh",), increasing=True, parity="odd", limits=(-inf, inf)),
    Elementary("cosh", r"\cosh", ("cosh",), parity="even", values=(1.0, inf), limits=(inf, inf)),
    Elementary("tanh", r"\tanh", ("tanh",), increasing=True, parity="odd", values=(-1.0, 1.0), limits=(-1.0, 1.0)),
    Elementary(
        "asinh",
        r"\operatorname{arsinh}",
        ("arsinh",),
        ("arcsinh",),
        increasing=True,
        parity="odd",
        limits=(-inf, inf),
        numpy="arcsinh",
    ),
    Elementary(
        "atan",
        r"\arctan",
        ("arctan",),
        ("arctan",),
        increasing=True,
        parity="odd",
        values=(math.nextafter(-pi / 2, -inf), math.nextafter(pi / 2, inf)),
        numpy="arctan",
    ),
    Elementary(
        "erf",
        r"\operatorname{erf}",
        ("erf",),
        increasing=True,
        parity="odd",
        values=(-1.0, 1.0),
        limits=(-1.0, 1.0),
    ),
    Elementary(
        "sign", r"\operatorname{sgn}", ("sgn", "sign"), increasing=True, parity="odd", values=(-1.0, 1.0), steps=True
    ),
    Elementary("floor", r"\operatorname{floor}", increasing=True, limits=(-inf, inf), steps=True),
    Elementary("ceil", r"\operatorname{ceil}", increasing=True, limits=(-inf, inf), steps=True),
)
ELEMENTARY: Mapping[str, Elementary] = MappingProxyType({one.name: one for one in _FUNCTIONS})
"""Name -> record."""
TRANSCENDENTAL = tuple(one.name for one in _FUNCTIONS if one.transcendental)
ANALYTIC = frozenset(name for name in TRANSCENDENTAL if not ELEMENTARY[name].poles)
"""Analytic on an interval: a sign of the derivative says there whether it rises or falls."""
INCREASING = frozenset(one.name for one in _FUNCTIONS if one.increasing)

"""Structure of a convex function: a quadratic (exactly, by LDL'), ridge functions of affine forms, and a linear rest.

``g(z) = sum_i h_i(a_i . z + b_i) + z' Q z / 2 + q . z + c`` with convex ``h_i`` is what makes an argmin exact: along a
segment of minimisers every convex term is affine, so each ``a_i . z`` stays in the interval on which ``h_i`` is
affine (a
single value where ``h_i`` is strictly convex), and ``Q z`` is constant.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
import sympy
from numpy.typing import NDArray

from bilevel_verify.truth.functions.profiles import profile_kind
from bilevel_verify.truth.functions.quadratics import Quadratic, affine_form, quadratic_of

FloatArray = NDArray[np.float64]
Ranges = Callable[[Sequence[Fraction], Fraction], tuple[float, float]]
"""``(normal, shift)`` of an affine form -> its ends over a set."""


@dataclass(frozen=True, slots=True)
class Ridge:
    """One convex term ``profile(t)``, ``t = normal . z + shift``.

    Attributes
    ----------
    profile : SymPy expression in ``symbol``.
    kind : "strict" (strictly convex) or "kinked" (affine on known pieces).
    pieces : for kinked profiles, the intervals of t on which the profile is affine (closed, maximal).
    """

    profile: sympy.Expr
    symbol: sympy.Symbol
    normal: tuple[Fraction, ...]
    shift: Fraction
    kind: str
    pieces: tuple[tuple[float, float], ...] = ()

    def row(self) -> tuple[FloatArray, float]:
        """Normal and shift in floats."""
        return np.array([float(v) for v in self.normal]), float(self.shift)


@dataclass(frozen=True, slots=True)
class Structure:
    """A decomposition, or the reason why there is none (``missing`` not empty)."""

    quadratic: Quadratic
    ridges: tuple[Ridge, ...]
    missing: str = ""


def structure_of(expression: sympy.Expr, z: Sequence[sympy.Symbol], ranges: Ranges | None = None) -> Structure:
    """Decompose a function; terms that are neither quadratic nor ridge functions of known convexity are named.

    Parameters
    ----------
    ranges : ends of an affine form ``(normal, shift)`` over a set: convexity on that set is enough.
    """
    whole = quadratic_of(expression, z)
    n = len(z)
    nothing = Quadratic([[Fraction(0)] * n for _ in range(n)], [Fraction(0)] * n, Fraction(0))
    if whole is not None:
        return Structure(whole, ())
    rest: list[sympy.Expr] = []
    ridges: list[Ridge] = []
    for term in sympy.Add.make_args(spread_constants(expression)):
        if quadratic_of(term, z) is not None:
            rest.append(term)
            continue
        ridge = ridge_of(term, z, ranges)
        if ridge is None:
            return Structure(
                nothing, (), f"the term {str(term)[:80]} is no convex function of one affine form that is known here"
            )
        ridges.append(ridge)
    quadratic = quadratic_of(sympy.Add(*rest), z)
    assert quadratic is not None
    return Structure(quadratic, tuple(ridges))


def pole_inside(ridges: Iterable[Ridge], over: Ranges | None) -> str:
    """A ridge with a pole that a set (None: the whole space) reaches beyond; empty if there is none.

    A negative power is convex on either side of its pole (or concave on one), so on a set only where its base, an
    affine form, is nowhere negative.
    """
    for ridge in ridges:
        for power in ridge.profile.atoms(sympy.Pow):
            if not power.exp.is_negative or power.base.is_number:
                continue
            form = affine_form(power.base, [ridge.symbol])
            if form is None or over is None or over(*_of_z(ridge, form))[0] < 0:
                return f"the term {str(ridge.profile).replace(str(ridge.symbol), 't')[:80]}, t affine, has a pole there"
    return ""


def _of_z(ridge: Ridge, form: tuple[tuple[Fraction, ...], Fraction]) -> tuple[tuple[Fraction, ...], Fraction]:
    """An affine form of ``t`` as one of z."""
    (slope,), start = form
    return tuple(slope * v for v in ridge.normal), slope * ridge.shift + start


def spread_constants(expression: sympy.Expr) -> sympy.Expr:
    """Distribute a constant factor over a sum, so that terms can be seen."""
    if isinstance(expression, sympy.Mul):
        constant, other = expression.as_independent(*expression.free_symbols, as_Add=False)
        if isinstance(other, sympy.Add):
            return sympy.Add(*(constant * term for term in other.args))
    if isinstance(expression, sympy.Add):
        return sympy.Add(*(spread_constants(term) if isinstance(term, sympy.Mul) else term for term in expression.args))
    return expression


def ridge_of(term: sympy.Expr, z: Sequence[sympy.Symbol], ranges: Ranges | None = None) -> Ridge | None:
    """A term as a convex function of one affine form; None if it is not one, or not of known convexity."""
    forms: list[tuple[sympy.Expr, tuple[Fraction, ...], Fraction]] = []
    if not _collect(term, z, forms):
        return None
    direction = next((normal for _, normal, _ in forms if any(normal)), None)
    if direction is None:
        return None
    t = sympy.Dummy("t", real=True)
    base = next(shift for _, normal, shift in forms if normal == direction)
    lead = next(i for i, v in enumerate(direction) if v)
    replacements: dict[sympy.Expr, sympy.Expr] = {}
    for form, normal, shift in forms:
        ratio = normal[lead] / direction[lead]
        if any(v != ratio * w for v, w in zip(normal, direction)):
            return None
        replacements[form] = _exact(ratio) * (t - _exact(base)) + _exact(shift)
    profile = _replace(term, replacements)
    if profile.free_symbols - {t}:
        return None
    found = profile_kind(profile, t, None if ranges is None else ranges(direction, base))
    if found is None:
        return None
    return Ridge(profile, t, direction, base, found[0], found[1])


def _exact(value: Fraction) -> sympy.Rational:
    return sympy.Rational(value.numerator, value.denominator)


def _collect(
    expression: sympy.Expr, z: Sequence[sympy.Symbol], forms: list[tuple[sympy.Expr, tuple[Fraction, ...], Fraction]]
) -> bool:
    """Maximal affine subexpressions of a term; False if a variable occurs outside of one."""
    if not expression.free_symbols & set(z):
        return True
    affine = affine_form(expression, z) if not isinstance(expression, sympy.Pow) or expression.exp == 1 else None
    if affine is not None:
        if all(form != expression for form, _, _ in forms):
            forms.append((expression, *affine))
        return True
    if not expression.args:
        return False
    return all(_collect(part, z, forms) for part in expression.args if isinstance(part, sympy.Basic))


def _replace(expression: sympy.Expr, replacements: dict[sympy.Expr, sympy.Expr]) -> sympy.Expr:
    """Top-down replacement of whole subexpressions."""
    if expression in replacements:
        return replacements[expression]
    if not expression.args:
        return expression
    return expression.func(*(_replace(part, replacements) for part in expression.args))

"""Convexity of functions of one variable: strict, or affine on known pieces between kinks."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import sympy
from numpy.typing import NDArray

from bilevel_verify.errors import BilevelVerifyError
from bilevel_verify.truth.functions.quadratics import affine_form

FloatArray = NDArray[np.float64]
STRICTLY_CONVEX = frozenset("exp softplus logcosh cosh".split())
"""Atoms with a positive second derivative on the whole line."""


PIECES = 64
ROUNDS = 10
"""Pieces of a bounded range, and how often those that decide nothing are halved."""


def profile_kind(
    profile: sympy.Expr, t: sympy.Symbol, ends: tuple[float, float] | None = None
) -> tuple[str, tuple[tuple[float, float], ...]] | None:
    """Whether a function of one variable is convex: ("strict", ()) or ("kinked", pieces); None if that is not known.

    Strict convexity is proved: the second derivative is positive on the whole line (or on the domain of the function)
    except at isolated zeros, by the interval ranges of its atoms.

    Parameters
    ----------
    ends : a range of t; a function that is strictly convex there is enough.
    """
    kinked = _kinked(profile, t)
    if kinked is not None:
        return ("kinked", kinked)
    return ("strict", ()) if _convex_analytic(profile, t, ends) else None


def _kinked(profile: sympy.Expr, t: sympy.Symbol) -> tuple[tuple[float, float], ...] | None:
    """Affine pieces of ``c plus(s)^p``, ``c |s|``, ``c huber(s)`` for an affine s of t, c > 0."""
    factor, core = profile.as_independent(t, as_Add=False)
    if not (factor.is_number and factor.is_positive):
        return None
    power = sympy.Integer(1)
    if isinstance(core, sympy.Pow) and core.exp.is_Rational and core.exp >= 1:
        core, power = core.base, core.exp
    name = type(core).__name__
    if name == "Max" and len(core.args) == 2 and sympy.S.Zero in core.args:
        inner = next(a for a in core.args if a != 0)
        return _pieces_of(inner, t, [(-np.inf, 0.0)] + ([(0.0, np.inf)] if power == 1 else []))
    if name == "pluspow" and power == 1 and core.args[0] >= 1:
        return _pieces_of(core.args[1], t, [(-np.inf, 0.0)] + ([(0.0, np.inf)] if core.args[0] == 1 else []))
    if name == "plus" and power >= 1:
        return _pieces_of(core.args[0], t, [(-np.inf, 0.0)] + ([(0.0, np.inf)] if power == 1 else []))
    if (name == "Abs" and power == 1) or (name == "abspow" and power == 1 and core.args[0] == 1):
        return _pieces_of(core.args[-1], t, [(-np.inf, 0.0), (0.0, np.inf)])
    if name == "huber" and power == 1:
        delta = float(core.args[0])
        return _pieces_of(core.args[1], t, [(-np.inf, -delta), (delta, np.inf)])
    return None


def _pieces_of(
    inner: sympy.Expr, t: sympy.Symbol, pieces: list[tuple[float, float]]
) -> tuple[tuple[float, float], ...] | None:
    """Pieces in terms of s turned into pieces in terms of t, for ``s = slope t + shift``."""
    form = affine_form(inner, [t])
    if form is None or form[0][0] == 0:
        return None
    slope, shift = float(form[0][0]), float(form[1])
    turned = [((a - shift) / slope, (b - shift) / slope) for a, b in pieces]
    return tuple((min(a, b), max(a, b)) for a, b in turned)


def _convex_analytic(profile: sympy.Expr, t: sympy.Symbol, ends: tuple[float, float] | None) -> bool:
    """Strict convexity of an analytic function of one variable, proved where it is defined, or on a bounded range."""
    factor, core = profile.as_independent(t, as_Add=False)
    if (
        isinstance(core, sympy.Pow)
        and core.exp.is_Integer
        and core.exp > 0
        and core.exp % 2 == 0
        and factor.is_positive
    ):
        form = affine_form(core.base, [t])
        if form is not None:
            return True
    if type(core).__name__ in STRICTLY_CONVEX and factor.is_positive and affine_form(core.args[-1], [t]) is not None:
        return True
    if type(core).__name__ == "abspow" and factor.is_positive and core.args[0] > 1:
        return affine_form(core.args[1], [t]) is not None
    if profile.has(sympy.Abs, sympy.Max, sympy.Min, sympy.Piecewise, sympy.sign, sympy.floor, sympy.ceiling):
        return False
    if any(
        type(a).__name__ in ("abspow", "sgnpow", "pluspow", "plus", "psi", "huber")
        for a in profile.atoms(sympy.Function)
    ):
        return False
    curvature = _curvature_of(profile, t)
    if curvature is None or _positive_second_derivative(profile, t, curvature):
        return curvature is not None
    return ends is not None and -np.inf < ends[0] < ends[1] < np.inf and _convex_between(curvature, *ends)


Curvature = Callable[[FloatArray, FloatArray], FloatArray]
"""Ends of intervals -> lower ends of h'' on them."""


def _convex_between(curvature: Curvature, low: float, high: float) -> bool:
    """Interval proof that ``h'' > 0`` on a bounded range but at isolated zeros: pieces are halved."""
    grid, positive = np.linspace(low, high, PIECES + 1), False
    lo, hi = grid[:-1], grid[1:]
    for _ in range(ROUNDS):
        least = curvature(lo, hi)
        positive, left = positive or bool(np.any(least > 0)), ~(least >= 0)
        if not left.any():
            return positive
        middle = 0.5 * (lo[left] + hi[left])
        lo, hi = np.concatenate([lo[left], middle]), np.concatenate([middle, hi[left]])
    return False


def _curvature_of(profile: sympy.Expr, t: sympy.Symbol) -> Curvature | None:
    """The second derivative in intervals; None where an atom has none."""
    from bilevel_verify.intervals.arithmetics import IntervalArithmetic
    from bilevel_verify.intervals.batch import Interval
    from bilevel_verify.symbolic.differentiate import hessian
    from bilevel_verify.symbolic.program import program_of

    try:
        program = hessian(program_of(profile, [t]))
    except BilevelVerifyError:  # an atom without a second derivative
        return None

    def least(lo: FloatArray, hi: FloatArray) -> FloatArray:
        with np.errstate(all="ignore"):
            return np.broadcast_to(program.run(IntervalArithmetic(), [Interval(lo, hi)])[0].lo, lo.shape)

    return least


def _positive_second_derivative(profile: sympy.Expr, t: sympy.Symbol, curvature: Curvature) -> bool:
    """Interval proof that ``h'' >= 0`` on a covering of the line (of the half line, if h has a logarithm or a root)."""
    half_line = bool(profile.atoms(sympy.log)) or any(
        p.exp.is_Rational and (p.exp < 0 or not p.exp.is_Integer) for p in profile.atoms(sympy.Pow)
    )
    form = _domain_start(profile, t) if half_line else None
    grid = np.concatenate([[-np.inf], -np.logspace(3, -6, 200), [0.0], np.logspace(-6, 3, 200), [np.inf]])
    if form is not None:
        slope, root = form
        grid = root + np.concatenate([[0.0], np.logspace(-6, 4, 300), [np.inf]]) * np.sign(slope)
        grid = np.sort(grid)
    least = curvature(grid[:-1], grid[1:])
    return bool(np.all(least >= 0)) and bool(np.any(least > 0))


def _domain_start(profile: sympy.Expr, t: sympy.Symbol) -> tuple[float, float] | None:
    """For logarithms, roots and reciprocals of one affine form.

    Its slope and its zero; None if they are of something else.
    """
    inner = [a.args[0] for a in profile.atoms(sympy.log)]
    inner += [p.base for p in profile.atoms(sympy.Pow) if p.exp.is_Rational and (p.exp < 0 or not p.exp.is_Integer)]
    forms = {affine_form(part, [t]) for part in inner}
    if len(forms) != 1:
        return None
    form = forms.pop()
    if form is None or form[0][0] == 0:
        return None
    return float(form[0][0]), float(-form[1] / form[0][0])

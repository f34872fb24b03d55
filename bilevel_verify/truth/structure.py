"""Structure of a convex function: a quadratic (exactly, by LDL'), ridge functions of affine forms, and a linear rest.

``g(z) = sum_i h_i(a_i . z + b_i) + z' Q z / 2 + q . z + c`` with convex ``h_i`` is what makes an argmin exact: along a
segment of minimisers every convex term is affine, so each ``a_i . z`` stays in the interval on which ``h_i`` is
affine (a
single value where ``h_i`` is strictly convex), and ``Q z`` is constant.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache

import numpy as np
import sympy
from numpy.typing import NDArray

FloatArray = NDArray[np.float64]
Matrix = list[list[Fraction]]


STRICTLY_CONVEX = frozenset("exp softplus logcosh cosh".split())
"""Atoms with a positive second derivative on the whole line."""


@dataclass(frozen=True, slots=True)
class Quadratic:
    """``z' Q z / 2 + q . z + c`` with exact rational coefficients."""

    Q: Matrix
    q: list[Fraction]
    c: Fraction

    def floats(self) -> tuple[FloatArray, FloatArray, float]:
        """Q, q and c in floats."""
        n = len(self.q)
        return (
            np.array([[float(v) for v in row] for row in self.Q]).reshape(n, n),
            np.array([float(v) for v in self.q]),
            float(self.c),
        )


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


@dataclass(frozen=True, slots=True)
class Factor:
    """Exact ``P A P' = L D L'`` of a symmetric rational matrix, as a sum of squares.

    ``squares``: (weight, normal) with ``z' A z = sum weight (normal . z)^2``, weights nonzero; ``definite`` sign:
    +1 positive semidefinite, -1 negative semidefinite, 0 indefinite (``witness``: z with ``z' A z < 0``).
    """

    squares: tuple[tuple[Fraction, tuple[Fraction, ...]], ...]
    sign: int
    witness: tuple[Fraction, ...] | None = None


def as_fraction(number: sympy.Expr) -> Fraction | None:
    """A rational number, else None."""
    number = sympy.Rational(number) if number.is_Float else number
    return Fraction(int(number.p), int(number.q)) if number.is_Rational else None


def quadratic_of(expression: sympy.Expr, z: Sequence[sympy.Symbol]) -> Quadratic | None:
    """The expression as an exact quadratic, or None (higher degree, other functions, irrational coefficients)."""
    return _quadratic_of(expression, tuple(z))


@lru_cache(maxsize=64)
def _quadratic_of(expression: sympy.Expr, z: tuple[sympy.Symbol, ...]) -> Quadratic | None:
    terms = _degree_two(expression, {symbol: i for i, symbol in enumerate(z)})
    if terms is None:
        return None
    n = len(z)
    Q: Matrix = [[Fraction(0)] * n for _ in range(n)]
    q, c = [Fraction(0)] * n, Fraction(0)
    for places, value in terms.items():
        if len(places) == 2:
            i, j = places
            Q[i][j] += value
            Q[j][i] += value
        elif places:
            q[places[0]] += value
        else:
            c += value
    return Quadratic(Q, q, c)


Terms = dict[tuple[int, ...], Fraction]
"""Polynomial of degree at most two: sorted variable positions -> coefficient."""


def _degree_two(expression: sympy.Expr, places: dict[sympy.Symbol, int]) -> Terms | None:
    """Coefficients of an expression that is visibly a polynomial of degree at most two, else None."""
    if expression in places:
        return {(places[expression],): Fraction(1)}
    if expression.is_number:
        value = as_fraction(expression)
        return None if value is None else {(): value} if value else {}
    if isinstance(expression, sympy.Add):
        total: Terms = {}
        for part in expression.args:
            found = _degree_two(part, places)
            if found is None:
                return None
            for key, value in found.items():
                total[key] = total.get(key, Fraction(0)) + value
        return {key: value for key, value in total.items() if value}
    if isinstance(expression, sympy.Mul):
        product: Terms | None = {(): Fraction(1)}
        for part in expression.args:
            found = _degree_two(part, places)
            product = None if found is None or product is None else _times(product, found)
            if product is None:
                return None
        return product
    if isinstance(expression, sympy.Pow) and expression.exp == 2:
        base = _degree_two(expression.base, places)
        return None if base is None else _times(base, base)
    return None


def _times(left: Terms, right: Terms) -> Terms | None:
    out: Terms = {}
    for first, a in left.items():
        for second, b in right.items():
            key = tuple(sorted(first + second))
            if len(key) > 2:
                return None
            out[key] = out.get(key, Fraction(0)) + a * b
    return {key: value for key, value in out.items() if value}


def ldl(matrix: Matrix) -> Factor:
    """Exact factorisation with diagonal pivoting; a zero diagonal with a nonzero row makes the matrix indefinite."""
    n = len(matrix)
    a = [list(row) for row in matrix]
    left = list(range(n))
    squares: list[tuple[Fraction, tuple[Fraction, ...]]] = []
    while left:
        pivot = next((i for i in left if a[i][i] != 0), None)
        if pivot is None:
            if any(a[i][j] for i in left for j in left):
                return Factor(tuple(squares), 0, None)
            break
        d = a[pivot][pivot]
        normal = tuple(a[pivot][j] / d if j in left else Fraction(0) for j in range(n))
        squares.append((d, normal))
        for i in left:
            if i != pivot and a[pivot][i]:
                factor = a[pivot][i] / d
                for j in left:
                    a[i][j] -= factor * a[pivot][j]
        left.remove(pivot)
    signs = {1 if d > 0 else -1 for d, _ in squares}
    sign = 1 if signs <= {1} else -1 if signs == {-1} else 0
    return Factor(tuple(squares), sign)


def affine_form(expression: sympy.Expr, z: Sequence[sympy.Symbol]) -> tuple[tuple[Fraction, ...], Fraction] | None:
    """Coefficients and constant of an affine expression with rational coefficients, else None."""
    found = quadratic_of(expression, z)
    if found is None or any(v for row in found.Q for v in row):
        return None
    return tuple(found.q), found.c


def structure_of(expression: sympy.Expr, z: Sequence[sympy.Symbol]) -> Structure:
    """Decompose a function; terms that are neither quadratic nor ridge functions of known convexity are named."""
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
        ridge = ridge_of(term, z)
        if ridge is None:
            return Structure(
                nothing, (), f"the term {str(term)[:80]} is no convex function of one affine form that is known here"
            )
        ridges.append(ridge)
    quadratic = quadratic_of(sympy.Add(*rest), z)
    assert quadratic is not None
    return Structure(quadratic, tuple(ridges))


def spread_constants(expression: sympy.Expr) -> sympy.Expr:
    """Distribute a constant factor over a sum, so that terms can be seen."""
    if isinstance(expression, sympy.Mul):
        constant, other = expression.as_independent(*expression.free_symbols, as_Add=False)
        if isinstance(other, sympy.Add):
            return sympy.Add(*(constant * term for term in other.args))
    if isinstance(expression, sympy.Add):
        return sympy.Add(*(spread_constants(term) if isinstance(term, sympy.Mul) else term for term in expression.args))
    return expression


def ridge_of(term: sympy.Expr, z: Sequence[sympy.Symbol]) -> Ridge | None:
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
    found = profile_kind(profile, t)
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


def profile_kind(profile: sympy.Expr, t: sympy.Symbol) -> tuple[str, tuple[tuple[float, float], ...]] | None:
    """Whether a function of one variable is convex: ("strict", ()) or ("kinked", pieces); None if that is not known.

    Strict convexity is proved: the second derivative is positive on the whole line (or on the domain of the function)
    except at isolated zeros, by the interval ranges of its atoms.
    """
    kinked = _kinked(profile, t)
    if kinked is not None:
        return ("kinked", kinked)
    return ("strict", ()) if _convex_analytic(profile, t) else None


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


def _convex_analytic(profile: sympy.Expr, t: sympy.Symbol) -> bool:
    """Strict convexity of an analytic function of one variable, proved where it is defined."""
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
    return _positive_second_derivative(profile, t)


def _positive_second_derivative(profile: sympy.Expr, t: sympy.Symbol) -> bool:
    """Interval proof that ``h'' >= 0`` on a covering of the line (of the half line, if h has a logarithm or a root)."""
    from bilevel_verify.intervals.batch import Interval
    from bilevel_verify.symbolic.differentiate import hessian
    from bilevel_verify.symbolic.program import program_of
    from bilevel_verify.truth.arithmetics import IntervalBatch

    half_line = bool(profile.atoms(sympy.log)) or any(
        p.exp.is_Rational and (p.exp < 0 or not p.exp.is_Integer) for p in profile.atoms(sympy.Pow)
    )
    form = None
    if half_line:
        form = _domain_start(profile, t)
    try:
        program = hessian(program_of(profile, [t]))
    except Exception:
        return False
    grid = np.concatenate([[-np.inf], -np.logspace(3, -6, 200), [0.0], np.logspace(-6, 3, 200), [np.inf]])
    if form is not None:
        slope, root = form
        grid = root + np.concatenate([[0.0], np.logspace(-6, 4, 300), [np.inf]]) * np.sign(slope)
        grid = np.sort(grid)
    boxes = Interval(grid[:-1], grid[1:])
    with np.errstate(all="ignore"):
        out = program.run(IntervalBatch(), [boxes])[0]
    return bool(np.all(np.broadcast_to(out.lo, boxes.lo.shape) >= 0)) and bool(np.any(out.lo > 0))


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

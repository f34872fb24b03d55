"""Closed forms: eigenvalues of exact matrices, exact extreme values of atoms, independence of rows."""

from __future__ import annotations

import itertools
from fractions import Fraction
from functools import lru_cache

import sympy
from sympy import Expr, Integer, Rational

from bilevel_verify.atoms.suprema import supremum
from bilevel_verify.constants.formula.structure import Ridge, Structure
from bilevel_verify.intervals.scalar import Derived, FamilyScalar, Huber, Power, Psi, Scalar, Trigonometric
from bilevel_verify.numbers.rounding import enclose


@lru_cache(maxsize=4096)
def exact_range(function: Scalar, order: int) -> tuple[Expr, Expr] | None:
    """Exact infimum and supremum of ``phi^(order)`` on the whole line, where a closed form is known."""
    if isinstance(function, Derived):
        return exact_range(function.base, order + function.order)
    if isinstance(function, Trigonometric):
        return Integer(-1), Integer(1)
    if isinstance(function, Psi):
        return _psi_range(function.nu, order)
    if isinstance(function, Huber):
        delta = Rational(function.delta.numerator, function.delta.denominator)
        return {1: (-delta, delta), 2: (Integer(0), Integer(1))}.get(order)
    if isinstance(function, Power):
        return _power_range(function, order)
    if isinstance(function, FamilyScalar):
        return _family_range(function, order)
    return None


def _power_range(function: Power, order: int) -> tuple[Expr, Expr] | None:
    if function.kind == "plain" and function.exponent == order:
        value = Integer(int(function.factor(order)))
        return value, value
    return None


def _psi_range(nu: Fraction, order: int) -> tuple[Expr, Expr] | None:
    n = Rational(nu.numerator, nu.denominator)
    size = {1: 1 / (2 + n), 2: 1 / (1 + n), 3: Integer(1)}.get(order)
    if order == 0:
        return -(4 + n) / ((2 + n) * (3 + n)), Integer(0)
    return None if size is None else (-size, size)


_ODD = {
    "tanh": 0,
    "sigmoid": None,
    "lorentz": 1,
    "odd_lorentz": 0,
    "atan": 0,
    "asinh": 0,
    "hypot1": 1,
    "gauss": 1,
    "logcosh": 1,
    "softplus": None,
    "log1psquare": 1,
}
"""Parity: 0 for odd functions, 1 for even ones."""


def _family_range(function: FamilyScalar, order: int) -> tuple[Expr, Expr] | None:
    """The sup of the absolute value is exact; the other end is exact if the derivative is odd, or is an infimum 0."""
    top = supremum(function.name, order)
    if top is None or not top.is_finite:
        return None
    parity = _ODD[function.name]
    shifted = {"sigmoid": 0, "softplus": 1}.get(function.name, parity)
    is_odd = (
        shifted is not None
        and (order + shifted) % 2 == 0
        and order >= (1 if function.name in ("sigmoid", "softplus") else 0)
    )
    if is_odd:
        return -top, top
    from bilevel_verify.intervals.batch import Interval

    whole = function.range(order, Interval.of(float("-inf"), float("inf")))
    low, high = float(whole.lo), float(whole.hi)
    if abs(high) >= abs(low):
        if low > -1e-12:
            return Integer(0), top
        return _other_end(function.name, order, low), top
    if high < 1e-12:
        return -top, Integer(0)
    return -top, _other_end(function.name, order, high)


SIMPLE = {
    ("log1psquare", 2): Rational(-1, 4),
    ("tanh", 3): Rational(2, 3),
    ("sigmoid", 3): Rational(1, 24),
    ("softplus", 4): Rational(1, 24),
    ("logcosh", 4): Rational(2, 3),
    ("atan", 3): Rational(1, 2),
    ("lorentz", 2): Rational(1, 2),
    ("odd_lorentz", 1): Rational(-1, 8),
}
"""The smaller end of the range of a derivative, where it is a simple number."""


def _other_end(name: str, order: int, value: float) -> Expr:
    """The smaller end: exact where it is one of the simple numbers of the table, else a safe rational."""
    if (name, order) in SIMPLE:
        return SIMPLE[name, order]
    return Rational(Fraction(value).numerator, Fraction(value).denominator) * (1 + Rational(1, 10**15))


def safe_ends(ridge: Ridge, order: int) -> tuple[bool, bool]:
    """Whether the lower and the upper end of ``weight * phi^(order)`` are safe rationals only, and no closed forms."""
    low, high = _safe_ends(ridge.function, order)
    return (high, low) if enclose(ridge.weight)[1] < 0 else (low, high)


def _safe_ends(function: Scalar, order: int) -> tuple[bool, bool]:
    if isinstance(function, Derived):
        return _safe_ends(function.base, order + function.order)
    bounds = exact_range(function, order) if isinstance(function, FamilyScalar) else None
    top = None if bounds is None else supremum(function.name, order)
    if bounds is None or top is None or (function.name, order) in SIMPLE:
        return False, False
    return bounds[0] not in (-top, top, 0), bounds[1] not in (-top, top, 0)


def independent_rows(ridges: tuple[Ridge, ...], n: int) -> bool:
    """Whether the rows of the ridges are linearly independent (exact for rational rows, else by SymPy's rank)."""
    if not ridges:
        return True
    if len(ridges) > n:
        return False
    rows = [[Integer(0)] * n for _ in ridges]
    for number, ridge in enumerate(ridges):
        for i, c in ridge.row:
            rows[number][i] = c
    if all(c.is_Rational for row in rows for c in row):
        import flint

        matrix = flint.fmpq_mat(len(rows), n, [flint.fmpq(int(c.p), int(c.q)) for row in rows for c in row])
        return bool(matrix.rank() == len(rows))
    if len(rows) > 12:
        return False
    return bool(sympy.Matrix(rows).rank(simplify=True) == len(rows))


def exact_matrix(structure: Structure, coefficients: list[Expr], members: tuple[int, ...]) -> list[list[Expr]]:
    """``Q + sum_l c_l a_l a_l'`` restricted to some variables, exactly."""
    place = {i: p for p, i in enumerate(members)}
    rows = [[Integer(0) for _ in members] for _ in members]
    for (i, j), value in structure.quadratic.items():
        if i in place and j in place:
            rows[place[i]][place[j]] += value
            if i != j:
                rows[place[j]][place[i]] += value
    for c, ridge in zip(coefficients, structure.ridges):
        inside = [(place[i], v) for i, v in ridge.row if i in place]
        for p, u in inside:
            for q, v in inside:
                rows[p][q] += c * u * v
    return rows


VERTICES = 8
"""Most ridges whose extreme slopes are combined exhaustively for a closed form of a gradient norm."""


def gradient_vertex(structure: Structure, ranges: list[tuple[Expr, Expr]], members: tuple[int, ...]) -> Expr | None:
    """Largest ``|b + sum_l c_l a_l|`` over ``c_l`` in its range, at a vertex (attained for independent slopes)."""
    inside = set(members)
    if any(set(pair) & inside for pair in structure.quadratic) or any(not v.is_finite for r in ranges for v in r):
        return None
    seen = [n for n, ridge in enumerate(structure.ridges) if inside & {i for i, _ in ridge.row}]
    if len(seen) > VERTICES:
        return None
    best: Expr | None = None
    for choice in itertools.product((0, 1), repeat=len(seen)):
        slope = {i: structure.linear.get(i, Integer(0)) for i in members}
        for number, end in zip(seen, choice):
            for i, c in structure.ridges[number].row:
                if i in inside:
                    slope[i] += ranges[number][end] * c
        square = sympy.expand(sum((v**2 for v in slope.values()), Integer(0)))
        best = square if best is None else larger(best, square)
    return None if best is None else sympy.sqrtdenest(sympy.sqrt(best))


@lru_cache(maxsize=1024)
def extreme_eigenvalue(rows: tuple[tuple[Expr, ...], ...], largest: bool) -> Expr | None:
    """Closed form of the largest (smallest) eigenvalue of an exact symmetric matrix, if it is quadratic or rational."""
    n = len(rows)
    if n == 1:
        return sympy.expand(rows[0][0])
    if all(c.is_Rational for row in rows for c in row):
        return _rational_extreme(rows, largest)
    if n == 2:
        (a, b), (_, d) = rows
        root = sympy.sqrt(sympy.expand((a - d) ** 2 + 4 * b**2))
        return sympy.expand((a + d + root) / 2 if largest else (a + d - root) / 2)
    return None


def _rational_extreme(rows: tuple[tuple[Expr, ...], ...], largest: bool) -> Expr | None:
    """Roots of the factors of the characteristic polynomial; the extreme one if its factor has degree at most 2."""
    return _extreme_root(_eigenvalues(rows), largest)


def smallest_positive_eigenvalue(rows: tuple[tuple[Expr, ...], ...]) -> Expr | None:
    """Smallest positive eigenvalue of a positive semidefinite rational matrix (None if indefinite or not closed)."""
    if not all(c.is_Rational for row in rows for c in row):
        return None
    values = _eigenvalues(rows)
    if any(high < 0 for _, high, _ in values):
        return None
    return _extreme_root([v for v in values if v[0] > 0], False)


def _eigenvalues(rows: tuple[tuple[Expr, ...], ...]) -> list[tuple[float, float, Expr | None]]:
    """Distinct eigenvalues of a rational matrix: enclosures, and closed forms up to quadratic ones."""
    import flint

    n = len(rows)
    matrix = flint.fmpq_mat(n, n, [flint.fmpq(int(c.p), int(c.q)) for row in rows for c in row])
    characteristic = matrix.charpoly()
    coefficients = [characteristic[k] for k in range(n + 1)]
    denominator = 1
    for c in coefficients:
        denominator = int(sympy.ilcm(denominator, int(c.q)))
    poly = flint.fmpz_poly([int(c.p) * (denominator // int(c.q)) for c in coefficients])
    return [root for factor, _ in poly.factor()[1] for root in _factor_roots(factor)]


def _extreme_root(values: list[tuple[float, float, Expr | None]], largest: bool) -> Expr | None:
    best: tuple[float, float, Expr | None] | None = None
    for low, high, closed in values:
        if best is None or (low > best[1] if largest else high < best[0]):
            best = low, high, closed
        elif not (high < best[0] if largest else low > best[1]):
            return None  # not separated: leave it to the enclosure
    return None if best is None else best[2]


def _factor_roots(factor: object) -> list[tuple[float, float, Expr | None]]:
    degree = int(factor.degree())  # type: ignore[attr-defined]
    c = [Integer(int(factor[k])) for k in range(degree + 1)]  # type: ignore[index]
    if degree == 1:
        closed: list[Expr] = [-c[0] / c[1]]
    elif degree == 2:
        root = sympy.sqrt(c[1] ** 2 - 4 * c[2] * c[0])
        closed = [(-c[1] + root) / (2 * c[2]), (-c[1] - root) / (2 * c[2])]
    else:
        from bilevel_verify.numbers.rounding import floats_of

        roots = factor.complex_roots()  # type: ignore[attr-defined]
        return [(*floats_of(value.real), None) for value, _ in roots]
    return [(*enclose(value), value) for value in closed]


def orthogonal(ridges: tuple[Ridge, ...]) -> bool:
    """Whether the rows are mutually orthogonal (exactly)."""
    for i, first in enumerate(ridges):
        for second in ridges[i + 1 :]:
            other = dict(second.row)
            dot = sympy.expand(sum((v * other[j] for j, v in first.row if j in other), Integer(0)))
            if dot != 0:
                return False
    return True


def scale(weight: Expr, bounds: tuple[Expr, Expr]) -> tuple[Expr, Expr]:
    """A range times a number, in order."""
    low, high = weight * bounds[0], weight * bounds[1]
    return (low, high) if larger(low, high) == high else (high, low)


def larger(a: Expr, b: Expr) -> Expr:
    """The larger of two exact numbers (ties either way)."""
    if a == b:
        return a
    first, second = enclose(a), enclose(b)
    if first[0] > second[1]:
        return a
    if second[0] > first[1]:
        return b
    return a if sympy.simplify(a - b).is_nonnegative else b


def frozen(rows: list[list[Expr]]) -> tuple[tuple[Expr, ...], ...]:
    """A matrix as expanded, hashable rows."""
    return tuple(tuple(sympy.expand(c) for c in row) for row in rows)

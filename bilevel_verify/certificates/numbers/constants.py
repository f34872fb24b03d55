"""Certificates of constants: an upper bound of a norm, a lower bound of a curvature, as signs of minors on the box.

A symmetric matrix is positive semidefinite if its principal minors are nonnegative, positive definite if its leading
ones are positive (Sylvester). So ``|M| <= L`` is a sign of the minors of ``L I - M`` and ``L I + M``, or of
``L^2 I - M M'`` where M is not symmetric, and ``M >= mu I`` of those of ``M - mu I``. The derivatives in M are SymPy's:
the checker sees formulas, not where they come from.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import combinations

import sympy

from bilevel_verify.certificates.finding import Certificate
from bilevel_verify.certificates.numbers.boxes import certificates_on_cells, tightest
from bilevel_verify.certificates.numbers.relations import Range, Ranges, Relation
from bilevel_verify.constants.api import Constants
from bilevel_verify.constants.bound.constant import Constant
from bilevel_verify.constants.formula.domain import domain_of
from bilevel_verify.constants.papers import Letter
from bilevel_verify.problems.problem import Problem

MOST_ROWS = 4
"""Rows of a matrix whose minors are written out."""


@dataclass(frozen=True, slots=True)
class Shown:
    """What certificates say of one constant.

    Attributes
    ----------
    letter : its name. ``value`` : the certified constant, a float.
    bound : shown by the certificates: the letter is at most (``side`` "lower": at least) this; None without any.
    certificates : all of them together show it.
    reason : why there are none.
    """

    letter: str
    value: float
    side: str
    bound: Fraction | None = None
    certificates: tuple[Certificate, ...] = ()
    reason: str = ""


def certified_constant(table: Constants, name: str) -> Shown:
    """Certificates for one constant of a table; see :class:`Shown`."""
    constant, letter = table[name], table.paper.names[name]
    bare = Shown(name, constant.value, constant.side)
    if reason := _refusal(constant, letter):  # a constant that is infinite may have no derivative to look at
        return replace(bare, reason=reason)
    found = [_matrix(table.problem, function, form) for function, form in letter.parts]
    matrices = [matrix for matrix in found if not isinstance(matrix, str)]
    reason = next((one for one in found if isinstance(one, str)), "")
    if reason or not matrices:
        return replace(bare, reason=reason)

    def attempt(slack: Fraction, most: int) -> Shown:
        bound = _bound(constant, slack)
        relations = [one for matrix in matrices for one in _relations(matrix, constant, bound, bool(slack))]
        about = _about(table.problem, constant, bound)
        shown = _all(relations, ranges_of(table.problem), about, most)
        return replace(bare, bound=bound, certificates=shown)

    best, reason = tightest(attempt)
    return best or replace(bare, reason=reason)


def _refusal(constant: Constant, letter: Letter) -> str:
    if letter.measure not in ("norm", "strong convexity", "gradient"):
        return f"of the kind: {letter.measure}"
    if not constant.certified or abs(constant.value) == float("inf"):
        return "not certified, or infinite"
    return ""


def ranges_of(problem: Problem) -> dict[str, Range]:
    """The letters: name -> ends, rounded outward; None where a letter has no end."""
    domain = domain_of(problem)
    ends = zip(problem.variables, domain.lo, domain.hi)
    return {v.name: (_end(lo), _end(hi)) for v, lo, hi in ends}


def _end(end: float) -> Fraction | None:
    return Fraction(end) if abs(end) < float("inf") else None


def _bound(constant: Constant, slack: Fraction) -> Fraction:
    """The certified value, moved by a share of itself to its weaker side."""
    value = Fraction(constant.value)
    if constant.exact is not None and constant.exact.is_Rational:
        value = Fraction(int(constant.exact.p), int(constant.exact.q))
    return value + slack * abs(value) * (-1 if constant.side == "lower" else 1)


def _matrix(problem: Problem, function: str, form: str) -> sympy.Matrix | str:
    """The derivative of a form as a matrix (gradients are one column), or why it has no certificate."""
    expression = problem.f if function == "f" else problem.lower
    blocks = [{"x": problem.x, "y": problem.y, "z": problem.variables}[word] for word in form]
    if expression is None or not all(blocks):
        return f"no {function} in {form}"
    if len(blocks) == 1:
        return sympy.Matrix([sympy.diff(expression, v) for v in blocks[0]])
    rows, columns, *more = blocks
    if more and any(len(block) > 1 for block in blocks):
        return "a tensor"
    if min(len(rows), len(columns)) > MOST_ROWS or (rows is columns and len(rows) > MOST_ROWS):
        return f"a matrix of more than {MOST_ROWS} rows"
    further = [block[0] for block in more]
    return sympy.Matrix([[sympy.diff(expression, u, v, *further) for v in columns] for u in rows])


def _relations(
    matrix: sympy.Matrix, constant: Constant, bound: Fraction, strict: bool
) -> Iterator[tuple[sympy.Expr, str, sympy.Expr]]:
    """Relations whose truth on the box bounds the norm (or, for a lower bound, the curvature) of the matrix."""
    level = sympy.Rational(bound)
    if constant.side == "lower":
        yield from _positive(matrix - level * sympy.eye(matrix.rows), strict)
    elif matrix.shape == (1, 1) and _odd(matrix[0]):
        yield matrix[0] ** 2, "<=", level**2  # a square is bounded where no letter has an end, too
    elif matrix.shape == (1, 1):
        yield -level, "<=", matrix[0]
        yield matrix[0], "<=", level
    elif matrix.is_symmetric():
        for sign in (1, -1):
            yield from _positive(level * sympy.eye(matrix.rows) + sign * matrix, strict)
    else:
        wide = matrix if matrix.rows <= matrix.cols else matrix.T
        yield from _positive(level**2 * sympy.eye(wide.rows) - wide * wide.T, strict)


def _odd(entry: sympy.Expr) -> bool:
    """Whether a formula that is no polynomial changes its sign with its letters."""
    turned = entry.subs({letter: -letter for letter in entry.free_symbols}, simultaneous=True)
    return not entry.is_polynomial() and sympy.expand(entry + turned) == 0


def _positive(matrix: sympy.Matrix, strict: bool) -> Iterator[tuple[sympy.Expr, str, sympy.Expr]]:
    """Sylvester: leading minors positive, or all principal minors nonnegative."""
    n = matrix.rows
    for size in range(1, n + 1):
        for chosen in [tuple(range(size))] if strict else combinations(range(n), size):
            minor = matrix[list(chosen), list(chosen)].det(method="berkowitz")
            yield sympy.S.Zero, "<" if strict else "<=", minor


def _all(
    relations: Sequence[tuple[sympy.Expr, str, sympy.Expr]], ranges: Ranges, about: Mapping[str, str], most: int
) -> tuple[Certificate, ...]:
    """A certificate of each relation; of one with branches on each cell between their joints.

    Raises
    ------
    NoTree : one has none.
    """
    found = []
    for small, op, large in relations:
        letters = {symbol.name for symbol in small.free_symbols | large.free_symbols}
        relation = Relation(small, op, large, {name: ends for name, ends in ranges.items() if name in letters})
        found += certificates_on_cells(relation, about, most)
    return tuple(found)


def _about(problem: Problem, constant: Constant, bound: Fraction) -> dict[str, str]:
    side = ">=" if constant.side == "lower" else "<="
    return {
        "problem": problem.name,
        "constant": constant.name,
        "meaning": constant.meaning,
        "shown": f"{constant.name} {side} {bound} = {float(bound):.9g}, with the other files of this constant",
    }

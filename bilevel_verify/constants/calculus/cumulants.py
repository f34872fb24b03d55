"""Norms of mixed derivative forms of logsumexp: branch and bound over the probabilities instead of over space.

``D^k log sum exp (W z + c)`` is the k-th cumulant tensor of a law with probabilities ``p`` on the rows of ``W``: a
polynomial in ``p``, whatever ``z``. Its norm over the closed simplex bounds the form on every domain, and on the whole
space it is the supremum as soon as the rows are affinely independent (every ``p`` of the open simplex occurs).
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np
import sympy
from sympy import Expr, Integer

from bilevel_verify.constants.calculus.forms import Form
from bilevel_verify.constants.formula.model import Model, Pieces
from bilevel_verify.constants.formula.structure import Structure
from bilevel_verify.constants.search.branch import supremum
from bilevel_verify.intervals.batch import Interval
from bilevel_verify.intervals.jet_arithmetic import JetArithmetic
from bilevel_verify.intervals.jets import coefficients_of, jet_space
from bilevel_verify.numbers.rounding import Array

ROWS = 4
"""Most rows for which the simplex is searched."""

Rows = tuple[tuple[Expr, ...], ...]


@lru_cache(maxsize=256)
def mixed_norm(
    rows: Rows, slots: str, x_members: tuple[int, ...], tolerance: float = 1e-2, budget: int = 3000
) -> float:
    """Upper bound of the norm of a form of order 3 or 4 of ``log sum exp`` with these rows, on any domain.

    Parameters
    ----------
    rows : rows of ``W``, one per term, over all variables.
    slots : word over ``x y z``.
    x_members : numbers of the variables of the x block.
    """
    n, k, free = len(rows[0]), len(slots), len(rows) - 1
    variables = tuple(sympy.Symbol(f"z{i}", real=True) for i in range(n))
    is_x = tuple(i in x_members for i in range(n))
    structure = Structure(variables, {}, {}, (), sympy.Add(*variables) ** 3)
    form = Form(Model(structure, is_x), slots)
    program = _entries(rows, k)

    def evaluate(lo: Array, hi: Array) -> Pieces:
        values = _ranges(program, lo, hi)
        return Pieces(k, Interval(np.zeros((len(lo), 0)), np.zeros((len(lo), 0))), values)

    def bound(lo: Array, hi: Array) -> Array:
        return np.where(lo.sum(axis=1) > 1.0 + 1e-9, 0.0, form.upper(evaluate(lo, hi)))

    def sample(points: Array) -> Array:
        return np.where(points.sum(axis=1) > 1.0, -np.inf, form.lower(evaluate(points, points)))

    return supremum(bound, sample, np.zeros(free), np.ones(free), tolerance, budget).upper


@lru_cache(maxsize=64)
def _entries(rows: Rows, k: int) -> Any:
    """Program of all entries of the k-th cumulant in the first probabilities (the last one is what is missing to 1)."""
    from bilevel_verify.symbolic.program import program_of

    free = sympy.symbols(f"p0:{len(rows) - 1}", real=True)
    law = [*free, 1 - sympy.Add(*free)]
    n = len(rows[0])
    mean = [sum((p * row[i] for p, row in zip(law, rows)), Integer(0)) for i in range(n)]
    space = jet_space(n, k)

    def moment(positions: tuple[int, ...]) -> Expr:
        return sum((p * sympy.prod([row[i] - mean[i] for i in positions]) for p, row in zip(law, rows)), Integer(0))

    out = []
    for number in space.of_degree(k):
        positions = tuple(i for i, count in enumerate(space.indices[number]) for _ in range(count))
        total = moment(positions)
        if k == 4:
            for pair in ((0, 1), (0, 2), (0, 3)):
                other = tuple(i for i in range(4) if i not in pair)
                total -= moment(tuple(positions[i] for i in pair)) * moment(tuple(positions[i] for i in other))
        out.append(sympy.expand(total))
    return program_of(out, list(free))


def _ranges(program: Any, lo: Array, hi: Array) -> Interval:
    """Ranges of the entries over boxes of probabilities, shape (boxes, entries): centred form met with the natural."""
    free = lo.shape[1]
    arithmetic = JetArithmetic(free, 1)
    jets = program.run(arithmetic, arithmetic.variables(lo, hi))
    middle = 0.5 * lo + 0.5 * hi
    plain = JetArithmetic(free, 0)
    centres = program.run(plain, plain.variables(middle, middle))
    low, high = np.empty((len(lo), len(jets))), np.empty((len(lo), len(jets)))
    left, right = np.nextafter(lo - middle, -np.inf), np.nextafter(hi - middle, np.inf)
    for column, (jet, centre) in enumerate(zip(jets, centres)):
        total = _wide(coefficients_of(centre, 0)[0], len(lo))
        slopes = coefficients_of(jet, 1)
        order = [jet.space.indices[number].index(1) for number in jet.space.of_degree(1)]
        for row, variable in enumerate(order):
            total = total + _wide(slopes[row], len(lo)) * Interval(left[:, variable], right[:, variable])
        total = total.meet(_wide(coefficients_of(jet, 0)[0], len(lo)))
        low[:, column], high[:, column] = total.lo, total.hi
    return Interval(low, high)


def _wide(row: Interval, count: int) -> Interval:
    return Interval(np.broadcast_to(row.lo, count), np.broadcast_to(row.hi, count))


def affordable(rows: Rows, slots: str) -> bool:
    """Whether the search is worth it: few rows, few variables, slots in different blocks (else closed forms hold)."""
    mixed = len(set(slots)) == 3 if len(slots) == 3 else len(set(slots)) > 1
    return len(rows) <= ROWS and len(rows[0]) <= 4 and len(slots) in (3, 4) and mixed

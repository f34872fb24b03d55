"""A function of affine forms: ``rest(z) = F(u)``, ``u = W z + s``, where that has few more arguments than variables.

Second derivatives are then ``W' F'' W``: the entries of ``F''`` are independent intervals, its own are not.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import sympy
from sympy import Expr, Symbol

from bilevel_verify.constants.formula.rewriting import is_affine
from bilevel_verify.intervals.batch import Interval, clean
from bilevel_verify.intervals.jets import jet_space
from bilevel_verify.numbers.rounding import UNDERFLOW, Array, down, enclose, up
from bilevel_verify.symbolic.program import program_of

MOST = 14
"""At most this many arguments: matrices of their number are bounded."""


ROOM = 1e-13
"""Relative room for the rounding of products with the rows."""


@dataclass(frozen=True, slots=True)
class Inner:
    """``F`` as a program of ``u``, and the rows of ``u = W z + s``.

    Attributes
    ----------
    outer, symbols, program : ``F``, its arguments, and its program. ``weights`` : ``W`` to the nearest, shape (r, n);
        ``plain`` : it is the identity.
    rows : for every argument the enclosed coefficients by variable, and the shift.
    """

    outer: Expr
    symbols: tuple[Symbol, ...]
    program: Any
    weights: Array
    plain: bool
    rows: tuple[tuple[tuple[tuple[int, Interval], ...], Interval], ...]

    def arguments(self, lo: Array, hi: Array) -> tuple[Array, Array]:
        """Ranges of ``u`` over boxes, shape (boxes, r)."""
        if self.plain:
            return lo, hi
        low, high = np.empty((len(lo), len(self.rows))), np.empty((len(lo), len(self.rows)))
        for number, (row, shift) in enumerate(self.rows):
            total = None if shift.lo == 0 == shift.hi else shift
            for i, c in row:
                box = Interval(lo[:, i], hi[:, i])
                term = box if c.lo == 1 == c.hi else box * c
                total = term if total is None else total + term
            assert total is not None
            low[:, number], high[:, number] = total.lo, total.hi
        return low, high


def inner_of(rest: Expr, variables: Sequence[Symbol], fewest: bool = False) -> Inner:
    """The arguments of a rest: its largest affine parts of two and more variables, and the variables elsewhere.

    ``fewest`` : leave out variables that do not occur, also where there is no such part.
    """
    n = len(variables)
    forms: dict[Expr, Symbol] = {}
    outer = _with_forms(rest, set(variables), forms)
    alone = [v for v in variables if v in outer.free_symbols]
    if not (forms or fewest) or len(forms) + len(alone) > MOST:
        thin = tuple((((i, _enclosed(sympy.Integer(1))),), _enclosed(sympy.Integer(0))) for i in range(n))
        return Inner(rest, tuple(variables), program_of(rest, list(variables)), np.eye(n), True, thin)
    place = {v: i for i, v in enumerate(variables)}
    rows = []
    for form in [*alone, *forms]:
        expanded = sympy.expand(form)
        coefficients = {place[v]: expanded.coeff(v, 1) for v in sorted(form.free_symbols, key=lambda v: place[v])}
        shift = expanded - sympy.Add(*[c * variables[i] for i, c in coefficients.items()])
        row = tuple((i, _enclosed(c)) for i, c in coefficients.items() if c != 0)
        rows.append((row, _enclosed(sympy.expand(shift))))
    weights = np.zeros((len(rows), n))
    for number, (row, _) in enumerate(rows):
        for i, c in row:
            weights[number, i] = c.centre()
    symbols = (*alone, *forms.values())
    return Inner(outer, symbols, program_of(outer, list(symbols)), weights, False, tuple(rows))


def _with_forms(node: sympy.Expr, variables: set[Symbol], forms: dict[Expr, Symbol]) -> sympy.Expr:
    """The same with every largest affine part that has two or more variables as one symbol."""
    inside = node.free_symbols & variables
    if len(inside) < 2 or not node.args:
        return node
    if isinstance(node, sympy.Add) and is_affine(node, variables):
        return forms.setdefault(node, sympy.Symbol(f"_u{len(forms)}", real=True))
    squares = _squares(node, inside) if isinstance(node, sympy.Add) else None
    if squares is not None:
        return squares[0] + sympy.Add(*[c * _with_forms(form, variables, forms) ** 2 for c, form in squares[1]])
    args = [_with_forms(a, variables, forms) for a in node.args]
    return node if args == list(node.args) else node.func(*args)


def _squares(node: Expr, inside: set[Symbol]) -> tuple[Expr, list[tuple[Expr, Expr]]] | None:
    """A definite quadratic with mixed terms, all numbers rational: a constant and ``c * form**2`` of one sign, exactly.

    Its values then never leave the right side of the constant, however wide the box is.
    """
    if not node.is_polynomial(*inside):
        return None
    letters = sorted(inside, key=lambda v: v.name)
    poly = sympy.Poly(node, *letters)
    mixed = any(sum(p > 0 for p in powers) > 1 for powers in poly.monoms())
    if poly.total_degree() != 2 or not mixed or not all(c.is_Rational for c in poly.coeffs()):
        return None
    rest = poly
    found: list[tuple[Expr, Expr]] = []
    for letter in letters:
        two, one = (sympy.Poly(rest.as_expr(), letter).coeff_monomial(letter**k) for k in (2, 1))
        if two == 0 or (found and two * found[0][0] < 0):
            return None
        form = sympy.expand(letter + one / (2 * two))
        found.append((two, form))
        rest = rest - sympy.Poly(two * form**2, *letters)
    return rest.as_expr(), found


def of_forms(weights: Array, entries: Interval, sign: int) -> list[Interval]:
    """``W' M W`` by multi-index for interval matrices ``M`` in ``u``: entry by entry, and from one side (``sign``).

    From above ``W' E W <= W' diag(R 1) W`` for every ``|E| <= R``: a matrix without radius (``sign = -1``: from below).
    """
    r, n = weights.shape
    low, high = _full(entries.lo, r), _full(entries.hi, r)
    with np.errstate(invalid="ignore", over="ignore"):
        centre = 0.5 * low + 0.5 * high
        radius = np.maximum(up(high - centre), up(centre - low))
        size = np.abs(weights)
        middle = weights.T @ centre @ weights
        # the weights are known to a relative 1e-15; two products of at most r terms each
        room = size.T @ (np.abs(centre) + radius) @ size * ROOM + UNDERFLOW
        wide = size.T @ radius @ size * (1 + ROOM) + room
        tilted = middle + sign * np.einsum("li,bl,lj->bij", weights, radius.sum(axis=2) * (1 + ROOM), weights)
        slack = room + np.einsum("li,bl,lj->bij", size, radius.sum(axis=2), size) * ROOM
    place = [(p, q) for p, q in (_pair(number, n) for number in jet_space(n, 2).of_degree(2))]
    rows, columns = [p for p, _ in place], [q for _, q in place]
    return [
        clean(down(m - w)[:, rows, columns], up(m + w)[:, rows, columns]) for m, w in ((middle, wide), (tilted, slack))
    ]


def _pair(number: int, n: int) -> tuple[int, int]:
    """The two variables of a second derivative."""
    p, q = (i for i, a in enumerate(jet_space(n, 2).indices[number]) for _ in range(a))
    return p, q


def _full(entries: Array, r: int) -> Array:
    """Symmetric matrices from second derivatives by multi-index."""
    out = np.zeros((len(entries), r, r))
    for column, number in enumerate(jet_space(r, 2).of_degree(2)):
        p, q = _pair(number, r)
        out[:, p, q] = out[:, q, p] = entries[:, column]
    return out


def _enclosed(value: Expr) -> Interval:
    low, high = enclose(value)
    return Interval(np.asarray(low), np.asarray(high))

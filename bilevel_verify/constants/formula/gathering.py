"""Written-out sums of many terms of one shape are sums over data again: one body, rows of coefficients, weights."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import sympy
from sympy import Expr, Symbol

from bilevel_verify.atoms.datasum import DataArray, DataForm, DataSum

FEWEST = 8
"""Terms of one shape from which on they are gathered."""

WIDEST = 12
"""Up to this many variables interval derivatives of the whole are affordable (and tighter)."""


@dataclass(frozen=True, slots=True)
class _Shape:
    """One term: ``weight * body(u_0, u_1, ...)`` with ``u_k = rows[k] . z + shifts[k]``."""

    weight: Expr
    body: Expr
    rows: tuple[dict[Symbol, Expr], ...]
    shifts: tuple[Expr, ...]


def gathered(rest: Expr | None, variables: Sequence[Symbol]) -> Expr | None:
    """The same sum with every group of at least :data:`FEWEST` terms of one shape as a sum over data.

    Only for more than :data:`WIDEST` variables. Coefficients become floats (relative error 1e-16, far below the room of
    the rules for sums over data).
    """
    if rest is None or len(variables) <= WIDEST or not isinstance(rest, sympy.Add):
        return rest
    groups: dict[Any, list[tuple[Expr, _Shape | None]]] = {}
    for term in rest.args:
        shape = None if term.has(DataSum) else _shape(term, set(variables))
        groups.setdefault(term if shape is None else shape.body, []).append((term, shape))
    parts: list[Expr] = []
    for members in groups.values():
        shapes = [shape for _, shape in members if shape is not None]
        if len(shapes) < FEWEST:
            parts += [term for term, _ in members]
        else:
            parts.append(_as_sum(shapes, variables))
    return sympy.Add(*parts)


def _shape(term: Expr, variables: set[Symbol]) -> _Shape | None:
    weight, core = term.as_coeff_Mul()
    found: dict[Expr, tuple[dict[Symbol, Expr], Expr]] = {}

    def collect(node: sympy.Expr) -> None:
        if node in found or not node.free_symbols & variables:
            return
        affine = _affine(node)
        if affine is not None:
            found[node] = affine
            return
        for child in node.args:
            collect(child)

    collect(core)
    if not found:
        return None
    ordered = list(found)
    body = core.xreplace({node: Symbol(f"_u{k}", real=True) for k, node in enumerate(ordered)})
    if body.free_symbols & variables:
        return None
    return _Shape(weight, body, tuple(found[n][0] for n in ordered), tuple(found[n][1] for n in ordered))


def _affine(node: sympy.Expr) -> tuple[dict[Symbol, Expr], Expr] | None:
    """Coefficients and constant of a sum of numbers and rational multiples of symbols."""
    row: dict[Symbol, Expr] = {}
    shift: Expr = sympy.Integer(0)
    for part in sympy.Add.make_args(node):
        coefficient, symbol = part.as_coeff_Mul()
        if part.is_number and part.is_Rational:
            shift += part
        elif symbol.is_Symbol:
            row[symbol] = coefficient
        else:
            return None
    return row, shift


def _as_sum(shapes: list[_Shape], variables: Sequence[Symbol]) -> Expr:
    """``sum_i w_i body(rows_i z + shifts_i)``."""
    place = {v: j for j, v in enumerate(variables)}
    forms: dict[Any, DataForm] = {}
    columns: dict[Any, DataArray] = {}
    body = shapes[0].body
    for k in range(len(shapes[0].rows)):
        matrix = np.zeros((len(shapes), len(variables)))
        for i, shape in enumerate(shapes):
            for symbol, coefficient in shape.rows[k].items():
                matrix[i, place[symbol]] = float(coefficient)
        used = np.flatnonzero(matrix.any(axis=0))
        u = Symbol(f"_u{k}", real=True)
        forms[u] = DataForm.rows(DataArray.of(f"_A{k}", matrix[:, used]), [variables[int(j)] for j in used])
        if any(shape.shifts[k] != 0 for shape in shapes):
            c = Symbol(f"_c{k}", real=True)
            columns[c] = DataArray.of(f"_c{k}", [float(shape.shifts[k]) for shape in shapes])
            body = body.xreplace({u: u + c})
    if len({shape.weight for shape in shapes}) == 1:
        return DataSum.of(body, forms, columns, len(shapes), shapes[0].weight)
    w = Symbol("_w", real=True)
    columns[w] = DataArray.of("_w", [float(shape.weight) for shape in shapes])
    return DataSum.of(w * body, forms, columns, len(shapes))

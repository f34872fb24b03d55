"""Structured functions on NumPy arrays: many points at once, or one point and many samples, by matrix products.

A :class:`NumericStructure` is a :class:`~bilevel_verify.symbolic.structure.Structure` in float64. Its groups may also
come straight from data arrays, which are never copied into expressions: ``sum_k phi(A[k] @ z; b[k])`` costs one product
with ``A`` for the forms and one with its transpose for the gradient, whatever ``phi`` is.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from itertools import product
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from bilevel_verify.atoms.datasum import DataForm, DataSum
from bilevel_verify.errors import ExpressionError
from bilevel_verify.numbers.floats import NUMPY
from bilevel_verify.numbers.kernels import nearest_float
from bilevel_verify.symbolic import differentiate
from bilevel_verify.symbolic.groups import Form, Group
from bilevel_verify.symbolic.lower import lower
from bilevel_verify.symbolic.program import Program, program_of
from bilevel_verify.symbolic.reader import exact
from bilevel_verify.symbolic.structure import Structure

if TYPE_CHECKING:
    import sympy

FloatArray = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Forms:
    """m affine forms ``u = z[:, columns] @ matrix.T + offset`` (no ``matrix``: ``z[columns[k]] + offset_k``)."""

    columns: NDArray[np.intp]
    matrix: FloatArray | None
    offset: FloatArray

    def at(self, z: FloatArray) -> FloatArray:
        """Values at points in rows: (N, m)."""
        linear = self.along(z)
        return linear if self.homogeneous else linear + self.offset

    def along(self, z: FloatArray) -> FloatArray:
        """The linear part: (N, m)."""
        chosen = z[:, self.span]
        return chosen if self.matrix is None else _times(chosen, self.matrix.T)

    @cached_property
    def homogeneous(self) -> bool:
        """Whether there is no constant."""
        return not self.offset.any()

    @cached_property
    def span(self) -> Any:
        """The columns as an index: a slice (no copy) where they follow each other."""
        columns = self.columns
        if len(columns) and np.array_equal(columns, np.arange(columns[0], columns[0] + len(columns))):
            return slice(int(columns[0]), int(columns[0]) + len(columns))
        return columns

    def restricted(self, variables: range) -> Forms:
        """The part that depends on some variables, whose columns are counted from their start."""
        inside = (self.columns >= variables.start) & (self.columns < variables.stop)
        if bool(inside.all()):
            return Forms(self.columns - variables.start, self.matrix, self.offset)
        if self.matrix is not None:
            return Forms(
                self.columns[inside] - variables.start, np.ascontiguousarray(self.matrix[:, inside]), self.offset
            )
        columns = np.arange(variables.start, min(variables.stop, self.dense.shape[1]))
        return Forms(columns - variables.start, np.ascontiguousarray(self.dense[:, columns]), self.offset)

    @cached_property
    def dense(self) -> FloatArray:
        """The coefficients as an (m, largest column + 1) matrix."""
        width = int(self.columns.max(initial=-1)) + 1
        result = np.zeros((len(self.offset), width))
        if self.matrix is None:
            result[np.arange(len(self.offset)), self.columns] = 1.0
        else:
            result[:, self.columns] = self.matrix
        return result

    def transposed(self, weights: FloatArray, target: FloatArray) -> None:
        """``target += weights @ coefficients`` on points in rows: weights (N, m), target (N, n)."""
        if not len(self.columns):
            return
        if self.matrix is not None:
            target[:, self.span] += _times(weights, self.matrix)
        elif isinstance(self.span, slice):
            target[:, self.span] += weights
        else:
            np.add.at(target.T, self.columns, weights.T)

    def rows(self, n: int) -> FloatArray:
        """Coefficients as an (m, n) matrix."""
        result = np.zeros((len(self.offset), n))
        result[:, : self.dense.shape[1]] = self.dense
        return result


def _times(a: FloatArray, b: FloatArray) -> FloatArray:
    """``a @ b``; a single row goes the way of a matrix-vector product."""
    return (b.T @ a[0])[None] if len(a) == 1 else a @ b


@dataclass(frozen=True, eq=False)
class NumericGroup:
    """``scale * sum_k template(u_1[k], ...; parameters[0][k], ...)``."""

    template: Program
    forms: tuple[Forms, ...]
    parameters: tuple[FloatArray, ...]
    scale: float = 1.0


class NumericStructure:
    """Values, gradients and products of a structured function at points in rows (N, n)."""

    def __init__(
        self,
        size: int,
        constant: float,
        linear: FloatArray,
        hessian: FloatArray | None,
        groups: Sequence[NumericGroup],
        core: Program | None = None,
        core_forms: Forms | None = None,
    ) -> None:
        self.size, self.constant, self.linear, self.hessian = size, constant, linear, hessian
        self.groups, self.core, self.core_forms = list(groups), core, core_forms
        self._programs: dict[Any, Program] = {}
        self._parts: dict[Any, Forms] = {}
        self._meeting: dict[Any, list[int]] = {}
        self._last: tuple[bytes, list[list[FloatArray]]] | None = None

    def value(self, z: FloatArray) -> FloatArray:
        """(N,)."""
        total: FloatArray = self.constant + z @ self.linear
        if self.hessian is not None:
            total = total + 0.5 * np.einsum("ni,ni->n", z @ self.hessian, z)
        for group, values in zip(self.groups, self.slots(z), strict=True):
            total = total + group.scale * self._terms(group, values).sum(axis=1)
        if self.core is not None:
            total = total + _spread(_run(self.core, self.core_inputs(z)), total)
        return total

    def _terms(self, group: NumericGroup, values: list[FloatArray]) -> FloatArray:
        program = self.program((group, "value"), lambda: group.template)
        return _spread(_run(program, [*values, *group.parameters]), values[0])

    def gradient(self, z: FloatArray, rows: range) -> FloatArray:
        """(N, len(rows))."""
        result = np.zeros((len(z), len(rows))) + self.linear[rows.start : rows.stop]
        if self.hessian is not None:
            result += z @ self.hessian[:, rows.start : rows.stop]
        for group, values in zip(self.groups, self.slots(z), strict=True):
            wanted = self.meeting(group, rows)
            program = self.program(
                (group, "gradient", tuple(wanted)), lambda g=group, w=wanted: differentiate.gradient(g.template, w)
            )
            weights = program.run(NUMPY, [*values, *group.parameters])
            for a, weight in zip(wanted, weights, strict=True):
                part = self.restricted(group.forms[a], rows)
                part.transposed(group.scale * _spread(weight, values[a]), result)
        self._core_gradient(z, rows, result)
        return result

    def product(self, z: FloatArray, rows: range, columns: range, v: FloatArray) -> FloatArray:
        """(N, len(rows)): the block of the Hessian times ``v`` (N, len(columns))."""
        result = np.zeros((len(z), len(rows)))
        if self.hessian is not None:
            result += v @ self.hessian[columns.start : columns.stop, rows.start : rows.stop]
        for group, values in zip(self.groups, self.slots(z), strict=True):
            wanted = self.meeting(group, rows)
            moved = self.meeting(group, columns)
            if not wanted or not moved:
                continue
            key = (group, "product", tuple(wanted), tuple(moved))
            program = self.program(key, lambda g=group, w=wanted, m=moved: _product_program(g.template, w, m))
            along = [self.restricted(group.forms[a], columns).along(v) for a in moved]
            weights = program.run(NUMPY, [*values, *group.parameters, *along])
            for a, weight in zip(wanted, weights, strict=True):
                self.restricted(group.forms[a], rows).transposed(group.scale * _spread(weight, values[a]), result)
        self._core_product(z, rows, columns, v, result)
        return result

    def full_hessian(self, z: FloatArray) -> FloatArray:
        """(N, n, n)."""
        n = self.size
        result = np.zeros((len(z), n, n)) if self.hessian is None else np.tile(self.hessian, (len(z), 1, 1))
        for group, values in zip(self.groups, self.slots(z), strict=True):
            count = len(group.forms)
            program = self.program(
                (group, "hessian"), lambda g=group, c=count: differentiate.hessian(g.template, range(c))
            )
            entries = program.run(NUMPY, [*values, *group.parameters])
            rows = [forms.rows(n) for forms in group.forms]
            for a in range(count):
                for b in range(count):
                    weight = group.scale * _spread(entries[a * count + b], values[a])
                    if np.any(weight):
                        result += np.einsum("nk,ki,kj->nij", weight, rows[a], rows[b], optimize=True)
        self._core_full_hessian(z, result)
        return result

    def third(self, z: FloatArray) -> FloatArray:
        """Third derivatives of the groups in symmetric storage: (N, n (n+1) (n+2) / 6). No core, no quadratic part."""
        places = differentiate.packed_positions(self.size)
        first, second, last = (np.array([p[axis] for p in places], dtype=np.intp) for axis in range(3))
        result = np.zeros((len(z), len(places)))
        for group, values in zip(self.groups, self.slots(z), strict=True):
            count = len(group.forms)
            program = self.program(
                (group, "third"), lambda g=group, c=count: differentiate.third_derivative(g.template, range(c))
            )
            entries = program.run(NUMPY, [*values, *group.parameters])
            packed = dict(zip(differentiate.packed_positions(count), entries, strict=True))
            matrices = [forms.rows(self.size) for forms in group.forms]
            for a, b, c in product(range(count), repeat=3):
                i, j, k = sorted((a, b, c))
                weights = group.scale * _spread(packed[i, j, k], values[a])
                if np.any(weights):
                    for row, weight in enumerate(weights):
                        full = _triple(weight, matrices[a], matrices[b], matrices[c])
                        result[row] += full[first, second, last]
        return result

    # the core

    def core_inputs(self, z: FloatArray) -> list[FloatArray]:
        """Variables and forms, each (N,)."""
        forms = [] if self.core_forms is None else list(self.core_forms.at(z).T)
        return [*z.T, *forms]

    def _core_rows(self) -> FloatArray:
        """Jacobian of the inputs of the core: identity, then its forms."""
        identity = np.eye(self.size)
        return identity if self.core_forms is None else np.vstack([identity, self.core_forms.rows(self.size)])

    def _core_gradient(self, z: FloatArray, rows: range, result: FloatArray) -> None:
        if self.core is None:
            return
        core = self.core
        program = self.program("core gradient", lambda: differentiate.gradient(core))
        weights = np.stack([_spread(w, z[:, 0]) for w in program.run(NUMPY, self.core_inputs(z))], axis=1)
        result += weights @ self._core_rows()[:, rows.start : rows.stop]

    def _core_product(self, z: FloatArray, rows: range, columns: range, v: FloatArray, result: FloatArray) -> None:
        if self.core is None:
            return
        everything = range(len(self.core.inputs))
        core = self.core
        program = self.program("core product", lambda: _product_program(core, everything, everything))
        jacobian = self._core_rows()
        along = v @ jacobian[:, columns.start : columns.stop].T
        weights = [_spread(w, z[:, 0]) for w in program.run(NUMPY, [*self.core_inputs(z), *along.T])]
        result += np.stack(weights, axis=1) @ jacobian[:, rows.start : rows.stop]

    def _core_full_hessian(self, z: FloatArray, result: FloatArray) -> None:
        if self.core is None:
            return
        core = self.core
        program = self.program("core hessian", lambda: differentiate.hessian(core))
        count = len(program.inputs)
        entries = [_spread(e, z[:, 0]) for e in program.run(NUMPY, self.core_inputs(z))]
        inner = np.stack(entries, axis=1).reshape(len(z), count, count)
        jacobian = self._core_rows()
        result += jacobian.T @ inner @ jacobian

    # shared work

    def slots(self, z: FloatArray) -> list[list[FloatArray]]:
        """Affine forms of every group at the points; kept for the next question at the same points."""
        key = z.tobytes() if z.size <= 100_000 else b""
        if self._last is not None and key and self._last[0] == key:
            return self._last[1]
        values = [[forms.at(z) for forms in group.forms] for group in self.groups]
        self._last = (key, values)
        return values

    def program(self, key: object, derive: Callable[..., Program]) -> Program:
        """A derived program, derived once."""
        if key not in self._programs:
            self._programs[key] = lower(derive())
        return self._programs[key]

    def meeting(self, group: NumericGroup, variables: range) -> list[int]:
        """Slots of a group that depend on some variables."""
        key = (group, variables)
        if key not in self._meeting:
            self._meeting[key] = [a for a, forms in enumerate(group.forms) if _meets(forms, variables)]
        return self._meeting[key]

    def restricted(self, forms: Forms, variables: range) -> Forms:
        """``forms.restricted(variables)``, computed once."""
        key = (id(forms), variables)
        if key not in self._parts:
            self._parts[key] = forms.restricted(variables)
        return self._parts[key]


def _triple(weight: FloatArray, a: FloatArray, b: FloatArray, c: FloatArray) -> FloatArray:
    """``sum_k weight[k] a[k] x b[k] x c[k]``: one matrix product for each entry of the first factor."""
    weighted = weight[:, None] * a
    return np.stack([(weighted[:, i, None] * b).T @ c for i in range(a.shape[1])])


def numeric(structure: Structure) -> NumericStructure:
    """A structure in float64."""
    n = structure.size
    linear = np.zeros(n)
    for i, value in structure.linear.items():
        linear[i] = nearest_float(value)
    hessian = np.zeros((n, n)) if structure.quadratic else None
    for (i, j), value in structure.quadratic.items():
        assert hessian is not None
        hessian[i, j] += nearest_float(value)
        hessian[j, i] += nearest_float(value)
    groups = [_numeric_group(group) for group in structure.groups]
    forms = _numeric_forms(structure.forms) if structure.forms else None
    return NumericStructure(n, nearest_float(structure.constant), linear, hessian, groups, structure.core, forms)


def data_group(factor: sympy.Expr, data: DataSum, positions: Mapping[object, int]) -> NumericGroup:
    """A sum over data as a group; ``positions`` says which input a variable is."""
    names = data.bound_symbols
    template = program_of(data.body, names)
    forms = tuple(_data_forms(form, data.count, positions) for form in data.forms.values())
    parameters = tuple(column.values for column in data.columns.values())
    return NumericGroup(template, forms, parameters, nearest_float(exact_scale(factor, data)))


def exact_scale(factor: sympy.Expr, data: DataSum) -> Fraction:
    """The factor in front of a sum over data, as an exact number."""
    return exact(factor * data.scale)


def _data_forms(form: DataForm, count: int, positions: Mapping[object, int]) -> Forms:
    try:
        columns = np.array([positions[v] for v in form.variables], dtype=np.intp)
    except KeyError as error:
        raise ExpressionError(f"a sum over data needs plain variables, not {error}") from None
    matrix = form.matrix if form.kind == "rows" else None
    return Forms(np.repeat(columns, count) if form.kind == "same" else columns, matrix, np.zeros(count))


def _numeric_group(group: Group) -> NumericGroup:
    parameters = tuple(np.array([nearest_float(p) for p in column]) for column in group.parameters)
    return NumericGroup(group.template, tuple(_numeric_forms(forms) for forms in group.forms), parameters)


def _numeric_forms(forms: Sequence[Form]) -> Forms:
    columns = np.array(sorted({i for row, _ in forms for i in row}), dtype=np.intp)
    place = {int(i): p for p, i in enumerate(columns)}
    matrix = np.zeros((len(forms), len(columns)))
    for k, (row, _) in enumerate(forms):
        for i, value in row.items():
            matrix[k, place[i]] = nearest_float(value)
    return Forms(columns, matrix, np.array([nearest_float(c) for _, c in forms]))


def _product_program(template: Program, rows: Sequence[int], columns: Sequence[int]) -> Program:
    return differentiate.jacobian_product(differentiate.gradient(template, rows), columns)


def _run(program: Program, inputs: Sequence[NDArray[np.float64]]) -> Any:
    return program.run(NUMPY, inputs)[0]


def _spread(value: NDArray[np.float64] | float, like: FloatArray) -> FloatArray:
    """A result that may not depend on the point, in the shape of the points."""
    array = np.asarray(value, dtype=float)
    return array if array.shape == like.shape else np.broadcast_to(array, like.shape)


def _meets(forms: Forms, variables: range) -> bool:
    return bool(np.any((forms.columns >= variables.start) & (forms.columns < variables.stop)))

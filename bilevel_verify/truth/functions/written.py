"""Sums that a formula writes out term by term, as sums over data: the same numbers, exactly.

Coefficients are exact fractions, and matrices hold floats. So the numbers of one matrix are brought over one
denominator, which the term divides by, and a numerator that is no float becomes the sum of two that are.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import lcm
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bilevel_verify.atoms.datasum import DataArray, DataForm
from bilevel_verify.symbolic.graph import ONE, Graph
from bilevel_verify.symbolic.groups import Form, Group
from bilevel_verify.symbolic.program import Program, finish
from bilevel_verify.symbolic.structure import repeated
from bilevel_verify.truth.functions.sums import GroupSum

FloatArray = NDArray[np.float64]

MOST_BITS = 106
"""Longest numerators: two floats hold them."""
WRITTEN_OUT = 64
"""Terms of one shape with at most so many coefficients stay as they are written."""


def gathered(program: Program, variables: Sequence[Any]) -> tuple[Program, tuple[GroupSum, ...]]:
    """The function of what is left, and its terms of equal shapes as sums over data, where these are the faster ones:
    many coefficients that are not zero for the most part.

    Parameters
    ----------
    program : a scalar function of ``variables``.
    """
    found: dict[int, GroupSum] = {}

    def worthwhile(group: Group) -> bool:
        made = _as_sum(group, variables) if _is_dense(group) else None
        if made is not None:
            found[id(group)] = made
        return made is not None

    rest, groups = repeated(program, worthwhile)
    return rest, tuple(found[id(group)] for group in groups)


def _is_dense(group: Group) -> bool:
    held = sum(len(row) for forms in group.forms for row, _ in forms)
    widths = (len({i for row, _ in forms for i in row}) for forms in group.forms)
    return held > WRITTEN_OUT and 2 * held >= group.count * sum(widths)


@dataclass(frozen=True, slots=True)
class _Exact:
    """Numbers ``(high + low) / denominator``; no ``low`` where every ``high`` is exact."""

    high: FloatArray
    low: FloatArray | None
    denominator: int

    @property
    def parts(self) -> list[FloatArray]:
        return [self.high] if self.low is None else [self.high, self.low]


def _exact(numbers: Sequence[Any]) -> _Exact | None:
    """Floats that make up some numbers exactly; None where two of them are not enough."""
    if not all(isinstance(number, Fraction) for number in numbers):
        return None
    try:
        floats = [float(number) for number in numbers]
    except OverflowError:
        return None
    if all(Fraction(f) == number for f, number in zip(floats, numbers, strict=True)):
        return _Exact(np.array(floats), None, 1)
    denominator = lcm(*(number.denominator for number in numbers))
    tops = [int(number * denominator) for number in numbers]
    if denominator.bit_length() > 4 * MOST_BITS or max(abs(top).bit_length() for top in tops) > MOST_BITS:
        return None
    high = [float(top) for top in tops]
    low = [float(top - int(h)) for top, h in zip(tops, high, strict=True)]
    return _Exact(np.array(high), np.array(low) if any(low) else None, denominator)


def _as_sum(group: Group, variables: Sequence[Any]) -> GroupSum | None:
    """The sum of a group of terms; None where its numbers are not made up of floats."""
    slots = [_slot(forms, variables) for forms in group.forms]
    numbers = [_exact(column) for column in group.parameters]
    graph = Graph(f"u{a}" for a in range(len(slots)))
    columns: list[FloatArray] = []
    inputs: list[int] = []
    for a, slot in enumerate(slots):
        if slot is None:
            return None
        rows, shifts = slot.denominator, slot.shifts
        linear = graph.mul((graph.const(Fraction(1, rows)), graph.input_at(a)))
        inputs.append(linear if shifts is None else graph.add((linear, _column(graph, shifts, columns))))
    for column in numbers:
        if column is None:
            return None
        inputs.append(_column(graph, column, columns))
    places = {symbol: place for place, symbol in enumerate(variables)}
    forms = tuple(slot.form for slot in slots if slot is not None)
    body = _put_in(graph, group.template, inputs)
    return GroupSum(body, forms, tuple(columns), ONE, group.count, places, written=True)


@dataclass(frozen=True, slots=True)
class _Slot:
    """Affine forms ``form / denominator + shifts``."""

    form: DataForm
    denominator: int
    shifts: _Exact | None


def _slot(forms: Sequence[Form], variables: Sequence[Any]) -> _Slot | None:
    used = sorted({i for row, _ in forms for i in row})
    entries = _exact([row.get(i, Fraction(0)) for row, _ in forms for i in used])
    shifts = _exact([shift for _, shift in forms])
    if entries is None or shifts is None:
        return None
    matrix = np.hstack([part.reshape(len(forms), len(used)) for part in entries.parts])
    names = [variables[i] for i in used] * len(entries.parts)
    same = len(used) == 1 and entries.denominator == 1 and bool(np.all(matrix == 1.0))
    form = DataForm.same(names[0]) if same else DataForm.rows(DataArray.of("written", matrix), names)
    return _Slot(form, entries.denominator, shifts if any(part.any() for part in shifts.parts) else None)


def _column(graph: Graph, numbers: _Exact, columns: list[FloatArray]) -> int:
    """The node of numbers that differ from term to term; their floats are further inputs."""
    parts = [graph.input(f"p{len(columns) + k}") for k in range(len(numbers.parts))]
    columns += numbers.parts
    return graph.mul((graph.const(Fraction(1, numbers.denominator)), graph.add(parts)))


def _put_in(graph: Graph, template: Program, inputs: Sequence[int]) -> Program:
    """A program of the nodes of a graph."""
    place: list[int] = []
    for step in template.instructions:
        args = tuple(place[a] for a in step.args)
        place.append(inputs[step.value] if step.op == "input" else graph.emit(step.op, args, step.value))
    return finish(graph, [place[template.outputs[0]]], ())

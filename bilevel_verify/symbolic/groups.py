"""Terms of one shape: one small function of a few affine forms, with different numbers in it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import TypeAlias

import sympy

from bilevel_verify.symbolic.graph import ONE, ZERO, Graph
from bilevel_verify.symbolic.program import Program, finish

Number: TypeAlias = Fraction | sympy.Expr
"""An exact number; of SymPy where it is no fraction."""
Shape = tuple[tuple[str, tuple[int, ...], object], ...]
"""A program without its inputs and numbers: operations with the places of their arguments and their values."""
Form = tuple[dict[int, Number], Number]
"""Coefficients by input, and the constant."""


@dataclass(frozen=True)
class Group:
    """Terms ``phi(u_1, ..., u_s; p_1, ..., p_q)`` that differ in the affine forms and in the numbers.

    ``template`` has the inputs u, then p; ``forms[a][k]`` is the a-th form of term k, ``parameters[b][k]`` its b-th
    number.
    """

    template: Program
    forms: tuple[tuple[Form, ...], ...]
    parameters: tuple[tuple[Number, ...], ...]

    @property
    def count(self) -> int:
        """Number of terms."""
        return len(self.forms[0])


Terms = list[tuple[Number, int]]
"""Terms of a sum: factor, and node of a graph."""

LEAST = 4
"""Terms of one shape from which on they make a group."""

MOST_SLOTS = 3
"""Most affine forms in one term of a group."""


def grouped(
    graph: Graph, terms: Terms, size: int, forms: list[Form], worthwhile: Callable[[Group], bool] = lambda group: True
) -> tuple[tuple[Group, ...], Terms]:
    """Terms of equal shape as groups, and the terms that are left."""
    shapes: dict[Shape, list[tuple[tuple[Number, int], list[int], list[Number]]]] = {}
    left: Terms = []
    for term in terms:
        shape, slots, numbers = _shape(graph, term[1])
        if 1 <= len(slots) <= MOST_SLOTS:
            shapes.setdefault(shape, []).append((term, slots, [*numbers, term[0]]))
        else:
            left.append(term)
    groups: list[Group] = []
    for shape, members in shapes.items():
        if len(members) < LEAST:
            left.extend(term for term, _, _ in members)
            continue
        columns = [
            tuple(_as_form(p, size, forms) for p in column) for column in zip(*(slots for _, slots, _ in members))
        ]
        rows = list(zip(*(numbers for _, _, numbers in members)))
        fixed = [row[0] if all(v == row[0] for v in row) else None for row in rows]
        varying = tuple(row for row, value in zip(rows, fixed) if value is None)
        group = Group(_template(shape, len(columns), fixed), tuple(columns), varying)
        if worthwhile(group):
            groups.append(group)
        else:
            left.extend(term for term, _, _ in members)
    return tuple(groups), sorted(left, key=lambda term: term[1])


def _as_form(position: int, size: int, forms: list[Form]) -> Form:
    return ({position: ONE}, ZERO) if position < size else forms[position - size]


def _shape(graph: Graph, term: int) -> tuple[Shape, list[int], list[Number]]:
    """What a term looks like without its inputs and its numbers: (shape, inputs, numbers)."""
    place: dict[int, int] = {}
    shape: list[tuple[str, tuple[int, ...], object]] = []
    slots: list[int] = []
    numbers: list[Number] = []
    order: list[int] = []
    stack = [term]
    while stack:  # arguments in the order in which they are used, so that equal terms get equal shapes
        index = stack[-1]
        missing = [a for a in graph[index].args if a not in place]
        if missing:
            stack.append(missing[0])
            continue
        stack.pop()
        if index in place:
            continue
        place[index] = len(order)
        order.append(index)
        instruction = graph[index]
        if instruction.op == "input":
            slots.append(instruction.value)
            shape.append(("slot", (), None))
        elif instruction.op == "const":
            numbers.append(instruction.value)
            shape.append(("number", (), None))
        else:
            shape.append((instruction.op, tuple(place[a] for a in instruction.args), instruction.value))
    return tuple(shape), slots, numbers


def _template(shape: Shape, slots: int, fixed: list[Number | None]) -> Program:
    """The function of a shape: inputs ``u0, u1, ...``, then the numbers that vary (None in ``fixed``) as ``p0 ...``.

    The last number is a factor of the whole.
    """
    varying = sum(value is None for value in fixed)
    graph = Graph([*(f"u{a}" for a in range(slots)), *(f"p{b}" for b in range(varying))])
    free = iter(range(slots, slots + varying))
    numbers = iter([graph.input_at(next(free)) if value is None else graph.const(value) for value in fixed])
    variables = iter(range(slots))
    places: list[int] = []
    for op, args, value in shape:
        if op == "slot":
            places.append(graph.input_at(next(variables)))
        elif op == "number":
            places.append(next(numbers))
        else:
            places.append(graph.emit(op, tuple(places[a] for a in args), value))
    return finish(graph, [graph.mul((next(numbers), places[-1]))], ())

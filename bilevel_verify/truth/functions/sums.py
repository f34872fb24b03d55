"""Functions with sums over data as programs: the sums stay sums, evaluated chunk by chunk as matrices.

``scale sum_k body(u_1[k], ...; p[k])`` with ``u_a = M_a z`` has the gradient ``scale sum_a M_a' w_a`` and the Hessian
``scale sum_ab M_a' W_ab M_b``, where w and W are derivatives of the body in its few quantities, one number per sample.
:class:`WithSums` stands where a :class:`~bilevel_verify.symbolic.program.Program` stands and is evaluated by the same
arithmetics; how each of them multiplies with a matrix of floats is said by a kernel (:mod:`.kernels`).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from bilevel_verify.atoms.datasum import DataForm, DataSum, chunks
from bilevel_verify.numbers.arithmetic import Arithmetic, T, V
from bilevel_verify.symbolic.differentiate import adjoints, hessian, tangents
from bilevel_verify.symbolic.numeric import exact_scale
from bilevel_verify.symbolic.program import Program, finish, program_of
from bilevel_verify.truth.functions.kernels import C, Kernel, N, P, kernel_of

FloatArray = NDArray[np.float64]

Places = tuple[int, ...]
"""Numbers of variables."""
Where = tuple[Places, Places]
"""Rows and columns of a part of the Hessian; no columns: of the gradient; neither: the value."""

WRITTEN_OUT = 256
"""Sums of at most so many numbers become part of the closed form."""
AT_ONCE = 1_000_000
"""Numbers of one work array: a chunk has so many samples divided by the number of points."""
FEWEST, MOST = 64, 2048
"""Samples of a chunk; the rounding of a product grows with their number."""


class Runs(Protocol):
    """What evaluates a list of numbers in any arithmetic: a program, or a program with sums over data."""

    @property
    def size(self) -> int: ...

    def run(self, arithmetic: Arithmetic[V, T], inputs: Sequence[V]) -> list[V]: ...


@dataclass(frozen=True, eq=False)
class GroupSum:
    """One sum over data.

    Attributes
    ----------
    body : program of one term; inputs are the quantities, then the numbers of a sample.
    forms : how the quantities come from the variables. ``places`` : variable -> its number.
    columns : numbers of the samples, one array each. ``scale`` : exact factor in front.
    written : the formula writes its terms out.
    """

    body: Program
    forms: tuple[DataForm, ...]
    columns: tuple[FloatArray, ...]
    scale: Any
    count: int
    places: Mapping[Any, int]
    written: bool = False
    programs: dict[tuple[int, bool], Program] = field(default_factory=dict)

    @staticmethod
    def of(factor: Any, data: DataSum, places: Mapping[Any, int]) -> GroupSum:
        """The sum with its factor; what it is made of is shared, not copied."""
        forms, columns = tuple(data.forms.values()), tuple(column.values for column in data.columns.values())
        body = program_of(data.body, data.bound_symbols)
        return GroupSum(body, forms, columns, exact_scale(factor, data), data.count, places)

    @property
    def numbers(self) -> int:
        """How many numbers of data one pass reads."""
        widths = (len(form.variables) if form.kind == "rows" else 1 for form in self.forms)
        return self.count * (1 + len(self.columns) + sum(widths))

    @property
    def slots(self) -> range:
        """Numbers of the quantities."""
        return range(len(self.forms))

    def program(self, order: int, lone: bool) -> Program:
        """Derivatives of the body in its quantities: all up to ``order`` (0, 1, 2), or that one alone; for 3 the
        Hessian of the derivative along one more input for each quantity.
        """
        if (order, lone) not in self.programs:
            self.programs[order, lone] = self._along() if order == 3 else self._derive(order, lone)
        return self.programs[order, lone]

    def _derive(self, order: int, lone: bool) -> Program:
        graph, root = self.body.graph(), self.body.outputs[0]
        found: list[list[int]] = [[root]]
        if order:
            found.append(list(adjoints(graph, root, self.slots)))
        if order == 2:
            second = [tangents(graph, found[1], {b: graph.const(1)}) for b in self.slots]
            found.append([second[b][a] for a in self.slots for b in self.slots])
        wanted = found[-1] if lone else [entry for part in found for entry in part]
        return finish(graph, wanted, (len(wanted),))

    def _along(self) -> Program:
        graph = self.body.graph()
        first = adjoints(graph, self.body.outputs[0], self.slots)
        along = [graph.input(f"along{a}") for a in self.slots]
        slope = graph.add(graph.mul(pair) for pair in zip(along, first, strict=True))
        return hessian(finish(graph, [slope], ()), list(self.slots))

    def chunk(self, samples: slice) -> list[tuple[Places, FloatArray]]:
        """For every quantity the numbers of its variables and the matrix that it is made with, for some samples."""
        found: list[tuple[Places, FloatArray]] = []
        for form in self.forms:
            variables = tuple(self.places[v] for v in form.variables)
            if form.kind == "rows":
                found.append((variables, form.matrix[samples]))
            elif form.kind == "same":
                found.append((variables, np.ones((samples.stop - samples.start, 1))))
            else:
                found.append((variables[samples], np.eye(len(variables[samples]))))
        return found


@dataclass(frozen=True, eq=False)
class WithSums:
    """A program whose outputs have sums over data added to them.

    Attributes
    ----------
    closed : the same derivatives of the rest of the function.
    order : 0 value; 1 value and gradient; 2 value, gradient, Hessian; 3 Hessian of the derivative along a direction of
        the last variables, whose entries are further inputs.
    wanted : variables of the derivatives. ``lone`` : only those of the order itself.
    variables : how many inputs are variables.
    """

    closed: Program
    groups: tuple[GroupSum, ...]
    order: int
    wanted: range
    variables: int
    lone: bool = False

    @property
    def orders(self) -> tuple[int, ...]:
        """Orders of the outputs."""
        return (self.order,) if self.lone or self.order == 3 else tuple(range(self.order + 1))

    @property
    def size(self) -> int:
        """Operations of one evaluation."""
        return self.closed.size + sum(g.count * (g.program(self.order, self.lone).size + 1) for g in self.groups)

    def run(self, arithmetic: Arithmetic[V, T], inputs: Sequence[V]) -> list[V]:
        """See :meth:`Program.run`."""
        out = self.closed.run(arithmetic, inputs)
        kernel = kernel_of(arithmetic)
        for group in self.groups:
            scale, parts = arithmetic.constant(group.scale), _added(kernel, self._chunks(kernel, group, inputs))
            found = self._entries(kernel, parts)
            out = [o if t is None else arithmetic.add(o, arithmetic.mul(scale, t)) for o, t in zip(out, found)]
        return out

    def _chunks(self, kernel: Kernel[N, C, P], group: GroupSum, inputs: Sequence[N]) -> Iterator[dict[Where, P]]:
        step = min(MOST, max(FEWEST, AT_ONCE // kernel.points(inputs)))
        for samples in chunks(group.count, step):
            forms = group.chunk(samples)
            given = [kernel.values(places, matrix, inputs) for places, matrix in forms]
            given += [kernel.numbers(column[samples], inputs) for column in group.columns]
            if self.order == 3:
                given += [self._along(kernel, places, matrix, inputs) for places, matrix in forms]
            weights = kernel.run(group.program(self.order, self.lone), given)
            yield self._parts(kernel, weights, [self._wanted(*form) for form in forms])

    def _along(self, kernel: Kernel[N, C, P], places: Places, matrix: FloatArray, inputs: Sequence[N]) -> C:
        """``M v`` where v, given after the variables, stands in the last of them."""
        shift = len(inputs) - self.variables
        moved = [c for c, place in enumerate(places) if place >= self.variables - shift]
        return kernel.values(tuple(places[c] + shift for c in moved), matrix[:, moved], inputs)

    def _wanted(self, places: Places, matrix: FloatArray) -> tuple[Places, FloatArray]:
        """The columns of a matrix that belong to wanted variables, and the places of those among the outputs."""
        columns = [c for c, place in enumerate(places) if place in self.wanted]
        chosen = matrix if len(columns) == len(places) else matrix[:, columns]
        return tuple(places[c] - self.wanted.start for c in columns), chosen

    def _parts(
        self, kernel: Kernel[N, C, P], weights: list[C], forms: list[tuple[Places, FloatArray]]
    ) -> dict[Where, P]:
        """The value, ``M_a' w_a`` and, for a <= b, ``M_a' W_ab M_b``: where they belong -> what they are."""
        m, left_over = len(forms), list(weights)
        found: dict[Where, P] = {}
        if 0 in self.orders:
            found[((), ())] = kernel.total(left_over.pop(0))
        if 1 in self.orders:
            for weight, (places, matrix) in zip(left_over, forms):
                if places:
                    _put(kernel, found, (places, ()), kernel.spread(weight, matrix))
        if self.order >= 2:
            matrices = weights[-m * m :]
            for a, (left, one) in enumerate(forms):
                for b, (right, other) in enumerate(forms[a:], start=a):
                    if left and right:
                        table = kernel.gram(matrices[a * m + b], one, other)
                        _put(kernel, found, (left, right), table)
                        if a != b:
                            _put(kernel, found, (right, left), kernel.transposed(table))
        return found

    def _entries(self, kernel: Kernel[N, C, P], parts: Mapping[Where, P]) -> list[N | None]:
        """The outputs, None where nothing is added."""
        n, head = len(self.wanted), (1 if 0 in self.orders else 0)
        start = head + (n if 1 in self.orders else 0)
        found: list[N | None] = [None] * (start + (n * n if self.order >= 2 else 0))
        for (left, right), part in parts.items():
            rows = kernel.entries(part)
            for r, i in enumerate(left or (0,)):
                for c, j in enumerate(right or (0,)):
                    place = start + i * n + j if right else head + i if left else 0
                    entry = rows[r][c]
                    found[place] = entry if found[place] is None else kernel.arithmetic.add(found[place], entry)
        return found


def _put(kernel: Kernel[N, C, P], found: dict[Where, P], where: Where, part: P) -> None:
    found[where] = kernel.plus(found[where], part) if where in found else part


def _added(kernel: Kernel[N, C, P], chunks: Iterable[dict[Where, P]]) -> dict[Where, P]:
    """The sum of the parts of all chunks."""
    total: dict[Where, P] = {}
    for parts in chunks:
        for where, part in parts.items():
            _put(kernel, total, where, part)
    return total

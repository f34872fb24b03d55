"""Sums over data in multi-precision: the data are taken as the exact numbers that they are, every sum is rounded once.

Slow on purpose (one pass over the samples in Python for every question): refutations along a trajectory are repeated
here, nothing else.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from bilevel_verify.numbers.floats import MPMATH
from bilevel_verify.numbers.kernels import mp_constant, mp_module
from bilevel_verify.symbolic import differentiate
from bilevel_verify.symbolic.numeric import Forms, NumericGroup
from bilevel_verify.symbolic.program import Program

if TYPE_CHECKING:
    import mpmath

Numbers: TypeAlias = "list[mpmath.mpf]"


@dataclass(frozen=True, eq=False)
class ExactGroup:
    """``scale * sum_k template(u_1[k], ...; parameters[0][k], ...)`` with an exact factor."""

    group: NumericGroup
    scale: Any

    @property
    def count(self) -> int:
        """Number of samples."""
        return len(self.group.forms[0].offset) if self.group.forms else len(self.group.parameters[0])


class ExactSums:
    """Values and derivatives of sums over data at one point of mpmath numbers, at the working precision of the call.

    Parameters
    ----------
    size : number of variables.
    groups : the sums with their exact factors.
    """

    def __init__(self, size: int, groups: Sequence[ExactGroup]) -> None:
        self.size, self.groups = size, list(groups)
        self._programs: dict[Any, Program] = {}
        self._matrices: dict[int, Any] = {}

    @property
    def numbers(self) -> int:
        """How many numbers of data one pass reads."""
        return sum(
            one.count * (1 + sum(f.matrix.shape[1] if f.matrix is not None else 1 for f in one.group.forms))
            for one in self.groups
        )

    def value(self, z: Numbers) -> mpmath.mpf:
        """The sum itself."""
        mp = mp_module().mp
        total = mp.zero
        for one in self.groups:
            terms = self._per_sample(one, one.group.template, z)
            total += mp_constant(one.scale) * mp.fsum(row[0] for row in terms)
        return total

    def gradient(self, z: Numbers, rows: range) -> Numbers:
        """Partial derivatives with respect to the variables in ``rows``."""
        result = [mp_module().mp.zero] * len(rows)
        for one in self.groups:
            slots = range(len(one.group.forms))
            program = self._program(("gradient", id(one)), lambda o=one, s=slots: _gradient(o, s))
            self._spread(one, self._per_sample(one, program, z), rows, result)
        return result

    def product(self, z: Numbers, rows: range, columns: range, v: Numbers) -> Numbers:
        """The block of the Hessian (rows, columns) times ``v``."""
        mp = mp_module().mp
        result = [mp.zero] * len(rows)
        direction = [mp.zero] * self.size
        direction[columns.start : columns.stop] = v
        for one in self.groups:
            slots = range(len(one.group.forms))
            program = self._program(
                ("product", id(one)), lambda o=one, s=slots: differentiate.jacobian_product(_gradient(o, s), s)
            )
            along = [self._values(forms, direction, with_offset=False) for forms in one.group.forms]
            self._spread(one, self._per_sample(one, program, z, along), rows, result)
        return result

    def hessian(self, z: Numbers) -> Numbers:
        """The full Hessian in C order."""
        mp, n = mp_module().mp, self.size
        result = [mp.zero] * (n * n)
        for one in self.groups:
            slots = range(len(one.group.forms))
            program = self._program(
                ("hessian", id(one)), lambda o=one, s=slots: differentiate.hessian(o.group.template, s)
            )
            weights = self._per_sample(one, program, z)
            scale, matrices = mp_constant(one.scale), [self._dense(forms) for forms in one.group.forms]
            for place, (a, b) in enumerate((a, b) for a in slots for b in slots):
                left, right = matrices[a], matrices[b]
                for i, column in left.items():
                    weighted = [weights[k][place] * number for k, number in column]
                    for j, other in right.items():
                        numbers = dict(other)
                        terms = (w * numbers[k] for w, (k, _) in zip(weighted, column, strict=True) if k in numbers)
                        result[i * n + j] += scale * mp.fsum(terms)
        return result

    def _per_sample(
        self, one: ExactGroup, program: Program, z: Numbers, along: Sequence[Numbers] = ()
    ) -> list[Numbers]:
        """The outputs of a program at every sample; its inputs are forms, numbers of the sample, and ``along``."""
        mpf = mp_module().mp.mpf
        values = [self._values(forms, z) for forms in one.group.forms]
        numbers = [[mpf(float(p)) for p in column] for column in one.group.parameters]
        inputs = [*values, *numbers, *along]
        return [program.run(MPMATH, [column[k] for column in inputs]) for k in range(one.count)]

    def _values(self, forms: Forms, z: Numbers, with_offset: bool = True) -> Numbers:
        mp = mp_module().mp
        chosen = [z[int(c)] for c in forms.columns]
        found = chosen if forms.matrix is None else [mp.fdot(zip(row, chosen)) for row in forms.matrix.tolist()]
        if not with_offset or forms.homogeneous:
            return found
        return [u + mp.mpf(float(c)) for u, c in zip(found, forms.offset, strict=True)]

    def _spread(self, one: ExactGroup, weights: list[Numbers], rows: range, result: Numbers) -> None:
        """``result += scale * sum_k sum_a weights[k][a] (coefficients of form a at sample k)`` on the rows."""
        mp, scale = mp_module().mp, mp_constant(one.scale)
        for a, forms in enumerate(one.group.forms):
            for i, column in self._dense(forms).items():
                if i in rows:
                    result[i - rows.start] += scale * mp.fdot((weights[k][a], number) for k, number in column)

    def _dense(self, forms: Forms) -> dict[int, list[tuple[int, mpmath.mpf]]]:
        """Variable -> (sample, coefficient) where the coefficient is not zero."""
        if id(forms) not in self._matrices:
            columns: dict[int, list[tuple[int, Any]]] = {}
            mpf = mp_module().mp.mpf
            if forms.matrix is None:
                for k, c in enumerate(forms.columns.tolist()):
                    columns.setdefault(c, []).append((k, mpf(1)))
            else:
                for c, column in zip(forms.columns.tolist(), forms.matrix.T, strict=True):
                    columns[c] = [(int(k), mpf(float(column[k]))) for k in np.flatnonzero(column)]
            self._matrices[id(forms)] = columns
        found: dict[int, list[tuple[int, Any]]] = self._matrices[id(forms)]
        return found

    def _program(self, key: object, derive: Callable[..., Program]) -> Program:
        if key not in self._programs:
            self._programs[key] = derive()
        return self._programs[key]


def _gradient(one: ExactGroup, slots: range) -> Program:
    return differentiate.gradient(one.group.template, slots)

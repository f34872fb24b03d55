"""Oracles at many points at once, on NumPy arrays."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from bilevel_verify.numbers.floats import NUMPY
from bilevel_verify.oracles.programs import Programs, direction_block, result_block
from bilevel_verify.symbolic.numeric import NumericStructure

FloatArray = NDArray[np.float64]

AT_ONCE = 2_000_000
"""Numbers in one work array of an unrolled evaluation; more points go in pieces."""


def batch(programs: Programs, field: str, points: FloatArray) -> FloatArray:
    """One oracle at the rows of ``points`` (x, y and, for products, v side by side): shape (N, length)."""
    result = _closed_form(programs, field, points)
    return result + data_part(programs, field, points) if programs.has_data_sums(field[-1]) else result


def data_part(programs: Programs, field: str, points: FloatArray) -> FloatArray:
    """What the sums over data contribute."""
    return _on_arrays(programs, field, programs.data(field[-1]), points)


def _closed_form(programs: Programs, field: str, points: FloatArray) -> FloatArray:
    which = field[-1]
    if programs.is_structured(which) and not field.startswith("third"):
        return _on_arrays(programs, field, programs.numeric(which), points)
    program = programs.program(field)
    size = max(1, AT_ONCE // max(1, len(program.instructions)))
    result = np.empty((len(points), len(program.outputs)))
    for first in range(0, len(points), size):
        piece = slice(first, first + size)
        for place, output in enumerate(program.run(NUMPY, list(points[piece].T))):
            result[piece, place] = output
    return result


def _on_arrays(programs: Programs, field: str, structure: NumericStructure, points: FloatArray) -> FloatArray:
    kind = field[:-2]
    z, v = points[:, : structure.size], points[:, structure.size :]
    if kind == "value":
        return structure.value(z)[:, None]
    if kind == "third":
        return structure.third(z)
    if kind == "hess":
        return structure.full_hessian(z).reshape(len(z), structure.size**2)
    rows = programs.ranges[result_block(field)]
    if kind.startswith("grad"):
        return structure.gradient(z, rows)
    return structure.product(z, rows, programs.ranges[direction_block(field)], v)

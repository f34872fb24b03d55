"""Oracles at many points at once, on NumPy arrays."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from bilevel_verify.errors import ParameterError
from bilevel_verify.oracles.workshop import Workshop, direction_block, result_block
from bilevel_verify.symbolic.arithmetics import NUMPY

FloatArray = NDArray[np.float64]

AT_ONCE = 2_000_000
"""Numbers in one work array of an unrolled evaluation; more points go in pieces."""


def batch(workshop: Workshop, field: str, points: FloatArray) -> FloatArray:
    """One oracle at the rows of ``points`` (x, y and, for products, v side by side): shape (N, length)."""
    kind, which = field.rsplit("_", 1)
    if workshop.has_data_sums(which) and kind == "third":
        raise ParameterError(f"{field} of a sum over data is not available; ask for Hessians or products")
    if workshop.is_structured(which) and kind != "third":
        return _structured(workshop, field, points)
    program = workshop.program(field)
    size = max(1, AT_ONCE // max(1, len(program.instructions)))
    result = np.empty((len(points), len(program.outputs)))
    for first in range(0, len(points), size):
        piece = slice(first, first + size)
        for place, output in enumerate(program.run(NUMPY, list(points[piece].T))):
            result[piece, place] = output
    return result


def _structured(workshop: Workshop, field: str, points: FloatArray) -> FloatArray:
    kind, which = field.rsplit("_", 1)
    structure = workshop.numeric(which)
    z, v = points[:, : structure.size], points[:, structure.size :]
    if kind == "value":
        return structure.value(z)[:, None]
    if kind == "hess":
        return structure.full_hessian(z).reshape(len(z), -1)
    rows = workshop.ranges[result_block(field)]
    if kind.startswith("grad"):
        return structure.gradient(z, rows)
    return structure.product(z, rows, workshop.ranges[direction_block(field)], v)

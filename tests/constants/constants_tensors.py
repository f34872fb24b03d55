"""The whole tensor of a form at the centres of its boxes: what no ridge makes, and the ridges one by one."""

from __future__ import annotations

import functools

import numpy as np

from bilevel_verify.constants.calculus.ascent import entry_tensor
from bilevel_verify.constants.formula.model import Model, Pieces


def centre_tensor(model: Model, pieces: Pieces) -> np.ndarray:
    k, n, centre = pieces.order, model.n, pieces.ridges.centre()
    entries = entry_tensor(model, pieces)
    out = np.zeros((len(centre), *[n] * k)) if entries is None else entries
    for box, coefficients in enumerate(centre):
        for coefficient, row in zip(coefficients, model.row_centres, strict=True):
            out[box] += coefficient * functools.reduce(np.multiply.outer, [row] * k)
    return out

"""Attained values of derivative forms by alternating power ascents; the tensor itself is not made for ridges."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np

from bilevel_verify.constants.formula.model import Model, Pieces
from bilevel_verify.intervals.jets import jet_space
from bilevel_verify.numbers.rounding import Array


def ascended(model: Model, slots: str, pieces: Pieces, starts: int = 6, steps: int = 25) -> Array:
    """Best of a few alternating power ascents per point (lower bound; float arithmetic)."""
    tensor, centre, rows = entry_tensor(model, pieces), pieces.ridges.centre(), model.row_centres
    rng = np.random.default_rng(5)
    boxes = len(centre)
    best = np.zeros(boxes)
    masks = [np.isin(np.arange(model.n), model.slots(s)).astype(float) for s in slots]
    for _ in range(starts):
        vectors = [rng.normal(size=(boxes, model.n)) * m for m in masks]
        vectors = [_unit(v) for v in vectors]
        for step in range(steps):
            place = step % len(slots)
            contracted = _along_ridges(centre, rows, vectors, place)
            if tensor is not None:
                contracted = contracted + _contract(tensor, vectors, place)
            contracted = contracted * masks[place]
            length = np.sqrt((contracted**2).sum(axis=1))
            best = np.maximum(best, length)
            vectors[place] = _unit(contracted)
    return best


def entry_tensor(model: Model, pieces: Pieces) -> Array | None:
    """The part of the float tensor at the centres that no ridge makes, shape (boxes, n, ..., n); None for nothing."""
    k, n, centre = pieces.order, model.n, pieces.entries.centre()
    if not centre.any():
        return None
    out = np.zeros((len(centre), *[n] * k))
    space = jet_space(n, k)
    for column, number in enumerate(space.of_degree(k)):
        if not centre[:, column].any():
            continue
        positions = [i for i, a in enumerate(space.indices[number]) for _ in range(a)]
        for place in set(itertools.permutations(positions)):
            where: Any = (slice(None), *place)
            out[where] = centre[:, column]
    return out


def _along_ridges(centre: Array, rows: Array, vectors: list[Array], skip: int) -> Array:
    """``sum_l c_l a_l prod_(q != skip) (a_l . v_q)``, shape (boxes, n): the tensor itself is never made."""
    weights = centre
    for place, vector in enumerate(vectors):
        if place != skip:
            weights = weights * (vector @ rows.T)
    return np.asarray(weights @ rows)


def _contract(tensor: Array, vectors: list[Array], skip: int) -> Array:
    out = tensor
    for place in reversed(range(len(vectors))):
        if place != skip:
            out = np.einsum("b...i,bi->b...", np.moveaxis(out, place + 1, -1), vectors[place])
    return out


def _unit(v: Array) -> Array:
    length = np.sqrt((v**2).sum(axis=1, keepdims=True))
    return np.asarray(v / np.where(length > 0, length, 1.0))

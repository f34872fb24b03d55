"""Norm bounds of mixed and higher forms in any dimension: projector and Gram bounds of ridges, flattened entries."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np

from bilevel_verify.constants.formula.model import Model, Pieces
from bilevel_verify.intervals import linalg
from bilevel_verify.intervals.batch import Interval
from bilevel_verify.intervals.jets import jet_space
from bilevel_verify.numbers.rounding import Array, up

GROW = 1 + 1e-11
"""Relative room for the rounding of sums of non-negative products with at most some thousand terms."""


def tensor_bound(model: Model, slots: str, pieces: Pieces) -> Array:
    """Upper bound of the norm of a form over each box: ridges plus entries, or the whole flattened."""
    ridges = ridge_bound(model, slots, pieces.ridges)
    has_entries = bool(pieces.entries.lo.any() or pieces.entries.hi.any())
    if not has_entries:
        best = ridges
    else:
        best = up(ridges + entry_bound(model, slots, pieces.entries))
        best = np.minimum(best, _joint_flattening(model, slots, pieces))
    if len(slots) > 2 and len(set(slots)) > 1 and model.n <= 12:
        best = np.minimum(best, tensor_bound(model, "z" * len(slots), pieces))
    return best


def ridge_bound(model: Model, slots: str, coefficients: Interval) -> Array:
    """``|sum c_l prod_s a_{l,s} . u_s|`` over unit vectors, from ``w_l = max |c_l|``.

    Two slots are kept and the others replaced by norms, with the weights that make the result never worse than the
    triangle inequality; symmetric third and fourth order forms also use the entrywise square of the Gram matrix.
    """
    if not model.rows.lo.size:
        return np.zeros(len(coefficients.lo))
    size = coefficients.magnitude()
    rows = np.maximum(np.abs(model.rows.lo), np.abs(model.rows.hi))
    norms = {s: np.sqrt((rows[:, list(model.slots(s))] ** 2).sum(axis=1)) * (1 + 1e-14) for s in set(slots)}
    total = np.prod([norms[s] for s in slots], axis=0)
    matters = total > 0
    lost = (np.isinf(size) & matters).any(axis=1)
    weight = np.where(matters & np.isfinite(size), size, 0.0)
    best = (weight * total).sum(axis=1) * GROW
    pairs = {tuple(sorted((slots[i], slots[j]))) for i, j in itertools.combinations(range(len(slots)), 2)}
    for p, q in pairs:
        best = np.minimum(best, _two_slots(model, p, q, weight, total, norms))
    if len(set(slots)) == 1 and len(slots) in (3, 4) and 1 < len(rows) <= 60:
        best = np.minimum(best, _gram(model, slots, weight, norms[slots[0]]))
    return np.asarray(np.where(lost, np.inf, best))


def _two_slots(model: Model, p: str, q: str, weight: Array, total: Array, norms: dict[str, Array]) -> Array:
    """``sqrt(lmax(sum W |a_q|/|a_p| a_p a_p') lmax(sum W |a_p|/|a_q| a_q a_q'))``, W = w times the other norms."""
    with np.errstate(divide="ignore", invalid="ignore"):
        front = np.where(total > 0, total / (norms[p] * norms[q]), 0.0)
        first = np.where(total > 0, norms[q] / norms[p], 0.0)
        second = np.where(total > 0, norms[p] / norms[q], 0.0)
    left = _weighted_top(model, p, weight * (front * first))
    right = left if p == q else _weighted_top(model, q, weight * (front * second))
    return np.asarray(up(np.sqrt(left) * np.sqrt(right)) * GROW)


def _weighted_top(model: Model, letter: str, weight: Array) -> Array:
    """``lambda_max(sum_l weight_l a_l a_l')`` on one block, for weights of shape (boxes, ridges), rounded up."""
    members = list(model.slots(letter))
    rows = model.row_centres[:, members]
    room = (weight @ (rows**2).sum(axis=1)) * 1e-13 + 1e-300
    if len(rows) < len(members):
        scaled = np.sqrt(weight)[:, :, None] * rows[None]
        matrix = scaled @ scaled.swapaxes(1, 2)
    else:
        matrix = np.einsum("bl,li,lj->bij", weight, rows, rows)
    matrix = 0.5 * (matrix + matrix.swapaxes(1, 2))
    return np.asarray(np.maximum(linalg.eigenvalue_range(matrix, matrix)[1] + room, 0.0))


def _gram(model: Model, slots: str, weight: Array, norm: Array) -> Array:
    members = list(model.slots(slots[0]))
    rows = model.row_centres[:, members]
    square = (rows @ rows.T) ** 2
    if len(slots) == 4:
        half = np.sqrt(weight)
        return np.asarray(_top(half[:, :, None] * square[None] * half[:, None, :]) * GROW)
    scaled = np.sqrt(np.where(norm > 0, weight / np.where(norm > 0, norm, 1.0), 0.0))
    second = _top(scaled[:, :, None] * square[None] * scaled[:, None, :])
    first = _weighted_top(model, slots[0], weight * norm)
    return np.asarray(up(np.sqrt(first) * np.sqrt(second)) * GROW)


def _top(matrix: Array) -> Array:
    matrix = 0.5 * (matrix + matrix.swapaxes(1, 2))
    trace = np.trace(matrix, axis1=1, axis2=2) * 1e-13 + 1e-300
    return np.asarray(np.maximum(linalg.eigenvalue_range(matrix, matrix)[1] + trace, 0.0))


def entry_bound(model: Model, slots: str, entries: Interval) -> Array:
    """Bound of a tensor of interval entries: flattening of the centre plus the Frobenius norm of the radius."""
    low, high = _block(model, slots, entries)
    finite = (np.isfinite(low) & np.isfinite(high)).all(axis=tuple(range(1, low.ndim)))
    out = np.full(len(low), np.inf)
    if finite.any():
        out[finite] = _finite_entry_bound(slots, low[finite], high[finite])
    return out


def _finite_entry_bound(slots: str, low: Array, high: Array) -> Array:
    if len(slots) == 2:
        return linalg.spectral_norm(low, high)
    centre = 0.5 * low + 0.5 * high
    radius = np.maximum(np.maximum(up(high - centre), up(centre - low)), 0.0)
    spread = np.sqrt((radius**2).sum(axis=tuple(range(1, radius.ndim)))) * GROW
    return np.asarray(up(_centre_bound(slots, centre) + spread))


def _centre_bound(slots: str, centre: Array) -> Array:
    if slots == slots[0] * 3:
        return linalg.cubic_norm(centre)
    if slots == slots[0] * 4:
        return linalg.quartic_norm(centre)
    best: Array | None = None
    k = len(slots)
    splits = [(i,) for i in range(k)] + ([(0, j) for j in range(1, 4)] if k == 4 else [])
    for left in splits:
        right = tuple(i for i in range(k) if i not in left)
        flat = np.transpose(centre, (0, *[i + 1 for i in left], *[i + 1 for i in right]))
        m = int(np.prod([centre.shape[i + 1] for i in left]))
        bound = _flat_norm(flat.reshape(len(centre), m, -1))
        best = bound if best is None else np.minimum(best, bound)
    assert best is not None
    return best


def _flat_norm(matrix: Array) -> Array:
    """Spectral norm of float matrices through the smaller Gram matrix."""
    if matrix.shape[1] > matrix.shape[2]:
        matrix = matrix.swapaxes(1, 2)
    gram = matrix @ matrix.swapaxes(1, 2)
    room = (matrix**2).sum(axis=(1, 2)) * linalg.gamma(matrix.shape[2] + 4)
    top = linalg.eigenvalue_range(gram, gram)[1]
    return np.asarray(up(np.sqrt(np.maximum(up(top + room), 0.0))))


def _block(model: Model, slots: str, entries: Interval) -> tuple[Array, Array]:
    """Dense interval tensor of the form, shape (boxes, d_1, ..., d_k)."""
    k, n = len(slots), model.n
    space = jet_space(n, k)
    place = {space.indices[number]: column for column, number in enumerate(space.of_degree(k))}
    members = [model.slots(s) for s in slots]
    shape = (len(entries.lo), *[len(m) for m in members])
    low, high = np.zeros(shape), np.zeros(shape)
    used = (entries.lo != 0).any(axis=0) | (entries.hi != 0).any(axis=0)
    for position in itertools.product(*[range(len(m)) for m in members]):
        index = [0] * n
        for slot, p in zip(members, position):
            index[slot[p]] += 1
        column = place[tuple(index)]
        if used[column]:
            where: Any = (slice(None), *position)
            low[where], high[where] = entries.lo[:, column], entries.hi[:, column]
    return low, high


def _joint_flattening(model: Model, slots: str, pieces: Pieces) -> Array:
    """Centre of ridges and entries together, plus both radii: for ridges that cancel against entries or each other."""
    if model.n > 12 or len(slots) > 3 or not np.isfinite(pieces.ridges.magnitude()).all():
        return np.full(len(pieces.ridges.lo), np.inf)
    low, high = _block(model, slots, pieces.entries)
    if not (np.isfinite(low).all() and np.isfinite(high).all()):
        return np.full(len(low), np.inf)
    middle = pieces.ridges.centre()
    centre = 0.5 * low + 0.5 * high
    rows = [model.row_centres[:, list(model.slots(s))] for s in slots]
    letters = "ijk"[: len(slots)]
    size = np.abs(middle) @ np.prod([np.sqrt((r**2).sum(axis=1)) for r in rows], axis=0)
    if len(middle[0]):
        spec = ",".join(["bm", *[f"m{c}" for c in letters]]) + "->b" + letters
        centre = centre + np.einsum(spec, middle, *rows)
    radius = pieces.ridges.radius(middle)
    loose = ridge_bound(model, slots, Interval(-radius, radius))
    spread = np.maximum(np.maximum(up(high - 0.5 * (low + high)), up(0.5 * (low + high) - low)), 0.0)
    entry_loose = np.sqrt((spread**2).sum(axis=tuple(range(1, spread.ndim)))) * GROW
    core = linalg.spectral_norm(centre, centre) if len(slots) == 2 else _centre_bound(slots, centre)
    return np.asarray(up(core + loose + entry_loose + (size + np.abs(centre).max(initial=0.0)) * 1e-13))

"""Norms of derivative tensors, slot by slot: from ridge ranges and interval entries to an upper bound per box.

A form is a word over ``x y z``: one letter per slot, naming the block in which the vector of that slot lives.
``zz`` is the Hessian, ``zzz`` the third derivative, ``xyz`` the mixed block as a function of both variables, ``y`` the
gradient in y. Vectors in slots with the same letter may be taken equal (Banach); ``x``, ``y``, ``z`` slots differ.

Two engines. *Nets* (small blocks): the form is evaluated exactly, over all coefficients in their intervals, at every
direction of a net of covering angle delta, and divided by ``cos(k delta)`` for each group of k equal slots (M. Riesz).
*Matrices* (any dimension): Loewner order for two slots; for more, projector sums, Gram matrices of the ridges and
flattenings of the entries.
"""

from __future__ import annotations

import itertools
import math
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import numpy as np

from bilevel_verify.constants.calculus.ascent import ascended
from bilevel_verify.constants.formula.model import Model, Pieces
from bilevel_verify.intervals import linalg
from bilevel_verify.intervals.batch import Interval
from bilevel_verify.intervals.jets import jet_space
from bilevel_verify.numbers.rounding import Array, Mask, up

NET_DIMENSION = 3
"""Largest dimension of a block for which nets are used."""

UNSEEN = 1e-13
"""Part of a ridge's direction that a net may leave out: it costs less than :data:`ROOM`."""

ROOM = 1e-12
"""Relative room for rounding in products with a net (a few thousand units)."""


@dataclass(frozen=True, slots=True)
class Net:
    """Directions for every slot at once.

    ``ridge`` (ridges, directions) and ``entry`` (count, directions) hold the values of the basis tensors; ``factor`` is
    the covering factor; ``slack`` (ridges,) and (count,) bound the rounding of a column.
    """

    ridge: Array
    entry: Array
    factor: float
    ridge_slack: Array
    entry_slack: Array


class Form:
    """Upper bounds (and attained lower ones) of one derivative form of a model.

    Parameters
    ----------
    model : the function.
    slots : word over ``x y z``.
    directions : size of the net (all groups of slots together); by default enough for a covering factor of 1.0002 on
        circles and about 1.01 on spheres.
    """

    def __init__(self, model: Model, slots: str, directions: int | None = None) -> None:
        self.model, self.slots, self.order = model, slots, len(slots)
        self.empty = any(not model.slots(s) for s in slots)
        self.symmetric = len(set(slots)) == 1
        self.net = None if self.empty else self._make_net(directions)

    # -- nets ------------------------------------------------------------------------------------------------------

    def _make_net(self, wanted: int | None) -> Net | None:
        groups = Counter(self.slots)
        bases = {letter: self._basis(letter) for letter in groups}
        if any(len(basis) > NET_DIMENSION for basis in bases.values()) or self._exact_by_vertices():
            return None
        freedom = sum(len(basis) - 1 for basis in bases.values())
        directions = wanted or (480 if freedom == 1 else 2400)
        pieces: dict[str, tuple[Array, float]] = {}
        for letter, count in groups.items():
            basis = bases[letter]
            share = directions ** ((len(basis) - 1) / freedom) if freedom else 1.0
            vectors, delta = linalg.sphere_net(len(basis), max(24, int(share)) if len(basis) > 1 else 1)
            if delta * count >= 1.0:
                return None
            pieces[letter] = vectors @ basis, 1.0 / math.cos(count * delta)
        factor = math.prod(f for _, f in pieces.values()) * (1 + 1e-12)
        return self._values(_grid({letter: v for letter, (v, _) in pieces.items()}), factor)

    def _basis(self, letter: str) -> Array:
        """Orthonormal rows spanning what the form can see of a block: coordinates, or the row space of the ridges."""
        members = self.model.slots(letter)
        coordinates = np.zeros((len(members), self.model.n))
        coordinates[range(len(members)), members] = 1.0
        if self.has_entries() or len(members) <= 1:
            return coordinates
        rows = self.model.row_centres[:, members]
        basis = _basis_of_rows(rows)
        if not len(basis):
            return coordinates[:1]
        reduced = np.zeros((len(basis), self.model.n))
        reduced[:, members] = basis
        return reduced

    def _exact_by_vertices(self) -> bool:
        """Without ridges the extreme eigenvalues of small interval Hessians are exact: no net can be better."""
        small = len(self.model.slots(self.slots[0])) <= linalg.VERTEX_LIMIT
        return self.order == 2 and self.symmetric and small and not self.model.structure.ridges

    def has_entries(self) -> bool:
        """Whether anything besides ridges can contribute at this order."""
        s = self.model.structure
        return s.rest is not None or (self.order == 2 and bool(s.quadratic)) or self.order == 1

    def _values(self, vectors: dict[str, Array], factor: float) -> Net:
        count = len(next(iter(vectors.values())))
        rows = self.model.row_centres
        ridge = np.ones((len(rows), count))
        size = np.ones(len(rows))
        for letter in self.slots:
            ridge = ridge * (rows @ vectors[letter].T)
            size = size * np.sqrt((rows[:, self.model.slots(letter)] ** 2).sum(axis=1))
        space = jet_space(self.model.n, self.order if self.has_entries() else 0)
        numbers = space.of_degree(self.order)
        entry = np.zeros((len(numbers), count))
        for row, number in enumerate(numbers):
            positions = [i for i, a in enumerate(space.indices[number]) for _ in range(a)]
            for order in set(itertools.permutations(positions)):
                entry[row] += math.prod(vectors[s][:, i] for s, i in zip(self.slots, order))
        bound = np.abs(entry).max(axis=1, initial=0.0)
        return Net(ridge, entry, factor, size * ROOM, bound * ROOM)

    # -- bounds ----------------------------------------------------------------------------------------------------

    def upper(self, pieces: Pieces) -> Array:
        """Upper bound of the norm of the form over each box."""
        boxes = pieces.ridges.lo.shape[0]
        if self.empty:
            return np.zeros(boxes)
        bounds = []
        if self.net is not None:
            bounds.append(self._by_net(self.net, pieces))
        if self.net is None or (self.order == 2 and self.symmetric):
            bounds.append(self._by_matrices(pieces))
        return np.asarray(np.minimum.reduce(bounds))

    def _by_net(self, net: Net, pieces: Pieces) -> Array:
        with np.errstate(invalid="ignore"):
            ridges, lost_r = _finite(pieces.ridges, np.abs(net.ridge).max(axis=1, initial=0.0) > 0)
            entries = pieces.entries if self.has_entries() else pieces.entries[:, :0]
            entries, lost_e = _finite(entries, np.abs(net.entry).max(axis=1, initial=0.0) > 0)
        middle_r, middle_e = ridges.centre(), entries.centre()
        radius_r, radius_e = ridges.radius(middle_r), entries.radius(middle_e)
        value = np.abs(middle_r @ net.ridge + middle_e @ net.entry)
        value += radius_r @ np.abs(net.ridge) + radius_e @ np.abs(net.entry)
        slack = ridges.magnitude() @ net.ridge_slack + entries.magnitude() @ net.entry_slack
        best = (value.max(axis=1, initial=0.0) * (1 + ROOM) + slack) * net.factor
        best = np.where(best > 0, up(best), 0.0)
        return np.asarray(np.where(lost_r | lost_e, np.inf, best))

    def lower(self, pieces: Pieces) -> Array:
        """Attained values at thin boxes (float arithmetic, for tightness and pruning)."""
        return self._where_known(self._lower, pieces)

    def reached(self, pieces: Pieces) -> Array:
        """Attained values at thin boxes, as :meth:`lower` but without the coarseness of a net (for pictures)."""
        found = self.lower(pieces)
        return (
            found
            if self.order < 3
            else np.maximum(found, self._where_known(partial(ascended, self.model, self.slots), pieces))
        )

    def _where_known(self, values: Callable[[Pieces], Array], pieces: Pieces) -> Array:
        boxes = pieces.ridges.lo.shape[0]
        if self.empty:
            return np.zeros(boxes)
        known = defined(pieces)
        out = np.full(boxes, -np.inf)
        if known.any():
            out[known] = values(Pieces(pieces.order, pieces.ridges[known], pieces.entries[known]))
        return out

    def _lower(self, pieces: Pieces) -> Array:
        if self.order == 2 and self.symmetric:
            return np.asarray(np.abs(np.linalg.eigvalsh(self.matrix(pieces))).max(axis=1))
        if self.net is not None:
            return np.asarray(np.abs(self._centre_values(self.net, pieces)).max(axis=1, initial=0.0))
        return ascended(self.model, self.slots, pieces)

    def least_eigenvalue(self, pieces: Pieces) -> Array:
        """``lambda_min`` at thin boxes (float arithmetic; infinite where a derivative is not known there)."""
        known = defined(pieces)
        out = np.full(len(known), np.inf)
        if known.any():
            chosen = Pieces(pieces.order, pieces.ridges[known], pieces.entries[known])
            out[known] = np.linalg.eigvalsh(self.matrix(chosen))[:, 0]
        return out

    def _centre_values(self, net: Net, pieces: Pieces) -> Array:
        entries = pieces.entries if self.has_entries() else pieces.entries[:, :0]
        return np.asarray(pieces.ridges.centre() @ net.ridge + entries.centre() @ net.entry)

    def matrix(self, pieces: Pieces) -> Array:
        """Centre matrix of a two-slot form."""
        first, second = (self.model.slots(s) for s in self.slots)
        full = _matrix(pieces.entries.centre(), self.model.n)
        rows = self.model.row_centres
        full = full + np.einsum("bl,li,lj->bij", pieces.ridges.centre(), rows, rows)
        return np.asarray(full[:, first][:, :, second])

    def extremes(
        self, pieces: Pieces, below: Array | None = None, above: Array | None = None, sides: linalg.Sides = "both"
    ) -> tuple[Array, Array]:
        """For a symmetric two-slot form: lower bound of lambda_min and upper bound of lambda_max over each box.

        ``below`` and ``above`` are matrices (n, n) that bound further terms in the Loewner order.
        """
        members = list(self.model.slots(self.slots[0]))
        rows = self.model.row_centres[:, members]
        touched = np.abs(rows).max(axis=1, initial=0.0) > 0
        low_c = np.where(touched, pieces.ridges.lo, 0.0)
        high_c = np.where(touched, pieces.ridges.hi, 0.0)
        lost_low, lost_high = np.isneginf(low_c).any(axis=1), np.isposinf(high_c).any(axis=1)
        low_c, high_c = np.where(np.isfinite(low_c), low_c, 0.0), np.where(np.isfinite(high_c), high_c, 0.0)
        entries_lo = _matrix(pieces.entries.lo, self.model.n)[:, members][:, :, members]
        entries_hi = _matrix(pieces.entries.hi, self.model.n)[:, members][:, :, members]
        size = (rows * rows).sum(axis=1)
        n, boxes = len(members), pieces.ridges.lo.shape[0]
        share = (len(rows) + n + 6) * 3e-16
        room_low, room_high = (np.abs(low_c) @ size) * share, (np.abs(high_c) @ size) * share
        outer_low = np.einsum("bl,li,lj->bij", low_c, rows, rows)
        outer_high = np.einsum("bl,li,lj->bij", high_c, rows, rows)
        if below is not None:
            outer_low = outer_low + below[np.ix_(members, members)]
        if above is not None:
            outer_high = outer_high + above[np.ix_(members, members)]
        with np.errstate(invalid="ignore"):
            size_low = np.abs(entries_lo).max(axis=(1, 2)) + np.abs(outer_low).max(axis=(1, 2))
            size_high = np.abs(entries_hi).max(axis=(1, 2)) + np.abs(outer_high).max(axis=(1, 2))
        least, most = np.full(boxes, -np.inf), np.full(boxes, np.inf)
        if sides != "most":
            least = linalg.eigenvalue_range(entries_lo + outer_low, entries_hi + outer_low, "least")[0]
        if sides != "least":
            most = linalg.eigenvalue_range(entries_lo + outer_high, entries_hi + outer_high, "most")[1]
        flat = (boxes, n * n)
        exact = (
            np.full(boxes, below is None and above is None)
            & _dyadic(rows, low_c, high_c)
            & _tidy(entries_lo.reshape(flat))
            & _tidy(entries_hi.reshape(flat))
        )
        step_low = np.where(exact, 0.0, room_low + n * 3e-16 * np.where(np.isfinite(size_low), size_low, 0.0))
        step_high = np.where(exact, 0.0, room_high + n * 3e-16 * np.where(np.isfinite(size_high), size_high, 0.0))
        least = np.where(lost_low, -np.inf, np.where(exact, least, least - step_low))
        most = np.where(lost_high, np.inf, np.where(exact, most, most + step_high))
        return least, most

    def between(self, below: list[Pieces], above: list[Pieces], sides: linalg.Sides = "both") -> tuple[Array, Array]:
        """As :meth:`extremes`, for Hessians between two matrices: the best of the alternatives on each side."""
        boxes = below[0].ridges.lo.shape[0]
        least, most = np.full(boxes, -np.inf), np.full(boxes, np.inf)
        if sides != "most":
            least = np.maximum.reduce([self.extremes(pieces, sides="least")[0] for pieces in below])
        if sides != "least":
            most = np.minimum.reduce([self.extremes(pieces, sides="most")[1] for pieces in above])
        return least, most

    def _by_matrices(self, pieces: Pieces) -> Array:
        if self.order == 1:
            return self._gradient(pieces)
        if self.order == 2 and self.symmetric:
            least, most = self.extremes(pieces)
            return np.asarray(np.maximum(np.maximum(-least, most), 0.0))
        from bilevel_verify.constants.calculus.tensors import tensor_bound

        return tensor_bound(self.model, self.slots, pieces)

    def _gradient(self, pieces: Pieces) -> Array:
        members = list(self.model.slots(self.slots))  # of order 1: one letter
        entries = gradient_entries(pieces, self.model.n)[:, members]
        total = entries
        for number in range(pieces.ridges.lo.shape[1]):
            row = self.model.rows[number][members]
            total = total + pieces.ridges[:, number : number + 1] * Interval(row.lo[None, :], row.hi[None, :])
        by_entries = linalg.vector_norm(total)
        rows = self.model.row_centres[:, members]
        size = pieces.ridges.magnitude()
        if len(rows) < 2 or not np.isfinite(size).all():
            return by_entries
        # |sum c_l a_l| <= |W A| sqrt(ridges) for |c_l| <= w_l: better when the rows are nearly orthogonal
        scaled = size[:, :, None] * rows[None]
        top = linalg.spectral_norm(scaled, scaled) * math.sqrt(len(rows)) * (1 + 1e-12)
        return np.asarray(np.minimum(by_entries, up(top + linalg.vector_norm(entries))))


def defined(pieces: Pieces) -> Mask:
    """Boxes on which every coefficient is finite and known to a relative 1e-3 (so that its centre is a value)."""
    good = np.ones(pieces.ridges.lo.shape[0], dtype=bool)
    for part in (pieces.ridges, pieces.entries):
        with np.errstate(invalid="ignore"):
            width = part.hi - part.lo
        good &= (np.isfinite(width) & (width <= 1e-3 * (1.0 + part.magnitude()))).all(axis=1)
    return good


def _tidy(values: Array) -> Mask:
    """Rows of moderate multiples of 1/64, on which sums of a few terms are exact in floats."""
    with np.errstate(invalid="ignore"):
        return np.asarray(((values * 64 == np.round(values * 64)) & (np.abs(values) < 1e6)).all(axis=1))


def _dyadic(rows: Array, low: Array, high: Array) -> Mask:
    """Boxes on which the ridge sums are exact in floats: small integer rows times tidy coefficients."""
    tidy_rows = bool((rows == np.round(rows)).all() and (np.abs(rows) < 64).all())
    return _tidy(low) & _tidy(high) & tidy_rows


def _finite(values: Interval, matters: Mask) -> tuple[Interval, Mask]:
    """Infinite coefficients set to zero, with a flag for the boxes where one of them matters."""
    infinite = ~(np.isfinite(values.lo) & np.isfinite(values.hi))
    if not infinite.any():
        return values, np.zeros(values.lo.shape[0], dtype=bool)
    lost = np.asarray((infinite & matters[None, :]).any(axis=1))
    return Interval(np.where(infinite, 0.0, values.lo), np.where(infinite, 0.0, values.hi)), lost


def _basis_of_rows(rows: Array) -> Array:
    """Orthonormal rows that span some rows, each up to a part :data:`UNSEEN` of its own length."""
    length = np.sqrt((rows**2).sum(axis=1, keepdims=True))
    unit = (rows / np.where(length > 0, length, 1.0))[length[:, 0] > 0]  # a short row may have a large weight
    if not unit.size:
        return np.zeros((0, rows.shape[1]))
    basis = np.asarray(np.linalg.svd(unit, full_matrices=False)[2])
    for rank in range(1, len(basis)):
        left = unit - (unit @ basis[:rank].T) @ basis[:rank]
        if np.sqrt((left**2).sum(axis=1)).max() <= UNSEEN:
            return np.asarray(basis[:rank])
    return basis


def _grid(vectors: dict[str, Array]) -> dict[str, Array]:
    """All combinations of the directions of the groups, one row each."""
    letters = list(vectors)
    index = np.indices([len(vectors[letter]) for letter in letters]).reshape(len(letters), -1)
    return {letter: vectors[letter][index[k]] for k, letter in enumerate(letters)}


def _matrix(entries: Array, n: int) -> Array:
    """Symmetric matrices from second derivatives by multi-index, shape (boxes, n, n)."""
    out = np.zeros((len(entries), n, n))
    if not entries.shape[1]:
        return out
    space = jet_space(n, 2)
    for column, number in enumerate(space.of_degree(2)):
        i, j = [k for k, a in enumerate(space.indices[number]) for _ in range(a)]
        out[:, i, j] = out[:, j, i] = entries[:, column]
    return out


def gradient_entries(pieces: Pieces, n: int) -> Interval:
    """Gradient entries in the order of the variables."""
    space = jet_space(n, 1)
    order = [space.indices[number].index(1) for number in space.of_degree(1)]
    columns = np.argsort(order)
    return pieces.entries[:, columns]

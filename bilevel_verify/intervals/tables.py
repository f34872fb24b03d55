"""Ranges over sub-boxes of the plane looked up in tables: hulls over cells, by blocks of 1, 2, 4, ... cells a side."""

from __future__ import annotations

import numpy as np

from bilevel_verify.intervals.batch import Interval
from bilevel_verify.numbers.rounding import Array


class CellTable:
    """Enclosures over the cells of a grid, and their hulls over any rectangle of cells by four look-ups.

    Parameters
    ----------
    edges : ends of the cells along both axes, ascending floats, shape (cells + 1,) each.
    values : enclosures over the cells, shape (cells, cells, columns).
    """

    def __init__(self, edges: tuple[Array, Array], values: Interval) -> None:
        self.edges = edges
        # greatest lower ends and least upper ends are both minima: upper ends are kept with the other sign
        self.blocks: dict[tuple[int, int], Array] = {(0, 0): np.concatenate([values.lo, -values.hi], axis=2)}
        sizes = values.lo.shape[:2]
        for p in range(sizes[0].bit_length()):
            for q in range(sizes[1].bit_length()):
                if (p, q) == (0, 0):
                    continue
                axis, before = (0, (p - 1, q)) if p else (1, (p, q - 1))
                half = 2 ** ((p if axis == 0 else q) - 1)
                smaller = self.blocks[before]
                count = max(smaller.shape[axis] - half, 0)
                first, second = (np.take(smaller, np.arange(k, k + count), axis=axis) for k in (0, half))
                self.blocks[p, q] = np.minimum(first, second)

    def range(self, lo: Array, hi: Array) -> Interval:
        """Hull over all cells that boxes touch, shape (boxes, columns); the whole line where they leave the grid."""
        first, last, inside = [], [], np.ones(len(lo), dtype=bool)
        for axis, edges in enumerate(self.edges):
            inside &= (lo[:, axis] >= edges[0]) & (hi[:, axis] <= edges[-1])
            top = len(edges) - 2
            start = np.clip(np.searchsorted(edges, lo[:, axis], "right") - 1, 0, top)
            first.append(start)
            last.append(np.maximum(np.clip(np.searchsorted(edges, hi[:, axis], "left") - 1, 0, top), start))
        levels = [np.frexp(b - a + 1)[1] - 1 for a, b in zip(first, last, strict=True)]
        out = np.empty((len(lo), self.blocks[0, 0].shape[2]))
        for p, q in {(int(a), int(b)) for a, b in zip(*levels, strict=True)}:
            chosen = np.flatnonzero((levels[0] == p) & (levels[1] == q))
            block = self.blocks[p, q]
            left, right = first[0][chosen], last[0][chosen] - 2**p + 1
            low, high = first[1][chosen], last[1][chosen] - 2**q + 1
            corners = (block[left, low], block[left, high], block[right, low], block[right, high])
            out[chosen] = np.minimum.reduce(corners)
        out[~inside] = -np.inf
        columns = out.shape[1] // 2
        return Interval(out[:, :columns], -out[:, columns:])

"""What is kept of a trace: everything up to a limit, then a thinned tail."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bilevel_verify.methods.run import Trace

FULL_ROWS = 100_000
"""Rows that ``record="all"`` keeps before it thins."""
THIN_ROWS = 1_000
"""Rows that ``record="thin"`` keeps before it thins."""


@dataclass(frozen=True, slots=True)
class Block:
    """Rows of a trace as a stepper delivers them; rows with k = -1 hold what a paper indexes by (t, -1).

    ``owned``: few rows to which nobody writes any more, so that they need no copy.
    """

    epoch: NDArray[np.int64]
    k: NDArray[np.int64]
    values: Mapping[str, Any]
    owned: bool = False

    def trace(self, thinned_from: int | None = None, *, owned: bool = False) -> Trace:
        """The rows k >= 0 as a trace; those with k = -1 in ``epoch_start``, by epoch in order.

        ``owned``: nobody else writes to these rows, as to those of a block that says so.
        """
        first = self.k < 0
        count = np.count_nonzero(first)
        together = np.count_nonzero(first[:count]) == count  # those of one epoch, or none: no row needs to be picked
        early, later = (slice(count), slice(count, None)) if together else (first, ~first)
        kept = self if owned or self.owned or not together else _slice(self, slice(None))
        starts = {name: rows[early] for name, rows in kept.values.items()}
        sequences = {name: rows[later] for name, rows in kept.values.items()}
        if not (self.owned and together):  # parts of an array that nobody may write to are such arrays
            for array in (*starts.values(), *sequences.values()):
                frozen(array)
        starts["epoch"] = kept.epoch[early].astype(np.float64)[:, None]
        return Trace(
            frozen(kept.epoch[later]),
            frozen(kept.k[later]),
            MappingProxyType(sequences),
            MappingProxyType(starts),
            thinned_from,
        )


class TraceRecorder:
    """Collects blocks: all rows up to a limit, then every 2nd, 4th ... and always the last two."""

    def __init__(self, record: str, dtype: Any) -> None:
        self.limit = {"thin": THIN_ROWS, "last": 0}.get(record, FULL_ROWS)
        self.dtype = dtype
        self._full: list[Block] = []
        self._full_rows = 0
        self._tail: list[Block] = []
        self._seen = 0
        self._stride = 1
        self._last: Block | None = None

    def add(self, block: Block) -> None:
        """Take the next rows."""
        if len(block.k) == 0:
            return
        if not self.limit:
            self._last = _slice(block, slice(-2, None))
            return
        before = self._last
        head = min(self.limit - self._full_rows, len(block.k))
        if head == len(block.k) and block.owned:
            self._full.append(block)
            self._full_rows += head
        elif head > 0:
            self._full.append(_slice(block, slice(0, head)))
            self._full_rows += head
        if head < len(block.k):
            self._thin(block, head)
        # what is kept whole needs no second copy
        self._last = _slice(block, slice(-2, None)) if head < len(block.k) else self._full[-1]
        if len(block.k) == 1 and before is not None:
            self._last = _joined([_slice(before, slice(-1, None)), self._last])

    def trace(self) -> Trace:
        """Everything that was kept."""
        if self._last is None:
            return Trace(np.zeros(0, dtype=np.int64), np.zeros(0, dtype=np.int64), MappingProxyType({}))
        if not self.limit:
            return self._last.trace(owned=True)
        if not self._seen:
            return _joined(self._full).trace(owned=True)
        missing = min(len(self._last.k), self._since_kept)
        blocks = [*self._full, *self._tail]
        if missing:
            blocks.append(_slice(self._last, slice(-missing, None)))
        kept = _joined(blocks)
        return kept.trace(sum(int(np.count_nonzero(block.k >= 0)) for block in self._full), owned=True)

    @property
    def _since_kept(self) -> int:
        """Rows since the last one that was kept in the tail."""
        return (self._seen - 1) % self._stride if self._seen else 0

    def _thin(self, block: Block, begin: int) -> None:
        """Take the rows from ``begin`` on, those alone that stay: copying all of a block costs what making it does."""
        seen, before = self._seen, self._stride
        self._seen += len(block.k) - begin
        while -(-self._seen // self._stride) > self.limit:
            self._stride *= 2
        if self._stride > before and self._tail:
            self._tail = [_slice(_joined(self._tail), slice(0, None, self._stride // before))]
        first = begin + -seen % self._stride
        if first < len(block.k):
            self._tail.append(_slice(block, slice(first, None, self._stride)))


def _slice(block: Block, rows: slice) -> Block:
    """A copy of some rows, so that the memory of the rest is freed."""
    values = {name: array[rows].copy() for name, array in block.values.items()}
    return Block(block.epoch[rows].copy(), block.k[rows].copy(), values)


def _joined(blocks: list[Block]) -> Block:
    if len(blocks) == 1:
        return blocks[0]
    values = {name: np.concatenate([block.values[name] for block in blocks]) for name in blocks[0].values}
    return Block(
        np.concatenate([block.epoch for block in blocks]), np.concatenate([block.k for block in blocks]), values
    )


def frozen(array: Any) -> Any:
    """The array, which nobody may write to any more."""
    array.flags.writeable = False
    return array

"""What a claim may ask of a run: recorded entries as exact numbers, and facts that follow from them.

The recorded iterates are taken at their word, bit for bit; whether an epoch ended by a restart, how long it was and
how many iterations there were is read off the rows of the trace, not off what the solver says about itself.
"""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from math import inf
from typing import Any

import numpy as np
from flint import arb
from numpy.typing import NDArray

from bilevel_verify.checks.claims.values import Bound, EvaluationError, NoStepError, Value, Vector, index_at, vector
from bilevel_verify.methods.run import Run

EPOCHS_UNKNOWN = 0
"""``Run.epochs`` of a run whose solver did not say where its epochs begin."""
HOW = "hand back a list of epochs, or bv.Trajectory(epochs=[[x00, x01, ...], ...])"
OF_ROWS = frozenset({"k_end", "ended_by_restart", "last_epoch", "iterations", "epochs", "x_int"})
"""Facts that are read off the rows of a run."""
NO_ROWS = "the run has no x[k] or x[t, k]"
STARTS_AT_REST = ("x", "w")
"""Sequences whose entry -1 is the first point where the trace has none and their entry 0 is that point: a method that
restarts starts at rest, ``x[-1] = x[0] = w[0] = w[-1]``; of any other ``w``, recorded or not, nothing is known. Nor is
there an entry -1 of any other method, or of printed steps that do not assign it.
"""
SYNONYMS = {"ghat": ("u",), "u": ("ghat",), "w": ("y",)}
"""Other names under which a trace without that sequence may have it."""


class RecordedRun:
    """One run, epoch by epoch.

    Parameters
    ----------
    run : the run; its trace may hold floats or multi-precision numbers.
    own : a solver of the user made it. ``restarts`` : whether the method that it stands for does; None: not known.
    """

    start: NDArray[np.float64] | None = None
    """What printed steps were given as ``x_int``; of any other method it is the first point."""

    def __init__(self, run: Run, own: bool = False, restarts: bool | None = None) -> None:
        self.run, self.trace, self.own, self.restarts = run, run.trace, own, restarts
        stamps_of_rows = np.asarray(self.trace.epoch)
        self._k = np.asarray(self.trace.k)
        breaks = np.flatnonzero(np.diff(stamps_of_rows)) + 1
        starts = np.concatenate([[0], breaks]) if len(stamps_of_rows) else np.zeros(0, dtype=int)
        ends = np.concatenate([breaks, [len(stamps_of_rows)]]) if len(stamps_of_rows) else starts
        self._span = {int(stamps_of_rows[a]): (int(a), int(b)) for a, b in zip(starts, ends)}
        self._last = {epoch: int(self._k[b - 1]) for epoch, (_, b) in self._span.items()}
        stamps = self.trace.epoch_start.get("epoch")
        rows_of_starts = range(len(self._last)) if stamps is None else np.asarray(stamps, dtype=float).ravel().tolist()
        self._starts = {int(epoch): row for row, epoch in enumerate(rows_of_starts)}
        self._cache: dict[tuple[str, int, int], Value] = {}
        self._interned: dict[Any, Value] = {}

    @property
    def epochs(self) -> list[int]:
        """Recorded epochs."""
        return sorted(self._last)

    @property
    def flat(self) -> bool:
        """Whether nobody said where its epochs begin."""
        return self.run.epochs == EPOCHS_UNKNOWN

    @property
    def thinned(self) -> bool:
        """Whether rows are missing."""
        return self.trace.thinned_from is not None

    def complete(self, epoch: int) -> bool:
        """Whether every row of the epoch was kept."""
        first_lost = self.trace.thinned_from
        return first_lost is None or self._span[epoch][1] <= first_lost

    def k_end(self, epoch: int) -> int:
        """Index of the last iterate of an epoch."""
        return self._last[epoch]

    def steps(self, epoch: int) -> list[int]:
        """Indices from which a step of the epoch begins: printed steps may start elsewhere than at 0, or skip some."""
        if not self._printed:
            return list(range(self.k_end(epoch)))
        first, end = self._span[epoch]
        return [int(k) for k in self._k[first : end - 1] if k >= 0]

    @property
    def _printed(self) -> bool:
        """Whether the run is one of steps that a card prints, which are never thinned."""
        return self.run.method.startswith("literal:")

    def end(self) -> dict[str, int]:
        """The place of a claim over the whole run: its last epoch, if it has one."""
        return {"t": self.epochs[-1]} if self._last else {}

    def ended_by_restart(self, epoch: int) -> bool:
        """Whether a restart ended the epoch: another one follows, or the run says so of its last."""
        if epoch + 1 in self._last:
            return True
        restarted = self.run.restarted
        return bool(restarted[epoch]) if 0 <= epoch < len(restarted) else False

    def _row(self, epoch: int, k: int) -> int | None:
        """Place of the row (epoch, k); None where it was not recorded."""
        span = self._span.get(epoch)
        if span is None or not 0 <= k <= self._last[epoch]:
            return None
        first, end = span
        if first + k < end and self._k[first + k] == k:
            return first + k
        place = first + int(np.searchsorted(self._k[first:end], k))
        return place if place < end and self._k[place] == k else None

    def forget(self) -> None:
        """Drop converted entries (called between epochs)."""
        self._cache.clear()
        self._interned.clear()

    def entry(self, name: str, epoch: int, k: int) -> Value:
        """``name[epoch, k]`` as an exact vector; equal points are one object, so that what depends on them cancels."""
        key = (name, epoch, k)
        found = self._cache.get(key)
        if found is None:
            row = self.raw(name, epoch, k)
            # a zero that a projection sets is a float in many digits, too
            same = row.tobytes() if row.dtype != object else tuple(getattr(one, "_mpf_", one) for one in row)
            found = self._interned.get(same)
            if found is None:
                found = self._interned[same] = vector(row)
            self._cache[key] = found
        return found

    def blurred(self, share: float) -> RecordedRun:
        """The same run with every point known up to a share of the largest recorded coordinate only."""
        sizes = [np.abs(np.asarray(table, dtype=float)) for table in (*self.trace.sequences.values(), self.run.x)]
        size = max(float(np.nanmax(one, initial=0.0, where=np.isfinite(one))) for one in sizes)
        found = _Blurred(self.run, self.own, self.restarts)
        found.radius = share * size
        return found

    def raw(self, name: str, epoch: int, k: int) -> NDArray[np.object_] | NDArray[np.float64]:
        """The recorded row, as it stands in the trace."""
        known = name in self.trace.sequences
        for candidate in (name,) if known else SYNONYMS.get(name, ()):
            row = self._raw(candidate, epoch, k)
            if row is None and k == -1 and self.restarts and name in STARTS_AT_REST:
                row = self._at_rest(candidate, epoch)
            if row is not None:
                return row
        if self.own and not any(n in self.trace.sequences for n in (name, *SYNONYMS.get(name, ()))):
            raise EvaluationError(f"not recorded: {name} (hand it back: bv.Trajectory(epochs=..., {name}=...))")
        began = k > 0 and epoch == self.epochs[-1] and self.k_end(epoch) == 0
        alone = known and name != "x" and k > 0 == self._last.get(epoch)
        how = " (a row is an index of x: write x[t, j+1] = x[t, j] beside it)" if alone and not self.own else ""
        raise (NoStepError if began else EvaluationError)(f"not recorded: {name}[{epoch}, {k}]{how}")

    def _at_rest(self, name: str, epoch: int) -> NDArray[np.object_] | NDArray[np.float64] | None:
        """Entry 0 of a sequence, where it is the first point of the epoch."""
        row, first = self._raw(name, epoch, 0), self._raw("x", epoch, 0)
        same = row is not None and first is not None and np.array_equal(row, first)
        return row if same else None

    def _raw(self, name: str, epoch: int, k: int) -> NDArray[np.object_] | NDArray[np.float64] | None:
        if k == -1:
            starts, row = self.trace.epoch_start.get(name), self._starts.get(epoch)
            return None if starts is None or row is None or row >= len(starts) else _defined(starts[row])
        rows = self.trace.sequences.get(name)
        place = self._row(epoch, k)
        return None if rows is None or place is None or place >= len(rows) else _defined(rows[place])

    def upper_points(self, dx: int) -> np.ndarray:
        """All recorded upper-level points with the output, shape (n, dx); empty for multi-precision runs."""
        parts = [np.asarray(self.run.x).reshape(1, -1)]
        parts += [self.trace.sequences[name] for name in ("x", "w", "wbar") if name in self.trace.sequences]
        if any(part.dtype == object or part.shape[1:] != (dx,) for part in parts):
            return np.empty((0, dx))
        return np.concatenate(parts)

    def calls(self, kind: str) -> int:
        """Oracle calls of one kind; ``any`` sums the gradients of f and g.

        Raises
        ------
        EvaluationError : a solver of the user moved and asked none of the oracles that it was handed.
        """
        counts: Mapping[str, int] = self.run.counts
        if self.own and not any(counts.values()) and len(np.unique(np.asarray(self.trace.x, dtype=float), axis=0)) > 1:
            raise EvaluationError("not recorded: calls (the solver asked none of the oracles that it was handed)")
        if kind == "any":
            return int(counts.get("grad_f", 0)) + int(counts.get("grad_g", 0))
        return int(counts.get(kind, 0))

    def fact(self, name: str, bound: Bound) -> Value:
        """Facts about the epoch in force (``bound["t"]``) or the whole run."""
        if not self._last and name in OF_ROWS:
            raise EvaluationError(f"not recorded: {name} ({NO_ROWS})")
        match name:
            case "k_end":
                self._need_rows([index_at(bound, "t")])
                return Fraction(self.k_end(index_at(bound, "t")))
            case "ended_by_restart":
                return self.ended_by_restart(index_at(bound, "t"))
            case "last_epoch":
                return index_at(bound, "t") == self.epochs[-1]
            case "iterations":
                return Fraction(self.iterations())
            case "epochs":
                return Fraction(self.run.epochs)
            case "output":
                output = _defined(self.run.x)
                if output is None:
                    raise EvaluationError("not recorded: output (it is no finite number)")
                return vector(output)
            case "x_int":
                return self._first() if self.start is None else self._start(self.start)
        raise KeyError(name)

    def _first(self) -> Value:
        return self.entry("x", self.epochs[0], 0)

    def _start(self, start: NDArray[np.float64]) -> Value:
        """What the steps were given, which need not be their x[0]; the same object where it is."""
        first = self._raw("x", self.epochs[0], 0)
        if first is not None and np.array_equal(first, start):
            return self._first()
        return vector(start)

    def iterations(self) -> int:
        """Outer iterations over all epochs, from the trace while it is whole.

        Raises
        ------
        EvaluationError : a solver of the user handed back a trace with gaps; its own word about the number is no count.
        """
        self._need_rows(self.epochs)
        return int(self.run.iterations) if self.thinned or self._printed else sum(self._last.values())

    def _need_rows(self, epochs: list[int]) -> None:
        """A solver of the user must have handed back every row of the epochs whose iterations are counted."""
        if not self.own:
            return
        spans = [self._span[epoch] for epoch in epochs]
        if self.thinned or any(self._last[epoch] != end - first - 1 for epoch, (first, end) in zip(epochs, spans)):
            raise EvaluationError("not recorded: iterations (hand back every iterate; of a bv.solve run: record='all')")


class _Blurred(RecordedRun):
    """A recorded run whose points are balls."""

    radius = 0.0

    def entry(self, name: str, epoch: int, k: int) -> Value:
        """``name[epoch, k]`` as a vector of balls."""
        return self._ball(super().entry(name, epoch, k))

    def fact(self, name: str, bound: Bound) -> Value:
        """Facts as of any run; the output is a vector of balls."""
        found = super().fact(name, bound)
        return self._ball(found) if name == "output" else found

    def _ball(self, point: Value) -> Value:
        assert isinstance(point, Vector)
        return Vector(tuple(entry + arb(0, self.radius) for entry in point.entries))


def _defined(row: NDArray[np.object_] | NDArray[np.float64]) -> Any | None:
    """The row, or None where the paper does not define that entry (NaN) or where a run in floats overflowed (inf)."""
    flat: Any = np.asarray(row).ravel()
    if flat.dtype == object:
        return flat if all(abs(number) < inf for number in flat) else None
    return flat if bool(np.isfinite(flat).all()) else None

"""The memory of a run in its three forms: NumPy arrays for compiled code, lists of floats, lists of mpmath numbers."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from bilevel_verify.methods.kernels import layout
from bilevel_verify.methods.kernels.layout import Memory
from bilevel_verify.methods.letters import Number, to_float, to_multiprecision
from bilevel_verify.methods.registry import Estimator, Method, Scheme

Form = Literal["compiled", "plain", "multiprecision"]
TRACE_BYTES = 16 * 2**20
"""Most memory for one block of the trace."""
NOISE_ROWS = 256
HISTORY_ROWS = 4 * 64


@dataclass(frozen=True, slots=True)
class Arithmetic:
    """One of the three forms: how numbers and arrays are made.

    Attributes
    ----------
    form : ``compiled`` (float64 arrays), ``plain`` (lists of floats), ``multiprecision`` (lists of mpmath numbers).
    digits : decimal digits of the last form.
    """

    form: Form
    digits: int | None = None

    @property
    def number(self) -> Number:
        """Converts what a user gives."""
        return to_multiprecision if self.form == "multiprecision" else to_float

    @property
    def dtype(self) -> Any:
        """Element type of the trace."""
        return object if self.form == "multiprecision" else np.float64

    @property
    def precision(self) -> Any:
        """Unit round-off."""
        return self.number(2.0**-53) if self.digits is None else self.number(10) ** -self.digits

    def vector(self, values: Any) -> Any:
        """One dimension, from numbers of this arithmetic."""
        return np.array(values, dtype=np.float64) if self.form == "compiled" else list(values)

    def rows(self, rows: int, columns: int) -> Any:
        """``rows`` vectors of zeros."""
        if self.form == "compiled":
            return np.zeros((rows, columns))
        zero = self.number(0)
        return [[zero] * columns for _ in range(rows)]

    def whole(self, size: int) -> Any:
        """Integers, zero."""
        return np.zeros(size, dtype=np.int64) if self.form == "compiled" else [0] * size

    def empty_trace(self, rows: int, dx: int, dy: int) -> Any:
        """A block of the trace, NaN everywhere."""
        missing = self.number("nan") if self.form == "multiprecision" else np.nan
        return np.full((rows, trace_width(dx, dy)), missing, dtype=self.dtype)


def trace_width(dx: int, dy: int) -> int:
    """Entries of one row of the trace."""
    return layout.STAMPS + layout.POINTS * dx + layout.LOWERS * dy


def trace_columns(place: tuple[str, int], dx: int, dy: int) -> slice:
    """Where a sequence lies in a row of the trace."""
    group, index = place
    if group == "points":
        start = layout.STAMPS + index * dx
        return slice(start, start + dx)
    start = layout.STAMPS + layout.POINTS * dx + index * dy
    return slice(start, start + dy)


def new_memory(
    arithmetic: Arithmetic,
    method: Method,
    scheme: Scheme,
    estimator: Estimator,
    letters: Mapping[str, Any],
    starts: Mapping[str, list[Any]],
    rows: int,
    needs_hessians: bool,
) -> Memory:
    """Memory of a run before its first iteration.

    Parameters
    ----------
    letters : of the method, resolved.
    starts : ``x0``, ``y0``, ``v0``, and ``v_given`` (empty or not).
    rows : capacity of the first block of the trace.
    needs_hessians : whether full Hessians are asked for.
    """
    dx, dy = len(starts["x0"]), len(starts["y0"])
    name_of = {**{letter.name: letter.name for letter in method.letters}, **method.renamed}

    def value(letter: str, default: Any) -> Any:
        return letters.get(name_of.get(letter, letter), default)

    lengths = _length_table([value(letter.name, -1) for letter in estimator.lengths])
    extra = HISTORY_ROWS if scheme.history else NOISE_ROWS if method.noisy else 0
    tape = _most(value(estimator.tape, 1)) if estimator.tape else 0
    memory = Memory(
        whole=arithmetic.whole(layout.LENGTHS + lengths.size),
        real=arithmetic.vector(_real_numbers(arithmetic, scheme, estimator, value)),
        outer=arithmetic.rows(layout.OUTER_ROWS + extra, dx),
        inner=arithmetic.rows(layout.MATRIX + (dy if needs_hessians else 0) + tape, dy),
        joint=arithmetic.vector([arithmetic.number(0)] * max(dx + dy, 1)),
        blocks=arithmetic.rows(2, (dx + dy) ** 2 if needs_hessians else 1),
        trace=arithmetic.empty_trace(rows, dx, dy),
    )
    memory.whole[layout.COLUMNS] = lengths.shape[1]
    for place, entry in enumerate(lengths.ravel().tolist()):
        memory.whole[layout.LENGTHS + place] = entry
    _fill(memory, arithmetic, method, scheme, estimator, starts, value)
    if scheme.prepare is not None:
        scheme.prepare(memory, letters)
    return memory


def _real_numbers(
    arithmetic: Arithmetic, scheme: Scheme, estimator: Estimator, value: Callable[[str, Any], Any]
) -> list[Any]:
    """Letters of the scheme and of the estimator, and the constants of the arithmetic."""
    zero = arithmetic.number(0)
    real = [zero] * layout.REAL_SIZE
    for place, letter in enumerate(scheme.letters):
        real[place] = value(letter.name, zero)
    for place, letter in enumerate(estimator.letters):
        real[layout.LETTERS + place] = value(letter.name, zero)
    real[layout.ONE], real[layout.PRECISION] = arithmetic.number(1), arithmetic.precision
    return real


def _fill(
    memory: Memory,
    arithmetic: Arithmetic,
    method: Method,
    scheme: Scheme,
    estimator: Estimator,
    starts: Mapping[str, list[Any]],
    value: Any,
) -> None:
    """Starts, flags and integer letters."""
    for row in (layout.X, layout.X_OLD, layout.W):
        memory.outer[row][:] = starts["x0"]
    for row in (layout.Y, layout.Z, layout.Y_START):
        memory.inner[row][:] = starts["y0"]
    memory.inner[layout.V][:] = starts["v0"]
    memory.inner[layout.V_START][:] = starts["v0"]
    memory.outer[layout.UNDEFINED][:] = [arithmetic.number(0) * float("nan")] * len(starts["x0"])
    for letter, place in scheme.whole:
        memory.whole[place] = value(letter.name, 0)
    for place, flag in {**scheme.flags, **method.flags}.items():
        memory.whole[place] = flag
    if memory.whole[layout.COLD] == layout.COLD_IF_GIVEN:
        memory.whole[layout.COLD] = int(any(entry != 0 for entry in starts["y0"]))
    memory.whole[layout.FRESH] = 1
    memory.whole[layout.INNER_FIRST] = int(estimator.inner_first)
    memory.whole[layout.V_GIVEN] = int(bool(starts["v_given"]))
    memory.whole[layout.ITERATIONS_MOST] = 2**62


def _most(length: Any) -> int:
    return max(max(length) if isinstance(length, tuple) else int(length), 1)


def _length_table(lengths: list[Any]) -> Any:
    """One row per letter, one column per epoch; shorter lists go on with their last entry."""
    columns = max((len(entry) for entry in lengths if isinstance(entry, tuple)), default=1)
    table = np.zeros((max(len(lengths), 1), columns), dtype=np.int64)
    for place, entry in enumerate(lengths):
        values = entry if isinstance(entry, tuple) else (entry,)
        table[place] = [*values, *[values[-1]] * (columns - len(values))]
    return table


def block_rows(dx: int, dy: int) -> int:
    """Most rows of one block of the trace."""
    return int(max(8, min(65536, TRACE_BYTES // (8 * trace_width(dx, dy)))))

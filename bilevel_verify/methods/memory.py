"""The memory of a run in its three forms: NumPy arrays for compiled code, lists of floats, lists of mpmath numbers."""

from __future__ import annotations

from collections.abc import Mapping
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
SEQUENCES = 4
LOWER_SEQUENCES = 3


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

    def empty_trace(self, kinds: int, rows: int, columns: int) -> Any:
        """A block of the trace, NaN everywhere."""
        missing = self.number("nan") if self.form == "multiprecision" else np.nan
        return np.full((kinds, rows, columns), missing, dtype=self.dtype)


def new_memory(
    arithmetic: Arithmetic,
    method: Method,
    scheme: Scheme,
    estimator: Estimator,
    letters: Mapping[str, Any],
    starts: Mapping[str, list[Any]],
    rows: int,
) -> Memory:
    """Memory of a run before its first iteration.

    Parameters
    ----------
    letters : of the method, resolved.
    starts : ``x0``, ``y0``, ``v0``, and ``v_given`` (empty or not).
    rows : capacity of the first block of the trace.
    """
    dx, dy = len(starts["x0"]), len(starts["y0"])
    name_of = {**{letter.name: letter.name for letter in method.letters}, **method.renamed}

    def value(letter: str, default: Any) -> Any:
        return letters.get(name_of.get(letter, letter), default)

    zero = arithmetic.number(0)
    real = [value(letter.name, zero) for letter in scheme.letters]
    lengths = [value(letter.name, -1) for letter in estimator.lengths]
    memory = Memory(
        real=arithmetic.vector(real + [zero] * (12 - len(real))),
        whole=arithmetic.whole(layout.WHOLE_SIZE),
        number=arithmetic.vector([zero] * layout.NUMBER_SIZE),
        outer=arithmetic.rows(layout.OUTER_ROWS, dx),
        inner=arithmetic.rows(layout.INNER_ROWS, dy),
        joint=arithmetic.vector([zero] * (dx + dy)),
        square=arithmetic.rows(dy, dy),
        blocks=arithmetic.rows(2, (dx + dy) ** 2 if _wants_hessians(method) else 1),
        scratch=arithmetic.vector([zero]),
        tape=arithmetic.rows(_most(value(estimator.tape, 1)) if estimator.tape else 1, dy),
        letters=arithmetic.vector([value(letter.name, zero) for letter in estimator.letters] or [zero]),
        lengths=_length_table(lengths),
        noise=np.zeros((0, dx), dtype=arithmetic.dtype),
        history=arithmetic.empty_trace(max(scheme.histories, 1), 64 if scheme.histories else 1, dx),
        stamps=np.zeros((rows, 2), dtype=np.int64),
        points=arithmetic.empty_trace(SEQUENCES, rows, dx),
        lowers=arithmetic.empty_trace(LOWER_SEQUENCES, rows, dy),
    )
    _fill(memory, arithmetic, method, scheme, estimator, starts, value)
    if scheme.prepare is not None:
        scheme.prepare(memory, letters)
    return memory


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
    memory.number[layout.ONE] = arithmetic.number(1)
    memory.number[layout.PRECISION] = arithmetic.precision
    for letter, place in scheme.whole:
        memory.whole[place] = value(letter.name, 0)
    for place, flag in {**scheme.flags, **method.flags}.items():
        memory.whole[place] = flag
    memory.whole[layout.FRESH] = 1
    memory.whole[layout.INNER_FIRST] = int(estimator.inner_first)
    memory.whole[layout.V_GIVEN] = int(bool(starts["v_given"]))
    memory.whole[layout.ITERATIONS_MOST] = 2**62


def _wants_hessians(method: Method) -> bool:
    return bool(method.oracles & {"hess_f", "hess_g"})


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
    return int(max(64, min(65536, TRACE_BYTES // (8 * (SEQUENCES * dx + LOWER_SEQUENCES * dy + 2)))))

"""The memory of a run in its three forms: NumPy arrays for compiled code, lists of floats, lists of mpmath numbers."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields
from typing import Any, Literal, TypeVar

import numpy as np

from bilevel_verify.methods.kernels.state import (
    COLD_IF_GIVEN,
    COLD_START,
    WARM,
    Hessians,
    Inner,
    Lower,
    LowerPoints,
    Memory,
    Outer,
    Points,
    Progress,
    Real,
)
from bilevel_verify.methods.letters import Number, to_float, to_multiprecision
from bilevel_verify.methods.records import dtype_of, is_whole
from bilevel_verify.methods.registry import PERTURBATION_RADIUS, Estimator, Letter, Method, Scheme, field_names
from bilevel_verify.numbers.binary import binary
from bilevel_verify.oracles.handing import handed

T = TypeVar("T")

Form = Literal["compiled", "plain", "multiprecision"]
TRACE_BYTES = 16 * 2**20
"""Most memory for one block of the trace."""
NOISE_ROWS = 256
HISTORY_ROWS = 4 * 64
BEGIN_AT_X0 = ("x", "x_old", "w")
"""Vectors of a scheme that begin at x0; all others begin at zero."""


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

    def block(self, kind: type[tuple[object, ...]], columns: int) -> Any:
        """Vectors of zeros, one for each field of a ``NamedTuple``."""
        rows = self.rows(len(field_names(kind)), columns)
        return rows if self.form == "compiled" else kind(*rows)

    def numbers(self, kind: type[tuple[object, ...]], values: list[Any]) -> Any:
        """Numbers, one for each field of a ``NamedTuple``."""
        return np.array(values, dtype=np.float64) if self.form == "compiled" else kind(*values)

    def whole(self, kind: type[tuple[object, ...]], rows: list[list[int]]) -> Any:
        """A table of integers, one row for each field of a ``NamedTuple``."""
        if self.form != "compiled":
            return kind(*rows)
        return np.array(rows, dtype=np.int64).reshape(len(rows), len(rows[0]) if rows else 1)

    def record(self, kind: type[T]) -> T:
        """A record with the numbers that its fields begin with."""
        of: Any = kind
        made: Any = np.zeros(1, dtype_of(of))[0] if self.form == "compiled" else kind()
        for entry in fields(kind):  # type: ignore[arg-type]
            setattr(made, entry.name, entry.default if is_whole(entry) else self.number(entry.default))
        return made  # type: ignore[no-any-return]

    def trace(self, rows: int, dx: int, dy: int) -> dict[str, Any]:
        """The fields of ``Memory`` that hold a block of the trace, NaN everywhere."""
        missing = self.number("nan") if self.form == "multiprecision" else np.nan
        upper, lower = rows * len(Points._fields) * dx, rows * len(LowerPoints._fields) * dy
        one = np.full(upper + lower, missing, dtype=self.dtype)  # two large arrays cost twice the new pages
        points, lowers = (
            one[:upper].reshape(rows, len(Points._fields), dx),
            one[upper:].reshape(rows, len(LowerPoints._fields), dy),
        )
        return {"stamps": np.zeros((rows, 2), dtype=np.int64), "points": points, "lowers": lowers}


def _binary(value: object) -> Real:
    number: Real = binary(to_multiprecision(value))
    return number


@dataclass(frozen=True, slots=True)
class LoopArithmetic(Arithmetic):
    """The arithmetic inside a loop in many digits: lists of binary numbers, exactly those of mpmath at its start."""

    @property
    def number(self) -> Number:
        """Converts what a user gives."""
        return _binary

    @property
    def precision(self) -> Any:
        """Unit round-off."""
        return binary(to_multiprecision(10) ** -(self.digits or 0))


TRACE = ("stamps", "points", "lowers")
"""Fields of ``Memory`` that hold a block of the trace."""


def hand_over(memory: Memory) -> Memory:
    """What a compiled loop takes for this memory of arrays, which must outlive the call."""
    lower = Lower(memory.lower.at, *(handed(part) for part in memory.lower[1:]))
    parts = {name: handed(getattr(memory, name)) for name in ("vectors", "supply", *TRACE)}
    return Memory(at=memory.at, letters=memory.letters, lower=lower, **parts)


def column(name: str) -> tuple[bool, int]:
    """Where a column of the trace is: among the points of the upper level or not, and its place there."""
    above = name in Points._fields
    return above, (Points if above else LowerPoints)._fields.index(name)


def row_entries(dx: int, dy: int) -> int:
    """Numbers of one row of the trace."""
    return 2 + len(Points._fields) * dx + len(LowerPoints._fields) * dy


def new_memory(
    arithmetic: Arithmetic,
    method: Method,
    scheme: Scheme,
    estimator: Estimator,
    letters: Mapping[str, object],
    starts: Mapping[str, list[Real]],
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
    name_of = {**{letter.name: letter.name for letter in method.letters}, **method.renamed}

    def value(letter: Letter, default: object) -> Any:
        return letters.get(name_of.get(letter.name, letter.name), default)

    own: Any = arithmetic.record(scheme.record)
    at = arithmetic.record(Progress)
    for letter in scheme.letters:
        if letter != PERTURBATION_RADIUS:
            setattr(own, letter.name, value(letter, arithmetic.number(0)))
    vectors = arithmetic.block(scheme.state, len(starts["x0"]))
    extra = HISTORY_ROWS if scheme.history else NOISE_ROWS if method.noisy else 0
    lower = _lower(arithmetic, at, estimator, starts, value, needs_hessians)
    trace = arithmetic.trace(rows, len(starts["x0"]), len(starts["y0"]))
    at.capacity = rows
    memory = Memory(at, own, vectors, arithmetic.rows(extra, len(starts["x0"])), lower, **trace)
    at.supply = extra if scheme.history else 0
    begin_at(memory, scheme, starts)
    _set_flags(memory, arithmetic, method, scheme, estimator, starts)
    if scheme.prepare is not None:
        scheme.prepare(at, own, letters)
    return memory


def begin_at(memory: Memory, scheme: Scheme, starts: Mapping[str, list[Real]]) -> None:
    """Write the start of the upper level where a scheme begins with it."""
    for place, name in enumerate(field_names(scheme.state)):
        if name in BEGIN_AT_X0:
            memory.vectors[place][:] = starts["x0"]


def _lower(
    arithmetic: Arithmetic,
    at: Progress,
    estimator: Estimator,
    starts: Mapping[str, list[Real]],
    value: Callable[[Letter, Any], Any],
    needs_hessians: bool,
) -> Lower:
    """The memory of the estimator; every vector is zero but for the starts."""
    dx, dy = len(starts["x0"]), len(starts["y0"])
    zero = arithmetic.number(0)
    inner, outer = arithmetic.block(Inner, dy), arithmetic.block(Outer, dx)
    for name, start in (("y", "y0"), ("z", "y0"), ("y_start", "y0"), ("v", "v0"), ("v_start", "v0")):
        inner[Inner._fields.index(name)][:] = starts[start]
    outer[Outer._fields.index("undefined")][:] = [zero * float("nan")] * dx
    tape = next((_most(value(letter, 1)) for letter in estimator.lengths if letter.name == estimator.tape), 0)
    return Lower(
        at=at,
        letters=arithmetic.numbers(estimator.numbers, [value(letter, zero) for letter in estimator.letters]),
        lengths=arithmetic.whole(estimator.steps, _length_table([value(letter, -1) for letter in estimator.lengths])),
        inner=inner,
        outer=outer,
        joint=arithmetic.rows(1, max(dx + dy, 1)),
        hessians=arithmetic.block(Hessians, (dx + dy) ** 2 if needs_hessians else 1),
        matrix=arithmetic.rows(dy if needs_hessians else 0, dy),
        tape=arithmetic.rows(tape, dy),
    )


def _set_flags(
    memory: Memory,
    arithmetic: Arithmetic,
    method: Method,
    scheme: Scheme,
    estimator: Estimator,
    starts: Mapping[str, list[Real]],
) -> None:
    """What the scheme, the method and the starts decide besides letters."""
    at = memory.at
    at.precision = arithmetic.precision
    for name, flag in {**scheme.flags, **method.flags}.items():
        own = any(entry.name == name for entry in fields(scheme.record))
        setattr(memory.letters if own else at, name, flag)
    if at.cold == COLD_IF_GIVEN:
        at.cold = COLD_START if any(entry != 0 for entry in starts["y0"]) else WARM
    at.inner_first = int(estimator.inner_first)
    at.v_given = int(bool(starts["v_given"]))


def _most(length: Any) -> int:
    return max(max(length) if isinstance(length, tuple) else int(length), 1)


def _length_table(lengths: list[Any]) -> list[list[int]]:
    """One row per letter, one column per epoch; shorter lists go on with their last entry."""
    entries = [entry if isinstance(entry, tuple) else (entry,) for entry in lengths]
    columns = max((len(entry) for entry in entries), default=1)
    return [[*entry, *[entry[-1]] * (columns - len(entry))] for entry in entries]


def block_rows(dx: int, dy: int) -> int:
    """Most rows of one block of the trace."""
    return int(max(8, min(65536, TRACE_BYTES // (8 * row_entries(dx, dy)))))

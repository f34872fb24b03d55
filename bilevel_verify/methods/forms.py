"""Solver loops in the three forms: plain functions as they stand, or their compiled copys with explicit signatures."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache, lru_cache
from typing import TYPE_CHECKING, Any

from bilevel_verify.methods.kernels.members import Stack, advance_members
from bilevel_verify.methods.kernels.state import Ask, Lower, Memory, Progress
from bilevel_verify.methods.records import dtype_of
from bilevel_verify.methods.registry import Estimator, Scheme
from bilevel_verify.oracles.compiling import oracle_set_type
from bilevel_verify.oracles.handing import Integers, Numbers, Vectors, address_of
from bilevel_verify.oracles.jit import compiled

if TYPE_CHECKING:
    from bilevel_verify.oracles.toolkit import Dispatcher
    from bilevel_verify.oracles.toolkit import TypeOfArguments as NumbaType
    from bilevel_verify.oracles.toolkit import WrittenSignature as Signature

Loop = Callable[..., int]


def loops(
    scheme: Scheme, estimator: Estimator, form: str, tested: bool = True
) -> tuple[Loop, tuple[Loop | int, Loop | int, Loop | int]]:
    """The scheme, and what it asks: gradient, value, exact gradient, as functions or addresses of machine code.

    What a run never asks for is not compiled: the gradient stands in its place. Exact gradients serve stopping tests
    alone, so a run without a tolerance (``tested``) does not ask for them.
    """
    asked = _asked(scheme, estimator, tested)
    if form != "compiled":
        return scheme.function, asked
    gradient, value, exact = (_address(function) for function in asked)
    return _compiled_scheme(scheme.function, scheme.record), (gradient, value, exact)


def _asked(scheme: Scheme, estimator: Estimator, tested: bool) -> tuple[Loop, Loop, Loop]:
    value = estimator.value if scheme.values else estimator.function
    exact = estimator.exact if scheme.stopping and tested else estimator.function
    return estimator.function, value, exact


_LOADED: set[Loop] = set()
"""Loops and answers whose machine code is in this process."""


def is_loaded(scheme: Scheme, estimator: Estimator, tested: bool) -> bool:
    """Whether the machine code of :func:`loops` is in this process already."""
    return {scheme.function, *_asked(scheme, estimator, tested)} <= _LOADED


def compiled_loop(function: Loop, memory: tuple[object, ...]) -> Dispatcher:
    """The machine code of a loop that is no cell of the table, for memories of the types of this one."""
    from numba import int64, typeof

    _LOADED.add(function)
    return compiled(function, int64(oracle_set_type(), int64[::1], typeof(memory)))  # type: ignore[no-untyped-call]


def is_here(function: Loop) -> bool:
    """Whether the machine code of such a loop is in this process already."""
    return function in _LOADED


@cache
def _compiled_scheme(function: Loop, record: type) -> Dispatcher:
    from numba import int64

    _LOADED.add(function)
    return compiled(function, int64(_ask_type(), memory_type(record)))


@cache
def loop_of_members(function: Loop, record: type) -> tuple[Dispatcher, int]:
    """The compiled loop over many runs of a scheme with this record, and the address of the scheme that it takes."""
    from numba import int64, types, void

    stack = types.NamedUniTuple(int64, len(Stack._fields), Stack)  # type: ignore[no-untyped-call]
    blocks = dict.fromkeys((Vectors, Integers, Numbers), stack)
    at, own = (types.Array(_record(kind), 1, "C") for kind in (Progress, record))
    arguments = [int64, _ask_type(), int64[::1], int64[::1], int64[:, ::1], _memory_type(at, own, blocks)]
    return compiled(advance_members, void(*arguments)), address_of(_compiled_scheme(function, record))


@cache
def _compiled_answer(function: Loop) -> Dispatcher:
    _LOADED.add(function)
    return compiled(function, _answer_signature())


@cache
def _address(function: Loop) -> int:
    return address_of(_compiled_answer(function))


@lru_cache(maxsize=1)
def _answer_signature() -> Signature:
    from numba import float64, int64

    vector = float64[::1]
    lower = _lower_type(_record(Progress), _blocks())
    found: Signature = int64(oracle_set_type(), int64[::1], vector, vector, lower, int64, int64)
    return found


@lru_cache(maxsize=1)
def _ask_type() -> NumbaType:
    from numba import int64, types

    make: Any = types.NamedTuple
    found: NumbaType = make([oracle_set_type(), int64, int64, int64, int64[::1]], Ask)
    return found


def memory_type(record: type) -> NumbaType:
    """numba type of a :class:`Memory` that is handed over, for a scheme with this record."""
    return _memory_type(_record(Progress), _record(record), _blocks())


def _memory_type(at: object, own: object, blocks: Mapping[type, NumbaType]) -> NumbaType:
    from numba import types

    make: Any = types.NamedTuple
    rows = blocks[Vectors]
    found: NumbaType = make([at, own, rows, rows, _lower_type(at, blocks), blocks[Integers], rows, rows], Memory)
    return found


def _lower_type(at: object, blocks: Mapping[type, NumbaType]) -> NumbaType:
    from numba import types

    make: Any = types.NamedTuple
    found: NumbaType = make([at, blocks[Numbers], blocks[Integers], *[blocks[Vectors]] * 6], Lower)
    return found


def _blocks() -> Mapping[type, NumbaType]:
    from numba import int64, types

    kinds: tuple[Any, ...] = (Vectors, Integers, Numbers)
    return {kind: types.NamedUniTuple(int64, len(kind._fields), kind) for kind in kinds}  # type: ignore[no-untyped-call]


def _record(kind: type) -> NumbaType:
    from numba import from_dtype

    found: NumbaType = from_dtype(dtype_of(kind))
    return found

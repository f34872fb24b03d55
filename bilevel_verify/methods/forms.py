"""Solver loops in the three forms: plain functions as they stand, or their compiled twins with explicit signatures."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache, lru_cache
from typing import Any

from bilevel_verify.methods.kernels.members import advance_members
from bilevel_verify.methods.kernels.state import Ask, Lower, Memory, Progress
from bilevel_verify.methods.records import dtype_of
from bilevel_verify.methods.registry import Estimator, Scheme
from bilevel_verify.oracles.compiling import oracle_set_type
from bilevel_verify.oracles.handing import address_of
from bilevel_verify.oracles.jit import compiled

Loop = Callable[..., int]


def loops(scheme: Scheme, estimator: Estimator, form: str, tested: bool = True) -> tuple[Loop, tuple[Any, Any, Any]]:
    """The scheme, and what it asks: gradient, value, exact gradient, as functions or addresses of machine code.

    What a run never asks for is not compiled: the gradient stands in its place. Exact gradients serve stopping tests
    alone, so a run without a tolerance (``tested``) does not ask for them.
    """
    asked = _asked(scheme, estimator, tested)
    if form != "compiled":
        return scheme.function, asked
    gradient, value, exact = (address_of(_compiled_answer(function)) for function in asked)
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


@cache
def _compiled_scheme(function: Loop, record: type) -> Any:
    from numba import int64

    _LOADED.add(function)
    return compiled(function, int64(_ask_type(), memory_type(record)))


@cache
def loop_of_members(function: Loop, record: type) -> tuple[Any, int]:
    """The compiled loop over many runs of a scheme with this record, and the address of the scheme that it takes."""
    from numba import int64, void

    arguments = [int64, _ask_type(), int64[::1], int64[::1], int64[:, ::1], memory_type(record, stacked=True)]
    return compiled(advance_members, void(*arguments)), address_of(_compiled_scheme(function, record))


@cache
def _compiled_answer(function: Loop) -> Any:
    _LOADED.add(function)
    return compiled(function, _answer_signature())


@lru_cache(maxsize=1)
def _answer_signature() -> Any:
    from numba import float64, int64

    vector = float64[::1]
    return int64(oracle_set_type(), int64[::1], vector, vector, _lower_type(), int64, int64)


@lru_cache(maxsize=1)
def _ask_type() -> Any:
    from numba import int64, types

    make: Any = types.NamedTuple
    return make([oracle_set_type(), int64, int64, int64, int64[::1]], Ask)


def memory_type(record: type, stacked: bool = False) -> Any:
    """numba type of :class:`Memory`, or of one whose fields have one entry per member in front."""
    from numba import float64, int64, types

    make: Any = types.NamedTuple
    table, cube = _array(float64, 2, stacked), _array(float64, 3, stacked)
    own, whole = [_record(Progress, stacked), _record(record, stacked)], _array(int64, 1, stacked)
    return make([*own, table, table, _lower_type(stacked), whole, whole, cube, cube], Memory)


@cache
def _lower_type(stacked: bool = False) -> Any:
    from numba import float64, int64, types

    make: Any = types.NamedTuple
    vector, table = _array(float64, 1, stacked), _array(float64, 2, stacked)
    lengths = _array(int64, 2, stacked)
    return make([_record(Progress, stacked), vector, lengths, table, table, vector, table, table, table], Lower)


def _array(element: Any, dimension: int, stacked: bool) -> Any:
    from numba import types

    return types.Array(element, dimension + stacked, "C")


def _record(kind: type, stacked: bool) -> Any:
    from numba import from_dtype, types

    found = from_dtype(dtype_of(kind))
    return types.Array(found, 1, "C") if stacked else found

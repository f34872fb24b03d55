"""Solver loops in the three forms: plain functions as they stand, or their compiled twins with explicit signatures."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache, lru_cache
from typing import Any

from bilevel_verify.methods.kernels.layout import Memory
from bilevel_verify.methods.kernels.members import advance_members
from bilevel_verify.methods.registry import Estimator, Scheme
from bilevel_verify.oracles.jit import compiled

Loop = Callable[..., int]


def loops(scheme: Scheme, estimator: Estimator, form: str, tested: bool = True) -> tuple[Loop, tuple[Any, Any, Any]]:
    """The scheme, and what it asks: gradient, value, exact gradient, as functions of one form.

    What a run never asks for is not compiled: the gradient stands in its place. Exact gradients serve stopping tests
    alone, so a run without a tolerance (``tested``) does not ask for them.
    """
    asked = _asked(scheme, estimator, tested)
    if form != "compiled":
        return scheme.function, asked
    first, second, third = (_compiled_answer(function) for function in asked)
    return _compiled_scheme(scheme.function), (first, second, third)


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
def _compiled_scheme(function: Loop) -> Any:
    _LOADED.add(function)
    return compiled(function, _scheme_signature())


@lru_cache(maxsize=1)
def _scheme_signature() -> Any:
    from numba import int64, types

    from bilevel_verify.oracles.compiling import oracle_set_type

    ask = types.FunctionType(_estimator_signature())
    return int64(oracle_set_type(), ask, ask, ask, int64[::1], memory_type())


@lru_cache(maxsize=1)
def loop_of_members() -> Any:
    """The compiled loop over many runs; it takes any scheme, so it is compiled once."""
    from numba import float64, int64, types, void

    from bilevel_verify.oracles.compiling import oracle_set_type

    scheme, ask = types.FunctionType(_scheme_signature()), types.FunctionType(_estimator_signature())
    kind = {"whole": int64[:, ::1], "real": float64[:, ::1], "joint": float64[:, ::1]}
    fields = [kind.get(name, float64[:, :, ::1]) for name in Memory._fields]
    arguments = [scheme, oracle_set_type(), ask, ask, ask, int64[::1], int64[::1], int64[:, ::1], *fields]
    return compiled(advance_members, void(*arguments))


@cache
def _compiled_answer(function: Loop) -> Any:
    _LOADED.add(function)
    return compiled(function, _estimator_signature())


@lru_cache(maxsize=1)
def _estimator_signature() -> Any:
    from numba import float64, int64

    from bilevel_verify.oracles.compiling import oracle_set_type

    return int64(oracle_set_type(), int64[::1], float64[::1], memory_type(), int64, int64)


@lru_cache(maxsize=1)
def memory_type() -> Any:
    """numba type of :class:`Memory`."""
    from numba import float64, int64, types

    vector, table = float64[::1], float64[:, ::1]
    kind = {"whole": int64[::1], "real": vector, "joint": vector}
    make: Any = types.NamedTuple
    return make([kind.get(name, table) for name in Memory._fields], Memory)

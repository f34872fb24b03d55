"""One source, two lives: functions that run as plain Python and have a compiled twin.

``@loop`` marks a function and leaves it as it is, so plain runs pay nothing and a debugger sees the source.
:func:`compiled` returns the numba twin: the same code object with every marked function among its globals replaced by
that function's twin. Twins are made once per process; their machine code is kept on disk (see ``cache.py``).
"""

from __future__ import annotations

from collections.abc import Callable
from types import FunctionType
from typing import Any, TypeVar

F = TypeVar("F", bound=Callable[..., Any])

_MARKED: dict[Any, Callable[..., Any]] = {}
_TWINS: dict[Any, Any] = {}


def loop(function: F) -> F:
    """Mark a function as one that has a compiled twin."""
    _MARKED[function] = function
    return function


def compiled(function: Callable[..., Any], signature: Any = None) -> Any:
    """The numba twin of a marked function.

    Parameters
    ----------
    function : marked with :func:`loop`.
    signature : numba signature; with one, the twin is compiled now (or read from the cache) and its code is kept on
        disk. Without one it is compiled where a caller needs it, as part of the caller.
    """
    import numba

    if function not in _MARKED:
        raise ValueError(f"{function!r} is not marked with @loop")
    key = (function, str(signature))
    if key not in _TWINS:
        twin = _copy(function)
        decorator = numba.njit(error_model="numpy", nogil=True)
        if signature is None:
            _TWINS[key] = decorator(twin)
        else:
            from bilevel_verify.oracles.compiling import compile_cached

            _TWINS[key] = compile_cached(twin, signature)
    return _TWINS[key]


def _copy(function: Callable[..., Any]) -> FunctionType:
    """The same code with marked globals replaced by their twins."""
    assert isinstance(function, FunctionType)
    names = _global_names(function.__code__)
    replaced = {
        name: compiled(value) for name in names if (value := function.__globals__.get(name)) is not None and _is_marked(value)
    }
    twin = FunctionType(function.__code__, {**function.__globals__, **replaced}, function.__name__, function.__defaults__)
    twin.__module__ = function.__module__
    twin.__qualname__ = function.__qualname__
    return twin


def _is_marked(value: Any) -> bool:
    return isinstance(value, FunctionType) and value in _MARKED


def _global_names(code: Any) -> set[str]:
    return set(code.co_names)

"""One source, two lives: functions that run as plain Python and have a compiled copy.

``@loop`` marks a function and leaves it as it is, so plain runs pay nothing and a debugger sees the source.
:func:`compiled` returns the numba copy: the same code object with every marked function among its globals replaced by
that function's copy. Copies are made once per process; machine code of copies with a signature is kept on disk.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator
from dis import get_instructions
from importlib import import_module
from types import CodeType, FunctionType
from typing import TYPE_CHECKING, Any, TypeVar

from bilevel_verify.oracles.compiling import compile_cached, digest_of, part

if TYPE_CHECKING:
    from bilevel_verify.oracles.toolkit import Dispatcher, NumbaType, Signature

F = TypeVar("F", bound=Callable[..., object])

_MARKED: set[Any] = set()
_INLINED: set[Any] = set()
_REPLACED: dict[Any, Any] = {}
_COMPILED: dict[Any, Any] = {}


def loop(function: F) -> F:
    """Mark a function as one that has a compiled copy."""
    _MARKED.add(function)
    return function


def inlined(function: F) -> F:
    """Like :func:`loop`, for a short function whose call would cost more than its body: copied into its callers."""
    _INLINED.add(function)
    return loop(function)


def compiled_as(replacement: object) -> Callable[[F], F]:
    """Decorator: compiled code calls ``replacement`` (something numba knows, such as ``math.sqrt``) instead.

    A text ``"module:attribute"`` is looked up when something is compiled.
    """

    def mark(function: F) -> F:
        _REPLACED[function] = replacement
        return function

    return mark


def compiled(function: Callable[..., object], signature: Signature | None = None) -> Dispatcher:
    """The numba copy of a marked function.

    Parameters
    ----------
    function : marked with :func:`loop`.
    signature : numba signature; with one, the copy is compiled now (or read from the cache) and its code is kept on
        disk. Without one it is compiled where a caller needs it, as part of the caller.
    """
    if function not in _MARKED:
        raise ValueError(f"{function!r} is not marked with @loop")
    key = (function, str(signature))
    if key not in _COMPILED:
        copy = _copy(function)
        if signature is None:
            _COMPILED[key] = part(copy, inline=function in _INLINED)
        else:
            place = f"{function.__module__}.{function.__qualname__}"
            arguments = "".join(_layout(kind) for kind in signature.args)
            _COMPILED[key] = compile_cached(
                copy, signature, digest_of("loop", place, str(signature), arguments, code_digest(function))
            )
    made: Dispatcher = _COMPILED[key]
    return made


def _layout(kind: NumbaType) -> str:
    """Names and order of the fields of a named tuple's type, which its text leaves out."""
    if not hasattr(kind, "instance_class"):
        return ""
    inside = [_layout(part) for part in kind]
    return f"{kind.instance_class.__name__}{kind.instance_class._fields}{inside}"


def code_digest(function: Callable[..., object]) -> str:
    """SHA-256 of everything that decides what a marked function does: its code, that of all marked functions below it,
    the values of the plain constants that they use, and the fields of their named tuples."""
    digest = hashlib.sha256()
    for piece in _everything_below(function, set()):
        digest.update(piece.encode())
    return digest.hexdigest()


def _everything_below(function: Callable[..., object], seen: set[Callable[..., object]]) -> Iterator[str]:
    if function in seen or not isinstance(function, FunctionType):
        return
    seen.add(function)
    place = f"{function.__module__}.{function.__qualname__}"
    yield f"function {place} {_code_text(function.__code__)} {function.__defaults__!r}"
    for name in sorted(_names(function.__code__)):
        value = function.__globals__.get(name)
        if isinstance(value, FunctionType) and _is_marked(value):
            yield from _everything_below(value, seen)
        elif isinstance(value, bool | int | float | str | tuple):
            yield f"constant {name} {value!r}"
        elif isinstance(value, type) and issubclass(value, tuple):
            yield f"tuple {name} {getattr(value, '_fields', ())!r}"


def _code_text(code: CodeType) -> str:
    constants = [_code_text(c) if isinstance(c, CodeType) else repr(c) for c in code.co_consts]
    return repr((code.co_code, constants, code.co_names, code.co_varnames, code.co_exceptiontable))


def _copy(function: Callable[..., object]) -> FunctionType:
    """The same code with marked globals replaced by their copies."""
    assert isinstance(function, FunctionType)
    replaced = {}
    for name in _names(function.__code__):
        value = function.__globals__.get(name)
        if isinstance(value, FunctionType) and value in _REPLACED:
            replaced[name] = _resolve(_REPLACED[value])
        elif _is_marked(value):
            replaced[name] = compiled(value)  # type: ignore[arg-type]
    copy = FunctionType(
        function.__code__, {**function.__globals__, **replaced}, function.__name__, function.__defaults__
    )
    copy.__module__ = function.__module__
    copy.__qualname__ = function.__qualname__
    return copy


def _resolve(replacement: object) -> object:
    if not isinstance(replacement, str):
        return replacement
    module, attribute = replacement.split(":")
    return getattr(import_module(module), attribute)


def _is_marked(value: object) -> bool:
    return isinstance(value, FunctionType) and value in _MARKED


def _names(code: CodeType) -> set[str]:
    """Globals that the code reads (``co_names`` has its attributes too)."""
    return {instruction.argval for instruction in get_instructions(code) if instruction.opname == "LOAD_GLOBAL"}

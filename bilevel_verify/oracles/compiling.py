"""The adapter to numba: signatures, cache keys, compiled functions kept in our own store.

numba itself is imported when something is compiled; apart from this room nothing touches its internals.
"""

from __future__ import annotations

import hashlib
import importlib
import importlib.util
import os
import pickle
import platform
import sys
from collections.abc import Callable
from functools import lru_cache
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any

from bilevel_verify.oracles.convention import FIELDS, VERSION, OracleSet
from bilevel_verify.oracles.notices import say_once
from bilevel_verify.oracles.store import store

if TYPE_CHECKING:
    from numba.core.types import Type

    from bilevel_verify.oracles.toolkit import CompileResult, Context, Dispatcher, Signature

PLAIN_VARIABLE = "BILEVEL_VERIFY_PLAIN"
"""Environment variable: anything but empty or 0 forces plain Python."""


def is_wanted() -> bool:
    """Whether nobody has forbidden machine code; says nothing about numba, whose import alone takes a second."""
    return os.environ.get(PLAIN_VARIABLE, "0") in ("", "0")


def can_compile() -> bool:
    """Whether numba is there and wanted; its absence is said once."""
    if not is_wanted():
        return False
    trouble = "is not installed" if importlib.util.find_spec("numba") is None else _trouble()
    if trouble:
        say_once("numba", f"numba {trouble}: oracles and solver loops run as plain Python, 10 to 100 times slower")
    return not trouble


@lru_cache(maxsize=1)
def _trouble() -> str:
    """Why an installed numba is of no use here (an unsupported platform or version); empty if it is."""
    try:
        importlib.import_module("numba")
    except Exception as error:  # its binary parts raise anything on a platform that they were not built for
        return f"does not work here ({type(error).__name__}: {str(error)[:80]})"
    return ""


@lru_cache(maxsize=1)
def toolkit_fingerprint() -> str:
    """Versions, platform, convention, and the text of every module that takes part in generating code."""
    import llvmlite
    import numba
    import numpy

    digest = hashlib.sha256()
    versions = (sys.version, numba.__version__, llvmlite.__version__, numpy.__version__, platform.machine(), VERSION)
    digest.update(repr(versions).encode())
    digest.update(repr(_processor()).encode())
    package = Path(__file__).parent.parent
    for room in ("atoms", "symbolic", "oracles"):
        for path in sorted((package / room).glob("*.py")):
            digest.update(path.name.encode() + b"\0" + path.read_bytes())
    return digest.hexdigest()


def _processor() -> tuple[object, ...]:
    """What numba's own cache keys on: target triple, processor and its features, and the flags that change code."""
    config = internal("numba.core.config")
    cpu_target = internal("numba.core.registry").cpu_target
    return cpu_target.target_context.codegen().magic_tuple(), config.OPT, config.BOUNDSCHECK


def internal(module: str) -> ModuleType:
    """A module of numba of which nothing typed is known."""
    return importlib.import_module(module)


def digest_of(*parts: str) -> str:
    """Key of a cache entry."""
    return hashlib.sha256("\0".join((toolkit_fingerprint(), *parts)).encode()).hexdigest()


@lru_cache(maxsize=1)
def oracle_set_type() -> Type:
    """numba type of a compiled :class:`OracleSet`, for explicit signatures of solver loops."""
    types = internal("numba.core.types")
    found: Type = types.NamedUniTuple(types.int64, len(FIELDS), OracleSet)
    return found


def compile_cached(function: Callable[..., object], signature: Signature, key: str) -> Dispatcher:
    """Compile a function for one signature, or load its machine code.

    Parameters
    ----------
    function : plain Python function that numba can compile.
    signature : numba signature.
    key : cache key (64 hexadecimal digits, from :func:`digest_of`) that decides the machine code completely.
    """
    function.__qualname__ = (
        f"{function.__name__}_{key[:24]}"  # symbols of one process must not collide with loaded ones
    )
    dispatcher: Any = internal("numba").njit(error_model="numpy", nogil=True)(function)
    dispatcher._cache = _machine_code(key)
    dispatcher.compile(signature)
    dispatcher.disable_compile()
    made: Dispatcher = dispatcher
    return made


def part(function: Callable[..., object], inline: bool = False) -> Dispatcher:
    """A function that is compiled as a part of others: no way in from Python, so less to compile."""
    options = {"error_model": "numpy", "nogil": True, "no_cpython_wrapper": True, "no_cfunc_wrapper": True}
    made: Dispatcher = internal("numba").njit(**options, forceinline=inline)(function)
    return made


def _machine_code(key: str) -> object:
    """numba's view of our store: one entry, verified before it is unpickled."""
    caching, serialize = internal("numba.core.caching"), internal("numba.core.serialize")
    implementation = caching.CompileResultCacheImpl

    class MachineCode(caching._Cache):  # type: ignore[misc, name-defined]
        cache_path = ""

        def load_overload(self, sig: Signature, target_context: Context) -> CompileResult | None:
            target_context.refresh()
            content = store().load(key)
            if content is None:
                return None
            try:
                found: CompileResult = implementation.rebuild(self, target_context, pickle.loads(content))
            except Exception as error:  # machine code of an incompatible numba build: any error may come out of it
                say_once("rebuild", f"cached machine code could not be loaded ({type(error).__name__}); compiled anew")
                return None
            return found

        def save_overload(self, sig: Signature, data: CompileResult) -> None:
            if data.library.has_dynamic_globals or data.lifted:
                return
            store().save(key, serialize.dumps(implementation.reduce(self, data)))

        def enable(self) -> None: ...
        def disable(self) -> None: ...
        def flush(self) -> None: ...

    return MachineCode()

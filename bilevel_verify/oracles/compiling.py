"""The one adapter to numba: signatures, oracles as addresses, machine code kept in our own store.

Everything here is imported when something is compiled; nothing else in the package touches numba's internals.
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
from typing import Any

from bilevel_verify.oracles.convention import EVALUATIONS, FIELDS, VERSION, OracleSet
from bilevel_verify.oracles.notices import say_once
from bilevel_verify.oracles.store import store

PLAIN_VARIABLE = "BILEVEL_VERIFY_PLAIN"
"""Environment variable: anything but empty or 0 forces plain Python."""


def can_compile() -> bool:
    """Whether numba is there and wanted; its absence is said once."""
    if os.environ.get(PLAIN_VARIABLE, "0") not in ("", "0"):
        return False
    if importlib.util.find_spec("numba") is None:
        say_once(
            "numba", "numba is not installed: oracles and solver loops run as plain Python, 10 to 100 times slower"
        )
        return False
    return True


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


def _processor() -> Any:
    """What numba's own cache keys on: target triple, processor and its features, and the flags that change code."""
    config = internal("numba.core.config")
    cpu_target = internal("numba.core.registry").cpu_target
    return cpu_target.target_context.codegen().magic_tuple(), config.OPT, config.BOUNDSCHECK


def internal(module: str) -> Any:
    """A module of numba of which nothing typed is known."""
    return importlib.import_module(module)


def digest_of(*parts: str) -> str:
    """Key of a cache entry."""
    return hashlib.sha256("\0".join((toolkit_fingerprint(), *parts)).encode()).hexdigest()


def oracle_signature(field: str) -> Any:
    """numba signature of an oracle: raw pointers, three or four."""
    types = internal("numba.core.types")
    pointer = types.CPointer(types.float64)
    return types.void(*[pointer] * (3 if field in EVALUATIONS else 4))


@lru_cache(maxsize=1)
def oracle_set_type() -> Any:
    """numba type of a compiled :class:`OracleSet`, for explicit signatures of solver loops."""
    types = internal("numba.core.types")
    return types.NamedUniTuple(types.int64, len(FIELDS), OracleSet)


class CompiledOracle(int):
    """Address of a compiled oracle; compiled code takes it as an integer, Python may call it.

    The machine code lives as long as the object.
    """

    field: str
    address: int
    keep: Any
    entry: Any

    @classmethod
    def of(cls, library: Any, symbol: str, field: str) -> CompiledOracle:
        """The oracle of a symbol in a compiled library."""
        oracle = cls(library.get_pointer_to_function(symbol))
        oracle.field, oracle.keep, oracle.address, oracle.entry = field, library, int(oracle), None
        return oracle

    def __call__(self, *arrays: Any) -> None:
        if self.entry is None:
            from bilevel_verify.oracles.calling import from_python

            self.entry = from_python(3 if self.field in EVALUATIONS else 4)
        self.entry(self.address, *arrays)

    def __repr__(self) -> str:
        return f"<compiled {self.field}>"


_LOADED: dict[str, CompiledOracle] = {}


def load_oracle(key: str, field: str) -> CompiledOracle | None:
    """An oracle from this process or from the store; None if it has to be compiled."""
    if key not in _LOADED:
        content = store().load(key)
        if content is None:
            return None
        target = internal("numba.core.registry").cpu_target.target_context  # loading machine code needs no registries
        try:
            library_data, symbol = pickle.loads(content)
            library = target.codegen().unserialize_library(library_data)
            _LOADED[key] = CompiledOracle.of(library, symbol, field)
        except Exception as error:  # machine code of an incompatible numba build: any error may come out of it
            say_once("rebuild", f"cached machine code could not be loaded ({type(error).__name__}); compiled anew")
            return None
    return _LOADED[key]


def compile_oracle(function: Callable[..., Any], key: str, field: str) -> CompiledOracle:
    """Compile an oracle and keep its machine code."""
    function.__qualname__ = (
        f"{function.__name__}_{key[:24]}"  # symbols of one process must not collide with loaded ones
    )
    dispatcher = internal("numba").njit(error_model="numpy", nogil=True, no_cpython_wrapper=True)(function)
    signature = oracle_signature(field)
    dispatcher.compile(signature)
    result = dispatcher.overloads[signature.args]
    symbol = result.fndesc.llvm_cfunc_wrapper_name
    if not result.library.has_dynamic_globals:
        content = (result.library.serialize_using_object_code(), symbol)
        store().save(key, pickle.dumps(content, protocol=pickle.HIGHEST_PROTOCOL))
    _LOADED[key] = CompiledOracle.of(result.library, symbol, field)
    return _LOADED[key]


def compile_cached(function: Callable[..., Any], signature: Any, key: str) -> Any:
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
    dispatcher = internal("numba").njit(error_model="numpy", nogil=True)(function)
    dispatcher._cache = _machine_code(key)
    dispatcher.compile(signature)
    dispatcher.disable_compile()
    return dispatcher


def part(function: Callable[..., Any], inline: bool = False) -> Any:
    """A function that is compiled as a part of others: no way in from Python, so less to compile."""
    options = {"error_model": "numpy", "nogil": True, "no_cpython_wrapper": True, "no_cfunc_wrapper": True}
    return internal("numba").njit(**options, forceinline=inline)(function)


def _machine_code(key: str) -> Any:
    """numba's view of our store: one entry, verified before it is unpickled."""
    caching, serialize = internal("numba.core.caching"), internal("numba.core.serialize")
    implementation = caching.CompileResultCacheImpl

    class MachineCode(caching._Cache):  # type: ignore[misc, name-defined]
        cache_path = ""

        def load_overload(self, sig: Any, target_context: Any) -> Any:
            target_context.refresh()
            content = store().load(key)
            if content is None:
                return None
            try:
                return implementation.rebuild(self, target_context, pickle.loads(content))
            except Exception as error:  # machine code of an incompatible numba build: any error may come out of it
                say_once("rebuild", f"cached machine code could not be loaded ({type(error).__name__}); compiled anew")
                return None

        def save_overload(self, sig: Any, data: Any) -> None:
            if data.library.has_dynamic_globals or data.lifted:
                return
            store().save(key, serialize.dumps(implementation.reduce(self, data)))

        def enable(self) -> None: ...
        def disable(self) -> None: ...
        def flush(self) -> None: ...

    return MachineCode()

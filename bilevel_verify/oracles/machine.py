"""Compiled oracles: addresses of C functions whose machine code is kept on disk."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from bilevel_verify.oracles.calling import from_python
from bilevel_verify.oracles.compiling import internal
from bilevel_verify.oracles.convention import EVALUATIONS
from bilevel_verify.oracles.notices import say_once
from bilevel_verify.oracles.store import store

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from bilevel_verify.oracles.toolkit import Library, Signature


def oracle_signature(field: str) -> Signature:
    """numba signature of an oracle: raw pointers, three or four."""
    types = internal("numba.core.types")
    pointer = types.CPointer(types.float64)
    found: Signature = types.void(*[pointer] * (3 if field in EVALUATIONS else 4))
    return found


class CompiledOracle(int):
    """Address of a compiled oracle; compiled code takes it as an integer, Python may call it.

    The machine code lives as long as the object.
    """

    field: str
    address: int
    keep: Any
    entry: Any

    @classmethod
    def of(cls, library: Library, symbol: str, field: str) -> CompiledOracle:
        """The oracle of a symbol in a compiled library."""
        oracle = cls(library.get_pointer_to_function(symbol))
        oracle.field, oracle.keep, oracle.address, oracle.entry = field, library, int(oracle), None
        return oracle

    def __call__(self, *arrays: NDArray[np.float64]) -> None:
        if self.entry is None:
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


def compile_oracle(function: Callable[..., object], key: str, field: str) -> CompiledOracle:
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

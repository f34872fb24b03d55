"""How solver loops call an oracle: a function in plain Python, an address in compiled code.

A compiled :class:`~bilevel_verify.oracles.convention.OracleSet` is a tuple of addresses of C functions on raw pointers.
That costs less than numba's own first-class functions (three words and two wrappers each), passes through every layer
of a solver as plain integers, and leaves nothing for the solver to compile again when the problem changes.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from types import ModuleType
from typing import TYPE_CHECKING

from bilevel_verify.oracles.compiling import internal
from bilevel_verify.oracles.convention import Evaluation, Product, Vector
from bilevel_verify.oracles.jit import compiled, compiled_as, loop

if TYPE_CHECKING:
    from llvmlite.ir import IRBuilder, Value

    from bilevel_verify.oracles.toolkit import Context, Dispatcher, Intrinsic, NumbaType, Signature, Typed


@compiled_as("bilevel_verify.oracles.calling:address_call_3")
def evaluate(oracle: Evaluation, x: Vector, y: Vector, out: Vector) -> None:
    """``oracle(x, y, out)``."""
    oracle(x, y, out)


@compiled_as("bilevel_verify.oracles.calling:address_call_4")
def multiply(oracle: Product, x: Vector, y: Vector, v: Vector, out: Vector) -> None:
    """``oracle(x, y, v, out)``."""
    oracle(x, y, v, out)


def __getattr__(name: str) -> object:
    """The intrinsics, made when something is compiled."""
    if name in ("address_call_3", "address_call_4"):
        return _address_call(int(name[-1]))
    raise AttributeError(name)


@lru_cache(maxsize=2)
def _address_call(count: int) -> Intrinsic:
    """Intrinsic: call the C function at an address with the data pointers of some arrays."""
    types, ir = internal("numba.core.types"), internal("llvmlite.ir")
    make_array = internal("numba.np.arrayobj").make_array
    intrinsic = internal("numba.extending").intrinsic

    def typed(address: NumbaType, arrays: tuple[NumbaType, ...]) -> Typed | None:
        if not isinstance(address, types.Integer) or not all(_is_vector(types, a) for a in arrays):
            return None

        def generate(context: Context, builder: IRBuilder, signature: Signature, args: Sequence[Value]) -> Value:
            data = [make_array(t)(context, builder, a).data for t, a in zip(signature.args[1:], args[1:], strict=True)]
            function = ir.FunctionType(ir.VoidType(), [pointer.type for pointer in data])
            builder.call(builder.inttoptr(args[0], function.as_pointer()), data)
            return context.get_dummy_value()

        return types.void(address, *arrays), generate

    if count == 3:

        @intrinsic  # type: ignore[untyped-decorator]
        def call_3(typing_context: Context, address: NumbaType, x: NumbaType, y: NumbaType, out: NumbaType) -> object:
            return typed(address, (x, y, out))

        three: Intrinsic = call_3
        return three

    @intrinsic  # type: ignore[untyped-decorator]
    def call_4(
        typing_context: Context, address: NumbaType, x: NumbaType, y: NumbaType, v: NumbaType, out: NumbaType
    ) -> object:
        return typed(address, (x, y, v, out))

    four: Intrinsic = call_4
    return four


def _is_vector(types: ModuleType, array: NumbaType) -> bool:
    return isinstance(array, types.Array) and array.ndim == 1 and array.layout == "C" and array.dtype == types.float64


@lru_cache(maxsize=2)
def from_python(count: int) -> Dispatcher:
    """``call(address, *arrays)`` for callers in Python: checks the arrays, one short dispatch."""
    numba = internal("numba")
    vector = numba.float64[::1]
    entry = loop(_enter_3 if count == 3 else _enter_4)
    return compiled(entry, numba.void(numba.int64, *[vector] * count))


def _enter_3(address: Evaluation, x: Vector, y: Vector, out: Vector) -> None:
    evaluate(address, x, y, out)


def _enter_4(address: Product, x: Vector, y: Vector, v: Vector, out: Vector) -> None:
    multiply(address, x, y, v, out)

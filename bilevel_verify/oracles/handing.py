"""How a compiled loop is handed what it works on: vectors and numbers by name, functions by address.

``named(State, block)`` gives the rows of a block the names of a ``NamedTuple``: row by row in the order of the fields,
numbers where the block has one dimension. In plain Python a block is such a tuple already, or it becomes one; in
compiled code the rows are borrowed (no reference is counted, so they cost nothing and live as long as the block),
which is safe because every block belongs to the caller of the loop.

``call_2`` and ``call_7`` call a marked function: itself in plain Python, in compiled code the address that
:func:`address_of` has of it. numba's own first-class functions cost 0.08 ms each whenever a loop is entered.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import Any, TypeVar

from bilevel_verify.oracles.compiling import internal
from bilevel_verify.oracles.jit import compiled_as

T = TypeVar("T")


@compiled_as("bilevel_verify.oracles.handing:rows_by_name")
def named(kind: type[T], block: Any) -> T:
    """The first rows of a block under the names of a ``NamedTuple``."""
    if block.__class__ is kind:
        return block  # type: ignore[no-any-return]
    return kind(*(block[: len(kind._fields)] if isinstance(block, tuple) else block))  # type: ignore[attr-defined]


@compiled_as("bilevel_verify.oracles.handing:address_call_2")
def call_2(function: Any, a: Any, b: Any) -> int:
    """``function(a, b)``."""
    return function(a, b)  # type: ignore[no-any-return]


@compiled_as("bilevel_verify.oracles.handing:address_call_7")
def call_7(function: Any, a: Any, b: Any, c: Any, d: Any, e: Any, f: Any, g: Any) -> int:
    """``function(a, b, c, d, e, f, g)``."""
    return function(a, b, c, d, e, f, g)  # type: ignore[no-any-return]


def address_of(function: Any) -> int:
    """Where the machine code of a compiled function (one signature) begins; it stays there as long as the process."""
    (result,) = function.overloads.values()
    return int(result.library.get_pointer_to_function(result.fndesc.llvm_func_name))


def __getattr__(name: str) -> Any:
    """The intrinsics, made when something is compiled."""
    makers: dict[str, Callable[[], Any]] = {
        "rows_by_name": _rows_by_name,
        "address_call_2": _address_call_2,
        "address_call_7": _address_call_7,
    }
    if name not in makers:
        raise AttributeError(name)
    return makers[name]()


@lru_cache(maxsize=1)
def _rows_by_name() -> Any:
    types, cgutils, arrayobj = (internal(f"numba.{m}") for m in ("core.types", "core.cgutils", "np.arrayobj"))

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        block, element = signature.args[1], signature.return_type[0]
        array = arrayobj.make_array(block)(context, builder, args[1])
        rows = []
        for place in range(len(signature.return_type)):
            first = [context.get_constant(types.intp, i) for i in (place, *[0] * (block.ndim - 1))]
            pointer = cgutils.get_item_pointer(context, builder, block, array, first)
            if block.ndim == 1:
                rows.append(builder.load(pointer))
                continue
            row = arrayobj.make_array(element)(context, builder)
            shape, strides = (cgutils.unpack_tuple(builder, part)[1:] for part in (array.shape, array.strides))
            arrayobj.populate_array(row, pointer, shape, strides, array.itemsize, meminfo=None)
            rows.append(row._getvalue())
        return context.make_tuple(builder, signature.return_type, rows)

    @internal("numba.extending").intrinsic  # type: ignore[untyped-decorator]
    def rows_by_name(typing_context: Any, kind: Any, block: Any) -> Any:
        if not isinstance(block, types.Array) or block.layout != "C":
            return None
        element = block.dtype if block.ndim == 1 else types.Array(block.dtype, block.ndim - 1, "C")
        fields = kind.instance_class._fields
        return types.NamedUniTuple(element, len(fields), kind.instance_class)(kind, block), generate

    return rows_by_name


def _called_at(address: Any, arguments: tuple[Any, ...]) -> Any:
    """Type and code of a call of a function from the arguments to an integer, in numba's own calling convention."""
    types, cgutils, ir = internal("numba.core.types"), internal("numba.core.cgutils"), internal("llvmlite.ir")
    if not isinstance(address, types.Integer):
        return None

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        convention = context.call_conv
        kind = convention.get_function_type(types.int64, signature.args[1:])
        function = builder.inttoptr(args[0], ir.PointerType(kind))
        status, answer = convention.call_function(builder, function, types.int64, signature.args[1:], args[1:])
        with cgutils.if_unlikely(builder, status.is_error):
            convention.return_status_propagate(builder, status)
        return answer

    return types.int64(address, *arguments), generate


@lru_cache(maxsize=1)
def _address_call_2() -> Any:
    @internal("numba.extending").intrinsic  # type: ignore[untyped-decorator]
    def at_address(typing_context: Any, address: Any, a: Any, b: Any) -> Any:
        return _called_at(address, (a, b))

    return at_address


@lru_cache(maxsize=1)
def _address_call_7() -> Any:
    @internal("numba.extending").intrinsic  # type: ignore[untyped-decorator]
    def at_address(typing_context: Any, address: Any, a: Any, b: Any, c: Any, d: Any, e: Any, f: Any, g: Any) -> Any:
        return _called_at(address, (a, b, c, d, e, f, g))

    return at_address

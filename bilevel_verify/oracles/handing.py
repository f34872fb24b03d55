"""How a compiled loop is handed what it works on: vectors and numbers by name, functions by address.

``named(State, block)`` gives the rows of a block the names of a ``NamedTuple``, in the order of its fields;
``named_at`` does so for one layer of a block of layers, ``row`` gives a single row. In plain Python a block is a tuple,
a list, an array; the rows are what lies in it. In compiled code it is an address (:class:`Vectors`, :class:`Integers`,
:class:`Numbers`): two words in place of an array's nine, and no reference is counted, which costs more than a short
step of a solver wherever many arrays are passed on. The memory belongs to the caller of the loop, who keeps it alive.

``call_2`` and ``call_7`` call a marked function: itself in plain Python, in compiled code the address that
:func:`address_of` has of it. numba's own first-class functions cost 0.08 ms each whenever a loop is entered.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

import numpy as np

from bilevel_verify.oracles.compiling import internal
from bilevel_verify.oracles.jit import compiled_as

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from llvmlite.ir import IRBuilder, Value

    from bilevel_verify.oracles.toolkit import Context, Dispatcher, Intrinsic, NumbaType, Signature, Typed

T = TypeVar("T")
A = TypeVar("A")
B = TypeVar("B")
C = TypeVar("C")
D = TypeVar("D")
E = TypeVar("E")
F = TypeVar("F")
G = TypeVar("G")


class Vectors(NamedTuple):
    """Rows of equally many floats, one behind the other: where the first begins, how many floats a row has."""

    address: int
    length: int


class Integers(NamedTuple):
    """Rows of integers, like :class:`Vectors`."""

    address: int
    length: int


class Numbers(NamedTuple):
    """Floats, which :func:`named` reads once."""

    address: int


def handed(array: np.ndarray) -> Numbers | Integers | Vectors:
    """What a compiled loop takes for an array: floats of one dimension are numbers, of more dimensions vectors."""
    address = array.__array_interface__["data"][0]
    if array.ndim == 1:
        return Numbers(address)
    return (Integers if array.dtype == np.int64 else Vectors)(address, array.shape[-1])


@compiled_as("bilevel_verify.oracles.handing:rows_by_name")
def named(kind: type[T], block: Sequence[object]) -> T:
    """The first rows (or numbers) of a block under the names of a ``NamedTuple``."""
    if block.__class__ is kind:
        return block
    return kind(*block[: len(kind._fields)])  # type: ignore[attr-defined]


@compiled_as("bilevel_verify.oracles.handing:rows_of_layer")
def named_at(kind: type[T], block: Sequence[Iterable[object]], place: int) -> T:
    """The rows of a layer of a block; each layer has as many rows as the ``NamedTuple`` has fields."""
    return kind(*block[place])


@compiled_as("bilevel_verify.oracles.handing:row_at")
def row(block: Sequence[T], place: int) -> T:
    """A row of a block."""
    return block[place]


@compiled_as("bilevel_verify.oracles.handing:address_call_2")
def call_2(function: Callable[[A, B], int], a: A, b: B) -> int:
    """``function(a, b)``."""
    return function(a, b)


@compiled_as("bilevel_verify.oracles.handing:address_call_7")
def call_7(function: Callable[[A, B, C, D, E, F, G], int], a: A, b: B, c: C, d: D, e: E, f: F, g: G) -> int:
    """``function(a, b, c, d, e, f, g)``."""
    return function(a, b, c, d, e, f, g)


def address_of(function: Dispatcher) -> int:
    """Where the machine code of a compiled function (one signature) begins; it stays there as long as the process."""
    (result,) = function.overloads.values()
    return int(result.library.get_pointer_to_function(result.fndesc.llvm_func_name))


def entry_of(function: Any) -> Callable[..., int]:
    """The way into a compiled function (one signature) past the choice of a signature, which costs 0.04 ms: for
    arguments of types that went in before."""
    (result,) = function.overloads.values()
    entry: Callable[..., int] = result.entry_point
    return entry


def __getattr__(name: str) -> object:
    """The intrinsics, made when something is compiled."""
    makers: dict[str, Callable[[], object]] = {
        "rows_by_name": _rows_by_name,
        "rows_of_layer": _rows_of_layer,
        "row_at": _row_at,
        "address_call_2": _address_call_2,
        "address_call_7": _address_call_7,
    }
    if name not in makers:
        raise AttributeError(name)
    return makers[name]()


def _row_type(block: NumbaType) -> NumbaType | None:
    """Type of what :func:`named` finds in a block; None if it is none."""
    types = internal("numba.core.types")
    kind = getattr(block, "instance_class", None)
    if kind is Numbers:
        number: NumbaType = types.float64
        return number
    rows: dict[Any, Any] = {Vectors: types.float64[::1], Integers: types.int64[::1]}
    found: NumbaType | None = rows.get(kind)
    return found


def _entry(context: Context, builder: IRBuilder, element: NumbaType, block: Value, place: Value) -> Value:
    """The row, or the number, at a place of a block."""
    types, ir = internal("numba.core.types"), internal("llvmlite.ir")
    address = builder.extract_value(block, 0)
    width = ir.Constant(address.type, 8)
    if element == types.float64:
        start = builder.add(address, builder.mul(width, place))
        return builder.load(builder.inttoptr(start, ir.DoubleType().as_pointer()))
    arrayobj = internal("numba.np.arrayobj")
    length = builder.extract_value(block, 1)
    found = arrayobj.make_array(element)(context, builder)
    start = builder.add(address, builder.mul(width, builder.mul(length, place)))
    data = builder.inttoptr(start, context.get_data_type(element.dtype).as_pointer())
    arrayobj.populate_array(found, data, (length,), (width,), width, meminfo=None)
    return found._getvalue()


def _named_type(kind: NumbaType, block: NumbaType) -> NumbaType | None:
    """Type of the tuple of all rows; None where nothing can be named."""
    types, element = internal("numba.core.types"), _row_type(block)
    names = getattr(getattr(kind, "instance_class", None), "_fields", None)
    if element is None or names is None:
        return None
    found: NumbaType = types.NamedUniTuple(element, len(names), kind.instance_class)
    return found


@lru_cache(maxsize=1)
def _rows_by_name() -> Intrinsic:
    def generate(context: Context, builder: IRBuilder, signature: Signature, args: Sequence[Value]) -> Value:
        found = signature.return_type
        places = [context.get_constant(internal("numba.core.types").intp, i) for i in range(len(found))]
        rows = [_entry(context, builder, found.dtype, args[1], place) for place in places]
        return context.make_tuple(builder, found, rows)

    @internal("numba.extending").intrinsic  # type: ignore[untyped-decorator]
    def rows_by_name(typing_context: Context, kind: NumbaType, block: NumbaType) -> object:
        found = _named_type(kind, block)
        return None if found is None else (found(kind, block), generate)

    made: Intrinsic = rows_by_name
    return made


@lru_cache(maxsize=1)
def _rows_of_layer() -> Intrinsic:
    types = internal("numba.core.types")

    def generate(context: Context, builder: IRBuilder, signature: Signature, args: Sequence[Value]) -> Value:
        found = signature.return_type
        first = builder.mul(args[2], context.get_constant(types.intp, len(found)))
        places = [builder.add(first, context.get_constant(types.intp, i)) for i in range(len(found))]
        rows = [_entry(context, builder, found.dtype, args[1], place) for place in places]
        return context.make_tuple(builder, found, rows)

    @internal("numba.extending").intrinsic  # type: ignore[untyped-decorator]
    def rows_of_layer(typing_context: Context, kind: NumbaType, block: NumbaType, place: NumbaType) -> object:
        found = _named_type(kind, block)
        return None if found is None else (found(kind, block, types.intp), generate)

    made: Intrinsic = rows_of_layer
    return made


@lru_cache(maxsize=1)
def _row_at() -> Intrinsic:
    def generate(context: Context, builder: IRBuilder, signature: Signature, args: Sequence[Value]) -> object:
        return _entry(context, builder, signature.return_type, *args)

    @internal("numba.extending").intrinsic  # type: ignore[untyped-decorator]
    def row_at(typing_context: Context, block: NumbaType, place: NumbaType) -> object:
        element = _row_type(block)
        return None if element is None else (element(block, internal("numba.core.types").intp), generate)

    made: Intrinsic = row_at
    return made


def _called_at(address: NumbaType, arguments: tuple[NumbaType, ...]) -> Typed | None:
    """Type and code of a call of a function from the arguments to an integer, in numba's own calling convention."""
    types, cgutils, ir = internal("numba.core.types"), internal("numba.core.cgutils"), internal("llvmlite.ir")
    if not isinstance(address, types.Integer):
        return None

    def generate(context: Context, builder: IRBuilder, signature: Signature, args: Sequence[Value]) -> Value:
        convention = context.call_conv
        kind = convention.get_function_type(types.int64, signature.args[1:])
        function = builder.inttoptr(args[0], ir.PointerType(kind))
        status, answer = convention.call_function(builder, function, types.int64, signature.args[1:], args[1:])
        with cgutils.if_unlikely(builder, status.is_error):
            convention.return_status_propagate(builder, status)
        return answer

    return types.int64(address, *arguments), generate


@lru_cache(maxsize=1)
def _address_call_2() -> Intrinsic:
    @internal("numba.extending").intrinsic  # type: ignore[untyped-decorator]
    def at_address(typing_context: Context, address: NumbaType, a: NumbaType, b: NumbaType) -> object:
        return _called_at(address, (a, b))

    made: Intrinsic = at_address
    return made


@lru_cache(maxsize=1)
def _address_call_7() -> Intrinsic:
    @internal("numba.extending").intrinsic  # type: ignore[untyped-decorator]
    def at_address(
        typing_context: Context,
        address: NumbaType,
        a: NumbaType,
        b: NumbaType,
        c: NumbaType,
        d: NumbaType,
        e: NumbaType,
        f: NumbaType,
        g: NumbaType,
    ) -> object:
        return _called_at(address, (a, b, c, d, e, f, g))

    made: Intrinsic = at_address
    return made

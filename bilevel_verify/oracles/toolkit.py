"""What of numba and llvmlite is used here, as types: their own annotations do not say it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias

if TYPE_CHECKING:
    import numba.core.types
    import numba.core.typing.templates
    from llvmlite.ir import IRBuilder, Type, Value

TypeOfArguments: TypeAlias = "numba.core.types.Type"
"""A type as signatures are written with: the class itself."""
WrittenSignature: TypeAlias = "numba.core.typing.templates.Signature"


class NamedTupleClass(Protocol):
    """A class made by ``NamedTuple``."""

    __name__: str
    _fields: tuple[str, ...]


class NumbaType(Protocol):
    """A type of numba; of arrays and tuples ``dtype`` is that of an entry, ``instance_class`` the class of a tuple."""

    @property
    def dtype(self) -> NumbaType: ...
    @property
    def instance_class(self) -> NamedTupleClass: ...
    def __len__(self) -> int: ...
    def __iter__(self) -> Iterator[NumbaType]: ...
    def __call__(self, *arguments: NumbaType) -> Signature: ...


class Signature(Protocol):
    """Types of the arguments and of the answer of a function."""

    @property
    def args(self) -> tuple[NumbaType, ...]: ...
    @property
    def return_type(self) -> NumbaType: ...


class Status(Protocol):
    """How a call in machine code ended."""

    @property
    def is_error(self) -> Value: ...


class CallConvention(Protocol):
    """How numba's functions call each other."""

    def get_function_type(self, answer: NumbaType, arguments: Sequence[NumbaType]) -> Type: ...
    def call_function(
        self,
        builder: IRBuilder,
        function: Value,
        answer: NumbaType,
        kinds: Sequence[NumbaType],
        arguments: Sequence[Value],
    ) -> tuple[Status, Value]: ...
    def return_status_propagate(self, builder: IRBuilder, status: Status) -> None: ...


class Context(Protocol):
    """Where numba writes machine code."""

    call_conv: CallConvention

    def get_constant(self, kind: NumbaType, value: int) -> Value: ...
    def get_data_type(self, kind: NumbaType) -> Type: ...
    def get_dummy_value(self) -> Value: ...
    def make_tuple(self, builder: IRBuilder, kind: NumbaType, entries: Sequence[Value]) -> Value: ...
    def refresh(self) -> None: ...


class Library(Protocol):
    """Machine code."""

    has_dynamic_globals: bool

    def get_pointer_to_function(self, symbol: str) -> int: ...


class Description(Protocol):
    """Names of a function in its machine code."""

    llvm_func_name: str


class CompileResult(Protocol):
    """What compiling for one signature gives."""

    library: Library
    fndesc: Description
    lifted: Sequence[object]

    @property
    def entry_point(self) -> Callable[..., object]: ...


class Dispatcher(Protocol):
    """A compiled function."""

    @property
    def overloads(self) -> Mapping[tuple[NumbaType, ...], CompileResult]: ...
    def __call__(self, *arguments: object) -> Any: ...


Typed: TypeAlias = "tuple[Signature, Callable[[Context, IRBuilder, Signature, Sequence[Value]], Value]]"
"""What an intrinsic gives numba: its signature, and what writes its machine code."""
Intrinsic = Callable[..., object]

"""What the names in generated source mean: on floats, where Python would raise, on mpmath numbers, in numba."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from functools import cache, lru_cache
from importlib import import_module
from typing import TYPE_CHECKING, Any

from bilevel_verify.atoms import kernels as atom_kernels
from bilevel_verify.language.elementary import ELEMENTARY, TRANSCENDENTAL
from bilevel_verify.numbers import binary
from bilevel_verify.numbers.kernels import mp_constant, nearest_float
from bilevel_verify.oracles.compiling import part
from bilevel_verify.symbolic.generate import Source

if TYPE_CHECKING:
    from collections.abc import Sequence

    from llvmlite.ir import IRBuilder, Value

    from bilevel_verify.oracles.toolkit import Context, Dispatcher, NumbaType, Signature, Typed

FUNCTIONS = (*TRANSCENDENTAL, "log1p", "sqrt")
"""Functions of one argument that lowered programs call."""

HELPERS = """\
def maximum(a, b):
    return a if a >= b or a != a else b


def minimum(a, b):
    return a if a <= b or a != a else b


def floor_(a):
    return 1.0*floor(a) if abs(a) < 4503599627370496.0 else a


def ceil_(a):
    return 1.0*ceil(a) if abs(a) < 4503599627370496.0 else a


def real_power(a, p):
    return a**p if a >= 0.0 else nan
"""
"""Helpers of generated code, in the style of the atoms' own prelude (which has ``sign`` and ``where``)."""

HELPER_NAMES = ("maximum", "minimum", "floor_", "ceil_", "real_power", "sign", "where")


def run_source(text: str, namespace: dict[str, Any], name: str) -> dict[str, Any]:
    """Define the functions of generated text (ours, printed from programs) in a namespace."""
    namespace.setdefault("__name__", "bilevel_verify.oracles.generated")
    exec(compile(text, f"<generated {name}>", "exec"), namespace)
    return namespace


@lru_cache(maxsize=1)
def _float_base() -> dict[str, Any]:
    return run_source(HELPERS, run_source(atom_kernels.PRELUDE, {}, "prelude"), "helpers")


def plain_namespace(source: Source) -> dict[str, Any]:
    """Names for Python floats (``math`` functions, which raise on overflow and outside their domain)."""
    namespace = dict(_float_base()) | {name: getattr(math, name) for name in FUNCTIONS}
    run_source("\n\n".join(atom_kernels.scalar_source(*key) for key in source.kernels), namespace, "kernels")
    return namespace | _constants(source, nearest_float)


def ieee_namespace(source: Source) -> dict[str, Any]:
    """The same, except that overflow gives inf and an argument outside the domain NaN (inputs are NumPy scalars)."""
    namespace = plain_namespace(source)
    namespace |= {name: _never_raises(name) for name in FUNCTIONS}
    for name, order in source.kernels:
        key = atom_kernels.kernel_name(name, order)
        namespace[key] = _quiet(namespace[key], atom_kernels.array(name, order))
    return namespace


def multiprecision_namespace(source: Source) -> dict[str, Any]:
    """Names for mpmath numbers at the working precision of this moment."""
    import mpmath

    mp = mpmath.mp
    names: dict[str, Any] = {name: getattr(mp, name) for name in FUNCTIONS}
    names |= {"floor": mp.floor, "ceil": mp.ceil, "nan": mp.nan, "inf": mp.inf, "sign": mp.sign}
    names["where"] = lambda test, yes, no: yes if test else no
    run_source(HELPERS, names, "helpers")
    names["floor_"], names["ceil_"] = mp.floor, mp.ceil
    for name, order in source.kernels:
        names[atom_kernels.kernel_name(name, order)] = atom_kernels.multiprecision(name, order)
    return names | _constants(source, mp_constant)


def binary_namespace(source: Source) -> dict[str, Any]:
    """Names for binary numbers of python-flint at the working precision of this moment; kernels take mpmath's."""
    import flint

    names: dict[str, Any] = {name: binary.function(name) for name in (*FUNCTIONS, "floor", "ceil")}
    names |= {"nan": flint.arf(float("nan")), "inf": flint.arf(float("inf"))}
    names["sign"] = lambda a: (a > 0) - (a < 0) if a == a else names["nan"]
    names["where"] = lambda test, yes, no: yes if test else no
    run_source(HELPERS, names, "helpers")
    names["floor_"], names["ceil_"], names["real_power"] = names["floor"], names["ceil"], binary.power
    for name, order in source.kernels:
        kernel = atom_kernels.multiprecision(name, order)
        names[atom_kernels.kernel_name(name, order)] = binary.through_mpmath(kernel)
    return names | _constants(source, lambda value: binary.binary(mp_constant(value)))


def _constants(source: Source, convert: Callable[[object], object]) -> dict[str, Any]:
    scalars = {name: convert(value) for name, value in source.constants.items()}

    def converted(values: int | Fraction | tuple[int | Fraction | tuple[Fraction, ...], ...]) -> Any:
        if isinstance(values, tuple):
            return [converted(v) for v in values]
        return values if type(values) is int else convert(values)  # plain integers are indices

    arrays = {name: converted(values) for name, values in source.arrays.items()}
    return scalars | arrays | {"zeros": lambda count: [convert(Fraction(0))] * count}


def _quiet(function: Callable[..., Any], fallback: Callable[..., Any]) -> Callable[..., Any]:
    """The function on NumPy scalars (whose division never raises), with the fallback where it raises."""
    import numpy as np

    def quiet(*args: Any) -> float:
        try:
            return np.float64(function(*args))
        except (ArithmeticError, ValueError):
            return np.float64(fallback(*args))

    return quiet


def _never_raises(name: str) -> Callable[..., Any]:
    import numpy as np

    return _quiet(getattr(math, name), ELEMENTARY[name].array if name in ELEMENTARY else getattr(np, name))


def njit_namespace(source: Source) -> dict[str, Any]:
    """Names for numba: compiled helpers and kernels, constants as floats, arrays as constant NumPy arrays."""
    import numpy as np

    namespace = plain_namespace(source)
    for name in HELPER_NAMES:
        namespace[name] = _compiled_helper(name)
    for name in source.arrays:
        integers = all(type(v) is int for v in source.arrays[name])
        namespace[name] = np.array(namespace[name], dtype=np.int64 if integers else np.float64)
    namespace["zeros"] = stack_zeros()
    raw = {
        "exp_": math.exp,
        "log_": math.log,
        "sinh_": math.sinh,
        "cosh_": math.cosh,
        "power": _compiled_helper("power"),
    }
    inside = namespace | raw
    text = "\n\n".join(atom_kernels.scalar_source(*key) for key in source.kernels)
    run_source(text, inside, "kernels")
    for key in source.kernels:
        name = atom_kernels.kernel_name(*key)
        namespace[name] = part(inside[name])
    return namespace


@cache
def _compiled_helper(name: str) -> Dispatcher:
    return part(_float_base()[name])


@lru_cache(maxsize=1)
def stack_zeros() -> Any:
    """``zeros(n)`` for a literal n in compiled code: a work array on the stack, gone when the function returns."""
    places = ("llvmlite.ir", "numba.core.cgutils", "numba.core.types", "numba.extending", "numba.np.arrayobj")
    ir, cgutils, types, extending, arrays = (import_module(place) for place in places)

    @extending.intrinsic(prefer_literal=True)  # type: ignore[untyped-decorator]
    def zeros(typing_context: Context, count: NumbaType) -> Typed | None:
        if not isinstance(count, types.IntegerLiteral):
            return None
        array_type = types.Array(types.float64, 1, "C")

        def generate(context: Context, builder: IRBuilder, signature: Signature, args: Sequence[Value]) -> Value:
            length = count.literal_value
            memory = cgutils.alloca_once(builder, ir.ArrayType(ir.DoubleType(), length))
            builder.store(ir.Constant(ir.ArrayType(ir.DoubleType(), length), None), memory)
            data = builder.bitcast(memory, ir.PointerType(ir.DoubleType()))
            array = arrays.make_array(array_type)(context, builder)
            size, width = context.get_constant(types.intp, length), context.get_constant(types.intp, 8)
            shape, strides = (cgutils.pack_array(builder, [value]) for value in (size, width))
            arrays.populate_array(array, data=data, shape=shape, strides=strides, itemsize=width, meminfo=None)
            return array._getvalue()

        return array_type(count), generate

    return zeros

"""The three forms of an oracle: plain Python, multi-precision, compiled; all from one source."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from bilevel_verify.errors import ParameterError
from bilevel_verify.numbers.binary import binary, to_mpmath
from bilevel_verify.oracles import compiling, machine
from bilevel_verify.oracles.batch import data_part
from bilevel_verify.oracles.convention import EVALUATIONS
from bilevel_verify.oracles.namespaces import (
    binary_namespace,
    ieee_namespace,
    multiprecision_namespace,
    njit_namespace,
    plain_namespace,
    run_source,
)
from bilevel_verify.oracles.notices import say_once
from bilevel_verify.oracles.programs import Programs, direction_block, result_block
from bilevel_verify.symbolic.generate import Source

if TYPE_CHECKING:
    from bilevel_verify.oracles.convention import Vector
    from bilevel_verify.oracles.machine import CompiledOracle

Oracle = Callable[..., None]

LARGEST_COMPILED = 20_000
"""Operations of one oracle beyond which compiling takes minutes; such oracles run as plain Python."""


def define(source: Source, namespace: dict[str, Any]) -> Any:
    """The function of a generated source in a namespace."""
    return run_source(source.text, namespace, source.name)[source.name]


def plain_oracle(source: Source) -> Oracle:
    """The oracle on lists or arrays of floats; IEEE results (inf, NaN) where Python would raise."""
    function = define(source, plain_namespace(source))
    careful: list[Oracle] = []

    def oracle(*arguments: list[float]) -> None:
        try:
            function(*arguments)
        except (ArithmeticError, ValueError):
            if not careful:
                careful.append(define(source, ieee_namespace(source)))
            _run_careful(careful[0], arguments)

    oracle.__name__ = source.name
    oracle.careful = careful  # type: ignore[attr-defined]  # not empty: Python raised where machine code goes on
    return oracle


def _run_careful(function: Oracle, arguments: tuple[list[float], ...]) -> None:
    *inputs, out = arguments
    scalars = [[np.float64(value) for value in block] for block in inputs]
    result = [0.0] * len(out)
    with np.errstate(all="ignore"):
        try:
            function(*scalars, result)
        except (ArithmeticError, ValueError):
            result = [np.nan] * len(out)
    for place, value in enumerate(result):
        out[place] = float(value)


def multiprecision_oracle(source: Source) -> Oracle:
    """The oracle on mpmath numbers, at the working precision of each call; NaN where it is not defined."""
    by_precision: dict[int, Oracle] = {}

    def oracle(*arguments: Vector) -> None:
        import mpmath

        precision = mpmath.mp.prec
        if precision not in by_precision:
            by_precision[precision] = define(source, multiprecision_namespace(source))
        try:
            by_precision[precision](*arguments)
        except (ArithmeticError, ValueError):
            for place in range(len(arguments[-1])):
                arguments[-1][place] = mpmath.mp.nan

    oracle.__name__ = source.name
    return oracle


def binary_oracle(source: Source) -> Oracle:
    """The oracle on binary numbers, at the working precision of each call; NaN where it has no value."""
    by_precision: dict[int, Oracle] = {}

    def oracle(*arguments: Any) -> None:
        import flint

        precision = flint.ctx.prec
        if precision not in by_precision:
            by_precision[precision] = define(source, binary_namespace(source))
        try:
            by_precision[precision](*arguments)
        except (ArithmeticError, ValueError):
            for place in range(len(arguments[-1])):
                arguments[-1][place] = flint.arf(float("nan"))

    oracle.__name__ = source.name
    return oracle


def binary_data_oracle(exact: Oracle) -> Oracle:
    """An oracle on mpmath numbers as one on binary numbers."""

    def oracle(*arguments: Any) -> None:
        *blocks, out = arguments
        found: list[Any] = [0] * len(out)
        exact(*([to_mpmath(entry) for entry in block] for block in blocks), found)
        for place, value in enumerate(found):
            out[place] = binary(value)

    oracle.__name__ = exact.__name__
    return oracle


def exact_data_oracle(programs: Programs, field: str) -> Oracle:
    """The oracle of a function with sums over data on mpmath numbers.

    Raises
    ------
    ParameterError : third derivatives, or too many data.
    """
    kind, which = field.rsplit("_", 1)
    if kind == "third":
        raise ParameterError(f"{field} sums over data: third derivatives of such sums exist in float64 only")
    sums, closed = programs.exact_data(which), multiprecision_oracle(programs.source(field))

    def oracle(*arguments: Vector) -> None:
        *blocks, out = arguments
        z = [*blocks[0], *blocks[1]]
        closed(*arguments)
        if kind == "value":
            found = [sums.value(z)]
        elif kind == "hess":
            found = sums.hessian(z)
        elif kind.startswith("grad"):
            found = sums.gradient(z, programs.ranges[result_block(field)])
        else:
            rows, columns = (programs.ranges[block(field)] for block in (result_block, direction_block))
            found = sums.product(z, rows, columns, list(blocks[2]))
        for place, value in enumerate(found):
            out[place] = out[place] + value

    oracle.__name__ = field
    return oracle


def array_oracle(programs: Programs, field: str, compile_closed_form: bool) -> Oracle:
    """The oracle of a function with sums over data: the closed form as ever, the sums on NumPy arrays.

    Lists are accepted and filled too.
    """
    closed: list[Oracle] = []

    def oracle(*arguments: Any) -> None:
        if not closed:
            fast = _compiled_closed_form(programs, field) if compile_closed_form else None
            closed.append(fast if fast is not None else _on_lists(plain_oracle(programs.source(field))))
        *inputs, out = arguments
        blocks = [np.ascontiguousarray(block, dtype=np.float64) for block in inputs]
        result = np.empty(len(out))
        closed[0](*blocks, result)
        with np.errstate(all="ignore"):
            result += data_part(programs, field, np.concatenate(blocks)[None])[0]
        out[:] = result if isinstance(out, np.ndarray) else result.tolist()

    oracle.__name__ = field
    return oracle


def _on_lists(oracle: Oracle) -> Oracle:
    """A plain oracle for arrays: Python floats inside, which are several times faster than NumPy's."""

    def converted(*arguments: Any) -> None:
        *inputs, out = arguments
        result = [0.0] * len(out)
        oracle(*(block.tolist() for block in inputs), result)
        out[:] = result

    return converted


def compiled_oracle(programs: Programs, field: str) -> CompiledOracle | None:
    """The oracle as a compiled function: loaded, or derived and compiled.

    None if it is too large, or sums over many data (then :func:`array_oracle` runs as fast as the data can be read).
    """
    if not programs.has_data_sums(field[-1]):
        return _compiled_closed_form(programs, field)
    if field.startswith("third") or not programs.data_can_be_compiled(field[-1]):
        return None
    return _machine_code("oracle with data", programs, field, programs.source_with_data)


def _compiled_closed_form(programs: Programs, field: str) -> CompiledOracle | None:
    return _machine_code("oracle", programs, field, programs.source)


def _machine_code(
    what: str, programs: Programs, field: str, source_of: Callable[[str], Source]
) -> CompiledOracle | None:
    key = compiling.digest_of(what, programs.digest, field)
    loaded = machine.load_oracle(key, field)
    if loaded is not None:
        return loaded
    source = source_of(field)
    if source.size > LARGEST_COMPILED:
        message = f"{field} has {source.size} operations, more than {LARGEST_COMPILED}: it runs as plain Python"
        say_once(f"size {key}", message)
        return None
    try:
        return machine.compile_oracle(define(source, njit_namespace(source)), key, field)
    except Exception as error:  # numba refuses with errors of many kinds; plain Python always works
        say_once(f"failed {key}", f"{field} could not be compiled ({type(error).__name__}): it runs as plain Python")
        return None


def plain_stub(field: str) -> Oracle:
    """Stands for an oracle that was not asked for; says so when it is called all the same."""

    def stub(*arguments: object) -> None:
        raise ParameterError(f"the oracle {field} was not asked for when the oracle set was made")

    return stub


def compiled_stub(field: str) -> Any:
    """The same in compiled code, which cannot raise: the first entry of ``out`` becomes NaN."""
    function = _no_evaluation if field in EVALUATIONS else _no_product
    key = compiling.digest_of("stub", function.__name__)
    return machine.load_oracle(key, field) or machine.compile_oracle(function, key, field)


def _no_evaluation(x: Vector, y: Vector, out: Vector) -> None:
    out[0] = np.nan


def _no_product(x: Vector, y: Vector, v: Vector, out: Vector) -> None:
    out[0] = np.nan

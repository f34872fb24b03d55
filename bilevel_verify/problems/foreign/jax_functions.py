"""Functions that JAX can trace, read as formulas: the traced program (a jaxpr) is run on SymPy expressions.

What is read is the *value* of the function in exact arithmetic: ``stop_gradient`` and derivative rules of its own
change nothing, constants are the floats that the program holds (0.1 is read as 1/10, ``jnp.log(2.0)`` as
0.6931471805599453), float32 is not rounded. Loops of fixed length are unrolled; what depends on values (``while``,
``argmax``) is refused.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
import sympy

from bilevel_verify.errors import MissingExtraError, ProblemError
from bilevel_verify.problems.definedness import Reading, unshown
from bilevel_verify.problems.expression_arrays import objects
from bilevel_verify.problems.foreign.entries import Budget, Entries, entries, moved, scalar
from bilevel_verify.problems.foreign.jax_primitives import ELEMENTWISE, MOVING, STRUCTURED
from bilevel_verify.problems.foreign.needs import Needs

if TYPE_CHECKING:
    from types import ModuleType

LONGEST_LOOP = 2_000
CALLS = {
    **dict.fromkeys(("jit", "pjit", "remat2", "checkpoint", "custom_lin"), "jaxpr"),
    **dict.fromkeys(("closed_call", "core_call", "custom_jvp_call", "custom_vjp_call"), "call_jaxpr"),
    "custom_vjp_call_jaxpr": "fun_jaxpr",
}
"""Primitives that run a program of their own -> the parameter that holds it."""


class Equation(Protocol):
    """One line of a traced program."""

    primitive: Any
    invars: Sequence[Any]
    outvars: Sequence[Any]
    params: Mapping[str, Any]


def read_function(
    field: str, function: Callable[..., object], blocks: Mapping[str, tuple[sympy.Symbol, ...]]
) -> Reading:
    """The value of ``function(x, y)`` as an expression; arguments are arrays of shape ``(d,)``, one a block.

    Raises
    ------
    MissingExtraError : JAX is not installed.
    ProblemError : the function raises, is no scalar, or does what no closed formula does.
    """
    try:
        import jax
        import jax.experimental
    except ImportError:
        raise MissingExtraError(
            f"{field} is a Python function, which is read with JAX: pip install 'bilevel-verify[jax]'"
        ) from None
    with _doubles(jax):
        try:
            traced = jax.make_jaxpr(function)(*(np.zeros(len(names)) for names in blocks.values()))
        except Exception as error:  # the user's function may raise anything
            text = str(error).strip().partition("\n")[0]
            reason = f"{type(error).__name__}: {text}"[:240]
            raise ProblemError(f"{field}: JAX cannot trace the function: {reason}") from error
        if len(traced.jaxpr.outvars) != 1:
            raise ProblemError(f"{field} must return one scalar, and it returns {len(traced.jaxpr.outvars)} values")
        arguments = [objects(names) for names in blocks.values()]
        reader = _Reader(field)
        try:
            (result,) = reader.run(traced, arguments)
        except NotImplementedError as reason:
            raise ProblemError(f"{field}: {reason} has no closed formula here") from None

    def has_value(point: Mapping[sympy.Symbol, sympy.Expr]) -> bool:
        with _doubles(jax):
            numbers = ([float(point[name]) for name in names] for names in blocks.values())
            value = function(*(jax.numpy.asarray(block, dtype=float) for block in numbers))
            return bool(np.all(np.isfinite(np.asarray(value, dtype=float))))

    expression = scalar(entries(result), field)
    return Reading(expression, unshown(reader.needs, expression), has_value)


@contextmanager
def _doubles(jax: ModuleType) -> Iterator[None]:
    """Trace with float64, so that constants keep their digits."""
    home = jax if callable(getattr(jax, "enable_x64", None)) else jax.experimental  # older releases
    with home.enable_x64(True):
        yield


class _Reader:
    """Runs traced programs; values are arrays of expressions, or plain arrays of integers and truth values."""

    def __init__(self, field: str) -> None:
        self.field, self.budget, self.needs = field, Budget(field), Needs()

    def run(self, closed: Any, arguments: Sequence[object]) -> list[Any]:
        """Values of the outputs of a closed jaxpr."""
        jaxpr = getattr(closed, "jaxpr", closed)
        values: dict[Any, Any] = dict(zip(jaxpr.constvars, map(_known, getattr(closed, "consts", ()))))
        values |= dict(zip(jaxpr.invars, arguments))

        def value(variable: Any) -> Any:
            return _known(variable.val) if hasattr(variable, "val") else values[variable]

        for equation in jaxpr.eqns:
            results = self.step(equation, [value(v) for v in equation.invars])
            values |= dict(zip(equation.outvars, results))
        return [value(v) for v in jaxpr.outvars]

    def step(self, equation: Equation, arguments: list[Any]) -> list[Any]:
        """The results of one line."""
        name = equation.primitive.name
        self.budget.spend(sum(int(np.prod(v.aval.shape)) for v in equation.outvars))
        if name in CALLS:
            return self.run(equation.params[CALLS[name]], arguments)
        if name == "scan":
            return self.scan(equation.params, arguments)
        if all(a.dtype != object for a in arguments):  # indices, and tests of shapes
            result = equation.primitive.bind(*arguments, **equation.params)
            return [_known(r) for r in (result if equation.primitive.multiple_results else [result])]
        if name in MOVING:
            return [self.move(equation, arguments)]
        if equation.outvars[0].aval.dtype.kind == "u" or (name == "div" and equation.outvars[0].aval.dtype.kind == "i"):
            raise ProblemError(f"{self.field}: {name} of integers, which wraps or cuts off, has no closed formula here")
        operation: Callable[..., Entries] | None = ELEMENTWISE.get(name) or STRUCTURED.get(name)
        if operation is None:
            raise ProblemError(f"{self.field}: the operation {name!r} of JAX has no closed formula here")
        operands = [entries(a) for a in arguments]
        self.needs.note(name, operands, sympy.Integer(equation.params["y"]) if name == "integer_pow" else None)
        try:
            return [operation(equation.params, *operands)]
        except NotImplementedError as reason:
            raise ProblemError(f"{self.field}: {name}: {reason}") from None

    def move(self, equation: Equation, arguments: list[Any]) -> Entries:
        """Copies of entries: indices must be known numbers, everything else may be an expression."""
        name, count = equation.primitive.name, MOVING[equation.primitive.name]
        moving = [entries(a) for a in (arguments if count is None else arguments[:count])]
        places = [] if count is None else arguments[count:]
        if any(place.dtype == object for place in places):
            raise ProblemError(f"{self.field}: {name} with an index that depends on the variables")

        def move(*numbered: object) -> object:
            return equation.primitive.bind(*numbered, *places, **equation.params)

        return moved(move, moving, self.field, name)

    def scan(self, params: Mapping[str, Any], arguments: list[object]) -> list[Any]:
        """A loop of known length, step by step."""
        length, fixed, carried = params["length"], params["num_consts"], params["num_carry"]
        if length > LONGEST_LOOP:
            raise ProblemError(f"{self.field}: a loop of {length} steps; at most {LONGEST_LOOP} are unrolled")
        constants, carry, rows = arguments[:fixed], arguments[fixed : fixed + carried], arguments[fixed + carried :]
        stacked: dict[int, list[Any]] = {}
        for step in reversed(range(length)) if params["reverse"] else range(length):
            results = self.run(params["jaxpr"], [*constants, *carry, *(_entry(row, step) for row in rows)])
            carry, stacked[step] = results[:carried], results[carried:]
        if not stacked:
            raise ProblemError(f"{self.field}: a loop of no steps")
        columns = zip(*(stacked[step] for step in sorted(stacked)))
        return [*carry, *(np.stack([np.asarray(row) for row in column]) for column in columns)]


def _entry(rows: object, step: int) -> object:
    """One entry along the first axis, an array in any case: NumPy would hand out an entry of a vector itself."""
    array = np.asarray(rows)
    return array[step : step + 1].reshape(array.shape[1:])


def _known(value: object) -> Any:
    """A constant: integers and truth values as plain arrays (they may be indices), other numbers as expressions."""
    try:
        array = np.asarray(value)
    except TypeError:  # keys of random numbers are no numbers
        raise NotImplementedError(f"a value of type {getattr(value, 'dtype', type(value).__name__)}") from None
    return array if array.dtype.kind in "iub" else entries(np.asarray(array, dtype=float))

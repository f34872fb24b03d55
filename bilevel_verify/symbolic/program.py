"""Straight-line programs: one expression graph, many arithmetics.

A :class:`Program` is what the rest of the package computes with: floats, arrays of points, multi-precision numbers,
intervals and generated code are all interpretations of the same list of instructions.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property, reduce
from typing import Any

from bilevel_verify.numbers.arithmetic import Arithmetic, T, V
from bilevel_verify.symbolic.graph import Graph, Instruction, reachable

FIRST_RUNS = 8
"""Runs that are interpreted: writing a program as a function pays for itself later."""

__all__ = ["Graph", "Instruction", "Program", "program_of"]


@dataclass(frozen=True)
class Program:
    """A straight-line program.

    Attributes
    ----------
    inputs : names of the inputs, in order.
    instructions : arguments refer to earlier instructions by index.
    outputs : indices of the results, in C order of ``shape``.
    shape : ``()`` for a scalar, ``(n,)`` for a vector, ``(m, n)`` for a matrix ...
    """

    inputs: tuple[str, ...]
    instructions: tuple[Instruction, ...]
    outputs: tuple[int, ...]
    shape: tuple[int, ...]

    @property
    def size(self) -> int:
        """Number of instructions that compute something."""
        return sum(i.op not in ("input", "const") for i in self.instructions)

    def run(self, arithmetic: Arithmetic[V, T], inputs: Sequence[V]) -> list[V]:
        """Interpret the program; returns the outputs in C order of ``shape``."""
        if len(inputs) != len(self.inputs):
            raise ValueError(f"the program has {len(self.inputs)} inputs, {len(inputs)} were given")
        self._runs[0] += 1
        if self._runs[0] > FIRST_RUNS and getattr(arithmetic, "operators", False):
            found: list[V] = self._written(inputs, self._constants(arithmetic), arithmetic)
            return found
        values: list[Any] = []
        for instruction in self.instructions:
            args = [values[place] for place in instruction.args]
            values.append(_step(arithmetic, instruction, args, inputs))
        return [values[index] for index in self.outputs]

    @cached_property
    def _written(self) -> Callable[[Sequence[Any], Sequence[Any], Any], list[Any]]:
        """The program as a function of Python, for numbers whose own operators are the arithmetic.

        Its text holds places alone, nothing that anybody wrote.
        """
        constants, lines = 0, []
        for place, one in enumerate(self.instructions):
            names = [f"v{argument}" for argument in one.args]
            match one.op:
                case "input":
                    text = f"inputs[{int(one.value)}]"
                case "const":
                    text, constants = f"constants[{constants}]", constants + 1
                case "add" | "mul":
                    text = (" + " if one.op == "add" else " * ").join(names)
                case "neg":
                    text = f"-{names[0]}"
                case _:
                    text = f"step(arithmetic, instructions[{place}], [{', '.join(names)}], ())"
            lines.append(f"    v{place} = {text}")
        end = f"    return [{', '.join(f'v{place}' for place in self.outputs)}]"
        namespace: dict[str, Any] = {"step": _step, "instructions": self.instructions}
        exec("\n".join(["def run(inputs, constants, arithmetic):", *lines, end]), namespace)
        written: Callable[[Sequence[Any], Sequence[Any], Any], list[Any]] = namespace["run"]
        return written

    def _constants(self, arithmetic: Arithmetic[V, T]) -> list[V]:
        """The constants in balls of the precision in force."""
        import flint

        found = self._balls.get(flint.ctx.prec)
        if found is None:
            constants = [one.value for one in self.instructions if one.op == "const"]
            found = self._balls[flint.ctx.prec] = [arithmetic.constant(value) for value in constants]
        return found

    @cached_property
    def _runs(self) -> list[int]:
        """How often the program was run."""
        return [0]

    @cached_property
    def _balls(self) -> dict[int, list[Any]]:
        """Precision -> the constants of the program."""
        return {}

    def restrict(self, outputs: Sequence[int], shape: tuple[int, ...] | None = None) -> Program:
        """The program of some outputs (given by instruction index), without what they do not need."""
        return _compact(self.inputs, self.instructions, tuple(outputs), (len(outputs),) if shape is None else shape)

    def graph(self) -> Graph:
        """A graph to build on; indices of this program stay valid in it."""
        return Graph.from_instructions(self.inputs, self.instructions)


def program_of(expressions: Any, symbols: Sequence[object]) -> Program:
    """The program of a SymPy expression, a sequence of them, or a SymPy matrix.

    Parameters
    ----------
    expressions : ``Expr`` (shape ``()``), sequence (shape ``(n,)``) or matrix (shape ``(m, n)``).
    symbols : the inputs, in order; every free symbol must be among them.

    Raises
    ------
    ExpressionError : a symbol or a function that the toolkit does not know.
    """
    from bilevel_verify.symbolic.reader import Reader

    shape: tuple[int, ...]
    if hasattr(expressions, "shape") and hasattr(expressions, "tolist"):
        shape, flat = tuple(int(n) for n in expressions.shape), list(expressions)
    elif isinstance(expressions, Sequence):
        shape, flat = (len(expressions),), list(expressions)
    else:
        shape, flat = (), [expressions]
    reader = Reader(symbols)
    outputs = tuple(reader.read(expression) for expression in flat)
    return finish(reader.graph, outputs, shape)


def finish(graph: Graph, outputs: Sequence[int], shape: tuple[int, ...]) -> Program:
    """The program of some nodes of a graph, without what they do not need."""
    return _compact(tuple(graph.inputs), graph.instructions, tuple(outputs), shape)


def _compact(
    inputs: tuple[str, ...], instructions: Sequence[Instruction], outputs: tuple[int, ...], shape: tuple[int, ...]
) -> Program:
    needed = reachable(list(instructions), outputs)
    place: dict[int, int] = {}
    kept: list[Instruction] = []
    for index, instruction in enumerate(instructions):
        if needed[index]:
            place[index] = len(kept)
            args = tuple(place[a] for a in instruction.args)
            kept.append(Instruction(instruction.op, args, instruction.value))
    return Program(inputs, tuple(kept), tuple(place[o] for o in outputs), shape)


def _step(arithmetic: Arithmetic[V, T], instruction: Instruction, args: list[V], inputs: Sequence[V]) -> V | T:
    match instruction.op:
        case "input":
            return inputs[int(instruction.value)]
        case "const":
            return arithmetic.constant(instruction.value)
        case "add":
            return reduce(arithmetic.add, args)
        case "mul":
            return reduce(arithmetic.mul, args)
        case "neg":
            return arithmetic.neg(args[0])
        case "div":
            return arithmetic.div(args[0], args[1])
        case "pow":
            return arithmetic.power(args[0], instruction.value)
        case "atom":
            name, order, parameters = instruction.value
            return arithmetic.atom(name, order, args[0], parameters)
        case "select":
            return arithmetic.select(args[0], args[1], args[2])  # type: ignore[arg-type] # a test
        case "lt" | "le" | "eq":
            return arithmetic.compare(instruction.op, args[0], args[1])
        case "and" | "or" | "not" | "true" | "false":
            return arithmetic.logical(instruction.op, args)  # type: ignore[arg-type] # answers
    if instruction.op in ("call", "real_power"):
        lowered: Any = arithmetic  # programs of symbolic.lower; only the arithmetic of arrays runs them
        found: V = lowered.lowered(instruction.op, args[0], instruction.value)
        return found
    return _rare_step(arithmetic, instruction.op, args)


def _rare_step(arithmetic: Arithmetic[V, T], op: str, args: list[V]) -> V:
    match op:
        case "logsumexp":
            return arithmetic.logsumexp(args)
        case "abs":
            return arithmetic.absolute(args[0])
        case "sign":
            return arithmetic.sign(args[0])
        case "floor":
            return arithmetic.floor(args[0])
        case "ceil":
            return arithmetic.ceil(args[0])
        case "max":
            return arithmetic.maximum(args[0], args[1])
        case "min":
            return arithmetic.minimum(args[0], args[1])
    raise ValueError(f"unknown operation {op!r}")

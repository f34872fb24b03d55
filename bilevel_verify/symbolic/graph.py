"""The expression graph under construction: every distinct subexpression once.

A :class:`Graph` is an append-only list of instructions with a table from content to index (hash-consing). Arguments
always have smaller indices than the instruction that uses them, so index order is a topological order. Only
simplifications that are exact identities of real arithmetic (and free of domain changes) are made: folding of
rationals, neutral elements, double negation.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import sympy

ZERO, ONE = Fraction(0), Fraction(1)


@dataclass(frozen=True, slots=True)
class Instruction:
    """One step of a straight-line program.

    ``op`` is one of

    ========================  ====================================================================================
    ``input``                 ``value`` = position among the inputs
    ``const``                 ``value`` = Fraction, or an exact SymPy number that is not rational
    ``add`` ``mul``           n-ary, n >= 2
    ``neg`` ``div``           one and two arguments
    ``pow``                   ``value`` = exponent, a positive Fraction (never 1)
    ``atom``                  one argument; ``value`` = (name, order, parameters): derivative of that order of an atom
    ``logsumexp``             n-ary, n >= 1
    ``abs sign floor ceil``   one argument
    ``max`` ``min``           two arguments
    ``lt le eq``              two arguments, a truth value
    ``and or not``            truth values
    ``true`` ``false``        truth values
    ``select``                arguments (test, yes, no)
    ========================  ====================================================================================
    """

    op: str
    args: tuple[int, ...] = ()
    value: Any = None


class Graph:
    """Builder of straight-line programs over ``inputs``; methods return instruction indices."""

    def __init__(self, inputs: Iterable[str] = ()) -> None:
        self.inputs: list[str] = []
        self.instructions: list[Instruction] = []
        self._table: dict[Any, int] = {}
        for name in inputs:
            self.input(name)

    @classmethod
    def from_instructions(cls, inputs: Iterable[str], instructions: Iterable[Instruction]) -> Graph:
        """A graph that starts from the instructions of a program; their indices stay as they are."""
        graph = cls()
        graph.inputs = list(inputs)
        graph.instructions = list(instructions)
        for index, instruction in enumerate(graph.instructions):
            graph._table.setdefault(_key(instruction), index)
        return graph

    def __getitem__(self, index: int) -> Instruction:
        return self.instructions[index]

    def __len__(self) -> int:
        return len(self.instructions)

    def emit(self, op: str, args: tuple[int, ...] = (), value: object = None) -> int:
        """Index of this instruction; appended if it is new."""
        instruction = Instruction(op, args, value)
        key = _key(instruction)
        found = self._table.get(key)
        if found is None:
            found = self._table[key] = len(self.instructions)
            self.instructions.append(instruction)
        return found

    def input(self, name: str) -> int:
        """A new input (appended to the list of inputs)."""
        self.inputs.append(name)
        return self.emit("input", (), len(self.inputs) - 1)

    def input_at(self, position: int) -> int:
        """The instruction of an input that exists."""
        return self.emit("input", (), position)

    def const(self, value: int | sympy.Expr | Fraction) -> int:
        """An exact number: int and Fraction, or a SymPy number that is not rational."""
        return self.emit("const", (), Fraction(value) if isinstance(value, int) else value)

    def rational(self, index: int) -> Fraction | None:
        """The value of a rational constant, else None."""
        instruction = self.instructions[index]
        return instruction.value if instruction.op == "const" and isinstance(instruction.value, Fraction) else None

    def add(self, terms: Iterable[int]) -> int:
        """Sum; rational constants are collected in front, zeros dropped."""
        total, rest = ZERO, []
        for term in terms:
            number = self.rational(term)
            if number is None:
                rest.append(term)
            else:
                total += number
        if total:
            rest.insert(0, self.const(total))
        if not rest:
            return self.const(ZERO)
        return rest[0] if len(rest) == 1 else self.emit("add", tuple(rest))

    def mul(self, factors: Iterable[int]) -> int:
        """Product; rational constants are collected in front, signs pulled out, zero absorbs."""
        total, rest = ONE, []
        for factor in factors:
            number = self.rational(factor)
            if number is not None:
                total *= number
                continue
            instruction = self.instructions[factor]
            if instruction.op == "neg":
                total, factor = -total, instruction.args[0]
            rest.append(factor)
        if not total:
            return self.const(ZERO)
        if not rest:
            return self.const(total)
        if abs(total) != 1:
            rest.insert(0, self.const(abs(total)))
        product = rest[0] if len(rest) == 1 else self.emit("mul", tuple(rest))
        return self.neg(product) if total < 0 else product

    def neg(self, a: int) -> int:
        """``-a``."""
        number, instruction = self.rational(a), self.instructions[a]
        if number is not None:
            return self.const(-number)
        return instruction.args[0] if instruction.op == "neg" else self.emit("neg", (a,))

    def sub(self, a: int, b: int) -> int:
        """``a - b``."""
        return self.add((a, self.neg(b)))

    def div(self, a: int, b: int) -> int:
        """``a / b``; a rational denominator becomes a factor."""
        top, bottom = self.rational(a), self.rational(b)
        if bottom is not None and bottom != 0:
            return self.mul((a, self.const(ONE / bottom)))
        if top is not None and top == 0:
            return a
        if self.instructions[a].op == "neg":
            return self.neg(self.div(self.instructions[a].args[0], b))
        return self.emit("div", (a, b))

    def pow(self, a: int, exponent: Fraction | int) -> int:
        """``a ** exponent`` with a rational exponent."""
        exponent = Fraction(exponent)
        if exponent == 0:
            return self.const(ONE)
        if exponent == 1:
            return a
        number = self.rational(a)
        if number is not None and exponent.denominator == 1 and (number != 0 or exponent > 0) and abs(exponent) <= 64:
            return self.const(number ** int(exponent))
        if exponent < 0:
            return self.div(self.const(ONE), self.pow(a, -exponent))
        return self.emit("pow", (a,), exponent)

    def atom(self, name: str, a: int, order: int = 0, parameters: tuple[object, ...] = ()) -> int:
        """Derivative of the given order of a one-argument atom."""
        return self.emit("atom", (a,), (name, order, parameters))

    def select(self, test: int, yes: int, no: int) -> int:
        """``yes if test else no``."""
        op = self.instructions[test].op
        if op in ("true", "false") or yes == no:
            return no if op == "false" else yes
        return self.emit("select", (test, yes, no))

    def compare(self, op: str, a: int, b: int) -> int:
        """``lt``, ``le`` or ``eq``; decided at once between rationals."""
        left, right = self.rational(a), self.rational(b)
        if left is not None and right is not None:
            truth = {"lt": left < right, "le": left <= right, "eq": left == right}[op]
            return self.emit("true" if truth else "false")
        return self.emit(op, (a, b))

    def logical(self, op: str, args: tuple[int, ...]) -> int:
        """``and``, ``or``, ``not`` of truth values."""
        if op == "not":
            inner = self.instructions[args[0]]
            if inner.op in ("true", "false"):
                return self.emit("false" if inner.op == "true" else "true")
            return inner.args[0] if inner.op == "not" else self.emit("not", args)
        absorbing, neutral = ("false", "true") if op == "and" else ("true", "false")
        if any(self.instructions[a].op == absorbing for a in args):
            return self.emit(absorbing)
        rest = tuple(dict.fromkeys(a for a in args if self.instructions[a].op != neutral))
        if not rest:
            return self.emit(neutral)
        return rest[0] if len(rest) == 1 else self.emit(op, rest)


def reachable(instructions: list[Instruction] | tuple[Instruction, ...], outputs: Iterable[int]) -> list[bool]:
    """Which instructions the outputs need."""
    needed = [False] * len(instructions)
    for output in outputs:
        needed[output] = True
    for index in range(len(instructions) - 1, -1, -1):
        if needed[index]:
            for argument in instructions[index].args:
                needed[argument] = True
    return needed


def _key(instruction: Instruction) -> tuple[object, ...]:
    """Content of an instruction; sums and products are equal up to order."""
    args = instruction.args
    if instruction.op in ("add", "mul", "max", "min", "and", "or", "eq"):
        args = tuple(sorted(args))
    return instruction.op, args, instruction.value

"""Code generation: programs into Python source that runs as it is, compiled by numba, and on mpmath numbers.

The text of a function is the same in all three; what differs is the meaning of the names around it (``exp``,
``number``, the exact constants ``k0, k1, ...``), which :mod:`bilevel_verify.oracles.namespaces` supplies. Everything is
printed from programs; no text of a user ever reaches the source.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from bilevel_verify.atoms.kernels import kernel_name
from bilevel_verify.symbolic.graph import Instruction
from bilevel_verify.symbolic.lower import lower
from bilevel_verify.symbolic.program import Program

if TYPE_CHECKING:
    import sympy

INLINE_LENGTH = 60
"""A subexpression that is used once is printed in place if its text is not longer than this."""

ATOM, PRODUCT, SUM, TERNARY = range(4)
"""Binding strength of printed text, strongest first."""

HELPERS = {"sign": "sign", "floor": "floor_", "ceil": "ceil_", "max": "maximum", "min": "minimum"}
COMPARISONS = {"lt": "<", "le": "<=", "eq": "=="}


@dataclass(frozen=True)
class Source:
    """Text of one function and the names it needs.

    Attributes
    ----------
    name : of the function.
    text : ``def name(x, y, out): ...``
    constants : name -> exact number (Fraction, or SymPy number that is not rational).
    arrays : name -> tuple of exact numbers, of tuples of them (rows), or of plain integers (indices).
    kernels : (atom, order) whose scalar kernels are called.
    size : number of unrolled operations (loops over arrays count nothing: they cost nothing to compile).
    """

    name: str
    text: str
    constants: dict[str, Any] = field(default_factory=dict)
    arrays: dict[str, Any] = field(default_factory=dict)
    kernels: tuple[tuple[str, int], ...] = ()
    size: int = 0


def generate(name: str, program: Program, blocks: Sequence[tuple[str, int]]) -> Source:
    """Unrolled source of a program.

    Parameters
    ----------
    name : of the function.
    program : its inputs are the blocks one after the other, its outputs go to ``out`` in C order.
    blocks : names and lengths of the array arguments, for example ``[("x", 2), ("y", 3)]``.
    """
    writer = Writer(lower(program), [f"{block}[{i}]" for block, length in blocks for i in range(length)])
    body = writer.body([f"out[{i}] =" for i in range(len(program.outputs))])
    arguments = ", ".join([block for block, _ in blocks] + ["out"])
    lines = [f"def {name}({arguments}):", *(f"    {line}" for line in body or ["pass"])]
    return Source(name, "\n".join(lines) + "\n", writer.constants, {}, tuple(writer.kernels), program.size)


class Writer:
    """Prints a lowered program statement by statement."""

    def __init__(
        self,
        program: Program,
        inputs: Sequence[str],
        constants: dict[str, object] | None = None,
        kernels: dict[tuple[str, int], None] | None = None,
        prefix: str = "t",
    ) -> None:
        self.program, self.inputs, self.prefix = program, inputs, prefix
        self.constants: dict[str, Any] = {} if constants is None else constants
        self.kernels: dict[tuple[str, int], None] = {} if kernels is None else kernels
        self.texts: list[tuple[str, int]] = []
        self.lines: list[str] = []
        self.uses = self._count_uses()

    def body(self, targets: Sequence[str]) -> list[str]:
        """The statements of the function; ``targets`` are the left sides (``out[0] =``, ``s[2] +=``) of the outputs."""
        for index, instruction in enumerate(self.program.instructions):
            text, level = self._print(instruction)
            if self._keep(index, instruction, text):
                self.lines.append(f"{self.prefix}{index} = {text}")
                text, level = f"{self.prefix}{index}", ATOM
            self.texts.append((text, level))
        for target, output in zip(targets, self.program.outputs, strict=True):
            if not (target.endswith("+=") and self.texts[output][0] == "0.0"):
                self.lines.append(f"{target} {self.texts[output][0]}")
        return self.lines

    def _count_uses(self) -> list[int]:
        uses = [0] * len(self.program.instructions)
        for instruction in self.program.instructions:
            for argument in instruction.args:
                uses[argument] += 1
        for output in self.program.outputs:
            uses[output] += 1
        return uses

    def _keep(self, index: int, instruction: Instruction, text: str) -> bool:
        if instruction.op in ("const", "true", "false"):
            return False
        if instruction.op == "input":
            return self.uses[index] > 1
        return self.uses[index] > 1 or len(text) > INLINE_LENGTH

    def _text(self, index: int, level: int) -> str:
        text, own = self.texts[index]
        return text if own <= level else f"({text})"

    def _print(self, instruction: Instruction) -> tuple[str, int]:
        args = instruction.args
        match instruction.op:
            case "input":
                return self.inputs[instruction.value], ATOM
            case "const":
                return self._constant(instruction.value)
            case "add":
                return self._sum(args), SUM
            case "mul":
                return "*".join(self._text(a, PRODUCT if a == args[0] else ATOM) for a in args), PRODUCT
            case "neg":
                return f"-{self._text(args[0], ATOM)}", SUM
            case "div":
                return f"{self._text(args[0], PRODUCT)}/{self._text(args[1], ATOM)}", PRODUCT
            case "call":
                return f"{instruction.value}({self._text(args[0], TERNARY)})", ATOM
            case "atom":
                return self._kernel_call(instruction), ATOM
            case "real_power":
                return f"real_power({self._text(args[0], TERNARY)}, {self._constant(instruction.value)[0]})", ATOM
            case "select":
                yes, no = self._text(args[1], SUM), self._text(args[2], SUM)
                return f"{yes} if {self._text(args[0], SUM)} else {no}", TERNARY
        return self._rare(instruction)

    def _rare(self, instruction: Instruction) -> tuple[str, int]:
        op, args = instruction.op, instruction.args
        if op in COMPARISONS:
            return f"{self._text(args[0], SUM)} {COMPARISONS[op]} {self._text(args[1], SUM)}", TERNARY
        if op in ("and", "or"):
            return f" {op} ".join(f"({self._text(a, TERNARY)})" for a in args), TERNARY
        if op == "not":
            return f"not ({self._text(args[0], TERNARY)})", TERNARY
        if op in ("true", "false"):
            return op.capitalize(), ATOM
        if op == "abs":
            return f"abs({self._text(args[0], TERNARY)})", ATOM
        return f"{HELPERS[op]}({', '.join(self._text(a, TERNARY) for a in args)})", ATOM

    def _sum(self, args: Sequence[int]) -> str:
        text = self._text(args[0], SUM)
        for term in args[1:]:
            instruction = self.program.instructions[term]
            inline_minus = (
                instruction.op == "neg" and self.texts[term][1] == SUM and self.texts[term][0].startswith("-")
            )
            text += f" - {self.texts[term][0][1:]}" if inline_minus else f" + {self._text(term, PRODUCT)}"
        return text

    def _constant(self, value: sympy.Expr | Fraction) -> tuple[str, int]:
        if isinstance(value, Fraction) and _is_short(value):
            text = repr(float(value))
            return text, SUM if value < 0 else ATOM
        for name, known in self.constants.items():
            if known == value:
                return name, ATOM
        name = f"k{len(self.constants)}"
        self.constants[name] = value
        return name, ATOM

    def _kernel_call(self, instruction: Instruction) -> str:
        name, order, parameters = instruction.value
        self.kernels[name, order] = None
        values = [self._text(instruction.args[0], TERNARY), *(self._constant(p)[0] for p in parameters)]
        return f"{kernel_name(name, order)}({', '.join(values)})"


def _is_short(value: Fraction) -> bool:
    """Exactly a float with a short decimal form, so that the literal means the same number in every arithmetic."""
    return (
        value.denominator <= 1024 and value.denominator & (value.denominator - 1) == 0 and abs(value.numerator) < 2**31
    )

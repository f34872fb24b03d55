"""Expressions of a printed pseudo-code: read from the state of a literal run, or stopped with a finding."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from operator import add, mod, mul
from typing import Any

import numpy as np

from bilevel_verify.language import tree
from bilevel_verify.language.binding import binder
from bilevel_verify.language.elementary import TRANSCENDENTAL
from bilevel_verify.theorems.card import Algorithm
from bilevel_verify.theorems.pseudocode.execution import Halt, Key
from bilevel_verify.theorems.pseudocode.numbers import (
    Field,
    LinearOperator,
    Value,
    bits,
    is_array,
    is_exact,
    is_number,
    norm,
    pair,
    rounded,
    same,
    takes,
)

MAXIMAL_TERMS = 1_000_000
TERMS_OF_A_STATEMENT = 16
"""Terms of a sum that cost as much of the budget as one statement."""
MAXIMAL_BITS = 100_000
"""Size of exact numbers: beyond it a run ends as one whose budget is spent."""


@dataclass(slots=True)
class Budget:
    """Statements that may still be executed, called algorithms included."""

    left: int


class Expressions:
    """Values of expressions in the state of a literal run.

    Reads are noted while a loop wants to know whether it still sees anything new.
    """

    def __init__(
        self,
        numbers: Field,
        functions: Mapping[str, Callable[..., Value]],
        library: Mapping[str, Algorithm],
        budget: Budget,
    ) -> None:
        self.field, self.functions, self.library, self.budget = numbers, functions, library, budget
        self.letters: dict[str, Value] = {}
        self.sequences: dict[str, dict[tuple[int, ...], Value]] = {}
        self.order: list[Key] = []
        self.given: Mapping[str, Any] = {}
        self.reads: list[Value] | None = None
        self.points: dict[tree.Node, tuple[list[Value], Value]] = {}
        self.line = ""
        self.done = 0

    def import_value(self, value: object) -> Value:
        if callable(value) or is_exact(value) or isinstance(value, LinearOperator):
            return value
        if isinstance(value, np.ndarray | list | tuple):
            return self.field.vector(list(value))
        return self.field.number(value)

    # --- expressions --------------------------------------------------------------------------------------------------

    def finite(self, value: Value) -> Value:
        """Refuse NaN and infinities where a value is kept."""
        if is_array(value) and value.ndim == 1 and value.dtype == float and all(map(math.isfinite, value.tolist())):
            return value
        entries = value.ravel() if is_array(value) else [value]
        for entry in entries:
            number = not (is_exact(entry) or callable(entry) or isinstance(entry, bool | LinearOperator))
            if number and not self.field.is_finite(entry):
                raise Halt("not a number", f"the value is {entry}", self.line)
        return value

    def index(self, node: tree.Node) -> int:
        if isinstance(node, tree.Letter) and type(found := self.letters.get(node.name)) is int:  # nearly always
            return found
        outer, self.reads = self.reads, None
        value = self.value(node)
        self.reads = outer
        if type(value) is int:
            return value
        if isinstance(value, Fraction) and value.denominator == 1:
            return int(value)
        if not isinstance(value, int) or isinstance(value, bool):
            if not is_exact(value) and not is_array(value) and value == int(value):
                return int(value)
            raise Halt("non-integer index", f"the index is {value}, not an integer", self.line)
        return value

    def read(self, value: Value) -> Value:
        if self.reads is not None:
            self.reads.append(value)
        return value

    def test(self, node: tree.Node) -> bool:
        match node:
            case tree.Truth(value=value):
                return value
            case tree.Not(operand=part):
                return not self.test(part)
            case tree.Logical(operator="and", operands=parts):
                return all(self.test(p) for p in parts)
            case tree.Logical(operands=parts):
                return any(self.test(p) for p in parts)
            case tree.Compare(operands=parts, operators=signs):
                return self.comparison([self.value(p) for p in parts], signs)
        raise Halt("undefined", "a condition was expected", self.line)

    def comparison(self, values: list[Value], signs: Sequence[str]) -> bool:
        for place, sign in enumerate(signs):
            one, other = values[place], values[place + 1]
            if sign != "==" or not (is_array(one) and is_array(other)):
                self.numbers(f"'{sign}'", one, other)
            left, right = pair(self.field, one, other)
            if is_array(left):
                return same(left, right)
            answers = {"<": left < right, "<=": left <= right, ">": left > right, ">=": left >= right}
            if not answers.get(sign, left == right):
                return False
        return True

    def value(self, node: tree.Node) -> Value:
        how = EVALUATED.get(type(node))
        if how is None:
            raise Halt("undefined", f"{type(node).__name__} has no value here", self.line)
        return how(self, node)

    def negated(self, value: Value) -> Value:
        self.operand(value)
        return -value

    def letter(self, name: str) -> Value:
        if name in self.letters:
            return self.read(self.letters[name])
        if name in ("pi", "E"):
            return self.field.number(math.pi if name == "pi" else math.e)
        if name in self.functions:
            return self.functions[name]
        raise Halt("unassigned", f"'{name}' was never assigned", self.line)

    def entry(self, base: str, index: tuple[int, ...]) -> Value:
        entries = self.sequences.get(base, {})
        if index in entries:
            return self.read(entries[index])
        given = self.given.get(base)
        if callable(given):
            return self.import_value(given(*index))
        shown = ", ".join(str(i) for i in index)
        raise Halt("unassigned", f"{base}[{shown}] was never assigned", self.line)

    def fold(self, values: list[Value], operation: Callable[[Value, Value], Value]) -> Value:
        total = values[0]
        for value in values[1:]:
            kind = type(total)
            if kind is type(value) and kind in (float, int):  # nearly always, and no question below concerns them
                total = operation(total, value) if kind is float else self.bounded(operation(total, value))
                continue
            left, right = pair(self.field, total, value)
            if is_array(left) and is_array(right) and left.shape != right.shape:
                raise Halt("undefined", f"shapes {left.shape} and {right.shape} do not fit", self.line)
            self.operand(left)
            self.operand(right)
            total = self.bounded(operation(left, right))
        return total

    def operand(self, value: Value) -> None:
        """Refuse in sums and products what is neither a number nor an array."""
        if callable(value):
            raise Halt("undefined", "a function without its arguments is no number", self.line)
        if isinstance(value, LinearOperator):  # asked by products alone, each of which is counted
            raise Halt("unsupported", "a Hessian is only multiplied: hess_yy_g(x, y) @ v, v a vector", self.line)

    def bounded(self, value: Value) -> Value:
        """Exact numbers of at most ``MAXIMAL_BITS`` bits."""
        if is_exact(value) and bits(value) > MAXIMAL_BITS:
            raise Halt("budget", f"a number of more than {MAXIMAL_BITS} bits", self.line)
        return value

    def matrix_product(self, left: Value, right: Value) -> Value:
        if isinstance(left, LinearOperator) and is_array(right):
            return left @ right
        if not (is_array(left) and is_array(right)) or left.shape[-1] != right.shape[0]:
            raise Halt("undefined", "@ multiplies a matrix and a vector or matrix that fits", self.line)
        return left @ right

    def product(self, left: Value, right: Value) -> Value:
        """``left @ right`` of a matrix or a vector with one that fits."""
        if not (is_array(right) and (is_array(left) or hasattr(left, "product"))):
            raise Halt("undefined", "'@' needs a matrix or a vector on both sides; '*' multiplies numbers", self.line)
        if is_array(left) and left.shape[-1] != right.shape[0]:
            raise Halt("undefined", f"shapes {left.shape} and {right.shape} do not fit", self.line)
        return left @ right

    def divide(self, top: Value, bottom: Value) -> Value:
        if is_array(bottom):
            raise Halt("undefined", "division by a vector", self.line)
        self.numbers("'/'", *([bottom] if is_array(top) else [top, bottom]))
        if bottom == 0:
            raise Halt("division by zero", "division by zero", self.line)
        if isinstance(top, int | Fraction) and isinstance(bottom, int | Fraction):
            quotient = self.bounded(Fraction(top) / Fraction(bottom))
            return int(quotient) if quotient.denominator == 1 else quotient
        left, right = pair(self.field, top, bottom)
        return left / right

    def numbers(self, what: str, *values: Value) -> tuple[Value, ...]:
        """The values, where all are numbers: what takes no vector and no function."""
        if not all(map(is_number, values)):
            raise Halt("undefined", f"{what} is for numbers, not for vectors or functions", self.line)
        return values

    def power(self, base: Value, exponent: Value) -> Value:
        self.numbers("'**'", base, exponent)
        if base == 0 and exponent < 0:
            raise Halt("division by zero", "0 to a negative power", self.line)
        if is_exact(base) and isinstance(exponent, int):
            if abs(base) not in (0, 1) and bits(base) * abs(exponent) > 2 * MAXIMAL_BITS:
                raise Halt("budget", f"a number of more than {MAXIMAL_BITS} bits", self.line)
            return Fraction(base) ** exponent if exponent < 0 else base**exponent
        if isinstance(exponent, int):
            return base**exponent
        left, right = self.field.number(base), self.field.number(exponent)
        if left < 0:
            raise Halt("not a number", f"a broken power of {left}", self.line)
        return left**right

    def call(self, node: tree.Call) -> Value:
        span = binder(node)
        if span is not None:
            return self.over_range(node, *span)
        if any(isinstance(a, tree.Letter) and a.name == "_" for a in node.arguments):
            return self.partial(node)
        name = node.function
        held = self.letters.get(name)
        if not callable(held):
            held = None if name in self.library else self.functions.get(name)
        if held is not None:
            return self.applied(name, held, [self.point(a) for a in node.arguments])
        values = [self.value(a) for a in node.arguments]
        if name in self.library:
            return self.run_other(self.library[name], values)
        return self.builtin(name, values)

    def point(self, node: tree.Node) -> Value:
        """Where a function is asked: what is computed anew from the same entries is the same object as before.

        So that two parts of a gradient at ``x[k] + p`` are seen to be asked at one point.
        """
        outer, self.reads = self.reads, []
        value = self.value(node)
        mine, self.reads = self.reads, outer
        if outer is not None:
            outer.extend(mine)
        if isinstance(node, tree.Letter | tree.Index) or not (is_array(value) or is_number(value)):
            return value
        reads, before = self.points.get(node, ([], None))
        if len(reads) == len(mine) and all(a is b for a, b in zip(reads, mine)) and same(before, value):
            return before
        self.points[node] = mine, value
        return value

    def applied(self, name: str, function: Callable[..., Value], values: list[Value]) -> Value:
        """A function of the problem at so many arguments as it takes; what they are is its own business."""
        try:
            return function(*values)
        except TypeError:
            if takes(function, values):  # whatever else was wrong inside
                raise
            raise Halt("undefined", f"{name} does not take {len(values)} arguments", self.line) from None

    def partial(self, node: tree.Call) -> Callable[..., Value]:
        """``g(w, _)``: a function of the blanks."""
        fixed = [None if isinstance(a, tree.Letter) and a.name == "_" else self.value(a) for a in node.arguments]
        function = self.letters.get(node.function) or self.functions.get(node.function)
        if function is None:
            raise Halt("unknown function", f"unknown function '{node.function}'", self.line)
        blank = sum(v is None for v in fixed)  # not ``count``: it would compare arrays

        def applied(*rest: Value) -> Value:
            if len(rest) != blank:
                raise Halt("undefined", f"{node.function} has {blank} blanks, not {len(rest)}", self.line)
            blanks = iter(rest)
            return self.applied(node.function, function, [next(blanks) if v is None else v for v in fixed])

        applied.__name__ = node.function
        applied.fixed = fixed  # type: ignore[attr-defined]
        return applied

    def run_other(self, other: Algorithm, values: list[Value]) -> Value:
        """The output of another algorithm of the card."""
        raise NotImplementedError

    def range_end(self, node: tree.Node, up: bool) -> int:
        """The first integer from an end on (``up``), or the last one up to it: ends need not be integers."""
        outer, self.reads = self.reads, None
        value = self.value(node)
        self.reads = outer
        if is_array(value) or isinstance(value, bool) or not math.isfinite(value):
            raise Halt("non-integer index", f"the end of a range is {value}, not a number", self.line)
        return rounded(value, up)

    def over_range(self, node: tree.Call, index: str, lo: tree.Node, hi: tree.Node) -> Value:
        """A function over all integers between two ends."""
        first, last = self.range_end(lo, True), self.range_end(hi, False)
        name, body = node.function, node.arguments[0]
        if last < first and name not in ("sum", "prod"):
            raise Halt("empty range", f"{name} over the empty range {first}..{last}", self.line)
        self.budget.left -= max(0, last - first) // TERMS_OF_A_STATEMENT
        if last - first >= MAXIMAL_TERMS or self.budget.left < 0:
            raise Halt("budget", f"a range of {last - first + 1} terms is more than the budget has left", self.line)
        before = self.letters.get(index)
        terms = []
        for i in range(first, last + 1):
            self.letters[index] = i
            terms.append(self.value(body))
        if before is None:
            self.letters.pop(index, None)
        else:
            self.letters[index] = before
        if name in ("sum", "prod"):
            if not terms:
                return 0 if name == "sum" else 1
            return self.fold(terms, add if name == "sum" else mul)
        best = self.extreme([*self.numbers(name, *terms)], largest=name in ("max", "argmax"))
        return terms[best] if name in ("max", "min") else first + best

    def extreme(self, terms: list[Value], largest: bool) -> int:
        """Place of the first extreme term: ties go to the smallest index."""
        best = 0
        for place in range(1, len(terms)):
            left, right = pair(self.field, terms[place], terms[best])
            if (left > right) if largest else (left < right):
                best = place
        return best

    def builtin(self, name: str, values: list[Value]) -> Value:
        if any(callable(value) or hasattr(value, "product") for value in values):
            raise Halt("undefined", f"{name} of a function without its arguments", self.line)
        if (name == "sqrt" or name in TRANSCENDENTAL) and len(values) != 1:
            raise Halt("undefined", f"{name} takes one number, not {len(values)}", self.line)
        if name == "norm" and len(values) == 1:
            return norm(self.field, values[0])
        if name == "dot" and len(values) == 2:
            if not (is_array(values[0]) and is_array(values[1])) or values[0].shape != values[1].shape:
                raise Halt("undefined", "dot is for two vectors of one dimension", self.line)
            return sum((a * b for a, b in zip(values[0], values[1])), self.field.number(0))
        if name in ("max", "min") and values:
            return values[self.extreme([*self.numbers(name, *values)], name == "max")]
        if (name in ("abs", "plus", "floor", "ceil", "sqrt") or name in TRANSCENDENTAL) and values:
            self.numbers(name, *values)
        if name == "abs" and len(values) == 1:
            return abs(values[0])
        if name == "plus" and len(values) == 1:
            return values[0] if values[0] > 0 else 0
        if name in ("floor", "ceil") and len(values) == 1:
            return rounded(values[0], name == "ceil")
        if name == "T" and len(values) == 1:
            if not is_array(values[0]):
                raise Halt("undefined", "T is for matrices", self.line)
            return values[0].T
        if name == "sqrt" or name in TRANSCENDENTAL:
            try:
                return self.field.function(name, values[0])
            except (ValueError, ZeroDivisionError):
                raise Halt("not a number", f"{name} of {values[0]}", self.line) from None
        raise Halt("unknown function", f"unknown function '{name}'", self.line)


EVALUATED: Mapping[type[tree.Node], Callable[[Expressions, Any], Value]] = {
    tree.Letter: lambda of, node: of.letter(node.name),
    tree.Index: lambda of, node: of.entry(node.base, tuple([of.index(i) for i in node.indices])),
    tree.Call: lambda of, node: of.call(node),
    tree.Number: lambda of, node: int(node.value) if node.value.denominator == 1 else node.value,
    tree.Add: lambda of, node: of.fold([of.value(term) for term in node.terms], add),
    tree.Multiply: lambda of, node: of.fold([of.value(factor) for factor in node.factors], mul),
    tree.Divide: lambda of, node: of.divide(of.value(node.numerator), of.value(node.denominator)),
    tree.Power: lambda of, node: of.power(of.value(node.base), of.value(node.exponent)),
    tree.Negate: lambda of, node: of.negated(of.value(node.operand)),
    tree.Modulo: lambda of, node: mod(*pair(of.field, *of.numbers("'%'", of.value(node.left), of.value(node.right)))),
    tree.MatrixMultiply: lambda of, node: of.product(of.value(node.left), of.value(node.right)),
    tree.Conditional: lambda of, node: of.value(node.yes if of.test(node.test) else node.no),
}
"""The value of each kind of expression; a table, for a literal run asks for it a million times."""

"""Affine and quadratic parts of a function, kept as arrays instead of being unrolled.

Every function of the toolkit is written

    ``h(z) = c + q'z + z'Az + sum over groups sum_k phi(u_k; p_k) + r(z, Wz + b)``:

a polynomial of degree two, taken out exactly; groups of terms that are one small function ``phi`` of a few affine forms
``u_k = W_1 z + b_1, ...`` with different numbers ``p_k`` in it; and a nonlinear core ``r`` that sees dense affine forms
as inputs of their own. What is derived and compiled is ``phi`` and ``r``, whatever the dimension.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from fractions import Fraction

import sympy

from bilevel_verify.symbolic.graph import ONE, ZERO, Graph, Instruction
from bilevel_verify.symbolic.groups import Form, Group, Number, Terms, grouped
from bilevel_verify.symbolic.program import Program, finish


@dataclass(frozen=True)
class Structure:
    """``h(z) = constant + sum linear[i] z_i + sum quadratic[i, j] z_i z_j (i <= j) + core(z, t)``.

    ``forms[k]`` is ``t_k``; the inputs of ``core`` are the n variables, then the forms. ``core`` is None if nothing is
    left. All numbers are exact.
    """

    size: int
    constant: Number
    linear: dict[int, Number]
    quadratic: dict[tuple[int, int], Number]
    forms: tuple[Form, ...]
    core: Program | None
    groups: tuple[Group, ...] = ()

    @property
    def dense_entries(self) -> int:
        """Numbers that arrays hold and unrolled code would repeat."""
        slots = [self.forms, *(forms for group in self.groups for forms in group.forms)]
        return len(self.quadratic) + sum(len(coefficients) for forms in slots for coefficients, _ in forms)


def decompose(program: Program) -> Structure:
    """Split a scalar program into its polynomial part of degree two and its nonlinear core."""
    return _Decomposition(program).run()


def repeated(program: Program, worthwhile: Callable[[Group], bool]) -> tuple[Program, tuple[Group, ...]]:
    """Terms of one shape as groups, and the function of all other terms, written as it was.

    Parameters
    ----------
    program : a scalar function.
    worthwhile : which groups are taken out.
    """
    return _Decomposition(program).repeated(worthwhile)


def times(a: Number, b: Number) -> Number:
    """Exact product of two numbers (Fractions, or SymPy numbers)."""
    return a * b if isinstance(a, Fraction) and isinstance(b, Fraction) else _back(_sympy(a) * _sympy(b))


def plus(a: Number, b: Number) -> Number:
    """Exact sum of two numbers."""
    return a + b if isinstance(a, Fraction) and isinstance(b, Fraction) else _back(_sympy(a) + _sympy(b))


def _sympy(a: Number) -> sympy.Expr:
    return sympy.Rational(a.numerator, a.denominator) if isinstance(a, Fraction) else a


def _back(a: sympy.Expr) -> Number:
    return Fraction(int(a.p), int(a.q)) if a.is_Rational else a


Polynomial = dict[tuple[int, ...], Number]
"""Monomial (sorted inputs, at most two) -> coefficient."""


class _Decomposition:
    def __init__(self, program: Program) -> None:
        self.program = program
        self.instructions = program.instructions
        self.size = len(program.inputs)
        self.degrees: list[int | None] = []
        for index in range(len(self.instructions)):
            self.degrees.append(self._degree(index))
        self.polynomials: dict[int, Polynomial] = {}
        self.graph = Graph([*program.inputs])
        self.copies: dict[int, int] = {}
        self.forms: dict[object, int] = {}
        self.list_of_forms: list[Form] = []

    def _degree(self, index: int) -> int | None:
        """0, 1, 2, or None for anything else."""
        instruction = self.instructions[index]
        below = [self.degrees[a] for a in instruction.args]
        match instruction.op:
            case "const":
                return 0
            case "input":
                return 1
            case "add" | "neg":
                known = [d for d in below if d is not None]
                return max(known) if len(known) == len(below) else None
            case "mul":
                total = sum(d for d in below if d is not None)
                return total if None not in below and total <= 2 else None
            case "pow" if instruction.value == 2 and below[0] in (0, 1):
                return 2 * below[0]
        return None

    def run(self) -> Structure:
        polynomial: Polynomial = {}
        rest: list[tuple[Number, int]] = []
        self._split(self.program.outputs[0], ONE, polynomial, rest)
        groups, rest = grouped(self.graph, rest, self.size, self.list_of_forms)
        core, forms = _with_used_forms(self.graph, rest, self.size, self.list_of_forms)
        clean = {m: c for m, c in polynomial.items() if c != 0}
        return Structure(
            self.size,
            clean.get((), ZERO),
            {m[0]: c for m, c in clean.items() if len(m) == 1},
            {(m[0], m[1]): c for m, c in clean.items() if len(m) == 2},
            forms,
            core,
            groups,
        )

    def repeated(self, worthwhile: Callable[[Group], bool]) -> tuple[Program, tuple[Group, ...]]:
        """See :func:`repeated`."""
        terms = list(self._terms(self.program.outputs[0], ONE))
        curved = [(k, factor, args) for k, (factor, args) in enumerate(terms) if not self._is_polynomial(args)]
        copies = [((factor, self.graph.mul(self._copy(a) for a in args)), k) for k, factor, args in curved]
        groups, left = grouped(self.graph, [copy for copy, _ in copies], self.size, self.list_of_forms, worthwhile)
        if not groups:
            return self.program, ()
        rest = set(left)
        taken = {k for copy, k in copies if copy not in rest}
        graph = self.program.graph()
        kept = [(graph.const(f), graph.mul(args)) for k, (f, args) in enumerate(terms) if k not in taken]
        return finish(graph, [graph.add(graph.mul(pair) for pair in kept)], ()), groups

    def _is_polynomial(self, args: tuple[int, ...]) -> bool:
        return len(args) == 1 and self.degrees[args[0]] is not None

    def _split(self, index: int, scale: Number, polynomial: Polynomial, rest: Terms) -> None:
        """Terms of a sum, through signs and constant factors: into the polynomial, or into the core."""
        for factor, args in self._terms(index, scale):
            if self._is_polynomial(args):
                for monomial, coefficient in self._polynomial(args[0]).items():
                    polynomial[monomial] = plus(polynomial.get(monomial, ZERO), times(factor, coefficient))
            else:
                rest.append((factor, self.graph.mul(self._copy(a) for a in args)))

    def _terms(self, index: int, scale: Number) -> Iterator[tuple[Number, tuple[int, ...]]]:
        """Terms of a sum, through signs and constant factors: a number, and the factors of its product."""
        stack = [(index, scale)]
        while stack:
            place, factor = stack.pop()
            instruction = self.instructions[place]
            if self.degrees[place] is not None:
                yield factor, (place,)
            elif instruction.op == "add":
                stack.extend((a, factor) for a in reversed(instruction.args))
            elif instruction.op == "neg":
                stack.append((instruction.args[0], times(factor, Fraction(-1))))
            elif instruction.op == "mul" and any(self.instructions[a].op == "const" for a in instruction.args):
                numbers = [a for a in instruction.args if self.instructions[a].op == "const"]
                others = [a for a in instruction.args if self.instructions[a].op != "const"]
                for number in numbers:
                    factor = times(factor, self.instructions[number].value)
                if len(others) == 1:
                    stack.append((others[0], factor))
                else:
                    yield factor, tuple(others)
            else:
                yield factor, (place,)

    def _polynomial(self, index: int) -> Polynomial:
        """The polynomial of an instruction of degree at most two (arguments first, without recursion)."""
        stack = [index]
        while stack:
            place = stack[-1]
            missing = [a for a in self.instructions[place].args if a not in self.polynomials]
            if place not in self.polynomials and missing:
                stack.extend(missing)
                continue
            stack.pop()
            if place not in self.polynomials:
                self.polynomials[place] = self._expand(place)
        return self.polynomials[index]

    def _expand(self, index: int) -> Polynomial:
        instruction = self.instructions[index]
        below = [self.polynomials[a] for a in instruction.args]
        match instruction.op:
            case "const":
                return {(): instruction.value}
            case "input":
                return {(instruction.value,): ONE}
            case "neg":
                return {m: times(Fraction(-1), c) for m, c in below[0].items()}
            case "add":
                total: Polynomial = {}
                for part in below:
                    for monomial, coefficient in part.items():
                        total[monomial] = plus(total[monomial], coefficient) if monomial in total else coefficient
                return total
            case "pow":
                return _multiply(below[0], below[0])
        product = below[0]
        for part in below[1:]:
            product = _multiply(product, part)
        return product

    def _copy(self, index: int) -> int:
        """An instruction in the core; dense affine forms become inputs."""
        stack = [index]
        while stack:
            place = stack[-1]
            if place in self.copies:
                stack.pop()
                continue
            instruction = self.instructions[place]
            if self.degrees[place] == 1 and instruction.op != "input":
                polynomial = self._polynomial(place)
                if sum(1 for m, c in polynomial.items() if m and c != 0) > 1:
                    self.copies[place] = self._form(polynomial)
                    continue
            missing = [a for a in instruction.args if a not in self.copies]
            if missing:
                stack.extend(missing)
                continue
            self.copies[place] = self._rebuild(instruction, tuple(self.copies[a] for a in instruction.args))
        return self.copies[index]

    def _rebuild(self, instruction: Instruction, args: tuple[int, ...]) -> int:
        if instruction.op == "input":
            return self.graph.input_at(instruction.value)
        return self.graph.emit(instruction.op, args, instruction.value)

    def _form(self, polynomial: Polynomial) -> int:
        coefficients = {m[0]: c for m, c in polynomial.items() if m and c != 0}
        constant = polynomial.get((), ZERO)
        key = (tuple(sorted(coefficients.items())), constant)
        opposite = (tuple((i, times(Fraction(-1), c)) for i, c in key[0]), times(Fraction(-1), constant))
        if opposite in self.forms:
            return self.graph.neg(self.forms[opposite])
        if key not in self.forms:
            self.forms[key] = self.graph.input(f"t{len(self.forms)}")
            self.list_of_forms.append((coefficients, constant))
        return self.forms[key]


def _multiply(a: Polynomial, b: Polynomial) -> Polynomial:
    result: Polynomial = {}
    for left, p in a.items():
        for right, q in b.items():
            monomial = tuple(sorted(left + right))
            product = times(p, q)
            result[monomial] = plus(result[monomial], product) if monomial in result else product
    return result


def _with_used_forms(
    graph: Graph, terms: Terms, size: int, forms: list[Form]
) -> tuple[Program | None, tuple[Form, ...]]:
    """The core of the terms that are left, with only the forms that it uses as inputs."""
    if not terms:
        return None, ()
    program = finish(graph, [graph.add(graph.mul((graph.const(factor), node)) for factor, node in terms)], ())
    used = sorted(i.value for i in program.instructions if i.op == "input" and i.value >= size)
    new = {old: size + place for place, old in enumerate(used)}
    instructions = tuple(
        Instruction("input", (), new[i.value]) if i.op == "input" and i.value >= size else i
        for i in program.instructions
    )
    names = program.inputs[:size] + tuple(program.inputs[p] for p in used)
    return Program(names, instructions, program.outputs, ()), tuple(forms[p - size] for p in used)

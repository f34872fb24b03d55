"""SymPy expressions into the expression graph.

Branches of a ``Piecewise`` are read under a guard: wherever a branch contains an operation that can fail or overflow
outside its own region (a denominator, a logarithm, a root, an exponential), its argument is replaced by 1 where the
branch is not taken. So every instruction is finite wherever the expression is, and derivatives never meet
``0 * inf``; the value on the branch is untouched.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from fractions import Fraction
from typing import Any

import sympy
from sympy.functions.elementary.piecewise import ExprCondPair
from sympy.logic.boolalg import And, BooleanFalse, BooleanTrue, Not, Or

from bilevel_verify.atoms.datasum import DataSum
from bilevel_verify.atoms.table import recognise
from bilevel_verify.errors import ExpressionError
from bilevel_verify.symbolic.graph import ONE, ZERO, Graph

FRAGILE = frozenset("exp log tan sinh cosh abspow sgnpow pluspow".split())
"""Atoms whose argument is guarded inside branches."""

PLAIN = frozenset("abs sign floor ceil".split())
"""Functions that are instructions of their own."""

NAMES = {"Abs": "abs", "Max": "max", "Min": "min", "ceiling": "ceil"}


class Reader:
    """Reads expressions over fixed symbols into one graph, sharing what they have in common."""

    def __init__(self, symbols: Sequence[sympy.Symbol]) -> None:
        self.graph = Graph(symbol.name for symbol in symbols)
        self.places = {symbol: index for index, symbol in enumerate(symbols)}
        if len(self.places) != len(symbols):
            raise ExpressionError("a variable occurs twice among the symbols")
        self.names = {symbol.name: index for symbol, index in self.places.items()}
        self.known: dict[tuple[Any, int | None], int] = {}

    def read(self, expression: sympy.Expr, guard: int | None = None) -> int:
        """Index of the instruction that computes ``expression`` (where ``guard`` is true)."""
        expression = sympy.sympify(expression) if not isinstance(expression, sympy.Basic | str) else expression
        key = (expression, guard)
        found = self.known.get(key)
        if found is None:
            found = self.known[key] = self._read(expression, guard)
        return found

    def _read(self, expression: sympy.Expr, guard: int | None) -> int:
        graph = self.graph
        if isinstance(expression, sympy.Symbol):
            return self._symbol(expression)
        if isinstance(expression, sympy.Expr) and not expression.free_symbols and _plain_number(expression):
            return graph.const(exact(expression))
        if isinstance(expression, sympy.Add):
            return graph.add(self.read(term, guard) for term in expression.args)
        if isinstance(expression, sympy.Mul):
            return self._product(expression, guard)
        if isinstance(expression, sympy.Pow):
            return self._power(expression.base, expression.exp, guard)
        if isinstance(expression, sympy.Piecewise):
            return self._piecewise(expression.args, guard)
        if isinstance(expression, sympy.Function | sympy.Max | sympy.Min):
            return self._function(expression, guard)
        if isinstance(expression, DataSum):
            return self._data_sum(expression, guard)
        raise ExpressionError(f"{type(expression).__name__} cannot be computed: {str(expression)[:60]}")

    def _data_sum(self, expression: DataSum, guard: int | None) -> int:
        written = expression.doit()
        if written is expression:
            size = expression.count * expression.width
            raise ExpressionError(
                f"a sum over {expression.count} samples ({size} numbers) is too large to be written out"
            )
        return self.read(written, guard)

    def _symbol(self, symbol: sympy.Symbol) -> int:
        place = self.places.get(symbol, self.names.get(symbol.name))
        if place is None:
            raise ExpressionError(f"unknown symbol {symbol.name!r}; the variables are {sorted(self.names)[:12]}")
        return place

    def _product(self, expression: sympy.Mul, guard: int | None) -> int:
        top: list[int] = []
        bottom: list[int] = []
        for factor in expression.args:
            exponent = factor.exp if isinstance(factor, sympy.Pow) else None
            if exponent is not None and exponent.is_Rational and exponent < 0 and factor.free_symbols:
                bottom.append(self._power(factor.base, -exponent, guard, fragile=True))
            else:
                top.append(self.read(factor, guard))
        numerator = self.graph.mul(top)
        return self.graph.div(numerator, self.graph.mul(bottom)) if bottom else numerator

    def _power(self, base: sympy.Expr, exponent: sympy.Expr, guard: int | None, fragile: bool = False) -> int:
        graph = self.graph
        if not exponent.is_Rational:
            if base == sympy.E:
                return graph.atom("exp", self._guarded(self.read(exponent, guard), guard))
            logarithm = self.read(sympy.log(base), guard)
            return graph.atom("exp", self._guarded(graph.mul((self.read(exponent, guard), logarithm)), guard))
        inner = self.read(base, guard)
        if fragile or exponent < 0 or not exponent.is_Integer:
            inner = self._guarded(inner, guard)
        return graph.pow(inner, Fraction(int(exponent.p), int(exponent.q)))

    def _guarded(self, index: int, guard: int | None) -> int:
        if guard is None or self.graph[index].op == "const":
            return index
        return self.graph.select(guard, index, self.graph.const(ONE))

    def _piecewise(self, branches: Sequence[ExprCondPair], guard: int | None) -> int:
        graph = self.graph
        if branches[-1].cond != sympy.true:
            raise ExpressionError("a Piecewise needs a last branch (expression, True)")
        earlier: list[int] = []
        pieces: list[tuple[int, int]] = []
        for branch in branches:
            test = self.condition(branch.cond, guard)
            region = [*([] if guard is None else [guard]), *(graph.logical("not", (e,)) for e in earlier), test]
            inside = graph.logical("and", tuple(region))
            pieces.append((test, self.read(branch.expr, inside if graph[inside].op != "true" else None)))
            earlier.append(test)
        result = pieces[-1][1]
        for test, value in reversed(pieces[:-1]):
            result = graph.select(test, value, result)
        return result

    def condition(self, condition: sympy.logic.boolalg.Boolean, guard: int | None) -> int:
        """Index of a truth value."""
        graph = self.graph
        if isinstance(condition, BooleanTrue | BooleanFalse):
            return graph.emit("true" if condition else "false")
        if isinstance(condition, And | Or | Not):
            op = type(condition).__name__.lower()
            return graph.logical(op, tuple(self.condition(c, guard) for c in condition.args))
        if isinstance(condition, sympy.core.relational.Relational):
            left, right = self.read(condition.lhs, guard), self.read(condition.rhs, guard)
            match condition.rel_op:
                case "<" | "<=":
                    return graph.compare("lt" if condition.rel_op == "<" else "le", left, right)
                case ">" | ">=":
                    return graph.compare("lt" if condition.rel_op == ">" else "le", right, left)
                case "==":
                    return graph.compare("eq", left, right)
                case "!=":
                    return graph.logical("not", (graph.compare("eq", left, right),))
        raise ExpressionError(f"{type(condition).__name__} is not a condition that can be computed")

    def _function(self, expression: sympy.Expr, guard: int | None) -> int:
        graph, name = self.graph, type(expression).__name__
        name = NAMES.get(name, name)
        known = recognise(expression)
        if known is not None and name not in PLAIN:
            atom, order, parameters, argument = known
            inner = self.read(argument, guard)
            if atom in FRAGILE:
                inner = self._guarded(inner, guard)
            return graph.atom(atom, inner, order, tuple(exact(sympy.sympify(p)) for p in parameters))
        args = tuple(self.read(a, guard) for a in expression.args)
        if name in PLAIN:
            return graph.emit(name, args)
        if name in ("max", "min"):
            return self._fold(name, args)
        if name == "logsumexp":
            return graph.emit(name, args)
        if name == "Heaviside":
            at_zero = self.read(expression.args[1], guard) if len(args) > 1 else graph.const(Fraction(1, 2))
            zero = graph.const(ZERO)
            other = graph.select(graph.compare("eq", args[0], zero), at_zero, zero)
            return graph.select(graph.compare("lt", zero, args[0]), graph.const(ONE), other)
        raise ExpressionError(f"unknown function {name!r} in {str(expression)[:60]}")

    def _fold(self, op: str, args: Iterable[int]) -> int:
        first, *rest = args
        for other in rest:
            first = self.graph.emit(op, (first, other))
        return first


def exact(number: sympy.Expr) -> sympy.Expr | Fraction:
    """Fraction of a rational (or float, taken exactly); any other number as it is."""
    if number.is_Float:
        number = sympy.Rational(number)
    return Fraction(int(number.p), int(number.q)) if number.is_Rational else number


def _plain_number(expression: sympy.Expr) -> bool:
    """A number that SymPy itself can evaluate: no functions of ours inside, finite."""
    if expression.is_finite is False or not expression.is_number:
        raise ExpressionError(f"{expression} is not a finite number")
    return all(type(f).__module__.startswith("sympy.") for f in expression.atoms(sympy.Function))

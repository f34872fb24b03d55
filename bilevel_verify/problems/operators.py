"""Operators of the language in SymPy: letters, arithmetic, arrays, indices and conditions; calls are for a subclass."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import sympy
from numpy.typing import NDArray
from sympy import S

from bilevel_verify.errors import ExpressionError, MathematicalError
from bilevel_verify.language import Node, nearest, tree
from bilevel_verify.language.parser import ROOM
from bilevel_verify.problems.budget import Budget
from bilevel_verify.problems.definedness import Need, sign_of_base
from bilevel_verify.problems.expression_arrays import add, exact_number, matrix_product, multiply, objects
from bilevel_verify.problems.vocabulary import COMPARE, CONSTANTS, Definition, Scope


class Operators:
    """Interprets everything but calls.

    Parameters
    ----------
    scope : what the names mean.
    budget : of the whole evaluation.
    """

    def __init__(self, scope: Scope, budget: Budget) -> None:
        self.scope, self.budget = scope, budget
        self.indices: dict[str, Any] = {}
        self.depth = 0
        self.needs: list[Need] = []
        self.branches = 0

    def needed(self, argument: sympy.Expr, sign: str | None, node: Node) -> None:
        """Note what the text needs to have a value; in a branch that may not be taken it needs nothing."""
        if sign is not None and not self.branches:
            self.needs.append(Need(argument, sign, self.budget.text, node.column))

    def call(self, node: tree.Call) -> Any:
        """A function of some arguments."""
        raise self.budget.fail(f"{node.function} cannot be called here", node)

    def scalar(self, node: Node) -> sympy.Expr:
        """A single SymPy expression."""
        value = self.visit(node)
        if isinstance(value, np.ndarray):
            if value.size == 1:
                return value.reshape(-1)[0]
            raise self.budget.fail(f"an array of shape {value.shape} where one number is needed", node)
        if not isinstance(value, sympy.Expr):
            raise self.budget.fail("a condition where a number is needed", node)
        return value

    def visit(self, node: Node) -> sympy.Expr | NDArray[np.object_]:
        self.budget.spend(node)
        match node:
            case tree.Number(value=value):
                return sympy.Rational(value.numerator, value.denominator)
            case tree.Letter():
                return self._letter(node)
            case tree.Add(terms=terms):
                return self._combine(node, terms, add)
            case tree.Multiply(factors=factors):
                return self._combine(node, factors, multiply)
            case tree.Negate(operand=operand):
                return -self.visit(operand)
            case tree.Divide(numerator=top, denominator=bottom):
                return self._divide(node, top, bottom)
            case tree.Power(base=base, exponent=exponent):
                return self._power(node, self.scalar(base), self.scalar(exponent))
            case tree.Modulo(left=left, right=right):
                return sympy.Integer(self.integer(left) % self._nonzero(right))
            case tree.MatrixMultiply(left=left, right=right):
                return self._product(node, self.visit(left), self.visit(right))
            case tree.Conditional(test=test, yes=yes, no=no):
                self.branches += 1
                branches = ((self.scalar(yes), self.condition(test)), (self.scalar(no), S.true))
                self.branches -= 1
                return self._finish(node, lambda: sympy.Piecewise(*branches))
            case tree.Index():
                return self._index(node)
            case tree.Call():
                return self.call(node)
        raise self.budget.fail(f"{type(node).__name__.lower()} has no place in a formula", node)

    def _finish(self, node: Node, build: Callable[[], object]) -> sympy.Expr:
        try:
            return self.budget.exact(build(), node)
        except ExpressionError:
            raise
        except (MathematicalError, ValueError, TypeError, ZeroDivisionError, NotImplementedError) as error:
            raise self.budget.fail(f"cannot be evaluated: {str(error)[:80]}", node) from None

    def _letter(self, node: tree.Letter) -> sympy.Expr | NDArray[np.object_]:
        name = node.name
        if name in self.indices:
            return self.indices[name]
        if name in self.scope.definitions and not self.scope.definitions[name].parameters:
            return self._expand(node, self.scope.definitions[name], ())
        for table in (self.scope.scalars, CONSTANTS):
            if name in table:
                return table[name]
        if name in self.scope.vectors:
            return objects(self.scope.vectors[name])
        if name in self.scope.data:
            return self._array(self.scope.data[name], node)
        variables = ", ".join(sorted(self.scope.scalars)) if len(self.scope.scalars) <= ROOM else "those of x and y"
        near = nearest(name, self.scope.names() - self.scope.vectors.keys())
        raise self.budget.fail(f"unknown symbol {name!r}{near}; the variables (x, y) and knobs are {variables}", node)

    def _array(self, values: NDArray[np.float64] | float, node: Node) -> NDArray[np.object_] | sympy.Expr:
        array = np.asarray(values)
        self.budget.spend(node, array.size)
        result = np.empty(array.shape, dtype=object)
        for place, value in np.ndenumerate(array):
            result[place] = exact_number(value)
        return result if array.shape else result[()]

    def _combine(self, node: Node, parts: tuple[Node, ...], join: Callable[[Any, Any], Any]) -> sympy.Expr:
        values = [self.visit(p) for p in parts]
        if not any(isinstance(v, np.ndarray) for v in values):
            return self._fold(node, values, sympy.Add if join is add else sympy.Mul)
        result = values[0]
        for value in values[1:]:
            try:
                result = join(result, value)
            except ValueError:
                raise self.budget.fail("arrays of different shapes", node) from None
        return result

    def _fold(self, node: Node, values: list[sympy.Expr], kind: Any) -> sympy.Expr:
        """Numbers first, one by one, so that their size is seen before it explodes."""
        number = S.Zero if kind is sympy.Add else S.One
        rest = []
        for value in values:
            if value.is_Rational:
                joined = number + value if kind is sympy.Add else number * value  # no flattening: much faster
                number = self.budget.exact(joined, node)
            else:
                rest.append(value)
        return self._finish(node, lambda: kind(number, *rest)) if rest else number

    def _divide(self, node: Node, top: Node, bottom: Node) -> sympy.Expr:
        numerator, denominator = self.visit(top), self.scalar(bottom)
        if denominator.is_zero:
            raise self.budget.fail("division by zero", bottom)
        self.needed(denominator, sign_of_base(denominator, S.NegativeOne), bottom)
        if isinstance(numerator, np.ndarray):
            return numerator / denominator
        return self._finish(node, lambda: numerator / denominator)

    def _power(self, node: Node, base: sympy.Expr, exponent: sympy.Expr) -> sympy.Expr:
        self.budget.power(base, exponent, node)
        if exponent != 0 and not exponent.is_positive and base.is_zero:  # asked last: of a long sum it costs most
            raise self.budget.fail("zero to a power that is not positive", node)
        self.needed(base, sign_of_base(base, exponent), node)
        return self._finish(node, lambda: base**exponent)

    def _product(
        self, node: Node, left: NDArray[np.object_], right: NDArray[np.object_]
    ) -> NDArray[np.object_] | sympy.Expr:
        if not isinstance(left, np.ndarray) or not isinstance(right, np.ndarray):
            raise self.budget.fail("'@' needs vectors or matrices on both sides", node)
        if left.ndim > 2 or right.ndim > 2 or left.shape[-1] != right.shape[0]:
            raise self.budget.fail(f"shapes {left.shape} and {right.shape} do not match in '@'", node)
        self.budget.spend(node, left.size * (right.size // right.shape[0]))
        return matrix_product(left, right)

    def _index(self, node: tree.Index) -> sympy.Expr | NDArray[np.object_]:
        places = tuple(self.integer(i) for i in node.indices)
        values: Any = self.scope.vectors.get(node.base)
        if values is None:
            values = self.scope.data.get(node.base)
        if values is None:
            known = {*self.scope.vectors, *self.scope.data}
            raise self.budget.fail(f"unknown array {node.base!r}{nearest(node.base, known)}", node)
        shape = np.shape(values) if node.base not in self.scope.vectors else (len(values),)
        if len(places) > len(shape) or any(not 0 <= i < n for i, n in zip(places, shape)):
            raise self.budget.fail(f"index {list(places)} outside {node.base} of shape {tuple(shape)} (0-based)", node)
        if node.base in self.scope.vectors:
            return values[places[0]]
        return self._array(np.asarray(values)[places], node)

    def integer(self, node: Node) -> int:
        """An index: a plain integer."""
        value = self.scalar(node)
        if not value.is_Integer or abs(value) > 10**9:
            raise self.budget.fail("an index must be an integer", node)
        return int(value)

    def _nonzero(self, node: Node) -> int:
        value = self.integer(node)
        if value == 0:
            raise self.budget.fail("remainder by zero", node)
        return value

    def condition(self, node: Node) -> sympy.logic.boolalg.Boolean:
        """A condition of a Piecewise."""
        match node:
            case tree.Truth(value=value):
                return sympy.true if value else sympy.false
            case tree.Compare(operands=operands, operators=operators):
                values = [self.scalar(o) for o in operands]
                links = [COMPARE[o](a, b) for o, a, b in zip(operators, values, values[1:])]
                return sympy.And(*links)
            case tree.Logical(operator=word, operands=operands):
                return (sympy.And if word == "and" else sympy.Or)(*(self.condition(o) for o in operands))
            case tree.Not(operand=operand):
                return sympy.Not(self.condition(operand))
        raise self.budget.fail("a condition (a comparison) is needed here", node)

    def _expand(self, node: Node, definition: Definition, arguments: tuple[Node, ...]) -> sympy.Expr:
        """An abbreviation, its parameters bound to the values of the arguments; nothing else of the caller is seen."""
        if len(arguments) != len(definition.parameters):
            raise self.budget.fail(f"takes {len(definition.parameters)} arguments, not {len(arguments)}", node)
        if self.depth >= 20:
            raise self.budget.fail("definitions nested deeper than 20 levels (a circle?)", node)
        bound = dict(zip(definition.parameters, (self.scalar(a) for a in arguments)))
        outer, self.indices, text, self.budget.text = self.indices, bound, self.budget.text, definition.text
        self.depth += 1
        try:
            return self.visit(definition.body)
        finally:
            self.indices, self.budget.text = outer, text
            self.depth -= 1

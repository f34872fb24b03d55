"""Expression tree to SymPy: the interpreter of problem files.

Only functions of the vocabulary can be called. Numbers stay exact. Data arrays are known
by name: ``A[i, j]`` is an entry, ``A[i]`` a row (both 0-based), the name of a block (``x``, ``y``) the vector of its
variables, ``y[i]`` its i-th variable (0-based).
Whole arrays take part in ``dot``, ``norm``, ``@`` and ``T``.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import sympy
from sympy import S

from bilevel_verify.errors import ExpressionError, MathematicalError
from bilevel_verify.language import Node, nearest, tree
from bilevel_verify.problems.budget import MAXIMUM_RANGE, Budget
from bilevel_verify.problems.data_sum import NotOneForm, SampleReader, implied_range, is_large
from bilevel_verify.problems.stable import stabilise
from bilevel_verify.problems.vocabulary import (
    COMPARE,
    CONSTANTS,
    FUNCTIONS,
    RANGE_FUNCTIONS,
    SMALL_INTEGER,
    SPECIAL,
    VECTOR_FUNCTIONS,
    Definition,
    Scope,
    maximum,
    minimum,
)


def to_sympy(
    node: Node,
    letters: Mapping[str, Any],
    *,
    text: str = "",
    vectors: Mapping[str, tuple[Any, ...]] | None = None,
    data: Mapping[str, Any] | None = None,
    definitions: Mapping[str, Definition] | None = None,
    rewrite: bool = True,
    operations: int = 200_000,
) -> Any:
    """Interpret a tree as a SymPy expression.

    Parameters
    ----------
    letters : name -> SymPy expression (symbols and knobs). ``pi`` and ``E`` are always known.
    vectors, data : names of blocks of variables, and of numeric arrays.
    definitions : abbreviations that the text may use.
    rewrite : replace ``log(1 + exp(t))``, ``1/(1 + exp(-t))``, ``log(cosh(t))``, ``log(exp(a) + exp(b) + ...)`` by the
        stable atoms (same function, never overflowing).
    operations : budget of the whole evaluation; nested sums multiply.

    Raises
    ------
    ExpressionError : unknown name or function, wrong number of arguments, budget exceeded, undefined; with the column.
    """
    scope = Scope(letters, vectors or {}, data or {}, definitions or {})
    try:
        budget = Budget(text, operations)
        result = budget.defined(_Interpreter(scope, budget, text).scalar(node), node)
    except (RecursionError, OverflowError, MemoryError):
        raise ExpressionError("the expression is too large to be read", text[:80]) from None
    return stabilise(result) if rewrite else result


def exact_number(value: Any) -> Any:
    """A float, int, Fraction or SymPy number as an exact number; decimals are read as they print (0.1 is 1/10)."""
    if isinstance(value, sympy.Basic):
        return sympy.Rational(str(value)) if value.is_Float else value
    if isinstance(value, Fraction):
        return sympy.Rational(value.numerator, value.denominator)
    if isinstance(value, int | np.integer):
        return sympy.Integer(int(value))
    part = Fraction(repr(float(value)))
    return sympy.Rational(part.numerator, part.denominator)


class _Interpreter:
    def __init__(self, scope: Scope, budget: Budget, text: str) -> None:
        self.scope, self.budget, self.text = scope, budget, text
        self.indices: dict[str, Any] = {}
        self.depth = 0

    def scalar(self, node: Node) -> Any:
        """A single SymPy expression."""
        value = self.visit(node)
        if isinstance(value, np.ndarray):
            if value.size == 1:
                return value.reshape(-1)[0]
            raise self.budget.fail(f"an array of shape {value.shape} where one number is needed", node)
        if not isinstance(value, sympy.Expr):
            raise self.budget.fail("a condition where a number is needed", node)
        return value

    def visit(self, node: Node) -> Any:
        self.budget.spend(node)
        match node:
            case tree.Number(value=value):
                return sympy.Rational(value.numerator, value.denominator)
            case tree.Letter():
                return self._letter(node)
            case tree.Add(terms=terms):
                return self._combine(node, terms, _add)
            case tree.Multiply(factors=factors):
                return self._combine(node, factors, _multiply)
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
                branches = ((self.scalar(yes), self.condition(test)), (self.scalar(no), S.true))
                return self._finish(node, lambda: sympy.Piecewise(*branches))
            case tree.Index():
                return self._index(node)
            case tree.Call():
                return self._call(node)
        raise self.budget.fail(f"{type(node).__name__.lower()} has no place in a formula", node)

    def _finish(self, node: Node, build: Callable[[], Any]) -> Any:
        try:
            return self.budget.exact(build(), node)
        except ExpressionError:
            raise
        except (MathematicalError, ValueError, TypeError, ZeroDivisionError, NotImplementedError) as error:
            raise self.budget.fail(f"cannot be evaluated: {str(error)[:80]}", node) from None

    def _letter(self, node: tree.Letter) -> Any:
        name = node.name
        if name in self.indices:
            return self.indices[name]
        if name in self.scope.definitions and not self.scope.definitions[name].parameters:
            return self._expand(node, self.scope.definitions[name], ())
        for table in (self.scope.scalars, CONSTANTS):
            if name in table:
                return table[name]
        if name in self.scope.vectors:
            return _objects(self.scope.vectors[name])
        if name in self.scope.data:
            return self._array(self.scope.data[name], node)
        raise self.budget.fail(f"unknown symbol {name!r}{nearest(name, self.scope.names())}", node)

    def _array(self, values: Any, node: Node) -> Any:
        array = np.asarray(values)
        self.budget.spend(node, array.size)
        result = np.empty(array.shape, dtype=object)
        for place, value in np.ndenumerate(array):
            result[place] = exact_number(value)
        return result if array.shape else result[()]

    def _combine(self, node: Node, parts: tuple[Node, ...], join: Callable[[Any, Any], Any]) -> Any:
        values = [self.visit(p) for p in parts]
        if not any(isinstance(v, np.ndarray) for v in values):
            return self._fold(node, values, sympy.Add if join is _add else sympy.Mul)
        result = values[0]
        for value in values[1:]:
            try:
                result = join(result, value)
            except ValueError:
                raise self.budget.fail("arrays of different shapes", node) from None
        return result

    def _fold(self, node: Node, values: list[Any], kind: Any) -> Any:
        """Numbers first, one by one, so that their size is seen before it explodes."""
        number = S.Zero if kind is sympy.Add else S.One
        rest = []
        for value in values:
            if value.is_Rational:
                number = self.budget.exact(kind(number, value), node)
            else:
                rest.append(value)
        return self._finish(node, lambda: kind(number, *rest))

    def _divide(self, node: Node, top: Node, bottom: Node) -> Any:
        numerator, denominator = self.visit(top), self.scalar(bottom)
        if denominator.is_zero:
            raise self.budget.fail("division by zero", bottom)
        if isinstance(numerator, np.ndarray):
            return numerator / denominator
        return self._finish(node, lambda: numerator / denominator)

    def _power(self, node: Node, base: Any, exponent: Any) -> Any:
        self.budget.power(base, exponent, node)
        if base.is_zero and not exponent.is_positive and exponent != 0:
            raise self.budget.fail("zero to a power that is not positive", node)
        return self._finish(node, lambda: base**exponent)

    def _product(self, node: Node, left: Any, right: Any) -> Any:
        if not isinstance(left, np.ndarray) or not isinstance(right, np.ndarray):
            raise self.budget.fail("'@' needs vectors or matrices on both sides", node)
        if left.ndim > 2 or right.ndim > 2 or left.shape[-1] != right.shape[0]:
            raise self.budget.fail(f"shapes {left.shape} and {right.shape} do not match in '@'", node)
        self.budget.spend(node, left.size * (right.size // right.shape[0]))
        return _matrix_product(left, right)

    def _index(self, node: tree.Index) -> Any:
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

    def condition(self, node: Node) -> Any:
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

    def _call(self, node: tree.Call) -> Any:
        name, arguments = node.function, node.arguments
        if arguments and isinstance(arguments[-1], tree.Tuple) and name in RANGE_FUNCTIONS:
            return self._over_range(node)
        if name in VECTOR_FUNCTIONS:
            return self._vector_call(node)
        if name == "Piecewise":
            return self._piecewise(node)
        if name in SPECIAL:
            return self._integers(node)
        if name in ("sum", "mean", "prod"):
            return self._reduce(node)
        definition = self.scope.definitions.get(name)
        if definition is not None and definition.parameters:
            return self._expand(node, definition, arguments)
        if name not in FUNCTIONS:
            raise self.budget.fail(f"unknown function {name!r}{nearest(name, self.scope.functions())}", node)
        count, function = FUNCTIONS[name]
        if not arguments or (count >= 0 and len(arguments) != count):
            raise self.budget.fail(
                f"{name} takes {max(count, 1)} argument{'s' * (count > 1)}, not {len(arguments)}", node
            )
        values = [self.scalar(a) for a in arguments]
        if name in ("exp", "log", "sinh", "cosh") and values[0].is_number:
            self._guard_number(node, values[0])
        if name in ("exp", "log") and _needs_no_simplification(values[0]):
            return function(values[0], evaluate=False)
        return self._finish(node, lambda: function(*values))

    def _expand(self, node: Node, definition: Definition, arguments: tuple[Node, ...]) -> Any:
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

    def _guard_number(self, node: Node, value: Any) -> None:
        """``exp(10**9*log(9))`` would be evaluated exactly by SymPy."""
        if value.has(sympy.log) and (abs(value) > 2000) is not sympy.false:
            raise self.budget.fail("an exponential of a large logarithm", node)

    def _integers(self, node: tree.Call) -> Any:
        wanted = 1 if node.function == "factorial" else 2
        if len(node.arguments) != wanted:
            raise self.budget.fail(f"{node.function} takes {wanted} argument{'s' * (wanted > 1)}", node)
        values = [self.scalar(a) for a in node.arguments]
        if node.function == "Rational":
            if not all(v.is_Rational for v in values) or values[1] == 0:
                raise self.budget.fail("Rational takes two numbers, the second not zero", node)
            return self.budget.exact(values[0] / values[1], node)
        for value in values:
            if not value.is_Integer or not 0 <= value <= SMALL_INTEGER:
                raise self.budget.fail(f"{node.function} needs integers between 0 and {SMALL_INTEGER}", node)
        return (sympy.factorial if wanted == 1 else sympy.binomial)(*values)

    def _piecewise(self, node: tree.Call) -> Any:
        branches = []
        for branch in node.arguments:
            if not isinstance(branch, tree.Tuple) or len(branch.items) != 2:
                raise self.budget.fail("Piecewise takes pairs (value, condition)", branch)
            branches.append((self.scalar(branch.items[0]), self.condition(branch.items[1])))
        if not branches or branches[-1][1] != S.true:
            raise self.budget.fail("Piecewise needs a last branch (value, True)", node)
        return self._finish(node, lambda: sympy.Piecewise(*branches))

    def _over_range(self, node: tree.Call) -> Any:
        *body, span = node.arguments
        if len(body) != 1 or not isinstance(span, tree.Tuple) or len(span.items) != 3:
            raise self.budget.fail(f"write {node.function}(expression, (i, first, last))", node)
        letter, first, last = span.items
        if not isinstance(letter, tree.Letter):
            raise self.budget.fail("the index of a range must be a letter", span)
        name = letter.name
        if name in self.indices or name in self.scope.names():
            raise self.budget.fail(f"the index {name!r} already means something else", letter)
        low, high = self.integer(first), self.integer(last)
        if high - low >= MAXIMUM_RANGE:
            raise self.budget.fail(f"a range of more than {MAXIMUM_RANGE} terms", span)
        if node.function in ("sum", "mean") and is_large(body[0], high - low + 1, self.scope.data):
            kept = self._data_sum(node, body[0], name, low, high)
            if kept is not None:
                return kept
        values = []
        try:
            for value in range(low, high + 1):
                self.indices[name] = sympy.Integer(value)
                values.append(self.visit(body[0]))
        finally:
            self.indices.pop(name, None)
        return self._collect(node, values)

    def _data_sum(self, node: tree.Call, body: Node, index: str, low: int, high: int) -> Any:
        """The sum as one closed form over data; None if its terms are not of one form."""
        reader = SampleReader(index, low, high, self.scope.vectors, self.scope.data)
        try:
            rewritten = reader.rewrite(body)
        except NotOneForm:
            return None
        names = {name: sympy.Symbol(name, real=True) for name in (*reader.forms, *reader.columns)}
        outer, self.indices = self.indices, {**self.indices, **names}
        try:
            return reader.finish(self.scalar(rewritten), names, node.function == "mean")
        finally:
            self.indices = outer

    def _collect(self, node: tree.Call, values: list[Any]) -> Any:
        if any(isinstance(v, np.ndarray) for v in values):
            if node.function != "sum":
                raise self.budget.fail(f"{node.function} of arrays", node)
            return sum(values[1:], values[0])
        if not values and node.function not in ("sum", "prod"):
            raise self.budget.fail("an empty range", node)
        match node.function:
            case "sum":
                return self._fold(node, values, sympy.Add)
            case "prod":
                return self._fold(node, values, sympy.Mul)
            case "mean":
                return self._fold(node, values, sympy.Add) / len(values)
            case "max":
                return self._finish(node, lambda: maximum(*values))
        return self._finish(node, lambda: minimum(*values))

    def _reduce(self, node: tree.Call) -> Any:
        if len(node.arguments) == 1:
            known = {*self.scope.names(), *self.indices}
            span = implied_range(node.arguments[0], self.scope.data, known)
            if span is not None:
                return self._over_range(replace(node, arguments=(*node.arguments, span)))
        value = self.visit(node.arguments[0]) if len(node.arguments) == 1 else None
        if not isinstance(value, np.ndarray):
            raise self.budget.fail(f"write {node.function}(expression, (i, first, last)), or give one vector", node)
        return self._collect(node, list(value.reshape(-1)))

    def _vector_call(self, node: tree.Call) -> Any:
        name = node.function
        wanted = 2 if name == "dot" else 1
        if len(node.arguments) != wanted:
            raise self.budget.fail(f"{name} takes {wanted} argument{'s' * (wanted > 1)}", node)
        if name in ("rows", "columns"):
            return self._extent(node)
        values = [self.visit(a) for a in node.arguments]
        if not all(isinstance(v, np.ndarray) for v in values):
            raise self.budget.fail(f"{name} needs a vector or a matrix", node)
        if name == "T":
            return values[0].T
        if any(v.ndim != 1 for v in values) or len({v.size for v in values}) != 1:
            raise self.budget.fail(f"{name} needs vectors of one length, not {[v.shape for v in values]}", node)
        if name == "dot":
            return self._product(node, *values)
        self.budget.spend(node, values[0].size)
        return self._finish(node, lambda: sympy.sqrt(sympy.Add(*(v**2 for v in values[0]))))

    def _extent(self, node: tree.Call) -> Any:
        argument = node.arguments[0]
        shape: tuple[int, ...] = ()
        if isinstance(argument, tree.Letter) and argument.name in self.scope.data:
            shape = np.shape(self.scope.data[argument.name])
        elif isinstance(argument, tree.Letter) and argument.name in self.scope.vectors:
            shape = (len(self.scope.vectors[argument.name]),)
        place = 0 if node.function == "rows" else 1
        if len(shape) <= place:
            raise self.budget.fail(f"{node.function} needs the name of an array", node)
        return sympy.Integer(shape[place])


def _needs_no_simplification(argument: Any) -> bool:
    """Long sums of variables: SymPy has nothing to simplify there, but asks itself for seconds."""
    return bool(argument.is_Add and len(argument.free_symbols) > 3 and not argument.has(sympy.log, sympy.I))


def _objects(values: tuple[Any, ...]) -> Any:
    result = np.empty(len(values), dtype=object)
    result[:] = values
    return result


def _matrix_product(left: Any, right: Any) -> Any:
    """``left @ right``; every entry is added up at once (SymPy sorts a sum anew with each term that joins it)."""
    rows, columns = left.reshape(-1, left.shape[-1]), right.reshape(right.shape[0], -1).T
    entries = _objects(tuple(sympy.Add(*map(_times, row, column)) for row in rows for column in columns))
    return entries.reshape(left.shape[:-1] + right.shape[1:])[()]


def _times(a: Any, b: Any) -> Any:
    """``a * b``; a number times a symbol is what SymPy would find out after some questions."""
    if a.is_Rational and b.is_Symbol and a not in (0, 1):
        return sympy.Mul(a, b, evaluate=False)
    return a * b


def _add(a: Any, b: Any) -> Any:
    if isinstance(a, np.ndarray) != isinstance(b, np.ndarray) or np.shape(a) != np.shape(b):
        raise ValueError("shapes")
    return a + b


def _multiply(a: Any, b: Any) -> Any:
    if isinstance(a, np.ndarray) and isinstance(b, np.ndarray):
        raise ValueError("shapes")
    return a * b

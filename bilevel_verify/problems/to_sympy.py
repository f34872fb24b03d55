"""Expression tree to SymPy: the interpreter of problem files.

Only functions of the vocabulary can be called. Numbers stay exact. Data arrays are known
by name: ``A[i, j]`` is an entry, ``A[i]`` a row (both 0-based), the name of a block (``x``, ``y``) the vector of its
variables, ``y[i]`` its i-th variable (0-based).
Whole arrays take part in ``dot``, ``norm``, ``@`` and ``T``.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np
import sympy
from numpy.typing import NDArray
from sympy import S

from bilevel_verify.errors import ExpressionError
from bilevel_verify.language import Node, instead_of, tree
from bilevel_verify.language.elementary import TRANSCENDENTAL
from bilevel_verify.problems.budget import MAXIMUM_RANGE, Budget
from bilevel_verify.problems.data_sum import NotOneForm, SampleReader, implied_range, is_large
from bilevel_verify.problems.definedness import Need, unshown
from bilevel_verify.problems.operators import Operators
from bilevel_verify.problems.stable import stabilise
from bilevel_verify.problems.vocabulary import (
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
    letters: Mapping[str, sympy.Expr],
    *,
    text: str = "",
    vectors: Mapping[str, tuple[object, ...]] | None = None,
    data: Mapping[str, NDArray[np.float64]] | None = None,
    definitions: Mapping[str, Definition] | None = None,
    rewrite: bool = True,
    operations: int = 200_000,
    needs: list[Need] | None = None,
) -> sympy.Expr:
    """Interpret a tree as a SymPy expression.

    Parameters
    ----------
    letters : name -> SymPy expression (symbols and knobs). ``pi`` and ``E`` are always known.
    vectors, data : names of blocks of variables, and of numeric arrays.
    definitions : abbreviations that the text may use.
    rewrite : replace ``log(1 + exp(t))``, ``1/(1 + exp(-t))``, ``log(cosh(t))``, ``log(exp(a) + exp(b) + ...)`` by the
        stable atoms (same function, never overflowing).
    operations : budget of the whole evaluation; nested sums multiply.
    needs : gets what the text needs to have a value and the result does not show
        (:mod:`bilevel_verify.problems.definedness`).

    Raises
    ------
    ExpressionError : unknown name or function, wrong number of arguments, budget exceeded, undefined; with the column.
    """
    scope = Scope(letters, vectors or {}, data or {}, definitions or {})
    try:
        budget = Budget(text, operations)
        interpreter = _Interpreter(scope, budget)
        result = budget.defined(interpreter.scalar(node), node)
        if needs is not None:
            needs += unshown(interpreter.needs, result)
    except (RecursionError, OverflowError, MemoryError):
        raise ExpressionError("the expression is too large to be read", text[:80]) from None
    return stabilise(result) if rewrite else result


class _Interpreter(Operators):
    """The operators, and the calls of the vocabulary."""

    def call(self, node: tree.Call) -> sympy.Expr:
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
            raise self.budget.fail(f"unknown function {name!r}{instead_of(name, self.scope.functions())}", node)
        count, function = FUNCTIONS[name]
        if not arguments or (count >= 0 and len(arguments) != count):
            raise self.budget.fail(
                f"{name} takes {max(count, 1)} argument{'s' * (count > 1)}, not {len(arguments)}", node
            )
        values = [self.scalar(a) for a in arguments]
        if name in ("log", "sqrt") and not values[0].is_number:
            self.needed(values[0], "positive" if name == "log" else "nonnegative", node)
        if name in ("exp", "log", "sinh", "cosh") and values[0].is_number:
            self._guard_number(node, values[0])
        if name in TRANSCENDENTAL and _needs_no_simplification(values[0]):
            return function(values[0], evaluate=False)
        return self._finish(node, lambda: function(*values))

    def _guard_number(self, node: Node, value: sympy.Expr) -> None:
        """``exp(10**9*log(9))`` would be evaluated exactly by SymPy."""
        if value.has(sympy.log) and (abs(value) > 2000) is not sympy.false:
            raise self.budget.fail("an exponential of a large logarithm", node)

    def _integers(self, node: tree.Call) -> sympy.Expr:
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

    def _piecewise(self, node: tree.Call) -> sympy.Expr:
        branches = []
        self.branches += 1
        for branch in node.arguments:
            if not isinstance(branch, tree.Tuple) or len(branch.items) != 2:
                raise self.budget.fail("Piecewise takes pairs (value, condition)", branch)
            branches.append((self.scalar(branch.items[0]), self.condition(branch.items[1])))
        self.branches -= 1
        if not branches or branches[-1][1] != S.true:
            raise self.budget.fail("Piecewise needs a last branch (value, True)", node)
        return self._finish(node, lambda: sympy.Piecewise(*branches))

    def _over_range(self, node: tree.Call) -> sympy.Expr:
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

    def _data_sum(self, node: tree.Call, body: Node, index: str, low: int, high: int) -> sympy.Expr:
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

    def _collect(self, node: tree.Call, values: list[sympy.Expr]) -> sympy.Expr:
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

    def _reduce(self, node: tree.Call) -> sympy.Expr:
        if len(node.arguments) == 1:
            known = {*self.scope.names(), *self.indices}
            span = implied_range(node.arguments[0], self.scope.data, known)
            if span is not None:
                return self._over_range(replace(node, arguments=(*node.arguments, span)))
        value = self.visit(node.arguments[0]) if len(node.arguments) == 1 else None
        if not isinstance(value, np.ndarray):
            raise self.budget.fail(f"write {node.function}(expression, (i, first, last)), or give one vector", node)
        return self._collect(node, list(value.reshape(-1)))

    def _vector_call(self, node: tree.Call) -> NDArray[np.object_] | sympy.Expr:
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

    def _extent(self, node: tree.Call) -> sympy.Expr:
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


def _needs_no_simplification(argument: sympy.Expr) -> bool:
    """Long sums of variables: SymPy has nothing to simplify there, but asks itself for seconds."""
    return bool(argument.is_Add and len(argument.free_symbols) > 3 and not argument.has(sympy.log, sympy.I))

"""The one evaluator of trees of the language: a fold over the tree with any arithmetic, compiled once to closures.

Sums, products, maxima and minima over an index range, chains of comparisons and conditionals are understood here, once.
An evaluator of a room says what its letters are and which functions it has, and overrides what its numbers do better.
Conditions are lazy as far as they are decided: a branch that is not taken is not looked at, nor is what follows a
decisive part of ``and`` and ``or``. Nothing is executed as code.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from functools import lru_cache, reduce
from typing import Generic, TypeAlias

from bilevel_verify.errors import MathematicalError
from bilevel_verify.language import tree
from bilevel_verify.language.binding import RANGE_FUNCTIONS, binder
from bilevel_verify.language.elementary import ELEMENTARY
from bilevel_verify.numbers.arithmetic import T, TreeArithmetic, V

Bound: TypeAlias = "Mapping[str, V | int]"
"""Names at a place and what they are worth; indices are integers."""
Evaluate: TypeAlias = "Callable[[Bound[V]], V]"
Test: TypeAlias = "Callable[[Bound[V]], T]"
"""A number, and a condition, as functions of the names bound at a place."""
Running: TypeAlias = "V | tuple[int, V]"
"""The value of a range so far; with its place for ``argmin`` and ``argmax``."""
MAXIMAL_TERMS = 1_000_000
REMEMBERED = 1024
"""Trees that stay compiled; when there are more, all are forgotten."""
ARGUMENTS = {**dict.fromkeys((*ELEMENTARY, "abs", "plus", "factorial"), 1), "binomial": 2}
"""How many arguments the functions of numbers take."""
RELATIONS = {"<": ("lt", False), "<=": ("le", False), ">": ("lt", True), ">=": ("le", True), "==": ("eq", False)}
"""Operator of the language -> operation of the protocol, and whether the sides change places."""


class TreeEvaluator(Generic[V, T]):
    """Compiles trees to functions of the names bound at a place.

    Parameters
    ----------
    arithmetic : the number system.
    functions : name -> function of values; ``max`` and ``min`` of several values need no entry.
    """

    error: type[Exception] = MathematicalError
    """What is raised where an expression has no value."""
    lazy = False
    """What is not understood is refused where it is reached, not where it is compiled."""
    typed = True
    """Conditions are no numbers, and numbers no conditions."""

    def __init__(self, arithmetic: TreeArithmetic[V, T], functions: Mapping[str, Callable[..., V]]) -> None:
        self.arithmetic, self.table = arithmetic, functions
        self._compiled: dict[int, tuple[tree.Node, Evaluate[V] | Test[V, T]]] = {}

    def compiled(self, node: tree.Node) -> Evaluate[V] | Test[V, T]:
        """The function of a tree, compiled when it is first asked for; the tree is kept, so its id stays its own."""
        found = self._compiled.get(id(node))
        if found is None:
            if len(self._compiled) >= REMEMBERED:
                self.forget()
            found = self._compiled[id(node)] = (node, (self.condition if is_condition(node) else self.compile)(node))
        return found[1]

    def compile(self, node: tree.Node) -> Evaluate[V]:
        """The function of a tree: from bound names to its value.

        Raises
        ------
        Exception : whatever :meth:`unknown` makes of a part that is not understood.
        """
        match node:
            case tree.Number(value=value):
                number = self.arithmetic.constant(value)
                return lambda bound: number
            case tree.Letter(name=name):
                return self.letter(name)
            case tree.Add(terms=terms):
                return self.sum_of(terms)
            case tree.Multiply(factors=factors):
                return self.product_of(factors)
            case tree.Negate(operand=operand):
                inner, negative = self.compile(operand), self.arithmetic.neg
                return lambda bound: negative(inner(bound))
            case tree.Divide(numerator=top, denominator=bottom):
                return self.binary(self.arithmetic.div, top, bottom)
            case tree.Power():
                return self.power(node)
            case tree.Modulo(left=left, right=right):
                return self.binary(self.modulo, left, right)
            case tree.Call():
                return self.call(node)
            case tree.Conditional():
                return self.conditional(node)
            case tree.Compare() | tree.Logical() | tree.Not() | tree.Truth() if not self.typed:
                return self.condition(node)  # type: ignore[return-value] # untyped: an answer is a value
        return self.unknown(node, f"{type(node).__name__} cannot be evaluated here")

    def forget(self) -> None:
        """Forget what is compiled (and, in rooms that remember more by the ids of trees, that too)."""
        self._compiled.clear()

    # --- what an evaluator of a room overrides ------------------------------------------------------------------------

    def unknown(self, node: tree.Node, message: str) -> Evaluate[V]:
        """A part that is not understood."""
        if not self.lazy:
            raise self.error(message)

        def refuse(bound: Bound[V]) -> V:
            raise self.error(message)

        return refuse

    def missing(self, name: str, bound: Bound[V]) -> V:
        """The value of a letter that is not bound."""
        return self.arithmetic.named(name)

    def total(self, values: Sequence[V], negative: Sequence[bool]) -> V:
        """A signed sum from left to right."""
        negated = self.arithmetic.neg
        return reduce(self.arithmetic.add, [negated(v) if minus else v for v, minus in zip(values, negative)])

    def modulo(self, left: V, right: V) -> V:
        """``left % right``, with the sign of ``right``."""
        with_ = self.arithmetic
        return with_.add(left, with_.neg(with_.mul(right, with_.floor(with_.div(left, right)))))

    def power(self, node: tree.Power) -> Evaluate[V]:
        """``base ** exponent``."""
        return self.binary(self.arithmetic.raised, node.base, node.exponent)

    # --- arithmetic ---------------------------------------------------------------------------------------------------

    def letter(self, name: str) -> Evaluate[V]:
        """A bound name, or whatever :meth:`missing` says."""
        constant, missing = self.arithmetic.constant, self.missing

        def look_up(bound: Bound[V]) -> V:
            if name in bound:
                found = bound[name]
                return constant(_rational(found)) if type(found) is int else found  # type: ignore[return-value]
            return missing(name, bound)

        return look_up

    def whole(self, node: tree.Node, other: Callable[[Bound[V]], int]) -> Callable[[Bound[V]], int]:
        """An index: sums of whole numbers and bound whole letters at once, anything else by ``other``."""
        match node:
            case tree.Number(value=value) if value.denominator == 1:
                number = int(value)
                return lambda bound: number
            case tree.Letter(name=name):
                return lambda bound: found if type(found := bound.get(name)) is int else other(bound)
            case tree.Add(terms=(tree.Letter(name=name), tree.Number() | tree.Negate(operand=tree.Number()) as last)):
                more = last.value if isinstance(last, tree.Number) else -last.operand.value  # type: ignore[attr-defined]
                if more.denominator == 1:
                    step = int(more)
                    return lambda bound: found + step if type(found := bound.get(name)) is int else other(bound)
        return other

    def binary(self, operation: Callable[[V, V], V], left: tree.Node, right: tree.Node) -> Evaluate[V]:
        """An operation of two parts."""
        one, other = self.compile(left), self.compile(right)
        return lambda bound: operation(one(bound), other(bound))

    def sum_of(self, terms: Sequence[tree.Node]) -> Evaluate[V]:
        """A sum; ``a - b`` subtracts."""
        negative = [isinstance(term, tree.Negate) for term in terms]
        parts = [self.compile(t.operand if isinstance(t, tree.Negate) else t) for t in terms]
        total = self.total
        return lambda bound: total([part(bound) for part in parts], negative)

    def product_of(self, factors: Sequence[tree.Node]) -> Evaluate[V]:
        """A product from left to right."""
        parts, multiply = [self.compile(factor) for factor in factors], self.arithmetic.mul
        return lambda bound: reduce(multiply, [part(bound) for part in parts])

    # --- conditions ---------------------------------------------------------------------------------------------------

    def conditional(self, node: tree.Conditional) -> Evaluate[V]:
        """``yes if test else no``: one branch where the test is decided, both as the arithmetic has it elsewhere."""
        test, select = self.condition(node.test), self.arithmetic.select
        yes, no = self.compile(node.yes), self.compile(node.no)

        def choose(bound: Bound[V]) -> V:
            answer = test(bound)
            if answer is True:
                return yes(bound)
            return no(bound) if answer is False else select(answer, yes(bound), no(bound))

        return choose

    def condition(self, node: tree.Node) -> Test[V, T]:
        """A comparison or a combination of conditions."""
        logical = self.arithmetic.logical
        match node:
            case tree.Truth(value=value):
                return lambda bound: logical("true" if value else "false", ())
            case tree.Not(operand=operand):
                inner = self.condition(operand)
                return lambda bound: logical("not", (inner(bound),))
            case tree.Logical(operator=word, operands=operands):
                parts = [self.condition(operand) for operand in operands]
                return lambda bound: logical(word, (part(bound) for part in parts))
            case tree.Compare(operands=operands, operators=operators):
                return self.chain(operands, [RELATIONS[operator] for operator in operators])
        found = self.unknown(node, "a condition was expected") if self.typed else self.compile(node)
        return found  # type: ignore[return-value] # refused, or untyped: a value is an answer

    def chain(self, operands: Sequence[tree.Node], links: Sequence[tuple[str, bool]]) -> Test[V, T]:
        """``a < b <= c``: every link is judged by itself."""
        sides, compare, logical = [self.compile(o) for o in operands], self.arithmetic.compare, self.arithmetic.logical

        def hold(bound: Bound[V]) -> T:
            values = [side(bound) for side in sides]
            answers = [
                compare(op, b, a) if turned else compare(op, a, b)
                for a, (op, turned), b in zip(values, links, values[1:])
            ]
            return answers[0] if len(answers) == 1 else logical("and", answers)

        return hold

    # --- functions and ranges -----------------------------------------------------------------------------------------

    def call(self, node: tree.Call) -> Evaluate[V]:
        """A function of values, or one that runs over an index range."""
        name, arguments = node.function, node.arguments
        if name in RANGE_FUNCTIONS and len(arguments) >= 2 and isinstance(arguments[-1], tree.Tuple):
            span = binder(node)
            return self.over_range(node, *span) if span else self.unknown(node, "an index range is written (i, lo, hi)")
        function = self.table.get(name)
        if function is None and name in ("max", "min") and arguments:
            best = self.arithmetic.maximum if name == "max" else self.arithmetic.minimum
            parts = [self.compile(argument) for argument in arguments]
            return lambda bound: reduce(best, [part(bound) for part in parts])
        if function is None or len(arguments) != ARGUMENTS.get(name, len(arguments)):
            return self.unknown(node, f"{name} of {len(arguments)} arguments has no value here")
        return self.apply(function, [self.compile(argument) for argument in arguments])

    def apply(self, function: Callable[..., V], parts: Sequence[Evaluate[V]]) -> Evaluate[V]:
        """A function of the values of some parts."""
        if len(parts) == 1:
            part = parts[0]
            return lambda bound: function(part(bound))
        return lambda bound: function(*[part(bound) for part in parts])

    def over_range(self, node: tree.Call, index: str, low: tree.Node, high: tree.Node) -> Evaluate[V]:
        """Sum, product, maximum, minimum, argmin, argmax over all integers between two ends."""
        body, start, stop = (self.compile(part) for part in (node.arguments[0], low, high))
        with_ = self.arithmetic
        lower = self.whole(low, lambda bound: with_.integer(with_.ceil(start(bound)), "a lower limit"))
        upper = self.whole(high, lambda bound: with_.integer(with_.floor(stop(bound)), "an upper limit"))

        def run(bound: Bound[V]) -> V:
            first, last = lower(bound), upper(bound)
            if last - first >= MAXIMAL_TERMS:
                raise self.error(f"budget: an index range of more than {MAXIMAL_TERMS} terms")
            return self.accumulated(node, body, (index, first, last), bound)

        return run

    def accumulated(self, node: tree.Call, body: Evaluate[V], span: tuple[str, int, int], bound: Bound[V]) -> V:
        """The value of a range ``(index, first, last)``, term by term."""
        index, first, last = span
        if last < first:
            return self.empty(node.function)
        inner = {**bound, index: first}
        running = self.joined(node.function, None, body(inner), first)
        for place in range(first + 1, last + 1):
            inner[index] = place
            running = self.joined(node.function, running, body(inner), place)
        return self.found(running)

    def empty(self, name: str) -> V:
        """Sum, product ... over no index at all."""
        if name not in ("sum", "prod"):
            raise self.error(f"an empty {name}")
        return self.arithmetic.constant(Fraction(int(name == "prod")))

    def joined(self, name: str, before: Running[V] | None, term: V, place: int) -> Running[V]:
        """The running value of a range with one more term; ``before`` is None at the first one."""
        with_ = self.arithmetic
        if name in ("argmin", "argmax"):
            if not isinstance(before, tuple):
                return place, term
            sides = (term, before[1]) if name == "argmin" else (before[1], term)
            better = with_.compare("lt", *sides)
            if better is None:
                raise self.error("tie: the smallest of several cannot be told")
            return (place, term) if better else before
        join = {"sum": with_.add, "prod": with_.mul, "max": with_.maximum, "min": with_.minimum}[name]
        return term if before is None or isinstance(before, tuple) else join(before, term)

    def found(self, running: Running[V]) -> V:
        """The value of a range from its running value: the place itself of ``argmin`` and ``argmax``."""
        return self.arithmetic.constant(Fraction(running[0])) if isinstance(running, tuple) else running


_rational = lru_cache(maxsize=65536)(Fraction)
"""Whole numbers as rationals: a run has the same indices again and again."""


def is_condition(node: tree.Node) -> bool:
    """Whether a tree is a comparison or a combination of conditions."""
    return isinstance(node, tree.Compare | tree.Logical | tree.Not | tree.Truth)

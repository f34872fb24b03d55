"""The interpreter of claims as it was before there was one evaluator of trees: an oracle.

A tree is compiled once to closures and then called with the bound names of a place (``k``, ``t``, quantified letters).
Nothing is executed as code; every name is looked up in four tables: bound names, letters, definitions, functions.
Running sums are remembered, so that a claim at every ``k`` of an epoch costs one pass and not one for each ``k``.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from fractions import Fraction
from functools import reduce
from math import comb, factorial
from typing import Any, Protocol

import numbers_before_exact as before
from flint import arb

from bilevel_verify.checks.claims import linear, meanings
from bilevel_verify.checks.claims import values as v
from bilevel_verify.checks.claims.values import EvaluationError, Scalar, Value
from bilevel_verify.language import tree
from bilevel_verify.language.elementary import ELEMENTARY
from bilevel_verify.truth.arithmetic.enclosure import RANK, Certainty, weakest

Bound = dict[str, Any]
Evaluate = Callable[[Bound], Value]
RANGE_LIMIT = 1_000_000
RANGE_FUNCTIONS = frozenset({"sum", "prod", "max", "min", "argmin", "argmax"})


def product(values: list[Value]) -> Value:
    """A product from left to right."""
    result = values[0]
    for value in values[1:]:
        result = v.multiply(result, value)
    return result


def signed_sum(values: list[Value], signs: list[bool]) -> Value:
    """A signed sum; one object added and subtracted cancels exactly, and exact zeros leave the others as they are."""
    kept: list[tuple[Value, bool]] = []
    for value, negative in zip(values, signs):
        twin = next((n for n, (other, sign) in enumerate(kept) if other is value and sign != negative), None)
        if twin is not None and not isinstance(value, Fraction):
            zero = v.multiply(Fraction(0), value)
            kept[twin] = (zero, False)
        elif kept and v.is_zero(value):
            continue
        elif len(kept) == 1 and v.is_zero(kept[0][0]):
            kept[0] = (value, negative)
        else:
            kept.append((value, negative))
    total: Value = None
    for value, negative in kept:
        part = v.negate(value) if negative else value
        total = part if total is None else v.add(total, part)
    return total


def empty_range(name: str) -> Value:
    """Sum, product ... over no index at all."""
    if name == "sum":
        return Fraction(0)
    if name == "prod":
        return Fraction(1)
    raise EvaluationError(f"an empty {name}")


def join(name: str, before: Any, term: Value, place: int) -> Any:
    """The running value of a range with one more term."""
    match name:
        case "sum":
            return v.add(before, term)
        case "prod":
            return v.multiply(before, term)
        case "max" | "min":
            return extreme([before, term], largest=name == "max")
    better = v.compare(term, "<" if name == "argmin" else ">", before[1])
    if better is None:
        raise EvaluationError("tie: the smallest of several cannot be told")
    return (place, term) if better else before


def _whole(function: Callable[..., int]) -> Callable[..., Value]:
    def apply(*arguments: Value) -> Value:
        numbers = [v.integer(a, "an argument") for a in arguments]
        if any(number < 0 for number in numbers):
            raise EvaluationError("a factorial or binomial of a negative number")
        if any(number > 2000 for number in numbers):
            raise EvaluationError("budget: a factorial or binomial of a large number")
        return Fraction(function(*numbers))

    return apply


def extreme(values: Any, largest: bool) -> Any:
    return reduce(
        before.larger if largest else before.smaller,
        [x if isinstance(x, Fraction) else v.scalar_ball(x) for x in values],
    )


def _elementary(name: str) -> Any:
    apply = before.UNARY[name]
    return lambda value: apply(value if isinstance(value, Fraction) else v.scalar_ball(value))


FUNCTIONS = {
    **meanings.FUNCTIONS,
    "max": lambda *values: extreme(values, largest=True),
    "min": lambda *values: extreme(values, largest=False),
    "binomial": _whole(comb),
    "factorial": _whole(factorial),
    **{name: _elementary(name) for name in (*ELEMENTARY, "plus") if name != "sqrt"},
}


class Functions(Protocol):
    """What the problem offers: functions, derivatives, truth."""

    def call(self, name: str, arguments: list[Value]) -> tuple[Value, Certainty]:
        """Value of a function symbol, with its certainty; KeyError for an unknown one."""


class Sequences(Protocol):
    """What a run offers: recorded entries, and facts about the whole run."""

    def entry(self, name: str, epoch: int, k: int) -> Value:
        """``name[epoch, k]``; EvaluationError("not recorded") where there is none."""

    def fact(self, name: str, bound: Bound) -> Value:
        """``k_end``, ``ended_by_restart``, ``output``, ``iterations``, ...; KeyError for an unknown one."""

    def calls(self, kind: str) -> int:
        """Number of oracle calls of one kind."""


class Evaluator:
    """Evaluates trees. ``certainty`` is the weakest ingredient since :meth:`reset`.

    Parameters
    ----------
    letters : name -> (value, certainty).
    definitions : name -> tree, for letters that are formulas (they may mention bound names).
    functions, sequences : see the protocols; None where a claim may not mention any.
    """

    def __init__(
        self,
        letters: Mapping[str, tuple[Value, Certainty]],
        definitions: Mapping[str, tree.Node] | None = None,
        functions: Functions | None = None,
        sequences: Sequences | None = None,
    ) -> None:
        self.letters = dict(letters)
        self.definitions = dict(definitions or {})
        self.functions, self.sequences = functions, sequences
        self.certainty: Certainty = "proved"
        self._compiled: dict[int, tuple[tree.Node, Evaluate]] = {}
        self._depends: dict[int, frozenset[str]] = {}
        self._memory: dict[Any, Any] = {}
        self._open: list[str] = []

    # --- public -------------------------------------------------------------------------------------------------------

    def reset(self) -> None:
        """Forget the certainty of what was evaluated before."""
        self.certainty = "proved"

    def note(self, certainty: Certainty) -> None:
        """An ingredient of this certainty was used."""
        if RANK[certainty] > RANK[self.certainty]:
            self.certainty = certainty

    def value(self, node: tree.Node, bound: Bound | None = None) -> Value:
        """The value of a tree at a place."""
        result = self._compile(node)({} if bound is None else bound)
        if isinstance(result, arb) and not result.is_exact():
            self.note("certified")
        return result

    def scalar(self, node: tree.Node, bound: Bound | None = None) -> Scalar:
        """The value of a tree that must be a number."""
        result = self.value(node, bound)
        return result if isinstance(result, Fraction) else v.scalar_ball(result)

    def answer(self, node: tree.Node, bound: Bound | None = None) -> v.Answer:
        """The truth value of a condition: True, False, or None where the enclosures do not decide."""
        result = self.value(node, bound)
        if isinstance(result, bool) or result is None:
            return result
        raise EvaluationError("a condition was expected")

    def new_epoch(self) -> None:
        """Forget running sums; they are of no use in another epoch."""
        self._memory.clear()

    # --- compilation --------------------------------------------------------------------------------------------------

    def _compile(self, node: tree.Node) -> Evaluate:
        found = self._compiled.get(id(node))
        if found is None:
            method = getattr(self, f"_compile_{type(node).__name__.lower()}", None)
            if method is None:
                raise EvaluationError(f"{type(node).__name__} cannot be evaluated here")
            found = (node, method(node))
            self._compiled[id(node)] = found
        return found[1]

    def _compile_number(self, node: tree.Number) -> Evaluate:
        return lambda bound, number=node.value: number  # type: ignore[misc]

    def _compile_truth(self, node: tree.Truth) -> Evaluate:
        return lambda bound, answer=node.value: answer  # type: ignore[misc]

    def _compile_letter(self, node: tree.Letter) -> Evaluate:
        name = node.name
        if name in ("pi", "E", "oo") and name not in self.letters:
            number = {"pi": arb.pi, "E": arb.const_e, "oo": arb.pos_inf}[name]()
            return lambda bound: number

        def look_up(bound: Bound) -> Value:
            if name in bound:
                found: Value = bound[name]
                return Fraction(found) if type(found) is int else found
            return self._letter(name, bound)

        return look_up

    def _letter(self, name: str, bound: Bound) -> Value:
        known = self.letters.get(name)
        if known is not None:
            self.note(known[1])
            return known[0]
        if name in self.definitions:
            return self._defined(name, bound)
        if self.sequences is not None:
            try:
                return self.sequences.fact(name, bound)
            except KeyError:
                pass
        raise EvaluationError(f"the letter {name} has no value")

    def _defined(self, name: str, bound: Bound) -> Value:
        node = self.definitions[name]
        key = self._key(node, bound)
        if key is not None and key in self._memory:
            result, certainty = self._memory[key]
            self.note(certainty)
            return result
        if name in self._open:
            raise EvaluationError(f"{' -> '.join([*self._open, name])} is a circle")
        self._open.append(name)
        try:
            result, certainty = self._apart(lambda: self._compile(node)(bound))
        finally:
            self._open.pop()
        if key is not None:
            self._memory[key] = (result, certainty)
        return result

    def _apart(self, compute: Callable[[], Value]) -> tuple[Value, Certainty]:
        """A value with its own certainty (which is noted as well)."""
        before, self.certainty = self.certainty, "proved"
        try:
            result = compute()
            own = self.certainty
        finally:
            self.certainty = weakest(before, self.certainty)
        return result, own

    def _compile_index(self, node: tree.Index) -> Evaluate:
        indices = [self._compile(index) for index in node.indices]
        base = node.base
        if len(indices) > 2:
            raise EvaluationError(f"{base} has too many indices")

        def entry(bound: Bound) -> Value:
            if self.sequences is None:
                raise EvaluationError("not recorded")
            numbers = [v.integer(index(bound), f"an index of {base}") for index in indices]
            epoch = numbers[0] if len(numbers) == 2 else bound.get("t", 0)
            return self.sequences.entry(base, int(epoch), numbers[-1])

        return entry

    def _compile_add(self, node: tree.Add) -> Evaluate:
        signs = [isinstance(term, tree.Negate) for term in node.terms]
        parts = [self._compile(t.operand if isinstance(t, tree.Negate) else t) for t in node.terms]
        return lambda bound: signed_sum([part(bound) for part in parts], signs)

    def _compile_multiply(self, node: tree.Multiply) -> Evaluate:
        parts = [self._compile(factor) for factor in node.factors]
        return lambda bound: product([part(bound) for part in parts])

    def _compile_divide(self, node: tree.Divide) -> Evaluate:
        top, bottom = self._compile(node.numerator), self._compile(node.denominator)
        return lambda bound: v.divide(top(bound), bottom(bound))

    def _compile_power(self, node: tree.Power) -> Evaluate:
        exponent = self._compile(node.exponent)
        inner = square_of_norm(node)
        if inner is not None:
            vector = self._compile(inner)
            return lambda bound: linear.square_norm(vector(bound))
        base = self._compile(node.base)
        return lambda bound: v.power(base(bound), exponent(bound))

    def _compile_modulo(self, node: tree.Modulo) -> Evaluate:
        left, right = self._compile(node.left), self._compile(node.right)

        def modulo(bound: Bound) -> Value:
            a, b = left(bound), right(bound)
            whole = v.floor_of(v.divide(a, b))
            return v.add(a, v.negate(v.multiply(whole, b)))

        return modulo

    def _compile_matrixmultiply(self, node: tree.MatrixMultiply) -> Evaluate:
        left, right = self._compile(node.left), self._compile(node.right)
        return lambda bound: linear.matmul(left(bound), right(bound))

    def _compile_negate(self, node: tree.Negate) -> Evaluate:
        operand = self._compile(node.operand)
        return lambda bound: v.negate(operand(bound))

    def _compile_not(self, node: tree.Not) -> Evaluate:
        operand = self._compile(node.operand)

        def opposite(bound: Bound) -> Value:
            answer = operand(bound)
            return None if answer is None else not answer

        return opposite

    def _compile_logical(self, node: tree.Logical) -> Evaluate:
        parts = [self._compile(operand) for operand in node.operands]
        combine = v.conjunction if node.operator == "and" else v.disjunction
        return lambda bound: combine(part(bound) for part in parts)  # type: ignore[misc]

    def _compile_compare(self, node: tree.Compare) -> Evaluate:
        parts = [self._compile(operand) for operand in node.operands]

        def chain(bound: Bound) -> Value:
            numbers = [part(bound) for part in parts]
            links = zip(numbers, node.operators, numbers[1:])
            return v.conjunction([v.compare(a, operator, b) for a, operator, b in links])

        return chain

    def _compile_conditional(self, node: tree.Conditional) -> Evaluate:
        test, yes, no = (self._compile(part) for part in (node.test, node.yes, node.no))

        def choose(bound: Bound) -> Value:
            answer = test(bound)
            if answer is None:
                a, b = v.scalar_ball(yes(bound)), v.scalar_ball(no(bound))
                return a.union(b)
            return yes(bound) if answer else no(bound)

        return choose

    def _compile_call(self, node: tree.Call) -> Evaluate:
        name = node.function
        if name in RANGE_FUNCTIONS and len(node.arguments) >= 2 and isinstance(node.arguments[-1], tree.Tuple):
            return self._compile_range(node)
        if name == "calls":
            return self._compile_calls(node)
        if name in ("O", "softO", "Omega", "Theta"):
            raise EvaluationError("an order symbol has no value")
        arguments = [self._compile(argument) for argument in node.arguments]
        own = self._norm if name == "norm" else FUNCTIONS.get(name)
        if own is not None:
            return lambda bound: own(*[argument(bound) for argument in arguments])
        return self._compile_problem_function(name, arguments)

    def _norm(self, value: Value) -> Value:
        """Norms of equal exact vectors are one object, so that what is equal compares as equal."""
        if not isinstance(value, v.Vector) or len(value) == 1 or not all(a.is_exact() for a in value.entries):
            return FUNCTIONS["norm"](value)
        key = ("norm", *(part for a in value.entries for part in a.man_exp()))
        if key not in self._memory:
            self._memory[key] = linear.norm(value)
        return self._memory[key]

    def _compile_problem_function(self, name: str, arguments: list[Evaluate]) -> Evaluate:
        def call(bound: Bound) -> Value:
            if self.functions is None:
                raise EvaluationError(f"{name} has no value here")
            try:
                result, certainty = self.functions.call(name, [argument(bound) for argument in arguments])
            except KeyError:
                raise EvaluationError(f"the function {name} has no value here") from None
            self.note(certainty)
            return result

        return call

    def _compile_calls(self, node: tree.Call) -> Evaluate:
        kinds = [part.name for part in node.arguments if isinstance(part, tree.Letter)]

        def count(bound: Bound) -> Value:
            if self.sequences is None:
                raise EvaluationError("not recorded")
            return Fraction(sum(self.sequences.calls(kind) for kind in kinds))

        return count

    # --- index ranges -------------------------------------------------------------------------------------------------

    def _compile_range(self, node: tree.Call) -> Evaluate:
        body_node, index_range = node.arguments[0], node.arguments[-1]
        assert isinstance(index_range, tree.Tuple)
        if len(index_range.items) != 3 or not isinstance(index_range.items[0], tree.Letter):
            raise EvaluationError("an index range is written (i, lo, hi)")
        index = index_range.items[0].name
        low, high = self._compile(index_range.items[1]), self._compile(index_range.items[2])
        body, name = self._compile(body_node), node.function

        def run(bound: Bound) -> Value:
            first = v.integer(v.floor_of(low(bound), upwards=True), "a lower limit")
            last = v.integer(v.floor_of(high(bound)), "an upper limit")
            if last - first + 1 > RANGE_LIMIT:
                raise EvaluationError(f"budget: an index range of more than {RANGE_LIMIT} terms")
            return self._accumulate(name, body_node, body, (index, first, last), bound)

        return run

    def _accumulate(
        self, name: str, node: tree.Node, body: Evaluate, index_range: tuple[str, int, int], bound: Bound
    ) -> Value:
        """Fold a range, going on from where the last call with the same lower limit stopped."""
        index, first, last = index_range
        if last < first:
            return empty_range(name)
        inner = {name_: value for name_, value in bound.items() if name_ != index}
        own = self._key(node, inner)
        key = None if own is None else (name, index, first, own)
        partial: list[tuple[Value, Certainty]] = [] if key is None else self._memory.setdefault(key, [])
        while len(partial) < last - first + 1:
            inner[index] = first + len(partial)
            term, certainty = self._apart(lambda: body(inner))
            if partial:
                term = join(name, partial[-1][0], term, first + len(partial))
                certainty = weakest(certainty, partial[-1][1])
            elif name in ("argmin", "argmax"):
                term = (first, term)
            partial.append((term, certainty))
        result, certainty = partial[last - first]
        self.note(certainty)
        return Fraction(result[0]) if isinstance(result, tuple) else result

    def _key(self, node: tree.Node, bound: Bound) -> Any:
        """Memory key of a tree: itself and the bound names that it depends on (None if one is not an integer)."""
        parts = []
        for name in self._names(node):
            if name in bound:
                value = bound[name]
                if isinstance(value, int | Fraction):
                    parts.append((name, value))
                else:
                    return None
        return id(node), tuple(sorted(parts))

    def _names(self, node: tree.Node) -> frozenset[str]:
        """Names that the value of a tree may depend on, through definitions; ``t`` wherever the run is mentioned."""
        found = self._depends.get(id(node))
        if found is None:
            names: set[str] = {"t"}
            todo, seen = [node], set()
            while todo:
                for name in tree.letters(todo.pop()):
                    names.add(name)
                    if name in self.definitions and name not in self.letters and name not in seen:
                        seen.add(name)
                        todo.append(self.definitions[name])
            found = self._depends[id(node)] = frozenset(names)
            self._compile(node)  # keeps the node alive, so that its id stays its own
        return found


def square_of_norm(node: tree.Power) -> tree.Node | None:
    """``u`` of ``norm(u)**2``, which needs no root."""
    two = isinstance(node.exponent, tree.Number) and node.exponent.value == 2
    if two and isinstance(node.base, tree.Call) and node.base.function == "norm":
        return node.base.arguments[0]
    return None

"""Expression trees of claims: from a claim of a card to enclosures at one place.

Every name is looked up in four tables: bound names of a place (``k``, ``t``, quantified letters), letters, definitions,
functions.
Running sums are remembered, so that a claim at every ``k`` of an epoch costs one pass and not one for each ``k``.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import suppress
from fractions import Fraction
from typing import Any, Protocol

import flint
from flint import arb

from bilevel_verify.checks.claims import linear
from bilevel_verify.checks.claims import values as v
from bilevel_verify.checks.claims.meanings import FUNCTIONS, signed_sum
from bilevel_verify.checks.claims.values import VALUES, Answer, Bound, Evaluate, EvaluationError, Scalar, Value
from bilevel_verify.language import nearest_of, tree
from bilevel_verify.language.binding import RANGE_FUNCTIONS
from bilevel_verify.numbers import exact
from bilevel_verify.numbers.trees import TreeEvaluator
from bilevel_verify.truth.arithmetic.enclosure import RANK, Certainty, weakest

STILL = (tree.Number, tree.Letter, tree.Add, tree.Multiply, tree.Negate, tree.Divide, tree.Power, tree.Call)
"""What formulas of letters alone are made of."""
INDICES = (int, Fraction)
"""Types of what an index may be bound to."""


class Functions(Protocol):
    """What the problem offers: functions, derivatives, truth; ``names`` lists them for messages."""

    @property
    def names(self) -> Collection[str]: ...

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


class Evaluator(TreeEvaluator[Value, Answer]):
    """Values of trees. ``certainty`` is the weakest ingredient since :meth:`reset`.

    Parameters
    ----------
    letters : name -> (value, certainty).
    definitions : name -> tree, for letters that are formulas (they may mention bound names).
    functions, sequences : see the protocols; None where a claim may not mention any.
    """

    error = EvaluationError
    typed = False  # what a run records may be an answer, and vectors are told from numbers where they meet

    def __init__(
        self,
        letters: Mapping[str, tuple[Value, Certainty]],
        definitions: Mapping[str, tree.Node] | None = None,
        functions: Functions | None = None,
        sequences: Sequences | None = None,
    ) -> None:
        super().__init__(VALUES, FUNCTIONS | {"norm": self._norm})  # type: ignore[arg-type] # the rest is of scalars alone
        self._still: dict[tuple[int, int], tuple[Value, Certainty]] = {}
        self.letters = dict(letters)
        self.definitions = dict(definitions or {})
        self.functions, self.sequences = functions, sequences
        self.certainty: Certainty = "proved"
        self._depends: dict[int, tuple[tree.Node, tuple[str, ...]]] = {}
        self._memory: dict[Any, Any] = {}
        self._open: list[str] = []

    @property
    def letters(self) -> Mapping[str, tuple[Value, Certainty]]:
        """The letters of the place at hand; others may take their place, which forgets what was computed from them."""
        return self._letters

    @letters.setter
    def letters(self, letters: Mapping[str, tuple[Value, Certainty]]) -> None:
        self._letters = letters
        self._still.clear()

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
        result = self.compiled(node)({} if bound is None else bound)
        if isinstance(result, arb) and not result.is_exact():
            self.note("certified")
        return result

    def scalar(self, node: tree.Node, bound: Bound | None = None) -> Scalar:
        """The value of a tree that must be a number."""
        return v.as_scalar(self.value(node, bound))

    def answer(self, node: tree.Node, bound: Bound | None = None) -> v.Answer:
        """The truth value of a condition: True, False, or None where the enclosures do not decide."""
        result = self.value(node, bound)
        if isinstance(result, bool) or result is None:
            return result
        raise EvaluationError("a condition was expected")

    def new_epoch(self) -> None:
        """Forget running sums; they are of no use in another epoch."""
        self._memory.clear()

    def forget(self) -> None:
        """Forget what is compiled, with everything that is remembered by the ids of trees."""
        super().forget()
        self._depends.clear()
        self._memory.clear()

    # --- names --------------------------------------------------------------------------------------------------------

    def missing(self, name: str, bound: Bound) -> Value:
        """A letter, a definition, a number that everybody knows, or a fact of the run, in this order."""
        known = self.letters.get(name)
        if known is not None:
            self.note(known[1])
            return known[0]
        if name in self.definitions:
            return self._defined(name, bound)
        if name in ("pi", "E", "oo"):
            return self.arithmetic.named(name)
        if self.sequences is not None:
            with suppress(KeyError):
                return self.sequences.fact(name, bound)
        raise EvaluationError(f"the letter {name} has no value")

    def _defined(self, name: str, bound: Bound) -> Value:
        node = self.definitions[name]
        key = self._key(node, bound)
        if key is not None and key in self._memory:
            known: tuple[Value, Certainty] = self._memory[key]
            self.note(known[1])
            return known[0]
        if name in self._open:
            raise EvaluationError(f"{' -> '.join([*self._open, name])} is a circle")
        self._open.append(name)
        try:
            result, certainty = self._apart(lambda: self.compiled(node)(bound))
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

    # --- trees --------------------------------------------------------------------------------------------------------

    def compile(self, node: tree.Node) -> Evaluate:
        """The function of a tree, entries of sequences and products of matrices among it."""
        plain = self._compile(node)
        if isinstance(node, tree.Number | tree.Letter) or not self._is_still(node):
            return plain
        names = tree.letters(node)

        def once(bound: Bound) -> Value:
            if not names.isdisjoint(bound):
                return plain(bound)
            key = flint.ctx.prec, id(node)
            if key not in self._still:
                self._still[key] = self._apart(lambda: plain(bound))
            result, certainty = self._still[key]
            self.note(certainty)
            return result

        return once

    def _is_still(self, node: tree.Node) -> bool:
        """Whether a tree is worth the same at every place that binds none of its letters."""
        for part in node.walk():
            if isinstance(part, tree.Letter) and part.name not in self.letters:
                return False
            if isinstance(part, tree.Call) and part.function not in exact.FUNCTIONS:
                return False
            if not isinstance(part, STILL):
                return False
        return True

    def _compile(self, node: tree.Node) -> Evaluate:
        match node:
            case tree.Index(base=base, indices=indices):
                return self.entry(base, indices)
            case tree.MatrixMultiply(left=left, right=right):
                return self.binary(linear.matmul, left, right)
        return super().compile(node)

    def total(self, values: Sequence[Value], negative: Sequence[bool]) -> Value:
        """A signed sum in which one object cancels itself."""
        return signed_sum(values, negative)

    def entry(self, base: str, indices: Sequence[tree.Node]) -> Evaluate:
        """``base[k]`` of the epoch in force, ``base[t, k]``."""
        if len(indices) > 2:
            raise EvaluationError(f"{base} has too many indices")
        parts = [self._index(index, base) for index in indices]

        def recorded(bound: Bound) -> Value:
            if self.sequences is None:
                raise EvaluationError("not recorded")
            k = parts[-1](bound)
            epoch = parts[0](bound) if len(parts) == 2 else v.index_at(bound, "t", 0)
            return self.sequences.entry(base, epoch, k)

        return recorded

    def _index(self, node: tree.Node, base: str) -> Callable[[Bound], int]:
        part, what = self.compile(node), f"an index of {base}"
        return self.whole(node, lambda bound: v.integer(part(bound), what))

    def power(self, node: tree.Power) -> Evaluate:
        """``base ** exponent``; no root is taken of a squared norm."""
        inner = square_of_norm(node)
        if inner is None:
            return super().power(node)
        vector = self.compile(inner)
        return lambda bound: linear.square_norm(vector(bound))

    def call(self, node: tree.Call) -> Evaluate:
        """A function of the language, of the run, or of the problem."""
        name = node.function
        if name == "calls":
            return self._calls(node)
        if name in ("O", "softO", "Omega", "Theta"):
            raise EvaluationError("an order symbol has no value")
        if name in self.table or name in RANGE_FUNCTIONS:
            return super().call(node)
        return self._of_problem(name, [self.compile(argument) for argument in node.arguments])

    def _norm(self, value: Value) -> Value:
        """Norms of equal exact vectors are one object, so that what is equal compares as equal."""
        if (
            not isinstance(value, v.Vector)
            or len(value) == 1
            or not all(a.is_exact() and a.is_finite() for a in value.entries)
        ):
            return FUNCTIONS["norm"](value)
        key = ("norm", *(part for a in value.entries for part in a.man_exp()))
        if key not in self._memory:
            self._memory[key] = linear.norm(value)
        known: Value = self._memory[key]
        return known

    def _of_problem(self, name: str, arguments: list[Evaluate]) -> Evaluate:
        def call(bound: Bound) -> Value:
            if self.functions is None:
                raise EvaluationError(f"{name} has no value here")
            try:
                result, certainty = self.functions.call(name, [argument(bound) for argument in arguments])
            except KeyError:
                near = nearest_of(name, self.functions.names)
                raise EvaluationError(f"hypothesis: nothing gives {name} a value on this problem{near}") from None
            self.note(certainty)
            return result

        return call

    def _calls(self, node: tree.Call) -> Evaluate:
        kinds = [part.name for part in node.arguments if isinstance(part, tree.Letter)]

        def count(bound: Bound) -> Value:
            if self.sequences is None:
                raise EvaluationError("not recorded")
            return Fraction(sum(self.sequences.calls(kind) for kind in kinds))

        return count

    # --- index ranges -------------------------------------------------------------------------------------------------

    def accumulated(self, node: tree.Call, body: Evaluate, span: tuple[str, int, int], bound: Bound) -> Value:
        """Fold a range, going on from where the last call with the same lower limit stopped."""
        index, first, last = span
        if last < first:
            return self.empty(node.function)
        inner = {name: value for name, value in bound.items() if name != index}
        own = self._key(node.arguments[0], inner)
        key = None if own is None else (node.function, index, first, own)
        partial: list[tuple[Any, Certainty]] = [] if key is None else self._memory.setdefault(key, [])
        while len(partial) < last - first + 1:
            inner[index] = place = first + len(partial)
            term, certainty = self._apart(lambda: body(inner))
            before, earlier = partial[-1] if partial else (None, certainty)
            partial.append((self.joined(node.function, before, term, place), weakest(certainty, earlier)))
        result, certainty = partial[last - first]
        self.note(certainty)
        return self.found(result)

    def _key(self, node: tree.Node, bound: Bound) -> Any:
        """Memory key of a tree: itself and the bound names that it depends on (None if one is not an integer)."""
        parts = []
        for name in self._names(node):
            if name in bound:
                value = bound[name]
                if type(value) is not int and not isinstance(value, INDICES):
                    return None
                parts.append((name, value))
        return id(node), tuple(parts)

    def _names(self, node: tree.Node) -> tuple[str, ...]:
        """Sorted names that a tree may depend on, through definitions; ``t`` wherever the run is mentioned."""
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
            # the tree is kept, so that its id stays its own
            found = self._depends[id(node)] = (node, tuple(sorted(names)))
        return found[1]


def square_of_norm(node: tree.Power) -> tree.Node | None:
    """``u`` of ``norm(u)**2``, which needs no root."""
    two = isinstance(node.exponent, tree.Number) and node.exponent.value == 2
    if two and isinstance(node.base, tree.Call) and node.base.function == "norm":
        return node.base.arguments[0]
    return None

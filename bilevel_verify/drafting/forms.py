"""A printed relation as something an engine can judge: numbers, letters for what stands in place of numbers, vectors.

What is no number (a value of a function, a norm, an entry of a sequence) becomes a letter that may have any value a
number of its sort may have, and vectors become vectors that may be anything. What holds for all of them holds for what
the paper means; what fails for some of them says nothing about the paper, and is never a refutation.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from fractions import Fraction

from bilevel_verify.language import to_text, tree
from bilevel_verify.language.binding import binder
from bilevel_verify.latex import Notation
from bilevel_verify.latex.grammar.derivatives import split_name, value_kind
from bilevel_verify.latex.values import LINEAR, transposed
from bilevel_verify.theorems.card_parts import ORDER_SYMBOLS
from bilevel_verify.theorems.rewrite import free_letters, negated, rebuild
from bilevel_verify.theorems.vocabulary import NUMBERS, SCALAR_FUNCTIONS

NORMS = re.compile(r"(?:norm|frobenius|dual_norm)(?:_\w+)?\Z")
NUMBER_VALUED = frozenset("dot abs indicator component lambda_min lambda_max dim trace det".split()) | SCALAR_FUNCTIONS
MOST_ATOMS = 14


class Unjudged(Exception):
    """A relation that no engine takes; the argument says why, in words of :data:`WHY`."""


WHY = {
    "relation": "a relation that is not judged (membership, order of matrices, distribution, growth up to constants)",
    "kind": "sides that are neither numbers nor linear combinations of one kind (sets, mixed kinds)",
    "dots": "an omission (dots) in the formula",
    "order": "an order symbol inside a side",
    "large": "more than 14 different values of functions, norms or entries",
    "range": "a range of one letter, which is a hypothesis wherever it is used",
    "doubt": "an open question about what a letter is",
}
"""Every reason for which a relation that was read is not judged: the list is closed."""


@dataclass(frozen=True)
class Sorts:
    """What the names of a notation are. ``euclidean`` says that norms are those of inner products."""

    notation: Notation
    euclidean: bool = True
    entries: dict[str, tuple[str, str, frozenset[str]]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for entry in self.notation.entries:
            self.entries.setdefault(entry.name, (entry.role, entry.kind, entry.flags))

    def of(self, node: tree.Node) -> str:
        """The kind of a tree: scalar, vector, covector, matrix, tensor, set, function, unknown."""
        match node:
            case tree.Number():
                return "scalar"
            case tree.Letter(name=name):
                role, kind, _ = self.entries.get(name, ("letter", "scalar", frozenset()))
                return "unknown" if name == "dots" else "function" if role == "function" else kind
            case tree.Index(base=base, indices=indices):
                role, kind, flags = self.entries.get(base, ("sequence", "scalar", frozenset()))
                component = any(flag.endswith("-component") for flag in flags) and len(indices) == 2
                return "function" if role == "function" else "scalar" if component else kind
            case tree.Add(terms=terms):
                return next((k for t in terms if (k := self.of(t)) != "scalar"), "scalar")
            case tree.Negate(operand=inner):
                return self.of(inner)
            case tree.Divide(numerator=top, denominator=bottom):
                return self.of(top) if self.of(bottom) == "scalar" else "unknown"
            case tree.Power(base=base, exponent=exponent):
                return self.of(base) if self.of(exponent) == "scalar" else "unknown"
            case tree.Multiply(factors=factors):
                others = [k for f in factors if (k := self.of(f)) != "scalar"]
                return "scalar" if not others else others[0] if len(others) == 1 else "unknown"
            case tree.MatrixMultiply(left=left, right=right):
                return LINEAR.get((self.of(left), self.of(right)), "unknown")
            case tree.Call():
                return self._call(node)
        return "unknown"

    def _call(self, node: tree.Call) -> str:
        name = node.function
        if NORMS.match(name) or name in NUMBER_VALUED:
            return "scalar"
        if name in ("sum", "prod", "sup", "inf", "integral") and node.arguments:
            return self.of(node.arguments[0])
        if name == "T" and len(node.arguments) == 1:
            return transposed(self.of(node.arguments[0]))  # type: ignore[arg-type]
        if name == "inv":
            return "matrix"
        if name in self.entries:
            role, kind, _ = self.entries[name]
            return kind if role == "function" else "unknown"
        functions = [n for n, (role, _, _) in self.entries.items() if role == "function"]
        found = split_name(name, functions)
        if found is not None:
            entry = next(e for e in self.notation.entries if e.name == found[1] and e.role == "function")
            return value_kind(entry, found[0])
        return "unknown"


@dataclass
class Store:
    """Names for what is no letter, the same in the whole paper; ``taken`` are names that are gone."""

    taken: set[str]
    names: dict[str, str] = field(default_factory=dict)

    def name(self, key: str, text: str, sort: str) -> str:
        """The name of a value, a new one where it has none yet."""
        if key not in self.names:
            short = re.sub(r"[^A-Za-z0-9]+", "_", text.replace("-", "m").replace("+", "p")).strip("_")
            wanted = short if len(short) <= 14 and short[:1].isalpha() and "__" not in short else ""
            stem = {"number": "q", "size": "n", "vector": "v"}[sort]
            if not wanted or wanted in self.taken or not re.search(r"[a-z]_|[a-z]\d", wanted):
                wanted = next(n for i in range(1, 1_000_000) if (n := f"{stem}{i}") not in self.taken)
            self.taken.add(wanted)
            self.names[key] = wanted
        return self.names[key]


@dataclass
class Table:
    """The letters of one relation that stand for something, and what they stand for.

    ``space`` is the kind of what :meth:`combination` combines: vectors, or matrices, tensors, functions as elements of
    a linear space.
    """

    sorts: Sorts
    store: Store
    meant: dict[str, str] = field(default_factory=dict)
    sizes: set[str] = field(default_factory=set)
    vectors: set[str] = field(default_factory=set)
    letters: set[str] = field(default_factory=set)
    space: str = "vector"

    def atom(self, node: tree.Node, sort: str) -> tree.Letter:
        """The letter for a value; ``sort`` is number, size (not negative) or vector."""
        text = to_text(node)
        name = self.store.name(f"{sort}:{text}", text, sort)
        if name not in self.meant and len(self.meant) >= MOST_ATOMS:
            raise Unjudged("large")
        self.meant[name] = text
        if sort == "size":
            self.sizes.add(name)
        elif sort == "vector":
            self.vectors.add(name)
        return tree.Letter(name)

    def number(self, node: tree.Node) -> tree.Node:
        """A side that is a number, with letters for what is no letter.

        Raises
        ------
        Unjudged : it is no number.
        """
        if any(isinstance(p, tree.Letter) and p.name == "dots" for p in node.walk()):
            raise Unjudged("dots")
        return self._number(node)

    def _number(self, node: tree.Node) -> tree.Node:
        match node:
            case tree.Number():
                return node
            case tree.Letter(name=name):
                if name in NUMBERS:
                    return node
                if self.sorts.of(node) != "scalar":
                    raise Unjudged("kind")
                self.letters.add(name)
                return node
            case tree.Add() | tree.Divide() | tree.Negate():
                return rebuild(node, self._number)
            case tree.Power(base=base, exponent=exponent):
                return self._power(node, base, exponent)
            case tree.Multiply(factors=factors):
                if all(self.sorts.of(f) == "scalar" for f in factors):
                    return rebuild(node, self._number)
                raise Unjudged("kind")
            case tree.Call():
                return self._call(node)
        if self.sorts.of(node) == "scalar":
            return self.atom(node, "number")
        raise Unjudged("kind")

    def _power(self, node: tree.Power, base: tree.Node, exponent: tree.Node) -> tree.Node:
        if self.sorts.of(base) == "scalar" and self.sorts.of(exponent) == "scalar":
            return rebuild(node, self._number)
        raise Unjudged("kind")

    def _call(self, node: tree.Call) -> tree.Node:
        name, inner = node.function, node.arguments
        if name in ORDER_SYMBOLS:
            raise Unjudged("order")
        if NORMS.match(name):
            return self._size(node)
        if name in SCALAR_FUNCTIONS and not any(isinstance(a, tree.Tuple) for a in inner):
            if all(self.sorts.of(a) == "scalar" for a in inner):
                return rebuild(node, self._number)
            raise Unjudged("kind")
        if name in ("sum", "prod") and (span := binder(node)) is not None:
            plain = all(self._plain(part, span[0]) for part in (inner[0], span[1], span[2]))
            if plain:
                self.letters |= free_letters(node) - NUMBERS
                return node
            if name == "sum":
                return self._sum(node, inner[0], span)
        if self.sorts.of(node) != "scalar":
            raise Unjudged("kind")
        return self.atom(node, "number")

    def _plain(self, node: tree.Node, index: str) -> bool:
        """Whether a tree holds numbers and letters alone."""
        for part in node.walk():
            if isinstance(part, tree.Call) and (
                part.function not in SCALAR_FUNCTIONS or part.function in ("max", "min")
            ):
                return False
            if not isinstance(part, tree.Number | tree.Letter | tree.Add | tree.Multiply | tree.Divide | tree.Power
                              | tree.Negate | tree.Call):  # fmt: skip
                return False
            if isinstance(part, tree.Letter) and part.name != index and self.sorts.of(part) != "scalar":
                return False
        return True

    def _sum(self, node: tree.Call, body: tree.Node, span: tuple[str, tree.Node, tree.Node]) -> tree.Node:
        """A sum of values: linear in its terms, with factors that do not run taken out."""
        if isinstance(body, tree.Add):
            return tree.Add(tuple(self._sum(node, term, span) for term in body.terms))
        if isinstance(body, tree.Negate):
            return tree.Negate(self._sum(node, body.operand, span))
        if isinstance(body, tree.Divide) and not self._runs(body.denominator, span[0]):
            return tree.Divide(self._sum(node, body.numerator, span), self._number(body.denominator))
        if isinstance(body, tree.Multiply):
            still = [f for f in body.factors if not self._runs(f, span[0])]
            runs = [f for f in body.factors if self._runs(f, span[0])]
            if still and runs:
                rest = runs[0] if len(runs) == 1 else tree.Multiply(tuple(runs))
                return tree.Multiply((*(self._number(f) for f in still), self._sum(node, rest, span)))
        if self.sorts.of(body) != "scalar":
            raise Unjudged("kind")
        call = tree.Call("sum", (body, node.arguments[-1]))
        return self.atom(call, "size" if _not_negative(body) else "number")

    def _runs(self, node: tree.Node, index: str) -> bool:
        return index in free_letters(node)

    def _size(self, node: tree.Call) -> tree.Node:
        """A norm: the factor of a single vector comes out, and turning all signs changes nothing."""
        terms = self.linear(node.arguments[0]) if self.sorts.of(node.arguments[0]) == "vector" else None
        if not terms:
            return self.atom(node, "size")
        if len(terms) == 1:
            ((_, (factor, base)),) = terms.items()
            length = self.atom(tree.Call(node.function, (base,)), "size")
            if factor == tree.Number(Fraction(1)):
                return length
            if factor in (tree.Number(Fraction(-1)), tree.Negate(tree.Number(Fraction(1)))):
                return length
            return tree.Multiply((tree.Call("abs", (self._number(factor),)), length))
        return self.atom(tree.Call(node.function, (_signed(terms),)), "size")

    def linear(self, node: tree.Node) -> dict[str, tuple[tree.Node, tree.Node]] | None:
        """A vector as a linear combination: text of a vector -> (factor, vector); None if it is none."""
        match node:
            case tree.Add(terms=terms):
                found: dict[str, tuple[tree.Node, tree.Node]] = {}
                for term in terms:
                    part = self.linear(term)
                    if part is None:
                        return None
                    for key, (factor, base) in part.items():
                        before = found.get(key)
                        found[key] = (factor if before is None else _plus(before[0], factor), base)
                return found
            case tree.Negate(operand=inner):
                part = self.linear(inner)
                return None if part is None else {k: (negated(f), b) for k, (f, b) in part.items()}
            case tree.Divide(numerator=top, denominator=bottom) if self.sorts.of(bottom) == "scalar":
                part = self.linear(top)
                return None if part is None else {k: (tree.Divide(f, bottom), b) for k, (f, b) in part.items()}
            case tree.Multiply(factors=factors):
                others = [f for f in factors if self.sorts.of(f) != "scalar"]
                scalars = [f for f in factors if self.sorts.of(f) == "scalar"]
                part = self.linear(others[0]) if len(others) == 1 else None
                return None if part is None else {k: (_times(scalars, f), b) for k, (f, b) in part.items()}
            case tree.Number(value=value) if value == 0:
                return {}
        if self.sorts.of(node) != self.space:
            return None
        return {to_text(node): (tree.Number(Fraction(1)), node)}

    def combination(self, node: tree.Node) -> tree.Node:
        """A linear combination in the letters of vectors.

        Raises
        ------
        Unjudged : the vector is none.
        """
        terms = self.linear(node)
        if terms is None:
            raise Unjudged("kind")
        parts = [
            self.atom(base, "vector") if factor == tree.Number(Fraction(1))
            else tree.Multiply((self._number(factor), self.atom(base, "vector")))
            for factor, base in terms.values()
        ]  # fmt: skip
        if not parts:
            raise Unjudged("kind")
        return parts[0] if len(parts) == 1 else tree.Add(tuple(parts))


def _signed(terms: dict[str, tuple[tree.Node, tree.Node]]) -> tree.Node:
    """A linear combination in a fixed order, with the first sign positive."""
    ordered = sorted(terms.items())
    turn = isinstance(ordered[0][1][0], tree.Negate) or ordered[0][1][0] == tree.Number(Fraction(-1))
    parts = []
    for _, (factor, base) in ordered:
        factor = negated(factor) if turn else factor
        if factor == tree.Number(Fraction(1)):
            parts.append(base)
        elif isinstance(factor, tree.Negate):
            plain = factor.operand == tree.Number(Fraction(1))
            parts.append(tree.Negate(base if plain else tree.Multiply((factor.operand, base))))
        else:
            parts.append(tree.Multiply((factor, base)))
    return tree.Add(tuple(parts))


def _plus(one: tree.Node, other: tree.Node) -> tree.Node:
    return tree.Add((one, other))


def _times(scalars: list[tree.Node], factor: tree.Node) -> tree.Node:
    sign = isinstance(factor, tree.Negate)
    inner = factor.operand if isinstance(factor, tree.Negate) else factor
    factors = [*scalars, *([] if inner == tree.Number(Fraction(1)) else [inner])]
    whole: tree.Node = inner if not factors else factors[0] if len(factors) == 1 else tree.Multiply(tuple(factors))
    return tree.Negate(whole) if sign else whole


def _not_negative(node: tree.Node) -> bool:
    """Whether a term is plainly not negative: a norm, an absolute value, or an even power."""
    match node:
        case tree.Call(function=name):
            return bool(NORMS.match(name)) or name == "abs"
        case tree.Power(base=base, exponent=tree.Number(value=value)):
            return _not_negative(base) or (value.denominator == 1 and value.numerator % 2 == 0)
        case tree.Multiply(factors=factors):
            return all(_not_negative(f) for f in factors)
        case tree.Number(value=value):
            return value >= 0
    return False

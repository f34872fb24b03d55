"""Trees of statements as Coq terms, node by node: nothing is simplified, every bracket is written."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from fractions import Fraction
from typing import Any

from bilevel_check.terms import Tree, kind, split

TAKEN = set(
    "as at cofix else end exists fix for forall fun if IF in let match mod Prop return Set then Type using where with "
    "by lazymatch multimatch rpow whole floor ceil terms total exp ln sqrt dot norm vadd vmul PI Rmax Rmin Rabs sin cos "
    "sinh cosh tanh space vec left right".split()
)
"""Words of Coq and of the prelude: a letter of that name gets an underscore."""
UNARY = {"sqrt": "sqrt", "log": "ln", "exp": "exp", "abs": "Rabs", "floor": "floor", "ceil": "ceil", "sin": "sin"}
UNARY |= {"cos": "cos", "sinh": "sinh", "cosh": "cosh", "tanh": "tanh"}
OPERATORS = {"+": " + ", "*": " * ", "/": " / "}


def is_vector(node: Tree, sorts: Mapping[str, str]) -> bool:
    """Whether a tree stands for a vector."""
    return kind(node, sorts) == "vector"


def on_a_line(data: object) -> Any:
    """Data for vectors with one entry: a norm is an absolute value, an inner product a product."""
    if not isinstance(data, list):
        return data
    return [{"norm": "abs", "dot": "*"}.get(data[0], data[0]), *map(on_a_line, data[1:])]


class NotWritten(Exception):
    """A certificate that has no Coq file: a function or a rule without a word."""


class Words:
    """Coq terms of trees.

    Parameters
    ----------
    sorts : letter -> ``real``, ``integer`` or ``vector``.
    """

    def __init__(self, sorts: Mapping[str, str], other: Mapping[str, str] | None = None) -> None:
        self.sorts, self.other = sorts, dict(other or {})

    def alias(self, name: str) -> Words:
        """The same words with another name for a letter: the one of an induction step."""
        return Words(self.sorts, {**self.other, name: f"{self.letter(name)}i"})

    def letter(self, name: str) -> str:
        """The card's name, with an underscore where Coq has that word."""
        if name in self.other:
            return self.other[name]
        if name.endswith("#"):
            return f"i_{name[:-1]}"
        return f"{name}_" if name in TAKEN else name

    def scalar(self, node: Tree) -> str:
        """A number.

        Raises
        ------
        NotWritten : a function without a word.
        """
        if isinstance(node, int | Fraction):
            return number_text(Fraction(node))
        if isinstance(node, str):
            return {"pi": "PI", "E": "(exp 1)"}.get(node) or self.letter(node)
        head, parts = split(node)
        if head in ("dot", "norm"):
            return f"({head} {' '.join(self.vector(part) for part in parts)})"
        if head == "sum":
            body, index, low, high = parts[0], str(parts[1]), parts[2], parts[3]
            return f"(total (fun {self.letter(index)} => {self.scalar(body)}) {self.scalar(low)} {self.scalar(high)})"
        texts = [self.scalar(part) for part in (parts[:1] if head == "^" else parts)]
        if head == "^":
            return self._power(texts[0], parts[1])
        if head in OPERATORS:
            return f"({OPERATORS[head].join(texts)})"
        if head in UNARY:
            return f"({UNARY[head]} {texts[0]})"
        if head in ("max", "min", "plus"):
            return folded("Rmin" if head == "min" else "Rmax", [*texts, *(["0"] if head == "plus" else [])])
        if head == "neg":
            return f"(- {texts[0]})"
        raise NotWritten(head)

    def _power(self, base: str, exponent: Tree) -> str:
        if isinstance(exponent, int) and abs(exponent) <= 200:
            return f"({base} ^ {exponent})" if exponent >= 0 else f"(/ ({base} ^ {-exponent}))"
        return f"(rpow {base} {self.scalar(exponent)})"

    def vector(self, node: Tree) -> str:
        """A linear combination of vectors."""
        if isinstance(node, str):
            return self.letter(node)
        if not isinstance(node, tuple):
            raise NotWritten("the vector 0")
        head, parts = split(node)
        if head == "+":
            return folded("vadd", [self.vector(part) for part in parts])
        if head == "neg":
            return f"(vmul (- 1) {self.vector(parts[0])})"
        if head == "/":
            return f"(vmul (/ {self.scalar(parts[1])}) {self.vector(parts[0])})"
        carriers = [part for part in parts if is_vector(part, self.sorts)]
        factors = [self.scalar(part) for part in parts if not is_vector(part, self.sorts)]
        return f"(vmul ({' * '.join(factors)}) {self.vector(carriers[0])})"

    def relation(self, condition: Any, tree: Callable[[object], Tree]) -> str:
        """A relation, an alternative or a conjunction of JSON data."""
        head, *parts = condition
        if head in ("and", "or"):
            sign = r" /\ " if head == "and" else r" \/ "
            return f"({sign.join(self.relation(part, tree) for part in parts)})"
        left, right = (self.scalar(tree(part)) for part in parts)
        return f"{left} {'=' if head == '==' else head} {right}"


def folded(word: str, texts: list[str]) -> str:
    """``word a (word b c)``."""
    if len(texts) == 1 and word not in ("vadd",):
        raise NotWritten(f"{word} of one part")
    return texts[0] if len(texts) == 1 else f"({word} {texts[0]} {folded(word, texts[1:]) if texts[2:] else texts[1]})"


def number_text(value: Fraction) -> str:
    """A rational number."""
    if value.denominator == 1:
        return str(value.numerator) if value >= 0 else f"(- {-value.numerator})"
    return (
        f"({value.numerator} / {value.denominator})" if value >= 0 else f"(- {-value.numerator} / {value.denominator})"
    )

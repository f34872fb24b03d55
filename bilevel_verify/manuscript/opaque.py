"""Letters in the place of what is no formula of numbers: a norm, a value of a function, an entry of a sequence."""

from __future__ import annotations

from dataclasses import dataclass, field

from bilevel_verify.audit.entries.reading import REAL
from bilevel_verify.audit.scalar.claim import NONNEGATIVE
from bilevel_verify.language import to_text, tree
from bilevel_verify.language.binding import binder
from bilevel_verify.latex import Notation
from bilevel_verify.latex.grammar.names import EXPECTATION
from bilevel_verify.manuscript.fidelity import Paper
from bilevel_verify.manuscript.values import kind_of
from bilevel_verify.theorems.card_parts import Domain
from bilevel_verify.theorems.rewrite import rebuild
from bilevel_verify.theorems.vocabulary import SCALAR_FUNCTIONS

FOLDS = frozenset({"sum", "prod", "max", "min"})
BY_SIZE = frozenset({"norm", "frobenius", "dist", "dual_norm", "count", "norm_Q"})
"""Functions whose values are nonnegative."""


@dataclass
class Letters:
    """Letters in place of what the engines cannot see into, the same for the same expression."""

    paper: Paper
    made: dict[tree.Node, str] = field(default_factory=dict)
    domains: dict[str, Domain] = field(default_factory=dict)

    def for_(self, node: tree.Node, domain: Domain) -> tree.Node:
        """The letter of an expression."""
        if node not in self.made:
            name = f"value_{len(self.made) + 1}"
            self.made[node] = name
            self.domains[name] = domain
        return tree.Letter(self.made[node])

    def shown(self) -> str:
        """What the letters stand for."""
        return ", ".join(f"{name} for {to_text(node)}" for node, name in self.made.items())


def blind(node: tree.Node) -> bool:
    """Whether a condition mentions more than numbers."""
    known = SCALAR_FUNCTIONS | FOLDS
    return any(isinstance(p, tree.Index | tree.MatrixMultiply) or (isinstance(p, tree.Call) and p.function not in known)
               for p in node.walk())  # fmt: skip


def opaque(node: tree.Node, letters: Letters) -> tree.Node:
    """A formula of numbers with a letter for each part that is none.

    Raises
    ------
    ValueError : a part that is no number, or one that runs with an index that a sum binds.
    """
    if isinstance(node, tree.Letter):
        kind = letters.paper.prints_kind(node.name)
        if kind not in ("scalar", "unknown"):
            raise ValueError(f"{node.name} is a {kind}")
        return node
    if isinstance(node, tree.Call):
        span = binder(node)
        if node.function in FOLDS and span is not None and blind(node.arguments[0]):
            return letters.for_(node, NONNEGATIVE if _nonnegative(node.arguments[0]) else REAL)
        if node.function not in SCALAR_FUNCTIONS | FOLDS:
            if kind_of_call(letters.paper.notation, node) != "scalar":
                raise ValueError(f"{node.function} is no number")
            return letters.for_(node, NONNEGATIVE if node.function in BY_SIZE else REAL)
        if span is not None:
            return node
    if isinstance(node, tree.Index):
        if letters.paper.prints_kind(node.base) not in ("scalar", "unknown"):
            raise ValueError(f"{node.base} is no number")
        return letters.for_(node, REAL)
    if isinstance(node, tree.MatrixMultiply | tree.Tuple):
        raise ValueError("matrices")
    return rebuild(node, lambda part: opaque(part, letters))


def _nonnegative(node: tree.Node) -> bool:
    """Whether a term is plainly a size, or an even power or a product of sizes."""
    match node:
        case tree.Call(function=name):
            return name in BY_SIZE or name == "abs"
        case tree.Power(base=base, exponent=tree.Number(value=value)):
            return (value.denominator == 1 and value.numerator % 2 == 0) or _nonnegative(base)
        case tree.Multiply(factors=parts) | tree.Add(terms=parts):
            return all(_nonnegative(p) for p in parts)
        case tree.Number(value=value):
            return value >= 0
    return False


def kind_of_call(notation: Notation, node: tree.Call) -> str:
    """Kind of the value of a function."""
    known = {"norm": "scalar", "dot": "scalar", "frobenius": "scalar", "dist": "scalar", "dual_norm": "scalar",
             "lambda_min": "scalar", "lambda_max": "scalar", "count": "scalar", "T": "matrix", "inv": "matrix",
             "entry": "scalar", "mode": "tensor", "subdifferential": "set"}  # fmt: skip
    if node.function in known:
        return known[node.function]
    return kind_of(notation, node.function, "function")


def kind_of_node(paper: Paper, node: tree.Node) -> str:
    """Kind of the value of an expression: scalar, vector, matrix, tensor or set."""
    return kind_in(paper.notation, node)


def kind_in(notation: Notation, node: tree.Node) -> str:
    """Kind of the value of an expression in the names of a notation."""
    match node:
        case tree.Index(base=name, indices=indices) if len(indices) > 1 and _has_components(notation, name):
            return "scalar"
        case tree.Letter(name=name) | tree.Index(base=name):
            return kind_of(notation, name, "letter").replace("unknown", "scalar")
        case tree.Call(function="component"):
            return "scalar"
        case tree.Call(function=name, arguments=arguments) if _of_scalar(notation, name, arguments):
            return "scalar"
        case tree.Call(function="matrix", arguments=rows):
            columns = rows and all(isinstance(r, tree.Tuple) and len(r.items) == 1 for r in rows)
            held = [kind_in(notation, r.items[0]) for r in rows if isinstance(r, tree.Tuple) and r.items]
            return "vector" if columns and "vector" in held else "matrix"
        case tree.Call(function=name, arguments=(*_, inside)) if name == EXPECTATION:
            return kind_in(notation, inside)
        case tree.Call(function="T" | "inv" | "sum" | "integral" | "mode", arguments=(body, *_)):
            inner = kind_in(notation, body)
            return "covector" if node.function == "T" and inner == "vector" else inner
        case tree.Call(function=name) if name in SCALAR_FUNCTIONS | FOLDS:
            return "scalar"
        case tree.Call():
            return kind_of_call(notation, node)
        case tree.Add(terms=parts) | tree.Multiply(factors=parts):
            kinds = [kind_in(notation, part) for part in parts]
            arrays = [kind for kind in kinds if kind != "scalar"]
            if isinstance(node, tree.Multiply) and len(arrays) == 2 and sorted(arrays) == ["covector", "vector"]:
                return "scalar" if arrays[0] == "covector" else "matrix"
            return arrays[-1] if arrays else "scalar"
        case tree.Negate(operand=inner_) | tree.Divide(numerator=inner_) | tree.Power(base=inner_):
            return kind_in(notation, inner_)
        case tree.MatrixMultiply(left=left, right=right):
            return _product_kind(kind_in(notation, left), kind_in(notation, right))
    return "scalar"


def _has_components(notation: Notation, name: str) -> bool:
    """Whether the last index of a sequence of vectors picks a component."""
    entry = notation.by_name.get((name, "sequence"))
    return entry is not None and any(flag.endswith("-component") for flag in entry.flags)


def _of_scalar(notation: Notation, name: str, arguments: tuple[tree.Node, ...]) -> bool:
    """Whether it is a derivative of a function of one number."""
    if not name.startswith(("grad_", "hess_")) or len(arguments) != 2:
        return False
    entry = notation.by_name.get((name.partition("_")[2], "function"))
    return entry is not None and "of-scalar" in entry.flags


def _product_kind(left: str, right: str) -> str:
    """Kind of a matrix product of two kinds."""
    if left == "covector":
        return "scalar" if right == "vector" else "covector"
    if right == "covector":
        return "matrix"
    return right

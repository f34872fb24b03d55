"""What an operand is (a tree and its kind), and how neighbours multiply.

A product of scalars is ``*``; matrices and vectors keep their order and multiply with ``@``; scalars between them are
taken to the front, as the printed product means the same.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal

from bilevel_verify.language import tree

Kind = Literal["scalar", "vector", "covector", "matrix", "tensor", "set", "function", "tuple", "words", "unknown"]

LINEAR: dict[tuple[str, str], Kind] = {
    ("matrix", "matrix"): "matrix",
    ("matrix", "vector"): "vector",
    ("covector", "matrix"): "covector",
    ("covector", "vector"): "scalar",
    ("vector", "covector"): "matrix",
    ("vector", "matrix"): "covector",
}
"""Kind of a product of two neighbours; a single vector before a matrix is read as the row that the print means."""
LINES = frozenset({"vector", "covector", "matrix"})
PLAIN = frozenset({"scalar", "unknown"})


class ProductError(Exception):
    """Two neighbours that do not multiply."""


@dataclass(frozen=True, slots=True)
class Value:
    """A tree with its kind. ``bound`` are the indices of a big operator at its end; ``mixed`` is a sum of a number and
    a matrix or vector, which a declaration has not meant."""

    node: tree.Node
    kind: Kind
    bound: frozenset[str] = frozenset()
    operator: str = ""
    grouped: bool = False
    mixed: bool = False


def negate(value: Value) -> Value:
    """``-value``."""
    return replace(value, node=tree.Negate(value.node, column=value.node.column), grouped=False)


def transposed(kind: Kind) -> Kind:
    """Kind of a transpose."""
    return {"vector": "covector", "covector": "vector"}.get(kind, kind)  # type: ignore[return-value]


def product(factors: list[Value]) -> Value:
    """The product of neighbours.

    Raises
    ------
    ProductError : two vectors side by side, a set or a bare function as a factor.
    """
    if len(factors) == 1:
        return factors[0]
    column = factors[0].node.column
    parts: list[tree.Node] = []
    chain: list[Value] = []
    state: Kind = "scalar"
    kind: Kind = "scalar"
    if any(f.mixed for f in factors) and any(f.kind in LINES for f in factors):
        raise ProductError("a sum of a number and a matrix or vector beside another: their order would be lost")
    for factor in factors:
        if factor.kind in PLAIN:
            parts += factor.node.factors if isinstance(factor.node, tree.Multiply) else (factor.node,)
            kind = _combined(kind, factor.kind)
        elif factor.kind in LINES and kind != "tensor":
            loose, factor = _split(factor)
            parts += loose
            state, chain = _joined(state, chain, factor)
            if state == "scalar":
                parts.append(_matrix_product(chain))
                chain = []
        elif factor.kind == "tensor" and not chain and kind in ("scalar", "unknown"):
            kind, chain = "tensor", [factor]
        else:
            raise ProductError(f"a {factor.kind} is no factor of a product")
    if chain:
        kind = "tensor" if kind == "tensor" else state
        parts.append(_matrix_product(chain))
    last = factors[-1]
    node = parts[0] if len(parts) == 1 else tree.Multiply(tuple(parts), column=column)
    return Value(node, kind, last.bound, last.operator)


def _split(factor: Value) -> tuple[tuple[tree.Node, ...], Value]:
    """The scalars of ``2 A`` (the last factor of such a product is the matrix) apart from the matrix."""
    if isinstance(factor.node, tree.Multiply) and not isinstance(factor.node.factors[-1], tree.Multiply):
        *loose, matrix = factor.node.factors
        return tuple(loose), replace(factor, node=matrix)
    return (), factor


def _combined(kind: Kind, other: Kind) -> Kind:
    if kind == "tensor":
        return kind
    return "unknown" if "unknown" in (kind, other) else "scalar"


def _joined(state: Kind, chain: list[Value], factor: Value) -> tuple[Kind, list[Value]]:
    if not chain:
        return factor.kind, [factor]
    combined = LINEAR.get((state, factor.kind))
    row = (state, factor.kind) == ("vector", "matrix")
    if combined is None or (row and len(chain) > 1):
        raise ProductError(f"a {state} times a {factor.kind}")
    return combined, [*chain, factor]


def _matrix_product(chain: list[Value]) -> tree.Node:
    """``A @ B @ C``, bound to the left."""
    parts: list[tree.Node] = []
    for value in chain:
        node = value.node
        parts += _left_chain(node) if isinstance(node, tree.MatrixMultiply) else [node]
    result = parts[0]
    for part in parts[1:]:
        result = tree.MatrixMultiply(result, part, column=result.column)
    return result


def _left_chain(node: tree.Node) -> list[tree.Node]:
    parts: list[tree.Node] = []
    while isinstance(node, tree.MatrixMultiply):
        parts.append(node.right)
        node = node.left
    return [node, *reversed(parts)]


def added(terms: list[Value]) -> Value:
    """The sum of terms; terms of unlike kinds leave the kind open."""
    if len(terms) == 1:
        return terms[0]
    nodes: list[tree.Node] = []
    for term in terms:
        nodes += term.node.terms if isinstance(term.node, tree.Add) else (term.node,)
    kinds = {term.kind for term in terms if not tree.is_zero(term.node)} or {"scalar"}
    if kinds & {"function", "set"} and len(kinds) > 1:
        kind: Kind = "unknown"
    else:
        kind = next(iter(kinds)) if len(kinds) == 1 else "unknown"
    mixed = "scalar" in kinds and bool(kinds & LINES)
    return Value(tree.Add(tuple(nodes), column=nodes[0].column), kind, mixed=mixed)

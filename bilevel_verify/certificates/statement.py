"""The statement of a certificate: a scalar claim as data, word for word, and back.

Nothing is simplified on the way: the letters with their kinds, the hypotheses and the ends of the ranges one by one,
both sides as trees. What :func:`claim_of` reads back is what the certificate is about.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from bilevel_verify.audit.scalar.claim import ScalarClaim
from bilevel_verify.language import tree
from bilevel_verify.language.binding import binder


class NotStated(Exception):
    """A part of a claim that certificates have no word for."""


@dataclass(frozen=True, slots=True)
class Read:
    """A statement read back: sorts of the letters, conditions and the relation as trees."""

    letters: dict[str, str]
    conditions: tuple[tree.Node, ...]
    left: tree.Node
    op: str
    right: tree.Node


def statement_of(claim: ScalarClaim, vectors: tuple[str, ...] = ()) -> dict[str, object]:
    """The claim as data of a certificate.

    Raises
    ------
    NotStated : a condition or function without a word; names it.
    """
    sorts = {name: "integer" if claim.domains[name].kind == "integers" else "real" for name in claim.letters}
    hypotheses = [part for condition in claim.conditions() for part in _conditions(condition)]
    sorts |= dict.fromkeys(vectors, "vector")
    return {
        "letters": sorts,
        "hypotheses": hypotheses,
        "claim": [claim.op, data_of(claim.left), data_of(claim.right)],
    }


def _conditions(node: tree.Node) -> Iterator[object]:
    """A condition as relations and alternatives; a chain and a conjunction are their parts."""
    match node:
        case tree.Compare(operands=operands, operators=operators):
            for op, left, right in zip(operators, operands, operands[1:]):
                yield [op, data_of(left), data_of(right)]
        case tree.Logical(operator="and", operands=operands):
            for part in operands:
                yield from _conditions(part)
        case tree.Logical(operator="or", operands=operands):
            yield ["or", *(_one(list(_conditions(part))) for part in operands)]
        case tree.Not(operand=tree.Compare(operands=(left, right), operators=(op,))) if op in tree.NEGATED:
            yield [tree.NEGATED[op], data_of(left), data_of(right)]
        case tree.Truth(value=True):
            return
        case _:
            raise NotStated(f"the condition {type(node).__name__}")


def _one(parts: list[object]) -> object:
    return parts[0] if len(parts) == 1 else ["and", *parts]


def data_of(node: tree.Node) -> object:
    """A scalar expression as data.

    Raises
    ------
    NotStated : no word for it.
    """
    match node:
        case tree.Number(value=value):
            return int(value) if value.denominator == 1 else str(value)
        case tree.Letter(name=name):
            return name
        case tree.Add(terms=parts):
            return ["+", *map(data_of, parts)]
        case tree.Multiply(factors=parts):
            return ["*", *map(data_of, parts)]
        case tree.Divide(numerator=a, denominator=b):
            return ["/", data_of(a), data_of(b)]
        case tree.Power(base=a, exponent=b):
            return ["^", data_of(a), data_of(b)]
        case tree.Negate(operand=a):
            return ["neg", data_of(a)]
        case tree.Modulo(left=a, right=b):
            return ["mod", data_of(a), data_of(b)]
        case tree.Conditional(test=test, yes=yes, no=no):
            return ["if", _one(list(_conditions(test))), data_of(yes), data_of(no)]
        case tree.Call(function=name, arguments=arguments):
            span = binder(node)
            if span is None:
                return [name, *map(data_of, arguments)]
            if name in ("sum", "prod"):
                return [name, data_of(arguments[0]), span[0], data_of(span[1]), data_of(span[2])]
    raise NotStated(type(node).__name__)


def read_back(statement: dict[str, Any]) -> Read:
    """The trees of a statement, for comparison with those of a card."""
    op, left, right = statement["claim"]
    conditions = tuple(node_of(condition) for condition in statement["hypotheses"])
    return Read(dict(statement["letters"]), conditions, node_of(left), op, node_of(right))


def node_of(data: Any) -> tree.Node:
    """Data of an expression or a condition as a tree."""
    if isinstance(data, int):
        return tree.Number(Fraction(data))
    if isinstance(data, str):
        return tree.Letter(data) if data[0].isalpha() else tree.Number(Fraction(data))
    head, *rest = data
    if head in ("sum", "prod"):
        body, low, high = node_of(rest[0]), node_of(rest[2]), node_of(rest[3])
        return tree.Call(head, (body, tree.Tuple((tree.Letter(rest[1]), low, high))))
    parts = tuple(node_of(part) for part in rest)
    if head in ("<=", "<", ">=", ">", "=="):
        return tree.Compare(parts, (head,))
    build = {"+": tree.Add, "*": tree.Multiply}
    if head in build:
        return build[head](parts)
    two = {"/": tree.Divide, "^": tree.Power, "mod": tree.Modulo}
    if head in two:
        return two[head](*parts)
    if head in ("and", "or"):
        return tree.Logical(head, parts)
    if head == "if":
        return tree.Conditional(*parts)
    return tree.Negate(parts[0]) if head == "neg" else tree.Call(head, parts)

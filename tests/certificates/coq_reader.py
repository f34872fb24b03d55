"""A reader of the statements of Coq files that shares nothing with their writer: text back into trees."""

from __future__ import annotations

import re
from fractions import Fraction
from typing import Any

NAMES = {"ln": "log", "sqrt": "sqrt", "exp": "exp", "Rabs": "abs", "Rmax": "max", "Rmin": "min", "rpow": "^"}
NAMES |= {"floor": "floor", "ceil": "ceil", "dot": "dot", "norm": "norm", "vadd": "+", "vmul": "*"}
RELATIONS = ("<=", "<", ">=", ">", "=")


def parsed(text: str) -> Any:
    """A term or a relation as nested lists."""
    tokens = re.findall(r"<=|>=|=>|/\\|\\/|[-+*/^()<>=]|[A-Za-z_0-9']+", text)
    tree, rest = _inside(tokens)
    assert not rest, rest
    return tree


def _inside(tokens: list[str]) -> tuple[Any, list[str]]:
    """Up to the closing bracket or the end."""
    if tokens[0] == "fun":
        body, rest = _inside(tokens[3:])
        return ["fun", tokens[1], body], rest
    parts: list[Any] = []
    while tokens and tokens[0] != ")":
        if tokens[0] == "(":
            part, tokens = _inside(tokens[1:])
            tokens = tokens[1:]
        else:
            part, tokens = tokens[0], tokens[1:]
        parts.append(int(part) if isinstance(part, str) and part.isdigit() else "pi" if part == "PI" else part)
    for op in RELATIONS:
        if op in parts:
            place = parts.index(op)
            return ["==" if op == "=" else op, _term(parts[:place]), _term(parts[place + 1 :])], tokens
    return _term(parts), tokens


def _term(parts: list[Any]) -> Any:
    if len(parts) == 1:
        return parts[0]
    for op in (r"\/", r"/\ ".strip(), "+"):
        if op in parts[1:]:
            word = {r"\/": "or", "/\\": "and"}.get(op, op)
            return [word, *(p for p in parts if p != op)]
    if parts[0] == "-":
        return ["neg", _term(parts[1:])]
    if parts[0] == "/":
        inner = parts[1]
        return ["^", inner[1], ["neg", inner[2]]] if isinstance(inner, list) and inner[0] == "^" else ["/", 1, inner]
    if parts[0] == "total":
        return ["sum", parts[1][2], parts[1][1], *parts[2:]]
    if isinstance(parts[0], str) and parts[0] in NAMES and "^" not in parts:
        head = NAMES[parts[0]]
        rest = [one for part in parts[1:] for one in (part[1:] if isinstance(part, list) and part[0] == head else [part])] if head in ("max", "min") else parts[1:]  # fmt: skip
        return [head, *rest]
    op = parts[1]
    return [op, *parts[::2]]


def plain(node: Any) -> Any:
    """A tree of a certificate with one way to write a number, a relation, a positive part and nested maxima."""
    if isinstance(node, int) and node < 0:
        return ["neg", -node]
    if isinstance(node, str) and re.match(r"-?[0-9]", node):
        value = Fraction(node)
        found = value.numerator if value.denominator == 1 else ["/", abs(value.numerator), value.denominator]
        return ["neg", found] if value < 0 and value.denominator > 1 else plain(found) if value < 0 else found
    if not isinstance(node, list):
        return node
    if node[0] == "plus":
        return ["max", plain(node[1]), 0]
    parts = [plain(part) for part in node[1:]]
    if node[0] in ("max", "min"):
        last = parts[-1]
        return [node[0], *parts[:-1], *(last[1:] if isinstance(last, list) and last[0] == node[0] else [last])]
    return [node[0], *parts]


def statement(text: str) -> tuple[dict[str, str], list[Any], Any]:
    """Letters with sorts, hypotheses and claim of a lemma."""
    head = text[text.index("Lemma ") : text.index("\nProof.")]
    head = re.sub(r"\s+", " ", head)
    sorts = dict.fromkeys(re.findall(r"\((\w+) : Rdefinitions\.R\)", head), "real")
    sorts |= dict.fromkeys(re.findall(r"\(\w+' : whole (\w+)\)", head), "integer")
    sorts |= dict.fromkeys(re.findall(r"\((\w+) : V'\)", head), "vector")
    stated, claim = head.rsplit(" : ", 1)
    hypotheses = re.split(r" \(h\d+' : ", stated)[1:]
    return sorts, [parsed(one[:-1]) for one in hypotheses], parsed(claim.rstrip("."))

"""Numbers that a sentence says in words or formulas: ``two``, ``once``, ``2m``, the length of ``x_0, ..., x_k``."""

from __future__ import annotations

import re
from fractions import Fraction

from bilevel_verify.language import tree
from bilevel_verify.proofreading.algorithms.polynomials import NoCount, Polynomial, plus, polynomial
from bilevel_verify.proofreading.source import Paper, Sentence

CARDINALS = ("no", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve")
TIMES = {"once": 1, "twice": 2, "thrice": 3, "a single": 1}
WORDS = {**{word: number for number, word in enumerate(CARDINALS)}, **TIMES}
NUMERAL = "|".join(sorted(WORDS, key=len, reverse=True))
"""For regular expressions: a number in words."""
OTHER_LOOP = re.compile(r"\b(?:while|repeat|until|loop|epochs?|stages?)\b", re.I)
DOTS = tree.Letter("dots")


def count_in(sentence: Sentence) -> Polynomial | None:
    """The number that an inline formula is: a sum of products of letters, the first member where it is an equation."""
    chains = list(sentence.chains())
    if sentence.read.formula.kind != "inline" or len(chains) != 1 or any(r.word != "==" for r in chains[0].relations):
        return None
    try:
        return polynomial(chains[0].members[0])
    except NoCount:
        return None


def span_of(sentence: Sentence) -> tuple[str, tree.Node, tree.Node] | None:
    """``x_0, ..., x_k``, ``{x_0, ..., x_k}``, ``k = 0, ..., K-1``: the name, the first and the last number."""
    nodes = [m for c in sentence.chains() for m in c.members]
    head = nodes[0] if len(nodes) == 2 and isinstance(nodes[0], tree.Letter) else None
    if nodes and isinstance(nodes[-1], tree.Call) and nodes[-1].function in ("set", "list"):
        nodes = [*nodes[-1].arguments] if len(nodes) == 1 or head is not None else []
    if nodes.count(DOTS) != 1 or len(nodes) < 3 or nodes[-1] == DOTS:
        return None
    first, last = nodes[0], nodes[-1]
    match first, last:
        case tree.Index(base=name, indices=(low,)), tree.Index(base=other, indices=(high,)):
            return (name, low, high) if name == other and head is None else None
    if isinstance(first, tree.Index) or isinstance(last, tree.Index):
        return None
    return head.name if isinstance(head, tree.Letter) else "", first, last


def length_of(sentence: Sentence) -> Polynomial | None:
    """How many items a list has whose ends are printed."""
    span = span_of(sentence)
    try:
        return None if span is None else plus(plus(polynomial(span[2]), polynomial(span[1]), -1), {(): Fraction(1)})
    except NoCount:
        return None


def passes_of(paper: Paper, words: str) -> Polynomial | None:
    """How many passes the only counted loop of the algorithm makes that words name, or of the only one of the paper."""
    listed = [p for p in paper.passages if p.kind == "algorithm"]
    named = [p for p in listed if p.name and p.name in words]
    mine = named or listed
    loops = [s for p in mine for s in p.formulas if _is_loop(s)]
    other = any(OTHER_LOOP.search(p.words) for p in mine)
    return length_of(loops[0]) if len(mine) == len(loops) == 1 and not other else None


def _is_loop(sentence: Sentence) -> bool:
    """Whether a formula of an algorithm is the range of a loop, ``k = 0, ..., K-1`` or ``k = 0, 1, ...``."""
    ends = [e[1] for c in sentence.chains() if (e := c.equation) is not None]
    return any(isinstance(end, tree.Call) and end.function == "list" and DOTS in end.arguments for end in ends)

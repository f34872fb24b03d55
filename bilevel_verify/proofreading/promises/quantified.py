"""``For any k >= 0 we have ...``: displays of a statement at the least value that its words give to a letter.

There a denominator, the argument of a logarithm or the range of a minimum may have no value.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from fractions import Fraction

from bilevel_verify.language import to_text, tree
from bilevel_verify.language.binding import binder
from bilevel_verify.proofreading.defect import Defect
from bilevel_verify.proofreading.joints.clauses import clauses
from bilevel_verify.proofreading.names.ends import divisors, linear_form
from bilevel_verify.proofreading.names.occurrences import whole
from bilevel_verify.proofreading.source import PROMISES, Paper, Passage, Sentence
from bilevel_verify.theorems.rewrite import substitute

FOR_ALL = re.compile(
    r"\b(?:for (?:all|any|every|each)|when(?:ever)?|true (?:for|when)|holds (?:for|when))\s*(?:\x01\s*(?:,|and)\s*)?\Z",
    re.I,
)
LEAST = ("min", "max", "argmin", "argmax")


def quantified_defects(paper: Paper) -> Iterator[Defect]:
    """Displays of statements that the words of the statement use where they have no value."""
    least: dict[int, dict[str, tuple[int, Sentence]]] = {}
    for clause in clauses(paper):
        if clause.passage.kind in PROMISES:
            for place, sentence in enumerate(clause.formulas):
                if sentence.read.formula.kind != "display" and FOR_ALL.search(clause.before(place)):
                    least.setdefault(id(clause.passage), {}).update(_least(sentence))
    for passage in paper.passages:
        for name, (low, said) in least.get(id(passage), {}).items():
            yield from _at(passage, name, low, said)


def _least(sentence: Sentence) -> Iterator[tuple[str, tuple[int, Sentence]]]:
    for chain in sentence.chains():
        match chain.tree:
            case tree.Compare(operands=(tree.Letter(name=name), low), operators=(">=" | ">" as op,)):
                number = whole(low)
                if number is not None:
                    yield name, (number + (op == ">"), sentence)


def _at(passage: Passage, name: str, low: int, said: Sentence) -> Iterator[Defect]:
    """What has no value at the least one, in the displays behind the words."""
    n = said.read.formula.n
    for sentence in passage.formulas:
        if sentence.read.formula.n < n - 1:
            continue
        if sentence.read.formula.kind != "display" or any(c.conditions for c in sentence.chains()):
            continue
        for what in dict.fromkeys(w for node in sentence.nodes() for w in _undefined(node, name, low)):
            title = f"{passage.name} is said for {name} >= {low}, and where {name} = {low} {what}"
            yield Defect("outside", sentence.place, title, "wording", sentence.latex, unit=sentence.unit,
                         cause=f"least {name} {low} {passage.id}")  # fmt: skip


def _undefined(node: tree.Node, name: str, low: int) -> Iterator[str]:
    value = tree.signed(low)
    for part, what in divisors(node):
        if linear_form(part) and linear_form(substitute(part, {name: value})) == {}:
            yield f"the {what} {to_text(part)} is 0"
    for part in node.walk():
        if isinstance(part, tree.Call) and part.function in LEAST and (span := binder(part)) is not None:
            ends = [linear_form(substitute(end, {name: value})) for end in span[1:]]
            numbers = [e.get("", Fraction(0)) for e in ends if e is not None and set(e) <= {""}]
            if len(numbers) == 2 and numbers[1] < numbers[0]:
                yield f"the {part.function} over {span[0]} is over nothing"

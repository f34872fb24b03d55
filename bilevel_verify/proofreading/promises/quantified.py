"""``For any k >= 0 we have ...``: displays of a statement at the least value that its words give to a letter.

There a denominator, the argument of a logarithm or the range of a minimum may have no value.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from fractions import Fraction
from itertools import islice

from bilevel_verify.language import to_text, tree
from bilevel_verify.language.binding import binder
from bilevel_verify.proofreading.defect import Defect
from bilevel_verify.proofreading.joints.carrying import to_text_of
from bilevel_verify.proofreading.joints.clauses import clauses
from bilevel_verify.proofreading.joints.forms import Formless, form_of
from bilevel_verify.proofreading.names.ends import divisors, linear_form
from bilevel_verify.proofreading.names.occurrences import uses, whole
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
    yield from _declared(paper)
    yield from _standing(paper)


def _standing(paper: Paper) -> Iterator[Defect]:
    """``Let mu >= 0`` in the text, and a later display divides by mu, of which nothing says that it is not 0."""
    every = [(s, c) for s in paper.sentences for c in s.chains()]
    sided = {name for _, c in every for name in _positive(c.tree)}
    running = {u.name for s in paper.sentences for n in s.nodes() for u in uses(n) if u.base or u.binder is not None}
    for clause in clauses(paper):
        if clause.passage.kind not in ("text", "assumption"):
            continue
        for place, sentence in enumerate(clause.formulas):
            ends = () if FOR_ALL.search(clause.before(place)) else _ends(sentence)
            for name, end in ends if sentence.read.formula.kind != "display" else ():
                if end or name in sided | running:
                    continue
                later = (s for s in paper.sentences if s.read.formula.n > sentence.read.formula.n)
                shown = ((s, w) for s in later for node in s.nodes() for w in _without_value(node, name, end))
                for other, what in islice(shown, 1):
                    title = f"{to_text_of(sentence)} takes in {name} = 0, and there {what}"
                    yield Defect("outside", other.place, title, "wording", other.latex, unit=other.unit,
                                 cause=f"standing {name}")  # fmt: skip


def _positive(node: tree.Node | None) -> Iterator[str]:
    """Letters that a relation says to be more, or less, than a number."""
    match node:
        case tree.Compare() as chain:
            for left, op, right in chain.links():
                for one, other in ((left, right), (right, left)):
                    if (op in ("<", ">") and isinstance(one, tree.Letter) and isinstance(other, tree.Number)) or (
                        op == "!=" and isinstance(one, tree.Letter)
                    ):
                        yield one.name


def _declared(paper: Paper) -> Iterator[Defect]:
    """``0 <= mu <= L``, ``r >= 1``: what a sentence or statement prints has no value at the end that it takes in."""
    every = (use for s in paper.sentences for node in s.nodes() for use in uses(node))
    running = {use.name for use in every if use.base or use.binder is not None}
    for clause in clauses(paper):
        stated = clause.passage.kind in PROMISES
        for sentence in clause.formulas:
            scope = clause.passage.formulas if stated else clause.formulas
            later = {n for s in scope if s is not sentence for c in s.chains() for n in _positive(c.tree)}
            for name, end in _ends(sentence) if sentence.read.formula.kind != "display" else ():
                for other in scope if name not in running | later else ():
                    for what in dict.fromkeys(w for node in other.nodes() for w in _without_value(node, name, end)):
                        title = f"{to_text_of(sentence)} takes in {name} = {end}, and there {what}"
                        yield Defect("outside", other.place, title, "wording", other.latex, unit=other.unit,
                                     cause=f"declared {name} {end} {clause.passage.id}")  # fmt: skip


def _ends(sentence: Sentence) -> Iterator[tuple[str, Fraction]]:
    """Letters with the numbers that close their range."""
    for chain in sentence.chains():
        match chain.tree:
            case tree.Compare(operands=operands, operators=operators):
                for place, (left, op, right) in enumerate(zip(operands, operators, operands[1:], strict=False)):
                    same = operands[0] if set(operators[:place]) == {"=="} else left  # chi = O(log(1/eps)) >= 0
                    for one, other in ((same, right), (right, left)):
                        if isinstance(one, tree.Letter) and isinstance(other, tree.Number) and op in ("<=", ">="):
                            yield one.name, other.value


def _without_value(node: tree.Node, name: str, end: Fraction) -> Iterator[str]:
    for part, what in divisors(node):
        if name in tree.letters(part):
            try:
                if not form_of(substitute(part, {name: tree.signed(end)})).terms:
                    yield f"the {what} {to_text(part)} is 0"
            except (Formless, ZeroDivisionError):
                continue


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
    if name in {m for s in passage.formulas if s is not said for c in s.chains() for m in _positive(c.tree)}:
        return  # ``If alpha > 3, then also``
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

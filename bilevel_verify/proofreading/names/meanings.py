"""One symbol, two meanings: a parameter that is a running index too, a name that is defined in two ways."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator

from bilevel_verify.language import to_text, tree
from bilevel_verify.latex.grammar.binding import bound_by
from bilevel_verify.latex.statements import EQUATES
from bilevel_verify.proofreading.defect import Defect
from bilevel_verify.proofreading.names.occurrences import uses
from bilevel_verify.proofreading.source import Paper, Sentence
from bilevel_verify.theorems.vocabulary import NUMBERS

LEAST = 2
"""Formulas in which a letter stands as a quantity before it counts as a parameter."""

FOR_ALL = re.compile(r"\b[Ff]or(?: all| any| every| each)?\s*\Z")
"""A letter that runs here, too: ``for k >= 1``."""


def meaning_defects(paper: Paper) -> Iterator[Defect]:
    """Symbols with two meanings, over a whole paper."""
    yield from _index_and_parameter(paper)
    yield from _defined_twice(paper)
    for sentence in paper.sentences:
        yield from _named_after(sentence)


def _index_and_parameter(paper: Paper) -> Iterator[Defect]:
    """A letter that sums run over and that is a quantity elsewhere, never a running index by itself."""
    as_value: dict[str, list[Sentence]] = defaultdict(list)
    as_index: set[str] = set()
    bound: dict[str, list[Sentence]] = defaultdict(list)
    for sentence in paper.sentences:
        for node in sentence.nodes():
            for use in uses(node):
                if use.binder is None and use.base:
                    as_index.add(use.name)
                elif use.binder is None and (not as_value[use.name] or as_value[use.name][-1] is not sentence):
                    as_value[use.name].append(sentence)
            for part in node.walk():
                if isinstance(part, tree.Call) and part.function in ("sum", "prod"):
                    for name in bound_by(part):
                        if not bound[name] or bound[name][-1] is not sentence:
                            bound[name].append(sentence)
    ranging = {
        chain.members[0].name
        for s in paper.sentences if FOR_ALL.search(s.before)
        for chain in s.chains() if isinstance(chain.members[0], tree.Letter)
    }  # fmt: skip
    for name, places in bound.items():
        values = as_value.get(name, [])
        if name in as_index or name in ranging or len(values) < LEAST or name in NUMBERS or not _quantity(name, values):
            continue
        title = f"{name} is a quantity of the paper and the running index of a sum here"
        for sentence in places:
            evidence = (f"as a quantity: {values[0].place}: {values[0].latex}",)
            yield Defect("meaning", sentence.place, title, "wording", sentence.latex, evidence, f"index {name}",
                         sentence.unit)  # fmt: skip


def _quantity(name: str, values: list[Sentence]) -> bool:
    """Whether it is a factor or divisor often enough: an index that is only counted is not."""
    found = 0
    for sentence in values:
        for node in sentence.nodes():
            for part in node.walk():
                if isinstance(part, tree.Multiply | tree.Divide) and tree.Letter(name) in tuple(part.children()):
                    found += 1
    return found >= LEAST


def _defined_twice(paper: Paper) -> Iterator[Defect]:
    """``a := b`` and ``a := c`` in one statement, proof or section, with other letters in b than in c."""
    known: dict[tuple[str, str], tuple[Sentence, tree.Node]] = {}
    for sentence in paper.sentences:
        for chain in sentence.chains():
            for left, relation, right in chain.links():
                if relation.word != ":=" or sentence.read.formula.kind == "algorithm-line":
                    continue
                if not isinstance(left, tree.Letter):
                    continue
                first = known.setdefault((sentence.unit or sentence.home, left.name), (sentence, right))
                if first[1] != right and tree.letters(first[1]) != tree.letters(right):
                    evidence = (f"{first[0].place}: {left.name} := {to_text(first[1])}",
                                f"{sentence.place}: {left.name} := {to_text(right)}")  # fmt: skip
                    title = f"{left.name} is defined twice, as two things"
                    yield Defect("meaning", sentence.place, title, "local slip", sentence.latex, evidence,
                                 f"twice {left.name}", sentence.unit)  # fmt: skip


def _named_after(sentence: Sentence) -> Iterator[Defect]:
    """``s_t = min_s ...``: the letter is named after the variable, so that it is the minimiser and not the minimum."""
    for chain in sentence.chains():
        for left, relation, right in chain.links():
            if relation.word not in EQUATES or not isinstance(right, tree.Call) or right.function not in ("min", "max"):
                continue
            span, what = right.arguments[-1], right.function
            first = span.items[0] if isinstance(span, tree.Tuple) and span.items else None
            name = tree.head_of(left)
            if isinstance(first, tree.Letter) and name.partition("_")[0] == first.name:
                title = f"{name} is the {what} over {first.name}, a number, where the arg {what} is meant"
                yield Defect("shape", sentence.place, title, "local slip", sentence.latex, unit=sentence.unit)

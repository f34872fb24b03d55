"""Parts of a formula that do nothing: a thing less itself, a sum whose terms run with another letter than the sum."""

from __future__ import annotations

from collections.abc import Iterator

from bilevel_verify.language import to_text, tree
from bilevel_verify.language.binding import binder
from bilevel_verify.proofreading.defect import Defect
from bilevel_verify.proofreading.names.occurrences import NORMS, uses
from bilevel_verify.proofreading.source import Paper, Sentence


def idle_defects(paper: Paper) -> Iterator[Defect]:
    """Every formula."""
    for home in paper.homes.values():
        slots = _running(home)
        for sentence in home:
            for node in sentence.nodes():
                yield from _nothing(node, sentence)
                yield from _constant(node, sentence, slots)


def _nothing(node: tree.Node, sentence: Sentence) -> Iterator[Defect]:
    """``|x_t - x_t|``."""
    for part in node.walk():
        if isinstance(part, tree.Call) and part.function in NORMS:
            match part.arguments[0]:
                case tree.Add(terms=(one, tree.Negate(operand=other))) if one == other:
                    title = f"{to_text(part)} is 0: both terms are one thing"
                    yield Defect("index", sentence.place, title, "local slip", sentence.latex, unit=sentence.unit)


def _running(home: list[Sentence]) -> set[tuple[str, str]]:
    """Sequences with the letter that runs over their entries in a sum, anywhere in a statement or its proof."""
    found: set[tuple[str, str]] = set()
    for sentence in home:
        for node in sentence.nodes():
            for part in node.walk():
                if isinstance(part, tree.Call) and part.function == "sum" and (span := binder(part)) is not None:
                    found |= {(u.base, span[0]) for u in uses(part.arguments[0]) if u.name == span[0] and u.base}
    return found


def _constant(node: tree.Node, sentence: Sentence, slots: set[tuple[str, str]]) -> Iterator[Defect]:
    """``sum over t of r_i``, where elsewhere r runs with t."""
    for part in node.walk():
        if not isinstance(part, tree.Call) or part.function != "sum" or (span := binder(part)) is None:
            continue
        body, ends = list(uses(part.arguments[0])), {use.name for end in span[1:] for use in uses(end)}
        if any(use.name == span[0] for use in body):
            continue
        for use in body:
            if use.base and use.binder is None and use.name not in ends and (use.base, span[0]) in slots:
                title = (f"the terms of the sum over {span[0]} do not run with it: {use.base} has the index {use.name}"
                         f" here and {span[0]} in another sum")  # fmt: skip
                yield Defect("index", sentence.place, title, "local slip", sentence.latex, unit=sentence.unit,
                             cause=f"constant {use.base} {span[0]} {sentence.unit}")  # fmt: skip

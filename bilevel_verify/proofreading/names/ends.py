"""Ends of ranges: an index below where its sequence begins, a denominator that vanishes at a closed end."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction

from bilevel_verify.language import to_text, tree
from bilevel_verify.language.binding import binder
from bilevel_verify.proofreading.defect import Defect
from bilevel_verify.proofreading.names.decorations import cores
from bilevel_verify.proofreading.names.occurrences import shift_of, whole
from bilevel_verify.proofreading.source import HOLE, Paper, Passage, Sentence
from bilevel_verify.theorems.rewrite import substitute

FOR = re.compile(r"\s*for(?: all| every| any| each)?\s*")
RUNS = ("sum", "prod", "min", "max", "argmin", "argmax", "family")


@dataclass(frozen=True, slots=True)
class Span:
    """A letter with the closed ends of its range, as trees; an end may be open or missing."""

    name: str
    low: tree.Node | None
    high: tree.Node | None


def end_defects(paper: Paper) -> Iterator[Defect]:
    """Indices outside of their sequences, and ends at which a formula is undefined."""
    first = beginnings(paper)
    for sentence in paper.sentences:
        for body, span in _ranged(sentence):
            yield from _below(body, span, first, sentence)
            yield from _vanishing(body, span, sentence)
    for passage in paper.passages if first else ():
        yield from _in_words(passage, first)


def _in_words(passage: Passage, first: dict[str, int]) -> Iterator[Defect]:
    """``t_k^2 - t_k = t_{k-1}^2 for k >= 1``: an inline formula with its range behind it in words."""
    pieces = passage.words.split(HOLE)
    if passage.kind == "algorithm" or len(pieces) != len(passage.formulas) + 1:
        return
    for sentence, between, said in zip(passage.formulas, pieces[1:], passage.formulas[1:], strict=False):
        if FOR.fullmatch(between) and {s.read.formula.kind for s in (sentence, said)} == {"inline"}:
            spans = [span for c in said.chains() for span in _quantified(c.tree)]
            related = [m for c in sentence.chains() for m in c.members if c.relations]
            for span in spans if len(spans) == 1 else ():
                for member in related:
                    yield from _below(member, span, first, sentence)


def beginnings(paper: Paper) -> dict[str, int]:
    """Sequence -> the lowest entry that the formulas name by a number; decorated forms of a symbol begin together."""
    found: dict[str, int] = {}
    core = cores(paper.notation)
    for sentence in paper.sentences:
        for node in sentence.nodes():
            for part in node.walk():
                if isinstance(part, tree.Index) and part.indices:
                    number = whole(part.indices[-1])
                    if number is not None:
                        key = core.get(part.base, part.base)
                        found[key] = min(number, found.get(key, number))
    for sentence in paper.sentences:
        for node in sentence.nodes():
            for part in node.walk():
                if (
                    isinstance(part, tree.Call)
                    and part.function == "family"
                    and isinstance(part.arguments[0], tree.Index)
                ):
                    span = binder(part) or _family(part)
                    low = None if span is None else whole(span[1])
                    base = core.get(part.arguments[0].base, part.arguments[0].base)
                    if low is not None:
                        found[base] = min(low, found.get(base, low))
    return found | {name: found[symbol] for name, symbol in core.items() if symbol in found}


def _family(node: tree.Call) -> tuple[str, tree.Node, tree.Node] | None:
    """``{x_k}`` with ``(k, 0, K)``."""
    span = node.arguments[-1]
    if isinstance(span, tree.Tuple) and len(span.items) == 3 and isinstance(span.items[0], tree.Letter):
        return span.items[0].name, span.items[1], span.items[2]
    return None


def _ranged(sentence: Sentence) -> Iterator[tuple[tree.Node, Span]]:
    """What stands under an operator with a range, or before ``for all k >= 1``."""
    for node in sentence.nodes():
        for part in node.walk():
            if isinstance(part, tree.Call) and part.function in RUNS and (found := binder(part) or _family(part)):
                name, low, high = found
                for body in part.arguments[:-1]:
                    yield body, Span(name, low, high)
    for chain in sentence.chains():
        for condition in chain.conditions:
            if condition.word == "for":
                for span in _quantified(condition.tree):
                    for member in chain.members:
                        yield member, span


def _quantified(node: tree.Node | None) -> Iterator[Span]:
    """The ranges that a condition gives to letters: closed ends only."""
    match node:
        case tree.Compare(operands=(tree.Letter(name=name), low), operators=(">=",)):
            yield Span(name, low, None)
        case tree.Compare(operands=(tree.Letter(name=name), high), operators=("<=",)):
            yield Span(name, None, high)
        case tree.Compare(operands=(low, tree.Letter(name=name), high), operators=(one, other)) if {one, other} <= {
            "<=", "<",
        }:  # fmt: skip
            yield Span(name, low if one == "<=" else None, high if other == "<=" else None)
        case tree.Compare(
            operands=(tree.Letter(name=name), tree.Call(function="list", arguments=(low, *_, high))),
            operators=("==",),
        ):  # fmt: skip
            yield Span(name, low, None if high == tree.Letter("dots") else high)


def _below(body: tree.Node, span: Span, first: dict[str, int], sentence: Sentence) -> Iterator[Defect]:
    """Entries whose index falls below every entry of the sequence that the paper knows."""
    low = None if span.low is None else whole(span.low)
    if low is None:
        return
    for part in body.walk():
        if not isinstance(part, tree.Index) or part.base not in first or not part.indices:
            continue
        shift = shift_of(part.indices[-1], span.name)
        if shift is None or shift >= 0 or low + shift >= first[part.base]:
            continue
        title = (
            f"the range begins with {span.name} = {low}, where {to_text(part)} is {part.base}[{low + shift}], which no"
            f" display and no line of an algorithm gives: the lowest there is {part.base}[{first[part.base]}]"
        )
        yield Defect("outside", sentence.place, title, "wording", sentence.latex, unit=sentence.unit,
                     cause=f"below {part.base} {low + shift}")  # fmt: skip


def _vanishing(body: tree.Node, span: Span, sentence: Sentence) -> Iterator[Defect]:
    """Denominators (and arguments of logarithms) that are zero at a closed end of the range."""
    for part, what in divisors(body):
        for end in (span.low, span.high):
            if end is None or end in (tree.Letter("oo"), tree.Letter("dots")):
                continue
            if linear_form(substitute(part, {span.name: end})) != {} or not linear_form(part):
                continue
            title = f"at the end {span.name} = {to_text(end)} of the range the {what} {to_text(part)} is 0"
            yield Defect("outside", sentence.place, title, "local slip", sentence.latex, unit=sentence.unit,
                         cause=f"zero {to_text(part)} {sentence.unit}")  # fmt: skip


def divisors(node: tree.Node) -> Iterator[tuple[tree.Node, str]]:
    """Factors of denominators and arguments of logarithms, with what they are."""
    for part in node.walk():
        match part:
            case tree.Divide(denominator=bottom):
                for factor in bottom.factors if isinstance(bottom, tree.Multiply) else (bottom,):
                    yield (factor.base if isinstance(factor, tree.Power) else factor), "denominator"
            case tree.Call(function="log", arguments=(inner,)):
                yield inner, "argument of the logarithm"
            case tree.Power(base=base, exponent=tree.Negate()):
                yield base, "denominator"


def linear_form(node: tree.Node) -> dict[str, Fraction] | None:
    """``{letter: coefficient, "": constant}`` of an affine tree without zeros; None if it is none."""
    match node:
        case tree.Number(value=value):
            return {"": value} if value else {}
        case tree.Letter(name=name):
            return {name: Fraction(1)}
        case tree.Negate(operand=operand):
            inner = linear_form(operand)
            return None if inner is None else {k: -v for k, v in inner.items()}
        case tree.Add(terms=terms):
            total: dict[str, Fraction] = defaultdict(Fraction)
            for term in terms:
                form = linear_form(term)
                if form is None:
                    return None
                for key, value in form.items():
                    total[key] += value
            return {k: v for k, v in total.items() if v}
        case tree.Multiply(factors=factors):
            scale, rest = Fraction(1), None
            for factor in factors:
                form = linear_form(factor)
                if form is None:
                    return None
                if not form or set(form) == {""}:
                    scale *= form.get("", Fraction(0))
                elif rest is None:
                    rest = form
                else:
                    return None
            return {k: v * scale for k, v in (rest or {"": Fraction(1)}).items() if v * scale}
    return None

"""Totals: epochs times cost of an epoch against the total that the text draws from them, as products of powers."""

from __future__ import annotations

import re
from collections.abc import Iterator
from fractions import Fraction

from bilevel_verify.language import to_text, tree
from bilevel_verify.proofreading.defect import Defect
from bilevel_verify.proofreading.source import HOLE, Paper, Sentence

EPOCHS = re.compile(r"\bat most\s*\Z|\bin\s*\Z|\bwithin\s*\Z", re.I)
EPOCHS_AFTER = re.compile(r"\s*(?:restarts|epochs|outer iterations|outer loops|rounds|stages)\b", re.I)
EACH = re.compile(r"\b(?:each|every|one|an) (?:epoch|round|stage|outer iteration|restart)\b", re.I)
TOTAL = re.compile(r"\btotal\b[^.]*\Z|\b(?:over)?all together\b[^.]*\Z|\bin total\b[^.]*\Z", re.I)
TOTAL_AFTER = re.compile(r"\s*(?:[a-z-]+ ){1,3}(?:in total|altogether)\b")
Powers = dict[str, Fraction]


def total_defects(paper: Paper) -> Iterator[Defect]:
    """Places where number of epochs, cost of each and total stand in this order and do not multiply."""
    for home in paper.homes.values():
        epochs: tuple[Sentence, Powers] | None = None
        each: tuple[Sentence, Powers] | None = None
        before: Sentence | None = None
        for sentence in home:
            value = _powers_of(sentence)
            if value is None:
                continue
            last, before = before, sentence
            said = TOTAL.search(sentence.before)
            total = said is not None and not EACH.search(sentence.before, said.start())
            total = total or TOTAL_AFTER.match(sentence.after) is not None
            if EPOCHS.search(sentence.before) and EPOCHS_AFTER.match(sentence.after):
                goes_on = each is not None and each[0] is last and HOLE in sentence.before  # in one sentence
                epochs, each = (sentence, value), each if goes_on else None
            elif EACH.search(sentence.before) and not total:
                each = (sentence, value)
            elif total and epochs is not None and each is not None:
                yield from _compared(epochs, each, (sentence, value))
                epochs = each = None


def _compared(
    epochs: tuple[Sentence, Powers], each: tuple[Sentence, Powers], total: tuple[Sentence, Powers]
) -> Iterator[Defect]:
    product = _times(epochs[1], each[1])
    if product == total[1]:
        return
    names = sorted(n for n in product.keys() | total[1].keys() if product.get(n, 0) != total[1].get(n, 0))
    differs = ", ".join(
        f"{n}**({product.get(n, Fraction(0))}) against {n}**({total[1].get(n, Fraction(0))})" for n in names
    )
    yield Defect(
        "total", total[0].place, f"number of epochs times cost of an epoch is not the total: {differs}",
        "changes a constant or a rate", total[0].latex, (epochs[0].latex, each[0].latex, total[0].latex),
        unit=total[0].unit,
    )  # fmt: skip


def _powers_of(sentence: Sentence) -> Powers | None:
    """The last member of a formula as a product of powers; numbers in front do not count."""
    chains = list(sentence.chains())
    if not chains or not chains[0].members:
        return None
    node = chains[-1].members[-1]
    if isinstance(node, tree.Call) and node.function in ("O", "softO", "Theta") and len(node.arguments) == 1:
        node = node.arguments[0]
    return powers(node)


def powers(node: tree.Node) -> Powers | None:
    """Letter -> exponent of a product of powers of letters; None if it is none."""
    match node:
        case tree.Number(value=value) if value > 0:
            return {}
        case tree.Letter(name=name):
            return {name: Fraction(1)}
        case tree.Multiply(factors=factors):
            total: Powers = {}
            for factor in factors:
                part = powers(factor)
                if part is None:
                    return None
                total = _times(total, part)
            return total
        case tree.Divide(numerator=top, denominator=bottom):
            above, below = powers(top), powers(bottom)
            return None if above is None or below is None else _times(above, {n: -e for n, e in below.items()})
        case tree.Power(base=base, exponent=exponent):
            inner, number = powers(base), tree.rational(exponent)
            return None if inner is None or number is None else {n: e * number for n, e in inner.items()}
        case tree.Call(function="sqrt", arguments=(inner_node,)):
            inner = powers(inner_node)
            return None if inner is None else {n: e / 2 for n, e in inner.items()}
        case tree.Call(function="log"):
            return {to_text(node): Fraction(1)}
    return None


def _times(one: Powers, other: Powers) -> Powers:
    found = {n: one.get(n, Fraction(0)) + other.get(n, Fraction(0)) for n in one.keys() | other.keys()}
    return {n: e for n, e in found.items() if e}

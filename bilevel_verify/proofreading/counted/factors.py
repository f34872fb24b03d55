"""``It improves A by a factor of F``: F against the quotient of the two orders that are compared."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction

from bilevel_verify.language import tree
from bilevel_verify.proofreading.counted.tables import OWN, rows_of
from bilevel_verify.proofreading.defect import Defect
from bilevel_verify.proofreading.joints.carrying import exponents_differ, to_text_of
from bilevel_verify.proofreading.joints.clauses import Clause, clauses, numbered_in
from bilevel_verify.proofreading.joints.forms import ORDERS, Form, Formless, Monomial, form_of, inverse
from bilevel_verify.proofreading.joints.judged import Judged
from bilevel_verify.proofreading.joints.shown import form_script
from bilevel_verify.proofreading.joints.ties import letters_of, over
from bilevel_verify.proofreading.source import Paper, Sentence

FACTOR = re.compile(r"\bby (?:a|an|the)(?: (?:multiplicative )?factor(?: of)?)?\s*\Z", re.I)
AFTER = re.compile(r"\s*factor\b", re.I)
BETTER = re.compile(r"\b(?:improv\w+|better|faster|fewer|smaller|lower|reduc\w+|sav\w+|worse|slower)\b", re.I)
REFERENCE = re.compile(r"\[\d+\]")


@dataclass(frozen=True, slots=True)
class Rate:
    """An order as the products that it adds up."""

    sentence: Sentence
    terms: tuple[Monomial, ...]


def factor_joints(paper: Paper) -> Iterator[Judged]:
    """Every factor by which one order is said to be better than another."""
    before: list[Clause] = []
    for clause in clauses(paper):
        for place, sentence in enumerate(clause.formulas):
            said = clause.before(place)
            of = FACTOR.search(said)
            if (
                of is not None
                and BETTER.search(clause.words)
                and ("factor" in of[0] or AFTER.match(clause.after(place)))
            ):
                yield _judged(paper, clause, place, sentence, before)
        before = [*before[-1:], clause]


def _judged(paper: Paper, clause: Clause, place: int, sentence: Sentence, before: list[Clause]) -> Judged:
    joint = f"the factor {to_text_of(sentence)} between the two rates"
    try:
        nodes = list(sentence.nodes())
        factor = form_of(nodes[0]).single if len(nodes) == 1 else None
    except Formless:
        factor = None
    ours, theirs = _rates(paper, clause, place, before)
    if factor is None or not factor[0] or not ours or not theirs:
        return Judged("citation", sentence.place, joint, "undecided", "the two rates were not found")
    wanted: Monomial = frozenset((n, e) for n, e in factor[0] if not n.startswith("#"))
    quotients = [(a, b, over(n, m)) for a in ours for b in theirs for m in a.terms for n in b.terms]
    if any(q in (wanted, inverse(wanted)) for _, _, q in quotients):
        return Judged("citation", sentence.place, joint, "holds")
    if any(_of(letters_of(wanted), q) in (wanted, inverse(wanted)) for _, _, q in quotients):
        return Judged("citation", sentence.place, joint, "undecided", "other letters are left out here")
    known = letters_of(wanted) <= {n for r in (*ours, *theirs) for n in _letters(r)}
    alike = all((_letters(ours[0]) ^ _letters(r)) <= letters_of(wanted) for r in theirs)
    if len(ours) != 1 or not alike or not known:
        return Judged("citation", sentence.place, joint, "undecided", "no two rates have this quotient")
    return _defect(sentence, joint, wanted, quotients)


def _defect(sentence: Sentence, joint: str, wanted: Monomial, quotients: list[tuple[Rate, Rate, Monomial]]) -> Judged:
    one, other, quotient = quotients[-1]
    how = exponents_differ(quotient, wanted, hidden=False) or ""
    title = f"the factor is not the quotient of the two rates: {how}"
    evidence = (f"here: {to_text_of(one.sentence)}", f"there: {to_text_of(other.sentence)}",
                f"factor: {to_text_of(sentence)}")  # fmt: skip
    defect = Defect("citation", sentence.place, title, "wording", sentence.latex, evidence, unit=sentence.unit)
    script = form_script(title, sentence.place, Form({quotient: Fraction(1)}, True), Form({wanted: Fraction(1)}, True),
                         "the quotient", "printed")  # fmt: skip
    return Judged("citation", sentence.place, joint, "refuted", how, defect, script)


def _letters(rate: Rate) -> frozenset[str]:
    return frozenset(n for m in rate.terms for n in letters_of(m))


def _of(letters: frozenset[str], monomial: Monomial) -> Monomial:
    return frozenset((n, e) for n, e in monomial if n in letters)


def rates_in(sentence: Sentence) -> Iterator[Rate]:
    """The orders of a formula, sums too."""
    for node in sentence.nodes():
        if isinstance(node, tree.Call) and node.function in ORDERS:
            try:
                yield Rate(sentence, tuple(form_of(node).terms))
            except Formless:
                continue


def _rates(paper: Paper, clause: Clause, place: int, before: list[Clause]) -> tuple[list[Rate], list[Rate]]:
    """The rates that are compared: two of the sentence, or one of it or the sentence before and a cited one."""
    here = [r for i, s in enumerate(clause.formulas) if i != place for r in rates_in(s)]
    if len(here) == 2:
        return here[:1], here[1:]
    cells = list(rows_of(paper))
    shown = {sentence.latex for _, sentence in cells}  # the cell before a sentence need not be of the paper's own row
    said = [r for c in reversed(before) for s in reversed(c.formulas) if s.latex not in shown for r in rates_in(s)]
    last = here or said[:1] or [r for label, sentence in cells if OWN.search(label) for r in rates_in(sentence)]
    cited = [r for n in numbered_in(clause.words) if n in paper.numbered for r in rates_in(paper.numbered[n])]
    if cited:
        return last, cited[-1:]
    rows = set(REFERENCE.findall(clause.words))
    return last, [r for label, s in cells if rows & {*REFERENCE.findall(label)} for r in rates_in(s)]

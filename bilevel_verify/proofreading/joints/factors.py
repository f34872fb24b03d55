"""``It improves A by a factor of F``: F against the quotient of the two orders that are compared."""

from __future__ import annotations

import re
from collections.abc import Iterator
from fractions import Fraction

from bilevel_verify.proofreading.defect import Defect
from bilevel_verify.proofreading.joints.carrying import exponents_differ, to_text_of
from bilevel_verify.proofreading.joints.clauses import Clause, clauses, numbered_in
from bilevel_verify.proofreading.joints.forms import Form, Formless, Monomial, form_of, inverse, joined
from bilevel_verify.proofreading.joints.judged import Judged
from bilevel_verify.proofreading.joints.orders import Order, orders_in
from bilevel_verify.proofreading.joints.shown import form_script
from bilevel_verify.proofreading.joints.tables import rows_of
from bilevel_verify.proofreading.joints.ties import letters_of
from bilevel_verify.proofreading.source import Paper, Sentence

FACTOR = re.compile(r"\bby (?:a|an|the)(?: (?:multiplicative )?factor(?: of)?)?\s*\Z", re.I)
AFTER = re.compile(r"\s*factor\b", re.I)
BETTER = re.compile(r"\b(?:improv\w+|better|faster|fewer|smaller|lower|reduc\w+|sav\w+|worse|slower)\b", re.I)
REFERENCE = re.compile(r"\[\d+\]")


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
        before = [*before[-1:], clause] if not before or before[-1].passage is clause.passage else [clause]


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
    quotients = [(a, b, _over(b, a)) for a in ours for b in theirs if a is not b]
    if any(q in (wanted, inverse(wanted)) for _, _, q in quotients):
        return Judged("citation", sentence.place, joint, "holds")
    near = [(a, b, q) for a, b, q in quotients if letters_of(wanted) <= a.letters | b.letters]
    if len(near) != len(quotients) or len({q for _, _, q in near}) != 1 or len(quotients) != 1:
        return Judged("citation", sentence.place, joint, "undecided", "no two rates have this quotient")
    (one, other, quotient) = near[0]
    how = exponents_differ(quotient, wanted, hidden=False) or ""
    title = f"the factor is not the quotient of the two rates: {how}"
    evidence = (f"here: {to_text_of(one.sentence)}", f"there: {to_text_of(other.sentence)}",
                f"factor: {to_text_of(sentence)}")  # fmt: skip
    defect = Defect("citation", sentence.place, title, "wording", sentence.latex, evidence, unit=sentence.unit)
    script = form_script(title, sentence.place, Form({quotient: Fraction(1)}, True), Form({wanted: Fraction(1)}, True),
                         "the quotient", "printed")  # fmt: skip
    return Judged("citation", sentence.place, joint, "refuted", how, defect, script)


def _over(one: Order, other: Order) -> Monomial:
    return frozenset((n, e) for n, e in joined(one.monomial, inverse(other.monomial))[0] if not n.startswith("#"))


def _rates(paper: Paper, clause: Clause, place: int, before: list[Clause]) -> tuple[list[Order], list[Order]]:
    """The rates that are compared: two of the sentence, or one of it or the sentence before and a cited one."""
    here = [o for i, s in enumerate(clause.formulas) if i != place for o in orders_in(s)]
    if len(here) == 2:
        return here[:1], here[1:]
    last = here or [o for c in reversed(before) for s in c.formulas for o in orders_in(s)][:1]
    cited = [o for n in numbered_in(clause.words) if n in paper.numbered for o in orders_in(paper.numbered[n])]
    if cited:
        return last, cited
    rows = set(REFERENCE.findall(clause.words))
    there = [o for label, sentence in rows_of(paper) if rows & {*REFERENCE.findall(label)} for o in orders_in(sentence)]
    return last, there

"""Epochs: a decrease summed over them against the bound drawn from it, and the last epoch, which has no decrease."""

from __future__ import annotations

import re
from collections.abc import Iterator
from fractions import Fraction

from bilevel_verify.proofreading.defect import Defect
from bilevel_verify.proofreading.joints.carrying import UPPER, Bounded, bounds_of, to_text_of
from bilevel_verify.proofreading.joints.clauses import Clause, clauses, named_in, numbered_in
from bilevel_verify.proofreading.joints.forms import ONE, Form, Formless, Monomial, form_of, inverse, product
from bilevel_verify.proofreading.joints.judged import Judged
from bilevel_verify.proofreading.joints.shown import below_one_script, form_script
from bilevel_verify.proofreading.source import Paper, Passage, Sentence

SUMMED = re.compile(r"\bsum(?:s|med|ming)?\b[^.]{0,60}\bover all (?:the )?epochs\b", re.I)
ITERATES = re.compile(r"\b(?:iterat\w+|steps)\b", re.I)
WITHIN = re.compile(r"\b(?:at most|within|no more than)\s*\Z", re.I)
EPOCHS = re.compile(r"\s*epochs\b", re.I)
RESTARTS = re.compile(
    r"[“\"'`]?if[ -]condition\W{0,4} (?:\S+ )?(?:triggers?|holds)|restart condition"
    r"|\b(?:ends?|ending) (?:by|with) a restart"
    r"|\bepochs? with a restart\b|\beach restart\b|\bexcept the last\b",
    re.I,
)
"""The decrease is of epochs that end by a restart."""
LAST = re.compile(
    r"\b(?:except|besides|plus|and) the (?:last|final)\b|\bepochs? with a restart\b|\bvalid epochs\b", re.I
)
DEPTH = 2
LEFT_OUT = "epochs that end by a restart are counted, and the last epoch ends without one: there may be one more"


def epoch_joints(paper: Paper) -> Iterator[Judged]:
    """Sums over epochs and bounds on their number."""
    for clause in clauses(paper):
        if SUMMED.search(clause.words):
            yield from _summed(paper, clause)
        yield from _counted(paper, clause)


def _summed(paper: Paper, clause: Clause) -> Iterator[Judged]:
    """``Sum the above inequality over all epochs, we have N <= R``: R times the decrease is the whole gap."""
    shown = [f for f in clause.formulas if f.read.formula.kind == "display"]
    before = [s for s in paper.homes[shown[0].home] if s.read.formula.kind == "display"] if shown else []
    if not shown or before.index(shown[0]) == 0:
        return
    printed, base = shown[0], before[before.index(shown[0]) - 1]
    joint = "the decrease of an epoch, summed over all epochs"
    falls, found = bounds_of(base), bounds_of(printed)
    try:
        if not falls or not found or found[-1].op not in UPPER or falls[-1].op in UPPER:
            raise Formless("no lower bound before it, or no upper bound")
        yield _divided(clause, joint, base, printed, falls[-1], found[-1])
    except Formless as reason:
        yield Judged("total", printed.place, joint, "undecided", str(reason))


def _divided(clause: Clause, joint: str, base: Sentence, printed: Sentence, fall: Bounded, found: Bounded) -> Judged:
    one, other = form_of(fall.right), form_of(found.right)
    if one.single is None or other.single is None or one.order or other.order:
        raise Formless("no products of powers")
    ((rest, factor),) = product(one.terms, other.terms).items()
    gaps = [(n, e) for n, e in rest if e == ONE and n not in dict(one.single[0])]
    steps = [(n, e) for n, e in rest if e == ONE and n in dict(one.single[0]) and n not in dict(other.single[0])]
    counts = steps if ITERATES.search(clause.words) else []
    left: Monomial = rest - {*gaps[:1], *counts[:1]}
    if len(gaps) != 1:
        raise Formless("the whole gap was not found")
    if not left and factor >= 1:
        return Judged("total", printed.place, joint, "holds")
    over = ", ".join(n if len(set(e)) > 1 else f"{n}^({e[0]})" for n, e in sorted(left))
    how = f"a power of {over} is left over" if left else f"the factor {factor} is left over"
    title = f"the bound times the decrease of an epoch is not the whole gap {gaps[0][0]}: {how}"
    gap: Monomial = frozenset({gaps[0], *counts[:1]})
    want = Form(product({gap: Fraction(1)}, {inverse(one.single[0]): 1 / one.single[1]}))
    script = form_script(title, printed.place, want, other, "gap over decrease", "printed")
    evidence = (f"decrease: {to_text_of(base)}", f"summed: {to_text_of(printed)}")
    defect = Defect("total", printed.place, title, "changes a constant or a rate", printed.latex, evidence,
                    f"the whole gap: {how}", printed.unit)  # fmt: skip
    return Judged("total", printed.place, joint, "refuted", how, defect, script)


def _counted(paper: Paper, clause: Clause) -> Iterator[Judged]:
    """``terminates in at most N epochs``, where N is the gap over the decrease of an epoch that restarts."""
    for place, sentence in enumerate(clause.formulas):
        if not (WITHIN.search(clause.before(place)) and EPOCHS.match(clause.after(place))):
            continue
        joint = "the number of epochs from the decrease in each of them"
        try:
            chains = list(sentence.chains())
            form = form_of(chains[-1].members[-1])
        except (Formless, IndexError) as reason:
            yield Judged("total", sentence.place, joint, "undecided", str(reason) or "not read")
            continue
        if form.order or form.single is None or LAST.search(clause.words):
            yield Judged("total", sentence.place, joint, "holds" if len(form.terms) > 1 else "undecided",
                         "" if len(form.terms) > 1 else "an order takes in one more")  # fmt: skip
            continue
        source = next((p for p in _reached(paper, clause.passage) if RESTARTS.search(p.words)), None)
        if source is None:
            yield Judged("total", sentence.place, joint, "undecided", "nothing says which epochs have the decrease")
            continue
        said = RESTARTS.search(source.words)
        assert said is not None
        evidence = (
            f"{source.name or source.of or 'the text'}: ... {said[0]} ...",
            f"here: at most {to_text_of(sentence)} epochs",
        )
        defect = Defect("total", sentence.place, LEFT_OUT, "changes a constant or a rate", sentence.latex, evidence,
                        cause=LEFT_OUT, unit=sentence.unit)  # fmt: skip
        script = below_one_script(LEFT_OUT, sentence.place, form)
        yield Judged("total", sentence.place, joint, "refuted", LEFT_OUT, defect, script)


def _reached(paper: Paper, passage: Passage) -> list[Passage]:
    """A passage, the statement that it proves, its proof, and what these cite, two steps far."""
    found, edge = [passage], [passage]
    for _ in range(DEPTH):
        names = {n for p in edge for n in (*named_in(p.words), p.of, p.name) if n}
        units = {paper.numbered[n].unit for p in edge for n in numbered_in(p.words) if n in paper.numbered}
        edge = [p for p in paper.passages if p not in found and p.kind != "text"
                and (p.name in names or p.of in names or (p.id and p.id in units))]  # fmt: skip
        found += edge
    return found

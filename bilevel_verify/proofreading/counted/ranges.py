"""``Summing (5) over k = 0, ..., K-1``: the range that is said, against the sums that come out.

On its smaller side a result has no terms that were not summed: an entry ``x_{k+s}`` of the relation runs from
``lo + s`` to ``hi + s``. On its larger side it has all terms of a product that is not 0, and an inner sum of the
relation keeps its first term. In a right text more is only added to the larger side and taken from the smaller one.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from bilevel_verify.language import to_text, tree
from bilevel_verify.language.binding import binder
from bilevel_verify.proofreading.counted.numerals import span_of
from bilevel_verify.proofreading.defect import Defect
from bilevel_verify.proofreading.joints.carrying import to_text_of
from bilevel_verify.proofreading.joints.clauses import HOLE, Clause, clauses_of, numbered_in
from bilevel_verify.proofreading.joints.forms import Formless, form_of
from bilevel_verify.proofreading.joints.judged import Judged
from bilevel_verify.proofreading.names.ends import linear_form
from bilevel_verify.proofreading.names.occurrences import shift_of, whole
from bilevel_verify.proofreading.promises.conclusions import own_proofs
from bilevel_verify.proofreading.source import Paper, Passage, Sentence
from bilevel_verify.theorems.rewrite import free_letters, substitute

OVER = re.compile(
    r"\b[Ss]um(?:s|med|ming)?\b[^.;]*?\b(?:over(?: all)?|with|for) (?P<name>\x01)"
    r"(?: from (?P<low>\x01) to (?P<high>\x01))?"
)
MORE = re.compile(r"\b(?:add(?:s|ed|ing)?|plus|together with|twice|epochs?|stages?|except|but)\b", re.I)
"""More than one range is summed, or something is added."""


@dataclass(frozen=True, slots=True)
class Range:
    """A letter with the first and the last of its values."""

    name: str
    low: tree.Node
    high: tree.Node

    def __str__(self) -> str:
        return f"{self.name} = {to_text(self.low)}, ..., {to_text(self.high)}"


def ranged_joints(paper: Paper) -> Iterator[Judged]:
    """Every sum over a range of every proof."""
    for home in paper.stated.values():
        for proof in own_proofs(paper, home.name):
            for clause in clauses_of(proof):
                cues = list(OVER.finditer(clause.words))
                said = _range(clause, cues[0]) if len(cues) == 1 and not MORE.search(clause.words) else None
                if said is not None:
                    yield from _judged(paper, home, proof, clause, cues[0], said)


def _range(clause: Clause, cue: re.Match[str]) -> Range | None:
    first = clause.formulas[clause.words[: cue.start("name")].count(HOLE) :]
    if cue["low"] is None:
        span = span_of(first[0])
        return Range(*span) if span is not None and span[0] else None
    nodes = [list(s.nodes()) for s in first[:3]]
    if any(len(n) != 1 for n in nodes) or not isinstance(nodes[0][0], tree.Letter):
        return None
    return Range(nodes[0][0].name, nodes[1][0], nodes[2][0])


def _judged(
    paper: Paper, home: Passage, proof: Passage, clause: Clause, cue: re.Match[str], said: Range
) -> Iterator[Judged]:
    numbers = [n for n in numbered_in(clause.words[: cue.start("name")]) if n in paper.numbered]
    source = paper.numbered[numbers[-1]] if numbers else None
    target = _target(home, proof, clause, cue)
    if target is None or target is source or not target.read.statements:
        return
    joint = f"the sum over {said} and {to_text_of(target)}"
    for side, printed, body in _sums(target, said.name):
        zero = any(_is_zero(paper, base) for base in _shifts(body, said.name))
        if side == "small" and not zero and _is_more(source, said, printed, body):
            yield _told(target, joint, f"the sum is over {said}, and what comes out has {printed}", source)
            return
        if side == "large" and source is not None and _is_less(source, said, printed, body):
            yield _told(target, joint, f"the sum is over {said}, and what comes out has {printed} alone", source)
            return
    shown = [
        s for s in clause.formulas if s.read.formula.kind == "display" and s.read.formula.n >= target.read.formula.n
    ]
    over = [span for one in shown or [target] for span, _ in _spans(one.nodes()) if span.name == said.name]
    for ends in ([_apart(r.low, said.low) for r in over], [_apart(r.high, said.high) for r in over]):
        if ends and all(end is not None and abs(end) > 1 for end in ends):  # one is a shift of the index
            yield _told(target, joint, f"the sum is over {said}, and every one that comes out over {over[0]}", source)
            return
    for lost in _inner(paper, source, target) if source is not None else ():
        yield _told(target, joint, f"the sum from {lost[0]} on begins with {lost[1]} in what comes out", source)
        return


def _is_zero(paper: Paper, base: str) -> bool:
    """Whether an entry of a sequence is said to be 0: a sum may begin or end with it."""
    equations = [e for s in paper.sentences for c in s.chains() if (e := c.equation) is not None]
    return any(isinstance(e[0], tree.Index) and e[0].base == base and tree.is_zero(e[1]) for e in equations)


def _target(home: Passage, proof: Passage, clause: Clause, cue: re.Match[str]) -> Sentence | None:
    """The next display behind the range; where the proof has none, the only one of the statement."""
    last = clause.formulas[clause.words[: cue.end()].count(HOLE) - 1].read.formula.n
    later = [s for s in proof.formulas if s.read.formula.n > last and s.read.formula.kind == "display"]
    here = [s for s in later if s in clause.formulas]
    shown = [s for s in home.formulas if s.read.formula.kind == "display"]
    return here[0] if here else shown[0] if not later and len(shown) == 1 else None


def _sums(target: Sentence, name: str) -> Iterator[tuple[str, Range, tree.Node]]:
    """Sums over a letter, of the members of a chain that what was summed is next to."""
    for chain in target.chains():
        words = {r.word for r in chain.relations}
        rises = bool(words & {"<=", "<"}) and not words & {">=", ">"}
        falls = bool(words & {">=", ">"}) and not words & {"<=", "<"}
        small = chain.members[:1] if rises else chain.members[1:] if falls else ()
        large = chain.members[1:2] if rises else ()
        for side, members in (("small", small), ("large", large)):
            yield from ((side, span, body) for span, body in _spans(members) if span.name == name)


def _spans(nodes: Iterable[tree.Node]) -> Iterator[tuple[Range, tree.Node]]:
    """The sums over a range in some formulas, each with what is summed."""
    for part in (p for node in nodes for p in node.walk()):
        span = binder(part) if isinstance(part, tree.Call) and part.function == "sum" else None
        if isinstance(part, tree.Call) and span is not None:
            yield Range(*span), part.arguments[0]


def _shifts(node: tree.Node, name: str) -> dict[str, set[int]]:
    """Base of a sequence -> what is added to the letter in the indices of its entries."""
    found: dict[str, set[int]] = {}
    for part in node.walk():
        if isinstance(part, tree.Index) and part.indices:
            shift = shift_of(part.indices[-1], name)
            if shift is not None:
                found.setdefault(part.base, set()).add(shift)
    return found


def _offsets(source: Sentence | None, said: Range, body: tree.Node) -> set[int]:
    """By how much the index of a sum may differ from that of the relation; none where they have no entry in common."""
    if source is None:
        return {-1, 0, 1}
    there: dict[str, set[int]] = {}
    for node in source.nodes():
        for base, shifts in _shifts(node, said.name).items():
            there.setdefault(base, set()).update(shifts)
    here = _shifts(body, said.name)
    return {a - b for base, shifts in here.items() for b in shifts for a in there.get(base, ())}


def _is_more(source: Sentence | None, said: Range, printed: Range, body: tree.Node) -> bool:
    """Whether a sum on the smaller side has terms that were not summed, however its index is shifted."""
    offsets = _offsets(source, said, body)
    low, high = _apart(printed.low, said.low), _apart(printed.high, said.high)
    if not offsets or low is None or high is None:
        return False
    return all(low < o or high > o for o in offsets)


def _is_less(source: Sentence, said: Range, printed: Range, body: tree.Node) -> bool:
    """Whether a sum on the larger side lacks a term of the product that the relation has there."""
    chain = next(source.chains(), None)
    low, high = _apart(printed.low, said.low), _apart(printed.high, said.high)
    if chain is None or low is None or high is None or (low <= 0 and high >= 0) or low > 1 or high < -1:
        return False
    try:
        one, other = form_of(chain.members[-1]).single, form_of(body).single
    except Formless:
        return False
    if one is None or other is None or not {r.word for r in chain.relations} <= {"<=", "==", "<"}:
        return False
    of_letter = {(n, e) for n, e in one[0] if n.startswith("#") and len(set(e)) > 1}
    return bool(of_letter) and of_letter == {*other[0]} and free_letters(body) == {said.name}


def _inner(paper: Paper, source: Sentence, target: Sentence) -> Iterator[tuple[str, str]]:
    """Sums on the larger side of the relation of which the first term is lost in what comes out."""
    for before, body in _heads(source):
        for after, other in _heads(target):
            there = substitute(other, {after.name: tree.Letter(before.name)})
            first, now = whole(before.low), whole(after.low)
            bases = _shifts(body, before.name)
            entries = bool(bases) and not any(_is_zero(paper, base) for base in bases)
            if there == body and entries and first is not None and now is not None and first < now:
                yield f"{before.name} = {first}", f"{after.name} = {now}"


def _heads(sentence: Sentence) -> Iterator[tuple[Range, tree.Node]]:
    """The sums of the larger side of a relation."""
    for chain in sentence.chains():
        if {r.word for r in chain.relations} == {"<="}:
            yield from _spans(chain.members[1:])


def _apart(one: tree.Node, other: tree.Node) -> int | None:
    """By how much two ends differ; None where it is no whole number."""
    form = linear_form(tree.Add((one, tree.Negate(other))))
    if form is None or set(form) - {""}:
        return None
    number = form.get("", 0)
    return int(number) if number == int(number) else None


def _told(target: Sentence, joint: str, title: str, source: Sentence | None) -> Judged:
    evidence = (*((f"summed: {to_text_of(source)}",) if source is not None else ()), f"comes out: {to_text_of(target)}")
    defect = Defect("total", target.place, title, "local slip", target.latex, evidence, unit=target.unit)
    return Judged("total", target.place, joint, "refuted", title, defect)

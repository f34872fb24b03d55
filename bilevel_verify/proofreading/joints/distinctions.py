"""Case distinctions in words: ``if a > b ... if a <= b``, in one proof or in two lemmas that are put together."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise

from bilevel_verify.language import to_text, tree
from bilevel_verify.proofreading.defect import Defect
from bilevel_verify.proofreading.joints.carrying import to_text_of
from bilevel_verify.proofreading.joints.clauses import Clause, clauses
from bilevel_verify.proofreading.joints.forms import Formless, form_of
from bilevel_verify.proofreading.joints.judged import Judged
from bilevel_verify.proofreading.joints.shown import between_script, form_script
from bilevel_verify.proofreading.source import PROMISES, Paper, Passage, Sentence

CONDITION = re.compile(
    r"\b(?:if|when(?:ever)?|as long as|while|suppose(?: that)?|case(?: \w+)?:?|triggers[”\"']? and)\b[^.;\x01]{0,40}\Z",
    re.I,
)
SECOND = re.compile(
    r"\b(?:otherwise|on the other hand|case (?:2|two|ii|b)|the other case|else)\b|^\s*(?:If|When)\b", re.I
)
BOTH = re.compile(r"\btwo (?:cases|kinds|sorts)\b|\b(?:the )?cases cover\b|\bput(?:ting)? together\b", re.I)
TWO = re.compile(r"\btwo (?:cases|kinds|sorts)\b", re.I)
TOGETHER = re.compile(r"\b(?:by|from|combining|putting|put|with|in view of)\b", re.I)


@dataclass(frozen=True, slots=True)
class Case:
    """One condition of a distinction: ``left op right``, with the formula that prints it."""

    left: tree.Node
    op: str
    right: tree.Node
    sentence: Sentence


Table = dict[int, list[tuple[Clause, Case]]]


def distinction_joints(paper: Paper) -> Iterator[Judged]:
    """Pairs of cases over one quantity: do they cover everything?"""
    table: dict[int, list[tuple[Clause, Case]]] = {}
    for clause in clauses(paper):
        for place, sentence in enumerate(clause.formulas):
            if CONDITION.search(clause.before(place)) and (case := _case(sentence)) is not None:
                table.setdefault(id(clause.passage), []).append((clause, case))
    for passage in paper.passages:
        found = table.get(id(passage), [])
        single = {c.equation for s in passage.formulas for c in s.chains()}
        for (_, one), (second, other) in pairwise(found):
            between = (one.left, one.right) in single and one.right == other.right  # ``If p = 1/2``, a case of its own
            if passage.kind == "proof" and SECOND.search(second.words) and not between:
                yield from judged_pair(one, other, "the cases of one proof")
    yield from _of_lemmas(paper, table)


def _of_lemmas(paper: Paper, table: dict[int, list[tuple[Clause, Case]]]) -> Iterator[Judged]:
    """Two lemmas with a condition each, which one sentence puts together."""
    known: dict[str, list[Passage]] = {}
    for passage in paper.passages:
        if passage.kind in PROMISES:
            known.setdefault(passage.name, []).append(passage)
    seen: set[tuple[str, str]] = set()
    for clause in clauses(paper):
        names = [n for n in clause.named if len(known.get(n, ())) == 1]
        if len(names) < 2 or not TOGETHER.search(clause.words):
            continue
        for one in names:
            for other in names[names.index(one) + 1 :]:
                if (one, other) in seen:
                    continue
                seen.add((one, other))
                if BOTH.search(clause.words) and re.search(rf"(?<!, ){re.escape(f'{one} and {other}')}", clause.words):
                    yield from _without(clause, one, other, known, table)
                pairs = [
                    (a, b) for _, a in table.get(id(known[one][0]), ()) for _, b in table.get(id(known[other][0]), ())
                ]
                for a, b in pairs:
                    yield from judged_pair(a, b, f"the cases of {one} and {other}")


def _without(clause: Clause, one: str, other: str, known: dict[str, list[Passage]], table: Table) -> Iterator[Judged]:
    """Two lemmas that are said to be two cases, of which one has no case, or a third lemma has the other one."""
    cases = {name: [c for _, c in table.get(id(found[0]), ())] for name, found in known.items() if len(found) == 1}
    for bare, cased in ((one, other), (other, one)):
        for case in cases[cased] if not cases[bare] else ():
            thirds = [
                n for n, found in cases.items() if n not in (one, other) and any(_against(case, c) for c in found)
            ]
            if thirds or TWO.search(clause.words):
                joint, third = f"the cases of {one} and {other}", thirds[:1]
                title = f"{bare} is put together with {cased} as two cases, and has none" + "".join(
                    f"; {name} has the other one" for name in third
                )
                place = clause.formulas[0].place if clause.formulas else f"proof of {clause.passage.of}"
                shown = ((cased, case.sentence), *((name, cases[name][0].sentence) for name in third))
                evidence = tuple(f"{name}: {to_text_of(s)}" for name, s in shown)
                defect = Defect("citation", place, title, "wording", "", evidence, unit=clause.passage.id)
                yield Judged("citation", place, joint, "refuted", title, defect)


def _against(one: Case, other: Case) -> bool:
    """Whether two conditions bound one quantity from two sides."""
    upper, lower = ("<", "<="), (">", ">=")
    return one.left == other.left and (
        (one.op in upper and other.op in lower) or (one.op in lower and other.op in upper)
    )


def _case(sentence: Sentence) -> Case | None:
    chains = list(sentence.chains())
    if sentence.read.formula.kind == "display" or len(chains) != 1 or len(chains[0].relations) != 1:
        return None
    op = chains[0].relations[0].word
    if op not in tree.NEGATED or chains[0].continues:
        return None
    return Case(chains[0].members[0], op, chains[0].members[1], sentence)


def judged_pair(one: Case, other: Case, joint: str) -> Iterator[Judged]:
    """Two conditions on one quantity with their directions against each other; nothing on other pairs."""
    left, right, op = other.left, other.right, other.op
    if left != one.left and right == one.left:
        left, right, op = right, left, tree.MIRRORED[op]
    upper, lower = ("<", "<="), (">", ">=")
    if left != one.left or not ((one.op in upper and op in lower) or (one.op in lower and op in upper)):
        return
    joint = f"{joint}, {to_text_of(one.sentence)} and {to_text_of(other.sentence)}"
    place = other.sentence.place
    gap, how = _gap(one, op, right)
    if gap is None:
        yield Judged("total", place, joint, "undecided", how)
    elif not gap:
        yield Judged("total", place, joint, "holds")
    else:
        title = f"the two cases do not cover everything: {how}"
        evidence = (f"first: {to_text_of(one.sentence)}", f"second: {to_text_of(other.sentence)}")
        defect = Defect("total", place, title, "local slip", other.sentence.latex, evidence, unit=other.sentence.unit)
        script = _script(title, place, one, op, right)
        yield Judged("total", place, joint, "refuted", how, defect, script)


def _gap(one: Case, op: str, right: tree.Node) -> tuple[bool | None, str]:
    """Whether something lies in neither case; None where the two thresholds cannot be compared."""
    if one.right == right:
        strict = one.op in ("<", ">") and op in ("<", ">")
        return strict, f"{to_text(one.left)} may be equal to {to_text(right)}" if strict else ""
    try:
        first, second = form_of(one.right).single, form_of(right).single
    except Formless:
        first = second = None
    if first is None or second is None or first[0] != second[0] or first[1] <= 0 or second[1] <= 0:
        return None, "the two thresholds were not compared"
    ratio = second[1] / first[1]
    apart = ratio > 1 if one.op in ("<", "<=") else ratio < 1
    strict = ratio == 1 and one.op in ("<", ">") and op in ("<", ">")
    return apart or strict, f"{to_text(one.left)} may lie between {to_text(one.right)} and {to_text(right)}"


def _script(title: str, place: str, one: Case, op: str, right: tree.Node) -> str:
    if one.right == right or form_of(one.right) == form_of(right):
        return between_script(title, place, one.op, op)
    return form_script(title, place, form_of(one.right), form_of(right), "the first threshold", "the second one")

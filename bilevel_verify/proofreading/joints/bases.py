"""What a step is said to start from: the relation that is plugged into, squared, or put together with another one.

``Plugging into (21), we have X <= ...`` is about the left side of (21); ``squaring (23)`` about its square; the larger
of two bounds has them as members; a bound that a step uses bounds from the side that the step needs.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from fractions import Fraction

from bilevel_verify.language import to_text, tree
from bilevel_verify.language.binding import binder
from bilevel_verify.proofreading.defect import Defect
from bilevel_verify.proofreading.joints.attributed import attributed
from bilevel_verify.proofreading.joints.carrying import LOWER, PLUG, UPPER, Bounded, bounds_of, to_text_of
from bilevel_verify.proofreading.joints.clauses import Clause, clauses, numbered_in
from bilevel_verify.proofreading.joints.forms import Form, Formless, Monomial, form_of, inverse, joined
from bilevel_verify.proofreading.joints.judged import Judged
from bilevel_verify.proofreading.source import Paper, Sentence
from bilevel_verify.theorems.rewrite import substitute

INTO = re.compile(
    r"\b(?:into|in)\s+(?:equation |inequality )?\(?(\d+[a-z]?)\)?(?:[^.\x01]{0,40}?"
    r"|\s+and\s+us\w+\s+\x01[^.\x01]{0,30})\Z",
    re.I,
)
BY = re.compile(r"\b(?:into|in)\s+(?:equation |inequality )?\(?(\d+[a-z]?)\)?\s+by\s+\x01[^.\x01]{0,40}\Z", re.I)
SQUARED = re.compile(r"\bsquaring (?:both sides of )?(?:equation |inequality )?\(?(\d+[a-z]?)\)?", re.I)
TOGETHER = re.compile(r"\b(?:combining|putting together)\b", re.I)
TWO = tree.Number(Fraction(2))


def base_joints(paper: Paper) -> Iterator[Judged]:
    """Every sentence with such a step and a display behind it; bounds used in a step of the display before."""
    for clause in clauses(paper):
        for printed, said in clause.displays():
            if PLUG.search(said) and (into := BY.search(said) or INTO.search(said)):
                yield from _about(paper, printed, into[1], squared=False)
            if squared := SQUARED.search(said):
                yield from _about(paper, printed, squared[1], squared=True)
            if TOGETHER.search(said):
                yield from _larger(paper, printed, [n for n in numbered_in(said) if n in paper.numbered])
        yield from _sides(paper, clause)


def _about(paper: Paper, printed: Sentence, number: str, squared: bool) -> Iterator[Judged]:
    """The left side of a result against that of the relation it is said to come from."""
    base = paper.numbered.get(number)
    results = bounds_of(printed)
    if base is None or base is printed or not results or not (bounds := bounds_of(base)):
        return
    left = results[0].left
    joint = f"{to_text(left)} as what comes out of ({number})"
    if any(_fits(left, b.left, squared) for b in bounds):
        yield Judged("citation", printed.place, joint, "holds")
        return
    others = [k for k, s in paper.before(printed).items() if s is not base and printed.may_rest_on(s)
              and any(_is(left, b.left, squared) for b in bounds_of(s))]  # fmt: skip
    if not others:
        yield Judged("citation", printed.place, joint, "undecided", f"it is about something else than ({number})")
        return
    meant = others[-1]
    title = f"({number}) is named as what this comes from; the left side is that of ({meant})"
    evidence = (f"({number}): {to_text_of(base)}", f"({meant}): {to_text_of(paper.numbered[meant])}",
                f"printed: {to_text_of(printed)}")  # fmt: skip
    defect = Defect("citation", printed.place, title, "wording", printed.latex, evidence, unit=printed.unit)
    yield Judged("citation", printed.place, joint, "refuted", title, defect)


def _is(left: tree.Node, base: tree.Node, squared: bool) -> bool:
    """Whether a left side is that of another relation, or its square."""
    if not squared:
        return left == base
    return isinstance(left, tree.Power) and left.exponent == TWO and _bare(left.base) == _bare(base)


def _bare(node: tree.Node) -> tree.Node:
    """What stands under a norm or bars."""
    if isinstance(node, tree.Call) and node.function in ("norm", "abs"):
        return node.arguments[0]
    return node


def _fits(left: tree.Node, base: tree.Node, squared: bool) -> bool:
    """Whether a left side is that of the base, a multiple of it, or a part of it."""
    if squared or _is(left, base, squared):
        return _is(left, base, squared)
    try:
        one, other = form_of(left).terms, form_of(base).terms
    except Formless:
        return True
    return any(
        all(joined(m, ratio)[0] in other for m in one) and (len(one) > 1 or not ratio or _shares(first, second))
        for first in one
        for second in other
        for ratio in [joined(second, inverse(first))[0]]
    )


def _shares(one: Monomial, other: Monomial) -> bool:
    """Whether two products have a factor in common: else every term is a multiple of every other one."""
    return bool({name for name, _ in one} & {name for name, _ in other})


def _larger(paper: Paper, printed: Sentence, numbers: list[str]) -> Iterator[Judged]:
    """``X <= max(A, B)`` from two bounds of X."""
    results = bounds_of(printed)
    right = results[-1].right if results else None
    if not isinstance(right, tree.Call) or right.function not in ("max", "min") or len(right.arguments) != 2:
        return
    bounds = [[b for b in bounds_of(paper.numbered[n]) if b.left == results[-1].left] for n in numbers]
    if len(numbers) != 2 or not all(bounds):
        return
    joint = f"the {right.function} of ({numbers[0]}) and ({numbers[1]})"
    try:
        members = [form_of(a) for a in right.arguments]
        wanted = [[form_of(b.right) for b in found] for found in bounds]
    except Formless as reason:
        yield Judged("citation", printed.place, joint, "undecided", str(reason))
        return
    for one, other in ((0, 1), (1, 0)):
        if _among(members[one], wanted[0]):
            if _among(members[other], wanted[1]):
                yield Judged("citation", printed.place, joint, "holds")
                return
            yield _member(paper, printed, joint, numbers[1])
            return
        if _among(members[one], wanted[1]):
            yield _member(paper, printed, joint, numbers[0])
            return
    yield Judged("citation", printed.place, joint, "undecided", "no member is one of the bounds")


def _among(one: Form, found: list[Form]) -> bool:
    return any(one.terms == other.terms for other in found)


def _member(paper: Paper, printed: Sentence, joint: str, number: str) -> Judged:
    title = f"one member is not the bound of ({number}), and the other one is that of the other relation"
    evidence = (f"({number}): {to_text_of(paper.numbered[number])}", f"printed: {to_text_of(printed)}")
    defect = Defect("citation", printed.place, title, "local slip", printed.latex, evidence, unit=printed.unit)
    return Judged("citation", printed.place, joint, "refuted", title, defect)


def _sides(paper: Paper, clause: Clause) -> Iterator[Judged]:
    """``where we use (5a) in <=``: the sum that the step takes away is bounded from the needed side."""
    for step in attributed(clause):
        cited = [paper.numbered[n] for n in numbered_in(step.words) if n in paper.numbered]
        if len(cited) == 1 and cited[0] is not step.printed and step.word in (*UPPER, *LOWER):
            number = cited[0].read.formula.number
            yield from _side(step.printed, step.left, step.word, step.right, cited[0], number)


def _side(
    printed: Sentence, left: tree.Node, word: str, right: tree.Node, cited: Sentence, number: str
) -> Iterator[Judged]:
    try:
        terms = form_of(left).terms
    except Formless:
        return
    kept = {_sum(part) for part in right.walk()}
    for part in left.walk():
        core = _sum(part)
        if core is None or core in kept:
            continue
        factors = {c > 0 for m, c in terms.items() for n, e in m if n == to_text(part) and e[0] > 0}
        ways = {b.op in UPPER for b in _of_sum(cited, core)}
        if len(factors) != 1 or len(ways) != 1:
            continue
        needed = factors.pop() == (word in UPPER)
        joint = f"the side from which ({number}) bounds {to_text(part)}"
        if ways.pop() == needed:
            yield Judged("citation", printed.place, joint, "holds")
            continue
        need = "an upper" if needed else "a lower"
        title = f"the step needs {need} bound of {to_text(part)}, and ({number}) bounds it from the other side"
        evidence = (f"({number}): {to_text_of(cited)}", f"here: {to_text(left)} {word} {to_text(right)}")
        defect = Defect("citation", printed.place, title, "wording", printed.latex, evidence, unit=printed.unit)
        yield Judged("citation", printed.place, joint, "refuted", title, defect)


def _sum(node: tree.Node) -> tree.Node | None:
    """The terms of a sum with its running letter renamed; None of what is no sum."""
    span = binder(node) if isinstance(node, tree.Call) and node.function == "sum" else None
    if span is None:
        return None
    assert isinstance(node, tree.Call)
    return substitute(node.arguments[0], {span[0]: tree.Letter("_")})


def _of_sum(cited: Sentence, core: tree.Node) -> Iterator[Bounded]:
    """Neighbours of a cited chain of which the first has the sum and positive factors beside it alone."""
    for chain in cited.chains():
        for left, relation, right in chain.links():
            for side, other, flip in ((left, right, False), (right, left, True)):
                if relation.word not in (*UPPER, *LOWER) or any(_sum(p) is not None for p in other.walk()):
                    continue
                if any(_sum(p) == core for p in side.walk()) and not isinstance(side, tree.Add):
                    op = tree.MIRRORED[relation.word] if flip else relation.word
                    yield Bounded(side, op, other)

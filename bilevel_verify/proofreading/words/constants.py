"""Constants of functions in words and formulas: ``h is C-Lipschitz``, ``|h(x) - h(y)| <= C |x - y|``.

A bound of the derivative is one, too. Two constants of one property of one function that have the same letters and
differ are told where they stand right after each other; elsewhere a paper may give a better and a simpler one.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from bilevel_verify.language import to_text, tree
from bilevel_verify.proofreading.defect import Defect
from bilevel_verify.proofreading.joints.carrying import to_text_of
from bilevel_verify.proofreading.joints.clauses import HOLE, clauses
from bilevel_verify.proofreading.joints.forms import Formless, form_of
from bilevel_verify.proofreading.joints.judged import Judged
from bilevel_verify.proofreading.source import Paper, Sentence

SPOKEN = re.compile(
    rf"({HOLE})\s+(?:is|are)\s+(?:also\s+)?({HOLE})\s*-\s*(Lipschitz|strongly[- ]convex|smooth)(?! gradient)", re.I
)
NEAR = 3
"""Formulas between two places that are about one thing."""
NORMS = ("norm", "norm_2", "abs")


@dataclass(frozen=True, slots=True)
class _Fact:
    subject: str
    sort: str
    value: tree.Node
    sentence: Sentence


def spoken_joints(paper: Paper) -> Iterator[Judged]:
    """Every pair of constants of one property of one function."""
    facts = [*_said(paper), *_printed(paper)]
    facts.sort(key=lambda fact: fact.sentence.read.formula.n)
    for place, one in enumerate(facts):
        for other in facts[place + 1 :]:
            if (one.subject, one.sort) == (other.subject, other.sort) and one.value != other.value:
                yield from _compared(one, other)


def _compared(one: _Fact, other: _Fact) -> Iterator[Judged]:
    near = other.sentence.read.formula.n - one.sentence.read.formula.n <= NEAR
    strong = one.sort.startswith("strongly")
    joint = f"constants of {one.subject} ({one.sort})"
    try:
        first, second = form_of(one.value), form_of(other.value)
    except Formless:
        return
    hidden = first.order or second.order or tree.letters(one.value) != tree.letters(other.value)
    if hidden or first.terms == second.terms:
        return
    if not (near or strong):
        yield Judged("citation", other.sentence.place, joint, "undecided", "in different places")
        return
    there = f"{to_text(one.value)}-{one.sort} at {one.sentence.place}"
    title = f"{one.subject} is {to_text(other.value)}-{one.sort} here, and {there}"
    evidence = (f"{one.sentence.place}: {to_text_of(one.sentence)}", f"here: {to_text_of(other.sentence)}")
    defect = Defect("meaning", other.sentence.place, title, "changes a constant or a rate", other.sentence.latex,
                    evidence, f"spoken {joint}", other.sentence.unit)  # fmt: skip
    yield Judged("citation", other.sentence.place, joint, "refuted", title, defect)


def _said(paper: Paper) -> Iterator[_Fact]:
    """``h is C-Lipschitz`` in words."""
    for clause in clauses(paper):
        for said in SPOKEN.finditer(clause.words):
            place = clause.words[: said.start(1)].count(HOLE)
            about, value = clause.formulas[place], clause.formulas[place + 1]
            nodes = [c.members[0] for c in value.chains() if len(c.members) == 1]
            if len(nodes) == 1:
                yield _Fact(_subject(about), said[3].lower().replace("-", " "), nodes[0], value)


def _subject(sentence: Sentence) -> str:
    nodes = [c.members[0] for c in sentence.chains() if len(c.members) == 1]
    if len(nodes) == 1 and isinstance(nodes[0], tree.Call):
        return nodes[0].function
    return re.sub(r"\\[,!;]|\\(?:bm|mathbf|left|right)\b|[\s{}]", "", sentence.latex)


def _printed(paper: Paper) -> Iterator[_Fact]:
    """Lipschitz constants in formulas."""
    for sentence in paper.sentences:
        for chain in sentence.chains():
            for left, relation, right in chain.links():
                if relation.word in ("<=", "<") and isinstance(left, tree.Call) and left.function in NORMS:
                    found = _lipschitz(left.arguments[0], right)
                    if found is not None:
                        yield _Fact(found[0], "lipschitz", found[1], sentence)


def _lipschitz(inner: tree.Node, right: tree.Node) -> tuple[str, tree.Node] | None:
    match inner:
        case tree.Call(function=name, arguments=(tree.Letter(),)) if name.startswith("grad_"):
            return name.removeprefix("grad_"), right
        case tree.Add(terms=(tree.Call(function=f, arguments=(tree.Letter() as a,)), tree.Negate(operand=tree.Call(
            function=g, arguments=(tree.Letter() as b,))))) if f == g:  # fmt: skip
            factors = right.factors if isinstance(right, tree.Multiply) else ()
            distance = tree.Add((a, tree.Negate(b)))
            if factors and any(factors[-1] == tree.Call(norm, (distance,)) for norm in NORMS):
                return f, factors[0] if len(factors) == 2 else tree.Multiply(factors[:-1])
    return None

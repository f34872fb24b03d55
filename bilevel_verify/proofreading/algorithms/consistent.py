"""Lines of one algorithm against each other: a step away from a minimiser, a residual that is updated otherwise.

An algorithm that begins with ``r_0 = A q_0 - b`` and steps ``q`` and ``r`` keeps ``r = A q - b`` if the step of ``r``
is ``A`` times that of ``q``. A step ``u + c (s - u)`` goes to ``s``, which is a minimiser in the same algorithm.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import product

from bilevel_verify.language import to_text, tree
from bilevel_verify.latex.statements import EQUATES
from bilevel_verify.proofreading.algorithms.reading import SLIP
from bilevel_verify.proofreading.defect import Defect
from bilevel_verify.proofreading.joints.nearly import Step
from bilevel_verify.proofreading.names.occurrences import shift_of, whole
from bilevel_verify.proofreading.source import Paper, Sentence
from bilevel_verify.theorems.rewrite import negated, rebuild

MINIMISES = ("argmin",)
Line = tuple[Sentence, tree.Node, tree.Node]
Entry = tuple[Sentence, tree.Index, tree.Node]


def consistency_defects(paper: Paper) -> Iterator[Defect]:
    """Every algorithm of a paper, its assignments in order."""
    table: dict[str, list[Line]] = {}
    for sentence in paper.sentences:
        if sentence.read.formula.kind == "algorithm-line":
            for chain in sentence.chains():
                if len(chain.members) == 2 and chain.relations and chain.relations[0].word in EQUATES:
                    left, right = chain.members
                    table.setdefault(sentence.unit, []).append((sentence, left, right))
    for lines in table.values():
        yield from _away(lines)
        yield from _residuals(paper, [(s, left, v) for s, left, v in lines if isinstance(left, tree.Index)])


def _away(lines: Sequence[Line]) -> Iterator[Defect]:
    """``u - c (s - u)`` where the algorithm sets ``s`` to a minimiser."""
    aims = {left for _, left, right in lines if isinstance(right, tree.Call) and right.function in MINIMISES}
    for sentence, left, right in lines:
        match right:
            case tree.Add(terms=(tree.Index(base=base) as start, tree.Negate(operand=tree.Multiply(factors=factors)))):
                aim = _aim(factors[-1], start)
                if isinstance(left, tree.Index) and left.base == base and aim in aims:
                    title = f"the step goes away from {to_text(aim)}, which is a minimiser"
                    yield Defect("test", sentence.place, title, SLIP, sentence.latex, unit=sentence.unit,
                                 cause=f"{title} {sentence.unit}")  # fmt: skip


def _aim(factor: tree.Node, start: tree.Node) -> tree.Node | None:
    """``s`` of a difference ``s - u``."""
    match factor:
        case tree.Add(terms=(aim, tree.Negate(operand=point))) if point == start:
            return aim
    return None


def _residuals(paper: Paper, lines: Sequence[Entry]) -> Iterator[Defect]:
    """Two sequences that are tied at the start, and stepped so that one sign breaks the tie."""
    for (_, first, value), (_, one, step), (other, two, moved) in product(lines, repeat=3):
        starts = first.base == two.base and one.base != two.base and all(whole(i) == 0 for i in first.indices)
        start = next((p for p in value.walk() if isinstance(p, tree.Index) and p.base == one.base), None)
        if not starts or start is None or start.indices != first.indices or _index(one) is None:
            continue
        if _index(one) != _index(two) or not isinstance(value, tree.Add):
            continue
        here = tree.Index(one.base, (tree.Letter(str(_index(one))),))
        if here not in set(step.walk()):
            continue
        before = tree.Index(two.base, here.indices)
        ahead, now = (_put(value, start, point) for point in (step, here))
        for turned in _turned(moved, before):
            done = Step(paper.notation, (), ahead, _stepped(moved, before, now))
            if not done.equal and done.choices and done.closed_by(_stepped(turned, before, now), False):
                title = (
                    f"the step of {two.base} does not keep {to_text(before)} = {to_text(now)}, with which it begins; "
                    f"with another sign it does"
                )
                yield Defect("test", other.place, title, SLIP, other.latex, unit=other.unit,
                             cause=f"kept {two.base} {other.unit}")  # fmt: skip
                return


def _index(entry: tree.Index) -> str | None:
    """The letter k of an entry with the index k + 1."""
    if len(entry.indices) != 1 or len(names := tree.letters(entry.indices[0])) != 1:
        return None
    name = next(iter(names))
    return name if shift_of(entry.indices[0], name) == 1 else None


def _turned(moved: tree.Node, before: tree.Index) -> Iterator[tree.Node]:
    """A step with the sign of one term changed, that of the entry before it left."""
    for place, term in enumerate(moved.terms if isinstance(moved, tree.Add) else ()):
        if term != before:
            assert isinstance(moved, tree.Add)
            yield tree.Add((*moved.terms[:place], negated(term), *moved.terms[place + 1 :]))


def _stepped(moved: tree.Node, before: tree.Index, now: tree.Node) -> tree.Node:
    """A step from a point: the entry before it is that point, where it stands alone."""
    terms = moved.terms if isinstance(moved, tree.Add) else (moved,)
    return tree.Add(tuple(now if term == before else term for term in terms))


def _put(node: tree.Node, entry: tree.Index, value: tree.Node) -> tree.Node:
    return value if node == entry else rebuild(node, lambda part: _put(part, entry, value))

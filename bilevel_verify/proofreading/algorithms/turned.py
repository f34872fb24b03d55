"""Lines that go the wrong way: a loop that ends far from its accuracy, a restart while nothing has moved, a step up.

A loop that compares a norm with an accuracy ends where the norm is small. A restart that watches a sum of steps comes
when the sum is large, since it is empty at first. Steps against the gradient and momentum have one sign in a paper.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import prod

from bilevel_verify.language import to_text, tree
from bilevel_verify.language.binding import binder
from bilevel_verify.latex.grammar.derivatives import split_name
from bilevel_verify.proofreading.algorithms.reading import BREAKS, SLIP, Algorithm
from bilevel_verify.proofreading.defect import Defect
from bilevel_verify.proofreading.joints.clauses import clauses
from bilevel_verify.proofreading.names.ends import linear_form
from bilevel_verify.proofreading.names.occurrences import shift_of, whole
from bilevel_verify.proofreading.source import Paper, Sentence
from bilevel_verify.theorems import algorithm as script

ACCURACY = {"eps", "epsilon"}
SMALL, LARGE = ("<", "<="), (">", ">=")
NORMS = ("norm", "norm_2", "dual_norm")
CLIMBS = re.compile(r"\b(?:ascent|ascend\w*|maximi[sz]\w+|concave|mini-?max|saddle)\b", re.I)
FALLS = re.compile(r"\b(?:descent|minimi[sz]\w+|decreas\w+|lowers the function|function falls|stationary)\b", re.I)
PUSHES = re.compile(r"\b(?:momentum|accelerat\w+|inertia\w*|extrapolat\w+|heavy[- ]ball)\b", re.I)


def turned_defects(paper: Paper, algorithms: Sequence[Algorithm]) -> Iterator[Defect]:
    """Tests that are turned, steps along the gradient, momentum backwards."""
    sums = frozenset(_sums(paper))
    for algorithm in algorithms:
        for label, title, grade in _tests(algorithm.program, sums):
            where = f"line {label} of {algorithm.name}" if label else algorithm.name
            yield Defect("test", where, title, grade, unit=algorithm.id, cause=f"{algorithm.id} {title}")
    yield from _steps(paper)
    yield from _means(paper)


def _means(paper: Paper) -> Iterator[Defect]:
    """Lines of algorithms that divide a sum by one more or one less than the number of its terms."""
    for sentence in (s for s in paper.sentences if s.read.formula.kind == "algorithm-line"):
        for part in (p for node in sentence.nodes() for p in node.walk() if isinstance(p, tree.Multiply)):
            match part.factors:
                case (tree.Divide(numerator=tree.Number(value=1), denominator=by), tree.Call(function="sum") as total):
                    if _off_by_one(by, total):
                        title = f"the mean divides by {to_text(by)}, and its sum has another number of terms"
                        yield Defect("index", sentence.place, title, SLIP, sentence.latex, unit=sentence.unit,
                                     cause=f"{title} {sentence.unit}")  # fmt: skip


def _off_by_one(by: tree.Node, total: tree.Call) -> bool:
    """Whether a number is one more or one less than that of the terms of a sum."""
    span = binder(total)
    terms = linear_form(tree.Add((span[2], tree.Negate(span[1])))) if span is not None else None
    asked = linear_form(by)
    if terms is None or asked is None:
        return False
    off = {n: asked.get(n, 0) - terms.get(n, 0) - (n == "") for n in {*asked, *terms, ""}}
    return abs(off.pop("")) == 1 and not any(off.values())


def _sums(paper: Paper) -> Iterator[str]:
    """Sequences that the paper defines as sums of norms up to their index: ``S_k = sum_{i <= k} |x_i - x_{i-1}|^2``."""
    for left, right in (e for s in paper.sentences for c in s.chains() if (e := c.equation) is not None):
        if isinstance(left, tree.Index) and any(_adds_up(right, name) for name in tree.letters(left.indices[-1])):
            yield left.base


def _tests(program: script.Program, sums: frozenset[str]) -> Iterator[tuple[str, str, str]]:
    for statement in program.walk():
        if isinstance(statement, script.While):
            for size, op, bound in _compared(statement.test):
                if op in SMALL and _is_accuracy(size, bound):
                    yield statement.label, _title(f"while {to_text(statement.test)}", size, bound), BREAKS
        if isinstance(statement, script.If):
            ends = any(isinstance(s, script.Break | script.Return) for s in statement.body)
            zeros = [s for s in statement.body if isinstance(s, script.Assign) and whole(s.value) == 0]
            back = {t.name for s in zeros for t in s.targets if isinstance(t, tree.Letter)}
            for size, op, bound in _compared(statement.test):
                text = to_text(statement.test)
                if ends and op in LARGE and _is_accuracy(size, bound):
                    yield statement.label, _title(f"until {text}", size, bound), BREAKS
                elif ends and op in SMALL and _is_decrease(size, bound):
                    yield (
                        statement.label,
                        f"the loop ends if {text}: where the decrease is large, not where it is small",
                        BREAKS,
                    )
                elif op in SMALL and any(_grows(size, name, sums) and not _grows(bound, name, sums) for name in back):
                    title = (
                        f"the restart comes if {text}: as long as the steps add up to little, not when they do to much"
                    )
                    yield statement.label, title, SLIP


def _title(said: str, size: tree.Node, bound: tree.Node) -> str:
    return (
        f"the loop runs {said}: it ends where {to_text(size)} is large beside {to_text(bound)}, not where it is small"
    )


def _compared(test: tree.Node) -> Iterator[tuple[tree.Node, str, tree.Node]]:
    """Both ways to read every comparison of a test; of alternatives each."""
    match test:
        case tree.Compare(operands=(left, right), operators=(op,)):
            yield left, op, right
            yield right, tree.MIRRORED.get(op, op), left
        case tree.Not(operand=tree.Compare(operands=(left, right), operators=(op,))) if op in tree.NEGATED:
            yield from _compared(tree.Compare((left, right), (tree.NEGATED[op],)))
        case tree.Logical(operands=parts):
            for part in parts:
                yield from _compared(part)


def _is_accuracy(size: tree.Node, bound: tree.Node) -> bool:
    """Whether one side is made of norms and the other one of an accuracy."""
    normed = any(isinstance(p, tree.Call) and p.function in NORMS for p in size.walk())
    return normed and not tree.letters(size) & ACCURACY and _accurate(bound) and not isinstance(bound, tree.Negate)


def _accurate(bound: tree.Node) -> bool:
    parts = list(bound.walk())
    plain = not any(isinstance(p, tree.Index) or (isinstance(p, tree.Call) and p.function in NORMS) for p in parts)
    return plain and bool(tree.letters(bound) & ACCURACY)


def _is_decrease(size: tree.Node, bound: tree.Node) -> bool:
    return isinstance(bound, tree.Negate) and _accurate(bound) and not tree.letters(size) & ACCURACY


def _grows(node: tree.Node, counter: str, sums: frozenset[str]) -> bool:
    """Whether a sum of norms up to a counter stands in it, written out or by its name."""
    named = (p for p in node.walk() if isinstance(p, tree.Index) and p.base in sums)
    return _adds_up(node, counter) or any(counter in tree.letters(p.indices[-1]) for p in named)


def _adds_up(node: tree.Node, counter: str) -> bool:
    for part in node.walk():
        if isinstance(part, tree.Call) and part.function == "sum" and (span := binder(part)) is not None:
            normed = any(isinstance(p, tree.Call) and p.function in NORMS for p in part.arguments[0].walk())
            if normed and counter in tree.letters(span[2]):
                return True
    return False


GRADIENT = re.compile(r"(?:(?:hat|tilde|bar)_)?grad_")


@dataclass(frozen=True, slots=True)
class _Step:
    """A step from an entry to another one: the function of its gradient (empty: momentum), the sign, where."""

    function: str
    sign: int
    sentence: Sentence
    term: tree.Node
    start: tree.Index
    end: tree.Index


def _steps(paper: Paper) -> Iterator[Defect]:
    words = " ".join(p.words for p in paper.passages)
    found = [step for sentence in paper.sentences for step in _of(sentence)]
    gradients = [s for s in found if s.function]
    ups = [s for s in gradients if s.sign > 0 and not any(_tries(s, o) or _plays(s, o, paper) for o in gradients)]
    for step in ups:
        others = [s for s in gradients if s is not step and s.function == step.function]
        alone = not CLIMBS.search(words) and len(ups) == 1 and (len(gradients) > 1 or FALLS.search(words) is not None)
        alone = alone or (not others and _falls(paper, step.sentence.unit))
        if alone or (others and all(s.sign < 0 for s in others)):
            other = next((s for s in [*others, *gradients] if s.sign < 0), None)
            against = "the text minimises" if other is None else f"{other.sentence.place} goes against it"
            yield _told(step, f"the step goes along the gradient, + {to_text(step.term)}; {against}")
    for step in found:
        if not step.function and step.sign < 0 and PUSHES.search(words):
            yield _told(step, f"the momentum {to_text(step.term)} points back to the point before")


def _falls(paper: Paper, unit: str) -> bool:
    """Whether the sentences that name an algorithm speak of minimising, and none of them of anything else."""
    names = {p.name for p in paper.passages if p.id == unit and p.kind == "algorithm" and p.name}
    said = [c.words for c in clauses(paper) if names & {*c.named}]
    return any(FALLS.search(words) for words in said) and not any(CLIMBS.search(words) for words in said)


def _tries(step: _Step, other: _Step) -> bool:
    """Whether a step only goes to the place of the gradient of another one, which begins where it does."""
    places = [p for p in other.term.walk() if isinstance(p, tree.Index)]
    return step.end.base != step.start.base and other.start == step.start and step.end in places


def _plays(step: _Step, other: _Step, paper: Paper) -> bool:
    """Whether one block of a function goes up and another one of it down: a saddle point is looked for."""
    one, two = (split_name(s.function, paper.notation.functions) for s in (step, other))
    if (
        one is None
        or two is None
        or not one[0].blocks
        or not two[0].blocks
        or step.sentence.unit != other.sentence.unit
    ):
        return False
    return one[1] == two[1] and one[0].blocks != two[0].blocks and step.sign * other.sign < 0


def _told(step: _Step, title: str) -> Defect:
    sentence = step.sentence
    return Defect(
        "test", sentence.place, title, SLIP, sentence.latex, unit=sentence.unit, cause=f"{title} {sentence.unit}"
    )


def _of(sentence: Sentence) -> Iterator[_Step]:
    for chain in sentence.chains():
        words = [r.word for r in chain.relations]
        if len(words) != 1 or words[0] not in ("==", "<-", ":=") or len(chain.members) != 2:
            continue
        left, right = chain.members
        if not isinstance(left, tree.Index) or not isinstance(right, tree.Add):
            continue
        firsts = [t for t in right.terms if isinstance(t, tree.Index)]
        if len(firsts) != 1:
            continue
        start, along = firsts[0], []
        for term in right.terms:
            sign, inner = (-1, term.operand) if isinstance(term, tree.Negate) else (1, term)
            factors = inner.factors if isinstance(inner, tree.Multiply) else ()
            last = factors[-1] if factors else None
            if isinstance(last, tree.Call) and GRADIENT.match(last.function):
                if start.base == left.base or start in {*last.walk()}:  # m + c grad f(x) moves no point
                    along.append((last.function, sign, inner))
            elif isinstance(last, tree.Add) and sentence.read.formula.kind == "algorithm-line":
                turn = _back(start, last)
                if turn:
                    yield _Step("", sign * turn, sentence, inner, start, left)
        yield from (_Step(name, sign, sentence, inner, start, left) for name, sign, inner in _net(along))


def _net(along: list[tuple[str, int, tree.Node]]) -> Iterator[tuple[str, int, tree.Node]]:
    """The gradients of a step; of one with both signs, ``- 2 c g_t + c g_{t-1}``, of which there is more."""
    for name in dict.fromkeys(function for function, _, _ in along):
        terms = [one for one in along if one[0] == name]
        if len({sign for _, sign, _ in terms}) == 1:
            yield from terms
            continue
        sizes: dict[tuple[tree.Node, ...], Fraction] = {}
        for _, sign, inner in terms:
            factors = inner.factors[:-1] if isinstance(inner, tree.Multiply) else ()
            numbers = [value for f in factors if (value := tree.rational(f)) is not None]
            rest = tuple(f for f in factors if tree.rational(f) is None)
            sizes[rest] = sizes.get(rest, Fraction(0)) + sign * prod(numbers, start=Fraction(1))
        if len(sizes) == 1 and (total := next(iter(sizes.values()))):
            sign = 1 if total > 0 else -1
            yield name, sign, next(inner for _, own, inner in terms if own == sign)


def _back(first: tree.Index, difference: tree.Add) -> int:
    """1 where a difference points from the entry before to the entry from which the step starts, -1 the other way."""
    match difference.terms:
        case (tree.Index() as one, tree.Negate(operand=tree.Index() as other)) if one.base == other.base == first.base:
            if first not in (one, other) or len(one.indices) != len(other.indices):
                return 0
            moved = [(a, b) for a, b in zip(one.indices, other.indices, strict=True) if a != b]
            if len(moved) != 1:
                return 0
            names = tree.letters(moved[0][0]) & tree.letters(moved[0][1])
            shifts = [shift_of(i, name) for name in names for i in moved[0]]
            if len(shifts) == 2 and None not in shifts:
                newer = 1 if shifts[0] > shifts[1] else -1  # type: ignore[operator]
                start = one if newer > 0 else other
                return newer if first == start else 0
    return 0

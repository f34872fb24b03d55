"""``Multiplying (5) by c gives D``, ``we sum (5) over k``: D is about the multiple of (5), or about what (5) is about.

Told is a citation whose multiple is not about the left side of D, where that of another relation before it is, term by
term; a bound that is smaller than the multiple by a number, where the sentence uses nothing else; a relation that is
summed and has, with all that its letters are defined by, nothing of what D sums, where another relation has all of it.
Where an entry has no definition in a formula, words may define it, and nothing is said.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from fractions import Fraction

from bilevel_verify.language import to_text, tree
from bilevel_verify.language.binding import binder
from bilevel_verify.manuscript.opaque import kind_in
from bilevel_verify.proofreading.defect import Defect
from bilevel_verify.proofreading.following.reaching import definitions, reach, subjects
from bilevel_verify.proofreading.joints.carrying import UPPER, Bounded, bounds_of, to_text_of
from bilevel_verify.proofreading.joints.clauses import HOLE, Clause, clauses
from bilevel_verify.proofreading.joints.forms import Formless, Monomial, form_of, product
from bilevel_verify.proofreading.joints.judged import Judged
from bilevel_verify.proofreading.joints.quoting import over
from bilevel_verify.proofreading.source import Paper, Sentence

N = r"\((\d+[a-z]?)\)"
MULTIPLE = re.compile(
    rf"\b(?P<how>multipl\w+|divi\w+)\s+(?:of\s+|both sides of\s+)?{N}\s+by\s+{HOLE}\s*,?\s*(?:we\s+)?"
    rf"(?:gives?|yields?|get|obtain|have|is)\s*,?\s*(?:\((?P<result>\d+[a-z]?)\)|{HOLE})",
    re.I,
)
MORE = re.compile(r"\b(?:since|as|because|us\w+|with|where|if|for|by|from)\b", re.I)
"""Words of a sentence beside those of the multiple: something else may be used."""
SUMMED = re.compile(rf"\b(?:sum(?:s|ming)?|the sum of)\s+(?:up\s+)?{N}\s+(?:over|from|for)\b", re.I)


def worked_joints(paper: Paper) -> Iterator[Judged]:
    """Every relation that a sentence multiplies, divides or sums."""
    for clause in clauses(paper):
        for said in MULTIPLE.finditer(clause.words):
            cited = paper.numbered.get(said[2])
            by = clause.formulas[clause.words[: said.end()].count(HOLE) - (1 if said["result"] else 2)]
            result = (
                paper.numbered.get(said["result"] or "") or clause.formulas[clause.words[: said.end()].count(HOLE) - 1]
            )
            if cited is not None and cited is not result and by is not result:
                more = MORE.search(clause.words[: said.start()] + clause.words[said.end() :])
                up, plain = said["how"].lower().startswith("m"), more is None
                yield from _multiplied(paper, clause, cited, by, result, up, plain)
        said_sum = SUMMED.search(clause.words)
        cited = paper.numbered.get(said_sum[1]) if said_sum is not None else None
        shown = [f for f in clause.formulas if f.read.formula.kind == "display"]
        if cited is not None and shown and cited is not shown[0]:
            yield from _summed(paper, shown[0], cited)


def _multiplied(
    paper: Paper, clause: Clause, cited: Sentence, by: Sentence, result: Sentence, up: bool, plain: bool
) -> Iterator[Judged]:
    members = [m for chain in by.chains() for m in chain.members]
    goals = bounds_of(result)
    if not members or not goals or any(r.word != "==" for chain in by.chains() for r in chain.relations):
        return
    factors = [m if up else tree.Divide(tree.Number(Fraction(1)), m) for m in members]
    goal, number = goals[-1], cited.read.formula.number
    joint = f"({number}) {'times' if up else 'divided by'} {to_text(members[-1])} and {to_text_of(result)}"[:160]
    try:
        right = _terms(goal.right)
        mine = [b for b in bounds_of(cited) if any(_same(b, goal, factor) for factor in factors)]
        ends = [_terms(b.right, factor) for b in mine for factor in factors]
        whole = any(_moved(b, goal, factor) for b in bounds_of(cited) for factor in factors)
    except Formless as reason:
        yield Judged("citation", result.place, joint, "undecided", str(reason))
        return
    if right in ends or whole:
        yield Judged("citation", result.place, joint, "holds")
    elif plain and ends and (ratio := _ratio(right, ends[-1])) is not None and (ratio < 1) == (goal.op in UPPER):
        title = f"({number}) gives {1 / ratio} times the bound that is printed"
        yield _refuted(result, joint, title, (cited, result))
    elif not mine and not _hidden(paper, cited):
        at = clause.passage.formulas[0].read.formula.n if not clause.formulas else clause.formulas[-1].read.formula.n
        before = {k: s for k, s in paper.numbered.items() if s.read.formula.n <= at and s not in (cited, result)}
        meant = [k for k, s in before.items() for b in bounds_of(s)
                 if any(_same(b, goal, factor) or _moved(b, goal, factor) for factor in factors)]  # fmt: skip
        if meant:
            title = f"a multiple of ({number}) is not about the left side of what comes out; that of ({meant[-1]}) is"
            yield _refuted(result, joint, title, (cited, paper.numbered[meant[-1]], result))


def _same(one: Bounded, goal: Bounded, factor: tree.Node) -> bool:
    """Whether a multiple of a bound is about the left side of another one, from the same side."""
    try:
        return one.op == goal.op and _terms(one.left, factor) == _terms(goal.left)
    except Formless:
        return False


def _moved(one: Bounded, goal: Bounded, factor: tree.Node) -> bool:
    """Whether a multiple of a relation is another one with its terms on other sides."""
    try:
        want, got = (over(b).terms for b in (one, goal))
        return (one.op == goal.op) and dict(product(want, _terms(factor))) == dict(got)
    except Formless:
        return False


def _terms(side: tree.Node, factor: tree.Node | None = None) -> dict[Monomial, Fraction]:
    form = form_of(side if factor is None else tree.Multiply((factor, side)))
    if form.order:
        raise Formless("an order")
    return dict(form.terms)


def _ratio(one: dict[Monomial, Fraction], other: dict[Monomial, Fraction]) -> Fraction | None:
    """The positive number that a sum is of another one, if it is a multiple of it."""
    ratios = {one[m] / c for m, c in other.items()} if one.keys() == other.keys() else set()
    return ratios.pop() if len(ratios) == 1 and min(ratios) > 0 else None


def _summed(paper: Paper, shown: Sentence, cited: Sentence) -> Iterator[Judged]:
    first = next(shown.nodes(), None)
    if first is None:  # a display that was not read
        return
    bodies = [p.arguments[0] for p in first.walk() if isinstance(p, tree.Call) and p.function == "sum" and binder(p)]
    needed = set().union(*(subjects(body) for body in bodies if _has_entry(body)))
    number = cited.read.formula.number
    joint = f"what is summed in {to_text_of(shown)} and ({number})"[:160]
    if not needed or not cited.read.statements:
        return
    have = reach(paper, cited.nodes(), numbers=True)
    about = subjects(*cited.nodes()) | have
    short = {n for a, b in definitions(paper) for n in subjects(a) & needed if subjects(b) & about}
    if needed <= have | short:
        yield Judged("citation", shown.place, joint, "holds")
        return
    others = [k for k, s in paper.before(shown).items() if s is not cited and needed <= subjects(*s.nodes())]
    if not others or _hidden(paper, cited):
        yield Judged("citation", shown.place, joint, "undecided", "words may define what stands there")
        return
    lost = ", ".join(sorted(needed - have))
    title = f"({number}) is summed to a relation about {lost}; it has none of it, ({others[-1]}) has"
    yield _refuted(shown, joint, title, (cited, paper.numbered[others[-1]], shown))


def _has_entry(node: tree.Node) -> bool:
    return any(isinstance(p, tree.Index) for p in node.walk())


def _hidden(paper: Paper, sentence: Sentence) -> bool:
    """Whether an entry that is a number stands in a relation, and no equation says what it is."""
    known = {tree.name_of(left) for left, _ in definitions(paper)}
    entries = {p for node in sentence.nodes() for p in node.walk() if isinstance(p, tree.Index)}
    return any(kind_in(paper.notation, p) == "scalar" and p.base not in known for p in entries)


def _refuted(shown: Sentence, joint: str, title: str, relations: tuple[Sentence, ...]) -> Judged:
    evidence = tuple(f"({s.read.formula.number}): {to_text_of(s)}" for s in relations)
    defect = Defect("citation", shown.place, title, "wording", shown.latex, evidence, unit=shown.unit)
    return Judged("citation", shown.place, joint, "refuted", title, defect)

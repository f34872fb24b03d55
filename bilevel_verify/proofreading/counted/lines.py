"""``Subtracting the second line from the first proves (5)``: the two lines of the display before it, against (5).

Of a chain its ends count, so that nothing between them need be understood. Inner products are multiplied out. Told
where one term alone of the difference has another factor than in the relation.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from fractions import Fraction

from bilevel_verify.drafting.relations import row_groups
from bilevel_verify.errors import LatexError
from bilevel_verify.language import tree
from bilevel_verify.latex import read_latex
from bilevel_verify.proofreading.defect import Defect
from bilevel_verify.proofreading.joints.carrying import shown, to_text_of
from bilevel_verify.proofreading.joints.clauses import HOLE, clauses
from bilevel_verify.proofreading.joints.forms import Formless, Monomial, added, form_of
from bilevel_verify.proofreading.joints.judged import Judged
from bilevel_verify.proofreading.source import Paper, Sentence
from bilevel_verify.theorems.rewrite import rebuild

LINES = re.compile(
    r"\b(?:(?P<less>[Ss]ubtract(?:ing)?) the (?P<one>first|second) (?:line|row|equation|identity)"
    r" from the (?:first|second)(?: one| line| row)?|[Aa]dd(?:ing)? the two (?:lines|rows|equations|identities))"
    r" (?:gives|proves|yields|shows|is) \((?P<number>\d+(?:\.\d+)*)\)"
)
PRODUCTS = ("dot", "inner")


def line_joints(paper: Paper) -> Iterator[Judged]:
    """Every relation that is said to come out of the two lines of the display before the sentence."""
    for clause in clauses(paper):
        found = LINES.search(clause.words)
        target = paper.numbered.get(found["number"]) if found is not None else None
        if found is None or target is None or HOLE in clause.words[: found.start()]:
            continue
        ahead = _before(clause.passage.formulas, clause.formulas, clause.passage.words, clause.words)
        if ahead is not None:
            yield from _judged(paper, ahead, target, found)


def _before(every: tuple[Sentence, ...], mine: tuple[Sentence, ...], words: str, sentence: str) -> Sentence | None:
    """The display that ends right before a sentence."""
    flat = " ".join(words.split())
    at = flat.find(sentence[:30])
    last = every[flat[:at].count(HOLE) - 1] if at > 0 and HOLE in flat[:at] else None
    return last if last is not None and last not in mine and last.read.formula.kind == "display" else None


def _ends(paper: Paper, display: Sentence) -> list[tuple[tree.Node, tree.Node]]:
    """The first and the last member of every line, which are equal."""
    found = []
    for row in row_groups(display.latex):
        sides = [part.strip(" &.,\n") for part in row.split("=")]
        try:
            nodes = [read_latex(side, paper.notation).statements[0].members[0] for side in (sides[0], sides[-1])]
        except (LatexError, IndexError):
            return []
        plain = len(sides) > 1 and not re.search(r"\\(?:le|ge|neq|approx)q?(?![a-z])|[<>:]", row)
        found += [(nodes[0], nodes[1])] if plain else []
    return found


def _judged(paper: Paper, display: Sentence, target: Sentence, found: re.Match[str]) -> Iterator[Judged]:
    ends, aims = _ends(paper, display), list(target.chains())
    equal = bool(aims) and [r.word for r in aims[0].relations] == ["=="]
    if len(ends) != 2 or not equal:
        return
    sign = -1 if found["less"] else 1
    try:
        lines = [_side(*one) for one in ends]
        want = added([lines[0], {m: sign * c for m, c in lines[1].items()}])
        got = _side(*aims[0].members)
    except Formless:
        return
    joint = f"({target.read.formula.number}) and the two lines before it"
    turned = {m: -c for m, c in want.items()}
    if got in (want, turned):
        yield Judged("citation", target.place, joint, "holds")
        return
    for one in (want, turned):
        off = [m for m in one if one[m] != got.get(m)]
        if one.keys() == got.keys() and len(off) == 1:
            title = f"the lines give the factor {one[off[0]]} of {shown(off[0])}, and {got[off[0]]} is printed"
            evidence = (f"lines: {to_text_of(display)}", f"printed: {to_text_of(target)}")
            defect = Defect("citation", target.place, title, "local slip", target.latex, evidence, unit=target.unit)
            yield Judged("citation", target.place, joint, "refuted", title, defect)
            return


def _side(left: tree.Node, right: tree.Node) -> dict[Monomial, Fraction]:
    """The left side less the right one, in terms."""
    one, other = (form_of(_opened(node)).terms for node in (left, right))
    return added([one, {m: -c for m, c in other.items()}])


def _opened(node: tree.Node) -> tree.Node:
    """A formula with the inner products of sums as sums of inner products."""
    inner = rebuild(node, _opened)
    if not isinstance(inner, tree.Call) or inner.function not in PRODUCTS or len(inner.arguments) != 2:
        return inner
    parts = [_terms(argument) for argument in inner.arguments]
    found = [(a * b, tree.Call(inner.function, (u, v))) for a, u in parts[0] for b, v in parts[1]]
    terms = tuple(call if sign > 0 else tree.Negate(call) for sign, call in found)
    return terms[0] if len(terms) == 1 else tree.Add(terms)


def _terms(node: tree.Node) -> list[tuple[int, tree.Node]]:
    parts = node.terms if isinstance(node, tree.Add) else (node,)
    return [(-1, p.operand) if isinstance(p, tree.Negate) else (1, p) for p in parts]

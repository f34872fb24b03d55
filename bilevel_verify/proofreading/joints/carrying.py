"""``Substituting A = F into (37), we have (38)``: carried out letter for letter, and compared with the print."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction

from bilevel_verify.language import to_text, tree
from bilevel_verify.proofreading.defect import Defect
from bilevel_verify.proofreading.joints.clauses import HOLE, Clause, clauses, numbered_in
from bilevel_verify.proofreading.joints.forms import (
    SAMPLES,
    Exponent,
    Form,
    Formless,
    Monomial,
    added,
    form_of,
    product,
)
from bilevel_verify.proofreading.joints.judged import Judged
from bilevel_verify.proofreading.joints.shown import form_script
from bilevel_verify.proofreading.joints.ties import rewritten, ties_of
from bilevel_verify.proofreading.source import Paper, Sentence
from bilevel_verify.theorems.rewrite import substitute

PLUG = re.compile(r"\b(?:plug(?:ging|s)?|substitut(?:e|es|ing|ion)|insert(?:ing)?)\b", re.I)
BASE = re.compile(
    r"\b(?:into|in|for|to|on)\s+(?:the\s+)?(?:(?:above\s+)?(?:equation|inequality|bound)\s*)?\(?(\d+[a-z]?)\)?"
)
Ties = tuple[Monomial, ...]
UPPER, LOWER, EQUAL = ("<=", "<"), (">=", ">"), ("==", ":=")


@dataclass(frozen=True, slots=True)
class Bounded:
    """``left op right`` of a chain, from its first member to a later one."""

    left: tree.Node
    op: str
    right: tree.Node


def carried_joints(paper: Paper) -> Iterator[Judged]:
    """Every sentence that puts something into a numbered relation and prints what comes out."""
    by_number, ties = paper.numbered, ties_of(paper)
    for clause in clauses(paper):
        cue = PLUG.search(clause.words)
        if cue is None:
            continue
        places = [i for i, f in enumerate(clause.formulas) if _is_display(f) and len(clause.before(i)) > cue.end()]
        if not places:
            continue
        printed = clause.formulas[places[0]]
        said = clause.before(places[0])[cue.start() :]
        base = next((n for n in BASE.findall(said) if n in by_number), "")
        if base and base != printed.read.formula.number:
            yield _judged(clause, places[0], said, by_number, base, ties)


def _is_display(sentence: Sentence) -> bool:
    return sentence.read.formula.kind == "display"


def _judged(clause: Clause, place: int, said: str, by_number: Mapping[str, Sentence], base: str, ties: Ties) -> Judged:
    printed = clause.formulas[place]
    other = [n for n in numbered_in(said) if n != base and n in by_number]
    inline = clause.formulas[clause.before(place).count(HOLE) - said.count(HOLE) : place]
    premises = [*inline, *(by_number[n] for n in other)]
    joint = (
        f"{', '.join([*(to_text_of(s) for s in inline), *(f'({n})' for n in other)]) or 'the values'} put into ({base})"
    )
    try:
        start = bounds_of(by_number[base])[-1]
        want, used = carried(start, [b for s in premises for b in bounds_of(s)[-1:]])
        if not used:
            return Judged("citation", printed.place, joint, "undecided", "nothing that was read stands in the relation")
        sources = [(f"({base})", by_number[base]), *(("put in", s) for s in premises)]
        return _compared(printed, start, want, joint, sources, ties)
    except (Formless, IndexError) as reason:
        return Judged("citation", printed.place, joint, "undecided", str(reason) or "not read")


def to_text_of(sentence: Sentence) -> str:
    """A formula as the paper prints it, between dollar signs."""
    return f"${' '.join(sentence.latex.split())}$"


def bounds_of(sentence: Sentence) -> list[Bounded]:
    """What the chains of a formula say of their first members, the last of each chain last."""
    found = []
    for chain in sentence.chains():
        if chain.continues or len(chain.members) != len(chain.relations) + 1:
            continue
        op = "=="
        for relation, member in zip(chain.relations, chain.members[1:], strict=True):
            if relation.word not in (*UPPER, *LOWER, *EQUAL):
                break
            word = "==" if relation.word == ":=" else relation.word
            if {op, word} & {*UPPER} and {op, word} & {*LOWER}:
                break
            op = op if word == "==" else word
            found.append(Bounded(chain.members[0], op, member))
    return found


def carried(base: Bounded, premises: list[Bounded]) -> tuple[Form, bool]:
    """The right side with what the premises say put in, and whether anything was.

    A letter that a premise equates to a formula is replaced everywhere; another quantity only in terms of which it is a
    factor beside numbers and sizes, and where the premise bounds it in the needed direction.

    Raises
    ------
    Formless : a side is no sum of products.
    """
    values = {p.left.name: p.right for p in premises if isinstance(p.left, tree.Letter) and p.op == "=="}
    right = substitute(base.right, values)
    form, used = form_of(right), right != base.right
    for one in premises:
        if not (isinstance(one.left, tree.Letter) and one.op == "=="):
            changed = _with_bound(form, one, base.op)
            form, used = changed, used or changed.terms != form.terms
    return form, used


def _with_bound(form: Form, premise: Bounded, op: str) -> Form:
    """The terms that have the left side of a premise as a factor, with its right side in place of it."""
    left, right = form_of(premise.left).single, form_of(premise.right)
    if left is None or not left[0] or left[1] <= 0:
        return form
    parts: list[Mapping[Monomial, Fraction]] = []
    for monomial, factor in form.terms.items():
        part: Mapping[Monomial, Fraction] = {monomial: factor}
        if left[0] <= monomial and _allowed(op, premise.op, factor) and all(_is_size(n) for n, _ in monomial - left[0]):
            part = product({monomial - left[0]: factor / left[1]}, right.terms)
        parts.append(part)
    return Form(added(parts), form.order or right.order)


def _allowed(op: str, premise: str, factor: Fraction) -> bool:
    """Whether a bound of a quantity may replace it in a term with this factor."""
    if premise == "==":
        return True
    return op != "==" and (premise in UPPER) == ((op in UPPER) == (factor > 0))


def _is_size(atom: str) -> bool:
    return atom.startswith(("norm", "#", "abs(")) or atom.isidentifier()


def _compared(
    printed: Sentence, base: Bounded, want: Form, joint: str, sources: list[tuple[str, Sentence]], ties: Ties
) -> Judged:
    results = bounds_of(printed)
    if not results or to_text(results[0].left) != to_text(base.left):
        return Judged("citation", printed.place, joint, "undecided", "the printed result is about something else")
    differences = []
    for result in results:
        difference = differs(want, form_of(result.right), result.op, ties)
        if not difference:
            return Judged("citation", printed.place, joint, "holds")
        differences.append((result, difference))
    result, (plain, how) = differences[0]
    if not plain or result.op != base.op:
        return Judged("citation", printed.place, joint, "undecided", f"carried out it reads otherwise: {how}")
    title = f"this is not what {sources[0][0]} gives when it is carried out: {how}"
    evidence = (*(f"{name}: {to_text_of(s)}" for name, s in sources),
                f"printed: {to_text(result.left)} {result.op} {to_text(result.right)}")  # fmt: skip
    defect = Defect("citation", printed.place, title, "changes a constant or a rate", printed.latex, evidence,
                    unit=printed.unit)  # fmt: skip
    script = form_script(title, printed.place, want, form_of(result.right), "carried out", "printed")
    return Judged("citation", printed.place, joint, "refuted", how, defect, script)


def differs(want: Form, got: Form, op: str, ties: Ties = ()) -> tuple[bool, str] | None:
    """None where two forms agree; else whether the second is plainly not what the first gives, and how they differ.

    Of orders only the letters of the printed one count, and no factor. Plain are products of the same letters that
    differ in an exponent, unless ``ties`` rewrite one as the other, and sums of the same terms of which one has a
    smaller (in a lower bound: larger) factor.
    """
    if got.order or want.order:
        one, other = want.single, got.single
        if one is None or other is None:
            return (False, "sums inside an order") if want.terms != got.terms else None
        return _exponents(one[0], other[0], ties, hidden=True)
    if want.terms == got.terms:
        return None
    one, other = want.single, got.single
    if one is not None and other is not None:
        found = _exponents(one[0], other[0], ties, hidden=False)
        if found is not None:
            return found
    if want.terms.keys() != got.terms.keys():
        return False, "other terms"
    off = [m for m in want.terms if want.terms[m] != got.terms[m]]
    change = got.terms[off[0]] - want.terms[off[0]]
    worse = (change < 0 and op in UPPER) or (change > 0 and op in LOWER) or op == "=="
    text = f"the factor of {shown(off[0])} is {want.terms[off[0]]} and {got.terms[off[0]]} is printed"
    return len(off) == 1 and worse, text


def _exponents(one: Monomial, other: Monomial, ties: Ties, hidden: bool) -> tuple[bool, str] | None:
    how = exponents_differ(one, other, hidden)
    return None if how is None else (not rewritten(ties, one, other, hidden), how)


def exponents_differ(one: Monomial, other: Monomial, hidden: bool) -> str | None:
    """How the powers of two products differ, None if they agree; with ``hidden`` only letters of the second count."""
    first, second = dict(one), dict(other)
    zero: Exponent = (Fraction(0),) * SAMPLES
    names = second if hidden else {**first, **second}
    off = [n for n in names if first.get(n, zero) != second.get(n, zero) and not n.startswith("#")]
    return "; ".join(_differing(n, first.get(n, zero), second.get(n, zero)) for n in sorted(off)) if off else None


def _differing(name: str, want: Exponent, got: Exponent) -> str:
    if got == tuple(-e for e in want):
        return f"the exponent of {name} has the other sign"
    if len({*want}) == len({*got}) == 1:
        return f"{name} has the exponent {want[0]}, printed is {got[0]}"
    return f"the exponent of {name} is another one"


def exponent_text(exponent: Exponent) -> str:
    """A constant exponent as a number; one with letters by its value at the first sample point."""
    if len(set(exponent)) == 1:
        return str(exponent[0])
    return f"{exponent[0]} (at a point of its letters)"


def shown(monomial: Monomial) -> str:
    """A product in words."""
    return " ".join(n if set(e) == {Fraction(1)} else f"{n}^({exponent_text(e)})" for n, e in sorted(monomial)) or "1"

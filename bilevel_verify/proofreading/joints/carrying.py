"""``Substituting A = F into (37), we have (38)``: carried out letter for letter, and compared with the print."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
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
    tree_of,
)
from bilevel_verify.proofreading.joints.judged import Judged
from bilevel_verify.proofreading.joints.shown import form_script
from bilevel_verify.proofreading.joints.ties import Tie, rewritten, ties_of
from bilevel_verify.proofreading.source import Paper, Sentence
from bilevel_verify.theorems.rewrite import substitute

PLUG = re.compile(r"\b(?:plug(?:g?ing|s)?|substitut(?:e|es|ing|ion)|insert(?:ing)?|replac(?:e|es|ing))\b", re.I)
REPLACED = re.compile(r"\breplac(?:e|es|ing)\s*\x01[^\x01]*\bby\s*\x01", re.I)
"""``replace A in (20) by B``: the two formulas are a premise."""
BASE = re.compile(
    r"\b(?:into|in|for|to|on)\s+(?:the\s+)?(?:(?:above\s+)?(?:equation|inequality|bound)\s*)?\(?(\d+[a-z]?)\)?"
)
IT = re.compile(r"\binto\s+(?:it|this|the (?:above|last)\b[^\x01,]*)", re.I)
INTO = re.compile(r"\w+\s+(?:this |it )?(?:in)?to\b", re.I)
"""``Plugging into (8)``: what stands before it is put in."""
RESULTS = re.compile(r"\b(?:have|has|get|obtain|gives?|yields?|becomes?|find|see|follows)(?: that)?\s*[,:]?\s*\Z", re.I)
Ties = tuple[Tie, ...]
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
        places = [
            i for i, f in enumerate(clause.formulas) if _is_result(clause, i) and len(clause.before(i)) > cue.end()
        ]
        if not places:
            continue
        printed = clause.formulas[places[0]]
        said = clause.before(places[0])[cue.start() :]
        number = next((n for n in BASE.findall(said) if n in by_number), "")
        base = by_number.get(number)
        if base is None and IT.search(said):
            base = next(iter(_just_before(paper, printed, printed)), None)
        if base is not None and base is not printed:
            yield _judged(paper, clause, places[0], said, base, ties)


def _is_result(clause: Clause, place: int) -> bool:
    """Whether a formula is what comes out: a display, or a relation after ``we get``."""
    sentence = clause.formulas[place]
    if sentence.read.formula.kind == "display":
        return True
    return RESULTS.search(clause.before(place)) is not None and bool(bounds_of(sentence))


def _judged(paper: Paper, clause: Clause, place: int, said: str, base: Sentence, ties: Ties) -> Judged:
    by_number, printed = paper.numbered, clause.formulas[place]
    name = f"({base.read.formula.number})" if base.read.formula.number else "the formula before it"
    inline = clause.formulas[clause.before(place).count(HOLE) - said.count(HOLE) : place]
    cited = [by_number[n] for n in numbered_in(said) if n in by_number and by_number[n] is not base]
    words = ", ".join(to_text_of(s) if s in inline else f"({s.read.formula.number})" for s in (*inline, *cited))
    joint = f"{words or 'what stands before it'} put into {name}"
    alone = not (inline or cited) or INTO.match(said) is not None
    shown = [*(_just_before(paper, printed, base) if alone else []), *inline, *cited]
    premises = [b for s in shown for b in bounds_of(s)[-1:]]
    if REPLACED.search(said) and len(inline) == 2:
        pair = [list(s.nodes()) for s in inline]
        premises += [Bounded(pair[0][0], "==", pair[1][0])] if [len(p) for p in pair] == [1, 1] else []
    sources = [(name, base), *(("put in", s) for s in shown)]
    found = [_of_left(printed, base, premises, left, joint, sources, ties) for left in _lefts(printed)]
    worst = sorted(found, key=lambda j: ("refuted", "undecided", "holds").index(j.verdict))
    if not worst:
        return Judged("citation", printed.place, joint, "undecided", "no relation was read")
    if worst[0].verdict == "undecided" and cited != [printed]:
        return _meant(paper, printed, base, cited, premises, ties, joint) or worst[0]
    return worst[0]


def _meant(
    paper: Paper,
    printed: Sentence,
    base: Sentence,
    cited: list[Sentence],
    premises: list[Bounded],
    ties: Ties,
    joint: str,
) -> Judged | None:
    """The one relation before a result that gives what is printed, in the place of the base or of a cited premise."""
    found: list[tuple[Sentence, Sentence]] = []
    for other in (s for s in paper.before(printed).values() if s not in (base, *cited)):
        if _gives(printed, other, premises, ties):
            found.append((base, other))
        for one in cited:
            rest = [p for p in premises if p not in bounds_of(one)]
            if len(rest) < len(premises) and _gives(printed, base, [*rest, *bounds_of(other)[-1:]], ties):
                found.append((one, other))
    if len(found) != 1 or not found[0][0].read.formula.number:
        return None
    named, meant = (f"({s.read.formula.number})" for s in found[0])
    title = f"{named} is named for this step, and it gives something else; with {meant} it gives what is printed"
    return misnamed(printed, joint, title, [*zip((named, meant), found[0], strict=True), ("printed", printed)])


def misnamed(
    printed: Sentence, joint: str, title: str, relations: Iterable[tuple[str, Sentence]], reason: str = ""
) -> Judged:
    """A step for which a relation is named and another one is meant: ``relations`` are the evidence, by their names.

    The first of them is the one that is named: what several rules say of it at one step is one defect.
    """
    held = tuple(relations)
    evidence = tuple(f"{name}: {to_text_of(s)}" for name, s in held)
    cause = f"{held[0][0]} named, {printed.place}"
    defect = Defect("citation", printed.place, title, "wording", printed.latex, evidence, cause, printed.unit)
    return Judged("citation", printed.place, joint, "refuted", reason or title, defect)


def _gives(printed: Sentence, base: Sentence, premises: list[Bounded], ties: Ties) -> bool:
    """Whether a relation with the premises put in is letter for letter what is printed."""
    for result in bounds_of(printed):
        for one in (b for b in bounds_of(base) if b.left == result.left and b.op == result.op):
            try:
                want, used = carried(one, premises)
                if used and not want.order and differs(want, form_of(result.right), result.op, ties) is None:
                    return True
            except Formless:
                continue
    return False


def _lefts(printed: Sentence) -> list[tree.Node]:
    return list(dict.fromkeys(b.left for b in bounds_of(printed)))


def _of_left(
    printed: Sentence,
    base: Sentence,
    premises: list[Bounded],
    left: tree.Node,
    joint: str,
    sources: list[tuple[str, Sentence]],
    ties: Ties,
) -> Judged:
    """What is printed about one quantity, against the relation about it with the premises put in."""
    try:
        bounds = [b for b in bounds_of(base) if b.left == left] or bounds_of(base)
        want, used = carried(bounds[-1], premises)
        if not used:
            return Judged("citation", printed.place, joint, "undecided", "nothing that was read stands in the relation")
        return _compared(printed, left, bounds[-1], want, joint, sources, ties)
    except (Formless, IndexError) as reason:
        return Judged("citation", printed.place, joint, "undecided", str(reason) or "not read")


def _just_before(paper: Paper, printed: Sentence, base: Sentence) -> list[Sentence]:
    """The display right before a result whose sentence does not say what is put in."""
    n = printed.read.formula.n
    before = [s for s in paper.homes[printed.home] if s.read.formula.n < n and s.read.formula.kind == "display"]
    return [s for s in before[-1:] if s is not base]


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
    left, right = form_of(premise.left), form_of(premise.right)
    if left.single is None:
        return _with_sum(form, left, right, premise.op, op)
    monomial, number = left.single
    if not monomial or number <= 0:
        return form
    parts: list[Mapping[Monomial, Fraction]] = []
    for term, factor in form.terms.items():
        part: Mapping[Monomial, Fraction] = {term: factor}
        if monomial <= term and _allowed(op, premise.op, factor) and all(_is_size(n) for n, _ in term - monomial):
            part = product({term - monomial: factor / number}, right.terms)
        parts.append(part)
    return Form(added(parts), form.order or right.order)


def _with_sum(form: Form, left: Form, right: Form, premise: str, op: str) -> Form:
    """A whole sum, which stands in the form with one factor, replaced."""
    factors = {form.terms.get(m, Fraction(0)) / c for m, c in left.terms.items()}
    if len(factors) != 1 or not (factor := factors.pop()) or not _allowed(op, premise, factor):
        return form
    rest = {m: c for m, c in form.terms.items() if m not in left.terms}
    return Form(added([rest, {m: factor * c for m, c in right.terms.items()}]), form.order or right.order)


def _allowed(op: str, premise: str, factor: Fraction) -> bool:
    """Whether a bound of a quantity may replace it in a term with this factor."""
    if premise == "==":
        return True
    return op != "==" and (premise in UPPER) == ((op in UPPER) == (factor > 0))


def _is_size(atom: str) -> bool:
    return atom.startswith(("norm", "#", "abs(")) or atom.isidentifier()


def _compared(
    printed: Sentence,
    left: tree.Node,
    base: Bounded,
    want: Form,
    joint: str,
    sources: list[tuple[str, Sentence]],
    ties: Ties,
) -> Judged:
    results = [b for b in bounds_of(printed) if b.left == left]
    if left != base.left:
        return Judged("citation", printed.place, joint, "undecided", "the printed result is about something else")
    differences = []
    for result in results:
        difference = differs(want, form_of(result.right), result.op, ties, is_size(result.left))
        if not difference:
            return Judged("citation", printed.place, joint, "holds")
        differences.append((result, difference))
    result, (plain, how) = differences[0]
    if not plain or result.op != base.op:
        return Judged("citation", printed.place, joint, "undecided", f"carried out it reads otherwise: {how}")
    title = f"this is not what {sources[0][0]} gives when it is carried out: {how}"
    evidence = (*(f"{name}: {to_text_of(s)}" for name, s in sources),
                f"printed: {to_text(result.left)} {result.op} {to_text(result.right)}",
                needs(sources[0][0], base.left, result.op, want, form_of(result.right)))  # fmt: skip
    defect = Defect("citation", printed.place, title, "changes a constant or a rate", printed.latex, evidence,
                    unit=printed.unit)  # fmt: skip
    script = form_script(title, printed.place, want, form_of(result.right), "carried out", "printed")
    return Judged("citation", printed.place, joint, "refuted", how, defect, script)


def needs(name: str, left: tree.Node, op: str, want: Form, got: Form) -> str:
    """What the cited relation would have to say for the printed one: its right side, times the quotient of both."""
    one, other = want.single, got.single
    if one is not None and other is not None and one[0] == other[0]:
        return f"the step needs {name} with its right side times {other[1] / one[1]}"
    return f"the step needs a form of {name} that gives {to_text(left)} {op} {to_text(tree_of(got.terms))}"


def is_size(node: tree.Node) -> bool:
    """A norm, an absolute value, a power of one, or a least, largest or summed one: never negative."""
    match node:
        case tree.Power(base=base):
            return is_size(base)
        case tree.Call(function="min" | "max" | "sum" | "sup" | "inf", arguments=(inner, tree.Tuple())):
            return is_size(inner)
        case tree.Add(terms=terms):
            return all(is_size(term) for term in terms)
        case tree.Call(function=name):
            return name in ("norm", "abs")
    return False


def differs(want: Form, got: Form, op: str, ties: Ties = (), positive: bool = False) -> tuple[bool, str] | None:
    """None where two forms agree; else whether the second is plainly not what the first gives, and how they differ.

    Of orders only the letters of the printed one count, and no factor. Plain are products of the same letters that
    differ in an exponent, unless ``ties`` rewrite one as the other, and sums of the same terms of which one has a
    smaller (in a lower bound: larger) factor; where the side is ``positive``, also sums of which one is a multiple.
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
        return _one_term(want, got, op, ties)
    off = [m for m in want.terms if want.terms[m] != got.terms[m]]
    change = got.terms[off[0]] - want.terms[off[0]]
    ratios = {got.terms[m] / c for m, c in want.terms.items()}
    if positive and len(off) > 1 and len(ratios) == 1:
        ratio = ratios.pop()
        return (op == "==" or (ratio < 1) == (op in UPPER)), f"the printed side is {ratio} times that"
    worse = (change < 0 and op in UPPER) or (change > 0 and op in LOWER) or op == "=="
    text = f"the factor of {shown(off[0])} is {want.terms[off[0]]} and {got.terms[off[0]]} is printed"
    return len(off) == 1 and worse, text


def _one_term(want: Form, got: Form, op: str, ties: Ties) -> tuple[bool, str]:
    """Sums that agree but for one term: it has other exponents, or it is lost where it could only add to a bound."""
    ours, theirs = (dict(set(a.terms.items()) - set(b.terms.items())) for a, b in ((want, got), (got, want)))
    if len(ours) != 1 or len(theirs) > 1 or len(want.terms) < 3:
        return False, "other terms"
    ((term, factor),) = ours.items()
    for other, number in theirs.items():
        how = exponents_differ(term, other, hidden=False)
        same = number == factor and {n for n, _ in term} == {n for n, _ in other}
        return bool(same and how and not rewritten(ties, term, other, hidden=False)), how or "other terms"
    lost = factor > 0 and op in UPPER and all(n.isidentifier() or n.startswith("#") for n, _ in term)
    return lost, f"the term {shown(term)} is lost"


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

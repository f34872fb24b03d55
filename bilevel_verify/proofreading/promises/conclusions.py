"""What a statement promises ("at most N iterations") against what its proof ends with, in the same unit."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import TypeAlias

from bilevel_verify.language import tree
from bilevel_verify.latex.statements import EQUATES
from bilevel_verify.proofreading.defect import Defect
from bilevel_verify.proofreading.joints.carrying import UPPER, Bounded, Ties, bounds_of, differs, is_size, to_text_of
from bilevel_verify.proofreading.joints.clauses import Clause, clauses
from bilevel_verify.proofreading.joints.forms import ORDERS, Form, Formless, form_of
from bilevel_verify.proofreading.joints.judged import Judged
from bilevel_verify.proofreading.joints.quoting import fitted, over, rearranged, renamed
from bilevel_verify.proofreading.joints.shown import form_script
from bilevel_verify.proofreading.joints.ties import ties_of
from bilevel_verify.proofreading.names.occurrences import whole
from bilevel_verify.proofreading.source import PROMISES, Paper, Passage, Sentence
from bilevel_verify.theorems.rewrite import rebuild, substitute

PROMISED = re.compile(r"\b(?:satisf\w+|(?:we|it) (?:also )?ha(?:ve|s)|holds?(?: that)?|then|that is)[,:]?\s*\Z", re.I)
ASSUMED = re.compile(r"\b(?:suppose|assume|let|if|given|any|such)\b[^.\x01]*\Z", re.I)
INDUCTION = re.compile(r"\binduction\b|\bholds for\b", re.I)
ROUNDS = 3
Written: TypeAlias = tuple[Mapping[str, tree.Node], Mapping[tree.Node, tree.Node]]
"""Letters with the formulas that define them, and entries with those that they are equal to."""
UNITS = {
    "epochs": r"epochs|restarts|stages",
    "iterations": r"iterations|iterates|steps",
    "gradients": r"(?:gradient|first-order oracle) (?:evaluations|computations|calls|queries)|gradients",
    "products": r"(?:Hessian-vector|Jacobian-vector)[- ](?:products?|product queries|calls)",
}
AT_MOST = re.compile(r"\b(?:at most|within|no more than|in|bounded by|less than|not more than)\s*\Z", re.I)
TOTAL = re.compile(r"\b(?:total|altogether|overall|in all)\b", re.I)
ENDS = re.compile(r"\b(?:terminat\w+|stops?|ends?|finds?|makes?|uses?|needs?|requires?|takes?|runs?)\b", re.I)
EACH = re.compile(
    r"\b(?:each|every|one|an|per|single|valid|invalid) (?:\w+ )?(?:epoch|round|stage|iteration|step|restart)", re.I
)


def conclusion_joints(paper: Paper) -> Iterator[Judged]:
    """Every number of iterations, epochs or calls that a statement bounds, and the one in its proof."""
    ties = ties_of(paper)
    stated: dict[str, dict[str, list[Sentence]]] = {}
    proved: dict[str, dict[str, list[Sentence]]] = {}
    for clause in clauses(paper):
        passage = clause.passage
        for place, sentence in enumerate(clause.formulas):
            unit = _unit(clause, place)
            if unit and paper.stated.get(passage.name) is passage:
                stated.setdefault(passage.name, {}).setdefault(unit, []).append(sentence)
            elif unit and passage.kind == "proof" and passage.of:
                proved.setdefault(passage.of, {}).setdefault(unit, []).append(sentence)
    yield from _displayed(paper, ties)
    yield from _amounts(paper, ties)
    for name, units in stated.items():
        for unit, found in units.items():
            last = proved.get(name, {}).get(unit)
            if last and len(found) == 1:
                yield _judged(name, unit, found[0], last, ties)


def _displayed(paper: Paper, ties: Ties) -> Iterator[Judged]:
    """Every bound that a statement promises, and the last one in its proof that is about the same quantity."""
    promised, same = promises(paper), same_entries(paper)
    for passage in paper.stated.values():
        proof = [s for p in own_proofs(paper, passage.name) for s in p.formulas]
        if not proof:
            continue
        define = defined_in(passage), same
        for sentence in passage.formulas:
            if sentence.read.formula.kind == "display" or sentence in promised:
                for one in bounds_of(sentence)[-1:]:
                    found = list(_ended(passage.name, sentence, one, proof, ties, define))
                    if not found and INDUCTION.search(" ".join(p.words for p in own_proofs(paper, passage.name))):
                        for after in _next(paper, one, proof):
                            found += _ended(passage.name, sentence, after, proof, ties, define)
                    yield from found or _moved(passage.name, sentence, one, proof)


def _amounts(paper: Paper, ties: Ties) -> Iterator[Judged]:
    """A display of a statement that is an amount alone (``ends after at most ... steps``), and the end of its proof."""
    for passage in paper.stated.values():
        shown = [s for s in passage.formulas if s.read.formula.kind == "display"]
        alone = [s for s in shown if [len(c.members) for c in s.chains()] == [1]]
        proof = [s for p in own_proofs(paper, passage.name) for s in p.formulas if s.read.formula.kind == "display"]
        ends = [b for s in proof[-1:] for b in bounds_of(s)]
        if len(alone) != 1 or not ends or alone[0] is not shown[-1]:
            continue
        amount, last = next(alone[0].chains()).members[0], ends[-1]
        try:
            want, got = form_of(last.right), form_of(amount)
            difference = None if amount in [b.right for b in ends] else differs(want, got, last.op, ties)
        except Formless:
            continue
        joint = f"{to_text_of(alone[0])} in {passage.name} and what its proof ends with"
        if difference is None:
            yield Judged("total", alone[0].place, joint, "holds")
        elif (
            want.terms.keys() == got.terms.keys() and len([m for m in want.terms if want.terms[m] != got.terms[m]]) == 1
        ):
            yield _defect(passage.name, "the amount", alone[0], proof[-1], joint, difference[1], want, got)


def _next(paper: Paper, one: Bounded, proof: Sequence[Sentence]) -> Iterator[Bounded]:
    """A promised bound at the index for which the last display of the proof is about it, and nothing behind it."""
    shown = [s for s in proof if s.read.formula.kind == "display"]
    behind = [
        p for s in proof if shown and s.read.formula.n > shown[-1].read.formula.n for n in s.nodes() for p in n.walk()
    ]
    for last in (b for s in shown[-1:] for b in bounds_of(s)[-1:] if b.left not in behind):
        binding = fitted(paper, one.left, last.left)
        if binding and all(tree.letters(value) for value in binding.values()):
            yield Bounded(last.left, one.op, renamed(one.right, binding))


def _divided(sentence: Sentence, one: Bounded) -> Iterator[Bounded]:
    """Bounds of a multiple of a quantity as bounds of the quantity; the factors are letters and numbers."""
    for bound in bounds_of(sentence):
        factors = bound.left.factors if isinstance(bound.left, tree.Multiply) else ()
        rest = [f for f in factors if f != one.left]
        if len(rest) == len(factors) - 1 and rest and bound.op == one.op and all(
            isinstance(f, tree.Letter) or (isinstance(f, tree.Number) and f.value > 0) for f in rest
        ):  # fmt: skip
            yield Bounded(one.left, one.op, tree.Divide(bound.right, tree.Multiply(tuple(rest))))


def _moved(name: str, stated: Sentence, one: Bounded, proof: Sequence[Sentence]) -> Iterator[Judged]:
    """A displayed bound whose terms stand on other sides in the last display of the proof."""
    last = [s for s in proof if s.read.formula.kind == "display" and bounds_of(s)][-1:]
    same, how = rearranged(one, tuple(last))
    joint = f"{to_text_of(stated)} in {name} and what its proof ends with"
    if same:
        yield Judged("total", stated.place, joint, "holds", how)
    elif same is False and stated.read.formula.kind == "display":
        try:
            yield _defect(
                name, "the bound", stated, last[0], joint, how, *(over(b) for b in (bounds_of(last[0])[-1], one))
            )
        except Formless:
            return


def promises(paper: Paper) -> list[Sentence]:
    """Formulas inside the words of statements that the words promise: ``the output satisfies ...``."""
    return [
        sentence
        for clause in clauses(paper)
        if clause.passage.kind in PROMISES
        for place, sentence in enumerate(clause.formulas)
        if PROMISED.search(clause.before(place)) and not ASSUMED.search(clause.before(place))
    ]


def own_proofs(paper: Paper, name: str) -> list[Passage]:
    """The proofs of a statement: those that say so, and the first one after it."""
    found = [p for p in paper.passages if p.kind == "proof" and p.of == name] if name else []
    silent = [p for p in found if not p.says_of]
    return [p for p in found if p.says_of or p is silent[0]]


def proved_in(paper: Paper) -> dict[int, Passage]:
    """Id of a proof, as an object -> the statement of which it is one of the proofs."""
    return {id(p): home for name, home in paper.stated.items() for p in own_proofs(paper, name)}


def defined_in(passage: Passage) -> dict[str, tree.Node]:
    """Letters that a statement defines by one formula without an order: ``C := 8 L |x_0 - x^*|^2``."""
    table: dict[str, list[tree.Node]] = {}
    for chain in (c for s in passage.formulas for c in s.chains()):
        left, right = chain.equation or (None, None)
        if isinstance(left, tree.Letter) and right is not None:
            table.setdefault(left.name, []).append(right)
    return {
        name: values[0] for name, values in table.items()
        if len(values) == 1 and name not in tree.letters(values[0]) and not tree.functions(values[0]) & {*ORDERS}
    }  # fmt: skip


def _ended(
    name: str, stated: Sentence, one: Bounded, proof: Sequence[Sentence], ties: Ties, define: Written
) -> Iterator[Judged]:
    shown = [(s, b) for s in proof for b in bounds_of(s) if b.left == one.left and b.op == one.op]
    shown = shown or [(s, b) for s in proof for b in _divided(s, one)]
    if not shown:
        return
    joint = f"{to_text_of(stated)} in {name} and what its proof ends with"
    reason, broken = "", None
    for sentence, bound in reversed(shown):
        want_side, got_side = bound.right, one.right
        if tree.letters(want_side) != tree.letters(got_side):
            want_side, got_side = (_written_out(side, define) for side in (want_side, got_side))
        try:
            want, got = form_of(want_side), form_of(got_side)
            difference = None if want_side == got_side else differs(want, got, one.op, ties, is_size(one.left))
        except Formless as failure:
            reason = reason or str(failure)
            continue
        if difference is None:
            yield Judged("total", stated.place, joint, "holds")
            return
        plain, how = difference
        plain = plain or _proportional(want, got, one.op)
        if plain and bound is shown[-1][1] and tree.letters(want_side) == tree.letters(got_side):
            broken = _defect(name, "the bound", stated, sentence, joint, how, want, got)
        reason = reason or how
    yield broken or Judged("total", stated.place, joint, "undecided", reason)


def _proportional(want: Form, got: Form, op: str) -> bool:
    """Whether two sums differ by one number as a whole, and the one does not follow as more of what is positive."""
    ratios = {got.terms[m] / c for m, c in want.terms.items()} if want.terms.keys() == got.terms.keys() else set()
    if len(want.terms) < 2 or len(ratios) != 1 or want.order or got.order:
        return False
    weaker = min(ratios) > 1 if op in UPPER else 0 < min(ratios) < 1
    return not (weaker and min(want.terms.values()) > 0)


def _written_out(node: tree.Node, define: Written) -> tree.Node:
    """A side with definitions put in, and entries that the paper equates (``x_0 = z_0``) as one of them."""
    letters, entries = define
    for _ in range(ROUNDS):
        node = substitute(node, dict(letters), caught=True)
    return _renamed(node, entries)


def _renamed(node: tree.Node, entries: Mapping[tree.Node, tree.Node]) -> tree.Node:
    return entries[node] if node in entries else rebuild(node, lambda part: _renamed(part, entries))


def same_entries(paper: Paper) -> dict[tree.Node, tree.Node]:
    """Entries with fixed indices -> the first of those that the paper says to be equal to them."""
    table: dict[tree.Node, tree.Node] = {}
    for chain in (c for s in paper.sentences for c in s.chains()):
        for left, relation, right in chain.links():
            if relation.word in EQUATES and _is_fixed(left) and _is_fixed(right) and left != right:
                one, other = table.get(left, left), table.get(right, right)
                table = {n: one if f == other else f for n, f in table.items()} | {other: one, left: one, right: one}
    return {node: first for node, first in table.items() if node != first}


def _is_fixed(node: tree.Node) -> bool:
    return isinstance(node, tree.Index) and all(whole(index) is not None for index in node.indices)


def _unit(clause: Clause, place: int) -> str:
    """What a formula counts in total: the unit after ``at most ...``, or before ``is at most ...``."""
    before, after = clause.before(place), clause.after(place)
    part = re.split(r"[,;]|\band\b|\x01", before)[-1]
    if not AT_MOST.search(before) or EACH.search(part) or EACH.match(after.lstrip()):
        return ""
    for unit, words in UNITS.items():
        if re.match(rf"\s*(?:\w+\s+)?(?:{words})\b", after, re.I) and (ENDS.search(before) or TOTAL.search(before)):
            return unit
        if TOTAL.search(part) and re.search(rf"\b(?:{words})\b", part, re.I):
            return unit
    return ""


def _judged(name: str, unit: str, stated: Sentence, proved: list[Sentence], ties: Ties) -> Judged:
    joint = f"the number of {unit} in {name} and the one that its proof ends with"
    reason = ""
    for one in reversed(proved):
        try:
            want, got = _form(one), _form(stated)
            difference = differs(want, got, "<=", ties)
        except (Formless, IndexError) as failure:
            reason = reason or str(failure) or "not read"
            continue
        if difference is None:
            return Judged("total", stated.place, joint, "holds")
        plain, how = difference
        if plain and one is proved[-1] and len(proved) == 1:
            return _defect(name, unit, stated, one, joint, how, want, got)
        reason = reason or how
    return Judged("total", stated.place, joint, "undecided", reason)


def _form(sentence: Sentence) -> Form:
    chain = next(iter(sentence.chains()))
    if any(isinstance(m, tree.Tuple) for m in chain.members):
        raise Formless("not one number")
    return form_of(chain.members[-1])


def _defect(
    name: str, unit: str, stated: Sentence, proved: Sentence, joint: str, how: str, want: Form, got: Form
) -> Judged:
    what = unit if unit.startswith("the ") else f"number of {unit}"
    title = f"{name} promises more than its proof ends with ({what}): {how}"
    evidence = (f"{name}: {to_text_of(stated)}", f"its proof, {proved.place}: {to_text_of(proved)}")
    defect = Defect("total", stated.place, title, "changes a constant or a rate", stated.latex, evidence,
                    unit=stated.unit)  # fmt: skip
    script = form_script(title, stated.place, want, got, "the proof", name)
    return Judged("total", stated.place, joint, "refuted", how, defect, script)

"""Orders that a statement promises, against the orders that its proof arrives at: which of them belong together?

An order of the statement that the proof nowhere has is refuted only where exactly one bound ``T <= O(...)`` of the
proof is left that has the same letters, at least three, and stands for no other order of the statement; an order that
the statement prints in a relation is compared with relations about the same quantity.
"""

from __future__ import annotations

from collections.abc import Iterator

from bilevel_verify.language import tree
from bilevel_verify.proofreading.defect import Defect
from bilevel_verify.proofreading.joints.carrying import UPPER, bounds_of, exponents_differ, to_text_of
from bilevel_verify.proofreading.joints.judged import Judged
from bilevel_verify.proofreading.joints.orders import Order, agrees, orders_in
from bilevel_verify.proofreading.joints.shown import form_script
from bilevel_verify.proofreading.joints.ties import rewritten, ties_of
from bilevel_verify.proofreading.promises.conclusions import own_proofs
from bilevel_verify.proofreading.source import Paper, Sentence

LEAST = 3


def promised_order_joints(paper: Paper) -> Iterator[Judged]:
    """Every displayed order of a statement with a proof."""
    ties = ties_of(paper)
    for passage in paper.stated.values():
        stated = [o for s in passage.formulas for o in orders_in(s) if len(o.letters) >= LEAST]
        bounds = [b for p in own_proofs(paper, passage.name) for s in p.formulas for b in _bounds(s)]
        shown = [o for p in own_proofs(paper, passage.name) for s in p.formulas for o in orders_in(s)]
        left = [o for o in stated if not any(agrees(o, p) for p in shown)]
        used = [o for o in stated if o not in left]
        for order in left:
            about = {left for left, o in _bounds(order.sentence) if o.node == order.node}
            near = [p for left, p in bounds if (left in about if about else isinstance(left, tree.Letter))]
            near = [p for p in near if p.letters == order.letters and not any(agrees(o, p) for o in used)]
            near = [p for p in near if not rewritten(ties, p.monomial, order.monomial, hidden=False)]
            alike = [o for o in left if o.letters == order.letters]
            if len({p.monomial for p in near}) == 1 and len({o.monomial for o in alike}) == 1:
                yield _judged(passage.name, order, near[-1])


def _bounds(sentence: Sentence) -> Iterator[tuple[tree.Node, Order]]:
    """Left sides with the orders that bound them."""
    for bound in bounds_of(sentence):
        if bound.op in UPPER:
            yield from ((bound.left, order) for order in orders_in(sentence) if order.node == bound.right)


def _judged(name: str, order: Order, proved: Order) -> Judged:
    how = exponents_differ(proved.monomial, order.monomial, hidden=True) or ""
    place, latex = order.sentence.place, order.sentence.latex
    joint = f"the order {to_text_of(order.sentence)} in {name} and those in its proof"
    title = f"{name} has an order that its proof does not have; the one with the same letters differs: {how}"
    evidence = (f"{name}: {to_text_of(order.sentence)}", f"its proof, {proved.sentence.place}: "
                f"{to_text_of(proved.sentence)}")  # fmt: skip
    defect = Defect("total", place, title, "changes a constant or a rate", latex, evidence, unit=order.sentence.unit)
    script = form_script(title, place, proved.form, order.form, "the proof", name)
    return Judged("total", place, joint, "refuted", how, defect, script)

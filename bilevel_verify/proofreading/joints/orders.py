"""Orders that are quoted: what a text says that a theorem shows, against what the theorem says.

Of a quoted order only its own letters count (constants are hidden), and it is enough that one order of the theorem
agrees; it is refuted only where none does and one has all of its letters.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from bilevel_verify.language import tree
from bilevel_verify.proofreading.defect import Defect
from bilevel_verify.proofreading.joints.carrying import bounds_of, exponents_differ, to_text_of
from bilevel_verify.proofreading.joints.clauses import Clause, clauses, named_in
from bilevel_verify.proofreading.joints.forms import ORDERS, Form, Formless, Monomial, form_of, product, raised
from bilevel_verify.proofreading.joints.judged import Judged
from bilevel_verify.proofreading.joints.shown import form_script
from bilevel_verify.proofreading.joints.ties import Tie, letters_of, rewritten, ties_of
from bilevel_verify.proofreading.source import PROMISES, Paper, Sentence
from bilevel_verify.theorems.rewrite import substitute

SHOWS = re.compile(
    r"\b(?:shows?|says?|states?|indicates?|implies|gives?|yields?|establishes|provides|guarantees|know|known|have|has|by|from)\b",
    re.I,
)
OTHERS = re.compile(
    r"\b(?:than|against|compared|comparing|versus|while|whereas|improves?|unlike|better|worse|previous|existing"
    r"|lower bound)\b",
    re.I,
)
"""Words after which an order is somebody else's."""


@dataclass(frozen=True, slots=True)
class Order:
    """One product inside an order symbol, and the formula that prints it."""

    form: Form
    sentence: Sentence
    node: tree.Node

    @property
    def monomial(self) -> Monomial:
        """Its powers."""
        assert self.form.single is not None
        return self.form.single[0]

    @property
    def letters(self) -> frozenset[str]:
        """Its letters."""
        return letters_of(self.monomial)


def orders_in(sentence: Sentence, values: Mapping[str, tree.Node] | None = None) -> Iterator[Order]:
    """The orders of a formula that are single products, with some letters set to values."""
    for node in sentence.nodes():
        if (isinstance(node, tree.Call) and node.function in ORDERS) or _times_order(node):
            whole = substitute(node, dict(values)) if values else node
            try:
                form = form_of(whole)
            except (Formless, ZeroDivisionError):
                continue
            if form.single is not None and form.single[0]:
                yield Order(form, sentence, whole)


def _times_order(node: tree.Node) -> bool:
    """A product or quotient with an order symbol in it."""
    if isinstance(node, tree.Multiply | tree.Divide):
        return any(isinstance(p, tree.Call) and p.function in ORDERS for p in node.walk())
    return False


def order_joints(paper: Paper) -> Iterator[Judged]:
    """Every order that a sentence quotes from a theorem, corollary, proposition or lemma of the paper."""
    known, ties = _known(paper), ties_of(paper)
    for clause in clauses(paper):
        for place, sentence in enumerate(clause.formulas):
            name = _shower(clause, place)
            if name:
                found = _orders_of(paper, name, special_values(clause, place), known)
                for order in orders_in(sentence):
                    yield _judged(order, found, ties, name, sentence.place)


def _orders_of(paper: Paper, name: str, values: Mapping[str, tree.Node], known: Mapping[str, tree.Node]) -> list[Order]:
    """The orders of a statement at some values of its letters, as printed and with known orders of letters put in."""
    sources = [p for p in paper.passages if p.name == name and p.kind in PROMISES]
    found = [o for p in sources for s in p.formulas for o in orders_in(s, values)]
    put_in = [(o, _written(o, known)) for o in found]
    return [*found, *(Order(form, o.sentence, o.node) for o, form in put_in if form is not None)]


def _shower(clause: Clause, place: int) -> str:
    """The statement that a sentence says to show the formula at a place; empty if it is none or another one's."""
    before = clause.before(place)
    names = [n for n in named_in(before) if n.partition(" ")[0].lower() in PROMISES]
    if len(names) != 1 or names[0] in (clause.passage.name, clause.passage.of):
        return ""
    number = names[0].partition(" ")[2]
    since = before[before.rindex(number) + len(number) :]
    return names[0] if SHOWS.search(before) and not OTHERS.search(since) else ""


def special_values(clause: Clause, place: int | None = None) -> dict[str, tree.Node]:
    """``when nu = 1``: letters that a sentence sets to numbers, those before a place first; of two values none."""
    found: dict[str, list[tuple[int, tree.Node]]] = {}
    for at, sentence in enumerate(clause.formulas):
        for chain in sentence.chains():
            if chain.members and _is_number(chain.members[-1]) and all(r.word == "==" for r in chain.relations):
                for member in chain.members:
                    if isinstance(member, tree.Letter):
                        found.setdefault(member.name, []).append((at, chain.members[-1]))
    chosen: dict[str, tree.Node] = {}
    for name, values in found.items():
        before = [value for at, value in values if place is not None and at < place]
        if before or len({value for _, value in values}) == 1:
            chosen[name] = before[-1] if before else values[0][1]
    return chosen


def _is_number(node: tree.Node) -> bool:
    """A number, or a quotient of numbers."""
    if isinstance(node, tree.Divide):
        return _is_number(node.numerator) and isinstance(node.denominator, tree.Number) and bool(node.denominator.value)
    return isinstance(node, tree.Number)


def _known(paper: Paper) -> dict[str, tree.Node]:
    """Letters of which the whole paper gives one order: ``L = O(kappa^3)``."""
    table: dict[str, set[tree.Node]] = {}
    for sentence in paper.sentences:
        for chain in sentence.chains():
            for left, relation, right in chain.links():
                is_order = isinstance(right, tree.Call) and right.function in ORDERS
                if isinstance(left, tree.Letter) and relation.word == "==" and is_order:
                    table.setdefault(left.name, set()).add(right)
    return {name: next(iter(nodes)) for name, nodes in table.items() if len(nodes) == 1}


def _judged(order: Order, found: list[Order], ties: tuple[Tie, ...], name: str, place: str) -> Judged:
    """One quoted order against the orders of its source."""
    joint = f"the order {to_text_of(order.sentence)} from {name}"
    about = {b.left for b in bounds_of(order.sentence) if b.right == order.node}
    found = [o for o in found if about & {b.left for b in bounds_of(o.sentence) if b.right == o.node}] or found
    same = [o for o in found if agrees(order, o)]
    if same:
        fewest = min((o.letters - order.letters for o in same), key=len)
        hidden = ", ".join(sorted(fewest))
        if hidden and _bounds_something(order.sentence):
            return Judged("citation", place, joint, "undecided", f"{hidden} of {name} is left out here")
        return Judged("citation", place, joint, "holds", f"{hidden} is hidden here" if hidden else "")
    near = [o for o in found if order.letters <= o.letters]
    if not near or len(order.letters) < 2:
        return Judged("citation", place, joint, "undecided", "no order there has these letters")
    if any(rewritten(ties, o.monomial, order.monomial, hidden=True) for o in near):
        return Judged("citation", place, joint, "undecided", "the paper ties the letters to each other")
    best = min(near, key=lambda o: len(_off(order, o)))
    how = exponents_differ(best.monomial, order.monomial, hidden=True) or ""
    title = f"{name} has another order: {how}"
    evidence = (f"{name}: {to_text_of(best.sentence)}", f"here: {to_text_of(order.sentence)}")
    latex, unit = order.sentence.latex, order.sentence.unit
    defect = Defect("citation", place, title, "changes a constant or a rate", latex, evidence, unit=unit)
    script = form_script(title, place, best.form, order.form, name, "here")
    return Judged("citation", place, joint, "refuted", how, defect, script)


def _bounds_something(sentence: Sentence) -> bool:
    """Whether the order stands in a relation, and not alone as the name of a rate."""
    return any(chain.relations for chain in sentence.chains())


def agrees(quoted: Order, source: Order) -> bool:
    """Whether the source has every letter of the quoted order with the same exponent."""
    return not _off(quoted, source)


def _off(quoted: Order, source: Order) -> list[str]:
    there = dict(source.monomial)
    return [n for n, e in quoted.monomial if not n.startswith("#") and there.get(n) != e]


def _written(order: Order, known: Mapping[str, tree.Node]) -> Form | None:
    """An order with the letters written out of which the paper gives the order; None where there are none."""
    total = {frozenset((n, e) for n, e in order.monomial if n not in known): order.form.single[1]}  # type: ignore[index]
    used = [(n, e) for n, e in order.monomial if n in known]
    try:
        for name, exponent in used:
            one = form_of(known[name]).single
            if one is None:
                return None
            total = product(total, raised(one[0], one[1], exponent))
    except Formless:
        return None
    return Form(total, True) if used else None

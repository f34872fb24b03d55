"""Numbers of steps: what a statement promises against what its proof counts, or what the bound behind it gives.

A right text cannot be told: a proof ends with the number that its statement gives, or with a smaller one in the same
letters; "This is Theorem 1" is about the same order; from ``|g| <= c L/sqrt(K)`` follow ``c^2 L^2/eps^2`` steps; where
a statement has ``K steps`` and an order of steps, the order is that of the value which it gives K.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from fractions import Fraction

from bilevel_verify.language import to_text, tree
from bilevel_verify.proofreading.counted.nouns import bounds_stated, order_of
from bilevel_verify.proofreading.defect import Defect
from bilevel_verify.proofreading.joints.carrying import bounds_of, exponents_differ, to_text_of
from bilevel_verify.proofreading.joints.clauses import Clause, clauses
from bilevel_verify.proofreading.joints.forms import Formless, Monomial, form_of
from bilevel_verify.proofreading.joints.judged import Judged
from bilevel_verify.proofreading.joints.orders import Order, agrees, orders_in
from bilevel_verify.proofreading.joints.ties import letters_of, rewritten, ties_of
from bilevel_verify.proofreading.promises.conclusions import own_proofs
from bilevel_verify.proofreading.promises.said import lettered
from bilevel_verify.proofreading.source import Paper, Passage, Sentence, values_in
from bilevel_verify.theorems.rewrite import substitute

UNIT = re.compile(r"\s*(?P<noun>(?:gradient|step|sample|iteration|epoch|restart|round)s?)\b", re.I)
MOST = re.compile(r"\b(?:at most|within)\s*\Z", re.I)
TOTAL = re.compile(r"\btotal number of (?P<noun>\w+?)s?\b[^.\x01]*\bis at most\s*\Z", re.I)
SAME = re.compile(r"\s*(?:\W*)This is (?P<name>(?:Theorem|Lemma|Proposition|Corollary) [A-Z]?\.?\d[\d.]*?)\.?(?=\s|\Z)")
ENOUGH = re.compile(
    r"\s*\w+ (?:are|is) (?:enough|sufficient|needed) for(?P<accuracy> an accuracy (?:of(?: at most)?)?)?\s*\Z", re.I
)
POWERS = (Fraction(1), Fraction(2), Fraction(1, 2))
"""An accuracy in words may be that of a bound, of its square, or of its root."""


def count_joints(paper: Paper) -> Iterator[Judged]:
    """Every number of steps of a statement with a proof, and every order that a sentence draws from a bound."""
    for name, home in paper.stated.items():
        proofs = own_proofs(paper, name)
        counted = [c for p in proofs for s in p.formulas for c in _counts(s)]
        for sentence in home.formulas:
            for noun, node in _counts(sentence):
                same = [(s, n) for p in proofs for s in p.formulas for other, n in _counts(s) if other == noun]
                if len(same) == 1 and counted:
                    yield from _compared(sentence, node, *same[0], home.name)
            if sentence.read.formula.kind == "inline" and UNIT.match(sentence.after):
                for proof in proofs:
                    yield from _same(paper, sentence, proof.words, home.name)
                    yield from _last(paper, sentence, proof.formulas[-1:], home.name)
                yield from _of_value(paper, sentence, home)
    for clause in clauses(paper):
        yield from _enough(paper, clause)


def _counts(sentence: Sentence) -> Iterator[tuple[str, tree.Node]]:
    """``at most N epochs``, ``the total number of epochs is at most N``."""
    nodes, unit = list(sentence.nodes()), UNIT.match(sentence.after)
    total = TOTAL.search(" ".join(sentence.before.split()))
    noun = total["noun"] if total else unit["noun"].rstrip("s") if unit and MOST.search(sentence.before) else ""
    if len(nodes) == 1 and noun:
        yield noun.lower(), nodes[0]


def _product(node: tree.Node) -> tuple[Monomial, Fraction] | None:
    """The only product of a sum that has letters."""
    try:
        terms = {m: c for m, c in form_of(node).terms.items() if letters_of(m)}
    except (Formless, ZeroDivisionError):
        return None
    return next(iter(terms.items())) if len(terms) == 1 else None


def _compared(sentence: Sentence, node: tree.Node, other: Sentence, proved: tree.Node, name: str) -> Iterator[Judged]:
    here, there = _product(node), _product(proved)
    if here is None or there is None or letters_of(here[0]) != letters_of(there[0]):
        return
    joint = f"the number {to_text_of(sentence)} of {name} and that of its proof"
    if here[0] == there[0] and here[1] >= there[1]:
        yield Judged("total", sentence.place, joint, "holds")
        return
    how = exponents_differ(there[0], here[0], hidden=False) or f"it is {here[1] / there[1]} times that of the proof"
    yield _told(sentence, joint, f"{name} promises another number than its proof counts: {how}", other)


def _same(paper: Paper, sentence: Sentence, words: str, name: str) -> Iterator[Judged]:
    """``This is Theorem 1``: an order with the letters of its bound, and other exponents."""
    found = SAME.match(" ".join(words.split()))
    source = paper.stated.get(found["name"]) if found else None
    bounds = [b for b in bounds_stated(paper) if source is not None and b.sentence in source.formulas]
    yield from _against(paper, sentence, bounds, name, source.name if source is not None else "")


def _last(paper: Paper, sentence: Sentence, last: tuple[Sentence, ...], name: str) -> Iterator[Judged]:
    """An order of a statement whose proof ends with an order that has all of its letters, and of nothing else."""
    if {_named(s) for s in last} <= {_named(sentence), None}:
        yield from _against(paper, sentence, [o for s in last for o in orders_in(s)], name, "the end of its proof")


def _named(sentence: Sentence) -> tree.Node | None:
    """What an order is the order of: ``T K`` of ``T K = O(eps^{-3})``."""
    return next((c.equation[0] for c in sentence.chains() if c.equation is not None), None)


def _of_value(paper: Paper, sentence: Sentence, home: Passage) -> Iterator[Judged]:
    """``K steps``, ``O(L/eps) steps``: the order is that of the value that the statement gives K."""
    unit = UNIT.match(sentence.after)
    if unit is None or not list(orders_in(sentence)):
        return
    values = {n: v.arguments[0] if isinstance(v, tree.Call) and v.function == "ceil" else v
              for n, v in values_in(home.formulas).items()}  # fmt: skip
    sources = []
    for other in home.formulas:
        same, nodes = UNIT.match(other.after), list(other.nodes())
        counts = len(nodes) == 1 and tree.letters(nodes[0]) and tree.letters(nodes[0]) <= values.keys()
        if counts and same and same["noun"].rstrip("s") == unit["noun"].rstrip("s"):
            sources += list(order_of(substitute(nodes[0], values), other))
    yield from _against(paper, sentence, sources, home.name, f"the number of {unit['noun']} that it gives")


def _against(paper: Paper, sentence: Sentence, sources: list[Order], name: str, whose: str) -> Iterator[Judged]:
    for order in orders_in(sentence):
        near = [o for o in sources if order.letters <= o.letters]
        every = near if whose == "the end of its proof" else [o for o in near if o.letters == order.letters]
        if len(order.letters) < 2 or not every or any(agrees(order, o) for o in sources):
            continue
        if not any(rewritten(ties_of(paper), o.monomial, order.monomial, hidden=True) for o in every):
            how = exponents_differ(every[0].monomial, order.monomial, hidden=True)
            joint = f"the order {to_text_of(sentence)} of {name} and {whose}"
            yield _told(sentence, joint, f"{name} has another order than {whose}: {how}", every[0].sentence)


def _enough(paper: Paper, clause: Clause) -> Iterator[Judged]:
    """``By Theorem 1, O(L^2/eps^2) steps are enough for |g| <= eps``: the bound of the theorem solved for its steps."""
    names = [n for n in clause.named if n in paper.stated]
    for place in range(1, len(clause.formulas)):
        between = clause.after(place - 1).split("\x01")[0]
        said = ENOUGH.fullmatch(between)
        aim = _aim(clause.formulas[place], said is not None and said["accuracy"] is not None)
        if len(names) != 1 or said is None or aim is None:
            continue
        powers = POWERS if aim[0] is None else POWERS[:1]
        for order in orders_in(clause.formulas[place - 1]):
            for wanted, source in _solved(paper, names[0], aim[0], aim[1]):
                may = {n: {tuple(x * p for x in e) for p in (powers if n == aim[1] else POWERS[:1])} for n, e in wanted}
                off = [n for n, e in order.monomial if n in may and e not in may[n]]
                if off:
                    sentence = clause.formulas[place - 1]
                    joint = f"the steps {to_text_of(sentence)} and the bound of {names[0]}"
                    title = f"the bound of {names[0]} gives another number of steps: {_how(wanted, order, off[0])}"
                    yield _told(sentence, joint, title, source)


def _aim(sentence: Sentence, in_words: bool) -> tuple[tree.Node | None, str] | None:
    """What shall be small, and the letter of how small; in words alone, an accuracy."""
    nodes = list(sentence.nodes())
    if in_words:
        return (None, to_text(nodes[0])) if len(nodes) == 1 and isinstance(nodes[0], tree.Letter) else None
    bound = next((b for b in bounds_of(sentence) if isinstance(b.right, tree.Letter)), None)
    return None if bound is None else (bound.left, to_text(bound.right))


def _how(wanted: Monomial, order: Order, name: str) -> str:
    return f"{name} has the exponent {dict(wanted)[name][0]}, printed is {dict(order.monomial)[name][0]}"


def _solved(paper: Paper, name: str, left: tree.Node | None, accuracy: str) -> Iterator[tuple[Monomial, Sentence]]:
    """The number of steps for an accuracy, from ``left <= c/K^a`` of a statement."""
    for sentence in paper.stated[name].formulas:
        for bound in bounds_of(sentence):
            about = (
                bound.left.arguments[0] if isinstance(bound.left, tree.Call) and bound.left.arguments else bound.left
            )
            counts = [
                n for o in order_of(lettered(bound.right), sentence) for n, e in o.monomial if _is_count(n) and e[0] < 0
            ]
            other = left is not None and to_text(left)[:4] not in to_text(about)
            if other or bound.op not in ("<=", "<") or len(counts) != 1:
                continue
            for one in order_of(lettered(bound.right), sentence):
                power = -dict(one.monomial)[counts[0]][0]
                table = {n: tuple(x / power for x in e) for n, e in one.monomial if n not in (counts[0], accuracy)}
                table = {n: e for n, e in table.items() if n.isidentifier()}
                table[accuracy] = tuple(Fraction(-1) / power for _ in dict(one.monomial)[counts[0]])
                yield frozenset(table.items()), sentence


def _is_count(name: str) -> bool:
    return re.fullmatch(r"[KTNJkntj](?:_v)?", name) is not None


def _told(sentence: Sentence, joint: str, title: str, other: Sentence) -> Judged:
    evidence = (f"here: {to_text_of(sentence)}", f"{other.place}: {to_text_of(other)}")
    defect = Defect("total", sentence.place, title, "changes a constant or a rate", sentence.latex, evidence,
                    unit=sentence.unit)  # fmt: skip
    return Judged("total", sentence.place, joint, "refuted", title, defect)

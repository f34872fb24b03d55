"""What a paper says of the things that a column of a table counts: ``O(L/eps) samples``, ``evaluates N gradients``."""

from __future__ import annotations

import re
from collections.abc import Iterator

from bilevel_verify.language import tree
from bilevel_verify.proofreading.joints.carrying import bounds_of
from bilevel_verify.proofreading.joints.forms import Form, Formless, form_of
from bilevel_verify.proofreading.joints.orders import Order, orders_in
from bilevel_verify.proofreading.source import PROMISES, Paper, Sentence

NOUN = re.compile(r"(?:number of |total )?(?P<noun>[a-z]+?)s?(?: complexity)?\Z", re.I)
THINGS = ("gradient", "step", "sample", "iteration", "value", "epoch", "restart", "evaluation", "projection")


def noun_of(column: str) -> str:
    """What a column counts, in the singular; empty where its head is no such noun."""
    found = NOUN.match(" ".join(column.split()))
    return found["noun"].lower() if found and found["noun"].lower() in THINGS else ""


def counted_as(paper: Paper, noun: str) -> list[Order]:
    """The orders, and the numbers with a value, that stand right before the noun outside of tables."""
    before = re.compile(rf"\s*{noun}s?\b", re.I)
    found: list[Order] = []
    for passage in paper.passages:
        for sentence in passage.formulas if passage.kind != "algorithm" else ():
            if before.match(sentence.after):
                found += [*orders_in(sentence), *_values(paper, passage.id, sentence)]
    return found


def _values(paper: Paper, unit: str, sentence: Sentence) -> Iterator[Order]:
    """The value of ``N`` in ``evaluates N gradients``, of the same statement."""
    nodes = list(sentence.nodes())
    names = {n.name for n in nodes[:1] if isinstance(n, tree.Letter)}
    for passage in paper.passages:
        for other in passage.formulas if names and passage.id == unit else ():
            for chain in other.chains():
                left, right = chain.equation or (None, None)
                if isinstance(left, tree.Letter) and left.name in names and right is not None:
                    yield from order_of(right, other)


def order_of(node: tree.Node, sentence: Sentence) -> Iterator[Order]:
    """A product as an order: what is rounded up, without its number."""
    if isinstance(node, tree.Call) and node.function in ("ceil", "floor"):
        (node,) = node.arguments
    try:
        form = form_of(node)
    except (Formless, ZeroDivisionError):
        return
    if form.single is not None and form.single[0]:
        yield Order(Form(form.terms, True), sentence, node)


def bounds_stated(paper: Paper) -> list[Order]:
    """The products that statements give as upper bounds or values."""
    found: list[Order] = []
    for passage in paper.passages:
        for sentence in passage.formulas if passage.kind in PROMISES else ():
            for bound in bounds_of(sentence):
                found += order_of(bound.right, sentence)
    return found


def parameter_of(paper: Paper, column: str) -> str:
    """The letter of an input that an algorithm calls as the column: ``step gamma > 0``."""
    head = re.escape(" ".join(column.split()).rstrip("s"))
    named = re.compile(rf"\b{head}(?: size| length)?\s*\Z", re.I)
    found = {
        m.name for p in paper.passages if p.kind == "algorithm" for s in p.formulas if named.search(s.before)
        for c in s.chains() for m in c.members[:1] if isinstance(m, tree.Letter)
    }  # fmt: skip
    return found.pop() if len(found) == 1 else ""


def values_of(paper: Paper, name: str) -> list[tuple[Form, Sentence]]:
    """The values and bounds that statements give a letter."""
    found = []
    for passage in paper.passages:
        for sentence in passage.formulas if passage.kind in PROMISES else ():
            for chain in sentence.chains():
                for left, relation, right in chain.links():
                    if left == tree.Letter(name) and relation.word in ("==", ":=", "<=", "<"):
                        try:
                            found.append((form_of(right), sentence))
                        except (Formless, ZeroDivisionError):
                            continue
    return found

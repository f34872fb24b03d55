"""Single steps of a chain that are no arithmetic of their own: what is added and taken away, and ranges of sums.

``|a - b| = |a - c + d - b|`` and ``|a - b| <= |a - c| + |d - b|`` need c = d; ``|sum_R a_k| <= sum_S |a_k|`` needs every
index of R in S. Told are only steps in which everything else agrees term by term.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping

from bilevel_verify.language import to_text, tree
from bilevel_verify.language.binding import binder
from bilevel_verify.proofreading.defect import Defect
from bilevel_verify.proofreading.names.decorations import cores
from bilevel_verify.proofreading.names.ends import linear_form
from bilevel_verify.proofreading.source import Paper, Sentence
from bilevel_verify.theorems.rewrite import rebuild

NORMS = ("norm", "norm_2", "frobenius", "abs", "dual_norm")
Terms = Counter[tree.Node]
"""Summands with how often each is added, less how often it is taken away."""


def step_defects(paper: Paper) -> Iterator[Defect]:
    """Every pair of neighbours in every chain."""
    core, equal = cores(paper.notation), _equated(paper)
    for sentence in paper.sentences:
        for chain in sentence.chains():
            for left, relation, right in zip(chain.members, chain.relations, chain.members[1:], strict=False):
                if relation.word in ("==", "<=", "<"):
                    yield from _inserted(left, right, relation.word, core, equal, sentence)
                    yield from _ranges(left, right, sentence)


def _equated(paper: Paper) -> set[frozenset[tree.Node]]:
    """Pairs of letters or entries that the paper says to be equal, anywhere."""
    found: set[frozenset[tree.Node]] = set()
    for chain in (c for s in paper.sentences for c in s.chains()):
        for left, relation, right in zip(chain.members, chain.relations, chain.members[1:], strict=False):
            if relation.word in ("==", ":=", "<-"):
                found.add(frozenset({left, right}))
    return found


def _inserted(
    left: tree.Node, right: tree.Node, op: str, core: Mapping[str, str], equal: set[frozenset[tree.Node]], at: Sentence
) -> Iterator[Defect]:
    """What a step adds and takes away, where it is not one thing."""
    for whole in (p for p in left.walk() if isinstance(p, tree.Call) and p.function in NORMS and len(p.arguments) == 1):
        old = _terms(whole.arguments[0])
        for new in _split(right, whole.function, op):
            rest = Counter({t: n for t in {*old, *new} if (n := new[t] - old[t])})
            if len(old) < 2 or len(rest) != 2 or sorted(rest.values()) != [-1, 1] or any(t in old for t in rest):
                continue
            plus, minus = sorted(rest, key=lambda t: -rest[t])
            if _bare(plus, core) != _bare(minus, core) or frozenset({plus, minus}) in equal:
                continue
            title = f"the step takes away {to_text(minus)} and adds {to_text(plus)}, which are two things"
            yield Defect("decoration", at.place, title, "local slip", at.latex, (to_text(left), to_text(right)),
                         f"inserted {title} {at.unit}", at.unit)  # fmt: skip


def _split(node: tree.Node, norm: str, op: str) -> Iterator[Terms]:
    """The sums under norms of a side: each alone, and all together where it is a sum of norms."""
    calls = [p for p in node.walk() if isinstance(p, tree.Call) and p.function == norm and len(p.arguments) == 1]
    yield from (_terms(call.arguments[0]) for call in calls)
    parts = node.terms if isinstance(node, tree.Add) else ()
    inner = [p.arguments[0] for p in parts if isinstance(p, tree.Call) and p.function == norm]
    if op != "==" and len(inner) == len(parts) > 1:
        total: Terms = Counter()
        for part in inner:
            for term, count in _terms(part).items():
                total[term] += count
        yield total


def _terms(node: tree.Node) -> Terms:
    found: Terms = Counter()
    for term in node.terms if isinstance(node, tree.Add) else (node,):
        inner = term.operand if isinstance(term, tree.Negate) else term
        found[inner] += -1 if isinstance(term, tree.Negate) else 1
    return found


def _bare(node: tree.Node, core: Mapping[str, str]) -> tree.Node:
    """A tree without decorations and without the numbers that shift indices."""
    match node:
        case tree.Letter(name=name):
            return tree.Letter(core.get(name, name))
        case tree.Index(base=base, indices=indices):
            return tree.Index(core.get(base, base), tuple(_unshifted(i) for i in indices))
        case tree.Call(function=name, arguments=arguments):
            for word in ("hat_", "bar_", "tilde_"):
                name = name.replace(word, "")
            return tree.Call(core.get(name, name), tuple(_bare(a, core) for a in arguments))
    return rebuild(node, lambda part: _bare(part, core))


def _unshifted(index: tree.Node) -> tree.Node:
    form = linear_form(index)
    names = sorted(n for n in form if n) if form else []
    return tree.Letter("+".join(names)) if names else index


def _ranges(left: tree.Node, right: tree.Node, at: Sentence) -> Iterator[Defect]:
    """A sum under a norm against the sum of the norms: no index may be lost."""
    inside = [(n.function, s) for n in left.walk() if isinstance(n, tree.Call) and n.function in NORMS
              for s in _summed(n.arguments[0])]  # fmt: skip
    outside = [s for s in right.walk() if isinstance(s, tree.Call) and s.function == "sum"]
    for norm, one in inside:
        for other in outside:
            body = other.arguments[0]
            if not (isinstance(body, tree.Call) and body.function == norm and body.arguments == one.arguments[:-1]):
                continue
            lost = _lost(binder(one), binder(other))
            if lost:
                title = f"the sum under the norm has a term that the sum of the norms does not have: that with {lost}"
                yield Defect("index", at.place, title, "local slip", at.latex, (to_text(one), to_text(other)),
                             f"range {title} {at.unit}", at.unit)  # fmt: skip


def _summed(node: tree.Node) -> Iterator[tree.Call]:
    """The sum that a norm is of, factors aside."""
    match node:
        case tree.Call(function="sum"):
            yield node
        case tree.Multiply(factors=factors):
            for factor in factors[-1:]:
                yield from _summed(factor)
        case tree.Divide(numerator=top):
            yield from _summed(top)


def _lost(
    one: tuple[str, tree.Node, tree.Node] | None, other: tuple[str, tree.Node, tree.Node] | None
) -> str:
    """An index of the first range that is not in the second; empty if there is none or the ends cannot be compared."""
    if one is None or other is None or one[0] != other[0]:
        return ""
    low, high = (linear_form(tree.Add((b, tree.Negate(a)))) for a, b in zip(one[1:], other[1:], strict=True))
    if low and set(low) == {""} and low[""] > 0:
        return f"{one[0]} = {to_text(one[1])}"
    if high and set(high) == {""} and high[""] < 0:
        return f"{one[0]} = {to_text(one[2])}"
    return ""

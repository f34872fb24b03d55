"""Single steps of a chain that are no arithmetic of their own: what is added and taken away, and ranges of sums.

``|a - b| = |a - c + d - b|`` and ``|a - b| <= |a - c| + |d - b|`` need c = d; ``|sum_R a_k| <= sum_S |a_k|`` needs
every index of R in S. Told are only steps in which everything else agrees term by term.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from fractions import Fraction

from bilevel_verify.language import to_text, tree
from bilevel_verify.language.binding import binder
from bilevel_verify.latex.statements import EQUATES
from bilevel_verify.proofreading.defect import Defect
from bilevel_verify.proofreading.joints.forms import Formless, form_of
from bilevel_verify.proofreading.names.decorations import cores
from bilevel_verify.proofreading.names.ends import linear_form
from bilevel_verify.proofreading.names.occurrences import NORMS
from bilevel_verify.proofreading.source import Paper, Sentence
from bilevel_verify.theorems.rewrite import rebuild


def step_defects(paper: Paper) -> Iterator[Defect]:
    """Every pair of neighbours in every chain."""
    core, equal = cores(paper.notation), _equated(paper)
    for sentence in paper.sentences:
        for chain in sentence.chains():
            for left, relation, right in chain.links():
                if relation.word in ("==", "<=", "<"):
                    yield from _inserted(left, right, relation.word, core, equal, sentence)
                    yield from _ranges(left, right, sentence)
                    yield from _means(left, right, sentence)
                elif relation.word in (">=", ">"):
                    yield from _means(right, left, sentence)


def _equated(paper: Paper) -> set[frozenset[str]]:
    """Pairs of letters or entries that the paper says to be equal, anywhere."""
    found: set[frozenset[str]] = set()
    for chain in (c for s in paper.sentences for c in s.chains()):
        for left, relation, right in chain.links():
            if relation.word in EQUATES:
                found.add(frozenset({to_text(left), to_text(right)}))
    return found


def _inserted(
    left: tree.Node, right: tree.Node, op: str, core: Mapping[str, str], equal: set[frozenset[str]], at: Sentence
) -> Iterator[Defect]:
    """What a step adds and takes away, or goes on with, where it is not one thing.

    Norms are read as what stands under them: with decorations (and, of what is inserted, shifts of indices) taken off
    both sides agree term by term, and as printed two terms are left over.
    """
    if not _under_norms(left) or (op == "==" and not _under_norms(right)):
        return
    try:
        old, new = (form_of(_opened(side)).terms for side in (left, right))
        rest = {m: c for m in {*old, *new} if (c := new.get(m, Fraction(0)) - old.get(m, Fraction(0)))}
        if len(rest) != 2 or sum(rest.values(), Fraction(0)) or len(old) < 2:
            return
        strangers = not any(m in old for m in rest)
        plain = [form_of(_bare(_opened(side), core, strangers)).terms for side in (left, right)]
    except Formless:
        return
    first, second = sorted(rest, key=lambda m: rest[m])
    minus, plus = ("*".join(sorted(n for n, _ in m)) for m in (first - second, second - first))
    kept = " ".join(n for m in old if m not in rest for n, _ in m)
    kin = strangers or any(word in kept for word in re.findall(r"[A-Za-z]+_(?:tilde|hat|bar)", f"{minus} {plus}"))
    if plain[0] != plain[1] or frozenset({plus, minus}) in equal or not kin:
        return
    what = f"takes away {minus} and adds {plus}" if strangers else f"has {minus} on one side and {plus} on the other"
    title = f"the step {what}, which are two things"
    yield Defect("decoration", at.place, title, "local slip", at.latex, (to_text(left), to_text(right)),
                 f"inserted {title} {at.unit}", at.unit)  # fmt: skip


def _under_norms(node: tree.Node) -> bool:
    return any(isinstance(p, tree.Call) and p.function in NORMS for p in node.walk())


def _opened(node: tree.Node) -> tree.Node:
    """A side with the argument in the place of every norm that is no power."""
    if isinstance(node, tree.Power):
        return node
    if isinstance(node, tree.Call) and node.function in NORMS and len(node.arguments) == 1:
        return node.arguments[0]
    if isinstance(node, tree.Call):
        return rebuild(node, _opened) if node.function == "sum" else node
    return rebuild(node, _opened)


def _bare(node: tree.Node, core: Mapping[str, str], shifts: bool) -> tree.Node:
    """A tree without decorations, and without the numbers that shift indices where ``shifts`` says so."""
    match node:
        case tree.Letter(name=name):
            return tree.Letter(core.get(name, name))
        case tree.Index(base=base, indices=indices):
            return tree.Index(core.get(base, base), tuple(_unshifted(i) if shifts else i for i in indices))
        case tree.Call(function=name, arguments=arguments):
            for word in ("hat_", "bar_", "tilde_"):
                name = name.replace(word, "")
            return tree.Call(core.get(name, name), tuple(_bare(a, core, shifts) for a in arguments))
    return rebuild(node, lambda part: _bare(part, core, shifts))


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


def _means(low: tree.Node, high: tree.Node, at: Sentence) -> Iterator[Defect]:
    """``max a_k <= (1/K) sum a_k``, or the mean below the minimum, over one range."""
    for name, one, other, text in (("max", low, high, "at most"), ("min", high, low, "at least")):
        if not isinstance(one, tree.Call) or one.function != name or binder(one) is None:
            continue
        if not isinstance(other, tree.Multiply) or len(other.factors) != 2:
            continue
        factor, total = other.factors
        whole = isinstance(total, tree.Call) and total.function == "sum" and total.arguments == one.arguments
        if whole and isinstance(factor, tree.Divide) and factor.numerator == tree.Number(Fraction(1)):
            title = f"the {name} is said to be {text} the mean of the same terms"
            yield Defect("shape", at.place, title, "local slip", at.latex, (to_text(one), to_text(other)),
                         unit=at.unit)  # fmt: skip


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


def _lost(one: tuple[str, tree.Node, tree.Node] | None, other: tuple[str, tree.Node, tree.Node] | None) -> str:
    """An index of the first range that is not in the second; empty if there is none or the ends cannot be compared."""
    if one is None or other is None or one[0] != other[0]:
        return ""
    low, high = (linear_form(tree.Add((b, tree.Negate(a)))) for a, b in zip(one[1:], other[1:], strict=True))
    if low and set(low) == {""} and low[""] > 0:
        return f"{one[0]} = {to_text(one[1])}"
    if high and set(high) == {""} and high[""] < 0:
        return f"{one[0]} = {to_text(one[2])}"
    return ""


def least_defects(paper: Paper) -> Iterator[Defect]:
    """``K_0 = min_k |x_k|`` where K_0 is an index elsewhere: the minimiser is meant."""
    indices = {n for s in paper.sentences for node in s.nodes() for p in node.walk() for n in _as_index(p)}
    for sentence in paper.sentences:
        for chain in sentence.chains():
            for left, relation, right in chain.links():
                least = isinstance(right, tree.Call) and right.function in ("min", "max") and binder(right) is not None
                if not least or not isinstance(left, tree.Letter) or relation.word not in EQUATES:
                    continue
                if left.name in indices and _under_norms(right):
                    assert isinstance(right, tree.Call)
                    title = f"{left.name} is the value of a {right.function} here and an index elsewhere"
                    yield Defect("shape", sentence.place, title, "local slip", sentence.latex, unit=sentence.unit,
                                 cause=f"least {left.name}")  # fmt: skip


def _as_index(node: tree.Node) -> Iterator[str]:
    """Letters of an index of a sequence, or of an end of a sum."""
    ends = binder(node) if isinstance(node, tree.Call) and node.function == "sum" else None
    for index in node.indices if isinstance(node, tree.Index) else ends[1:] if ends is not None else ():
        yield from tree.letters(index)

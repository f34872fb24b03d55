"""Indices: bound twice, idle beside a stranger, or belonging to no range of their statement."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator
from typing import TypeAlias

from bilevel_verify.language import tree
from bilevel_verify.latex.grammar.binding import bound_by
from bilevel_verify.proofreading.defect import Defect
from bilevel_verify.proofreading.names.hapax import script_index
from bilevel_verify.proofreading.names.occurrences import Use, uses
from bilevel_verify.proofreading.source import Paper, Sentence

ADDING = ("sum", "prod")
Slot: TypeAlias = tuple[str, int, int]
"""A sequence, its number of indices, and one of them."""


def index_defects(paper: Paper) -> Iterator[Defect]:
    """Defects of indices in every formula of a paper."""
    for home in paper.homes.values():
        known = _settled(home, paper)
        for sentence in home:
            for chain in sentence.chains():
                for member in chain.members:
                    yield from _bound_twice(member, frozenset(), sentence)
                    yield from _idle(member, sentence, known)
                    yield from _own_end(member, sentence)
        yield from _strangers(home, paper)


def _bound_twice(node: tree.Node, outside: frozenset[str], sentence: Sentence) -> Iterator[Defect]:
    """The same index of a sum inside a sum over it."""
    names: frozenset[str] = frozenset()
    if isinstance(node, tree.Call) and node.function in ADDING:
        names = bound_by(node)
        for name in sorted(names & outside):
            title = f"the index {name} is bound twice: by a sum inside a sum over the same letter"
            yield Defect("index", sentence.place, title, "local slip", sentence.latex, unit=sentence.unit,
                         cause=f"bound twice {name} {sentence.unit}")  # fmt: skip
        body = node.arguments[0]
        apart = [f for f in body.factors if _is_sum_beside(f, node)] if isinstance(body, tree.Multiply) else []
        for factor in apart:
            yield from _bound_twice(factor, outside, sentence)
        rest = [f for f in body.factors if f not in apart] if isinstance(body, tree.Multiply) else node.arguments[:-1]
        for part in rest:
            yield from _bound_twice(part, outside | names, sentence)
        return
    for part in node.children():
        yield from _bound_twice(part, outside, sentence)


def _is_sum_beside(factor: tree.Node, outer: tree.Call) -> bool:
    """Whether a factor is a second sum, ``sum_i p_i sum_i q_i``: over the same range, both over terms of their own."""
    if not isinstance(factor, tree.Call) or (factor.function, factor.arguments[-1]) != ("sum", outer.arguments[-1]):
        return False
    names, body = bound_by(outer), outer.arguments[0]
    others = [f for f in (body.factors if isinstance(body, tree.Multiply) else ()) if f is not factor]
    inner = {use.name for use in uses(factor.arguments[0]) if use.base}
    return inner == {*names} and any(use.name in names for f in others for use in uses(f))


def _idle(node: tree.Node, sentence: Sentence, settled: set[str]) -> Iterator[Defect]:
    """A sum whose index occurs in none of its terms, while its terms have an index that nothing gives a value."""
    for part in node.walk():
        if not isinstance(part, tree.Call) or part.function not in ADDING:
            continue
        body = [use for arg in part.arguments[:-1] for use in uses(arg)]
        for name in sorted(bound_by(part)):
            if any(use.name == name for use in body):
                continue
            free = sorted({use.name for use in body if use.base and use.binder is None} - settled - {name})
            free = sorted(_scripts(body, name)) or free
            if free:
                title = (
                    f"the sum runs over {name}, which does not occur in its terms; they have the index {free[0]},"
                    " which nothing gives a value"
                )
                yield Defect("index", sentence.place, title, "local slip", sentence.latex, unit=sentence.unit,
                             cause=f"idle {name} {free[0]} {sentence.unit}")  # fmt: skip


def _scripts(body: list[Use], name: str) -> set[str]:
    """Scripts of letters ``q_i`` under a sum over the letter q itself."""
    return {index for use in body if (index := script_index(use.name)) and use.name == f"{name}_{index}"}


def _own_end(node: tree.Node, sentence: Sentence) -> Iterator[Defect]:
    """A sum whose end contains its own index."""
    for part in node.walk():
        if not isinstance(part, tree.Call) or part.function not in ADDING or not isinstance(
            part.arguments[-1], tree.Tuple
        ):  # fmt: skip
            continue
        items = part.arguments[-1].items
        if len(items) != 3:
            continue
        for name in sorted(bound_by(part)):
            if any(use.name == name for end in items[1:] for use in uses(end)):
                title = f"the index {name} of a sum stands in an end of its own range"
                yield Defect("index", sentence.place, title, "local slip", sentence.latex, unit=sentence.unit)


def _settled(home: list[Sentence], paper: Paper) -> set[str]:
    """Letters that the statement or proof gives a value or a range: used outside of sums, quantified, assigned."""
    found: Counter[str] = Counter()
    for sentence in home:
        for chain in sentence.chains():
            seen = {use.name for member in chain.members for use in uses(member) if use.binder is None}
            found.update(seen)
            found.update({use.name for c in chain.conditions for m in c.members for use in uses(m)})
    return {name for name, count in found.items() if count > 1}


def _strangers(home: list[Sentence], paper: Paper) -> Iterator[Defect]:
    """An index letter that one place of a statement has and no other, where the same sequence goes by other letters."""
    mentioned: Counter[str] = Counter()
    letters: dict[Slot, set[str]] = defaultdict(set)
    running: set[str] = set()
    where: dict[str, tuple[Sentence, Slot]] = {}
    for sentence in home:
        for node in sentence.nodes():
            mentioned.update(use.name for use in uses(node) if use.binder is None)
            running |= {n for part in node.walk() if isinstance(part, tree.Call) for n in bound_by(part)}
            for slot, name, bound in _slots(node):
                letters[slot].add(name)
                if not bound:
                    where.setdefault(name, (sentence, slot))
    words = " ".join(f"{s.before} {s.after}" for s in home)
    for name, (sentence, slot) in where.items():
        related = any(chain.relations for chain in sentence.chains())
        if mentioned[name] > 1 or name not in paper.notation.indices or f" {name} " in words or not related:
            continue
        others = sorted(letters[slot] & paper.notation.indices - {name})
        mates = {use.name for node in sentence.nodes() for use in uses(node) if use.base} - {name}
        mates |= {script_index(use.name) for node in sentence.nodes() for use in uses(node)}
        if name in running:  # of a running letter only a place beside another one in the same slot is told
            slots = [s for node in sentence.nodes() for s in _slots(node)]
            alone = any(isinstance(n, tree.Index) and name in tree.letters(n) for n in sentence.nodes())
            mates = {n for one, n, bound in slots if one == slot and not bound and n != name and not alone}
        line = sentence.read.formula.kind == "algorithm-line"
        if others and (line or mates & set(others)):
            title = f"the index {name} stands here once and nowhere else; {slot[0]} is indexed by {', '.join(others)}"
            grade = "breaks the statement" if line else "local slip"
            yield Defect("index", sentence.place, title, grade, sentence.latex, unit=sentence.unit)


def _slots(node: tree.Node, bound: frozenset[str] = frozenset()) -> Iterator[tuple[Slot, str, bool]]:
    """Letters of indices with the slot in which they stand, and whether an operator binds them."""
    if isinstance(node, tree.Index):
        for place, index in enumerate(node.indices):
            for use in uses(index):
                yield (node.base, len(node.indices), place), use.name, use.name in bound
    inner = bound | bound_by(node) if isinstance(node, tree.Call) else bound
    for part in node.children():
        yield from _slots(part, inner)

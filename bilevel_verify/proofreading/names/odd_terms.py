"""A term of one line of a chain that the lines before and behind have with one thing changed."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice

from bilevel_verify.language import to_text, tree
from bilevel_verify.proofreading.defect import Defect
from bilevel_verify.proofreading.source import Paper, Sentence

WORDS = ("==", "<=", ">=", "<", ">")
LEAST_NODES = 5
"""A shorter term may well come, go and come again."""
MOST_CHANGED = 5
"""Nodes of what is changed in a term."""


def odd_term_defects(paper: Paper) -> Iterator[Defect]:
    """Every three neighbouring members of every chain that are sums."""
    for sentence in paper.sentences:
        for chain in sentence.chains():
            if all(relation.word in WORDS for relation in chain.relations):
                members = [_terms(member) for member in chain.members]
                for three in zip(members, members[1:], members[2:], strict=False):
                    yield from _odd(sentence, *three)


def _terms(node: tree.Node) -> list[tree.Node]:
    """The summands of a sum, with their signs; none of what is no sum."""
    return list(node.terms) if isinstance(node, tree.Add) else []


def _odd(
    sentence: Sentence, before: list[tree.Node], here: list[tree.Node], behind: list[tree.Node]
) -> Iterator[Defect]:
    for term in before:
        if term in here or term not in behind or not _is_long(term):
            continue
        near = [[one for one in line if one != term and _is_near(one, term)] for line in (before, here, behind)]
        if [len(line) for line in near] != [0, 1, 0] or near[1][0] in (*before, *behind):
            continue
        printed, meant = to_text(near[1][0]), to_text(term)
        title = f"the term {printed} of one line is {meant} in the line before it and in the line behind it"
        yield Defect("index", sentence.place, title, "local slip", sentence.latex, (printed, meant),
                     f"term {title} {sentence.unit}", sentence.unit)  # fmt: skip


def _is_long(term: tree.Node) -> bool:
    return sum(1 for _ in islice(term.walk(), LEAST_NODES)) == LEAST_NODES


def _is_near(one: tree.Node, other: tree.Node) -> bool:
    """Whether two trees differ in one small part."""
    changed = _changed(one, other)
    return changed is not None and all(sum(1 for _ in part.walk()) <= MOST_CHANGED for part in changed)


def _changed(one: tree.Node, other: tree.Node) -> tuple[tree.Node, tree.Node] | None:
    """The smallest parts in which two trees differ, if it is one place; a sign is one, too."""
    if isinstance(one, tree.Negate) != isinstance(other, tree.Negate):
        inner, outer = (one.operand, other) if isinstance(one, tree.Negate) else (one, other)
        plain = outer.operand if isinstance(outer, tree.Negate) else outer
        return (tree.Letter("-"), tree.Letter("+")) if inner == plain else None
    ours, theirs = [*one.children()], [*other.children()]
    if type(one) is not type(other) or len(ours) != len(theirs) or not ours or _head(one) != _head(other):
        return one, other
    differ = [(a, b) for a, b in zip(ours, theirs, strict=True) if a != b]
    if len(differ) != 1:
        return (one, other) if differ else None
    return _changed(*differ[0])


def _head(node: tree.Node) -> str:
    """What a node has beside its parts."""
    match node:
        case tree.Call(function=name) | tree.Index(base=name):
            return name
    return ""

"""What a formula is about: its functions and sequences, and those of the definitions of everything in it."""

from __future__ import annotations

from collections.abc import Iterable

from bilevel_verify.language import tree
from bilevel_verify.latex.statements import EQUATES
from bilevel_verify.manuscript.opaque import kind_in
from bilevel_verify.manuscript.proofs.said import OPERATORS
from bilevel_verify.proofreading.following.premises import plain
from bilevel_verify.proofreading.source import Paper

ROUNDS = 3


def subjects(*nodes: tree.Node) -> set[str]:
    """Functions and sequences in formulas; without any their letters."""
    parts = [p for node in nodes for p in node.walk()]
    calls = {p.function.removeprefix("grad_") for p in parts if isinstance(p, tree.Call)} - OPERATORS
    found = calls | {p.base for p in parts if isinstance(p, tree.Index)}
    return found or set().union(*(tree.letters(node) for node in nodes))


def definitions(paper: Paper) -> list[tuple[tree.Node, tree.Node]]:
    """The equations of a paper with a letter, entry or value of a function on the left side."""
    links = (link for s in paper.sentences for c in s.chains() for link in c.links())
    return [(a, b) for a, r, b in links if r.word in EQUATES
            and isinstance(a, tree.Letter | tree.Index | tree.Call) and plain(b)]  # fmt: skip


def reach(paper: Paper, nodes: Iterable[tree.Node], numbers: bool = False) -> set[str]:
    """Functions, sequences and letters of formulas, and of the definitions of all of them, or of numbers alone."""
    here, found = list(nodes), set[str]()
    known = [d for d in definitions(paper) if not numbers or kind_in(paper.notation, d[0]) == "scalar"]
    for _ in range(ROUNDS):
        names = set().union(*(subjects(node) | tree.letters(node) for node in here)) - found
        found |= names
        here = [right for left, right in known if names & subjects(left)]
    return found

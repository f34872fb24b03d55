"""Entries of sequences that are read as letters: ``x_K`` beside ``x_k``, ``s_t`` beside one ``s_{t+1}``."""

from __future__ import annotations

import re
from collections.abc import Mapping

from bilevel_verify.language import tree
from bilevel_verify.language.binding import binder
from bilevel_verify.proofreading.source import Paper
from bilevel_verify.theorems.rewrite import rebuild

LAST = re.compile(r"\\l?dots\s*,\s*([A-Za-z])(?![A-Za-z_^])")
"""``k = 0, 1, ..., K - 1``: K counts."""


def lettered(paper: Paper) -> dict[str, tree.Index]:
    """Names such as ``x_K``, each with the entry that it is: ``x`` is a sequence, and ``K`` counts."""
    bases: set[str] = set()
    counts: set[str] = {*paper.notation.indices, *LAST.findall(paper.text)}
    names: set[str] = set()
    for part in paper.parts:
        if isinstance(part, tree.Index):
            bases.add(part.base)
            counts = counts.union(*(tree.letters(index) for index in part.indices))
        elif isinstance(part, tree.Letter):
            names.add(part.name)
        elif isinstance(part, tree.Call) and (span := binder(part)) is not None:
            counts |= tree.letters(span[1]) | tree.letters(span[2])
    primed = {e.name for e in paper.notation.entries if e.atom.primes}
    found = {}
    renamed = {e.display: e.name for e in paper.notation.entries if e.role == "letter"}
    for name in names - primed:
        base, _, index = name.rpartition("_")
        index = renamed.get(index, index)  # T is taken, and has another name
        if base in bases and index in counts:
            found[name] = tree.Index(base, (tree.Letter(index),))
    return found


def as_entries(node: tree.Node, entries: Mapping[str, tree.Index]) -> tree.Node:
    """A formula with the entries in the place of the letters."""
    if isinstance(node, tree.Letter):
        return entries.get(node.name, node)
    return rebuild(node, lambda part: as_entries(part, entries)) if entries else node

"""Functions that are sums of components, and sets over which sums run: how many terms each of them has."""

from __future__ import annotations

import re
from collections.abc import Iterator
from fractions import Fraction

from bilevel_verify.errors import LatexError
from bilevel_verify.language import tree
from bilevel_verify.language.binding import binder
from bilevel_verify.latex import read_latex
from bilevel_verify.proofreading.source import Paper, Sentence

PRINTED = re.compile(
    r"\A\s*(?P<whole>[A-Za-z])(?:\s*\([^()]*\))?\s*:?=.*\\sum(?:\\limits)?\s*_\s*\{?\s*(?P<index>[a-z])\s*=\s*1\s*\}?"
    r"\s*\^\s*(?:\{\s*(?P<long>[A-Za-z])\s*\}|(?P<short>[A-Za-z]))\s*(?P<part>[A-Za-z])\s*[_^]\s*[\{(]*\s*(?P=index)"
)
"""A sum of functions that is not read, since it names no point: ``f=\\frac1n\\sum_{i=1}^nf_i``."""
OF_SIZE = re.compile(r"\A\s*(?:of (?:size|cardinality)|of|with)\s*\x01(?!\s*[=<>])", re.I)


def number_of_components(paper: Paper) -> dict[str, tree.Node]:
    """Function -> how many functions it is the sum or mean of, where a formula of the paper says so."""
    found: dict[str, tree.Node] = {}
    for sentence in paper.sentences:
        printed = PRINTED.match(sentence.latex)
        if printed is not None and (count := _letter(printed["long"] or printed["short"], paper)) is not None:
            found.setdefault(printed["whole"], count)
        for chain in sentence.chains():
            heads = [m.function for m in chain.members if isinstance(m, tree.Call)]
            for head in heads if all(r.word in ("==", ":=") for r in chain.relations) else ():
                for length in (n for m in chain.members for n in _of_family(m)):
                    found.setdefault(head, length)
    return found


def _letter(latex: str, paper: Paper) -> tree.Node | None:
    try:
        return read_latex(latex, paper.notation).statements[0].members[0]
    except LatexError:
        return None


def _of_family(node: tree.Node) -> Iterator[tree.Node]:
    """The number of terms of a sum from 1 of values of one function with the index among what it takes."""
    for part in node.walk():
        span = binder(part) if isinstance(part, tree.Call) and part.function == "sum" else None
        if span is None or span[1] != tree.Number(Fraction(1)) or not isinstance(part, tree.Call):
            continue
        if isinstance(body := part.arguments[0], tree.Call) and tree.Letter(span[0]) in body.arguments:
            yield span[2]


def sizes_of_sets(paper: Paper) -> dict[str, tree.Node]:
    """Set, or sequence of sets -> how many elements the paper says that it has: ``|B_t|=b``, "of size b"."""
    found: dict[str, tree.Node] = {}
    for one, after in zip(paper.sentences, [*paper.sentences[1:], None], strict=True):
        for chain in one.chains():
            match chain.members, [r.word for r in chain.relations]:
                case (tree.Call(function="count" | "abs", arguments=(inner,)), size), ["==" | ":="]:
                    found.setdefault(base_of(inner), size)
        number = _alone(after) if after is not None and OF_SIZE.match(one.after) else None
        for chain in one.chains():
            if number is None:
                break
            found.setdefault(base_of(chain.members[0]), number)
    found.pop("", None)
    return found


def _alone(sentence: Sentence) -> tree.Node | None:
    """The letter or number that a formula is."""
    members = [m for chain in sentence.chains() for m in chain.members]
    return members[0] if len(members) == 1 and isinstance(members[0], tree.Letter | tree.Number) else None


def base_of(node: tree.Node) -> str:
    """The letter or sequence that a node names; empty for others."""
    return node.name if isinstance(node, tree.Letter) else node.base if isinstance(node, tree.Index) else ""

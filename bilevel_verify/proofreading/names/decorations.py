"""Decorations that come and go inside a chain: the same term with a hat in one member and without in the next."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator

from bilevel_verify.language import to_text, tree
from bilevel_verify.latex import Notation
from bilevel_verify.latex.source.structure import flat
from bilevel_verify.proofreading.defect import Defect
from bilevel_verify.proofreading.source import Paper, Sentence
from bilevel_verify.theorems.rewrite import rebuild

ACCENT = re.compile(r"\\(?:hat|tilde|bar|check|breve|dot|vec|widehat|widetilde|overline)\{(.*)\}\Z")

EVERY = re.compile(r"\s*for (?:all|every|each|any)\b")
"""Right behind an inequality: a letter of it stands for all points, and a decorated one for a point."""


def decoration_defects(paper: Paper) -> Iterator[Defect]:
    """Chains in which a term stands with and without a decoration in neighbouring members."""
    bare = _families(paper.notation)
    if not bare:
        return
    for sentence in paper.sentences:
        for chain in sentence.chains():
            for left, relation, right in chain.links():
                one_point = relation.word == "==" or not EVERY.match(sentence.after)
                if relation.word in ("==", "<=", ">=", "<", ">") and one_point:
                    yield from _between(paper, left, right, bare, sentence)


def _defined(paper: Paper, one: tree.Node, other: tree.Node) -> bool:
    """Whether the paper gives the decorated symbol by the plain one, ``\\hat b = b + e``: the chain may put it in."""
    for left, right in (c.equation for s in paper.sentences for c in s.chains() if c.equation is not None):
        if isinstance(left, tree.Letter | tree.Index):
            for term, partner in ((one, other), (other, one)):
                alone = left in term.walk() and left not in partner.walk()
                if alone and {*partner.walk()} & {*right.walk()}:
                    return True
    return False


def cores(notation: Notation) -> dict[str, str]:
    """Name -> its symbol without hat, bar, tilde and primes, with the scripts that belong to it."""
    found: dict[str, str] = {}
    for entry in notation.entries:
        symbol = entry.atom.symbol
        while inner := ACCENT.match(symbol):
            symbol = inner[1]
        scripts = [flat(part) if part is not None else "" for part in (entry.atom.sub, entry.atom.sup)]
        found[entry.name] = f"{symbol} {' '.join(scripts)}".rstrip()
    return found


def _families(notation: Notation) -> dict[str, str]:
    """Name -> what all symbols share that differ in decoration alone; only where there are several."""
    found = cores(notation)
    counts = Counter(found.values())
    return {name: core for name, core in found.items() if counts[core] > 1}


def _between(
    paper: Paper, left: tree.Node, right: tree.Node, bare: dict[str, str], sentence: Sentence
) -> Iterator[Defect]:
    """Terms of two members that are equal but for decorations, and stand in only one of them each."""
    ours, theirs = _terms(left), _terms(right)
    plain_ours = {t: _bare(t, bare) for t in ours}
    plain_theirs = {t: _bare(t, bare) for t in theirs}
    for term, plain in plain_ours.items():
        if term in theirs or list(plain_ours.values()).count(plain) > 1:
            continue
        partners = [t for t, p in plain_theirs.items() if p == plain]
        if len(partners) != 1 or partners[0] in ours or not _decorated(term, bare):
            continue
        if (tree.Negate(term) in left.children()) != (tree.Negate(partners[0]) in right.children()):
            continue
        one, other = to_text(term), to_text(partners[0])
        if (
            _elsewhere(left, term, partners[0])
            or _defined(paper, term, partners[0])
            or _on_the_way(ours, term, partners[0])
        ):
            continue
        title = f"the term {one} of one line is {other} in the next"
        yield Defect("decoration", sentence.place, title, "local slip", sentence.latex, (one, other),
                     f"decoration {one} {other}", sentence.unit)  # fmt: skip


def _elsewhere(left: tree.Node, one: tree.Node, other: tree.Node) -> bool:
    """Whether the step is about the decorated symbols themselves: one side is what they make, ``f(x') <= f(x) - c``."""
    return tree.letters(one) == tree.letters(other) or len(_terms(left)) == 1


def _on_the_way(terms: list[tree.Node], one: tree.Node, other: tree.Node) -> bool:
    """Whether a term beside it is the distance of the two symbols: ``|u - v| + |v - v^*|``, and on to ``|u - v^*|``."""
    old, new = ({p for p in t.walk() if isinstance(p, tree.Letter | tree.Index)} for t in (one, other))
    return any({*(old - new), *(new - old)} <= {*term.walk()} for term in terms if term != one)


def _terms(node: tree.Node) -> list[tree.Node]:
    """Summands of a member."""
    found = list(node.terms) if isinstance(node, tree.Add) else [node]
    return [t.operand if isinstance(t, tree.Negate) else t for t in found]


def _decorated(node: tree.Node, bare: dict[str, str]) -> bool:
    return bool(tree.letters(node) & bare.keys())


def _bare(node: tree.Node, bare: dict[str, str]) -> tree.Node:
    """The tree with decorated names replaced by what they share."""
    match node:
        case tree.Letter(name=name) if name in bare:
            return tree.Letter(bare[name])
        case tree.Index(base=base) if base in bare:
            node = tree.Index(bare[base], node.indices)
    return rebuild(node, lambda part: _bare(part, bare))

"""One quantity that the paper gives twice, the second time with another index, another end of a sum or min for max."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import fields
from itertools import combinations

from bilevel_verify.language import to_text, tree
from bilevel_verify.proofreading.defect import Defect
from bilevel_verify.proofreading.joints.carrying import to_text_of
from bilevel_verify.proofreading.source import Paper, Sentence

SAME = {"<-": "==", ":=": "=="}
LEAST_NODES = 6
EXTREMES = ("min", "max", "argmin", "argmax")
Place = tuple[Sentence, tree.Node, str]
Change = tuple[str, tree.Node, tree.Node]


def twin_defects(paper: Paper) -> Iterator[Defect]:
    """Relations with one left side, in two displays, statements or lines, that differ in one place alone."""
    table: dict[tuple[tree.Node, str], list[Place]] = {}
    for sentence in paper.sentences:
        for chain in sentence.chains():
            if chain.relations and not chain.continues and len(chain.members) > 1:
                word = chain.relations[0].word
                key = chain.members[0], SAME.get(word, word)
                table.setdefault(key, []).append((sentence, chain.members[1], word))
    for (left, _), places in table.items():
        seen: set[frozenset[tree.Node]] = set()
        for one, other in combinations(places, 2):
            pair = frozenset({one[1], other[1]})
            if len(pair) == 2 and pair not in seen and one[0] is not other[0]:
                seen.add(pair)
                yield from _judged(left, one, other)


def _judged(left: tree.Node, one: Place, other: Place) -> Iterator[Defect]:
    found = list(changes(one[1], other[1]))
    if len(found) != 1 or sum(1 for _ in one[1].walk()) < LEAST_NODES:
        return
    what, here, there = found[0]
    defined = one[2] == other[2] == ":="
    if what not in ("index", "function", "member") and not (what == "letter" and defined):
        return
    sentence, first = other[0], one[0]
    title = f"{to_text(left)} has {to_text(there)} here, and {to_text(here)} in {first.place}"
    yield Defect("meaning", sentence.place, title, "local slip", sentence.latex,
                 (f"{first.place}: {to_text_of(first)}", f"here: {to_text_of(sentence)}"),
                 f"twin {title}", sentence.unit)  # fmt: skip


def changes(one: tree.Node, other: tree.Node) -> Iterator[Change]:
    """Where two trees differ: an index that is shifted, a letter, a name of a function, a member of a maximum."""
    if one == other:
        return
    match one, other:
        case tree.Letter(), tree.Letter():
            yield "letter", one, other
        case tree.Index(base=a, indices=i), tree.Index(base=b, indices=j) if len(i) == len(j):
            shifted = all(tree.letters(x) == tree.letters(y) for x, y in zip(i, j, strict=True))
            yield "letter" if a != b and i == j else "index" if a == b and shifted else "other", one, other
        case tree.Call(function=f, arguments=u), tree.Call(function=g, arguments=v) if f != g:
            yield "function" if u == v and {f, g} <= {*EXTREMES} else "other", one, other
        case tree.Call(function="max" | "min" as f, arguments=u), tree.Call(function=g, arguments=v) if (
            f == g and abs(len(u) - len(v)) == 1
        ):
            less, more = sorted((u, v), key=len)
            yield "member" if [x for x in more if x in less] == list(less) else "other", one, other
        case _:
            yield from _parts(one, other)


def _parts(one: tree.Node, other: tree.Node) -> Iterator[Change]:
    if type(one) is not type(other):
        yield "other", one, other
        return
    for item in fields(one):
        mine, yours = getattr(one, item.name), getattr(other, item.name)
        if not item.compare or mine == yours:
            continue
        mine, yours = (v if isinstance(v, tuple) else (v,) for v in (mine, yours))
        if len(mine) != len(yours) or not all(isinstance(v, tree.Node) for v in (*mine, *yours)):
            yield "other", one, other
            return
        for a, b in zip(mine, yours, strict=True):
            yield from changes(a, b)

"""One quantity that the paper gives twice, the second time with another index, another end of a sum or min for max."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import fields
from itertools import combinations

from bilevel_verify.language import to_text, tree
from bilevel_verify.latex.statements import ORDERED
from bilevel_verify.proofreading.defect import Defect
from bilevel_verify.proofreading.joints.carrying import to_text_of
from bilevel_verify.proofreading.joints.forms import Formless, form_of
from bilevel_verify.proofreading.source import Paper, Sentence

SAME = {"<-": "==", ":=": "=="}
LEAST_NODES, LONG, MOST_NAMES = 6, 10, 2
EXTREMES = ("min", "max", "argmin", "argmax")
IMPLICIT = re.compile(r"\b(?:implicit(?:ly)?|backward|instead)\b", re.I)
ANOTHER = re.compile(
    r"\b(?:simple|plain|na[iï]ve|explicit|ordinary|usual|standard|classical|original)\s+"
    r"(?:iteration|method|scheme|step|update)s?\s*\Z",
    re.I,
)
"""Words before a step that is not the one of the paper."""
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
    yield from _tests(paper)
    for (left, _), places in table.items():
        seen: set[frozenset[tree.Node]] = set()
        often = Counter(right for _, right, _ in places)
        for one, other in combinations(places, 2):
            pair = frozenset({one[1], other[1]})
            if often[other[1]] > 1:  # it is said again: there are two values
                continue
            if len(pair) == 2 and pair not in seen and one[0] is not other[0]:
                found = [*_judged(left, one, other), *(_moved(left, one, other) if len(paper.listings) == 1 else ())]
                seen |= {pair} if found else set()
                yield from found


def _tests(paper: Paper) -> Iterator[Defect]:
    """A test of an algorithm that the text prints, too, with one number or end of a sum that is another one."""
    every = [(s, c) for s in paper.sentences for c in s.chains()
             if len(c.members) == 2 and c.relations and c.relations[0].word in ORDERED]  # fmt: skip
    lines = [(s, c) for s, c in every if s.read.formula.kind == "algorithm-line"]
    texts = [(s, c) for s, c in every if s.read.formula.kind != "algorithm-line"]
    for sentence, chain in lines:
        found = []
        for other, printed in texts:
            if printed.relations[0].word == chain.relations[0].word and _long(chain.members[0]):
                pairs = zip(chain.members, printed.members, strict=True)
                found.append((other, [one for a, b in pairs for one in changes(a, b)]))
        if any(not diff for _, diff in found):
            continue
        for other, diff in found:
            if len(diff) == 1 and (diff[0][0] == "number" or (diff[0][0] == "index" and len(found) == 1)):
                title = f"the test has {to_text(diff[0][1])} here, and {to_text(diff[0][2])} in {other.place}"
                yield Defect("meaning", sentence.place, title, "local slip", sentence.latex,
                             (f"{other.place}: {to_text_of(other)}",), f"test {title}", sentence.unit)  # fmt: skip


def _long(node: tree.Node) -> bool:
    return sum(1 for _ in node.walk()) > LEAST_NODES


def _judged(left: tree.Node, one: Place, other: Place) -> Iterator[Defect]:
    found = list(changes(one[1], other[1]))
    unlike = len(found) != 1 or found[0][0] == "other"
    if unlike and _line_and_text(one, other) and SAME.get(one[2], one[2]) == "==":
        found = _but_names(one[1], other[1])
    if len(found) != 1 or sum(1 for _ in one[1].walk()) < LEAST_NODES:
        return
    what, here, there = found[0]
    if _solved_for(left, one) != _solved_for(left, other) or ANOTHER.search(other[0].before):
        return
    defined = one[2] == other[2] == ":="
    said = what in ("index", "function", "member") or (what == "letter" and defined)
    if not said and not (what in ("number", "sign") and _one_thing(left, one, other)):
        return
    sentence, first = other[0], one[0]
    title = f"{to_text(left)} has {to_text(there)} here, and {to_text(here)} in {first.place}"
    yield Defect("meaning", sentence.place, title, "local slip", sentence.latex,
                 (f"{first.place}: {to_text_of(first)}", f"here: {to_text_of(sentence)}"),
                 f"twin {title}", sentence.unit)  # fmt: skip


def _solved_for(left: tree.Node, place: Place) -> bool:
    """Whether a step is said to be another one, which is solved for what it gives: ``z' = z - F(z')``."""
    return left in place[1].walk() and IMPLICIT.search(place[0].before + place[0].after) is not None


def _moved(left: tree.Node, one: Place, other: Place) -> Iterator[Defect]:
    """An output of the only algorithm and the quantity of that name in the text: one sum over two ranges."""
    lines = [place[0].read.formula.kind == "algorithm-line" for place in (one, other)]
    spans = [[p for p in place[1].walk() if isinstance(p, tree.Tuple) and len(p.items) == 3] for place in (one, other)]
    if lines[0] == lines[1] or [len(found) for found in spans] != [1, 1]:
        return
    here, there = spans[0][0], spans[1][0]
    same = to_text(one[1]).replace(to_text(here), to_text(there)) == to_text(other[1])
    ends = zip(here.items[1:], there.items[1:], strict=True)
    try:
        steps = [form_of(tree.Add((b, tree.Negate(a)))).terms for a, b in ends]
    except Formless:
        return
    if same and steps[0] == steps[1] and steps[0].keys() == {frozenset()}:
        shown = [f"{to_text(s.items[0])} = {to_text(s.items[1])}, ..., {to_text(s.items[2])}" for s in (there, here)]
        title = f"{to_text(left)} is a sum over {shown[0]} here, and over {shown[1]} in {one[0].place}"
        yield Defect("meaning", other[0].place, title, "local slip", other[0].latex,
                     (f"{one[0].place}: {to_text_of(one[0])}", f"here: {to_text_of(other[0])}"),
                     f"twin {title}", other[0].unit)  # fmt: skip


def _line_and_text(one: Place, other: Place) -> bool:
    """Whether one place is a line of an algorithm and the other is not, or both are lines that minimise."""
    lines = [place[0].read.formula.kind == "algorithm-line" for place in (one, other)]
    least = all(isinstance(place[1], tree.Call) and place[1].function == "argmin" for place in (one, other))
    return lines[0] != lines[1] or (all(lines) and least)


def _but_names(one: tree.Node, other: tree.Node) -> list[Change]:
    """The numbers and signs in which two long formulas differ, if besides them at most two names do."""
    found = list(_loosely(one, other))
    named = [change for change in found if change[0] == "name"]
    rest = [change for change in found if change[0] != "name"]
    return rest if len(named) <= MOST_NAMES and sum(1 for _ in one.walk()) >= LONG else []


def _loosely(one: tree.Node, other: tree.Node) -> Iterator[Change]:
    """Where two trees differ, names of functions, letters and sequences with what stands in them looked into."""
    match one, other:
        case _ if one == other:
            return
        case tree.Call(function=f, arguments=u), tree.Call(function=g, arguments=v) if f != g and len(u) == len(v):
            yield "name", one, other
            for a, b in zip(u, v, strict=True):
                yield from _loosely(a, b)
        case tree.Letter() | tree.Index(), tree.Letter() | tree.Index():
            yield "name", one, other
        case tree.Number() | tree.Negate(), _:
            yield from changes(one, other)
        case _ if type(one) is type(other) and not isinstance(one, tree.Number):
            parts = list(one.children()), list(other.children())
            if len(parts[0]) != len(parts[1]):
                yield "other", one, other
                return
            for a, b in zip(*parts, strict=True):
                yield from _loosely(a, b)
        case _:
            yield from changes(one, other)


def _one_thing(left: tree.Node, one: Place, other: Place) -> bool:
    """Whether two equations are about one step: a line of an algorithm and the text, a statement and its proof."""
    lines = [place[0].read.formula.kind == "algorithm-line" for place in (one, other)]
    same = one[0].read.formula.statement and one[0].read.formula.statement == other[0].read.formula.statement
    equal = all(SAME.get(place[2], place[2]) == "==" for place in (one, other))
    both = lines[0] != lines[1] or bool(same) or _line_and_text(one, other)
    return equal and isinstance(left, tree.Index) and both


def changes(one: tree.Node, other: tree.Node) -> Iterator[Change]:
    """Where two trees differ: an index that is shifted, a letter, a name of a function, a member of a maximum."""
    if one == other:
        return
    match one, other:
        case tree.Letter(), tree.Letter():
            yield "letter", one, other
        case tree.Number(), tree.Number():
            yield "number", one, other
        case (tree.Negate(operand=inner), rest) | (rest, tree.Negate(operand=inner)) if inner == rest:
            yield "sign", one, other
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

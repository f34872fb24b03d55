"""``where the last step is 1 - L eta/2 >= 1/2``: a relation between numbers that a proof uses, under its hypotheses.

It is tried at points that meet the hypotheses of the statement. Told where it fails at one of them, and holds at all
points where one of the parameters stays in a quarter of its range: the range is wider than the proof.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import replace
from fractions import Fraction
from itertools import islice
from typing import TYPE_CHECKING, TypeAlias

from bilevel_verify.drafting.letters import plain
from bilevel_verify.language import to_text, tree
from bilevel_verify.proofreading.defect import Defect
from bilevel_verify.proofreading.instances.drawing import Instance, Unknown
from bilevel_verify.proofreading.instances.edits import LIKELY
from bilevel_verify.proofreading.instances.scenes import LOWER, UPPER, Scene, scenes
from bilevel_verify.proofreading.joints.carrying import to_text_of
from bilevel_verify.proofreading.joints.clauses import clauses, numbered_in
from bilevel_verify.proofreading.joints.judged import Judged
from bilevel_verify.proofreading.joints.parameters import INHERITS, is_sign
from bilevel_verify.proofreading.promises.conclusions import proved_in
from bilevel_verify.proofreading.promises.said import relations_of
from bilevel_verify.proofreading.source import PROMISES, Paper, Passage, Sentence
from bilevel_verify.theorems.rewrite import free_letters

if TYPE_CHECKING:
    from bilevel_verify.drafting.draft import Draft

USED = re.compile(r"\b(?:is|since|as|because|using|uses?|with|by|where|and)\s*\Z", re.I)
DRAWS = 30
CLOSE = 1e-9
EQUAL = ("==",)
PLAIN = ("sqrt", "exp", "log", "ceil", "floor", "min", "max", "abs")
NEARLY = 1e-6
"""Sides that are so near to each other are equal: at the ends of all ranges a right step is sharp, or far from it."""
Link: TypeAlias = tuple[tree.Node, str, tree.Node]


def narrow_joints(paper: Paper, draft: Draft) -> Iterator[Judged]:
    """Relations between numbers inside the words of proofs."""
    homes = proved_in(paper)
    found = {id(passage): scene for passage, scene in scenes(paper, draft)}
    said, unread = list(_said(paper, found)), list(_unread(paper))
    for clause in clauses(paper):
        home = homes.get(id(clause.passage))
        if home is None or id(home) not in found:
            continue
        for place, sentence in enumerate(clause.formulas):
            if sentence.read.formula.kind == "inline" and USED.search(clause.before(place)):
                for chain in sentence.chains():
                    for left, relation, right in chain.links():
                        about = free_letters(left) | free_letters(right)
                        tied = any(about == free_letters(c) and not is_sign(c) for c in found[id(home)].where)
                        kept = relation.word in (*UPPER, *LOWER, *EQUAL) and not _has_all(paper, unread, about)
                        if kept and _between_numbers(left, right, tied):
                            link = (left, relation.word, right)
                            scene = _with_text(found[id(home)], said, about)
                            yield from _judged(scene, home, sentence, link, list(_others(paper, found, home)))
            elif sentence.read.formula.kind == "display" and id(clause.passage) in found:
                yield from _display(_real(found[id(clause.passage)]), found[id(home)], home, sentence)


def _between_numbers(left: tree.Node, right: tree.Node, tied: bool) -> bool:
    """Whether a relation is about a formula of letters, not about a letter or a sign alone.

    ``tied``: a hypothesis has the same letters; then a bound of one of them counts.
    """
    if not plain(left) or not plain(right) or tree.is_zero(left) or tree.is_zero(right):
        return False
    sides = [side for side in (left, right) if free_letters(side)]
    return bool(sides) and (tied or not any(isinstance(side, tree.Letter) for side in (left, right)))


def _unread(paper: Paper) -> Iterator[str]:
    """The formulas of the text between the statements that were not read."""
    text = {id(s) for p in paper.passages if p.kind not in (*PROMISES, "proof") for s in p.formulas}
    yield from (s.latex for s in paper.unread if id(s) in text)


def _has_all(paper: Paper, unread: list[str], letters: set[str]) -> bool:
    """Whether a formula that was not read has all of some letters: it may bound them."""
    names = [entry.display for n in letters if (entry := paper.notation.by_name.get((n, "letter"))) is not None]
    return any(all(name in latex for name in names) for latex in unread)


def _said(paper: Paper, found: dict[int, Scene]) -> Iterator[tree.Compare]:
    """What the text between the statements says: it may be said once, for all, and behind a display."""
    for passage in (p for p in paper.passages if p.kind not in (*PROMISES, "proof")):
        if id(passage) in found:
            yield from found[id(passage)].where
    for passage in (p for p in paper.passages if p.kind == "text"):
        for sentence in (s for s in passage.formulas if s.read.formula.kind == "display"):
            yield from (r for r in relations_of(sentence, False) if r.operators != ("==",))


def _with_text(scene: Scene, said: list[tree.Compare], letters: set[str]) -> Scene:
    """A scene with what the text says of some letters and of those that they are made of."""
    letters = letters.union(*(free_letters(scene.define[n]) for n in letters & scene.define.keys()))
    more = [c for c in said if c not in scene.where and free_letters(c) & letters]
    return replace(scene, where=(*scene.where, *dict.fromkeys(more)))


def _others(paper: Paper, found: dict[int, Scene], home: Passage) -> Iterator[tuple[str, Scene]]:
    """What other statements assume, those aside of which this one cites a relation: ``with (5)``."""
    cited = {id(paper.numbered[n]) for n in numbered_in(home.words) if n in paper.numbered}
    for other in paper.stated.values():
        if other is not home and id(other) in found and not any(id(s) in cited for s in other.formulas):
            yield other.name, found[id(other)]


def _judged(
    scene: Scene, home: Passage, sentence: Sentence, link: Link, others: list[tuple[str, Scene]]
) -> Iterator[Judged]:
    left, op, right = link
    joint = f"{to_text(left)} {op} {to_text(right)} under the hypotheses of {home.name}"
    broken = [one for one in _drawn(scene, link) if not _holds(one, link)]
    if not broken:
        yield Judged("premise", sentence.place, joint, "holds", f"at {DRAWS} points")
        return
    for place, condition in enumerate(scene.where):
        if len(condition.operators) == 1 and condition.operators[0] in UPPER and isinstance(
            condition.operands[0], tree.Letter
        ):  # fmt: skip
            end = tree.Multiply((tree.Number(Fraction(1, 4)), condition.operands[1]))
            narrow = tree.Compare((condition.operands[0], end), condition.operators)
            where = (*scene.where[:place], narrow, *scene.where[place + 1 :])
            points = _drawn(replace(scene, where=where), link)
            if len(points) == DRAWS and all(_holds(one, link) for one in points):
                yield _told(home, sentence, link, f"{to_text(condition)} with a smaller bound", broken[0], joint)
                return
    letters = free_letters(left) | free_letters(right)
    for name, other in others if not INHERITS.search(home.words) else ():
        more = [c for c in other.where if c not in scene.where and free_letters(c) & letters and not is_sign(c)]
        values = {n: v for n, v in other.define.items() if n in letters and n not in scene.define}
        wider = replace(scene, where=(*scene.where, *more), define={**scene.define, **values})
        points = _drawn(wider, link) if more or values else []
        if len(points) == DRAWS and all(_holds(one, link) for one in points) and not _tied(scene, values, more):
            given = [to_text(c) for c in more] + [f"{n} = {to_text(v)}" for n, v in values.items()]
            yield _told(home, sentence, link, f"{'; '.join(given)} ({name})", broken[0], joint)
            return
    yield Judged("premise", sentence.place, joint, "undecided", "no range explains it")


def _real(scene: Scene) -> Scene:
    """A scene in which letters that count stand for any numbers: only there a rounded bound is reached."""
    return replace(scene, whole=frozenset())


def _display(scene: Scene, own: Scene, home: Passage, sentence: Sentence) -> Iterator[Judged]:
    """Links of a display between numbers that hold if one hypothesis of the statement is changed by a factor."""
    for chain in sentence.chains():
        for left, relation, right in chain.links():
            link = (left, relation.word, right)
            if relation.word in (*UPPER, *LOWER) and _numbers(left) and _numbers(right):
                points = _drawn(scene, link)
                broken = [one for one in points if not _holds(one, link)]
                mended = _mended(scene, own, link) if broken else ""
                if mended:
                    joint = f"{to_text(left)} {relation.word} {to_text(right)} under the hypotheses of {home.name}"
                    yield _told(home, sentence, link, mended, broken[0], joint)


def _numbers(node: tree.Node) -> bool:
    """Whether a side is made of letters and entries of sequences of numbers."""
    return not any(isinstance(p, tree.Call) and p.function not in PLAIN for p in node.walk())


def _mended(scene: Scene, own: Scene, link: Link) -> str:
    """A hypothesis of the statement times a factor with which a link holds everywhere, and is sharp somewhere."""
    for factor in LIKELY:
        for condition in own.where:
            if condition in scene.where and len(condition.operators) == 1 and not is_sign(condition):
                left, right = condition.operands
                new = tree.Compare((left, tree.Multiply((tree.Number(factor), right))), condition.operators)
                where = tuple(new if c == condition else c for c in scene.where)
                if _sharp(replace(scene, where=where), link):
                    return to_text(new)
        for name, value in own.define.items():
            if scene.define.get(name) == value:
                new_value = _times(value, factor)
                if _sharp(replace(scene, define={**scene.define, name: new_value}), link):
                    return f"{name} = {to_text(new_value)}"
    return ""


def _times(value: tree.Node, factor: Fraction) -> tree.Node:
    if isinstance(value, tree.Call) and value.function in ("ceil", "floor"):
        return tree.Call(value.function, tuple(_times(a, factor) for a in value.arguments))
    return tree.Multiply((tree.Number(factor), value))


def _sharp(scene: Scene, link: Link) -> bool:
    """Whether a link holds at all points, and nearly with equality at one of them."""
    points = _drawn(scene, link)
    if len(points) < DRAWS or not all(_holds(one, link) for one in points):
        return False
    return any(_gap(one, link) <= NEARLY for one in points)


def _gap(one: Instance, link: Link) -> float:
    """The distance of the sides beside their size."""
    try:
        low, high = one.scalar(link[0]), one.scalar(link[2])
    except Unknown:
        return 1.0
    return abs(high - low) / max(abs(low), abs(high), 1e-300)


def _tied(scene: Scene, values: Mapping[str, tree.Node], more: list[tree.Compare]) -> bool:
    """Whether the statement says more than a sign of a letter that the other one fixes."""
    fixed = {*values} | {o.name for c in more for o in c.operands if isinstance(o, tree.Letter)}
    said = {o.name for c in scene.where if not is_sign(c) for o in c.operands if isinstance(o, tree.Letter)}
    return bool(fixed & (said | scene.define.keys()))


def _drawn(scene: Scene, link: Link) -> list[Instance]:
    return list(islice(scene.draws((link[0], link[2]), {}), DRAWS))


def _holds(one: Instance, link: Link) -> bool:
    left, op, right = link
    try:
        low, high = one.scalar(left), one.scalar(right)
    except Unknown:
        return True
    if op in EQUAL:
        return abs(low - high) <= CLOSE * max(abs(low), abs(high), 1.0)
    low, high = (low, high) if op in UPPER else (high, low)
    return low <= high + CLOSE * max(abs(low), abs(high), 1.0)


def _told(
    home: Passage,
    sentence: Sentence,
    link: Link,
    given: str,
    one: Instance,
    joint: str,
) -> Judged:
    left, op, right = link
    letters = sorted(free_letters(left) | free_letters(right))
    point = ", ".join(f"{n} = {one.scalar(tree.Letter(n)):.4g}" for n in letters)
    title = f"the proof of {home.name} uses {to_text(left)} {op} {to_text(right)}, which its hypotheses do not give"
    evidence = (f"used: {to_text_of(sentence)}",
                f"at {point} the sides are {one.scalar(left):.4g} and {one.scalar(right):.4g}",
                f"it holds under {given}")  # fmt: skip
    defect = Defect("premise", sentence.place, title, "breaks the statement", sentence.latex, evidence,
                    f"narrow {home.id} {given}", sentence.unit)  # fmt: skip
    used = f"{to_text(left)} {op} {to_text(right)}" if op == "==" else ""  # an equation may be told as a premise
    return Judged("premise", sentence.place, joint, "refuted", title, defect, subject=used)

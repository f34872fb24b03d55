"""A step of a chain that fails on instances, and with one small thing changed holds on all of them.

Steps that rest on a property of the functions fail on instances, too, since these know no property; but no change of a
factor, sign, exponent or index makes them hold on all. A step that such a change mends was meant so. One that holds
under a hypothesis of another statement needs that hypothesis.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from itertools import islice
from typing import TYPE_CHECKING, TypeAlias

from bilevel_verify.language import to_text, tree
from bilevel_verify.latex import Statement
from bilevel_verify.proofreading.defect import Defect
from bilevel_verify.proofreading.instances.drawing import SPREADS, Instance, Unknown
from bilevel_verify.proofreading.instances.edits import NAMES, Edit, edits
from bilevel_verify.proofreading.instances.entries import as_entries, lettered
from bilevel_verify.proofreading.instances.known import is_form, known_before, met, put_in
from bilevel_verify.proofreading.instances.scenes import LOWER, UPPER, Rules, Scene, scenes
from bilevel_verify.proofreading.joints.carrying import Bounded, bounds_of
from bilevel_verify.proofreading.joints.judged import Judged
from bilevel_verify.proofreading.joints.nearly import about, entry_names, equations, runs
from bilevel_verify.proofreading.joints.parameters import INHERITS, frame_of
from bilevel_verify.proofreading.source import PROMISES, Paper, Passage, Sentence
from bilevel_verify.theorems.rewrite import free_letters, substitute
from bilevel_verify.theorems.vocabulary import NUMBERS

if TYPE_CHECKING:
    from bilevel_verify.drafting.draft import Draft

EQUAL = ("==",)
FIRST, DRAWS = 6, 40
"""Instances on which a printed step and a mended one must hold."""
MOSTLY = 0.6
SMALL = 1e-9
"""Sides that are smaller than this beside what stands in them tell nothing."""
MOST_NODES = 170
MOST_EDITS, MOST_FORMS = 400, 8
LEAST_TERMS, LEAST_NODES = 3, 12
CITES = re.compile(r"\(\d+[a-z]?\)|\b(?:holds?|hypothesis|assum\w+|suppose\w*|Lemma|Theorem|Corollary|Proposition)\b")
"""What a second bound of one quantity may rest on besides the first."""
HOLDS, FAILS, UNCLEAR = "holds", "fails", "unclear"
Step: TypeAlias = tuple[tree.Node, str, tree.Node]
Supposed: TypeAlias = list[tuple[str, tree.Compare]]
"""Bounds of parameters with the names of the statements that suppose them."""


def link_joints(paper: Paper, draft: Draft) -> Iterator[Judged]:
    """Every step of the chains of displays, and of two bounds of one quantity the second from the first."""
    entries = lettered(paper)
    rules = [(left, as_entries(right, entries)) for left, right in equations(paper)]
    supposed = list(_supposed(paper, draft))
    for passage, scene in scenes(paper, draft):
        before: list[Bounded] = []
        others = _of_others(paper, passage, supposed)
        for sentence in passage.formulas:
            for printed, members in _steps(sentence):
                left, op, right = _shorter(printed)
                step = as_entries(left, entries), op, as_entries(right, entries)
                if _wide(step, members) and (members > 2 or sentence.read.formula.kind == "display"):
                    yield from _judged(paper, scene, sentence, step, rules, others)
            if sentence.read.formula.kind != "display":
                continue
            bounds = bounds_of(sentence)[-1:]
            for one in bounds if passage.kind == "proof" and not CITES.search(sentence.before) else ():
                for other in before:
                    if other.left == one.left and other.op == one.op and other.op not in EQUAL:
                        step = (other.right, one.op, one.right)
                        if _wide(step, 3):
                            yield from _judged(paper, scene, sentence, step, rules)
            before = bounds


def _supposed(paper: Paper, draft: Draft) -> Iterator[tuple[str, tree.Compare]]:
    """What statements suppose of parameters, their signs left out."""
    for number, passage in enumerate(paper.passages):
        if passage.kind in PROMISES and paper.stated.get(passage.name) is passage:
            for one in frame_of(draft, number).own:
                match one:
                    case tree.Compare(operands=(left, right)) if not (tree.is_zero(left) or tree.is_zero(right)):
                        yield passage.name, one


def _of_others(paper: Paper, passage: Passage, supposed: Supposed) -> Supposed:
    """For a proof, what statements suppose beside its own, which takes over nothing in words."""
    home = paper.stated.get(passage.of) if passage.kind == "proof" else None
    if home is None or INHERITS.search(home.words) or INHERITS.search(passage.words):
        return []
    return [(name, one) for name, one in supposed if name != home.name]


def _steps(sentence: Sentence) -> Iterator[tuple[Step, int]]:
    """The links of a display with the number of members of their chain; of what is equivalent, the two right sides."""
    before: Statement | None = None
    for chain in sentence.chains():
        for left, relation, right in chain.links():
            if relation.word in (*UPPER, *LOWER, *EQUAL):
                yield (left, relation.word, right), len(chain.members)
        if before is not None and chain.word == "iff" and _one_left_side(before, chain):
            yield (before.members[1], "==", chain.members[1]), 3
        before = chain


def _one_left_side(one: Statement, other: Statement) -> bool:
    """Whether two relations of two members are about one quantity, in one direction."""
    pairs = len(one.members) == len(other.members) == 2
    return pairs and one.members[0] == other.members[0] and one.relations == other.relations


def _shorter(step: Step) -> Step:
    """A long step without the terms that stand on both sides."""
    left, op, right = step
    if not (isinstance(left, tree.Add) and isinstance(right, tree.Add)) or _size(step) <= MOST_NODES:
        return step
    both = set(left.terms) & set(right.terms)
    sides = [tuple(t for t in side.terms if t not in both) for side in (left, right)]
    if not all(sides) or any(len(set(side.terms)) < len(side.terms) for side in (left, right)):
        return step
    one, other = (terms[0] if len(terms) == 1 else tree.Add(terms) for terms in sides)
    return one, op, other


def _size(step: Step) -> int:
    return sum(1 for side in (step[0], step[2]) for _ in islice(side.walk(), MOST_NODES + 1))


def _wide(step: Step, members: int) -> bool:
    """Whether a step has enough parts that an accident is out of the question, and is not too long."""
    sides, nodes = (step[0], step[2]), _size(step)
    terms = sum(len(p.terms) for side in sides for p in side.walk() if isinstance(p, tree.Add))
    long = terms >= LEAST_TERMS or nodes >= LEAST_NODES
    return nodes <= MOST_NODES and long and (members > 2 or terms > LEAST_TERMS)


class _Draws:
    """Instances of a step under one choice of equations, drawn as they are asked for."""

    def __init__(self, scene: Scene, step: Step, rules: Rules, place: int) -> None:
        self.scene, self.step, self.rules, self.place = scene, step, rules, place
        self.source = scene.draws((step[0], step[2]), rules, place)
        self.made: list[Instance] = []

    def first(self, number: int) -> list[Instance]:
        """The first of them; fewer where no more are found."""
        self.made += islice(self.source, max(number - len(self.made), 0))
        return self.made[:number]

    def under(self, *conditions: tree.Compare) -> _Draws:
        """Instances that meet some conditions more."""
        scene = replace(self.scene, where=(*self.scene.where, *conditions))
        return _Draws(scene, self.step, self.rules, self.place)


def _judged(
    paper: Paper,
    scene: Scene,
    sentence: Sentence,
    step: Step,
    rules: list[tuple[tree.Index, tree.Node]],
    others: Supposed | None = None,
) -> Iterator[Judged]:
    failed: list[tuple[_Draws, bool]] = []
    for one in dict.fromkeys([step, *_put_in(paper, scene, sentence, step)]):
        mine = about(paper, (one[0], one[2]), rules)
        names = tuple(rule for rule in mine if not runs(rule))
        for chosen in dict.fromkeys([(), names, mine]):
            draws = _Draws(scene, one, dict(chosen), sentence.read.formula.n)
            verdict = _verdict(one, draws.first(FIRST))
            if verdict == HOLDS:
                joint = f"{to_text(step[0])} {step[1]} {to_text(step[2])}"[:120]
                yield Judged("total", sentence.place, joint, "holds", f"on {FIRST} instances")
                return
            if verdict == FAILS:
                failed.append((draws, _settled(one, draws.first(3))))
    ordered = [draws.under(*scene.orders) for draws, _ in failed] if scene.orders and step[1] not in EQUAL else []
    if any(_verdict(draws.step, draws.first(FIRST)) == HOLDS for draws in ordered):
        return
    for draws, settled in failed:
        if settled or step[1] in EQUAL:
            found = _mended(draws, settled, partial(_equated, paper, rules))
            if found is not None:
                yield _reported(sentence, draws.step, found, draws.made)
                return
    if failed and (needed := _needed(scene, [draws for draws, _ in failed], others or [])) is not None:
        yield _lacking(sentence, scene.passage, step, *needed)


def _needed(scene: Scene, failed: list[_Draws], others: Supposed) -> tuple[str, tree.Compare] | None:
    """The hypothesis of another statement with which a step holds on all instances."""
    sides = (failed[0].step[0], failed[0].step[2])
    letters, known = free_letters(sides[0]) | free_letters(sides[1]), scene.numbers(sides)
    for name, one in others:
        mine = free_letters(one) - NUMBERS
        if one in scene.where or not mine & letters or not mine <= known:
            continue
        for draws in failed:
            with_it = draws.under(one)
            if _verdict(draws.step, with_it.first(FIRST)) == HOLDS and _holds(
                draws.step, with_it.first(DRAWS), {}, DRAWS
            ):
                return name, one
    return None


def _lacking(sentence: Sentence, proof: Passage, step: Step, name: str, needed: tree.Compare) -> Judged:
    printed = f"{to_text(step[0])} {step[1]} {to_text(step[2])}"
    title = f"a step of the proof of {proof.of} needs {to_text(needed)}, which {name} supposes and {proof.of} does not"
    defect = Defect("premise", sentence.place, title, "breaks the statement", sentence.latex, (f"the step: {printed}",),
                    f"needed {to_text(needed)} {proof.of}", sentence.unit)  # fmt: skip
    return Judged("premise", sentence.place, printed[:120], "refuted", title, defect)


def _equated(paper: Paper, rules: list[tuple[tree.Index, tree.Node]], entry: tree.Index) -> Rules:
    """The equations about an entry that an edit brings in."""
    return {left: value for left, value in about(paper, (entry, entry), rules) if left == entry}


def _put_in(paper: Paper, scene: Scene, sentence: Sentence, step: Step) -> Iterator[Step]:
    """A step with what the text before it says of its inner products and norms: equations alone, then bounds, too."""
    if names := entry_names(paper, sentence):
        yield substitute(step[0], names), step[1], substitute(step[2], names)
    facts = known_before(paper, scene.passage, sentence.read.formula.n, lettered(paper))
    left, op, right = step
    bounded = op not in EQUAL and any(len(chain.members) > 2 for chain in sentence.chains())  # else: a citation's
    once = [f for f in facts if f.op in EQUAL or len(met(paper, left, f) | met(paper, right, f)) < 2]  # not two at once
    forms = [[f] for f in facts if f.op in EQUAL and is_form(f.left) and is_form(f.right)]  # each for the other, alone
    for chosen in ([f for f in facts if f.op in EQUAL], once if bounded else [], *forms[:MOST_FORMS]):
        if chosen:
            yield put_in(paper, left, chosen), op, put_in(paper, right, chosen)


def _verdict(step: Step, drawn: list[Instance]) -> str:
    """Whether a step holds on some instances, fails on one, or cannot be told."""
    told = {_on(one, step) for one in drawn} if len(drawn) >= FIRST else {UNCLEAR}
    return FAILS if FAILS in told else HOLDS if told == {HOLDS} else UNCLEAR


def _on(one: Instance, step: Step) -> str:
    left, op, right = step
    one.peak = 1e-9
    try:
        low, high = one.scalar(left), one.scalar(right)
    except Unknown:
        return _of_arrays(one, step)
    if max(abs(low), abs(high)) < SMALL * one.peak:
        return UNCLEAR
    size = max(abs(low), abs(high), one.peak)
    return _told(abs(low - high) if op in EQUAL else low - high if op in UPPER else high - low, size)


def _of_arrays(one: Instance, step: Step) -> str:
    import numpy as np

    left, op, right = step
    if op not in EQUAL:
        return UNCLEAR
    try:
        low, high = (np.asarray(one.value(side, {})) for side in (left, right))
    except Unknown:
        return UNCLEAR
    if low.shape != high.shape:
        return UNCLEAR
    if not (np.all(np.isfinite(low)) and np.all(np.isfinite(high))):
        return UNCLEAR
    size = max(float(np.max(np.abs(low))), float(np.max(np.abs(high))), one.peak)
    return _told(float(np.max(np.abs(low - high))), size)


def _told(excess: float, size: float) -> str:
    """What an excess of one side says beside the size of the numbers in it: rounding decides nothing."""
    return HOLDS if excess <= 1e-10 * size else FAILS if excess > 1e-7 * size else UNCLEAR


def _settled(step: Step, drawn: list[Instance]) -> bool:
    """Whether values of functions cancel between the sides: else the step rests on a property of a function."""
    if step[1] not in EQUAL and any(isinstance(p, tree.MatrixMultiply) for s in (step[0], step[2]) for p in s.walk()):
        return False  # on a property of a matrix, of which instances know none either
    for one in drawn[:3]:
        other = replace(one, salt=1, known={}, held=[], drawn=dict(one.drawn), values=dict(one.values))
        try:
            rests = [o.scalar(step[2]) - o.scalar(step[0]) for o in (one, other)]
        except Unknown:
            return True
        if abs(rests[0] - rests[1]) > 1e-9 * max(one.peak, other.peak):
            return False
    return True


def _mended(draws: _Draws, settled: bool, equated: Callable[[tree.Index], Rules]) -> Edit | None:
    """The first edit with which a step holds on all instances; in a bound that is not ``settled`` one of an index."""
    left, op, right = draws.step
    order = sorted(draws.first(FIRST), key=lambda one: _on(one, draws.step) != FAILS)
    letters = tuple(sorted({p.name for s in (left, right) for p in s.walk() if isinstance(p, tree.Letter)}))
    bases = tuple(sorted({p.base for s in (left, right) for p in s.walk() if isinstance(p, tree.Index)}))
    for side, first in ((right, False), (left, True)):
        for edit in islice(edits(side, letters[:6], bases, op in EQUAL), MOST_EDITS):
            changed = (edit.whole, op, right) if first else (left, op, edit.whole)
            if changed[0] == changed[2] and edit.sort == NAMES:
                continue
            if not settled and op not in EQUAL and not (isinstance(edit.old, tree.Index) and _one_base(edit)):
                continue
            fresh = equated(edit.new) if isinstance(edit.new, tree.Index) else {}
            if not _holds(changed, order, fresh) or not _holds(changed, draws.first(DRAWS), fresh, DRAWS):
                continue
            if op in EQUAL or _tight(changed, draws.first(DRAWS)):
                return edit
    return None


def _holds(step: Step, drawn: list[Instance], fresh: Rules, least: int = 0) -> bool:
    """Whether a step fails on no instance (of at least ``least``), with the equations of an entry that is new in it.

    On a few of them rounding may leave it open.
    """
    holds = 0
    for one in drawn:
        found = _on(replace(one, rules={**fresh, **one.rules}, known={}, held=[]) if fresh else one, step)
        if found == FAILS:
            return False
        holds += found == HOLDS
    return len(drawn) >= least and holds >= MOSTLY * len(drawn)


def _one_base(edit: Edit) -> bool:
    return isinstance(edit.new, tree.Index) and isinstance(edit.old, tree.Index) and edit.old.base == edit.new.base


def _tight(step: Step, drawn: list[Instance]) -> bool:
    """Whether an inequality is an equation on one instance of moderate numbers: it does not hold by chance."""
    for one in (one for one in drawn if one.seed % len(SPREADS) == 0 and _on(one, step) == HOLDS):
        low, high = one.scalar(step[0]), one.scalar(step[2])
        if abs(low - high) <= 1e-9 * max(abs(low), abs(high)):
            return True
    return False


def _reported(sentence: Sentence, step: Step, edit: Edit, drawn: list[Instance]) -> Judged:
    left, op, right = step
    one = next(one for one in drawn if _on(one, step) == FAILS)
    printed, meant = to_text(edit.old), to_text(edit.new)
    title = f"the step does not hold as printed; with {meant} in the place of {printed} it does"
    evidence = [f"{to_text(left)} {op} {to_text(right)}"]
    try:
        evidence.append(f"on a drawn instance the sides are {one.scalar(left):.6g} and {one.scalar(right):.6g}")
    except Unknown:
        evidence.append("on a drawn instance the sides are different vectors or matrices")
    defect = Defect("total", sentence.place, title, "local slip", sentence.latex, tuple(evidence),
                    f"step {title} {sentence.unit}", sentence.unit)  # fmt: skip
    return Judged("total", sentence.place, f"{to_text(left)} {op} {to_text(right)}"[:120], "refuted", title, defect)

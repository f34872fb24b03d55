"""Damaged copies of one paper, one after the other: what a damage does not reach is not worked out again.

Remembered are results of functions without a state, under all that they depend on: formulas as they are read, steps on
instances, equations between neighbours, paths of algorithms. The findings are those of a paper that is read alone.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Hashable, Iterator, Mapping
from contextlib import contextmanager, nullcontext
from functools import lru_cache, wraps
from hashlib import sha256
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TypeVar
from weakref import WeakKeyDictionary

import pytest
from once import once

from bilevel_verify.drafting.draft import draft
from bilevel_verify.errors import LatexError
from bilevel_verify.language import tree
from bilevel_verify.latex import Notation, read_latex
from bilevel_verify.manuscript.comparing import Relation
from bilevel_verify.manuscript.opaque import kind_in
from bilevel_verify.manuscript.proofs.deriving import _DERIVED
from bilevel_verify.manuscript.proofs.question import Known
from bilevel_verify.manuscript.proofs.said import Rule
from bilevel_verify.proofreading import Defect, proofread_draft, report
from bilevel_verify.proofreading.following import asking
from bilevel_verify.proofreading.instances import links
from bilevel_verify.proofreading.instances.entries import lettered
from bilevel_verify.proofreading.instances.known import known_before
from bilevel_verify.proofreading.instances.scenes import Scene
from bilevel_verify.proofreading.joints import nearly
from bilevel_verify.proofreading.source import Paper, Sentence

Value = TypeVar("Value")
Told = tuple[str, str, str]
REMEMBERED: dict[Hashable, object] = {}
NOTATIONS: dict[int, tuple[Notation, str]] = {}
KINDS: WeakKeyDictionary[Callable[[tree.Node], str], dict[tree.Node, tuple[str, ...]]] = WeakKeyDictionary()
"""What the kinds of a scene, while it is read, say of the parts of formulas."""
MODES: list[bool] = []
"""Whether what is remembered is used, in the blocks of ``remembering`` that are open."""
FOLDERS: list[pytest.TempPathFactory] = []
"""Where the workers of a run leave what they remember of right texts (``right``)."""
SHARED = ("follows", "link")
"""What is worth leaving there: steps, derived or judged on instances."""


def _kept(key: Hashable, make: Callable[[], Value]) -> Value:
    if key not in REMEMBERED or not MODES[-1]:
        try:
            REMEMBERED[key] = make()
        except LatexError as failure:
            REMEMBERED[key] = failure
    found = REMEMBERED[key]
    if isinstance(found, LatexError):
        raise found
    return found  # type: ignore[return-value]


def _digest(notation: Notation) -> str:
    """The same for notations that say the same."""
    if id(notation) not in NOTATIONS:
        text = repr((notation.entries, sorted(notation.indices), notation.free, sorted(notation.known), notation.closed,
                     sorted(notation.norms.items()), sorted(notation.components),
                     sorted(notation.options.items())))  # fmt: skip
        NOTATIONS[id(notation)] = notation, sha256(text.encode()).hexdigest()
    return NOTATIONS[id(notation)][1]


def _kinds(notation: Notation, nodes: tuple[tree.Node, ...]) -> Hashable:
    """What the notation says of every part of some formulas."""
    parts = dict.fromkeys(
        p for node in nodes for p in node.walk() if isinstance(p, tree.Letter | tree.Index | tree.Call)
    )
    return tuple((part, kind_in(notation, part)) for part in parts)


def _read(original: Callable[..., object]) -> Callable[..., object]:
    @wraps(original)
    def read(text: str, notation: Notation, *rest: Hashable, **more: Hashable) -> object:
        key = "read", text, _digest(notation), rest, tuple(more.items())
        return _kept(key, lambda: original(text, notation, *rest, **more))

    return read


def _link(original: Callable[..., Iterator[object]]) -> Callable[..., object]:
    @wraps(original)
    def judged(
        paper: Paper, scene: Scene, sentence: Sentence, step: links.Step, rules: list[nearly.Rule],
        others: links.Supposed | None = None,
    ) -> object:  # fmt: skip
        mine = nearly.about(paper, (step[0], step[2]), rules)
        bounds = tuple((n < sentence.read.formula.n, c) for n, c in scene.bounds)
        nodes = (
            step[0],
            step[2],
            *scene.define.values(),
            *scene.where,
            *(n for r in mine for n in r),
            *(c for _, c in bounds),
        )
        facts = tuple(known_before(paper, scene.passage, sentence.read.formula.n, lettered(paper)))
        named = (scene.passage.of, tuple(others or ()), tuple(nearly.entry_names(paper, sentence).items()))
        key = ("link", named, facts, tuple(rules), step, sentence.place, sentence.unit, sentence.latex, mine,
               tuple(scene.define.items()), scene.where, tuple(sorted(scene.same.items())), scene.whole, bounds,
               scene.natural, scene.vectors, _kinds(scene.paper.notation, nodes))  # fmt: skip
        return _kept(key, lambda: tuple(original(paper, scene, sentence, step, rules, others)))

    return judged


class _Step(nearly.Step):
    """Two sides, once for the same sides, equations and kinds."""

    def __new__(cls, notation: Notation, rules: tuple[nearly.Rule, ...], left: tree.Node, right: tree.Node) -> _Step:
        kinds = _kinds(notation, (left, right, *(node for rule in rules for node in rule)))
        return _kept(("sides", rules, left, right, kinds), lambda: super(_Step, cls).__new__(cls))

    def __init__(self, notation: Notation, rules: tuple[nearly.Rule, ...], left: tree.Node, right: tree.Node) -> None:
        if not hasattr(self, "told"):
            super().__init__(notation, rules, left, right)
            self.told: dict[tuple[tree.Node, bool], bool] = {}

    def closed_by(self, changed: tree.Node, left: bool) -> bool:
        if (changed, left) not in self.told:
            self.told[changed, left] = super().closed_by(changed, left)
        return self.told[changed, left]


def _told(kind: Callable[[tree.Node], str], node: tree.Node) -> tuple[str, ...]:
    """What is said of the parts of a formula, in their order; the formula itself stands beside it in the key."""
    mine = KINDS.setdefault(kind, {})
    if node not in mine:
        mine[node] = tuple(kind(part) for part in node.walk())
    return mine[node]


def _follows(original: Callable[..., object]) -> Callable[..., object]:
    @wraps(original)
    def derived(
        kind: Callable[[tree.Node], str],
        indices: frozenset[str],
        known: Known,
        given: list[Rule],
        nodes: tuple[tree.Node, ...],
        relation: Relation,
    ) -> object:
        held = [relation.left, relation.right, *nodes, *known.where, *known.formulas.values(),
                *(side for rule in given for side in (rule.relation.left, rule.relation.right))]  # fmt: skip
        kinds = tuple(_told(kind, node) for node in held)
        key = ("follows", indices, tuple(known.formulas.items()), tuple(known.domains.items()), known.where,
               tuple(given), nodes, relation, kinds)  # fmt: skip
        return _kept(key, lambda: original(kind, indices, known, given, nodes, relation))

    return derived


def _paths(original: Callable[..., Iterator[Defect]]) -> Callable[..., object]:
    @wraps(original)
    def defects(algorithm: object) -> object:
        return _kept(("algorithm", repr(algorithm)), lambda: tuple(original(algorithm)))

    return defects


@contextmanager
def remembering(used: bool = True) -> Iterator[None]:
    """Inside of it, readings remember; unless ``used`` they work everything out, for the readings after them."""
    MODES.append(used)
    try:
        with _patched() if len(MODES) == 1 else nullcontext():
            yield
    finally:
        MODES.pop()


@contextmanager
def _patched() -> Iterator[None]:
    patched: list[tuple[object, str, object]] = []
    for module in [m for n, m in sys.modules.items() if n.startswith("bilevel_verify") and hasattr(m, "read_latex")]:
        if module.read_latex is read_latex:
            patched.append((module, "read_latex", _read(read_latex)))
    patched += [(asking, "derived_from", _follows(asking.derived_from))]
    patched += [(links, "_judged", _link(links._judged)), (nearly, "Step", _Step),
                (report, "algorithm_defects", _paths(report.algorithm_defects))]  # fmt: skip
    before = [(place, name, getattr(place, name)) for place, name, _ in patched]
    for place, name, new in patched:
        setattr(place, name, new)
    try:
        yield
    finally:
        for place, name, old in before:
            setattr(place, name, old)


def told(text: str, name: str) -> dict[Told, Defect]:
    """Kind, title and unit of every finding of a source."""
    with TemporaryDirectory() as folder:
        path = Path(folder) / name
        path.write_text(text, encoding="utf-8")
        return {(d.kind, d.title, d.unit): d for d in proofread_draft(draft(path)).defects}


@lru_cache
def right(name: str, text: str) -> frozenset[Told]:
    """What is told of a right text, worked out by one worker of a run and remembered by all of them."""

    def worked_out() -> tuple[dict[Hashable, object], frozenset[Told]]:
        before = dict(REMEMBERED)
        REMEMBERED.clear()
        _DERIVED.clear()
        with remembering(used=False):
            found = frozenset(told(text, name))
        made = {k: v for k, v in REMEMBERED.items() if k[0] in SHARED}  # type: ignore[index]
        REMEMBERED.update(before)
        return made, found

    if not FOLDERS:
        return worked_out()[1]
    remembered, found = once(FOLDERS[0], f"right-{sha256(text.encode()).hexdigest()}", worked_out)
    REMEMBERED.update(remembered)
    return found


def told_of(slip: tuple[str, str, str, str], texts: Mapping[str, str]) -> tuple[bool, bool]:
    """Whether some words stand in a finding of a right text, and in one of it with one place changed.

    ``slip`` is the file, what stands in it, what shall stand there, and the words.
    """
    file, old, new, words = slip
    assert old in texts[file], old
    before, wrong = right(file, texts[file]), told(texts[file].replace(old, new, 1), file)
    return any(words in title for _, title, _ in before), any(words in title for _, title, _ in wrong)

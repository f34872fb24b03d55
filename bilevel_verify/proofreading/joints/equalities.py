"""``ell/mu = kappa``: equations between products of letters, against what the paper defines these letters to be."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

from bilevel_verify.drafting.letters import definitions
from bilevel_verify.language import to_text, tree
from bilevel_verify.manuscript.opaque import kind_in
from bilevel_verify.proofreading.defect import Defect
from bilevel_verify.proofreading.joints.carrying import Ties, exponents_differ, to_text_of
from bilevel_verify.proofreading.joints.forms import Form, Formless, form_of
from bilevel_verify.proofreading.joints.judged import Judged
from bilevel_verify.proofreading.joints.shown import form_script
from bilevel_verify.proofreading.joints.ties import rewritten, ties_of
from bilevel_verify.proofreading.source import Paper, Sentence
from bilevel_verify.theorems.rewrite import free_letters, substitute
from bilevel_verify.theorems.vocabulary import NUMBERS

if TYPE_CHECKING:
    from bilevel_verify.drafting.draft import Draft

COMMON = ("text", "assumption", "condition", "definition")


def equality_joints(paper: Paper, draft: Draft) -> Iterator[Judged]:
    """Equations of chains between two products of letters."""
    define, ties = defined_for_good(draft), ties_of(paper)
    for sentence in paper.sentences:
        for chain in sentence.chains():
            for place, (left, relation, right) in enumerate(chain.links()):
                alone = place == 0 and isinstance(left, tree.Letter | tree.Index)
                if relation.word == "==" and not alone and _are_numbers(paper, left, right):
                    yield from _judged(sentence, left, right, define, ties)


def _are_numbers(paper: Paper, left: tree.Node, right: tree.Node) -> bool:
    """Whether no vector or matrix stands in two sides (``J^2 = J`` may be said of one), and the right is a formula."""
    parts = (p for side in (left, right) for p in side.walk() if isinstance(p, tree.Letter | tree.Index))
    kinds = {kind_in(paper.notation, part) for part in parts}
    return not isinstance(right, tree.Number) and not kinds & {"vector", "matrix"}


def defined_for_good(draft: Draft) -> dict[str, tree.Node]:
    """Letters that common text defines as a product, and nothing in the paper otherwise."""
    scopes, found = draft.scopes, {}
    values: dict[str, set[tree.Node]] = {}
    for number, unit in enumerate(draft.document.units):
        for one in scopes.by_unit[number]:
            for defined in definitions(one, scopes.scalars):
                values.setdefault(defined.name, set()).add(defined.value)
                if defined.named and unit.kind in COMMON:
                    found[defined.name] = defined.value
    single = {n: v for n, v in found.items() if len(values[n]) == 1}
    return {
        n: v for n, v in single.items() if len(free_letters(v) - NUMBERS) > 1 and not free_letters(v) & values.keys()
    }


def _judged(
    sentence: Sentence, left: tree.Node, right: tree.Node, define: Mapping[str, tree.Node], ties: Ties
) -> Iterator[Judged]:
    letters = (free_letters(left) | free_letters(right)) - NUMBERS
    used = sorted(letters & define.keys())
    try:
        if any(not isinstance(p, ALLOWED) for side in (left, right) for p in side.walk()):
            return
        want, got = (form_of(substitute(side, dict(define), caught=True)) for side in (left, right))
    except Formless:
        return
    if want.single is None or got.single is None:
        return
    if not used:
        yield from _plainly(sentence, left, right, want, got, ties)
        return
    if not letters - {*used} <= free_letters(define[used[0]]):
        return
    joint = f"{to_text_of(sentence)} and the definition of {used[0]}"
    how = exponents_differ(want.single[0], got.single[0], hidden=False) or ""
    if want.terms == got.terms:
        yield Judged("citation", sentence.place, joint, "holds")
        return
    how = how or f"the left side is {want.single[1] / got.single[1]} times the right side"
    title = f"with {used[0]} = {to_text(define[used[0]])} the two sides are not equal: {how}"
    yield _unequal(sentence, (left, right), (want, got), title, joint, how)


def _plainly(
    sentence: Sentence, left: tree.Node, right: tree.Node, want: Form, got: Form, ties: Ties
) -> Iterator[Judged]:
    """Two products of the same letters, none of them defined, with other exponents and no tie that makes up for it."""
    assert want.single is not None
    assert got.single is not None
    one, other = want.single[0], got.single[0]
    how = exponents_differ(one, other, hidden=False)
    if how is None or {n for n, _ in one} != {n for n, _ in other} or rewritten(ties, one, other, hidden=False):
        return
    joint = f"the two sides of {to_text_of(sentence)}"
    yield _unequal(sentence, (left, right), (want, got), f"the two sides are not equal: {how}", joint, how)


def _unequal(
    sentence: Sentence, sides: tuple[tree.Node, tree.Node], forms: tuple[Form, Form], title: str, joint: str, how: str
) -> Judged:
    shown = (" = ".join(map(to_text, sides)),)
    defect = Defect("citation", sentence.place, title, "local slip", sentence.latex, shown, unit=sentence.unit)
    script = form_script(title, sentence.place, *forms, "the left side", "the right side")
    return Judged("citation", sentence.place, joint, "refuted", how, defect, script)


ALLOWED = (tree.Number, tree.Letter, tree.Multiply, tree.Divide, tree.Power)

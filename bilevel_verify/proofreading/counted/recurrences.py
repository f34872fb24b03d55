"""``T_{k+1}(s) = 2 s T_k(s) - T_{k-1}(s)`` with two first functions, against ``T_k(sigma) = (q^k + q^{-k})/2``.

The recurrence is followed from its first functions, in floats, at drawn values of the letters that have no formula; the
closed form has the same values. Told where it has another one at every draw: one of the printed lines is wrong.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from bilevel_verify.audit.scalar.numeric import Array, evaluate
from bilevel_verify.drafting.letters import plain
from bilevel_verify.errors import BilevelVerifyError
from bilevel_verify.language import to_text, tree
from bilevel_verify.proofreading.defect import Defect
from bilevel_verify.proofreading.joints.carrying import to_text_of
from bilevel_verify.proofreading.joints.judged import Judged
from bilevel_verify.proofreading.names.occurrences import shift_of, whole
from bilevel_verify.proofreading.source import Paper, Sentence
from bilevel_verify.theorems.rewrite import rebuild, substitute
from bilevel_verify.theorems.vocabulary import NUMBERS

DRAWS, STEPS, CLOSE = 12, 3, 1e-6
Equation = tuple[Sentence, tree.Call, tree.Node]


@dataclass(frozen=True, slots=True)
class Recurrence:
    """What follows an entry: where it is printed, the letters of index and argument, and how far it looks back."""

    at: Sentence
    index: str
    argument: str
    right: tree.Node
    back: int


def recurrence_joints(paper: Paper) -> Iterator[Judged]:
    """Every sequence of functions with one recurrence, its first functions and a closed form at a point."""
    every = [(s, e[0], e[1]) for s in paper.sentences for c in s.chains()
             if (e := c.equation) is not None and isinstance(e[0], tree.Call) and len(e[0].arguments) == 2]  # fmt: skip
    for name in dict.fromkeys(call.function for _, call, _ in every):
        mine = [one for one in every if one[1].function == name]
        steps = [r for one in mine if (r := _recurrence(one)) is not None]
        if len(steps) == 1:
            first = _first(mine, steps[0])
            for closed in mine if len(first) == steps[0].back else ():
                yield from _judged(paper, steps[0], first, closed)


def _recurrence(one: Equation) -> Recurrence | None:
    """``F(k + 1, s) = ...`` in ``F(k, s)`` and entries before it."""
    sentence, call, right = one
    match call.arguments:
        case (tree.Add() as index, tree.Letter(name=argument)):
            names = sorted(tree.letters(index))
            inner = [p for p in right.walk() if isinstance(p, tree.Call) and p.function == call.function]
            shifts = [shift_of(p.arguments[0], names[0]) if len(names) == 1 else None for p in inner]
            known = [s for s in shifts if s is not None]
            same = all(len(p.arguments) == 2 and p.arguments[1] == tree.Letter(argument) for p in inner)
            if inner and same and len(known) == len(shifts) and max(known) <= 0 and shift_of(index, names[0]) == 1:
                return Recurrence(sentence, names[0], argument, right, 1 - min(known))
    return None


def _first(mine: Sequence[Equation], step: Recurrence) -> list[tree.Node]:
    """The first functions, by their number."""
    found = {whole(call.arguments[0]): right for _, call, right in mine
             if call.arguments[1] == tree.Letter(step.argument) and plain(right)}  # fmt: skip
    return [found[n] for n in range(step.back) if n in found]


def _judged(paper: Paper, step: Recurrence, first: Sequence[tree.Node], closed: Equation) -> Iterator[Judged]:
    sentence, call, right = closed
    index, point = call.arguments
    values = _values(paper)
    if not isinstance(index, tree.Letter) or not plain(point) or not plain(right) or sentence is step.at:
        return
    at, form = (_out(node, values) for node in (point, right))
    letters = (tree.letters(at) | tree.letters(form) - {index.name}) - NUMBERS
    if step.argument in letters or not tree.letters(form) - {index.name} <= tree.letters(at):
        return
    draw = np.random.default_rng(0)
    points = {n: draw.uniform(0.2, 3.0, DRAWS) for n in sorted(letters)}
    try:
        apart = [_apart(step, first, at, substitute(form, {index.name: tree.signed(n)}), n, points)
                 for n in range(step.back, step.back + STEPS)]  # fmt: skip
    except (BilevelVerifyError, ArithmeticError, ValueError, TypeError, KeyError):
        return
    joint = f"the closed form {to_text_of(sentence)} and the recurrence of {call.function}"
    if all(not bool(np.any(one)) for one in apart):
        yield Judged("total", sentence.place, joint, "holds")
    elif all(bool(np.all(one)) for one in apart):
        title = f"the recurrence and its first entries do not give {to_text(call)} = {to_text(right)}"
        evidence = (f"recurrence: {to_text_of(step.at)}", *(f"{n}: {to_text(f)}" for n, f in enumerate(first)))
        defect = Defect("total", sentence.place, title, "local slip", sentence.latex, evidence, unit=sentence.unit)
        yield Judged("total", sentence.place, joint, "refuted", title, defect)


def _apart(
    step: Recurrence, first: Sequence[tree.Node], at: tree.Node, form: tree.Node, n: int, points: Mapping[str, Array]
) -> Array:
    """At which draws the closed form of an entry differs from what the recurrence gives."""
    here = np.asarray(evaluate(at, points))
    entries = [np.asarray(evaluate(f, {**points, step.argument: here})) for f in first]
    while len(entries) <= n:
        known = {f"entry{-m}": entries[m] for m in range(-1, -1 - step.back, -1)}
        given = {step.argument: here, step.index: np.asarray(float(len(entries) - 1)), **known}
        entries.append(np.asarray(evaluate(_lettered(step, step.right), given)))
    one, other = np.broadcast_arrays(entries[n], np.asarray(evaluate(form, points)))
    found: Array = np.abs(one - other) > CLOSE * (np.abs(one) + np.abs(other))
    return found


def _lettered(step: Recurrence, node: tree.Node) -> tree.Node:
    """The right side with letters for the entries before: ``entry1`` is the last one."""
    if isinstance(node, tree.Call) and len(node.arguments) == 2:
        shift = shift_of(node.arguments[0], step.index)
        if shift is not None:
            return tree.Letter(f"entry{1 - shift}")
    return rebuild(node, lambda part: _lettered(step, part))


def _values(paper: Paper) -> dict[str, tree.Node]:
    """Letters that the text outside of proofs gives one value."""
    found: dict[str, set[tree.Node]] = {}
    for sentence in (s for p in paper.passages if p.kind == "text" for s in p.formulas):
        for chain in sentence.chains():
            if (
                len(chain.members) > 1
                and isinstance(chain.members[0], tree.Letter)
                and chain.relations[0].word in ("==", ":=")
            ):
                found.setdefault(chain.members[0].name, set()).add(chain.members[1])
    return {n: next(iter(v)) for n, v in found.items() if len(v) == 1 and plain(next(iter(v)))}


def _out(node: tree.Node, values: Mapping[str, tree.Node]) -> tree.Node:
    for _ in range(4):
        node = substitute(node, dict(values), caught=True)
    return node

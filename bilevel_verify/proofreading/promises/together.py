"""The hypotheses of a statement of a draft, taken together: a point that meets them, or a proof that there is none."""

from __future__ import annotations

import random
import re
from collections.abc import Iterator, Mapping
from fractions import Fraction
from typing import TYPE_CHECKING

from bilevel_verify.audit.entries.reading import REAL
from bilevel_verify.audit.scalar.claim import ScalarClaim
from bilevel_verify.audit.scalar.deciding import decide
from bilevel_verify.errors import BilevelVerifyError
from bilevel_verify.language import to_text, tree
from bilevel_verify.numbers.exact import Formula
from bilevel_verify.proofreading.defect import Defect
from bilevel_verify.proofreading.joints.judged import Judged
from bilevel_verify.proofreading.joints.parameters import frame_of
from bilevel_verify.proofreading.promises.hypotheses import CONTRADICTION, EFFORT, positive
from bilevel_verify.proofreading.source import PROMISES, Paper
from bilevel_verify.theorems.rewrite import free_letters
from bilevel_verify.theorems.vocabulary import NUMBERS

if TYPE_CHECKING:
    from bilevel_verify.drafting.draft import Draft
    from bilevel_verify.drafting.letters import Range

CASES = re.compile(r"\b(?:if|when(?:ever)?|cases?|otherwise|respectively)\b|\(i+\)", re.I)
DRAWS = 400
MOST_PROOFS = 8
"""Statements of a paper of which a contradiction is looked for after no point was found."""
TRIED = tuple(Fraction(n, d) for n, d in ((1, 1), (1, 2), (1, 4), (1, 10), (1, 100), (2, 1), (4, 1), (10, 1), (100, 1),
                                          (1, 10_000), (10_000, 1), (0, 1), (-1, 1)))  # fmt: skip


def together_joints(paper: Paper, draft: Draft) -> Iterator[Judged]:
    """For every statement with two or more conditions between numbers: are they consistent?"""
    proofs = 0
    for number, passage in enumerate(paper.passages):
        if passage.kind not in PROMISES or not passage.name:
            continue
        conditions = _conditions(draft, number)
        letters = sorted(set().union(*(free_letters(c) for c in conditions)) - NUMBERS) if conditions else []
        if len(conditions) < 2 or not letters:
            continue
        joint = f"the {len(conditions)} conditions of {passage.name} between numbers together"
        point = _point(conditions, letters)
        if point is not None:
            shown = ", ".join(f"{n} = {v}" for n, v in point.items())
            yield Judged("hypothesis", passage.name, joint, "holds", f"met at {shown}")
            continue
        if CASES.search(passage.words):
            yield Judged("hypothesis", passage.name, joint, "undecided", "no point was found; the statement has cases")
            continue
        proofs += 1
        yield _without_point(passage.name, passage.id, joint, conditions, letters, proofs)


def _without_point(
    name: str, unit: str, joint: str, conditions: list[tree.Compare], letters: list[str], proofs: int
) -> Judged:
    if proofs > MOST_PROOFS:
        return Judged(
            "hypothesis", name, joint, "undecided", "no point was found, and no proof was looked for any more"
        )
    zero = tree.Number(Fraction(0))
    claim = ScalarClaim(positive(letters), "<=", zero, dict.fromkeys(letters, REAL), tuple(conditions))
    decision = decide(claim, effort=EFFORT)
    if decision.outcome == "refuted":
        return Judged("hypothesis", name, joint, "holds", "a point meets all of them")
    if decision.outcome not in ("vacuous", "proved"):
        return Judged("hypothesis", name, joint, "undecided", "neither a point nor a contradiction was found")
    evidence = (*(to_text(c) for c in conditions), f"proof: {decision.certificate or decision.engine}")
    defect = Defect("hypothesis", name, CONTRADICTION, "breaks the statement", "", evidence, unit=unit)
    return Judged("hypothesis", name, joint, "refuted", "vacuous", defect)


def _conditions(draft: Draft, number: int) -> list[tree.Compare]:
    """Hypotheses, definitions and ranges of one statement, those of the paper as a whole for its letters."""
    frame = frame_of(draft, number)
    scope = draft.scopes.of(number)
    found = [c for c in frame.where if isinstance(c, tree.Compare) and not _at_zero(c)]
    found += [tree.Compare((tree.Letter(n), v), ("==",)) for n, v in frame.define.items()]
    names = set().union(*(free_letters(c) for c in found)) - NUMBERS if found else set()
    ranges: dict[str, Range] = {n: r for n, r in {**draft.scopes.standing, **scope.ranges}.items() if n in names}
    for name, one in ranges.items():
        for end, ops in ((one.lower, (">", ">=")), (one.upper, ("<", "<="))):
            if end is not None:
                found.append(tree.Compare((tree.Letter(name), end[0]), (ops[end[1]],)))
    return list(dict.fromkeys(found))


def _at_zero(node: tree.Node) -> bool:
    """Whether a product has the factor 0, which nobody writes: ``P(0)`` is a value of an undeclared function."""
    return any(isinstance(p, tree.Multiply) and any(map(tree.is_zero, p.factors)) for p in node.walk())


def _point(conditions: list[tree.Compare], letters: list[str]) -> Mapping[str, Fraction] | None:
    """A rational point that meets every condition, exactly; definitions are followed."""
    define = {c.operands[0].name: c.operands[1] for c in conditions
              if c.operators == ("==",) and isinstance(c.operands[0], tree.Letter)}  # fmt: skip
    free = [n for n in letters if n not in define]
    draw = random.Random(0)
    for turn in range(DRAWS):
        values: dict[str, Fraction] = {n: TRIED[turn % 3] if turn < 3 else draw.choice(TRIED) for n in free}
        try:
            full = _completed(values, define)
            if full is not None and all(_holds(c, full) for c in conditions):
                return {n: full[n] for n in letters if n in full}
        except (BilevelVerifyError, ArithmeticError, ValueError, OverflowError):
            continue
    return None


def _completed(values: dict[str, Fraction], define: Mapping[str, tree.Node]) -> dict[str, Fraction] | None:
    """Values with those of defined letters as far as they are rational; None where one is missing."""
    full = dict(values)
    for _ in range(len(define)):
        for name, formula in define.items():
            if name not in full and free_letters(formula) - NUMBERS <= full.keys():
                value = Formula(full).value(formula)
                if isinstance(value, Fraction):
                    full[name] = value
    return full if define.keys() <= full.keys() else None


def _holds(condition: tree.Compare, point: Mapping[str, Fraction]) -> bool:
    if condition.operators == ("==",) and isinstance(condition.operands[0], tree.Letter):
        return True  # its value was put in
    return Formula(dict(point)).answer(condition) is True

"""``Use Theorem 1 with delta/m in place of delta``: the bound of the theorem with the value, against what is promised.

Both sides are computed at drawn numbers. Told where what is promised is smaller at every draw at which both have a
value, in the same letters: the theorem does not give it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

import numpy as np

from bilevel_verify.audit.scalar.numeric import Array, evaluate
from bilevel_verify.drafting.letters import plain
from bilevel_verify.errors import BilevelVerifyError
from bilevel_verify.language import to_text, tree
from bilevel_verify.proofreading.defect import Defect
from bilevel_verify.proofreading.joints.carrying import bounds_of, to_text_of
from bilevel_verify.proofreading.joints.clauses import HOLE, Clause, clauses_of
from bilevel_verify.proofreading.joints.judged import Judged
from bilevel_verify.proofreading.promises.conclusions import own_proofs
from bilevel_verify.proofreading.promises.said import last_side
from bilevel_verify.proofreading.source import PROMISED, Paper, Passage, Sentence
from bilevel_verify.theorems.rewrite import substitute
from bilevel_verify.theorems.vocabulary import NUMBERS

IN_PLACE = re.compile(
    rf"\b(?:[Uu]s(?:e|ing)|[Aa]pply(?:ing)?|[Bb]y|[Ff]rom) (?P<name>{PROMISED})"
    r" with (?P<value>\x01) (?:in place of|instead of) (?P<letter>\x01)"
)
COUNTS = re.compile(r"[i-nKMNST](?:_v)?")
"""Letters of whole numbers."""
DRAWS, CLOSE = 40, 1e-6


def in_place_joints(paper: Paper) -> Iterator[Judged]:
    """Every statement that a proof uses with another value of a letter."""
    for home in paper.stated.values():
        for proof in own_proofs(paper, home.name):
            for clause in clauses_of(proof):
                for found in IN_PLACE.finditer(clause.words):
                    cited = paper.stated.get(found["name"])
                    if cited is not None and cited is not home:
                        yield from _judged(paper, clause, home, cited, found)


def _last(paper: Paper, stated: Passage) -> tuple[Sentence, tree.Node] | None:
    """The last upper bound by a formula of numbers that a statement displays."""
    shown = [s for s in stated.formulas if s.read.formula.kind == "display"]
    found = [(s, b.right) for s in shown for b in bounds_of(s) if b.op in ("<=", "<")]
    found += [(s, side) for s in shown if (side := last_side(paper, s)) is not None]
    bounds = [(s, right) for s, right in found if plain(right)]
    return bounds[-1] if bounds else None


def _judged(paper: Paper, clause: Clause, home: Passage, cited: Passage, found: re.Match[str]) -> Iterator[Judged]:
    value, letter = (
        list(clause.formulas[clause.words[: found.start(g)].count(HOLE)].nodes()) for g in ("value", "letter")
    )
    given, promised = _last(paper, cited), _last(paper, home)
    if len(value) != 1 or len(letter) != 1 or not isinstance(letter[0], tree.Letter) or not given or not promised:
        return
    want, got = substitute(given[1], {letter[0].name: value[0]}), promised[1]
    letters = sorted(tree.letters(want) - NUMBERS)
    if letters != sorted(tree.letters(got) - NUMBERS) or letter[0].name not in tree.letters(given[1]):
        return
    try:
        one, other = (np.asarray(evaluate(node, _points(letters))) for node in (want, got))
    except (BilevelVerifyError, ArithmeticError, ValueError, TypeError, KeyError):
        return
    known = np.isfinite(one) & np.isfinite(other)
    joint = f"{home.name} and {cited.name} with {to_text(value[0])} in place of {letter[0].name}"
    if known.sum() < 5 or bool(np.any((other >= one * (1 - CLOSE))[known])):
        return
    title = f"{home.name} promises more than {cited.name} gives with {to_text(value[0])} in place of {letter[0].name}"
    evidence = (f"given: {to_text(want)}", f"promised: {to_text_of(promised[0])}")
    defect = Defect("citation", promised[0].place, title, "changes a constant or a rate", promised[0].latex, evidence,
                    unit=promised[0].unit)  # fmt: skip
    yield Judged("citation", promised[0].place, joint, "refuted", title, defect)


def _points(letters: list[str]) -> dict[str, Array]:
    draw = np.random.default_rng(0)
    return {
        n: draw.integers(2, 10, DRAWS).astype(float) if COUNTS.fullmatch(n) else draw.uniform(0.02, 0.9, DRAWS)
        for n in letters
    }

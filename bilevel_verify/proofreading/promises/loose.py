"""``|u| <= R eps`` where nothing but ``R > 0`` is said of R: a bound by a constant that is tied to nothing.

Refuted is a step of a proof whose upper bound is a product with such a constant as a factor, which the other side does
not have: the constant may be as small as one likes, and the other side does not change with it. In a right text the
constant bounds something, and the formula or the words that say so stand in the statement, in what it names or cites,
in an assumption or in the text; a constant that is printed there in a formula with anything but numbers is left alone.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from fractions import Fraction
from typing import TYPE_CHECKING

from bilevel_verify.drafting.letters import plain
from bilevel_verify.language import to_text, tree
from bilevel_verify.proofreading.defect import Defect
from bilevel_verify.proofreading.joints.carrying import to_text_of
from bilevel_verify.proofreading.joints.clauses import named_in, numbered_in
from bilevel_verify.proofreading.joints.forms import ORDERS, Formless, Monomial, form_of
from bilevel_verify.proofreading.joints.judged import Judged
from bilevel_verify.proofreading.joints.parameters import is_sign, numbers_used
from bilevel_verify.proofreading.joints.ties import letters_of, over
from bilevel_verify.proofreading.promises.conclusions import own_proofs
from bilevel_verify.proofreading.promises.said import Said, leaned_on, said_of, supposed_in
from bilevel_verify.proofreading.source import PROMISES, Paper, Passage, Sentence

if TYPE_CHECKING:
    from bilevel_verify.drafting.draft import Draft

CASE = re.compile(
    r"\b(?:if|when(?:ever)?|case|suppose|assume|unless|until|while|as long as|either|or|where|with|whose|contradiction)"
    r"(?:\s+(?:that|also|not|moreover|,))*\s*\Z", re.I
)  # fmt: skip


def loose_joints(paper: Paper, draft: Draft) -> Iterator[Judged]:
    """Steps of proofs that end with a product, and hypotheses of what they cite, about a constant tied to nothing."""
    for name, home in paper.stated.items():
        for proof in own_proofs(paper, name):
            around = _around(paper, home, proof)
            steps = [(s, left, right) for s in proof.formulas if not _is_case(s) for left, right in _steps(s)]
            found = {n for _, left, right in steps for n in _factors(left, right)}
            loose = {n for n in found if _is_loose(n, around, proof)}
            yield from _of_cited(paper, home, proof, around)
            if loose:
                said = said_of(draft, paper, home, proof)
                for sentence, left, right in steps:
                    for letter in sorted(loose & _factors(left, right)):
                        if not _moves(said, left, right, letter):
                            yield _judged(home, sentence, left, right, letter)


def _of_cited(paper: Paper, home: Passage, proof: Passage, around: list[Sentence]) -> Iterator[Judged]:
    """``|u| <= R`` that a cited lemma supposes, where a statement has R in its hypotheses and ties it to nothing."""
    mine = {n for s in supposed_in(home) for node in s.nodes() for n in tree.letters(node)}
    used, numbers = leaned_on(paper, proof), numbers_used(proof.words)
    cited = {id(s) for n in used if n != home.name for s in paper.stated[n].formulas}
    rest = [s for s in around if id(s) not in cited and s.read.formula.number not in numbers]
    for name in [n for n in used if n != home.name and n not in named_in(home.words)]:
        for sentence in supposed_in(paper.stated[name]):
            for left, right in _steps(sentence):
                letter = right.name if isinstance(right, tree.Letter) else ""
                bare = letter in mine - tree.letters(left) and "norm" in to_text(left)
                if bare and _is_loose(letter, rest, proof):
                    yield _judged(home, sentence, left, right, letter)


def _is_case(sentence: Sentence) -> bool:
    """Whether a formula is what a case or an assumption begins with, and no step."""
    return CASE.search(sentence.before) is not None


def _around(paper: Paper, home: Passage, proof: Passage) -> list[Sentence]:
    """Formulas that may say something of a constant where a proof uses it."""
    names = {*named_in(home.words), *named_in(proof.words)}
    passages = [p for p in paper.passages if p.kind not in (*PROMISES, "proof") or p.name in names]
    found = [s for p in passages for s in p.formulas] + supposed_in(home)
    numbers = {*numbered_in(home.words), *numbered_in(proof.words)}
    return found + [s for n, s in paper.numbered.items() if n in numbers]


def _steps(sentence: Sentence) -> Iterator[tuple[tree.Node, tree.Node]]:
    for chain in sentence.chains():
        for left, relation, right in chain.links():
            if relation.word in ("<=", "<"):
                yield left, right


def _quotient(left: tree.Node, right: tree.Node) -> Monomial | None:
    try:
        one, other = form_of(left).single, form_of(right).single
    except Formless:
        return None
    return None if one is None or other is None or min(one[1], other[1]) <= 0 else over(one[0], other[0])


def _factors(left: tree.Node, right: tree.Node) -> set[str]:
    """Letters that are factors of the bound and no part of the other side, once equal factors are cancelled."""
    quotient = _quotient(left, right)
    if quotient is None or not any("norm" in n for n in letters_of(quotient)):
        return set()
    kept = {n for name in letters_of(quotient) for n in [name] if not name.isidentifier()}
    below = {n for n, e in quotient if n.isidentifier() and len(set(e)) == 1 and e[0] < Fraction(0)}
    return {n for n in below if not any(n in part for text in kept for part in [_words(text)])}


def _words(text: str) -> set[str]:
    return {*"".join(c if c.isalnum() or c == "_" else " " for c in text).split()}


def _is_loose(name: str, around: list[Sentence], proof: Passage) -> bool:
    """Whether the constant stands, outside of orders, only in relations between numbers that set nothing else."""
    positive = False
    for sentence in around:
        if not sentence.read.statements:
            return False
        for chain in sentence.chains():
            nodes = [*chain.members, *(m for c in chain.conditions for m in c.members)]
            mine = [n for n in nodes if name in tree.letters(n) and not tree.functions(n) & {*ORDERS}]
            if mine and (not chain.relations or not all(map(plain, nodes))):
                return False
            sets = chain.equation is not None and isinstance(nodes[0], tree.Letter) and not _is_count(nodes[-1])
            if mine and sets:
                return False
            positive = positive or bool(mine)
    return positive and not any(name in tree.letters(m) for s in proof.formulas for m in _defined(s))


def _is_count(node: tree.Node) -> bool:
    return isinstance(node, tree.Call) and node.function in ("ceil", "floor")


def _defined(sentence: Sentence) -> Iterator[tree.Node]:
    for chain in sentence.chains():
        if chain.equation is not None and isinstance(chain.equation[0], tree.Letter):
            yield chain.equation[1]


def _moves(said: Said, left: tree.Node, right: tree.Node, letter: str) -> bool:
    """Whether what is said keeps the constant away from 0, or moves other letters of the step with it."""
    quotient = _quotient(left, right) or frozenset()
    others = {n for text in letters_of(quotient) for n in _words(text)} - {letter}
    moved = {n for n, v in said.define.items() if letter in tree.letters(said.out(v))}
    bounds = [r for r in said.where if letter in tree.letters(r) and not is_sign(r)]
    return bool(others & moved) or any(not _from_above(r, letter) for r in bounds)


def _from_above(relation: tree.Node, letter: str) -> bool:
    """Whether a relation bounds the constant from above: it holds for all smaller ones."""
    match relation:
        case tree.Compare(operands=(left, right), operators=(op,)):
            lower = left if op in ("<", "<=") else right
            return letter in tree.letters(lower) and letter not in tree.letters(right if lower is left else left)
    return False


def _judged(home: Passage, sentence: Sentence, left: tree.Node, right: tree.Node, letter: str) -> Judged:
    step = f"{to_text(left)} <= {to_text(right)}"
    title = (
        f"the proof of {home.name} bounds by {letter}, of which nothing is said: {step} is wrong for a small {letter}"
    )
    evidence = (f"used: {to_text_of(sentence)}", f"{home.name}: " + "; ".join(to_text_of(s) for s in home.formulas))
    defect = Defect("premise", sentence.place, title, "breaks the statement", sentence.latex, evidence,
                    f"loose {letter} {home.id}", sentence.unit)  # fmt: skip
    joint = f"{to_text_of(sentence)}, a bound by {letter}"
    return Judged("premise", sentence.place, joint, "refuted", "the constant is tied to nothing", defect)

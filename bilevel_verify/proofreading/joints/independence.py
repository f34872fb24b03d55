"""``Our condition is independent of eps``: the letters of the formula that is meant, definitions written out."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from bilevel_verify.language import tree
from bilevel_verify.proofreading.defect import Defect
from bilevel_verify.proofreading.joints.carrying import bounds_of, to_text_of
from bilevel_verify.proofreading.joints.clauses import HOLE, Clause, clauses, numbered_in
from bilevel_verify.proofreading.joints.judged import Judged
from bilevel_verify.proofreading.joints.orders import special_values
from bilevel_verify.proofreading.source import Paper, Sentence

CLAIM = re.compile(
    r"(?P<subject>[\w\x01\s().-]*?)\s*(?:,?\s*which\s+)?(?:is|are|be)?\s*(?:therefore|thus|also|hence|always)?\s*"
    r"\b(?:(?:independent\s+(?:of|from|on))|(?:(?:do(?:es)?|did)\s+not\s+depend\s+on))\s+\Z",
    re.I,
)
OTHERS = re.compile(
    r"\b(?:constants?|random|mutually|each other)\s*(?:that|which)?\s*(?:is|are)?\s*\Z|\b(?:if|unless|whether)\b", re.I
)
Definitions = Mapping[str, tuple[Sentence, frozenset[str]]]
LENGTH = 2
"""So many words before the claim name what it is about."""


def independence_joints(paper: Paper) -> Iterator[Judged]:
    """Every claim that a formula does not depend on a letter."""
    defined = _definitions(paper)
    for clause in clauses(paper):
        for place, sentence in enumerate(clause.formulas):
            claim = CLAIM.search(clause.before(place))
            letter = _letter(sentence)
            if claim is None or not letter or OTHERS.search(claim["subject"]):
                continue
            yield _judged(paper, clause, place, claim["subject"], letter, defined)


def _letter(sentence: Sentence) -> str:
    nodes = list(sentence.nodes())
    return nodes[0].name if len(nodes) == 1 and isinstance(nodes[0], tree.Letter) else ""


def _judged(
    paper: Paper,
    clause: Clause,
    place: int,
    subject: str,
    letter: str,
    defined: Definitions,
) -> Judged:
    sentence = clause.formulas[place]
    found = _meant(paper, clause, place, subject)
    joint = f"{_last(subject) or 'a formula'} independent of {letter}"
    if found is None:
        return Judged("citation", sentence.place, joint, "undecided", "the formula that is meant was not found")
    path = _path(letter, found, defined)
    ends = [c.members[-1] for c in found.chains() if len(c.members) > 1]
    if path is None or (not path and ends and not any(letter in tree.letters(end) for end in ends)):  # it cancels
        # a dependence that the text does not print as a definition would be missed: no proof, so no holds
        why = f"no definition that was read leads from {to_text_of(found)} to {letter}"
        return Judged("citation", sentence.place, joint, "undecided", why)
    title = f"{_last(subject) or 'this'} is said to be independent of {letter}, and it is not"
    links = [defined[name][0] for name in path]
    evidence = (to_text_of(found), *(f"{s.place}: {to_text_of(s)}" for s in links))
    how = f"{letter} stands in it" if not path else f"{letter} stands in the definition of {path[-1]}"
    defect = Defect("citation", sentence.place, f"{title}: {how}", "wording", found.latex, evidence, unit=sentence.unit)
    return Judged("citation", sentence.place, joint, "refuted", how, defect)


def _last(subject: str) -> str:
    return " ".join(subject.replace(HOLE, " ").split()[-LENGTH:])


def _meant(paper: Paper, clause: Clause, place: int, subject: str) -> Sentence | None:
    """The formula that is the subject itself, that a number cites, or that the same words cite elsewhere."""
    if subject.rstrip().endswith(HOLE):
        return clause.formulas[place - 1]
    numbers = [n for n in numbered_in(subject) if n in paper.numbered]
    if numbers:
        return paper.numbered[numbers[-1]]
    words = _last(subject)
    if len(words.split()) < LENGTH:
        return None
    called = re.compile(rf"{re.escape(words)}\s+(?:in\s+)?(?:[Ee]q\w*\.?\s*)?\(?(\d+[a-z]?)\)?(?!\w)", re.I)
    found = {n for p in paper.passages for n in called.findall(p.words) if n in paper.numbered}
    return paper.numbered[next(iter(found))] if len(found) == 1 else None


def _definitions(paper: Paper) -> Definitions:
    """Letter -> a formula that says what it is, and the letters that stand in all formulas that say so."""
    special = {id(s) for clause in clauses(paper) if special_values(clause) for s in clause.formulas}
    special |= {id(s) for p in paper.passages if p.kind == "remark" for s in p.formulas}  # what it says is said there
    table: dict[str, tuple[Sentence, frozenset[str]]] = {}
    for sentence in (s for s in paper.sentences if id(s) not in special):
        for one in bounds_of(sentence):
            if isinstance(one.left, tree.Letter) and one.op == "==":
                first, inside = table.get(one.left.name, (sentence, frozenset(tree.letters(one.right))))
                table[one.left.name] = first, inside & tree.letters(one.right) - {one.left.name}
    return table


def _path(letter: str, start: Sentence, defined: Definitions) -> tuple[str, ...] | None:
    """A shortest chain of definitions from a formula to a letter; () where it stands there, None without one."""
    first = frozenset(n for node in start.nodes() for n in tree.letters(node))
    if letter in first:
        return ()
    paths: list[tuple[str, ...]] = [(name,) for name in sorted(first)]
    seen = set(first)
    while paths:
        path = paths.pop(0)
        inside = defined[path[-1]][1] if path[-1] in defined else frozenset()
        if letter in inside:
            return path
        paths += [(*path, n) for n in sorted(inside - seen)]
        seen |= inside
    return None

"""Cases that are used elsewhere: whole numbers that no case has, a lemma turned round, a name for one side of a test.

A right text cannot be told. The cases of a proof have every number for which its statement is said. From "if A and
delta <= d then S" follows "delta > d" where S fails, and nothing stronger. A name for what a test lets through has the
equality where the test has it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from fractions import Fraction
from itertools import chain as joined

from bilevel_verify.language import to_text, tree
from bilevel_verify.numbers.exact import compare
from bilevel_verify.proofreading.defect import Defect
from bilevel_verify.proofreading.joints.carrying import to_text_of
from bilevel_verify.proofreading.joints.clauses import Clause, clauses, clauses_of
from bilevel_verify.proofreading.joints.forms import Formless, form_of
from bilevel_verify.proofreading.joints.judged import Judged
from bilevel_verify.proofreading.names.occurrences import whole
from bilevel_verify.proofreading.promises.conclusions import own_proofs
from bilevel_verify.proofreading.promises.said import supposed_in
from bilevel_verify.proofreading.source import Paper, Passage, Sentence

CASE = re.compile(r"(?:\A|[.;]\s)\s*(?:For|If|When)\s*\Z")
OTHERS = re.compile(r"\b(?:otherwise|other cases?|remaining|first few|small(?:er)?|trivial\w*)\b", re.I)
HAVE = re.compile(r"\bby (?P<name>Lemma [A-Z]?\.?\d[\d.]*) we (?:have|get|know)\s*\Z", re.I)
CALLED = re.compile(r"\b(?:with|where|whose|for which)\s*\Z")
NAMES = re.compile(r"\s*(?:is|are) called\b")
TEST = re.compile(r"\bif\s*\Z", re.I)
Relation = tuple[tree.Node, str, tree.Node]


def contrary_joints(paper: Paper) -> Iterator[Judged]:
    """The whole numbers of every proof, lemmas that are turned round, names for one side of a test."""
    for clause in clauses(paper):
        for place, sentence in enumerate(clause.formulas):
            if CALLED.search(clause.before(place)) and NAMES.match(clause.after(place)):
                yield from _named(paper, sentence)
            found = HAVE.search(clause.before(place)) if clause.passage.kind == "proof" else None
            if found and found["name"] in paper.stated:
                yield from _turned(paper.stated[found["name"]], sentence)
    for name, home in paper.stated.items():
        for proof in own_proofs(paper, name):
            yield from _numbers(paper, home, proof, list(clauses_of(proof)))


def _relation(sentence: Sentence) -> Relation | None:
    chains = list(sentence.chains())
    if sentence.read.formula.kind == "display" or len(chains) != 1 or len(chains[0].relations) != 1:
        return None
    left, right = chains[0].members[:2] if len(chains[0].members) == 2 else (None, None)
    return None if left is None or right is None else (left, chains[0].relations[0].word, right)


def _numbers(paper: Paper, home: Passage, proof: Passage, parts: list[Clause]) -> Iterator[Judged]:
    """``For k >= 3 ... For k <= 2 ...`` of a claim for all ``k >= 1``."""
    cases: dict[str, list[tuple[str, int, Sentence]]] = {}
    for clause in parts:
        for place, sentence in enumerate(clause.formulas):
            found = _relation(sentence)
            if found and isinstance(found[0], tree.Letter) and found[0].name in paper.notation.indices:
                number = whole(found[2])
                if number is not None and CASE.search(clause.before(place)) and found[1] in tree.NEGATED:
                    cases.setdefault(found[0].name, []).append((found[1], number, sentence))
    for name, mine in cases.items():
        low = _lowest(home, name)
        if low is None or OTHERS.search(proof.words):
            continue
        single = [n for s in proof.formulas for c in s.chains() if c.equation is not None
                  and c.equation[0] == tree.Letter(name) and (n := whole(c.equation[1])) is not None]  # fmt: skip
        if not single and all(op in (">", ">=") for op, _, _ in mine):  # one step for most k, and no distinction
            continue
        top = max(n for _, n, _ in mine) + 2
        tests = [(op, n) for op, n, _ in mine]
        missing = [k for k in range(low, top) if k not in single and not _in(k, tests)]
        if missing:
            title = f"the cases of the proof of {home.name} leave out {name} = {missing[0]}"
            yield _told(mine[-1][2], f"the cases of {name} in the proof of {home.name}", title)


def _in(number: int, tests: list[tuple[str, int]]) -> bool:
    return any(compare(Fraction(number), op, Fraction(n)) for op, n in tests)


def _lowest(home: Passage, name: str) -> int | None:
    """The first number for which a statement is said."""
    for sentence in supposed_in(home):
        for chain in sentence.chains():
            for left, relation, right in chain.links():
                if left == tree.Letter(name) and relation.word == ">=" and whole(right) is not None:
                    return whole(right)
    return None


def _turned(lemma: Passage, sentence: Sentence) -> Iterator[Judged]:
    """``By Lemma 2 we have delta > d`` where it supposes ``delta <= c``, so that it gives ``delta > c`` alone."""
    used = _relation(sentence)
    conditions = [r for s in supposed_in(lemma) if (r := _relation(s)) is not None]
    said = joined.from_iterable(c.links() for s in lemma.formulas if s not in supposed_in(lemma) for c in s.chains())
    if used is None or any(left == used[0] for left, _, _ in said):
        return
    for left, op, right in conditions:
        gives = tree.NEGATED.get(op)
        if left != used[0] or gives is None or gives[0] != used[1][0]:
            continue
        try:
            got, want = form_of(right).single, form_of(used[2]).single
        except Formless:
            continue
        if got is None or want is None or got[0] != want[0]:
            continue
        more = want[1] > got[1] if gives[0] == ">" else want[1] < got[1]
        if more or (want[1] == got[1] and used[1] in "<>" and gives not in "<>"):
            given = f"{to_text(left)} {gives} {to_text(right)}"
            title = f"{lemma.name} turned round gives {given}, and not {to_text_of(sentence)}"
            yield _told(sentence, f"{to_text_of(sentence)} by {lemma.name}", title, "citation")


def _named(paper: Paper, sentence: Sentence) -> Iterator[Judged]:
    """``An iteration with r > 1/4 is called successful`` where the algorithm tests ``r >= 1/4``."""
    name = _relation(sentence)
    if name is None or name[1] not in tree.NEGATED:
        return
    tests = [r for p in paper.passages if p.kind == "algorithm" for s in p.formulas
             if TEST.search(s.before) and (r := _relation(s)) is not None]  # fmt: skip
    alike = [r for r in tests if r[0] == name[0] and r[2] == name[2] and r[1][:1] == name[1][:1]]
    if alike and all(r[1] != name[1] for r in alike):
        left, op, right = alike[0]
        title = f"the name is for {to_text_of(sentence)}, and the algorithm tests {to_text(left)} {op} {to_text(right)}"
        yield _told(sentence, "the name and the test of the algorithm", title)


def _told(sentence: Sentence, joint: str, title: str, kind: str = "total") -> Judged:
    defect = Defect(kind, sentence.place, title, "local slip", sentence.latex, unit=sentence.unit)
    return Judged(kind, sentence.place, joint, "refuted", title, defect)

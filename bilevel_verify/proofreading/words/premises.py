"""What a step rests on by its words alone: not on itself, not on what comes after it, and not on one thing twice."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from bilevel_verify.language import to_text, tree
from bilevel_verify.proofreading.defect import Defect
from bilevel_verify.proofreading.joints.carrying import to_text_of
from bilevel_verify.proofreading.joints.citations import KINDS, LEANS
from bilevel_verify.proofreading.joints.clauses import HOLE, ITEM, Clause, clauses, clauses_of, named_in, numbered_in
from bilevel_verify.proofreading.joints.distinctions import CONDITION
from bilevel_verify.proofreading.source import Paper, Passage, Sentence

NUMBER = r"(?:equations?\s+|inequalit(?:y|ies)\s+)?\(?(\d+[a-z]?)\)?(?![\w.]*\d)"
PREMISE = re.compile(
    rf"\b(?:by|from|using|with|into|adding|combining|plugging|substituting|summing|sum of|same way as|{HOLE} in)\s+"
    rf"(?:(?:lines? \d+(?: and \d+)?|the step|convexity|the definition)\s*,?\s+and\s+)?"
    rf"{NUMBER}(?:\s*(?:,|and|, and)\s+{NUMBER})?"
    r"|\bthe (?:bound|inequality|relation) \((\d+[a-z]?)\) (?:gives|yields|implies|shows|says)\b",
    re.I,
)
THIS = re.compile(r"\b(?:with|by|from|using) (?P<cited>[^.;:\x01]{0,60}?),? this (?:is|reads|becomes)\s*\Z", re.I)
"""``With (3) and (5) this is D``: *this* is the display right before."""
LATER = re.compile(r"\b(?:below|later|following|next|induction|suppose|assume|claim|show|prove|if|until)\b", re.I)
TWICE = re.compile(
    rf"(?P<one>\((?P<number>\d+[a-z]?)\)|(?P<kind>{KINDS})s? (?P<item>{ITEM}))\s+(?:and|with)\s+"
    rf"(?:\((?P=number)\)|(?:(?P=kind) )?(?P=item)(?![\w.]*\d))"
)
ELSE = re.compile(r"\b(?:when|otherwise|until|before|after|other|previous|last|not|never|contradict\w*)\b", re.I)
CONCLUDES = re.compile(rf"\b(?:have|has|get|obtain|gives?|yields?|implies|follows)\b|{HOLE}", re.I)
SPEAKS = re.compile(
    r"\b(?:proofs? of|prove|induction|similar|statement|assertion|claim|conditions? of|setting of)\b", re.I
)


def premise_defects(paper: Paper) -> Iterator[Defect]:
    """Relations of one proof used before they are there, statements that prove themselves, names given twice."""
    proofs = dict(_plainly_of(paper))
    makers = {f.read.formula.number: c for c in clauses(paper) for f in c.formulas if c.passage.kind == "proof"}
    for clause in clauses(paper):
        if clause.passage.kind == "proof":
            yield from _named_again(paper, clause)
            if id(clause.passage) in proofs:
                yield from _other_case(paper, clause, proofs[id(clause.passage)])
                yield from _roundabout(paper, clause, proofs[id(clause.passage)], makers)
                yield from _itself(clause, proofs[id(clause.passage)])
        for found in TWICE.finditer(clause.words):
            if found["kind"] and f"{found['kind']} {found['item']}" not in paper.stated:
                continue  # two statements have this name
            title = f"{found['one']} is named twice for one step"
            yield _defect(clause, title, (f"the words: {' '.join(found[0].split())}",), "")


def _plainly_of(paper: Paper) -> Iterator[tuple[int, str]]:
    """Proofs that say what they prove, or stand right behind it."""
    before: Passage | None = None
    for passage in paper.passages:
        behind = passage.says_of or (before is not None and before.name == passage.of)
        if passage.kind == "proof" and passage.of in paper.stated and behind:
            yield id(passage), passage.of
        before = passage


def _other_case(paper: Paper, clause: Clause, home: str) -> Iterator[Defect]:
    """``By Lemma 4``, which supposes ``a <= b``, in the proof of what supposes ``a > b`` of the same quantities.

    A lemma may be used for another point or another time; words that speak of one leave it open.
    """
    if ELSE.search(clause.words) or LATER.search(clause.words) or SPEAKS.search(clause.words):
        return
    mine = _conditions(paper.stated[home])
    for name in named_in(clause.words):
        at = clause.words.find(name)
        if name not in paper.stated or name == home or at < 0 or not LEANS.search(clause.words[:at]):
            continue
        for left, op, right in _conditions(paper.stated[name]):
            if (left, tree.NEGATED[op], right) in mine:
                title = f"{name} supposes the opposite of what {home} supposes, and is used in its proof"
                supposed = f"{name} supposes {to_text(left)} {op} {to_text(right)}, {home} the opposite"
                yield _defect(clause, title, (supposed,), "")


def _conditions(statement: Passage) -> set[tuple[tree.Node, str, tree.Node]]:
    """What a statement supposes of its quantities: ``if a <= b``."""
    found = set()
    for clause in clauses_of(statement):
        for place, formula in enumerate(clause.formulas):
            links = [link for chain in formula.chains() for link in chain.links()]
            if len(links) == 1 and links[0][1].word in tree.NEGATED and CONDITION.search(clause.before(place)):
                found.add((links[0][0], links[0][1].word, links[0][2]))
    return found


def _roundabout(paper: Paper, clause: Clause, home: str, makers: Mapping[str, Clause]) -> Iterator[Defect]:
    """A premise that a later proof derives from the statement that is being proved here."""
    if LATER.search(clause.words) or SPEAKS.search(clause.words):
        return
    own = {s.read.formula.number for s in paper.stated[home].formulas if s.read.formula.number}
    for said in PREMISE.finditer(clause.words):
        for number in dict.fromkeys(n for n in said.groups() if n):
            made, cited = makers.get(number), paper.numbered.get(number)
            if made is None or cited is None or made.passage is clause.passage or cited not in made.formulas:
                continue
            rests = made.before(made.formulas.index(cited))
            behind = bool(clause.formulas) and cited.read.formula.n > clause.formulas[-1].read.formula.n
            if behind and (own & {*numbered_in(rests)} or home in named_in(rests)) and not SPEAKS.search(rests):
                title = f"({number}) is used in the proof of {home}, and it is derived from {home}"
                yield _defect(clause, title, (f"({number}): {to_text_of(cited)}",), "")


def _named_again(paper: Paper, clause: Clause) -> Iterator[Defect]:
    """``With (7) this is D`` right behind the display (7): *this* is (7), so that (7) is no second premise."""
    if not clause.formulas or clause.formulas[0].read.formula.kind != "display":
        return
    said = THIS.search(clause.before(0))
    ahead = [f for f in clause.passage.formulas if f.read.formula.n < clause.formulas[0].read.formula.n][-1:]
    number = ahead[0].read.formula.number if ahead else ""
    cited = numbered_in(said["cited"]) if said is not None else ()
    if number in cited and len(cited) > 1 and ahead[0].read.formula.kind == "display":
        title = f"({number}) is the display that this sentence is about, and is cited for it"
        yield _defect(clause, title, _shown(number, ahead[0], clause.formulas[0]), clause.formulas[0].latex)


def _shown(number: str, cited: Sentence, shown: Sentence) -> tuple[str, ...]:
    return f"({number}): {to_text_of(cited)}", f"the step: {to_text_of(shown)}"


def _itself(clause: Clause, home: str) -> Iterator[Defect]:
    """``By Lemma 2`` in the proof of Lemma 2."""
    kind, _, number = home.partition(" ")
    if SPEAKS.search(clause.words) or LATER.search(clause.words):
        return
    for found in re.finditer(rf"\b{kind}s? (?:{kind} )?{re.escape(number)}(?![\w.]*\d)", clause.words):
        leans = LEANS.search(clause.words[: found.start()])
        behind = clause.words[found.end() :]
        if leans and (CONCLUDES.search(behind) or not behind.strip(" .\n")):
            yield _defect(clause, f"{home} is used in its own proof", (f"the proof of {home} rests on {home}",), "")


def _defect(clause: Clause, title: str, evidence: tuple[str, ...], latex: str) -> Defect:
    passage = clause.passage
    place = (
        clause.formulas[0].place
        if clause.formulas
        else f"proof of {passage.of}"
        if passage.of
        else passage.name or "text"
    )
    return Defect("citation", place, title, "wording", latex, evidence, f"{title} {passage.id}{passage.of}", passage.id)

"""What words say of a cited relation, against where it stands and what stands in it.

``The sum of (5), (6) and (7) is (4)``: four relations. ``... gives (3)``: the relation that is being proved. ``(1) from
Lemma 2``: it stands there. ``By (3) with gamma_0 = 1``: it has the letter that gets a value.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from bilevel_verify.language import tree
from bilevel_verify.proofreading.defect import Defect
from bilevel_verify.proofreading.joints.carrying import to_text_of
from bilevel_verify.proofreading.joints.citations import KINDS
from bilevel_verify.proofreading.joints.clauses import HOLE, ITEM, Clause, clauses, clauses_of
from bilevel_verify.proofreading.promises.conclusions import proved_in
from bilevel_verify.proofreading.source import PROMISES, Paper, Passage, Sentence

N = r"\((\d+[a-z]?)\)"
SUM = re.compile(
    rf"\bsums? (?:of )?(?P<with>with )?(?P<list>{N}(?:,\s*{N})*(?:,?\s+and\s+{N})?)"
    r"(?:\s+is\s+\((?P<is>\d+[a-z]?)\))?",
    re.I,
)
NUMBER = re.compile(N)
GIVES = re.compile(rf"\b(?:gives?|yields?|proves?|sum with \(\d+[a-z]?\) is|both sides is)\s+{N}\s*[.:]?\s*\Z", re.I)
HOME = re.compile(rf"{N}\s+(?P<how>from|of|in|and)\s+(?P<kind>{KINDS})\s+(?P<item>{ITEM})(?![\w.]*\d)")
VALUE = re.compile(
    rf"{N}\s+(?:with|for|at|where)\s+{HOLE}|\b(?:with|setting|taking|for|at)\s+{HOLE}\s+(?:in|into)\s+{N}", re.I
)
USES = re.compile(rf"\b(?:uses?|using|by|from|is due to)\s+{N}", re.I)
INDUCES = re.compile(rf"\b(?:if|suppose|assume)(?: that)?\s+{N}\s+(?:holds|is true)\s+for\b", re.I)
RESTS = re.compile(
    rf"\b(?:by|from|using|with|into)\s+(?:[^.;:{HOLE}()]{{0,40}}\band\s+)?{N}|{N}\s+(?:reads|becomes)\s+(?={HOLE})",
    re.I,
)
SUPPOSED = re.compile(
    r"\b(?:suppose|assume|let|if|given|any|such|choos(?:e|ing)|pick|take|set)\b(?:(?!\bthen\b)[^.])*\Z", re.I
)
"""Words before a display of a statement that make it a hypothesis, as far as no ``then`` follows."""
NAMES = re.compile(
    r"\b(?:function|map|operator|matrix|sequence|quantity|constant|number|vector|potential|step(?: size)?|set)\s*\Z",
    re.I,
)
"""Words before a display that is the name of something of which the statement speaks."""
CONCLUDED = re.compile(
    r"\b(?:gives?|yields?|proves?|shows?|is|obtain|get|implies|have)\s+(?P<number>\(\d+[a-z]?\))"
    r"|(?P<behind>\(\d+[a-z]?\))\s+(?:follows|is proved)"
)
"""Places where a number stands for what comes out, not for what goes in."""
OPEN = re.compile(
    r"\b(?:induction|suppose|assume|if|show|prove|claim|contradiction|remains|enough|suffices|equivalent|hypothesis)\b",
    re.I,
)
"""A proof that speaks of what it proves before it is proved."""


def source_defects(paper: Paper) -> Iterator[Defect]:
    """Every sentence that cites relations by their numbers."""
    proofs = proved_in(paper)
    for clause in clauses(paper):
        yield from _sums(paper, clause)
        yield from _homes(paper, clause)
        yield from _values(paper, clause)
        yield from _uses_itself(clause)
        home = proofs.get(id(clause.passage))
        if home is not None and clause.passage.formulas:
            yield from _given(paper, clause, home)
            yield from _own_goal(paper, clause, home)


def _sums(paper: Paper, clause: Clause) -> Iterator[Defect]:
    """Summands that are named twice, or are the sum."""
    for said in SUM.finditer(clause.words):
        numbers = [m[1] for m in NUMBER.finditer(said["list"])]
        if said["with"]:
            before = clause.formulas[: clause.words[: said.start()].count(HOLE)]
            numbers += [s.read.formula.number for s in before[-1:] if s.read.formula.number]
        twice = sorted({n for n in numbers if numbers.count(n) > 1})
        if twice:
            yield told(paper, clause, f"({twice[0]}) is named twice in one sum", twice)
        elif said["is"] in numbers:
            yield told(paper, clause, f"({said['is']}) is said to be a sum of which it is a term", [said["is"]])


def _given(paper: Paper, clause: Clause, home: Passage) -> Iterator[Defect]:
    """``... gives (3)``: a relation of this statement, or one that stands before it."""
    own = [s.read.formula.number for s in home.formulas if s.read.formula.number]
    said = GIVES.search(clause.words)
    cited = paper.numbered.get(said[1]) if said is not None else None
    if said is None or cited is None or not own or said[1] in own:
        return
    here = _place(clause)
    if cited.unit == clause.passage.formulas[0].unit and cited.read.formula.n > here:
        yield told(paper, clause, f"({said[1]}) is said to be given here, and it stands behind", [said[1]])
    elif cited.unit == clause.passage.formulas[0].unit and clause.words in _last_words(clause.passage):
        title = f"the proof of {home.name} ends with ({said[1]}), which it has before; {home.name} states ({own[-1]})"
        yield told(paper, clause, title, [said[1], own[-1]])
    elif cited.read.formula.statement not in ("", home.id) and cited.unit != clause.passage.formulas[0].unit:
        title = f"the proof of {home.name} is said to give ({said[1]}); {home.name} states ({own[-1]})"
        yield told(paper, clause, title, [said[1], own[-1]])


def _last_words(passage: Passage) -> str:
    """The end of a passage, as sentences have their words."""
    return " ".join(passage.words.replace(HOLE, f" {HOLE} ").split())[-400:]


def _own_goal(paper: Paper, clause: Clause, home: Passage) -> Iterator[Defect]:
    """What the statement alone says as a premise of its own proof; another relation as what an induction assumes."""
    own = [s.read.formula.number for s in home.formulas if s.read.formula.number]
    if len(own) != 1 or len([s for s in home.formulas if s.read.formula.kind == "display"]) != 1:
        return
    said = INDUCES.search(clause.words)
    cited = paper.numbered.get(said[1]) if said is not None else None
    if said is not None and cited is not None and cited.unit != home.id:
        behind = cited.unit == clause.passage.formulas[0].unit and cited.read.formula.n > _place(clause)
        if not (_is_stated(paper, cited) or behind):
            return
        title = f"the induction assumes ({said[1]}), and {home.name} states ({own[0]})"
        yield told(paper, clause, title, [said[1], own[0]])
    if OPEN.search(clause.passage.words) or HOLE not in clause.words or _is_supposed(home):
        return
    number, words = f"({own[0]})", clause.passage.words
    concluded = sum(1 for m in CONCLUDED.finditer(words) if number in (m["number"], m["behind"]))
    for used in RESTS.finditer(clause.words):
        leans = own[0] in used.groups() and HOLE in clause.words[used.end() :]
        if leans and words.count(number) - concluded == 1:
            yield told(paper, clause, f"{number} is a premise in the proof of {home.name}, which states it", own)


def _is_supposed(home: Passage) -> bool:
    """Whether a statement supposes or names what it displays: ``let eta satisfy``, ``the function phi = f + h is``."""
    return any(
        formula.read.formula.kind == "display" and supposes(clause, place)
        for clause in clauses_of(home)
        for place, formula in enumerate(clause.formulas)
    )


def supposes(clause: Clause, place: int) -> bool:
    """Whether a sentence of a statement supposes or names one of its formulas, and does not claim it."""
    said = clause.before(place)
    defines = any(r.word == ":=" for chain in clause.formulas[place].chains() for r in chain.relations)
    return defines or SUPPOSED.search(said) is not None or NAMES.search(said) is not None


def _is_stated(paper: Paper, sentence: Sentence) -> bool:
    return any(p.id == sentence.unit for p in paper.passages if p.kind in PROMISES)


def _homes(paper: Paper, clause: Clause) -> Iterator[Defect]:
    """``(1) from Lemma 2``: it stands in Lemma 2; ``(1) and Lemma 2``: it does not."""
    for said in HOME.finditer(clause.words):
        cited, name = paper.numbered.get(said[1]), f"{said['kind']} {said['item']}"
        alike = [p for p in paper.passages if p.name == name and p.kind not in ("proof", "text", "algorithm")]
        named = alike[0] if len(alike) == 1 else None
        statement = cited.read.formula.statement if cited is not None else ""
        if named is None or cited is None or not (statement or any(f.read.formula.number for f in named.formulas)):
            continue
        shown = [s for s in named.formulas if s.read.formula.kind == "display"]
        if said["how"] == "and":
            if shown == [cited] and re.search(rf"\b(?:by|from|with|using)\s+{re.escape(said[0])}", clause.words, re.I):
                yield told(paper, clause, f"({said[1]}) is what {name} says: one thing is named twice", [said[1]])
        elif statement != named.id and not re.search(r"\bproof\b", clause.words[: said.start()]):
            yield told(paper, clause, f"({said[1]}) is said to be of {name}, and stands elsewhere", [said[1]])


def _values(paper: Paper, clause: Clause) -> Iterator[Defect]:
    """A letter that gets a value in a relation: it stands there, or in the statement that holds it."""
    for said in VALUE.finditer(clause.words):
        number = said[1] or said[2]
        cited = paper.numbered.get(number)
        formula = clause.formulas[clause.words[: said.end()].count(HOLE) - 1]
        name = _set(formula)
        if cited is None or not name or not cited.read.statements or cited is formula:
            continue
        stated = _is_stated(paper, cited)
        around = [cited, *(s for s in paper.homes[cited.home] if s.unit == cited.unit and stated)]
        if any(name in s.names() for s in around):
            continue
        others = [k for k, s in paper.before(formula).items() if name in s.names()]
        if others:
            title = f"{name} gets a value in ({number}), which has no {name}; ({others[-1]}) has"
            yield told(paper, clause, title, [number, others[-1]])


def _set(formula: Sentence) -> str:
    """The letter or sequence of a formula ``letter = value``."""
    chains = list(formula.chains())
    if formula.read.formula.kind == "display" or len(chains) != 1 or [r.word for r in chains[0].relations] != ["=="]:
        return ""
    left = chains[0].members[0]
    return tree.name_of(left)


def _uses_itself(clause: Clause) -> Iterator[Defect]:
    """``(4) where the last step uses (4)``."""
    shown = [(i, f) for i, f in enumerate(clause.formulas) if f.read.formula.kind == "display"][-1:]
    for place, formula in shown:
        number = formula.read.formula.number
        after = clause.after(place)
        if number and re.match(r"[\s,]*where\b", after) and any(m[1] == number for m in USES.finditer(after)):
            title = f"({number}) is used for a step of ({number}) itself"
            yield _defect(clause, title, (f"({number}): {to_text_of(formula)}",))


def _place(clause: Clause) -> int:
    """Number of the last formula of a sentence, or of the last one before it in its passage."""
    if clause.formulas:
        return clause.formulas[-1].read.formula.n
    words = " ".join(clause.passage.words.replace(HOLE, f" {HOLE} ").split())
    at = words.find(" ".join(clause.words.split()))
    ahead = clause.passage.formulas[: words[: max(at, 0)].count(HOLE)]
    return ahead[-1].read.formula.n if ahead else 0


def told(paper: Paper, clause: Clause, title: str, numbers: Iterable[str], words: str = "") -> Defect:
    """A sentence that is wrong about numbered relations: these, and its ``words``, or the first of them, are shown."""
    shown = (f"({n}): {to_text_of(paper.numbered[n])}" for n in dict.fromkeys(numbers) if n in paper.numbered)
    said = " ".join((words or clause.words[:160]).replace(HOLE, "...").split())
    return _defect(clause, title, (*shown, f"the words: {said}"))


def _defect(clause: Clause, title: str, evidence: tuple[str, ...]) -> Defect:
    passage = clause.passage
    near = clause.formulas or passage.formulas
    place = near[0].place if near else passage.name or "text"
    latex = clause.formulas[0].latex if clause.formulas else ""
    return Defect("citation", place, title, "wording", latex, evidence, f"{title} {passage.id}{passage.of}", passage.id)

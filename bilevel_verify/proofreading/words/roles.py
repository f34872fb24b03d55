"""What words call a relation, against what stands in it: a definition, a problem, an update, a claim, a term of it.

``K defined in (44)``: K stands there. ``a solution of (1)``: it is a problem. ``the claim in (19)``: the statement that
is proved has it. ``the last term of (24)``: what is bounded there is a part of it. ``the restart condition (5)``: it is
the same relation wherever the paper calls it so.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterator

from bilevel_verify.language import tree
from bilevel_verify.latex.statements import EQUATES
from bilevel_verify.proofreading.defect import Defect
from bilevel_verify.proofreading.joints.carrying import bounds_of
from bilevel_verify.proofreading.joints.clauses import HOLE, Clause, clauses
from bilevel_verify.proofreading.joints.forms import Formless, form_of
from bilevel_verify.proofreading.promises.conclusions import proved_in
from bilevel_verify.proofreading.source import Paper, Passage, Sentence
from bilevel_verify.proofreading.words.sources import told

N = r"(?:[Ee]q(?:uation|\.)?s?\s*|[Ii]nequalit(?:y|ies)\s+)?\(?(?P<number>\d+[a-z]?)\)?(?![\w.]*\d)"
LIST = rf"{N}(?P<more>(?:(?:\s*,\s*|\s*,?\s+and\s+)(?:equation\s+)?\(?\d+[a-z]?\)?(?![\w.]*\d))*)"
DEFINED = re.compile(rf"{HOLE}\s*,?\s*(?:(?:which )?(?:is|are)\s+)?defined\s+(?:in|by)\s+{LIST}")
OF = re.compile(rf"\bdefinition of\s*{HOLE}\s*in\s+{LIST}")
SOLVES = re.compile(rf"\bsolutions? (?:of|to) (?:the )?(?:problem )?{N}", re.I)
UPDATE = re.compile(rf"\bupdate(?: rule)? (?:in|of) {N}", re.I)
CLAIM = re.compile(rf"\bclaim(?:ed)? (?:bound |inequality )?in {N}", re.I)
TERM = re.compile(
    rf"\b(?:first|second|third|last) term (?:in|of|on the right[- ]hand side (?:of|in)) {N}[^.{HOLE}]*\Z", re.I
)
CALLED = re.compile(
    rf"(?P<name>(?:[\w-]+\s+){{1,2}}(?:condition|inequality|rule|identity|property|recursion))\s+{N}", re.I
)
COMMON = re.compile(
    r"\A(?:(?:the|this|that|following|above|previous|last|first|second|an?|by|and|of|to|in|from|with|using|due)\s+)+",
    re.I,
)


def role_defects(paper: Paper) -> Iterator[Defect]:
    """Every sentence that calls a numbered relation something."""
    proofs = proved_in(paper)
    for clause in clauses(paper):
        yield from _definitions(paper, clause)
        yield from _kinds(paper, clause)
        if (home := proofs.get(id(clause.passage))) is not None:
            yield from _claims(paper, clause, home)
        yield from _terms(paper, clause)
    yield from _called(paper)


def _definitions(paper: Paper, clause: Clause) -> Iterator[Defect]:
    """A letter that is said to be defined in relations stands alone on the left side of one of them."""
    for said in (*DEFINED.finditer(clause.words), *OF.finditer(clause.words)):
        place = clause.words[: said.end()].count(HOLE) - 1
        numbers = re.findall(r"\d+[a-z]?", f"{said['number']} {said['more']}")
        formula = clause.formulas[place]
        nodes = list(formula.nodes())
        name = tree.head_of(nodes[0]) if len(nodes) == 1 else ""
        named = [paper.numbered[n] for n in numbers if n in paper.numbered]
        raw = formula.latex.strip()
        homes = [k for k, s in paper.numbered.items() if name and (_defines(s, name) or _begins(s, raw))]
        if not homes or len(named) < len(numbers) or any(s.read.formula.number in homes for s in named):
            continue
        if any(name in s.names() or name in _calls(s) or raw in s.latex for s in named):
            continue
        title = f"({numbers[0]}) is named as what defines {name}, and has no {name}; ({homes[0]}) defines it"
        yield told(paper, clause, title, [numbers[0], homes[0]], said[0])


def _calls(sentence: Sentence) -> set[str]:
    return set().union(*(tree.functions(node) for node in sentence.nodes()), set())


def _defines(sentence: Sentence, name: str) -> bool:
    links = (link for chain in sentence.chains() for link in chain.links())
    return any(relation.word in EQUATES and tree.head_of(left) == name for left, relation, _ in links)


def _begins(sentence: Sentence, raw: str) -> bool:
    """Whether a relation that was not read begins with a letter as it is printed, and a sign of equality."""
    shown = re.sub(r"\\begin\{\w+\*?\}|[&\s]", "", sentence.latex)
    return not sentence.read.statements and re.match(re.escape(re.sub(r"\s", "", raw)) + ":?=", shown) is not None


def _kinds(paper: Paper, clause: Clause) -> Iterator[Defect]:
    """A solution is of a problem; an update gives an entry its next value."""
    for pattern, fits, called in ((SOLVES, _is_problem, "a problem"), (UPDATE, _is_update, "an update")):
        for said in pattern.finditer(clause.words):
            cited = paper.numbered.get(said["number"])
            others = [k for k, s in paper.numbered.items() if fits(s)]
            read = cited is not None and cited.read.statements and (fits is _is_update or _of_iterates(cited))
            if cited is not None and read and others and not fits(cited):
                title = f"({said['number']}) is called {called}, and is none; ({others[0]}) is one"
                yield told(paper, clause, title, [said["number"], others[0]], said[0])


def _of_iterates(sentence: Sentence) -> bool:
    """Whether entries of sequences stand in a relation; an equation between points has solutions."""
    return any(isinstance(p, tree.Index) for node in sentence.nodes() for p in node.walk())


def _is_problem(sentence: Sentence) -> bool:
    found = ("min", "max", "argmin", "argmax", "inf", "sup")
    parts = [p for node in sentence.nodes() for p in node.walk()]
    return any(isinstance(p, tree.Call) and p.function in found for p in parts) or r"\min" in sentence.latex


def _is_update(sentence: Sentence) -> bool:
    firsts = [c.members[0] for c in sentence.chains() if c.relations and c.relations[0].word in EQUATES]
    return any(isinstance(first, tree.Index | tree.Letter) for first in firsts)


def _claims(paper: Paper, clause: Clause, proved: Passage) -> Iterator[Defect]:
    """A claim is one of the statement that is proved, or of its proof."""
    for said in CLAIM.finditer(clause.words):
        cited = paper.numbered.get(said["number"])
        own = sorted(s.read.formula.number for s in proved.formulas if s.read.formula.number)
        home = cited.read.formula.statement if cited is not None else ""
        if cited is not None and own and home not in ("", clause.passage.formulas[0].read.formula.statement):
            title = f"({said['number']}) is called a claim in the proof of {clause.passage.of}, which has ({own[0]})"
            yield told(paper, clause, title, [said["number"], own[0]], said[0])


def _terms(paper: Paper, clause: Clause) -> Iterator[Defect]:
    """What is bounded as a term of a relation is a part of it."""
    for place, printed in enumerate(clause.formulas):
        said = TERM.search(clause.before(place))
        cited = paper.numbered.get(said["number"]) if said is not None else None
        bounds = bounds_of(printed)
        if said is None or cited is None or cited is printed or not bounds or not cited.read.statements:
            continue
        left = bounds[0].left
        near = {k: s for k, s in paper.before(printed).items() if s.unit in (cited.unit, printed.unit)}
        others = [k for k, s in near.items() if k != said["number"] and _has(s, left)]
        if others and not _has(cited, left):
            title = f"what is bounded here is no term of ({said['number']}); it is one of ({others[-1]})"
            yield told(paper, clause, title, [said["number"], others[-1]], said[0])


def _has(sentence: Sentence, term: tree.Node) -> bool:
    """Whether a term, a factor beside, stands in a relation."""
    if any(part == term for node in sentence.nodes() for part in node.walk()):
        return True
    try:
        wanted = form_of(term).terms
    except Formless:
        return True
    for node in sentence.nodes():
        try:
            have = form_of(node).terms
        except Formless:
            continue
        if all(any(m <= other for other in have) for m in wanted):
            return True
    return False


def _called(paper: Paper) -> Iterator[Defect]:
    """One name, one relation: the rarer one of two numbers is told where the other has the name twice or more."""
    places: dict[str, list[tuple[str, Clause, str]]] = defaultdict(list)
    for clause in clauses(paper):
        for said in CALLED.finditer(clause.words.replace(HOLE, " ")):
            name = COMMON.sub("", " ".join(said["name"].lower().split()))
            if said["number"] in paper.numbered and " " in name:
                places[name].append((said["number"], clause, said[0]))
    for name, found in places.items():
        count = Counter(number for number, _, _ in found)
        if len(count) != 2:
            continue
        (usual, often), (rare, once) = count.most_common()
        for number, clause, words in found:
            if number == rare and once == 1 and often > 1:
                title = f"({rare}) is called the {name} here, and ({usual}) is elsewhere"
                yield told(paper, clause, title, [rare, usual], words)

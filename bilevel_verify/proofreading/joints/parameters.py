"""Parameters: a value quoted in a proof against its definition, and the hypotheses of a lemma where it is used."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING

from bilevel_verify.drafting.letters import definitions, plain
from bilevel_verify.language import to_text, tree
from bilevel_verify.latex.statements import ORDERED
from bilevel_verify.proofreading.defect import Defect
from bilevel_verify.proofreading.joints.carrying import differs, to_text_of
from bilevel_verify.proofreading.joints.clauses import EQUATION, Clause, clauses, named_in
from bilevel_verify.proofreading.joints.forms import ORDERS, Formless, form_of
from bilevel_verify.proofreading.joints.judged import Judged
from bilevel_verify.proofreading.joints.shown import equality_script, form_script
from bilevel_verify.proofreading.source import PROMISED, PROMISES, Paper, Passage, Sentence, values_in
from bilevel_verify.theorems.rewrite import free_letters, substitute
from bilevel_verify.theorems.vocabulary import NUMBERS

if TYPE_CHECKING:
    from bilevel_verify.drafting.draft import Draft

NEW = re.compile(
    r"\b(?:let(?:ting)?|denot\w+|choos\w+|set(?:ting|s)?|pick\w*|tak(?:e|ing)|defin\w+|when(?:ever)?|if|suppos\w+|replac\w+"
    r"|assum\w+|case|for|consider\w*|write|instead|otherwise|at(?! most| least))\b[^.,;]{0,50}\Z", re.I,
)  # fmt: skip
"""A letter gets a value here; it is not quoted."""
USES = re.compile(
    r"\b(?:by|from|using|uses?|apply(?:ing)?|invok\w+|with|due to|combining|and|of|sum|summing|into|recall)\s*\Z", re.I
)
INHERITS = re.compile(
    r"\b(?:conditions?|settings?|situation|parameters?|assumptions?|hypothes[ei]s|same|choices?|notation|as in)\b", re.I
)
ANNOUNCED = re.compile(rf"(?<!to )(?<!to the )(?<!in the )(?<!from the )\b(?:proofs? of|prove) {PROMISED}")
"""Not ``similar to the proof of Theorem 1``."""
NUMBERED = re.compile(r"\bAssumptions?\s+[A-Z]?\.?\d[\d.]*")
"""An assumption of the paper itself: its formulas are among those of the statement."""
STANDING = re.compile(
    r"\b(?:assumptions?|hypothes[ei]s|conditions?)"
    r"(?:[\s,~]+(?:(?i:assumption|hypothesis|condition|and)\b|[A-Z]?\.?\d[\d.]*|[A-Z]\b))+", re.I
)  # fmt: skip
"""Assumptions of the paper that are named, in all their forms."""
ALIKE = re.compile(
    r"\b(?:(?:as in|as for|like|similar\w*|analog\w*|same way|argument|idea|along the lines)\b[^.;\x01]{0,40}"
    r"|proof of |prove )\Z", re.I
)  # fmt: skip
"""What makes an analogy of a statement that is named."""
UPPER = (("<",), ("<=",))
ROUNDS = 6


@dataclass(frozen=True)
class Frame:
    """What a statement fixes: letters with their formulas, relations between numbers, and the statement's own words.

    ``running`` are letters that it quantifies, ``named`` letters that are a side of a relation of it; ``complete`` says
    that all its formulas were read.
    """

    define: Mapping[str, tree.Node]
    where: tuple[tree.Node, ...]
    own: tuple[tree.Node, ...]
    words: str
    running: frozenset[str] = frozenset()
    named: frozenset[str] = frozenset()
    complete: bool = True

    def out(self, node: tree.Node) -> tree.Node:
        """A formula with the definitions written out."""
        for _ in range(ROUNDS):
            changed = substitute(node, dict(self.define), caught=True)
            if changed == node:
                break
            node = changed
        return node


@dataclass(frozen=True)
class Spoken:
    """Letters of which plain text, an assumption or an algorithm says more than a sign; what is compared, signs."""

    letters: frozenset[str]
    compared: frozenset[str]
    signs: frozenset[tuple[str, str]] = frozenset()


def parameter_joints(paper: Paper, draft: Draft) -> Iterator[Judged]:
    """Quoted values, and hypotheses of what proofs cite; proofs of which it is plain what they prove."""
    stated = [p for p in paper.stated.values() if p.name]
    frames = {p.name: frame_of(draft, n) for n, p in enumerate(paper.passages) if p in stated}
    proofs = {id(p): p for p in _proofs(paper, frames)}
    for clause in clauses(paper):
        if id(clause.passage) in proofs:
            yield from _quoted(clause, frames[clause.passage.of], clause.passage.of)
    spoken = _spoken_of(draft)
    names = {p.id: p.name for p in paper.passages if p.kind in PROMISES and p.name}
    homes = {number: names[s.unit] for number, s in paper.numbered.items() if s.unit in names}
    for passage in proofs.values():
        yield from _used(passage, frames, spoken, homes)


def _proofs(paper: Paper, frames: Mapping[str, Frame]) -> Iterator[Passage]:
    """Proofs that say what they prove; else the first after each statement, unless the text announces another."""
    seen: set[str] = set()
    announced = ""
    for passage in paper.passages:
        if passage.kind == "proof" and passage.of in frames:
            if passage.says_of or (passage.of not in seen and announced in ("", passage.of)):
                yield passage
            seen |= set() if passage.says_of else {passage.of}
        last = ANNOUNCED.findall(passage.words)
        announced = last[-1] if last and passage.kind != "proof" else "" if passage.kind in PROMISES else announced


def frame_of(draft: Draft, number: int) -> Frame:
    """The frame of the statement with this number of its unit."""
    scopes = draft.scopes
    scope = scopes.of(number)
    printed = [one for source in scopes.sources(number) for one in scopes.by_unit[source]]
    defined = {d.name for one in printed for d in definitions(one, scopes.scalars)}
    local: dict[str, set[tree.Node]] = {}
    for one in printed:
        if isinstance(one.left, tree.Letter) and one.op in ("==", ":=") and plain(one.right):
            local.setdefault(one.left.name, set()).add(one.right)
    single = {n: next(iter(values)) for n, values in local.items() if n in defined and len(values) == 1}
    define = {n: v for n, v in single.items() if not tree.functions(v) & {*ORDERS}}  # an order is no value
    name = draft.document.units[number].name
    where = tuple(h.node for h in scope.hypotheses)
    own = tuple(h.node for h in scope.hypotheses if h.origin == name)
    sources = scopes.sources(number)
    sides = (side for one in printed for side in (one.left, one.right))
    named = frozenset(side.name for side in sides if isinstance(side, tree.Letter))
    complete = not any(one.unit in sources for one in draft.reader.unread)
    return Frame(define, where, own, scopes.words(number), _running(draft, number), named, complete)


def _running(draft: Draft, number: int) -> frozenset[str]:
    """Letters that a statement quantifies, or that are indices of its sequences."""
    found: set[str] = set()
    for one in draft.scopes.by_unit[number]:
        if one.of_all or one.context.restricts:
            found |= free_letters(one.left) | (free_letters(one.right) if one.of_all else set())
        entries = (p for side in (one.left, one.right) for p in side.walk() if isinstance(p, tree.Index))
        found |= {q.name for p in entries for i in p.indices for q in i.walk() if isinstance(q, tree.Letter)}
    return frozenset(found)


def _spoken_of(draft: Draft) -> Spoken:
    letters: set[str] = set()
    compared: set[str] = set()
    signs: set[tuple[str, str]] = set()
    for number, unit in enumerate(draft.document.units):
        if unit.kind in ("text", "assumption", "condition", "definition", "algorithm"):
            for one in draft.scopes.by_unit[number]:
                signed = tree.is_zero(one.left) or tree.is_zero(one.right)
                signs |= set(_sign_of(tree.Compare((one.left, one.right), (one.op,)))) if one.op in ORDERED else set()
                if plain(one.left) and plain(one.right) and not signed:
                    names = free_letters(one.left) | free_letters(one.right)
                    letters |= names
                    compared |= names if one.op in ORDERED else set()
    return Spoken(frozenset(letters), frozenset(compared), frozenset(signs))


def _quoted(clause: Clause, frame: Frame, home: str) -> Iterator[Judged]:
    """``K = ...`` in a proof, of a letter that its statement defines."""
    for place, sentence in enumerate(clause.formulas):
        if sentence.read.formula.kind == "display":
            continue
        for chain in sentence.chains():
            if not chain.relations or chain.continues or chain.relations[0].word != "==":
                continue
            left, right = chain.members[0], chain.members[1]
            if not isinstance(left, tree.Letter) or left.name not in frame.define or NEW.search(clause.before(place)):
                continue
            yield _value(sentence, frame, left.name, right, home)


def _value(sentence: Sentence, frame: Frame, name: str, right: tree.Node, home: str) -> Judged:
    joint = f"{to_text_of(sentence)} and the definition of {name} in {home}"
    try:
        want, got = form_of(frame.out(frame.define[name])), form_of(frame.out(right))
        difference = differs(want, got, "==")
    except Formless as reason:
        return Judged("citation", sentence.place, joint, "undecided", str(reason))
    if difference is None:
        return Judged("citation", sentence.place, joint, "holds")
    plain, how = difference
    names = {n for f in (want, got) for m in f.terms for n, _ in m}
    if not plain or want.order or got.order or any(not n.isidentifier() and not n.startswith("#") for n in names):
        return Judged("citation", sentence.place, joint, "undecided", how)
    title = f"{name} is quoted with another value than {home} gives it: {how}"
    evidence = (f"{home}: {name} = {to_text(frame.define[name])}", f"here: {to_text_of(sentence)}")
    defect = Defect("citation", sentence.place, title, "changes a constant or a rate", sentence.latex, evidence,
                    unit=sentence.unit)  # fmt: skip
    return Judged("citation", sentence.place, joint, "refuted", how, defect,
                  form_script(title, sentence.place, want, got, home, "here"))  # fmt: skip


def _used(passage: Passage, frames: Mapping[str, Frame], spoken: Spoken, homes: Mapping[str, str]) -> Iterator[Judged]:
    """The hypotheses between numbers of every statement that a proof uses, under those of its own statement."""
    for name in dict.fromkeys([*(n for n in named_in(passage.words) if leans_on(passage.words, n)),
                               *(homes[n] for n in numbers_used(passage.words) if n in homes)]):  # fmt: skip
        if name == passage.of or name not in frames:
            continue
        for condition in frames[name].own:
            if free_letters(condition) & frames[name].running:
                continue  # an index that runs; the statement holds for each of its values
            yield from _condition(passage, frames[passage.of], name, condition, spoken)


def numbers_used(words: str) -> list[str]:
    """Numbers of equations that a proof uses."""
    return [n for m in EQUATION.finditer(words) if USES.search(words[: m.start()]) for n in (m["named"] or m["bare"],)]


def leans_on(words: str, name: str) -> bool:
    """Whether words use a statement, and do not only mention it or argue as in its proof."""
    kind, _, number = name.partition(" ")
    return any((USES.search(words[: m.start()]) or m.start() < 3) and not ALIKE.search(words[: m.start()])
               for m in re.finditer(rf"\b{kind}s?\s+(?:{kind}\s+)?{re.escape(number)}(?![\w.]*\d)", words))  # fmt: skip


def _condition(passage: Passage, frame: Frame, name: str, condition: tree.Node, spoken: Spoken) -> Iterator[Judged]:
    if not isinstance(condition, tree.Compare) or len(condition.operators) != 1:
        return
    place, joint = f"proof of {passage.of}", f"{name} needs {to_text(condition)}"
    verdict, why, given = _met(passage, frame, condition, spoken)
    if verdict == "refuted":
        yield _unmet(passage, frame, name, condition, why, given)
    else:
        yield Judged("premise", place, joint, verdict, why)


def _met(
    passage: Passage, frame: Frame, condition: tree.Compare, spoken: Spoken
) -> tuple[str, str, tree.Compare | None]:
    """Whether a hypothesis holds where it is used: the verdict, why, and the hypothesis whose equality breaks it."""
    if condition in frame.where:
        return "holds", "", None
    times = ratio(condition, frame)
    if times is not None:
        if compares(times, condition.operators[0]):
            return "holds", "", None
        return "refuted", f"here the left side is {times} times the right side", None
    letters = free_letters(condition) - NUMBERS
    settled = _says_more(passage, letters | free_letters(frame.out(condition)))
    largest = _largest(condition, frame)
    if largest is not None and not settled and not _letters_of_left(largest[0]) & spoken.compared:
        given, value = largest
        if compares(value, condition.operators[0]):
            return "holds", "", None
        how = f"the left side is {value:.6g} times the right side where {to_text(given)} is an equality"
        return ("refuted", how, given) if value > 1 else ("undecided", "an equality at the end of a range", None)
    weaker = next((w for w in frame.where if is_weaker(w, condition)), None)
    if weaker is not None and frame.complete and not settled and not _letters_of_left(weaker) & spoken.compared:
        return "refuted", f"{passage.of} assumes {to_text(weaker)} only", None
    subject = {side.name for side in condition.operands if isinstance(side, tree.Letter)}
    if any(isinstance(side, tree.Number) for side in condition.operands):  # ``K >= 1`` of no one else's letter
        subject = {n for n in subject if "_" in n or n in passage.letters}
    said = {*frame.named} | {n for w in frame.where for n in free_letters(w)}
    if not is_sign(condition):
        said = {n for w in frame.where if not is_sign(w) for n in free_letters(w)} | (frame.named - _signed(frame.own))
    else:
        said |= {n.partition("_")[0] for n in said}  # ``L_lam > 0`` takes the place of ``L > 0``
        said |= {name for name, sign in _sign_of(condition) if {(name, sign), (name, sign[0])} & spoken.signs}
    missing = subject - said - {*frame.define, *values_in(passage.formulas)} - spoken.letters
    if missing and frame.complete and not settled and not INHERITS.search(NUMBERED.sub("", frame.words)):
        return "refuted", f"{passage.of} says nothing about {', '.join(sorted(missing))}", None
    return "undecided", "the letters are not fixed by numbers of each other", None


def is_sign(node: tree.Node) -> bool:
    """Whether a condition says no more than the sign of a letter."""
    return isinstance(node, tree.Compare) and len(node.operands) == 2 and any(map(tree.is_zero, node.operands))


def _sign_of(node: tree.Compare) -> Iterator[tuple[str, str]]:
    """The letter of which a comparison with zero says the sign, and the sign as the relation after it."""
    for left, right, op in zip(node.operands, node.operands[::-1], (node.operators[0], None), strict=True):
        if isinstance(left, tree.Letter) and tree.is_zero(right):
            yield left.name, op or tree.MIRRORED[node.operators[0]]


def _signed(own: tuple[tree.Node, ...]) -> set[str]:
    """Letters of which a statement itself says the sign alone."""
    signs = {n for w in own if is_sign(w) for n in free_letters(w)}
    return signs - {n for w in own if not is_sign(w) for n in free_letters(w)}


def compares(value: float | Fraction, op: str) -> bool:
    """Whether ``value op 1``."""
    return {"<=": value <= 1, "<": value < 1, ">=": value >= 1, ">": value > 1}[op]


def _unmet(
    passage: Passage, frame: Frame, name: str, condition: tree.Compare, why: str, given: tree.Compare | None
) -> Judged:
    home, text = passage.of, to_text(condition)
    place = f"proof of {home}"
    title = f"{name} is used, and its hypothesis {text} is not met: {why}"
    fixed = (f"{home}: {n} = {to_text(v)}" for n, v in frame.define.items() if n in free_letters(condition))
    evidence = (f"{name} assumes {text}", *fixed, *(f"{home} assumes {to_text(w)}" for w in frame.where))
    defect = Defect("premise", place, title, "local slip", "", evidence, f"{text}: {why}", passage.id)
    script = _script(title, place, frame, condition, given)
    return Judged("premise", place, f"{name} needs {text}", "refuted", why, defect, script, text)


def _script(title: str, place: str, frame: Frame, condition: tree.Compare, given: tree.Compare | None) -> str:
    """Both sides of the hypothesis at the values of the statement, where these fix their ratio or how large it gets."""
    if given is not None:
        out = tree.Compare(tuple(frame.out(side) for side in condition.operands), condition.operators)
        return equality_script(title, place, given, condition, out)
    if ratio(condition, frame) is None:
        return ""
    one, other = (form_of(frame.out(side)) for side in condition.operands)
    return form_script(title, place, other, one, "the right side", "the left side")


def _largest(condition: tree.Compare, frame: Frame) -> tuple[tree.Compare, float] | None:
    """Left over right at its largest: a power of what the only hypothesis about these letters bounds by 1."""
    tied = [w for w in frame.where if free_letters(w) & free_letters(frame.out(condition)) - NUMBERS]
    if len(tied) != 1 or condition.operators not in UPPER or not isinstance(tied[0], tree.Compare):
        return None
    if tied[0].operators not in UPPER:
        return None
    try:
        wanted, bound = _quotient(condition, frame), _quotient(tied[0], frame)
    except Formless:
        return None
    if wanted is None or bound is None or not wanted[0] or not bound[0]:
        return None
    name, exponent = next(iter(sorted(bound[0].items())))
    power = wanted[0].get(name, Fraction(0)) / exponent
    if power <= 0 or wanted[0] != {n: power * e for n, e in bound[0].items()}:
        return None
    return tied[0], wanted[1] / bound[1] ** float(power)


def _quotient(condition: tree.Compare, frame: Frame) -> tuple[dict[str, Fraction], float] | None:
    """Left over right of a comparison as letter -> exponent, and a factor."""
    single = form_of(frame.out(tree.Divide(*condition.operands))).single
    if single is None or single[1] <= 0 or any(len(set(e)) > 1 for _, e in single[0]):
        return None
    monomial, factor = single
    number = float(factor)
    for name, exponent in monomial:
        if name.startswith("#"):
            number *= float(name[1:]) ** float(exponent[0])
        elif not name.isidentifier():
            return None
    return {n: e[0] for n, e in monomial if not n.startswith("#")}, number


def ratio(condition: tree.Compare, frame: Frame) -> Fraction | None:
    """Left over right where the definitions make it a number."""
    try:
        one, other = (form_of(frame.out(side)).single for side in condition.operands)
    except Formless:
        return None
    if one is None or other is None or one[0] != other[0] or other[1] <= 0:
        return None
    if not free_letters(condition) & set(frame.define):
        return None
    return one[1] / other[1]


def _letters_of_left(node: tree.Node) -> frozenset[str]:
    """The letters of the left side of a comparison."""
    return frozenset(free_letters(node.operands[0]) - NUMBERS) if isinstance(node, tree.Compare) else frozenset()


def is_weaker(given: tree.Node, needed: tree.Compare) -> bool:
    """Whether ``a <= 2 b`` is given where ``a <= b`` is needed, or ``a >= b`` where ``a >= 2 b`` is."""
    if not isinstance(given, tree.Compare) or len(given.operators) != 1 or given.operands[0] != needed.operands[0]:
        return False
    upper = given.operators[0] in ("<", "<=") and needed.operators[0] in ("<", "<=")
    if not upper and not (given.operators[0] in (">", ">=") and needed.operators[0] in (">", ">=")):
        return False
    try:
        one, other = form_of(given.operands[1]).single, form_of(needed.operands[1]).single
    except Formless:
        return False
    if one is None or other is None or one[0] != other[0] or min(one[1], other[1]) <= 0:
        return False
    return one[1] > other[1] if upper else one[1] < other[1]


def _says_more(passage: Passage, letters: set[str] | frozenset[str]) -> bool:
    """Whether the proof itself prints a relation of one of the letters, or of entries of their sequence, alone."""
    bases = {name.partition("_")[0] for name in letters if "_" in name}
    for sentence in passage.formulas:
        for chain in sentence.chains():
            named = {m.name for m in chain.members if isinstance(m, tree.Letter)} & letters
            if chain.relations and (named or {m.base for m in chain.members if isinstance(m, tree.Index)} & bases):
                return True
    return False

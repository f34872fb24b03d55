"""``Similarly, we have ...``: what was shown before, with the letters exchanged, against what is printed."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, fields

from bilevel_verify.language import to_text, tree
from bilevel_verify.proofreading.defect import Defect
from bilevel_verify.proofreading.joints.carrying import Bounded, Ties, bounds_of, differs, is_size, misnamed, to_text_of
from bilevel_verify.proofreading.joints.clauses import HOLE, Clause, clauses, named_in, numbered_in
from bilevel_verify.proofreading.joints.forms import Form, Formless, form_of
from bilevel_verify.proofreading.joints.judged import Judged
from bilevel_verify.proofreading.joints.shown import form_script
from bilevel_verify.proofreading.joints.ties import ties_of
from bilevel_verify.proofreading.source import Paper, Sentence
from bilevel_verify.theorems.rewrite import rebuild

CUE = re.compile(
    r"\b(?:similar(?:i?ly)?|analogous(?:ly)?|likewise"
    r"|(?:by|with|using|following|for|in) (?:exactly )?(?:the|a) (?:very )?(?:same|similar|analogous)"
    r" (?:argument|reason|way|manner|lines?|techniques?|deduction|analysis|methodology|steps?|computation)\w*)\b",
    re.I,
)
PROOF = re.compile(r"\b(?:proof|deduction|derivation|argument)s? (?:of|in|for)\b", re.I)
CARRIED = re.compile(r"\b(?:replac|substitut|plug|insert)\w*", re.I)
"""Another judge carries such a sentence out."""
CONCLUDES = re.compile(
    r"(?<!such )\b(?:have|has|get|obtain|show|prove|know|holds?|follows|that|satisf\w+|is bounded(?: as| by)?|becomes)"
    r"\s*[,:]?\s*\Z|[,:]\s*\Z",
    re.I,
)
"""Before the relation that is said to follow; what a sentence uses stands elsewhere."""
OFTEN = 2
"""A part of names that only the right side exchanges is clear if it is exchanged so often and nowhere kept."""
NEAREST = 4
"""So many relations before a bare ``similarly`` may be the one that is meant."""
Step = tuple[tuple[str, ...], tuple[str, ...]]


@dataclass(frozen=True, slots=True)
class Exchange:
    """Names of the first relation with those of the second, and what changes in a name (``f -> g`` in ``L_f``)."""

    steps: frozenset[Step]
    kept: frozenset[str]

    def name(self, name: str) -> str:
        """A name with its parts exchanged."""
        parts = tuple(name.split("_"))
        if name not in self.kept:
            for old, new in self.steps:
                places = [i for i in range(len(parts) - len(old) + 1) if old and parts[i : i + len(old)] == old]
                if places:
                    return "_".join((*parts[: places[0]], *new, *parts[places[0] + len(old) :]))
        return name

    def with_steps(self, steps: frozenset[Step]) -> Exchange:
        """With more parts exchanged."""
        return Exchange(self.steps | steps, self.kept)

    def explains(self, one: str, other: str) -> bool:
        """Whether a pair of names on the right is the exchange of the left."""
        return self.name(one) == other or _step(one, other) in self.steps

    def of(self, node: tree.Node) -> tree.Node:
        """A formula with the names exchanged."""
        match node:
            case tree.Letter(name=name):
                return tree.Letter(self.name(name))
            case tree.Index(base=base, indices=indices):
                return tree.Index(self.name(base), tuple(self.of(i) for i in indices))
            case tree.Call(function=function, arguments=arguments):
                return tree.Call(self.name(function), tuple(self.of(a) for a in arguments))
        return rebuild(node, self.of)

    def __str__(self) -> str:
        shown = (f"{'_'.join(old) or 'nothing'} by {'_'.join(new) or 'nothing'}" for old, new in sorted(self.steps))
        return ", ".join(shown)


def exchanged_joints(paper: Paper) -> Iterator[Judged]:
    """Every relation that is said to follow as another one did."""
    ties = ties_of(paper)
    for clause in clauses(paper):
        cue = CUE.search(clause.words)
        if cue is None or CARRIED.search(clause.words[cue.start() :]):
            continue
        places = [
            i
            for i, f in enumerate(clause.formulas)
            if len(clause.before(i)) > cue.start() and bounds_of(f) and _concludes(clause, i)
        ]
        if places:
            yield _judged(paper, clause, cue.start(), places[0], ties)
        elif clause.passage.kind == "proof":
            place = clause.formulas[0].place if clause.formulas else f"proof of {clause.passage.of}"
            joint = f"'{cue[0].lower()}' in the proof of {clause.passage.of}"
            yield Judged("citation", place, joint, "undecided", "no relation is printed that could be compared")


def _meant(
    paper: Paper, printed: Sentence, named: Sequence[Sentence], name: str, joint: str, ties: Ties
) -> Judged | None:
    """The one other numbered relation before a result that becomes it when names are exchanged."""
    ahead = [s for s in paper.before(printed).values() if s not in named]
    fits = []
    for other in ahead[-2 * NEAREST :]:
        found = _compared(paper, printed, other, f"({other.read.formula.number})", joint, ties)
        fits += [other] if found is not None and found.verdict == "holds" else []
    if len(fits) != 1 or not named:
        return None
    meant = f"({fits[0].read.formula.number})"
    title = f"this is said to be as {name}, which is about something else; it is as {meant}"
    return misnamed(printed, joint, title, [(name, named[0]), (meant, fits[0]), ("printed", printed)])


def _concludes(clause: Clause, place: int) -> bool:
    return clause.formulas[place].read.formula.kind == "display" or CONCLUDES.search(clause.before(place)) is not None


def _judged(paper: Paper, clause: Clause, start: int, place: int, ties: Ties) -> Judged:
    printed = clause.formulas[place]
    name, sources = _sources(paper, clause, clause.words[start:].partition(HOLE)[0], printed)
    joint = f"{to_text_of(printed)} as {name}"
    best: Judged | None = None
    for source in sources:
        found = _compared(paper, printed, source, name, joint, ties)
        if found is not None and found.verdict == "holds":
            return found
        best = best or found
    if best is None and name.startswith("("):
        best = _meant(paper, printed, sources, name, joint, ties)
    why = "no relation before it has such a left side" if sources else "what it is similar to was not found"
    return best or Judged("citation", printed.place, joint, "undecided", why)


def _sources(paper: Paper, clause: Clause, said: str, printed: Sentence) -> tuple[str, list[Sentence]]:
    """The relations that are meant: those cited, else the nearest before."""
    numbers = [n for n in numbered_in(said) if n in paper.numbered]
    if numbers:
        return f"({numbers[0]})", [paper.numbered[n] for n in numbers]
    names = named_in(said)
    if names:
        proof = PROOF.search(said) is not None
        found = [p for p in paper.passages if p.of == names[0] or (not proof and p.name == names[0])]
        return f"the proof of {names[0]}" if proof else names[0], [s for p in found for s in p.formulas if bounds_of(s)]
    before = [s for s in paper.homes[printed.home] if s.read.formula.n < printed.read.formula.n and bounds_of(s)]
    return "what stands before it", before[: -NEAREST - 1 : -1]


def _compared(paper: Paper, printed: Sentence, source: Sentence, name: str, joint: str, ties: Ties) -> Judged | None:
    """One relation against another; None where their left sides are not the same up to names."""
    shown, here = bounds_of(source), bounds_of(printed)
    if not shown or not here:
        return None
    pairs = list(zip(shown, here, strict=True)) if len(shown) == len(here) else [(shown[-1], here[-1])]
    reason = ""
    for one, other in pairs:
        exchange = exchange_of(one.left, other.left)
        if exchange is None or one.op != other.op:
            return None
        how, broken = judged_sides(paper, exchange, one, other, ties)
        if broken is not None:
            return _defect(printed, source, name, joint, how, exchange, broken, other)
        reason = reason or how
    return Judged("citation", printed.place, joint, "undecided" if reason else "holds", reason)


def exchange_of(one: tree.Node, other: tree.Node) -> Exchange | None:
    """The names of two formulas of one shape, each always for the same; None where the shapes differ."""
    pairs = aligned(one, other)
    if pairs is None:
        return None
    table: dict[str, str] = {}
    if any(table.setdefault(a, b) != b for a, b in pairs) or len({*table.values()}) < len(table):
        return None
    steps = frozenset(_step(a, b) for a, b in table.items() if a != b)
    return Exchange(steps, frozenset(a for a, b in table.items() if a == b))


def judged_sides(
    paper: Paper, exchange: Exchange, one: Bounded, other: Bounded, ties: Ties
) -> tuple[str, tree.Node | None]:
    """Why the right sides are not the same up to the exchange, and the side that was wanted where that is plain."""
    want = exchange.of(one.right)
    if want == other.right:
        return "", None
    pairs = aligned(one.right, other.right)
    if pairs is not None:
        exchange = exchange.with_steps(_often(exchange, pairs))
        want = exchange.of(one.right)
        odd = {(a, b) for a, b in pairs if a != b and not exchange.explains(a, b)}
        stale = {a for a, b in pairs if a == b and (exchange.name(a) != a or any(c == a != d for c, d in pairs))}
        if not odd and not stale:
            return "", None
        if not odd and all(exchange.name(a) in _names(paper) for a in stale):
            return f"{', '.join(sorted(stale))} was not exchanged", want
        return "the exchange on the right side is not that of the left side", None
    try:
        difference = differs(form_of(want), form_of(other.right), other.op, ties, is_size(other.left))
    except Formless:
        return "a side is no sum of products", None
    if difference is None:
        return "", None
    plain, how = difference
    changed = exchange.steps and want != one.right
    return (how, want) if plain and changed else (f"carried out it reads otherwise: {how}", None)


def _often(exchange: Exchange, pairs: list[tuple[str, str]]) -> frozenset[Step]:
    """Exchanges of the right side alone that come often, each part always for the same one."""
    count = Counter(_step(a, b) for a, b in pairs if a != b and not exchange.explains(a, b))
    firsts = Counter(old for old, _ in count)
    return frozenset(s for s, times in count.items() if times >= OFTEN and s[0] and firsts[s[0]] == 1)


def aligned(one: tree.Node, other: tree.Node) -> list[tuple[str, str]] | None:
    """Names at the same places of two formulas of one shape; None where something else differs."""
    if type(one) is not type(other):
        return None
    found: list[tuple[str, str]] = []
    for item in fields(one):
        a, b = getattr(one, item.name), getattr(other, item.name)
        if not item.compare or (not isinstance(a, tuple) and not isinstance(a, tree.Node) and a == b):
            found += [(a, b)] if item.name in ("name", "base", "function") and isinstance(a, str) else []
            continue
        if isinstance(a, str) and item.name in ("name", "base", "function"):
            found.append((a, b))
            continue
        parts = zip(a, b, strict=True) if isinstance(a, tuple) and len(a) == len(b) else [(a, b)]
        for x, y in parts:
            if isinstance(x, tree.Node) and isinstance(y, tree.Node):
                inner = aligned(x, y)
                if inner is None:
                    return None
                found += inner
            elif x != y:
                return None
    return found


def _step(one: str, other: str) -> Step:
    """What changes between two names, the parts that they begin and end with left out."""
    a, b = one.split("_"), other.split("_")
    while a and b and a[0] == b[0]:
        a, b = a[1:], b[1:]
    while a and b and a[-1] == b[-1]:
        a, b = a[:-1], b[:-1]
    return tuple(a), tuple(b)


def _names(paper: Paper) -> frozenset[str]:
    return frozenset(
        n for s in paper.sentences for node in s.nodes() for n in (tree.letters(node) | tree.functions(node))
    )


def _defect(
    printed: Sentence,
    source: Sentence,
    name: str,
    joint: str,
    how: str,
    exchange: Exchange,
    want: tree.Node,
    got: Bounded,
) -> Judged:
    title = f"this is not what the same argument gives: {how}"
    evidence = (
        f"{name}: {to_text_of(source)}",
        f"exchanged: {exchange}",
        f"carried out: {to_text(got.left)} {got.op} {to_text(want)}",
        f"printed: {to_text_of(printed)}",
    )
    defect = Defect("citation", printed.place, title, "local slip", printed.latex, evidence, unit=printed.unit)
    return Judged("citation", printed.place, joint, "refuted", how, defect, _script(title, printed, want, got))


def _script(title: str, printed: Sentence, want: tree.Node, got: Bounded) -> str:
    try:
        one, other = form_of(want), form_of(got.right)
    except Formless:
        return ""
    if one.order or other.order:
        return ""
    return form_script(title, printed.place, Form(one.terms), Form(other.terms), "carried out", "printed")

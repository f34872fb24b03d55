"""``When nu = 1, equation (6) becomes ...``: the special case of a formula, and whether its hypotheses allow it."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from itertools import pairwise
from typing import TYPE_CHECKING

from bilevel_verify.drafting.letters import plain
from bilevel_verify.errors import BilevelVerifyError
from bilevel_verify.language import to_text, tree
from bilevel_verify.numbers.exact import Formula
from bilevel_verify.proofreading.defect import Defect
from bilevel_verify.proofreading.joints.carrying import Bounded, Ties, bounds_of, differs, misnamed, to_text_of
from bilevel_verify.proofreading.joints.clauses import Clause, clauses, named_in, numbered_in
from bilevel_verify.proofreading.joints.forms import ORDERS, Form, Formless, form_of
from bilevel_verify.proofreading.joints.judged import Judged
from bilevel_verify.proofreading.joints.orders import special_values
from bilevel_verify.proofreading.joints.parameters import frame_of
from bilevel_verify.proofreading.joints.shown import form_script
from bilevel_verify.proofreading.joints.ties import ties_of
from bilevel_verify.proofreading.source import PROMISES, Paper, Sentence
from bilevel_verify.theorems.rewrite import free_letters, substitute
from bilevel_verify.theorems.vocabulary import NUMBERS

if TYPE_CHECKING:
    from bilevel_verify.drafting.draft import Draft

SETS = re.compile(
    r"\b(?:when|with|for|if|setting|set|taking|case|choosing|letting|i\.e\.,?|where|by|of)"
    r"\s*(?:\x01\s*(?:,|and)\s*)*\Z",
    re.I,
)
BECOMES = re.compile(
    r"\b(?:becomes?|reduc\w+ to|recovers?|simplif\w+ to|speciali[sz]\w+ to|turns? into|implies|gives?|yields?|reads|is"
    r"|shows?|says?|get|obtain|have)(?: that| to)?\s*(?:\x01\s*(?:,|and)\s*)*\Z",
    re.I,
)
AGAIN = re.compile(r"\b(?:and|but|while|whereas) (?:for|with|when|if)\s*\Z", re.I)
WHEN = re.compile(r"\A\s*(?:when|if|for|with)\s*\Z", re.I)
BARE = re.compile(r"\b(?:becomes?|reduc\w+ to|simplif\w+ to|speciali[sz]\w+ to|turns? into)\s*\Z", re.I)
UNLIKE = re.compile(r"\b(?:unlike|whereas|not|cannot|while|except|exclud\w+|but|beyond|only)\b", re.I)
SUBJECT = re.compile(
    r"(?P<subject>\w[\w-]* (?:complexity|rate|cost|bound|number))\s+(?:is|becomes|reduces to|simplifies to)\s*\Z", re.I
)


def special_joints(paper: Paper, draft: Draft) -> Iterator[Judged]:
    """Every formula that is said to be another one at special values of its letters, and ranges of these letters."""
    ties = ties_of(paper)
    for clause in clauses(paper):
        values = _values(clause, len(clause.formulas))
        yield from _twice(clause)
        yield from _without(paper, clause)
        if not values:
            continue
        yield from _ranges(paper, draft, clause, values)
        for place, sentence in enumerate(clause.formulas):
            name, sources = _source(paper, clause, place)
            if sources and BECOMES.search(clause.before(place)):
                found = list(_formulas(sentence, name, sources, _values(clause, place), ties))
                yield from found or _meant(paper, sentence, name, sources, _values(clause, place), ties)


def _twice(clause: Clause) -> Iterator[Judged]:
    """``When nu = 1, A is enough, and for nu = 1 more is needed``: one value is set against itself."""
    said = [(s, e) for i, s in enumerate(clause.formulas) for c in s.chains()
            if (e := c.equation) is not None and isinstance(e[0], tree.Letter) and not free_letters(e[1])
            and SETS.search(clause.before(i)) and (not i or AGAIN.search(clause.before(i)))]  # fmt: skip
    for (_, one), (sentence, other) in pairwise(said):
        if one == other:
            yield _wrong(sentence, f"{to_text_of(sentence)} is set against itself in one sentence")


def _without(paper: Paper, clause: Clause) -> Iterator[Judged]:
    """``When h = 0, the step is x - gamma grad h(x)``: a function or size that is 0 stands in what comes out.

    An index is left alone: ``when k = 0`` a formula may keep its k.
    """
    for place, sentence in enumerate(clause.formulas[1:], start=1):
        for chain in (c for s in clause.formulas[:1] for c in s.chains() if WHEN.search(clause.before(0))):
            name = chain.equation[0] if chain.equation is not None and tree.is_zero(chain.equation[1]) else None
            counts = paper.notation.indices
            if isinstance(name, tree.Letter) and name.name not in counts and BECOMES.search(clause.before(place)):
                for right in (m for c in sentence.chains() for m in c.members[-1:] if len(c.members) > 1):
                    gone = {name.name, *(f"grad_{v}{name.name}" for v in ("", "x_", "y_"))}
                    if gone & (tree.letters(right) | tree.functions(right)):
                        yield _wrong(sentence, f"{name.name} is 0 here, and stands in {to_text_of(sentence)}")


def _wrong(sentence: Sentence, title: str) -> Judged:
    defect = Defect("citation", sentence.place, title, "local slip", sentence.latex, unit=sentence.unit)
    return Judged("citation", sentence.place, title, "refuted", title, defect)


def _meant(
    paper: Paper,
    sentence: Sentence,
    name: str,
    sources: tuple[Sentence, ...],
    values: Mapping[str, tree.Node],
    ties: Ties,
) -> Iterator[Judged]:
    """A cited relation without the letters that get values, where one other relation becomes what is printed."""
    mine = (tree.letters(node) for s in sources for node in s.nodes())
    if not name.startswith("(") or any(letters & values.keys() for letters in mine):
        return
    fits = [
        (number, other)
        for number, other in paper.before(sentence).items()
        if [j.verdict for j in _formulas(sentence, f"({number})", (other,), values, ties)] == ["holds"]
    ]  # fmt: skip
    if len(fits) == 1:
        number, other = fits[0]
        title = f"{name} has none of the letters that get values here; ({number}) becomes what is printed"
        relations = [(name, sources[0]), (f"({number})", other)]
        yield misnamed(sentence, f"{to_text_of(sentence)} as {name}", title, relations)


def _values(clause: Clause, place: int) -> dict[str, tree.Node]:
    """Letters that a sentence sets to numbers after ``when``, ``with``, ``setting``, before a place."""
    said = [i for i in range(len(clause.formulas)) if SETS.search(clause.before(i)) or not clause.before(i).strip()]
    found: dict[str, tree.Node] = {}
    for one in said:
        alone = special_values(Clause(clause.words, clause.formulas[one : one + 1], clause.passage))
        found |= {n: v for n, v in alone.items() if one < place or n not in found}
    for name, value in (e for i in said for c in clause.formulas[i].chains() if (e := c.equation)):
        if found and isinstance(name, tree.Letter) and plain(value) and name.name not in tree.letters(value):
            found.setdefault(name.name, value)  # ``with lambda = 2 mu and c = 0``
    return found


def _source(paper: Paper, clause: Clause, place: int) -> tuple[str, tuple[Sentence, ...]]:
    """The formula that is specialised: cited by its number, or the one right before ``this becomes``."""
    here = clause.formulas[place]
    before = clause.before(place)
    numbers = [n for n in numbered_in(before) if n in paper.numbered and paper.numbered[n] is not here]
    if numbers:
        return f"({numbers[-1]})", (paper.numbered[numbers[-1]],)
    names = [n for n in named_in(before) if n.partition(" ")[0].lower() in PROMISES]
    if names:
        found = [p for p in paper.passages if p.name == names[-1] and p.kind in PROMISES]
        return (names[-1], found[0].formulas) if len(found) == 1 else ("", ())
    subject = SUBJECT.search(before)
    earlier = [s for s in paper.sentences if s.read.formula.n < here.read.formula.n]
    if subject is not None:
        said = subject["subject"].lower()
        stated = [p for p in paper.passages if p.kind in PROMISES and said in " ".join(p.words.lower().split())
                  and p.formulas and p.formulas[0].read.formula.n < here.read.formula.n]  # fmt: skip
        if stated:
            return stated[-1].name, stated[-1].formulas
    if BARE.search(before):
        shown = [s for s in earlier if s.read.formula.kind == "display" and s.home == here.home]
        return ("the formula before it", (shown[-1],)) if shown else ("", ())
    return "", ()


def _formulas(
    sentence: Sentence, name: str, sources: tuple[Sentence, ...], values: Mapping[str, tree.Node], ties: Ties
) -> Iterator[Judged]:
    """Every relation (or lone order) of a formula against the sources at the values."""
    wanted = [b for s in sources for b in _sides(s)]
    shown = ", ".join(f"{n} = {to_text(v)}" for n, v in values.items())
    for one in _sides(sentence):
        if isinstance(one.right, tree.Number) and isinstance(one.left, tree.Letter):
            continue  # the value itself
        joint = f"{to_text_of(sentence)} as {name} at {shown}"
        near = [w for w in wanted if w.left == one.left and free_letters(w.right) & values.keys()]
        if near:
            yield _compared(sentence, one, near, name, joint, values, ties)


def _sides(sentence: Sentence) -> list[Bounded]:
    """Relations of a formula; an order that stands alone is one without a left side."""
    found = bounds_of(sentence)
    nodes = list(sentence.nodes())
    if not found and len(nodes) == 1 and isinstance(nodes[0], tree.Call) and nodes[0].function in ORDERS:
        return [Bounded(tree.Letter(nodes[0].function), "<=", nodes[0])]
    return found


def _compared(
    sentence: Sentence,
    one: Bounded,
    near: list[Bounded],
    name: str,
    joint: str,
    values: Mapping[str, tree.Node],
    ties: Ties,
) -> Judged:
    first: tuple[str, Form, Form] | None = None
    reason = ""
    for source in near:
        try:
            want, got = form_of(substitute(source.right, dict(values))), form_of(one.right)
        except (Formless, ZeroDivisionError):
            reason = reason or "a side is no sum of products"
            continue
        difference = differs(want, got, one.op, ties)
        if difference is None and source.op == one.op:
            return Judged("citation", sentence.place, joint, "holds")
        firm, how = difference or (False, "another relation")
        same = {n for m in want.terms for n, _ in m} >= {n for m in got.terms for n, _ in m if not n.startswith("#")}
        if firm and same and source.op == one.op and first is None:
            first = how, want, got
        reason = reason or how
    if first is None or (len(near) > 1 and reason and first[0] != reason):
        return Judged("citation", sentence.place, joint, "undecided", reason)
    how, want, got = first
    title = f"this is not what {name} becomes: {how}"
    shown = ", ".join(f"{n} = {to_text(v)}" for n, v in values.items())
    evidence = (f"{name}: {to_text(near[0].left)} {near[0].op} {to_text(near[0].right)}", f"at {shown}",
                f"printed: {to_text_of(sentence)}")  # fmt: skip
    defect = Defect("citation", sentence.place, title, "changes a constant or a rate", sentence.latex, evidence,
                    unit=sentence.unit)  # fmt: skip
    script = form_script(title, sentence.place, want, got, f"{name} at the values", "printed")
    return Judged("citation", sentence.place, joint, "refuted", how, defect, script)


def _ranges(paper: Paper, draft: Draft, clause: Clause, values: Mapping[str, tree.Node]) -> Iterator[Judged]:
    """A statement used at values of its letters: does it allow them?"""
    if UNLIKE.search(clause.words):
        return
    for name in clause.named:
        found = [i for i, p in enumerate(paper.passages) if p.name == name and p.kind in PROMISES]
        if len(found) != 1 or clause.passage.name == name:
            continue
        for condition in frame_of(draft, found[0]).where:
            letters = free_letters(condition) - NUMBERS if isinstance(condition, tree.Compare) else set()
            if len(letters) != 1 or not letters <= values.keys():
                continue
            yield _allowed(clause, name, condition, values)


def _allowed(clause: Clause, name: str, condition: tree.Node, values: Mapping[str, tree.Node]) -> Judged:
    place = next(s.place for s in clause.formulas)
    joint = f"{name} used at {', '.join(f'{n} = {to_text(v)}' for n, v in values.items())}: {to_text(condition)}"
    known = {n: number for n, v in values.items() if (number := tree.rational(v)) is not None}
    try:
        answer = Formula(known).answer(condition) if free_letters(condition) - NUMBERS <= known.keys() else None
    except (BilevelVerifyError, ArithmeticError):
        answer = None
    if answer is None:
        return Judged("premise", place, joint, "undecided", "the hypothesis has no value there")
    if answer:
        return Judged("premise", place, joint, "holds")
    title = f"{name} is used at a value that its hypothesis {to_text(condition)} excludes"
    evidence = (f"{name} assumes {to_text(condition)}", *(f"here: {to_text_of(s)}" for s in clause.formulas[:2]))
    defect = Defect("premise", place, title, "local slip", "", evidence, unit=clause.passage.id)
    return Judged("premise", place, joint, "refuted", "the value is excluded", defect)

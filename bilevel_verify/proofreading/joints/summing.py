"""Sums: ``adding (5) and (6), we get ...`` against what is printed; ``we sum (5) over k``: it has the index."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from fractions import Fraction
from itertools import combinations
from typing import TypeGuard

from bilevel_verify.language import to_text, tree
from bilevel_verify.language.binding import binder
from bilevel_verify.latex.grammar.names import EXPECTATION
from bilevel_verify.proofreading.defect import Defect
from bilevel_verify.proofreading.joints.carrying import LOWER, Bounded, bounds_of, misnamed, shown, to_text_of
from bilevel_verify.proofreading.joints.clauses import HOLE, Clause, clauses, numbered_in
from bilevel_verify.proofreading.joints.forms import Form, Formless, Monomial, added, form_of
from bilevel_verify.proofreading.joints.judged import Judged
from bilevel_verify.proofreading.joints.shown import form_script
from bilevel_verify.proofreading.source import Paper, Sentence
from bilevel_verify.theorems.rewrite import free_letters

ADDS = re.compile(r"\b(?P<plain>add(?:ing|s)?(?: up)?|(?:the )?sum(?:ming)? (?:up|of))\b|\bcombin(?:e|es|ing)\b", re.I)
OTHER = re.compile(r"\b(?:multipl\w+|times|divid\w+|plug\w*|substitut\w*|over|from|using|subtract\w*)\b|\x01", re.I)
"""More than a sum is made."""
NEAREST = 12
SUMS = re.compile(
    r"\bsum(?:s|med|ming)?\s+(?:up\s+|of\s+)?(?:the\s+)?(?:inequality\s+|equation\s+)?\(?(?P<number>\d+[a-z]?)\)?"
    r"[^.\x01]{0,60}?\b(?:over|from|for)\s*\Z",
    re.I,
)


def added_joints(paper: Paper) -> Iterator[Judged]:
    """Every display that is said to be the sum of numbered relations."""
    for clause in clauses(paper):
        cue = ADDS.search(clause.words)
        places = [i for i, f in enumerate(clause.formulas) if f.read.formula.kind == "display"]
        if cue is None or not places or len(clause.before(places[0])) < cue.end():
            continue
        said = clause.before(places[0])[cue.start() :]
        numbers = [n for n in numbered_in(said) if n in paper.numbered]
        sources = [paper.numbered[n] for n in numbers]
        if len(sources) > 1 and clause.formulas[places[0]] not in sources and not OTHER.search(said):
            yield from _judged(paper, clause, places[0], sources, cue["plain"] is not None)


def _judged(paper: Paper, clause: Clause, place: int, sources: list[Sentence], plain: bool) -> Iterator[Judged]:
    printed = clause.formulas[place]
    names = " + ".join(f"({s.read.formula.number})" for s in sources)
    joint = f"{to_text_of(printed)} as {names}"
    try:
        want = added([slack(bounds_of(s)[-1]) for s in sources])
        results = [slack(b) for b in bounds_of(printed)]
        reason = _differs(want, results[-1])
    except (Formless, IndexError) as failure:
        yield Judged("citation", printed.place, joint, "undecided", str(failure) or "not read")
        return
    if any(r == want for r in results):
        yield Judged("citation", printed.place, joint, "holds")
    elif plain and len(results) == 1 and reason:
        yield _defect(printed, sources, joint, names, reason, Form(want), Form(results[0]))
    elif (others := _others(paper, printed, results)) is not None:
        yield _wrong_place(printed, sources, others, joint, names)
    elif plain:
        yield Judged("citation", printed.place, joint, "undecided", "the sum has other terms")


def _others(
    paper: Paper, printed: Sentence, results: list[Mapping[Monomial, Fraction]]
) -> tuple[Sentence, Sentence] | None:
    """The one other pair of numbered relations before it whose sum is printed."""
    near = [s for s in paper.homes[printed.home] if s.read.formula.number and s.read.formula.n < printed.read.formula.n]
    found = []
    for one, other in combinations(near[-NEAREST:], 2):
        try:
            total = added([slack(bounds_of(s)[-1]) for s in (one, other)])
        except (Formless, IndexError):
            continue
        found += [(one, other)] if total in results else []
    return found[0] if len(found) == 1 else None


def _wrong_place(
    printed: Sentence, sources: list[Sentence], others: tuple[Sentence, Sentence], joint: str, names: str
) -> Judged:
    right = " + ".join(f"({s.read.formula.number})" for s in others)
    relations = [(f"({s.read.formula.number})", s) for s in dict.fromkeys([*sources, *others])]
    title = f"{names} is cited for what {right} gives"
    return misnamed(printed, joint, title, [*relations, ("printed", printed)], f"it is {right}")


def slack(one: Bounded) -> Mapping[Monomial, Fraction]:
    """The larger side less the smaller one."""
    sign = -1 if one.op in LOWER else 1
    sides = added([form_of(one.right).terms, {m: -c for m, c in form_of(one.left).terms.items()}])
    if form_of(one.right).order:
        raise Formless("an order")
    return {m: sign * c for m, c in sides.items()}


def _differs(want: Mapping[Monomial, Fraction], got: Mapping[Monomial, Fraction]) -> str:
    """How one sum differs plainly from another: in the factor of one and the same term; empty where it does not."""
    off = [m for m in want.keys() | got.keys() if want.get(m) != got.get(m)]
    if len(off) != 1 or want.keys() != got.keys():
        return ""
    return f"the factor of {shown(off[0])} is {want[off[0]]} in the sum and {got[off[0]]} is printed"


def _defect(
    printed: Sentence, sources: list[Sentence], joint: str, names: str, how: str, want: Form, got: Form
) -> Judged:
    title = f"this is not {names}: {how} (the larger side less the smaller one)"
    evidence = (*(f"({s.read.formula.number}): {to_text_of(s)}" for s in sources), f"printed: {to_text_of(printed)}")
    defect = Defect("citation", printed.place, title, "changes a constant or a rate", printed.latex, evidence,
                    unit=printed.unit)  # fmt: skip
    script = form_script(title, printed.place, want, got, "the sum", "printed")
    return Judged("citation", printed.place, joint, "refuted", how, defect, script)


def summed_joints(paper: Paper) -> Iterator[Judged]:
    """``Summing (5) over k = 0, ..., K - 1``: the relation has an index that can run."""
    for clause in clauses(paper):
        for place, sentence in enumerate(clause.formulas):
            said = SUMS.search(clause.before(place))
            source = paper.numbered.get(said["number"]) if said is not None else None
            heads = [c.members[0] for c in sentence.chains() if c.members]
            letters = sorted({h.name for h in heads if isinstance(h, tree.Letter) and h.name != "dots"})
            if source is None or not source.read.statements or len(letters) != 1:
                continue
            name, number = letters[0], source.read.formula.number
            joint = f"({number}) summed over {name}"
            if any(name in free_letters(n) for n in source.nodes()):
                yield _of_terms(paper, clause, place, source, name) or Judged(
                    "citation", sentence.place, joint, "holds"
                )
                continue
            title = f"({number}) is summed over {name}, and no {name} stands free in it"
            evidence = (
                f"({number}): {to_text_of(source)}",
                f"here: {clause.before(place).split(HOLE)[-1].strip()} {to_text_of(sentence)}",
            )
            defect = Defect("citation", sentence.place, title, "local slip", source.latex, evidence, unit=sentence.unit)
            yield Judged("citation", sentence.place, joint, "refuted", f"no {name} stands free in it", defect)


def _of_terms(paper: Paper, clause: Clause, place: int, source: Sentence, name: str) -> Judged | None:
    """Terms that a result sums and that the named relation does not have, where one other relation has all of them."""
    shown = next((f for f in clause.formulas[place + 1 :] if f.read.formula.kind == "display"), None)
    members = [m for c in (shown.chains() if shown is not None else ()) for m in c.members]
    lefts = [m for m in members if any(_runs_over(part, name) for part in m.walk())][:1]
    summed = {_bare(part.arguments[0]) for m in lefts for part in m.walk() if _runs_over(part, name)}
    if shown is None or not summed or any(_has(source, one) for one in summed):
        return None
    ahead = paper.before(shown).values()
    about = [(s, bounds_of(s)) for s in ahead if s is not source and any(name in free_letters(n) for n in s.nodes())]
    others = [s for s, bounds in about if summed <= {b.left for b in bounds}]
    others = others or [s for s, bounds in about if summed <= {p for b in bounds for p in b.left.walk()}]
    if len(others) != 1:
        return None
    number, meant = (f"({s.read.formula.number})" for s in (source, others[0]))
    terms = ", ".join(sorted(to_text(one) for one in summed))
    title = f"{number} is said to be summed; it has no {terms}, which {meant} has"
    relations = [(number, source), (meant, others[0]), ("printed", shown)]
    return misnamed(shown, f"{number} summed over {name}", title, relations)


def _runs_over(part: tree.Node, name: str) -> TypeGuard[tree.Call]:
    span = binder(part) if isinstance(part, tree.Call) and part.function == "sum" else None
    return span is not None and span[0] == name


def _bare(node: tree.Node) -> tree.Node:
    """What an expectation is of."""
    return node.arguments[-1] if isinstance(node, tree.Call) and node.function == EXPECTATION else node


def _has(sentence: Sentence, term: tree.Node) -> bool:
    return any(term == part for node in sentence.nodes() for part in node.walk())

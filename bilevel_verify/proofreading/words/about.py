"""``Summing (16)``, ``plugging into (8)``, ``multiplying (5)``: what comes out is about something that stands there.

A step of arithmetic keeps the quantities on the left side: those of the result stand in the relation that is worked on.
Told is a relation that has none of them, and is not even about anything in the result, where another relation of the
same proof, or of a statement before it, has exactly them on its left side.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from bilevel_verify.language import tree
from bilevel_verify.language.binding import binder
from bilevel_verify.proofreading.defect import Defect
from bilevel_verify.proofreading.joints.carrying import bounds_of, to_text_of
from bilevel_verify.proofreading.joints.clauses import EQUATION, Clause, clauses, named_in
from bilevel_verify.proofreading.promises.conclusions import proved_in
from bilevel_verify.proofreading.source import Paper, Sentence

WORKS = re.compile(
    r"\b(?:into|sum(?:ming|s)?|telescop\w+|multipl\w+|add(?:ing)?|divid\w+|sides of|connecting with|combin\w+"
    r"|(?:have|has|obtain|get|see) from)\b|\bin fact, from\b",
    re.I,
)
CONCLUSION = re.compile(r"\bwe (?:have|get|obtain) the (?:conclusion|result|claim|lemma|theorem)\b", re.I)
SIZES = ("norm", "norm_2", "dot", "abs", "inner")
WRAPS = ("sum", "prod", "min", "max", "sup", "inf", "expectation", "E", "sqrt")


def about_defects(paper: Paper) -> Iterator[Defect]:
    """Every display of a proof against the relations and statements that are worked on in its sentence."""
    proofs = proved_in(paper)
    for clause in clauses(paper):
        if clause.passage.kind != "proof":
            continue
        printed = list(clause.displays())
        for display, said in printed:
            yield from _judged(paper, clause, display, said)
        home = proofs.get(id(clause.passage))
        shown = [s for s in home.formulas if s.read.formula.kind == "display"] if home is not None else []
        if len(shown) == 1 and not printed and (done := CONCLUSION.search(clause.words)) is not None:
            yield from _judged(paper, clause, shown[0], clause.words[: done.start()])


def _judged(paper: Paper, clause: Clause, printed: Sentence, said: str) -> Iterator[Defect]:
    bounds = bounds_of(printed)
    cited = {f"({m['named'] or m['bare']})": m.start() for m in EQUATION.finditer(said)}
    cited |= {name: said.find(name) for name in named_in(said) if name in paper.stated}
    held = paper.citable
    mine = quantities(bounds[0].left) if bounds else set()
    for name, at in cited.items():
        sources = held.get(name, ())
        if not mine or not sources or printed in sources or not WORKS.search(said[:at]):
            continue
        lefts = set().union(*(quantities(b.left) for s in sources for b in bounds_of(s)))
        if not lefts or mine & set().union(*(_all(s) for s in sources)) or lefts & _all(printed):
            continue
        n, op = printed.read.formula.n, bounds[-1].op
        others = [k for k, one in held.items() if k not in cited and one[-1].read.formula.n < n
                  and printed.may_rest_on(one[0]) and k.startswith("(") == name.startswith("(")
                  and any(quantities(b.left) == mine and b.op == op for s in one for b in bounds_of(s))]  # fmt: skip
        if others:
            meant = others[-1]
            title = f"{name} is worked on here, and what comes out has nothing of it; {meant} is about it"
            evidence = (*(f"{k}: {to_text_of(s)}" for k in (name, meant) for s in held[k]),
                        f"the step: {to_text_of(printed)}")  # fmt: skip
            place = clause.formulas[0].place if clause.formulas else printed.place
            yield Defect("citation", place, title, "wording", printed.latex, evidence, f"{title} {place}",
                         clause.passage.id)  # fmt: skip


def _all(sentence: Sentence) -> set[str]:
    return set().union(*(quantities(node) for node in sentence.nodes()), set())


def quantities(node: tree.Node) -> set[str]:
    """Functions, sequences, letters and sizes in a formula, without their indices and points."""
    if isinstance(node, tree.Call):
        if node.function in SIZES:
            inner = sorted(set().union(*(_names(a) for a in node.arguments)))
            return {f"{node.function} of {', '.join(inner)}"}
        if node.function in WRAPS or binder(node) is not None:
            return quantities(node.arguments[0])
        return {node.function}
    if isinstance(node, tree.Index):
        return {node.base}
    if isinstance(node, tree.Letter):
        return {node.name}
    return set().union(*(quantities(child) for child in node.children()), set())


def _names(node: tree.Node) -> set[str]:
    """Everything that has a name in a formula, but what stands in indices."""
    if isinstance(node, tree.Index):
        return {node.base}
    own = {node.name} if isinstance(node, tree.Letter) else {node.function} if isinstance(node, tree.Call) else set()
    return own.union(*(_names(child) for child in node.children()))

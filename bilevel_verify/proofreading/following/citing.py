"""``By (3), D``: D is derived from exactly what is cited; where it does not follow, from which other relation it does.

Told is a citation of which no step of D makes use, where D follows with one other numbered relation in its place, and
without either of them does not. What needs no citation, and what is never derived, stays without a finding.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from itertools import islice
from typing import TYPE_CHECKING, TypeAlias

from bilevel_verify.language import to_text, tree
from bilevel_verify.manuscript.comparing import Relation
from bilevel_verify.manuscript.proofs.said import Rule, tidy
from bilevel_verify.proofreading.defect import Defect
from bilevel_verify.proofreading.following.asking import follows
from bilevel_verify.proofreading.following.premises import premise_of, relations_in, spoken
from bilevel_verify.proofreading.following.reaching import reach, subjects
from bilevel_verify.proofreading.following.sharper import changed, is_exact
from bilevel_verify.proofreading.instances.scenes import Scene, scenes
from bilevel_verify.proofreading.joints.carrying import LOWER, UPPER, bounds_of, misnamed, to_text_of
from bilevel_verify.proofreading.joints.clauses import HOLE, Clause, cited_in, clauses
from bilevel_verify.proofreading.joints.judged import Judged
from bilevel_verify.proofreading.promises.said import supposed_in
from bilevel_verify.proofreading.source import PROMISES, Paper, Passage, Sentence

if TYPE_CHECKING:
    from bilevel_verify.drafting.draft import Draft

SPEAKS = re.compile(r"\b(?:similar\w*|analog\w*|same way|as in|like|proof of|instead|compare\w*|induction)\b", re.I)
LIKE = re.compile(r"\b(?:similar\w*|analog\w*|same way|proof of|instead)\b", re.I)
NEXT = "_plus"
"""``x^+`` is made of ``x``: what is said of it is not said of all points."""
MOST_OTHERS, MOST_LINKS, MOST_NODES = 6, 5, 140
MOST_QUESTIONS, MOST_OF_BOUNDS, GENERAL = 120, 40, 20
"""Questions about one paper, and of what is left the ones about bounds: some five seconds. What is left then
stays undecided. A question with so many premises for all points counts twice, then by their square.
"""
GIVES = re.compile(
    r"\b(?:gives?|yields?|proves?|is|get|obtain)\s+(?:the\s+(?:lemma|theorem|corollary|proposition|claim|result)\b|\((\d+[a-z]?)\))"
)
ATTRIBUTED = re.compile(r"\bwhere the last (?:step|inequality|equality) (?:is|uses|follows from|comes from)\b")
REASON = re.compile(
    r"\b(?:convex\w*|concav\w*|assum\w*|lines?|steps?|defin\w*|smooth\w*|Lipschitz|triangle|choice)\b", re.I
)
"""What else a step may rest on in a sentence that cites."""
Formulas = tuple[Sentence, ...]
Result: TypeAlias = tuple[Sentence, dict[str, Formulas], int]
"""A formula, what is cited for it, and the number of the formula before which everything is known."""


def cited_joints(paper: Paper, draft: Draft) -> Iterator[Judged]:
    """Every relation of a proof that is printed behind a citation."""
    in_force = {id(passage): scene for passage, scene in scenes(paper, draft)}
    budget = Budget(MOST_QUESTIONS)
    open_: list[_Step] = []
    for clause in clauses(paper):
        if clause.passage.kind != "proof":
            continue
        for printed, cited, at in (*_printed(paper, clause), *_goal(paper, clause)):
            steps = _unattributed(clause, printed, list(relations_in(printed, paper)))
            if cited and 0 < len(steps) <= MOST_LINKS and _is_short(steps):
                step = _Step(paper, in_force[id(clause.passage)], clause, printed, steps, cited, at, budget)
                found = list(step.judged())
                yield from found
                open_ += [] if any(j.verdict == "refuted" for j in found) else [step]
    budget.left = min(budget.left, MOST_OF_BOUNDS)
    for step in open_:
        yield from step.sharper()


def _unattributed(clause: Clause, printed: Sentence, steps: list[Relation]) -> list[Relation]:
    """The steps of a chain without the last one, where the words behind it say what that one rests on."""
    if len(steps) < 2 or printed not in clause.formulas:
        return steps
    return steps[:-1] if ATTRIBUTED.search(clause.after(clause.formulas.index(printed))) else steps


def _printed(paper: Paper, clause: Clause) -> Iterator[Result]:
    """Relations of a sentence behind what it cites."""
    for place, printed in enumerate(clause.formulas):
        said, n = clause.before(place), printed.read.formula.n
        start = said.rfind(HOLE, 0, said.rfind(HOLE)) if printed.read.formula.kind != "display" else 0
        if _is_result(printed, said) and not SPEAKS.search(said) and not LIKE.search(clause.after(place)):
            yield printed, _cited(paper, said[max(start, 0) :], printed), n


def _goal(paper: Paper, clause: Clause) -> Iterator[Result]:
    """``Dividing (4) by L gives (3)``: what the statement concludes, from what stands in its proof so far."""
    said = GIVES.search(clause.words)
    own = paper.stated.get(clause.passage.of)
    if said is None or own is None or SPEAKS.search(clause.words):
        return
    shown = [s for s in own.formulas if s.read.formula.kind == "display"]
    meant = [s for s in shown if said[1] is not None and s.read.formula.number == said[1]]
    goal = meant[0] if meant else shown[0] if len(shown) == 1 and said[1] is None else None
    if goal is None or any(f.read.formula.kind == "display" for f in clause.formulas):
        return
    words = " ".join(clause.passage.words.replace(HOLE, f" {HOLE} ").split())
    ahead = clause.passage.formulas[: words[: max(words.find(clause.words), 0) + said.start()].count(HOLE)]
    at = (ahead or clause.passage.formulas or (goal,))[-1].read.formula.n + 1
    yield goal, _cited(paper, clause.words[: said.start()], goal), at


def _is_result(printed: Sentence, said: str) -> bool:
    """A display, or a relation right after ``we have``, ``gives`` or the citation."""
    if printed.read.formula.kind == "display":
        return True
    return re.search(r"(?:\b(?:have|get|obtain|gives?|yields?|is|that)|\))\s*,?\s*\Z", said) is not None


def _cited(paper: Paper, said: str, printed: Sentence) -> dict[str, Formulas]:
    """What words cite, by name: numbered relations and statements, also those that are printed behind."""
    return {k: held for k, held in cited_in(paper, said).items() if printed not in held}


@dataclass
class Budget:
    """How many questions about a paper may still be asked."""

    left: int

    def spend(self, rules: Sequence[Rule]) -> bool:
        """Whether one more may be asked, with these premises; if not, no other one may."""
        general = sum(1 for rule in rules if rule.any)
        self.left -= 1 + (general // GENERAL) ** 2
        return self.left >= 0


def _is_short(steps: list[Relation]) -> bool:
    sides = (side for step in steps for side in (step.left, step.right))
    return all(sum(1 for _ in islice(side.walk(), MOST_NODES + 1)) <= MOST_NODES for side in sides)


@dataclass
class _Step:
    """One printed result with what is cited for it; every question is asked once."""

    paper: Paper
    scene: Scene
    clause: Clause
    printed: Sentence
    steps: list[Relation]
    cited: dict[str, Formulas]
    at: int
    budget: Budget
    asked: dict[tuple[Relation, frozenset[str]], tuple[str, ...] | None] = field(default_factory=dict)
    made: dict[str, tuple[Rule, ...]] = field(default_factory=dict)

    def judged(self) -> Iterator[Judged]:
        """A verdict for each thing that is cited."""
        self.own = self.paper.stated.get(self.clause.passage.of)
        mine = [s for s in self.clause.passage.formulas if s.read.formula.number and s.read.formula.n < self.at]
        self.near = {f"({s.read.formula.number})": s for s in mine if s is not self.printed}
        for name in self.cited:
            others = frozenset(self.cited) - {name}
            joint = f"{name} in {to_text_of(self.printed)}"[:160]
            if self._uses(name, others):
                yield Judged("citation", self.printed.place, joint, "holds", "derived with it, and not without")
                continue
            meant = self._meant(name, others)
            if meant:
                yield self._told(name, meant, joint)
            else:
                yield Judged("citation", self.printed.place, joint, "undecided", "no derivation makes use of it")

    def sharper(self) -> Iterator[Judged]:
        """Bounds that say more than what is cited gives, and with one small change exactly that."""
        names = frozenset(self.cited) | frozenset(self.near)
        for step in self.steps:
            if step.op not in (*UPPER, *LOWER) or self._follows(step, names) is not None:
                continue
            cited = [rule for name in sorted(names) for rule in self._rules(name)]
            named = [rule for rule in self._background() if rule.relation.op == "=="]
            for old, new, other in changed(step):
                if not self.budget.spend([*named, *cited]):
                    return
                if is_exact(follows(self.scene, tidied(other), named, cited), names) and self._consistent(names):
                    yield self._sharper(step, old, new)
                    return

    def _sharper(self, step: Relation, old: tree.Node, new: tree.Node) -> Judged:
        names = ", ".join(self.cited)
        place = f"with {to_text(tidy(new))} in the place of {to_text(old)}"
        title = f"{names} does not give this as it is printed; {place} it is what comes out"
        evidence = (*(f"{n}: {to_text_of(s)}" for n, held in self.cited.items() for s in held if s.read.statements),
                    f"the step: {to_text(step.left)} {step.op} {to_text(step.right)}")  # fmt: skip
        defect = Defect("total", self.printed.place, title, "changes a constant or a rate", self.printed.latex,
                        evidence, f"sharper {self.printed.place}", self.printed.unit)  # fmt: skip
        return Judged("total", self.printed.place, f"{names} and {to_text_of(self.printed)}"[:160], "refuted", title,
                      defect)  # fmt: skip

    def _uses(self, name: str, others: frozenset[str]) -> bool:
        """Whether a step follows with a citation and not without it, the relations of the proof before it aside."""
        near = frozenset(self.near) - {name}
        for step in self.steps:
            for rest in (others | near, others):
                if self._follows(step, rest) is None and self._follows(step, rest | {name}) is not None:
                    return True
        return False

    def _meant(self, name: str, others: frozenset[str]) -> str:
        """The one relation with which the steps follow that do not follow without it; empty if there is none.

        Steps that follow from nothing may rest on the citation only if something of it stands in them.
        """
        for near in (frozenset(self.near) - {name}, frozenset[str]()):
            rest = others | near
            open_ = [step for step in self.steps if self._follows(step, rest) is None]
            alone = len(self.cited) == 1 and not REASON.search(self.clause.words)
            touched = [step for step in open_ if alone or self._touches(name, step)]
            for other in self._candidates(name, rest) if open_ else ():
                found = {step: self._follows(step, rest | {other}) for step in touched or open_}
                if any(f is None or other not in f for s, f in found.items() if s in touched):
                    continue
                used = [s for s, f in found.items() if f is not None and other in f]
                if used and self._consistent(rest | {other}):
                    return other
        return ""

    def _touches(self, name: str, step: Relation) -> bool:
        """Whether a function or sequence of a citation stands in a step, or in what its letters are defined by."""
        nodes = [node for s in self.cited[name] for node in s.nodes()]
        return bool(subjects(*nodes) & reach(self.paper, (step.left, step.right)))

    def _consistent(self, names: frozenset[str]) -> bool:
        """Whether the opposite of the steps does not follow, too: from a contradiction everything does."""
        free = all(self._follows(_opposite(step), names) is None for step in self.steps)
        return free and self.budget.left >= 0

    def _candidates(self, name: str, rest: frozenset[str]) -> list[str]:
        """Other numbered relations before the result, the last first, about what the result is about.

        A chain that ends with what is cited says the same, in more steps; what the statement promises is no premise,
        a definition needs no citation, and in the place of a lemma no relation of the same proof is meant.
        """
        about = set().union(*(subjects(s) for r in self.steps for s in (r.left, r.right)))
        promised = set(self.own.formulas) - set(supposed_in(self.own)) if self.own else set()
        out = [*self._conclusions(), *promised, *self.cited[name]]
        named = {*self.clause.numbered}
        said = {(b.left, b.op, b.right) for s in self.cited[name] for b in bounds_of(s)}
        known = {k: s for k, s in self.paper.numbered.items() if s.read.formula.n < self.at and s not in out
                 and not any(r.word == ":=" for c in s.chains() for r in c.relations)
                 and not any((b.left, b.op, b.right) in said for b in bounds_of(s))}  # fmt: skip
        found = [
            f"({k})"
            for k, s in known.items()
            if f"({k})" not in rest | {name} | (set() if name.startswith("(") else self.near.keys())
            and k not in named
            and about & set().union(*(subjects(node) for node in s.nodes()))
            and not any(n.endswith(NEXT) for node in s.nodes() for n in tree.letters(node))
        ]
        return found[::-1][:MOST_OTHERS]

    def _conclusions(self) -> list[Sentence]:
        """What the statement of the proof concludes: its last display and what stands behind it."""
        shown = [s for s in (self.own.formulas if self.own else ()) if s.read.formula.kind == "display"]
        last = shown[-1].read.formula.n if shown else 0
        return [s for s in (self.own.formulas if self.own else ()) if shown and s.read.formula.n >= last]

    def _follows(self, step: Relation, names: frozenset[str]) -> tuple[str, ...] | None:
        key = step, names
        if key not in self.asked:
            cited = [rule for name in sorted(names) for rule in self._rules(name)]
            background = self._background()
            asks = self.budget.spend([*background, *cited])
            self.asked[key] = follows(self.scene, step, background, cited, self._written()) if asks else None
        return self.asked[key]

    def _rules(self, name: str) -> tuple[Rule, ...]:
        if name not in self.made:
            formulas = self.cited.get(name) or (self.paper.numbered[name[1:-1]],)
            own = [rule for s in formulas for rule in premise_of(self.paper, self.scene, s, name).rules]
            self.made[name] = tuple(own)
        return self.made[name]

    def _background(self) -> tuple[Rule, ...]:
        """What nobody cites: definitions, lines of algorithms, hypotheses, unnumbered relations of the proof."""
        if "" not in self.made:
            found = list(spoken(self.paper, self.scene))
            goals = self._conclusions()
            values: dict[tree.Node, set[tree.Node]] = {}
            for passage in self.paper.passages:
                algorithm = passage.kind == "algorithm"
                for s in passage.formulas:
                    if s.read.formula.n < self.at and s not in goals and self._is_given(passage, s):
                        rules = premise_of(self.paper, self.scene, s, f"the text at {s.place}").rules
                        mine = [r for r in rules if (not algorithm or r.relation.op == "==") and not self._put(r)]
                        found += mine
                        for one in (r.relation for r in mine if r.relation.op == "=="):
                            if algorithm or self.scene.kind(one.left) == "scalar":
                                values.setdefault(one.left, set()).add(one.right)
            # what two branches of an algorithm set to different values is neither
            found = [r for r in found if r.relation.op != "==" or len(values.get(r.relation.left, ())) < 2]
            self.made[""] = tuple(found)
        return self.made[""]

    def _written(self) -> list[Rule]:
        """What the proof itself says that vectors are, in the order of its words."""
        mine = {f"the text at {s.place}" for s in self.clause.passage.formulas}
        own = [r for r in self._background() if r.source in mine and r.relation.op == "=="]
        sides = ((r, r.relation.left) for r in own)
        return [r for r, left in sides if isinstance(left, tree.Index) and self.scene.kind(left) == "vector"]

    def _put(self, rule: Rule) -> bool:
        """Whether an equation names a point for which another relation is used: ``with x = x[k]``."""
        left = rule.relation.left
        return rule.relation.op == "==" and isinstance(left, tree.Letter) and self.scene.kind(left) != "scalar"

    def _is_given(self, passage: Passage, sentence: Sentence) -> bool:
        if sentence.read.formula.number:
            return False
        if passage is self.clause.passage or passage is self.own:
            return True
        return passage.kind not in ("proof", *PROMISES)

    def _told(self, name: str, meant: str, joint: str) -> Judged:
        title = f"{name} is cited for this, which does not follow with it; with {meant} in its place it does"
        formulas = {n: self.cited.get(n) or (self.paper.numbered[n[1:-1]],) for n in (name, meant)}
        relations = [(n, s) for n, held in formulas.items() for s in held if s.read.statements]
        return misnamed(self.printed, joint, title, [*relations, ("the step", self.printed)])


def tidied(step: Relation) -> Relation:
    """A step with its indices in one form."""
    return Relation(tidy(step.left), step.op, tidy(step.right))


def _opposite(step: Relation) -> Relation:
    """What contradicts a step, with 1 between the sides."""
    more = tree.Add((step.left, tree.Number(Fraction(-1 if step.op in UPPER else 1))))
    return Relation(more, ">=" if step.op in UPPER else "<=" if step.op in LOWER else "==", step.right)

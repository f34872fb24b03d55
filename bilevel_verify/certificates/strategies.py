"""How a proof is searched: definedness first, then products of facts, derived facts, cases, powers, induction."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from fractions import Fraction
from functools import partial
from itertools import combinations
from typing import Any

from bilevel_check.context import Context, Undefined
from bilevel_check.intervals import Evaluation
from bilevel_check.ring import Atom, Poly, is_zero, names, number, power_of_one
from bilevel_check.rules import element_of
from bilevel_check.terms import Refused, tree, work
from bilevel_verify.certificates.draft import Draft, atom, atoms_in, goal, pruned, replaced, sides, written
from bilevel_verify.certificates.powers import by_powers
from bilevel_verify.certificates.products import certificate, expanded
from bilevel_verify.certificates.raising import LINES, raise_facts

DEPTH = 4
NEEDS = 60


class Search:
    """One search; parts of a proof call it again, one level deeper.

    An ``eager`` one looks for squares that facts call for before it raises anything to powers: dear, rarely needed.
    """

    def __init__(self, depth: int = DEPTH, inductive: bool = True, eager: bool = False) -> None:
        self.depth, self.inductive, self.eager = depth, inductive, eager

    def inside(self, depth: int, inductive: bool = True) -> Search:
        """A search for a part."""
        return Search(depth, inductive, self.eager)

    def prove(self, draft: Draft, claim: object) -> bool:
        """Hypotheses, definedness, then the claim."""
        draft.claim = claim
        self.hypotheses(draft)
        self.positive(draft)
        if self.depth > 1 and _calls_for_cases(claim) and self.by_cases(draft, claim):
            return True
        found = self.defined(draft, partial(element_of, draft.at, claim))
        if found is None:
            return self.depth > 1 and self.by_cases(draft, claim)
        if self.depth > 1 and self.inductive and any(_sums(claim)):
            element, op = found
            short = self.identity(draft, element, op, 1, 2)
            return short or self.by_induction(draft, claim) or self.element(draft, element, op)
        return self.element(draft, *found) or self.deeper(draft, claim)

    # ---- what is given ----------------------------------------------------------------------------------------------

    def hypotheses(self, draft: Draft) -> None:
        """Every hypothesis that is defined; what one gives may define another."""
        open_places = [i for i, one in enumerate(draft.hypotheses) if one is not None and one[0] != "or"]
        for deep in (False, True, True):
            for place in list(open_places):
                if draft.add("hypothesis", place):
                    open_places.remove(place)
                    continue
                words = draft.hypotheses[place]
                if deep and self.defined(draft, partial(element_of, draft.at, words)):
                    draft.add("hypothesis", place)
                    open_places.remove(place)

    def positive(self, draft: Draft) -> None:
        """Letters that are plainly positive by what is given (``kappa >= 1``)."""
        for name, sort in draft.at.sorts.items():
            if sort != "vector" and not name.endswith("#"):
                letter = power_of_one(Atom("letter", name))
                if not draft.at.known(letter, ">"):
                    self.identity(draft, letter, ">", 1, 1)

    def defined(self, draft: Draft, make: Callable[[], Any]) -> Any:
        """What ``make`` gives once every sign that it asks for is proved; None if one is not, or no word exists."""
        for _ in range(NEEDS):
            try:
                return make()
            except Undefined as missing:
                weak = missing.op == ">=" and self.element(draft, missing.element, ">")
                if not weak and not self.element(draft, missing.element, missing.op):
                    return None
            except Refused:
                if work.left < 0:
                    raise
                return None
        return None

    # ---- one relation -----------------------------------------------------------------------------------------------

    def element(self, draft: Draft, element: Poly, op: str) -> bool:
        """``element op 0`` from what is known."""
        if draft.at.known(element, op):
            return True
        if op == "!=":
            return self.element(draft, element, ">") or self.element(draft, -element, ">")
        if (element, op) in draft.tried or self.depth <= 0 or element.constant() is not None:
            return False
        draft.tried.add((element, op))
        if op == "==":
            return any(self.identity(draft, element, op, 1, n) for n in (1, 2, 3)) or (
                self.element(draft, element, ">=") and self.element(draft, -element, ">=")
            )
        if not names(element):  # intervals tell the sign of a number, unless it is 0
            found = draft.add("boxes", goal(element, op)) or self.identity(draft, element, op, 1, 1)
            return found or self.by_root(draft, element, op)
        for degree, rounds in ((1, 1), (1, 2), (2, 1)):
            if self.identity(draft, element, op, degree, rounds):
                return True
        if self.depth <= 1:
            return False
        multiply = partial(by_powers, partial(self.inside(min(self.depth - 1, 2)).element, draft), draft, element, op)
        if multiply():
            return True
        before = len(draft.at.facts)
        if any(a.kind == "dot" for a in element.atoms()) and self.by_squares(draft, element, op):
            return True
        derived(self, draft, element)
        if len(draft.at.facts) > before:
            if multiply():
                return True
            for degree, rounds in ((1, 1), (1, 3), (2, 1)):
                if self.identity(draft, element, op, degree, rounds, self.eager and rounds == 3):
                    return True
        return self.by_root(draft, element, op) or any(
            self.identity(draft, element, op, degree, rounds) for degree, rounds in ((2, 2), (3, 1))
        )

    def identity(self, draft: Draft, element: Poly, op: str, degree: int, rounds: int, more: bool = False) -> bool:
        """By products of facts."""
        found = certificate(draft.at, element, op, degree, rounds, more)
        if found is None:
            return False
        parts, multiplier = found
        line = ["identity", goal(element, op), parts]
        return draft.add(*line, *([] if multiplier == 1 else [multiplier])) and draft.at.known(element, op)

    def by_squares(self, draft: Draft, element: Poly, op: str) -> bool:
        """A quadratic form in vectors as a sum of squares: pivots ``d |v + sum c_j/(2d) w_j|**2`` one by one."""
        rest, parts = element, []
        vectors = sorted({name for a in element.atoms() if a.kind == "dot" for name in a.args})
        while vectors:
            for v in vectors:
                lead = _coefficient(rest, v, v)
                if self.element(draft, lead, ">"):
                    break
            else:
                break
            vectors.remove(v)
            half = draft.at.power(number(2) * lead, number(-1))
            shifts = [
                ["*", written(_coefficient(rest, v, w) * half), w] for w in vectors if _coefficient(rest, v, w).terms
            ]
            vector = ["+", v, *shifts]
            if not draft.add("known", ["<=", 0, ["dot", vector, vector]]):
                return False
            place = len(draft.at.facts) - 1
            parts.append([written(lead), [place], []])
            rest = expanded(rest - lead * draft.at.facts[place][0])
        if is_zero(rest):
            rest = number(0)
        if rest.terms:
            if not parts or not self.element(draft, rest, op):
                return False
            draft.add("known", goal(rest, op))
            parts.append([1, [len(draft.at.facts) - 1], []])
        return draft.add("identity", goal(element, op), parts) and draft.at.known(element, op)

    def by_root(self, draft: Draft, element: Poly, op: str) -> bool:
        """``a <= b`` from ``a**q <= b**q`` where one side has a root."""
        if self.depth <= 1:
            return False
        minus, plus = sides(element)
        if not (draft.at.known(plus, ">=") and draft.at.known(minus, ">=")) or not plus.terms or not minus.terms:
            return False
        for q in _roots(draft, element):
            try:
                raised = draft.at.power(plus, number(q)) - draft.at.power(minus, number(q))
            except Refused:
                continue
            if self.inside(self.depth - 1).element(draft, raised, op):
                relation = [{">=": "<=", ">": "<", "==": "=="}[op], written(minus), written(plus)]
                return draft.rooted(relation, q) and draft.at.known(element, op)
        return False

    # ---- the whole claim --------------------------------------------------------------------------------------------

    def deeper(self, draft: Draft, claim: object) -> bool:
        """Cases, alternatives of hypotheses, induction."""
        if self.depth <= 1:
            return False
        induction = (self.by_induction,) if self.inductive else ()
        return any(strategy(draft, claim) for strategy in (self.by_cases, self.by_alternatives, *induction))

    def by_cases(self, draft: Draft, claim: object) -> bool:
        """Which of two parts of a maximum or minimum is the larger one."""
        for node in [node for one in (claim, *draft.hypotheses) for node in _maxima(one)]:
            parts = [self.defined(draft, partial(draft.at.of, tree(part))) for part in node]
            for one, other in combinations([part for part in parts if part is not None], 2):
                if not (draft.at.known(one - other, ">=") or draft.at.known(other - one, ">=")):
                    return self.split(draft, claim, one - other)
        return False

    def split(self, draft: Draft, claim: object, test: Poly) -> bool:
        """The claim where an element is >= 0 and where it is < 0."""
        proofs = []
        for fact in ((test, ">="), (-test, ">")):
            inside = draft.inner()
            inside.at.learn(*fact)
            if not self.inside(self.depth - 1, self.inductive).prove(inside, claim):
                return False
            proofs.append(inside.lines)
        short = [pruned(lines, len(draft.at.facts) + 1) for lines in proofs]
        return draft.add("cases", claim, written(test), short) or draft.add("cases", claim, written(test), proofs)

    def by_alternatives(self, draft: Draft, claim: object) -> bool:
        """The claim under each part of a hypothesis with ``or``."""
        for place, words in enumerate(draft.hypotheses):
            if words is None or words[0] != "or" or ("or", place) in draft.tried:
                continue
            draft.tried.add(("or", place))
            proofs = []
            for part in words[1:]:
                inside = draft.inner()
                inside.tried |= {("or", place)}
                try:
                    for one in part[1:] if part[0] == "and" else [part]:
                        inside.at.learn(*element_of(inside.at, one))
                except Refused:
                    return False
                if not self.inside(self.depth - 1, self.inductive).prove(inside, claim):
                    return False
                proofs.append(inside.lines)
            return draft.add("cases", claim, place, proofs)
        return False

    def by_induction(self, draft: Draft, claim: object) -> bool:
        """Over an integer letter at the end of a sum, from its lower end on."""
        sums = list(_sums(claim))
        candidates = [n for n, sort in draft.at.sorts.items() if sort == "integer" and not n.endswith("#")]
        for name in candidates:
            if not any(name in names(draft.at.of(tree(one[4]))) for one in sums):
                continue
            letter = draft.at.of(name)
            for start in [n for n in range(5, -3, -1) if draft.at.known(letter - number(n), ">=")][:2]:
                if self._inducted(draft, claim, name, start, sums):
                    return True
        return False

    def _inducted(self, draft: Draft, claim: object, name: str, start: int, sums: list[object]) -> bool:
        proofs = []
        for value in (start, ("+", name, 1)):
            facts = [(p, o) for p, o in draft.at.facts if name not in names(p)]
            given = [None] * len(draft.hypotheses)
            inside = Draft(Context(draft.at.sorts, facts), given if value == start else [*given, claim])
            if value != start:
                inside.at.learn(inside.at.of(name) - number(start), ">=")
            self.positive(inside)
            moved = replaced(claim, {name: value})
            for one in sums:
                total = replaced(["==", one, 0], {name: value})[1]
                if value == start:
                    self._unrolled(inside, total)
                else:
                    self.defined(inside, partial(inside.at.of, tree(total)))
                    length = inside.at.of(tree(total[4])) - inside.at.of(tree(total[3]))
                    if self.element(inside, length, ">="):
                        inside.add("last-term", total)
            if not self.inside(self.depth - 1, inductive=False).prove(inside, moved):
                return False
            proofs.append(inside.lines)
        return draft.add("induction", claim, name, start, *proofs)

    def _unrolled(self, draft: Draft, total: Any) -> None:
        """All terms of a sum with numbers for its ends."""
        for _ in range(6):
            empty = draft.at.known(draft.at.of(tree(total[3])) - draft.at.of(tree(total[4])), ">")
            if not draft.add("last-term", total) or empty:
                break
            total = [*total[:4], ["+", total[4], -1]]


def _roots(draft: Draft, element: Poly) -> list[Fraction]:
    """Exponents to which both sides may be raised: those that take roots away, or that facts about the letters have."""
    if len(element.terms) > 8:
        return []
    own = {e.denominator for m in element.terms for _, e in m if isinstance(e, Fraction)} - {1}
    near = [p for p, _ in draft.at.facts if names(p) & names(element)]
    found = {e for p in near for m in p.terms for _, e in m if isinstance(e, Fraction)}
    other = {Fraction(1, 2)} if any(e.denominator == 2 for e in found) else set()
    other |= {Fraction(2)} if len(element.terms) == 2 and Fraction(2) in found else set()
    return [*(Fraction(q) for q in sorted(own) if q <= 4), *sorted(other - own)]


def _calls_for_cases(claim: Any) -> bool:
    """Whether a maximum stands where its parts do not bound it: on the smaller side, or as a minimum on the larger."""
    small, large = claim[1:] if claim[0] in ("<=", "<") else claim[:0:-1]
    return any(_maxima(small)) or any(_maxima(large, () if claim[0] == "==" else ("min",)))


def _maxima(data: object, heads: tuple[str, ...] = ()) -> Iterator[list[Any]]:
    """The parts of every maximum, minimum and absolute value of a tree, or of those with some heads alone."""
    if isinstance(data, list):
        if data[0] in (heads or ("max", "min")):
            yield data[1:]
        elif data[0] in ("abs", "plus") and not heads:
            yield [data[1], ["neg", data[1]] if data[0] == "abs" else 0]
        for part in data[1:]:
            yield from _maxima(part, heads)


def _inside_logs(data: object) -> Iterator[Any]:
    """Numbers whose logarithm is near: the arguments of the logarithms of a tree, and its exponentials."""
    if isinstance(data, list):
        if data[0] in ("log", "exp"):
            yield data[1] if data[0] == "log" else data
        for part in data[1:]:
            yield from _inside_logs(part)


def _sums(data: object) -> Iterator[Any]:
    if isinstance(data, list):
        if data[0] == "sum":
            yield data
        for part in data[1:]:
            yield from _sums(part)


def _coefficient(p: Poly, v: str, w: str) -> Poly:
    """The coefficient of ``<v, w>``."""
    a = Atom("dot", *sorted((v, w)))
    found = {frozenset(pair for pair in m if pair[0] != a): c for m, c in p.terms.items() if (a, Fraction(1)) in m}
    return Poly(found)


def derived(search: Search, draft: Draft, element: Poly) -> None:
    """Facts about powers, logarithms, maxima and numbers that occur, each a line."""
    at, before = draft.at, len(draft.lines)
    occurring = list(dict.fromkeys(a for p in (element, *(p for p, _ in at.facts)) for a in atoms_in(p)))
    for a in occurring:
        if len(draft.lines) - before > LINES:
            return
        if ("derived", a) in draft.tried:
            continue
        draft.tried.add(("derived", a))
        if a.kind == "max":
            for part in a.args:
                draft.add("known", ["<=", written(part), atom(a)])
        elif a.kind == "log":
            inside = written(a.args[0])
            draft.tangent(inside)
            draft.tangent(["/", 1, inside])
            draft.log_rises(1, inside)
        elif a.kind == "floor":
            draft.add("known", ["<=", atom(a), written(a.args[0])])
            draft.add("known", ["<", written(a.args[0]), ["+", atom(a), 1]])
    for inside in dict.fromkeys(str(node) for node in _inside_logs(draft.claim)):
        key = ("printed", inside)
        if key not in draft.tried:
            argument = next(node for node in _inside_logs(draft.claim) if str(node) == inside)
            if draft.tangent(argument) and draft.tangent(["/", 1, argument]):
                draft.tried.add(key)
    _log_ratios(draft, [a for a in occurring if a.kind == "log"])
    _numbers(draft, [a for a in occurring if not names(power_of_one(a))], element)
    nearby = Search(1)
    raise_facts(lambda e: search.depth > 1 and nearby.element(draft, e, ">="), draft, element)


def _log_ratios(draft: Draft, logs: list[Atom]) -> None:
    """``log y <= y - 1`` for quotients of arguments of logarithms."""
    for one, other in combinations(logs[:4], 2):
        top, bottom = written(one.args[0]), written(other.args[0])
        draft.tangent(["/", top, bottom])
        draft.tangent(["/", bottom, top])
        if not draft.log_rises(bottom, top):
            draft.log_rises(top, bottom)


def _numbers(draft: Draft, constants: list[Atom], element: Poly) -> None:
    """Rational bounds of irrational numbers that occur, each power as it stands."""
    seen = set()
    for p in (element, *(p for p, _ in draft.at.facts)):
        for m in p.terms:
            held = frozenset((a, e) for a, e in m if a in constants and not (isinstance(e, Poly) and names(e)))
            if not held or held in seen:
                continue
            seen.add(held)
            node = written(Poly({held: Fraction(1)}))
            try:
                low, high = Evaluation({}, 64).of(tree(node))
            except Refused:
                continue
            middle = (low + high) / 2
            near = middle.limit_denominator(10**4)
            gap = max(abs(near - middle), Fraction(1, 10**9)) * 2
            draft.add("boxes", ["<=", str(near - gap), node])
            draft.add("boxes", ["<=", node, str(near + gap)])

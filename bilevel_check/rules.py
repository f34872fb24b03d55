"""The rules of a proof, proved in docs/certificates.md, and the verdict on a certificate or a folder of them.

A line is ``[rule, argument, ...]``. A goal is ``[op, left, right]``; it becomes the fact ``right - left op 0`` (or
``left - right``). ``known`` below means: among the facts, up to a positive factor, or plain (nonnegative terms).
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from fractions import Fraction
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

from bilevel_check import terms
from bilevel_check.context import Context
from bilevel_check.intervals import Interval, shown
from bilevel_check.ring import Poly, is_zero, names, number
from bilevel_check.terms import Refused, Tree, demand, kind, letters, read, split, substituted, tree, work

ILL_FORMED = (TypeError, ValueError, KeyError, IndexError, AttributeError, ArithmeticError)
"""What the arguments of a line raise that are not what a rule takes."""
Statement: TypeAlias = tuple[dict[str, str], list[Tree], Tree]
"""Sorts of the letters, hypotheses, claim."""
AGAINST = {"<=": (">",), "<": (">=",), ">=": ("<",), ">": ("<=",), "==": ("<", ">")}
"""Relation -> those of which one holds where it fails."""


def goal_of(data: object) -> tuple[str, Tree, Tree]:
    """``(op, smaller, larger)`` with op one of ``>=``, ``>``, ``==``: the fact is ``larger - smaller op 0``."""
    head, parts = split(tree(data))
    demand(head in terms.RELATIONS, f"{head!r} is no relation")
    small, large = parts[::-1] if head in (">", ">=") else parts
    return {"<=": ">=", "<": ">"}.get(head, head), small, large


def element_of(at: Context, goal: object) -> tuple[Poly, str]:
    """A goal as a fact."""
    op, small, large = goal_of(goal)
    return at.of(large) - at.of(small), op


def reached(at: Context, goal: object) -> bool:
    """Whether a goal was shown in every case, or is known."""
    try:
        return goal_of(goal) in at.proved or at.known(*element_of(at, goal))
    except Refused:
        return False


def rational(data: object) -> Fraction:
    """The number that a JSON value is."""
    return Fraction(tree(data))  # type: ignore[arg-type]  # of what is no number: TypeError, ValueError


def certain(goal: object, box: Mapping[str, Interval]) -> bool:
    """Whether intervals show a relation, of more and more bits."""
    return any(shown(*goal_of(goal), box, bits) for bits in (64, 160, 400))


class Proof(NamedTuple):
    """Runs the lines of a proof in a context; ``hypotheses`` are the ones of the statement."""

    hypotheses: Sequence[Any]

    def run(self, at: Context, lines: Any) -> None:
        """All lines in order; the first one that does not follow is refused with its place."""
        demand(isinstance(lines, list), "a proof is a list of lines")
        for place, line in enumerate(lines):
            try:
                work.spend(10)
                demand(isinstance(line, list) and len(line) > 1 and line[0] in RULES, "a line begins with a rule")
                RULES[line[0]](self, at, *line[1:])
            except (Refused, *ILL_FORMED) as error:
                raise Refused(f"line {place + 1}: {str(error)[:300]}") from None

    def hypothesis(self, at: Context, place: int) -> None:
        """A hypothesis of the statement."""
        at.learn(*element_of(at, self.hypotheses[place]))

    def identity(self, at: Context, goal: object, parts: list[Any], multiplier: object = 1) -> None:
        """``multiplier * goal = sum of cofactor * squares * product of facts``, an identity of the ring."""
        (element, op), factor = element_of(at, goal), at.of(tree(multiplier))
        demand(at.known(factor, "!=" if op == "==" else ">"), "the multiplier is not known to be positive")
        total, strict = number(0), False
        for cofactor, places, squares in parts:
            value, equal = at.of(tree(cofactor)), False
            positive, nonnegative = at.known(value, ">"), at.known(value, ">=")
            for place in places:
                demand(isinstance(place, int) and 0 <= place < len(at.facts), f"there is no fact {place}")
                fact, relation = at.facts[place]
                value, equal, positive = value * fact, equal or relation == "==", positive and relation == ">"
            for root in [at.of(tree(square)) for square in squares]:
                value, positive = value * root * root, positive and at.known(root, "!=")
            demand(equal or (nonnegative and op != "=="), "a cofactor not known to be nonnegative, or no equality")
            strict, total = strict or (positive and not equal), total + value
        demand(op != ">" or strict, "a strict relation needs a strict term")
        demand(is_zero(element * factor - total), "the identity does not hold")
        at.learn(element, op)

    def plain(self, at: Context, goal: object) -> None:
        """What is known, or was shown in every case."""
        demand(reached(at, goal), "this is not known")
        at.learn(*element_of(at, goal))

    def raised(self, at: Context, goal: object, exponent: object) -> None:
        """``left**e op right**e`` from ``0 <= left op right`` and e >= 0; turned round where e <= 0 (then left > 0)."""
        (op, small, large), e = goal_of(goal), at.of(tree(exponent))
        (gap, _), sign = element_of(at, goal), ">" if op == ">" else ">="
        demand(at.known(at.of(small), ">=") and at.known(gap, op), "the sides are not known to compare")
        demand(at.known(e, sign) or at.known(-e, sign), "the sign of the exponent is not known")
        change = at.powers(large, e) - at.powers(small, e)
        at.learn(change if at.known(e, sign) else -change, op)

    def boxes(self, at: Context, goal: object, ranges: Mapping[str, Any] | None = None, splits: Any = None) -> None:
        """A relation between numbers, by intervals on the leaves of a tree of splits; of values that lie in the box."""
        values = {name: tree(value) for name, (value, _, _) in (ranges or {}).items()}
        box = {name: (rational(low), rational(high)) for name, (_, low, high) in (ranges or {}).items()}
        for name, (low, high) in box.items():
            value = at.of(values[name])
            inside = at.known(value - number(low), ">=") and at.known(number(high) - value, ">=")
            demand(inside, f"{name} is not known to be in its range")
        leaves(goal, box, splits)
        at.learn(*element_of(at, substituted(tree(goal), values)))

    def whole(self, at: Context, goal: object) -> None:
        """``left + 1 <= right`` from ``left < right`` where the difference is an integer."""
        element, _ = element_of(at, goal)
        demand(at.integral(element) and at.known(element, ">"), "no strict relation of integers")
        at.learn(element - number(1), ">=")

    def cases(self, at: Context, goal: object, which: object, proofs: Sequence[object]) -> None:
        """The goal in all cases: of a hypothesis ``["or", ...]`` (its place), or of a number: >= 0, < 0.

        A case may be ``["and", ...]``. The goal is kept as a tree, as the cases alone may define it.
        """
        test = self.hypotheses[which] if isinstance(which, int) else ["or", ["<=", 0, which], ["<", which, 0]]
        head, cases = split(tree(test))
        demand(head == "or" and len(cases) == len(proofs), "no alternatives, or not a proof for each")
        for case, lines in zip(cases, proofs):
            inside, (head, parts) = at.inner(), split(case)
            for one in parts if head == "and" else [case]:
                inside.learn(*element_of(inside, one))
            self.run(inside, lines)
            demand(reached(inside, goal), "a case does not reach the goal")
        at.proved.add(goal_of(goal))

    def induction(self, at: Context, goal: object, name: str, start: object, base: object, step: object) -> None:
        """The goal for an integer letter >= start: at start, and at n + 1 where it holds at n."""
        first, letter = at.of(tree(start)), at.of(name)
        fits = at.sorts[name] == "integer" and at.integral(first) and name not in names(first)
        demand(fits and at.known(letter - first, ">="), f"{name} is not known to be an integer from the start on")
        free = [None if one is None or name in letters(tree(one)) else one for one in self.hypotheses]
        for moved, lines in ((tree(start), base), (("+", name, 1), step)):
            kept = [(p, op) for p, op in at.facts if name not in names(p)]
            inside = Context(at.sorts, [*kept, (letter - first, ">=")] if lines is step else kept)
            Proof([*free, goal] if lines is step else free).run(inside, lines)
            demand(reached(inside, substituted(tree(goal), {name: moved})), "the induction does not reach its goal")
        at.learn(*element_of(at, goal))

    def terms(self, at: Context, total: object) -> None:
        """``sum(i = a..b) = sum(i = a..b - 1) + term(b)`` for integers a <= b; the sum is 0 for a > b."""
        node = tree(total)
        head, (body, index, low, high) = split(node)
        demand(head == "sum", "no sum")
        element, length = at.of(node), at.of(high) - at.of(low)
        if not at.known(-length, ">"):
            demand(at.known(length, ">="), "the range may be empty or not")
            before = ("sum", body, index, low, ("+", high, -1))
            element = element - at.of(before) - at.of(substituted(body, {index: high}))
        at.learn(element, "==")


def leaves(goal: object, box: Mapping[str, Interval], splits: Any) -> None:
    """The goal on each leaf of a tree of splits ``[letter, point, below, above]``; None is a leaf."""
    work.spend(5)
    if splits is None:
        demand(certain(goal, box), "a leaf does not show it")
        return
    name, place, *halves = splits
    (low, high), point = box[name], rational(place)
    demand(low <= point <= high and len(halves) == 2, "a split outside of its box, or not in halves")
    for half, ends in zip(halves, ((low, point), (point, high))):
        leaves(goal, {**box, name: ends}, half)


RULES: dict[str, Callable[..., None]] = {
    "hypothesis": Proof.hypothesis, "known": Proof.plain, "identity": Proof.identity, "raise": Proof.raised,
    "boxes": Proof.boxes, "whole": Proof.whole, "cases": Proof.cases, "induction": Proof.induction,
    "last-term": Proof.terms,
}  # fmt: skip


# ---- one certificate, a folder of them: accepted, or refused with the line and the reason


class Verdict(NamedTuple):
    """What the checker says: ``proved`` or ``refuted`` if accepted, else why it is refused."""

    accepted: bool
    shows: str = ""
    reason: str = ""


def check(text: str) -> Verdict:
    """Check one certificate given as JSON text; never raises for bad input."""
    work.left = terms.WORK
    try:
        return Verdict(True, _checked(read(text)))
    except (Refused, RecursionError, *ILL_FORMED) as error:
        return Verdict(False, reason=str(error) if isinstance(error, Refused) else f"ill formed: {str(error)[:80]}")


def check_folder(folder: Path) -> Iterator[tuple[Path, Verdict]]:
    """Check every ``*.json`` of a folder, in the order of the names, folders inside it as well."""
    for path in sorted(folder.rglob("*.json")):
        try:
            demand(path.is_file(), "no file")
            with path.open(encoding="utf-8") as stream:
                yield path, check(stream.read(terms.TEXT + 1))
        except (OSError, UnicodeDecodeError, Refused) as error:
            yield path, Verdict(False, reason=f"cannot be read: {error}")


def _checked(data: Any) -> str:
    keys = {"statement", "proof", "counterexample", "let", "about"}
    demand(isinstance(data, dict) and data.keys() <= keys, "a certificate has a statement and a proof, nothing else")
    demand(("proof" in data) != ("counterexample" in data), "either a proof or a counterexample")
    statement = data["statement"]
    demand(statement.keys() == {"letters", "hypotheses", "claim"}, "a statement has letters, hypotheses and a claim")
    sorts, conditions, claim = statement["letters"], [*map(tree, statement["hypotheses"])], tree(statement["claim"])
    for name, sort in sorts.items():
        own = terms.NAME.match(name) is not None and name not in terms.PARTS and name not in ("pi", "E")
        demand(own and sort in ("real", "integer", "vector"), "a letter has a name and is real, integer or vector")
    demand(split(claim)[0] in terms.RELATIONS, "a claim is a relation")
    demand({kind(one, sorts) for one in (*conditions, claim)} == {"condition"}, "a hypothesis is no condition")
    if "proof" not in data:
        return _refuted(sorts, conditions, claim, {name: tree(value) for name, value in data["counterexample"].items()})
    sorts, conditions, claim = without_determined((sorts, conditions, claim), data.get("let", []))
    at = Context(sorts)
    Proof(conditions).run(at, data["proof"])
    demand(reached(at, claim) or not element_of(at, claim), "the proof does not end at the claim")
    return "proved"


def without_determined(statement: Statement, let: Sequence[int]) -> Statement:
    """The statement with letters replaced that hypotheses ``x == formula`` determine: ``let`` lists their places."""
    kept, conditions, claim = dict(statement[0]), *statement[1:]
    for place in let:
        op, (name, formula) = split(conditions[place])
        defined = op == "==" and isinstance(name, str) and kept.pop(name) == "real"
        demand(defined, f"hypothesis {place} is no definition")
        demand(name not in letters(formula), f"hypothesis {place} determines no letter")
        *conditions, claim = (substituted(one, {name: formula}) for one in (*conditions, claim))
    return kept, conditions, claim


def _refuted(sorts: Mapping[str, str], conditions: list[Tree], claim: Tree, point: Mapping[str, Tree]) -> str:
    """Every hypothesis holds at a point and the claim does not; a vector has one entry there: a number."""
    demand(point.keys() == sorts.keys(), "a counterexample has a number for every letter")
    for name, value in point.items():
        demand(kind(value, {}) == "number", "a counterexample has closed expressions")
        whole = sorts[name] != "integer" or (not isinstance(value, tuple | str) and value == int(value))
        demand(whole, f"{name} must be an integer")
    for condition in conditions:
        demand(_true(substituted(condition, point)), f"the hypothesis {str(condition)[:80]} is not shown to hold there")
    op, sides = split(substituted(claim, point))
    demand(any(_true((against, *sides)) for against in AGAINST[op]), "the claim is not shown to fail there")
    return "refuted"


def _true(condition: Tree) -> bool:
    """Whether a condition without letters is shown: a relation by intervals, or exactly in the ring."""
    head, parts = split(condition)
    if head in terms.LOGIC:
        return (all if head == "and" else any)(map(_true, parts))
    return certain(condition, {}) or reached(Context({}), condition)

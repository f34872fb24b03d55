"""The rules of a proof: each line adds one fact (or two) to what is known, and is proved in docs/certificates.md.

A line is ``[rule, argument, ...]``. A goal is ``[op, left, right]``; it becomes the fact ``right - left op 0`` (or
``left - right``). ``known`` below means: among the facts, up to a positive factor, or plain (nonnegative terms).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from bilevel_check.context import Context, Undefined
from bilevel_check.intervals import Interval, shown
from bilevel_check.ring import Atom, Poly, is_zero, names, number, power_of_one
from bilevel_check.terms import RELATIONS, Refused, Tree, demand, letters, rational, split, substituted, tree, work

PRECISIONS = (64, 160, 400)
"""Bits that are tried to tell the sign of a number."""
ILL_FORMED = (TypeError, ValueError, KeyError, IndexError, AttributeError, ArithmeticError)
"""What the arguments of a line raise that are not what a rule takes."""


def goal_of(data: object) -> tuple[str, Tree, Tree]:
    """``(op, smaller, larger)`` with op one of ``>=``, ``>``, ``==``: the fact is ``larger - smaller op 0``."""
    head, parts = split(tree(data))
    demand(head in RELATIONS, f"{str(data)[:60]} is no relation")
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
    except Undefined:
        return False


def certain(goal: object, box: Mapping[str, Interval]) -> bool:
    """Whether intervals of growing precision show a relation."""
    return any(shown(*goal_of(goal), box, bits) for bits in PRECISIONS)


class Proof:
    """Runs the lines of a proof in a context; ``hypotheses`` are the ones of the statement."""

    def __init__(self, hypotheses: Sequence[Any]) -> None:
        self.hypotheses = hypotheses

    def run(self, at: Context, lines: Any, depth: int = 0) -> None:
        """All lines in order; the first one that does not follow is refused with its place."""
        demand(isinstance(lines, list) and depth <= 20, "a proof is a list of lines, nested at most 20 deep")
        for place, line in enumerate(lines):
            try:
                work.spend(10)
                demand(isinstance(line, list) and len(line) > 1 and line[0] in RULES, "a line begins with a rule")
                RULES[line[0]](self, at, *([depth] if line[0] in NESTED else []), *line[1:])
            except Refused as error:
                error.where = f"line {place + 1} ({str(line)[2:14]}...): {error.where}"
                raise
            except ILL_FORMED as error:
                raise Refused(f"line {place + 1}: {type(error).__name__}: {str(error)[:80]}") from None

    def hypothesis(self, at: Context, place: int) -> None:
        """A hypothesis of the statement."""
        at.learn(*element_of(at, self.hypotheses[place]))

    def identity(self, at: Context, goal: Any, parts: list[Any], multiplier: Any = 1) -> None:
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

    def plain(self, at: Context, goal: Any) -> None:
        """What is known."""
        demand(at.known(*element_of(at, goal)), "this is not known")
        at.learn(*element_of(at, goal))

    def root(self, at: Context, goal: Any, exponent: Any) -> None:
        """``left op right`` from ``left**q op right**q`` where left, right >= 0 and q > 0."""
        (op, left, right), q = goal_of(goal), at.of(tree(exponent))
        small, large = at.of(left), at.of(right)
        demand(at.known(q, ">") and at.known(small, ">=") and at.known(large, ">="), "a sign of a side or the exponent")
        demand(at.known(at.power(large, q) - at.power(small, q), op), "the powers are not known to compare")
        at.learn(large - small, op)

    def rises(self, at: Context, goal: Any, difference: Poly, rising: Poly) -> None:
        """``difference op 0`` for a function of both sides that rises for ``rising >= 0`` (> for >) and else falls."""
        gap, op = element_of(at, goal)
        sign = ">" if op == ">" else ">="
        demand(at.known(gap, op), "the sides are not known to compare")
        demand(at.known(rising, sign) or at.known(-rising, sign), "not known to rise or to fall")
        at.learn(difference if at.known(rising, sign) else -difference, op)

    def raised(self, at: Context, goal: Any, exponent: Any) -> None:
        """``left**e op right**e`` from ``0 <= left op right`` and e >= 0; turned round where e <= 0 (then left > 0)."""
        (_, small, large), e = goal_of(goal), at.of(tree(exponent))
        left = at.of(small)
        demand(at.known(left, ">="), "the sign of the smaller side")
        self.rises(at, goal, at.powers(large, e) - at.powers(small, e), e)

    def exponent(self, at: Context, base: Any, goal: Any) -> None:
        """``b**s op b**t`` from ``s op t`` and b >= 1; turned round for 0 < b <= 1."""
        (_, s, t), b = goal_of(goal), at.of(tree(base))
        demand(at.known(b, ">"), "the base is not known to be positive")
        self.rises(at, goal, at.power(b, at.of(t)) - at.power(b, at.of(s)), b - number(1))

    def log_rises(self, at: Context, goal: Any) -> None:
        """``log left op log right`` from ``0 < left op right``."""
        _, small, large = goal_of(goal)
        self.rises(at, goal, at.log(at.of(large)) - at.log(at.of(small)), number(1))

    def logarithm(self, at: Context, value: Any) -> None:
        """``log y <= y - 1`` for y > 0."""
        y = at.of(tree(value))
        at.learn(y - number(1) - at.log(y), ">=")

    def boxes(self, at: Context, goal: Any, ranges: Mapping[str, Any] | None = None, splits: Any = None) -> None:
        """A relation between numbers, or on a box of letters, by intervals on the leaves of a tree of splits."""
        element, op = element_of(at, goal)
        box = {name: (rational(low), rational(high)) for name, (low, high) in (ranges or {}).items()}
        for name, (low, high) in box.items():
            inside = at.known(at.of(name) - number(low), ">=") and at.known(number(high) - at.of(name), ">=")
            demand(inside, f"{name} is not known to be in its range")
        leaves(goal, box, splits)
        at.learn(element, op)

    def floor(self, at: Context, value: Any) -> None:
        """``floor(x) <= x < floor(x) + 1``."""
        gap = at.of(tree(value)) - at.of(("floor", tree(value)))
        at.learn(gap, ">=")
        at.learn(number(1) - gap, ">")

    def whole(self, at: Context, goal: Any) -> None:
        """``left + 1 <= right`` from ``left < right`` where the difference is an integer."""
        element, _ = element_of(at, goal)
        demand(at.integral(element) and at.known(element, ">"), "no strict relation of integers")
        at.learn(element - number(1), ">=")

    def maximum(self, at: Context, parts: list[Any], place: int | None = None) -> None:
        """A maximum is at least each of its parts, and equal to a part that is known to be the largest."""
        values = [at.of(tree(part)) for part in parts]
        whole = power_of_one(Atom("max", *sorted(set(values), key=hash)))
        for value in values if place is None else []:
            at.learn(whole - value, ">=")
        if place is not None:
            demand(all(at.known(values[place] - other, ">=") for other in values), "not known to be the largest")
            at.learn(whole - values[place], "==")

    def square(self, at: Context, vector: Any) -> None:
        """``<v, v> >= 0``."""
        at.learn(at.of(("dot", tree(vector), tree(vector))), ">=")

    def each(self, at: Context, depth: int, goal: Any, cases: Sequence[Tree], proofs: Sequence[Any]) -> None:
        """The goal, which each case shows; where only the cases define it, it is kept as a tree."""
        demand(len(cases) == len(proofs), "a proof for each case")
        for case, lines in zip(cases, proofs):
            inside, (head, parts) = at.inner(), split(case)
            for one in parts if head == "and" else [case]:
                inside.learn(*element_of(inside, one))
            self.run(inside, lines, depth + 1)
            demand(reached(inside, goal), "a case does not reach the goal")
        at.proved.add(goal_of(goal))
        try:
            at.learn(*element_of(at, goal))
        except Undefined:
            return

    def cases(self, at: Context, depth: int, goal: Any, test: Any, yes: Any, no: Any) -> None:
        """The goal where an element is >= 0 and where it is < 0."""
        self.each(at, depth, goal, [("<=", 0, tree(test)), ("<", tree(test), 0)], [yes, no])

    def one_of(self, at: Context, depth: int, goal: Any, place: int, proofs: Sequence[Any]) -> None:
        """The goal under each part of a hypothesis ``["or", ...]``; a part may be ``["and", ...]``."""
        head, parts = split(tree(self.hypotheses[place]))
        demand(head == "or", "no alternatives")
        self.each(at, depth, goal, parts, proofs)

    def induction(self, at: Context, depth: int, goal: Any, name: str, start: Any, base: Any, step: Any) -> None:
        """The goal for an integer letter >= start: at start, and at n + 1 where it holds at n."""
        first, letter = at.of(tree(start)), at.of(name)
        fits = at.sorts[name] == "integer" and at.integral(first) and name not in names(first)
        demand(fits and at.known(letter - first, ">="), f"{name} is not known to be an integer from the start on")
        free = [None if one is None or name in letters(tree(one)) else one for one in self.hypotheses]
        for moved, lines in ((tree(start), base), (("+", name, 1), step)):
            inside = Context(at.sorts, [(p, o) for p, o in at.facts if name not in names(p)])
            if lines is step:
                inside.learn(letter - first, ">=")
            Proof([*free, goal] if lines is step else free).run(inside, lines, depth + 1)
            demand(reached(inside, substituted(tree(goal), {name: moved})), "the induction does not reach its goal")
        at.learn(*element_of(at, goal))

    def terms(self, at: Context, total: Any) -> None:
        """``sum(i = a..b) = sum(i = a..b - 1) + term(b)`` for integers a <= b; the sum is 0 for a > b."""
        node = tree(total)
        body, index, low, high = split(node)[1]
        element, length = at.of(node), at.of(high) - at.of(low)
        if not at.known(-length, ">"):
            demand(at.known(length, ">="), "the range may be empty or not")
            before = ("sum", body, index, low, ("+", high, -1))
            element = element - at.of(before) - at.of(substituted(body, {index: high}))
        at.learn(element, "==")


def leaves(goal: Any, box: Mapping[str, Interval], splits: Any, depth: int = 60) -> None:
    """The goal on each leaf of a tree of splits ``[letter, point, below, above]``; None is a leaf."""
    work.spend(5)
    if splits is None:
        demand(certain(goal, box), "a leaf does not show it")
        return
    name, place, *halves = splits
    (low, high), point = box[name], rational(place)
    demand(low <= point <= high and depth > 0 and len(halves) == 2, "a split outside of its box, or too many")
    for half, ends in zip(halves, ((low, point), (point, high))):
        leaves(goal, {**box, name: ends}, half, depth - 1)


RULES: dict[str, Callable[..., None]] = {
    "hypothesis": Proof.hypothesis, "identity": Proof.identity, "known": Proof.plain, "root": Proof.root,
    "raise": Proof.raised, "exponent": Proof.exponent, "log": Proof.logarithm, "log-rises": Proof.log_rises,
    "number": Proof.boxes, "boxes": Proof.boxes, "floor": Proof.floor, "whole": Proof.whole, "max": Proof.maximum,
    "square": Proof.square, "cases": Proof.cases, "one-of": Proof.one_of, "induction": Proof.induction,
    "last-term": Proof.terms,
}  # fmt: skip
NESTED = ("cases", "one-of", "induction")

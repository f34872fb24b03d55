"""The rules of a proof: each line adds one fact (or two) to what is known, and is proved in docs/certificates.md.

A line is ``[rule, argument, ...]``. A goal is ``[op, left, right]``; it becomes the fact ``right - left op 0`` (or
``left - right``). ``known`` below means: among the facts, up to a positive factor, or plain (nonnegative terms).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from bilevel_check.context import Context
from bilevel_check.facts import Undefined, power_of_one
from bilevel_check.intervals import Evaluation, Interval
from bilevel_check.ring import Atom, Poly, is_zero, names, number
from bilevel_check.terms import (
    RELATIONS,
    Refused,
    Tree,
    letter_of,
    letters,
    rational_of,
    split,
    substituted,
    tree,
    work,
)

PRECISIONS = (64, 160, 400)
"""Bits that are tried to tell the sign of a number."""


class Failed(Refused):
    """A line that does not follow."""


def demand(answer: bool, why: str) -> None:
    """Refuse with a reason unless the answer is yes."""
    if not answer:
        raise Failed(why)


def goal_of(data: Any) -> tuple[str, Tree, Tree]:
    """``(op, smaller, larger)`` with op one of ``>=``, ``>``, ``==``: the fact is ``larger - smaller op 0``."""
    if not isinstance(data, list) or len(data) != 3 or data[0] not in RELATIONS:
        raise Refused(f"{str(data)[:60]} is no relation")
    op, left, right = data[0], tree(data[1]), tree(data[2])
    if op in (">", ">="):
        left, right = right, left
    return {"<=": ">=", "<": ">"}.get(op, str(op)), left, right


def element_of(at: Context, data: Any) -> tuple[Poly, str]:
    """A goal as ``(element, op)``."""
    op, small, large = goal_of(data)
    return at.of(large) - at.of(small), op


def letters_of(condition: Any) -> set[str]:
    """Free letters of a condition of a statement."""
    parts = condition[1:]
    each = (letters_of(part) if condition[0] in ("and", "or") else letters(tree(part)) for part in parts)
    return set().union(*each)


def defined_element(at: Context, goal: Any) -> tuple[Poly, str] | None:
    """The goal as a fact; None where it is not known to be defined."""
    try:
        return element_of(at, goal)
    except Undefined:
        return None


def reached(at: Context, goal: Any, element: tuple[Poly, str] | None = None) -> bool:
    """Whether a goal is known, in the form that its tree or the element has here."""
    if goal_of(goal) in at.proved or (element is not None and at.known(*element)):
        return True
    here = defined_element(at, goal)
    return here is not None and at.known(*here)


def conclude(at: Context, goal: Any, element: tuple[Poly, str] | None) -> None:
    """Keep a goal that was shown in every case."""
    if element is None:
        at.proved.add(goal_of(goal))
    else:
        at.learn(*element)


class Proof:
    """Runs the lines of a proof in a context; ``hypotheses`` are the ones of the statement."""

    def __init__(self, hypotheses: Sequence[Any]) -> None:
        self.hypotheses = hypotheses

    def run(self, at: Context, lines: Any, depth: int = 0) -> None:
        """All lines in order.

        Raises
        ------
        Refused : the first line that does not follow, with its place.
        """
        demand(isinstance(lines, list) and depth <= 20, "a proof is a list of lines, nested at most 20 deep")
        for place, line in enumerate(lines):
            try:
                work.spend(10)
                demand(isinstance(line, list) and bool(line) and isinstance(line[0], str), "a line is a list")
                rule = RULES.get(line[0])
                if rule is None:
                    raise Failed(f"there is no rule {line[0]!r}")
                rule(self, at, depth, *line[1:])
            except Refused as error:
                raise type(error)(*error_parts(error, f"line {place + 1} ({str(line)[2:14]}...)")) from None
            except (TypeError, ValueError, ZeroDivisionError, IndexError, KeyError, OverflowError) as error:
                raise Failed(f"line {place + 1}: {type(error).__name__}: {str(error)[:80]}") from None

    # ---- hypotheses, polynomial identities --------------------------------------------------------------------------

    def hypothesis(self, at: Context, depth: int, place: int) -> None:
        """A hypothesis of the statement."""
        at.learn(*element_of(at, self.hypotheses[place]))

    def identity(self, at: Context, depth: int, goal: Any, parts: list[Any], multiplier: Any = 1) -> None:
        """``multiplier * goal = sum of cofactor * squares * product of facts``, an identity of the ring."""
        element, op = element_of(at, goal)
        factor = at.of(tree(multiplier))
        demand(at.known(factor, "!=" if op == "==" else ">"), "the multiplier is not known to be positive")
        total, strict = number(0), False
        for cofactor, facts, squares in parts:
            value, equal, positive = at.of(tree(cofactor)), False, True
            sign = at.known(value, ">")
            nonnegative = sign or at.known(value, ">=")
            for place in facts:
                demand(isinstance(place, int) and 0 <= place < len(at.facts), f"there is no fact {place}")
                fact, relation = at.facts[place]
                demand(relation != "!=", "a fact that has no sign")
                value, equal, positive = value * fact, equal or relation == "==", positive and relation == ">"
            for square in squares:
                root = at.of(tree(square))
                value, positive = value * root * root, positive and at.known(root, "!=")
            demand(equal or nonnegative, "a cofactor that is not known to be nonnegative")
            demand(equal or op != "==", "an equality needs equalities")
            strict, total = strict or (sign and positive and not equal), total + value
        demand(op != ">" or strict, "a strict relation needs a strict term")
        demand(is_zero(element * factor - total), "the identity does not hold")
        at.learn(element, op)

    def plain(self, at: Context, depth: int, goal: Any) -> None:
        """What is known."""
        element, op = element_of(at, goal)
        demand(at.known(element, op), "this is not known")
        at.learn(element, op)

    # ---- powers, logarithms, exponentials ---------------------------------------------------------------------------

    def root(self, at: Context, depth: int, goal: Any, exponent: Any) -> None:
        """``left op right`` from ``left**q op right**q``, ``right >= 0`` (and ``left >= 0``) and q > 0."""
        op, small, large = goal_of(goal)
        q, left, right = at.of(tree(exponent)), at.of(small), at.of(large)
        demand(
            at.known(q, ">") and at.known(left, ">=") and at.known(right, ">="), "signs of the sides or the exponent"
        )
        demand(at.known(at.power(right, q) - at.power(left, q), op), "the powers are not known to compare")
        at.learn(right - left, op)

    def raised(self, at: Context, depth: int, goal: Any, exponent: Any) -> None:
        """``left**e <= right**e`` from ``0 <= left <= right`` and e >= 0; turned round where e <= 0 and left > 0."""
        op, small, large = goal_of(goal)
        e, left, right = at.of(tree(exponent)), at.of(small), at.of(large)
        demand(at.known(left, ">=") and at.known(right - left, op), "the bases are not known to compare")
        sign = 1 if at.known(e, ">" if op == ">" else ">=") else -1
        if sign < 0:
            demand(at.known(left, ">") and at.known(-e, ">" if op == ">" else ">="), "the sign of the exponent")
        at.learn((at.powers(large, e) - at.powers(small, e)) * number(sign), op)

    def exponent(self, at: Context, depth: int, base: Any, goal: Any) -> None:
        """``b**s <= b**t`` from ``s <= t`` and b >= 1; turned round for 0 < b <= 1."""
        op, small, large = goal_of(goal)
        b, s, t = at.of(tree(base)), at.of(small), at.of(large)
        demand(at.known(b, ">") and at.known(t - s, op), "the base or the exponents")
        beyond = ">" if op == ">" else ">="
        difference = at.power(b, t) - at.power(b, s)
        if at.known(b - number(1), beyond):
            at.learn(difference, op)
            return
        demand(at.known(number(1) - b, beyond), "the base is not known to lie on one side of 1")
        at.learn(-difference, op)

    def logarithm(self, at: Context, depth: int, value: Any) -> None:
        """``log y <= y - 1`` for y > 0."""
        y = at.of(tree(value))
        at.learn(y - number(1) - at.log(y), ">=")

    def log_rises(self, at: Context, depth: int, goal: Any) -> None:
        """``log left op log right`` from ``0 < left op right``."""
        op, small, large = goal_of(goal)
        left, right = at.of(small), at.of(large)
        demand(at.known(left, ">") and at.known(right - left, op), "the arguments are not known to compare")
        at.learn(at.log(right) - at.log(left), op)

    # ---- numbers ----------------------------------------------------------------------------------------------------

    def numbers(self, at: Context, depth: int, goal: Any) -> None:
        """A relation between numbers, by rational intervals."""
        op, small, large = goal_of(goal)
        element = at.of(large) - at.of(small)
        demand(certain(op, small, large, {}), "the intervals do not show it")
        at.learn(element, op)

    def boxes(self, at: Context, depth: int, goal: Any, ranges: dict[str, Any], splits: Any) -> None:
        """A relation on a box of letters, by intervals on the leaves of a tree of splits."""
        op, small, large = goal_of(goal)
        element = at.of(large) - at.of(small)
        box: dict[str, Interval] = {}
        for name, (low, high) in ranges.items():
            ends = rational_of(tree(low)), rational_of(tree(high))
            letter = at.of(name)
            demand(at.known(letter - number(ends[0]), ">="), f"{name} is not known to be above {ends[0]}")
            demand(at.known(number(ends[1]) - letter, ">="), f"{name} is not known to be below {ends[1]}")
            box[name] = ends
        leaves(box, splits, lambda inside: demand(shown(op, small, large, inside, 64), "a leaf does not show it"))
        at.learn(element, op)

    # ---- integers, maxima -------------------------------------------------------------------------------------------

    def floor(self, at: Context, depth: int, value: Any) -> None:
        """``floor(x) <= x < floor(x) + 1``."""
        x = at.of(tree(value))
        whole = x if at.integral(x) else power_of_one(Atom("floor", x))
        at.learn(x - whole, ">=")
        at.learn(whole + number(1) - x, ">")

    def whole(self, at: Context, depth: int, goal: Any) -> None:
        """``left + 1 <= right`` from ``left < right`` where the difference is an integer."""
        element, op = element_of(at, goal)
        demand(op == ">" and at.integral(element) and at.known(element, ">"), "no strict relation of integers")
        at.learn(element - number(1), ">=")

    def maximum(self, at: Context, depth: int, parts: list[Any], place: Any = None) -> None:
        """A maximum is at least each of its parts, and equal to a part that is known to be the largest."""
        values = [at.of(tree(part)) for part in parts]
        whole = power_of_one(Atom("max", *sorted(set(values), key=hash)))
        if place is None:
            for value in values:
                at.learn(whole - value, ">=")
            return
        demand(all(at.known(values[place] - other, ">=") for other in values), "not known to be the largest")
        at.learn(whole - values[place], "==")

    # ---- cases, induction, sums -------------------------------------------------------------------------------------

    def cases(self, at: Context, depth: int, goal: Any, test: Any, yes: Any, no: Any) -> None:
        """The goal where an element is >= 0 and where it is < 0; it may be defined by what each case adds."""
        middle, element = at.of(tree(test)), defined_element(at, goal)
        for fact, lines in (((middle, ">="), yes), ((-middle, ">"), no)):
            inside = at.inner()
            inside.learn(*fact)
            self.run(inside, lines, depth + 1)
            demand(reached(inside, goal, element), "a case does not reach the goal")
        conclude(at, goal, element)

    def one_of(self, at: Context, depth: int, goal: Any, place: int, proofs: list[Any]) -> None:
        """The goal under each part of a hypothesis ``["or", ...]``; a part may be ``["and", ...]``."""
        words, element = self.hypotheses[place], defined_element(at, goal)
        demand(isinstance(words, list) and words[0] == "or" and len(words) == len(proofs) + 1, "no such alternatives")
        for part, lines in zip(words[1:], proofs):
            inside = at.inner()
            for one in part[1:] if part[0] == "and" else [part]:
                inside.learn(*element_of(inside, one))
            self.run(inside, lines, depth + 1)
            demand(reached(inside, goal, element), "an alternative does not reach the goal")
        conclude(at, goal, element)

    def induction(self, at: Context, depth: int, goal: Any, name: str, start: Any, base: Any, step: Any) -> None:
        """The goal for an integer letter >= start: at start, and at n + 1 where it holds at n."""
        op, small, large = goal_of(goal)
        first = at.of(tree(start))
        demand(
            at.sorts.get(name) == "integer" and at.integral(first) and name not in names(first), "the induction letter"
        )
        letter = at.of(name)
        demand(at.known(letter - first, ">="), f"{name} is not known to be at least the start")
        for moved, lines in ((tree(start), base), (("+", name, 1), step)):
            inside = Context(at.sorts, [(p, o) for p, o in at.facts if name not in names(p)])
            given = [self.without(one, name) for one in self.hypotheses]
            if lines is step:
                inside.learn(letter - first, ">=")
                given.append(goal)  # the induction hypothesis, to be used once its parts are known to be defined
            Proof(given).run(inside, lines, depth + 1)
            left, right = (inside.of(substituted(side, {name: moved})) for side in (small, large))
            demand(inside.known(right - left, op), "the induction does not reach its goal")
        at.learn(at.of(large) - at.of(small), op)

    def without(self, condition: Any, name: str) -> Any:
        """A hypothesis that does not mention a letter; None for one that does, which no line can then use."""
        return None if condition is None or name in letters_of(condition) else condition

    def last_term(self, at: Context, depth: int, total: Any) -> None:
        """``sum(i = a..b) = sum(i = a..b - 1) + term(b)`` for integers a <= b."""
        _, (body, name, low, high) = split(tree(total))
        index = letter_of(name)
        first, last = at.of(low), at.of(high)
        demand(at.integral(first) and at.integral(last) and at.known(last - first, ">="), "the range may be empty")
        before = at.of(("sum", body, index, low, ("+", high, -1)))
        at.learn(at.of(tree(total)) - before - at.of(substituted(body, {index: high})), "==")

    def no_term(self, at: Context, depth: int, total: Any) -> None:
        """A sum from a to b is 0 for integers b < a."""
        _, (_, _, low, high) = split(tree(total))
        first, last = at.of(low), at.of(high)
        demand(at.integral(first) and at.integral(last) and at.known(first - last, ">"), "the range may not be empty")
        at.learn(at.of(tree(total)), "==")

    # ---- vectors ----------------------------------------------------------------------------------------------------

    def square(self, at: Context, depth: int, vector: Any) -> None:
        """``<v, v> >= 0``."""
        node = tree(vector)
        at.learn(at.dot(node, node), ">=")


def leaves(
    box: dict[str, Interval], splits: Any, visit: Callable[[dict[str, Interval]], None], depth: int = 60
) -> None:
    """Visit the leaves of a tree of splits ``[letter, point, below, above]``; None is a leaf."""
    demand(depth > 0, "too many splits")
    work.spend(5)
    if splits is None:
        visit(box)
        return
    name, place, below, above = splits
    low, high = box[name]
    point = rational_of(tree(place))
    demand(low <= point <= high, "a split outside of its box")
    leaves({**box, name: (low, point)}, below, visit, depth - 1)
    leaves({**box, name: (point, high)}, above, visit, depth - 1)


def shown(op: str, small: Tree, large: Tree, box: dict[str, Interval], bits: int) -> bool:
    """Whether intervals show ``large - small op 0`` on a whole box."""
    here = Evaluation(box, bits)
    (_, top), (bottom, _) = here.of(small), here.of(large)
    if op == "==":
        return here.holds(("==", small, large)) is True
    return top < bottom or (op == ">=" and top <= bottom)


def certain(op: str, small: Tree, large: Tree, at: dict[str, Interval]) -> bool:
    """Whether intervals of growing precision show a relation between numbers."""
    return any(_attempt(op, small, large, at, bits) for bits in PRECISIONS)


def _attempt(op: str, small: Tree, large: Tree, at: dict[str, Interval], bits: int) -> bool:
    try:
        return shown(op, small, large, at, bits)
    except Refused:
        return False


def error_parts(error: Refused, where: str) -> tuple[Any, ...]:
    """The arguments of an error again, with the place in front of a message."""
    if hasattr(error, "element"):
        return error.element, error.op  # type: ignore[attr-defined]
    return (f"{where}: {error}",)


RULES: dict[str, Callable[..., None]] = {
    "hypothesis": Proof.hypothesis, "identity": Proof.identity, "known": Proof.plain,
    "root": Proof.root, "raise": Proof.raised, "exponent": Proof.exponent,
    "log": Proof.logarithm, "log-rises": Proof.log_rises, "number": Proof.numbers,
    "boxes": Proof.boxes, "floor": Proof.floor, "whole": Proof.whole, "max": Proof.maximum, "cases": Proof.cases,
    "one-of": Proof.one_of, "induction": Proof.induction, "last-term": Proof.last_term, "no-term": Proof.no_term,
    "square": Proof.square,
}  # fmt: skip

"""Trees as z3 terms, with what is true of the fresh variables that stand for roots and functions.

Roots become fresh variables (``w >= 0, w**q == b``); logarithms, exponentials and powers with a letter in the exponent
become fresh variables with facts that are true of them, so that ``unsat`` stays a proof. Integer letters are relaxed to
reals.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from fractions import Fraction
from functools import reduce
from types import ModuleType
from typing import TYPE_CHECKING, Any

from bilevel_verify.audit.scalar.claim import ScalarClaim
from bilevel_verify.audit.scalar.integers import even, odd, whole
from bilevel_verify.audit.scalar.linear import linear_form
from bilevel_verify.audit.scalar.signs import nonnegative, positive
from bilevel_verify.language import tree
from bilevel_verify.language.binding import binder
from bilevel_verify.language.elementary import INCREASING

if TYPE_CHECKING:
    from z3 import ExprRef, ModelRef

ROOT_LIMIT = 24
POWER_LIMIT = 40
PI_BELOW, PI_ABOVE = Fraction("3.14159265358979"), Fraction("3.14159265358980")


class Unsupported(Exception):
    """A function outside the theory."""


class Translation:
    """Trees to z3 terms; collects the facts that belong to fresh variables.

    A fact that holds only where a branch of a condition is taken is guarded by that condition. Terms belong to the
    given context of z3 (its main one by default).
    """

    def __init__(self, z3: ModuleType, claim: ScalarClaim, context: object = None) -> None:
        self.z3, self.domains, self.context = z3, claim.domains, context
        self.guards: list[ExprRef] = []
        self.facts: list[ExprRef] = []
        self.letters: dict[str, ExprRef] = {}
        self.fresh: dict[tuple[Any, ...], ExprRef] = {}
        self.powers: dict[tuple[str, tree.Node, tree.Node], tuple[ExprRef, ExprRef, bool]] = {}
        self.letter_powers: dict[tuple[tree.Node, str], tuple[ExprRef, ExprRef, ExprRef]] = {}

    @contextmanager
    def under(self, guard: object) -> Iterator[None]:
        """Facts that are added inside hold only where the guard does."""
        self.guards.append(guard)
        try:
            yield
        finally:
            self.guards.pop()

    def add(self, *facts: ExprRef) -> None:
        """Facts, under the conditions of the branches that are open."""
        if self.guards:
            facts = tuple(self.z3.Implies(self.z3.And(self.guards), fact) for fact in facts)
        self.facts += facts

    def size(self) -> str:
        """What the translation consists of, for the certificate."""
        return f"{len(self.letters)} letters, {len(self.fresh)} auxiliary variables"

    def letter(self, name: str) -> ExprRef:
        if name in ("oo", "E"):
            raise Unsupported(f"{name} is outside real arithmetic")
        if name == "pi":
            pi = self.letters.setdefault("pi", self.real("pi"))
            self.facts += [pi > self.number(PI_BELOW), pi < self.number(PI_ABOVE)]
            return pi
        return self.letters.setdefault(name, self.real(name))

    def number(self, value: Fraction) -> ExprRef:
        return self.z3.RealVal(f"{value.numerator}/{value.denominator}", self.context)

    def real(self, name: str) -> ExprRef:
        """A real unknown."""
        return self.z3.Real(name, self.context)

    def term(self, node: tree.Node) -> ExprRef:
        match node:
            case tree.Number(value=value):
                return self.number(value)
            case tree.Letter(name=name):
                return self.letter(name)
            case tree.Add(terms=terms):
                return self.z3.Sum([self.term(t) for t in terms])
            case tree.Multiply(factors=factors):
                return reduce(lambda a, b: a * b, [self.term(f) for f in factors])
            case tree.Divide(numerator=top, denominator=bottom):
                below = self.term(bottom)
                self.add(below != 0)
                return self.term(top) / below
            case tree.Negate(operand=operand):
                return -self.term(operand)
            case tree.Power(base=base, exponent=exponent):
                return self.power(base, exponent)
            case tree.Conditional(test=test, yes=yes, no=no):
                return self.branches(self.condition(test), yes, no)
            case tree.Call():
                return self.call(node)
        raise Unsupported(f"{type(node).__name__} is outside real arithmetic")

    def assumptions(self, claim: ScalarClaim) -> Iterator[object]:
        """The hypotheses; one that is outside real arithmetic is left out, which only weakens them."""
        for condition in claim.conditions():
            try:
                yield self.condition(condition)
            except Unsupported:
                continue

    def branches(self, test: object, yes: tree.Node, no: tree.Node) -> object:
        values = []
        for guard, branch in ((test, yes), (self.z3.Not(test), no)):
            with self.under(guard):
                values.append(self.term(branch))
        return self.z3.If(test, *values)

    def condition(self, node: tree.Node) -> ExprRef:
        z3 = self.z3
        match node:
            case tree.Compare(operands=operands, operators=operators):
                terms = [self.term(o) for o in operands]
                return z3.And([self.relation(op, a, b) for op, a, b in zip(operators, terms, terms[1:])])
            case tree.Logical(operator=word, operands=operands):
                parts = [self.condition(o) for o in operands]
                return z3.And(parts) if word == "and" else z3.Or(parts)
            case tree.Not(operand=operand):
                return z3.Not(self.condition(operand))
            case tree.Truth(value=value):
                return z3.BoolVal(value, self.context)
        raise Unsupported(f"{type(node).__name__} is not a condition")

    @staticmethod
    def relation(op: str, left: ExprRef, right: object) -> ExprRef:
        return {"<=": left <= right, "<": left < right, ">=": left >= right, ">": left > right, "==": left == right}[op]

    def power(self, base: tree.Node, exponent: tree.Node) -> ExprRef:
        constant, rest = _split_exponent(exponent)
        if not rest:
            return self.rational_power(base, constant)
        known = ("power", base, exponent)
        if known not in self.powers:
            plain = positive(base, self.domains) or self.splits_at_zero(base, constant, rest)
            value = self.split_power(base, constant, rest) if plain else self.unsplit_power(base, exponent)
            self.compare_equal_exponents(known, value, plain)
            self.powers[known] = (self.term(base), value, plain)
        return self.powers[known][1]

    def splits_at_zero(self, base: tree.Node, constant: Fraction, rest: list[tuple[str, Fraction]]) -> bool:
        """Whether ``0**(a + b) == 0**a * 0**b``: a base that is nonnegative, and so are all parts of the exponent."""
        if constant < 0 or not nonnegative(base, self.domains):
            return False
        return all(
            nonnegative(tree.Multiply((tree.signed(factor), tree.Letter(letter))), self.domains)
            for letter, factor in rest
        )

    def compare_equal_exponents(self, known: tuple[str, tree.Node, tree.Node], value: ExprRef, plain: bool) -> None:
        """Monotone in the base, bases of 0 included, where one of the powers could not be split."""
        z3, b, e = self.z3, self.term(known[1]), self.term(known[2])
        for (_, _, exponent), (other, there, other_plain) in self.powers.items():
            if exponent == known[2] and not (plain and other_plain):
                for low, high, one, two in ((b, other, value, there), (other, b, there, value)):
                    self.facts.append(z3.Implies(z3.And(low >= 0, low <= high, e >= 0), one <= two))

    def split_power(self, base: tree.Node, constant: Fraction, rest: list[tuple[str, Fraction]]) -> ExprRef:
        """``base**(2*n + 1/2)`` as a product of powers; right where the base is positive."""
        result = self.rational_power(base, constant)
        for letter, factor in rest:
            if factor.denominator > ROOT_LIMIT:
                raise Unsupported("an exponent with a large denominator")
            piece = self.letter_power(base, letter)
            result = result * self.rational_power_of_term(piece, factor, ("letter", base, letter))
        return result

    def unsplit_power(self, base: tree.Node, exponent: tree.Node) -> ExprRef:
        """A power of a base of any sign: split where it is positive; integer powers of negative bases by their size."""
        z3, known, split = self.z3, ("power", base, exponent), _split_exponent(exponent)
        b, e, value = self.term(base), self.term(exponent), self.auxiliary(known)
        self.add(z3.Not(z3.And(b == 0, e < 0)))
        self.add(z3.Implies(z3.And(b == 0, e > 0), value == 0), z3.Implies(e == 0, value == 1))
        with self.under(b > 0):
            self.add(value == self.split_power(base, *split))
        if whole(exponent, self.domains):
            with self.under(b < 0):
                size = self.split_power(tree.Call("abs", (base,)), *split)
                signs = [] if odd(exponent, self.domains) else [value == size]
                signs += [] if even(exponent, self.domains) else [value == -size]
                self.add(z3.Or(signs))
        return value

    def rational_power(self, base: tree.Node, exponent: Fraction) -> object:
        if exponent == 0:
            return self.number(Fraction(1))
        return self.rational_power_of_term(self.term(base), exponent, ("root", base))

    def rational_power_of_term(self, term: object, exponent: Fraction, key: tuple[object, ...]) -> ExprRef:
        top, bottom = exponent.numerator, exponent.denominator
        if abs(top) > POWER_LIMIT or bottom > ROOT_LIMIT:
            raise Unsupported(f"the exponent {exponent}")
        root = term
        if bottom > 1:
            root = self.auxiliary((*key, bottom))
            self.add(root >= 0, _product(root, bottom) == term)
        if top < 0:
            self.add(root != 0)
            return self.number(Fraction(1)) / _product(root, -top)
        return _product(root, top)

    def letter_power(self, base: tree.Node, letter: str) -> ExprRef:
        """``base**letter``: a fresh variable with what is true of it where the base is positive (or 0)."""
        if (base, letter) in self.letter_powers:
            return self.letter_powers[base, letter][2]
        value, b, e = self.auxiliary(("letter power", base, letter)), self.term(base), self.letter(letter)
        z3 = self.z3
        unit, positive = z3.And(e >= 0, e <= 1), b > 0
        above, below = z3.And(positive, b >= 1), z3.And(positive, b <= 1)
        tangent = 1 + e * (b - 1)
        guarded = [
            (z3.And(b == 0, e > 0), value == 0),
            (e == 0, value == 1),
            (e == 1, value == b),
            (b == 1, value == 1),
            (positive, value > 0),
            (z3.And(above, e >= 0), value >= 1),
            (z3.And(below, e >= 0), value <= 1),
            (z3.And(above, e <= 0), value <= 1),
            (z3.And(below, e <= 0), value >= 1),
            (z3.And(unit, above), value <= b),
            (z3.And(unit, below), value >= b),
            (z3.And(above, e >= 1), value >= b),
            (z3.And(below, e >= 1), value <= b),
            (z3.And(unit, positive), value <= tangent),
            (z3.And(positive, z3.Or(e >= 1, e <= 0)), value >= tangent),
            (z3.And(unit, positive), value * (b + e * (1 - b)) >= b),
        ]
        self.facts += [z3.Implies(condition, fact) for condition, fact in guarded]
        self.compare_powers((base, letter), b, e, value)
        self.letter_powers[base, letter] = (b, e, value)
        return value

    def compare_powers(self, known: tuple[tree.Node, str], b: ExprRef, e: ExprRef, value: ExprRef) -> None:
        """Monotone in the base and in the exponent, against the powers that are there already."""
        z3 = self.z3
        for (other, letter), (base, exponent, there) in self.letter_powers.items():
            both, new = z3.And(b > 0, base > 0), []
            if letter == known[1]:
                for low, high, one, two in ((b, base, value, there), (base, b, there, value)):
                    new.append(z3.Implies(z3.And(both, low <= high, e >= 0), one <= two))
                    new.append(z3.Implies(z3.And(both, low <= high, e <= 0), one >= two))
            if other == known[0]:
                for low, high, one, two in ((e, exponent, value, there), (exponent, e, there, value)):
                    new.append(z3.Implies(z3.And(b >= 1, low <= high), one <= two))
                    new.append(z3.Implies(z3.And(both, b <= 1, low <= high), one >= two))
            self.facts += new

    def call(self, node: tree.Call) -> ExprRef:
        z3 = self.z3
        if binder(node) is not None:
            raise Unsupported(f"a {node.function} over a range")
        if node.function in ("log", "exp") or node.function in BOUNDS:
            return self.known_by_facts(node)
        arguments = [self.term(a) for a in node.arguments]
        match node.function:
            case "sqrt":
                return self.rational_power_of_term(arguments[0], Fraction(1, 2), ("root", node.arguments[0]))
            case "abs":
                return z3.If(arguments[0] >= 0, arguments[0], -arguments[0])
            case "plus":
                return z3.If(arguments[0] >= 0, arguments[0], self.number(Fraction(0)))
            case "max":
                return reduce(lambda a, b: z3.If(a >= b, a, b), arguments)
            case "min":
                return reduce(lambda a, b: z3.If(a <= b, a, b), arguments)
            case "sign":
                zero = z3.If(arguments[0] < 0, self.number(Fraction(-1)), self.number(Fraction(0)))
                return z3.If(arguments[0] > 0, self.number(Fraction(1)), zero)
            case "floor" | "ceil":
                return self.rounded(node, arguments[0], up=node.function == "ceil")
        raise Unsupported(f"{node.function} is outside real arithmetic")

    def rounded(self, node: tree.Call, term: ExprRef, up: bool) -> object:
        """Relaxation: the rounded value lies less than 1 away on the right side."""
        value = self.auxiliary(("rounded", node.function, node.arguments[0]))
        self.add(*([value >= term, value < term + 1] if up else [value <= term, value > term - 1]))
        return value

    def known_by_facts(self, node: tree.Call) -> ExprRef:
        """A function's value as a fresh variable with what is true of it."""
        argument, known = self.term(node.arguments[0]), (node.function, node.arguments[0])
        if known not in self.fresh:
            facts = self.bounded if node.function in BOUNDS else self.transcendental
            facts(known, argument, self.auxiliary(known))
        return self.fresh[known]

    def transcendental(self, known: tuple[str, tree.Node], argument: ExprRef, value: ExprRef) -> None:
        """Tangent bounds of ``log`` and ``exp``, and their order among each other."""
        z3, function = self.z3, known[0]
        if function == "log":
            self.add(argument > 0, value <= argument - 1, value * argument >= argument - 1)
        else:
            self.add(value > 0, value >= 1 + argument, z3.Implies(argument < 1, value * (1 - argument) <= 1))
        for there, variable in self.ordered(known, argument, value):
            pairs = ((value, argument, variable, there), (variable, there, value, argument))
            for one, at, two, at_two in pairs:  # tangents at each other's places
                log = (one - two) * at_two <= at - at_two
                self.add(log if function == "log" else one >= two * (1 + at - at_two))

    def ordered(self, known: tuple[str, tree.Node], argument: ExprRef, value: ExprRef) -> list[tuple[ExprRef, ExprRef]]:
        """Order an increasing function's value among its earlier ones; their arguments and values."""
        earlier = []
        for other, variable in list(self.fresh.items()):
            if other[0] == known[0] and other != known:
                there = self.term(other[1])
                self.add(self.z3.Implies(argument <= there, value <= variable))
                self.add(self.z3.Implies(argument >= there, value >= variable))
                earlier.append((there, variable))
        return earlier

    def bounded(self, known: tuple[str, tree.Node], argument: ExprRef, value: ExprRef) -> None:
        """What the table of bounds says of a function."""
        self.add(*[self.z3.Implies(guard, fact) for guard, fact in BOUNDS[known[0]](argument, value)])
        if known[0] == "atan":
            pi = self.letter("pi")
            self.add(2 * value < pi, -2 * value < pi)
        if known[0] in INCREASING:  # with the facts above only: the root and the logarithm go other ways
            self.ordered(known, argument, value)

    def point(self, model: ModelRef) -> dict[str, Fraction]:
        """Rational values of the letters in a model, irrational ones rounded to 20 digits."""
        found = {}
        for name, variable in self.letters.items():
            value = model.eval(variable, model_completion=True)
            if self.z3.is_algebraic_value(value):
                value = value.approx(20)
            if name != "pi" and self.z3.is_rational_value(value):
                found[name] = Fraction(value.numerator_as_long(), value.denominator_as_long())
        return found

    def auxiliary(self, key: tuple[object, ...]) -> ExprRef:
        if key not in self.fresh:
            self.fresh[key] = self.real(f"aux{len(self.fresh)}")
        return self.fresh[key]


def _odd(
    above: Callable[[ExprRef, ExprRef], list[ExprRef]],
) -> Callable[[ExprRef, ExprRef], list[tuple[ExprRef, ExprRef]]]:
    """Facts about an odd increasing function at t >= 0, and their mirror images."""

    def facts(t: ExprRef, v: ExprRef) -> list[tuple[ExprRef, ExprRef]]:
        return [(t >= 0, fact) for fact in above(t, v)] + [(t <= 0, fact) for fact in above(-t, -v)]

    return facts


BOUNDS: dict[str, Callable[[ExprRef, ExprRef], list[tuple[ExprRef, ExprRef]]]] = {
    "tanh": _odd(lambda t, v: [v >= 0, v < 1, v <= t, v * (1 + t) >= t]),
    "atan": _odd(lambda t, v: [v >= 0, v * 10_000 < 15_708, v <= t, v * (1 + t * t) >= t]),
    "erf": _odd(lambda t, v: [v >= 0, v <= 1, v * 1_000 <= 1_129 * t]),
    "sinh": _odd(lambda t, v: [v * 6 >= 6 * t + t * t * t]),
    "asinh": _odd(lambda t, v: [v >= 0, v <= t]),
    "sin": _odd(lambda t, v: [v <= 1, v >= -1, v <= t, v * 6 >= 6 * t - t * t * t]),
    "cos": lambda t, v: [
        (t * t >= 0, fact) for fact in (v <= 1, v >= -1, v * 2 >= 2 - t * t, v * 24 <= 24 - 12 * t * t + t * t * t * t)
    ],
    "cosh": lambda t, v: [(t * t >= 0, v * 2 >= 2 + t * t)],
}
"""What is true of ``v = function(t)``: pairs (guard, fact), for z3 terms and for numbers."""


def _product(term: ExprRef, times: int) -> ExprRef:
    return reduce(lambda a, b: a * b, [term] * times)


def _split_exponent(node: tree.Node) -> tuple[Fraction, list[tuple[str, Fraction]]]:
    """An exponent as constant plus rational multiples of letters.

    Raises
    ------
    Unsupported : it is not of that form.
    """
    form = linear_form(node)
    if form is None:
        raise Unsupported("an exponent that is not affine in the letters")
    return form[0], sorted(form[1].items())

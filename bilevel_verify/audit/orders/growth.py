"""Order algebra: how a positive expression grows when the letters of a regime do.

An expression becomes a tree of maxima and minima over *log-linear forms*: a vector of exponents, one for each letter,
and a log-degree as a second, lexicographically smaller coordinate. ``A = O(B)`` on a regime (a cone of directions in
log-space) fails exactly if along some direction A grows faster; that is a linear programme for each pair of branches,
and its solution is a rational ray a reader can follow: ``kappa = t**2, eps = t**-3, ratio ~ t**(1/2)``.
Exponents may contain letters themselves (``nu_f``); they are compared symbolically first and then on a grid.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from itertools import product
from math import gcd, lcm
from typing import Literal

import sympy

from bilevel_verify.audit.orders.monomials import Clauses, Form, LogArgument, Monomial, NoOrder, Ray, Regime, rational
from bilevel_verify.audit.orders.products import same_logarithm
from bilevel_verify.audit.orders.rays import separate
from bilevel_verify.audit.scalar.linear import linear_form
from bilevel_verify.language import to_text, tree
from bilevel_verify.numbers.exact import Formula
from bilevel_verify.numbers.exact import compare as compare_numbers
from bilevel_verify.theorems.rewrite import free_letters
from bilevel_verify.theorems.vocabulary import NUMBERS

BRANCH_LIMIT = 4_000
Spans = Mapping[str, tuple[Fraction, Fraction]]
"""Letters that stay bounded because they stand in exponents, and the ends of their ranges."""
NONE: Spans = {}
CONSTANT = Monomial({})


@dataclass(frozen=True)
class Growth:
    """Maximum over minima of monomials (``clauses``): the normal form of a sum of quotients."""

    clauses: tuple[tuple[Monomial, ...], ...]

    @property
    def monomials(self) -> tuple[Monomial, ...]:
        """Every monomial, clause by clause."""
        return tuple(monomial for clause in self.clauses for monomial in clause)

    @property
    def monomial(self) -> Monomial | None:
        """The only monomial, if there is just one."""
        return self.clauses[0][0] if len(self.clauses) == 1 and len(self.clauses[0]) == 1 else None

    @property
    def signed(self) -> bool:
        """Whether a logarithm in it may be negative."""
        return any(m.signs for m in self.monomials)

    def _least_of_signed(self) -> bool:
        return any(len(clause) > 1 and any(m.signs for m in clause) for clause in self.clauses)

    def times(self, other: Growth) -> Growth:
        """Product: minima distribute over minima, maxima over maxima."""
        if len(self.clauses) * len(other.clauses) > BRANCH_LIMIT:
            raise NoOrder("too many branches")
        if (self._least_of_signed() and other.signed) or (other._least_of_signed() and self.signed):
            raise NoOrder("a minimum times something, where both may be negative")
        pairs = product(self.clauses, other.clauses)
        return Growth(tuple(_reduced(tuple(a.times(b) for a, b in product(x, y))) for x, y in pairs))

    def largest(self, other: Growth) -> Growth:
        """Maximum (and sum, up to a factor of two)."""
        return Growth(self.clauses + other.clauses)

    def smallest(self, other: Growth) -> Growth:
        """Minimum."""
        return Growth(tuple(_reduced(x + y) for x, y in product(self.clauses, other.clauses)))

    def power(self, exponent: sympy.Expr, spans: Spans = NONE) -> Growth:
        """Power; an exponent that is negative all over the ranges of its letters turns maxima into minima."""
        base = self.size(spans) if exponent.is_even else self
        if _sign(exponent, spans) >= 0:
            return Growth(tuple(tuple(m.power(exponent) for m in clause) for clause in base.clauses))
        return Growth(tuple(_reduced(tuple(m.power(exponent) for m in clause)) for clause in base.dual()))

    def size(self, spans: Spans = NONE) -> Growth:
        """Absolute value: of a sum, at most the largest of its parts.

        Raises
        ------
        NoOrder : a minimum that may be negative, a logarithm that is large where nothing in it seems to move.
        """
        if any(log_argument(argument, spans).vague for m in self.monomials for argument in m.taken):
            raise NoOrder("the absolute value of a logarithm of something whose size is not known")
        if self._least_of_signed():
            raise NoOrder("the absolute value of a minimum that may be negative")
        alone = self.monomial is not None
        return Growth(tuple(_reduced(tuple(m.unsigned(alone) for m in clause)) for clause in self.clauses))

    def dual(self) -> tuple[tuple[Monomial, ...], ...]:
        """The same as a minimum over maxima: one monomial of every clause."""
        size = 1
        for clause in self.clauses:
            size *= len(clause)
        if size > BRANCH_LIMIT:
            raise NoOrder("too many branches")
        return tuple(_reduced(choice) for choice in product(*self.clauses))

    def without_logs(self) -> Growth:
        """Powers alone (and the signs of the logarithms): what a soft order symbol compares."""
        return Growth(
            tuple(_reduced(tuple(Monomial(m.exponents, signs=m.signs) for m in clause)) for clause in self.clauses)
        )


ONE = Growth(((CONSTANT,),))


def growth_of(node: tree.Node, spans: Spans = NONE) -> Growth:
    """Growth of a positive expression; order symbols are transparent, ``softO`` adds one logarithm.

    Raises
    ------
    NoOrder : a difference or a function without an order.
    """
    least = _least(node, spans)
    if least is not None:
        if least <= 0:
            raise NoOrder("a number that may be 0 or negative")
        return _single(CONSTANT)
    match node:
        case tree.Letter(name=name):
            return _single(CONSTANT if name in ("pi", "E") else Monomial({name: sympy.S.One}))
        case tree.Add(terms=terms):
            return _sum(terms, spans)
        case tree.Multiply(factors=factors):
            return _fold("times", [growth_of(f, spans) for f in factors])
        case tree.Divide(numerator=top, denominator=bottom):
            below = growth_of(bottom, spans).power(sympy.S.NegativeOne)
            return growth_of(top, spans).times(below)
        case tree.Power(base=base, exponent=exponent):
            return growth_of(base, spans).power(exponent_of(exponent, spans), spans)
        case tree.Call():
            return _call(node, spans)
    raise NoOrder(f"{type(node).__name__} has no order of growth")


def exponent_of(node: tree.Node, spans: Spans) -> sympy.Expr:
    """An exponent as a rational function of the letters that stay bounded.

    Raises
    ------
    NoOrder : a letter that grows stands in the exponent.
    """
    match node:
        case tree.Number(value=value):
            return sympy.Rational(value.numerator, value.denominator)
        case tree.Letter(name=name) if name in spans:
            return sympy.Symbol(name)
        case tree.Add(terms=terms):
            return sympy.Add(*[exponent_of(t, spans) for t in terms])
        case tree.Multiply(factors=factors):
            return sympy.Mul(*[exponent_of(f, spans) for f in factors])
        case tree.Divide(numerator=top, denominator=bottom):
            return exponent_of(top, spans) / exponent_of(bottom, spans)
        case tree.Negate(operand=operand):
            return -exponent_of(operand, spans)
        case tree.Power(base=base, exponent=tree.Number(value=value)) if value.denominator == 1:
            return exponent_of(base, spans) ** int(value)
    raise NoOrder("an exponent that grows")


def compare(left: Growth, right: Growth, regime: Regime, signed: bool = False) -> Ray | None:
    """None if ``left = O(right)`` for every value of the exponent letters, else a ray on which it fails.

    Parameters
    ----------
    signed : rays along which the left side is negative, because a logarithm in it falls, do not count.

    Raises
    ------
    NoOrder : a letter of which the regime says nothing, or exponents on which the solver gives up.
    """
    for clause in left.clauses:
        for maximum in right.dual():
            ray = separate(clause, maximum, regime, signed)
            if ray is not None:
                return ray
    return None


def same_monomial(left: Growth, right: Growth) -> bool | None:
    """Whether two single monomials agree in every exponent (symbolically); None if they are not single monomials."""
    a, b = left.monomial, right.monomial
    if a is None or b is None:
        return None
    names = {**a.exponents, **b.exponents}
    gaps = [a.exponents.get(n, 0) - b.exponents.get(n, 0) for n in names]
    gaps += [a.logs.get(n, 0) - b.logs.get(n, 0) for n in {**a.logs, **b.logs}]
    return all(sympy.cancel(sympy.sympify(g)) == 0 for g in gaps)


def _single(monomial: Monomial) -> Growth:
    return Growth(((monomial,),))


def _sum(terms: tuple[tree.Node, ...], spans: Spans) -> Growth:
    """A sum of positive terms is its largest; bounded ones that may be 0 are nothing beside a constant."""
    kept, vanishing = [], False
    for term in terms:
        if isinstance(term, tree.Negate):
            raise NoOrder("a difference")
        if _least(term, spans) == 0:
            vanishing = True
        else:
            kept.append(growth_of(term, spans))
    if vanishing and not any(growth.monomial == CONSTANT for growth in kept):
        raise NoOrder("a number that may be 0")
    return _fold("largest", kept)


def _least(node: tree.Node, spans: Spans) -> Fraction | None:
    """The least value of what is affine in letters that stay bounded; None for anything else."""
    form = linear_form(node)
    if form is None or not form[1].keys() <= spans.keys():
        return None
    return form[0] + sum((v * spans[n][0 if v > 0 else 1] for n, v in form[1].items()), Fraction(0))


def _call(node: tree.Call, spans: Spans) -> Growth:
    inner = (
        [growth_of(a, spans) for a in node.arguments if not isinstance(a, tree.Tuple)] if node.function != "log" else []
    )
    match node.function:
        case "O" | "Theta" | "Omega":
            return inner[0]
        case "abs":
            return inner[0].size(spans)
        case "ceil":
            return inner[0].largest(_single(CONSTANT))
        case "floor" if _one_inside(node.arguments[0], spans):
            return inner[0]  # rounding down costs a factor of 2
        case "softO":
            names = frozenset(free_letters(node.arguments[0])) - NUMBERS
            return inner[0].times(_single(Monomial({}, {LogArgument(names): sympy.S.One} if names else {})))
        case "sqrt":
            return inner[0].power(sympy.Rational(1, 2))
        case "max":
            return _fold("largest", inner)
        case "min":
            return _fold("smallest", inner)
        case "log":
            return _logarithm(node.arguments[0], spans)
    raise NoOrder(f"{node.function} has no order of growth")


def _one_inside(node: tree.Node, spans: Spans) -> bool:
    """Whether at least 1 is seen in a positive expression."""
    least = _least(node, spans)
    if least is not None:
        return least >= 1
    match node:
        case tree.Add(terms=parts) | tree.Call(function="max", arguments=parts):
            return any(_one_inside(part, spans) for part in parts)
    return False


def _logarithm(argument: tree.Node, spans: Spans) -> Growth:
    """A logarithm, which is bounded if nothing in it grows; whether it stays away from 0 is for others to see.

    Raises
    ------
    NoOrder : the logarithm of a number that is not above 1.
    """
    if not free_letters(argument) - NUMBERS:
        if compare_numbers(Formula({}).value(argument), ">", Fraction(1)) is not True:
            raise NoOrder(f"log({to_text(argument)}) is not positive")
        return _single(CONSTANT)
    size = log_argument(argument, spans)
    written = () if size.vague else _sizes(argument, spans)
    logs, signs = ({size: sympy.S.One}, ((written, sympy.S.One),)) if size.letters else ({}, ())
    return _single(Monomial({}, logs, signs if written else (), {same_logarithm(argument, spans): sympy.S.One}))


def _sizes(node: tree.Node, spans: Spans) -> Clauses:
    return tuple(tuple(_form(m) for m in clause) for clause in growth_of(node, spans).clauses)


def log_argument(node: tree.Node, spans: Spans) -> LogArgument:
    """The letters and the size of what a logarithm is taken of."""
    names = frozenset(free_letters(node)).difference(spans, NUMBERS)
    try:
        if any(m.logs for clause in growth_of(node, spans).clauses for m in clause):
            return LogArgument(names)
        clauses = _sizes(node, spans)
    except NoOrder:
        return LogArgument(names)
    names = frozenset(name for clause in clauses for form in clause for name, _ in form)  # what cancels is not in it
    single = len(clauses) == 1 and len(clauses[0]) == 1
    return LogArgument(names, ((_primitive(clauses[0][0]),),) if single else clauses)


def _form(monomial: Monomial) -> Form:
    return tuple((n, rational(sympy.sympify(e))) for n, e in sorted(monomial.exponents.items()))


def _primitive(form: Form) -> Form:
    """Whole exponents without a common factor, the first one positive."""
    if not form:
        return form
    whole = lcm(*(e.denominator for _, e in form))
    size = Fraction(gcd(*(int(e * whole) for _, e in form)), whole)
    sign = 1 if form[0][1] > 0 else -1
    return tuple((n, sign * e / size) for n, e in form)


def _fold(method: Literal["times", "largest", "smallest"], parts: list[Growth]) -> Growth:
    result = parts[0]
    for part in parts[1:]:
        result = getattr(result, method)(part)
    return result


def _reduced(monomials: tuple[Monomial, ...]) -> tuple[Monomial, ...]:
    seen: dict[tuple[object, ...], Monomial] = {}
    for m in monomials:
        powers = sorted((n, sympy.cancel(e)) for n, e in m.exponents.items())
        logs, taken = (frozenset((n, sympy.cancel(e)) for n, e in part.items()) for part in (m.logs, m.taken))
        key = (tuple(powers), logs, m.signs, taken)
        seen.setdefault(key, m)
    return tuple(seen.values())


def _sign(exponent: sympy.Expr, spans: Spans) -> int:
    """Sign of an exponent, the same for all letters in their ranges.

    Raises
    ------
    NoOrder : the sign changes, or is not seen from the coefficients.
    """
    if exponent.is_number:
        if not exponent.is_finite:
            raise NoOrder("an exponent with a division by zero")
        return int(sympy.sign(exponent))
    sign = 1
    top, bottom = sympy.fraction(sympy.factor(sympy.together(exponent)))
    for part in (bottom, top):
        constant, factors = sympy.factor_list(part)
        sign *= int(sympy.sign(constant))
        for factor, power in factors:
            corners = _corner_signs(factor, spans)
            if not corners and part is top:
                return 0
            if power % 2 and corners == {-1}:
                sign = -sign
            elif not corners or (power % 2 and corners != {1}):
                raise NoOrder("an exponent whose sign is not certain")
    return sign


def _corner_signs(factor: sympy.Expr, spans: Spans) -> set[int]:
    """Signs of an expression affine in each letter, on a box: zeros at corners count for either side.

    None at all if it is 0 everywhere.
    """
    letters = sorted(factor.free_symbols, key=str)
    if any(sympy.degree(factor, letter) > 1 for letter in letters):
        return {1, -1}
    ends = [[sympy.Rational(e.numerator, e.denominator) for e in spans[letter.name]] for letter in letters]
    values = [factor.subs(dict(zip(letters, corner))) for corner in product(*ends)]
    return {int(sympy.sign(v)) for v in values} - {0}

"""Order algebra: how a positive expression grows when the letters of a regime do.

An expression becomes a tree of maxima and minima over *log-linear forms*: a vector of exponents, one for each letter,
and a log-degree as a second, lexicographically smaller coordinate. ``A = O(B)`` on a regime (a cone of directions in
log-space) fails exactly if along some direction A grows faster; that is a linear programme for each pair of branches,
and its solution is a rational ray a reader can follow: ``kappa = t**2, eps = t**-3, ratio ~ t**(1/2)``.
Exponents may contain letters themselves (``nu_f``); they are compared symbolically first and then on a grid.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from itertools import product
from math import gcd, lcm
from typing import Literal

import sympy

from bilevel_verify.audit.orders.monomials import Clauses, Form, LogArgument, Monomial, NoOrder, Ray, Regime, rational
from bilevel_verify.audit.orders.rays import separate
from bilevel_verify.language import tree
from bilevel_verify.theorems.rewrite import free_letters
from bilevel_verify.theorems.vocabulary import NUMBERS

BRANCH_LIMIT = 4_000


@dataclass(frozen=True)
class Growth:
    """Maximum over minima of monomials (``clauses``): the normal form of a sum of quotients."""

    clauses: tuple[tuple[Monomial, ...], ...]

    @property
    def monomial(self) -> Monomial | None:
        """The only monomial, if there is just one."""
        return self.clauses[0][0] if len(self.clauses) == 1 and len(self.clauses[0]) == 1 else None

    def times(self, other: Growth) -> Growth:
        """Product: minima distribute over minima, maxima over maxima."""
        if len(self.clauses) * len(other.clauses) > BRANCH_LIMIT:
            raise NoOrder("too many branches")
        pairs = product(self.clauses, other.clauses)
        return Growth(tuple(_reduced(tuple(a.times(b) for a, b in product(x, y))) for x, y in pairs))

    def largest(self, other: Growth) -> Growth:
        """Maximum (and sum, up to a factor of two)."""
        return Growth(self.clauses + other.clauses)

    def smallest(self, other: Growth) -> Growth:
        """Minimum."""
        return Growth(tuple(_reduced(x + y) for x, y in product(self.clauses, other.clauses)))

    def power(self, exponent: sympy.Expr) -> Growth:
        """Power; a negative exponent turns maxima into minima."""
        sign = _sign(exponent)
        if sign >= 0:
            return Growth(tuple(tuple(m.power(exponent) for m in clause) for clause in self.clauses))
        return Growth(tuple(_reduced(tuple(m.power(exponent) for m in clause)) for clause in self.dual()))

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


def growth_of(node: tree.Node, exponent_letters: frozenset[str] = frozenset()) -> Growth:
    """Growth of a positive expression; order symbols are transparent, ``softO`` adds one logarithm.

    Raises
    ------
    NoOrder : a difference or a function without an order.
    """
    match node:
        case tree.Number(value=value):
            if value <= 0:
                raise NoOrder("a number that is not positive")
            return _single(Monomial({}))
        case tree.Letter(name=name):
            if name in exponent_letters or name in ("pi", "E"):
                return _single(Monomial({}))
            return _single(Monomial({name: sympy.S.One}))
        case tree.Add(terms=terms):
            return _sum(terms, exponent_letters)
        case tree.Multiply(factors=factors):
            return _fold("times", [growth_of(f, exponent_letters) for f in factors])
        case tree.Divide(numerator=top, denominator=bottom):
            below = growth_of(bottom, exponent_letters).power(sympy.S.NegativeOne)
            return growth_of(top, exponent_letters).times(below)
        case tree.Power(base=base, exponent=exponent):
            return growth_of(base, exponent_letters).power(exponent_of(exponent, exponent_letters))
        case tree.Call():
            return _call(node, exponent_letters)
    raise NoOrder(f"{type(node).__name__} has no order of growth")


def exponent_of(node: tree.Node, exponent_letters: frozenset[str]) -> sympy.Expr:
    """An exponent as a rational function of the letters that stay bounded.

    Raises
    ------
    NoOrder : a letter that grows stands in the exponent.
    """
    match node:
        case tree.Number(value=value):
            return sympy.Rational(value.numerator, value.denominator)
        case tree.Letter(name=name) if name in exponent_letters:
            return sympy.Symbol(name)
        case tree.Add(terms=terms):
            return sympy.Add(*[exponent_of(t, exponent_letters) for t in terms])
        case tree.Multiply(factors=factors):
            return sympy.Mul(*[exponent_of(f, exponent_letters) for f in factors])
        case tree.Divide(numerator=top, denominator=bottom):
            return exponent_of(top, exponent_letters) / exponent_of(bottom, exponent_letters)
        case tree.Negate(operand=operand):
            return -exponent_of(operand, exponent_letters)
        case tree.Power(base=base, exponent=tree.Number(value=value)) if value.denominator == 1:
            return exponent_of(base, exponent_letters) ** int(value)
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


def _sum(terms: tuple[tree.Node, ...], letters: frozenset[str]) -> Growth:
    """A sum of positive terms is its largest; a difference is refused unless a constant is taken from a constant."""
    kept = []
    for term in terms:
        if isinstance(term, tree.Negate):
            raise NoOrder("a difference")
        kept.append(growth_of(term, letters))
    return _fold("largest", kept)


def _call(node: tree.Call, letters: frozenset[str]) -> Growth:
    inner = (
        [growth_of(a, letters) for a in node.arguments if not isinstance(a, tree.Tuple)]
        if node.function != "log"
        else []
    )
    match node.function:
        case "O" | "Theta" | "Omega" | "abs":
            return inner[0]
        case "ceil":
            return inner[0].largest(_single(Monomial({})))
        case "floor" if any(not m.exponents and not m.logs for c in inner[0].clauses if len(c) == 1 for m in c):
            return inner[0]  # at least 1 is in it, so that rounding down costs a factor of 2
        case "softO":
            return inner[0].times(_logarithm(LogArgument(frozenset(free_letters(node.arguments[0])) - NUMBERS)))
        case "sqrt":
            return inner[0].power(sympy.Rational(1, 2))
        case "max":
            return _fold("largest", inner)
        case "min":
            return _fold("smallest", inner)
        case "log":
            argument = _log_argument(node.arguments[0], letters)
            return _logarithm(argument, () if argument.vague else _sizes(node.arguments[0], letters))
    raise NoOrder(f"{node.function} has no order of growth")


def _logarithm(argument: LogArgument, written: Clauses = ()) -> Growth:
    """A logarithm, which is bounded if nothing in it grows."""
    if not argument.letters:
        return _single(Monomial({}))
    return _single(Monomial({}, {argument: sympy.S.One}, ((written, sympy.S.One),) if written else ()))


def _sizes(node: tree.Node, letters: frozenset[str]) -> Clauses:
    return tuple(tuple(_form(m) for m in clause) for clause in growth_of(node, letters).clauses)


def _log_argument(node: tree.Node, letters: frozenset[str]) -> LogArgument:
    names = frozenset(free_letters(node)) - letters - NUMBERS
    try:
        if any(m.logs for clause in growth_of(node, letters).clauses for m in clause):
            return LogArgument(names)
        clauses = _sizes(node, letters)
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
        key = (tuple(powers), frozenset((n, sympy.cancel(e)) for n, e in m.logs.items()), m.signs)
        seen.setdefault(key, m)
    return tuple(seen.values())


def _sign(exponent: sympy.Expr) -> int:
    """Sign of an exponent, the same for all letters in [0, 1] (exponent letters are exponents of smoothness).

    Raises
    ------
    NoOrder : the sign changes, or is not seen from the coefficients.
    """
    if exponent.is_number:
        return int(sympy.sign(exponent))
    sign = 1
    for part in sympy.fraction(sympy.factor(sympy.together(exponent))):
        constant, factors = sympy.factor_list(part)
        sign *= int(sympy.sign(constant))
        for factor, power in factors:
            corners = _corner_signs(factor)
            if power % 2 and corners == {-1}:
                sign = -sign
            elif power % 2 and corners != {1}:
                raise NoOrder("an exponent whose sign is not certain")
    return sign


def _corner_signs(factor: sympy.Expr) -> set[int]:
    """Signs of an expression that is affine in each letter, on [0, 1]; zeros at corners count for either side."""
    letters = sorted(factor.free_symbols, key=str)
    if any(sympy.degree(factor, letter) > 1 for letter in letters):
        return {1, -1}
    values = [factor.subs(dict(zip(letters, corner))) for corner in product((0, 1), repeat=len(letters))]
    return {int(sympy.sign(v)) for v in values} - {0}

"""Exact algebra: numbers, identities, and polynomials in one letter by real-root isolation.

Everything here is exact. SymPy is used for polynomial arithmetic only: symbols carry the sign that the range proves,
sizes are bounded before anything is expanded, and nothing calls ``simplify``.
"""

from __future__ import annotations

from contextlib import suppress
from fractions import Fraction
from math import lcm

import sympy

from bilevel_verify.audit.scalar.claim import Decision, ScalarClaim
from bilevel_verify.audit.scalar.field import Field
from bilevel_verify.audit.scalar.linear import Affine, linear_form
from bilevel_verify.language import tree
from bilevel_verify.numbers.rounding import precision

SIZE_LIMIT = 3_000
DEGREE_LIMIT = 400


class NotAlgebraic(Exception):
    """The expression has no exact algebraic form here."""


def by_number(claim: ScalarClaim) -> Decision:
    """Claims without letters: ball arithmetic, with more bits until the ball decides."""
    if claim.letters:
        return Decision("undecided", "number", "it has letters")
    sides = Field(claim).refuted_at({})
    if sides is not None:
        return Decision("refuted", "number", "an exact number (256-bit balls)", {}, *sides)
    decided = _holds_in_balls(claim)
    return Decision("proved" if decided else "undecided", "number", "exact numbers (256-bit balls)" if decided else "")


def _holds_in_balls(claim: ScalarClaim) -> bool:
    from bilevel_verify.checks.claims.evaluate import Evaluator
    from bilevel_verify.checks.claims.values import EvaluationError, compare
    from bilevel_verify.errors import CertificationError

    with suppress(EvaluationError, CertificationError, ArithmeticError), precision(256):
        evaluator = Evaluator({})
        return compare(evaluator.scalar(claim.left), claim.op, evaluator.scalar(claim.right)) is True
    return False


def by_identity(claim: ScalarClaim) -> Decision:
    """Both sides are the same algebraic expression (proves ``==``, ``<=`` and ``>=``)."""
    if claim.op in ("<", ">"):
        return Decision("undecided", "identity", "a strict relation")
    try:
        difference = to_sympy(claim.left, claim) - to_sympy(claim.right, claim)
        top = _numerator(difference)
    except NotAlgebraic as reason:
        return Decision("undecided", "identity", str(reason))
    if top == 0:
        return Decision(
            "proved", "identity", "both sides are the same expression after clearing denominators and roots"
        )
    return Decision("undecided", "identity", "the sides differ")


def by_roots(claim: ScalarClaim) -> Decision:
    """One letter left: clear roots, isolate the real roots of the difference, look at the signs between them."""
    if len(claim.letters) != 1 or claim.op == "==":
        return Decision("undecided", "root isolation", "more than one letter, or an equality")
    name = claim.letters[0]
    try:
        low, high = _exact_range(claim, name)
        low_side, high_side = (claim.left, claim.right) if claim.op in ("<=", "<") else (claim.right, claim.left)
        difference = to_sympy(high_side, claim) - to_sympy(low_side, claim)
        return _signs(difference, name, claim, low, high)
    except NotAlgebraic as reason:
        return Decision("undecided", "root isolation", str(reason))


def to_sympy(node: tree.Node, claim: ScalarClaim) -> sympy.Expr:
    """Algebraic trees to SymPy; letters are positive or nonnegative where their range says so.

    Raises
    ------
    NotAlgebraic : a function, range or exponent that is not algebraic.
    """
    return Algebraic(claim).of(node)


class Algebraic:
    """Reads algebraic trees; see :func:`to_sympy`."""

    def __init__(self, claim: ScalarClaim) -> None:
        self.symbols = {n: symbol_of(n, claim) for n in claim.domains}
        self.count = 0

    def of(self, node: tree.Node) -> sympy.Expr:
        """The expression; raises as :func:`to_sympy` does."""
        self.count += 1
        if self.count > SIZE_LIMIT:
            raise NotAlgebraic("too large an expression")
        match node:
            case tree.Number(value=value):
                return sympy.Rational(value.numerator, value.denominator)
            case tree.Letter(name="pi"):
                return sympy.pi
            case tree.Letter(name="E"):
                return sympy.E
            case tree.Letter(name=name) if name in self.symbols:
                return self.symbols[name]
            case tree.Add(terms=terms):
                return sympy.Add(*[self.of(t) for t in terms])
            case tree.Multiply(factors=factors):
                return sympy.Mul(*[self.of(f) for f in factors])
            case tree.Divide(numerator=top, denominator=bottom):
                below = self.of(bottom)
                if below == 0:
                    raise NotAlgebraic("a division by zero")
                return self.of(top) / below
            case tree.Negate(operand=operand):
                return -self.of(operand)
            case tree.Power(base=base, exponent=exponent):
                return self.power(base, exponent)
            case tree.Call(function="sqrt", arguments=(inner,)):
                return sympy.sqrt(self.of(inner))
        raise NotAlgebraic(f"{getattr(node, 'function', type(node).__name__)} is not algebraic")

    def power(self, base: tree.Node, exponent: tree.Node) -> sympy.Expr:
        """A power with an affine exponent."""
        form = linear_form(exponent)
        if form is None:
            raise NotAlgebraic("an exponent that is not affine")
        moderate(form)
        return self.of(base) ** self.of(exponent)


def moderate(form: Affine) -> None:
    """Refuse exponents whose polynomials, roots cleared, would not fit.

    Raises
    ------
    NotAlgebraic : a number that is too large, or a fraction with too large a denominator.
    """
    if not form[1] and abs(form[0]) > 64:
        raise NotAlgebraic("a large exponent")
    if any(part.denominator > DEGREE_LIMIT for part in (form[0], *form[1].values())):
        raise NotAlgebraic("a root of too high an order")


def symbol_of(name: str, claim: ScalarClaim) -> sympy.Symbol:
    """The symbol of a letter with the sign and integrality that its range proves."""
    domain = claim.domains[name]
    kind = {"integer": True} if domain.kind == "integers" else {"real": True}
    low = None if domain.lower is None else linear_form(domain.lower.tree)
    if low is None or low[1] or low[0] < 0:
        return sympy.Symbol(name, **kind)
    strict = low[0] > 0 or (low[0] == 0 and not domain.lower_closed and domain.kind != "integers")
    return sympy.Symbol(name, **kind, **({"positive": True} if strict else {"nonnegative": True}))


def _numerator(expression: sympy.Expr) -> sympy.Expr:
    """Numerator after clearing denominators and fractional powers of letters; 0 exactly for identities."""
    cleared, _ = _clear_roots(expression)
    if sympy.count_ops(cleared) > SIZE_LIMIT:
        raise NotAlgebraic("too large an expression")
    return sympy.expand(sympy.fraction(sympy.together(cleared))[0])


def _clear_roots(expression: sympy.Expr) -> tuple[sympy.Expr, dict[sympy.Symbol, int]]:
    """Replace every nonnegative letter that occurs under roots by a power of a new letter; and which power.

    Raises
    ------
    NotAlgebraic : a root of too high an order, whose polynomials would not fit.
    """
    expression = sympy.powsimp(sympy.powdenest(sympy.expand_power_base(expression)))
    denominators: dict[sympy.Symbol, int] = {}
    for power in expression.atoms(sympy.Pow):
        if isinstance(power.base, sympy.Symbol) and power.exp.is_Rational and power.base.is_nonnegative:
            denominators[power.base] = lcm(denominators.get(power.base, 1), int(power.exp.q))
    if max(denominators.values(), default=1) > DEGREE_LIMIT:
        raise NotAlgebraic("a root of too high an order")
    roots = {
        s: sympy.Symbol(s.name + "_root", positive=s.is_positive or None, nonnegative=True) ** q
        for s, q in denominators.items()
    }
    return sympy.powdenest(expression.subs(roots)), denominators


def _exact_range(claim: ScalarClaim, name: str) -> tuple[Fraction | None, Fraction | None]:
    """Rational ends of the only letter, conditions included.

    Raises
    ------
    NotAlgebraic : a condition that is not a plain bound on the letter.
    """
    low: list[Fraction] = []
    high: list[Fraction] = []
    for condition in claim.conditions():
        match condition:
            case tree.Compare(operands=(first, second), operators=(op,)) if op in ("<", "<=", ">", ">="):
                a, b = linear_form(first), linear_form(second)
            case _:
                raise NotAlgebraic("a condition that is not a bound")
        if a is None or b is None:
            raise NotAlgebraic("a condition that is not linear")
        slope = a[1].get(name, Fraction(0)) - b[1].get(name, Fraction(0))
        if not slope:
            continue
        end = (b[0] - a[0]) / slope
        (high if (slope > 0) == (op in ("<", "<=")) else low).append(end)
    return max(low, default=None), min(high, default=None)


def _signs(
    difference: sympy.Expr, name: str, claim: ScalarClaim, low: Fraction | None, high: Fraction | None
) -> Decision:
    symbol = symbol_of(name, claim)
    cleared, orders = _clear_roots(difference)
    if sympy.count_ops(cleared) > SIZE_LIMIT:
        raise NotAlgebraic("too large an expression")
    variable = next(iter(cleared.free_symbols), symbol)  # there is one letter
    top, bottom = sympy.fraction(sympy.together(cleared))
    if not (top.is_polynomial(variable) and bottom.is_polynomial(variable)):
        raise NotAlgebraic("not a rational function")
    product = sympy.Poly(sympy.expand(top * bottom), variable)
    if product.degree() > DEGREE_LIMIT or not all(c.is_rational for c in product.all_coeffs()):
        raise NotAlgebraic("coefficients outside the rationals, or too high a degree")
    return _nonnegative(product, low, high, orders.get(symbol, 1), strict=claim.op in ("<", ">"))


def _nonnegative(
    product: sympy.Poly, low: Fraction | None, high: Fraction | None, order: int, strict: bool
) -> Decision:
    """Sign of ``numerator * denominator`` on the range; ends are mapped to the root where roots were cleared."""
    a, b = (
        None if e is None else sympy.real_root(sympy.Rational(e.numerator, e.denominator), order) for e in (low, high)
    )
    if not all(end is None or end.is_rational for end in (a, b)):
        raise NotAlgebraic("an end whose root is irrational")
    if product.is_zero:
        return Decision("undecided" if strict else "proved", "root isolation", "the difference is 0")
    inside = [r for r in product.real_roots(multiple=False) if _within(r[0], a, b)]
    if any(multiplicity % 2 for root, multiplicity in inside if _interior(root, a, b)) or (strict and inside):
        return Decision("undecided", "root isolation", "the difference changes sign inside the range")
    probe = _probe([r for r, _ in inside], a, b)
    if product.eval(probe) > 0:
        text = f"{len(inside)} touching root(s), degree {product.degree()}, positive at {probe}"
        return Decision("proved", "root isolation", text)
    return Decision("undecided", "root isolation", "the difference is negative")


def _within(root: sympy.Expr, a: sympy.Expr | None, b: sympy.Expr | None) -> bool:
    return bool((a is None or root >= a) and (b is None or root <= b))


def _interior(root: sympy.Expr, a: sympy.Expr | None, b: sympy.Expr | None) -> bool:
    return bool((a is None or root > a) and (b is None or root < b))


def _probe(roots: list[sympy.Expr], a: sympy.Expr | None, b: sympy.Expr | None) -> sympy.Rational:
    """A rational point of the range that is no root: of one candidate more than there are roots, one is none.

    Raises
    ------
    NotAlgebraic : the range is a single point, and that is a root.
    """
    count = len(roots) + 1
    if a is not None and b is not None:
        candidates = [a + (b - a) / sympy.Integer(parts) for parts in range(2, count + 2)]
    else:
        base = a if a is not None else (b if b is not None else sympy.Integer(0))
        sign = 1 if b is None else -1
        candidates = [base + sign * sympy.Rational(step, 3) for step in range(1, count + 1)]
    for candidate in candidates:
        if all(candidate != r for r in roots):
            return candidate
    raise NotAlgebraic("no probe between the roots")

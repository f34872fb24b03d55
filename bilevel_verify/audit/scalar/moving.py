"""One letter moved: a range without a lower end cut at 0 and mirrored, ends and extrema at multiples of pi or E."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from fractions import Fraction

import sympy

from bilevel_verify.audit.scalar.algebra import NotAlgebraic, to_sympy
from bilevel_verify.audit.scalar.back import to_tree
from bilevel_verify.audit.scalar.calculus import Analytic, numeric_ends
from bilevel_verify.audit.scalar.claim import Decision, ScalarClaim
from bilevel_verify.language import tree
from bilevel_verify.theorems.card_parts import Domain, Expression
from bilevel_verify.theorems.rewrite import infinite

Decide = Callable[[ScalarClaim], Decision]
ZERO = tree.Number(Fraction(0))
ORIGIN = Expression(ZERO, "0")
CONSTANTS = {"pi": sympy.pi, "E": sympy.E}
OPERATIONS = 200


def by_halves(claim: ScalarClaim, decide: Decide) -> Decision:
    """A real letter without a lower end: what is right of 0, and what is left of it as seen in a mirror."""
    undecided = Decision("undecided", "halves")
    if len(claim.letters) != 1 or claim.integers or numeric_ends(claim, claim.letters[0])[0] is not None:
        return undecided
    parts = [replace(claim, domains={**claim.domains, n: d}) for n, d in _right(claim)] + [_mirrored(claim)]
    for part in parts:
        decision = decide(part)
        if decision.outcome not in ("proved", "vacuous"):
            return replace(undecided, certificate=f"a half is undecided: {decision.certificate}")
    return Decision("proved", "halves", f"{claim.letters[0]} on both sides of 0, each proved")


def _right(claim: ScalarClaim) -> Iterator[tuple[str, Domain]]:
    (name,) = claim.letters
    high = numeric_ends(claim, name)[1]
    if high is None or high >= 0:
        yield name, replace(claim.domains[name], lower=ORIGIN, lower_closed=True)


def _mirrored(claim: ScalarClaim) -> ScalarClaim:
    """The claim about ``-x`` for the x of the range that are at most 0."""
    (name,) = claim.letters
    domain, high = claim.domains[name], numeric_ends(claim, name)[1]
    moved = claim.with_values({name: tree.Negate(tree.Letter(name))})
    below = ORIGIN if high is None or high >= 0 else Expression(tree.signed(-high), str(-high))
    mirror = replace(domain, lower=below, lower_closed=True, upper=None, upper_closed=False)
    return replace(moved, domains={**moved.domains, name: mirror})


def by_scale(claim: ScalarClaim, decide: Decide) -> Decision:
    """``x = pi*u``, ``E*u`` or ``u/E``: the difference of the sides, or of their logarithms, in u."""
    undecided = Decision("undecided", "scale")
    if claim.op == "==" or len(claim.letters) != 1 or claim.integers or claim.where:
        return undecided
    for constant, inverse in ((name, inverse) for name in _constants(claim) for inverse in (False, True)):
        try:
            parts = _in_units(claim, constant, inverse)
        except (NotAlgebraic, ValueError):
            continue
        if any(decide(part).outcome == "proved" for part in parts):
            text = f"{claim.letters[0]} measured in {'1/' if inverse else ''}{constant}"
            return Decision("proved", "scale", text)
    return undecided


def _constants(claim: ScalarClaim) -> list[str]:
    domain = claim.domains[claim.letters[0]]
    ends = [end.tree for end in (domain.lower, domain.upper) if end is not None]
    used = {
        part.name for node in (claim.left, claim.right, *ends) for part in node.walk() if isinstance(part, tree.Letter)
    }
    return [name for name in CONSTANTS if name in used]


def _in_units(claim: ScalarClaim, constant: str, inverse: bool) -> list[ScalarClaim]:
    """Claims ``0 <= difference`` about ``u``, each of which is as good as the claim.

    Raises
    ------
    NotAlgebraic : a function of no such form, or an end that is no rational multiple of the unit.
    """
    (name,) = claim.letters
    unit = 1 / CONSTANTS[constant] if inverse else CONSTANTS[constant]
    domain = claim.domains[name]
    domain = replace(domain, lower=_measured(domain.lower, unit, claim), upper=_measured(domain.upper, unit, claim))
    reader = Analytic(replace(claim, domains={name: domain}))
    symbol = reader.symbols[name]
    low, high = (claim.left, claim.right) if claim.op in ("<=", "<") else (claim.right, claim.left)
    small, big = (reader.of(side).subs(symbol, unit * symbol) for side in (low, high))
    found = [_cleared(big - small, symbol)]
    if small.is_positive and big.is_positive:
        found.append(_cleared(sympy.log(big) - sympy.log(small), symbol))
    op = "<" if claim.op in ("<", ">") else "<="
    return [replace(claim, left=ZERO, op=op, right=to_tree(part), domains={name: domain}) for part in found]


def _measured(end: Expression | None, unit: sympy.Expr, claim: ScalarClaim) -> Expression | None:
    if end is None or infinite(end.tree):
        return None
    found = to_sympy(end.tree, claim) / unit
    if not found.is_Rational:
        raise NotAlgebraic("an end that is no rational multiple of the unit")
    return Expression(tree.signed(Fraction(int(found.p), int(found.q))), str(found))


def _cleared(difference: sympy.Expr, symbol: sympy.Symbol) -> sympy.Expr:
    """The difference times what is plainly positive: a denominator, a number that all terms share."""
    if sympy.count_ops(difference) > OPERATIONS:
        raise NotAlgebraic("too large an expression")
    top, bottom = sympy.fraction(sympy.together(sympy.expand(sympy.expand_log(difference))))
    if not bottom.is_positive:
        raise NotAlgebraic("a denominator that may change its sign")
    terms = sympy.Add.make_args(sympy.expand(sympy.expand_log(sympy.expand(top))))
    number = terms[0].as_independent(symbol)[0]
    return sympy.expand(sympy.Add(*terms) / number) if number.is_positive else sympy.Add(*terms)

"""Which expressions are integers wherever they are defined, and which of them are even or odd.

A power whose exponent is one of these is an integer power: its base may be negative. All other powers are real powers.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from fractions import Fraction
from itertools import product

from bilevel_verify.audit.scalar.linear import Affine, linear_form
from bilevel_verify.language import tree
from bilevel_verify.language.binding import binder
from bilevel_verify.theorems.card_parts import Domain, Expression
from bilevel_verify.theorems.rewrite import free_letters

Domains = Mapping[str, Domain]
INTEGERS = frozenset({"floor", "ceil", "sign", "binomial", "factorial", "argmin", "argmax"})
"""Functions whose values are integers, whatever their arguments are."""
KEEPING = frozenset({"max", "min", "abs", "plus", "sum", "prod"})
"""Functions that make integers of integers."""
ONE, TWO = tree.Number(Fraction(1)), tree.Number(Fraction(2))
RESIDUE_LIMIT = 4096
"""Tuples of residues that are tried, at most."""


def whole(node: tree.Node, domains: Domains) -> bool:
    """Whether a tree is an integer wherever its letters are in their ranges and it is defined."""
    form = linear_form(node)
    if form is not None and _integral(*form, domains):
        return True
    match node:
        case tree.Add() | tree.Multiply() | tree.Negate() | tree.Modulo():
            return all(whole(child, domains) for child in node.children())
        case tree.Power(base=base, exponent=exponent):
            return whole(base, domains) and whole(exponent, domains) and (_unit(base) or _natural(exponent, domains))
        case tree.Divide(numerator=top, denominator=tree.Number(value=value)) if value.denominator == 1 and value > 0:
            return whole(top, domains) and _divisible(top, int(value), domains)
        case tree.Conditional(yes=yes, no=no):
            return whole(yes, domains) and whole(no, domains)
        case tree.Call(function=name, arguments=arguments) if name in KEEPING:
            span = binder(node)
            if span is None:
                return bool(arguments) and all(whole(a, domains) for a in arguments)
            return whole(arguments[0], {**domains, span[0]: index_domain(*span[1:])})
        case tree.Call(function=name):
            return name in INTEGERS
    return False


def even(node: tree.Node, domains: Domains) -> bool:
    """Whether a tree is an even integer wherever it is defined."""
    return whole(tree.Divide(node, TWO), domains)


def odd(node: tree.Node, domains: Domains) -> bool:
    """Whether a tree is an odd integer wherever it is defined."""
    return even(tree.Add((node, ONE)), domains)


def index_domain(low: tree.Node, high: tree.Node) -> Domain:
    """The integers between two ends, which need not be integers themselves."""
    return Domain("index", "integers", Expression(low, ""), Expression(high, ""))


def signed_powers(node: tree.Node, domains: Domains) -> Iterator[tree.Power]:
    """Powers with letters in an integer-valued exponent: those whose base may be negative."""
    if isinstance(node, tree.Power) and free_letters(node.exponent) and whole(node.exponent, domains):
        yield node
    if isinstance(node, tree.Call) and (span := binder(node)) is not None:
        for end in span[1:]:
            yield from signed_powers(end, domains)
        inner = {**domains, span[0]: index_domain(*span[1:])}
        for part in node.arguments[:-1]:
            yield from signed_powers(part, inner)
        return
    for child in node.children():
        yield from signed_powers(child, domains)


def _integral(constant: Fraction, slopes: Mapping[str, Fraction], domains: Domains) -> bool:
    letters = all(n in domains and domains[n].kind == "integers" for n in slopes)
    return letters and all(v.denominator == 1 for v in (constant, *slopes.values()))


def _unit(node: tree.Node) -> bool:
    """1 or -1, whose powers with negative exponents are integers too."""
    form = linear_form(node)
    return form is not None and not form[1] and abs(form[0]) == 1


def _natural(node: tree.Node, domains: Domains) -> bool:
    """Plainly nonnegative: affine in letters whose ranges say so."""
    form = linear_form(node)
    least = None if form is None else least_value(form, domains)
    return least is not None and least >= 0


def least_value(form: Affine, domains: Domains) -> Fraction | None:
    """The least value of an affine form, or what it comes close to at an open end; None without an end in numbers."""
    least = form[0]
    for name, slope in form[1].items():
        domain = domains.get(name)
        end = None if domain is None else domain.lower if slope > 0 else domain.upper
        bound = None if end is None else linear_form(end.tree)
        if bound is None or bound[1]:
            return None
        least += slope * bound[0]
    return least


def _divisible(node: tree.Node, divisor: int, domains: Domains) -> bool:
    """Whether an integer tree is 0 modulo a number for all residues of the integers it is made of."""
    atoms = list(dict.fromkeys(_atoms(node)))
    if divisor ** len(atoms) > RESIDUE_LIMIT or not all(whole(atom, domains) for atom in atoms):
        return False
    return all(
        _residue(node, dict(zip(atoms, values)), divisor) == 0 for values in product(range(divisor), repeat=len(atoms))
    )


def _atoms(node: tree.Node) -> Iterator[tree.Node]:
    """The parts of a polynomial that are no sums, products, or powers with a number as exponent."""
    match node:
        case tree.Add() | tree.Multiply() | tree.Negate():
            for child in node.children():
                yield from _atoms(child)
        case tree.Power(base=base, exponent=tree.Number(value=value)) if value.denominator == 1:
            yield from _atoms(base)
        case tree.Number(value=value) if value.denominator == 1:
            return
        case _:
            yield node


def _residue(node: tree.Node, atoms: Mapping[tree.Node, int], divisor: int) -> int:
    match node:
        case tree.Add(terms=terms):
            return sum(_residue(t, atoms, divisor) for t in terms) % divisor
        case tree.Multiply(factors=factors):
            total = 1
            for factor in factors:
                total = total * _residue(factor, atoms, divisor) % divisor
            return total
        case tree.Negate(operand=operand):
            return -_residue(operand, atoms, divisor) % divisor
        case tree.Power(base=base, exponent=tree.Number(value=value)) if value.denominator == 1:
            return pow(_residue(base, atoms, divisor), int(value), divisor)
        case tree.Number(value=value) if value.denominator == 1:
            return int(value) % divisor
    return atoms[node]

"""What a formula is made of: a quadratic, ridges (one-variable functions of affine forms), and a rest.

``h(z) = c + b.z + z'Qz/2 + sum_l w_l phi_l(a_l.z + s_l) + rest(z)``, all numbers exact. The calculus lives on the first
three parts; the rest is bounded by interval jets. Rewriting is by exact identities only.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

import sympy
from sympy import Add, Expr, Integer, Mul, Pow, Symbol

from bilevel_verify.atoms.datasum import DataSum
from bilevel_verify.atoms.table import recognise
from bilevel_verify.constants.formula.rewriting import bell, gauss, hypot1, is_affine, lorentz, normalise
from bilevel_verify.constants.formula.scalars import composite
from bilevel_verify.intervals.scalar import Derived, Scalar, WeightedPolynomial, scalar

__all__ = ["Ridge", "Structure", "as_ridge", "normalise", "restrict", "ridge_text", "structure_of"]


@dataclass(frozen=True, slots=True)
class Ridge:
    """``weight * function(row . z + shift)``; ``row`` is sparse (variable number -> exact coefficient)."""

    weight: Expr
    function: Scalar
    row: tuple[tuple[int, Expr], ...]
    shift: Expr
    text: str


@dataclass(frozen=True, slots=True)
class Structure:
    """Decomposition of one formula over ordered variables.

    ``quadratic`` holds the symmetric Hessian entries (i <= j) of the quadratic part; ``rest`` is None if there is none.
    """

    variables: tuple[Symbol, ...]
    linear: dict[int, Expr]
    quadratic: dict[tuple[int, int], Expr]
    ridges: tuple[Ridge, ...]
    rest: Expr | None
    constant: Expr = field(default_factory=lambda: Integer(0))
    groups: tuple[tuple[int, ...], ...] = ()


def structure_of(expression: Expr, variables: Sequence[Symbol]) -> Structure:
    """Decompose a formula."""
    builder = _Builder(tuple(variables))
    for term in Add.make_args(expression):
        builder.take(term)
    return builder.finish()


class _Builder:
    def __init__(self, variables: tuple[Symbol, ...]) -> None:
        self.variables = variables
        self.place = {v: i for i, v in enumerate(variables)}
        self.constant: Expr = Integer(0)
        self.linear: dict[int, Expr] = {}
        self.quadratic: dict[tuple[int, int], Expr] = {}
        self.ridges: dict[tuple[Any, ...], tuple[Expr, Ridge]] = {}
        self.rest: list[Expr] = []

    def take(self, term: Expr, depth: int = 0) -> None:
        symbols = term.free_symbols & set(self.variables)
        if not symbols:
            self.constant += term
            return
        if term.has(DataSum):
            self.rest.append(term)
            return
        if self._take_quadratic(term, symbols):
            return
        coefficient, core = term.as_independent(*symbols, as_Add=False)
        if isinstance(core, Add):
            for part in core.args:
                self.take(coefficient * part, depth)
            return
        if self._take_ridge(coefficient, core, symbols):
            return
        if depth < 3 and self._take_rewritten(term, depth):
            return
        self.rest.append(term)

    def _take_quadratic(self, term: Expr, symbols: set[Symbol]) -> bool:
        if not term.is_polynomial(*symbols):
            return False
        ordered = sorted(symbols, key=lambda s: self.place[s])
        poly = sympy.Poly(term, *ordered)
        if poly.total_degree() > 2:
            return False
        for powers, coefficient in poly.terms():
            touched = [self.place[ordered[i]] for i, p in enumerate(powers) for _ in range(p)]
            if not touched:
                self.constant += coefficient
            elif len(touched) == 1:
                self.linear[touched[0]] = self.linear.get(touched[0], Integer(0)) + coefficient
            else:
                i, j = sorted(touched)
                value = coefficient * (2 if i == j else 1)
                self.quadratic[i, j] = self.quadratic.get((i, j), Integer(0)) + value
        return True

    def _take_ridge(self, coefficient: Expr, core: Expr, symbols: set[Symbol]) -> bool:
        found = as_ridge(core, symbols)
        if found is None:
            return False
        factor, function, argument, text = found
        row, shift = self._affine(argument)
        key = (text, row, shift)
        weight = coefficient * factor
        old = self.ridges.get(key)
        total = weight if old is None else old[0] + weight
        self.ridges[key] = (total, Ridge(total, function, row, shift, text))
        return True

    def _affine(self, argument: Expr) -> tuple[tuple[tuple[int, Expr], ...], Expr]:
        expanded = sympy.expand(argument)
        shift = expanded
        row = []
        for symbol in sorted(argument.free_symbols, key=lambda s: self.place[s]):
            c = expanded.coeff(symbol, 1)
            shift = shift - c * symbol
            if c != 0:
                row.append((self.place[symbol], c))
        return tuple(row), sympy.expand(shift)

    def _take_rewritten(self, term: Expr, depth: int) -> bool:
        """Products of sines and cosines become sums; products of sums are multiplied out."""
        if term.has(sympy.sin, sympy.cos) and isinstance(term, Mul | Pow):
            from sympy.simplify.fu import TR8

            linearised = sympy.expand_mul(TR8(term))
            if linearised != term and isinstance(linearised, Add):
                for part in linearised.args:
                    self.take(part, depth + 1)
                return True
        expanded = sympy.expand_mul(term) if isinstance(term, Mul) else term
        if expanded != term and isinstance(expanded, Add) and len(expanded.args) <= 200:
            for part in expanded.args:
                self.take(part, depth + 1)
            return True
        return False

    def finish(self) -> Structure:
        ridges = tuple(ridge for weight, ridge in self.ridges.values() if weight != 0)
        ridges = tuple(r for r in ridges if r.row)
        rest = Add(*self.rest) if self.rest else None
        quadratic = {key: value for key, value in self.quadratic.items() if value != 0}
        linear = {key: value for key, value in self.linear.items() if value != 0}
        structure = Structure(self.variables, linear, quadratic, ridges, rest, self.constant)
        groups = _groups(structure, self.rest)
        return Structure(self.variables, linear, quadratic, ridges, rest, self.constant, groups)


def _groups(structure: Structure, rest: list[Expr]) -> tuple[tuple[int, ...], ...]:
    """Variables that occur together, directly or through others; untouched variables stand alone."""
    n = len(structure.variables)
    parent = list(range(n))

    def find(i: int) -> int:
        while parent[i] != i:
            parent[i] = parent[parent[i]]
            i = parent[i]
        return i

    def join(members: Sequence[int]) -> None:
        for m in members[1:]:
            parent[find(m)] = find(members[0])

    place = {v: i for i, v in enumerate(structure.variables)}
    for i, j in structure.quadratic:
        join([i, j])
    for ridge in structure.ridges:
        join([i for i, _ in ridge.row])
    for term in rest:
        join([place[s] for s in term.free_symbols if s in place])
    found: dict[int, list[int]] = {}
    for i in range(n):
        found.setdefault(find(i), []).append(i)
    return tuple(tuple(group) for group in found.values())


def restrict(structure: Structure, group: Sequence[int]) -> Structure:
    """The part of a formula that lives on one group of variables (numbered anew)."""
    chosen = set(group)
    order = {old: new for new, old in enumerate(group)}
    variables = tuple(structure.variables[i] for i in group)
    linear = {order[i]: v for i, v in structure.linear.items() if i in chosen}
    quadratic = {(order[i], order[j]): v for (i, j), v in structure.quadratic.items() if i in chosen}
    ridges = tuple(
        Ridge(r.weight, r.function, tuple((order[i], c) for i, c in r.row), r.shift, r.text)
        for r in structure.ridges
        if r.row[0][0] in chosen
    )
    rest = None
    if structure.rest is not None:
        parts = [t for t in Add.make_args(structure.rest) if t.free_symbols & set(variables)]
        rest = Add(*parts) if parts else None
    return Structure(variables, linear, quadratic, ridges, rest, Integer(0), (tuple(range(len(group))),))


def ridge_text(ridge: Ridge, structure: Structure) -> str:
    """The term for a reader: ``4/15*|x1 - y1|^5/2``."""
    argument = sympy.Add(ridge.shift, *[c * structure.variables[i] for i, c in ridge.row])
    inner = str(argument) if argument.is_Symbol else f"({argument})"
    name = ridge.function.name
    text = re.sub(r"\bt\b", lambda _: inner, name) if re.search(r"\bt\b", name) else f"{name}({argument})"
    return text if ridge.weight == 1 else f"-{text}" if ridge.weight == -1 else f"{ridge.weight}*{text}"


def as_ridge(core: Expr, symbols: set[Symbol]) -> tuple[Expr, Scalar, Expr, str] | None:
    """``(factor, phi, affine argument, text)`` with ``core = factor * phi(argument)``, if there is such a form."""
    direct = _atom_of_affine(core, symbols)
    if direct is not None:
        return direct
    argument = _common_argument(core, symbols)
    if argument is None:
        return None
    t = sympy.Symbol("t", real=True)
    inner = core.xreplace({argument: t}) if argument not in symbols else core.subs(argument, t)
    if inner.free_symbols != {t}:
        inner = _eliminate(core, argument, symbols, t)
        if inner is None:
            return None
    if _undefined(inner):
        return None
    weighted = weighted_polynomial(inner, t)
    if weighted is not None:
        front, function, scaled = weighted
        return front, function, sympy.expand(scaled.subs(t, argument)), function.name
    return Integer(1), composite(inner, t), argument, f"({inner})"


def weighted_polynomial(inner: Expr, t: Symbol) -> tuple[Expr, Scalar, Expr] | None:
    """``P(s) gauss(s)`` and ``P(s) (1+s^2)^(-e)`` with rational ``P`` and affine ``s``: (factor, function, s).

    Such functions have exact ranges on half lines.
    """
    weights = [f for f in Mul.make_args(inner) if isinstance(f, lorentz | gauss | bell | hypot1)]
    weights += [
        f for f in Mul.make_args(inner) if isinstance(f, Pow) and isinstance(f.base, lorentz) and f.exp.is_Integer
    ]
    if len(weights) != 1:
        return None
    weight = weights[0]
    base, count = (weight.base, int(weight.exp)) if isinstance(weight, Pow) else (weight, 1)
    scaled = base.argument
    if not is_affine(scaled, {t}):
        return None
    slope = sympy.expand(scaled).coeff(t, 1)
    polynomial = sympy.cancel((inner / weight).subs(t, (t - (scaled - slope * t)) / slope))
    if not polynomial.is_polynomial(t):
        return None
    coefficients = list(reversed(sympy.Poly(polynomial, t).all_coeffs()))
    front = next(c for c in reversed(coefficients) if c != 0)
    coefficients = [sympy.radsimp(c / front) for c in coefficients]
    if not all(c.is_Rational for c in coefficients) or len(coefficients) > 12:
        return None
    p = tuple(_fraction(c) for c in coefficients)
    if isinstance(base, gauss):
        return front, WeightedPolynomial("gauss", p), scaled
    power = {"lorentz": Fraction(2 * count), "hypot1": Fraction(-1)}.get(base.atom)
    return front, WeightedPolynomial("rational", p, _fraction(base.args[0]) if power is None else power), scaled


def _undefined(inner: Expr) -> bool:
    return bool(inner.has(sympy.zoo, sympy.nan, sympy.Piecewise, sympy.Max, sympy.Min))


def _atom_of_affine(core: Expr, symbols: set[Symbol]) -> tuple[Expr, Scalar, Expr, str] | None:
    known = recognise(core)
    if known is not None:
        name, order, parameters, argument = known
        rational = all(p.is_Rational for p in parameters)
        if rational and is_affine(argument, symbols) and name not in ("floor", "ceil"):
            function = scalar(name, *(_fraction(p) for p in parameters))
            return (
                Integer(1),
                (Derived(function, order) if order else function),
                argument,
                f"{name}{list(parameters) or ''}^({order})",
            )
        return None
    if isinstance(core, Pow) and core.exp.is_Rational and is_affine(core.base, symbols):
        power = _fraction(core.exp)
        return Integer(1), scalar("power", power), core.base, f"t^{power}"
    return None


def _fraction(number: sympy.Expr) -> Fraction:
    return Fraction(int(number.p), int(number.q))


def _common_argument(core: Expr, symbols: set[Symbol]) -> Expr | None:
    """An affine form through which alone the variables may enter: the only variable, or some atom's argument."""
    if len(symbols) == 1:
        return next(iter(symbols))
    for node in sympy.preorder_traversal(core):
        inner = None
        if isinstance(node, Pow) and not node.exp.free_symbols:
            inner = node.base
        else:
            known = recognise(node)
            inner = known[3] if known is not None else None
        if inner is not None and inner.free_symbols >= symbols and is_affine(inner, symbols):
            return inner
    return None


def _eliminate(core: Expr, argument: Expr, symbols: set[Symbol], t: Symbol) -> Expr | None:
    """Solve ``argument = t`` for one variable and see whether the others drop out."""
    pivot = min(symbols, key=lambda s: s.name)
    expanded = sympy.expand(argument)
    c = expanded.coeff(pivot, 1)
    solution = (t - (expanded - c * pivot)) / c
    inner = sympy.expand(core.xreplace({pivot: sympy.expand(solution)}))
    return inner if inner.free_symbols == {t} else None

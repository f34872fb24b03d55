"""What a formula is made of: a quadratic, ridges (one-variable functions of affine forms), and a rest.

``h(z) = c + b.z + z'Qz/2 + sum_l w_l phi_l(a_l.z + s_l) + rest(z)``, all numbers exact. The calculus lives on the first
three parts; the rest is bounded by interval jets. Rewriting is by exact identities only.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

import sympy
from sympy import Add, Expr, Integer, Mul, Pow, Rational, Symbol

from bilevel_verify.atoms.functions import AtomFunction, logsumexp, softplus
from bilevel_verify.atoms.table import recognise
from bilevel_verify.constants.scalars import CompositeScalar
from bilevel_verify.intervals.scalar import Derived, Scalar, WeightedPolynomial, scalar

from bilevel_verify.problems.stable import stabilise


class lorentz(AtomFunction):  # noqa: N801
    """``1/(1+t^2)``."""

    atom = "lorentz"
    nargs = 1


class log1psquare(AtomFunction):  # noqa: N801
    """``log(1+t^2)``."""

    atom = "log1psquare"
    nargs = 1


class hypot1(AtomFunction):  # noqa: N801
    """``sqrt(1+t^2)``."""

    atom = "hypot1"
    nargs = 1


class gauss(AtomFunction):  # noqa: N801
    """``exp(-t^2/2)``."""

    atom = "gauss"
    nargs = 1


class sinc(AtomFunction):  # noqa: N801
    """``sin t / t`` with its value 1 at 0."""

    atom = "sinc"
    nargs = 1


class exprel(AtomFunction):  # noqa: N801
    """``(e^t - 1)/t`` with its value 1 at 0."""

    atom = "exprel"
    nargs = 1


class logrel(AtomFunction):  # noqa: N801
    """``log(1+t)/t`` with its value 1 at 0."""

    atom = "logrel"
    nargs = 1


class bell(AtomFunction):  # noqa: N801
    """``(1+t^2)^(-q/2)``; arguments ``(q, t)``."""

    atom = "bell"
    nargs = 2


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

    ``quadratic`` holds the symmetric Hessian entries (i <= j) of the quadratic part; ``rest`` is None if nothing is left.
    """

    variables: tuple[Symbol, ...]
    linear: dict[int, Expr]
    quadratic: dict[tuple[int, int], Expr]
    ridges: tuple[Ridge, ...]
    rest: Expr | None
    constant: Expr = Integer(0)
    groups: tuple[tuple[int, ...], ...] = field(default=())


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
        lead = row[0][1]
        key = (text, row, shift)
        weight = coefficient * factor
        old = self.ridges.get(key)
        total = weight if old is None else old[0] + weight
        self.ridges[key] = (total, Ridge(total, function, row, shift, text))
        del lead
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
    """``weight * (phi)(row . z + shift)`` for a reader."""
    argument = sympy.Add(ridge.shift, *[c * structure.variables[i] for i, c in ridge.row])
    return f"{ridge.weight}*({ridge.function.name})({argument})"


def is_affine(expression: Expr, symbols: set[Symbol]) -> bool:
    """True if the expression is a polynomial of degree one in the symbols."""
    if not expression.is_polynomial(*symbols):
        return False
    return bool(sympy.Poly(expression, *symbols).total_degree() <= 1)


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
    return Integer(1), CompositeScalar(inner, t), argument, f"({inner})"


def weighted_polynomial(inner: Expr, t: Symbol) -> tuple[Expr, Scalar, Expr] | None:
    """``P(s) gauss(s)`` and ``P(s) (1+s^2)^(-e)`` with rational ``P`` and affine ``s``: (factor, function, s).

    Such functions have exact ranges on half lines.
    """
    weights = [f for f in Mul.make_args(inner) if isinstance(f, lorentz | gauss | bell | hypot1)]
    weights += [f for f in Mul.make_args(inner) if isinstance(f, Pow) and isinstance(f.base, lorentz) and f.exp.is_Integer]
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
    coefficients = [sympy.nsimplify(sympy.radsimp(c / front)) for c in coefficients]
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
        if is_affine(argument, symbols) and name not in ("floor", "ceil"):
            function = scalar(name, *(_fraction(p) for p in parameters))
            return Integer(1), (Derived(function, order) if order else function), argument, f"{name}{list(parameters) or ''}^({order})"
        return None
    if isinstance(core, Pow) and core.exp.is_Rational and is_affine(core.base, symbols):
        power = _fraction(core.exp)
        return Integer(1), scalar("power", power), core.base, f"t^{power}"
    return None


def _fraction(number: Any) -> Fraction:
    exact = sympy.nsimplify(number, rational=True) if not number.is_Rational else number
    return Fraction(int(exact.p), int(exact.q))


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


def normalise(expression: Expr) -> Expr:
    """Stable atoms, then ``1/(c+s q^2)``, ``log``, roots and other powers of ``c + s q^2`` and ``exp(-s q^2)`` with their own atoms."""
    return _normalise(stabilise(expression))


def _normalise(expression: Expr) -> Expr:
    if not expression.args or not expression.free_symbols:
        return expression
    args = [_normalise(a) for a in expression.args]
    node = expression.func(*args) if list(expression.args) != args else expression
    if isinstance(node, Pow) and node.exp.is_Rational and not (node.exp.is_Integer and node.exp > 0):
        square = _positive_square(node.base)
        if square is not None:
            return _power_of_square(square, node.exp)
    if isinstance(node, Mul):
        return _removable(node)
    if isinstance(node, sympy.log):
        square = _positive_square(node.args[0])
        if square is not None:
            c, q = square
            return sympy.log(c) + log1psquare(q)
    if isinstance(node, sympy.exp):
        return _gaussian(node)
    if isinstance(node, logsumexp) and len(node.args) == 2:
        first, second = node.args
        return second + softplus(sympy.expand(first - second))
    return node


def _power_of_square(square: tuple[Expr, Expr], exponent: Rational) -> Expr:
    c, q = square
    front = c**exponent
    if exponent == Rational(1, 2):
        return front * hypot1(q)
    if exponent == -1:
        return front * lorentz(q)
    return front * bell(-2 * exponent, q)


def _positive_square(base: Expr) -> tuple[Expr, Expr] | None:
    """``(c, q)`` with ``base = c (1 + q^2)``, c > 0, q affine in a single combination, if the base is such a quadratic."""
    symbols = base.free_symbols
    if not symbols or not base.is_polynomial(*symbols):
        return None
    poly = sympy.Poly(base, *sorted(symbols, key=lambda s: s.name))
    if poly.total_degree() != 2:
        return None
    direct = _explicit_square(base)
    if direct is not None:
        return direct
    if len(symbols) == 1:
        a, b, c = poly.all_coeffs() if poly.degree() == 2 else (0, 0, 0)
        low = sympy.simplify(c - b**2 / (4 * a)) if a != 0 else Integer(0)
        if a != 0 and a.is_positive and low.is_positive:
            t = next(iter(symbols))
            return low, sympy.sqrt(a / low) * (t + b / (2 * a))
    return None


def _explicit_square(base: Expr) -> tuple[Expr, Expr] | None:
    if not isinstance(base, Add):
        return None
    constant, varying = base.as_independent(*base.free_symbols, as_Add=True)
    if isinstance(varying, Add) or not constant.is_positive:
        return None
    s, core = varying.as_independent(*varying.free_symbols, as_Add=False)
    if isinstance(core, Pow) and core.exp == 2 and s.is_positive:
        return constant, sympy.sqrt(s / constant) * core.base
    return None


def _removable(node: Expr) -> Expr:
    """``sin(u)/u``, ``(e^u - 1)/u`` and ``log(1+u)/u`` as functions of their own."""
    factors = list(node.args)
    numbers, powers = [f for f in factors if f.is_number], [f for f in factors if not f.is_number]
    for top in powers:
        found = _vanishing_numerator(top)
        if found is None:
            continue
        function, inner = found
        others = Mul(*[f for f in powers if f is not top])
        ratio = sympy.cancel(others * inner)
        denominators = sympy.fraction(sympy.together(others))[1]
        if denominators.free_symbols and not sympy.fraction(ratio)[1].free_symbols:
            return Mul(*numbers) * ratio * function(inner)
    return node


def _vanishing_numerator(factor: Expr) -> tuple[type, Expr] | None:
    if isinstance(factor, sympy.sin):
        return sinc, factor.args[0]
    if isinstance(factor, sympy.log) and sympy.expand(factor.args[0] - 1).free_symbols:
        return logrel, sympy.expand(factor.args[0] - 1)
    if isinstance(factor, Add) and len(factor.args) == 2 and Integer(-1) in factor.args:
        other = factor.args[0] if factor.args[1] == -1 else factor.args[1]
        if isinstance(other, sympy.exp):
            return exprel, other.args[0]
    return None


def _gaussian(node: Expr) -> Expr:
    exponent = node.args[0]
    constant, varying = exponent.as_independent(*exponent.free_symbols, as_Add=True)
    if isinstance(varying, Add):
        return node
    s, core = varying.as_independent(*varying.free_symbols, as_Add=False)
    if isinstance(core, Pow) and core.exp == 2 and s.is_negative and is_affine(core.base, core.free_symbols):
        return sympy.exp(constant) * gauss(sympy.sqrt(-2 * s) * core.base)
    return node

"""Units: every formula must be homogeneous under rescaling f -> a f, g -> b g, x -> c x, y -> d y.

A unit is a vector of exponents over the base units of a card; exponents are exact and may contain letters
(``M_g`` has ``G/X**(3+nu_g)``). Letters that a paper defines as a maximum of constants with unlike units declare the
units which that definition makes equal (``relation``); comparison is then modulo the span of these relations.
It is the cheapest check there is: milliseconds for a whole paper, and no run.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Literal

import sympy

from bilevel_verify.language import tree
from bilevel_verify.language.binding import binder
from bilevel_verify.language.elementary import TRANSCENDENTAL
from bilevel_verify.theorems.units.logarithms import cancelling, under_powers
from bilevel_verify.theorems.units.unit_form import exponent_fault, unit_fault

Unit = dict[str, sympy.Expr]
"""Base unit -> exponent; the empty dict is dimensionless."""

DIMENSIONLESS: Unit = {}
TRANSPARENT = frozenset(
    {"O", "softO", "Omega", "Theta", "abs", "plus", "norm", "frobenius", "lambda_min", "lambda_max", "T"}
)
PURE = frozenset({*TRANSCENDENTAL, "binomial", "factorial", "softplus", "sigmoid"} - {"log"})


@dataclass(frozen=True, slots=True)
class Mismatch:
    """One place where units do not fit: ``hard`` is a finding, ``weak`` is undecided (often a hidden constant)."""

    kind: Literal["hard", "weak"]
    message: str
    column: int


@dataclass(slots=True)
class UnitCheck:
    """Checks trees against a table of units.

    Parameters
    ----------
    letters : unit of every letter and sequence.
    functions : (units of the arguments, unit of the value) of every function symbol.
    relations : units that are declared equal to 1 by the letters in use.
    fixed : letters whose value a hypothesis fixes (``r == 1``); they may stand in exponents of units.
    """

    letters: Mapping[str, Unit]
    functions: Mapping[str, tuple[tuple[Unit, ...], Unit]] = field(default_factory=dict)
    relations: Mapping[str, tuple[Unit, ...]] = field(default_factory=dict)
    fixed: Mapping[str, sympy.Expr] = field(default_factory=dict)
    found: list[Mismatch] = field(default_factory=list)
    _active: tuple[Unit, ...] = ()
    _free: set[int] = field(default_factory=set)
    _logarithms: list[tuple[tree.Call, Unit]] = field(default_factory=list)

    def relation(self, *sides: tree.Node, among: tree.Node | None = None) -> list[Mismatch]:
        """Mismatches inside the sides and between them; relations of the letters that occur are in force."""
        self.found = []
        self._logarithms = []
        used = {n for side in (*sides, *((among,) if among else ())) for n in _names(side)}
        self._active = tuple(unit for name in sorted(used) for unit in self.relations.get(name, ()))
        self._free = cancelling(sides, self._without_unit)
        self._same([(side, self.unit(side)) for side in sides], "the two sides")
        self._judge_logarithms(sides)
        return self.found

    def unit(self, node: tree.Node) -> Unit | None:
        """Unit of a tree; None for 0, which fits every unit, and after a mismatch inside."""
        match node:
            case tree.Number(value=value):
                return None if value == 0 else DIMENSIONLESS
            case tree.Letter(name=name):
                return self._letter(node, name)
            case tree.Index(base=name, indices=indices):
                for index in indices:
                    self._pure(index, "an index")
                return self._letter(node, name)
            case tree.Add(terms=terms):
                return self._same([(t, self.unit(t)) for t in terms], "a sum")
            case tree.Multiply(factors=factors):
                return _product([self.unit(f) for f in factors])
            case tree.MatrixMultiply(left=left, right=right):
                return _product([self.unit(left), self.unit(right)])
            case tree.Divide(numerator=top, denominator=bottom):
                return _product([self.unit(top), _power(self.unit(bottom), sympy.S.NegativeOne)])
            case tree.Negate(operand=operand):
                return self.unit(operand)
            case tree.Power(base=base, exponent=exponent):
                self._pure(exponent, "an exponent")
                return self._raised(base, exponent)
            case tree.Modulo(left=left, right=right):
                return self._same([(left, self.unit(left)), (right, self.unit(right))], "a remainder")
            case tree.Compare(operands=operands):
                self._same([(o, self.unit(o)) for o in operands], "a comparison")
                return DIMENSIONLESS
            case tree.Logical(operands=operands):
                for operand in operands:
                    self.unit(operand)
                return DIMENSIONLESS
            case tree.Not(operand=operand):
                self.unit(operand)
                return DIMENSIONLESS
            case tree.Conditional(test=test, yes=yes, no=no):
                self.unit(test)
                return self._same([(yes, self.unit(yes)), (no, self.unit(no))], "the branches of a condition")
            case tree.Call():
                return self._call(node)
        return DIMENSIONLESS

    def fits(self, one: Unit | None, other: Unit | None) -> bool:
        """Equality modulo the relations in force (a rank test over the field of the exponents)."""
        gap = _product([one, _power(other, sympy.S.NegativeOne)])
        if gap:
            put = {sympy.Symbol(name, positive=True): value for name, value in self.fixed.items()}
            gap = {b: s for b, e in gap.items() if (s := sympy.cancel(sympy.sympify(e).subs(put))) != 0}
        if not gap:
            return True
        bases = sorted({b for u in (gap, *self._active) for b in u})
        rows = [[u.get(b, sympy.S.Zero) for b in bases] for u in self._active]
        return bool(_rank(rows) == _rank([*rows, [gap.get(b, sympy.S.Zero) for b in bases]]))

    def _letter(self, node: tree.Node, name: str) -> Unit | None:
        if name == "oo":
            return None
        known: Unit = self.letters.get(name, DIMENSIONLESS)
        return known

    def _same(self, parts: list[tuple[tree.Node, Unit | None]], what: str) -> Unit | None:
        known = [(n, u) for n, u in parts if u is not None]
        for node, unit in known[1:]:
            if not self.fits(known[0][1], unit):
                text = f"{what} joins {show(known[0][1])} and {show(unit)}"
                self.found.append(Mismatch("hard", text, node.column))
                return None
        return known[0][1] if known else None

    def _pure(self, node: tree.Node, what: str) -> None:
        unit = self.unit(node)
        if unit is not None and not self.fits(unit, DIMENSIONLESS):
            self.found.append(Mismatch("hard", f"{what} has the unit {show(unit)}", node.column))

    def _raised(self, base: tree.Node, exponent: tree.Node) -> Unit | None:
        unit = self.unit(base)
        if not unit:
            return unit
        try:
            return _power(unit, exponent_value(exponent))
        except ValueError as reason:
            self.found.append(Mismatch("hard", f"{show(unit)} is raised to {reason}", exponent.column))
            return None

    def _call(self, node: tree.Call) -> Unit | None:
        name, arguments = node.function, node.arguments
        span = binder(node)
        if span is not None:
            return self._over_range(node, span)
        if name == "log":
            return self._logarithm(node)
        if name in ("floor", "ceil"):
            self._pure(arguments[0], f"{name} of something that")
            return DIMENSIONLESS
        if name in ("max", "min"):
            return self._same([(a, self.unit(a)) for a in arguments], name)
        if name == "sqrt":
            return _power(self.unit(arguments[0]), sympy.Rational(1, 2))
        if name == "dot":
            return _product([self.unit(a) for a in arguments])
        if name == "inv":
            return _power(self.unit(arguments[0]), sympy.S.NegativeOne)
        if name in ("sign", "calls", "dim", "probability"):
            return DIMENSIONLESS
        if name in self.functions:
            return self._declared(node)
        if name in PURE:
            for argument in arguments:
                self._pure(argument, f"the argument of {name}")
            return DIMENSIONLESS
        if name == "mode":
            return _product([self.unit(arguments[0]), self.unit(arguments[2])])
        if name == "coordinate":
            return self.unit(arguments[1])
        return self.unit(arguments[0]) if arguments else DIMENSIONLESS

    def _declared(self, node: tree.Call) -> Unit | None:
        wanted, value = self.functions[node.function]
        for argument, unit in zip(node.arguments, wanted):
            if not self.fits(self.unit(argument), unit):
                text = f"{node.function} takes {show(unit)}, not {show(self.unit(argument))}"
                self.found.append(Mismatch("hard", text, argument.column))
        return value

    def _over_range(self, node: tree.Call, span: tuple[str, tree.Node, tree.Node]) -> Unit | None:
        _, low, high = span
        for end in (low, high):
            self._pure(end, "the end of a range")
        body = self.unit(node.arguments[0])
        if node.function in ("argmin", "argmax"):
            return DIMENSIONLESS
        if node.function == "prod" and body:
            self.found.append(Mismatch("hard", f"a product over a range of {show(body)}", node.column))
        return body

    def _logarithm(self, node: tree.Call) -> Unit:
        unit = self.unit(node.arguments[0])
        if unit is not None and id(node) not in self._free and not self.fits(unit, DIMENSIONLESS):
            self._logarithms.append((node, unit))
        return DIMENSIONLESS

    def _judge_logarithms(self, sides: tuple[tree.Node, ...]) -> None:
        """One logarithm of a unit makes a relation depend on it; units of several, or in exponents, may cancel."""
        powers = under_powers(sides)
        alone = len(self._logarithms) == 1 and id(self._logarithms[0][0]) not in powers
        for node, unit in self._logarithms:
            more = "which depends on the unit" if alone else "whose unit may cancel"
            kind: Literal["hard", "weak"] = "hard" if alone else "weak"
            self.found.append(Mismatch(kind, f"the logarithm of {show(unit)}, {more}", node.column))

    def _without_unit(self, powers: list[tuple[Fraction, tree.Node]]) -> bool:
        """Whether a product of powers has no unit."""
        found = UnitCheck(self.letters, self.functions, self.relations, self.fixed, _active=self._active)
        units = [_power(found.unit(node), sympy.Rational(p.numerator, p.denominator)) for p, node in powers]
        return found.fits(_product(units), DIMENSIONLESS)


def read_unit(node: tree.Node, bases: frozenset[str]) -> Unit:
    """A unit from its expression: ``1``, ``F/X**2``, ``G/X**(3+nu_g)``.

    Raises
    ------
    ValueError : a name that is no base unit, or an operation other than products, quotients and powers.
    """
    if fault := unit_fault(node, bases):
        raise ValueError(fault)
    return _unit(node)


def _unit(node: tree.Node) -> Unit:
    match node:
        case tree.Letter(name=name):
            return {name: sympy.S.One}
        case tree.Multiply(factors=factors):
            return _combined([_unit(f) for f in factors])
        case tree.Divide(numerator=top, denominator=bottom):
            return _combined([_unit(top), _to_the(_unit(bottom), sympy.S.NegativeOne)])
        case tree.Power(base=base, exponent=exponent):
            return _to_the(_unit(base), exponent_value(exponent))
    return {}


def exponent_value(node: tree.Node) -> sympy.Expr:
    """An exponent as an exact expression of letters.

    Raises
    ------
    ValueError : it contains a function.
    """
    if fault := exponent_fault(node):
        raise ValueError(fault)
    match node:
        case tree.Number(value=value):
            return sympy.Rational(value.numerator, value.denominator)
        case tree.Letter(name=name):
            return sympy.Symbol(name, positive=True)
    parts = [exponent_value(part) for part in node.children()]
    match node:
        case tree.Add():
            return sympy.Add(*parts)
        case tree.Multiply():
            return sympy.Mul(*parts)
        case tree.Negate():
            return -parts[0]
        case tree.Divide():
            return parts[0] / parts[1]
    return parts[0] ** parts[1]


def show(unit: Unit | None) -> str:
    """A unit as text: ``F/X^2``."""
    if unit is None:
        return "any unit"
    above = [_factor(b, e) for b, e in sorted(unit.items()) if not e.could_extract_minus_sign()]
    below = [_factor(b, -e) for b, e in sorted(unit.items()) if e.could_extract_minus_sign()]
    return "/".join(["*".join(above) or "1", *below])


def _factor(base: str, exponent: sympy.Expr) -> str:
    if exponent == 1:
        return base
    return f"{base}^{exponent}" if exponent.is_Integer else f"{base}^({exponent})"


def _product(units: list[Unit | None]) -> Unit | None:
    known = [u for u in units if u is not None]
    return _combined(known) if len(known) == len(units) else None


def _power(unit: Unit | None, exponent: sympy.Expr) -> Unit | None:
    return None if unit is None else _to_the(unit, exponent)


def _combined(units: list[Unit]) -> Unit:
    total: dict[str, sympy.Expr] = {}
    for unit in units:
        for base, exponent in unit.items():
            total[base] = total.get(base, sympy.S.Zero) + exponent
    return {b: s for b, e in total.items() if (s := sympy.cancel(e)) != 0}


def _to_the(unit: Unit, exponent: sympy.Expr) -> Unit:
    return {b: s for b, e in unit.items() if (s := sympy.cancel(e * exponent)) != 0}


def _rank(rows: list[list[sympy.Expr]]) -> int:
    return int(sympy.Matrix(rows).rank())


def _names(node: tree.Node) -> set[str]:
    return {
        p.name if isinstance(p, tree.Letter) else p.base for p in node.walk() if isinstance(p, tree.Letter | tree.Index)
    }

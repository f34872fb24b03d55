"""An independent script for a refuted unit row: both sides under two scalings of the base units.

Where a relation is homogeneous, the quotient of its sides does not change when f, g and lengths are measured in other
units. The script evaluates the quotient in two systems of units; vectors and matrices have one entry, and every value
of a function or of a sequence is a number with the unit of that value. It imports mpmath only.
"""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction

import sympy

from bilevel_verify.audit.entries.script import MPMATH, PYTHON, TOTAL, Printer
from bilevel_verify.language import tree
from bilevel_verify.language.binding import binder
from bilevel_verify.theorems.rewrite import free_letters, rebuild
from bilevel_verify.theorems.units.units import Unit, UnitCheck
from bilevel_verify.theorems.vocabulary import NUMBERS, ORDER_FUNCTIONS

SOURCE = '''"""A relation in several systems of units: the quotient of its sides must not change. mpmath only."""
from mpmath import mp, mpf, {imports}

mp.dps = 60


{total}

def sides({bases}):
    """Both sides; the arguments are the sizes of the base units."""
{letters}
    return {left}, {right}


one = sides({first})
print("in the first units", mp.nstr(one[0], 20), mp.nstr(one[1], 20), "quotient", mp.nstr(one[0] / one[1], 20))
changes = []
for k in (1, -1, 5, -5, 40, -40):
    s = mpf(2) ** k
    other = sides({second})
    changes.append(abs(other[0] / other[1] / (one[0] / one[1]) - 1))
    print("in other units", mp.nstr(other[0], 20), mp.nstr(other[1], 20), "quotient", mp.nstr(other[0] / other[1], 20))
print("largest change of the quotient: the factor 1 +", mp.nstr(max(changes), 10))
raise SystemExit(0 if max(changes) > mpf(10) ** -20 else 1)
'''
KNOWN = frozenset({*MPMATH, *PYTHON, "plus"})
TRANSPARENT = ORDER_FUNCTIONS | {"T", "frobenius", "lambda_min", "lambda_max", "norm"}


class NoScript(Exception):
    """A relation that cannot be written with numbers alone."""


def unit_script(table: UnitCheck, left: tree.Node, right: tree.Node) -> str | None:
    """Source of the script, None where a side cannot be written with numbers alone.

    Parameters
    ----------
    table : the units of everything that the sides name; its relations are respected by the scaling.
    left, right : the sides, local definitions written out.
    """
    plain = _Plain(table)
    try:
        sides = [plain.of(side) for side in (left, right)]
        units = {
            name: plain.units.get(name, table.letters.get(name, {})) for side in sides for name in free_letters(side)
        }
        scaling = _scaling(table, (left, right), plain.exponents)
        lines = [
            f"    v_{name} = {_value(number)}{_factors(units[name], plain.exponents)}"
            for number, name in enumerate(sorted(units.keys() - NUMBERS))
        ]
    except NoScript:
        return None
    printer = Printer()
    try:
        shown = [printer.of(side) for side in sides]
    except TypeError:
        return None
    return SOURCE.format(
        imports=printer.imports,
        total=TOTAL,
        bases=", ".join(scaling),
        letters="\n".join(lines) or "    pass",
        left=shown[0],
        right=shown[1],
        first=", ".join("mpf(1)" for _ in scaling),
        second=", ".join(f"s ** {power}" for power in scaling.values()),
    )


def _value(number: int) -> str:
    """A number without a pattern, different for every letter."""
    return f"mpf({16 * number + 27})/{7 * number + 11}"


def _factors(unit: Unit | None, exponents: Mapping[str, Fraction]) -> str:
    parts = [f" * {base} ** (mpf({p.numerator})/{p.denominator})" for base, p in _powers(unit, exponents).items()]
    return "".join(parts)


def _powers(unit: Unit | None, exponents: Mapping[str, Fraction]) -> dict[str, Fraction]:
    """The exponents of a unit as numbers; letters in them take the values of the script."""
    if unit is None:
        raise NoScript("a letter without a unit")
    found = {}
    for base, exponent in unit.items():
        put = {s: sympy.Rational(exponents[s.name].numerator, exponents[s.name].denominator)
               for s in exponent.free_symbols if s.name in exponents}  # fmt: skip
        value = exponent.subs(put)
        if not value.is_Rational:
            raise NoScript("an exponent that is no number")
        found[base] = Fraction(int(value.p), int(value.q))
    return found


def _scaling(table: UnitCheck, sides: tuple[tree.Node, ...], exponents: Mapping[str, Fraction]) -> dict[str, int]:
    """Base unit -> power of 2 by which it grows, a direction that leaves the declared relations alone."""
    bases = sorted({base for unit in table.letters.values() for base in unit})
    names = {p.name if isinstance(p, tree.Letter) else p.base
             for side in sides for p in side.walk() if isinstance(p, tree.Letter | tree.Index)}  # fmt: skip
    rows = [_powers(unit, exponents) for name in sorted(names) for unit in table.relations.get(name, ())]
    free = [sympy.eye(len(bases)).col(i) for i in range(len(bases))]
    if rows:
        matrix = sympy.Matrix([[sympy.Rational(str(row.get(base, 0))) for base in bases] for row in rows])
        free = matrix.nullspace()
    if not free:
        raise NoScript("the declared relations leave no scaling")
    total = sum((vector * (2 * place + 1) for place, vector in enumerate(free)), sympy.zeros(len(bases), 1))
    common = sympy.ilcm(1, *(entry.q for entry in total))
    return {base: int(entry * common) for base, entry in zip(bases, total)}


class _Plain:
    """Relations in numbers: vectors with one entry, values of functions and sequences as letters of their own."""

    def __init__(self, table: UnitCheck) -> None:
        self.table = table
        self.units: dict[str, Unit | None] = {}
        self.names: dict[tree.Node, str] = {}
        self.exponents = {name: _rational(value) for name, value in table.fixed.items()}
        for unit in table.letters.values():
            for exponent in unit.values():
                for symbol in exponent.free_symbols:
                    self.exponents.setdefault(symbol.name, Fraction(1, 2))

    def of(self, node: tree.Node) -> tree.Node:
        match node:
            case tree.Letter(name=name) if name in self.exponents:
                return tree.Number(self.exponents[name])
            case tree.MatrixMultiply(left=left, right=right):
                return tree.Multiply((self.of(left), self.of(right)))
            case tree.Index():
                return self._fresh(node)
            case tree.Conditional(yes=yes):  # the branches have one unit; the one that is not 0 elsewhere
                return self.of(yes)
            case tree.Call(function="argmin" | "argmax"):
                return self._fresh(node)
            case tree.Call() if binder(node) is None:
                return self._call(node)
        return rebuild(node, self.of)

    def _call(self, node: tree.Call) -> tree.Node:
        arguments = node.arguments
        if node.function in TRANSPARENT:
            inner = self.of(arguments[0])
            return tree.Call("abs", (inner,)) if node.function == "norm" else inner
        if node.function == "dot":
            return tree.Multiply(tuple(self.of(a) for a in arguments))
        if node.function == "inv":
            return tree.Divide(tree.Number(Fraction(1)), self.of(arguments[0]))
        if node.function == "mode":
            return tree.Multiply((self.of(arguments[0]), self.of(arguments[2])))
        if node.function in KNOWN and node.function not in self.table.functions:
            return rebuild(node, self.of)
        return self._fresh(node)

    def _fresh(self, node: tree.Node) -> tree.Node:
        if node not in self.names:
            before, self.table.found = self.table.found, []
            unit, wrong = self.table.unit(node), [m for m in self.table.found if m.kind == "hard"]
            self.table.found = before
            if wrong or unit is None:
                raise NoScript("a value without a unit")
            self.names[node] = f"value_{len(self.names) + 1}"
            self.units[self.names[node]] = unit
        return tree.Letter(self.names[node])


def _rational(value: sympy.Expr) -> Fraction:
    return Fraction(int(value.p), int(value.q))

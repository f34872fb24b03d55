"""A minimal, independent script for a counterexample: printed from the parsed tree alone, mpmath only.

No text of a card enters it (names are letters of the grammar, everything else is generated), and it does not import
this package: a reader can check a refutation without believing us.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from fractions import Fraction
from typing import TYPE_CHECKING

from bilevel_verify.audit.scalar.claim import ScalarClaim, prepared
from bilevel_verify.language import to_text, tree
from bilevel_verify.language.elementary import ELEMENTARY
from bilevel_verify.theorems.rewrite import binder, free_letters, rebuild
from bilevel_verify.theorems.vocabulary import NUMBERS, ORDER_FUNCTIONS

if TYPE_CHECKING:
    from bilevel_verify.audit.orders.monomials import Ray

TOTAL = '''def total(term, low, high, start=0, times=False):
    """Sum (or product) of term(i) for all integers i with low <= i <= high."""
    value = mpf(1 if times else start)
    for i in range(int(mp.ceil(low)), int(mp.floor(high)) + 1):
        value = value * term(mpf(i)) if times else value + term(mpf(i))
    return value
'''
"""What scripts with sums or products need."""
HEADER = '''"""Counterexample to one printed relation. Needs mpmath only; prints both sides and every hypothesis."""
from mpmath import mp, mpf, {imports}

mp.dps = 60


{total}

'''
MPMATH = {name: name for name in (*ELEMENTARY, "binomial", "factorial")}
PYTHON = {"abs": "abs", "max": "max", "min": "min"}


def scalar_script(claim: ScalarClaim, point: Mapping[str, Fraction]) -> str:
    """Source of a script that evaluates a claim and its hypotheses at a rational point; exit status 1 if it holds."""
    claim, printer = prepared(claim), Printer()
    left, right = printer.of(claim.left), printer.of(claim.right)
    hypotheses, given = _hypotheses(claim, printer)
    lines = [*_values(point), f"left = {left}", f"right = {right}", *hypotheses]
    lines += [f"refuted = not (left {claim.op} right){given}"]
    lines += ['print("left ", mp.nstr(left, 30))', 'print("right", mp.nstr(right, 30))']
    lines += [f'print("left {claim.op} right is", bool(left {claim.op} right))']
    return _finished(lines, printer)


def undefined_script(claim: ScalarClaim, needed: ScalarClaim, point: Mapping[str, Fraction]) -> str:
    """Source of a script that evaluates both sides where one of them is not defined; exit status 1 if they all are."""
    from bilevel_verify.audit.scalar.attack import feasible_point

    claim, needed, printer = prepared(claim), prepared(needed), Printer()
    everything = replace(claim, domains={**needed.domains, **claim.domains}, where=needed.where)
    point = feasible_point(everything, point) or dict(point)  # letters that do not matter have values as well
    need = printer.of(tree.Compare((needed.left, needed.right), (needed.op,)))
    hypotheses, given = _hypotheses(needed, printer)
    shown = free_letters(claim.left) | free_letters(claim.right) <= point.keys() | NUMBERS  # vectors have no values
    named = (("left ", claim.left), ("right", claim.right)) if shown else ()
    sides = "".join(f'("{name}", lambda: {printer.of(side)}), ' for name, side in named)
    lines = [*_values(point), *hypotheses, f'print("a part of the formula is defined:", bool({need}))']
    lines += [
        f"for name, side in ({sides}):",
        "    try:",
        "        print(name, mp.nstr(side(), 30))",
        "    except (ArithmeticError, ValueError) as error:",
        '        print(name, "is not defined:", error)',
        f"refuted = not {need}{given}",
    ]
    return _finished(lines, printer)


def _values(point: Mapping[str, Fraction]) -> list[str]:
    return [f"v_{name} = mpf({value.numerator})/{value.denominator}" for name, value in point.items()]


def _hypotheses(claim: ScalarClaim, printer: Printer) -> tuple[list[str], str]:
    """Lines that print every hypothesis, and the end of a condition that asks for all of them."""
    conditions = [(printer.of(c), _plain(c)) for c in claim.conditions()]
    lines = [f'print("hypothesis", {shown!r}, bool({source}))' for source, shown in conditions]
    return lines, "".join(f" and bool({source})" for source, _ in conditions)


def _finished(lines: list[str], printer: Printer) -> str:
    """The whole script: its status says whether ``refuted`` is true."""
    body = [*lines, "raise SystemExit(0 if refuted else 1)"]
    return HEADER.format(imports=printer.imports, total=TOTAL) + "\n".join(body) + "\n"


GROWTH = '''"""A direction along which an order fails. Needs mpmath only; prints the ratio of the sides."""
from mpmath import mp, mpf, {imports}

mp.dps = 60


def ratio(t):
    """The left side over the right side, order symbols left out."""
{letters}
    return {left} / {right}


values = [ratio(mpf(10) ** k) for k in (3, 6, 9, 12)]
for k, value in zip((3, 6, 9, 12), values):
    print("t = 1e%d" % k, "ratio", mp.nstr(value, 15))
steps = [mp.log(b / a) for a, b in zip(values, values[1:])]
endless = abs(steps[-1]) > abs(steps[0]) / 10  # steps towards a limit would shrink a thousandfold
raise SystemExit(0 if endless and (all(s > 0 for s in steps) or all(s < 0 for s in steps)) else 1)
'''


def growth_script(left: tree.Node, right: tree.Node, ray: Ray) -> str:
    """Source of a script that follows a ray: exit status 0 if the ratio grows without end (or falls to 0)."""
    printer = Printer()
    one, other = (printer.of(without_order_symbols(side)) for side in (left, right))
    names = sorted((free_letters(left) | free_letters(right)) - NUMBERS)
    lines = []
    for name in names:
        if name in ray.at:
            value = ray.at[name]
            lines.append(f"    v_{name} = mpf({value.numerator})/{value.denominator}")
        else:
            power = ray.direction.get(name, Fraction(0))
            start = f"mpf(2) ** {ray.start[name]} * " if ray.start.get(name) else ""
            lines.append(f"    v_{name} = {start}t ** (mpf({power.numerator})/{power.denominator})")
    return GROWTH.format(imports=printer.imports, letters="\n".join(lines), left=one, right=other)


def without_order_symbols(node: tree.Node) -> tree.Node:
    """``O(x)`` as ``x``."""
    if isinstance(node, tree.Call) and node.function in ORDER_FUNCTIONS:
        return without_order_symbols(node.arguments[0])
    return rebuild(node, without_order_symbols)


def _plain(node: tree.Node) -> str:
    return to_text(node)


class Printer:
    """Trees to Python source; every name gets the prefix ``v_``, so that nothing can be shadowed."""

    def __init__(self) -> None:
        self.used: set[str] = set()

    @property
    def imports(self) -> str:
        """The names of mpmath that what was printed needs."""
        return ", ".join(sorted({*(MPMATH[f] for f in self.used if f in MPMATH), "pi", "e"}))

    def of(self, node: tree.Node) -> str:
        match node:
            case tree.Number(value=value):
                return (
                    f"(mpf({value.numerator})/{value.denominator})"
                    if value.denominator > 1
                    else f"mpf({value.numerator})"
                )
            case tree.Truth(value=value):
                return str(value)
            case tree.Letter(name=name):
                return {"pi": "pi", "E": "e", "oo": "mp.inf"}.get(name, f"v_{name}")
            case tree.Add(terms=terms):
                return "(" + " + ".join(self.of(t) for t in terms) + ")"
            case tree.Multiply(factors=factors):
                return "(" + " * ".join(self.of(f) for f in factors) + ")"
            case tree.Divide(numerator=top, denominator=bottom):
                return f"({self.of(top)} / {self.of(bottom)})"
            case tree.Power(base=base, exponent=exponent):
                return f"({self.of(base)} ** {self.of(exponent)})"
            case tree.Negate(operand=operand):
                return f"(-{self.of(operand)})"
            case tree.Modulo(left=left, right=right):
                return f"({self.of(left)} % {self.of(right)})"
            case tree.Compare(operands=operands, operators=operators):
                parts = [f"{self.of(a)} {op} {self.of(b)}" for op, a, b in zip(operators, operands, operands[1:])]
                return "(" + " and ".join(parts) + ")"
            case tree.Logical(operator=word, operands=operands):
                return "(" + f" {word} ".join(self.of(o) for o in operands) + ")"
            case tree.Not(operand=operand):
                return f"(not {self.of(operand)})"
            case tree.Conditional(test=test, yes=yes, no=no):
                return f"({self.of(yes)} if {self.of(test)} else {self.of(no)})"
            case tree.Call():
                return self.call(node)
        raise TypeError(f"no script for {type(node).__name__}")

    def call(self, node: tree.Call) -> str:
        span = binder(node)
        self.used.add(node.function)
        if span is not None and node.function in ("sum", "prod"):
            index, low, high = span
            term = f"lambda v_{index}: {self.of(node.arguments[0])}"
            times = ", times=True" if node.function == "prod" else ""
            return f"total({term}, {self.of(low)}, {self.of(high)}{times})"
        if span is not None:
            index, low, high = span
            places = f"map(mpf, range(int(mp.ceil({self.of(low)})), int(mp.floor({self.of(high)})) + 1))"
            return f"{node.function}({self.of(node.arguments[0])} for v_{index} in {places})"
        inner = ", ".join(self.of(a) for a in node.arguments)
        if node.function == "plus":
            return f"max(0, {inner})"
        name = MPMATH.get(node.function) or PYTHON.get(node.function)
        if name is None:
            raise TypeError(f"no script for {node.function}")
        return f"{name}({inner})"

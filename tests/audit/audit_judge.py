"""A judge of ``check`` that shares nothing with it but the parser: exact evaluation of random statements on grids.

Statements have integer exponents, half-open ranges, right sides that are the extreme value on the grid or a little
off, sums with real ends, letters defined on and off their ranges. A verdict is contradicted by one point.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from itertools import islice, product
from typing import Any

import numpy as np
from mpmath import mp, mpf

from bilevel_verify.audit.findings.finding import Finding
from bilevel_verify.audit.formula import check
from bilevel_verify.language import parse, tree

Point = dict[str, Fraction]
DIGITS, SLACK = 50, mpf(10) ** -35
FAILS = {"<=": lambda a, b: a > b, "<": lambda a, b: a >= b, ">=": lambda a, b: a < b, ">": lambda a, b: a <= b}


class Undefined(Exception):
    """A part has no value at a point."""


def value(node: tree.Node, at: Mapping[str, Any]) -> Any:
    """A ``Fraction`` while it is one, a number of 50 digits else."""
    match node:
        case tree.Number(value=number):
            return number
        case tree.Letter(name=name):
            return at[name]
        case tree.Add(terms=terms):
            return sum((value(t, at) for t in terms), Fraction(0))
        case tree.Multiply(factors=factors):
            return math.prod((value(f, at) for f in factors), start=Fraction(1))
        case tree.Negate(operand=operand):
            return -value(operand, at)
        case tree.Divide(numerator=top, denominator=bottom):
            above, below = value(top, at), value(bottom, at)
            if below == 0:
                raise Undefined
            return above / below
        case tree.Power(base=base, exponent=exponent):
            return power(value(base, at), value(exponent, at))
        case tree.Call(function=name, arguments=arguments):
            return function(name, arguments, at)
    raise AssertionError(node)


def power(base: Any, exponent: Any) -> Any:
    if exponent == int(exponent):
        if base == 0 and exponent < 0:
            raise Undefined
        return base ** int(exponent)
    if base < 0 or (base == 0 and exponent < 0):
        raise Undefined
    return real(base) ** real(exponent) if base else Fraction(0)


def real(number: Any) -> Any:
    return mpf(number.numerator) / number.denominator if isinstance(number, Fraction) else number


def function(name: str, arguments: tuple[tree.Node, ...], at: Mapping[str, Any]) -> Any:
    span = arguments[-1]
    if isinstance(span, tree.Tuple):
        index, low, high = span.items
        assert isinstance(index, tree.Letter)
        places = range(math.ceil(value(low, at)), math.floor(value(high, at)) + 1)
        terms = [value(arguments[0], {**at, index.name: Fraction(i)}) for i in places]
        return sum(terms, Fraction(0)) if name == "sum" else math.prod(terms, start=Fraction(1))
    inner = [value(a, at) for a in arguments]
    if name == "sqrt":
        return power(inner[0], Fraction(1, 2))
    return {"abs": abs, "max": max, "min": min, "floor": math.floor, "ceil": math.ceil}[name](*inner)


@dataclass(frozen=True)
class Range:
    """Of a letter: the text for ``--for`` and the points of the grid."""

    text: str
    low: Fraction | None
    high: Fraction | None
    closed: tuple[bool, bool] = (True, True)
    integer: bool = False

    def holds(self, number: Fraction) -> bool:
        above = self.low is None or number > self.low or (number == self.low and self.closed[0])
        below = self.high is None or number < self.high or (number == self.high and self.closed[1])
        return above and below and not (self.integer and number.denominator != 1)

    def grid(self) -> list[Fraction]:
        if self.integer:
            start = self.low if self.low is not None else Fraction(-3)
            return [n for n in (start + i for i in range(7)) if self.holds(n)]
        assert self.low is not None
        assert self.high is not None
        width = self.high - self.low
        shares = [Fraction(n, 8) for n in range(9)] + [Fraction(1, 10**6), 1 - Fraction(1, 10**6)]
        near = {self.low + width * share for share in shares}
        near |= {Fraction(n, 2) for n in range(math.ceil(2 * self.low), math.floor(2 * self.high) + 1)}
        return sorted(n for n in near if self.holds(n))


@dataclass(frozen=True)
class Statement:
    """A relation with its ranges; ``defined`` maps letters to their formulas (hypotheses of ``check``)."""

    left: str
    op: str
    right: str
    ranges: Mapping[str, Range]
    defined: Mapping[str, str] = field(default_factory=dict)

    @property
    def text(self) -> str:
        return f"{self.left} {self.op} {self.right}"

    def points(self) -> Iterator[Point]:
        """The points of the grid at which every hypothesis holds."""
        free = [name for name in self.ranges if name not in self.defined]
        for numbers in product(*(self.ranges[name].grid() for name in free)):
            point = self.completed(dict(zip(free, numbers)))
            if point is not None:
                yield point

    def completed(self, point: Mapping[str, Fraction]) -> Point | None:
        """With the letters that are defined; None where a hypothesis fails or has no value."""
        found = dict(point)
        for name, formula in self.defined.items():
            try:
                number = value(parse(formula), found)
            except Undefined:
                return None
            if not isinstance(number, Fraction) or not self.ranges[name].holds(number):
                return None
            found[name] = number
        return found

    def at(self, point: Point) -> str:
        """``true``, ``false`` or ``undefined`` at a point; ``near`` where 50 digits do not tell."""
        try:
            left, right = value(parse(self.left), point), value(parse(self.right), point)
        except Undefined:
            return "undefined"
        if not (isinstance(left, Fraction | int) and isinstance(right, Fraction | int)):
            left, right = real(Fraction(left) if isinstance(left, int) else left), real(right)
            if abs(left - right) <= SLACK * (1 + abs(left)):
                return "near"
        return "false" if FAILS[self.op](left, right) else "true"


def objection(statement: Statement, findings: list[Finding]) -> str | None:
    """What contradicts the verdicts on a statement, or None."""
    with mp.workdps(DIGITS):
        link = findings[0]
        if link.verdict in ("holds", "not applicable"):
            for point in islice(statement.points(), 4000):
                found = statement.at(point)
                if link.verdict == "not applicable" or found in ("false", "undefined"):
                    return f"{link.verdict}, but {found} at {_shown(point)}"
        if link.verdict == "refuted":
            bad = _at_counterexample(statement, link, "false")
            if bad:
                return bad
        for pole in findings[1:]:
            if pole.verdict == "refuted" and (bad := _at_counterexample(statement, pole, "undefined")):
                return bad
    return None


def _at_counterexample(statement: Statement, finding: Finding, wanted: str) -> str | None:
    given = {n: Fraction(v) for n, v in (finding.counterexample or {}).items() if n in statement.ranges}
    if any(not statement.ranges[n].holds(v) for n, v in given.items()):
        return f"the counterexample {_shown(given)} is outside the ranges"
    free = {n: v for n, v in given.items() if n not in statement.defined}
    missing = [n for n in statement.ranges if n not in free and n not in statement.defined]
    for numbers in product(*(statement.ranges[n].grid() for n in missing)):
        point = statement.completed({**free, **dict(zip(missing, numbers))})
        agrees = point is not None and all(point[n] == v for n, v in given.items())
        if agrees and point is not None and statement.at(point) in (wanted, "near"):
            return None
    return f"refuted at {_shown(given)}, where it is not {wanted}"


def _shown(point: Mapping[str, Fraction]) -> str:
    return ", ".join(f"{n} = {v}" for n, v in point.items())


def judged(number: int, seed: int, seconds: float) -> tuple[Statement, list[Finding], str | None]:
    """The random statement of a number and a seed, what ``check`` says about it, and what contradicts that."""
    statement = random_statement(np.random.default_rng([seed, number]))
    ranges = {name: domain.text for name, domain in statement.ranges.items()}
    where = [f"{name} == {formula}" for name, formula in statement.defined.items()]
    findings = check(statement.text, ranges, where, seed=number, seconds=seconds)
    return statement, findings, objection(statement, findings)


# --- random statements ------------------------------------------------------------------------------------------------


def random_statement(random: np.random.Generator) -> Statement:
    """Left side from a template, right side its extreme value on the grid, exactly or a little off."""
    ranges = {"x": _interval(random)}
    left = _pick(random, TEMPLATES)
    exponent = _pick(random, EXPONENTS)
    left = left.replace("EXP", f"({exponent})").replace("C", str(_pick(random, (1, 2, "1/2", "3/2"))))
    for name in ("k", "n"):
        if name in left:
            start = int(random.integers(-1, 3))
            last = f"{start + int(random.integers(0, 5))}" if random.random() < 0.4 else ""
            high = Fraction(last) if last else None
            ranges[name] = Range(f"integers {start}..{last}", Fraction(start), high, integer=True)
    defined = {}
    if random.random() < 0.25:
        ranges["y"], defined["y"] = _interval(random), _pick(random, DEFINITIONS)
        left = re.sub(r"\bx\b", "y", left) if random.random() < 0.5 else f"{left} + y"
    op = _pick(random, ("<=", "<", ">=", ">"))
    return _with_right_side(Statement(left, op, "0", ranges, defined), random)


def _with_right_side(statement: Statement, random: np.random.Generator) -> Statement:
    values = []
    with mp.workdps(DIGITS):
        for point in islice(statement.points(), 600):
            try:
                values.append(value(parse(statement.left), point))
            except Undefined:
                continue
    exact = [Fraction(v) for v in values if isinstance(v, Fraction | int)]
    if not exact:
        return statement
    extreme = max(exact) if statement.op in ("<=", "<") else min(exact)
    bound = extreme.limit_denominator(1000) + _pick(random, (0, 0, 0, Fraction(1, 100), Fraction(-1, 100), 1, -1))
    sign, size = ("-" if bound < 0 else ""), abs(bound)
    return Statement(statement.left, statement.op, f"{sign}{size}", statement.ranges, statement.defined)


def _interval(random: np.random.Generator) -> Range:
    low = Fraction(int(random.integers(-4, 4)), 2)
    high = low + Fraction(int(random.integers(1, 6)), 2)
    closed = (bool(random.random() < 0.6), bool(random.random() < 0.6))
    text = f"{'[' if closed[0] else '('}{low}, {high}{']' if closed[1] else ')'}"
    return Range(text, low, high, closed)


def _pick(random: np.random.Generator, items: tuple[Any, ...]) -> Any:
    return items[int(random.integers(len(items)))]


EXPONENTS = ("k", "2*n", "2*n + 1", "n - 1", "k + n", "k*(k + 1)", "2", "3", "-1", "-2", "1/2", "3/2", "k - 2", "1 - k")
TEMPLATES = (
    "x**EXP", "(C - x)**EXP", "(-1)**EXP*x", "x**EXP/(k + C)", "C/(x - C)", "abs(x - C)**EXP", "x**2 - C*x",
    "sum(x**i, (i, 0, k))", "sum((-1)**i, (i, 0, k))", "sum(i, (i, n, k))", "sum(1, (i, 1, x))",
    "prod(x + i, (i, 0, 2))",
    "sum(C/i, (i, k, k + 2))", "sqrt(x - C)", "floor(x)**EXP", "max(x, C)**EXP - x", "(x - C)*x**EXP", "k*x/(k + x)",
    "(x**2)**(1/2) - x", "x**EXP - x**(2*n)", "0**EXP + x", "(1 - x)**k*(1 + x)**k",
)  # fmt: skip
DEFINITIONS = ("x**2", "1/x", "x/(x - 1)", "2*x - 1", "x**3", "-x", "1/(x**2 - 1)")

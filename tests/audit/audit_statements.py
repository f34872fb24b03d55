"""Random scalar statements with a brute-force answer that shares no code with the engines: plain Python, mpmath."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

import numpy as np
from mpmath import mp, mpf

SMALL = [Fraction(n, d) for n in (1, 2, 3, 5) for d in (1, 2, 3)]
DIGITS = 100
NOISE = mpf(10) ** -60
"""Relative error of a side that 100 digits leave after every cancellation that occurs here."""
Point = dict[str, Fraction]


@dataclass(frozen=True)
class Statement:
    """A relation with its ranges and hypotheses, as text, and functions that evaluate them in many digits."""

    kind: str
    left: str
    op: str
    right: str
    ranges: dict[str, str]
    closed: dict[str, tuple[float, float]] = field(default_factory=dict)
    where: tuple[str, ...] = ()

    @property
    def text(self) -> str:
        """The relation."""
        return f"{self.left} {self.op} {self.right}"

    @property
    def declared(self) -> str:
        """The ranges, as ``check`` reads them."""
        return "; ".join(f"{name} = {domain}" for name, domain in self.ranges.items())

    @property
    def integers(self) -> frozenset[str]:
        """Letters that range over integers."""
        return frozenset(name for name, domain in self.ranges.items() if domain.startswith("integers"))

    def gap(self, point: Point) -> Any:
        """Relative slack, right - left over the sum of their sizes: negative where the relation fails."""
        left, right = value_of(self.left, point), value_of(self.right, point)
        slack = left - right if self.op == ">=" else -abs(left - right) if self.op == "==" else right - left
        size = abs(left) + abs(right)
        return slack / size if size else mpf(0)

    def allowed(self, point: Point) -> bool:
        """Whether the hypotheses hold at a point."""
        return all(value_of(condition, point) for condition in self.where)

    def contradicts(self, gap: Any) -> bool:
        """Whether a gap shows beyond rounding that the relation fails."""
        return bool(gap < -NOISE or (self.op == "<" and gap == 0))


def value_of(text: str, at: Point) -> Any:
    """Value of a text of this file, evaluated by mpmath."""
    mp.dps = DIGITS
    source = re.sub(r"(?<![\w.])(\d+)(?![\w.])", r"mpf(\1)", text)
    source = re.sub(r"(sum|prod)\((.*), \((\w+), (.*), (.*)\)\)", r"\1_(lambda \3: \2, \4, \5)", source)
    point = {name: mpf(value.numerator) / value.denominator for name, value in at.items()}
    return eval(source, {"__builtins__": {}, **SPACE, **point})


def _sum(term: Callable[[Any], Any], low: Any, high: Any) -> Any:
    return sum((term(mpf(i)) for i in range(int(low), int(high) + 1)), mpf(0))


def _prod(term: Callable[[Any], Any], low: Any, high: Any) -> Any:
    total = mpf(1)
    for i in range(int(low), int(high) + 1):
        total *= term(mpf(i))
    return total


SPACE = {
    "log": mp.log, "exp": mp.exp, "sqrt": mp.sqrt, "floor": mp.floor, "ceil": mp.ceil, "max": max, "min": min,
    "abs": abs, "tanh": mp.tanh, "atan": mp.atan, "sum_": _sum, "prod_": _prod, "mpf": mpf,
}  # fmt: skip


def random_statement(random: np.random.Generator) -> Statement:
    """A random relation of one kind, true about half of the time."""
    return BUILDERS[str(random.choice(sorted(BUILDERS)))](random)


def _number(random: np.random.Generator) -> Fraction:
    return SMALL[int(random.integers(len(SMALL)))]


def _monomial(random: np.random.Generator, names: tuple[str, ...], halves: bool) -> str:
    parts = [f"({_number(random)})"]
    for name in names:
        exponent = Fraction(int(random.integers(0, 5)), 2 if halves else 1)
        if exponent:
            parts.append(f"{name}**({exponent})")
    return "*".join(parts)


def _polynomial(random: np.random.Generator) -> Statement:
    names = ("a", "b")[: int(random.integers(1, 3))]
    terms = [_monomial(random, names, False) for _ in range(3)]
    return Statement("polynomial", terms[0], "<=", f"{terms[1]} + {terms[2]}", dict.fromkeys(names, "(0, oo)"))


def _roots(random: np.random.Generator) -> Statement:
    names = ("a", "b")[: int(random.integers(1, 3))]
    terms = [_monomial(random, names, True) for _ in range(3)]
    return Statement("roots", terms[0], "<=", f"{terms[1]} + {terms[2]}", dict.fromkeys(names, "[0, oo)"))


def _exponent(random: np.random.Generator) -> Statement:
    left = f"(1 + b)**({_number(random)} + n)"
    right = f"({_number(random)}) + b*({_number(random)} + n) + b**({_number(random)} + n)"
    return Statement("exponent", left, "<=", right, {"n": "[0, 1]", "b": "[0, oo)"}, {"n": (0.0, 1.0)})


def _integer(random: np.random.Generator) -> Statement:
    p, q = int(random.integers(1, 4)), int(random.integers(1, 4))
    left, right = f"({_number(random)})*k**{p}", f"k**{q} + ({_number(random)})*k + ({_number(random)})"
    return Statement("integer", left, "<=", right, {"k": "integers 0.."})


def _floor(random: np.random.Generator) -> Statement:
    q, s = int(random.integers(2, 5)), int(random.integers(0, 4))
    left, right = f"{random.choice(['floor', 'ceil'])}((k + {s})/{q})", f"({_number(random)})*k + ({_number(random)})"
    return Statement("floor", left, "<=", right, {"k": "integers 0.."})


def _rounded(random: np.random.Generator) -> Statement:
    """Rounding inside rounding, or of a real letter; equalities and strict relations too."""
    outer, inner = (str(random.choice(["floor", "ceil"])) for _ in range(2))
    p, q, s = (int(v) for v in random.integers(2, 5, 3))
    if random.random() < 0.5:
        left, right = f"{outer}({inner}((k + {s})/{p})/{q})", f"{outer}((k + {s})/{p * q})"
        return Statement("rounded", left, str(random.choice(["==", "<=", ">="])), right, {"k": "integers 0.."})
    left, right = f"{outer}({p}*a) - {s - 2}", f"{q}*{inner}(a) + ({_number(random)})*a"
    return Statement("rounded", left, str(random.choice(["<=", "<", ">="])), right, {"a": "[0, 20]"}, {"a": (0, 20)})


def _total(random: np.random.Generator) -> Statement:
    p = int(random.integers(0, 4))
    body = f"i**{p}" if random.random() < 0.7 else f"({Fraction(1, int(random.integers(2, 5)))})**i"
    low, high = int(random.integers(0, 3)), int(random.integers(-2, 3))
    limit = f"k + ({high})" if high >= 0 else f"k - ({-high})"
    right = f"({_number(random)})*k**{p + 1} + ({_number(random)})"
    return Statement("sum", f"sum({body}, (i, {low}, {limit}))", "<=", right, {"k": "integers 0.."})


def _roots_total(random: np.random.Generator) -> Statement:
    """Sums of roots and of fractions against their integrals, sometimes with a slack that is wrong."""
    p = Fraction(int(random.choice([-3, -2, -1, 1, 3])), 2)
    growth = f"({_number(random)})*k**({p + 1})" if p != -1 else f"({_number(random)})*log(k)"
    right = f"{growth} + ({_number(random)})"
    op = str(random.choice(["<=", ">="]))
    return Statement("sum of roots", f"sum(i**({p}), (i, 1, k))", op, right, {"k": "integers 1.."})


def _geometric(random: np.random.Generator) -> Statement:
    body = str(random.choice(["r**i", "i*r**(i - 1)", "r**(i/2)"]))
    top = {"r**i": "1/(1 - r)", "i*r**(i - 1)": "1/(1 - r)**2", "r**(i/2)": "2/(1 - r)"}[body]
    factor = Fraction(int(random.choice([2, 3, 4])), 3)
    left = f"sum({body}, (i, {int(random.integers(0, 2))}, k))"
    return Statement(
        "geometric", left, "<=", f"({factor})*{top}", {"k": "integers 0..", "r": "[1/10, 9/10]"}, {"r": (0.1, 0.9)}
    )


def _product(random: np.random.Generator) -> Statement:
    low, p = int(random.integers(1, 4)), int(random.integers(1, 3))
    sign = str(random.choice(["+", "-"])) if low > 1 else "+"
    right = f"({_number(random)})*k + ({_number(random)})" if sign == "+" else f"({_number(random)})/k"
    op = str(random.choice(["<=", ">="]))
    return Statement("product", f"prod(1 {sign} 1/i**{p}, (i, {low}, k))", op, right, {"k": "integers 1.."})


def _log(random: np.random.Generator) -> Statement:
    left = f"({_number(random)})*log(1 + a)"
    return Statement("log", left, "<=", f"({_number(random)})*a - ({_number(random)})*a**2/(1 + a)", {"a": "[0, oo)"})


def _logs(random: np.random.Generator) -> Statement:
    op = str(random.choice(["<=", ">="]))
    left = f"({_number(random)})*a*log(a) + ({_number(random)})*log(1 + b/a)"
    right = f"({_number(random)})*a**2 - ({_number(random)})*a + ({_number(random)})*b"
    return Statement("logs", left, op, right, {"a": "(0, oo)", "b": "[0, oo)"})


def _exponential(random: np.random.Generator) -> Statement:
    sign = str(random.choice(["", "-"]))
    op = str(random.choice(["<=", ">="]))
    right = f"({_number(random)}) {random.choice(['+', '-'])} ({_number(random)})*a + ({_number(random)})*a**2"
    domain = str(random.choice(["[0, oo)", "(-oo, oo)", "[-1, 2]"]))
    closed = {"a": (-1.0, 2.0)} if domain == "[-1, 2]" else {}
    return Statement("exponential", f"({_number(random)})*exp({sign}a)", op, right, {"a": domain}, closed)


def _bounded(random: np.random.Generator) -> Statement:
    op = str(random.choice(["<=", ">=", "<"]))
    left = f"({_number(random)})*{random.choice(['tanh', 'atan'])}(({_number(random)})*a)"
    right = f"({_number(random)})*a/(1 + ({_number(random)})*a) + ({_number(random)})/10"
    return Statement("bounded", left, op, right, {"a": "[0, oo)"})


def _maximum(random: np.random.Generator) -> Statement:
    left = f"max(a, ({_number(random)})*b)"
    right = f"({_number(random)})*a + ({_number(random)})*b + min(a, b)/2"
    return Statement("maximum", left, "<=", right, dict.fromkeys("ab", "[0, oo)"))


def _sides(random: np.random.Generator) -> Statement:
    """Letters of either sign in max, min and abs."""
    inner = str(random.choice(["max(a, -b, c)", "abs(a - b) + min(b, c)", "max(min(a, b), min(b, c))"]))
    right = f"({_number(random)})*abs(a) + ({_number(random)})*abs(b) + ({_number(random)})*max(abs(c), b)"
    return Statement("sides", inner, str(random.choice(["<=", ">="])), right, dict.fromkeys("abc", "(-oo, oo)"))


def _quartic(random: np.random.Generator) -> Statement:
    """A quartic near its discriminant on the whole line or a part of it."""
    root, extra = _number(random), Fraction(int(random.choice([-1, 0, 1])), int(10 ** random.integers(1, 7)))
    left = f"2*({root})*a**2 - ({root**2}) + ({extra})"
    domain = str(random.choice(["(-oo, oo)", "[-3, 1]", "[0, oo)"]))
    closed = {"a": (-3.0, 1.0)} if domain == "[-3, 1]" else {}
    return Statement("quartic", left, str(random.choice(["<=", "<"])), "a**4", {"a": domain}, closed)


def _rational(random: np.random.Generator) -> Statement:
    left = f"a/(b + ({_number(random)})*c) + b/(a + c)"
    right = f"({_number(random)}) + ({_number(random)})*c/(a + b)"
    return Statement("rational", left, str(random.choice(["<=", ">="])), right, dict.fromkeys("abc", "(0, oo)"))


def _hypothesis(random: np.random.Generator) -> Statement:
    conditions = ["a >= 2*b", "a*b >= 1", "a + b <= 1", "a**2 >= b + 1", "b >= sqrt(a)", "a == 3*b"]
    where = tuple(str(c) for c in random.choice(conditions, int(random.integers(1, 3)), replace=False))
    left, right = _monomial(random, ("a", "b"), True), _monomial(random, ("a", "b"), True)
    return Statement(
        "hypothesis", left, "<=", f"{right} + ({_number(random)})", dict.fromkeys("ab", "(0, oo)"), {}, where
    )


def _powers(random: np.random.Generator) -> Statement:
    """Powers of one minus t with an integer exponent."""
    left = f"(1 - t)**(n + {int(random.integers(0, 2))})"
    choices = [f"1/(1 + ({_number(random)})*n*t)", f"1 - ({_number(random)})*n*t", f"exp(-({_number(random)})*n*t)"]
    op = str(random.choice(["<=", ">="]))
    return Statement(
        "powers", left, op, str(random.choice(choices)), {"n": "integers 1..", "t": "[0, 1]"}, {"t": (0.0, 1.0)}
    )


def _modulo(random: np.random.Generator) -> Statement:
    m, p = int(random.integers(2, 6)), int(random.integers(1, 4))
    left = f"(k**{p} + {int(random.integers(0, 4))}*k) % {m}"
    return Statement("modulo", left, "<=", str(int(random.integers(0, m))), {"k": "integers 0.."})


def _far(random: np.random.Generator) -> Statement:
    """A relation that fails at one far place or nowhere."""
    place, size = int(10 ** random.uniform(1, 4)), Fraction(int(random.choice([-1, 0, 1])), 4)
    name, domain = ("k", "integers 0..") if random.random() < 0.5 else ("a", "[0, oo)")
    return Statement("far", str(size), "<=", f"({name} - {place})**2", {name: domain})


BUILDERS: dict[str, Callable[[np.random.Generator], Statement]] = {
    "polynomial": _polynomial, "roots": _roots, "exponent": _exponent, "integer": _integer, "floor": _floor,
    "rounded": _rounded, "sum": _total, "sum of roots": _roots_total, "geometric": _geometric, "product": _product,
    "log": _log, "logs": _logs, "exponential": _exponential, "bounded": _bounded, "maximum": _maximum,
    "sides": _sides, "quartic": _quartic, "rational": _rational, "hypothesis": _hypothesis, "powers": _powers,
    "modulo": _modulo, "far": _far,
}  # fmt: skip


def smallest_gap(statement: Statement, random: np.random.Generator, tries: int = 400) -> tuple[Any, Point]:
    """The smallest relative gap met by plain sampling and by a descent from the best place, and where."""
    best, place = mpf("inf"), {}
    for number in range(tries):
        moved = number >= tries - 80 and bool(place)
        point = _moved(statement, place, random) if moved else _drawn(statement, random, number)
        gap = _gap_at(statement, point)
        if gap < best:
            best, place = gap, point
    return _descent(statement, best, place)


def _gap_at(statement: Statement, point: Point) -> Any:
    """The gap at a point; infinite where the statement says nothing there."""
    try:
        if not _inside(statement, point) or not statement.allowed(point):
            return mpf("inf")
        gap = statement.gap(point)
    except (ZeroDivisionError, ValueError, TypeError, OverflowError):
        return mpf("inf")
    return gap if isinstance(gap, mp.mpf) and mp.isfinite(gap) else mpf("inf")


def _descent(statement: Statement, best: Any, place: Point) -> tuple[Any, Point]:
    """One letter at a time by halving relative steps, without luck: a narrow gap beside the best draw is entered."""
    width = Fraction(1, 2)
    while place and width > Fraction(1, 10**6):
        moves = [
            {**place, name: value * (1 + sign * width)}
            for name, value in place.items()
            if name not in statement.integers and "a == 3*b" not in statement.where
            for sign in (1, -1)
        ]
        gap, point = min(
            ((_gap_at(statement, move), move) for move in moves), key=lambda pair: pair[0], default=(best, place)
        )
        if gap < best:
            best, place = gap, {n: v.limit_denominator(10**12) for n, v in point.items()}
            best = min(best, _gap_at(statement, place))
        else:
            width /= 2
    return best, place


def _drawn(statement: Statement, random: np.random.Generator, number: int) -> Point:
    point = {name: _value(statement, name, random, number) for name in statement.ranges}
    if "a == 3*b" in statement.where:
        point["a"] = 3 * point["b"]
    return point


def _moved(statement: Statement, place: Point, random: np.random.Generator) -> Point:
    width = 10.0 ** random.uniform(-6, 0)
    point = {}
    for name, value in place.items():
        step = 1 + width * float(random.standard_normal())
        if name in statement.integers:
            point[name] = max(value + int(random.integers(-2, 3)), Fraction(0))
        else:
            point[name] = (value * Fraction(step)).limit_denominator(10**9) if random.random() < 0.7 else value
    if "a == 3*b" in statement.where:
        point["a"] = 3 * point["b"]
    return point


def _inside(statement: Statement, point: Point) -> bool:
    for name, value in point.items():
        domain = statement.ranges[name]
        if name in statement.closed and not statement.closed[name][0] <= value <= statement.closed[name][1]:
            return False
        if (domain == "integers 1.." and value < 1) or (domain == "(0, oo)" and value <= 0):
            return False
        if domain in ("integers 0..", "[0, oo)") and value < 0:
            return False
    return True


def _value(statement: Statement, name: str, random: np.random.Generator, number: int) -> Fraction:
    if name in statement.integers:
        return Fraction(number if number < 40 else int(10 ** random.uniform(0, 4 if statement.kind == "far" else 3)))
    if name in statement.closed:
        low, high = statement.closed[name]
        return Fraction(float(random.choice([low, high, random.uniform(low, high)]))).limit_denominator(10**4)
    sign = -1 if statement.ranges[name] == "(-oo, oo)" and random.random() < 0.5 else 1
    if random.random() < 0.1:
        return Fraction(0) if statement.ranges[name] == "[0, oo)" else Fraction(1)
    return sign * (Fraction(float(10 ** random.uniform(-4, 4))).limit_denominator(10**6) or Fraction(1, 10**5))

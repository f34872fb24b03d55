"""Random scalar statements with a brute-force answer that shares no code with the engines: plain Python, mpmath."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from mpmath import mp, mpf

SMALL = [Fraction(n, d) for n in (1, 2, 3, 5) for d in (1, 2, 3)]


@dataclass(frozen=True)
class Statement:
    """A relation with its ranges, as text, and a function that evaluates right - left in many digits."""

    text: str
    ranges: str
    gap: Callable[..., Any]
    letters: tuple[str, ...]
    integers: frozenset[str]
    closed: dict[str, tuple[float, float]]


def random_statement(random: np.random.Generator) -> Statement:
    """A random relation of one kind, true about half of the time."""
    kind = random.choice(["polynomial", "roots", "exponent", "integer", "floor", "sum", "log", "maximum"])
    return BUILDERS[str(kind)](random)


def _number(random: np.random.Generator) -> Fraction:
    return SMALL[int(random.integers(len(SMALL)))]


def _monomial(random: np.random.Generator, names: tuple[str, ...], halves: bool) -> str:
    parts = [f"({_number(random)})"]
    for name in names:
        exponent = Fraction(int(random.integers(0, 5)), 2 if halves else 1)
        if exponent:
            parts.append(f"{name}**({exponent})")
    return "*".join(parts)


def _build(left: str, right: str, ranges: dict[str, str], closed: dict[str, tuple[float, float]]) -> Statement:
    names = tuple(ranges)
    declared = "; ".join(f"{n} = {r}" for n, r in ranges.items())
    integers = frozenset(n for n, r in ranges.items() if r.startswith("integers"))
    return Statement(f"{left} <= {right}", declared, _gap(left, right, names), names, integers, closed)


def _gap(left: str, right: str, names: tuple[str, ...]) -> Callable[..., Any]:
    """Both sides evaluated by mpmath; the texts come from this file alone."""

    def total(term: Callable[[Any], Any], low: Any, high: Any) -> Any:
        return sum((term(mpf(i)) for i in range(int(low), int(high) + 1)), mpf(0))

    space = {"log": mp.log, "floor": mp.floor, "ceil": mp.ceil, "max": max, "min": min, "total": total, "mpf": mpf}

    def value(text: str, at: dict[str, Any]) -> Any:
        import re

        source = re.sub(r"(?<![\w.])(\d+)(?![\w.])", r"mpf(\1)", text)
        source = re.sub(r"sum\((.*), \((\w+), (.*), (.*)\)\)", r"total(lambda \2: \1, \3, \4)", source)
        return eval(source, {"__builtins__": {}, **space, **at})

    def gap(**at: Any) -> Any:
        mp.dps = 40
        point = {n: mpf(v.numerator) / v.denominator for n, v in at.items()}
        return value(right, point) - value(left, point)

    return gap


def _polynomial(random: np.random.Generator) -> Statement:
    names = ("a", "b")[: int(random.integers(1, 3))]
    terms = [_monomial(random, names, False) for _ in range(3)]
    return _build(terms[0], f"{terms[1]} + {terms[2]}", dict.fromkeys(names, "(0, oo)"), {})


def _roots(random: np.random.Generator) -> Statement:
    names = ("a", "b")[: int(random.integers(1, 3))]
    terms = [_monomial(random, names, True) for _ in range(3)]
    return _build(terms[0], f"{terms[1]} + {terms[2]}", dict.fromkeys(names, "[0, oo)"), {})


def _exponent(random: np.random.Generator) -> Statement:
    c = _number(random)
    left = f"(1 + b)**({_number(random)} + n)"
    right = f"({c}) + b*({_number(random)} + n) + b**({_number(random)} + n)"
    return _build(left, right, {"n": "[0, 1]", "b": "[0, oo)"}, {"n": (0.0, 1.0)})


def _integer(random: np.random.Generator) -> Statement:
    p, q = int(random.integers(1, 4)), int(random.integers(1, 4))
    return _build(
        f"({_number(random)})*k**{p}",
        f"k**{q} + ({_number(random)})*k + ({_number(random)})",
        {"k": "integers 0.."},
        {},
    )


def _floor(random: np.random.Generator) -> Statement:
    q, s = int(random.integers(2, 5)), int(random.integers(0, 4))
    word = random.choice(["floor", "ceil"])
    return _build(f"{word}((k + {s})/{q})", f"({_number(random)})*k + ({_number(random)})", {"k": "integers 0.."}, {})


def _sum(random: np.random.Generator) -> Statement:
    p = int(random.integers(0, 4))
    body = f"i**{p}" if random.random() < 0.7 else f"({Fraction(1, int(random.integers(2, 5)))})**i"
    low, high = int(random.integers(0, 3)), int(random.integers(-2, 3))
    limit = f"k + ({high})" if high >= 0 else f"k - ({-high})"
    right = f"({_number(random)})*k**{p + 1} + ({_number(random)})"
    return _build(f"sum({body}, (i, {low}, {limit}))", right, {"k": "integers 0.."}, {})


def _log(random: np.random.Generator) -> Statement:
    return _build(
        f"({_number(random)})*log(1 + a)",
        f"({_number(random)})*a - ({_number(random)})*a**2/(1 + a)",
        {"a": "[0, oo)"},
        {},
    )


def _maximum(random: np.random.Generator) -> Statement:
    c, d = _number(random), _number(random)
    return _build(
        f"max(a, ({c})*b)", f"({d})*a + ({_number(random)})*b + min(a, b)/2", dict.fromkeys("ab", "[0, oo)"), {}
    )


BUILDERS = {
    "polynomial": _polynomial, "roots": _roots, "exponent": _exponent, "integer": _integer, "floor": _floor,
    "sum": _sum, "log": _log, "maximum": _maximum,
}  # fmt: skip


def smallest_gap(
    statement: Statement, random: np.random.Generator, tries: int = 400
) -> tuple[Any, dict[str, Fraction]]:
    """The smallest relative gap met by plain sampling, and where."""
    best, place = mpf("inf"), {}
    for number in range(tries):
        point = {n: _value(statement, n, random, number) for n in statement.letters}
        try:
            gap = statement.gap(**point)
        except (ZeroDivisionError, ValueError, TypeError):
            continue
        if not mp.isfinite(gap) if isinstance(gap, mp.mpf) else True:
            continue
        if gap < best:
            best, place = gap, point
    return best, place


def _value(statement: Statement, name: str, random: np.random.Generator, number: int) -> Fraction:
    if name in statement.integers:
        return Fraction(number if number < 40 else int(10 ** random.uniform(0, 3)))
    if name in statement.closed:
        low, high = statement.closed[name]
        return Fraction(float(random.choice([low, high, random.uniform(low, high)]))).limit_denominator(10**4)
    if random.random() < 0.1:
        return Fraction(0) if name + " = [0" in statement.ranges else Fraction(1)
    return Fraction(float(10 ** random.uniform(-4, 4))).limit_denominator(10**6) or Fraction(1, 10**5)

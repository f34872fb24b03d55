"""The smallest counterexample is the one a reader believes: every value becomes a simpler one that still refutes."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from fractions import Fraction

Refutes = Callable[[Mapping[str, Fraction]], bool]
SMALL = tuple(Fraction(n) for n in (0, 1, 2, 3, 4, 5, 10, 100, 1000)) + tuple(
    Fraction(1, n) for n in (2, 3, 4, 10, 100, 1000)
)
SIGNED = tuple(v for value in SMALL for v in ((value, -value) if value else (value,)))
ROUNDS = 3
CALLS = 400


def weight(value: Fraction) -> tuple[int, int, bool]:
    """How hard a number is to read: digits first, then size, then sign."""
    digits = len(str(abs(value.numerator)).rstrip("0") or "0") + 2 * len(str(value.denominator).rstrip("0")) - 2
    return digits + (value.denominator > 1), abs(value.numerator) + value.denominator, value < 0


def shrink(point: Mapping[str, Fraction], refutes: Refutes) -> dict[str, Fraction]:
    """A point that refutes as well and is as simple as a greedy search makes it."""
    best, calls = dict(point), 0
    for _ in range(ROUNDS):
        before = dict(best)
        for name in best:
            for value in _simpler(best[name]):
                calls += 1
                if calls > CALLS:
                    return best
                if refutes({**best, name: value}):
                    best[name] = value
                    break
        if best == before:
            break
    return best


def _simpler(value: Fraction) -> Iterator[Fraction]:
    """Simpler numbers than a given one, simplest first: small ones, and roundings of the number itself."""
    near = {value.limit_denominator(d) for d in (1, 2, 3, 4, 10, 100)}
    near |= {_few_digits(value, digits) for digits in (1, 2, 3)}
    if value:
        near |= {Fraction(1) / round(1 / value)} if round(1 / value) else set()
    candidates = {Fraction(v) for v in (*SIGNED, *near)}
    yield from sorted((v for v in candidates if weight(v) < weight(value)), key=weight)


def _few_digits(value: Fraction, digits: int) -> Fraction:
    """The number rounded to so many decimal digits."""
    if not value:
        return value
    power = len(str(abs(value.numerator))) - len(str(value.denominator)) - digits
    unit = Fraction(10) ** power
    return round(value / unit) * unit

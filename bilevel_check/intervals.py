"""Rational intervals: every function encloses, by series with their remainders, and rounds outwards.

An interval is a pair of fractions. ``bits`` is the length to which ends are rounded; short ends stay exact.
"""

from collections.abc import Callable, Mapping
from fractions import Fraction
from functools import reduce
from math import ceil, floor
from typing import TypeAlias

from bilevel_check.terms import DEFINED, SUMS, Refused, Tree, demand, split, work

Interval: TypeAlias = tuple[Fraction, Fraction]
ZERO, ONE = Fraction(0), Fraction(1)


def down(x: Fraction, bits: int) -> Fraction:
    """A fraction of about ``bits`` bits below x, or x itself if it is as short."""
    top, bottom = x.numerator, x.denominator
    work.spend(1 + (top.bit_length() + bottom.bit_length()) // 2000)
    if max(top.bit_length(), bottom.bit_length()) <= bits:
        return x
    shift = bits - top.bit_length() + bottom.bit_length()
    return Fraction((top << max(shift, 0)) // (bottom << max(-shift, 0))) / Fraction(2) ** shift


class Evaluation:
    """Encloses trees with intervals for their letters (a vector has one entry), ends rounded to a number of bits."""

    def __init__(self, letters: Mapping[str, Interval], bits: int) -> None:
        self.letters, self.bits, self.tiny = letters, bits, Fraction(1, 2**bits)

    def of(self, node: Tree) -> Interval:
        """The enclosure of a number; refused where it is not shown to be defined, or has no value or word."""
        work.spend(1)
        if isinstance(node, int | Fraction):
            return Fraction(node), Fraction(node)
        head, parts = split(node)
        if isinstance(node, str) and node in self.letters:
            return self.letters[node]
        if head in SUMS:
            return self.over(head, *parts)
        if head in DEFINED:
            return self.of(DEFINED[head](*parts))
        demand((head or node) in FUNCTIONS, f"no enclosure of {head or node}")
        return FUNCTIONS[head or str(node)](self, *(self.of(part) for part in parts))

    def over(self, head: str, body: Tree, index: str, low: Tree, high: Tree) -> Interval:
        """A sum or product over the integers of a range with known ends."""
        (first, same), (other, last) = map(ceil, self.of(low)), map(floor, self.of(high))
        demand(first == same and other == last, "a sum with ends that are not known")
        total, rule = ((ZERO, ZERO), self.add) if head == "sum" else ((ONE, ONE), self.multiply)
        for i in range(first, last + 1):
            total = rule(total, Evaluation({**self.letters, index: (Fraction(i), Fraction(i))}, self.bits).of(body))
        return total

    def out(self, low: Fraction, high: Fraction) -> Interval:
        """Rounded outwards."""
        return down(low, self.bits), -down(-high, self.bits)

    def add(self, a: Interval, b: Interval) -> Interval:
        return self.out(a[0] + b[0], a[1] + b[1])

    def multiply(self, a: Interval, b: Interval) -> Interval:
        ends = [a[0] * b[0], a[1] * b[1]] if min(a[0].numerator, b[0].numerator) >= 0 else [x * y for x in a for y in b]
        return self.out(min(ends), max(ends))

    def divide(self, a: Interval, b: Interval) -> Interval:
        demand(b[0] > 0 or b[1] < 0, "a division by an interval that contains 0")
        return self.multiply(a, (1 / b[1], 1 / b[0]))

    def power(self, a: Interval, e: Interval) -> Interval:
        """``a ** e``: whole e for every base, others for bases that are not negative (0 with e > 0)."""
        n = int(e[0]) if e[0] == e[1] and e[0].denominator == 1 else None
        if n is not None and n < 0:
            return self.divide((ONE, ONE), self.power(a, (-e[0], -e[0])))
        if n is not None:  # rises, an even power with the absolute value
            low, high = a if n % 2 else (max(ZERO, a[0], -a[1]), max(-a[0], a[1]))
            return self.whole((low, low), n)[0], self.whole((high, high), n)[1]
        if a[0] > 0:
            return self.exp(self.multiply(e, self.log(a)))
        demand(a[0] == 0 < e[0], "a real power of a number that may be negative, or of 0")
        return ZERO, self.power((a[1], a[1]), e)[1] if a[1] > 0 else ZERO

    def whole(self, a: Interval, n: int) -> Interval:
        """A natural power of an interval of one sign, by repeated squaring."""
        demand(n <= 2**20, "a whole power that is too large")
        result = ONE, ONE
        while n:
            result, a, n = self.multiply(result, a) if n & 1 else result, self.multiply(a, a), n >> 1
        return result

    def series(self, term: Fraction, ratio: Callable[[int], Fraction]) -> Interval:
        """The sum of terms from ``term`` on, each ``ratio(n)`` times the one before; |ratio| falls or is below 1/2.

        What is left out is at most twice the first term left out; rounding in so many bits is less than that.
        """
        total, n, places = 0, 0, 3 * self.bits + 200
        whole = floor(term * 2**places)
        while abs(whole) >> (places - self.bits) or 2 * abs(ratio(n)) > 1:
            step = ratio(n)
            total, whole, n = total + whole, whole * step.numerator // step.denominator, n + 1
            work.spend(2)
        found = Fraction(total, 2**places)
        return self.out(found - 4 * self.tiny, found + 4 * self.tiny)

    def exp(self, a: Interval) -> Interval:
        """By exp(x/2**k) ** (2**k) with |x/2**k| <= 1/2."""
        demand(max(map(abs, a)) <= 2**16, "an exponential beyond exp(65536)")
        ends = []
        for i, x in enumerate(a):
            k = max(0, x.numerator.bit_length() - x.denominator.bit_length() + 2)
            small = self.out(x / 2**k, x / 2**k)[i]
            end = self.series(ONE, lambda n, small=small: small / (n + 1))[i]  # type: ignore[misc]
            ends.append(self.whole((end, end), 2**k)[i] if x else ONE)
        return ends[0], ends[1]

    def log(self, a: Interval) -> Interval:
        """By x = 2**k m with m in [1/2, 2] and log m = 2 artanh((m - 1)/(m + 1))."""
        demand(a[0] > 0, "the logarithm of a number that may not be positive")
        ends = []
        for i, x in enumerate(a):
            k = x.numerator.bit_length() - x.denominator.bit_length()
            m = x / Fraction(2) ** k
            z = self.out((m - 1) / (m + 1), (m - 1) / (m + 1))[i]
            two = self.multiply((Fraction(k),) * 2, self.artanh(Fraction(1, 3)))
            ends.append(2 * (self.artanh(z)[i] + two[i]) if x != 1 else ZERO)
        return self.out(ends[0], ends[1])

    def artanh(self, z: Fraction) -> Interval:
        """artanh z for |z| <= 1/3."""
        return self.series(z, lambda n: z * z * Fraction(2 * n + 1, 2 * n + 3))

    def wave(self, a: Interval, first: int) -> Interval:
        """cos (0) or sin (1) by the series at the middle; the function moves no faster than its argument."""
        middle = down((a[0] + a[1]) / 2, self.bits)
        demand(abs(middle) <= 100, "sine or cosine beyond 100")
        term, square, radius = middle if first else ONE, -middle * middle, max(a[1] - middle, middle - a[0])
        low, high = self.series(term, lambda n: square / ((2 * n + 1 + first) * (2 * n + 2 + first)))
        return self.out(max(-ONE, low - radius), min(ONE, high + radius))


FUNCTIONS: dict[str, Callable[..., Interval]] = {
    "+": lambda at, *parts: reduce(at.add, parts),
    "*": lambda at, *parts: reduce(at.multiply, parts),
    "/": Evaluation.divide,
    "^": Evaluation.power,
    "neg": lambda at, a: (-a[1], -a[0]),
    "pi": lambda at: at.series(Fraction(3), lambda n: Fraction((2 * n + 1) ** 2, 8 * (n + 1) * (2 * n + 3))),
    "E": lambda at: at.exp((ONE, ONE)),
    "exp": Evaluation.exp,
    "log": Evaluation.log,
    "sin": lambda at, a: at.wave(a, 1),
    "cos": lambda at, a: at.wave(a, 0),
    "max": lambda at, *parts: (max(low for low, _ in parts), max(high for _, high in parts)),
    "norm": lambda at, a: (max(ZERO, a[0], -a[1]), max(-a[0], a[1])),
    "dot": Evaluation.multiply,
    "sign": lambda at, a: (Fraction((a[0] > 0) - (a[0] < 0)), Fraction((a[1] > 0) - (a[1] < 0))),
    "floor": lambda at, a: (Fraction(floor(a[0])), Fraction(floor(a[1]))),
}
"""Its enclosure (pi is 6 arcsin(1/2)); a norm and an inner product are those of vectors with one entry."""


def shown(op: str, small: Tree, large: Tree, box: Mapping[str, Interval], bits: int) -> bool:
    """Whether intervals show ``large - small op 0`` on a whole box; what is not seen to be defined is not shown."""
    try:
        (least, top), (bottom, most) = (Evaluation(box, bits).of(side) for side in (small, large))
    except Refused:
        work.spend(0)
        return False
    return least == top == bottom == most if op == "==" else top < bottom or (op == ">=" and top <= bottom)

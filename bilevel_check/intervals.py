"""Rational intervals: every function encloses, by series with their remainders, and rounds outwards.

An interval is a pair of fractions. ``bits`` is the length to which ends are rounded; short ends stay exact.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from fractions import Fraction
from math import ceil, comb, factorial, floor
from typing import TypeAlias

from bilevel_check.terms import Refused, Tree, letter_of, split, work

Interval: TypeAlias = tuple[Fraction, Fraction]
ZERO, ONE, TERMS = Fraction(0), Fraction(1), 20_000


def down(x: Fraction, bits: int) -> Fraction:
    """A fraction of about ``bits`` bits below x."""
    size = x.numerator.bit_length() - x.denominator.bit_length()
    work.spend(1 + (x.numerator.bit_length() + x.denominator.bit_length()) // 2000)
    if max(x.numerator.bit_length(), x.denominator.bit_length()) <= bits:
        return x
    shift = bits - size
    scaled = floor(x * (Fraction(2) ** shift))
    return Fraction(scaled) / (Fraction(2) ** shift)


class Intervals:
    """Interval arithmetic with ends of ``bits`` bits."""

    def __init__(self, bits: int) -> None:
        self.bits = bits
        self.tiny = Fraction(1, 2**bits)

    def out(self, low: Fraction, high: Fraction) -> Interval:
        """Rounded outwards."""
        return down(low, self.bits), -down(-high, self.bits)

    def add(self, a: Interval, b: Interval) -> Interval:
        return self.out(a[0] + b[0], a[1] + b[1])

    def multiply(self, a: Interval, b: Interval) -> Interval:
        products = [x * y for x in a for y in b]
        return self.out(min(products), max(products))

    def inverse(self, a: Interval) -> Interval:
        if a[0] <= 0 <= a[1]:
            raise Refused("a division by an interval that contains 0")
        return self.out(1 / a[1], 1 / a[0])

    def whole_power(self, a: Interval, n: int) -> Interval:
        """``a ** n`` for a whole number n; even powers are not negative."""
        if n < 0:
            return self.inverse(self.whole_power(a, -n))
        if n > 10_000:
            raise Refused("a whole power beyond 10000")
        if a[0] < 0 and n % 2 == 0:
            a = (ZERO, max(-a[0], a[1])) if a[1] > 0 else (-a[1], -a[0])
        return self._monotone(a[0], n)[0], self._monotone(a[1], n)[1]

    def _monotone(self, x: Fraction, n: int) -> Interval:
        """``x ** n`` by repeated squaring; an odd power keeps the sign."""
        if x < 0:
            low, high = self._monotone(-x, n)
            return -high, -low
        low = high = ONE
        x_low = x_high = x
        while n:
            if n & 1:
                low, high = down(low * x_low, self.bits), -down(-high * x_high, self.bits)
            x_low, x_high, n = down(x_low * x_low, self.bits), -down(-x_high * x_high, self.bits), n >> 1
        return low, high

    def power(self, a: Interval, e: Interval) -> Interval:
        """``a ** e``: whole e for every base, others for bases that are not negative (0 with e > 0)."""
        if e[0] == e[1] and e[0].denominator == 1:
            return self.whole_power(a, int(e[0]))
        exact = _exact_root(a[0], e[0]) if a[0] == a[1] and e[0] == e[1] and a[0] > 0 else None
        if exact is not None:
            return exact, exact
        if a[0] < 0 or (a[0] == 0 and e[0] <= 0):
            raise Refused("a real power of a number that may be negative")
        if a[0] == 0:
            return ZERO, ZERO if a[1] == 0 else max(ONE if a[1] < 1 else ZERO, self.power((a[1], a[1]), e)[1])
        return self.exp(self.multiply(e, self.log(a)))

    def exp(self, a: Interval) -> Interval:
        return self._exp(a[0])[0], self._exp(a[1])[1]

    def _exp(self, x: Fraction) -> Interval:
        if x == 0:
            return ONE, ONE
        if abs(x) > 2**16:
            raise Refused("an exponential beyond exp(65536)")
        halvings = max(0, x.numerator.bit_length() - x.denominator.bit_length() + 2)
        small = self.out(x / 2**halvings, x / 2**halvings)
        low, high = self._series(small[0])[0], self._series(small[1])[1]
        for _ in range(halvings):
            low, high = down(low * low, self.bits + 20), -down(-high * high, self.bits + 20)
        return low, high

    def _series(self, x: Fraction) -> Interval:
        """exp(x) for |x| <= 1/2: the remainder is at most twice the first term left out."""
        total, term, n = ONE, ONE, 0
        while abs(term) > self.tiny:
            n += 1
            term = down(term * x / n, 2 * self.bits + 40) if abs(x) else ZERO
            total += term
            work.spend(1)
        slack = (n + 3) * self.tiny
        return self.out(total - slack, total + slack)

    def log(self, a: Interval) -> Interval:
        if a[0] <= 0:
            raise Refused("the logarithm of a number that may not be positive")
        return self._log(a[0])[0], self._log(a[1])[1]

    def _log(self, x: Fraction) -> Interval:
        """By x = 2**k m with m in [1/2, 2] and log m = 2 artanh((m - 1)/(m + 1))."""
        k = x.numerator.bit_length() - x.denominator.bit_length()
        m = x / Fraction(2) ** k
        rest, two = self._artanh((m - 1) / (m + 1)), self._artanh(Fraction(1, 3))
        return self.add((2 * rest[0], 2 * rest[1]), self.multiply((Fraction(2 * k),) * 2, two))

    def _artanh(self, z: Fraction) -> Interval:
        """sum z**(2n+1)/(2n+1) for |z| <= 1/3: the rest is at most 9/8 of the first term left out."""
        z_low, z_high = self.out(z, z)
        if z_low != z_high:
            return self._artanh(z_low)[0], self._artanh(z_high)[1]
        total, power, n = ZERO, z, 0
        while abs(power) > self.tiny:
            total += down(power / (2 * n + 1), 2 * self.bits + 40)
            power, n = down(power * z * z, 2 * self.bits + 40), n + 1
            work.spend(1)
        slack = (n + 3) * self.tiny if z else ZERO
        return self.out(total - slack, total + slack)

    def pi(self) -> Interval:
        """Machin: 16 arctan(1/5) - 4 arctan(1/239), alternating series."""
        low = high = ZERO
        for factor, inverse in ((16, 5), (-4, 239)):
            total, n = ZERO, 0
            while (term := Fraction(1, (2 * n + 1) * inverse ** (2 * n + 1))) > self.tiny:
                total, n = total + (-1) ** n * term, n + 1
                work.spend(1)
            low, high = low + factor * total - 16 * self.tiny, high + factor * total + 16 * self.tiny
        return self.out(low, high)

    def cosine(self, a: Interval, shift: bool) -> Interval:
        """cos (or sin, with ``shift``) by its series at the middle; the function moves no faster than its argument."""
        middle, radius = down((a[0] + a[1]) / 2, self.bits), (a[1] - a[0]) / 2 + 2 * self.tiny * (1 + abs(a[0] + a[1]))
        if abs(middle) > 100:
            raise Refused("sine or cosine beyond 100")
        term, total, n = (middle if shift else ONE), ZERO, 1 if shift else 0
        while n < 2 * abs(middle) or abs(term) > self.tiny:
            total += term
            term, n = down(-term * middle * middle / ((n + 1) * (n + 2)), 3 * self.bits + 200), n + 2
            work.spend(1)
        radius += (n + 3) * self.tiny
        return self.out(max(-ONE, total - radius), min(ONE, total + radius))

    def tanh(self, a: Interval) -> Interval:
        def one(x: Fraction) -> Interval:
            bottom = self.inverse(self.add(self.exp((2 * x, 2 * x)), (ONE, ONE)))
            return self.out(1 - 2 * bottom[1], 1 - 2 * bottom[0])

        return one(a[0])[0], one(a[1])[1]


def _exact_root(base: Fraction, e: Fraction) -> Fraction | None:
    """``base ** e`` where it is rational and short."""
    q, p = e.denominator, e.numerator
    if q > 64 or abs(p) > 64:
        return None
    found = []
    for part in (base.numerator, base.denominator):
        low, high = 0, 1 << (part.bit_length() // q + 1)
        while low < high:  # the largest integer whose q-th power is at most the part
            middle = (low + high + 1) // 2
            low, high = (middle, high) if middle**q <= part else (low, middle - 1)
        if low**q != part:
            return None
        found.append(low)
    return Fraction(found[0], found[1]) ** p


class Evaluation:
    """Encloses a tree with intervals for its letters.

    Parameters
    ----------
    letters : name -> interval.
    bits : of the ends.
    """

    def __init__(self, letters: Mapping[str, Interval], bits: int) -> None:
        self.letters, self.bits, self.at = dict(letters), bits, Intervals(bits)

    def of(self, node: Tree) -> Interval:
        """The enclosure.

        Raises
        ------
        Refused : undefined, or not shown to be defined; a function without an enclosure; a letter without a value.
        """
        work.spend(1)
        if isinstance(node, int | Fraction):
            return Fraction(node), Fraction(node)
        if isinstance(node, str):
            if node in self.letters:
                return self.letters[node]
            if node in ("pi", "E"):
                return self.at.pi() if node == "pi" else self.at.exp((ONE, ONE))
            raise Refused(f"{node} has no value")
        head, parts = split(node)
        if head in ("sum", "prod"):
            body, index, low, high = parts
            return self.over(head, body, letter_of(index), low, high)
        if head == "if":
            answer = self.holds(parts[0])
            yes, no = (
                self.of(part) if answer in (None, want) else None for part, want in zip(parts[1:], (True, False))
            )
            both = [found for found in (yes, no) if found is not None]
            return min(b[0] for b in both), max(b[1] for b in both)
        rule = RULES.get(head)
        if rule is None:
            raise Refused(f"no enclosure of {head}")
        return rule(self.at, *(self.of(part) for part in parts))

    def over(self, head: str, body: Tree, index: str, low: Tree, high: Tree) -> Interval:
        """A sum or product over the integers of a range with known ends."""
        first, last = self.of(low), self.of(high)
        if ceil(first[0]) != ceil(first[1]) or floor(last[0]) != floor(last[1]):
            raise Refused("a sum whose ends are not known")
        if floor(last[0]) - ceil(first[0]) > TERMS:
            raise Refused(f"a sum of more than {TERMS} terms")
        total: Interval = (ZERO, ZERO) if head == "sum" else (ONE, ONE)
        for i in range(ceil(first[0]), floor(last[0]) + 1):
            term = Evaluation({**self.letters, index: (Fraction(i), Fraction(i))}, self.bits).of(body)
            total = self.at.add(total, term) if head == "sum" else self.at.multiply(total, term)
        return total

    def holds(self, node: Tree) -> bool | None:
        """Whether a condition is true; None where the enclosures do not tell."""
        head, parts = split(node)
        if head in ("and", "or"):
            answers = [self.holds(part) for part in parts]
            if (head == "or") in answers:
                return bool(head == "or")
            return None if None in answers else bool(head == "and")
        if head == "not":
            answer = self.holds(parts[0])
            return None if answer is None else not answer
        a, b = self.of(parts[0]), self.of(parts[1])
        if head in (">", ">="):
            a, b, head = b, a, {">": "<", ">=": "<="}[head]
        if head == "==":
            return True if a[0] == a[1] == b[0] == b[1] else (False if a[1] < b[0] or b[1] < a[0] else None)
        if head not in ("<", "<="):
            raise Refused(f"{head} is no condition")
        if a[1] < b[0] or (head == "<=" and a[1] <= b[0]):
            return True
        return False if a[0] > b[1] or (head == "<" and a[0] >= b[1]) else None


def _fold(rule: Callable[[Intervals, Interval, Interval], Interval]) -> Callable[..., Interval]:
    def all_of(at: Intervals, *values: Interval) -> Interval:
        total = values[0]
        for value in values[1:]:
            total = rule(at, total, value)
        return total

    return all_of


def _natural(rule: Callable[..., int]) -> Callable[..., Interval]:
    def of(at: Intervals, *values: Interval) -> Interval:
        if any(v[0] != v[1] or v[0].denominator > 1 or not 0 <= v[0] <= 1000 for v in values):
            raise Refused("a factorial or binomial of what is no small natural number")
        found = Fraction(rule(*(int(v[0]) for v in values)))
        return found, found

    return of


def _sign(at: Intervals, a: Interval) -> Interval:
    return tuple(Fraction((x > 0) - (x < 0)) for x in a)  # type: ignore[return-value]


def _half(at: Intervals, x: Fraction, sign: int) -> Interval:
    """(exp(x) +- exp(-x))/2 at one point."""
    plus, minus = at.exp((x, x)), at.exp((-x, -x))
    return at.multiply((Fraction(1, 2),) * 2, at.add(plus, minus if sign > 0 else (-minus[1], -minus[0])))


def _cosh(at: Intervals, a: Interval) -> Interval:
    """Even, and rising from 1 at 0."""
    near, far = sorted(map(abs, a))
    return max(ONE, _half(at, ZERO if a[0] <= 0 <= a[1] else near, 1)[0]), _half(at, far, 1)[1]


RULES: dict[str, Callable[..., Interval]] = {
    "+": _fold(Intervals.add),
    "*": _fold(Intervals.multiply),
    "/": lambda at, a, b: at.multiply(a, at.inverse(b)) if a[0] != a[1] or b[0] != b[1] or not b[0] else at.out(
        a[0] / b[0], a[0] / b[0]),
    "neg": lambda at, a: (-a[1], -a[0]),
    "^": Intervals.power,
    "sqrt": lambda at, a: at.power(a, (Fraction(1, 2),) * 2),
    "exp": Intervals.exp,
    "log": Intervals.log,
    "sin": lambda at, a: at.cosine(a, True),
    "cos": lambda at, a: at.cosine(a, False),
    "tan": lambda at, a: at.multiply(at.cosine(a, True), at.inverse(at.cosine(a, False))),
    "sinh": lambda at, a: (_half(at, a[0], -1)[0], _half(at, a[1], -1)[1]),
    "cosh": _cosh,
    "tanh": Intervals.tanh,
    "abs": lambda at, a: (max(ZERO, a[0], -a[1]), max(-a[0], a[1])),
    "plus": lambda at, a: (max(ZERO, a[0]), max(ZERO, a[1])),
    "sign": _sign,
    "floor": lambda at, a: (Fraction(floor(a[0])), Fraction(floor(a[1]))),
    "ceil": lambda at, a: (Fraction(ceil(a[0])), Fraction(ceil(a[1]))),
    "max": _fold(lambda at, a, b: (max(a[0], b[0]), max(a[1], b[1]))),
    "min": _fold(lambda at, a, b: (min(a[0], b[0]), min(a[1], b[1]))),
    "mod": lambda at, a, b: _modulo(a, b),
    "binomial": _natural(comb),
    "factorial": _natural(factorial),
}  # fmt: skip


def _modulo(a: Interval, b: Interval) -> Interval:
    if a[0] != a[1] or b[0] != b[1] or not b[0]:
        raise Refused("a remainder of numbers that are not known exactly")
    return (a[0] % b[0],) * 2

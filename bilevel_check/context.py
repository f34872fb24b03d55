"""Trees into elements of the ring, where what is known makes them defined.

Every rule by which a power, a quotient or a logarithm becomes a monomial asks for the sign of its base here; an element
exists only where the tree is defined, so a statement that can be written as an element is defined (section 3 of
docs/certificates.md).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from fractions import Fraction
from math import isqrt

from bilevel_check.facts import Facts, Undefined, power_of_one
from bilevel_check.ring import ONE, Atom, Exponent, Poly, names, number, power_of, reduced
from bilevel_check.terms import Refused, Tree, is_vector, letter_of, split, substituted, work

PRIMES = [n for n in range(2, 1000) if all(n % d for d in range(2, isqrt(n) + 1))]


class Context(Facts):
    """Facts, and trees as elements where the facts make them defined."""

    def inner(self, sorts: Mapping[str, str] | None = None) -> Context:
        """A copy for a part of a proof."""
        found = Context({**self.sorts, **(sorts or {})})
        found.facts, found.signs, found.absurd = list(self.facts), set(self.signs), self.absurd
        found.proved = set(self.proved)
        return found

    # ---- powers -----------------------------------------------------------------------------------------------------

    def power(self, base: Poly, e: Poly) -> Poly:
        """``base ** e``.

        Raises
        ------
        Undefined : the sign of the base or of the exponent that it needs is not known.
        """
        exact = e.constant()
        if exact is not None and exact.denominator == 1 and (exact >= 0 and (len(base.terms) != 1 or exact <= 1)):
            return base.to_the(int(exact))
        if not base.terms:
            self._need(e, ">")
            return base
        if len(base.terms) == 1:
            found = self._monomial_power(base, e)
            if found is not None:
                return found
        return self._compound_power(base, e)

    def _monomial_power(self, base: Poly, e: Poly) -> Poly | None:
        [(m, c)] = base.terms.items()
        exact = e.constant()
        whole = exact is not None and exact.denominator == 1
        if whole and exact is not None:
            if exact < 0:
                for a, _ in m:
                    self._need(power_of_one(a), "!=")
            result = number(Fraction(c) ** int(exact) if abs(exact) <= 10_000 else _too_large())
        else:
            if c < 0 or not all(self.atom(a, ">=") for a, _ in m):
                return None
            if not all(self.atom(a, ">") for a, _ in m):
                self._need(e, ">=")
            result = self.of_number(c, e)
        for a, own in m:
            result = result * power_of(a, _times(own, e))
        return result

    def _compound_power(self, base: Poly, e: Poly) -> Poly:
        exact = e.constant()
        content, rest = self.split(base)
        if exact is not None and exact.denominator == 1:
            if not self.known(rest, ">") and self.known(-rest, ">"):
                return self.power(content * number(-1), e) * power_of(Atom("compound", -rest), exact)
            self._need(rest, "!=")
        elif not self.known(rest, ">"):
            self._need(rest, ">=")
            self._need(e, ">=")
        outside = number(1) if content.constant() == 1 else self.power(content, e)
        if len(rest.terms) == 1 and rest != base:
            return outside * self.power(rest, e)
        return outside * power_of(Atom("compound", rest), exact if exact is not None else e)

    def of_number(self, c: Fraction, e: Poly) -> Poly:
        """``c ** e`` for a positive rational number, by its small prime factors."""
        result = number(1)
        for value, sign in ((c.numerator, 1), (c.denominator, -1)):
            for p, times in _factors(value).items():
                result = result * power_of(Atom("prime", p), number(sign * times) * e)
        return result

    def _need(self, element: Poly, op: str) -> None:
        if not self.known(element, op):
            raise Undefined(element, op)

    # ---- trees ------------------------------------------------------------------------------------------------------

    def of(self, node: Tree) -> Poly:
        """The element of a tree.

        Raises
        ------
        Undefined : a base, a denominator or the argument of a logarithm whose sign is not known here.
        Refused : a function that this ring does not know, a letter that was not declared.
        """
        work.spend(1)
        if isinstance(node, int | Fraction):
            return number(node)
        if isinstance(node, str):
            return self._letter(node)
        head, parts = split(node)
        if head in ("sum", "dot", "norm", "if", "prod"):
            return self._special(head, parts)
        if head == "/":
            return self.of(parts[0]) * self.inverse(parts[1])
        if head in ("^", "sqrt"):
            return self.powers(parts[0], self.of(parts[1]) if head == "^" else number(Fraction(1, 2)))
        values = [self.of(part) for part in parts]
        if head in ("+", "*"):
            total = values[0]
            for value in values[1:]:
                total = total + value if head == "+" else total * value
            return total
        return self._function(head, values)

    def powers(self, node: Tree, e: Poly) -> Poly:
        """``node ** e``; of a product of nonnegative factors factor by factor."""
        if isinstance(node, tuple) and node[0] == "*":
            factors = [self.of(part) for part in node[1:]]
            if all(self.known(factor, ">=") for factor in factors):
                total = number(1)
                for factor in factors:
                    total = total * self.power(factor, e)
                return total
        return self.power(self.of(node), e)

    def inverse(self, node: Tree) -> Poly:
        """``1 / node``, factor by factor, so that what is printed as a power stays one."""
        head, parts = node[0] if isinstance(node, tuple) else "", node[1:] if isinstance(node, tuple) else ()
        if head == "*":
            total = number(1)
            for part in parts:
                total = total * self.inverse(part)
            return total
        if head == "^" and isinstance(parts[1], int) and parts[1] > 0:
            return self.power(self.of(parts[0]), number(-parts[1]))
        return self.power(self.of(node), number(-1))

    def _letter(self, name: str) -> Poly:
        if name in ("pi", "E"):
            return power_of_one(Atom(name))
        if self.sorts.get(name) not in ("real", "integer"):
            raise Refused(f"{name} is no number that was declared")
        return power_of_one(Atom("letter", name))

    def _function(self, head: str, values: list[Poly]) -> Poly:
        first = values[0]
        match head:
            case "neg":
                return -first
            case "exp":
                return power_of(Atom("E"), first)
            case "log":
                return self.log(first)
            case "max" | "plus":
                return self._largest([*values, number(0)] if head == "plus" else values)
            case "min":
                return -self._largest([-value for value in values])
            case "abs":
                return self._largest([first, -first])
            case "floor":
                return power_of_one(Atom("floor", first)) if not self.integral(first) else first
            case "sin" | "cos" | "tanh" | "sinh" | "cosh":
                return power_of_one(Atom(head, first))
            case "ceil":
                return -self._function("floor", [-first])
        raise Refused(f"{head} is not known to the ring")

    def _largest(self, values: list[Poly]) -> Poly:
        for value in values:
            if all(self.known(value - other, ">=") for other in values):
                return value
        return power_of_one(Atom("max", *sorted(set(values), key=hash)))

    def log(self, p: Poly) -> Poly:
        """The logarithm of what is positive: of a product, the sum of the logarithms."""
        self._need(p, ">")
        if len(p.terms) > 1 or not all(self.atom(a, ">") for m in p.terms for a, _ in m):
            content, rest = self.split(p)
            own = power_of_one(Atom("log", rest))
            return own if content.constant() == 1 else self.log(content) + own
        [(m, c)] = p.terms.items()
        total = number(0)
        for value, sign in ((c.numerator, 1), (c.denominator, -1)):
            for prime, times in _factors(value).items():
                total = total + Poly({frozenset({(Atom("log", number(prime)), Fraction(1))}): Fraction(sign * times)})
        for a, e in m:
            inside = number(1) if a.kind == "E" else power_of_one(Atom("log", power_of_one(a)))
            inside = power_of_one(Atom("log", number(a.args[0]))) if a.kind == "prime" else inside
            inside = power_of_one(Atom("log", a.args[0])) if a.kind == "compound" else inside
            total = total + inside * (number(e) if isinstance(e, Fraction) else e)
        return total

    def integral(self, p: Poly) -> bool:
        """Whether the element is plainly an integer."""
        return all(
            c.denominator == 1
            and all(
                isinstance(e, Fraction) and e.denominator == 1 and e > 0
                and (a.kind == "floor" or (a.kind == "letter" and self.sorts.get(a.args[0]) == "integer"))
                for a, e in m
            )
            for m, c in p.terms.items()
        )  # fmt: skip

    # ---- sums and vectors -------------------------------------------------------------------------------------------

    def _special(self, head: str, parts: tuple[Tree, ...]) -> Poly:
        if head == "sum":
            body, index, low, high = parts
            return self.sum(body, letter_of(index), low, high)
        if head == "norm":
            inner = self.dot(parts[0], parts[0])
            self.signs |= {(inner, ">="), (self.primitive(inner), ">=")}
            return self.power(inner, number(Fraction(1, 2)))
        if head == "dot":
            return self.dot(*parts)
        raise Refused(f"{head} is not known to the ring")

    def dot(self, u: Tree, v: Tree) -> Poly:
        """The inner product of two linear combinations of vectors, bilinear and symmetric."""
        one, other, total = self.vector(u), self.vector(v), number(0)
        for a, p in one.items():
            for b, q in other.items():
                total = total + p * q * power_of_one(Atom("dot", *sorted((a, b))))
        return total

    def vector(self, node: Tree) -> dict[str, Poly]:
        """A linear combination of vectors: name -> coefficient."""
        if isinstance(node, str) and self.sorts.get(node) == "vector":
            return {node: number(1)}
        if node == 0:
            return {}
        if not isinstance(node, tuple) or node[0] not in ("+", "neg", "*", "/"):
            raise Refused(f"{str(node)[:60]} is no linear combination of vectors")
        if node[0] == "+":
            total: dict[str, Poly] = {}
            for part in node[1:]:
                for name, value in self.vector(part).items():
                    total[name] = total.get(name, number(0)) + value
            return total
        factor, carrier = number(-1), node[1]
        if node[0] == "/":
            factor = self.power(self.of(node[2]), number(-1))
        elif node[0] == "*":
            carriers = [part for part in node[1:] if is_vector(part, self.sorts)]
            if len(carriers) != 1:
                raise Refused("a product with other than one vector")
            carrier, factor = carriers[0], number(1)
            for part in node[1:]:
                factor = factor if part is carrier else factor * self.of(part)
        return {name: factor * value for name, value in self.vector(carrier).items()}

    def sum(self, body: Tree, index: str, low: Tree, high: Tree) -> Poly:
        """A sum over the integers from low to high: linear in its terms, what is free of the index in front."""
        first, last = self.of(low), self.of(high)
        if not (self.integral(first) and self.integral(last)):
            raise Refused("a sum whose ends are not plainly integers")
        bound = self.bound()
        inside, letter = self.inner({bound: "integer"}), power_of_one(Atom("letter", bound))
        inside.learn(letter - first, ">=")
        inside.learn(last - letter, ">=")
        if sign := self.sign(first):
            inside.learn(letter, sign)  # i >= low
        total = number(0)
        for held, rest in self.in_front(inside.of(substituted(body, {index: bound})), bound):
            total = total + held * self._range(rest, bound, first, last)
        return total

    def in_front(self, body: Poly, bound: str) -> Iterator[tuple[Poly, Poly]]:
        """The terms of a body: the factor that is free of the index, and the rest."""
        for m, c in reduced(body).terms.items():
            free, held = {}, Poly({ONE: c})
            for a, e in m:
                outside, rest = (e, Fraction(0)) if bound not in names(power_of_one(a)) else (Fraction(0), e)
                if isinstance(e, Poly) and bound not in names(power_of_one(a)) and bound in names(e):
                    parts = [Poly({k: v for k, v in e.terms.items() if (bound in names(Poly({k: v}))) is want})
                             for want in (False, True)]  # fmt: skip
                    outside, rest = (parts[0], parts[1]) if self.atom(a, ">") else (Fraction(0), e)
                held = held * power_of(a, outside)
                if rest != 0:
                    free[a] = rest
            yield held, Poly({frozenset(free.items()): Fraction(1)})

    def bound(self) -> str:
        """A name for the next bound index."""
        return f"{sum(sort == 'integer' and name.endswith('#') for name, sort in self.sorts.items())}#"

    def _range(self, body: Poly, bound: str, first: Poly, last: Poly) -> Poly:
        length = last - first + number(1)
        if body.constant() == 1 and self.known(length, ">="):
            return length
        return power_of_one(Atom("sum", body, bound, first, last))


def _times(own: Exponent, e: Poly) -> Exponent:
    product = reduced(e * (number(own) if isinstance(own, Fraction) else own))
    constant = product.constant()
    return product if constant is None else constant


def _too_large() -> int:
    raise Refused("a power of a number that is too large")


def _factors(value: int) -> dict[int, int]:
    """Small prime factors of a natural number, and what is left as one factor."""
    found: dict[int, int] = {}
    if value.bit_length() > 512:
        return {value: 1}
    for p in PRIMES:
        while value % p == 0:
            found[p], value = found.get(p, 0) + 1, value // p
    return found | ({value: 1} if value > 1 else {})

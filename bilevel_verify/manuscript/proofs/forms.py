"""Trees of the print as polynomials over atoms: what no engine sees into is an atom, the same for the same object.

Vectors and matrices are sums of words (products of symbols in order) with polynomials before them, so that an inner
product is expanded, a norm is known by the vector whose norm it is, and ``A inv(A)`` is 1. The first rules of a run
(``y_k = x_k + ...``) are substituted in words and never in arguments of functions.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from fractions import Fraction

from bilevel_verify.language import to_text, tree
from bilevel_verify.language.binding import binder
from bilevel_verify.manuscript.proofs import polynomials as p
from bilevel_verify.manuscript.proofs.atoms import ANY, NEGATIVE, NONNEGATIVE, POSITIVE, Atoms, Needs, Unreadable
from bilevel_verify.manuscript.proofs.polynomials import Monomial, Polynomial
from bilevel_verify.manuscript.proofs.sums import summed
from bilevel_verify.manuscript.proofs.words import Linear, Word, added, inverted, linear_key, reduced, transposed
from bilevel_verify.theorems.rewrite import free_letters, rebuild

ARRAYS = ("vector", "matrix", "tensor", "covector")


@dataclass
class Forms(Atoms):
    """Everything that is known of the objects of one question.

    ``rules`` are vectors that are written out; with ``euclidean`` a squared norm is the inner product of the vector
    with itself, with ``expand`` a squared absolute value is the square. ``sizes`` are the vectors whose norms are
    atoms, ``shapes`` their kinds, ``products`` the sides of inner products, ``sums`` names for sums, ``read`` the
    polynomials of trees, each with what it needs, ``texts`` their names.
    """

    rules: Mapping[tree.Node, tree.Node] = field(default_factory=dict)
    euclidean: bool = True
    expand: bool = True
    entry_sign: Callable[[tree.Index], str] | None = None
    sizes: dict[str, Linear] = field(default_factory=dict)
    shapes: dict[str, str] = field(default_factory=dict)
    products: dict[str, tuple[Word, Word]] = field(default_factory=dict)
    sums: dict[str, str] = field(default_factory=dict)
    read: dict[tuple[tree.Node, int], tuple[Polynomial, Needs]] = field(default_factory=dict)
    texts: dict[tree.Node, str] = field(default_factory=dict)

    def take(self, rules: Mapping[tree.Node, tree.Node], sums: Mapping[str, str]) -> None:
        """Vectors that are written out and names of sums from now on; what was read before is read anew."""
        self.rules = rules
        self.sums.update(sums)
        self.read.clear()
        self.texts.clear()

    # scalars ---------------------------------------------------------------------------------------------------

    def scalar(self, node: tree.Node) -> Polynomial:
        """A number.

        Raises
        ------
        Unreadable : what is no number, or has no form here.
        """
        if isinstance(node, tree.Number | tree.Letter):
            return p.number(node.value) if isinstance(node, tree.Number) else self._letter(node)
        place = node, self.depth
        found = self.read.get(place)
        if found is None:
            before, self.needs = self.needs, {}
            try:
                found = self.read[place] = self._compound(node), self.needs
            finally:
                own, self.needs = self.needs, before
                self.join(own)
        elif found[1]:
            self.join(found[1])
        return found[0]

    def _compound(self, node: tree.Node) -> Polynomial:
        match node:
            case tree.Add(terms=terms):
                total: Polynomial = {}
                for term in terms:
                    total = p.plus(total, self.scalar(term))
                return total
            case tree.Negate(operand=inner):
                return p.plus({}, self.scalar(inner), -1)
            case tree.Multiply(factors=factors):
                found = p.number(1)
                for factor in factors:
                    found = p.times(found, self.scalar(factor))
                return found
            case tree.Divide(numerator=top, denominator=bottom):
                return p.times(self.scalar(top), self.power(self.scalar(bottom), -1))
            case tree.Power(base=base, exponent=exponent):
                return self._raised(base, exponent)
            case tree.Index():
                return self._entry(node)
            case tree.MatrixMultiply():
                return self._inner_word(self.linear(node))
            case tree.Call():
                return self._call(node)
        raise Unreadable(f"no number: {to_text(node)[:60]}")

    def _letter(self, node: tree.Letter) -> Polynomial:
        name = node.name
        if name in ("oo", "_", "dots") or self.kind(node) in (*ARRAYS, "set"):
            raise Unreadable(f"{name} is no number")
        sign = POSITIVE if name in ("pi", "E") else self.range_sign(name)
        return self.named(name, sign, frozenset({name}))

    def _entry(self, node: tree.Index) -> Polynomial:
        if self.kind(node) in ARRAYS:
            raise Unreadable(f"{node.base} is no number")
        sign = self.entry_sign(node) if self.entry_sign is not None else ANY
        if sign == NEGATIVE:
            return p.plus({}, self.named(f"-{self.text(node)}", POSITIVE, frozenset(free_letters(node))), -1)
        sign = self.range_sign(node.base) if sign == ANY else sign
        return self.named(self.text(node), sign, frozenset(free_letters(node)))

    def power(self, base: Polynomial, exponent: p.Rational) -> Polynomial:
        """A polynomial to a rational power; a sum under a root or a line is an atom of its own."""
        if exponent.denominator == 1 and 0 <= exponent <= 6 and not (exponent == 2 and self._is_size(base)):
            found = p.number(1)
            for _ in range(int(exponent)):
                found = p.times(found, base)
            return found
        if not base:
            raise Unreadable("a division by zero")
        self.needed(base, exponent)
        if len(base) == 1:
            ((monomial, value),) = base.items()
            if len(monomial) == 1 and self._squares(monomial[0][0], exponent):
                return p.scaled(self.power(self.parts[monomial[0][0]][1][0], exponent), value**2)
            apart = exponent.denominator == 1 or all(self.sign(((n, 1),)) != ANY for n, _ in monomial)
            found_ = p.raised(value, monomial, exponent) if apart else None
            if found_ is not None:
                return found_
        common = self._common(base)
        if common:
            rest = p.times(base, {p.merged((n, -e) for n, e in common)[1]: 1})
            return p.times(self.power({common: 1}, exponent), self.power(rest, exponent))
        lead = next(iter(sorted(base.items())))[1]
        if exponent.denominator != 1:
            lead = max(lead, -lead) if self.polynomial_sign(base) != ANY else 1
        bare = p.scaled(base, p.plain(1 / Fraction(lead)))
        sign = self.polynomial_sign(bare)
        name = self.sums.get(p.key(bare), "")
        if not name:
            name = f"({p.key(bare)})"
            self.parts.setdefault(name, ("sum", (bare,)))
        outer = p.raised(lead, p.UNIT, exponent)
        if outer is None:
            raise Unreadable("a root of a large number")
        inner = self.named(name, sign, self.used(bare))
        ((monomial, _),) = inner.items()
        return p.times(outer, {p.merged((n, e * exponent) for n, e in monomial)[1]: 1})

    def _common(self, base: Polynomial) -> Monomial:
        """Positive atoms that are factors of every term."""
        powers = [dict(m) for m in base]
        shared = set(powers[0]).intersection(*powers[1:])
        every = [(n, min(q[n] for q in powers)) for n in sorted(shared) if not n.startswith("#")]
        return tuple((n, e) for n, e in every if e and self.signs.get(n, ANY) == POSITIVE)

    def _squares(self, name: str, exponent: p.Rational) -> bool:
        """Whether a squared atom is an absolute value that is written out."""
        return self.expand and exponent == 2 and self.parts.get(name, ("",))[0] == "abs"

    def _is_size(self, base: Polynomial) -> bool:
        """Whether it is an absolute value."""
        return len(base) == 1 and all(
            len(m) == 1 and m[0][1] == 1 and self.parts.get(m[0][0], ("",))[0] == "abs" for m in base
        )

    def _raised(self, base: tree.Node, exponent: tree.Node) -> Polynomial:
        height = self.scalar(exponent)
        if not height or list(height) == [p.UNIT]:
            return self.power(self.scalar(base), height.get(p.UNIT, 0))
        foot = self.scalar(base)
        sign = self.polynomial_sign(foot)
        self.needed(foot, Fraction(1, 2) if self.polynomial_sign(height) != ANY else Fraction(-1, 2))
        name = f"power({p.key(foot)}; {p.key(height)})"
        self.parts.setdefault(name, ("power", (foot, height)))
        return self.named(name, sign, self.used(foot, height))

    def _call(self, node: tree.Call) -> Polynomial:
        name, arguments = node.function, node.arguments
        if name in ("norm", "dot", "dual_norm") and all(self.kind(a) == "scalar" for a in arguments):
            held = [self.scalar(a) for a in arguments]
            return self._known("abs", (held[0],)) if name != "dot" else p.times(held[0], held[1])
        if name in ("norm", "dual_norm", "frobenius"):
            return self.size(name, self.linear(arguments[0]), self.kind(arguments[0]))
        if name == "dot":
            return self.inner(self.linear(arguments[0]), self.linear(arguments[1]))
        if name == "sqrt":
            return self.power(self.scalar(arguments[0]), Fraction(1, 2))
        if name == "T" and self.kind(node) == "scalar":
            return self._inner_word(self.linear(node))
        if name in ("sum", "integral") and (span := binder(node)) is not None:
            return summed(self, name, arguments[0], span)
        if self.kind(node) in (*ARRAYS, "set") or binder(node) is not None:
            if name not in ("max", "min", "prod"):
                raise Unreadable(f"{name} is no number")
            return self.named(self.text(node), ANY, frozenset(free_letters(node)))
        if name in ("abs", "max", "min", "log", "exp", "plus") and arguments:
            return self._known(name, tuple(self.scalar(a) for a in arguments))
        return self.named(self.text(node), ANY, frozenset(free_letters(node)))

    def _known(self, name: str, held: tuple[Polynomial, ...]) -> Polynomial:
        """A function of numbers: absolute value, largest and smallest, logarithm, exponential."""
        signs = [self.polynomial_sign(h) for h in held]
        if name == "abs" and signs[0] != ANY:
            return held[0]
        sign = {"abs": NONNEGATIVE, "plus": NONNEGATIVE, "exp": POSITIVE}.get(name, ANY)
        if name in ("max", "min") and ANY not in signs:
            sign = POSITIVE if signs.count(POSITIVE) == len(signs) else NONNEGATIVE
        text = f"{name}({', '.join(p.key(h) for h in held)})"
        self.parts.setdefault(text, (name, held))
        return self.named(text, sign, self.used(*held))

    # vectors and matrices --------------------------------------------------------------------------------------

    def linear(self, node: tree.Node) -> Linear:
        """A vector, matrix or tensor as a sum of words.

        Raises
        ------
        Unreadable : what is none.
        """
        if node in self.rules:
            return self.linear(self.rules[node])
        match node:
            case tree.Add(terms=terms):
                total: Linear = {}
                for term in terms:
                    total = added(total, self.linear(term), p.number(1))
                return total
            case tree.Negate(operand=inner):
                return added({}, self.linear(inner), p.number(-1))
            case tree.Divide(numerator=top, denominator=bottom):
                return added({}, self.linear(top), self.power(self.scalar(bottom), -1))
            case tree.Multiply(factors=factors):
                return self._multiple(factors)
            case tree.MatrixMultiply(left=left, right=right):
                return self.product(self.linear(left), self.linear(right))
            case tree.Call(function="T", arguments=(inner,)):
                return {tuple(transposed(s) for s in reversed(word)): c for word, c in self.linear(inner).items()}
            case tree.Call(function="inv", arguments=(inner,)):
                return self._inverse(inner)
            case tree.Call(function="mode", arguments=(body, tree.Number(value=which), matrix)):
                return self._mode(self.linear(body), int(which), self.linear(matrix))
            case tree.Letter(name=name) if name in ("I", "zero"):
                return {(): p.number(1)} if name == "I" else {}
        if self.kind(node) not in ARRAYS:
            raise Unreadable(f"no vector: {to_text(node)[:60]}")
        text = self.text(node)
        self.shapes[text] = self.kind(node)
        self.letters.setdefault(text, frozenset(free_letters(node)))
        return {(text,): p.number(1)}

    def _multiple(self, factors: tuple[tree.Node, ...]) -> Linear:
        arrays = [f for f in factors if self.kind(f) in ARRAYS or f in self.rules]
        if not arrays or (len(arrays) > 1 and any(self.kind(f) != "matrix" for f in arrays[:-1])):
            raise Unreadable("a product that is no multiple of a vector")
        weight = p.number(1)
        for factor in factors:
            if factor not in arrays:
                weight = p.times(weight, self.scalar(factor))
        found = self.linear(arrays[0])
        for other in arrays[1:]:
            found = self.product(found, self.linear(other))
        return added({}, found, weight)

    def product(self, one: Linear, other: Linear) -> Linear:
        """The product of two sums of words, in this order."""
        total: Linear = {}
        for a, u in one.items():
            for b, v in other.items():
                total = added(total, {reduced((*a, *b)): p.times(u, v)}, p.number(1))
        return total

    def _inverse(self, inner: tree.Node) -> Linear:
        body = self.linear(inner)
        if len(body) == 1:
            ((word, weight),) = body.items()
            if len(weight) == len(word) == 1:
                return {(inverted(word[0]),): self.power(weight, -1)}
        text = f"inv({linear_key(body)})"
        self.shapes[text] = "matrix"
        self.letters.setdefault(text, frozenset(free_letters(inner)))
        return {(text,): p.number(1)}

    def _mode(self, body: Linear, which: int, matrix: Linear) -> Linear:
        """``X x_i A`` word by word: modes of different axes commute, so they are kept in the order of the axes."""
        total: Linear = {}
        for a, u in body.items():
            for b, v in matrix.items():
                made = (a[0], *sorted((*a[1:], f"x{which} {' '.join(b)}"), key=lambda s: s[:2]))
                if len({s[:2] for s in made[1:]}) < len(made) - 1:
                    raise Unreadable("two products along one mode")
                total = added(total, {made: p.times(u, v)}, p.number(1))
        return total

    def size(self, name: str, form: Linear, kind: str) -> Polynomial:
        """A norm: the same atom for a vector and its multiples."""
        if not form:
            return {}
        lead = form[min(form)]
        outer = p.number(1)
        if len(lead) == 1:
            ((monomial, value),) = lead.items()
            if self.sign(monomial) == POSITIVE:
                outer = {monomial: max(value, -value)}
                form = added({}, form, p.times(p.number(1 if value > 0 else -1), self.power(outer, -1)))
            elif len(form) == 1 and self.sign(monomial) == NONNEGATIVE:
                outer, form = {monomial: max(value, -value)}, {min(form): p.number(1)}
        text = f"{name}[{linear_key(form)}]"
        if text not in self.sizes:
            self.sizes[text] = form
            self.shapes[text] = kind
        return p.times(outer, self.named(text, NONNEGATIVE, self._of_linear(form)))

    def _of_linear(self, form: Linear) -> frozenset[str]:
        words = frozenset().union(*(self.letters.get(s, frozenset()) for w in form for s in w))
        return words | self.used(*form.values())

    def inner(self, one: Linear, other: Linear) -> Polynomial:
        """The inner product of two vectors, expanded."""
        total: Polynomial = {}
        for a, u in one.items():
            for b, v in other.items():
                total = p.plus(total, p.times(p.times(u, v), self._pair(a, b)))
        return total

    def _pair(self, a: Word, b: Word) -> Polynomial:
        """``<a, b>`` of two words; matrices move to the side where the text is smaller."""
        if a == b and self.euclidean:
            return self.power(self.size("norm", {a: p.number(1)}, "vector"), 2)
        whole = (*(transposed(s) for s in reversed(a[:-1])), *b[:-1])
        whole = reduced(whole)
        forward = (a[-1], whole, b[-1])
        backward = (b[-1], tuple(transposed(s) for s in reversed(whole)), a[-1])
        first, middle, last = min(forward, backward)
        text = f"<{first}; {' '.join(middle)}; {last}>"
        self.products.setdefault(text, ((first,), (*middle, last)))
        return self.named(text, ANY, self._of_linear({(first, *middle, last): p.number(1)}))

    def _inner_word(self, form: Linear) -> Polynomial:
        """``u^T A v``: a word whose first symbol is a transposed vector."""
        total: Polynomial = {}
        for word, weight in form.items():
            if len(word) < 2 or not word[0].endswith("^T"):
                raise Unreadable("a product of matrices that is no number")
            total = p.plus(total, p.times(weight, self._pair((transposed(word[0]),), word[1:])))
        return total

    def text(self, node: tree.Node) -> str:
        """The name of an object: its text with the indices as sums in order."""
        found = self.texts.get(node)
        if found is None:
            found = self.texts[node] = to_text(_ordered(node, self))
        return found


def _ordered(node: tree.Node, forms: Forms) -> tree.Node:
    """Indices such as ``k + 1 - 1`` as ``k``."""
    node = rebuild(node, lambda part: _ordered(part, forms))
    if not isinstance(node, tree.Index):
        return node
    return tree.Index(node.base, tuple(_index(i, forms) for i in node.indices))


def _index(node: tree.Node, forms: Forms) -> tree.Node:
    if isinstance(node, tree.Letter | tree.Number):
        return node
    try:
        return tree.Letter(p.key(forms.scalar(node)).replace("1*", "").replace("*1", "")) if node else node
    except ValueError:
        return node

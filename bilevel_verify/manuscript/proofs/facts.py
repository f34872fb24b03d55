"""What is always true of norms, inner products, maxima and absolute values, of those that stand in a question."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import combinations, islice, permutations

from bilevel_verify.manuscript.proofs import polynomials as p
from bilevel_verify.manuscript.proofs.atoms import ANY, POSITIVE, Unreadable
from bilevel_verify.manuscript.proofs.forms import Forms
from bilevel_verify.manuscript.proofs.polynomials import Monomial, Polynomial
from bilevel_verify.manuscript.proofs.words import Linear, added

MOST_PARTS = 5
MOST_SPLITS = 12
MOST_PRODUCTS = 60
MOST_PAIRS = 40


@dataclass(frozen=True)
class Fact:
    """``value >= 0``, or ``value == 0``; ``strict``: ``value > 0``.

    ``source`` is what a reader is told; of two derivations that of less ``cost`` is shown.
    """

    value: Polynomial
    source: str
    equal: bool = False
    strict: bool = False
    cost: float = 1.0


def atoms_of(*every: Polynomial) -> list[str]:
    """The atoms of polynomials, in order."""
    return list(dict.fromkeys(name for one in every for monomial in one for name, _ in monomial))


def facts_about(forms: Forms, names: list[str], goal: tuple[Monomial, ...], most: int | None = None) -> Iterator[Fact]:
    """Relations between the atoms ``names``; ``goal`` are the products that occur, whose norms are multiplied.

    ``most`` is how many norms the triangle inequality is used for (None: all).
    """
    for name in names:
        if name in forms.parts:
            yield from _of_parts(forms, name)
    sizes = [n for n in names if n in forms.sizes and n.startswith("norm[")]
    single = {n for m in goal for n, e in m if e != 2}  # where all norms are squared, sums of norms say nothing
    products = [n for n in names if n in forms.products]
    squared = {n for m in goal for n, e in m if e == 2}
    if forms.euclidean:
        yield from _squares(forms, [n for n in sizes if products or (n in squared and len(squared) > 2)])
        yield from _inner_products(forms, [n for n in sizes if n in single], products)
    yield from _triangles(forms, [n for n in sizes if n in single][:most], goal)


def _of_parts(forms: Forms, name: str) -> Iterator[Fact]:
    kind, held = forms.parts[name]
    whole = p.atom(name)
    if kind == "peeled":
        yield Fact(held[0], "the last summand of a sum", equal=True)
        return
    if kind == "sum":
        yield Fact(p.plus(whole, held[0], -1), "a sum", equal=True)
    for one in held:
        if kind in ("max", "abs", "plus"):
            yield Fact(p.plus(whole, one, -1), kind)
        if kind == "abs":
            yield Fact(p.plus(whole, one), kind)
        if kind == "min":
            yield Fact(p.plus(one, whole, -1), kind)


def _squares(forms: Forms, sizes: list[str]) -> Iterator[Fact]:
    """``norm(v)**2`` is ``<v, v>``, written out."""
    for name in sizes:
        form = forms.sizes[name]
        if len(form) > 1 and len(form) <= MOST_PARTS and forms.shapes.get(name) == "vector":
            try:
                value = p.plus(forms.power(p.atom(name), 2), forms.inner(form, form), -1)
            except ValueError:
                continue
            yield Fact(value, "a norm squared", equal=True)


def _inner_products(forms: Forms, sizes: list[str], products: list[str]) -> Iterator[Fact]:
    """Cauchy and Schwarz, for the norms and the inner products that occur."""
    vectors = [n for n in sizes if forms.shapes.get(n) in ("vector", "covector")]
    found = set(products)
    for one, other in list(combinations(vectors, 2))[:MOST_PAIRS]:
        try:
            inner = forms.inner(forms.sizes[one], forms.sizes[other])
        except ValueError:
            continue
        if inner and set(atoms_of(inner)) & forms.products.keys() <= found:
            both = p.times(p.atom(one), p.atom(other))
            for sign in (1, -1):
                yield Fact(p.plus(both, inner, sign), "Cauchy and Schwarz")
    for one in products:
        left, right = forms.products[one]
        both = p.times(*(forms.size("norm", {word: p.number(1)}, "vector") for word in (left, right)))
        for sign in (1, -1):
            yield Fact(p.plus(both, p.atom(one), sign), "Cauchy and Schwarz")


def _triangles(forms: Forms, sizes: list[str], goal: tuple[Monomial, ...]) -> Iterator[Fact]:
    """The triangle inequality and that of products of norms: every way to write a vector by those that occur."""
    parts: list[tuple[Linear, Polynomial]] = [(forms.sizes[n], p.atom(n)) for n in sizes]
    parts += list(_products(forms, goal))[:MOST_PRODUCTS]
    for name in sizes:
        others = [(form, size) for form, size in parts if size != p.atom(name)]
        found: dict[str, Polynomial] = {}
        for depth in range(1, MOST_PARTS + 1):
            for total in islice(_written(forms, forms.sizes[name], others, depth), MOST_SPLITS):
                found.setdefault(p.key(total), total)
            if len(found) >= MOST_SPLITS:
                break
        for total in found.values():
            yield Fact(p.plus(total, p.atom(name), -1), "triangle inequality")


def _products(forms: Forms, goal: tuple[Monomial, ...]) -> Iterator[tuple[Linear, Polynomial]]:
    """Products of matrices (and a vector) whose norms stand side by side, with the product of the norms."""
    seen = set()
    for monomial in goal:
        names = [n for n, e in monomial if n in forms.sizes and e.denominator == 1 for _ in range(min(int(e), 3))]
        for count in (2, 3, 4):
            for chosen in permutations(names, count) if len(names) <= 5 else ():
                if chosen in seen or any(forms.shapes.get(n) != "matrix" for n in chosen[1:-1]):
                    continue
                seen.add(chosen)
                form = _product(forms, chosen)
                if form:
                    size = p.number(1)
                    for name in chosen:
                        size = p.times(size, p.atom(name))
                    yield form, size


def _product(forms: Forms, names: tuple[str, ...]) -> Linear | None:
    """The product in this order; of a tensor with matrices, along the modes 1, 2, ... in this order."""
    kinds = [forms.shapes.get(n, "") for n in names]
    if kinds[0] == "tensor" or any(k not in ("matrix", "vector") for k in kinds) or "vector" in kinds[:-1]:
        return None
    found = forms.sizes[names[0]]
    try:
        for name in names[1:]:
            found = forms.product(found, forms.sizes[name])
    except ValueError:
        return None
    return found


def _written(forms: Forms, whole: Linear, parts: list[tuple[Linear, Polynomial]], depth: int) -> Iterator[Polynomial]:
    """Sums of sizes of parts of which the whole is the sum, each with a factor."""
    if not whole:
        yield {}
        return
    if depth == 0:
        return
    word = min(whole)
    for place, (form, size) in enumerate(parts):
        if word not in form:
            continue
        factor = _factor(forms, whole[word], form[word])
        if factor is None:
            continue
        try:
            rest = added(whole, form, p.plus({}, factor, -1))
            if len(rest) > 2 * depth:  # every part that is left takes away two terms at most, or few more
                continue
            outer = _absolute(forms, factor)
        except ValueError:
            continue
        if outer is not None:
            for total in _written(forms, rest, [*parts[:place], *parts[place + 1 :]], depth - 1):
                yield p.plus(p.times(outer, size), total)


def _factor(forms: Forms, one: Polynomial, other: Polynomial) -> Polynomial | None:
    """``one / other``, where the second is a single term that is not zero."""
    if one == other:
        return p.number(1)
    if len(other) != 1:
        return None
    ((monomial, _),) = other.items()
    if forms.sign(monomial) != POSITIVE:
        return None
    try:
        return p.times(one, forms.power(other, -1))
    except (Unreadable, p.TooLarge):
        return None


def _absolute(forms: Forms, factor: Polynomial) -> Polynomial | None:
    for sign in (1, -1):
        turned = p.plus({}, factor, sign)
        if forms.polynomial_sign(turned) != ANY:
            return turned
    return None

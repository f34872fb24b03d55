"""Step algebra: displays that are linear in inner products of a few vectors.

``left <= right`` for *all* vectors means that the Gram polynomial matrix of the difference is positive semidefinite on
the whole range of the scalars; every principal minor is a scalar inequality of its own. A refuted minor gives vectors,
in as many dimensions as the minor has rows. Equalities compare coefficients.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import combinations

import sympy

from bilevel_verify.audit.entries.reading import REAL
from bilevel_verify.audit.scalar.algebra import NotAlgebraic, to_sympy
from bilevel_verify.audit.scalar.attack import attack, feasible_point
from bilevel_verify.audit.scalar.back import to_tree
from bilevel_verify.audit.scalar.claim import Decision, ScalarClaim
from bilevel_verify.audit.scalar.deciding import decide
from bilevel_verify.audit.scalar.field import Field
from bilevel_verify.language import tree
from bilevel_verify.theorems.rewrite import free_letters, rebuild, substitute

ZERO = tree.Number(Fraction(0))
NOWHERE = "no point of the range was found at which both sides have a value"
Linear = dict[str, sympy.Expr]
Pair = tuple[str, str]


class NotQuadratic(Exception):
    """A side that is not linear in inner products (a single norm, a product of two of them ...)."""


@dataclass(frozen=True, slots=True)
class Form:
    """``sum coefficient[i, j] <v_i, v_j> + constant`` with i <= j."""

    pairs: Mapping[Pair, sympy.Expr]
    constant: sympy.Expr = sympy.S.Zero

    def plus(self, other: Form, factor: sympy.Expr = sympy.S.One) -> Form:
        """Sum with a multiple of another form."""
        total = dict(self.pairs)
        for pair, value in other.pairs.items():
            total[pair] = total.get(pair, sympy.S.Zero) + factor * value
        return Form(total, self.constant + factor * other.constant)


def decide_step(claim: ScalarClaim, vectors: tuple[str, ...], *, seed: int = 0, effort: float = 20.0) -> Decision:
    """Prove or refute one relation between two forms for all vectors and all scalars of the range.

    Hypotheses about the vectors are not used in a proof; a refutation has to satisfy them.
    """
    scalar = tuple(c for c in claim.where if not free_letters(c) & set(vectors))
    decision = _decided(replace(claim, where=scalar), vectors, seed, effort)
    if decision.outcome == "refuted" and len(scalar) < len(claim.where):
        decision = Decision("undecided", "step algebra", f"without the hypotheses on vectors: {decision.certificate}")
    if decision.outcome == "undecided" and (found := refuted_in_numbers(claim, vectors, seed)) is not None:
        return replace(found[1], engine="step algebra", certificate=f"vectors of numbers; {found[1].certificate}")
    return decision


def _decided(claim: ScalarClaim, vectors: tuple[str, ...], seed: int, effort: float) -> Decision:
    reader = Reader(claim, vectors)
    try:
        difference = reader.form(claim.right).plus(reader.form(claim.left), sympy.S.NegativeOne)
    except (NotQuadratic, NotAlgebraic) as reason:
        return Decision("undecided", "step algebra", str(reason))
    if claim.op in (">=", ">"):
        difference = Form({}).plus(difference, sympy.S.NegativeOne)
    if claim.op == "==":
        return _coefficients(claim, difference, vectors, seed)
    if claim.op in ("<", ">") and difference.constant == 0:
        point = _point(claim, vectors, {}, seed)
        text = "both sides are 0 where all vectors are 0"
        return Decision("refuted" if point is not None else "undecided", "step algebra", text, point or {})
    return _semidefinite(claim, difference, vectors, seed, effort)


def _point(
    claim: ScalarClaim, vectors: tuple[str, ...], given: Mapping[str, Fraction], seed: int
) -> dict[str, Fraction] | None:
    """A point of the range that continues ``given`` and at which both sides have a value, whatever the vectors.

    A form is simplified on the way (``sqrt(t)*sqrt(t)`` is t): where it has a value, the sides may have none.
    """
    point = feasible_point(claim, given, seed)
    if point is None:
        return None
    numbers = {**point, **dict.fromkeys(vectors, Fraction(1))}
    return point if Field(in_dimensions(claim, vectors)).has_values(numbers) else None


def _coefficients(claim: ScalarClaim, difference: Form, vectors: tuple[str, ...], seed: int) -> Decision:
    """An equality for all vectors: every coefficient is zero."""
    for name, value in [*difference.pairs.items(), ("constant", difference.constant)]:
        decision = decide(replace(claim, left=to_tree(sympy.expand(value)), op="==", right=ZERO), seed=seed)
        if decision.outcome != "proved":
            place = f"coefficient of {name}: {sympy.factor(value)}"
            if decision.outcome == "refuted" and _point(claim, vectors, decision.point, seed) is None:
                return Decision("undecided", "step algebra", f"{place}: not 0, {NOWHERE}")
            return replace(decision, engine="step algebra", certificate=f"{place}; {decision.certificate}")
    return Decision("proved", "step algebra", f"all {len(difference.pairs) + 1} coefficients agree")


def _semidefinite(claim: ScalarClaim, difference: Form, vectors: tuple[str, ...], seed: int, effort: float) -> Decision:
    matrix = sympy.Matrix(len(vectors), len(vectors), lambda i, j: _entry(difference, vectors[i], vectors[j]))
    minors = [
        (claim_letters, matrix.extract(list(claim_letters), list(claim_letters)).det(method="berkowitz"))
        for size in range(1, len(vectors) + 1)
        for claim_letters in combinations(range(len(vectors)), size)
    ]
    engines = set()
    checks = [((), difference.constant), *minors]
    for rows, minor in checks:
        value = sympy.expand(minor)
        if value == 0:
            continue
        op = "<" if not rows and claim.op in ("<", ">") else "<="  # strict where the vectors vanish
        decision = decide(replace(claim, left=ZERO, op=op, right=to_tree(value)), seed=seed, effort=effort)
        engines.add(decision.engine)
        if decision.outcome == "proved":
            continue
        where = f"principal minor of {', '.join(vectors[i] for i in rows)}" if rows else "the constant"
        if decision.outcome == "refuted":
            point = _point(claim, vectors, decision.point, seed)
            if point is None:
                return Decision("undecided", "step algebra", f"{where} is negative, {NOWHERE}")
            shown = _vectors(matrix, rows, vectors, point) if rows else "there all vectors are 0"
            text = f"{where} is negative; {shown}"
            return replace(decision, engine="step algebra", certificate=text, point=point)
        return replace(decision, engine="step algebra", certificate=f"{where} is undecided: {decision.certificate}")
    text = f"all {len(minors)} principal minors are nonnegative ({', '.join(sorted(engines)) or 'zero'})"
    return Decision("proved", "step algebra", text)


def _entry(form: Form, one: str, other: str) -> sympy.Expr:
    value = form.pairs.get((one, other), form.pairs.get((other, one), sympy.S.Zero))
    return value if one == other else value / 2


def _vectors(matrix: sympy.Matrix, rows: tuple[int, ...], names: tuple[str, ...], point: Mapping[str, Fraction]) -> str:
    """Vectors that show a negative minor: an eigenvector of the numeric matrix, in one dimension per vector."""
    import numpy as np

    put = {
        s: sympy.Rational(v.numerator, v.denominator)
        for n, v in point.items()
        for s in matrix.free_symbols
        if s.name == n
    }
    numbers = np.array(matrix.extract(list(rows), list(rows)).subs(put).evalf(), dtype=float)
    values, bases = np.linalg.eigh(numbers)
    coordinates = bases[:, 0] / np.abs(bases[:, 0]).max()
    shown = ", ".join(f"{names[i]} = {c:.4g}" for i, c in zip(rows, coordinates))
    return f"one-dimensional vectors {shown} (form value {values[0]:.3g})"


def in_dimensions(claim: ScalarClaim, vectors: tuple[str, ...], count: int = 1) -> ScalarClaim:
    """The claim for vectors with so many entries: a relation between numbers, for counterexamples and scripts."""
    axes = [{v: tree.Letter(v if count == 1 else f"{v}_{axis + 1}") for v in vectors} for axis in range(count)]

    def entries(node: tree.Node) -> list[tree.Node]:
        return [flat(substitute(node, axis)) for axis in axes]

    def flat(node: tree.Node) -> tree.Node:
        match node:
            case tree.Call(function="norm", arguments=(inner,)):
                parts = entries(inner)
                squares = tuple(tree.Power(part, tree.Number(Fraction(2))) for part in parts)
                return tree.Call("abs", (parts[0],)) if count == 1 else tree.Call("sqrt", (tree.Add(squares),))
            case tree.Call(function="dot", arguments=(one, other)):
                products = tuple(tree.Multiply(pair) for pair in zip(entries(one), entries(other)))
                return products[0] if count == 1 else tree.Add(products)
        return rebuild(node, flat)

    names = [letter.name for axis in axes for letter in axis.values()]
    domains = {**{n: d for n, d in claim.domains.items() if n not in vectors}, **dict.fromkeys(names, REAL)}
    where = tuple(flat(condition) for condition in claim.where)
    return replace(claim, left=flat(claim.left), right=flat(claim.right), domains=domains, where=where)


def refuted_in_numbers(
    claim: ScalarClaim, vectors: tuple[str, ...], seed: int = 0
) -> tuple[ScalarClaim, Decision] | None:
    """Vectors with one or two entries at which the claim fails: a relation between numbers and its refutation."""
    for count in (1, 2):
        flat = in_dimensions(claim, vectors, count)
        try:
            found = attack(flat, seed, rounds=2)
        except ValueError:
            return None
        if found.outcome == "refuted":
            return flat, found
    return None


class Reader:
    """Trees to forms."""

    def __init__(self, claim: ScalarClaim, vectors: tuple[str, ...]) -> None:
        self.claim, self.vectors = claim, frozenset(vectors)

    def scalar(self, node: tree.Node) -> sympy.Expr:
        return to_sympy(node, self.claim)

    def has_vector(self, node: tree.Node) -> bool:
        return any(isinstance(p, tree.Letter) and p.name in self.vectors for p in node.walk())

    def form(self, node: tree.Node) -> Form:
        if not self.has_vector(node):
            return Form({}, self.scalar(node))
        match node:
            case tree.Add(terms=terms):
                total = Form({})
                for term in terms:
                    total = total.plus(self.form(term))
                return total
            case tree.Negate(operand=operand):
                return Form({}).plus(self.form(operand), sympy.S.NegativeOne)
            case tree.Divide(numerator=top, denominator=bottom) if not self.has_vector(bottom):
                return Form({}).plus(self.form(top), 1 / self.scalar(bottom))
            case tree.Multiply(factors=factors):
                carriers = [f for f in factors if self.has_vector(f)]
                if len(carriers) != 1:
                    raise NotQuadratic("a product of two inner products")
                weight = sympy.Mul(*[self.scalar(f) for f in factors if f is not carriers[0]])
                return Form({}).plus(self.form(carriers[0]), weight)
            case tree.Power(base=tree.Call(function="norm", arguments=(v,)), exponent=tree.Number(value=value)) if (
                value == 2
            ):
                return _inner(self.linear(v), self.linear(v))
            case tree.Call(function="dot", arguments=(u, v)):
                return _inner(self.linear(u), self.linear(v))
        raise NotQuadratic("a side that is not linear in inner products")

    def linear(self, node: tree.Node) -> Linear:
        match node:
            case tree.Letter(name=name) if name in self.vectors:
                return {name: sympy.S.One}
            case tree.Add(terms=terms):
                total: Linear = {}
                for term in terms:
                    for name, value in self.linear(term).items():
                        total[name] = total.get(name, sympy.S.Zero) + value
                return total
            case tree.Negate(operand=operand):
                return {n: -c for n, c in self.linear(operand).items()}
            case tree.Divide(numerator=top, denominator=bottom):
                below = self.scalar(bottom)
                return {n: c / below for n, c in self.linear(top).items()}
            case tree.Multiply(factors=factors):
                carriers = [f for f in factors if self.has_vector(f)]
                if len(carriers) == 1:
                    weight = sympy.Mul(*[self.scalar(f) for f in factors if f is not carriers[0]])
                    return {n: weight * c for n, c in self.linear(carriers[0]).items()}
        raise NotQuadratic("a vector that is not a linear combination")


def _inner(one: Linear, other: Linear) -> Form:
    total: dict[Pair, sympy.Expr] = {}
    for a, p in one.items():
        for b, q in other.items():
            pair = (a, b) if a <= b else (b, a)
            total[pair] = total.get(pair, sympy.S.Zero) + p * q
    return Form(total)

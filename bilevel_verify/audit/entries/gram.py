"""A few vectors as numbers: their lengths and the cosines between them.

A relation whose sides are built from norms and inner products of linear combinations of k vectors depends on their Gram
matrix alone. For k = 1, 2, 3 those matrices are exactly ``G_ij = n_i n_j c_ij`` with lengths ``n_i >= 0``, cosines
``c_ij`` in [-1, 1] and, for three vectors, ``1 + 2 c_12 c_13 c_23 >= c_12**2 + c_13**2 + c_23**2`` (a matrix of cosines
is one of unit vectors iff it is positive semidefinite). So a proof about these numbers is one for vectors of every
dimension, and a point that refutes gives vectors in k dimensions.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from fractions import Fraction
from itertools import combinations

import sympy

from bilevel_verify.audit.entries.steps import Linear, NotQuadratic, Reader, decide_step, refuted_in_numbers
from bilevel_verify.audit.scalar.algebra import NotAlgebraic
from bilevel_verify.audit.scalar.back import to_tree
from bilevel_verify.audit.scalar.claim import NONNEGATIVE, Decision, ScalarClaim
from bilevel_verify.audit.scalar.deciding import decide
from bilevel_verify.language import tree
from bilevel_verify.theorems.card_parts import Domain, Expression
from bilevel_verify.theorems.rewrite import free_letters, rebuild

MOST_VECTORS = 3
ONE = tree.Number(Fraction(1))


def decide_vectors(claim: ScalarClaim, vectors: tuple[str, ...], *, seed: int = 0, effort: float = 20.0) -> Decision:
    """Prove or refute a relation for all ``vectors`` (of any dimension) and all scalars of the range.

    Forms that are linear in inner products are left to :func:`~.steps.decide_step`; norms, their products and whatever
    else is built from inner products of at most three vectors are decided as numbers.
    """
    decision = decide_step(claim, vectors, seed=seed, effort=effort)
    if decision.outcome != "undecided" or len(vectors) > MOST_VECTORS:
        return decision
    try:
        numbers, complete = in_lengths(claim, vectors)
    except (NotQuadratic, NotAlgebraic):
        return decision
    found = decide(numbers, seed=seed, effort=effort)
    if found.outcome == "undecided" or (found.outcome == "refuted" and not complete):
        return decision
    dimension = f", in {len(vectors)} dimensions or more" if found.outcome == "refuted" and len(vectors) > 1 else ""
    text = f"lengths and cosines of the vectors{dimension}; {found.certificate}"
    return replace(found, engine="step algebra", certificate=text)


def witness(
    claim: ScalarClaim, vectors: tuple[str, ...], decision: Decision, seed: int = 0
) -> tuple[ScalarClaim | None, Decision]:
    """A refutation as one of a relation between numbers, for an independent script, with both sides at its point.

    Vectors of one or two entries are tried first; else the lengths and cosines at which the relation fails. None where
    neither shows it.
    """
    if (found := refuted_in_numbers(claim, vectors, seed)) is not None:
        return found[0], replace(decision, point=found[1].point, left=found[1].left, right=found[1].right)
    try:
        numbers, _ = in_lengths(claim, vectors)
    except (NotQuadratic, NotAlgebraic):
        return None, decision
    return (numbers if set(numbers.letters) <= decision.point.keys() else None), decision


def in_lengths(claim: ScalarClaim, vectors: tuple[str, ...]) -> tuple[ScalarClaim, bool]:
    """The claim about the lengths and cosines of at most three vectors, and whether every hypothesis is in it.

    Raises
    ------
    NotQuadratic, NotAlgebraic : a vector stands elsewhere than in a linear combination under a norm or inner product.
    """
    gram = _Gram(claim, vectors)
    where, complete = [], True
    for condition in claim.where:
        try:
            where.append(gram.scalar(condition))
        except (NotQuadratic, NotAlgebraic):
            complete = False
    domains = {name: d for name, d in claim.domains.items() if name not in vectors} | gram.domains()
    left, right = gram.scalar(claim.left), gram.scalar(claim.right)
    return replace(claim, left=left, right=right, domains=domains, where=(*where, *gram.conditions())), complete


class _Gram:
    """Trees over vectors to trees over their lengths and cosines."""

    def __init__(self, claim: ScalarClaim, vectors: tuple[str, ...]) -> None:
        self.reader = Reader(claim, vectors)
        parts = (claim.left, claim.right, *claim.where)
        taken = set(claim.domains).union(*(free_letters(part) for part in parts))
        self.lengths = {v: _fresh(f"norm_{v}", taken) for v in vectors}
        self.cosines = {pair: _fresh(f"cos_{pair[0]}_{pair[1]}", taken) for pair in combinations(vectors, 2)}

    def domains(self) -> dict[str, Domain]:
        """Where the numbers live."""
        one, minus = (Expression(tree.Number(Fraction(n)), str(n)) for n in (1, -1))
        cosine = Domain("[-1, 1]", "interval", minus, one)
        return dict.fromkeys(self.lengths.values(), NONNEGATIVE) | dict.fromkeys(self.cosines.values(), cosine)

    def conditions(self) -> Iterable[tree.Node]:
        """What three cosines satisfy together."""
        if len(self.cosines) < MOST_VECTORS:
            return
        letters = [tree.Letter(name) for name in self.cosines.values()]
        squares = tree.Add(tuple(tree.Power(c, tree.Number(Fraction(2))) for c in letters))
        product = tree.Multiply((tree.Number(Fraction(2)), *letters))
        yield tree.Compare((squares, tree.Add((ONE, product))), ("<=",))

    def scalar(self, node: tree.Node) -> tree.Node:
        """The same value as a tree over numbers."""
        match node:
            case tree.Power(base=tree.Call(function="norm", arguments=(inner,)), exponent=tree.Number(value=power)) if (
                power == 2
            ):
                linear = self.reader.linear(inner)
                return self.product(linear, linear)
            case tree.Call(function="norm", arguments=(tree.Letter(name=name),)) if name in self.lengths:
                return tree.Letter(self.lengths[name])
            case tree.Call(function="norm", arguments=(inner,)):
                linear = self.reader.linear(inner)
                return tree.Call("sqrt", (self.product(linear, linear),))
            case tree.Call(function="dot", arguments=(one, other)):
                return self.product(self.reader.linear(one), self.reader.linear(other))
            case tree.Letter(name=name) if name in self.lengths:
                raise NotQuadratic(f"the vector {name} stands outside a norm or inner product")
        return rebuild(node, self.scalar)

    def product(self, one: Linear, other: Linear) -> tree.Node:
        """The inner product of two linear combinations."""
        terms = [p * q * self._entry(a, b) for a, p in one.items() for b, q in other.items()]
        return to_tree(sympy.expand(sympy.Add(*terms)))

    def _entry(self, a: str, b: str) -> sympy.Expr:
        lengths = _symbol(self.lengths[a]) * _symbol(self.lengths[b])
        if a == b:
            return lengths
        return lengths * _symbol(self.cosines[(a, b) if (a, b) in self.cosines else (b, a)])


def _symbol(name: str) -> sympy.Symbol:
    return sympy.Symbol(name, real=True)


def _fresh(name: str, taken: set[str]) -> str:
    while name in taken:
        name += "_"
    taken.add(name)
    return name

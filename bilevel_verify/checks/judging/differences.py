"""Point claims on the whole space: one side bounded by certified suprema, term by term, and compared with the other.

A norm of a sum is bounded by pairing its terms: ``A(x, y) - A(x', y')`` of one derivative moves by its own derivative
(mean value theorem, the whole space being convex), a product by each factor in turn, ``1/A`` by ``A^-1 (B - A) B^-1``.
What is left on both sides is a number and multiples of distances of points, compared coefficient by coefficient.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from itertools import product
from typing import TYPE_CHECKING

from bilevel_verify.checks.claims import values as v
from bilevel_verify.checks.claims.claims import Judged
from bilevel_verify.checks.judging.powers import LAMBDA, Form, Key, Powers, apart, powers
from bilevel_verify.checks.judging.suprema import GAPS, MOVES, Suprema, Unbounded, end_of
from bilevel_verify.language import parse, tree
from bilevel_verify.theorems.rewrite import free_letters, rebuild, substitute

if TYPE_CHECKING:
    from bilevel_verify.checks.instances.case import Case

Term = tuple[Powers, tree.Node]
"""A coefficient of either sign, and a vector or matrix."""
WRITTEN_OUT = {
    "bilevel": {
        "grad_phi": "grad_x_f(x, y_star(x)) - hess_xy_g(x, y_star(x)) @ v_star(x, y_star(x))",
        "grad_L_star": "grad_x_f(x, y_star_lam(x)) + lam*grad_x_g(x, y_star_lam(x)) - lam*grad_x_g(x, y_star(x))",
    },
    "minimax": {
        "grad_phi": "grad_x_f(x, y_star(x))",
        "hess_phi": "hess_xx_f(x, y_star(x)) - hess_xy_f(x, y_star(x)) @ inv(hess_yy_f(x, y_star(x)))"
        " @ hess_yx_f(x, y_star(x))",
    },
}
"""What a derivative of the hyper-objective is: the implicit function theorem, Danskin's theorem."""
SYMMETRIC = ("hess_phi", "hess_L_star")
MULTIPLIER = "inv(hess_yy_g(x, y)) @ grad_y_f(x, y)"
TAYLOR = (
    ("grad", "{F}({u}) - {F}({v})", "dot(grad_{F}({v}), {u} - {v}) + {c}/2*norm({u} - {v})**2"),
    ("hess", "norm(grad_{F}({u}) - grad_{F}({v}) - hess_{F}({v}) @ ({u} - {v}))", "{c}/2*norm({u} - {v})**2"),
    (
        "hess",
        "abs({F}({u}) - {F}({v}) - dot(grad_{F}({v}), {u} - {v}) - 1/2*dot(hess_{F}({v}) @ ({u} - {v}), {u} - {v}))",
        "{c}/6*norm({u} - {v})**3",
    ),
    (
        "hess",
        "norm(grad_{F}(1/2*{u} + 1/2*{v}) - 1/2*grad_{F}({u}) - 1/2*grad_{F}({v}))",
        "{c}/(1+nu_f)*(1/4*norm({u} - {v})**2)**((1+nu_f)/2)",
    ),
    (
        "hess",
        "{F}({u}) - {F}({v})",
        "1/2*dot(grad_{F}({u}) + grad_{F}({v}), {u} - {v})"
        " + 2*{c}/((1+nu_f)*(2+nu_f)*(3+nu_f))*norm({u} - {v})**(2+nu_f)",
    ),
)
"""Derivative of phi or L* that is Lipschitz, with c, and what follows; the last two where ``nu_f`` is 1 (the mean of
the gradients at two points is within ``c d^2 / 8``, the trapezoidal rule within ``c d^3 / 12``)."""


def by_suprema(case: Case, judged: Judged) -> str | None:
    """Why a relation holds at all points of the space, or None.

    Only on two levels without sets, without local definitions; the other side must be a number, plus numbers times
    norms, whose lower ends are compared.
    """
    claim = judged.claim
    if case.problem.kind not in WRITTEN_OUT or claim.define or "lam" in claim.for_:
        return None
    ways: tuple[Callable[[_Sides], bool], ...] = (
        _Sides.holds,
        _Sides.holds_written_out,
        _Sides.are_equal,
        _Sides.is_curved,
        _Sides.is_taylor,
        _Sides.is_weyl,
    )
    for way in ways:
        found = Suprema(case)
        try:
            holds = way(_Sides(found, judged))
        except (Unbounded, v.EvaluationError):
            continue
        if holds:
            numbers = ", ".join(
                f"{'mu >=' if name == 'mu' else f'|{name}| <='} {float(one):.6g}" for name, one in found.used.items()
            )
            return f"at all points, by certified {numbers}"
    return None


@dataclass
class _Sides:
    """The two sides of a relation."""

    found: Suprema
    judged: Judged
    written: bool = False
    """Whether derivatives of the hyper-objective are written out."""

    # --- ways to prove a relation -------------------------------------------------------------------------------------

    def holds(self) -> bool:
        """``left <= right`` by an upper form of the left side and a lower form of the right one."""
        if self.judged.link.op != "<=":
            return False
        lower = self.lower(self.expanded(self.judged.link.right.tree))
        return self.bounded({key for key, _ in lower.norms}).at_most(lower, self.found.lam())

    def bounded(self, wanted: set[Key]) -> Form:
        """The left side from above, by the distances that are wanted and those of the points of the claim."""
        return self.reduced(self.upper(self.expanded(self.judged.link.left.tree), wanted), wanted)

    def holds_written_out(self) -> bool:
        """The same with derivatives of the hyper-objective written out."""
        self.written = True
        self.found.constant("mu")  # y* exists and is differentiable
        return self.holds()

    def are_equal(self) -> bool:
        """``norm(A) == norm(B)`` where A is B or its negative, written out."""
        self.written = True
        self.found.constant("mu")
        match self.judged.link.left.tree, self.judged.link.right.tree:
            case tree.Call(function="norm", arguments=(a,)), tree.Call(function="norm", arguments=(b,)):
                one, other = dict(self.merged(self.expanded(a))), dict(self.merged(self.expanded(b)))
                return one == other or one == {core: -number for core, number in other.items()}
        return False

    def is_curved(self) -> bool:
        """``lambda_min(A) >= number``."""
        link = self.judged.link
        match link.left.tree:
            case tree.Call(function="lambda_min", arguments=(part,)) if link.op == ">=":
                return self.found.curvature(part) >= self.end(link.right.tree, 1)
        return False

    def is_taylor(self) -> bool:
        """Taylor's formula for phi or L*, with a Lipschitz constant of a derivative."""
        link, points = self.judged.link, list(self.judged.claim.for_)
        if link.op != "<=" or len(points) != 2:
            return False
        letters = sorted(free_letters(link.right.tree) - {*points})
        for (kind, *sides), name, letter in product(TAYLOR, ("phi", "L_star"), letters):
            for u, w in (points, points[::-1]):
                left, right = (parse(text.format(F=name, u=u, v=w, c=letter)) for text in sides)
                if (left, right) == (link.left.tree, link.right.tree):
                    smooth = "nu_f" not in letters or self.is_one(tree.Letter("nu_f"))
                    room = powers(self.end(tree.Letter(letter), 0)) + -MOVES[f"{kind}_{name}"](self.found)
                    return smooth and room.nonnegative(self.found.lam())
        return False

    def is_weyl(self) -> bool:
        """Least eigenvalues of two symmetric matrices differ by at most the norm of the difference."""
        match self.judged.link.left.tree, self.judged.link.right.tree:
            case tree.Call(function="abs", arguments=(part,)), tree.Call(function="norm", arguments=(apart_,)):
                pair, moved = _key(part), _key(apart_)
                if self.judged.link.op != "<=" or not isinstance(pair, frozenset) or not isinstance(moved, frozenset):
                    return False
                known = {one for one in moved if isinstance(one, tree.Call) and one.function in SYMMETRIC}
                return len(known) == 2 and pair == {tree.Call("lambda_min", (one,)) for one in known}
        return False

    # --- numbers ------------------------------------------------------------------------------------------------------

    def end(self, node: tree.Node, side: int) -> Fraction:
        """The lower (0) or upper (1) end of a number that is the same at all points."""
        if free_letters(node) & {*self.judged.claim.for_}:
            raise Unbounded
        return end_of(self.judged.evaluator.scalar(node, {}), side)

    def is_one(self, node: tree.Node) -> bool:
        """Whether a number is exactly 1."""
        return self.end(node, 0) == self.end(node, 1) == 1

    def number(self, node: tree.Node, side: int) -> Powers:
        """A bound from below (0) or above (1) of a number that is at least 0, lambda kept as it is."""
        match node:
            case tree.Letter(name="lam") if self.found.lam() is not None:
                return LAMBDA
            case tree.Multiply(factors=factors) if _has_lambda(node):
                total = powers(1)
                for factor in factors:
                    total = total * self.number(factor, side)
                return total
            case tree.Divide(numerator=top, denominator=bottom) if _has_lambda(node):
                return self.number(top, side) * self.reciprocal(bottom, side)
            case tree.Power(base=base, exponent=power) if _has_lambda(base) and not _has_lambda(power):
                if self.is_one(power):
                    return self.number(base, side)
            case tree.Add(terms=terms) if _has_lambda(node):
                return sum((self.number(term, side) for term in terms), Powers())
        if self.end(node, 0) < 0:
            raise Unbounded
        return powers(self.end(node, side))

    def reciprocal(self, node: tree.Node, side: int) -> Powers:
        """One over a positive number, which is a single power of lambda."""
        found = self.number(node, 1 - side).terms
        if len(found) != 1 or found[0][1] <= 0:
            raise Unbounded
        return powers(1 / found[0][1], -found[0][0])

    # --- sides --------------------------------------------------------------------------------------------------------

    def lower(self, node: tree.Node) -> Form:
        """A lower bound of a side whose terms are at least 0."""
        match node:
            case tree.Add(terms=terms):
                return sum((self.lower(term) for term in terms), Form())
            case tree.Call(function="norm", arguments=(part,)):
                return Form(norms=((_key(part), powers(1)),))
        return self.scaled(node, self.lower, 0)

    def upper(self, node: tree.Node, wanted: set[Key]) -> Form:
        """An upper bound of a side whose terms are at least 0."""
        match node:
            case tree.Add(terms=terms):
                return sum((self.upper(term, wanted) for term in terms), Form())
            case tree.Call(function="norm", arguments=(part,)) if _key(part) in wanted:
                return Form(norms=((_key(part), powers(1)),))
            case tree.Call(function="norm", arguments=(part,)):
                return self.length(part, wanted)
            case tree.Call(function="abs", arguments=(part,)) if (gap := _gap(self.found, part)) is not None:
                return Form(gap)
        return self.scaled(node, lambda one: self.upper(one, wanted), 1)

    def scaled(self, node: tree.Node, bound: Callable[[tree.Node], Form], side: int) -> Form:
        """A product of a form with numbers, a form divided by a number, or a number alone."""
        match node:
            case tree.Multiply(factors=factors) if _has_points(node, self.judged):
                total = Form(powers(1))
                for factor in factors:
                    one = bound(factor)
                    if total.norms and one.norms:
                        raise Unbounded
                    total = one.times(total.constant) if one.norms else total.times(one.constant)
                return total
            case tree.Divide(numerator=top, denominator=bottom) if _has_points(node, self.judged):
                return bound(top).times(self.reciprocal(bottom, side))
            case tree.Power(base=base, exponent=power) if _has_points(node, self.judged):
                if self.end(power, 0) == self.end(power, 1) == 0:
                    return Form(powers(1))
                if not self.is_one(power):
                    raise Unbounded
                return bound(base)
        return Form(self.number(node, side))

    def reduced(self, form: Form, wanted: set[Key]) -> Form:
        """Distances that the other side does not have, by those of the points that they belong to."""
        total = Form(form.constant)
        for key, number in form.norms:
            moved = None if key in wanted else self.moved(key)
            total = total + (Form(norms=((key, number),)) if moved is None else moved.times(number))
        return total

    def moved(self, key: Key) -> Form | None:
        """``|F(x) - F(x')|`` by ``|x - x'|``; ``|y* - y*_lam|`` at one x by a number; None for another distance."""
        match sorted(key, key=repr) if isinstance(key, frozenset) else ():
            case [tree.Call(function=a, arguments=(u,)), tree.Call(function=b, arguments=(w,))]:
                if a == b and a in MOVES:
                    return apart(u, w).times(MOVES[a](self.found))
                if u == w and (gap := self.gap(a, b)) is not None:
                    return Form(gap)
        return None

    def gap(self, one: str, other: str) -> Powers | None:
        """The norm of the difference of two functions at one x."""
        known = GAPS.get(frozenset((one, other))) if self.found.case.problem.kind == "bilevel" else None
        return None if known is None else known(self.found)

    # --- norms of sums ------------------------------------------------------------------------------------------------

    def length(self, node: tree.Node, wanted: set[Key]) -> Form:
        """An upper bound of the norm of a vector or matrix, terms of one shape and opposite signs paired."""
        left, total = [(number, core) for core, number in self.merged(node)], Form()
        while left:
            number, core = left.pop()
            pairs = [
                (place, found)
                for place, (other, one) in enumerate(left)
                if other == -number and (found := self.difference(core, one)) is not None
            ]
            if not pairs:
                total = total + self.factored(core, wanted).times(number.size)
                continue
            place, found = next((pair for pair in pairs if {key for key, _ in pair[1].norms} <= wanted), pairs[0])
            del left[place]
            total = total + found.times(number.size)
        return total

    def factored(self, core: tree.Node, wanted: set[Key]) -> Form:
        """An upper bound of the norm of one term; that of a right factor is kept where the other side has it."""
        match core:
            case tree.MatrixMultiply(left=left, right=right) if _key(right) in wanted:
                return Form(norms=((_key(right), self.found.norm(left)),))
        return Form(self.found.norm(core))

    def merged(self, node: tree.Node) -> list[tuple[tree.Node, Powers]]:
        """The terms of a sum, equal ones added up."""
        found: dict[tree.Node, Powers] = {}
        for number, core in self.terms(node, powers(1)):
            found[core] = found.get(core, Powers()) + number
        return [(core, number) for core, number in found.items() if number.terms]

    def terms(self, node: tree.Node, number: Powers) -> Iterator[Term]:
        """A vector or matrix as a sum of multiples; a multiple is exact."""
        match node:
            case tree.Add(terms=terms):
                for term in terms:
                    yield from self.terms(term, number)
            case tree.Negate(operand=operand):
                yield from self.terms(operand, -number)
            case tree.Multiply(factors=factors):
                scalars = [factor for factor in factors if not _has_points(factor, self.judged)]
                rest = [factor for factor in factors if factor not in scalars]
                if len(rest) != 1:
                    raise Unbounded
                for scalar in scalars:
                    number = number * self.exact(scalar)
                yield from self.terms(rest[0], number)
            case _:
                yield number, node

    def expanded(self, node: tree.Node) -> tree.Node:
        """A tree with what ``v*`` is and, where written out, what derivatives of the hyper-objective are."""
        known = self.definitions()

        def change(part: tree.Node) -> tree.Node:
            if not isinstance(part, tree.Call) or (part.function, len(part.arguments)) not in known:
                return rebuild(part, change)
            text = parse(known[part.function, len(part.arguments)])
            return change(substitute(text, dict(zip("xy", part.arguments))))

        return change(node)

    def definitions(self) -> dict[tuple[str, int], str]:
        """(name, number of points) -> what it is."""
        kind = self.found.case.problem.kind
        known = {(name, 1): text for name, text in WRITTEN_OUT[kind].items()} if self.written else {}
        return known | ({("v_star", 2): MULTIPLIER} if kind == "bilevel" else {})

    def exact(self, node: tree.Node) -> Powers:
        """A rational number, or lambda."""
        found = self.number(node, 0)
        if found != self.number(node, 1):
            raise Unbounded
        return found

    def difference(self, one: tree.Node, other: tree.Node) -> Form | None:
        """An upper bound of the norm of the difference of two vectors or matrices of one shape; None for others."""
        if one == other:
            return Form()
        match one, other:
            case tree.MatrixMultiply(left=a, right=b), tree.MatrixMultiply(left=c, right=d):
                first, second = self.difference(a, c), self.difference(b, d)
                if first is None or second is None:
                    return None
                return first.times(self.found.norm(b)) + second.times(self.found.norm(c))
            case tree.Call(function="inv", arguments=(a,)), tree.Call(function="inv", arguments=(b,)):
                moved = self.difference(a, b)
                return None if moved is None else moved.times(self.found.inverse(a) * self.found.inverse(b))
            case tree.Call(function=a, arguments=(u,)), tree.Call(function=b, arguments=(w,)):
                return self.moved(frozenset((one, other)))
            case tree.Call(function=a, arguments=(u, y)), tree.Call(function=b, arguments=(w, z)) if a == b:
                in_x = apart(u, w).times(self.found.block(a, "x")) if u != w else Form()
                return in_x + apart(y, z).times(self.found.block(a, "y")) if y != z else in_x
        return None


def _gap(found: Suprema, part: tree.Node) -> Powers | None:
    """``phi - L*`` at one x, in either order."""
    match part:
        case tree.Add(terms=(tree.Call(function=a, arguments=(u,)), tree.Negate(operand=tree.Call() as other))):
            if {a, other.function} == {"phi", "L_star"} and other.arguments == (u,):
                return found.value_gap()
    return None


def _key(part: tree.Node) -> Key:
    """The norm of a vector as what both sides are compared by: a difference of two points is a pair."""
    match part:
        case tree.Add(terms=(tree.Negate(operand=one), other)) | tree.Add(terms=(other, tree.Negate(operand=one))):
            return frozenset((one, other)) if one != other else part
    return part


def _has_lambda(node: tree.Node) -> bool:
    return "lam" in free_letters(node)


def _has_points(node: tree.Node, judged: Judged) -> bool:
    return bool(free_letters(node) & {*judged.claim.for_})

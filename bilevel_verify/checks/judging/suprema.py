"""Point claims on the whole space, from certified suprema of the derivatives of f and g.

A search over points never ends on an unbounded domain. Many claims compare one norm with a number: that of a block of a
Hessian, of ``grad y*``, of a solution of the linear system. Their suprema follow from those of the blocks, certified
for this problem by the constants room, by the implicit function theorem and the triangle inequality; what is Lipschitz
follows by the mean value theorem, the whole space being convex. All in rational numbers, every step a bound from above.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from fractions import Fraction
from math import isfinite
from typing import TYPE_CHECKING

from bilevel_verify.checks.claims import values as v
from bilevel_verify.checks.claims.claims import Judged
from bilevel_verify.constants import Letter, LetterSet, constants
from bilevel_verify.language import tree
from bilevel_verify.theorems.rewrite import free_letters

if TYPE_CHECKING:
    from bilevel_verify.checks.instances.case import Case

NORM = "Euclidean / spectral, joint in (x, y)"
FORMS = ("x", "y", "xx", "xy", "yy", "xxy", "xyy", "yyy")
BLOCKS = LetterSet(
    "blocks",
    (
        Letter("mu", "strong convexity", (("g", "yy"),), NORM, "curvature of the lower level"),
        *(Letter(f"{of}:{form}", "norm", ((of, form),), NORM, "norm of a block") for of in "fg" for form in FORMS),
    ),
)
DERIVATIVES = {"y_star": "grad_y_star", "y_star_lam": "grad_y_star_lam", "grad_phi": "hess_phi"}
"""Function of x -> its derivative: where this is bounded, that is Lipschitz."""


class Unbounded(Exception):
    """No certified bound is known here."""


@dataclass
class Suprema:
    """Upper bounds over all points of the space, with the certified numbers that were used."""

    case: Case
    used: dict[str, Fraction] = field(default_factory=dict)

    def constant(self, name: str) -> Fraction:
        """The supremum of the norm of a block (``mu``: the infimum of the curvature of g in y, positive).

        Raises
        ------
        Unbounded : it is infinite, not certified, or certified on a part of the space only.
        """
        if name not in self.used:
            found = constants(self.case.problem, BLOCKS, only=(name,))[name]
            if not (found.certified and found.whole_space and isfinite(found.value)):
                raise Unbounded
            self.used[name] = Fraction(found.value)
        if name == "mu" and self.used[name] <= 0:
            raise Unbounded
        return self.used[name]

    def penalty(self, side: int) -> Fraction:
        """The lower (0) or upper (1) end of lambda, positive."""
        functions = self.case.functions
        if functions is None or functions.lam is None:
            raise Unbounded
        end = _end(functions.lam, side)
        if not end > 0:
            raise Unbounded
        return end

    def curvature(self, node: tree.Node) -> Fraction:
        """A positive lower bound of the least eigenvalue of ``hess_yy_g`` or ``hess_yy_L``."""
        match node:
            case tree.Call(function="hess_yy_g"):
                return self.constant("mu")
            case tree.Call(function="hess_yy_L"):
                return self._penalised()
        raise Unbounded

    def norm(self, node: tree.Node) -> Fraction:
        """An upper bound of the norm of a vector or matrix.

        Raises
        ------
        Unbounded : it is of no form that is known here.
        """
        match node:
            case tree.Negate(operand=part):
                return self.norm(part)
            case tree.MatrixMultiply(left=left, right=right):
                return self.norm(left) * self.norm(right)
            case tree.Call(function="inv", arguments=(part,)):
                return 1 / self.curvature(part)
            case tree.Call(function=name) if name in RULES:
                return RULES[name](self)
            case tree.Call(function=name):
                return self._block(name)
            case tree.Add(terms=(one, tree.Negate(operand=other))) if _penalised_minimisers(one, other):
                return self.constant("f:y") / (self.penalty(0) * self.constant("mu"))
        raise Unbounded

    def _block(self, name: str, then: str = "") -> Fraction:
        """Of a block such as ``hess_xy_g``; ``then`` : of its derivative in this variable."""
        kind, _, rest = name.partition("_")
        form, _, function = rest.partition("_")
        if (kind, len(form)) not in (("grad", 1), ("hess", 2)):
            raise Unbounded
        form = "".join(sorted(form + then))
        if form not in FORMS:
            raise Unbounded
        if function == "L":
            return self.constant(f"f:{form}") + self.penalty(1) * self.constant(f"g:{form}")
        if function not in ("f", "g"):
            raise Unbounded
        return self.constant(f"{function}:{form}")

    def moved_in_y(self, name: str) -> Fraction:
        """A Lipschitz constant in y of a block, by the norm of its derivative."""
        return self._block(name, "y")

    def _penalised(self) -> Fraction:
        least = self.penalty(0) * self.constant("mu") - self.constant("f:yy")
        if least <= 0:
            raise Unbounded
        return least

    def gradient(self) -> Fraction:
        """Of ``grad phi``: ``|f_x| + |g_xy| |f_y| / mu``; of a minimax problem ``|f_x|`` alone (Danskin)."""
        if self.case.problem.kind == "minimax":
            return self.constant("f:x")
        return self.constant("f:x") + self.constant("g:xy") * self.constant("f:y") / self.constant("mu")

    def hessian(self) -> Fraction:
        """Of ``hess phi`` of a minimax problem: ``|f_xx| + |f_xy|^2 / mu``."""
        if self.case.problem.kind != "minimax":
            raise Unbounded
        return self.constant("f:xx") + self.constant("f:xy") ** 2 / self.constant("mu")

    def jacobian(self) -> Fraction:
        """Of ``grad y*``: ``|g_xy| / mu``."""
        return self.constant("g:xy") / self.constant("mu")

    def penalised_jacobian(self) -> Fraction:
        """Of ``grad y*_lam``: ``|f_xy + lam g_xy|`` over the curvature of ``f + lam g``."""
        return (self.constant("f:xy") + self.penalty(1) * self.constant("g:xy")) / self._penalised()

    def multiplier(self) -> Fraction:
        """Of ``v* = (g_yy)^-1 f_y``: ``|f_y| / mu``."""
        return self.constant("f:y") / self.constant("mu")


RULES: dict[str, Callable[[Suprema], Fraction]] = {
    "grad_y_star": Suprema.jacobian,
    "grad_y_star_lam": Suprema.penalised_jacobian,
    "grad_phi": Suprema.gradient,
    "hess_phi": Suprema.hessian,
    "v_star": Suprema.multiplier,
}


def by_suprema(case: Case, judged: Judged) -> str | None:
    """Why a relation holds at all points of the space, or None.

    Only on two levels without sets, without local definitions; the other side must be a number (times ``|x - x'|`` for
    what is Lipschitz), whose lower end is compared.
    """
    problem = case.problem
    if problem.kind not in ("bilevel", "minimax") or judged.claim.define:
        return None
    found = Suprema(case)
    try:
        holds = _holds(found, judged)
    except (Unbounded, v.EvaluationError):
        return None
    numbers = ", ".join(
        f"{'mu >=' if name == 'mu' else f'|{name}| <='} {float(one):.6g}" for name, one in found.used.items()
    )
    return f"at all points, by certified {numbers}" if holds else None


def _holds(found: Suprema, judged: Judged) -> bool:
    link, points = judged.link, set(judged.claim.for_)
    match link.left.tree:
        case tree.Call(function="norm", arguments=(part,)) if link.op == "<=":
            for bound, what in _multiples(found, part):
                factor = _factor(link.right.tree, what)
                if factor is not None:
                    return bound() <= _number(judged, factor, points, 0)
            return found.norm(part) <= _number(judged, link.right.tree, points, 0)
        case tree.Call(function="lambda_min", arguments=(part,)) if link.op == ">=":
            return found.curvature(part) >= _number(judged, link.right.tree, points, 1)
    return False


def _multiples(found: Suprema, part: tree.Node) -> list[tuple[Callable[[], Fraction], tuple[tree.Node, ...]]]:
    """Norms that are at most a bound times another norm: the bound, and vectors of that norm.

    ``F(u) - F(v)`` of a function of x whose derivative is bounded, ``F(x, u) - F(x, v)`` of a block, and ``A @ b``.
    """
    match part:
        case tree.MatrixMultiply(left=matrix, right=what):
            return [(lambda: found.norm(matrix), (what,))]
        case tree.Add(terms=(tree.Call(function=name, arguments=one), tree.Negate(operand=tree.Call() as other))):
            if other.function != name or len(one) != len(other.arguments) or one[:-1] != other.arguments[:-1]:
                return []
            u, w = one[-1], other.arguments[-1]
            moved = tuple(tree.Add((a, tree.Negate(b))) for a, b in ((u, w), (w, u)))
            if len(one) == 2:
                return [(lambda: found.moved_in_y(name), moved)]
            if name in DERIVATIVES:
                return [(lambda: RULES[DERIVATIVES[name]](found), moved)]
    return []


def _number(judged: Judged, node: tree.Node, points: set[str], side: int) -> Fraction:
    """The lower (0) or upper (1) end of a side that is the same at all points."""
    if free_letters(node) & points:
        raise Unbounded
    return _end(judged.evaluator.scalar(node, {}), side)


def _end(value: v.Scalar, side: int) -> Fraction:
    """The lower (0) or upper (1) end of a number; a rational one is both, so that what is attained holds too."""
    if isinstance(value, Fraction):
        return value
    end = v.ends(value)[side]
    if not isfinite(end):
        raise Unbounded
    return Fraction(end)


def _factor(node: tree.Node, vectors: tuple[tree.Node, ...]) -> tree.Node | None:
    """What the norm of one of these vectors is multiplied with; None if it is no factor, or one of several."""
    if not isinstance(node, tree.Multiply):
        return None
    norms = [tree.Call("norm", (one,)) for one in vectors]
    rest = [part for part in node.factors if part not in norms]
    if len(rest) != len(node.factors) - 1 or not rest:
        return None
    return rest[0] if len(rest) == 1 else tree.Multiply(tuple(rest))


def _penalised_minimisers(one: tree.Node, other: tree.Node) -> bool:
    """Whether the two are ``y*_lam`` and ``y*`` at one point, in either order."""
    match one, other:
        case tree.Call(function=a, arguments=(u,)), tree.Call(function=b, arguments=(w,)):
            return {a, b} == {"y_star", "y_star_lam"} and u == w
    return False

"""Upper bounds on the whole space, from certified suprema of the derivatives of f and g.

A search over points never ends on an unbounded domain. Many claims compare norms with numbers: of a block of a Hessian,
of ``grad y*``, of what a penalty changes. Their suprema follow from those of the blocks, certified for this problem by
the constants room, by the implicit function theorem, the triangle inequality and Taylor's formula. All in rational
numbers and powers of lambda, every step a bound from above.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from fractions import Fraction
from itertools import combinations_with_replacement
from math import isfinite
from typing import TYPE_CHECKING

from bilevel_verify.checks.claims import values as v
from bilevel_verify.checks.judging.powers import LAMBDA, ONE_BY_LAMBDA, Powers, powers
from bilevel_verify.constants import Letter, LetterSet, constants
from bilevel_verify.language import tree

if TYPE_CHECKING:
    from bilevel_verify.checks.instances.case import Case

NORM = "Euclidean / spectral, joint in (x, y)"
FORMS = tuple("".join(form) for order in (1, 2, 3, 4) for form in combinations_with_replacement("xy", order))
BLOCKS = LetterSet(
    "blocks",
    (
        Letter("mu", "strong convexity", (("g", "yy"),), NORM, "curvature of the lower level"),
        *(Letter(f"{of}:{form}", "norm", ((of, form),), NORM, "norm of a block") for of in "fg" for form in FORMS),
    ),
)


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
            closed = found.exact if found.attained and found.exact is not None and found.exact.is_Rational else None
            self.used[name] = Fraction(found.value) if closed is None else Fraction(int(closed.p), int(closed.q))
        if name == "mu" and self.used[name] <= 0:
            raise Unbounded
        return self.used[name]

    def penalty(self, side: int) -> Fraction:
        """The lower (0) or upper (1) end of lambda, positive."""
        functions = self.case.functions
        if functions is None or functions.lam is None:
            raise Unbounded
        end = end_of(functions.lam, side)
        if not end > 0:
            raise Unbounded
        return end

    def lam(self) -> tuple[Fraction, Fraction] | None:
        """Both ends of lambda; None where the case has no penalty."""
        try:
            return self.penalty(0), self.penalty(1)
        except Unbounded:
            return None

    def curvature(self, node: tree.Node) -> Fraction:
        """A positive lower bound of the least eigenvalue of ``hess_yy_g`` or ``hess_yy_L``."""
        match node:
            case tree.Call(function="hess_yy_g"):
                return self.constant("mu")
            case tree.Call(function="hess_yy_L"):
                return self.penalty(0) * self.constant("mu") - self._slack()
        raise Unbounded

    def _slack(self) -> Fraction:
        """``|f_yy|``, which is less than lambda mu."""
        if self.constant("f:yy") >= self.penalty(0) * self.constant("mu"):
            raise Unbounded
        return self.constant("f:yy")

    def softness(self) -> Powers:
        """Of the inverse of ``hess_yy_L``: ``1 / (lam mu - |f_yy|)``."""
        return ONE_BY_LAMBDA * (1 / (self.constant("mu") - self._slack() / self.penalty(0)))

    def norm(self, node: tree.Node) -> Powers:
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
                return self.inverse(part)
            case tree.Call(function=name) if name in NORMS:
                return NORMS[name](self)
            case tree.Call(function=name):
                return self.block(name)
        raise Unbounded

    def inverse(self, node: tree.Node) -> Powers:
        """Of the inverse of ``hess_yy_g``, of ``hess_yy_L``, of ``hess_yy_f`` where f is concave in y."""
        match node, self.case.problem.kind:
            case tree.Call(function="hess_yy_L"), _:
                return self.softness()
            case (tree.Call(function="hess_yy_g"), _) | (tree.Call(function="hess_yy_f"), "minimax"):
                return powers(1 / self.constant("mu"))
        raise Unbounded

    def block(self, name: str, then: str = "") -> Powers:
        """Of a block such as ``hess_xy_g``; ``then`` : of its derivative in this variable."""
        kind, _, rest = name.partition("_")
        form, _, function = rest.partition("_")
        if (kind, len(form)) not in (("grad", 1), ("hess", 2)) or not {*form} <= {*"xy"}:
            raise Unbounded
        if function == "L" and "y" in form:  # the others contain derivatives of g(x, y*(x))
            return self.of("L", form + then)
        if function not in ("f", "g"):
            raise Unbounded
        return self.of(function, form + then)

    def of(self, function: str, form: str) -> Powers:
        """Of a derivative of f, of g, or of ``f + lam g`` (L)."""
        form = "".join(sorted(form))
        if function == "L":
            self.penalty(0)  # positive
            return powers(self.constant(f"f:{form}")) + LAMBDA * self.constant(f"g:{form}")
        return powers(self.constant(f"{function}:{form}"))

    # --- along y* and y*_lam ------------------------------------------------------------------------------------------

    def jacobian(self) -> Powers:
        """Of ``grad y*``: ``|g_xy| / mu``."""
        return self.of("g", "xy") * (1 / self.constant("mu"))

    def penalised_jacobian(self) -> Powers:
        """Of ``grad y*_lam``: ``|f_xy + lam g_xy|`` over the curvature of ``f + lam g``."""
        return self.of("L", "xy") * self.softness()

    def turning(self, function: str, slope: Powers) -> Powers:
        """Of ``D g_xy + J D g_yy`` along a curve of slope J, D being the derivative along it (f + lam g: L)."""
        return self.of(function, "xxy") + slope * (self.of(function, "xyy") * 2 + slope * self.of(function, "yyy"))

    def jacobian_moves(self) -> Powers:
        """Lipschitz constant of ``grad y*``."""
        return self.turning("g", self.jacobian()) * (1 / self.constant("mu"))

    def penalised_jacobian_moves(self) -> Powers:
        """Lipschitz constant of ``grad y*_lam``."""
        return self.turning("L", self.penalised_jacobian()) * self.softness()

    def multiplier(self) -> Powers:
        """Of ``v* = (g_yy)^-1 f_y``: ``|f_y| / mu``."""
        return self.of("f", "y") * (1 / self.constant("mu"))

    # --- phi ----------------------------------------------------------------------------------------------------------

    def gradient(self) -> Powers:
        """Of ``grad phi``: ``|f_x| + |g_xy| |f_y| / mu``; of a minimax problem ``|f_x|`` alone (Danskin)."""
        if self.case.problem.kind == "minimax":
            return self.of("f", "x")
        return self.of("f", "x") + self.jacobian() * self.of("f", "y")

    def hessian(self) -> Powers:
        """Of ``hess phi``; of a minimax problem ``|f_xx| + |f_xy|^2 / mu``."""
        mu = self.constant("mu")
        if self.case.problem.kind == "minimax":
            return self.of("f", "xx") + self.of("f", "xy") * self.of("f", "xy") * (1 / mu)
        slope = self.jacobian()
        bent = self.turning("g", slope) * self.multiplier()
        return self.of("f", "xx") + slope * (self.of("f", "xy") * 2 + slope * self.of("f", "yy")) + bent

    def hessian_moves(self) -> Powers:
        """Lipschitz constant of ``hess phi``: its terms, each factor moved in turn."""
        slope, mu = self.jacobian(), self.constant("mu")

        def moves(function: str, form: str) -> Powers:
            return self.of(function, form + "x") + slope * self.of(function, form + "y")

        if self.case.problem.kind == "minimax":
            across = self.of("f", "xy") * (1 / mu)
            return moves("f", "xx") + across * (moves("f", "xy") * 2 + across * moves("f", "yy"))
        turns, bends = self.jacobian_moves(), self.turning("g", slope)
        first = moves("f", "xx") + slope * (moves("f", "xy") * 2 + slope * moves("f", "yy"))
        second = turns * (self.of("f", "xy") + slope * self.of("f", "yy")) * 2
        bends_move = moves("g", "xxy") + slope * (moves("g", "xyy") * 2 + slope * moves("g", "yyy"))
        bends_turn = turns * (self.of("g", "xyy") + slope * self.of("g", "yyy")) * 2
        v_moves = (moves("f", "y") + moves("g", "yy") * self.multiplier()) * (1 / mu)
        return first + second + (bends_move + bends_turn) * self.multiplier() + bends * v_moves

    # --- what the penalty changes -------------------------------------------------------------------------------------

    def distance(self) -> Powers:
        """Of ``y*_lam - y*``: ``|f_y| / (lam mu)``, by the strong convexity of g."""
        self.penalty(0)  # positive
        return self.multiplier() * ONE_BY_LAMBDA

    def value_gap(self) -> Powers:
        """Of ``phi - L*``, which is at least 0: ``f(y*) - f(y*_lam) <= |f_y| r``, less ``lam mu r^2 / 2``."""
        return self.distance() * self.of("f", "y") * Fraction(1, 2)

    def gradient_gap(self) -> Powers:
        """Of ``grad L* - grad phi``.

        With ``e = y*_lam - y*`` and ``f_y + lam g_y = 0`` at ``y*_lam``, Taylor's formula at ``y*`` leaves
        ``f_x(y*_lam) - f_x(y*) + J (f_y(y*_lam) - f_y(y*))`` and lambda times remainders of second order in e.
        """
        slope, e = self.jacobian(), self.distance()
        first = self.of("f", "xy") + slope * self.of("f", "yy")
        second = self.of("g", "xyy") + slope * self.of("g", "yyy")
        return first * e + LAMBDA * second * e * e * Fraction(1, 2)

    def jacobian_gap(self) -> Powers:
        """Of ``grad y*_lam - grad y*``: the difference times ``L_yy`` is ``-(L_xy + J L_yy)`` at ``y*_lam``."""
        slope = self.jacobian()
        moved = LAMBDA * self.distance() * (self.of("g", "xyy") + slope * self.of("g", "yyy"))
        return (self.of("f", "xy") + slope * self.of("f", "yy") + moved) * self.softness()

    def penalised_hessian(self) -> Powers:
        """Of ``hess L*``: ``f_xx + J_lam f_yx`` and lambda times what ``g_xx + J g_yx`` changes from y* to y*_lam."""
        changed = self.distance() * (self.of("g", "xxy") + self.jacobian() * self.of("g", "xyy"))
        turned = self.jacobian_gap() * self.of("g", "xy")
        return self.of("f", "xx") + self.penalised_jacobian() * self.of("f", "xy") + LAMBDA * (changed + turned)

    def turning_gap(self) -> Powers:
        """Of ``D g_xy + J D g_yy`` between ``y*_lam``, with its own J, and ``y*``: each factor moved in turn."""
        slope, e, gap = self.jacobian(), self.distance(), self.jacobian_gap()
        both = slope + self.penalised_jacobian()
        along = self.of("g", "xxyy") + slope * (self.of("g", "xyyy") * 2 + slope * self.of("g", "yyyy"))
        return along * e + gap * (self.of("g", "xyy") * 2 + both * self.of("g", "yyy"))

    def jacobian_moves_gap(self) -> Powers:
        """Of ``hess y*_lam - hess y*``: that of the Jacobians, differentiated along x once more."""
        slope, turns = self.penalised_jacobian(), self.jacobian_moves()
        of_f = self.turning("f", slope) + turns * self.of("f", "yy")
        return (of_f + LAMBDA * (self.turning_gap() + turns * self.of("g", "yyy") * self.distance())) * self.softness()

    def penalised_hessian_moves(self) -> Powers:
        """Lipschitz constant of ``hess L*``: the derivative of the terms of :meth:`penalised_hessian`, each in turn."""
        slope, bent, e, gap = self.penalised_jacobian(), self.jacobian(), self.distance(), self.jacobian_gap()

        def moves(form: str) -> Powers:
            return self.of("f", form + "x") + slope * self.of("f", form + "y")

        of_f = moves("xx") + slope * moves("xy") + self.penalised_jacobian_moves() * self.of("f", "xy")
        first = self.of("g", "xxxy") * e + gap * self.of("g", "xxy") + bent * self.of("g", "xxyy") * e
        second = self.jacobian_moves_gap() * self.of("g", "xy") + self.jacobian_moves() * self.of("g", "xyy") * e
        third = gap * self.of("g", "xxy") + bent * self.of("g", "xxyy") * e
        fourth = gap * (slope + bent) * self.of("g", "xyy") + bent * bent * self.of("g", "xyyy") * e
        return of_f + LAMBDA * (first + second + third + fourth)


NORMS: dict[str, Callable[[Suprema], Powers]] = {
    "grad_y_star": Suprema.jacobian,
    "grad_y_star_lam": Suprema.penalised_jacobian,
    "grad_phi": Suprema.gradient,
    "hess_phi": Suprema.hessian,
    "hess_L_star": Suprema.penalised_hessian,
    "v_star": Suprema.multiplier,
}
MOVES: dict[str, Callable[[Suprema], Powers]] = {
    "y_star": Suprema.jacobian,
    "y_star_lam": Suprema.penalised_jacobian,
    "grad_phi": Suprema.hessian,
    "grad_L_star": Suprema.penalised_hessian,
    "hess_phi": Suprema.hessian_moves,
    "hess_L_star": Suprema.penalised_hessian_moves,
    "grad_y_star": Suprema.jacobian_moves,
    "grad_y_star_lam": Suprema.penalised_jacobian_moves,
}
"""Function of x -> its Lipschitz constant."""
GAPS: dict[frozenset[str], Callable[[Suprema], Powers]] = {
    frozenset(("y_star", "y_star_lam")): Suprema.distance,
    frozenset(("grad_y_star", "grad_y_star_lam")): Suprema.jacobian_gap,
    frozenset(("hess_y_star", "hess_y_star_lam")): Suprema.jacobian_moves_gap,
    frozenset(("phi", "L_star")): Suprema.value_gap,
    frozenset(("grad_phi", "grad_L_star")): Suprema.gradient_gap,
}
"""Two functions at one x -> the norm of their difference."""


def end_of(value: v.Scalar, side: int) -> Fraction:
    """The lower (0) or upper (1) end of a number; a rational one is both, so that what is attained holds too."""
    if isinstance(value, Fraction):
        return value
    end = v.ends(value)[side]
    if not isfinite(end):
        raise Unbounded
    return Fraction(end)

"""Point claims that say what a certified constant is: Lipschitz continuity, Taylor's formula, strong convexity.

``|grad f(x) - grad f(y)| <= L |x - y|`` needs no search where L is the bound of the second derivative that was
certified for this problem: on a convex set the mean value theorem gives it, and Taylor's formula its integrated forms.
The sides are compared with these forms as trees, letter by letter; any other factor is another claim.
"""

from __future__ import annotations

from itertools import permutations
from typing import TYPE_CHECKING

from bilevel_verify.checks.claims.claims import Judged
from bilevel_verify.checks.claims.values import ends
from bilevel_verify.constants.bound.constant import Constant
from bilevel_verify.constants.papers import set_for
from bilevel_verify.language import parse

if TYPE_CHECKING:
    from bilevel_verify.checks.instances.case import Case

FORMS = (
    ("zz", "norm(grad_f({u}) - grad_f({v}))", "{c}*norm({u} - {v})"),
    ("zz", "abs(f({v}) - f({u}) - dot(grad_f({u}), {v} - {u}))", "{c}/2*norm({v} - {u})**2"),
    ("zzz", "norm(hess_f({u}) - hess_f({v}))", "{c}*norm({u} - {v})"),
    (
        "zzz",
        "abs(f({v}) - f({u}) - dot(grad_f({u}), {v} - {u}) - dot({v} - {u}, hess_f({u}) @ ({v} - {u}))/2)",
        "{c}/6*norm({v} - {u})**3",
    ),
)
"""Derivative whose norm the constant bounds, left side, right side; u and v are the two points."""
LOWER_LEVEL = (
    ("g({x}, y_star({x})) - g({x}, {y})", "0"),
    ("{c}/2*norm({y} - y_star({x}))**2", "g({x}, {y}) - g({x}, y_star({x}))"),
)
"""What a minimiser of a strongly convex function is; c is the constant of strong convexity."""


def by_definition(case: Case, judged: Judged) -> str | None:
    """Why a relation holds for all points by what a constant is, or None.

    Only on one level, for all pairs of points of the domain, without a condition; the constant is certified, it is the
    one of this problem or a number given by hand that is certainly no smaller, and it is defined as the norm of that
    derivative alone.
    """
    claim, link = judged.claim, judged.link
    if case.problem.kind in ("bilevel", "minimax"):
        return _of_the_lower_level(case, judged)
    points = [name for name, one in claim.for_.items() if one.kind == "domain" and one.space == "x"]
    if case.problem.kind != "single_level" or link.op != "<=" or len(points) != 2 or len(claim.for_) != 2:
        return None
    if claim.where or claim.define:
        return None
    for name, constant in case.instance.used.items():
        order = _order(case, name, constant)
        for wanted, left, right in FORMS:
            if order == wanted and any(
                link.left.tree == parse(left.format(u=u, v=v))
                and link.right.tree == parse(right.format(u=u, v=v, c=name))
                for u, v in permutations(points)
            ):
                return f"{name} bounds this derivative on the whole domain, which is convex ({constant.route})"
    return None


def _of_the_lower_level(case: Case, judged: Judged) -> str | None:
    """The same for ``y*``, where g is certified to be strongly convex in y on the whole space."""
    claim, link, mu = judged.claim, judged.link, case.instance.strong_convexity()
    spaces = {one.space: name for name, one in claim.for_.items() if one.kind == "domain"}
    if link.op != "<=" or claim.where or claim.define or set(spaces) != {"x", "y"} or len(claim.for_) != 2:
        return None
    if mu is None or not mu.certified or not mu.whole_space or not mu.value > 0:
        return None
    for left, right in LOWER_LEVEL:
        if "{c}" in left and ("mu" not in case.instance.used or _given(case, "mu")):
            continue
        if link.left.tree == parse(left.format(c="mu", **spaces)) and link.right.tree == parse(
            right.format(c="mu", **spaces)
        ):
            return f"y*(x) is the minimiser of a function that is strongly convex in y ({mu.route})"
    return None


def _given(case: Case, name: str) -> bool:
    """Whether a letter is not the constant of the problem: given by hand, or chosen by the statement."""
    letter = case.resolved.letters.get(name)
    return letter is None or letter.source != "constants" or letter.chosen or name in case.request.values


def _is_larger(case: Case, name: str, constant: Constant) -> bool:
    """Whether a number in the place of a constant is certainly as large as what is certified: it is a bound, too."""
    letter = case.resolved.letters.get(name)
    return letter is not None and bool(ends(letter.for_check)[0] >= constant.value)


def _order(case: Case, name: str, constant: Constant) -> str:
    """The derivative of f whose norm a constant bounds; empty if it is none, or a number given by hand may be none."""
    spec = case.request.card.letters.get(name)
    if spec is None or not constant.certified or (_given(case, name) and not _is_larger(case, name, constant)):
        return ""
    known = spec.definition or set_for(case.instance.paper, case.problem.kind)
    defined = known.names.get(spec.name if spec.definition else spec.called or spec.name)
    if defined is None or defined.measure != "norm" or len(defined.parts) != 1 or defined.parts[0][0] != "f":
        return ""
    return defined.parts[0][1].replace("x", "z")

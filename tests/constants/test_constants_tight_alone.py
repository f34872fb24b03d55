"""One group of variables: eigenvalues of its blocks, tightness, closed forms, and what is shown of it."""

from __future__ import annotations

import math
import sys
from dataclasses import replace
from fractions import Fraction
from types import SimpleNamespace
from typing import Any

import mpmath
import numpy as np
import pytest
import sympy
from sympy import Integer, Rational, cos, exp, sin

import bilevel_verify as bv
from bilevel_verify.atoms import logsumexp, softplus
from bilevel_verify.atoms.datasum import DataSum
from bilevel_verify.constants.bound.bounds import Bound
from bilevel_verify.constants.bound.constant import Reason
from bilevel_verify.constants.calculus import exact
from bilevel_verify.constants.calculus.affine_variables import faces
from bilevel_verify.constants.calculus.forms import Form
from bilevel_verify.constants.formula.domain import Domain
from bilevel_verify.constants.formula.structure import normalise, structure_of
from bilevel_verify.constants.groups.closed_form import closed_form, length_of
from bilevel_verify.constants.groups.part import Part
from bilevel_verify.constants.search.branch import Known, Supremum
from bilevel_verify.intervals.scalar import Derived, scalar
from bilevel_verify.problems import data_sum

pytestmark = pytest.mark.fast

INF = math.inf
PART: Any = sys.modules[Part.__module__]
NAMES = sympy.symbols("a b c d e", real=True)
A, B = NAMES[:2]
WHY = Reason("test", "known")
FIRST = Bound(5.0, 2.0, True, "calculus", WHY)


def part_of(
    expression: Any,
    is_x: tuple[bool, ...] = (True, False),
    ends: tuple[float, float] = (-1.0, 2.0),
    effort: float = 1.0,
) -> Part:
    n = len(is_x)
    whole = ends == (-INF, INF)
    domain = Domain(np.full(n, ends[0]), np.full(n, ends[1]), "", whole)
    return Part(structure_of(normalise(sympy.sympify(expression)), NAMES[:n]), is_x, domain, "h", effort)


LINE = (-INF, INF)
REST = sin(A * B) * A + B**2
RIDGES = sin(A + B) + 3 * cos(A - 2 * B)
WAVES = {"rest": REST, "ridges": RIDGES}


def spied(
    monkeypatch: pytest.MonkeyPatch, name: str, answer: Any = None
) -> list[tuple[tuple[Any, ...], dict[str, Any]]]:
    """Put a recorder in the place of a function that the module uses; returns what it was asked."""
    asked: list[tuple[tuple[Any, ...], dict[str, Any]]] = []

    def recorder(*arguments: Any, **words: Any) -> Any:
        asked.append((arguments, words))
        return answer(*arguments, **words) if callable(answer) else answer

    monkeypatch.setattr(PART, name, recorder)
    return asked


def outcome(upper: float, lower: float) -> Supremum:
    return Supremum(upper, lower, np.array([0.25, 0.5]), (np.array([0.0, 1.0]), np.array([1.0, 3.0])), 10, True)


# ---- eigenvalues of a block ------------------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize("letter", ["x", "y", "z"])
@pytest.mark.parametrize("found", [0.5, 1e9])
def test_what_the_search_for_eigenvalues_is_asked(letter: str, found: float, monkeypatch: pytest.MonkeyPatch) -> None:
    part = part_of(REST)
    part = Part(replace(part.structure, rest=REST + A**3 + B**4), part.is_x, part.domain, part.name, part.effort)
    for table, own, other in ((PART.TOLERANCE, 0.01, 0.02), (PART.BUDGET, 7000, 900)):
        for order in (1, 2, 3):
            monkeypatch.setitem(table, order, own if order == 2 else other)
    asked = spied(monkeypatch, "supremum", lambda *a, **w: outcome(found, 0.25))
    form = Form(part.model, 2 * letter)
    known = [float(v[0]) for v in form.extremes(part.model.evaluate(2, *part.whole()))]
    low, high = part.hessian_range(letter)
    assert low == pytest.approx(-min(found, -known[0]), rel=1e-12)
    assert high == pytest.approx(min(found, known[1]), rel=1e-12)
    left, right = np.array([[-0.5, 0.25], [0.0, 0.5]]), np.array([[0.75, 1.0], [0.0, 0.5]])
    extremes = form.extremes(part.model.evaluate(2, left, right))
    inner = np.linalg.eigvalsh(form.matrix(part.model.evaluate(2, left, left)))
    expected = faces(part.domain, part.structure, 2)
    for end, ((bound, sample, lo, hi, tolerance, boxes, known, cuts), words) in enumerate(asked):
        sign = (-1.0, 1.0)[end]
        np.testing.assert_array_equal(bound(left, right), sign * extremes[end])
        np.testing.assert_allclose(sample(left), sign * inner[:, 0 if end == 0 else -1], rtol=1e-12)
        assert (lo.tolist(), hi.tolist()) == (expected[0].tolist(), expected[1].tolist())
        assert (tolerance, boxes, known, cuts.split, words) == (0.01, 7000, Known(-INF), None, {})
        np.testing.assert_array_equal(cuts.slopes(left), part.model.slopes(2, left))
    assert len(asked) == 2
    assert part.hessian_range(letter) == (low, high)
    assert len(asked) == 2  # found once


@pytest.mark.parametrize(("ends", "effort"), [(LINE, 1.0), ((0.0, INF), 1.0), ((-1.0, 2.0), 0.0), ((-1.0, 2.0), -1.0)])
def test_no_search_for_eigenvalues_without_a_box_or_effort(
    ends: tuple[float, float], effort: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = spied(monkeypatch, "supremum", outcome(0.0, 0.0))
    part = part_of(3 * A**2 - B**2 + sin(A + B), ends=ends, effort=effort)
    low, high = part.hessian_range()
    assert asked == []
    assert low <= -3.0
    assert high >= 6.0


def test_an_eigenvalue_of_a_derivative_that_is_not_known_is_not_attained(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = spied(monkeypatch, "supremum", outcome(9.0, 0.0))
    part = part_of(sympy.sqrt(A) * sin(A * B), ends=(0.0, 1.0))
    part.hessian_range()
    points = np.array([[0.0, 0.5], [0.5, 0.5]])
    with np.errstate(all="ignore"):
        for (_, sample, *_rest), _words in asked:
            values = sample(points)
            assert values[0] == -INF
            assert math.isfinite(values[1])


# ---- whose terms are whose -------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("ends", "expression", "free"),
    [
        (LINE, sin(A) + cos(A + B), True),
        (LINE, sin(A) + cos(2 * A), False),
        (LINE, sin(A * B), False),
        ((0.0, INF), sin(A) + cos(A + B), False),
        ((-INF, 0.0), sin(A) + cos(A + B), False),
        ((-1.0, 2.0), sin(A) + cos(A + B), False),
    ],
)
def test_arguments_are_free_on_lines_with_independent_rows(
    ends: tuple[float, float], expression: Any, free: bool
) -> None:
    assert part_of(expression, ends=ends)._free_arguments() is free


def test_only_the_variables_of_ridges_need_their_lines() -> None:
    part = part_of(sin(A) + B**2, ends=LINE)
    part.domain = Domain(np.array([-INF, 0.0]), np.array([INF, 1.0]), "", False)
    assert part._free_arguments()
    part.domain = Domain(np.array([-INF, 0.0]), np.array([1.0, INF]), "", False)
    assert not part._free_arguments()


@pytest.mark.parametrize("expression", [exp(sin(A)), sympy.Piecewise((A**2, A < 0), (A**3, True)), sin(A) / A])
def test_ranges_of_composed_functions_are_not_exact(expression: Any) -> None:
    assert not part_of(expression + sin(B))._exact_ranges()
    assert not part_of(expression)._exact_ranges()
    assert part_of(sin(A) + sin(B))._exact_ranges()


@pytest.mark.parametrize("exact", [True, False])
@pytest.mark.parametrize("net", [True, False])
@pytest.mark.parametrize(("order", "symmetric"), [(2, True), (2, False), (3, True), (1, True)])
def test_a_bound_is_tight_with_exact_ranges_and_a_net_or_matrices(
    exact: bool, net: bool, order: int, symmetric: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    part = part_of(RIDGES)
    monkeypatch.setattr(part, "_exact_ranges", lambda: exact)
    form = SimpleNamespace(net=object() if net else None, order=order, symmetric=symmetric)
    assert bool(part._tight_at(form)) == (exact and (net or (order == 2 and symmetric)))  # type: ignore[arg-type]


def test_labels_and_rules_say_what_was_done() -> None:
    part = part_of(RIDGES)
    assert [part.label(s) for s in ("z", "yy", "zzz", "xyyy")] == [
        "sup |nabla h|", "sup |nabla^2_yy h|", "sup |D^3 h|", "sup |D^4_xyyy h|",
    ]  # fmt: skip
    assert part._rule("zz").startswith("Loewner")
    assert part._rule("zzz").startswith("ridges")
    assert part_of(sin(A))._rule("zzz") == "one ridge"
    assert part_of(REST)._rule("zz").startswith("interval derivative tensor")
    special = part_of(REST)
    special.specials = [object()]  # type: ignore[list-item]
    assert special._rule("zz").startswith("terms with rules of their own")
    special.only_specials = True
    assert special._rule("zz").startswith("sums over data")


def test_ranges_of_the_first_eight_atoms_are_shown() -> None:
    names = sympy.symbols("a:9", real=True)
    domain = Domain(np.full(9, -INF), np.full(9, INF), "", True)
    part = Part(
        structure_of(sympy.Add(*[(k + 1) * sin(v) for k, v in enumerate(names)]), names), (False,) * 9, domain, "h", 1.0
    )
    shown = part._range_reasons(3)
    assert len(shown) == 8
    assert all(reason.statement.endswith("phi^(3) in [-1, 1]") for reason in shown)
    narrow = Part(structure_of(exp(A), (A,)), (False,), Domain(np.zeros(1), np.ones(1), "", False), "h", 1.0)
    assert narrow._range_reasons(2)[0].statement.endswith("phi^(2) in [1, 2.71828183]")
    narrow.effort = 0.0
    assert narrow._range_reasons(2) == ()
    assert narrow._special_reasons("zz") == ()
    narrow.effort = 0.5
    assert len(narrow._range_reasons(2)) == 1


def test_the_first_four_special_terms_are_shown() -> None:
    part = part_of(REST, effort=0.5)

    class Term:
        term = A * B

        def __init__(self, value: float) -> None:
            self.value = value

        def bound(self, slots: str, blocks: dict[str, tuple[int, ...]], lo: Any, hi: Any) -> tuple[float, str]:
            assert blocks == {"x": (0,), "y": (1,), "z": (0, 1)}
            assert (lo.tolist(), hi.tolist()) == ([-1.0, -1.0], [2.0, 2.0])
            return self.value, f"rule of {slots}"

    part.specials = [Term(k + 0.5) for k in range(5)]  # type: ignore[misc]
    shown = part._special_reasons("zz")
    assert [r.statement for r in shown] == [f"a*b: sup |nabla^2 h| <= {k}.5" for k in range(4)]
    assert {r.rule for r in shown} == {"rule of zz"}


NORMS: list[tuple[Any, str, Any]] = [
    (2 * sin(A + B), "z", 2 * sympy.sqrt(2)),
    (2 * sin(A + B), "y", Integer(2)),
    (2 * sin(A + B), "zz", Integer(4)),
    (2 * sin(A + B), "xy", None),
    (2 * sin(A + B), "zzz", 4 * sympy.sqrt(2)),
    (sin(3 * A - 4 * B), "xyy", Integer(48)),
    (sin(3 * A - 4 * B), "zzzz", Integer(625)),
    (sin(3 * A - 4 * B) + 5 * cos(4 * A + 3 * B), "zzz", Integer(625)),
    (sin(A - B) + 5 * cos(A + B), "xyy", None),
    (sin(A) + cos(A + B), "zzz", None),
    (sympy.exp(A) + sin(B), "zz", None),
    (exp(sin(A)) + sin(B), "zz", None),
    (exp(sin(A)) + sin(B), "z", None),
    (exp(sin(A)), "zzz", None),
    (softplus(A + B), "zzzz", Rational(1, 2)),  # between -1/8 and 1/24, times 4
    (-softplus(A + B), "zzzz", Rational(1, 2)),
    (softplus(A - B) + 2 * softplus(A + B), "zzzz", Integer(1)),
    (exp(-(A**2) / 2), "xx", Integer(1)),  # its second derivative lies between -1 and 2 exp(-3/2)
    (3 * A**2 - exp(-(A**2) / 2), "xx", Integer(7)),
    (3 * A**2 + exp(-(A**2) / 2), "xx", None),  # 6 + 2 exp(-3/2): only a safe number is known of it
    (-3 * A**2 + exp(-(A**2) / 2), "xx", Integer(7)),
    (-3 * A**2 - exp(-(A**2) / 2), "xx", None),
    (3 * A**2 + exp(-(A**2) / 2) + sin(B), "xx", None),
    (3 * A**2 + B**2 - sin(A), "zz", Integer(7)),
    (-5 * A**2 + B**2 - sin(A), "zz", Integer(11)),
    (-3 * A**2 + B**2 - sin(A), "xx", Integer(7)),
]


@pytest.mark.parametrize(("expression", "slots", "norm"), NORMS)
def test_closed_forms_on_the_plane(expression: Any, slots: str, norm: Any) -> None:
    part = part_of(expression, ends=LINE)
    found = closed_form(part, slots)
    assert (found is None) == (norm is None)
    if norm is not None:
        assert sympy.simplify(found - norm) == 0


def test_a_closed_form_is_rounded_up_and_handed_on_as_exact() -> None:
    part = part_of(2 * sin(A + B), ends=LINE)
    found = part._calculus("z")
    assert found == Bound(found.upper, found.upper, True, "exact", found.why, 2 * sympy.sqrt(2), True)
    assert Fraction(found.upper) ** 2 > 8 > Fraction(math.nextafter(found.upper, 0)) ** 2
    boxed = part_of(2 * sin(A + B))._calculus("z")
    assert (boxed.exact, boxed.route) == (None, "calculus")


def test_the_length_of_a_ridge_in_its_blocks() -> None:
    part = part_of(sin(3 * A - 4 * B), ends=LINE)
    ridge = part.structure.ridges[0]
    assert [length_of(part, ridge, s) for s in ("x", "y", "z", "xy", "zz", "xyz")] == [3, 4, 5, 12, 25, 60]
    assert Rational(1) == length_of(part, ridge, "")


def test_which_ends_of_a_range_are_only_safe() -> None:
    def ends(expression: Any, order: int) -> tuple[bool, bool]:
        return exact.safe_ends(part_of(expression, ends=LINE).structure.ridges[0], order)

    bump = exp(-(A**2) / 2)
    assert ends(bump, 2) == ends(3 * bump, 2) == (False, True)
    assert ends(-bump, 2) == (True, False)
    assert ends(bump, 4) == (True, False)
    assert [ends(bump, k) for k in (1, 3)] == [(False, False)] * 2
    assert ends(sin(A), 2) == ends(softplus(A), 2) == ends(softplus(A), 4) == (False, False)
    assert ends(exp(sin(A)), 2) == (False, False)
    derived = replace(part_of(bump, ends=LINE).structure.ridges[0], function=Derived(scalar("gauss"), 1))
    assert exact.safe_ends(derived, 1) == (False, True)
    assert exact.safe_ends(derived, 2) == (False, False)


@pytest.mark.parametrize(("sign", "letter"), [(1, "L_g"), (-1, "mu"), (1, "mu"), (-1, "L_g")])
def test_a_safe_number_is_not_handed_on_as_the_constant_itself(sign: int, letter: str) -> None:
    """The constant lies between its two ends: one that is rounded up is not reached."""
    with mpmath.workdps(40):
        bend = 2 * mpmath.exp(mpmath.mpf(-3) / 2)
        least, most = (5, 6 + bend) if sign > 0 else (6 - bend, 7)
        truth = least if letter == "mu" else most
        found = bv.constants(bv.bilevel(f="x1*y1", g=f"3*y1**2 + {sign}*exp(-y1**2/2)", x="x1", y="y1"))[letter]
        assert mpmath.mpf(found.lower) <= truth <= mpmath.mpf(found.upper)
        assert (found.exact is not None) == (truth in (5, 7))
        assert abs(found.value - truth) < 1e-13


def test_special_terms_leave_the_rest_plain() -> None:
    """What has rules of its own is taken out of the plain model, and sums over data out of every model."""
    part = part_of(logsumexp(A, B, A - B) + A * sin(A * B))
    assert len(part.specials) == 1
    assert part.model.structure.rest is not None
    assert part.model.structure.rest.has(logsumexp)
    assert part.plain.structure.rest is not None
    assert not part.plain.structure.rest.has(logsumexp)
    assert not part.only_specials
    alone = part_of(logsumexp(A, B, A - B))
    assert (len(alone.specials), alone.plain.structure.rest) == (1, None)
    usual = part_of(REST)
    assert usual.plain is usual.model
    assert usual.specials == []


@pytest.mark.parametrize("more", ["", " + x1*sin(x1*y1)"])
def test_sums_over_data_are_taken_out_of_every_model(more: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(data_sum, "WRITE_OUT", 2)
    data = {"A": np.arange(24.0).reshape(12, 2) / 8, "b": np.arange(12.0) / 4}
    text = f"mean(softplus(-b[i]*dot(A[i], y)) + b[i]**2/9) + y1**2 + y2**2{more}"
    problem = bv.bilevel(f="x1", g=text, x="x1", y=["y1", "y2"], data=data)
    structure = structure_of(normalise(sympy.sympify(problem.g)), problem.variables)
    domain = Domain(np.full(3, -1.0), np.full(3, 1.0), "", False)
    part = Part(structure, (True, False, False), domain, "g", 0.01)
    assert structure.rest is not None
    assert structure.rest.has(DataSum)
    assert part.only_specials
    assert len(part.specials) == 1
    for model in (part.model, part.plain):
        rest = model.structure.rest
        assert (rest is None) == (not more)
        assert rest is None or not rest.has(DataSum)

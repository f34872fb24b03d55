"""Function symbols of a claim one by one: every block against SymPy, certainties, what a problem does not have.

f = x1^2 y + x2 y^2 + x1 + 2 y^3, g = (2 + x1 x2) y^2/2 - x2 y on the unit square: y* = x2/(2 + x1 x2), and nothing is
symmetric in x1 and x2, nor in x and y.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from functools import cache
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import sympy
from flint import arb

from bilevel_verify import bilevel, simple_bilevel, single_level, truth
from bilevel_verify.checks.claims import values as v
from bilevel_verify.checks.claims.values import EvaluationError
from bilevel_verify.checks.instances import functions as module
from bilevel_verify.checks.instances.functions import ProblemFunctions
from bilevel_verify.checks.instances.simple import SimpleFunctions
from bilevel_verify.checks.instances.tabulate import key_of
from bilevel_verify.errors import MathematicalError
from bilevel_verify.numbers import exact
from bilevel_verify.numbers.rounding import precision

pytestmark = pytest.mark.fast
X1, X2, Y, W = sympy.symbols("x1 x2 y1 w")
F = X1**2 * Y + X2 * Y**2 + X1 + 2 * Y**3
G = (2 + X1 * X2) * Y**2 / 2 - X2 * Y
LAM = 30
AT = (Fraction(1, 4), Fraction(3, 4))
HIGH = Fraction(5, 8)
XS, ALL = (X1, X2), (X1, X2, Y)
PUT = {X1: sympy.Rational(1, 4), X2: sympy.Rational(3, 4)}
HERE = {**PUT, Y: sympy.Rational(5, 8)}


@cache
def made() -> tuple[Any, Any]:
    problem = bilevel(f=str(F), g=str(G), x="x1 x2", y="y1", domain={"x1": (0, 1), "x2": (0, 1)})
    return problem, truth(problem)


def functions(lam: Any = LAM, **more: Any) -> ProblemFunctions:
    problem, found = made()
    return ProblemFunctions(problem, found, None if lam is None else Fraction(lam), **more)


def point(*numbers: Fraction) -> v.Vector:
    return v.Vector(tuple(v.scalar_ball(n) for n in numbers))


def called(name: str, *points: v.Vector, lam: Any = LAM) -> tuple[Any, str]:
    with precision(exact.BITS):
        return functions(lam).call(name, list(points))


def agrees(found: Any, wanted: Any) -> bool:
    """Whether an enclosure holds the exact values, in the same shape, and is thin."""
    if isinstance(found, v.Vector):
        return len(found.entries) == len(wanted) and all(agrees(a, b) for a, b in zip(found.entries, wanted))
    if isinstance(found, v.Matrix):
        return len(found.rows) == len(wanted) and all(agrees(v.Vector(a), b) for a, b in zip(found.rows, wanted))
    if hasattr(found, "slices"):
        return len(found.slices) == len(wanted) and all(agrees(a, b) for a, b in zip(found.slices, wanted))
    digits = arb(str(sympy.N(wanted, 60)))
    return bool(found.overlaps(digits)) and float(found.rad()) < 1e-12


def hessian(of: Any, rows: Any, columns: Any) -> list[list[Any]]:
    return [[sympy.diff(of, a, b).subs(HERE) for b in columns] for a in rows]


BLOCKS = {"x": XS, "y": (Y,), "": ALL}
L = F + LAM * G
BEST = X2 / (2 + X1 * X2)
PHI = F.subs(Y, BEST)


@pytest.mark.parametrize("letter", ["f", "g"])
@pytest.mark.parametrize("block", ["", "x", "y"])
def test_values_and_gradients(letter: str, block: str) -> None:
    of = {"f": F, "g": G}[letter]
    x, y = point(*AT), point(HIGH)
    found, certainty = called(f"grad_{block}_{letter}" if block else f"grad_{letter}", x, y)
    assert agrees(found, [sympy.diff(of, a).subs(HERE) for a in BLOCKS[block]])
    assert certainty == "certified"
    assert agrees(called(letter, x, y)[0], of.subs(HERE))


@pytest.mark.parametrize("letter", ["f", "g"])
@pytest.mark.parametrize(("rows", "columns"), [("", ""), ("x", "x"), ("x", "y"), ("y", "x"), ("y", "y")])
def test_hessians_and_their_blocks(letter: str, rows: str, columns: str) -> None:
    name = f"hess_{rows}{columns}_{letter}" if rows else f"hess_{letter}"
    found, _ = called(name, point(*AT), point(HIGH))
    assert agrees(found, hessian({"f": F, "g": G}[letter], BLOCKS[rows], BLOCKS[columns]))


def test_the_penalty_function_has_blocks_in_y_only() -> None:
    x, y = point(*AT), point(HIGH)
    assert agrees(called("grad_y_L", x, y)[0], [sympy.diff(L, Y).subs(HERE)])
    for name, rows, columns in (("hess_yy_L", (Y,), (Y,)), ("hess_xy_L", XS, (Y,)), ("hess_yx_L", (Y,), XS)):
        assert agrees(called(name, x, y)[0], hessian(L, rows, columns)), name
    for name in (
        "grad_x_L",
        "grad_L",
        "hess_xx_L",
        "hess_L",
        "grad_z_f",
        "hess_xz_g",
        "grad_yx_f",
        "hess_x_f",
        "nothing",
    ):
        with pytest.raises(KeyError):
            called(name, x, y)
    assert agrees(called("L_lam", x, y)[0], (F + LAM * (G - G.subs(Y, BEST))).subs(HERE))


@pytest.mark.parametrize("letter", ["g", "L"])
@pytest.mark.parametrize(("rows", "columns"), [("x", "x"), ("x", "y"), ("y", "x"), ("y", "y")])
def test_third_derivatives(letter: str, rows: str, columns: str) -> None:
    of = {"g": G, "L": L}[letter]
    found, certainty = called(f"third_{rows}{columns}y_{letter}", point(*AT), point(HIGH))
    wanted = [[[sympy.diff(of, a, b, Y).subs(HERE)] for b in BLOCKS[columns]] for a in BLOCKS[rows]]
    assert agrees(found, wanted)
    assert certainty == "certified"


def test_the_hyperfunction_and_its_derivatives() -> None:
    x = point(*AT)
    assert agrees(called("y_star", x)[0], [BEST.subs(PUT)])
    assert agrees(called("phi", x)[0], PHI.subs(PUT))
    assert agrees(called("grad_phi", x)[0], [sympy.diff(PHI, a).subs(PUT) for a in XS])
    assert agrees(called("hess_phi", x)[0], [[sympy.diff(PHI, a, b).subs(PUT) for b in XS] for a in XS])
    assert agrees(called("grad_y_star", x)[0], [[sympy.diff(BEST, a).subs(PUT)] for a in XS])
    second = [[[sympy.diff(BEST, a, b).subs(PUT)] for b in XS] for a in XS]
    assert agrees(called("hess_y_star", x)[0], second)
    assert agrees(called("v_star", x, point(HIGH))[0], [(sympy.diff(F, Y) / sympy.diff(G, Y, Y)).subs(HERE)])


def test_the_penalty_function_at_its_minimiser() -> None:
    x = point(*AT)
    slope = sympy.diff(L, Y).subs(PUT)
    low = max(r for r in sympy.Poly(slope, Y).nroots(n=60) if r.is_real)
    value = (F + LAM * (G - G.subs(Y, BEST))).subs(PUT).subs(Y, low)
    found, _ = called("y_star_lam", x)
    assert agrees(found, [low])
    assert agrees(called("y_star_lam", x, point(Fraction(LAM)), lam=7)[0], [low])  # lam as an argument counts
    assert agrees(called("L_star", x)[0], value)
    reduced = [sympy.diff(F + LAM * (G - G.subs(Y, BEST)), a).subs(PUT).subs(Y, low) for a in XS]
    assert agrees(called("grad_L_star", x)[0], reduced)
    total = sympy.diff(L, Y, Y).subs(PUT).subs(Y, low)
    slopes = [-sympy.diff(L, Y, a).subs(PUT).subs(Y, low) / total for a in XS]
    assert agrees(called("grad_y_star_lam", x)[0], [[slope] for slope in slopes])
    slope_of = {XS[0]: slopes[0], XS[1]: slopes[1]}

    def bend(a: Any, b: Any) -> Any:  # d^2 y_lam of L_y(x, y_lam(x)) = 0, differentiated twice
        parts = [(sympy.diff(L, Y, a, b), 1), (sympy.diff(L, Y, Y, a), slope_of[b]),
                 (sympy.diff(L, Y, Y, b), slope_of[a]),
                 (sympy.diff(L, Y, Y, Y), slope_of[a] * slope_of[b])]  # fmt: skip
        return -sum(part.subs(PUT).subs(Y, low) * weight for part, weight in parts) / total

    assert agrees(called("hess_y_star_lam", x)[0], [[[bend(a, b)] for b in XS] for a in XS])
    for name in ("y_star_lam", "L_star"):
        with pytest.raises(EvaluationError, match="penalty parameter has no value"):
            called(name, x, lam=None)


@pytest.mark.parametrize("certainty", ["certified", "computed"])
def test_what_rests_on_the_lower_level_has_its_certainty(certainty: Any) -> None:
    problem, found = made()
    loose: Any = SimpleNamespace(
        model=found.model, points=found.points, certainty=certainty, penalty_certainty=lambda lam: certainty
    )
    tool = ProblemFunctions(problem, loose, Fraction(LAM))
    x, y = point(*AT), point(HIGH)
    with precision(exact.BITS):
        for name in ("y_star", "phi", "grad_phi", "hess_phi", "grad_y_star", "hess_y_star", "y_star_lam", "L_star",
                     "grad_L_star", "hess_L_star", "grad_y_star_lam", "hess_y_star_lam"):  # fmt: skip
            assert tool.call(name, [x])[1] == certainty, name
        assert tool.call("L_lam", [x, y])[1] == certainty
        for name in ("f", "g", "grad_f", "hess_yy_L", "third_xxy_g", "v_star"):
            assert tool.call(name, [x, y])[1] == "certified", name


@pytest.mark.parametrize(("low", "high", "inside"), [(-1, 1, True), (0.5, 1, False), (-1, 0.25, False)])
def test_a_minimiser_outside_of_its_box_is_computed_only(low: float, high: float, inside: bool) -> None:
    tool = functions()
    tool._ranges[-1] = (arb(low), arb(high))  # of y, which stands after x
    with precision(exact.BITS):
        assert tool.call("y_star", [point(*AT)])[1] == ("certified" if inside else "computed")  # y* = 0.34


def test_of_two_certainties_the_weaker_one_counts() -> None:
    for first, second, weaker in (("certified", "computed", "computed"), ("computed", "certified", "computed")):
        tool = functions()
        x = point(*AT)
        answers = {"y_star": (point(Fraction(1, 3)), first), "y_star_lam": (point(Fraction(1, 3)), second)}
        tool._once = lambda name, points, compute, answers=answers: answers.get(name) or compute()  # type: ignore[method-assign, misc]
        with precision(exact.BITS):
            assert tool._penalty(x)[1] == weaker


# --- tables, memory, refusals


def test_a_table_answers_for_its_own_points_and_symbols_only() -> None:
    x, other = point(*AT), point(AT[0], AT[0])
    key = key_of(x)
    assert key is not None
    tool = functions(table={"phi": {key: (Fraction(7), "sampled")}, "grad_phi": {}})
    with precision(exact.BITS):
        assert tool.call("phi", [x]) == (Fraction(7), "sampled")
        assert tool.call("phi", [other])[1] == "certified"
        assert tool.call("grad_phi", [x])[1] == "certified"
        assert agrees(tool.call("y_star", [x])[0], [BEST.subs(PUT)])


def test_a_table_of_one_parameter_says_nothing_of_another() -> None:
    x = point(*AT)
    key = key_of(x)
    assert key is not None
    tool = functions(table={"y_star_lam": {key: (Fraction(7), "sampled")}})
    with precision(exact.BITS):
        assert tool.call("y_star_lam", [x]) == (Fraction(7), "sampled")
        # f + 5 g has 2 y^3 and no least value on the line: what is found is a local minimiser
        assert tool.call("y_star_lam", [x, point(Fraction(5))])[1] == "computed"


def test_what_is_made_at_a_point_is_made_once_and_kept_under_that_point() -> None:
    tool = functions()
    x, y = point(*AT), point(HIGH)
    with precision(exact.BITS):
        assert tool._hyper(x) is tool._hyper(x)
        assert tool._penalty(x) is tool._penalty(x)
        assert {("hyper", id(x)), ("penalty", id(x)), ("y_star", id(x)), ("y_star_lam", id(x))} == tool._memory.keys()
        tool.forget()
        tool.call("L_lam", [x, y])
        assert ("y_star", id(x)) in tool._memory
        assert all(key[0] == "L_lam" or id(y) not in key for key in tool._memory)
        tool.forget()
        assert not tool._memory


def test_values_are_remembered_by_object_until_they_are_forgotten(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[str] = []
    of = ProblemFunctions._value
    monkeypatch.setattr(ProblemFunctions, "_value", lambda self, name, z: asked.append(name) or of(self, name, z))
    tool = functions()
    x, y, again = point(*AT), point(HIGH), point(HIGH)
    with precision(exact.BITS):
        first = tool.call("f", [x, y])
        assert tool.call("f", [x, y]) is first
        assert asked == ["f"]
        assert agrees(tool.call("g", [x, y])[0], G.subs(HERE))
        tool.call("f", [x, again])
        assert asked == ["f", "g", "f"]
        tool.forget()
        tool.call("f", [x, y])
        assert asked == ["f", "g", "f", "f"]


def test_a_minimiser_is_found_from_the_last_one_or_anew(monkeypatch: pytest.MonkeyPatch) -> None:
    problem, found = made()
    started: list[Any] = []

    def ball(x: Any, start: Any, lam: Any) -> Any:
        started.append(list(start))
        if start == [9.0]:
            raise MathematicalError("too far")
        return [arb(0.25)]

    level: Any = SimpleNamespace(ball=ball)
    points = SimpleNamespace(level=level, float_y=lambda x, lam: np.array([0.5]))
    tool = ProblemFunctions(problem, SimpleNamespace(model=found.model, points=points, certainty="certified"))  # type: ignore[arg-type]
    tool.y_star([point(*AT)])
    assert started == [[0.5]]
    tool.y_star([point(*AT)])
    assert started == [[0.5], [0.25]]
    tool._guess["y_star"] = [9.0]
    tool.y_star([point(*AT)])
    assert started[2:] == [[9.0], [0.5]]
    points.float_y = lambda x, lam: np.array([9.0])
    tool._guess.clear()
    with pytest.raises(EvaluationError, match="precision: too far"):
        tool.y_star([point(*AT)])


def test_a_problem_of_one_level_has_no_lower_one() -> None:
    problem = single_level(f="x1**2 + x2", x="x1 x2")
    tool = ProblemFunctions(problem, truth(problem), Fraction(3))
    x = point(*AT)
    with precision(exact.BITS):
        assert agrees(tool.call("f", [x])[0], sympy.Rational(13, 16))
        assert tool.call("phi", [x])[1] == "certified"
        for name in ("g", "grad_g", "y_star", "y_star_lam"):
            with pytest.raises(KeyError):
                tool.call(name, [x])


def test_what_is_no_point_or_has_no_value_is_refused() -> None:
    with pytest.raises(EvaluationError, match="a point was expected"):
        called("f", True)  # type: ignore[arg-type]
    with pytest.raises(EvaluationError, match="2 numbers for 3 variables"):
        called("f", point(*AT))
    with pytest.raises(EvaluationError, match="no value there"):
        module._clean(arb("nan"))
    assert module._clean(2.5) == arb(2.5)
    assert module._point(Fraction(1, 2)).entries[0] == arb(0.5)
    number: Callable[[Any], Any] = module._from_algebra
    assert number(arb(3)) == arb(3)


@pytest.mark.parametrize(
    ("name", "most"),
    [(n, 1) for n in ("phi", "grad_phi", "hess_phi", "L_star", "grad_L_star", "hess_L_star", "y_star", "hess_y_star")]
    + [("y_star_lam", 2), ("v_star", 2), ("L_lam", 2)],
)
def test_an_argument_too_many_or_too_few_is_another_thing(name: str, most: int) -> None:
    """``L_star(x, 2)`` is not ``L_star(x)`` at the penalty in force."""
    x, y = point(*AT), point(HIGH)
    for count in range(4):
        given = [x, y, y][:count]
        if count == most or (name, count) == ("y_star_lam", 1):
            called(name, *given)
        else:
            with pytest.raises(EvaluationError, match=f"{name} has no meaning with {count} arguments"):
                called(name, *given)


def test_a_simple_problem_has_functions_of_one_point_and_solutions_of_none() -> None:
    simple = SimpleFunctions(simple_bilevel(f="x1**2", g="(x1 - 1)**2", x="x1"), SimpleNamespace())  # type: ignore
    x = point(Fraction(1, 2))
    for name, given in (("f", []), ("f", [x, x]), ("grad_g", [x, x]), ("dist", []), ("x_star", [x]), ("f_star", [x])):
        with pytest.raises(EvaluationError, match=f"{name} has no meaning with {len(given)} arguments"):
            simple.call(name, given)
    assert agrees(simple.call("g", [x])[0], sympy.Rational(1, 4))

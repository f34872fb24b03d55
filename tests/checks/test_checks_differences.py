"""Claims about all points, one side bounded term by term: what is proved is true at drawn places, and what it needs."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from seeds import SEED

import bilevel_verify as bv
from bilevel_verify.checks.claims import values as v
from bilevel_verify.checks.judging import differences
from bilevel_verify.checks.judging.powers import LAMBDA, ONE_BY_LAMBDA, Form, Powers, apart, powers
from bilevel_verify.language import parse

HEAD = """
[paper]
key = "differences"
title = "Claims about all points"
[letters]
mu = { from = "constants", measure = "strong convexity", of = ["g:yy"], norm = "in y", meaning = "curvature of g in y" }
C_f = { from = "constants", of = ["f:y"], norm = "in y", meaning = "bound of the gradient of f in y" }
lam = { meaning = "penalty" }
big = { meaning = "a large constant" }
small = { meaning = "a small constant" }
nu_f = { meaning = "an exponent" }
nu_g = { meaning = "another exponent" }
[settings.s.parameters]
big = "10**3"
small = "1/100"
nu_f = "1"
nu_g = "1/2"
lam = "sqrt(1000)"
[[lemma]]
id = "l"
settings = ["s"]
where = ["mu > 0"]
where_from = "the lower level"
"""
WAVE = {
    "f": "sin(x1 + y1) + cos(y1 - 2*x1)/2",
    "g": "y1**2 + cos(y1 - x1)/2 + sin(x1)*sin(y1)/4",
    "x": "x1", "y": "y1",
}  # fmt: skip
TIGHT = {"f": "cos(y1)*39/50 + sin(x1)", "g": "57*y1**2/200 - x1*y1", "x": "x1", "y": "y1"}
"""|f_y| <= 39/50 and mu = 57/100 are no floats: rounded, they would be more than the letters of a claim."""
SADDLE = {"f": "sin(x1)*2 + x1*y1 - y1**2 + cos(y1 - x1)/2 + sin(2*x1)*cos(y1)/4", "x": "x1", "y": "y1"}


def rows(tmp_path: Path, problem: bv.Problem, for_: str, left: str, op: str, right: str) -> Any:
    path = tmp_path / "card.toml"
    sides = f'left = "{left}"\nop = "{op}"\nright = "{right}"\n'
    claim = f'[[lemma.claim]]\nid = "c"\nover = "point"\nfor = {{ {for_} }}\n{sides}'
    path.write_text(HEAD + claim, encoding="utf-8")
    (found,) = bv.verify(problem, path, x0=[0.5] * problem.dx).claims
    return found


ALL = 'x = "domain", w = "domain", y = "domain y", z = "domain y"'
BOUNDED = [
    (WAVE, "norm(grad_x_f(x, y) - grad_x_f(w, z))"),
    (WAVE, "norm(inv(hess_yy_g(x, y)) - inv(hess_yy_g(w, z)))"),
    (WAVE, "norm(hess_xy_g(x, y) @ inv(hess_yy_g(x, y)) - hess_xy_g(w, z) @ inv(hess_yy_g(w, z)))"),
    (WAVE, "norm(inv(hess_yy_L(x, y)) - inv(hess_yy_L(w, z)))"),
    (WAVE, "norm(grad_phi(x) - (grad_x_f(x, y) - hess_xy_g(x, y) @ v_star(x, y)))"),
    (WAVE, "norm(v_star(x, y) - v_star(w, z))"),
    (WAVE, "norm(grad_L_star(x) - grad_x_f(x, y) - lam*(grad_x_g(x, y) - grad_x_g(x, z)))"),
    (WAVE, "norm(grad_y_star(x) - grad_y_star(w)) + lam*norm(grad_y_star_lam(x) - grad_y_star(x))"),
    (WAVE, "lam*norm(grad_L_star(x) - grad_phi(x))*norm(hess_xx_g(w, z))"),
    (WAVE, "norm(2*grad_x_f(x, y) - grad_x_f(w, z))"),
    (WAVE, "norm(hess_L_star(x) - hess_L_star(w))"),
    (WAVE, "lam*norm(hess_y_star(x) - hess_y_star_lam(x))"),
    (SADDLE, "norm(grad_phi(x) - grad_x_f(x, y))"),
    (SADDLE, "norm(hess_phi(x) - (hess_xx_f(x, y) - hess_xy_f(x, y) @ inv(hess_yy_f(x, y)) @ hess_yx_f(x, y)))"),
    (SADDLE, "norm(hess_phi(x) - hess_phi(w))"),
    (SADDLE, "norm(grad_phi(x) - grad_phi(w))"),
]


@pytest.mark.seeded
@pytest.mark.parametrize(("problem", "left"), BOUNDED)
def test_a_bound_is_one_at_drawn_places(tmp_path, monkeypatch, problem, left):
    """The form of the left side against its value, near the diagonal too, where it is nearly attained."""
    kept: list[Any] = []
    monkeypatch.setattr(differences, "by_suprema", lambda *given: kept.append(given))
    opened = bv.bilevel(**problem) if "g" in problem else bv.minimax(**problem)
    rows(tmp_path, opened, ALL, left, "<=", "10**9 + 10**9*norm(x - w)")
    case, judged = kept[0]
    sides = differences._Sides(differences.Suprema(case), judged, written="phi" in left or "L_star" in left)
    form = sides.bounded(set())
    lam = sides.found.lam() or (Fraction(1), Fraction(1))
    rng, evaluator = np.random.default_rng(SEED), judged.evaluator
    for _ in range(60):
        step = 10.0 ** rng.uniform(-4, 1)
        near = {name: rng.uniform(-3, 3, 1) for name in "xy"}
        far = {"w": near["x"] + step * rng.normal(size=1), "z": near["y"] + step * rng.normal(size=1)}
        place = {name: v.vector(value) for name, value in (near | far).items()}
        evaluator.reset()
        evaluator.new_epoch()
        case.functions.forget()
        measured = float(v.ends(evaluator.scalar(judged.link.left.tree, place))[0])
        bound = -float((-form.constant).least(lam))
        for key, number in form.norms:
            one, other = key
            distance = v.add(evaluator.value(one, place), v.negate(evaluator.value(other, place)))
            bound += -float((-number).least(lam)) * abs(float(distance.entries[0]))
        assert measured <= bound * (1 + 1e-9) + 1e-12


PAIR = 'x = "domain", w = "domain"'
PROVED = [
    (SADDLE, ALL, "norm(grad_phi(x) - grad_x_f(x, y_star(x)))", "<=", "norm(x)/10**40"),
    (SADDLE, ALL, "norm(grad_phi(x) - grad_x_f(x, y))", "==", "norm(grad_x_f(x, y) - grad_x_f(x, y_star(x)))"),
    (WAVE, ALL, "norm(y_star_lam(x) - y_star(x))", "<=", "(3/2)/(mu*lam) + norm(x)"),
    (TIGHT, ALL, "norm(y_star_lam(x) - y_star(x))", "<=", "C_f/(lam*mu)"),
    (WAVE, ALL, "norm(y_star(x) - y_star(w)) + norm(y - y_star(x))", "<=", "2*norm(x - w) + norm(y_star(x) - y)"),
    (WAVE, ALL, "norm(hess_xy_g(x, y) @ (z - v_star(x, y)))", "<=", "2*norm(z - v_star(x, y))"),
    (WAVE, PAIR, "abs(lambda_min(hess_phi(x)) - lambda_min(hess_phi(w)))", "<=", "norm(hess_phi(x) - hess_phi(w))"),
    (WAVE, PAIR, "phi(x) - phi(w)", "<=", "dot(grad_phi(w), x - w) + big/2*norm(x - w)**2"),
    (WAVE, PAIR, "L_star(w) - L_star(x)", "<=", "dot(grad_L_star(x), w - x) + big/2*norm(w - x)**2"),
    (WAVE, PAIR, "norm(grad_phi(x) - grad_phi(w) - hess_phi(w) @ (x - w))", "<=", "big/2*norm(x - w)**2"),
    (
        WAVE, PAIR,
        "abs(phi(x) - phi(w) - dot(grad_phi(w), x - w) - 1/2*dot(hess_phi(w) @ (x - w), x - w))",
        "<=", "big/6*norm(x - w)**3",
    ),
    (
        WAVE, PAIR, "norm(grad_phi(1/2*x + 1/2*w) - 1/2*grad_phi(x) - 1/2*grad_phi(w))",
        "<=", "big/(1+nu_f)*(1/4*norm(x - w)**2)**((1+nu_f)/2)",
    ),
    (
        WAVE, PAIR, "phi(x) - phi(w)",
        "<=", "1/2*dot(grad_phi(x) + grad_phi(w), x - w) + 2*big/((1+nu_f)*(2+nu_f)*(3+nu_f))*norm(x - w)**(2+nu_f)",
    ),
    (WAVE, PAIR, "norm(hess_phi(x) - hess_phi(w))", "<=", "(mu + big*norm(x - w)**(1-nu_f))*norm(x - w)**nu_f"),
]  # fmt: skip


@pytest.mark.parametrize(("problem", "for_", "left", "op", "right"), PROVED)
def test_what_is_proved(tmp_path, problem, for_, left, op, right):
    opened = bv.bilevel(**problem) if "g" in problem else bv.minimax(**problem)
    found = rows(tmp_path, opened, for_, left, op, right)
    assert (found.verdict, found.certainty) == ("holds", "certified"), found.reason
    assert (found.reason or "").startswith("at all points")


SMALL = [one for one in PROVED if "big/" in one[4]]


@pytest.mark.parametrize(("problem", "for_", "left", "op", "right"), SMALL)
def test_with_a_small_constant_nothing_follows(tmp_path, problem, for_, left, op, right):
    found = rows(tmp_path, bv.bilevel(**problem), for_, left, op, right.replace("big", "small"))
    assert found.verdict in ("refuted", "undecided")


@pytest.mark.parametrize("right", [SMALL[-1][4], SMALL[-2][4]])
def test_formulas_for_an_exponent_of_one_say_nothing_of_another(tmp_path, right):
    one = next(one for one in SMALL if one[4] == right)
    found = rows(tmp_path, bv.bilevel(**WAVE), PAIR, one[2], "<=", right.replace("nu_f", "nu_g"))
    assert not (found.reason or "").startswith("at all points")


@pytest.mark.parametrize(
    ("problem", "left", "op", "right"),
    [
        (SADDLE, "norm(grad_phi(x) - grad_x_f(x, y))", "==", "norm(grad_x_f(x, y) - grad_x_f(w, y_star(x)))"),
        (SADDLE, "norm(grad_phi(x) + grad_x_f(x, y_star(x)))", "<=", "norm(x)"),
        (WAVE, "norm(y_star_lam(x) - y_star(w))", "<=", "2/lam"),
        (WAVE, "phi(x) - L_star(w)", "<=", "10/lam"),
        (WAVE, "phi(x) - phi(w)", "<=", "dot(grad_phi(w), x - w) + mu/9*norm(x - w)**2"),
        (WAVE, "norm(grad_x_f(x, y) - grad_x_f(w, y))", "<=", "norm(x - w)/10"),
        (WAVE, "norm(grad_x_f(x, y) - grad_x_f(w, z))", "<=", "10*norm(x - w)"),
        (WAVE, "norm(grad_x_f(x, y) - 3*grad_x_f(w, y))", "<=", "10*norm(x - w)"),
        (WAVE, "norm(grad_x_f(x, y) + grad_x_f(w, y))", "<=", "10*norm(x - w)"),
        (WAVE, "norm(grad_phi(x) - grad_L_star(w))", "<=", "10/lam"),
    ],
)
def test_what_is_false_is_not_proved(tmp_path, problem, left, op, right):
    opened = bv.bilevel(**problem) if "g" in problem else bv.minimax(**problem)
    found = rows(tmp_path, opened, ALL, left, op, right)
    assert found.verdict in ("refuted", "undecided")


def test_powers_of_lambda():
    one = powers(3) + LAMBDA * 2 + ONE_BY_LAMBDA * -5
    assert one.terms == ((-1, -5), (0, 3), (1, 2))
    assert (one + -one).terms == ()
    assert (LAMBDA * ONE_BY_LAMBDA).terms == ((0, 1),)
    assert one.size.terms == ((-1, 5), (0, 3), (1, 2))
    assert one.least((Fraction(1), Fraction(2))) == 3 + 2 - 5
    assert (-one).least((Fraction(1), Fraction(2))) == -3 - 4 + Fraction(5, 2)
    assert one.nonnegative((Fraction(1), Fraction(2)))
    assert not one.nonnegative((Fraction(1, 2), Fraction(2)))
    assert not one.nonnegative(None)
    assert powers(2).nonnegative(None)


def test_forms_are_compared_by_coefficient():
    x, w, y = (parse(name) for name in "xwy")
    both = apart(x, w).times(powers(2)) + apart(x, y)
    assert apart(x, x) == Form()
    assert apart(x, w) == apart(w, x)
    assert apart(x, w).at_most(both, None)
    assert not both.at_most(apart(x, w).times(powers(9)), None)
    assert not apart(x, w).times(powers(3)).at_most(both, None)
    assert not Form(powers(1)).at_most(both, None)
    assert Form(powers(1)).at_most(both + Form(powers(1)), None)
    assert Form(powers(1)).at_most(Form(LAMBDA), (Fraction(1), Fraction(2)))
    assert not Form(powers(1)).at_most(Form(Powers()), (Fraction(1), Fraction(2)))

"""Claims about all points, from certified suprema and from what a constant is: what holds, and nothing else."""

from __future__ import annotations

import re
from fractions import Fraction
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import bilevel_verify as bv
from bilevel_verify.checks.judging.suprema import Suprema, Unbounded
from bilevel_verify.language import parse

HEAD = """
[paper]
key = "suprema"
title = "Claims about all points"
[letters]
mu = { from = "constants", measure = "strong convexity", of = ["g:yy"], norm = "in y", meaning = "curvature of g in y" }
lam = { meaning = "penalty" }
[settings.s.parameters]
lam = "8"
[[lemma]]
id = "l"
settings = ["s"]
where = ["mu > 0"]
where_from = "the lower level"
"""
ONE = """
[paper]
key = "one"
title = "What a constant is"
[letters]
L = { from = "constants", of = ["f:zz"], norm = "in x", meaning = "Lipschitz constant of the gradient" }
rho = { from = "constants", of = ["f:zzz"], norm = "in x", meaning = "Lipschitz constant of the Hessian" }
[[lemma]]
id = "l"
where = ["rho >= 0", "L > 0"]
where_from = ["its meaning", "its meaning"]
"""
SLOPE = {"f": "y1 + 1 - cos(x1)", "g": "y1**2/4 - x1*y1", "x": "x1", "y": "y1"}
"""y*(x) = 2 x, y*_lam = 2 (x - 1/lam), mu = 1/2: every supremum below is attained, up to rounding upwards."""
ABOVE = "1000001/1000000"


def row(
    tmp_path: Path, head: str, problem: bv.Problem, left: str, right: str, more: str = "", op: str = "<="
) -> bv.Row:
    letters = ", ".join(f'{name} = "{space}"' for name, space in (("x", "domain"), ("w", "domain")) if name in left)
    for_ = f"for = {{ {letters} }}\n" if letters else ""
    if problem.y and re.search(r"\by\b", left):
        for_ = 'for = { x = "domain", y = "domain y" }\n'
    path = tmp_path / "card.toml"
    claim = (
        f'[[lemma.claim]]\nid = "c"\nover = "point"\n{for_}{more}\nleft = "{left}"\nop = "{op}"\nright = "{right}"\n'
    )
    path.write_text(head + claim, encoding="utf-8")
    (found,) = bv.verify(problem, path, x0=[0.5] * problem.dx).claims
    return found


@pytest.mark.parametrize(
    ("left", "right", "short"),
    [
        ("norm(grad_y_star(x))", "2", "199/100"),
        ("norm(grad_y_star_lam(x))", "2", "199/100"),
        ("norm(y_star(x) - y_star(w))", "2*norm(x - w)", "199/100*norm(x - w)"),
        ("norm(y_star_lam(x) - y_star(x))", "2/lam", "199/100/lam"),
        ("norm(grad_phi(x))", "3", "299/100"),
    ],
)
def test_the_supremum_is_enough_and_less_is_refuted(tmp_path, left, right, short):
    problem = bv.bilevel(**SLOPE)
    holds, less = row(tmp_path, HEAD, problem, left, f"{ABOVE}*{right}"), row(tmp_path, HEAD, problem, left, short)
    assert (holds.verdict, holds.certainty) == ("holds", "certified")
    assert (holds.reason or "").startswith("at all points, by certified ")
    assert less.verdict == "refuted"


@pytest.mark.parametrize(
    ("left", "right", "more"),
    [
        ("norm(grad_y_star(x))", "2 + norm(x)", ""),
        ("norm(grad_y_star(x))", "bound", 'define = { bound = "2 + norm(x)" }'),
        ("norm(y_star(x) - y_star_lam(w))", "2*norm(x - w) + 1", ""),
        ("norm(y_star(x) - y_star(w))", "2*norm(x - w)*norm(x - w) + norm(y_star(x) - y_star(w))", ""),
        ("norm(phi(x)*grad_y_star(x))", "10**9", ""),
    ],
)
def test_other_forms_are_left_to_the_search(tmp_path, left, right, more):
    found = row(tmp_path, HEAD, bv.bilevel(**SLOPE), left, right, more)
    assert not (found.reason or "").startswith("at all points")


def test_a_domain_is_not_the_whole_space(tmp_path):
    """On a box of y the minimiser may lie outside: its suprema say nothing there."""
    problem = bv.bilevel(**SLOPE, domain={"x1": (-1, 1), "y1": (-1, 1)})
    found = row(tmp_path, HEAD, problem, "norm(grad_y_star(x))", "2")
    assert not (found.reason or "").startswith("at all points")


def suprema(problem: bv.Problem, lam: Fraction = Fraction(8)) -> Suprema:
    case: Any = SimpleNamespace(problem=problem, functions=SimpleNamespace(lam=lam))
    return Suprema(case)


WAVE = {
    "f": "sin(x1 + y1) + cos(y2 - x2) + sin(2*x2)",
    "g": "y1**2 + cos(y1 - x1)/2 + y2**2/2 - x1*y2 + sin(x2)*y1/4", "x": "x1 x2", "y": "y1 y2",
}  # fmt: skip


@pytest.mark.seeded
def test_every_rule_is_above_what_is_sampled():
    """Against the truth room at many points: gradients, Jacobians, minimisers, blocks of Hessians."""
    problem, lam = bv.bilevel(**WAVE), 40.0
    truth, found = bv.truth(problem), suprema(problem, Fraction(40))
    largest: dict[str, float] = {}

    def seen(text: str, value: Any) -> None:
        largest[text] = max(largest.get(text, 0.0), float(np.linalg.norm(value, 2)))

    rng = np.random.default_rng(4)
    for x in rng.uniform(-3, 3, (25, 2)):
        step = 1e-5
        y, penalised = truth.y_star(x).value, truth.y_star_lam(x, lam).value
        seen("grad_phi(x)", truth.grad_phi(x).value)
        seen("y_star_lam(x) - y_star(x)", penalised - y)
        ahead = [x + step * e for e in np.eye(2)]
        seen("grad_y_star(x)", np.array([truth.y_star(z).value - y for z in ahead]) / step)
        seen("grad_y_star_lam(x)", np.array([truth.y_star_lam(z, lam).value - penalised for z in ahead]) / step)
    for text, value in largest.items():
        bound = float(found.norm(parse(text)))
        assert value <= bound * (1 + 1e-4), text
        assert bound < 100 * value, text


def test_hyper_hessian_of_a_minimax_problem():
    problem = bv.minimax(f="sin(x1)*2 + x1*y1 - y1**2/4", x="x1", y="y1")
    found = suprema(problem)
    assert float(found.norm(parse("hess_phi(x)"))) == pytest.approx(2 + 1 / 0.5, rel=1e-9)
    assert float(found.norm(parse("grad_y_star(x)"))) == pytest.approx(2, rel=1e-9)
    with pytest.raises(Unbounded):
        found.norm(parse("grad_phi(x)"))  # |f_x| grows with y
    with pytest.raises(Unbounded):
        suprema(bv.bilevel(**WAVE)).norm(parse("hess_phi(x)"))


def test_curvature_and_penalty():
    found = suprema(bv.bilevel(f="cos(y1)*3", g="y1**2/4 - x1*y1", x="x1", y="y1"))
    assert found.curvature(parse("hess_yy_g(x, y)")) == Fraction(1, 2)
    assert found.curvature(parse("hess_yy_L(x, y)")) == 8 * Fraction(1, 2) - 3
    assert found.norm(parse("inv(hess_yy_L(x, y))")) == 1
    assert found.norm(parse("hess_yy_L(x, y)")) == 8 * Fraction(1, 2) + 3
    assert float(found.norm(parse("hess_yx_L(x, y)"))) == pytest.approx(8, rel=1e-9)
    assert found.moved_in_y("hess_yy_f") == 3
    with pytest.raises(Unbounded):
        suprema(bv.bilevel(f="cos(y1)*3", g="y1**2/4 - x1*y1", x="x1", y="y1"), Fraction(6)).curvature(
            parse("hess_yy_L(x, y)")
        )
    with pytest.raises(Unbounded):
        found.curvature(parse("hess_xx_g(x, y)"))
    with pytest.raises(Unbounded):
        suprema(bv.bilevel(f="y1", g="cos(y1) - x1*y1", x="x1", y="y1")).constant("mu")


@pytest.mark.parametrize(
    ("left", "right", "wrong"),
    [
        ("norm(grad_f(x) - grad_f(w))", "L*norm(x - w)", "L/2*norm(x - w)"),
        ("norm(hess_f(x) - hess_f(w))", "rho*norm(x - w)", "rho/2*norm(x - w)"),
        ("abs(f(w) - f(x) - dot(grad_f(x), w - x))", "L/2*norm(w - x)**2", "L/4*norm(w - x)**2"),
        (
            "abs(f(w) - f(x) - dot(grad_f(x), w - x) - dot(w - x, hess_f(x) @ (w - x))/2)",
            "rho/6*norm(w - x)**3",
            "rho/12*norm(w - x)**3",
        ),
    ],
)
def test_what_a_constant_is_holds_and_half_of_it_does_not(tmp_path, left, right, wrong):
    problem = bv.single_level(f="sin(x1)", x="x1")
    found = row(tmp_path, ONE, problem, left, right)
    assert (found.verdict, found.certainty) == ("holds", "certified")
    assert "bounds this derivative" in (found.reason or "")
    assert row(tmp_path, ONE, problem, left, wrong).verdict == "refuted"


def test_a_constant_of_another_derivative_is_no_proof(tmp_path):
    """|grad f(x) - grad f(w)| <= rho |x - w|: true here, where rho happens to be L, but not by what rho is."""
    found = row(tmp_path, ONE, bv.single_level(f="sin(x1)", x="x1"), "norm(grad_f(x) - grad_f(w))", "rho*norm(x - w)")
    assert found.verdict == "undecided"


@pytest.mark.parametrize(
    ("left", "right", "verdict"),
    [
        ("g(x, y_star(x)) - g(x, y)", "0", "holds"),
        ("mu/2*norm(y - y_star(x))**2", "g(x, y) - g(x, y_star(x))", "holds"),
        ("mu*norm(y - y_star(x))**2", "g(x, y) - g(x, y_star(x))", "refuted"),
        ("g(x, y) - g(x, y_star(x))", "0", "refuted"),
    ],
)
def test_what_a_minimiser_is(tmp_path, left, right, verdict):
    found = row(tmp_path, HEAD, bv.bilevel(**SLOPE), left, right)
    assert found.verdict == verdict
    if verdict == "holds":
        assert "strongly convex in y" in (found.reason or "")

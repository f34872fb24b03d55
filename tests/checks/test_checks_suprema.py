"""Claims about all points, from certified suprema and from what a constant is: what holds, and nothing else."""

from __future__ import annotations

import re
from fractions import Fraction
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from seeds import SEED

import bilevel_verify as bv
from bilevel_verify.checks.judging.powers import Powers
from bilevel_verify.checks.judging.suprema import GAPS, MOVES, NORMS, Suprema, Unbounded
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
        ("norm(hess_phi(x))", "1", "99/100"),
        ("norm(hess_L_star(x))", "1", "99/100"),
        ("norm(grad_phi(x) - grad_phi(w))", "norm(x - w)", "9/10*norm(x - w)"),
        ("norm(hess_phi(x) - hess_phi(w))", "norm(x - w)", "9/10*norm(x - w)"),
        ("abs(L_star(x) - phi(x))", "1/lam", "99/100/lam"),
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


def number(found: Suprema, bound: Powers) -> Fraction:
    """A bound at the exact lambda of its suprema."""
    return bound.least(found.lam() or (Fraction(1), Fraction(1)))


def norm(found: Suprema, text: str) -> float:
    return float(number(found, found.norm(parse(text))))


WAVE = {
    "f": "sin(x1 + y1) + cos(y2 - x2) + sin(2*x2)",
    "g": "y1**2 + cos(y1 - x1)/2 + y2**2/2 - x1*y2 + sin(x2)*y1/4", "x": "x1 x2", "y": "y1 y2",
}  # fmt: skip


LAM = 40.0


ATTAINED = {
    "slope": (SLOPE, ("y_star", "grad_phi", "hess_phi", "y_star_lam", "hess_L_star"), ("y_star", "phi")),
    "wave in x": ({"f": "y1", "g": "y1**2/2 - sin(x1)*y1"}, ("grad_y_star", "grad_phi", "hess_phi"), ()),
    "wave in y": ({"f": "sin(y1)", "g": "y1**2/2 - x1*y1"}, ("grad_phi", "hess_phi"), ()),
    "penalty": ({"f": "y1", "g": "y1**2 + cos(y1 - x1)/2"}, (), ()),
    "wave in both": ({"f": "sin(x1 + y1)", "g": "y1**2/2 - x1*y1"}, ("y_star", "grad_phi", "hess_phi"), ()),
}
"""Problem, functions whose Lipschitz constant is attained, gaps that are attained (one name of each)."""


@pytest.mark.seeded
@pytest.mark.parametrize("name", ["wave", *ATTAINED])
def test_every_rule_is_above_what_is_sampled(name):
    """Against the truth room at many points and pairs of near points: norms, Lipschitz constants, gaps."""
    data, moving, apart = (WAVE, (), ()) if name == "wave" else ATTAINED[name]
    problem = bv.bilevel(**({"x": "x1", "y": "y1"} | data))
    truth, found = bv.truth(problem), suprema(problem, Fraction(40))
    rng = np.random.default_rng(SEED)
    largest: dict[Any, float] = {}

    def seen(key: Any, value: Any) -> None:
        largest[key] = max(largest.get(key, 0.0), float(np.linalg.norm(np.atleast_2d(value), 2)))

    for x in rng.uniform(-3.2, 3.2, (20 if name == "wave" else 30, problem.dx)):
        here = functions_at(truth, x)
        step = 1e-4 * rng.normal(size=problem.dx)
        there = functions_at(truth, x + step)
        for one, value in here.items():
            seen(("norm", one), value)
            seen(("moves", one), (there[one] - value) / np.linalg.norm(step))
        for pair in GAPS:
            one, other = sorted(pair)
            seen(("gap", pair), here[one] - here[other])
    rules = {("norm", one): rule for one, rule in NORMS.items()} | {("moves", one): rule for one, rule in MOVES.items()}
    rules |= {("gap", pair): rule for pair, rule in GAPS.items()}
    assert {*rules} - {*largest} == {("norm", "v_star")}
    for key, rule in rules.items():
        try:
            bound = float(number(found, rule(found)))
        except Unbounded:
            assert key in {("norm", "grad_phi"), ("moves", "phi")}
            continue
        if key not in largest:
            continue
        assert largest[key] <= bound * (1 + 1e-4) + 1e-6, key
        assert name != "wave" or bound < 400 * largest[key], key
        if (key[0] == "moves" and key[1] in moving) or (key[0] == "gap" and {*apart} & {*key[1]}):
            assert largest[key] > 0.97 * bound, key


def functions_at(truth: Any, x: np.ndarray) -> dict[str, np.ndarray]:
    """Every function of x that a rule bounds, by the truth room; Jacobians by central differences."""
    step, axes = 1e-4, np.eye(len(x))

    def slope(of: Any, at: np.ndarray = x) -> np.ndarray:
        return np.array([(of(at + step * e) - of(at - step * e)) / (2 * step) for e in axes])

    def penalised(z: np.ndarray) -> np.ndarray:
        return np.asarray(truth.y_star_lam(z, LAM).value)

    def minimiser(z: np.ndarray) -> np.ndarray:
        return np.asarray(truth.y_star(z).value)

    def bent(of: Any) -> np.ndarray:
        """The derivative of the Jacobian in one direction."""
        ahead = 1e-3 * np.array([np.cos(1.0), np.sin(1.0)])[: len(x)] / (1 if len(x) == 2 else np.cos(1.0))
        return (slope(of, x + ahead) - slope(of, x - ahead)) / 2e-3

    return {
        "hess_y_star": bent(minimiser),
        "hess_y_star_lam": bent(penalised),
        "y_star": minimiser(x),
        "y_star_lam": penalised(x),
        "grad_y_star": slope(minimiser),
        "grad_y_star_lam": slope(penalised),
        "phi": np.array([truth.phi(x).value]),
        "grad_phi": np.asarray(truth.grad_phi(x).value),
        "hess_phi": np.asarray(truth.hess_phi(x).value),
        "L_star": np.array([truth.L_star(x, LAM).value]),
        "grad_L_star": np.asarray(truth.grad_L_star(x, LAM).value),
        "hess_L_star": np.asarray(truth.hess_L_star(x, LAM).value),
    }


def test_hyper_hessian_of_a_minimax_problem():
    problem = bv.minimax(f="sin(x1)*2 + x1*y1 - y1**2/4", x="x1", y="y1")
    found = suprema(problem)
    assert norm(found, "hess_phi(x)") == pytest.approx(2 + 1 / 0.5, rel=1e-9)
    assert norm(found, "grad_y_star(x)") == pytest.approx(2, rel=1e-9)
    with pytest.raises(Unbounded):
        found.norm(parse("grad_phi(x)"))  # |f_x| grows with y
    with pytest.raises(Unbounded):
        suprema(bv.bilevel(**WAVE)).norm(parse("hess_xx_L(x, y)"))  # it has derivatives of g(x, y*(x))


def test_curvature_and_penalty():
    found = suprema(bv.bilevel(f="cos(y1)*3", g="y1**2/4 - x1*y1", x="x1", y="y1"))
    assert found.curvature(parse("hess_yy_g(x, y)")) == Fraction(1, 2)
    assert found.curvature(parse("hess_yy_L(x, y)")) == 8 * Fraction(1, 2) - 3
    assert norm(found, "inv(hess_yy_L(x, y))") == 1
    assert norm(found, "hess_yy_L(x, y)") == 8 * Fraction(1, 2) + 3
    assert norm(found, "hess_yx_L(x, y)") == pytest.approx(8, rel=1e-9)
    assert number(found, found.block("hess_yy_f", "y")) == 3
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

"""Variables that enter affinely are put at the ends of their ranges: valid, tight, and only for such variables."""

from __future__ import annotations

import numpy as np
import pytest
import sympy
from constants_generator import SEED, Sample, violations

from bilevel_verify.constants.calculus import affine_variables
from bilevel_verify.constants.formula.domain import Domain
from bilevel_verify.constants.formula.structure import normalise, structure_of
from bilevel_verify.constants.groups.engine import Analysis

X, U, V, W = VARIABLES = sympy.symbols("x u v w", real=True)


def analysis_of(expression: sympy.Expr, box: float = 1.0, effort: float = 1.0) -> Analysis:
    domain = Domain(np.full(4, -box), np.full(4, box), "box", False)
    return Analysis(structure_of(normalise(expression), VARIABLES), (True, True, False, False), domain, "h", effort)


def smooth(rng: np.random.Generator, variables: tuple[sympy.Symbol, ...]) -> sympy.Expr:
    form = sympy.Add(*[int(rng.integers(1, 3)) * v for v in variables]) + sympy.Rational(int(rng.integers(-2, 3)), 2)
    return [sympy.sin, sympy.tanh, sympy.exp, lambda t: 1 / (1 + t**2)][int(rng.integers(4))](form)


@pytest.mark.parametrize("turn", range(2))
def test_nothing_sampled_in_the_whole_box_exceeds_the_bound_from_the_faces(turn: int) -> None:
    rng = np.random.default_rng(SEED + turn)
    expression = X * U * smooth(rng, (V, W)) + X**2 / 3 + U * smooth(rng, (V,)) - V * W
    sample = Sample(expression, VARIABLES, 2, 1.0)
    found = violations(sample, analysis_of(expression, effort=0.05), ["z", "zz", "zzz", "zzzz", "xy"], rng)
    assert not found, f"seed {SEED}: {found[:2]}"


def test_two_affine_variables_of_four_leave_a_plane_to_search() -> None:
    expression = X * V * sympy.exp(-(U**2) - W**2)
    domain = Domain(np.array([-1.0, -2, -1, -2]), np.array([1.0, 2, 1, 2]), "box", False)
    structure = structure_of(normalise(expression), VARIABLES)
    analysis = Analysis(structure, (True, True, False, False), domain, "h", 1.0)
    bound = analysis.norm("zz")
    assert 2 <= bound.upper <= 2 * 1.15
    assert bound.lower == pytest.approx(2, rel=1e-6)
    assert 4.355805 <= analysis.norm("zzz").upper <= 4.3558 * 1.7


def test_which_variables_are_affine() -> None:
    def numbers(expression: sympy.Expr, order: int) -> tuple[int, ...]:
        return affine_variables.affine_variables(structure_of(normalise(expression), VARIABLES), order)

    assert numbers(X * U * sympy.exp(V * W), 2) == (0, 1)
    assert numbers(X**2 * sympy.exp(V * W), 2) == (1,)
    assert numbers(X * sympy.exp(V * W) + sympy.sin(X + U), 2) == ()
    assert numbers(X**3 + X * sympy.exp(V * W), 2) in {(0, 1), (1,)}
    assert numbers(X**4 + X * sympy.exp(V * W), 2) == (1,)


def test_a_variable_wrongly_taken_as_affine_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    expression = (1 - X**2) * sympy.exp(V * W) * 5
    sample = Sample(expression, VARIABLES, 2, 1.0)
    rng = np.random.default_rng(5)
    assert not violations(sample, analysis_of(expression), ["y"], rng, 400)
    monkeypatch.setattr(affine_variables, "_affine_in", lambda term, v, order: True)
    assert violations(sample, analysis_of(expression), ["y"], rng, 400)

"""The families against SymPy's own oracles, differences and samples: nothing of their closed forms is believed."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import HealthCheck, find, given, settings
from hypothesis import strategies as st

from bilevel_verify.oracles import BudgetExhausted, oracles
from bilevel_verify.problems import loads
from bilevel_verify.testing import CountedOracles, Instance, block, decoding, strategies

SEEDS = st.integers(0, 2**20)
MODEST = settings(max_examples=40, deadline=None, database=None, suppress_health_check=list(HealthCheck))


@pytest.mark.parametrize("kind", ["bilevel", "minimax", "single_level", "saddle"])
def test_closures_agree_with_the_symbolic_form(kind):
    rng = np.random.default_rng(3)
    for _ in range(4):
        instance = getattr(decoding, kind)(rng.integers(0, 256, 120, dtype=np.uint8).tobytes(), most=2)
        x, y = rng.normal(size=instance.dx), rng.normal(size=instance.dy)
        exact = oracles(instance.problem(), compiled=False)
        assert instance.value_f(x, y) == pytest.approx(exact.value_f(x, y), rel=1e-12, abs=1e-12)
        np.testing.assert_allclose(instance.grad_x_f(x, y), exact.grad_x_f(x, y), rtol=1e-11, atol=1e-11)
        if instance.dy:
            np.testing.assert_allclose(instance.grad_y_f(x, y), exact.grad_y_f(x, y), rtol=1e-11, atol=1e-11)
        if kind == "bilevel":
            v, own = rng.normal(size=instance.dy), CountedOracles(instance)
            assert instance.value_g(x, y) == pytest.approx(exact.value_g(x, y), rel=1e-12, abs=1e-12)
            for name in ("grad_x_g", "grad_y_g"):
                np.testing.assert_allclose(getattr(own, name)(x, y), getattr(exact, name)(x, y), rtol=1e-11, atol=1e-11)
            for name in ("hvp_yy_g", "jvp_xy_g"):
                mine, theirs = getattr(own, name)(x, y, v), getattr(exact, name)(x, y, v)
                np.testing.assert_allclose(mine, theirs, rtol=1e-11, atol=1e-11)
            u = rng.normal(size=instance.dx)
            np.testing.assert_allclose(own.jvp_yx_g(x, y, u), exact.jvp_yx_g(x, y, u), rtol=1e-11, atol=1e-11)


@MODEST
@given(strategies.instances(), SEEDS)
def test_hypergradient_and_lower_solution(instance, seed):
    x = np.random.default_rng(seed).normal(size=instance.dx)
    assert np.linalg.norm(instance.grad_y_g(x, instance.y_star(x))) <= 1e-11 * (1 + instance.L)
    h = 1e-5
    slopes = [(instance.phi(x + h * e) - instance.phi(x - h * e)) / (2 * h) for e in np.eye(instance.dx)]
    np.testing.assert_allclose(instance.grad_phi(x), slopes, rtol=1e-5, atol=1e-5)


@MODEST
@given(strategies.blocks(3, atoms=("none", "logcosh", "softplus", "cos")), SEEDS)
def test_constants_bound_every_sample(found, seed):
    z = 2 * np.random.default_rng(seed).normal(size=3)
    values = np.linalg.eigvalsh(found.hessian(z))
    assert found.mu - 1e-10 <= values[0]
    assert max(abs(values)) <= found.L + 1e-10
    step = np.random.default_rng(seed + 1).normal(size=3)
    change = np.linalg.norm(found.hessian(z + step) - found.hessian(z), 2)
    assert change <= found.rho * np.linalg.norm(step) + 1e-10


@pytest.mark.parametrize("atom", ["logcosh", "softplus", "cos"])
def test_constants_are_attained(atom):
    found = block((2,), (atom,), (3,))
    t = np.linspace(-40, 40, 160_001)
    second = np.array([found.curvatures(np.array([s]))[0] for s in t[::20]])
    assert second.min() == pytest.approx(found.mu, abs=1e-4)
    assert second.max() == pytest.approx(found.L, abs=1e-4)
    near = np.linspace(-2.5, 2.5, 5001)
    third = np.diff([found.curvatures(np.array([s]))[0] for s in near]) / (near[1] - near[0])
    assert np.abs(third).max() == pytest.approx(found.rho, rel=1e-3)


@MODEST
@given(strategies.simple_bilevel_instances(), SEEDS)
def test_simple_bilevel_solution(instance, seed):
    x = instance.x_star
    assert instance.g.value(x) == pytest.approx(instance.g_star, abs=1e-9)
    assert np.linalg.norm(x) < instance.radius
    kernel = instance.g.basis[[i for i, value in enumerate(instance.g.spectrum) if value == 0]]
    if len(kernel):
        assert np.linalg.norm(kernel @ instance.f.gradient(x)) <= 1e-9 * (1 + instance.f.L * np.linalg.norm(x))
        other = x + kernel.T @ np.random.default_rng(seed).normal(size=len(kernel))
        assert instance.g.value(other) == pytest.approx(instance.g_star, abs=1e-9)
        assert instance.f.value(other) >= instance.f_star - 1e-9


@MODEST
@given(strategies.saddle_instances())
def test_saddles(instance):
    origin = np.zeros(instance.dx)
    assert np.linalg.norm(instance.p.gradient(origin)) == 0
    assert min(instance.p.curvatures(origin)) < 0


def test_files_repeat_the_problem():
    rng = np.random.default_rng(5)
    for decode in (decoding.bilevel, decoding.minimax, decoding.single_level, decoding.simple_bilevel):
        instance = decode(rng.integers(0, 256, 120, dtype=np.uint8).tobytes())
        stated = loads(instance.toml())
        assert stated.kind == instance.kind
        assert stated.content_hash() == instance.problem().content_hash()


def test_examples_shrink_to_something_readable():
    simplest = find(strategies.bilevel_instances(), lambda instance: instance.kappa >= 5, settings=MODEST)
    assert simplest.text() == {"f": "x1*(y1)", "g": "1/2*(y1)**2 + 5/2*(y2)**2 + y1*(-x1) + y2*(-x1)"} or (
        len(repr(simplest)) < 120
    )
    assert find(strategies.points(2), lambda point: point[0] > 1, settings=MODEST).tolist()[1] == 0


@MODEST
@given(strategies.feasible_sets(3), strategies.tolerances(), strategies.spectra(4, 2, 9))
def test_sets_tolerances_and_spectra(feasible, tolerance, spectrum):
    assert feasible.to_dict()["set"]
    assert 0 < tolerance <= 0.1
    assert all(2 <= value <= 9 for value in spectrum)


def test_oracles_count_and_stop():
    asked = CountedOracles(decoding.bilevel(bytes(120)), budget=3)
    asked.grad_f([1.0], [2.0])
    asked.grad_y_g([1.0], [2.0])
    asked.hvp_yy_g([1.0], [2.0], [1.0])
    assert dict(asked.counts) == {"grad_f": 1, "grad_g": 1, "hvp_yy_g": 1}
    with pytest.raises(BudgetExhausted, match="more than 3"):
        asked.value_f([1.0], [2.0])
    asked.reset()
    with pytest.raises(ValueError, match=r"x has shape \(2,\), not \(1,\)"):
        asked.value_f([1.0, 1.0], [2.0])
    with pytest.raises(ValueError, match="no lower level"):
        _ = Instance("single_level", block((1,))).lower

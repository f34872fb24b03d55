"""The families against SymPy's own oracles, differences and samples: nothing of their closed forms is believed."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import HealthCheck, Phase, find, given, settings
from hypothesis import strategies as st

from bilevel_verify.oracles import BudgetExhausted, oracles
from bilevel_verify.problems import load, simple_bilevel
from bilevel_verify.testing import CountedOracles, Instance, block
from bilevel_verify.testing.assertions.gradients import hyper_hessian
from bilevel_verify.testing.instances import decoding, strategies
from bilevel_verify.testing.instances.counting import forget

SEEDS = st.integers(0, 2**20)
MODEST = settings(max_examples=40, deadline=None, database=None, suppress_health_check=list(HealthCheck))


FAMILIES = (
    ("bilevel", {"most": 2}),
    ("minimax", {"most": 2}),
    ("single_level", {"most": 2}),
    ("saddle", {"most": 2}),
    ("saddle", {"most": 2, "kind": "bilevel"}),
    ("displaced", {"most": 2}),
    ("displaced", {"most": 2, "kind": "minimax"}),
    ("hoelder", {"most": 2}),
    ("hoelder", {"most": 1, "kind": "single_level"}),
    ("data_sum", {"most": 2}),
    ("data_sum", {"most": 2, "kind": "single_level"}),
    *(("hard", {"kind": kind}) for kind in ("single_level", "amplifier", "displaced", "chain", "minimax")),
    *(("promising", {"kind": kind}) for kind in ("single_level", "bilevel", "minimax")),
)


def drawn(family, seed, **options):
    data = np.random.default_rng(seed).integers(0, 256, 160, dtype=np.uint8).tobytes()
    return getattr(decoding, family)(data, **options)


@pytest.mark.parametrize(("kind", "options"), FAMILIES)
def test_closures_agree_with_the_symbolic_form(kind, options):
    rng = np.random.default_rng(3)
    for seed in range(2):
        instance = drawn(kind, seed, **options)
        x, y = rng.normal(size=instance.dx), rng.normal(size=instance.dy)
        exact, own = oracles(instance.problem(), compiled=False), CountedOracles(instance)
        v, u = rng.normal(size=instance.dy), rng.normal(size=instance.dx)
        point = (x, y) if instance.dy else (x,)
        lower = instance.kind == "bilevel"
        names = ["value_f", "grad_x_f", *(["grad_y_f"] if instance.dy else [])]
        names += ["value_g", "grad_x_g", "grad_y_g"] if lower else []
        for name in names:
            mine, theirs = getattr(own, name)(*point), getattr(exact, name)(*point)
            np.testing.assert_allclose(mine, theirs, rtol=1e-10, atol=1e-10)
        for name, direction in (("hvp_yy_g", v), ("jvp_xy_g", v), ("jvp_yx_g", u)) if lower else ():
            mine, theirs = getattr(own, name)(*point, direction), getattr(exact, name)(*point, direction)
            np.testing.assert_allclose(mine, theirs, rtol=1e-9, atol=1e-9)
        for mine, theirs in zip(own.hess_f(*point), exact.hess_f(*point)):
            np.testing.assert_allclose(mine, theirs, rtol=1e-9, atol=1e-9)
        if lower:
            for mine, theirs in zip(own.hess_g(*point), exact.hess_g(*point)):
                np.testing.assert_allclose(mine, theirs, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize(("kind", "options"), FAMILIES)
def test_lower_solution_and_hypergradient_of_every_family(kind, options):
    for seed in range(10):
        instance = drawn(kind, seed, **options)
        x = np.random.default_rng(seed).normal(size=instance.dx)
        if instance.dy:
            assert np.linalg.norm(instance.grad_y_g(x, instance.y_star(x))) <= 1e-9 * (1 + instance.L)
        h = 1e-5
        slopes = [(instance.phi(x + h * e) - instance.phi(x - h * e)) / (2 * h) for e in np.eye(instance.dx)]
        np.testing.assert_allclose(instance.grad_phi(x), slopes, rtol=1e-5, atol=1e-5)


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


@MODEST
@given(strategies.bases(3), strategies.exponents())
def test_bases_and_exponents(basis, exponent):
    np.testing.assert_allclose(basis @ basis.T, np.eye(3), atol=1e-14)
    assert 0 < exponent <= 1


@pytest.mark.parametrize(
    "atom", ["logcosh", "softplus", "cos", "root", "well", "ramp(1/50)", "tail(2)", "tail(3)", "psi(1/2)"]
)
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
    kernel = instance.kernel.T
    if len(kernel):
        assert np.linalg.norm(kernel @ instance.f.gradient(x)) <= 1e-9 * (1 + instance.f.L * np.linalg.norm(x))
        other = x + kernel.T @ np.random.default_rng(seed).normal(size=len(kernel))
        assert instance.g.value(other) == pytest.approx(instance.g_star, abs=1e-9)
        assert instance.f.value(other) >= instance.f_star - 1e-9


@pytest.mark.parametrize("kind", ["bilevel", "minimax"])
def test_saddles_of_two_levels(kind):
    for seed in range(6):
        instance = drawn("saddle", seed, kind=kind, most=2)
        origin = np.zeros(instance.dx)
        assert instance.kind == kind
        assert np.linalg.norm(instance.grad_phi(origin)) <= 1e-12
        assert np.linalg.eigvalsh(hyper_hessian(instance, origin))[0] < -0.5


@MODEST
@given(strategies.saddle_instances())
def test_saddles(instance):
    origin = np.zeros(instance.dx)
    assert np.linalg.norm(instance.p.gradient(origin)) == 0
    assert min(instance.p.curvatures(origin)) < 0


def test_files_repeat_the_problem(tmp_path):
    for kind, options in (*FAMILIES, ("simple_bilevel", {})):
        instance = drawn(kind, 5, **options)
        stated = load(instance.save(tmp_path / "mine.toml"))
        assert stated.kind == instance.kind
        assert stated.content_hash() == instance.problem().content_hash()
        assert stated.start is None or list(stated.start) == list(instance.start)


def test_examples_shrink_to_something_readable_and_print_as_sympy():
    simplest = find(strategies.bilevel_instances(), lambda instance: instance.kappa >= 5, settings=MODEST)
    assert len(repr(simplest)) < 120
    assert find(strategies.points(2), lambda point: point[0] > 1, settings=MODEST).tolist()[1] == 0

    @settings(MODEST, report_multiple_bugs=False, phases=(Phase.generate, Phase.shrink))
    @given(strategies.bilevel_instances(), strategies.points(2), strategies.hard_instances(kind="single_level"))
    def fails(instance, point, hard):
        assert instance.dx == 1

    with pytest.raises(AssertionError) as caught:
        fails()
    printed = "\n".join(caught.value.__notes__)
    assert "instance=<bilevel: f = x1*y1 + x2*y2, g = " in printed or "instance=<bilevel: f = x1*y1, g = " in printed
    assert "point=array([0., 0.])" in printed
    assert "hard=<single_level: f = sqrt(x1**2 + 1/5)/5 - cos(x2) - sqrt(5)/25 + 1, x0 = [" in printed


def test_the_sympy_form_is_built_when_asked_for():
    instance = drawn("bilevel", 1)
    assert repr(instance).startswith("<bilevel: f = ")
    assert "_problem" not in vars(instance)
    assert str(instance.sympy()["f"]) in str(instance)
    assert "_problem" in vars(instance)


@pytest.mark.parametrize("strategy", [strategies.bilevel_instances, strategies.minimax_instances])
def test_closed_forms(strategy):
    import sympy

    @settings(MODEST, max_examples=15)
    @given(strategy(closed_form=True, most=2), SEEDS)
    def check(instance, seed):
        x = np.random.default_rng(seed).normal(size=instance.dx)
        formulas = instance.y_star_text()
        values = {f"x{i + 1}": value for i, value in enumerate(x)}
        found = [float(sympy.sympify(formula).subs(values)) for formula in formulas]
        np.testing.assert_allclose(found, instance.y_star(x), rtol=1e-9, atol=1e-9)

    check()
    assert drawn("hoelder", 0).y_star_text() is None
    assert drawn("single_level", 0).y_star_text() is None


@MODEST
@given(strategies.hoelder_instances(most=2), SEEDS)
def test_hoelder_pairs_bound_every_sample(instance, seed):
    rng = np.random.default_rng(seed)
    nu, H = instance.p.hoelder
    first, second = rng.normal(size=(2, instance.dx))
    change = np.linalg.norm(instance.p.hessian(first) - instance.p.hessian(second), 2)
    assert change <= H * np.linalg.norm(first - second) ** nu + 1e-10
    nu_g, M = instance.h.third_hoelder
    h, unit = 1e-6, rng.normal(size=instance.dy)
    unit /= np.linalg.norm(unit)
    a, b = rng.normal(size=(2, instance.dy))
    third = [(instance.h.hessian(z + h * unit) - instance.h.hessian(z - h * unit)) / (2 * h) for z in (a, b)]
    assert np.linalg.norm(third[0] - third[1], 2) <= M * np.linalg.norm(a - b) ** nu_g + M * (2 * h) ** nu_g + 1e-4


@pytest.mark.parametrize("nu", ["1/4", "1/2", "1"])
def test_hoelder_pairs_are_attained(nu):
    found = block((0,), (f"psi'({nu})",), (3,))
    exponent, H = found.hoelder
    quotient = [abs(found.curvatures(np.array([t]))[0] - found.curvatures(np.array([-t]))[0]) for t in (1e-3, 0.1)]
    for t, change in zip((1e-3, 0.1), quotient):
        assert change == pytest.approx(H * (2 * t) ** exponent, rel=1e-9)


def test_chains_and_data_have_their_constants():
    chain = drawn("hard", 4, kind="chain").h
    values = np.linalg.eigvalsh(chain.matrix)
    assert (chain.mu, chain.L) == (pytest.approx(values[0]), pytest.approx(values[-1]))
    rng = np.random.default_rng(0)
    for seed in range(8):
        h = drawn("data_sum", seed, kind="single_level").p
        for z in 3 * rng.normal(size=(20, h.dimension)):
            values = np.linalg.eigvalsh(h.hessian(z))
            assert h.mu - 1e-12 <= values[0]
            assert values[-1] <= h.L + 1e-12
            step = rng.normal(size=h.dimension)
            change = np.linalg.norm(h.hessian(z + step) - h.hessian(z), 2)
            assert change <= h.rho * np.linalg.norm(step) + 1e-12
        at_the_middle = np.linalg.eigvalsh(h.hessian(np.array(h.middle, dtype=float)))
        assert at_the_middle[-1] == pytest.approx(h.L)
        assert np.linalg.eigvalsh(h.hessian(1e3 * rng.normal(size=h.dimension)))[0] == pytest.approx(h.mu, abs=1e-3)


@MODEST
@given(strategies.hard_instances())
def test_hard_instances_start_where_they_are_slow(instance):
    x = np.array(instance.start)
    assert len(x) == instance.dx
    assert 0 < instance.eps <= 0.1
    if instance.kind == "single_level":
        assert np.linalg.norm(instance.grad_phi(x)) > instance.eps


@MODEST
@given(strategies.feasible_sets(3), strategies.tolerances(), strategies.spectra(4, 2, 9))
def test_sets_tolerances_and_spectra(feasible, tolerance, spectrum):
    assert feasible.to_dict()["set"]
    assert str(simple_bilevel(f="x1**2 + x2**2 + x3**2", g="x1**2", x="x1 x2 x3", feasible=feasible))
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
    forget(asked)
    with pytest.raises(ValueError, match=r"x has shape \(2,\), not \(1,\)"):
        asked.value_f([1.0, 1.0], [2.0])
    with pytest.raises(ValueError, match="no lower level"):
        _ = Instance("single_level", block((1,))).lower

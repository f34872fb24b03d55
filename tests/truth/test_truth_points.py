"""Truth at points: error bars cover the true error, independent oracles agree, planted bugs are seen."""

from __future__ import annotations

from typing import Any

import mpmath
import numpy as np
import pytest
import truth_generator as generator

import bilevel_verify as bv
from bilevel_verify.truth.functions import formulas
from bilevel_verify.truth.witness.cvxpy_bridge import lower_value


@pytest.fixture(scope="module")
def toy() -> Any:
    return bv.bilevel(
        f="sin(x1) + y1**2/2 + cos(x1 - y1)",
        g="y1**2 + cos(y1)/2 - x1*y1",
        x="x1",
        y="y1",
        domain={"x1": (-3, 3), "y1": (-3, 3)},
    )


@pytest.fixture(scope="module")
def wide() -> Any:
    """2 + 3 variables, nothing in closed form."""
    return bv.bilevel(
        f="cos(x1 - y1) + sin(y2 + x2)/2 + y3**2/4 + log(1 + x1**2)",
        g="y1**2 + y2**2 + 3*y3**2/2 + cos(y1 + y2 - x1)/4 + softplus(y3 - x2) + x1*y2 - x2*y1/2 + y1*y3/3",
        x="x1 x2",
        y="y1 y2 y3",
    )


def test_error_bars_cover_the_true_error() -> None:
    start = generator.seed()
    bad, checked = generator.uncovered(start, 440)
    assert checked > 4000
    assert not bad, f"seed {start}: {len(bad)} of {checked}, first {bad[:5]}"


def test_control_a_bar_ten_times_too_small_is_seen() -> None:
    bad, checked = generator.uncovered(11, 16, scale=0.1)
    assert len(bad) > checked // 50


def test_control_wrong_sign_of_the_cross_term_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    def wrong(self: Any) -> Any:
        return self.algebra.add(self.f.gx, self.algebra.product(self.g.xy, self.v))

    monkeypatch.setattr(formulas.Hyper, "gradient", property(wrong))
    bad, _ = generator.uncovered(11, 12)
    assert any("grad_phi" in line for line in bad)


def _differences(function: Any, x: np.ndarray, h: float = 1e-5) -> np.ndarray:
    return np.array([(function(x + h * e) - function(x - h * e)) / (2 * h) for e in np.eye(x.size)])


@pytest.mark.parametrize("name", ["toy", "wide"])
def test_derivatives_agree_with_differences(name: str, request: pytest.FixtureRequest) -> None:
    t = bv.truth(request.getfixturevalue(name))
    x, lam = np.array([0.4, -0.7])[: t.model.dx], 7.0
    near = {"rtol": 1e-7, "atol": 1e-8}
    np.testing.assert_allclose(t.grad_phi(x).value, _differences(lambda p: t.phi(p).value, x), **near)
    np.testing.assert_allclose(t.hess_phi(x).value, _differences(lambda p: t.grad_phi(p).value, x), **near)
    np.testing.assert_allclose(t.grad_y_star(x).value, _differences(lambda p: t.y_star(p).value, x), **near)
    np.testing.assert_allclose(t.grad_L_star(x, lam).value, _differences(lambda p: t.L_star(p, lam).value, x), **near)
    np.testing.assert_allclose(
        t.hess_L_star(x, lam).value, _differences(lambda p: t.grad_L_star(p, lam).value, x), **near
    )
    np.testing.assert_allclose(
        t.grad_y_star_lam(x, lam).value, _differences(lambda p: t.y_star_lam(p, lam).value, x), **near
    )
    second = _differences(lambda p: np.asarray(t.grad_y_star(p).value), x)
    for k, enclosure in enumerate(t.hess_y_star(x)):
        np.testing.assert_allclose(enclosure.value, second[:, :, k], **near)


@pytest.mark.parametrize("name", ["toy", "wide"])
def test_batches_agree_with_single_points(name: str, request: pytest.FixtureRequest) -> None:
    t = bv.truth(request.getfixturevalue(name))
    X = np.random.default_rng(generator.seed()).uniform(-2, 2, (40, t.model.dx))
    for quantity in ("y_star", "phi", "grad_phi", "hess_phi", "lambda_min_hess_phi", "grad_y_star"):
        values, errors = getattr(t, quantity + "_batch")(X)
        assert np.max(errors) < 1e-12
        for i in (0, 17, 39):
            one = getattr(t, quantity)(X[i])
            assert np.linalg.norm(np.asarray(one.value) - values[i]) <= errors[i] + one.error
    second, bars = t.hess_y_star_batch(X[:3])
    for k, component in enumerate(t.hess_y_star(X[2])):
        assert np.linalg.norm(np.asarray(component.value) - second[2, k]) <= bars[2] + component.error
    assert np.max(bars) < 1e-11
    for quantity in ("y_star_lam", "L_star", "grad_L_star", "hess_L_star", "grad_y_star_lam"):
        values, errors = getattr(t, quantity + "_batch")(X, 30.0)
        assert np.max(errors) < 1e-10
        one = getattr(t, quantity)(X[5], 30.0)
        assert np.linalg.norm(np.asarray(one.value) - values[5]) <= errors[5] + one.error


def test_lower_level_agrees_with_the_conic_solver() -> None:
    p = bv.bilevel(
        f="x1*y1", g="y1**2 + log(1 + exp(y1 - x1)) + sqrt(1 + (y2 - x1)**2) + cosh(y2) - x1*y1", x="x1", y="y1 y2"
    )
    t = bv.truth(p)
    for value in (-1.25, 0.5, 2.0):
        answer = lower_value(p.g, p.y, {p.x[0]: value})
        ours = t.g_min([value])
        assert answer.gap < 1e-8
        assert abs(answer.value - float(ours.value)) <= ours.error + answer.gap + 1e-10
        np.testing.assert_allclose(answer.point, t.y_star([value]).value, atol=1e-3)


def test_kappa_ten_thousand_on_both_paths() -> None:
    p = bv.bilevel(
        f="y1", g="y1**2/20000 + (y2 - y1)**2/2 + y2**2/2*0.0001 - x1*y1 + cosh(y2)/100000", x="x1", y="y1 y2"
    )
    t = bv.truth(p)
    values, errors = t.y_star_batch([[0.3], [1.0]])
    assert np.all(errors <= 1e-12 * np.linalg.norm(values, axis=1))
    point = t.y_star([0.3])
    assert point.error <= 1e-14 * np.linalg.norm(point.value)


def test_eigenvalue_and_minimax() -> None:
    p = bv.minimax(f="cos(x1) - cos(x2) + x1*y1 + x2*y1 - x2*y2 - y1**2 - y2**2/4", x="x1 x2", y="y1 y2")
    t = bv.truth(p)
    assert abs(float(t.lambda_min_hess_phi([0, 0]).value) + 0.5615528128088303) < 1e-14
    exact = np.cos(0.3) - np.cos(0.7) + 1.0**2 / 4 + 0.7**2
    assert abs(float(t.phi([0.3, 0.7]).value) - exact) < 1e-14


def test_single_level_is_phi_itself() -> None:
    t = bv.truth(bv.single_level(f="log(1 + x1**2)", x="x1"))
    assert float(t.phi([2.0]).value) == pytest.approx(np.log(5), abs=1e-15)
    assert t.y_star([2.0]).value.size == 0
    values, _ = t.grad_phi_batch([[2.0], [-1.0]])
    np.testing.assert_allclose(values[:, 0], [0.8, -1.0], atol=1e-14)
    with pytest.raises(bv.InputError):
        t.L_star([1.0], 2.0)


def test_fifty_digits(toy: Any) -> None:
    t = bv.truth(toy)
    with mpmath.workdps(60):
        found = t.with_digits(50).phi([mpmath.mpf(1)])
        y = mpmath.findroot(lambda s: 2 * s - mpmath.sin(s) / 2 - 1, 0.6)
        exact = mpmath.sin(1) + y**2 / 2 + mpmath.cos(1 - y)
        assert abs(found.value - exact) < mpmath.mpf(10) ** -50
        assert found.error < mpmath.mpf(10) ** -50
    gradient = t.with_digits(50).grad_phi(["1/3"])
    assert abs(float(gradient.value[0]) - float(t.grad_phi([1 / 3]).value[0])) < 1e-15


def test_psi_and_kinks_in_balls() -> None:
    p = bv.bilevel(
        f="psi(1/2, x1 + y1) + abs(x1)**Rational(5,2)", g="y1**2 + psi(1, y1 - x1)/4 - x1*y1/3", x="x1", y="y1"
    )
    t = bv.truth(p)
    X = np.array([[0.0], [1.0], [0.3], [-2.0]])
    values, errors = t.grad_phi_batch(X)
    for row, value, error in zip(X, values, errors):
        one = t.grad_phi(row)
        assert abs(float(one.value[0]) - value[0]) <= error + one.error
    np.testing.assert_allclose(values[2], _differences(lambda q: t.phi(q).value, X[2]), atol=1e-9)


def test_no_minimiser_is_said() -> None:
    unbounded = bv.bilevel(f="y1", g="y1**3 - x1*y1", x="x1", y="y1")
    for value in (-1.0, 1.0):  # at 1 there is a local minimiser
        with pytest.raises(bv.MathematicalError, match=r"no minimiser.*not bounded below"):
            bv.truth(unbounded).y_star([value])
    values, errors = bv.truth(unbounded).phi_batch([[-1.0]])
    assert np.isinf(errors[0])
    assert np.isfinite(values[0])
    flat = bv.bilevel(f="y1 + y2", g="(y1 - x1)**2/2", x="x1", y="y1 y2")
    with pytest.raises(bv.MathematicalError):
        bv.truth(flat).phi([0.5])
    cube_root = bv.bilevel(f="y1", g="y1**4/4 - x1*y1", x="x1", y="y1")
    with pytest.raises(bv.MathematicalError):
        bv.truth(cube_root).grad_phi([0.0])


def test_bad_points_are_refused(toy: Any) -> None:
    t = bv.truth(toy)
    for bad in ([1.0, 2.0], [np.nan], [np.inf]):
        with pytest.raises(bv.InputError):
            t.phi(bad)
    for bad in (mpmath.nan, mpmath.inf, -mpmath.inf, np.nan, np.inf):  # two of them were taken for 0
        with pytest.raises(bv.InputError, match="finite"):
            t.with_digits(30).phi([bad])
    with pytest.raises(bv.InputError):
        t.phi_batch([[1.0, 2.0]])
    with pytest.raises(bv.InputError):
        t.L_star([1.0], -1.0)
    with pytest.raises(bv.InputError):
        _ = t.f_star


def test_summary_rows_for_a_report(toy: Any) -> None:
    rows = bv.truth(toy).summary([1.0])
    assert [row["quantity"] for row in rows][:3] == ["phi_min", "y_star", "grad_y_star"]
    assert all(row["certainty"] == "certified" and row["error"] < 1e-12 for row in rows)
    failed = bv.truth(bv.bilevel(f="y1", g="y1**3 - x1*y1", x="x1", y="y1", domain={"x1": (-2, -1)})).summary([-1.0])
    assert all(row["value"] is None and row["method"] for row in failed)


def test_batches_say_what_they_rest_on(toy: Any) -> None:
    from bilevel_verify.intervals import ball_ends

    t = bv.truth(toy)
    assert (t.certainty, t.batch_certainty) == ("certified", "computed")
    with ball_ends():
        assert t.batch_certainty == "certified"
        values, errors = t.phi_batch([[1.0]])
    assert abs(values[0] - float(t.phi([1.0]).value)) <= errors[0] + 1e-15


ZOO = ("cosh-lower cardano displaced-log-well hoelder-f psi-1-1 trig-1-1 chain-lower rotated-log asinh-minimax "
       "quad-minimax robust-average macal-hurter de-silva hoelder-g minimax-ramp").split()  # fmt: skip


@pytest.mark.parametrize("name", ZOO)
def test_zoo_to_the_last_digit(name: str) -> None:
    p = bv.zoo(name)
    p = p.member() if hasattr(p, "member") else p
    t = bv.truth(p)
    rng = np.random.default_rng(generator.seed())
    ends = [p.range_of(s) for s in p.x]
    X = np.array([[rng.uniform(max(float(a), -2), min(float(b), 2)) for a, b in ends] for _ in range(5)])
    values, errors = t.y_star_batch(X)
    assert np.all(errors <= 1e-12 * np.linalg.norm(values, axis=1))
    for row in X[:2]:
        one = t.y_star(row)
        assert one.error <= 1e-14 * np.linalg.norm(one.value)

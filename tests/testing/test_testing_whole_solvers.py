"""Bounds where they are sharp, black boxes, stochastic estimators, promises that bite, failures that repeat."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import bilevel_verify
from bilevel_verify.errors import InputError
from bilevel_verify.testing import (
    BrokenContract,
    Profile,
    assert_all,
    assert_hypergradient,
    assert_inner_solver_rate,
    assert_invariant,
    assert_rate,
    assert_seeded,
    assert_stopping,
    assert_unbiased,
    assert_variance,
    references,
)
from bilevel_verify.testing.assertions.inner_solvers import KAPPAS, inner_case, on_quadratics
from bilevel_verify.testing.assertions.stochastic import batches
from bilevel_verify.testing.instances import biting, decoding
from bilevel_verify.testing.instances.counting import CountedOracles
from bilevel_verify.testing.trials.trying import EXAMPLE_VARIABLE, examples

FEW = Profile("few", 4, simplify=60)


# --- accelerated inner solvers ---


@pytest.mark.parametrize("kappa", [10, 1000, 10_000])
def test_the_rate_on_quadratics_is_the_polynomial_of_the_method(kappa):
    """p_k(lambda) by its recurrence, on a grid of [mu, L]: never above the bound, equal to it at mu."""
    share = np.concatenate([np.linspace(1 / kappa, 1, 4001), np.geomspace(1 / kappa, 1, 4001)])
    beta = (np.sqrt(kappa) - 1) / (np.sqrt(kappa) + 1)
    before, now = np.ones_like(share), 1 - share
    for k in range(1, 4 * int(np.sqrt(kappa))):
        bound = np.sqrt(on_quadratics(kappa, k))
        assert np.max(np.abs(now)) <= bound * (1 + 1e-9)
        assert now[0] == pytest.approx(bound, rel=1e-6)
        before, now = now, (1 - share) * ((1 + beta) * now - beta * before)


def test_slow_cases_reach_kappa_10000_and_excite_every_mode():
    found = [inner_case(data) for data in examples(200, 0)]
    slow = [(h, start, steps) for h, start, steps in found if h.L / h.mu > 900 and h.rho == 0]
    assert {round(h.L / h.mu) for h, _, _ in slow} >= set(KAPPAS[2:])
    assert max(steps for _, _, steps in slow) >= 400
    for h, start, _ in slow:
        modes = np.linalg.eigh(h.hessian(start))[1].T @ (start - h.inverse_gradient(np.zeros(h.dimension)))
        assert np.min(np.abs(modes)) > 0.5e-2 or h.dimension > 9


def test_over_relaxed_descent_fails_where_acceleration_passes():
    def relaxed(gradient, y0, mu, L, steps):
        path = [y0]
        for _ in range(steps):
            path.append(path[-1] - 2 / (L + mu) * gradient(path[-1]))
        return np.array(path)

    assert_inner_solver_rate(references.accelerated_descent)
    with pytest.raises(BrokenContract, match=r"slower than the rate.*kappa = "):
        assert_inner_solver_rate(relaxed)


def test_the_extrapolated_point_is_not_the_one_whose_bound_is_claimed():
    def late(gradient, y0, mu, L, steps):
        root = np.sqrt(L / mu)
        x, w, rows = y0, y0, [y0]
        for _ in range(steps):
            new = w - gradient(w) / L
            w, x = new + (root - 1) / (root + 1) * (new - x), new
            rows.append(w)
        return np.array(rows)

    def heavy(gradient, y0, mu, L, steps):
        path = [y0, y0]
        for _ in range(steps):
            path.append(path[-1] - gradient(path[-1]) / L + 0.2 * (path[-1] - path[-2]))
        return np.array(path[1:])

    loose = lambda kappa, k: 1e9
    assert_inner_solver_rate(late, rate=loose)  # an own rate: whatever is handed back
    with pytest.raises(BrokenContract, match=r"extrapolated point|slower than the rate"):
        assert_inner_solver_rate(late)
    assert_inner_solver_rate(heavy, rate=loose)
    with pytest.raises(BrokenContract, match="slower than the rate"):  # never taken for an extrapolated point
        assert_inner_solver_rate(heavy)


# --- whole solvers ---


def test_a_right_black_box_passes_and_wrong_ones_do_not():
    def absolute(oracles, x0, eps):
        """A test that looks at the value of f."""
        x, y = references.two_level_descent(oracles, x0, eps)
        return (x, y) if abs(oracles.value_f(x, y)) < 50 else (x + 1, y)

    def first_only(oracles, x0, eps):
        x, y = references.two_level_descent(oracles, x0, eps)
        return np.where(np.arange(len(x)) < 2, x, 0.0), y

    assert_invariant(references.two_level_descent, "rotation", profile_=FEW)
    assert_invariant(references.two_level_descent, "duplicated data", profile_=FEW)
    assert_stopping(references.two_level_descent, profile_=FEW)
    with pytest.raises(BrokenContract, match="not stationary after shift of f and g"):
        assert_invariant(absolute, "shift of f and g", profile_=Profile("more", 120, simplify=0))
    with pytest.raises(BrokenContract, match="not stationary after duplicated variables"):
        assert_invariant(first_only, "duplicated variables", profile_=Profile("more", 120, simplify=0))


@pytest.mark.parametrize("kind", ["bilevel", "minimax"])
def test_wide_instances_are_what_their_files_say(kind):
    for data in (bytes(20), bytes(range(1, 21))):
        found = decoding.wide(data, kind)
        x = np.linspace(-1, 2, found.dx)
        exact = bilevel_verify.truth(found.problem()).grad_phi(x).value
        np.testing.assert_allclose(found.grad_phi(x), exact, rtol=1e-7, atol=1e-7)
        assert np.linalg.norm(found.grad_phi(np.zeros(found.dx))) > 1, "the origin is far from stationary"


def test_solvers_that_do_not_stop_where_they_should():
    def restless(oracles, x0, eps, calls=[0]):  # noqa: B006
        calls[0] += 1
        x, y = references.two_level_descent(oracles, x0, eps)
        return x + 1e-3 * (calls[0] % 2), y

    def blind(oracles, x0, eps):
        for _ in range(int(300 * min(eps, 0.3) / 0.05)):
            oracles.value_f(x0, np.zeros(oracles.dy))
        return references.two_level_descent(oracles, x0, min(eps, 1e-2))

    with pytest.raises(BrokenContract, match="another output the second time"):
        assert_stopping(restless, profile_=FEW)
    with pytest.raises(BrokenContract, match="asks more often for a larger tolerance"):
        assert_stopping(blind, profile_=FEW)


def ramp_descent(power):
    """Descent along the hypergradient with steps of length eps^power: 2 + power is the exponent on a ramp."""

    def solver(oracles, x0, eps):
        x, y = x0, np.zeros(oracles.dy)
        step = (eps / 0.1) ** power / 5
        for _ in range(10**5):
            H = np.array([oracles.hvp_yy_g(x, y, unit) for unit in np.eye(oracles.dy)])
            y = y - np.linalg.solve(H, oracles.grad_y_g(x, y))  # exact: the lower level of the family is quadratic
            v = np.linalg.solve(H, oracles.grad_y_f(x, y))
            slope = oracles.grad_x_f(x, y) - oracles.jvp_xy_g(x, y, v)
            if np.linalg.norm(slope) <= 0.95 * eps:
                break
            x = x - step * slope
        return x

    return solver


def test_the_promised_rate_on_a_family_that_shows_it():
    assert_rate(ramp_descent(0), 2.0, kinds=("bilevel",))
    with pytest.raises(BrokenContract, match=r"calls grow faster than promised.*slope [23]\.\d+ > 2"):
        assert_rate(ramp_descent(1), 2.0, kinds=("bilevel",))
    with pytest.raises(BrokenContract, match="output is not stationary"):
        assert_rate(lambda oracles, x0, eps: x0, 2.0, kinds=("bilevel",))


def test_warm_starts_and_costs():
    def doubtful(oracles, x0, eps):
        """What is stationary already, it looks for again from afar."""
        x, y = references.two_level_descent(oracles, x0, eps)
        return references.two_level_descent(oracles, x0 + 50, eps / 10) if np.array_equal(x, x0) else (x, y)

    def anxious(oracles, x0, eps):
        """Large values of f make it look again and again."""
        x, y = references.two_level_descent(oracles, x0, eps)
        for _ in range(40_000 if abs(oracles.value_f(x, y)) > 50 else 0):
            oracles.value_f(x, y)
        return x, y

    with pytest.raises(BrokenContract, match=r"does not see that its start|leaves a stationary start"):
        assert_stopping(doubtful, profile_=Profile("more", 60, simplify=0))
    with pytest.raises(BrokenContract, match="dearer after shift of f and g"):
        assert_invariant(anxious, "shift of f and g", profile_=Profile("more", 120, simplify=0))


def test_a_solver_that_takes_the_formulas_can_be_asked_for_data_twice():
    from bilevel_verify.testing import formulas, parameters

    def solver(oracles, x0, eps):
        """As one in JAX does it: the numbers of the instance, whatever it is, as arguments of one formula."""
        assert np.isfinite(formulas(np)[0](parameters(oracles.instance), x0, np.zeros(oracles.dy)))
        return references.two_level_descent(oracles, x0, eps)

    assert_invariant(solver, "duplicated data", profile_=Profile("more", 120, simplify=0))


def test_a_solver_that_reads_the_instance_is_not_asked_to_solve_rewritten_ones():
    def reads(oracles, x0, eps):
        assert oracles.instance.mu > 0
        return references.two_level_descent(oracles, x0, eps)

    assert_invariant(reads, "unit rescaling", profile_=FEW)

    def hypergradient(oracles, x):
        assert oracles.instance.mu > 0
        return references.implicit_hypergradient(oracles, x)

    assert_all(hypergradient=hypergradient, profile_=FEW)


# --- stochastic estimators ---


def lower_gradient(samples, x, y, upper, lower):
    return samples.grad_y_g(x, y, lower)


def own_variance(samples, x, y, size):
    mean = samples.grad_y_g(x, y)
    return np.mean([np.sum((samples.grad_y_g(x, y, (i,)) - mean) ** 2) for i in range(samples.lower)]) / size


def test_batches_are_all_batches():
    assert len(batches(4, 2, True)) == 16
    assert len(batches(4, 2, False)) == 6


def test_means_and_variances_over_every_batch():
    def hypergradient(samples, x, y, upper, lower):
        H = np.array([samples.hvp_yy_g(x, y, unit) for unit in np.eye(samples.dy)])
        return samples.grad_x_f(x, y) - samples.jvp_xy_g(x, y, np.linalg.solve(H, samples.grad_y_f(x, y, upper)))

    assert_unbiased(lower_gradient, "grad_y_g", size=2)
    assert_unbiased(lower_gradient, "grad_y_g", size=2, replacement=False)
    assert_unbiased(hypergradient)
    assert_variance(lower_gradient, own_variance, size=2)  # 1/2 of the variance of one sample, exactly
    with pytest.raises(BrokenContract, match="variance too large"):
        assert_variance(lower_gradient, lambda *a: 0.9 * own_variance(*a), size=2)


def test_classical_biases_are_seen():
    def inverse_of_a_batch(samples, x, y, upper, lower):
        H = np.array([samples.hvp_yy_g(x, y, unit, lower) for unit in np.eye(samples.dy)])
        return samples.grad_x_f(x, y) - samples.jvp_xy_g(x, y, np.linalg.solve(H, samples.grad_y_f(x, y, upper)))

    def sum_for_mean(samples, x, y, upper, lower):
        return sum(samples.grad_y_g(x, y, (i,)) for i in lower)

    with pytest.raises(BrokenContract, match="biased"):
        assert_unbiased(inverse_of_a_batch)
    with pytest.raises(BrokenContract, match="2 times the target"):
        assert_unbiased(sum_for_mean, "grad_y_g", size=2)
    with pytest.raises(BrokenContract, match="biased"):
        assert_all(estimator=inverse_of_a_batch)


def test_one_seed_is_one_run():
    def seeded(samples, x0, seed):
        return x0 + np.random.default_rng(seed).normal(size=len(x0))

    def unseeded(samples, x0, seed):
        return x0 + np.random.default_rng().normal(size=len(x0))

    assert_seeded(seeded, profile_=FEW)
    with pytest.raises(BrokenContract, match="a seed does not repeat"):
        assert_seeded(unseeded, profile_=FEW)


# --- promises on examples that bite ---


def test_biting_examples_have_every_dimension_and_a_theta_below_one():
    found = biting.examples()
    assert {instance.dx for instance in found} == {1, 2, 3, 4, 5}
    assert len({instance.eps for instance in found}) >= 3
    for instance in found:
        c = bilevel_verify.constants(instance.stated)
        assert 4 * (instance.eps * c["rho"].value / (16 * c["L"].value ** 2)) ** 0.25 < 0.25


# --- failures repeat ---


def test_a_failure_repeats_from_its_file(tmp_path, monkeypatch):
    met = []

    def wrong(oracles, x):
        met.append(x.tolist())
        return references.implicit_hypergradient(oracles, x, "transposed Jacobian")

    with pytest.raises(BrokenContract) as first:
        assert_hypergradient(wrong, profile_=Profile("quick", 40))
    file = first.value.save(tmp_path / "failure.toml")
    monkeypatch.setenv(EXAMPLE_VARIABLE, str(file))
    with pytest.raises(BrokenContract) as again:
        assert_hypergradient(wrong, profile_=Profile("one", 1, simplify=0))
    assert (again.value.contract, again.value.detail) == (first.value.contract, first.value.detail)
    monkeypatch.setenv(EXAMPLE_VARIABLE, "words")
    with pytest.raises(InputError, match=EXAMPLE_VARIABLE):
        assert_hypergradient(wrong)


def test_warnings_of_torch_jit_end_no_run(tmp_path):
    (tmp_path / "test_warns.py").write_text(
        "import warnings\nwarnings.warn('`torch.jit.script` is deprecated', DeprecationWarning)\n"
        "def test_it():\n    warnings.warn('`torch.jit.trace_method` is not supported', FutureWarning)\n",
        encoding="utf8",
    )
    root = Path(bilevel_verify.__file__).parents[1]
    environment = {key: value for key, value in os.environ.items() if not key.startswith(("PYTEST", "BILEVEL"))}
    environment["PYTHONPATH"] = os.pathsep.join([str(root), environment.get("PYTHONPATH", "")])
    words = [sys.executable, "-m", "pytest", "-W", "error", "-p", "no:cacheprovider", "test_warns.py"]
    plugin = ["-p", "bilevel_verify.testing.plugin"] if "bilevel" not in _plugins() else []
    done = subprocess.run(
        [*words, *plugin, "--bilevel", "quick"], capture_output=True, text=True, cwd=tmp_path, env=environment
    )
    assert "1 passed" in done.stdout, done.stdout + done.stderr


def _plugins():
    from importlib.metadata import entry_points

    return " ".join(entry.value for entry in entry_points(group="pytest11"))


def test_the_log_keeps_parts_and_directions():
    asked = CountedOracles(decoding.bilevel(bytes(120)))
    asked.grad_x_f([1.0], [2.0])
    asked.hvp_yy_g([1.0], [2.0], [3.0])
    assert [(call.kind, call.part) for call in asked.log] == [("grad_f", "x"), ("hvp_yy_g", "")]
    assert asked.log[1].v.tolist() == [3.0]

"""No false alarm on right solvers, however they are written: classes, generators, in place, other orders of summation.

With the 42 methods of the package (loops in place, ``test_testing_same_lines``) and the references these are more than
fifty right solvers.
"""

from __future__ import annotations

import importlib.util
import itertools
import math
import os
import subprocess
import sys
from functools import partial, reduce
from pathlib import Path

import numpy as np
import pytest

import bilevel_verify as bv
from bilevel_verify.testing import (
    Profile,
    assert_inner_solver_rate,
    assert_linear_solver,
    assert_same_iterates,
    formulas,
    parameters,
)

ALONE = "BILEVEL_VERIFY_TEST_ALONE"
SHORT = Profile("short", 4)


def shortest(points, K):
    """K_0 of the averages: ties go to the smallest index."""
    lengths = [math.dist(a, b) for a, b in itertools.pairwise(points)]
    return min(range(K // 2, K), key=lambda k: (lengths[k], k))


class RestartedAgd:
    """A class with its state in attributes, sums by ``math.fsum``."""

    def __init__(self, eta, theta, B, K):
        self.eta, self.weight, self.most, self.K = eta, 1 - theta, B * B, K

    def epoch(self, gradient, start):
        self.x, self.y = [start, start], []
        for _ in range(self.K):
            self.y.append(self.x[-1] * (1 + self.weight) - self.weight * self.x[-2])
            self.x.append(self.y[-1] - self.eta * gradient(self.y[-1]))
            moves = (math.fsum((b - a) ** 2) for a, b in itertools.pairwise(self.x[1:]))
            if len(self.y) * math.fsum(moves) > self.most:
                return True
        return False

    def __call__(self, oracles, x0, parameters=None):
        epochs, start = [], x0
        while self.epoch(oracles.grad_x_f, start):
            epochs.append(self.x[1:])
            start = self.x[-1]
        best = shortest(self.x[1:], self.K)
        return bv.Trajectory([*epochs, self.x[1:]], output=np.mean(self.y[: best + 1], axis=0))


def restarted_in_a_class(oracles, x0, parameters):
    return RestartedAgd(*(parameters[name] for name in ("eta", "theta", "B", "K")))(oracles, x0)


def heavy_ball_by_a_generator(oracles, x0, parameters):
    eta, theta, B, K = (parameters[name] for name in ("eta", "theta", "B", "K"))

    def steps(start):
        old = new = start
        while True:
            yield new
            old, new = new, new - eta * oracles.grad_x_f(new) + (1 - theta) * (new - old)

    epochs, start = [], x0
    while True:
        run, points, moved = steps(start), [], 0.0
        for point in itertools.islice(run, K + 1):
            if points:
                moved += np.linalg.norm(point - points[-1]) ** 2
            points.append(point)
            if points and (len(points) - 1) * moved > B**2:
                break
        epochs.append(points)
        if (len(points) - 1) * moved <= B**2:
            best = shortest(points, K)
            return epochs, sum(points[1 : best + 1], points[0]) / (best + 1)
        w = (1 - 2 * theta) * (1 - theta)
        start = (points[-1] + w * points[-2]) / (1 + w)


def descent_in_place(oracles, x0, parameters):
    x, rows = x0.copy(), np.empty((parameters["N"] + 1, len(x0)))
    for row in rows:
        row[:] = x
        if row is not rows[-1] and len(rows) > 1 and not np.shares_memory(row, rows[-1]):
            x -= parameters["eta"] * oracles.grad_x_f(x)
    return rows


def descent_by_reduce(oracles, x0, parameters):
    step = lambda path, _: (*path, path[-1] - parameters["eta"] * oracles.grad_f(path[-1])[0])
    return list(reduce(step, range(parameters["N"]), (x0,)))


def agd(gradient, z, steps, alpha, beta):
    """In place, one buffer for the extrapolation."""
    z, ahead = z.copy(), z.copy()
    for _ in range(steps):
        new = ahead - alpha * gradient(ahead)
        ahead[:] = new + beta * (new - z)
        z[:] = new
    return z


def cg(product, b, steps, q):
    r = b - product(q)
    p, size = r.copy(), float(r @ r)
    for _ in range(steps):
        if size == 0:
            break
        a = product(p)
        share = size / float(p @ a)
        q, r = q + share * p, r - share * a
        size, before = float(r @ r), size
        p = r + size / before * p
    return q


def rahgd(oracles, x0, parameters):
    q = parameters
    epochs, start, v = [], x0, None
    while True:
        y = agd(partial(oracles.grad_y_g, start), q["y0"], q["T_m1"], q["alpha"], q["beta"])
        v = y if v is None else v
        x, w, moved = [start, start], [], 0.0
        for k in range(q["K"]):
            w.append((2 - q["theta"]) * x[-1] - (1 - q["theta"]) * x[-2])
            at = w[-1]
            y = agd(partial(oracles.grad_y_g, at), y, q["T_k"], q["alpha"], q["beta"])
            fx, fy = oracles.grad_f(at, y)
            v = cg(partial(oracles.hvp_yy_g, at, y), fy, q["Tp_0"] if k == 0 else q["Tp_k"], v)
            x.append(at - q["eta"] * (fx - oracles.jvp_xy_g(at, y, v)))
            moved += float(np.sum(np.square(x[-1] - x[-2])))
            if (k + 1) * moved > q["B"] ** 2:
                break
        epochs.append(x[1:])
        if (k + 1) * moved <= q["B"] ** 2:
            best = shortest(x[1:], q["K"])
            return bv.Trajectory(epochs, output=np.sum(w[best::-1], axis=0) / (best + 1))
        start = x[-1]


def ragd_gs(oracles, x0, parameters):
    """The weighted average on the fly, its stopping test by what the kit offers for free."""
    q, lam = parameters, parameters["lam"]
    upper = lambda w: lambda y: oracles.grad_y_f(w, y) + lam * oracles.grad_y_g(w, y)
    epochs, restart = [], x0
    while True:
        y = z = np.zeros(oracles.dy)
        x, w, mean, moved, k = [restart], restart, np.zeros_like(x0), 0.0, 0
        while True:
            z = agd(partial(oracles.grad_y_g, w), z, q["T_k"] if k else q["T_0"], q["alpha"], q["beta"])
            y = agd(upper(w), y, q["Tp_k"] if k else q["Tp_0"], q["alpha_p"], q["beta_p"])
            slope = oracles.grad_x_f(w, y) + lam * (oracles.grad_x_g(w, y) - oracles.grad_x_g(w, z))
            mean = (k * mean + 2 * w) / (k + 2)
            x.append(w - slope / q["L"])
            moved += float(np.dot(x[-1] - x[-2], x[-1] - x[-2]))
            w = x[-1] + (k + 1) / (k + 2) * (x[-1] - x[-2])
            k += 1
            if (k + 1) ** (4 + q["nu_f"]) * q["H_nu"] ** 2 * moved ** q["nu_f"] > q["L"] ** 2:
                break
            if np.linalg.norm(oracles.grad_L_star(mean, lam)) <= q["eps"]:
                return bv.Trajectory([*epochs, x], output=mean)
        epochs.append(x)
        restart = x[-1]


def f2ba(oracles, x0, parameters):
    q, x = parameters, [x0]
    y, z = q["y0"].copy(), q["y0"].copy()
    for _ in range(q["T"]):
        for _ in range(q["K"]):
            z -= q["alpha"] * oracles.grad_y_g(x[-1], z)
        for _ in range(q["K"]):
            y -= q["tau"] * oracles.grad_y_f(x[-1], y) + q["tau"] * q["lam"] * oracles.grad_y_g(x[-1], y)
        both = oracles.grad_x_g(x[-1], y) - oracles.grad_x_g(x[-1], z)
        x.append(x[-1] - q["eta"] * oracles.grad_x_f(x[-1], y) - q["eta"] * q["lam"] * both)
    return np.stack(x)


def descent_ascent(oracles, x0, parameters):
    q = parameters
    x, y, rows = x0, q["y0"], [x0]
    for _ in range(q["steps"]):
        gx, gy = oracles.grad_f(x, y)
        x, y = x - q["eta_x"] * gx, y + q["eta_y"] * gy
        rows.append(x)
    return rows


def accelerated_for_two_objectives(oracles, x0, parameters):
    """R-APM, written with the usual letters of FISTA."""
    q, x, ahead, t, rows = parameters, x0, x0, 1.0, [x0]
    for _ in range(q["K"]):
        new = oracles.project(ahead - q["gamma"] * (q["eta"] * oracles.grad_f(ahead)[0] + oracles.grad_g(ahead)))
        later = 0.5 + math.sqrt(0.25 + t * t)
        ahead, x, t = new + (t - 1) / later * (new - x), new, later
        rows.append(x)
    return rows


STYLES = {
    "restarted-agd": (restarted_in_a_class,),
    "restarted-hb": (heavy_ball_by_a_generator,),
    "gradient-descent": (descent_in_place, descent_by_reduce),
    "rahgd": (rahgd,),
    "ragd-gs": (ragd_gs,),
    "f2ba": (f2ba,),
    "gda": (descent_ascent,),
    "r-apm": (accelerated_for_two_objectives,),
}


@pytest.mark.parametrize(
    ("method", "solver"), [(method, solver) for method, solvers in STYLES.items() for solver in solvers]
)
def test_right_solvers_agree_line_for_line_in_every_style(method, solver):
    assert_same_iterates(solver, method, profile_=SHORT)


def test_inner_and_linear_solvers_in_place():
    def inner(gradient, y0, mu, L, steps):
        root, rows = math.sqrt(L / mu), np.empty((steps + 1, len(y0)))
        rows[0], ahead = y0, y0.copy()
        for k in range(steps):
            np.subtract(ahead, gradient(ahead) / L, out=rows[k + 1])
            ahead = rows[k + 1] + (root - 1) / (root + 1) * (rows[k + 1] - rows[k])
        return rows

    assert_inner_solver_rate(inner)
    assert_linear_solver(lambda apply, b, tolerance: cg(apply, b, len(b) + 1, np.zeros_like(b)))


@pytest.mark.parametrize("package", ["jax", "torch"])
def test_gradients_of_another_package(package):
    if importlib.util.find_spec(package) is None:
        pytest.skip(f"extra: {package}")
    if os.environ.get(ALONE) != package:  # its threads do not survive a fork: other tests of this process need one
        words = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-n", "0"]
        test = f"{__file__}::test_gradients_of_another_package[{package}]"
        root = str(Path(bv.__file__).parents[1])
        path = os.pathsep.join([root, os.environ.get("PYTHONPATH", "")])
        environment = {**os.environ, ALONE: package, "PYTHONPATH": path}
        done = subprocess.run([*words, test], capture_output=True, text=True, cwd=root, env=environment)
        assert done.returncode == 0, done.stdout + done.stderr
        return
    if package == "jax":
        import jax

        jax.config.update("jax_enable_x64", True)
        f, _ = formulas(jax.numpy)
        slope = jax.jit(jax.grad(f, 1))
        make = lambda theta, x: np.asarray(slope(theta, x, np.zeros(1)))
    else:
        import torch

        f, _ = formulas(torch)
        make = lambda theta, x: torch.func.grad(f, 1)(
            {name: torch.tensor(value) for name, value in theta.items()}, torch.tensor(x), torch.zeros(1)
        ).numpy()

    def solver(oracles, x0, parameters_):
        theta, eta = parameters(oracles.instance), parameters_["eta"]
        return list(itertools.accumulate(range(parameters_["N"]), lambda x, _: x - eta * make(theta, x), initial=x0))

    assert_same_iterates(solver, "gradient-descent", profile_=Profile("short", 3, seconds=60))

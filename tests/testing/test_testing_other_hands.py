"""Solvers typed by another hand from the papers' pseudo-code: right ones in any form pass, slips are told.

Flat lists with and without the start, f asked where others ask g = -f, Hessians by products only: what was once accused
although it was right, and what once escaped.
"""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from seeds import SEED

import bilevel_verify as bv
from bilevel_verify.testing import CONTROLS, BrokenContract, Profile, assert_same_iterates
from bilevel_verify.testing.controls.broken import detection_matrix
from bilevel_verify.testing.instances.counting import Call, CountedOracles
from bilevel_verify.testing.instances.decoding import bilevel, simple_bilevel
from bilevel_verify.testing.printed.comparing import counted
from bilevel_verify.testing.trials.trying import examples

SHORT = Profile("short", 8)


def accelerated(gradient, z, steps, length, kappa):
    momentum, ahead = (math.sqrt(kappa) - 1) / (math.sqrt(kappa) + 1), z
    for _ in range(steps):
        new = ahead - length * gradient(ahead)
        ahead, z = new + momentum * (new - z), new
    return z


# --- one problem, two names: g = -f ---


def ascent(oracles, x0, letters, twice=False):
    """GDmax, which knows no g."""
    x, y, rows = x0, letters["y0"], []
    for _ in range(letters["steps"]):
        for _ in range(letters["D"]):
            y = y + letters["eta_y"] * oracles.grad_y_f(x, y)
        if twice:
            oracles.grad_y_f(x, y)
        x = x - letters["eta_x"] * oracles.grad_x_f(x, y)
        rows.append(x)
    return rows


def test_the_lower_level_of_a_minimax_problem_may_be_asked_for_as_f():
    assert_same_iterates(ascent, "gdmax", profile_=SHORT)
    with pytest.raises(BrokenContract, match="asks more often"):
        assert_same_iterates(
            lambda *given: [*ascent(*given), given[0].grad_x_f(given[1], given[2]["y0"])][:-1], "gdmax"
        )
    here, none = np.ones(1), np.zeros(0)
    log = [
        Call("grad_f", here, none, None, "y"),
        Call("grad_g", here, none, None, "y"),
        Call("hvp_yy_g", here, here, here),
    ]
    assert {kind: len(calls) for kind, calls in counted(log, minimax=True).items()} == {"grad_f": 2, "hvp_yy_f": 1}
    assert {kind: len(calls) for kind, calls in counted(log).items()} == {"grad_f": 1, "grad_g": 1, "hvp_yy_g": 1}


# --- where a list begins ---


def conditional(slip="", lead=()):
    """CG-BiO, whose first iterate is not the start."""

    def solver(oracles, x0, letters):
        x, j, rows = x0, 0, []
        while True:
            slope = oracles.grad_g(x)
            vertex = oracles.vertex(slope)
            if slope @ (x - vertex) <= letters["eps_g"] / 2:
                break
            x, j = x + 2 / (j + 2) * (vertex - x), j + 1
        rows, level = [x], oracles.value_g(x)
        for k in range(letters["K"]):
            p, q = oracles.grad_f(x)[0], oracles.grad_g(x)
            s = oracles.vertex_below(p, q, level - oracles.value_g(x) + q @ x)
            if p @ (x - s) <= letters["eps_f"] and q @ (x - s) <= letters["eps_g"] / 2:
                break
            x = x + letters["c"] / (k + (1 if slip else 2)) * (s - x)
            rows.append(x)
        return [*([x0] if lead else []), *rows]

    return solver


def regularised(slip=0):
    """a-IRG; its list has no start, which on some examples is its first iterate again."""

    def solver(oracles, x0, letters):
        x, rows = x0, []
        for k in range(letters["K"]):
            weight = letters["eta0"] / (k + 1 + slip) ** letters["b"]
            slope = oracles.grad_g(x) + weight * oracles.grad_f(x)[0]
            x = oracles.project(x - letters["gamma0"] / np.sqrt(k + 1) * slope)
            rows.append(x)
        return rows

    return solver


@pytest.mark.parametrize(
    ("method", "solver", "wrong"),
    [
        ("cg-bio", conditional(), conditional("k + 1")),
        ("cg-bio", conditional(lead=True), conditional("k + 1", lead=True)),
        ("a-irg", regularised(), regularised(1)),
    ],
)
def test_lists_begin_where_the_pseudo_code_does(method, solver, wrong):
    assert_same_iterates(solver, method)
    with pytest.raises(BrokenContract, match="a different result"):
        assert_same_iterates(wrong, method)


# --- Hessians by products ---


def inverse(product, low, high, order, v, slip=""):
    """Chebyshev polynomials of Lemma E.1; ``as (44)``: as printed there."""
    q = (math.sqrt(low / high) - 1) / (math.sqrt(low / high) + 1)
    weight, before, now = 2 / math.sqrt(low * high), 0 * v, v
    total = weight * v / 2
    for k in range(1, order + 1):
        turned = 2 / (high - low) * (product(now) - (high + low) / 2 * now)
        before, now = now, turned if k == 1 else 2 * turned - before
        total, weight = total + weight * q * now, weight * q
    return total / (2 * high) if slip == "as (44)" else total


def inexact(slip=""):
    """IFSBA, Algorithms 3, 6 and 7."""

    def solver(oracles, x0, p):
        lam, M, L, n = p["lam"], p["M"], p["L"], len(x0)
        noise, x, rows, y, w = itertools.cycle(p["noise"]), x0, [], p["y0"], p["y0"]
        for _ in range(p["T"]):
            lower = lambda v, x=x: oracles.grad_y_g(x, v)
            both = lambda v, x=x: oracles.grad_y_f(x, v) + lam * oracles.grad_y_g(x, v)
            w = accelerated(lower, w, p["K1"], 1 / p["l1"], p["kappa1"])
            y = accelerated(both, y, p["K2"], 1 / p["l2"], p["kappa2"])
            g = oracles.grad_x_f(x, y) + lam * (oracles.grad_x_g(x, y) - oracles.grad_x_g(x, w))

            def H(s, x=x, y=y, w=w):
                lifted = np.concatenate([s, 0 * y])
                f, one, two = oracles.hvp_f(x, y, lifted), oracles.hvp_g(x, y, lifted), oracles.hvp_g(x, w, lifted)
                at = y if slip == "C_1 at y" else w
                a = inverse(lambda v: oracles.hvp_yy_g(x, at, v), p["mu"], p["l1"], p["K_p"], two[n:], slip)
                penalty = lambda v: oracles.hvp_yy_f(x, y, v) + lam * oracles.hvp_yy_g(x, y, v)
                b = inverse(penalty, lam * p["mu"] / 2, p["l2"], p["K_p"], f[n:] + lam * one[n:], slip)
                found = f[:n] + lam * (one[:n] - two[:n]) + lam * oracles.jvp_xy_g(x, w, a)
                return found - oracles.jvp_xy_f(x, y, b) - lam * oracles.jvp_xy_g(x, y, b)

            size = np.linalg.norm(g)
            if size >= L**2 / M:
                bend = g @ H(g) / (M * size**2)
                s = -(math.sqrt(bend**2 + 2 * size / M) - bend) * g / size
            else:
                s, pushed = 0 * g, g + next(noise)
                for _ in range(p["K_c"]):
                    s = s - (pushed + H(s) + M / 2 * np.linalg.norm(s) * s) / (20 * L)
            value = g @ s + s @ H(s) / 2 + M / 6 * np.linalg.norm(s) ** 3
            last = value > -math.sqrt(p["eps"] ** 3 / M) / 128
            if last:
                s, slope = 0 * g, g
                while np.linalg.norm(slope) > p["eps"] / (1 if slip == "eps" else 2):
                    s = s - slope / (20 * L)
                    slope = g + H(s) + M / 2 * np.linalg.norm(s) * s
            x = x + s
            rows.append(x)
            if last:
                break
        return rows

    return solver


def test_inexact_cubic_steps_by_products():
    assert_same_iterates(inexact(), "ifsba", profile_=SHORT)


@pytest.mark.parametrize("slip", ["as (44)", "C_1 at y", "eps"])
def test_slips_in_inexact_cubic_steps(slip, monkeypatch):
    monkeypatch.setattr("bilevel_verify.testing.assertions.same_lines._explanation", lambda *given: "")
    with pytest.raises(BrokenContract, match="a different result"):
        assert_same_iterates(inexact(slip), "ifsba")


def test_products_of_the_kit_are_those_of_the_blocks():
    for data in examples(6, SEED):
        asked = CountedOracles(bilevel(data), 100)
        rng = np.random.default_rng(SEED)
        x, y, v = rng.normal(size=asked.dx), rng.normal(size=asked.dy), rng.normal(size=asked.dx + asked.dy)
        for name in "fg":
            xx, xy, yy = getattr(asked, f"hess_{name}")(x, y)
            whole, right = np.block([[xx, xy], [xy.T, yy]]), v[asked.dx :]
            np.testing.assert_allclose(getattr(asked, f"hvp_{name}")(x, y, v), whole @ v, rtol=1e-12, atol=1e-12)
            for product, block in ((f"hvp_yy_{name}", yy), (f"jvp_xy_{name}", xy)):
                np.testing.assert_allclose(getattr(asked, product)(x, y, right), block @ right, rtol=1e-12, atol=1e-12)
        assert asked.counts == dict.fromkeys(
            [f"{kind}_{n}" for kind in ("hess", "hvp", "hvp_yy", "jvp_xy") for n in "fg"], 1
        )


# --- until proven guilty ---


def guarded(slip=""):
    """Convex until proven guilty, by lists and ``min``."""

    def solver(oracles, x0, p):
        f, gradient = (lambda z: float(oracles.value_f(z))), oracles.grad_x_f
        alpha = 2 * math.sqrt(p["rho"] * p["eps"])
        smooth, far, epochs, c = p["L"] + 2 * alpha, alpha / p["rho"], [], x0
        root = math.sqrt(smooth / alpha)
        while True:
            near = lambda z, c=c: alpha * float((z - c) @ (z - c))
            slope = lambda z, c=c: gradient(z) + 2 * alpha * (z - c)
            x, y, u, values, witness = [c], [c], [], [f(c)], None
            while witness is None:
                u.append(slope(x[-1]))
                y.append(x[-1] - u[-1] / smooth)
                x.append(y[-1] + (root - 1) / (root + 1) * (y[-1] - y[-2]))
                values.append(f(y[-1]))
                if values[-1] + near(y[-1]) > values[0]:
                    witness = (y[0], values[0])
                    break
                q = slope(y[-1])
                z = y[-1] - q / smooth
                value = f(z)
                psi = values[0] - value - near(z) / 2
                if q @ q > 2 * smooth * psi * math.exp(-len(u) / root):
                    witness = (z, value)
                elif np.linalg.norm(q) <= p["eps"] / 10:
                    break
            epochs.append(x)
            c = y[-1] if witness is None else judged(f, x, y, u, values, witness, near, alpha, far)
            if np.linalg.norm(gradient(c)) <= p["eps"]:
                return bv.Trajectory(epochs, output=c)

    def judged(f, x, y, u, values, witness, near, alpha, far):
        for j, slope in enumerate(u):
            value = f(x[j]) + near(x[j])
            for point, height in ((y[j], values[j]), witness):
                way = point - x[j]
                if height + near(point) < value + slope @ way + alpha / 2 * float(way @ way):
                    ahead = far * way / np.linalg.norm(way)
                    ends = [point + ahead] if slip == "one side" else [point + ahead, point - ahead]
                    return min([(height, point), *zip(values, y), *((f(e), e) for e in ends)], key=lambda one: one[0])[
                        1
                    ]
        raise AssertionError("no witness")

    return solver


def test_guarded_descent_and_the_side_that_nobody_tried(monkeypatch):
    assert_same_iterates(guarded(), "convex-until-guilty", profile_=Profile("half", 20))
    monkeypatch.setattr("bilevel_verify.testing.assertions.same_lines._explanation", lambda *given: "")
    # what line 18 chooses is seen where it starts the next epoch, or as the output of line 20
    with pytest.raises(BrokenContract, match=r"line (18|20) of convex-until-guilty"):
        assert_same_iterates(guarded("one side"), "convex-until-guilty", profile_=Profile("many", 400))


# --- two objectives ---


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_the_upper_level_decides_on_the_first_ten_examples(seed):
    """With seed 1 an upper level that is forgotten, or maximised, once passed the quick profile."""
    names = ("regularised: sigma forgotten", "regularised: f is maximised")
    chosen = tuple(control for control in CONTROLS if control.name in names)
    assert len(chosen) == len(names)
    assert detection_matrix("quick", chosen, seed=seed).missed == ()
    assert not any(simple_bilevel(data, flat=flat).L_g == 0 for data in examples(60, seed) for flat in (True, False))

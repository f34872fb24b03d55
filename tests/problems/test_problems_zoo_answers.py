"""Closed forms, minima, stationary points, error bounds and negative controls of the zoo, checked with own code."""

from __future__ import annotations

import math

import numpy as np
import pytest
import sympy
from scipy.optimize import minimize, minimize_scalar
from seeds import SEED

from bilevel_verify.atoms import evaluator
from bilevel_verify.errors import MathematicalError
from bilevel_verify.problems import Problem, zoo
from bilevel_verify.problems.catalogue import record
from bilevel_verify.symbolic import derive

ENTRIES = [r for r in zoo() if not r.extra]
NAMES = [r.name for r in ENTRIES]


def with_field(field):
    return [n for n in NAMES if field in zoo(n).known]


def phi_of(problem: Problem):
    """Own hyper-objective: closed form of ``y*`` where stated, else Newton on ``grad_y g`` from 0."""
    if problem.kind == "single_level":
        f = evaluator(problem.f, problem.x)
        return lambda x: float(f(*x))
    f = evaluator(problem.f, problem.variables)
    if "y_star" in problem.known:
        y_star = evaluator(list(problem.known["y_star"]), problem.x)
        return lambda x: float(f(*x, *y_star(*x)))
    gradient = evaluator([problem.lower.diff(s) for s in problem.y], problem.variables)
    hessian = evaluator([[problem.lower.diff(s, t) for t in problem.y] for s in problem.y], problem.variables)

    def phi(x):
        y = np.zeros(problem.dy)
        for _ in range(60):
            step = np.linalg.solve(np.array(hessian(*x, *y), dtype=float), np.array(gradient(*x, *y), dtype=float))
            y = y - step / max(1.0, np.linalg.norm(step))
            if np.linalg.norm(step) < 1e-13 * (1 + np.linalg.norm(y)):
                break
        return float(f(*x, *y))

    return phi


def box_of(problem, spread=6.0):
    ranges = [tuple(float(e) for e in problem.range_of(s)) for s in problem.x]
    return [(max(a, -spread), min(b, spread)) for a, b in ranges]


def exact_point(problem, point):
    return dict(zip(problem.x, point))


@pytest.mark.parametrize("name", with_field("y_star"))
def test_lower_level_solution(name):
    problem = zoo(name)
    generator = np.random.default_rng(SEED)
    gradient = sympy.Matrix([problem.lower.diff(s) for s in problem.y])
    for _ in range(5):
        x = {
            s: sympy.Rational(int(1000 * generator.uniform(a, b)), 1000)
            for s, (a, b) in zip(problem.x, box_of(problem))
        }
        y = {s: v.subs(x).evalf(40) for s, v in zip(problem.y, problem.known["y_star"])}
        residual = gradient.subs({**x, **y}).evalf(40)
        assert max(abs(r) for r in residual) < 1e-30, f"{name} at {x} (seed {SEED})"


@pytest.mark.parametrize("name", with_field("phi"))
def test_hyper_objective(name):
    problem = zoo(name)
    substituted = problem.f.subs(dict(zip(problem.y, problem.known["y_star"])), simultaneous=True)

    values = evaluator([substituted, problem.known["phi"]], problem.x)
    generator = np.random.default_rng(SEED)
    for _ in range(20):
        point = [generator.uniform(a, b) for a, b in box_of(problem)]
        left, right = values(*point)
        assert left == pytest.approx(right, rel=1e-12, abs=1e-12)


@pytest.mark.parametrize("name", with_field("y_star"))
def test_derivation_finds_the_closed_form(name):
    problem = zoo(name)
    derived = derive(problem).y_star
    if derived is None:
        assert name in {"shen-chen", "shen-chen-wide", "displaced-log-well", "smd1", "minimax-ramp"} or name.startswith(
            "hoelder"
        )
        return
    for left, right in zip(derived, problem.known["y_star"]):
        difference = (left - right).subs({s: sympy.Rational(7 + i, 19) for i, s in enumerate(problem.x)})
        assert abs(difference.evalf(30)) < 1e-25


@pytest.mark.parametrize("name", [n for n in with_field("minimum") if not n.startswith("diabetes")])
def test_stated_minimum(name):
    problem = zoo(name)
    stated = float(problem.known["minimum"])
    phi = phi_of(problem)
    for point in problem.known.get("minimisers", ()):
        assert phi([float(v) for v in point]) == pytest.approx(stated, rel=6e-7, abs=2e-10)
    generator = np.random.default_rng(SEED)
    box = box_of(problem)
    lowest = math.inf
    for _ in range(3 if problem.dx > 2 else 8):
        start = [generator.uniform(a, b) for a, b in box]
        result = minimize(
            phi, start, method="Nelder-Mead", bounds=box, options={"maxfev": 150 * problem.dx + 100, "adaptive": True}
        )
        lowest = min(lowest, result.fun)
    assert lowest >= stated - 6e-7 * (1 + abs(stated)), f"{name}: {lowest} below {stated} (seed {SEED})"
    if problem.dx == 1 and all(abs(float(p[0])) <= 6 for p in problem.known.get("minimisers", ())):
        grid = np.linspace(*box[0], 4001)
        place = grid[int(np.argmin([phi([v]) for v in grid]))]
        width = (box[0][1] - box[0][0]) / 2000
        best = minimize_scalar(
            lambda v: phi([v]),
            bounds=(max(place - width, box[0][0]), min(place + width, box[0][1])),
            method="bounded",
            options={"xatol": 1e-10},
        )
        assert best.fun == pytest.approx(stated, rel=6e-7, abs=1e-9)


@pytest.mark.parametrize("name", with_field("phi_lower"))
def test_stated_lower_bound_of_phi(name):
    problem = zoo(name)
    phi = phi_of(problem)
    generator = np.random.default_rng(SEED)
    for _ in range(200):
        assert phi([generator.uniform(a, b) for a, b in box_of(problem)]) >= float(problem.known["phi_lower"])


@pytest.mark.parametrize("name", with_field("stationary"))
def test_stationary_points(name):
    problem = zoo(name)
    derivation = derive(problem)
    for point in problem.known["stationary"]:
        x = list(point["x"])
        y = [0] * problem.dy
        if problem.dy:
            y = [v.subs(exact_point(problem, x)) for v in problem.known["y_star"]] if "y_star" in problem.known else y
        gradient = derivation.evaluate("hypergradient", x, y, digits=30)
        hessian = derivation.evaluate("hyper_hessian", x, y, digits=30)
        assert max(abs(v) for v in gradient) < 1e-25, name
        values = np.linalg.eigvalsh(np.array(hessian.tolist(), dtype=float))
        if "eigenvalues" in point:
            assert values == pytest.approx(sorted(float(v) for v in point["eigenvalues"]), abs=1e-6)
        else:
            assert values[0] == pytest.approx(float(point["least_eigenvalue"]), abs=1e-12)
        if "value" in point:
            assert phi_of(problem)([float(v) for v in x]) == pytest.approx(float(point["value"]), abs=1e-12)


@pytest.mark.parametrize(("name", "knob"), [("tail", "p"), ("ncr", "n")])
def test_tables_of_constants(name, knob):
    from test_problems_zoo_constants import Attack, forms

    for constant, rows in record(name).known["table"].items():
        if constant == "least_eigenvalue":
            continue
        for setting, value in rows[: None if name == "tail" else 2]:
            extra = {"n": setting} if name == "ncr" else {knob: setting}
            problem = zoo(name, **extra) if name == "tail" or setting == 3 else None
            if problem is None:
                continue
            generator = np.random.default_rng(SEED)
            seen = max(Attack(problem, e, b, s, generator).best() for e, b, s in forms(problem, constant))
            assert seen == pytest.approx(float(value), rel=2e-3 if name == "ncr" else 1e-4)


def test_hoelder_f_minima():
    for nu, value, place in record("hoelder-f").known["table"]["minimum"]:
        problem = zoo("hoelder-f", nu=nu)
        best = minimize_scalar(
            lambda v, p=problem: phi_of(p)([v]), bounds=(-2, 0), method="bounded", options={"xatol": 1e-10}
        )
        assert best.fun == pytest.approx(float(value), abs=1e-6)
        assert best.x == pytest.approx(float(place), abs=1e-5)


def test_shen_chen_local_minima():
    problem = zoo("shen-chen-wide")
    phi = phi_of(problem)
    for place, value in record("shen-chen").known["table"]["local_minima"]:
        centre = float(place)
        best = minimize_scalar(
            lambda v: phi([v]), bounds=(centre - 0.1, centre + 0.1), method="bounded", options={"xatol": 1e-10}
        )
        assert best.fun == pytest.approx(float(value), abs=1e-6)
        assert best.x == pytest.approx(centre, abs=1e-4)


@pytest.mark.parametrize("T", [2, 3])
def test_chain_gradient_never_small_before_the_end(T):
    problem = zoo("chain-1", n=T)
    gradient = evaluator([problem.f.diff(s) for s in problem.x], problem.x)
    generator = np.random.default_rng(SEED)
    for _ in range(300):
        x = generator.uniform(-4, 4, T)
        x[generator.integers(0, T)] = generator.uniform(-1, 1)
        assert np.linalg.norm(gradient(*x)) > 1


# -- simple bilevel ---------------------------------------------------------------------------------------------------


def sample_set(problem, generator, count):
    feasible = problem.feasible
    n = problem.dx
    match type(feasible).__name__:
        case "Box":
            low, high = np.array(feasible.lo), np.array(feasible.hi)
            raw = generator.random((count, n))
            return low + (high - low) * np.where(generator.random((count, n)) < 0.25, np.round(raw), raw)
        case "Ball":
            raw = generator.standard_normal((count, n))
            radius = np.where(generator.random(count) < 0.6, 1.0, generator.random(count) ** (1 / n))
            return feasible.radius * raw / np.linalg.norm(raw, axis=1)[:, None] * radius[:, None] * (1 - 1e-15)
        case "Simplex":
            return feasible.total * generator.dirichlet(np.full(n, 0.6), count)
        case _:
            return (
                np.abs(generator.standard_normal((count, n)))
                * generator.choice([0.01, 1.0, 3.0], (count, 1))
                * (generator.random((count, n)) < 0.7)
            )


def simplex_projection(x):
    u = -np.sort(-x, axis=1)
    c = (np.cumsum(u, axis=1) - 1) / np.arange(1, x.shape[1] + 1)
    k = np.sum(u > c, axis=1) - 1
    return np.maximum(x - c[np.arange(len(x)), k][:, None], 0)


def segment(x, a, b):
    a, b = np.asarray(a, float), np.asarray(b, float)
    t = np.clip(((x - a) @ (b - a)) / ((b - a) @ (b - a)), 0, 1)
    return a + t[:, None] * (b - a)


def half_plane_in_box(x):
    plain = np.clip(x, 0, 2)
    return np.where((plain.sum(axis=1) <= 1)[:, None], plain, simplex_projection(x))


SOLUTIONS = {
    "linear-inverse": simplex_projection,
    "weak-sharp": lambda x: x * np.array([0, 1]),
    "power-hoelderian": lambda x: x * np.array([0, 1]),
    "disc": lambda x: np.broadcast_to([1.0, 0.0], x.shape),
    "half-space-vertex": half_plane_in_box,
    "half-space-interior": half_plane_in_box,
    "simplex": lambda x: segment(x, (0.5, 0.5, 0), (0, 0, 1)),
    "ball-chord-end": lambda x: segment(x, (1, 0), (0, 1)),
    "ball-chord-inside": lambda x: segment(x, (1, 0), (0, 1)),
    "ball-tangent": lambda x: np.broadcast_to(np.full(2, math.sqrt(0.5)), x.shape),
    "ill-conditioned": lambda x: segment(x, (0.5, 0.5, -math.sqrt(0.5)), (0.5, 0.5, math.sqrt(0.5))),
    "chain-simple": lambda x: np.broadcast_to(1 - np.arange(1, x.shape[1] + 1) / (x.shape[1] + 1), x.shape),
}
"""Projection on the set of lower-level solutions, by hand."""


@pytest.mark.parametrize("name", sorted(SOLUTIONS))
def test_simple_bilevel_answers(name):
    problem = zoo(name)
    known = problem.known
    f, g = evaluator(problem.f, problem.x), evaluator(problem.g, problem.x)
    generator = np.random.default_rng(SEED)
    points = sample_set(problem, generator, 20_000)
    solutions = SOLUTIONS[name](points)
    g_star = float(known["g_star"])
    assert np.allclose(g(*solutions.T), g_star, atol=1e-12)
    assert all(problem.feasible.contains(s, 1e-9) for s in solutions[:50])
    assert np.min(g(*points.T)) >= g_star - 1e-12
    best = float(np.min(f(*solutions.T)))
    f_star = float(known["f_star"]) if "f_star" in known else float(f(*[float(v) for v in known["x_star"]]))
    assert best >= f_star - 1e-9
    if "x_star" in known:
        x_star = [float(v) for v in known["x_star"]]
        assert problem.feasible.contains(x_star, 1e-12)
        assert float(f(*x_star)) == pytest.approx(f_star, abs=1e-12)
        assert float(g(*x_star)) == pytest.approx(g_star, abs=1e-12)
    else:
        assert best <= f_star + 2e-3
    r, alpha = float(known["constants"]["r"]), float(known["constants"]["alpha"])
    distance = np.linalg.norm(points - solutions, axis=1)
    keep = distance > 1e-3
    ratio = float(np.min(r * (g(*points.T)[keep] - g_star) / distance[keep] ** r))
    assert ratio >= alpha * (1 - 1e-6), f"{name}: error bound {ratio} below alpha {alpha} (seed {SEED})"
    assert ratio <= alpha * 1.25 + 1e-12, f"{name}: alpha {alpha} is far from tight, seen {ratio}"
    if "M" in known["constants"]:
        gradient = np.array(evaluator([problem.f.diff(s) for s in problem.x], problem.x)(*solutions.T))
        assert np.max(np.linalg.norm(np.atleast_2d(gradient), axis=0)) <= float(known["constants"]["M"]) + 1e-12


# -- diabetes ---------------------------------------------------------------------------------------------------------


def test_diabetes_values():
    problem = zoo("diabetes-ridge-wide")
    G, c, Gv, cv, vv = (problem.data[k] for k in ("G", "c", "Gv", "cv", "vv"))
    assert np.linalg.eigvalsh(G)[[0, -1]] == pytest.approx([0.00777829, 4.28143518], abs=1e-8)

    def phi(weights):
        w = np.linalg.solve(G + np.diag(np.exp(np.broadcast_to(weights, 10))), c)
        return w @ Gv @ w / 2 - cv @ w + vv[0] / 2

    assert phi(0.0) == pytest.approx(0.25592626, abs=5e-9)
    assert phi(-8.0) == pytest.approx(0.24295377, abs=5e-9)
    best = minimize_scalar(phi, bounds=(-8, 4), method="bounded", options={"xatol": 1e-11})
    assert best.fun == pytest.approx(0.2408010830, abs=5e-11)
    assert best.x == pytest.approx(-2.02564141, abs=1e-6)
    ten = minimize(
        phi,
        np.zeros(10),
        method="L-BFGS-B",
        bounds=[(-8, 4)] * 10,
        options={"ftol": 1e-15, "gtol": 1e-10, "maxiter": 3000},
    )
    assert ten.fun == pytest.approx(0.2304338322, abs=2e-8)
    f = evaluator(problem.f, problem.variables)
    w = np.linalg.solve(G + np.eye(10), c)
    assert float(f(0.0, *w)) == pytest.approx(phi(0.0), rel=1e-13)
    assert np.linalg.norm(np.linalg.solve(G + math.exp(-8) * np.eye(10), c)) <= 0.980983 + 1e-6
    assert all(abs(v) <= 1 for v in np.linalg.solve(G + math.exp(-8) * np.eye(10), c))


# -- negative controls ------------------------------------------------------------------------------------------------


def test_every_control_names_a_verdict():
    controls = [r for r in ENTRIES if r.control]
    assert len(controls) >= 14
    assert {r.control.verdict for r in controls} <= {"not applicable", "undecided"}
    assert all(r.control.because and r.control.hypothesis for r in controls)


def test_flat_lower_level_is_singular():
    with pytest.raises(MathematicalError):
        derive(zoo("flat-lower")).evaluate("hypergradient", [0.5], [0.5, 0.1])


def test_quartic_lower_level_raises_at_zero_and_works_elsewhere():
    derivation = derive(zoo("quartic-lower"))
    with pytest.raises(MathematicalError):
        derivation.evaluate("hypergradient", [0], [0])
    value = derivation.evaluate("hypergradient", [8], [2])
    assert float(value[0]) == pytest.approx(math.cos(2) / 12, rel=1e-14)


@pytest.mark.parametrize(("a", "mu"), [(-1, 0), ("1/2", 0.25)])
def test_vanishing_curvature(a, mu):
    problem = zoo("vanishing-curvature", a=a)
    curvature = problem.g.diff(problem.y[0], 2)
    low, high = (float(e) for e in problem.range_of(problem.x[0]))
    grid = np.linspace(low, high, 201)
    assert min(float(curvature.subs(problem.x[0], v)) for v in grid) == pytest.approx(mu, abs=1e-30)


def test_kinks_of_the_power_controls():
    first = derive(zoo("half-power-hessian"))
    assert float(first.evaluate("hyper_hessian", [0.25])[0, 0]) == pytest.approx(0.5)
    assert float(first.evaluate("hyper_hessian", [0])[0, 0]) == 0
    with pytest.raises(MathematicalError):
        derive(zoo("half-power-gradient")).evaluate("hyper_hessian", [0])


def test_not_concave_value():
    f = evaluator(zoo("not-concave").f, zoo("not-concave").variables)
    grid = np.linspace(-2, 2, 40001)
    assert np.max(f(0.01, grid)) == pytest.approx(0.01002487, abs=1e-8)
    assert np.max(f(0.0, grid)) == 0


def test_third_derivative_jumps():
    problem = zoo("third-derivative-jump")
    third = derive(problem).block("g_yyy")[0, 0, 0]
    values = [float(third.subs({problem.x[0]: 0, problem.y[0]: v})) for v in (-1e-9, 1e-9)]
    assert values == [-1.0, 1.0]
    with pytest.raises(MathematicalError):
        derive(problem).block("g_yyyy")


def test_no_error_bound_is_convex_on_its_set():
    problem = zoo("no-error-bound")
    second = evaluator(problem.g.diff(problem.x[0], 2), problem.x)
    assert np.all(np.asarray(second(np.linspace(0.05, 0.5, 500))) >= 0)
    assert float(sympy.Rational(1, 5) ** 0) == 1
    wide = np.asarray(second(np.array([0.9])))
    assert wide[0] < 0, "on [0, 1] it is not convex, hence the smaller set"

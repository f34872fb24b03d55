"""At least forty right solvers, each in a style of its own, and not one false alarm; slips of the same hand are told.

The new ones were typed from the pseudo-code and docs/testing.md alone.
"""

from __future__ import annotations

import itertools
import math
from collections import deque, namedtuple
from dataclasses import dataclass, field
from operator import itemgetter

import numpy as np
import pytest
import test_testing_other_hands as other
import test_testing_strangers as strangers
import test_testing_styles as styles
from scipy import optimize
from scipy.sparse.linalg import LinearOperator, cg

from bilevel_verify.testing import (
    BrokenContract,
    Profile,
    assert_black_box,
    assert_hypergradient,
    assert_inner_solver_rate,
    assert_linear_solver,
    assert_same_iterates,
    assert_stationary,
)
from bilevel_verify.testing.controls.broken import REFERENCES, detection_matrix

SHORT = Profile("short", 6)


# --- named methods, line against line ---


def recursive(slip=""):
    """Restarted AGD without a loop: a step calls the next one, an epoch the next epoch."""

    def solver(oracles, x0, p):
        def step(x, y, moved):
            back = y[-1] - y[-2] if slip == "momentum of y" and len(y) > 1 else x[-1] - x[-2]
            y = (*y, x[-1] + (1 - p["theta"]) * back)
            x = (*x, y[-1] - p["eta"] * oracles.grad_x_f(y[-1]))
            moved = moved + math.dist(x[-1], x[-2]) ** 2
            if len(y) * moved > p["B"] ** 2:
                return True, x, y
            return (False, x, y) if len(y) >= p["K"] else step(x, y, moved)

        def epoch(start, before):
            again, x, y = step((start, start), (), 0.0)
            done = [*before, list(x[1:])]
            if again:
                return epoch(x[-1], done)
            moves = [math.dist(a, b) for a, b in itertools.pairwise(x[1:])]
            last = p["K"] // 2 + moves[p["K"] // 2 :].index(min(moves[p["K"] // 2 :]))
            return done, y[-1] if slip == "last y" else sum(y[: last + 1]) / (last + 1)

        return epoch(x0, [])

    return solver


Ball = namedtuple("Ball", "old new moved k")


def by_states(slip=""):
    """Restarted heavy ball: named tuples that are replaced, never changed."""

    def solver(oracles, x0, p):
        weight = (1 - 2 * p["theta"]) * (1 - p["theta"])
        epochs, start = [], x0
        while True:
            path = [Ball(start, start, 0.0, 0)]
            while path[-1].k < p["K"]:
                old, new, moved, k = path[-1]
                momentum = (1 - p["theta"]) * (new - old)
                at = new + momentum if slip == "gradient ahead" else new
                later = new - p["eta"] * oracles.grad_x_f(at) + momentum
                path.append(Ball(new, later, moved + np.vdot(later - new, later - new), k + 1))
                if path[-1].k * path[-1].moved > p["B"] ** 2:
                    break
            epochs.append([state.new for state in path])
            if path[-1].k * path[-1].moved <= p["B"] ** 2:
                half = range(p["K"] // 2, p["K"])
                last = min(half, key=lambda k: (np.linalg.norm(path[k + 1].new - path[k].new), k))
                many = last + (2 if slip == "one too many" else 1)
                return epochs, np.add.reduce([state.new for state in path[: last + 1]]) / many
            start = np.average([path[-1].new, path[-1].old], axis=0, weights=[1, weight])

    return solver


@dataclass
class Implicit:
    """AID-BiO as an object whose fields are its state; linear systems by SciPy's CG."""

    slip: str = ""
    rows: list = field(default_factory=list)

    def __call__(self, oracles, x0, p):
        x, y, v, self.rows = x0, p["y0"], p["v0"], [x0]
        for _ in range(p["steps"]):
            before = y
            for _ in range(p["D"]):
                y = y - p["alpha"] * oracles.grad_y_g(x, y)
            fx, fy = oracles.grad_f(x, before if self.slip == "stale y" else y)
            product = lambda d, x=x, y=y: oracles.hvp_yy_g(x, y, np.ravel(d))
            A = LinearOperator((len(y), len(y)), matvec=product, dtype=float)  # without dtype it asks once more
            start = 0 * v if self.slip == "cold start" else v
            v = cg(A, fy, x0=start, rtol=0.0, atol=1e-300, maxiter=p["N_cg"])[0]
            x = x - p["beta"] * (fx - oracles.jvp_xy_g(x, y, v))
            self.rows.append(x)
        return self.rows


def backwards(slip=""):
    """ITD-BiO: the way of the lower level kept in a stack and popped."""

    def solver(oracles, x0, p):
        x, y, rows = x0, p["y0"], [x0]
        for _ in range(p["steps"]):
            stack = [y]
            for _ in range(p["D"]):
                stack.append(stack[-1] - p["alpha"] * oracles.grad_y_g(x, stack[-1]))
            y = stack[-1]
            slope, adjoint = oracles.grad_f(x, y)
            if slip != "one point late":
                stack.pop()
            for _ in range(p["D"]):
                at = stack.pop()
                slope = slope - p["alpha"] * oracles.jvp_xy_g(x, at, adjoint)
                adjoint = adjoint - p["alpha"] * oracles.hvp_yy_g(x, at, adjoint)
            x = x - p["beta"] * slope
            rows.append(x)
        return rows

    return solver


def by_queues(slip=""):
    """AccF2BA: the last two points in a deque, inner solvers as generators."""

    def nesterov(gradient, z, steps, alpha, beta):
        ahead = z
        for _ in range(steps):
            z, old = ahead - alpha * gradient(ahead), z
            ahead = z + beta * (z - old)
            yield z

    def solver(oracles, x0, p):
        lam, epochs, recent = p["lam"], [], deque([x0, x0], maxlen=2)
        y = z = p["y0"]
        while True:
            x, w, sizes = [recent[-1]], [], []
            while len(w) < p["K"]:
                w.append(recent[1] * (2 - p["theta"]) - recent[0] * (1 - p["theta"]))
                at = w[-1]
                *_, z = nesterov(lambda v, at=at: oracles.grad_y_g(at, v), z, p["T"], p["alpha"], p["beta"])
                both = lambda v, at=at: oracles.grad_y_f(at, v) + lam * oracles.grad_y_g(at, v)
                *_, y = nesterov(both, y, p["Tp"], p["alpha_p"], p["beta_p"])
                u = oracles.grad_x_f(at, y) + lam * (oracles.grad_x_g(at, y) - oracles.grad_x_g(at, z))
                recent.append(at - p["eta"] * u)
                x.append(recent[-1])
                sizes.append(np.sum(np.square(recent[1] - recent[0])))
                if len(sizes) * sum(sizes) > p["B"] ** 2:
                    break
            epochs.append(x)
            if len(sizes) * sum(sizes) <= p["B"] ** 2:
                last = min(enumerate(sizes[p["K"] // 2 :], p["K"] // 2), key=itemgetter(1))[0]
                return epochs, np.mean((x if slip == "average of x" else w)[: last + 1], axis=0)
            if slip != "momentum kept":
                recent = deque([recent[1]] * 2, maxlen=2)

    return solver


def closed_weights(slip=""):
    """AGM-BiO with A_k/(A_k + a_k) = k/(k+2), so that no weight is ever added up."""

    def solver(oracles, x0, p):
        x = z = x0
        rows = [x]
        for k in range(p["K"]):
            y = (k * x + 2 * z) / (k + 2)
            a = p["gamma"] * (k + (2 if slip == "weight" else 1)) / (4 * p["L_f"])
            at = x if slip == "cut at x" else y
            c = oracles.grad_g(at)
            z = oracles.halfspace(z - a * oracles.grad_f(y)[0], c, p["g_k"][k] - oracles.value_g(at) + c @ at)
            x = (k * x + 2 * z) / (k + 2)
            rows.append(x)
        return np.vstack(rows)

    return solver


def bare_floats(slip=0):
    """Bi-SG on lists of Python floats."""

    def solver(oracles, x0, p):
        x, rows = x0.tolist(), [x0.tolist()]
        for k in range(1, p["K"] + 1):
            slope = oracles.grad_g(np.array(x)).tolist()
            y = oracles.project(np.array([a - p["t"] * b for a, b in zip(x, slope)]))
            weight = p["c"] / math.pow(k + slip, p["alpha"])
            x = [a - weight * b for a, b in zip(y.tolist(), oracles.grad_f(y)[0].tolist())]
            rows.append(x)
        return rows

    return solver


def coroutine(slip=""):
    """BiG-SAM: a coroutine is sent the two gradient steps and gives back their mix."""

    def mix(c):
        x = yield
        for k in itertools.count(1):
            z, y = x
            share = min(c / k, 1)
            x = yield share * z + (1 - share) * y

    def solver(oracles, x0, p):
        mixing = mix(p["c"])
        next(mixing)
        rows = [x0]
        while len(rows) <= p["K"]:
            x = rows[-1]
            y = oracles.project(x - p["t"] * oracles.grad_g(x))
            at = y if slip == "from y" else x
            rows.append(mixing.send((at - p["s"] * oracles.grad_f(at)[0], y)))
        return tuple(rows)

    return solver


def by_einsum(slip=1.0):
    """DBGD, all sums by einsum."""

    def solver(oracles, x0, p):
        rows = [x0]
        for _ in range(p["K"]):
            x = rows[-1]
            both = np.stack([oracles.grad_f(x)[0], oracles.grad_g(x)])
            gram = np.einsum("in,jn->ij", both, both)
            phi = min(p["a"] * (oracles.value_g(x) - p["g_hat"]), p["b"] * gram[1, 1])
            weights = np.array([1.0, slip * max((phi - gram[0, 1]) / gram[1, 1], 0.0)])
            rows.append(oracles.project(x - p["s"] * np.einsum("i,in->n", weights, both)))
        return rows

    return solver


def extended(oracles, x0, p):
    """Gradient descent in extended precision."""
    x = x0.astype(np.longdouble)
    rows = [x]
    for _ in range(p["N"]):
        x = x - np.longdouble(p["eta"]) * oracles.grad_x_f(x.astype(float))
        rows.append(x)
    return np.array(rows, dtype=float)


# --- parts of a solver ---


def three_sequences(slip=""):
    """AGD as Nesterov's estimate sequence: y between x and the minimiser z of the estimate."""

    def solver(gradient, y0, mu, L, steps):
        q = math.sqrt(mu / L)
        x = z = y0
        rows = [y0]
        for k in range(steps):
            y = (x + q * z) / (1 + q)
            if slip == "momentum for convex functions":
                y = rows[-1] + (k - 1) / (k + 2) * (rows[-1] - rows[-2]) if k else y0
            slope = gradient(y)
            x, z = y - slope / L, (1 - q) * z + q * (y - slope / mu)
            rows.append(y if slip == "extrapolated point" else x)
        return rows

    return solver


def by_residuals(slip=""):
    """Conjugate residuals."""

    def solver(apply, b, tolerance):
        v, r = np.zeros_like(b), b
        p, Ar = r, apply(r)
        Ap = Ar
        limit = tolerance * np.linalg.norm(b) * (1e3 if slip else 1)
        while np.linalg.norm(r) > limit:
            top = r @ Ar
            share = top / (Ap @ Ap)
            v, r = v + share * p, r - share * Ap
            if np.linalg.norm(r) <= limit:
                break
            Ar = apply(r)
            more = (r @ Ar) / top
            p, Ap = r + more * p, Ar + more * Ap
        return v

    return solver


def newton(oracles, x):
    y, size = np.zeros(oracles.dy), np.inf
    while size > 1e-12:
        H = np.array([oracles.hvp_yy_g(x, y, e) for e in np.eye(oracles.dy)])
        step = np.linalg.inv(H) @ oracles.grad_y_g(x, y)
        y, size = y - step, (step @ step) / max(1.0, y @ y) if np.any(step) else 0.0
    return y, H


def forward(slip=""):
    """The hypergradient forwards: the derivative of y*, column by column, by least squares."""

    def hypergradient(oracles, x):
        y, H = newton(oracles, x)
        mixed = np.array([oracles.jvp_xy_g(x, y, e) for e in np.eye(oracles.dy)])
        slopes = np.linalg.lstsq(H, -mixed, rcond=None)[0]
        fx, fy = oracles.grad_f(x, np.zeros_like(y) if slip == "at the first y" else y)
        return fx + (2 if slip == "twice" else 1) * np.tensordot(slopes, fy, axes=(0, 0))

    return hypergradient


def quasi_newton(slip=""):
    """A whole solver that hands the hyper-objective to SciPy's BFGS."""

    def solver(oracles, x0, eps):
        value = lambda x: float(oracles.value_f(x, newton(oracles, x)[0]))
        limit = 20 * eps if slip else 0.5 * eps
        found = optimize.minimize(
            value, x0, jac=lambda x: forward()(oracles, x), method="BFGS", options={"gtol": limit, "norm": 2}
        )
        return found.x, newton(oracles, found.x)[0]

    return solver


def line_against_line(method, solver):
    return lambda profile: assert_same_iterates(solver, method, profile_=profile)


NEW = {
    "recursion": line_against_line("restarted-agd", recursive()),
    "immutable states": line_against_line("restarted-hb", by_states()),
    "dataclass, SciPy CG": line_against_line("aid-bio", Implicit()),
    "a stack": line_against_line("itd-bio", backwards()),
    "deque and generators": line_against_line("accf2ba", by_queues()),
    "closed weights": line_against_line("agm-bio", closed_weights()),
    "lists of floats": line_against_line("bi-sg", bare_floats()),
    "coroutine": line_against_line("big-sam", coroutine()),
    "einsum": line_against_line("dbgd", by_einsum()),
    "extended precision": line_against_line("gradient-descent", extended),
    "three sequences": lambda profile: assert_inner_solver_rate(three_sequences(), profile_=profile),
    "conjugate residuals": lambda profile: assert_linear_solver(by_residuals(), profile_=profile),
    "forward derivatives": lambda profile: assert_hypergradient(forward(), profile_=profile),
    "SciPy BFGS": lambda profile: assert_stationary(quasi_newton(), profile_=profile),
    "SciPy BFGS as a black box": lambda profile: assert_black_box(quasi_newton(), profile_=profile),
}
"""Style -> what is asserted of a right solver written in it."""

WRONG = {
    "momentum of y": line_against_line("restarted-agd", recursive("momentum of y")),
    "returns the last y": line_against_line("restarted-agd", recursive("last y")),
    "gradient ahead": line_against_line("restarted-hb", by_states("gradient ahead")),
    "average by one too many": line_against_line("restarted-hb", by_states("one too many")),
    "gradient at the stale y": line_against_line("aid-bio", Implicit("stale y")),
    "cold start of v": line_against_line("aid-bio", Implicit("cold start")),
    "one point late": line_against_line("itd-bio", backwards("one point late")),
    "average of x for w": line_against_line("accf2ba", by_queues("average of x")),
    "momentum kept over a restart": line_against_line("accf2ba", by_queues("momentum kept")),
    "weight by one too many": line_against_line("agm-bio", closed_weights("weight")),
    "cut at x": line_against_line("agm-bio", closed_weights("cut at x")),
    "weight begins late": line_against_line("bi-sg", bare_floats(1)),
    "upper step from y": line_against_line("big-sam", coroutine("from y")),
    "weight twice": line_against_line("dbgd", by_einsum(2.0)),
    "extrapolated point": lambda profile: assert_inner_solver_rate(
        three_sequences("extrapolated point"), profile_=profile
    ),
    "momentum for convex functions": lambda profile: assert_inner_solver_rate(
        three_sequences("momentum for convex functions"), profile_=profile
    ),
    "tolerance too large": lambda profile: assert_linear_solver(by_residuals("loose"), profile_=profile),
    "implicit part twice": lambda profile: assert_hypergradient(forward("twice"), profile_=profile),
    "at the first y": lambda profile: assert_hypergradient(forward("at the first y"), profile_=profile),
    "stops early": lambda profile: assert_stationary(quasi_newton("early"), profile_=profile),
}


BEFORE = {
    **{
        f"{method}: {solver.__name__}": line_against_line(method, solver)
        for method, solvers in styles.STYLES.items()
        for solver in solvers
    },
    "gdmax: no g": line_against_line("gdmax", other.ascent),
    "cg-bio: closures": line_against_line("cg-bio", other.conditional()),
    "cg-bio: with its start": line_against_line("cg-bio", other.conditional(lead=True)),
    "a-irg: flat list": line_against_line("a-irg", other.regularised()),
    "ifsba: products only": line_against_line("ifsba", other.inexact()),
    "convex-until-guilty: lists and min": line_against_line("convex-until-guilty", other.guarded()),
    "r-apm: letters of FISTA": line_against_line("r-apm", strangers.proximal(False)),
    "backtracking, SciPy's Cholesky": lambda profile: assert_stationary(strangers.descent(""), profile_=profile),
}
"""Right solvers of other tests, by method and hand."""


def test_there_are_more_than_forty_right_solvers():
    """With JAX and PyTorch (``test_testing_styles``, ``examples``) there are four more."""
    assert (len(NEW), len(BEFORE)) == (15, 17)
    assert len(NEW) + len(BEFORE) + len(REFERENCES) >= 45


@pytest.mark.parametrize("name", BEFORE)
def test_no_false_alarm_on_other_hands(name):
    BEFORE[name](Profile("short", 5))


@pytest.mark.parametrize("reference", REFERENCES, ids=lambda one: one.name)
def test_no_false_alarm_on_a_reference(reference):
    found = detection_matrix(Profile("short", 3), (reference,), seed=11, metamorphic=False).cells[reference.name]
    assert {name: contract for name, contract in found.items() if contract} == {}


@pytest.mark.parametrize("style", NEW)
def test_no_false_alarm_on_a_new_style(style):
    NEW[style](SHORT)


@pytest.mark.parametrize("slip", WRONG)
def test_slips_of_the_same_hand_are_told_by_the_defaults(slip, monkeypatch):
    monkeypatch.setattr("bilevel_verify.testing.assertions.same_lines._explanation", lambda *given: "")
    with pytest.raises(BrokenContract):
        WRONG[slip]("quick")

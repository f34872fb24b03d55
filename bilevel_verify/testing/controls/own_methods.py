"""The methods of this package as callables of the kit: they are tested as anybody's solver is.

A method runs on closures (no SymPy form): a stand-in for the problem hands its loop the functions it asks for, and the
calls are logged by the kit's own oracles, which is how the package's counters are checked.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from bilevel_verify.testing.assertions.gradients import assert_hypergradient
from bilevel_verify.testing.assertions.inner_solvers import assert_inner_solver_rate
from bilevel_verify.testing.assertions.metamorphic import assert_metamorphic, relations_for
from bilevel_verify.testing.assertions.simple_solvers import assert_simple_bilevel
from bilevel_verify.testing.assertions.solvers import (
    assert_counts,
    assert_descent,
    assert_same_iterates,
    assert_stationary,
)
from bilevel_verify.testing.controls.broken import SOLVER_RELATIONS, Assertion, Control, assertion
from bilevel_verify.testing.references import accelerated_descent
from bilevel_verify.testing.trials.common import KINDS

if TYPE_CHECKING:
    from bilevel_verify.methods.run import Run
    from bilevel_verify.oracles.convention import OracleSet
    from bilevel_verify.testing.instances.counting import CountedOracles

FloatArray = NDArray[np.float64]
Gradient = Callable[[FloatArray], FloatArray]
EVALUATIONS = ("value_f", "value_g", "grad_f", "grad_g", "grad_x_f", "grad_y_f", "grad_x_g", "grad_y_g")
PRODUCTS = ("hvp_yy_g", "jvp_xy_g", "jvp_yx_g")


class _Functions:
    """The oracles of a kit's problem in the form that solver loops take: ``(x, y, out)`` and ``(x, y, v, out)``."""

    def __init__(self, asked: object) -> None:
        self.asked = asked

    def can_compile(self, names: Sequence[str]) -> bool:
        """Never: they are closures."""
        return False

    def function_set(self, names: Sequence[str], form: str = "plain") -> OracleSet:
        """The named functions; everything else is a stub that does nothing."""
        from bilevel_verify.oracles import OracleSet

        return OracleSet(*(self._function(field) if field in names else _nothing for field in OracleSet._fields))

    def _function(self, field: str) -> Callable[..., None]:
        oracle = getattr(self.asked, field)

        def evaluate(*arguments: Any) -> None:
            *inputs, out = arguments
            found = oracle(*(np.array(a, dtype=float) for a in inputs))
            if field.startswith("hess"):
                xx, xy, yy = found
                found = np.block([[xx, xy], [xy.T, yy]]).ravel()
            flat = np.concatenate([np.atleast_1d(part) for part in found]) if isinstance(found, tuple) else found
            for place, value in enumerate(np.atleast_1d(flat).tolist()):
                out[place] = value

        return evaluate


def _nothing(*arguments: object) -> None:
    """A stub."""


def stand_in(asked: CountedOracles | SimpleNamespace) -> Any:
    """What a method needs to know of a problem: its kind, its sizes, and where to ask."""
    dy = getattr(asked, "dy", 0)
    return SimpleNamespace(
        kind=asked.kind,
        dx=asked.dx,
        dy=dy,
        x=tuple(range(asked.dx)),
        y=tuple(range(dy)),
        range_of=lambda symbol: (-math.inf, math.inf),
        start=None,
        name="an instance",
        ready_oracles=_Functions(asked),
    )


def run(
    asked: CountedOracles | SimpleNamespace,
    method: str,
    parameters: Mapping[str, object],
    x0: FloatArray,
    **options: Any,
) -> Run:
    """Run a method of this package on the kit's oracles."""
    from bilevel_verify.methods import run_method

    return run_method(stand_in(asked), method, parameters, x0, compiled=False, **options)


STEP = 2.0**-10
"""Length of the one outer step that shows the gradient."""
PENALTY = 1e5
"""Weight of the penalty methods: their hypergradient is off by O(1/lambda)."""


def inner_letters(asked: CountedOracles, lam: float = PENALTY) -> dict[str, float]:
    """Steps, momenta and lengths that solve inner problems to about 1e-10, by the paper's letters."""
    mu, L = asked.mu, asked.L
    upper = 8.0  # more than the curvature that f adds in y, relative to lam it is nothing
    low, high = lam * mu - upper, lam * L + upper
    agd, gd = math.ceil(math.sqrt(L / mu) * 60) + 5, math.ceil(L / mu * 28) + 5
    cg = 2 * asked.dy + 4
    return {
        "beta_gd": 1 / L,
        "alpha": 1 / L,
        "beta": _momentum(mu, L),
        "alpha_p": 1 / high,
        "beta_p": _momentum(low, high),
        "tau": 1 / high,
        "lam": lam,
        "agd": agd,
        "gd": gd,
        "cg": cg,
    }


def _momentum(mu: float, L: float) -> float:
    root = math.sqrt(mu / L)
    return (1 - root) / (1 + root)


def _letters(method: str, asked: CountedOracles) -> dict[str, float]:
    """Letters of one outer step of length 1e-3; the inner problems are solved well."""
    i = inner_letters(asked)
    restarted = {"eta": STEP, "theta": 0.5, "B": 1e9, "K": 1}
    agd_pair = {"alpha": i["alpha"], "beta": i["beta"]}
    penalty = {**agd_pair, "alpha_p": i["alpha_p"], "beta_p": i["beta_p"], "lam": i["lam"]}
    implicit = {"T_m1": i["agd"], "T_k": i["agd"], "Tp_0": i["cg"], "Tp_k": i["cg"]}
    table: dict[str, dict[str, Any]] = {
        "ba": {"alpha": STEP, "beta": i["alpha"], "c": float(i["gd"]), "steps": 1},
        "aid-bio": {"beta": STEP, "alpha": i["alpha"], "D": i["gd"], "N_cg": i["cg"], "steps": 1},
        "itd-bio": {"beta": STEP, "alpha": i["alpha"], "D": i["gd"], "steps": 1},
        "paid": {
            "eta": STEP,
            "alpha": i["alpha"],
            "D": i["gd"],
            "N_cg": i["cg"],
            "steps": 1,
            "T_pert": 1,
            "eps": 1e-300,
        },
        "rahgd": {**restarted, **agd_pair, **implicit},
        "prahgd": {**restarted, **agd_pair, **implicit},
        "f2ba": {"eta": STEP, "alpha": i["alpha"], "tau": i["tau"], "lam": i["lam"], "K": i["gd"], "T": 1},
        "accf2ba": {**restarted, **penalty, "T": i["agd"], "Tp": i["agd"]},
        "ragd-gs": {**penalty, "T_0": i["agd"], "T_k": i["agd"], "Tp_0": i["agd"], "Tp_k": i["agd"]}
        | {"L": 1 / STEP, "H_nu": 1.0, "nu_f": 1.0, "eps": 1e-3},
        "pragda": {**restarted, **agd_pair, "T_m1": i["agd"], "T_k": i["agd"]},
        "gdmax": {"eta_x": STEP, "eta_y": i["alpha"], "D": i["gd"], "steps": 1},
    }
    return table[method]


def gradient_of(method: str) -> Callable[..., FloatArray]:
    """The hypergradient that a method uses at its first step: ``(oracles, x) -> u``."""

    def hypergradient(asked: CountedOracles, x: FloatArray) -> FloatArray:
        options: dict[str, Any] = {"budget": {"calls": 10**6, "iterations": 1}}
        if method in ("prahgd", "pragda", "paid"):
            options["noise"] = np.zeros((1, asked.dx))
        found = run(asked, method, _letters(method, asked), x, **options)
        points = np.asarray(found.trace.x, dtype=float)
        return np.asarray((points[0] - points[1]) / STEP, dtype=np.float64)

    hypergradient.__name__ = method
    return hypergradient


def counts_of(method: str) -> Callable[..., tuple[FloatArray, dict[str, int]]]:
    """What a method reports to have asked, next to what it asked: ``(oracles, x0) -> (x, counts)``."""

    def solver(asked: CountedOracles, x0: FloatArray) -> tuple[FloatArray, dict[str, int]]:
        letters = {**_letters(method, asked), "K": 3} if method in _RESTARTED else _letters(method, asked)
        letters |= {"steps": 3} if "steps" in letters else {}
        options = {"noise": np.zeros((1, asked.dx))} if method in ("prahgd", "pragda", "paid") else {}
        found = run(asked, method, letters, x0, budget={"calls": 10**5, "iterations": 3}, **options)
        told: dict[str, int] = {}
        for kind, number in found.counts.items():
            name = kind.removeprefix("stop_")
            told[name] = told.get(name, 0) + number
        if asked.kind == "minimax":  # the package reports calls of g = -f as calls of f: split as they were made
            for kind, made in asked.counts.items():
                if kind.endswith("_g"):
                    told[kind], told[f"{kind[:-1]}f"] = made, told.get(f"{kind[:-1]}f", 0) - made
        return found.x, {kind: number for kind, number in told.items() if number or kind in asked.counts}

    solver.__name__ = method
    return solver


_RESTARTED = ("rahgd", "prahgd", "accf2ba", "pragda")


def accelerated(gradient: Gradient, y0: FloatArray, mu: float, L: float, steps: int) -> FloatArray:
    """``restarted-agd`` that never restarts, as a solver of strongly convex problems: all iterates."""
    asked = _one_level(gradient, len(y0))
    letters = {"eta": 1 / L, "theta": 1 - _momentum(mu, L), "B": 1e150, "K": steps}
    found = run(asked, "restarted-agd", letters, y0, budget={"calls": steps, "iterations": steps})
    return _iterates(found, steps)


def descending(gradient: Gradient, y0: FloatArray, mu: float, L: float, steps: int) -> FloatArray:
    """``gradient-descent`` with step 1/L: all iterates."""
    asked = _one_level(gradient, len(y0))
    return _iterates(run(asked, "gradient-descent", {"eta": 1 / L, "N": steps}, y0), steps)


def descent(asked: CountedOracles, x0: FloatArray, steps: int) -> FloatArray:
    """``gradient-descent`` on one level: all iterates."""
    return _iterates(run(asked, "gradient-descent", {"eta": 1 / asked.L, "N": steps}, x0), steps)


def _iterates(found: Run, steps: int) -> FloatArray:
    points: FloatArray = np.asarray(found.trace.x, dtype=float)
    return points[: steps + 1]


def _one_level(gradient: Gradient, n: int) -> SimpleNamespace:
    def both(x: FloatArray, y: FloatArray = ()) -> tuple[FloatArray, FloatArray]:  # type: ignore[assignment]
        return gradient(x), np.zeros(0)

    return SimpleNamespace(kind="single_level", dx=n, dy=0, grad_f=both, grad_x_f=lambda x, y=(): gradient(x))


def stationary(method: str) -> Callable[..., FloatArray]:
    """A method run until its own exact test of the gradient ends it: ``(oracles, x0, eps) -> x``, minimax problems."""

    def solver(asked: CountedOracles, x0: FloatArray, eps: float) -> FloatArray:
        instance = asked.instance
        steepest = instance.p.L + float(np.linalg.norm(instance.coupling, 2)) ** 2 / instance.mu
        letters = _letters(method, asked) | {"steps": 2000, "eps": 0.5 * eps}
        letters |= {"T": 2000} if method == "f2ba" else {}
        outer = {"ba": "alpha", "aid-bio": "beta", "itd-bio": "beta", "f2ba": "eta", "gdmax": "eta_x"}[method]
        found = run(asked, method, letters | {outer: 1 / steepest}, x0, budget=150_000)
        return np.asarray(found.x, dtype=float)

    solver.__name__ = method
    return solver


def second_order(method: str) -> Callable[..., FloatArray]:
    """A cubic Newton method until its own test ends it: ``(oracles, x0, eps) -> x``, on the SymPy form."""

    def solver(asked: CountedOracles, x0: FloatArray, eps: float) -> FloatArray:
        from bilevel_verify.methods import run_method

        mu, L = asked.mu, asked.L
        steps, lam = math.ceil(math.sqrt(L / mu) * 30) + 10, 1e4
        letters = {"M": 240.0, "T": 1600, "m": 2, "rho_bar": 240.0, "K": steps, "K1": steps, "K2": steps, "lam": lam}
        letters |= {"l1": L, "kappa1": L / mu, "l2": lam * L + 8, "kappa2": L / mu, "eps": 0.3 * eps}
        problem = asked.instance.problem()
        found = run_method(problem, method, letters, x0, compiled=False, budget=10**6)
        return np.asarray(found.x, dtype=float)

    solver.__name__ = method
    return solver


def simple_bilevel(method: str) -> Callable[..., FloatArray]:
    """A simple bilevel method on the SymPy form: ``(oracles, x0, tolerance) -> x``."""

    def solver(asked: Any, x0: FloatArray, tolerance: float) -> FloatArray:
        from bilevel_verify.methods import run_method

        L_f, L_g = asked.L_f, max(asked.L_g, 1e-3)
        letters = {
            "r-apm": {"eta": tolerance / 200, "gamma": 1 / (L_g + L_f), "K": 1500},
            "agm-bio": {"L_f": L_f, "L_g": L_g, "gamma": 1 / (2 * L_g / L_f * 1500 + 2), "K": 1500},
            "bi-sg": {"t": 1 / (L_f + L_g), "c": min(1.0, 1 / L_f), "K": 3000},
        }[method]
        found = run_method(asked.instance.problem(), method, letters, x0, budget=10**7)
        return np.asarray(found.x, dtype=float)

    solver.__name__ = method
    return solver


TWO_LEVEL = ("ba", "aid-bio", "itd-bio", "paid", "rahgd", "prahgd", "f2ba", "accf2ba", "ragd-gs")
PENALISED = ("f2ba", "accf2ba", "ragd-gs")
MINIMAX = ("pragda", "gdmax")
STOPPING = ("ba", "aid-bio", "itd-bio", "f2ba")
"""Methods with an exact test of the gradient that ends them."""
SIMPLE = ("r-apm", "agm-bio", "bi-sg")


def _control(name: str, protocol: str, function: Callable[..., object]) -> Control:
    return Control(name, protocol, lambda: function)


OWN: tuple[Control, ...] = (
    *(_control(f"{name}: hypergradient", "exact", gradient_of(name)) for name in TWO_LEVEL if name not in PENALISED),
    *(_control(f"{name}: hypergradient", "penalty", gradient_of(name)) for name in PENALISED),
    *(_control(f"{name}: hypergradient", "minimax", gradient_of(name)) for name in MINIMAX),
    *(_control(f"{name}: counts", "counts", counts_of(name)) for name in TWO_LEVEL),
    *(_control(f"{name}: counts", "minimax counts", counts_of(name)) for name in MINIMAX),
    *(_control(f"{name}: stationary", "stationary", stationary(name)) for name in (*STOPPING, "gdmax")),
    *(_control(f"{name}: stationary", "minimax stationary", second_order(name)) for name in ("mcn", "lmcn")),
    *(_control(f"{name}: stationary", "bilevel stationary", second_order(name)) for name in ("fsba", "lfsba")),
    *(_control(f"{name}: simple bilevel", "simple bilevel", simple_bilevel(name)) for name in SIMPLE),
    _control("restarted-agd: rate", "agd", accelerated),
    _control("gradient-descent: rate", "gd", descending),
    _control("gradient-descent: descent", "descent", descent),
)
"""The methods of the package as subjects of the assertions that apply."""


def _relations(tolerance: float, kinds: Sequence[str]) -> dict[str, Assertion]:
    return {
        f"metamorphic: {r}": assertion(assert_metamorphic, relation=r, tolerance=tolerance, kinds=kinds, budget=10**6)
        for r in relations_for(kinds)
    }


def _estimator(tolerance: float, kinds: Sequence[str]) -> dict[str, Assertion]:
    exact = assertion(assert_hypergradient, tolerance=tolerance, kinds=kinds, budget=10**6)
    return {"assert_hypergradient": exact, **_relations(2 * tolerance, kinds)}


OWN_ASSERTIONS: Mapping[str, Mapping[str, Assertion]] = {
    "exact": _estimator(1e-6, KINDS),
    "penalty": _estimator(1e-2, KINDS),
    "minimax": _estimator(1e-6, ("minimax",)),
    "counts": {"assert_counts": assertion(assert_counts, budget=10**6)},
    "minimax counts": {"assert_counts": assertion(assert_counts, budget=10**6, kinds=("minimax",))},
    "stationary": {"assert_stationary": assertion(assert_stationary, eps=1e-2, kinds=("minimax",))},
    "minimax stationary": {"assert_stationary": assertion(assert_stationary, eps=1e-2, kinds=("minimax",))},
    "bilevel stationary": {"assert_stationary": assertion(assert_stationary, eps=1e-2, kinds=("bilevel",))},
    "simple bilevel": {"assert_simple_bilevel": assertion(assert_simple_bilevel, tolerance=0.1)},
    "agd": {
        "assert_inner_solver_rate": assertion(assert_inner_solver_rate),
        "assert_same_iterates": assertion(assert_same_iterates, reference=accelerated_descent),
    },
    "gd": {"assert_inner_solver_rate": assertion(assert_inner_solver_rate, rate="gd")},
    "descent": {
        "assert_descent": assertion(assert_descent),
        **{f"metamorphic: {r}": assertion(assert_metamorphic, relation=r, protocol="solver") for r in SOLVER_RELATIONS},
    },
}

"""Every named method near trouble: exact solutions, warm starts, divergence, numbers that end, loops that do not."""

from __future__ import annotations

import functools

import numpy as np
import pytest
from methods_cases import BILEVEL, MINIMAX, SINGLE

import bilevel_verify as bv
from bilevel_verify.methods import METHODS, run_method

NAMES = [*SINGLE, *BILEVEL, *MINIMAX]
OUTER = {"eta": 0.1, "theta": 0.3, "B": 0.05, "K": 6}
AGD = {"alpha": 0.3, "beta": 0.1}
RAHGD = OUTER | AGD | {"T_m1": 6, "T_k": 4, "Tp_0": 9, "Tp_k": 9}
PRACTICAL = OUTER | {"B0": 0.4, "c": 2.0, "eps": 0.01, "L": 2.0, "rho": 1.0}
PENALTY = {"lam": 10.0, "alpha_p": 0.02, "beta_p": 0.4, **AGD}
LETTERS = {
    "gradient-descent": {"eta": 0.1, "N": 200},
    "gradient-descent-restarted": OUTER,
    "restarted-agd": OUTER,
    "restarted-agd-perturbed": OUTER | {"r": 1e-3},
    "restarted-hb": OUTER,
    "restarted-agd-practical": PRACTICAL,
    "restarted-agd-practical-perturbed": PRACTICAL | {"r": 1e-3},
    "restarted-hb-practical": PRACTICAL,
    "agd-jin": OUTER | {"gamma": 0.1, "s": 0.05},
    "convex-until-guilty": {"L": 2.0, "rho": 1.0, "eps": 1e-3},
    "ragd-gs": PENALTY | {"L": 10.0, "H_nu": 1.0, "nu_f": 1.0, "eps": 1e-3, "T_0": 9, "T_k": 5, "Tp_0": 9, "Tp_k": 5},
    "f2ba": {"eta": 0.1, "alpha": 0.3, "tau": 0.02, "lam": 10.0, "T": 100, "K": 5},
    "accf2ba": OUTER | PENALTY | {"T": 4, "Tp": 5},
    "aid-bio": {"alpha": 0.3, "beta": 0.1, "D": 3, "N_cg": 9, "steps": 100},
    "paid": {"alpha": 0.3, "eta": 0.1, "D": 3, "N_cg": 9, "steps": 100, "eps": 1e-3, "T_pert": 5, "r": 1e-3},
    "itd-bio": {"alpha": 0.3, "beta": 0.1, "D": 3, "steps": 100},
    "ba": {"alpha": 0.1, "beta": 0.3, "c": 1.0, "steps": 100, "N_cg": 9},
    "rahgd": RAHGD,
    "prahgd": RAHGD | {"r": 1e-3},
    "pragda": OUTER | AGD | {"T_m1": 6, "T_k": 4, "r": 1e-3},
    "gda": {"eta_x": 0.1, "eta_y": 0.3, "steps": 100},
    "gda-alternating": {"eta_x": 0.1, "eta_y": 0.3, "steps": 100},
    "gdmax": {"eta_x": 0.1, "eta_y": 0.3, "D": 3, "steps": 100},
}
STEP = {"f2ba": "eta", "ba": "alpha", "aid-bio": "beta", "itd-bio": "beta"} | dict.fromkeys(MINIMAX[1:], "eta_x")
NOISY = {name for name in NAMES if METHODS[name].noisy}


@functools.cache
def problem(name, term="x1**2"):
    """``term`` plus a square of y: the solution of the lower level is y = (x1, 0), the answer x = 0."""
    if name in SINGLE:
        return bv.single_level(f=f"{term} + x2**2/2", x="x1 x2")
    if name in MINIMAX:
        return bv.minimax(f=f"{term} + x1*y1 - y1**2 - y2**2", x="x1", y="y1 y2")
    return bv.bilevel(f=f"{term} + (y1 - x1)**2/2 + y2**2", g="(y1 - x1)**2 + y2**2", x="x1", y="y1 y2")


def run(name, start, change=None, term="x1**2", **more):
    x0 = [start, 0.0] if name in SINGLE else [start]
    more.setdefault("budget", 60_000)
    return run_method(problem(name, term), name, LETTERS[name] | (change or {}), x0, compiled=False, **more)


def silent(name):
    """No perturbation: explicit zeros."""
    return {"noise": [[0.0] * problem(name).dx]} if name in NOISY else {}


def test_every_named_method_is_here():
    assert set(LETTERS) == set(NAMES)


@pytest.mark.parametrize("name", NAMES)
def test_an_exact_solution_stays_where_it_is(name):
    result = run(name, 0.0, **silent(name))
    assert result.status in ("finished", "stationary")
    assert (result.x == 0).all()
    assert all((np.nan_to_num(rows) == 0).all() for rows in result.trace.sequences.values())


@pytest.mark.parametrize("name", [*BILEVEL, *MINIMAX])
def test_an_exact_warm_start_divides_nothing_by_zero(name):
    y0 = [1.5, 0.0] if name in BILEVEL else [0.75, 0.0]
    result = run(name, 1.5, y0=y0, **silent(name), **({"v0": [0.0, 0.0]} if "v" in METHODS[name].sequences else {}))
    assert result.status in ("finished", "stationary", "budget")
    assert np.isfinite(result.trace.x).all()
    assert np.isfinite(result.x).all()


@pytest.mark.parametrize("name", NAMES)
def test_a_long_way_into_convergence_nothing_is_lost(name):
    """Thousands of steps at the solution, down to numbers that underflow."""
    change = {"B": 1e-150} if "B" in LETTERS[name] else {"eps": 1e-290} if "eps" in LETTERS[name] else {}
    change |= {n: 3000 for n in ("N", "steps", "T") if n in LETTERS[name] and name != "accf2ba"}
    result = run(name, 1.0, change, **silent(name), budget={"calls": 60_000, "iterations": 4000})
    assert result.status in ("finished", "stationary", "budget")
    assert np.isfinite(result.trace.x).all()
    assert np.abs(result.x).max() < 0.1


@pytest.mark.parametrize("name", [name for name in NAMES if name != "convex-until-guilty"])  # it compares values
def test_divergence_stops_the_run_with_its_iterate(name):
    if name == "ragd-gs":
        change = {"L": 1e-3}
    else:
        change = {STEP.get(name, "eta"): 50.0, **({"B0": 1e300} if "B0" in LETTERS[name] else {})}
    change |= {"K": 10**6} if "K" in LETTERS[name] and name != "f2ba" else {}
    change |= {n: 10**6 for n in ("N", "steps") if n in LETTERS[name]}
    result = run(name, 1.0, change, **silent(name))
    assert result.status in ("diverged", "not finite")
    assert np.isfinite(result.x).all()
    assert int(result.trace.k[-1]) >= 0
    assert "stopped at t" in result.note
    assert not np.linalg.norm(result.trace.x[-1]) < 1e90


@pytest.mark.parametrize("name", NAMES)
def test_a_number_that_does_not_exist_stops_the_run(name):
    """x^(7/2) has no gradient beyond 0, and the first steps lead there."""
    change = {STEP.get(name, "eta"): 3.0}
    if name == "convex-until-guilty":
        change = {"L": 0.2, "rho": 0.01, "eps": 1e-9}
    elif name == "ragd-gs":
        change = {"L": 0.2}
    change |= {"B0": 1e6} if "B0" in LETTERS[name] else {}
    change |= {"K": 10**6} if "K" in LETTERS[name] and name != "f2ba" else {}
    result = run(name, 1.0, change, term="x1**(7/2)", **silent(name), budget=20_000)
    assert result.status == "not finite"
    assert np.isfinite(result.x).all()
    assert "stopped at t" in result.note


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("budget", [1, 30, 997])
def test_every_loop_has_a_budget(name, budget):
    change = {"B": 1e-300} if "B" in LETTERS[name] else {}
    change |= {"eps": 1e-300} if "eps" in LETTERS[name] and name != "paid" else {}
    change |= {n: 10**9 for n in ("N", "steps") if n in LETTERS[name]} | ({"T": 10**9} if name == "f2ba" else {})
    change |= {"K": 10**9} if "K" in LETTERS[name] and name != "f2ba" else {}
    result = run(name, 1.0, change, budget=budget)
    asked = sum(number for kind, number in result.counts.items() if not kind.startswith("stop_"))
    assert asked <= budget
    assert result.status == "budget" or asked < budget
    assert np.isfinite(result.x).all()

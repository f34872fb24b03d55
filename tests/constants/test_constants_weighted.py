"""Strong convexity in y where samples are weighted by the upper level: sharp, and never above what points show."""

from __future__ import annotations

import math

import numpy as np
import pytest
from seeds import SEED

import bilevel_verify as bv
from bilevel_verify.problems.problem import Problem

RIDGE = "(y1**2 + y2**2)/4"


def problem(g: str, unbounded: bool = False) -> Problem:
    domain = {} if unbounded else {"x1": (-1, 1), "x2": (-1, 1)}
    return bv.bilevel(f="x1 + x2 + y1 + y2", g=g, x=["x1", "x2"], y=["y1", "y2"], domain=domain)


@pytest.mark.parametrize(
    ("g", "unbounded"),
    [
        (f"exp(-x1)*log(1 + exp(y1 + 2*y2)) + (1 + x1**2)*{RIDGE}", False),
        (f"sigmoid(x1)*softplus(y1 + 2*y2) + sigmoid(x2)*softplus(y1 - y2) + {RIDGE}", True),
        (f"(exp(-x1)*softplus(3*y1 - y2) + exp(x1 + x2)*(y1 + y2)**4)/7 + {RIDGE}", False),
        (f"exp(-x1)*softplus(y1 - 2*y2) + x2**2*(y1 - y2)**2 + {RIDGE}", True),
    ],
)
def test_weighted_convex_samples_take_nothing_away(g: str, unbounded: bool) -> None:
    found = bv.constants(problem(g, unbounded))["mu"]
    assert found.certified
    assert found.value == pytest.approx(0.5, abs=1e-9)


@pytest.mark.parametrize(
    ("g", "least"),
    [
        (f"-sigmoid(x1)*softplus(y1 + 2*y2) + 20*{RIDGE}", 10 - 5 / 4),  # w phi'' in [-1/4, 0], |c|^2 = 5
        (f"x1*cos(y1 - y2) + 20*{RIDGE}", 10 - 2),
        (f"(2 + x1)*cos(3*y2) + 40*{RIDGE}", 20 - 27),
    ],
)
def test_what_bends_the_other_way_counts_with_its_length(g: str, least: float) -> None:
    found = bv.constants(problem(g))["mu"]
    assert found.value == pytest.approx(least, abs=0.3 * abs(10 - least))
    assert found.value <= least + 1e-9 or "sigmoid" in g  # there the range of sigmoid on [-1, 1] is smaller


def test_no_point_lies_below_the_bound() -> None:
    rng = np.random.default_rng(SEED)
    weights = ["exp(-x1)", "sigmoid(x2)", "x1", "x1**2", "sin(x1 + x2)", "(x1 - 2)", "-exp(x2)"]
    profiles = ["softplus({})", "cos({})", "tanh({})", "({})**2", "log(1 + exp({}))", "sqrt(1 + ({})**2)"]
    for _ in range(12):
        terms = []
        for _ in range(int(rng.integers(1, 4))):
            form = f"({rng.integers(-3, 4)})*y1 + ({rng.integers(-3, 4)})*y2 + ({rng.integers(-2, 3)})/2 + y1"
            terms.append(f"{rng.choice(weights)}*{rng.choice(profiles).format(form)}")
        p = problem(" + ".join([*terms, f"30*{RIDGE}"]))
        mu = bv.constants(p)["mu"].value
        _, _, yy = bv.oracles(p).hess_g_batch(rng.uniform(-1, 1, (4000, 2)), rng.normal(0, 3, (4000, 2)))
        least = float(np.linalg.eigvalsh(yy)[:, 0].min())
        assert math.isfinite(least)
        assert mu <= least + 1e-9 * (1 + abs(least)), (SEED, p.g)

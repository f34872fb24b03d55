"""Sums over data: bounded without being written out, never below sampled curvature."""

from __future__ import annotations

import numpy as np
import pytest
from seeds import SEED

from bilevel_verify import problems
from bilevel_verify.constants import constants
from bilevel_verify.problems.problem import Problem


def _logistic(samples: int, box: float | None) -> tuple[Problem, np.ndarray, np.ndarray]:
    rng = np.random.default_rng(SEED)
    a, b = rng.normal(size=(samples, 3)), np.sign(rng.normal(size=samples))
    domain = {} if box is None else dict.fromkeys(("x1", "y1", "y2", "y3"), (-box, box))
    g = f"mean(softplus(-b[i]*dot(A[i], y)), (i, 0, {samples - 1})) + (y1**2 + y2**2 + y3**2)/2 - x1*y1"
    problem = problems.bilevel(f="x1 + y1", g=g, x="x1", y="y1 y2 y3", domain=domain, data={"A": a, "b": b})
    return problem, a, b


def _hessian(a: np.ndarray, b: np.ndarray, y: np.ndarray) -> np.ndarray:
    t = b * (a @ y)
    weight = 0.25 / np.cosh(t / 2) ** 2
    out = np.zeros((4, 4))
    out[1:, 1:] = a.T @ (weight[:, None] * a) / len(a) + np.eye(3)
    out[0, 1] = out[1, 0] = -1.0
    return out


@pytest.mark.parametrize("box", [None, 1.0])
def test_loewner_bounds_of_a_logistic_loss(box: float | None) -> None:
    problem, a, b = _logistic(8_000, box)
    c = constants(problem, only=["mu", "L_g", "rho_g"])
    rng = np.random.default_rng(SEED + 1)
    points = [np.zeros(3)] + [rng.uniform(-1, 1, size=3) for _ in range(10)]
    values = [np.linalg.eigvalsh(_hessian(a, b, y)) for y in points]
    inner = [np.linalg.eigvalsh(_hessian(a, b, y)[1:, 1:])[0] for y in points]
    assert c["L_g"].certified
    assert c["L_g"].value >= max(np.abs(v).max() for v in values) * (1 - 1e-9)
    assert c["L_g"].value <= max(np.abs(v).max() for v in values) * 1.05
    assert 1.0 - 1e-9 <= c["mu"].value <= min(inner) * (1 + 1e-9)
    assert c["rho_g"].value < 1.0


def test_rules_agree_with_the_sum_written_out() -> None:
    problem, a, b = _logistic(40, None)
    terms = " + ".join(
        f"log(1 + exp({-float(s)!r}*({' + '.join(f'({float(v)!r})*y{j + 1}' for j, v in enumerate(row))})))"
        for s, row in zip(b, a)
    )
    written = problems.bilevel(f="x1 + y1", g=f"({terms})/40 + (y1**2 + y2**2 + y3**2)/2 - x1*y1", x="x1", y="y1 y2 y3")
    for letter in ("mu", "L_g"):
        assert constants(problem)[letter].value == pytest.approx(constants(written)[letter].value, rel=1e-3)

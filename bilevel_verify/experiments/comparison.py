"""Run every method on an instance with the paper's settings and measure both gaps along the way."""

from __future__ import annotations

import sys
import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bilevel_verify.errors import BilevelVerifyError
from bilevel_verify.experiments.ground_truth import least_squares_on_ball
from bilevel_verify.experiments.instances import Instance
from bilevel_verify.solving import solve
from bilevel_verify.truth import truth

FloatArray = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Curve:
    """One method on one instance.

    ``infeasibility`` is g - g*, ``suboptimality`` |f - f*|; ``seconds`` the time of each iterate, in proportion to its
    index. ``status`` says why there is no curve.
    """

    method: str
    parameters: Mapping[str, Any]
    k: FloatArray
    seconds: FloatArray
    infeasibility: FloatArray
    suboptimality: FloatArray
    signed_gap: float
    gradients: int
    status: str


@dataclass(frozen=True, slots=True)
class Reference:
    """f* and g* with their error bars, and what the second way to compute them says."""

    f_star: float
    g_star: float
    f_error: float
    g_error: float
    second: Mapping[str, float]


def reference_of(instance: Instance) -> Reference:
    """Ground truth from the truth room; known values or the secular equations beside it."""
    known = truth(instance.problem)
    f, g = known.f_star, known.g_star
    if instance.radius is None:
        n = instance.A.shape[1]
        second = {"known f*": 1 / (2 * n), "difference in f*": float(f.value) - 1 / (2 * n)}
    else:
        other = least_squares_on_ball(instance.A, instance.b, instance.C, instance.d, instance.radius)
        second = {
            "f* by secular equations": other.f_star,
            "g* by secular equations": other.g_star,
            "error bar of the secular equations": other.error,
            "multiplier of the ball": other.multiplier,
            "difference in f*": float(f.value) - other.f_star,
            "difference in g*": float(g.value) - other.g_star,
        }
    return Reference(float(f.value), float(g.value), f.error, g.error, second)


def settings(instance: Instance) -> dict[str, dict[str, Any]]:
    """Parameters of every method: those of Appendix D.2 on the orthant, of D.1 (scaled by L_g) on the ball."""
    K, L_f, L_g = instance.passes, instance.L_f, instance.L_g
    eta = 1.0 / (K + 1)
    shared: dict[str, dict[str, Any]] = {
        "r-apm": {"eta": eta, "gamma": 1.0 / (L_g + eta * L_f), "K": K},
        "pb-apg": {"penalty": 1e4, "L_f": L_f, "L_g": L_g, "K": K},
        "big-sam": {"t": 1.0 / L_g, "s": 1.0 / L_f, "c": 2.0, "K": K},
        "dbgd": {"s": 1.0 / (L_f + L_g), "a": 1.0, "b": 1.0, "g_hat": 0.0, "K": K},
    }
    if instance.radius is None:
        gamma = 1.0 / (2.0 * L_g / L_f * K ** (2.0 / 3.0) + 2.0)
        return {
            "agm-bio": {"gamma": gamma, "L_f": L_f, "L_g": L_g, "K": K},
            "a-irg": {"gamma0": 1e-2, "eta0": 1e-2, "b": 0.25, "K": K},
            "bi-sg": {"t": 1.0 / L_g, "c": 1.0, "alpha": 0.75, "K": K},
            **shared,
            "bisec-bio": {
                "l": 0.0, "eps_f": 1e-4, "eps_g": 1e-4, "L_g": L_g, "n_lower": 100, "n_level": 100, "steps": 30,
            },
            "mng": {"M": L_g, "K": min(K, 300)},
            **({"agm-conceptual": {"L_f": L_f, "K": min(K, 100)}} if len(instance.start) <= 20 else {}),
        }  # fmt: skip
    scale = 0.5 * float(np.sum(instance.b**2))
    return {
        "agm-bio": {"gamma": 1e-2, "L_f": L_f, "L_g": L_g, "K": K},
        "a-irg": {"gamma0": 6.7 / L_g, "eta0": 1e-3, "b": 0.25, "K": K},
        "bi-sg": {"t": 1.0 / L_g, "c": 1e-2, "alpha": 0.75, "K": K},
        **shared,
        "cg-bio": {"eps_f": 1e-9 * scale, "eps_g": 2e-3 * scale, "c": 1e-2, "K": K},
        **({"agm-conceptual": {"L_f": L_f, "K": min(K, 100)}} if len(instance.start) <= 20 else {}),
    }


def compare(instance: Instance, reference: Reference) -> list[Curve]:
    """Every method on an instance; one that cannot run says why in its status."""
    found = []
    for method, parameters in settings(instance).items():
        start = np.zeros_like(instance.start) if method == "mng" else instance.start
        print(f"  {method}", file=sys.stderr, flush=True)
        clock = time.perf_counter()
        try:
            run = solve(
                instance.problem, method, x0=start.tolist(), parameters=parameters,
                budget={"calls": 10**8, "iterations": 10**7},
            )  # fmt: skip
        except BilevelVerifyError as error:
            none = np.zeros(0)
            found.append(Curve(method, parameters, none, none, none, none, float("nan"), 0, str(error)))
            continue
        took = time.perf_counter() - clock
        points = np.asarray(run.trace.sequences.get("y" if method == "bi-sg" else "x"), dtype=float)
        k = np.asarray(run.trace.k, dtype=float)
        fine = np.all(np.isfinite(points), axis=1)
        f, g = instance.values(points[fine])
        last = max(1.0, float(k[-1]))
        found.append(
            Curve(
                method, parameters, k[fine], took * k[fine] / last, np.maximum(g - reference.g_star, 0.0),
                np.abs(f - reference.f_star), float(f[-1] - reference.f_star),
                int(run.counts.get("grad_f", 0)) + int(run.counts.get("grad_g", 0)), run.status,
            )
        )  # fmt: skip
    return found

"""A correct simple bilevel solver with switches for one deliberate mistake each."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

FloatArray = NDArray[np.float64]


def regularised(oracles: Any, x0: FloatArray, tolerance: float, fault: str = "") -> FloatArray:
    """Accelerated projected descent on ``g + sigma f``, sigma small (strongly convex, constant momentum)."""
    sigma = {"sigma 1": 1.0, "f and g exchanged": 1e3, "sigma forgotten": 0.0}.get(fault, tolerance / 100)
    smoothness, mu = oracles.L_g + sigma * oracles.L_f, sigma * oracles.mu_f
    root = np.sqrt(mu / smoothness) if smoothness else 1.0
    steps = 20 if fault == "twenty steps" else min(int(np.ceil(14 / max(root, 1e-3))) + 5, 8000)
    sign = -1.0 if fault == "f is maximised" else 1.0
    x = previous = x0
    for _ in range(steps):
        w = x + (1 - root) / (1 + root) * (x - previous)
        slope = oracles.grad_g(w) + sign * sigma * oracles.grad_f(w)
        new = w - slope / max(smoothness, 1e-12)
        previous, x = x, new if fault == "projection forgotten" else oracles.project(new)
    return 3.0 * oracles.radius * np.ones_like(x) if fault == "leaves the set" else x

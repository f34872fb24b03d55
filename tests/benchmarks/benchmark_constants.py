"""Certified constants: time and distance to the true supremum, row by row of the speed targets. Run as a script.

Prints, for every problem and constant: certified value, true value, excess over the truth in percent, seconds.
"""

from __future__ import annotations

import time

import numpy as np
import sympy

from bilevel_verify import problems
from bilevel_verify.constants import constants
from bilevel_verify.problems.problem import Problem

CHAIN = " + ".join(f"sin(x{i}*x{i + 1})" for i in range(1, 10)) + " + " + " + ".join(f"x{i}**2/2" for i in range(1, 11))
SOFT = (
    "log(" + " + ".join(f"exp(x{i} - x{i % 10 + 1}/2)" for i in range(1, 6)) + ")"
    " + tanh(x6 + x7) + sin(x8 - x9 + x10/2) + " + " + ".join(f"x{i}**2/2" for i in range(1, 11))
)


def box(names: list[str], size: float) -> dict[str, tuple[float, float]]:
    """A cube."""
    return dict.fromkeys(names, (-size, size))


def cases() -> list[tuple[str, Problem, dict[str, float], dict[str, float]]]:
    """(name, problem, targets in seconds, true values)."""
    two = problems.bilevel(
        f="x1*y1",
        g="y1**2 + y1**4/12 + 0.3*sin(x1*y1) - y1*cos(x1)",
        x="x1",
        y="y1",
        domain=box(["x1", "y1"], 2),
    )
    three = problems.bilevel(
        f="x1",
        g="exp(x1*y1/2)*cos(y2)/2 + y1**2/(1 + x1**2) + sin(x1 + y1*y2) + y1**2 + 2*y2**2",
        x="x1",
        y="y1 y2",
        domain=box(["x1", "y1", "y2"], 1),
    )
    names = [f"x{i}" for i in range(1, 11)]
    chain = problems.single_level(f=CHAIN, x=names, domain=box(names, 1))
    soft = problems.single_level(f=SOFT, x=names, domain=box(names, 0.5))
    limits = {"mu": 0.3, "L_g": 0.3, "ell": 0.3, "rho_g": 1.0, "M_g": 3.0, "L": 3.0, "rho": 3.0}
    truth = {"mu": 1.233041, "L_g": 7.273404, "rho_g": 9.032462, "M_g": 14.74565}
    return [
        ("P2 (1+1)", two, limits, truth),
        ("P3 (1+2)", three, limits, {}),
        ("P10 sine chain", chain, limits, {}),
        ("P5 logsumexp + tanh + sin", soft, limits, {}),
        ("d = 50 affine + atoms", fifty(), {"L": 1.0, "rho": 1.0}, {}),
    ]


def fifty() -> Problem:
    """Fifty linearly independent rows with small integer entries, cosines and softplus on the whole space."""
    rng = np.random.default_rng(1)
    rows = np.eye(50, dtype=int) + np.triu(rng.integers(-1, 2, size=(50, 50)) * (rng.random((50, 50)) < 0.05), 1)
    names = [f"x{i}" for i in range(1, 51)]
    forms = [" + ".join(f"({c})*{v}" for c, v in zip(row, names) if c) for row in rows]
    terms = [f"cos({form})" if i % 2 else f"log(1 + exp({form}))" for i, form in enumerate(forms)]
    return problems.single_level(f=" + ".join(terms), x=names)


def main() -> None:
    """Print the table."""
    constants(problems.single_level(f="sin(x1)", x="x1"))["L"]  # warm up
    print(
        f"{'problem':28s} {'constant':8s} {'value':>14s} {'reached':>14s} {'excess':>8s} {'seconds':>8s} {'target':>7s}"
    )
    for name, problem, limits, truth in cases():
        for letter in ["mu", "L_g", "rho_g", "M_g"] if problem.kind == "bilevel" else ["L", "rho"]:
            table = constants(problem)
            start = time.perf_counter()
            found = table[letter]
            seconds = time.perf_counter() - start
            unsafe = found.lower if found.side == "upper" else found.upper
            true = truth.get(letter, unsafe)
            excess = abs(found.value - true) / max(abs(true), 1e-300)
            print(
                f"{name:28s} {letter:8s} {found.value:14.8g} {unsafe:14.8g} {100 * excess:7.2f}% {seconds:8.3f} {limits[letter]:7.1f}"
                f"  {found.route}{'' if found.exact is None else ' ' + str(sympy.sympify(found.exact))[:30]}"
            )


if __name__ == "__main__":
    main()

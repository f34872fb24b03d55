"""Certified constants: time, and distance to the true supremum."""

from __future__ import annotations

import time
from dataclasses import dataclass, field

import numpy as np
import sympy

from bilevel_verify import problems
from bilevel_verify.benchmarks.rows import Row, Section
from bilevel_verify.constants import constants
from bilevel_verify.problems.problem import Problem

CHAIN = " + ".join(f"sin(x{i}*x{i + 1})" for i in range(1, 10)) + " + " + " + ".join(f"x{i}**2/2" for i in range(1, 11))
QUOTIENT = "(x1**2 - 2*x1*x2 + 3*x2*x3 - x4**2 + x4*y1/2 + x3*y1)/(1 + x1**2 + x2**2 + x3**2 + x4**2 + y1**2)"
WEIGHTED = "(x1**2 + 2*x2**2 - x3**2 + 3*x4**2 + y1**2/2)/(1 + 2*x1**2 + x2**2/2 + x3**2 + 3*x4**2 + y1**2)"
CUBIC = "(x1*x2*x3 - x4**3/2 + x1*y1**2 + x2**2)/(1 + x1**2 + x2**2 + x3**2 + x4**2 + y1**2)"
COMPOSED = "log(3 + sin(x1*x2 + x3*x4) + y1**2 + x1**2/2)"
SOFT = (
    "log(" + " + ".join(f"exp(x{i} - x{i % 10 + 1}/2)" for i in range(1, 6)) + ")"
    " + tanh(x6 + x7) + sin(x8 - x9 + x10/2) + " + " + ".join(f"x{i}**2/2" for i in range(1, 11))
)


@dataclass(frozen=True, slots=True)
class Certified:
    """A problem with its limits: letter -> (seconds, excess over the truth in percent), true values, and the effort."""

    name: str
    problem: Problem
    limits: dict[str, tuple[float, float]]
    truth: dict[str, float] = field(default_factory=dict)
    effort: float = 1.0


SMALL = {"mu": (0.3, 1.0), "L_g": (0.3, 1.0), "rho_g": (1.0, 3.0), "M_g": (3.0, 15.0)}
FIVE = {"L_g": (10.0, 25.0), "rho_g": (10.0, 50.0)}
WRITTEN = {"L_g": (3.0, 10.0), "rho_g": (3.0, 150.0)}
LONG, MEDIUM = 34.0, 15.0
"""Efforts that a search of some ten seconds gets."""
TEN = {"L": (3.0, 100.0), "rho": (3.0, 150.0)}


def certified_cases() -> list[Certified]:
    """Two, three, five, ten and fifty variables."""
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
    sampled = {"mu": 1.233041, "L_g": 7.273404, "rho_g": 9.032462, "M_g": 14.74565}
    return [
        Certified("2 variables", two, SMALL, sampled),
        Certified("3 variables", three, SMALL),
        Certified("5 variables, quotient", five(QUOTIENT), FIVE),
        Certified("5 variables, weighted squares", five(WEIGHTED), FIVE, effort=LONG),
        Certified("5 variables, cubic quotient", five(CUBIC), FIVE, effort=LONG),
        Certified("5 variables, composition", five(COMPOSED), {"rho_g": (10.0, 25.0)}, effort=MEDIUM),
        Certified("5 variables, 100 terms written out", written_out(100), WRITTEN),
        Certified("10 variables, chain of sines", chain, TEN),
        Certified("10 variables, logsumexp", soft, TEN),
        Certified("50 variables, affine + atoms", fifty(), {"L": (1.0, 1e-6), "rho": (1.0, 1e-6)}),
    ]


def box(names: list[str], size: float) -> dict[str, tuple[float, float]]:
    """A cube."""
    return dict.fromkeys(names, (-size, size))


def five(g: str) -> Problem:
    """A lower level of four variables of x and one of y on a cube."""
    names = [f"x{i}" for i in range(1, 5)]
    return problems.bilevel(f="y1", g=g, x=names, y="y1", domain=box([*names, "y1"], 1))


def written_out(n: int) -> Problem:
    """A logistic sum in five variables, term by term."""
    rows = np.round(np.random.default_rng(24).normal(size=(n, 5)), 3)
    names = [f"y{j}" for j in range(1, 6)]
    forms = [" + ".join(f"({a})*{y}" for a, y in zip(row, names)) for row in rows.tolist()]
    g = f"({' + '.join(f'log(1 + exp({form}))' for form in forms)})/{n} + ({' + '.join(f'{y}**2' for y in names)})/2"
    return problems.bilevel(f="x1", g=g, x="x1", y=names, domain=box(["x1", *names], 1))


def fifty() -> Problem:
    """Fifty linearly independent rows with small integer entries, cosines and softplus on the whole space."""
    rng = np.random.default_rng(1)
    rows = np.eye(50, dtype=int) + np.triu(rng.integers(-1, 2, size=(50, 50)) * (rng.random((50, 50)) < 0.05), 1)
    names = [f"x{i}" for i in range(1, 51)]
    forms = [" + ".join(f"({c})*{v}" for c, v in zip(row, names) if c) for row in rows]
    terms = [f"cos({form})" if i % 2 else f"log(1 + exp({form}))" for i, form in enumerate(forms)]
    return problems.single_level(f=" + ".join(terms), x=names)


def certified_constants(quick: bool = False) -> Section:
    """Seconds and excess of every constant; the excess is over a sampled value, or the safe minus the reached end."""
    constants(problems.single_level(f="sin(x1)", x="x1"))["L"]  # loads what is loaded once
    rows: list[Row] = []
    for case in certified_cases()[: 2 if quick else None]:
        by_hand = sampled_by_hand(case.problem)
        for letter, (limit, excess_limit) in case.limits.items():
            table = constants(case.problem, effort=case.effort)
            begin = time.process_time()
            found = table[letter]
            took = time.process_time() - begin
            reached = found.lower if found.side == "upper" else found.upper
            true = case.truth.get(letter, float(reached))
            excess = 100 * abs(found.value - true) / max(abs(true), 1e-300)
            note = f"{found.value:.6g}, {found.route}"
            rows.append(Row(f"{case.name}: {letter}", took, "s", limit, False, note, SAMPLING, by_hand))
            rows.append(Row(f"{case.name}: {letter}, excess", excess, "%", excess_limit, rival=REACHED, beside=0.0))
    notes = (
        "excess over the largest (mu: least) value that is reached",
        f"{SAMPLING}: the Hessian of the lowest level by SymPy, its eigenvalues at 1,000 points; proves nothing",
    )
    return Section("certified constants", tuple(rows), notes)


SAMPLING, REACHED = "1,000 points in NumPy", "the value that is reached"


def sampled_by_hand(problem: Problem) -> float:
    """Processor seconds of SymPy's Hessian and of its eigenvalues at 1,000 points of the domain."""
    expression = problem.f if problem.g is None else problem.g
    letters = [*problem.x, *problem.y]
    begin = time.process_time()
    plain = expression.replace(lambda e: e.func.__name__ == "softplus", lambda e: sympy.log(1 + sympy.exp(e.args[0])))
    plain = plain.replace(lambda e: e.func.__name__ == "logsumexp", lambda e: sympy.log(sum(map(sympy.exp, e.args))))
    hessian = sympy.lambdify([letters], sympy.hessian(plain, letters), "numpy", cse=True)
    ends = [[min(max(float(end), -5.0), 5.0) for end in problem.range_of(letter)] for letter in letters]
    rng = np.random.default_rng(0)
    for _ in range(1_000):
        np.linalg.eigvalsh(np.array(hessian(rng.uniform(*np.transpose(ends))), dtype=float))
    return time.process_time() - begin

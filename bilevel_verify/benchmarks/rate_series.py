"""The series of the rate table: which family, which method, what is counted along which letter.

Every instance is one on which a prescribed scheme is slow (a long slope of about the target accuracy), so that the
exponent of its theorem can be seen at all. Parameters are those of the theorems, with the exact constants of the
instance. What a count of oracle calls is made of is shown too: outer iterations, and inner steps an outer iteration.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

Letters = Mapping[str, float]
Parameters = Callable[[Letters], dict[str, float]]
BUDGET = 2 * 10**9


@dataclass(frozen=True, slots=True)
class Series:
    """One line of the table: a family, a method, and what is counted along one letter.

    Attributes
    ----------
    name, paper, source : what it is called; the card whose theorem or table promises the exponent, and its item.
    problem, knobs : a problem of the zoo; knobs may depend on ``eps`` and on the letters.
    method : name of a method or of a cell ``scheme+estimator``.
    letter, values, fixed : what varies (``eps``, ``kappa``, ``nu``, ``d``), its values in order, the letters that stay.
    exponent : the promised exponent, in ``1/eps`` where the letter is eps.
    count : ``iterations``, ``epochs``, a kind of oracle, or a quotient of two of them (``grad_g/iterations``).
    parameters : the letters of a run; None: those of the card.
    log : the promise hides a logarithm, that of kappa^p/eps^q for ``log = (p, q)``: part of the bound, not of the
        exponent.
    tolerance : how far the slope of a sharp instance may be from the exponent; None where it only stays below.
    prescribed : method whose letters on this problem, as its card prescribes them, are handed to ``parameters``.
    outer : this one-level method runs on the hyper-objective itself (known in closed form), with letters of the
        two-level problem: the outer iterations with exact hypergradients.
    start : a run's first calls are enough (a quotient); else a run that the budget ends is no measurement.
    product : names of two series whose counts are multiplied, instead of a run.
    short : how many of the first values the short version takes; 0: the series is not in it.
    note : how to read it.
    """

    name: str
    problem: str
    knobs: Mapping[str, Any]
    method: str
    letter: str
    values: Sequence[float]
    exponent: float
    count: str = "iterations"
    fixed: Letters = field(default_factory=dict)
    parameters: Parameters | None = None
    tolerance: float | None = 0.06
    short: int = 0
    paper: str = "restarted-agd-hb"
    source: str = ""
    log: tuple[float, float] | None = None
    prescribed: str = ""
    outer: str = ""
    start: bool = False
    product: tuple[str, ...] = ()
    note: str = ""
    budget: int = BUDGET


def agd(theta: float, radius: float, L: float = 1.0, rho: float = 1.0) -> Parameters:
    """Step 1/(4L), theta and B of a restarted method as multiples of the theorem's; K = 1/theta rounded up."""

    def letters(at: Letters) -> dict[str, float]:
        eta = 0.25 / L
        momentum = theta * (at["eps"] * rho * eta**2) ** 0.25
        span = radius * math.sqrt(at["eps"] / rho)
        return {"eta": eta, "B": span, "theta": momentum, "K": math.ceil(1 / momentum - 1e-9)}

    return letters


def jin(at: Letters) -> dict[str, float]:
    """AGD-Jin beside Theorem 1: gamma = theta^2/eta and s = gamma/(4 rho)."""
    found = agd(4, 1)(at)
    gamma = found["theta"] ** 2 / found["eta"]
    return {**found, "gamma": gamma, "s": gamma / 4}


def practical(theta: float, radius: float, unknown: bool = False) -> Parameters:
    """Practical variants: B0 = 100 B shrunk by c = 2, and guesses of L and rho where they are unknown."""

    def letters(at: Letters) -> dict[str, float]:
        found = agd(theta, radius)(at)
        more = {"c1": 2.0, "c2": 2.0, "c3": 2.0, "L": 0.25, "rho": 0.25} if unknown else {"L": 1.0, "rho": 1.0}
        return {**found, "B0": 100 * found["B"], "c": 2.0, **more}

    return letters


def frame(at: Letters) -> dict[str, float]:
    """Gradient descent between restarts (section 5.2): K = 1/sqrt(eps)."""
    return {"eta": 0.25, "B": math.sqrt(at["eps"]), "K": math.ceil(1 / math.sqrt(at["eps"]))}


def scheme(L: float = 1.0, H: float = 1.0, loss: float = 0.0) -> Parameters:
    """The RAGD-GS scheme: L, and H growing as a penalty makes it grow, H eps^(-loss)."""

    def letters(at: Letters) -> dict[str, float]:
        return {"L": L, "H_nu": H * at["eps"] ** (-loss), "nu_f": at.get("nu", 1.0)}

    return letters


def descent(step: float) -> Parameters:
    """Gradient descent with a fixed step."""
    return lambda at: {"eta": step}


def cubic(at: Letters) -> dict[str, float]:
    """Cubic Newton with M = rho = 1, a new Hessian at each step."""
    return {"M": 1.0, "m": 1, "T": 10**9}


def perturbed(at: Letters) -> dict[str, float]:
    """Perturbed restarted AGD with practical constants: chi with its square root of d, radii without chi."""
    eps, d = at["eps"], at["d"]
    theta = 0.5 * eps**0.25
    radius = math.sqrt(eps) / 288
    chi = math.log(400 * math.sqrt(d) / (theta**2 * 0.1))
    return {"eta": 0.25, "B": radius, "theta": theta, "K": math.ceil(2 * chi / theta), "r": theta * radius / 20}

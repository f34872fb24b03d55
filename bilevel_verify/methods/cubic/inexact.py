"""IFSBA and IMCN: cubic steps by gradient descent on the model, whose Hessian is known through products."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

import numpy as np

from bilevel_verify.methods.cubic.arithmetic import Array, all_finite, square_root
from bilevel_verify.methods.cubic.descent import cubic_solver, final_cubic_solver
from bilevel_verify.methods.cubic.named import AGD_INDEX, ASCENT, FSBA_SHEET, PENALTY, M, T
from bilevel_verify.methods.cubic.products import DanskinProducts, PenaltyProducts
from bilevel_verify.methods.engine import Outcome, Setup
from bilevel_verify.methods.plain import PlainStepper
from bilevel_verify.methods.registry import Letter, Method, Reading, register

FINAL_STEPS = 10**7
"""Most steps of Algorithm 7; the budget of a run ends it long before."""


@dataclass(frozen=True, slots=True)
class InexactPlan:
    """The estimator of one of the two methods, and the inner sequences of its trace."""

    model: Callable[..., Any]
    sequences: Mapping[str, str]


class InexactStepper(PlainStepper):
    """Algorithm 3 in the middle of a run; the variant ``literal`` takes line 9 and (44) as printed."""

    length = "T"
    precise = True

    def __init__(self, setup: Setup, plan: InexactPlan) -> None:
        self.blocks = plan.sequences
        super().__init__(setup)
        self.literal = bool(setup.method.flags.get("literal"))
        self.model = plan.model(self.oracles, self.letters, self.vector(setup.starts["y0"]), self.literal)
        self.generator = np.random.default_rng(setup.seed)
        self.drawn = 0

    def iterate(self) -> Outcome | None:
        """Lines 3 to 13."""
        q, x = self.letters, self.x
        gradient = self.model.gradient(x)
        if not all_finite(gradient):
            return self.stop("not finite")

        operator = self.model.operator(x)
        found = cubic_solver(gradient, operator, q["M"], q["L"], int(q["K_c"]), self.noise)
        last = bool(found.value > -self.threshold())
        step = final_cubic_solver(gradient, operator, q["M"], q["L"], q["eps"], FINAL_STEPS) if last else found.s
        self.row(x=x, u=gradient, s=found.s, **self.model.inner())
        self.x = x + step
        self.k += 1
        return self.finish("stationary") if last else None

    def threshold(self) -> Any:
        """Line 9: ``sqrt(eps^3/M)/128`` as in (48); as printed ``eps^3/(128 M)``."""
        eps, M_ = self.letters["eps"], self.letters["M"]
        return eps**3 / (128 * M_) if self.literal else square_root(eps**3 / M_) / 128

    def noise(self) -> Array:
        """sigma zeta with zeta uniform on the unit sphere, or the next explicit perturbation."""
        if self.setup.noise is not None:
            self.drawn += 1
            return self.vector(self.setup.noise[(self.drawn - 1) % len(self.setup.noise)])
        direction = self.generator.standard_normal(self.problem.dx)
        unit = direction / np.linalg.norm(direction)
        return self.vector([self.letters["sigma"] * self.setup.arithmetic.number(float(entry)) for entry in unit])

    def outputs(self) -> dict[str, Array]:
        """The inner solution at the last point."""
        return {"y": self.model.inner()["y"]}


SOLVER = (
    Letter("eps"), Letter("L"), Letter("K_c", "count"), Letter("sigma", "nonnegative"), Letter("K_p", "length"),
)  # fmt: skip
READINGS = (
    AGD_INDEX,
    Reading(
        "Algorithm 3, line 9",
        "Delta_t > -eps^3/(128 M)",
        "Delta_t > -sqrt(eps^3/M)/128, as (48); variant 'literal': as printed",
        "the printed threshold has the square of the unit of Delta_t",
    ),
    Reading(
        "(44)",
        "coefficients c_k with one more factor 1/(2 ell)",
        "the coefficients of Lemma E.1, without that factor; variant 'literal': as printed",
        "the printed sum is 1/(2 ell) times an approximate inverse",
    ),
    Reading("(44)", "C_1 at y_t", "C_1 at w_t", "(8) uses it as the inverse of the yy block of g at w_t"),
)


def _register(name: str, title: str, kind: str, letters: tuple[Letter, ...], plan: InexactPlan, **more: Any) -> None:
    from functools import partial

    register(
        Method(
            name=name,
            title=title,
            kinds=(kind,),  # type: ignore[arg-type]
            letters=letters,
            sequences=MappingProxyType({"x": "own", **dict.fromkeys(plan.sequences, "own")}),
            paper=FSBA_SHEET,
            readings=READINGS,
            variants=("literal",),
            restarts=False,
            noisy=True,
            runner=partial(InexactStepper, plan=plan),
            **more,
        )
    )


_register(
    "ifsba", "IFSBA (inexact: products only)", "bilevel",
    (M, T, *SOLVER, *PENALTY, Letter("mu", optional=True)),
    InexactPlan(PenaltyProducts, {"y": "y", "w": "y", "u": "x", "s": "x"}),
    statement="theorem-e-5", source="fsba, Algorithm 3",
)  # fmt: skip
_register(
    "imcn", "IMCN (inexact minimax cubic Newton: products only)", "minimax", (M, T, *SOLVER, *ASCENT),
    InexactPlan(DanskinProducts, {"y": "y", "u": "x", "s": "x"}),
    statement="theorem-e-5", source="Luo, Li, Chen 2022, as recalled",
)  # fmt: skip

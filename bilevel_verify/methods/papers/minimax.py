"""Minimax methods: PRAGDA, gradient descent ascent in its three forms."""

from __future__ import annotations

from bilevel_verify.methods.kernels.state import ALWAYS
from bilevel_verify.methods.papers.shared import FIRST_TIE, ROUNDING, YANG, sequences
from bilevel_verify.methods.registry import PERTURBATION_RADIUS, Reading, compose, register

register(
    compose(
        "restarted-agd",
        "danskin-agd",
        name="pragda",
        title="PRAGDA",
        flags={"perturbed": ALWAYS},
        noisy=True,
        extra_letters=(PERTURBATION_RADIUS,),
        sequences=sequences(x="x", w="w", y="y", u="u"),
        paper=YANG,
        statement="theorem-5-2",
        source="Yang, Luo, Li, Jordan, Algorithm 4",
        readings=(ROUNDING, FIRST_TIE),
        variants=("last-tie",),
    )
)
register(
    compose(
        "gradient-descent",
        "danskin-simultaneous",
        name="gda",
        title="Gradient descent ascent, simultaneous",
        renamed={"eta": "eta_x", "N": "steps"},
        sequences=sequences(x="x", y="y"),
        paper=YANG,
        statement="section-3-6",
        source="Lin, Jin, Jordan 2020, as recalled",
        readings=(
            Reading(
                "stopping test",
                "none",
                "with eps: the norm of the whole gradient, x- and y-part, is at most eps before the update",
                "grad_x f alone can be small far from the inner solution",
            ),
        ),
    )
)
register(
    compose(
        "gradient-descent",
        "danskin-gd",
        name="gdmax",
        title="Gradient descent with multi-step ascent",
        renamed={"eta": "eta_x", "N": "steps"},
        sequences=sequences(x="x", y="y"),
        paper=YANG,
        statement="section-8",
        source="Nouiehed et al. 2019; Jin et al. 2020, as recalled",
    )
)
register(
    compose(
        "gradient-descent",
        "danskin-alternating",
        name="gda-alternating",
        title="Gradient descent ascent, alternating",
        renamed={"eta": "eta_x", "N": "steps"},
        sequences=sequences(x="x", y="y"),
        paper=YANG,
        statement="section-8",
        source="Lin, Jin, Jordan 2020, as recalled: the alternating form",
        readings=(
            Reading(
                "order of the two steps",
                "simultaneous/alternating",
                "x first; y_{k+1} = y_k + eta_y grad_y f(x_{k+1}, y_k)",
                "the sheet names both forms and writes the simultaneous one",
            ),
        ),
    )
)

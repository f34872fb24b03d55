"""Hypergradient methods of two levels: BA, AID-BiO, ITD-BiO, RAHGD, PRAHGD, perturbed AID."""

from __future__ import annotations

from bilevel_verify.methods.kernels.state import ALWAYS, COLD_IF_GIVEN
from bilevel_verify.methods.papers.shared import FIRST_TIE, ROUNDING, YANG, sequences
from bilevel_verify.methods.registry import PERTURBATION_RADIUS, Reading, compose, register

_HYPERGRADIENT = sequences(x="x", y="y", v="v", h="u")
register(
    compose(
        "gradient-descent",
        "implicit-ba",
        name="ba",
        title="BA (with N_cg: BA-CG)",
        renamed={"eta": "alpha", "N": "steps"},
        sequences=_HYPERGRADIENT,
        paper=YANG,
        statement="section-3-6",
        source="Ghadimi & Wang 2018, as recalled",
        readings=(
            Reading(
                "start of the inner loop",
                "y_0 given: the same y_0 at each k",
                "from y0 at each k where a start other than 0 is given, else warm-started; variants 'cold' and 'warm'",
                "both are in use; from an arbitrary 0 the growing length would be spent on the way back",
            ),
        ),
        flags={"cold": COLD_IF_GIVEN},
        variants=("cold", "warm"),
    )
)
register(
    compose(
        "gradient-descent",
        "implicit-gd-cg",
        name="aid-bio",
        title="AID-BiO",
        renamed={"eta": "beta", "N": "steps"},
        sequences=_HYPERGRADIENT,
        paper=YANG,
        statement="section-3-6",
        source="Ji, Yang, Liang 2021, as recalled",
    )
)
register(
    compose(
        "gradient-descent",
        "unrolled",
        name="itd-bio",
        title="ITD-BiO",
        renamed={"eta": "beta", "N": "steps"},
        sequences=sequences(x="x", y="y", h="u"),
        paper=YANG,
        statement="section-3-6",
        source="Ji, Yang, Liang 2021, as recalled",
        readings=(
            Reading(
                "inner loop",
                "y_k^0 warm-started",
                "the warm start is a constant in the differentiation",
                "[25] as recalled",
            ),
        ),
    )
)
_RAHGD_SEQUENCES = sequences(x="x", w="w", y="y", v="v", u="u")
_RAHGD_READINGS = (
    Reading(
        "Algorithm 3, line 2",
        "y[0,-1] <- AGD(g(x[1,-1], .), 0, ...)",
        "AGD(g(x[0,-1], .), 0, ...); variant 'literal' runs the undefined point",
        "x[1,-1] is not defined yet",
    ),
    Reading("lines 2, 15", "AGD starts at 0", "y0 in place of 0, if it is given", "0 may lie outside a domain"),
    Reading("line 2", "v[0,-1] <- y[0,-1]", "as printed, unless v0 is given", "a user's start wins", literal=True),
    ROUNDING,
    FIRST_TIE,
)
for _name, _title, _flags, _statement in (
    ("rahgd", "RAHGD", {}, "theorem-3-4"),
    ("prahgd", "PRAHGD", {"perturbed": ALWAYS}, "theorem-4-1"),
):
    register(
        compose(
            "restarted-agd",
            "implicit-agd-cg",
            name=_name,
            title=_title,
            flags=_flags,
            noisy=bool(_flags),
            extra_letters=(PERTURBATION_RADIUS,) if _flags else (),
            sequences=_RAHGD_SEQUENCES,
            paper=YANG,
            statement=_statement,
            source="Yang, Luo, Li, Jordan, Algorithm 3",
            readings=_RAHGD_READINGS,
            variants=("literal", "last-tie"),
        )
    )
register(
    compose(
        "perturbed-gradient-descent",
        "implicit-gd-cg",
        name="paid",
        title="Perturbed AID",
        renamed={"N": "steps"},
        sequences=_HYPERGRADIENT,
        paper=YANG,
        statement="section-3-6",
        source="Huang, Ji, Ma, Lai 2022, as recalled",
        readings=(
            Reading(
                "first perturbation",
                "k_pert <- -infinity",
                "the first small gradient perturbs at once",
                "as recalled",
                literal=True,
            ),
            Reading(
                "trace",
                "x_k <- x_k + xi",
                "row k holds x_k before the perturbation, and y, v, h after it",
                "one row per iteration",
            ),
        ),
    )
)

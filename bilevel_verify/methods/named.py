"""Every named method of the first-order, hypergradient and minimax family: a cell of the table and its letters."""

from __future__ import annotations

from types import MappingProxyType
from typing import Any

from bilevel_verify.methods import table
from bilevel_verify.methods.kernels.layout import (
    ALWAYS,
    COLD,
    COLD_IF_GIVEN,
    COLD_START,
    LAST_TIE,
    LITERAL,
    PERTURB,
    SMALL_GRADIENT,
    WARM,
)
from bilevel_verify.methods.registry import Letter, Method, Reading, compose, register

LI_LIN, YANG, RAGD = "restarted-agd-hb", "rahgd", "ragd-gs"
_RADIUS = Letter("r", "nonnegative", optional=True)


def _named(**sequences: tuple[str, int]) -> Any:
    return MappingProxyType(sequences)


ROUNDING = Reading(
    "loop test and floor(K/2)",
    "K = 1/theta, not an integer in general",
    "K is an integer letter; cards round 1/theta up",
    "the paper treats K as an integer",
)
FIRST_TIE = Reading(
    "argmin over k",
    "argmin, ties not specified",
    "the smallest index; variant 'last-tie': the largest, as Algorithm 7",
    "a tie has to go somewhere",
)

register(
    compose(
        "gradient-descent",
        "exact",
        name="gradient-descent",
        title="Gradient descent",
        sequences=_named(x=table.X_SEQUENCE),
        paper=LI_LIN,
        statement="section-5-2",
        readings=(
            Reading(
                "output",
                "(1/K) sum of x[0..K-1] in the restart frame",
                "with letters B and K: the restart frame of "
                "section 5.2; without: N updates and an optional gradient test",
                "two uses of one name",
            ),
        ),
        note="with the letters B and K it runs in the restart frame",
    )
)
register(
    compose(
        "restarted-gradient-descent",
        "exact",
        name="gradient-descent-restarted",
        title="Gradient descent in the restart frame",
        sequences=_named(x=table.X_SEQUENCE),
        paper=LI_LIN,
        statement="section-5-2",
        source="Li & Lin, section 5.2",
        readings=(ROUNDING,),
    )
)
register(
    compose(
        "restarted-agd",
        "exact",
        name="restarted-agd",
        title="Restarted AGD",
        sequences=_named(x=table.X_SEQUENCE, y=table.W_SEQUENCE),
        paper=LI_LIN,
        statement="theorem-1",
        source="Li & Lin, Algorithm 1",
        readings=(ROUNDING, FIRST_TIE),
        variants=("last-tie",),
    )
)
register(
    compose(
        "practical-restarted-agd",
        "exact",
        name="restarted-agd-practical",
        title="Practical restarted AGD",
        sequences=_named(x=table.X_SEQUENCE, y=table.W_SEQUENCE),
        extra_letters=table._GUESSED,
        paper=LI_LIN,
        statement="theorem-2",
        source="Li & Lin, Algorithm 2; with c2 and c3: Remark 2",
        readings=(
            ROUNDING,
            FIRST_TIE,
            Reading(
                "Remark 2",
                "L = L c2, rho = rho c3",
                "eta, theta, B, K and the threshold are recomputed from the new guesses",
                "they are functions of L and rho; the paper is silent",
            ),
            Reading("line 16", "argmin of two gradient norms", "a tie goes to x[K]", "ties are not specified"),
        ),
        variants=("last-tie",),
    )
)
register(
    compose(
        "restarted-agd",
        "exact",
        name="restarted-agd-perturbed",
        title="Perturbed restarted AGD",
        sequences=_named(x=table.X_SEQUENCE, y=table.W_SEQUENCE),
        flags={PERTURB: SMALL_GRADIENT},
        noisy=True,
        extra_letters=(_RADIUS,),
        paper=LI_LIN,
        statement="theorem-3",
        source="Li & Lin, Algorithm 1 with the perturbed line 7 of section 2.2",
        readings=(ROUNDING, FIRST_TIE),
        variants=("last-tie",),
    )
)
register(
    compose(
        "restarted-hb",
        "exact",
        name="restarted-hb",
        title="Restarted heavy ball",
        sequences=_named(x=table.X_SEQUENCE, z=table.W_SEQUENCE),
        paper=LI_LIN,
        statement="theorem-4",
        source="Li & Lin, Algorithm 3",
        readings=(ROUNDING, FIRST_TIE),
        variants=("last-tie",),
    )
)
register(
    compose(
        "practical-restarted-hb",
        "exact",
        name="restarted-hb-practical",
        title="Practical restarted heavy ball",
        sequences=_named(x=table.X_SEQUENCE, z=table.W_SEQUENCE),
        extra_letters=table._GUESSED,
        paper=LI_LIN,
        statement="theorem-5",
        source="Li & Lin, Algorithm 4",
        readings=(ROUNDING, FIRST_TIE),
        variants=("last-tie",),
    )
)
register(
    compose(
        "agd-jin",
        "exact",
        name="agd-jin",
        title="AGD with negative curvature exploitation",
        sequences=_named(x=table.X_SEQUENCE, y=table.W_SEQUENCE, v=table.AUX_SEQUENCE),
        paper=LI_LIN,
        statement="theorem-6",
        source="Li & Lin, Algorithms 5 and 6",
        readings=(
            ROUNDING,
            Reading(
                "Algorithm 6, line 5",
                "argmin over x^{k+delta}, x^{k-delta}",
                "x[k] + delta and x[k] - delta; a tie: plus",
                "delta is a vector, not an index",
            ),
            Reading(
                "lines 15-17",
                "average over K_1..K_2",
                "for K = 1 the sum is empty and y[0] is returned",
                "K_1 = 1 > K_2 = 0",
            ),
        ),
    )
)
register(
    compose(
        "convex-until-guilty",
        "exact",
        name="convex-until-guilty",
        title="Convex until proven guilty",
        sequences=_named(x=table.X_SEQUENCE, y=table.W_SEQUENCE, p=table.AUX_SEQUENCE),
        extra_letters=(
            Letter("eps"),
            Letter("L"),
            Letter("rho"),
            Letter("alpha", optional=True),
            Letter("eta_nc", optional=True),
        ),
        paper=LI_LIN,
        statement="section-3-11",
        source="Carmon, Duchi, Hinder, Sidford 2017, from memory",
        readings=(
            Reading(
                "Find-witness-pair",
                "a pair exists",
                "where rounding hides it, the best y so far becomes the next centre",
                "existence holds in exact arithmetic",
            ),
        ),
    )
)

register(
    compose(
        "general-smoothness",
        "penalty-agd",
        name="ragd-gs",
        title="RAGD-GS",
        flags={COLD: COLD_START},
        sequences=_named(
            x=table.X_SEQUENCE,
            w=table.W_SEQUENCE,
            y=table.Y_SEQUENCE,
            z=table.Z_SEQUENCE,
            wbar=table.AUX_SEQUENCE,
            u=table.U_SEQUENCE,
        ),
        paper=RAGD,
        statement="theorem-1",
        source="RAGD-GS, Algorithm 1",
        readings=(
            Reading(
                "line 15",
                "|| grad L_lambda(wbar[t,k]) || <= eps",
                "the exact gradient of L*_lambda at wbar[t,k], y* and y*_lambda by Newton, counted under stop_*",
                "L_lambda has two arguments; the text means L*_lambda",
            ),
            Reading(
                "line 15 after line 13",
                "wbar[t,0] right after a restart",
                "no test then",
                "wbar[t,0] has no terms: 2(i+1)/(k(k+1)) at k = 0",
            ),
            Reading("lines 2, 12", "y, z start at 0", "y0 in place of 0, if it is given", "0 may lie outside a domain"),
        ),
    )
)
register(
    compose(
        "gradient-descent",
        "penalty-gd",
        name="f2ba",
        title="F2BA",
        renamed={"N": "T", "D": "K"},
        sequences=_named(x=table.X_SEQUENCE, y=table.Y_SEQUENCE, z=table.Z_SEQUENCE, u=table.U_SEQUENCE),
        paper=RAGD,
        statement="section-10",
        source="Chen, Ma, Zhang 2025, as recalled",
    )
)
register(
    compose(
        "restarted-agd",
        "penalty-agd",
        name="accf2ba",
        title="AccF2BA",
        sequences=_named(
            x=table.X_SEQUENCE, w=table.W_SEQUENCE, y=table.Y_SEQUENCE, z=table.Z_SEQUENCE, u=table.U_SEQUENCE
        ),
        renamed={"T_0": "T", "T_k": "T", "Tp_0": "Tp", "Tp_k": "Tp"},
        paper=RAGD,
        statement="section-10",
        source="Chen, Ma, Zhang 2025, as recalled",
        readings=(ROUNDING, FIRST_TIE),
        variants=("last-tie",),
        note="warm starts go on across restarts",
    )
)
_HYPERGRADIENT = _named(x=table.X_SEQUENCE, y=table.Y_SEQUENCE, v=table.V_SEQUENCE, h=table.U_SEQUENCE)
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
        flags={COLD: COLD_IF_GIVEN},
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
        sequences=_named(x=table.X_SEQUENCE, y=table.Y_SEQUENCE, h=table.U_SEQUENCE),
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
_RAHGD_SEQUENCES = _named(
    x=table.X_SEQUENCE, w=table.W_SEQUENCE, y=table.Y_SEQUENCE, v=table.V_SEQUENCE, u=table.U_SEQUENCE
)
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
    ("prahgd", "PRAHGD", {PERTURB: ALWAYS}, "theorem-4-1"),
):
    register(
        compose(
            "restarted-agd",
            "implicit-agd-cg",
            name=_name,
            title=_title,
            flags=_flags,
            noisy=bool(_flags),
            extra_letters=(_RADIUS,) if _flags else (),
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
register(
    compose(
        "restarted-agd",
        "danskin-agd",
        name="pragda",
        title="PRAGDA",
        flags={PERTURB: ALWAYS},
        noisy=True,
        extra_letters=(_RADIUS,),
        sequences=_named(x=table.X_SEQUENCE, w=table.W_SEQUENCE, y=table.Y_SEQUENCE, u=table.U_SEQUENCE),
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
        sequences=_named(x=table.X_SEQUENCE, y=table.Y_SEQUENCE),
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
        sequences=_named(x=table.X_SEQUENCE, y=table.Y_SEQUENCE),
        paper=YANG,
        statement="section-8",
        source="Nouiehed et al. 2019; Jin et al. 2020, as recalled",
    )
)

LEVELS = 100
"""Flag of simple bilevel methods: how the sequence g_k is made (``simple.loops``)."""
VARIANT_FLAGS = MappingProxyType(
    {
        "last-tie": {LAST_TIE: 1},
        "literal": {LITERAL: 1},
        "cold": {COLD: COLD_START},
        "warm": {COLD: WARM},
        "plain-values": {LEVELS: 1},
        "constant-level": {LEVELS: 2},
    }
)
"""What a variant changes."""


def variant_of(method: Method, variant: str) -> Method:
    """A variant of a method, named ``name:variant``."""
    from dataclasses import replace

    from bilevel_verify.errors import InputError

    if variant not in method.variants:
        known = ", ".join(method.variants) or "none"
        raise InputError(f"{method.name} has no variant {variant!r}; it has {known}")
    flags = {**method.flags, **VARIANT_FLAGS[variant]}
    return replace(method, name=f"{method.name}:{variant}", flags=MappingProxyType(flags), variants=())

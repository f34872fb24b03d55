"""Penalty methods of two levels: RAGD-GS, F2BA, AccF2BA."""

from __future__ import annotations

from bilevel_verify.methods.kernels.state import COLD_START
from bilevel_verify.methods.papers.shared import FIRST_TIE, RAGD, ROUNDING, sequences
from bilevel_verify.methods.registry import Reading, compose, register

register(
    compose(
        "general-smoothness",
        "penalty-agd",
        name="ragd-gs",
        title="RAGD-GS",
        flags={"cold": COLD_START},
        sequences=sequences(
            x="x",
            w="w",
            y="y",
            z="z",
            wbar="more",
            u="u",
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
        sequences=sequences(x="x", y="y", z="z", u="u"),
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
        sequences=sequences(x="x", w="w", y="y", z="z", u="u"),
        renamed={"T_0": "T", "T_k": "T", "Tp_0": "Tp", "Tp_k": "Tp"},
        paper=RAGD,
        statement="section-10",
        source="Chen, Ma, Zhang 2025, as recalled",
        readings=(ROUNDING, FIRST_TIE),
        variants=("last-tie",),
        note="warm starts go on across restarts",
    )
)

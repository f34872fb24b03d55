"""Methods of one level (Li and Lin): gradient descent, restarted AGD and HB, AGD-Jin, convex until guilty."""

from __future__ import annotations

from bilevel_verify.methods.kernels.state import SMALL_GRADIENT
from bilevel_verify.methods.papers.shared import FIRST_TIE, LI_LIN, ROUNDING, sequences
from bilevel_verify.methods.registry import PERTURBATION_RADIUS, Letter, Reading, compose, register
from bilevel_verify.methods.schemes.practical import GUESSED

register(
    compose(
        "gradient-descent",
        "exact",
        name="gradient-descent",
        title="Gradient descent",
        sequences=sequences(x="x"),
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
        sequences=sequences(x="x"),
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
        sequences=sequences(x="x", y="w"),
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
        sequences=sequences(x="x", y="w"),
        extra_letters=GUESSED,
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
        sequences=sequences(x="x", y="w"),
        flags={"perturbed": SMALL_GRADIENT},
        noisy=True,
        extra_letters=(PERTURBATION_RADIUS,),
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
        sequences=sequences(x="x", z="w"),
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
        sequences=sequences(x="x", z="w"),
        extra_letters=GUESSED,
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
        sequences=sequences(x="x", y="w", v="more"),
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
        sequences=sequences(x="x", y="w", p="more"),
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
        "practical-restarted-agd",
        "exact",
        name="restarted-agd-practical-perturbed",
        title="Practical restarted AGD, perturbed",
        sequences=sequences(x="x", y="w"),
        flags={"perturbed": SMALL_GRADIENT},
        noisy=True,
        extra_letters=(*GUESSED, PERTURBATION_RADIUS),
        paper=LI_LIN,
        statement="theorem-3-practical",
        source="Li & Lin, after Theorem 3: Algorithm 2 with the perturbed restart; not written out in the paper",
        readings=(
            ROUNDING,
            FIRST_TIE,
            Reading(
                "the perturbed variant of Algorithm 2",
                "Theorem 3 also applies to it",
                "line 8 adds the perturbation of section 2.2: a valid epoch whose last gradient is at most B/eta",
                "the paper does not write it out; dropped epochs go back to their start, unperturbed",
            ),
        ),
        variants=("last-tie",),
    )
)

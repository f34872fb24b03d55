"""The series of one level: in eps, for each Hoelder exponent, and in the dimension."""

from __future__ import annotations

import math

from bilevel_verify.benchmarks import rate_series as at
from bilevel_verify.benchmarks.rate_series import Series

E = (1e-1, 3e-2, 1e-2, 3e-3, 1e-3, 3e-4)
LONG = (1e-7, 3e-8, 1e-8, 3e-9, 1e-9, 3e-10)
RAMP, TINY = {"s": "2*eps", "drop": 1}, "1/10000000"
RAGD = {"s": "40*eps", "drop": TINY}
TALL = {"s": "400*eps", "drop": "1/100000"}
LI = "Li & Lin, "

ONE_LEVEL = (
    Series("ramp, gradient descent", "ramp", RAMP, "gradient-descent", "eps", E, 2.0,
           parameters=at.descent(1.0), short=5, source="step 1/L until the gradient is at most eps"),
    Series("ramp, restarted AGD", "ramp", RAGD, "restarted-agd", "eps", LONG, 1.75,
           parameters=at.agd(4, 1), short=5, source=LI + "Theorem 1"),
    Series("ramp, RAGD-GS scheme", "ramp", {"s": "2*eps", "drop": "1/100000000"}, "general-smoothness+exact", "eps",
           (1e-7, 4e-8, 1.6e-8, 8e-9, 4e-9, 2e-9), 1.75, parameters=at.scheme(), short=5, paper="ragd-gs",
           source="RAGD-GS, (38) with nu = 1"),
    Series("ramp, cubic Newton", "ramp", RAMP, "cubic-newton", "eps", E[:5], 1.5, parameters=at.cubic, short=5,
           paper="fsba", source="Nesterov & Polyak, M = rho"),
    Series("ramp, restarted HB", "ramp", TALL, "restarted-hb", "eps", LONG[:5], 1.75, parameters=at.agd(10, 0.5),
           source=LI + "Theorem 4"),
    Series("ramp, AGD-Jin", "ramp", RAGD, "agd-jin", "eps", LONG[:5], 1.75, parameters=at.jin,
           source=LI + "Theorem 6", note="momentum is kept between epochs"),
    Series("ramp, practical restarted AGD", "ramp", RAGD, "restarted-agd-practical", "eps", LONG[:5], 1.75,
           parameters=at.practical(4, 1), source=LI + "Theorem 2; B0 = 100 B"),
    Series("ramp, practical restarted AGD, values", "ramp", RAGD, "restarted-agd-practical", "eps", LONG[:5], 1.5,
           count="value_f", parameters=at.practical(4, 1), source=LI + "Theorem 2, function values"),
    Series("ramp, unknown L and rho", "ramp", RAGD, "restarted-agd-practical", "eps", LONG[:5], 1.75,
           parameters=at.practical(4, 1, unknown=True), source=LI + "Remark 2"),
    Series("ramp, practical restarted HB", "ramp", TALL, "restarted-hb-practical", "eps", LONG[:5], 1.75,
           parameters=at.practical(10, 0.5), source=LI + "Theorem 5"),
    Series("ramp, gradient descent in the restart frame", "ramp", {"s": "40*eps", "drop": "1/10000"},
           "gradient-descent-restarted", "eps", (1e-5, 3e-6, 1e-6, 3e-7, 1e-7), 2.0, parameters=at.frame,
           source=LI + "section 5.2"),
    *(
        Series(f"ramp-nu, RAGD-GS scheme, nu = {nu}", "ramp-nu", {"s": "2*eps", "drop": TINY, "nu": nu},
               "general-smoothness+exact", "eps", (1e-6, 4e-7, 1.6e-7, 8e-8, 4e-8), (4 + 3 * nu) / (2 + 2 * nu),
               fixed={"nu": nu}, parameters=at.scheme(), paper="ragd-gs", source=f"RAGD-GS, (38) with nu_f = {nu}")
        for nu in (0.75, 0.5, 0.25)
    ),
    *(
        Series(f"ramp-nu, RAGD-GS scheme, nu_f = {f}, nu_g = {g}", "ramp-nu", {"s": "2*eps", "drop": TINY, "nu": f},
               "general-smoothness+exact", "eps", (1e-6, 4e-7, 1.6e-7, 8e-8, 4e-8),
               (4 + 4 * f - f * g) / (2 + 2 * f), fixed={"nu": f}, parameters=at.scheme(H=1e-5 ** (f * (1 - g)),
               loss=f * (1 - g)),
               paper="ragd-gs", source="RAGD-GS, Theorem 1",
               note="H grows as a penalty makes it grow: (eps/1e-5)^(-nu_f (1 - nu_g))")
        for f, g in ((1, 0.5), (1, 0), (0.5, 0.5))
    ),
    Series("w-ramp, gradient descent", "w-ramp", {"e": "2*eps", "drop": "1/2"}, "gradient-descent", "eps", E[1:], 2.0,
           parameters=at.descent(1.0), source="saddle and slope, L = 1"),
    Series("w-ramp, restarted AGD", "w-ramp", {"e": "40*eps", "drop": "1/1000"}, "restarted-agd", "eps",
           (1e-5, 3e-6, 1e-6, 3e-7, 1e-7), 1.75, parameters=at.agd(4, 1, 1.0, 2.0),
           source=LI + "Theorem 1, saddle and slope"),
    Series("w-ramp, RAGD-GS scheme", "w-ramp", {"e": "2*eps", "drop": "1/10000"}, "general-smoothness+exact", "eps",
           (1e-4, 3e-5, 1e-5, 3e-6, 1e-6), 1.75, parameters=at.scheme(1.0, 2.0), paper="ragd-gs",
           source="RAGD-GS, (38) with nu = 1, saddle and slope"),
    Series("log-well, gradient descent", "log-well", {"s": "eps", "c": 1}, "gradient-descent", "eps", E[1:], 2.0,
           parameters=at.descent(0.5), source="a fixed function, started at 1/eps"),
    Series("log-well, restarted AGD", "log-well", {"s": "40*eps", "c": 1}, "restarted-agd", "eps",
           (3e-4, 1e-4, 3e-5, 1e-5, 3e-6), 1.75, parameters=at.agd(4, 1, 2.0, 1.5 + math.sqrt(2)), log=(0.0, 1.0),
           source=LI + "Theorem 1; Delta = 2 log(1/(40 eps))"),
    Series("log-well, RAGD-GS scheme", "log-well", {"s": "eps", "c": 1}, "general-smoothness+exact", "eps",
           (1e-2, 3e-3, 1e-3, 3e-4, 1e-4), 1.75, parameters=at.scheme(2.0, 1.5 + math.sqrt(2)), paper="ragd-gs",
           log=(0.0, 1.0),
           source="RAGD-GS, (38) with nu = 1; Delta = 2 log(1/eps)"),
    Series("tail p = 1.1, gradient descent", "tail", {"p": "11/10"}, "gradient-descent", "eps", E[1:], 2.0,
           parameters=at.descent(1.0), tolerance=None,
           source="function and start independent of eps; its own law is 1.909"),
    Series("tail p = 2, gradient descent", "tail", {"p": 2}, "gradient-descent", "eps", E[1:], 1.5,
           parameters=at.descent(1.0), source="its own law 1 + 1/p; the theorem has 2"),
)  # fmt: skip

IN_DIMENSION = (
    Series("needle in d, perturbed AGD, practical constants", "needle", {}, "restarted-agd-perturbed", "d",
           (2, 4, 8, 16, 32, 64), 0.0, count="grad_f", fixed={"eps": 1e-3}, parameters=at.perturbed, tolerance=0.06,
           source=LI + "Theorem 3", note="polylogarithmic in d; started beside the saddle"),
)  # fmt: skip

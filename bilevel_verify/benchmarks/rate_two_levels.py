"""The series of two levels and of minimax problems: in eps, and factor by factor in kappa.

A literal run in kappa costs outer iterations times inner steps, about 1e10 gradients where the power begins to show. So
each factor is measured by itself: the outer iterations on the hyper-objective, with exact gradients and the printed
parameters of the two-level problem; the inner steps an outer iteration over the first calls of the literal method; the
product of the two is named as such. The literal method stands beside them as far as it can be paid.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from bilevel_verify.benchmarks import rate_series as at
from bilevel_verify.benchmarks.rate_series import Letters, Series

YANG, ZHANG = "Yang et al., ", "RAGD-GS, "
TABLE = YANG + "Table 1"
AMPLIFIER = "amplifier-ramp"
COARSE = (2e-2, 1e-2, 4e-3, 2e-3)
FINE = (1e-4, 3e-5, 1e-5, 3e-6)
FINEST = (1e-4, 5e-5, 2.5e-5, 1.2e-5, 6e-6)
WIDE = (16, 32, 64, 128, 256)
LITERAL = (8, 12, 16, 24, 32, 48)
MILLION = 10**6

AGD_LOG = (2.0, 1.5)
"""(31): log(2 L~ sqrt(kappa+1)/sigma 2 kappa B) with L~ = kappa^3, rho~ = kappa^5, sigma = eps^2."""
CG_LOG = (1.5, 2.0)
"""(30): log(4 ell sqrt(kappa)/sigma 2M/mu)."""
PENALTY_LOG = (2.5, 2.0)
"""(44), (45): log(sqrt(kappa) lambda L_g/(sigma mu) D) with lambda = kappa^3/eps, D = kappa^(-2)."""
LAMBDA_LOG = (4.0, 2.0)
"""log(lambda ell kappa/eps), lambda = kappa^3/eps."""
EPS_LOG = (0.0, 1.0)
MINIMAX_LOG = (0.25, 1.25)
"""(39) with L~ = kappa, rho~ = kappa^3, sigma = rho~ B r theta."""


def _aid(letters: Letters) -> dict[str, float]:
    """AID-BiO as recalled: D = kappa gradient steps, sqrt(kappa) CG steps, outer step 1/L~."""
    kappa = letters["ell"] / letters["mu"]
    steps = {"D": math.ceil(kappa), "N_cg": math.ceil(math.sqrt(kappa))}
    return {"alpha": 1 / letters["ell"], "beta": 1 / letters["L_tilde"], **steps}


def _itd(letters: Letters) -> dict[str, float]:
    """ITD-BiO as recalled: D = kappa log(1/eps)."""
    length = math.ceil(letters["ell"] / letters["mu"] * math.log(1 / letters["eps"]))
    return {"alpha": 1 / letters["ell"], "beta": 1 / letters["L_tilde"], "D": length}


def _ba(letters: Letters) -> dict[str, float]:
    """BA as recalled: ceil(c (k+1)^(1/4)) inner steps with c = kappa, outer step 1/L~."""
    return {"alpha": 1 / letters["L_tilde"], "beta": 1 / letters["ell"], "c": letters["ell"] / letters["mu"]}


def _f2ba(letters: Letters) -> dict[str, float]:
    """F2BA as recalled: lambda and L of RAGD-GS; K = 2 kappa log(lambda ell kappa / eps), as tau is half a step."""
    kappa, lam, smooth = letters["kappa_g"], letters["lam"], letters["L_g"]
    length = math.ceil(2 * kappa * math.log(lam * smooth * kappa / letters["eps"]))
    return {"eta": 0.5 / letters["L"], "alpha": 1 / smooth, "tau": 0.5 / (lam * smooth), "lam": lam, "K": length}


def _accf2ba(letters: Letters) -> dict[str, float]:
    """AccF2BA as recalled: restarted AGD with L and H of RAGD-GS, 2 sqrt(kappa) log(lambda ell kappa / eps) steps."""
    kappa, lam, smooth = letters["kappa_g"], letters["lam"], letters["L_g"]
    length = math.ceil(2 * math.sqrt(kappa) * math.log(lam * smooth * kappa / letters["eps"]))
    inner = {"alpha": 1 / smooth, "alpha_p": 0.5 / (lam * smooth), "T": length, "Tp": length, "lam": lam}
    return {**_accelerated(letters), **inner, "beta": letters["beta"], "beta_p": letters["beta_p"]}


def _restarted(letters: Letters) -> dict[str, float]:
    return {name: letters[name] for name in ("eta", "B", "theta", "K")}


def _minimax(letters: Letters) -> dict[str, float]:
    return at.agd(4, 1, letters["L_tilde"], letters["rho_tilde"])(letters)


def _accelerated(letters: Letters) -> dict[str, float]:
    return at.agd(4, 1, letters["L"], letters["H_nu"])(letters)


def _general(letters: Letters) -> dict[str, float]:
    return {"L": letters["L"], "H_nu": letters["H_nu"], "nu_f": 1.0}


def _descent(name: str, factor: float) -> Callable[[Letters], dict[str, float]]:
    """Gradient descent with the step 1/(factor L)."""
    return lambda letters: {"eta": 1 / (factor * letters[name])}


def _in_eps(name: str, method: str, exponent: float, **more: Any) -> Series:
    """A series in eps on the amplified ramp with the knob kappa = 2."""
    given = {"knobs": {"s": "7/10*eps", "drop": "1/100", "kappa": 2}, "values": COARSE, **more}
    return Series(f"amplifier, {name}", AMPLIFIER, method=method, letter="eps", exponent=exponent, **given)


IN_EPS = (
    *(
        _in_eps(f"RAHGD in eps, {what}", "rahgd", 1.75, knobs={"s": "20*eps", "drop": "1/10000", "kappa": 2},
                values=FINE,
                count=count, log=log, paper="rahgd", source=YANG + "Corollary 3.6", tolerance=0.06)
        for what, count, log in (("Gc(f)", "grad_f", None), ("Gc(g)", "grad_g", AGD_LOG), ("JV(g)", "jvp_xy_g", None))
    ),
    *(
        _in_eps(f"RAGD-GS in eps, {what}", "ragd-gs", 1.75, knobs={"s": "7/10*eps", "drop": "1/2000000", "kappa": 2},
                values=FINEST, count=count, log=log, paper="ragd-gs", source=ZHANG + item, tolerance=0.1)
        for what, count, log, item in (
            ("outer iterations", "iterations", None, "Theorem 1"),
            ("gradients", "grad_f+grad_g", PENALTY_LOG, "Theorem 2"),
        )
    ),
    *(
        _in_eps(f"AID-BiO in eps, {what}", "aid-bio", 2.0, count=count, parameters=_aid, prescribed="rahgd",
                paper="rahgd",
                source=TABLE)
        for what, count in (("Gc(f)", "grad_f"), ("Gc(g)", "grad_g"))
    ),
    *(
        _in_eps(f"ITD-BiO in eps, {what}", "itd-bio", 2.0, count=count, values=COARSE, parameters=_itd, log=log,
                prescribed="rahgd", paper="rahgd", source=TABLE)
        for what, count, log in (("Gc(f)", "grad_f", None), ("HV(g)", "hvp_yy_g", EPS_LOG))
    ),
    *(
        _in_eps(f"BA in eps, {what}", "ba", exponent, count=count, parameters=_ba, prescribed="rahgd", paper="rahgd",
                source=TABLE)
        for what, count, exponent in (("Gc(f)", "grad_f", 2.0), ("Gc(g)", "grad_g", 2.5))
    ),
    *(
        _in_eps(f"F2BA in eps, {what}", "f2ba", 2.0, count=count, values=(4e-3, 2e-3, 1e-3, 5e-4), parameters=_f2ba,
                log=log,
                knobs={"s": "7/10*eps", "drop": "1/1000", "kappa": 2},
                prescribed="ragd-gs", paper="ragd-gs", source=ZHANG + "Table 1")
        for what, count, log in (("outer iterations", "iterations", None), ("gradients", "grad_f+grad_g", LAMBDA_LOG))
    ),
)  # fmt: skip

FLAT = {"s": "50*eps/kappa", "drop": "1/60000"}
"""phi has the slope 50 eps; restarted AGD stops by itself where a half is left, so the road is drop/s at any kappa."""
STEEP = {"s": "7/5*eps/kappa", "drop": "1/10000"}
"""The same for methods that stop at |grad phi| = eps."""
SMALL = {"s": "7/5*eps/kappa", "drop": "1/4000000"}
OUTER = "exact hypergradients, printed parameters of the two-level problem"
FIRST = "lengths over the first million calls of the literal method"
MADE = "product of the two measured factors"


def _kappa(name: str, method: str, exponent: float, **more: Any) -> Series:
    """A series in kappa on the amplified ramp (the paper's kappa is 5/2 of the knob)."""
    given = {"problem": AMPLIFIER, "knobs": FLAT, "values": WIDE, "fixed": {"eps": 1e-4}, "tolerance": 0.1, **more}
    return Series(f"amplifier, {name}", method=method, letter="kappa", exponent=exponent, **given)


def _outer(name: str, outer: str, exponent: float, parameters: at.Parameters, paper: str, **more: object) -> Series:
    """Outer iterations with exact hypergradients."""
    given = {"outer": outer, "parameters": parameters, "prescribed": paper, "paper": paper, "note": OUTER, **more}
    return _kappa(name, paper, exponent, **given)


def _inner(name: str, method: str, exponent: float, count: str, **more: object) -> Series:
    """Inner steps an outer iteration, over the first calls of the literal method."""
    return _kappa(name, method, exponent, count=count, start=True, budget=MILLION, note=FIRST, **more)


def _made(name: str, exponent: float, outer: Series, inner: Series, **more: object) -> Series:
    """The product of an outer and an inner series."""
    given = {"product": (outer.name, inner.name), "paper": outer.paper, "log": inner.log, "note": MADE, **more}
    return _kappa(name, outer.method, exponent, **given)


RAHGD_OUTER = _outer("RAHGD in kappa, outer iterations", "restarted-agd", 2.75, _restarted, "rahgd",
                     source=YANG + "Theorem 3.4, Gc(f) and JV(g) of Corollary 3.6")  # fmt: skip
RAHGD_AGD = _inner("RAHGD in kappa, AGD steps an outer iteration", "rahgd", 0.5, "grad_g/iterations", log=AGD_LOG,
                   paper="rahgd", source=YANG + "Proposition 3.5, (31)")  # fmt: skip
RAHGD_CG = _inner("RAHGD in kappa, CG steps an outer iteration, chain", "rahgd", 0.5, "hvp_yy_g/iterations", log=CG_LOG,
                  problem="chain-lower", knobs={"d": 64}, fixed={"eps": 1e-2}, paper="rahgd",
                  source=YANG + "Proposition 3.5, (30)")  # fmt: skip
RAGD_OUTER = _outer("RAGD-GS in kappa, outer iterations", "general-smoothness+exact", 2.75, _general, "ragd-gs",
                    knobs=SMALL, source=ZHANG + "Theorem 1")  # fmt: skip
RAGD_INNER = _inner("RAGD-GS in kappa, gradients an outer iteration", "ragd-gs", 0.5, "(grad_f+grad_g)/iterations",
                    knobs=SMALL, log=PENALTY_LOG, paper="ragd-gs", source=ZHANG + "Theorem 2, (44)-(47)")  # fmt: skip
F2BA_OUTER = _outer("F2BA in kappa, outer iterations", "gradient-descent", 3.0, _descent("L", 2), "ragd-gs",
knobs=STEEP,
                    fixed={"eps": 1e-2}, source=ZHANG + "Table 1, a factor of it")  # fmt: skip
F2BA_INNER = _inner("F2BA in kappa, gradients an outer iteration", "f2ba", 1.0, "(grad_f+grad_g)/iterations",
knobs=STEEP,
                    fixed={"eps": 1e-2}, parameters=_f2ba, prescribed="ragd-gs", log=LAMBDA_LOG, paper="ragd-gs",
                    source=ZHANG + "Table 1, a factor of it")  # fmt: skip
ACC_OUTER = _outer("AccF2BA in kappa, outer iterations", "restarted-agd", 2.75, _accelerated, "ragd-gs",
                   source=ZHANG + "Table 1, a factor of it")  # fmt: skip
ACC_INNER = _inner("AccF2BA in kappa, gradients an outer iteration", "accf2ba", 0.5, "(grad_f+grad_g)/iterations",
                   parameters=_accf2ba, prescribed="ragd-gs", log=LAMBDA_LOG, paper="ragd-gs",
                   source=ZHANG + "Table 1, a factor of it")  # fmt: skip

LITERAL_RAHGD = tuple(
    _kappa(f"RAHGD in kappa, literal, {what}", "rahgd", exponent, count=count, values=LITERAL, log=log,
           knobs={"s": "50*eps/kappa", "drop": "1/120000"}, paper="rahgd", source=YANG + "Corollary 3.6",
           tolerance=0.15,
           note="the method itself; its powers have not settled at these kappa")
    for what, count, exponent, log in (("Gc(f)", "grad_f", 2.75, None), ("Gc(g)", "grad_g", 3.25, AGD_LOG))
)  # fmt: skip

BASELINES = (
    _outer("AID-BiO and ITD-BiO in kappa, outer iterations", "gradient-descent", 3.0, _descent("L_tilde", 1), "rahgd",
           knobs=STEEP, fixed={"eps": 1e-2}, source=TABLE + ", Gc(f)"),
    _kappa("AID-BiO in kappa, literal, Gc(g)", "aid-bio", 4.0, count="grad_g", parameters=_aid, prescribed="rahgd",
           values=LITERAL, knobs=STEEP, fixed={"eps": 1e-2}, paper="rahgd", source=TABLE, tolerance=0.15),
    *(
        _kappa(f"ITD-BiO in kappa, literal, {what}", "itd-bio", 4.0, count=count, parameters=_itd, prescribed="rahgd",
               values=LITERAL, knobs={"s": "7/5*eps/kappa", "drop": "1/500"}, fixed={"eps": 1e-1}, paper="rahgd",
               source=TABLE, tolerance=0.15)
        for what, count in (("Gc(g)", "grad_g"), ("JV(g)", "jvp_xy_g"), ("HV(g)", "hvp_yy_g"))
    ),
    _kappa("BA in kappa, literal, Gc(f)", "ba", 4.0, count="grad_f", parameters=_ba, prescribed="rahgd", values=LITERAL,
           knobs=STEEP, fixed={"eps": 1e-2}, paper="rahgd", source=TABLE, tolerance=None,
           note="with the step 1/L~ of the others it needs kappa^3; the table's power is of an older analysis"),
)  # fmt: skip

IN_KAPPA = (
    RAHGD_OUTER,
    _outer("RAHGD in kappa, epochs", "restarted-agd", 2.5, _restarted, "rahgd", count="epochs",
           source=YANG + "Theorem 3.4, proof B.5"),
    _outer("RAHGD in kappa, iterations an epoch", "restarted-agd", 0.25, _restarted, "rahgd", count="iterations/epochs",
           source=YANG + "Theorem 3.4, K = (L~^2/(rho~ eps))^(1/4)/2"),
    RAHGD_AGD,
    RAHGD_CG,
    _made("RAHGD in kappa, Gc(g), of the two factors", 3.25, RAHGD_OUTER, RAHGD_AGD, source=YANG + "Corollary 3.6"),
    _made("RAHGD in kappa, HV(g), of the two factors", 3.25, RAHGD_OUTER, RAHGD_CG, source=YANG + "Corollary 3.6"),
    *LITERAL_RAHGD,
    *BASELINES,
    RAGD_OUTER,
    RAGD_INNER,
    _made("RAGD-GS in kappa, gradients, of the two factors", 3.25, RAGD_OUTER, RAGD_INNER, source=ZHANG + "Theorem 2"),
    F2BA_OUTER,
    F2BA_INNER,
    _made("F2BA in kappa, gradients, of the two factors", 4.0, F2BA_OUTER, F2BA_INNER, source=ZHANG + "Table 1"),
    ACC_OUTER,
    ACC_INNER,
    _made("AccF2BA in kappa, gradients, of the two factors", 3.25, ACC_OUTER, ACC_INNER, source=ZHANG + "Table 1"),
)  # fmt: skip


def _lifted(name: str, exponent: float, **more: Any) -> Series:
    """A series in kappa on the minimax lift of the ramp."""
    knobs = {"s": "50*eps", "drop": "1/100000", "mu": "1/kappa"}
    given = {"values": WIDE, "fixed": {"eps": 1e-5}, "paper": "rahgd", "tolerance": 0.1, **more}
    return Series(f"minimax ramp, {name}", "minimax-ramp", knobs, "pragda", "kappa", exponent=exponent, **given)


MINIMAX_OUTER = _lifted("PRAGDA in kappa, outer iterations", 1.25, outer="restarted-agd", parameters=_minimax,
                        prescribed="pragda", source=YANG + "Theorem 5.2, a factor of it",
                        note="unperturbed, L~ and rho~ of Lemma 5.1, exact gradients of phi")  # fmt: skip
MINIMAX_INNER = _lifted("PRAGDA in kappa, gradients an outer iteration", 0.5, count="any/iterations", start=True,
                        budget=MILLION, log=MINIMAX_LOG, source=YANG + "Theorem 5.2, (39)", note=FIRST)  # fmt: skip
MINIMAX = (
    MINIMAX_OUTER,
    MINIMAX_INNER,
    _lifted("PRAGDA in kappa, gradients, of the two factors", 1.75, product=(MINIMAX_OUTER.name, MINIMAX_INNER.name),
            log=MINIMAX_LOG, source=YANG + "Theorem 5.2", note=MADE + "; the powers of chi are left out"),
)  # fmt: skip

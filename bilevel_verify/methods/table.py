"""The rows and columns of the table: every outer scheme and every gradient estimator of this family."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

from bilevel_verify.methods.kernels import gradients, guilty, practical, schemes, values
from bilevel_verify.methods.kernels.layout import (
    AUX_KNOWN,
    GUESS_L,
    GUESS_RHO,
    HEAVY_BALL,
    LENGTH,
    LOWER_V,
    LOWER_Y,
    LOWER_Z,
    MARK,
    ONE,
    PERTURB,
    POINT_AUX,
    POINT_U,
    POINT_W,
    POINT_X,
    RADIUS,
    TESTED,
)
from bilevel_verify.methods.kernels.scalars import square_root
from bilevel_verify.methods.registry import (
    PERTURBATION_RADIUS,
    Estimator,
    Letter,
    Scheme,
    register_estimator,
    register_scheme,
)

X_SEQUENCE = ("points", POINT_X)
W_SEQUENCE = ("points", POINT_W)
U_SEQUENCE = ("points", POINT_U)
AUX_SEQUENCE = ("points", POINT_AUX)
Y_SEQUENCE = ("lowers", LOWER_Y)
Z_SEQUENCE = ("lowers", LOWER_Z)
V_SEQUENCE = ("lowers", LOWER_V)


def _sequences(**named: tuple[str, int]) -> Mapping[str, tuple[str, int]]:
    return MappingProxyType(named)


ETA, THETA, B = Letter("eta"), Letter("theta", "real"), Letter("B", "nonnegative")
K = (Letter("K", "count"), LENGTH)
UPDATES = (Letter("N", "count", default=2**62), LENGTH)
"""Most updates; without it the budget ends the run."""
TESTED_EPS = Letter("eps", optional=True)


def _tested_if_given(memory: Any, letters: Mapping[str, Any]) -> None:
    """The stopping test is made if the run has an eps."""
    memory.whole[TESTED] = int("eps" in letters)


def _no_perturbation_yet(memory: Any, letters: Mapping[str, Any]) -> None:
    memory.whole[MARK] = -1
    memory.whole[TESTED] = 1


def _guesses(memory: Any, letters: Mapping[str, Any]) -> None:
    """B0 is the first radius; L and rho are guesses where c1, c2, c3 are given (Remark 2)."""
    from bilevel_verify.methods.kernels.layout import ADAPTIVE

    memory.real[RADIUS] = letters["B0"]
    memory.real[GUESS_L], memory.real[GUESS_RHO] = letters["L"], letters["rho"]
    memory.whole[ADAPTIVE] = int("c2" in letters or "c3" in letters)
    memory.real[6] = letters.get("c1", letters["c"])
    for place, name in ((7, "c2"), (8, "c3")):
        memory.real[place] = letters.get(name, memory.real[ONE])


def _guilty_letters(memory: Any, letters: Mapping[str, Any]) -> None:
    """eps, alpha = 2 sqrt(rho eps), eta_nc = alpha/rho, L_hat = L + 2 alpha, sqrt(L_hat/alpha), omega, the decay."""
    one = memory.real[ONE]
    eps, L, rho = letters["eps"], letters["L"], letters["rho"]
    alpha = letters.get("alpha", 2 * square_root(rho * eps))
    eta_nc = letters.get("eta_nc", alpha / rho)
    L_hat = L + 2 * alpha
    root = square_root(L_hat / alpha)
    if isinstance(one, float):
        import math

        decay: Any = math.exp(-1.0 / root)
    else:
        decay = one.context.exp(-1 / root)
    prepared = (eps, alpha, eta_nc, L_hat, root, (root - 1) / (root + 1), decay)
    for place, value in enumerate(prepared):
        memory.real[place] = value


_PLAIN_OUTER = _sequences(x=X_SEQUENCE, u=U_SEQUENCE)
_EXTRAPOLATED = _sequences(x=X_SEQUENCE, w=W_SEQUENCE, u=U_SEQUENCE)

register_scheme(
    Scheme(
        "gradient-descent",
        schemes.gradient_descent,
        (ETA, TESTED_EPS),
        (UPDATES,),
        restarts=False,
        prepare=_tested_if_given,
        sequences=_PLAIN_OUTER,
    )
)
register_scheme(
    Scheme(
        "perturbed-gradient-descent",
        schemes.perturbed_gradient_descent,
        (ETA, Letter("eps"), PERTURBATION_RADIUS),
        (UPDATES, (Letter("T_pert", "count"), PERTURB)),
        restarts=False,
        noisy=True,
        prepare=_no_perturbation_yet,
        sequences=_PLAIN_OUTER,
    )
)
register_scheme(
    Scheme("restarted-gradient-descent", schemes.restarted_gradient_descent, (ETA, B), (K,), sequences=_PLAIN_OUTER)
)
register_scheme(Scheme("restarted-agd", schemes.restarted_agd, (ETA, THETA, B), (K,), sequences=_EXTRAPOLATED))
register_scheme(
    Scheme(
        "restarted-hb",
        schemes.restarted_heavy_ball,
        (ETA, THETA, B),
        (K,),
        sequences=_sequences(x=X_SEQUENCE, z_restart=W_SEQUENCE, u=U_SEQUENCE),
    )
)
register_scheme(
    Scheme(
        "general-smoothness",
        schemes.general_smoothness,
        (Letter("L"), Letter("H_nu"), Letter("nu_f", "nonnegative"), TESTED_EPS),
        stopping=True,
        prepare=_tested_if_given,
        sequences=_sequences(x=X_SEQUENCE, w=W_SEQUENCE, u=U_SEQUENCE, wbar=AUX_SEQUENCE),
    )
)
_PRACTICAL_LETTERS = (ETA, THETA, B, Letter("B0"), Letter("c"), Letter("eps"))
_GUESSED = (
    Letter("L"),
    Letter("rho"),
    Letter("c1", optional=True),
    Letter("c2", optional=True),
    Letter("c3", optional=True),
)
for _name, _heavy in (("practical-restarted-agd", 0), ("practical-restarted-hb", 1)):
    register_scheme(
        Scheme(
            _name,
            practical.practical,
            _PRACTICAL_LETTERS,
            (K,),
            flags=MappingProxyType({HEAVY_BALL: _heavy}),
            values=True,
            prepare=_guesses,
            sequences=_EXTRAPOLATED if not _heavy else _sequences(x=X_SEQUENCE, z_restart=W_SEQUENCE, u=U_SEQUENCE),
        )
    )
register_scheme(
    Scheme(
        "agd-jin",
        practical.agd_jin,
        (ETA, THETA, B, Letter("gamma"), Letter("s")),
        (K,),
        flags=MappingProxyType({AUX_KNOWN: 1}),
        values=True,
        sequences=_sequences(x=X_SEQUENCE, w=W_SEQUENCE, u=U_SEQUENCE, velocity=AUX_SEQUENCE),
    )
)
register_scheme(
    Scheme(
        "convex-until-guilty",
        guilty.until_guilty,
        (),
        flags=MappingProxyType({AUX_KNOWN: 1}),
        values=True,
        prepare=_guilty_letters,
        sequences=_sequences(x=X_SEQUENCE, w=W_SEQUENCE, p=AUX_SEQUENCE),
        history=True,
    )
)

ALPHA, BETA = Letter("alpha"), Letter("beta", "real")


def _lengths(*names: str) -> tuple[Letter, ...]:
    return tuple(Letter(name, "length") for name in names)


def _ba_oracles(letters: Mapping[str, Any]) -> frozenset[str]:
    """Exact solve: the Hessian; BA-CG: products."""
    system = {"hvp_yy_g", "jvp_xy_g"} if "N_cg" in letters else {"hess_g"}
    return frozenset({"grad_y_g", "grad_f"} | system)


_HYPERGRADIENT = frozenset({"grad_y_g", "grad_f", "hess_g"})
_IMPLICIT = frozenset({"grad_y_g", "grad_f", "hvp_yy_g", "jvp_xy_g"})
_PENALTY = frozenset({"grad_y_g", "grad_y_f", "grad_x_f", "grad_x_g"})
_DANSKIN = frozenset({"grad_y_g", "grad_x_f"})
_YV = _sequences(y=Y_SEQUENCE, v=V_SEQUENCE)
_YZ = _sequences(y=Y_SEQUENCE, z=Z_SEQUENCE)
_Y = _sequences(y=Y_SEQUENCE)
_TWO_LEVELS: Any = ("bilevel", "minimax")

register_estimator(
    Estimator(
        "exact",
        gradients.exact,
        values.value_exact,
        values.exact_itself,
        ("single_level",),
        needs=frozenset({"grad_f"}),
        value_needs=frozenset({"value_f"}),
        stopping_needs=frozenset({"grad_f"}),
    )
)
register_estimator(
    Estimator(
        "implicit-agd-cg",
        gradients.implicit_agd_cg,
        values.value_after_agd,
        values.exact_hypergradient,
        _TWO_LEVELS,
        (ALPHA, BETA),
        _lengths("T_m1", "T_k", "Tp_0", "Tp_k"),
        needs=_IMPLICIT,
        value_needs=frozenset({"value_f"}),
        stopping_needs=_HYPERGRADIENT,
        sequences=_YV,
    )
)
register_estimator(
    Estimator(
        "implicit-gd-cg",
        gradients.implicit_gd_cg,
        values.value_after_descent,
        values.exact_hypergradient,
        _TWO_LEVELS,
        (ALPHA,),
        _lengths("D", "N_cg"),
        needs=_IMPLICIT,
        value_needs=frozenset({"value_f"}),
        stopping_needs=_HYPERGRADIENT,
        sequences=_YV,
    )
)
register_estimator(
    Estimator(
        "implicit-ba",
        gradients.implicit_ba,
        values.value_after_ba,
        values.exact_hypergradient,
        _TWO_LEVELS,
        (Letter("beta"), Letter("c")),
        (Letter("N_cg", "length", optional=True),),
        needs=_IMPLICIT | {"hess_g"},
        value_needs=frozenset({"value_f"}),
        stopping_needs=_HYPERGRADIENT,
        picks=_ba_oracles,
        sequences=_YV,
    )
)
register_estimator(
    Estimator(
        "unrolled",
        gradients.unrolled,
        values.value_after_descent,
        values.exact_hypergradient,
        _TWO_LEVELS,
        (ALPHA,),
        _lengths("D"),
        needs=_IMPLICIT,
        value_needs=frozenset({"value_f"}),
        stopping_needs=_HYPERGRADIENT,
        tape="D",
        sequences=_Y,
    )
)
register_estimator(
    Estimator(
        "penalty-agd",
        gradients.penalty_agd,
        values.value_penalty_agd,
        values.exact_penalty_agd,
        _TWO_LEVELS,
        (ALPHA, BETA, Letter("alpha_p"), Letter("beta_p", "real"), Letter("lam")),
        _lengths("T_0", "T_k", "Tp_0", "Tp_k"),
        needs=_PENALTY,
        value_needs=frozenset({"value_f", "value_g"}),
        stopping_needs=_PENALTY | {"hess_f", "hess_g"},
        sequences=_YZ,
    )
)
register_estimator(
    Estimator(
        "penalty-gd",
        gradients.penalty_gd,
        values.value_penalty_gd,
        values.exact_penalty_gd,
        _TWO_LEVELS,
        (ALPHA, Letter("tau"), Letter("lam")),
        _lengths("D"),
        needs=_PENALTY,
        value_needs=frozenset({"value_f", "value_g"}),
        stopping_needs=_PENALTY | {"hess_f", "hess_g"},
        inner_first=True,
        sequences=_YZ,
    )
)
_DANSKIN_STOP = frozenset({"grad_y_g", "grad_x_f", "hess_g"})
register_estimator(
    Estimator(
        "danskin-agd",
        gradients.danskin_agd,
        values.value_after_agd,
        values.exact_danskin,
        ("minimax",),
        (ALPHA, BETA),
        _lengths("T_m1", "T_k"),
        needs=_DANSKIN,
        value_needs=frozenset({"value_f"}),
        stopping_needs=_DANSKIN_STOP,
        sequences=_Y,
    )
)
register_estimator(
    Estimator(
        "danskin-gd",
        gradients.danskin_gd,
        values.value_after_descent,
        values.exact_danskin,
        ("minimax",),
        (Letter("eta_y"),),
        _lengths("D"),
        needs=_DANSKIN,
        value_needs=frozenset({"value_f"}),
        stopping_needs=_DANSKIN_STOP,
        sequences=_Y,
    )
)
register_estimator(
    Estimator(
        "danskin-simultaneous",
        gradients.danskin_simultaneous,
        values.value_as_it_is,
        values.exact_danskin,
        ("minimax",),
        (Letter("eta_y"),),
        needs=frozenset({"grad_f"}),
        value_needs=frozenset({"value_f"}),
        stopping_needs=_DANSKIN_STOP,
        inner_first=True,
        sequences=_Y,
    )
)
register_estimator(
    Estimator(
        "danskin-alternating",
        gradients.danskin_alternating,
        values.value_as_it_is,
        values.exact_danskin,
        ("minimax",),
        (Letter("eta_y"),),
        needs=frozenset({"grad_f", "grad_y_g"}),
        value_needs=frozenset({"value_f"}),
        stopping_needs=_DANSKIN_STOP,
        sequences=_Y,
    )
)

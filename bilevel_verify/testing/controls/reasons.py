"""Why a printed claim about steps cannot come near its bound: what is derived, or the most that a search has found."""

from __future__ import annotations

from collections.abc import Mapping

_PAPER = "restarted-agd-hb"
_A, _L7 = "agm-bio/", "ragd-gs/proof-lemma-7:"
_CURVATURE = (
    "1/(2 - c/L) for a curvature c of L* on the step: 0.8 needs c = 3 L/4, and 0.35 L is the most of "
    "twelve instances "
    "searched (f that sees y alone, over the steepest coupling); c <= L_f <= L/sqrt(10) where f does not see y"
)
_SNAPSHOT = (
    "at most 0.23: from a snapshot the step lowers by M/12 |s|^3 at least, and |grad| <= M |s|^2, "
    "-lambda_min <= 3/2 M |s| behind it make the bound (1/(120 sqrt(3)) + 1/72) M |s|^3 or (27/(8*987) + "
    "1/72) M |s|^3"
)
_FIRST = "g_0 - g* <= L_g R^2/2 is a quarter of what (8) allows: "
_BOTH = (
    f"{_FIRST}at most (2 H_k + 1/2)/(2 log(k) + 4) < 0.8 for k <= 40, H_k the harmonic number (gamma = 1, less for a "
    "smaller one), and there only if all later g_k and the second term use up theirs at once"
)
_JUMPS = (
    "needs every step of z as long as the set: z jumps from end to end, while y, where the slopes are taken, moves "
    "2/(k + 2) of that; 0.24 is the most of the examples and of 150 random instances (Huber's functions, valleys)"
)
_T1, _T4 = f"{_PAPER}/theorem-1:", f"{_PAPER}/theorem-4:"
LOOSE: Mapping[str, str] = {
    f"{_T1}equation-6b": "at most sqrt(1 + 2/N)/2, N = ceil(K): the last epoch has N steps whose squares add up to S "
    "with N S <= B^2; y[k] - x[0] is a sum of at most N - 1 of them, the last one 2 - theta times, so "
    "that its norm is "
    "at most sqrt(N + 2) sqrt(S)",
    f"{_T1}equation-17": "at most about 0.76: the left side is at most 2/(eta K) (a + theta s), a the "
    "shortest move of "
    "the second half, s the way until it; with N S <= B^2 the best choice of both halves gives 0.746, the errors of "
    "the model less than 0.01",
    f"{_T1}equation-18": "equality needs a first half that stands still and a second one of equal steps; "
    "from rest the "
    "steps of a quadratic reach 0.66 (differential evolution over curvatures and starts, K = 12)",
    f"{_T1}output": "0.52 is the most over curvatures and starts of a quadratic (as for (18)), to which an epoch is "
    "close: the Hessian changes by at most theta^2/(16 eta) in it",
    f"{_T1}output-distance": "a mean of norms that grow like the root of k: below 0.45 for N >= 8",
    f"{_T1}equation-16": "friction alone loses about theta/eta S = 16 rho B^3, sixteen times the bound",
    f"{_T4}drift/2": "at most 2/3: an epoch of one step has two zero terms and 4 B, a longer one at most B + 5/4 B + B",
    f"{_PAPER}/lemma-3:per-step": "below 1/2 whatever the errors are (both sides are quadratic forms of q_0 and the "
    "errors: right - 2 left is positive semidefinite), at most 1/4 between negative sides; without errors it is "
    "r/(2 + r), x[k+1] - v = (1 + r)(x[k] - v), most where theta = 1/4: 0.23",
    f"{_L7}inner-product": "at most 2 - sqrt(2) = 0.586 where L* is quadratic: with grad(x[k]) = t "
    "grad(x[k-1]) and theta -> 1 "
    "it is (t^2 - 1/2)/(2 t^2 - t), most at t = 1 + 1/sqrt(2)",
    f"{_L7}equation-20": _CURVATURE,
    f"{_L7}equation-20-inexact": _CURVATURE,
    "ragd-gs/proof-lemma-e-2:a": "it keeps what smoothness with L leaves in (20): 0.61 is the most of "
    "twelve instances searched",
    f"{_L7}equation-23": "for nu_f = 1 it is the third derivative of L* on the way over H_nu, which adds "
    "up the worst cases of "
    "f and g: 0.022 is the most of twelve instances searched",
    f"{_L7}display-before-10": "its positive terms cancel in (10) only after dot(grad, step) is bounded "
    "by the squares; 0.21 "
    "is the most of twelve instances searched",
    "ragd-gs/proof-theorem-2:warm-start/3": "at most 3/5: both steps are at most D, and the bound has 5 D"
    " + (C + sigma)/L",
    "ragd-gs/lemma-8:every-k": "1/16 at k = 0, where a step of length 1/L lowers by at least L/2 |s|^2; "
    "0.036 is the most of "
    "the search of the worst cases",
    "rahgd/lemma-a-4:inexact-y": "at most 1/(1 + kappa) <= 1/2: L_tilde is (1 + kappa) times ell (1 + kappa) + rho M "
    "(1 + kappa)/mu, the constant in y alone (minimax: (1 + kappa) ell and ell)",
    "fsba/lemma-3-2:decrease": "at most 1/2: the cubic step, exact up to the 1e-6 that the inner solvers "
    "leave, lowers L* by "
    "at least M/12 |s|^3",
    "fsba/lemma-4-2:equation-12-gradient": _SNAPSHOT,
    "fsba/lemma-4-2:equation-12-curvature": _SNAPSHOT,
    "fsba/theorem-4-7:equation-40": _SNAPSHOT,
    "fsba/theorem-4-7:equation-40-curvature": _SNAPSHOT,
    "fsba/lemma-b-5:equation-19": "an error of the cubic model, which is solved up to rounding",
    "fsba/lemma-b-5:equation-20": "a sign: 0 has no share, and both sides meet at it up to rounding where"
    " the model bends most",
    f"{_A}lemma-a-1-proof:last-step-20/2": "it says g(y) >= g*: where both sides meet, they differ by "
    "what rounding is allowed",
    f"{_A}theorem-4-1:equation-10": _JUMPS,
    f"{_A}theorem-4-1-proof:equation-33/2": _JUMPS,
    f"{_A}remark-4-2:equation-10": _JUMPS,
    f"{_A}theorem-4-1:equation-11": _BOTH,
    f"{_A}theorem-4-1-proof:proof-of-11": _BOTH,
    f"{_A}remark-4-1:fast": _BOTH,
    f"{_A}lemma-4-3:equation-13": _BOTH,
    f"{_A}lemma-4-3-proof:equation-42": _BOTH,
    f"{_A}lemma-4-3-proof:equation-43": _BOTH,
    f"{_A}lemma-4-3-proof:equation-41/1": f"{_FIRST}at most (2 H_k - 3/2)/(2 H_k) < 0.8 for k <= 23",
}
"""Why a claim cannot come near its bound."""
KINDS: tuple[tuple[str, str], ...] = (
    (
        r"(1 - 1/sqrt|1 - 2/\(1 \+ sqrt|sqrt\(kappa\) - 1)",
        "the printed rate is that of the worst function, the examples are near quadratics: there the square of the "
        "error of AGD falls like the square of the factor, and CG is exact after d_y steps",
    ),
    (
        r"^norm\((([yzwv]\[k\] - [yv]_star)|(grad_\w+\([wx]\[k\]\) - (u|ghat)\[k\])|hess_).*<= .*(sigma|eps)"
        r"|\+ ell\*norm\(v\[k\] - v_star\(w\[k\], y\[k\]\)\) <= sigma",
        "an error of the inner solvers: they take the number of steps that the printed rate asks for, which on these "
        "examples is far too many",
    ),
    (
        r"<= 1e-\d+\*[^<]*$|>= -(1e-\d+\*|near_x)[^<]*$",
        "an equality or a sign, up to rounding: the bound is what rounding is allowed",
    ),
)
"""Relations of one kind (a pattern), and why they cannot come near either."""

"""Why a printed claim about steps cannot come near its bound, derived where it can be; tests check the numbers."""

from __future__ import annotations

from collections.abc import Mapping

_PAPER = "restarted-agd-hb"
_A, _L7 = "agm-bio/", "ragd-gs/proof-lemma-7:"
_CURVATURE = (
    "1/(2 - c/L) for a curvature c of L* on the step: at most 2/3, since c <= (L_f + C_f rho_g/mu) (1 + kappa_g^2), up "
    "to O(1/lambda), is less than L/2, where L has kappa_g (1 + 2 kappa_g) of that"
)
_SNAPSHOT = (
    "at most 0.23: from a snapshot the step lowers by M/12 |s|^3 at least, and |grad| <= M |s|^2, "
    "-lambda_min <= 3/2 M |s| behind it make the bound (1/(120 sqrt(3)) + 1/72) M |s|^3 or (27/(8*987) + "
    "1/72) M |s|^3"
)
_VALUES = (
    "the values taken are those after k + 1 steps, 2 L_g R^2/(k + 2)^2 above g* at most, where (8) is used with "
    "(k + 1)^2: with S_k = sum of (j + 1)/(j + 2)^2, j < k, and H_k the harmonic number, the share is at most "
)
_BOTH = f"{_VALUES}(S_k + 1)/(ln k + 2) < 0.70 for k <= 100"
_SHARP = (
    f"{_VALUES}(S_k + 1)/(ln k + 2) < 0.70 for k <= 100: -F <= M/alpha G, both sums (of values, and of the steps of z "
    "by the decrease of E) put into (38), most where gamma = 1 and alpha L_f = 2 M L_g"
)
_JUMPS = (
    "every step of z would have to be as long as the set, against the cut: 0.50, 0.58, 0.64, 0.67, 0.69, 0.71 at most "
    "for k = 1, ..., 6 and 0.76 for k = 14, whatever f, in any dimension (performance estimation, semidefinite "
    "programs solved in floats); more passes would need as many dimensions"
)
_TRAVEL = (
    "at most 0.51, 0.54, 0.58, 0.61, 0.66 for k = 1, 2, 3, 4, 6, in any dimension and for any sets (performance "
    "estimation, semidefinite programs solved in floats); one long step reaches 1/2 at most, as f is linear on the way "
    "to x* where (21) is tight, and so not curved where (23) is"
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
    "ragd-gs/proof-lemma-e-2:a": "at most 2/3: it keeps what smoothness with L leaves in (20), and adds terms of the "
    "step before, with which the share falls",
    f"{_L7}equation-23": "at most 1/5: for nu_f = 1 it is the third derivative of L* on the way over H_nu, of which f "
    "alone gives H_f of H_f (1 + 4 kappa_g), and what comes through y* at most 2.9 kappa_g^3 rho_f of the "
    "50 kappa_g^3 rho_f in L_g D_4",
    f"{_L7}display-before-10": "at most 0.40 where L* is quadratic with curvatures below L/2, as in (20): both "
    "sides are quadratic forms of the gradient and of the step; what H_nu adds stands on the right alone",
    "ragd-gs/proof-theorem-2:warm-start/3": "at most 3/5: both steps are at most D, and the bound has 5 D"
    " + (C + sigma)/L",
    "ragd-gs/lemma-8:every-k": "at most 1/16: L* + L/2 |step|^2 loses (1 - theta^2) L/2 |step|^2 >= "
    "L/(2 (k+1)) |step|^2 in every step, up to the errors of the model, and the bound has L/(32 (k+1)) of it",
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
    "fsba/lemma-3-3:c-2-w/3": "1 where the mixed block of g dominates, and d-3-step/3, the same for minimax, comes to "
    "0.95; there (1 - 1/sqrt(kappa1))^(K1/2) is below the rounding of w",
    "fsba/lemma-3-3:c-2-y/2": "at most about 1/4: y*_lambda moves as far as y*, kappa |step|, up to O(1/lambda)",
    "fsba/lemma-4-2:equation-36": "at most 0.13: the cubic step lowers L* by (M/4 - rho_bar/6) |s|^3 - rho_bar/2 "
    "|s|^2 d at least, up to 0.002 M |s|^3 for the errors that (28) allows, the bound asks for M/36 |s|^3, and "
    "M >= 24 rho_bar",
    f"{_A}theorem-4-1:equation-10": _JUMPS,
    f"{_A}remark-4-2:equation-10": _JUMPS,
    f"{_A}theorem-4-1-proof:equation-35": _TRAVEL,
    f"{_A}remark-4-2:equation-11": f"it rests on (35), {_TRAVEL}",
    f"{_A}theorem-4-1:equation-11": f"{_VALUES}(S_k + 1)/(2 ln k + 2) <= 5/8",
    f"{_A}remark-4-1:fast": f"{_VALUES}(S_k + 1)/(2 ln k + 2) <= 5/8",
    f"{_A}theorem-4-1-proof:proof-of-11": _BOTH,
    f"{_A}lemma-4-3:equation-13": _BOTH,
    f"{_A}lemma-4-3-proof:equation-42": _BOTH,
    f"{_A}lemma-4-3-proof:equation-43": _BOTH,
    f"{_A}lemma-4-3-proof:equation-41/1": f"{_VALUES}S_k/H_k < 0.69 for k <= 100",
    f"{_A}theorem-4-5:equation-17": _SHARP,
    f"{_A}theorem-4-5:equation-18": _SHARP,
    f"{_A}theorem-4-5-proof:equation-62": _SHARP,
    f"{_A}theorem-4-5-proof:last": _SHARP,
    f"{_A}lemma-4-3:equation-13-larger": "at most (S + 10 - 45/(10 k + 4.5))/(ln k + 11) < 0.80 for k <= 100, S the "
    "largest weighted sum of the values, 0.70 for 14 passes over any set (performance estimation, semidefinite "
    "programs solved in floats), later ones as (8) has them",
}
"""Why a claim cannot come near its bound."""
KINDS: tuple[tuple[str, str], ...] = (
    (
        r"(1 - 1/sqrt|1 - 2/\(1 \+ sqrt|sqrt\(kappa\) - 1)",
        "the printed rate begins with L/mu + 1, a first value of curvature L and a last one of curvature mu: for AGD "
        "at most 0.35 of it for kappa <= 30 and ten steps (performance estimation), on quadratics at most 0.25, where "
        "the square of the error falls like the square of the factor; CG is exact after d_y steps",
    ),
    (
        r"^norm\((([yzwv]\[k\] - [yv]_star)|(grad_\w+\([wx]\[k\]\) - (u|ghat)\[k\])|hess_).*<= .*(sigma|eps)"
        r"|\+ ell\*norm\(v\[k\] - v_star\(w\[k\], y\[k\]\)\) <= sigma",
        "an error of the inner solvers: at most the share of the printed rate that their numbers of steps come from "
        "(0.6, the root of 0.35, for kappa <= 30), and far less where a warm start is nearer than its worst case",
    ),
    (
        r"<= 1e-\d+\*[^<]*$|>= -(1e-\d+\*|near_x)[^<]*$",
        "an equality or a sign, up to rounding: the bound is what rounding is allowed",
    ),
)
"""Relations of one kind (a pattern), and why they cannot come near either."""

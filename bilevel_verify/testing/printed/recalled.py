"""Pseudo-code of named methods that no card prints: baselines as recalled, printed ones with their reading repaired.

The same language as the steps of a card. ``D, T, N_cg ...`` are lengths, ``noise`` enters through ``uniform_ball``,
``solve(A, b)`` is exact, ``hess_g_yy`` a block of a whole Hessian, ``cubic_step(g, H, M)`` the minimiser of the cubic
model, ``project`` the nearest feasible point, ``halfspace(z, c, b)`` the nearest feasible point with ``c.z <= b``,
``solutions`` the nearest minimiser of g, ``vertex(p)`` and ``vertex_below(p, c, b)`` the feasible point (with ``c.z <=
b``) where ``p.z`` is least, ``least_f(c, b, p, d)`` the point where f is least among ``c.z <= b``, ``p.z >= d``.
"""

from __future__ import annotations

from bilevel_verify.testing.printed.recalled_one_level import ONE_LEVEL
from bilevel_verify.testing.printed.recalled_simple import SIMPLE
from bilevel_verify.testing.printed.sources import Recalled

_STEP = "norm(s[t]) <= 1/2*sqrt(eps/M)"
_LAZY = "eps >= 1/M*(288/287)**2*((M + 2*rho_bar)/sqrt(2)*norm(s[t]) + rho_bar*norm(xt - x[t]))**2"
_RATE = "(sqrt({0})-1)/(sqrt({0})+1)"


def _implicit(inner: str, outer: str, before: str = "") -> str:
    """Descent along an approximate hypergradient: ``inner`` is the lines that fill y[k], v[k] and h[k]."""
    head = f"x[0] = x0; {before}     # 1\nfor k in range(0, steps):     # 2\n"
    return f"{head}{inner}    x[k+1] = x[k] - {outer}*h[k]     # 7\nreturn x[steps]     # 9\n"


_DESCENT = """    yy[k,0] = {start}                                   # 3
    for j in range(0, {length}):                        # 4
        yy[k,j+1] = yy[k,j] - {step}*grad_y_g(x[k], yy[k,j])    # 4
    y[k] = yy[k,{length}]                               # 4
"""
_CG = """    v[k] = CG(hess_yy_g(x[k], y[k]), grad_y_f(x[k], y[k]), N_cg, v[k-1])     # 5
    h[k] = grad_x_f(x[k], y[k]) - hess_xy_g(x[k], y[k]) @ v[k]     # 6
"""
_WARM = "y[-1] = y0; v[-1] = v0"
_PAID = """x[0] = x0; y = y0; v = v0; last = -T_pert - 1                                       # 1
for k in range(0, steps):                                                          # 2
    y = descend(grad_y_g(x[k], _), y, D, alpha)                                    # 3
    v = CG(hess_yy_g(x[k], y), grad_y_f(x[k], y), N_cg, v)                         # 4
    h = grad_x_f(x[k], y) - hess_xy_g(x[k], y) @ v                                 # 5
    xp = x[k]
    if norm(h) <= 4/5*eps and k - last > T_pert:                                   # 6
        xp = x[k] + uniform_ball(r); last = k                                      # 7
        y = descend(grad_y_g(xp, _), y, D, alpha)                                  # 7
        v = CG(hess_yy_g(xp, y), grad_y_f(xp, y), N_cg, v)                         # 7
        h = grad_x_f(xp, y) - hess_xy_g(xp, y) @ v                                 # 7
    x[k+1] = xp - eta*h                                                            # 8
return x[steps]                                                                    # 9
"""
_ITD = """    q[k,D] = grad_y_f(x[k], y[k]); hh[k,D] = grad_x_f(x[k], y[k])     # 5
    for i in range(0, D):                                               # 6
        hh[k,D-i-1] = hh[k,D-i] - alpha*(hess_xy_g(x[k], yy[k,D-i-1]) @ q[k,D-i])     # 6
        q[k,D-i-1] = q[k,D-i] - alpha*(hess_yy_g(x[k], yy[k,D-i-1]) @ q[k,D-i])       # 6
    h[k] = hh[k,0]                                                      # 6
"""
_ACCF2BA = """x[0,0] = x0; x[0,-1] = x0; y[0,-1] = y0; z[0,-1] = y0; k = 0; t = 0              # 1
while k < K:                                                                       # 2
    w[t,k] = x[t,k] + (1-theta)*(x[t,k] - x[t,k-1])                                # 3
    z[t,k] = AGD(grad_y_g(w[t,k], _), z[t,k-1], T, alpha, beta)                    # 4
    y[t,k] = AGD(grad_y_L(w[t,k], _), y[t,k-1], Tp, alpha_p, beta_p)               # 5
    u[t,k] = grad_x_f(w[t,k], y[t,k]) + lam*(grad_x_g(w[t,k], y[t,k]) - grad_x_g(w[t,k], z[t,k]))    # 6
    x[t,k+1] = w[t,k] - eta*u[t,k]                                                 # 7
    k = k + 1                                                                      # 8
    if k*sum(norm(x[t,i+1] - x[t,i])**2, (i, 0, k-1)) > B**2:                      # 9
        x[t+1,0] = x[t,k]; x[t+1,-1] = x[t,k]; y[t+1,-1] = y[t,k-1]; z[t+1,-1] = z[t,k-1]    # 10
        k = 0; t = t + 1                                                           # 11
K_0 = argmin(norm(x[t,k+1] - x[t,k]), (k, floor(K/2), K-1))                        # 13
return sum(w[t,k], (k, 0, K_0))/(K_0 + 1)                                          # 14
"""
_F2BA = """x[0] = x0; y[0] = y0; z[0] = y0                                                 # 1
for t in range(0, T):                                                              # 2
    z[t+1] = descend(grad_y_g(x[t], _), z[t], K, alpha)                            # 4
    y[t+1] = descend(grad_y_L(x[t], _), y[t], K, tau)                              # 5
    u[t] = grad_x_f(x[t], y[t+1]) + lam*(grad_x_g(x[t], y[t+1]) - grad_x_g(x[t], z[t+1]))    # 6
    x[t+1] = x[t] - eta*u[t]                                                       # 7
return x[T]                                                                        # 9
"""
_GDMAX = """x[0] = x0; y[-1] = y0                                                          # 1
for k in range(0, steps):                                                          # 2
    y[k] = descend(grad_y_g(x[k], _), y[k-1], D, eta_y)                            # 3
    x[k+1] = x[k] - eta_x*grad_x_f(x[k], y[k])                                     # 4
return x[steps]                                                                    # 6
"""
_GDA = """x[0] = x0; y[0] = y0                                                             # 1
for k in range(0, steps):                                                          # 2
    x[k+1] = x[k] - eta_x*grad_x_f(x[k], y[k])                                     # 3
    y[k+1] = y[k] - eta_y*grad_y_g({x}, y[k])                                      # 4
return x[steps]                                                                    # 6
"""
_PENALTY_STEP = f"""x[0] = x0; y[-1] = y0; w[-1] = y0                                       # 1
for t in range(0, T):                                                              # 2
    w[t] = AGD(grad_y_g(x[t], _), w[t-1], K1, 1/l1, {_RATE.format("kappa1")})      # 3
    y[t] = AGD(grad_y_L(x[t], _), y[t-1], K2, 1/l2, {_RATE.format("kappa2")})      # 4
    u[t] = grad_x_f(x[t], y[t]) + lam*(grad_x_g(x[t], y[t]) - grad_x_g(x[t], w[t]))    # 5
"""
_FSBA = (
    _PENALTY_STEP
    + f"""    H[t] = H_hat(x[t], y[t], w[t])                                            # 6
    s[t] = cubic_step(u[t], H[t], M)                                               # 7
    x[t+1] = x[t] + s[t]; n = t + 1                                                # 9
    if {_STEP}:                                                                    # 8
        break                                                                      # 8
return x[n]                                                                        # 11
"""
)
_SNAPSHOT = """    if t % m == 0:                                                               # 6
        xt = x[t]; Ht = {hessian}                                                  # 7
    s[t] = cubic_step(u[t], Ht, M)                                                 # 9
    x[t+1] = x[t] + s[t]; n = t + 1                                                # 10
"""
_FULL = """    s[t] = cubic_step(u[t], S_hat(x[t], y[t]), M)                                # 9
    x[t+1] = x[t] + s[t]; n = t + 1                                                # 10
"""
_ENDS = """    if {0}:     # 11
        break     # 11
return x[n]     # 13
"""
_INEXACT = """    s[t] = cubic_solver(u[t], C, sigma, K_c, M, L)                               # 7
    x[t+1] = x[t] + s[t]; n = t + 1                                                # 8
    if model_value(u[t], C, M, s[t]) > -sqrt(eps**3/M)/128:                        # 9
        x[t+1] = x[t] + final_cubic_solver(u[t], C, eps, M, L)                     # 11
        break                                                                      # 12
return x[n]                                                                        # 15
"""
_IFSBA = (
    _PENALTY_STEP
    + """    C = C_hat(x[t], y[t], w[t], K_p, mu, l1, l2)                                # 6
"""
    + _INEXACT
)
_LFSBA = _PENALTY_STEP + _SNAPSHOT.format(hessian="H_hat(x[t], y[t], w[t])") + _ENDS.format(_LAZY)
_DANSKIN_STEP = f"""x[0] = x0; y[-1] = y0                                                   # 1
for t in range(0, T):                                                              # 2
    y[t] = AGD(grad_y_g(x[t], _), y[t-1], K, 1/l1, {_RATE.format("kappa1")})       # 3
    u[t] = grad_x_f(x[t], y[t])                                                    # 4
"""
_IMCN = (
    _DANSKIN_STEP
    + """    C = C_star(x[t], y[t], K_p, l1, kappa1)                                     # 6
"""
    + _INEXACT
)
_NEWTON_STEP = """x[0] = x0                                                                # 1
for t in range(0, T):                                                              # 2
    n = t; u[t] = grad_f(x[t])                                                     # 3
"""
_NEWTON = (
    _NEWTON_STEP
    + """    if norm(u[t]) <= eps:                                                     # 4
        break                                                                      # 4
"""
)
RECALLED: dict[str, Recalled] = {
    **ONE_LEVEL,
    **SIMPLE,
    "ba": Recalled(
        "Ghadimi & Wang 2018, as recalled",
        "x0 y0 alpha beta c steps",
        _implicit(
            _DESCENT.format(start="y0", length="ceil(c*(k+1)**(1/4))", step="beta")
            + "    v[k] = solve(hess_g_yy(x[k], y[k]), grad_y_f(x[k], y[k]))     # 5\n"
            + "    h[k] = grad_x_f(x[k], y[k]) - hess_g_xy(x[k], y[k]) @ v[k]     # 6\n",
            "alpha",
        ),
    ),
    "aid-bio": Recalled(
        "Ji, Yang, Liang 2021, as recalled",
        "x0 y0 v0 alpha beta D N_cg steps",
        _implicit(_DESCENT.format(start="y[k-1]", length="D", step="alpha") + _CG, "beta", _WARM),
        "rahgd",
    ),
    "itd-bio": Recalled(
        "Ji, Yang, Liang 2021, as recalled",
        "x0 y0 alpha beta D steps",
        _implicit(_DESCENT.format(start="y[k-1]", length="D", step="alpha") + _ITD, "beta", "y[-1] = y0"),
    ),
    "paid": Recalled(
        "Huang, Ji, Ma, Lai 2022, as recalled", "x0 y0 v0 eta alpha D N_cg steps eps T_pert r", _PAID, "rahgd"
    ),
    "f2ba": Recalled("Chen, Ma, Zhang 2025, as recalled", "x0 y0 eta alpha tau lam T K", _F2BA),
    "accf2ba": Recalled(
        "Chen, Ma, Zhang 2025, as recalled", "x0 y0 eta theta B K lam alpha beta alpha_p beta_p T Tp", _ACCF2BA, "rahgd"
    ),
    "gda": Recalled("gradient descent ascent", "x0 y0 eta_x eta_y steps", _GDA.format(x="x[k]")),
    "gda-alternating": Recalled("alternating descent ascent", "x0 y0 eta_x eta_y steps", _GDA.format(x="x[k+1]")),
    "gdmax": Recalled("GDmax", "x0 y0 eta_x eta_y D steps", _GDMAX),
    "fsba": Recalled(
        "fsba, Algorithm 2, with x_{t+1} formed before line 8",
        "x0 y0 lam M T eps K1 K2 l1 l2 kappa1 kappa2",
        _FSBA,
        "fsba",
    ),
    "ifsba": Recalled(
        "fsba, Algorithm 3, its line 9 as (48)",
        "x0 y0 lam M T eps K1 K2 l1 l2 kappa1 kappa2 mu L K_c K_p sigma",
        _IFSBA,
        "fsba",
    ),
    "imcn": Recalled(
        "Luo, Li, Chen 2022, as recalled",
        "x0 y0 M T eps K l1 kappa1 L K_c K_p sigma",
        _IMCN,
        "fsba",
    ),
    "lfsba": Recalled("fsba, Algorithm 4", "x0 y0 lam M T eps m rho_bar K1 K2 l1 l2 kappa1 kappa2", _LFSBA, "fsba"),
    "lmcn": Recalled(
        "fsba, Algorithm 5",
        "x0 y0 M T eps m rho_bar K l1 kappa1",
        _DANSKIN_STEP + _SNAPSHOT.format(hessian="S_hat(x[t], y[t])") + _ENDS.format(_LAZY),
        "fsba",
    ),
    "mcn": Recalled(
        "Luo, Li, Chen 2022, as recalled",
        "x0 y0 M T eps K l1 kappa1",
        _DANSKIN_STEP + _FULL + _ENDS.format(_STEP),
        "fsba",
    ),
    **{
        name: Recalled(
            source, "x0 M T eps m", _NEWTON + _SNAPSHOT.format(hessian="hess_f(x[t])") + "return x[n]     # 13\n"
        )
        for name, source in (
            ("cubic-newton", "Nesterov, Polyak 2006, as recalled"),
            ("lazy-cubic-newton", "Doikov, Chayti, Jaggi 2023, as recalled"),
        )
    },
    "cubic-newton-step": Recalled(
        "fsba, Algorithm 2, for one level",
        "x0 M T eps m",
        _NEWTON_STEP + _SNAPSHOT.format(hessian="hess_f(x[t])") + _ENDS.format(_STEP),
    ),
}

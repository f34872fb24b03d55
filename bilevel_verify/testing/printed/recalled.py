"""Pseudo-code of named methods that no card prints: baselines as recalled, printed ones with their reading repaired.

The same language as the steps of a card. ``D, T, N_cg ...`` are lengths, ``noise`` enters through ``uniform_ball``,
``solve(A, b)`` is exact, ``hess_g_yy`` a block of a whole Hessian, ``cubic_step(g, H, M)`` the minimiser of the cubic
model, ``project`` the nearest feasible point, ``halfspace(z, c, b)`` the nearest feasible point with ``c.z <= b``,
``solutions`` the nearest minimiser of g, ``vertex(p)`` and ``vertex_below(p, c, b)`` the feasible point (with ``c.z <=
b``) where ``p.z`` is least, ``least_f(c, b, p, d)`` the point where f is least among ``c.z <= b``, ``p.z >= d``.
"""

from __future__ import annotations

from typing import NamedTuple


class Recalled(NamedTuple):
    """Source, inputs and steps; ``calls`` : cards whose called algorithms (AGD, CG) are used."""

    source: str
    inputs: str
    steps: str
    calls: str = ""


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
_LFSBA = _PENALTY_STEP + _SNAPSHOT.format(hessian="H_hat(x[t], y[t], w[t])") + _ENDS.format(_LAZY)
_DANSKIN_STEP = f"""x[0] = x0; y[-1] = y0                                                   # 1
for t in range(0, T):                                                              # 2
    y[t] = AGD(grad_y_g(x[t], _), y[t-1], K, 1/l1, {_RATE.format("kappa1")})       # 3
    u[t] = grad_x_f(x[t], y[t])                                                    # 4
"""
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

# --- simple bilevel: f over the minimisers of g in Z
_CUT = """A[0] = 0; x[0] = x0; z[0] = x0                                                   # 2
for k in range(0, K):                                                              # 3
    a[k] = gamma*(k+1)/(4*L_f)                                                     # 4
    y[k] = A[k]/(A[k] + a[k])*x[k] + a[k]/(A[k] + a[k])*z[k]                       # 5
    c = grad_g({at}); b = g_k[k] - g({at}) + dot(c, {at})                          # 6
    z[k+1] = halfspace(z[k] - a[k]*grad_f(y[k]), c, b)                             # 6
    x[k+1] = A[k]/(A[k] + a[k])*x[k] + a[k]/(A[k] + a[k])*z[k+1]                   # 7
    A[k+1] = A[k] + a[k]                                                           # 8
return x[K]                                                                        # 10
"""
_IRG = """x[0] = x0; xbar[0] = x0; S = gamma0**rho                                         # 1
for k in range(0, K):                                                              # 2
    gam = gamma0/sqrt(k+1); et = eta0/(k+1)**b                                     # 3
    x[k+1] = project(x[k] - gam*(grad_g(x[k]) + et*grad_f(x[k])))                  # 4
    wt = (gamma0/sqrt(k+2))**rho                                                   # 5
    xbar[k+1] = (S*xbar[k] + wt*x[k+1])/(S + wt); S = S + wt                       # 6
return x[K]                                                                        # 8
"""
_BISG = """x[0] = x0                                                                       # 1
for k in range(0, K):                                                              # 2
    y[k+1] = project(x[k] - t*grad_g(x[k]))                                        # 3
    x[k+1] = y[k+1] - c/(k+1)**alpha*grad_f(y[k+1])                                # 4
return x[K]                                                                        # 6
"""
_BIGSAM = """x[0] = x0                                                                     # 1
for k in range(0, K):                                                              # 2
    y[k+1] = project(x[k] - t*grad_g(x[k]))                                        # 3
    z[k+1] = x[k] - s*grad_f(x[k])                                                 # 4
    al = min(c/(k+1), 1)                                                           # 5
    x[k+1] = al*z[k+1] + (1-al)*y[k+1]                                             # 6
return x[K]                                                                        # 8
"""
_FISTA = """x[0] = x0; y[0] = x0; th[0] = 1                                                # 1
for k in range(0, K):                                                              # 2
    x[k+1] = project(y[k] - {step}*({slope}))                                      # 3
    th[k+1] = (1 + sqrt(1 + 4*th[k]**2))/2                                         # 4
    y[k+1] = x[k+1] + (th[k] - 1)/th[k+1]*(x[k+1] - x[k])                          # 5
return x[K]                                                                        # 7
"""
_DBGD = """x[0] = x0                                                                       # 1
for k in range(0, K):                                                              # 2
    p = grad_f(x[k]); q = grad_g(x[k])                                             # 3
    phi = min(a*(g(x[k]) - g_hat), b*dot(q, q))                                    # 4
    weight = max((phi - dot(p, q))/dot(q, q), 0)                                   # 5
    x[k+1] = project(x[k] - s*(p + weight*q))                                      # 6
return x[K]                                                                        # 8
"""
_CONCEPTUAL = """A[0] = 0; x[0] = x0; z[0] = x0                                             # 2
for k in range(0, K):
    a[k] = gamma*(k+1)/(4*L_f)                                                     # 4
    y[k] = A[k]/(A[k] + a[k])*x[k] + a[k]/(A[k] + a[k])*z[k]                       # 3
    z[k+1] = solutions(z[k] - a[k]*grad_f(y[k]))                                   # 5
    x[k+1] = A[k]/(A[k] + a[k])*x[k] + a[k]/(A[k] + a[k])*z[k+1]                   # 6
    A[k+1] = A[k] + a[k]
return x[K]
"""
_COMPOSITE = _CUT.format(at="y[k]")
_CGBIO = """u[0] = x0; d[0] = grad_g(u[0]); v[0] = vertex(d[0]); j = 0                      # 1
while dot(d[j], u[j] - v[j]) > eps_g/2:                                            # 1
    u[j+1] = u[j] + 2/(j+2)*(v[j] - u[j]); j = j + 1                               # 1
    d[j] = grad_g(u[j]); v[j] = vertex(d[j])                                       # 1
x[0] = u[j]; level = g(x[0])                                                       # 1
for k in range(0, K):                                                              # 2
    p = grad_f(x[k]); q = grad_g(x[k])                                             # 3
    s[k] = vertex_below(p, q, level - g(x[k]) + dot(q, x[k]))                      # 3
    if dot(p, x[k] - s[k]) <= eps_f and dot(q, x[k] - s[k]) <= eps_g/2:            # 4
        return x[k]                                                                # 4
    x[k+1] = x[k] + c/(k+2)*(s[k] - x[k])                                          # 5
return x[K]                                                                        # 7
"""
_MNG = """x[0] = x0                                                                        # 1
for k in range(0, K):                                                              # 2
    G = M*(x[k] - project(x[k] - grad_g(x[k])/M)); p = grad_f(x[k])                # 3
    x[k+1] = least_f(G, dot(G, x[k]) - 3/(4*M)*dot(G, G), p, dot(p, x[k]))         # 4
return x[K]                                                                        # 6
"""
_GD = """x[0] = x0                                                                         # 1
for k in range(0, N):                                                              # 2
    x[k+1] = x[k] - eta*grad_f(x[k])                                               # 3
return x[N]                                                                        # 4
"""

_PERTURBED = """t = 0; x[0,-1] = x[0,0] = x_cur = x0; k = 0                                 # 1
while k < K or B0 > B:                                                             # 2
    y[t,k] = x[t,k] + (1-theta)*(x[t,k] - x[t,k-1])                                # 3
    G[t,k] = grad_f(y[t,k]); x[t,k+1] = y[t,k] - eta*G[t,k]                        # 4
    k = k + 1                                                                      # 5
    if k*sum(norm(x[t,i+1] - x[t,i])**2, (i, 0, k-1)) > max(B**2, B0**2) or k > K:     # 6
        if f(x[t,k]) - f(x[t,0]) <= -min(eps**(3/2)/sqrt(rho), eps*L/rho):         # 7
            x_cur = x[t,k] + uniform_ball(r) if norm(G[t,k-1]) <= B/eta else x[t,k]    # 8
            x[t+1,-1] = x[t+1,0] = x_cur; k = 0; t = t + 1                         # 8
        else:                                                                      # 9
            x[t+1,-1] = x[t+1,0] = x_cur; k = 0; t = t + 1; B0 = B0/c              # 10
K_0 = argmin(norm(x[t,k+1] - x[t,k]), (k, floor(K/2), K-1))                        # 14
y_hat = sum(y[t,k], (k, 0, K_0))/(K_0 + 1)                                         # 15
return x[t,K] if norm(grad_f(x[t,K])) <= norm(grad_f(y_hat)) else y_hat            # 16
"""
RECALLED: dict[str, Recalled] = {
    "gradient-descent": Recalled("gradient descent", "x0 eta N", _GD),
    "restarted-agd-practical-perturbed": Recalled(
        "restarted-agd-hb, Algorithm 2 with the perturbed restart of section 2.2",
        "x0 eta theta B K B0 c eps L rho r",
        _PERTURBED,
    ),
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
    "agm-bio-cut-x": Recalled("agm-bio, Remark 3.1, the cut at x_k", "x0 gamma L_f K g_k", _CUT.format(at="x[k]")),
    "agm-bio-cut-z": Recalled("agm-bio, Remark 3.1, the cut at z_k", "x0 gamma L_f K g_k", _CUT.format(at="z[k]")),
    "agm-conceptual": Recalled("agm-bio, (3)-(6)", "x0 gamma L_f K", _CONCEPTUAL),
    "p-agm-bio": Recalled(
        "agm-bio, Algorithm 2, where f_2 = g_2 = 0 (line 6 is a projection)",
        "x0 gamma L_f K g_k",
        _COMPOSITE,
    ),
    "cg-bio": Recalled("CG-BiO, as recalled", "x0 eps_f eps_g c K", _CGBIO),
    "mng": Recalled("Beck, Sabach 2014, as recalled", "x0 M K", _MNG),
    "a-irg": Recalled("a-IRG, as recalled", "x0 gamma0 eta0 b rho K", _IRG),
    "bi-sg": Recalled("Bi-SG, as recalled", "x0 t c alpha K", _BISG),
    "big-sam": Recalled("BiG-SAM, as recalled", "x0 t s c K", _BIGSAM),
    "r-apm": Recalled(
        "R-APM, as recalled",
        "x0 eta gamma K",
        _FISTA.format(step="gamma", slope="grad_g(y[k]) + eta*grad_f(y[k])"),
    ),
    "pb-apg": Recalled(
        "PB-APG, as recalled",
        "x0 penalty L_f L_g K",
        _FISTA.format(step="1/(L_f + penalty*L_g)", slope="grad_f(y[k]) + penalty*grad_g(y[k])"),
    ),
    "dbgd": Recalled("DBGD, as recalled", "x0 s a b g_hat K", _DBGD),
}

"""Pseudo-code of methods that minimise f over the minimisers of g in Z; the language is that of ``recalled``."""

from __future__ import annotations

from bilevel_verify.testing.printed.sources import Recalled

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
_BISEC = """x[0] = fista(grad_g(_), project(_), x0, n_lower, 1/L_g)                          # 1
least = g(x[0]); low = l; high = f(x[0]); best = x[0]; k = 0                       # 2
while high - low > eps_f and k < steps:                                            # 3
    c = (low + high)/2                                                             # 4
    x[k+1] = fista(grad_g(_), level_set(_, c), x[k], n_level, 1/L_g)               # 5
    k = k + 1                                                                      # 5
    if g(x[k]) - least <= eps_g/2:                                                 # 6
        high = c; best = x[k]                                                      # 7
    else:                                                                          # 8
        low = c                                                                    # 8
return best                                                                        # 10
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
SIMPLE: dict[str, Recalled] = {
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
    "bisec-bio": Recalled("Bisec-BiO, as recalled", "x0 l eps_f eps_g L_g n_lower n_level steps", _BISEC),
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

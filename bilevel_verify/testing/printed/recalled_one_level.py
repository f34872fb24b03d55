"""Pseudo-code of methods for one level; the language is that of ``recalled``."""

from __future__ import annotations

from bilevel_verify.testing.printed.sources import Recalled

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
_GUILTY = """p = x0; t = 0; alpha = 2*sqrt(rho*eps); H = L + 2*alpha; far = alpha/rho      # 1
omega = (sqrt(H/alpha) - 1)/(sqrt(H/alpha) + 1)                                    # 1
while 0 < 1:                                                                       # 2
    x[t,0] = p; y[t,0] = p; fy[t,0] = f(p); k = 0; guilty = 0; done = 0            # 3
    while done == 0:                                                               # 4
        u[t,k] = grad_f(x[t,k]) + 2*alpha*(x[t,k] - p)                             # 5
        y[t,k+1] = x[t,k] - 1/H*u[t,k]                                             # 5
        x[t,k+1] = y[t,k+1] + omega*(y[t,k+1] - y[t,k]); k = k + 1                 # 6
        fy[t,k] = f(y[t,k])                                                        # 7
        if fy[t,k] + alpha*norm(y[t,k] - p)**2 > fy[t,0]:                          # 7
            w = y[t,0]; fw = fy[t,0]; guilty = 1                                   # 7
        else:
            q = grad_f(y[t,k]) + 2*alpha*(y[t,k] - p)                              # 8
            w = y[t,k] - 1/H*q; fw = f(w)                                          # 8
            psi = fy[t,0] - fw - alpha*norm(w - p)**2 + alpha/2*norm(w - p)**2     # 9
            if dot(q, q) > 2*H*psi*exp(-k/sqrt(H/alpha)):                          # 10
                guilty = 1                                                         # 10
            elif norm(q) <= eps/10:                                                # 11
                new = y[t,k]; done = 1                                             # 11
        if guilty == 1:                                                            # 12
            j = 0; a = w; fa = fw                                                  # 13
            while guilty == 1 and j < k:                                           # 13
                fx = f(x[t,j]) + alpha*norm(x[t,j] - p)**2; q = y[t,j] - x[t,j]; z = w - x[t,j]     # 14
                if fy[t,j] + alpha*norm(y[t,j] - p)**2 < fx + dot(u[t,j], q) + alpha/2*norm(q)**2:    # 15
                    a = y[t,j]; fa = fy[t,j]; b[t] = x[t,j]; guilty = 0            # 15
                elif fw + alpha*norm(w - p)**2 < fx + dot(u[t,j], z) + alpha/2*norm(z)**2:    # 15
                    b[t] = x[t,j]; guilty = 0                                      # 15
                j = j + 1                                                          # 13
            new = a; least = fa; done = 1                                          # 16
            for i in range(0, k+1):                                                # 16
                if fy[t,i] < least:                                                # 16
                    new = y[t,i]; least = fy[t,i]                                  # 16
            e = (a - b[t])/norm(a - b[t])                                          # 17
            fx = f(a + far*e); fw = f(a - far*e)                                   # 18
            if fx < least:                                                         # 18
                new = a + far*e; least = fx                                        # 18
            if fw < least:                                                         # 18
                new = a - far*e                                                    # 18
    p = new; t = t + 1                                                             # 19
    if norm(grad_f(p)) <= eps:                                                     # 20
        return p                                                                   # 20
"""
ONE_LEVEL: dict[str, Recalled] = {
    "convex-until-guilty": Recalled("Carmon, Duchi, Hinder, Sidford 2017, as recalled", "x0 eps L rho", _GUILTY),
    "gradient-descent": Recalled("gradient descent", "x0 eta N", _GD),
    "restarted-agd-practical-perturbed": Recalled(
        "restarted-agd-hb, Algorithm 2 with the perturbed restart of section 2.2",
        "x0 eta theta B K B0 c eps L rho r",
        _PERTURBED,
    ),
}

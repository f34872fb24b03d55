"""The printed steps of an algorithm, line by line: where a run stops. Needs Python alone.

Algorithm 2: x[t + 1] is read, and a path leads here that does not assign it (M = 1/2, T = 1, eps = 1/2)
Oracles: f = cos(x), g = (y - x)^2/2, one dimension; all else that is called answers 0. Behind # is the paper's line.
Exit status 0: a run stops at that line; 1: none does.
"""
import math
import traceback
from collections import defaultdict


class Entries(dict):
    def __missing__(self, index):
        raise LookupError(f"the entry {index} was never assigned")


H_hat = lambda *_: 0.0
cubic_step = lambda *_: 0.0
g_hat = lambda *_: 0.0
grad_y_L = lambda x, y: 8.0*(y - x)
grad_y_g = lambda x, y: y - x
h = lambda *_: 0.0
norm = abs
sqrt = math.sqrt

def AGD(h, z_0, K, eta, theta):
    z = Entries()
    zt = Entries()
    zt[0] = z_0  # 1
    z[0] = z_0  # 1
    for k in range(0, K):  # 2
        z[k + 1] = zt[k] - eta*h(zt[k])  # 3
        zt[k + 1] = z[k + 1] + theta*(z[k + 1] - z[k])  # 4
    return z[K]  # 6


def run(x0, y0, w0, T, l1, l2, kappa1, kappa2, eps, M, K1, K2, lam):
    H = Entries()
    s = Entries()
    u = Entries()
    w = Entries()
    x = Entries()
    y = Entries()
    x[0] = x0  # 1
    y[-1] = y0  # 1
    w[-1] = w0  # 1
    for t in range(0, T):  # 2
        w[t] = AGD((lambda _: grad_y_g(x[t], _)), w[t - 1], K1, 1/l1, (sqrt(kappa1) - 1)/(sqrt(kappa1) + 1))  # 3
        y[t] = AGD((lambda _: grad_y_L(x[t], _)), y[t - 1], K2, 1/l2, (sqrt(kappa2) - 1)/(sqrt(kappa2) + 1))  # 4
        u[t] = g_hat(x[t], y[t], w[t], lam)  # 5
        H[t] = H_hat(x[t], y[t], w[t], lam)  # 6
        s[t] = cubic_step(u[t], H[t], M)  # 7
        if norm(s[t]) <= 1/2*sqrt(eps/M):  # 8
            break
        x[t + 1] = x[t] + s[t]  # 9
    return x[t + 1]  # 11


shown = False
for numbers in (dict(x0=0.3, y0=0.3, w0=3, T=3, l1=0.5, l2=0.5, kappa1=0.5, kappa2=0.5, eps=0.05, M=0.5, K1=3, K2=3, lam=8.0), dict(x0=0.0, y0=0.0, w0=3, T=3, l1=0.5, l2=0.5, kappa1=0.5, kappa2=0.5, eps=0.05, M=0.5, K1=3, K2=3, lam=8.0), dict(x0=2.0, y0=2.0, w0=3, T=3, l1=0.5, l2=0.5, kappa1=0.5, kappa2=0.5, eps=0.05, M=0.5, K1=3, K2=3, lam=8.0), ):
    try:
        print("output", run(**numbers))
    except (LookupError, NameError) as error:
        line = next(f.line for f in traceback.extract_tb(error.__traceback__) if f.name == "run")
        print("stops at:", line, "|", error)
        shown = shown or line.endswith("# 11")
raise SystemExit(0 if shown else 1)

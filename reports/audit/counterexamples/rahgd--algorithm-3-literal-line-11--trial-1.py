"""The printed steps of an algorithm, line by line: where a run stops. Needs Python alone.

Algorithm 3, Perturbation = 0, line 11: v[0, 2] was never assigned (start 0.3)
Oracles: f = cos(x), g = (y - x)^2/2, one dimension; all else that is called answers 0. Behind # is the paper's line.
Exit status 0: a run stops at that line; 1: none does.
"""
import math
import traceback
from collections import defaultdict


class Entries(dict):
    def __missing__(self, index):
        raise LookupError(f"the entry {index} was never assigned")


argmin = lambda *_: 0.0
dot = lambda a, b: a*b
floor = math.floor
grad_x_f = lambda x, *_: -math.sin(x)
grad_y_f = lambda x, y: 0.0
grad_y_g = lambda x, y: y - x
h = lambda *_: 0.0
hess_xy_g = lambda x, y: -1.0
hess_yy_g = lambda x, y: 1.0
norm = abs

def AGD(h, z_0, T, alpha, beta):
    z = Entries()
    zt = Entries()
    z[0] = z_0  # 1
    zt[0] = z[0]  # 2
    for t in range(0, T):  # 3
        z[t + 1] = zt[t] - alpha*h(zt[t])  # 4
        zt[t + 1] = z[t + 1] + beta*(z[t + 1] - z[t])  # 5
    return z[T]  # 7


def CG(A, b, T, q_0):
    a = Entries()
    p = Entries()
    q = Entries()
    res = Entries()
    q[0] = q_0  # 1
    res[0] = A*q[0] - b  # 2
    p[0] = -res[0]  # 2
    for t in range(0, T):  # 3
        if dot(res[t], res[t]) == 0:
            return q[t]
        Ap = A*p[t]
        a[t] = dot(res[t], res[t])/dot(p[t], Ap)  # 4
        q[t + 1] = q[t] + a[t]*p[t]  # 5
        res[t + 1] = res[t] + a[t]*Ap  # 6
        b_next = dot(res[t + 1], res[t + 1])/dot(res[t], res[t])  # 7
        p[t + 1] = -res[t + 1] + b_next*p[t]  # 8
    return q[T]  # 10


def run(x_int, eta, theta, alpha, beta, K, B, y0):
    u = Entries()
    v = Entries()
    w = Entries()
    x = Entries()
    y = Entries()
    T = defaultdict(lambda: 3)
    Tp = defaultdict(lambda: 3)
    x[0,0] = x_int  # 1
    k = 0  # 2
    t = 0  # 2
    x[0,-1] = x[0,0]  # 2
    y[0,-1] = AGD((lambda _: grad_y_g(x[0,-1], _)), y0, T[0,-1], alpha, beta)
    v[0,-1] = y[0,-1]
    while k < K:  # 3
        w[t,k] = x[t,k] + (1 - theta)*(x[t,k] - x[t,k - 1])  # 4
        y[t,k] = AGD((lambda _: grad_y_g(w[t,k], _)), y[t,k - 1], T[t,k], alpha, beta)  # 5
        v[t,k] = CG(hess_yy_g(w[t,k], y[t,k]), grad_y_f(w[t,k], y[t,k]), Tp[t,k], v[t,k - 1])  # 6
        u[t,k] = grad_x_f(w[t,k], y[t,k]) - hess_xy_g(w[t,k], y[t,k])*v[t,k]  # 7
        x[t,k + 1] = w[t,k] - eta*u[t,k]  # 8
        k = k + 1  # 9
        if k*sum(norm(x[t,i + 1] - x[t,i])**2 for i in range(0, k - 1 + 1)) > B**2:  # 10
            v[t + 1,-1] = v[t,k]  # 11
            x[t + 1,0] = x[t,k]  # 12
            x[t + 1,-1] = x[t + 1,0]  # 13
            k = 0  # 14
            t = t + 1  # 14
            y[t,-1] = AGD((lambda _: grad_y_g(x[t,-1], _)), y0, T[t,-1], alpha, beta)  # 15
    K_0 = min(range(floor(K/2), K - 1 + 1), key=lambda k: norm(x[t,k + 1] - x[t,k]))  # 18
    return sum(w[t,k] for k in range(0, K_0 + 1))/(K_0 + 1)  # 19


shown = False
for numbers in (dict(x_int=0.3, eta=0.1, theta=0.3, alpha=0.4, beta=0.2, K=4, B=0.05, y0=0.3), dict(x_int=0.3, eta=0.1, theta=0.3, alpha=0.4, beta=0.2, K=4, B=100.0, y0=0.3), dict(x_int=0.0, eta=0.1, theta=0.3, alpha=0.4, beta=0.2, K=4, B=0.05, y0=0.0), dict(x_int=0.0, eta=0.1, theta=0.3, alpha=0.4, beta=0.2, K=4, B=100.0, y0=0.0), dict(x_int=2.0, eta=0.1, theta=0.3, alpha=0.4, beta=0.2, K=4, B=0.05, y0=2.0), dict(x_int=2.0, eta=0.1, theta=0.3, alpha=0.4, beta=0.2, K=4, B=100.0, y0=2.0), ):
    try:
        print("output", run(**numbers))
    except (LookupError, NameError) as error:
        line = next(f.line for f in traceback.extract_tb(error.__traceback__) if f.name == "run")
        print("stops at:", line, "|", error)
        shown = shown or line.endswith("# 11")
raise SystemExit(0 if shown else 1)

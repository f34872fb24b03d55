"""The printed steps of an algorithm, line by line: where a run stops. Needs Python alone.

Algorithm 1: division by zero (start 0.3)
Oracles: f = cos(x), g = (y - x)^2/2, one dimension; all else that is called answers 0. Behind # is the paper's line.
Exit status 0: a run stops at that line; 1: none does.
"""
import math
import traceback
from collections import defaultdict


class Entries(dict):
    def __missing__(self, index):
        raise LookupError(f"the entry {index} was never assigned")


grad_L_star = lambda x: -math.sin(x)
grad_h = lambda *_: 0.0
grad_x_f = lambda x, *_: -math.sin(x)
grad_x_g = lambda x, y: x - y
grad_y_L = lambda x, y: 8.0*(y - x)
grad_y_g = lambda x, y: y - x
norm = abs
zeros_y = lambda *_: 0.0

def AGD(grad_h, z_0, T, alpha, beta):
    z = Entries()
    zt = Entries()
    zt[0] = z_0  # 2
    z[0] = z_0  # 2
    for t in range(0, T):  # 3
        z[t + 1] = zt[t] - alpha*grad_h(zt[t])  # 4
        zt[t + 1] = z[t + 1] + beta*(z[t + 1] - z[t])  # 5
    return z[T]  # 7


def run(x_int, L, H_nu, nu_f, lam, alpha, beta, alpha_p, beta_p, T_0, T_k, Tp_0, Tp_k, eps):
    ghat = Entries()
    w = Entries()
    wbar = Entries()
    x = Entries()
    y = Entries()
    z = Entries()
    k = 0  # 2
    K = 0  # 2
    t = 0  # 2
    w[0,0] = x[0,0] = x_int  # 2
    y[0,-1] = zeros_y()  # 2
    z[0,-1] = zeros_y()  # 2
    while True:  # 3
        z[t,k] = AGD((lambda _: grad_y_g(w[t,k], _)), z[t,k - 1], T_0 if k == 0 else T_k, alpha, beta)  # 4
        y[t,k] = AGD((lambda _: grad_y_L(w[t,k], _)), y[t,k - 1], Tp_0 if k == 0 else Tp_k, alpha_p, beta_p)  # 5
        ghat[t,k] = grad_x_f(w[t,k], y[t,k]) + lam*(grad_x_g(w[t,k], y[t,k]) - grad_x_g(w[t,k], z[t,k]))  # 6
        x[t,k + 1] = w[t,k] - 1/L*ghat[t,k]  # 7
        w[t,k + 1] = x[t,k + 1] + (k + 1)/(k + 2)*(x[t,k + 1] - x[t,k])  # 8
        k = k + 1  # 9
        K = K + 1  # 9
        if (k + 1)**(4 + nu_f)*H_nu**2*sum(norm(x[t,i] - x[t,i - 1])**2 for i in range(1, k + 1))**nu_f > L**2:  # 10
            x[t + 1,0] = x[t,k]  # 11
            y[t + 1,-1] = zeros_y()  # 12
            z[t + 1,-1] = zeros_y()  # 12
            w[t + 1,0] = x[t + 1,0]  # 12
            k = 0  # 13
            t = t + 1  # 13
        wbar[t,k] = 2/(k*(k + 1))*sum((i + 1)*w[t,i] for i in range(0, k - 1 + 1))  # 15
        if norm(grad_L_star(wbar[t,k])) <= eps:  # 15
            break
    return wbar[t,k]  # 16


shown = False
for numbers in (dict(x_int=0.3, L=2.0, H_nu=0.5, nu_f=0.5, lam=8.0, alpha=0.4, beta=0.2, alpha_p=0.02, beta_p=0.2, T_0=3, T_k=3, Tp_0=3, Tp_k=3, eps=0.05), dict(x_int=0.0, L=2.0, H_nu=0.5, nu_f=0.5, lam=8.0, alpha=0.4, beta=0.2, alpha_p=0.02, beta_p=0.2, T_0=3, T_k=3, Tp_0=3, Tp_k=3, eps=0.05), dict(x_int=2.0, L=2.0, H_nu=0.5, nu_f=0.5, lam=8.0, alpha=0.4, beta=0.2, alpha_p=0.02, beta_p=0.2, T_0=3, T_k=3, Tp_0=3, Tp_k=3, eps=0.05), ):
    try:
        print("output", run(**numbers))
    except (ZeroDivisionError) as error:
        line = next(f.line for f in traceback.extract_tb(error.__traceback__) if f.name == "run")
        print("stops at:", line, "|", error)
        shown = shown or line.endswith("# 15")
raise SystemExit(0 if shown else 1)
